"""Forced response of an ensemble, and the decadal internal variability of its members."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.kernels.running import Edges, running_mean
from climanchor.preprocess.averages import mean_over_cells
from climanchor.preprocess.models import Labelled, each_model, each_variable, extend_attrs, one_variable, unsplit

ALL_MEMBERS = "mean of all members"
OTHER_MEMBERS = "mean of the other members"


def forced_response(x: Labelled, *, leave_one_out: bool = False) -> Labelled:
    """Mean over the members that have a value, or over the *other* members of each.

    ``F_t = (1/m) Σ_i x_it``; leave-one-out: ``F_it = (1/(m-1)) Σ_{j≠i} x_jt``, which does not contain the
    member's own variability and keeps the dimension ``member``. Lazy.

    Raises
    ------
    ValueError
        There is no dimension ``member``, or a single member: its mean would be itself.

    >>> x = xr.DataArray([[1.0, 2.0], [3.0, 6.0]], dims=("member", "year"))
    >>> forced_response(x).values.tolist()
    [2.0, 4.0]
    >>> forced_response(x, leave_one_out=True).values.tolist()
    [[3.0, 6.0], [1.0, 2.0]]
    """

    def one(variable: xr.DataArray, context: xr.Dataset) -> xr.DataArray:
        return _forced(variable, leave_one_out)

    return each_variable(x, one, needs=("member",))


def _forced(x: xr.DataArray, leave_one_out: bool) -> xr.DataArray:
    members = _members(x)
    if leave_one_out:
        valid = x.notnull()
        others = valid.sum("member") - 1
        forced = ((x.fillna(0.0).sum("member") - x) / others.where(others > 0)).transpose(*x.dims)
    else:
        forced = x.mean("member")
    note = OTHER_MEMBERS if leave_one_out else ALL_MEMBERS
    return forced.assign_attrs({**x.attrs, "forced_response": note, "ensemble_size": members})


def _members(x: xr.DataArray) -> int:
    members = x.sizes.get("member", 0)
    if members < 2:
        found = "no dimension 'member'" if "member" not in x.dims else f"{members} member(s)"
        raise ValueError(f"{x.name}: a forced response needs at least two members; found {found}")
    return members


def decadal_variability(
    x: Labelled,
    *,
    window: int = 10,
    leave_one_out: bool = False,
    weighted: bool = True,
    edges: Edges = "complete",
    area: xr.DataArray | None = None,
) -> Labelled:
    """Decadal internal variability (DIV): a member's global mean minus its forced response, smoothed.

    ``DIV_it = R(g_it − F(g)_t)`` with g the global mean, F :func:`forced_response` and R the centred running
    mean over ``window`` years. Sign: member − forced. Year y averages the years ``y − window // 2`` to
    ``y − window // 2 + window − 1``: y−5 to y+4 for ten. Windows that leave the series, cross absent
    years or meet a missing value are NaN unless ``edges`` says otherwise. Lazy.

    Parameters
    ----------
    x : DataArray, Dataset or DataTree with ``member`` and ``year``
        Fields, or series that are global means already. A Dataset has one variable, or one called ``field``.
    window : int, in years
    leave_one_out : bool
        The forced response of a member is the mean of the others.
    weighted : bool
        Area-weighted global mean; False counts every cell once.
    edges : {"complete", "shrink", "zero"}
        See :func:`climanchor.kernels.running.running_mean`.
    area : DataArray, optional
        Cell areas for the global mean.

    Returns
    -------
    ``div (member, year)``: a DataArray, or a Dataset (tree) with that variable.

    >>> rng = np.random.default_rng(0)
    >>> x = xr.DataArray(rng.normal(size=(3, 30)), dims=("member", "year"), coords={"year": range(1850, 1880)})
    >>> div = decadal_variability(x)
    >>> div.dropna("year").year.values[[0, -1]].tolist()
    [1855, 1875]
    """

    def one(variable: xr.DataArray, context: xr.Dataset) -> xr.DataArray:
        series = mean_over_cells(variable, context, area=area, weighted=weighted)
        return _div(series, window, leave_one_out, edges)

    def one_model(data: xr.Dataset) -> xr.Dataset:
        return one(one_variable(data), data).to_dataset(name="div").assign_attrs(data.attrs)

    if isinstance(x, xr.DataArray):
        return each_variable(x, one)
    return each_model(x, one_model)


def _div(series: xr.DataArray, window: int, leave_one_out: bool, edges: Edges) -> xr.DataArray:
    if "year" not in series.dims:
        raise ValueError(f"{series.name}: decadal variability needs a dimension 'year'; take annual_mean first")
    years = series["year"].values
    if years.size and np.any(np.diff(years) <= 0):
        raise ValueError(f"{series.name}: years must increase; got {years[:5].tolist()}, …")
    forced = _forced(series, leave_one_out)
    every_year = np.arange(years[0], years[-1] + 1)
    deviation = (series - forced).transpose(..., "year").reindex(year=every_year)

    def block(values: NDArray[np.floating]) -> NDArray[np.float64]:
        return running_mean(values, window=window, edges=edges)

    running_mean(np.zeros(1), window=window, edges=edges)  # check the arguments now, not when computed
    div: xr.DataArray = xr.apply_ufunc(
        block,
        unsplit(deviation, ["year"]),
        input_core_dims=[["year"]],
        output_core_dims=[["year"]],
        dask="parallelized",
        output_dtypes=[np.float64],
    )
    before = window // 2
    attrs = {
        "long_name": "decadal internal variability of global mean",
        "units": str(series.attrs.get("units", "K")),
        "cell_methods": "area: mean",
        "sign": "member minus forced response",
        "window": f"{window} years, y-{before} to y+{window - 1 - before}; edges: {edges}",
        "forced_response": forced.attrs["forced_response"],
        "ensemble_size": forced.attrs["ensemble_size"],
    }
    return extend_attrs(
        div.sel(year=years).rename("div").assign_attrs(attrs), area_weights=series.attrs.get("area_weights", "")
    )
