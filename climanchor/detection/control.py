"""Unforced runs: control runs freed of drift, and historical runs freed of their forced response."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import cftime
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.archive.integrity import BadFileError, open_file
from climanchor.archive.opening import open_runs
from climanchor.archive.runs import Run
from climanchor.detection.projection import DRIFT_DEGREES
from climanchor.kernels.trends import polynomial_residuals
from climanchor.preprocess import Grid, annual_mean, regrid
from climanchor.preprocess.models import each_model, one_variable

Drift = Literal["none", "linear", "quadratic"]


def prepare_control(
    source: Sequence[Run] | xr.DataTree,
    *,
    grid: Grid | None = None,
    drift: Drift = "linear",
    branches: Mapping[str, Mapping[str, int]] | None = None,
    min_valid: float = 0.5,
) -> xr.DataTree:
    """Bring control runs to annual anomalies from their own mean, on one grid, freed of drift.

    Lazy, like the rest of preprocessing.

    Parameters
    ----------
    source
        Runs of a control experiment, or an opened tree (one child per model; time or year).
    grid
        Target of the conservative regridding; None keeps the grid the runs are on.
    drift
        The polynomial removed from every cell of every run: only the mean (``"none"``), a line or a
        parabola. It takes slow variability with it, the more the shorter the run; tests of trends
        correct for that (see :func:`climanchor.kernels.trends.kept_trend_variance`).
    branches
        Years in which historical members left the control, by model and member (see
        :func:`branch_years`). A model's control is then used from the earliest of them on, so that its
        spin-up plays no part; years outside the run are ignored, and said so in the attributes.
    min_valid
        Least valid fraction of a regridded cell.

    Returns
    -------
    DataTree
        ``field (member, year, lat, lon)`` in K per model; attributes ``drift`` and ``branch``.

    >>> import climanchor as ca
    >>> control = prepare_control(ca.simulate.control(models=["CESM2"], years=50, grid=30.0), drift="quadratic")
    >>> control["CESM2"].attrs["drift"], bool(abs(control["CESM2"]["field"].mean("year")).max() < 1e-6)
    ('quadratic', True)
    """
    if drift not in get_args(Drift):
        raise ValueError(f"drift must be one of {get_args(Drift)}, got {drift!r}")
    tree = source if isinstance(source, xr.DataTree) else open_runs(source)
    annual = annual_mean(tree)
    if grid is not None:
        annual = regrid(annual, grid=grid, min_valid=min_valid)
    nodes = {
        name: _prepare_model(node.to_dataset(), drift, dict(branches or {}).get(name, {}))
        for name, node in annual.children.items()
    }
    return xr.DataTree.from_dict(nodes)


def _prepare_model(data: xr.Dataset, drift: Drift, branches: Mapping[str, int]) -> xr.Dataset:
    field = one_variable(data)
    if "member" not in field.dims:
        field = field.expand_dims(member=["control"])
    field, note = _after_branch(field, branches)
    field = remove_drift(field, drift=drift).transpose("member", "year", "lat", "lon")
    result = xr.Dataset({"field": field.assign_attrs(field.attrs, units="K", long_name="control anomaly")})
    return result.assign_attrs(drift=drift, branch=note)


def _after_branch(field: xr.DataArray, branches: Mapping[str, int]) -> tuple[xr.DataArray, str]:
    years = field["year"].values
    inside = [year for year in branches.values() if years[0] <= year <= years[-1]]
    if not branches:
        return field, "branch times not given"
    if not inside:
        return field, f"branch years {sorted(set(branches.values()))} lie outside {years[0]}-{years[-1]}: ignored"
    return field.sel(year=slice(min(inside), None)), f"used from branch year {min(inside)}"


def remove_drift(field: xr.DataArray, *, drift: Drift = "linear") -> xr.DataArray:
    """Each cell of each member minus its least-squares polynomial in the year. Lazy.

    Years that a member lacks take no part.

    >>> field = xr.DataArray([[[[1.0]], [[2.0]], [[3.0]]]], dims=("member", "year", "lat", "lon"),
    ...                      coords={"year": [1, 2, 3]})
    >>> bool(abs(remove_drift(field)).max() < 1e-12)
    True
    """
    degree = DRIFT_DEGREES[drift]
    if field.sizes["year"] <= degree + 1:
        raise ValueError(f"a {drift} drift cannot be removed from {field.sizes['year']} years")
    years = field["year"].values.astype(np.float64)

    def block(values: NDArray[np.floating]) -> NDArray[np.float64]:
        flat = values.reshape(-1, values.shape[-1]).T.astype(np.float64)
        present = ~np.isnan(flat).all(axis=1)
        out = np.full(flat.shape, np.nan)
        if present.sum() > degree:
            out[present] = polynomial_residuals(flat[present], degree=degree, time=years[present])
        return out.T.reshape(values.shape)

    def by_member(values: NDArray[np.floating]) -> NDArray[np.float64]:
        return np.stack([block(member) for member in values])

    moved = field.transpose("member", ..., "year")
    result: xr.DataArray = xr.apply_ufunc(
        by_member,
        moved,
        input_core_dims=[["year"]],
        output_core_dims=[["year"]],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[np.float64],
        keep_attrs=True,
    )
    return result.transpose(*field.dims)


def branch_years(runs: Sequence[Run]) -> dict[str, dict[str, int]]:
    """Year of the control in which each historical run began, by model and member, where the files say.

    CMIP6 files give ``branch_time_in_parent`` and ``parent_time_units``; the calendar is the file's own.
    CMIP5's ``branch_time`` has no units and is not used. Opens the header of one file per run.

    >>> branch_years([])
    {}
    """
    found: dict[str, dict[str, int]] = {}
    for run in runs:
        year = _branch_year(run)
        if year is not None:
            found.setdefault(run.model, {})[run.member] = year
    return found


def _branch_year(run: Run) -> int | None:
    try:
        with open_file(run.paths[0]) as file:
            attributes = {name: file.getncattr(name) for name in file.ncattrs()}
            calendar = getattr(file.variables.get("time"), "calendar", "standard")
    except (BadFileError, IndexError):
        return None
    if not {"branch_time_in_parent", "parent_time_units"} <= set(attributes):
        return None
    try:
        when = cftime.num2date(
            float(attributes["branch_time_in_parent"]), str(attributes["parent_time_units"]), calendar=calendar
        )
    except (ValueError, OverflowError):  # "no parent", malformed units, or a time beyond the calendar
        return None
    return int(when.year)


def unforced_residuals(data: xr.DataTree, *, models: Sequence[str] | None = None) -> xr.DataTree:
    """Historical members minus their forced response: further unforced samples. Lazy.

    Removing the mean of ``m`` members, the member itself among them, shrinks the variance by
    ``1 − 1/m``; a leave-one-out mean adds its own noise, ``1 + 1/(m − 1)``. Both are undone, by
    ``√(m/(m−1))`` and ``√((m−1)/m)``. The residuals of one model are worth ``(m − 1)/m`` independent
    members each, which the attribute ``independence`` hands on to the test.

    Raises ``ValueError`` for a model of one member, whose forced response is itself.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CESM2"], members=4, years=(1850, 1910), grid=30.0)
    >>> round(unforced_residuals(data)["CESM2"].attrs["correction"], 3)
    1.155
    """
    chosen = list(data.children) if models is None else list(models)
    for name in chosen:
        if name not in data.children:
            raise ValueError(f"the data has no model {name}; it has {', '.join(data.children)}")
        if data[name].sizes["member"] < 2:
            raise ValueError(f"{name} has one member: its forced response is the member itself, leave it out")
    tree = xr.DataTree.from_dict({name: data[name].to_dataset() for name in chosen})
    return each_model(tree, _residual)


def _residual(data: xr.Dataset) -> xr.Dataset:
    members = data.sizes["member"]
    gain = np.sqrt(members / (members - 1))
    if "member" in data["forced"].dims:
        gain = 1 / gain
    field = ((data["field"] - data["forced"]) * gain).transpose("member", "year", "lat", "lon")
    residual = xr.Dataset({"field": field.assign_attrs(units="K", long_name="unforced residual")})
    return residual.assign_attrs(drift="none", independence=(members - 1) / members, correction=float(gain))
