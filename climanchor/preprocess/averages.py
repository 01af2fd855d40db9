"""Means over the globe, weighted by cell area."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.kernels.overlap import Array
from climanchor.preprocess.cells import cell_areas
from climanchor.preprocess.grids import AREA_NAMES, Grid, GridError, find_grid, spatial_dims
from climanchor.preprocess.models import Labelled, data_names, each_model, each_variable, extend_attrs, unsplit


def global_mean(x: Labelled, *, area: xr.DataArray | None = None, weighted: bool = True) -> Labelled:
    """Mean over the cells that have a value, ``Σ a_c x_c / Σ a_c``, with a the cell area.

    Lazy; a series (no latitude, no longitude) passes through; NaN where no cell has a value.

    Parameters
    ----------
    x : DataArray, Dataset or DataTree
    area : DataArray, optional
        Cell areas on the grid of ``x``, in any unit. Otherwise ``areacella`` (or ``areacello``) beside the
        variable in its Dataset, and else the areas between the cells' bounds.
    weighted : bool
        False counts every cell once, as the published magnitudes of decadal variability do.

    >>> x = xr.DataArray([[1.0], [0.0], [1.0]], dims=("lat", "lon"), coords={"lat": [-60, 0, 60], "lon": [0]})
    >>> area = xr.DataArray([[1.0], [2.0], [1.0]], dims=("lat", "lon"))
    >>> float(global_mean(x, area=area))
    0.5
    """

    def one(variable: xr.DataArray, context: xr.Dataset) -> xr.DataArray:
        return mean_over_cells(variable, context, area=area, weighted=weighted)

    def one_model(data: xr.Dataset) -> xr.Dataset:
        fields = [n for n in data_names(data) if n not in AREA_NAMES]
        return xr.Dataset({n: one(data[n], data) for n in fields}, attrs=data.attrs)

    if isinstance(x, xr.DataArray):
        return each_variable(x, one)
    return each_model(x, one_model)


def mean_over_cells(x: xr.DataArray, context: xr.Dataset, *, area: xr.DataArray | None, weighted: bool) -> xr.DataArray:
    """Global mean of one variable; its bounds or areas may be in ``context``, the Dataset around it."""
    dims = spatial_dims(x)
    if not dims:
        return x
    if weighted:
        weights, origin = _areas(x, context, area, dims)
    else:
        weights, origin = np.ones([x.sizes[d] for d in dims]), "every cell counts once"
    return _mean(x, dims, weights, origin)


def _areas(x: xr.DataArray, context: xr.Dataset, area: xr.DataArray | None, dims: tuple[str, ...]) -> tuple[Array, str]:
    beside = [context[name] for name in AREA_NAMES if name in context]
    given = area if area is not None else (beside[0] if beside else None)
    if given is not None:
        sizes = {d: x.sizes[d] for d in dims}
        if {str(d): n for d, n in given.sizes.items()} != sizes:
            raise GridError(f"{x.name}: cell areas have sizes {dict(given.sizes)}, the field {sizes}")
        values = np.asarray(given.transpose(*dims).values, dtype=float)
        if not np.all(values >= 0):
            values = np.where(values > 0, values, 0.0)
        return values, f"cell areas from {given.name or 'the argument area'}"
    grid = find_grid(x, context)
    if isinstance(grid, Grid):
        rows_first = dims == grid.dims
        return (grid.area if rows_first else grid.area.T), grid.assumed
    return cell_areas(grid).reshape(grid.shape), ""


def _mean(x: xr.DataArray, dims: tuple[str, ...], weights: Array, origin: str) -> xr.DataArray:
    def block(values: NDArray[np.floating]) -> NDArray[np.float64]:
        return weighted_mean(values, weights)

    mean: xr.DataArray = xr.apply_ufunc(
        block,
        unsplit(x, dims),
        input_core_dims=[list(dims)],
        dask="parallelized",
        output_dtypes=[np.float64],
        keep_attrs=True,
    )
    return extend_attrs(mean.assign_attrs(cell_methods="area: mean"), area_weights=origin)


def weighted_mean(values: NDArray[np.floating], weights: Array) -> NDArray[np.float64]:
    """Mean of (..., cells) over the trailing axes of ``weights``, skipping NaN."""
    cells = weights.ravel()
    fields = values.reshape(*values.shape[: values.ndim - weights.ndim], cells.size)
    total = np.einsum("...c,c->...", fields, cells, dtype=float)
    share = np.full(total.shape, cells.sum())
    gaps = np.isnan(total)
    if gaps.any():
        valid = ~np.isnan(fields[gaps])
        total[gaps] = np.einsum("...c,c->...", np.where(valid, fields[gaps], 0.0), cells)
        share[gaps] = np.einsum("...c,c->...", valid.astype(float), cells)
    mean: NDArray[np.float64] = np.divide(total, share, out=np.full(total.shape, np.nan), where=share > 0)
    return mean
