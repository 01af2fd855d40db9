"""Land and sea, where a model says what part of each cell is land."""

import xarray as xr

from climanchor.preprocess.grids import Grid, find_grid, regular_grid
from climanchor.preprocess.models import Labelled, each_model, each_variable, one_variable
from climanchor.preprocess.regridding import regrid


def land_mask(x: Labelled, *, grid: Grid | None = None, threshold: float = 50.0) -> Labelled:
    """True where at least ``threshold`` per cent of a cell of ``grid`` is land, from ``sftlf``. Lazy.

    Cells that the source does not cover are not land. Sea is ``~land_mask(...)``.

    Parameters
    ----------
    x : DataArray, Dataset or DataTree
        Land area fraction (``sftlf``) in ``%`` or ``1``, as its units say.
    grid : Grid
        5° × 5° by default.
    threshold : float in (0, 100]

    Returns
    -------
    Boolean ``land (lat, lon)``: a DataArray, or a Dataset (tree) with that variable.

    >>> sftlf = xr.DataArray([[100.0, 0.0], [100.0, 40.0]], dims=("lat", "lon"), attrs={"units": "%"},
    ...                      coords={"lat": [-45.0, 45.0], "lon": [90.0, 270.0]}, name="sftlf")
    >>> land_mask(sftlf, grid=regular_grid(90.0)).values.tolist()
    [[True, True, False, False], [True, True, False, False]]
    """
    if not 0 < threshold <= 100:
        raise ValueError(f"threshold must be a percentage in (0, 100]; got {threshold}")
    target = grid or regular_grid()

    def one(fraction: xr.DataArray, context: xr.Dataset) -> xr.DataArray:
        units = str(fraction.attrs.get("units", ""))
        if units not in ("%", "1"):
            raise ValueError(f"{fraction.name}: units of a land fraction must be '%' or '1'; got {units!r}")
        percent = fraction * (1.0 if units == "%" else 100.0)
        land = regrid(percent, grid=target, source=find_grid(fraction, context)) >= threshold
        attrs = {"long_name": f"at least {threshold:g} % land", "standard_name": "land_binary_mask"}
        return land.rename("land").assign_attrs(attrs)

    def one_model(data: xr.Dataset) -> xr.Dataset:
        return one(one_variable(data, prefer="sftlf"), data).to_dataset(name="land")

    if isinstance(x, xr.DataArray):
        return each_variable(x, one)
    return each_model(x, one_model)
