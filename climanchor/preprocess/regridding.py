"""Regridding of labelled fields: lazily, conserving the mean, honest about missing values."""

import os
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.preprocess.esmf import esmf_weights
from climanchor.preprocess.grids import AREA_NAMES, Cells, Grid, find_grid, regular_grid, spatial_dims
from climanchor.preprocess.models import Labelled, data_names, each_variable, extend_attrs, unsplit
from climanchor.preprocess.weight_files import read_weights, write_weights
from climanchor.preprocess.weights import Method, Weights, make_weights

Backend = Literal["native", "xesmf"]


def regrid(
    x: Labelled,
    *,
    grid: Grid | None = None,
    method: Method = "conservative",
    backend: Backend = "native",
    min_valid: float = 0.5,
    weights: Weights | str | os.PathLike[str] | None = None,
    source: Grid | Cells | None = None,
) -> Labelled:
    """Remap fields to a rectilinear grid.

    Conservative: each target cell is the area-weighted mean of what it overlaps, exact on rectilinear grids
    (equal to ``cdo remapcon``), by polygons with great-circle edges elsewhere. Bilinear: between cell
    centres, periodic in longitude (equal to ``cdo remapbil``); nothing is extrapolated, so cells beyond the outermost
    centres are NaN (CDO fills them by distance). Both are linear and lazy: a dask-backed input stays so, chunks along
    other dimensions are kept, the result is float64. Cell areas beside a field are not remapped but dropped.

    Parameters
    ----------
    x : DataArray, Dataset or DataTree
        Bounds are taken from a Dataset that has them (``lat_bnds``, ``lat_bounds``, …), else derived.
    grid : Grid
        Target; 5° × 5° by default.
    method : {"conservative", "bilinear"}
    backend : {"native", "xesmf"}
        Who makes the weights. xESMF must be installed; its edges are great circles.
    min_valid : float in [0, 1]
        Smallest valid fraction of a target cell: below it the cell is NaN, above it the valid part is
        averaged. What the source does not cover counts as not valid.
    weights : Weights, path, optional
        Weights to use: an object, a file (climanchor's, ESMF's, xESMF's or CDO's), or an existing folder
        in which weights are kept and found again.
    source : Grid or Cells, optional
        The grid of ``x``, when its coordinates do not say.

    Raises
    ------
    GridError
        The grid of ``x`` cannot be read, or the weights belong to other grids.

    >>> field = xr.DataArray(np.ones((4, 8)), dims=("lat", "lon"),
    ...                      coords={"lat": [-67.5, -22.5, 22.5, 67.5], "lon": np.arange(0.0, 360.0, 45.0)})
    >>> regrid(field, grid=regular_grid(30.0)).shape
    (6, 12)
    """
    if backend not in get_args(Backend):
        raise ValueError(f"backend must be one of {get_args(Backend)}; got {backend!r}")
    if not 0 <= min_valid <= 1:
        raise ValueError(f"min_valid must lie in [0, 1]; got {min_valid}")
    target = grid or (weights.target if isinstance(weights, Weights) else None)

    def one(variable: xr.DataArray, context: xr.Dataset) -> xr.DataArray:
        if not spatial_dims(variable) and any(spatial_dims(context[n]) for n in data_names(context)):
            return variable
        here = source or find_grid(variable, context)
        chosen = _choose_weights(here, target, method, backend, weights)
        targets.append(chosen.target)
        return _apply(variable, here, chosen, min_valid)

    def with_bounds(data: xr.Dataset) -> xr.Dataset:
        return targets[-1].describe(data) if targets else data

    targets: list[Grid] = []
    result: Labelled = each_variable(x, one, skip=AREA_NAMES, finish=with_bounds)
    return result


_SPATIAL = ("lat", "lon", "latitude", "longitude", "rlat", "rlon", "i", "j", "x", "y", "nlat", "nlon", "ncells", "cell")


def _choose_weights(
    source: Grid | Cells,
    grid: Grid | None,
    method: Method,
    backend: Backend,
    weights: Weights | str | os.PathLike[str] | None,
) -> Weights:
    if isinstance(weights, Weights):
        return weights
    folder = Path(weights) if weights is not None else None
    if folder is not None and folder.is_file():
        return read_weights(folder, grid=grid, source=source)
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(f"weights={str(weights)!r} is neither a weight file nor an existing folder")
    target = grid or regular_grid()
    path = folder / f"{method}_{backend}_{source.key}_{target.key}.nc" if folder else None
    if path is not None and path.exists():
        return read_weights(path, grid=target, source=source)
    if backend == "xesmf":
        made = esmf_weights(source, target, method=method)
    else:
        made = make_weights(source, target, method=method)
    if path is not None:
        write_weights(made, path)
    return made


def _apply(x: xr.DataArray, source: Grid | Cells, weights: Weights, min_valid: float) -> xr.DataArray:
    sizes = tuple(x.sizes[d] for d in source.dims)
    if int(np.prod(sizes)) != weights.matrix.shape[1]:
        raise ValueError(f"weights are for {weights.matrix.shape[1]} source cells; {x.name} has {sizes}")

    def block(values: NDArray[np.floating]) -> NDArray[np.float64]:
        flat = values.reshape(*values.shape[: -len(sizes)], weights.matrix.shape[1])
        return weights.apply(flat, min_valid=min_valid)

    out = xr.apply_ufunc(
        block,
        unsplit(x.drop_vars([n for n, c in x.coords.items() if set(source.dims) & set(c.dims)]), source.dims),
        input_core_dims=[list(source.dims)],
        output_core_dims=[["lat", "lon"]],
        exclude_dims=set(source.dims),
        dask="parallelized",
        dask_gufunc_kwargs={"output_sizes": dict(zip(("lat", "lon"), weights.target.shape, strict=True))},
        output_dtypes=[np.float64],
        keep_attrs=True,
    )
    out = out.assign_coords(weights.target.coords()).rename(x.name)
    out.attrs.pop("cell_measures", None)
    rows, columns = weights.target.shape
    note = f"{weights.method} to {rows}x{columns}, valid fraction at least {min_valid:g}"
    return extend_attrs(out, regridding=note, assumed=source.assumed)
