"""Annual means in the calendar of the data: whole years only, months weighted by their length."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask.array
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.preprocess.models import Labelled, each_variable, extend_attrs

da: Any = dask.array  # dask ships no types

YEAR_ATTRS = {"long_name": "calendar year", "units": "1"}


def annual_mean(x: Labelled) -> Labelled:
    """Mean over calendar years, ``Σ_m n_m x_m / Σ_m n_m`` with n_m the length of month m in days.

    Month lengths are those of the data's own calendar. Daily (and sub-daily) steps weigh the same. Years
    that lack a month or a day are dropped and listed in the attribute ``dropped_years``; a missing value
    in any month makes that cell of that year missing. Annual input passes through, with ``time`` replaced
    by ``year``. Lazy: chunks are cut at the turn of years and every value is read once; float64 results. Bounds of
    time are read at once, where the Dataset has them: they tell which month a step is.

    Parameters
    ----------
    x : DataArray, Dataset or DataTree with ``time`` (decoded) or ``year``

    Raises
    ------
    ValueError
        Time is not decoded, repeats months, is not ordered, or holds no complete year.

    >>> time = xr.date_range("1850-01", periods=24, freq="MS", calendar="noleap", use_cftime=True)
    >>> monthly = xr.DataArray(np.arange(24.0), dims="time", coords={"time": time})
    >>> annual_mean(monthly).round(3).values.tolist()
    [5.526, 17.526]
    """
    result: Labelled = each_variable(x, _annual, needs=("time", "year"))
    return result


def _annual(x: xr.DataArray, context: xr.Dataset) -> xr.DataArray:
    if "year" in x.dims:
        return x
    if "time" not in x.dims:
        raise ValueError(f"{x.name}: annual_mean needs a dimension 'time' or 'year'; found {x.dims}")
    time = _centre_of_steps(x, context)
    step = _step_in_days(time, str(x.name))
    if step > 300:
        return _relabelled(x, time)
    plan = _plan(time, monthly=step > 20)
    _require_years(x, plan.years.size, plan.dropped)
    out, dropped = _weighted(x, plan), plan.dropped
    if "present" in x.coords and set(x["present"].dims) == {"member", "time"}:
        held = _held_years(x["present"].transpose("member", "time").values, plan)
        out = out.assign_coords(present=(("member", "year"), held == plan.length, x["present"].attrs))
        out = out.isel(year=np.flatnonzero((held == plan.length).any(axis=0)))
        dropped = "; ".join(filter(None, [dropped, *_partial_years(x, plan, held)]))
    _require_years(x, out.sizes["year"], dropped)
    methods = str(out.attrs.get("cell_methods", "time: mean")).replace("time:", "year:")
    return extend_attrs(out.assign_attrs(cell_methods=methods), dropped_years=dropped)


def _require_years(x: xr.DataArray, years: int, dropped: str) -> None:
    if years == 0:
        raise ValueError(f"{x.name}: no complete year in time; found only {dropped}")


def _held_years(present: NDArray[np.bool_], plan: "_Plan") -> NDArray[np.int64]:
    """Steps (member, year) of each complete year of the axis that each member has."""
    steps = present[:, plan.keep]
    return np.array([np.bincount(plan.index[row], minlength=plan.years.size) for row in steps])


def _partial_years(x: xr.DataArray, plan: "_Plan", held: NDArray[np.int64]) -> list[str]:
    """Years that a member has only in part, though its siblings have them whole."""
    partial = (held > 0) & (held < plan.length)
    names = x["member"].values if "member" in x.coords else np.arange(len(held))
    return [
        f"{names[i]}: " + ", ".join(f"{plan.years[y]} ({held[i, y]} of {plan.length[y]} steps)" for y in years)
        for i, years in ((i, np.flatnonzero(row)) for i, row in enumerate(partial))
        if years.size
    ]


def _centre_of_steps(x: xr.DataArray, context: xr.Dataset) -> xr.DataArray:
    """Times that lie inside the steps they label: the middle of the bounds, where there are any."""
    time = x["time"]
    name = time.attrs.get("bounds") or time.encoding.get("bounds") or "time_bnds"
    if time.size == 0:
        raise ValueError(f"{x.name}: time is empty")
    if not _is_decoded(time):
        raise ValueError(f"{x.name}: time holds {time.dtype} values, not dates; decode it (xr.decode_cf)")
    bounds = context.get(name)
    if bounds is None or bounds.ndim != 2 or not _is_decoded(bounds):
        return time
    low, high = bounds.values[:, 0], bounds.values[:, -1]
    return time.copy(data=low + (high - low) / 2)


def _is_decoded(time: xr.DataArray) -> bool:
    return time.dtype.kind == "M" or (time.dtype.kind == "O" and hasattr(time.values.flat[0], "calendar"))


def _step_in_days(time: xr.DataArray, name: str) -> float:
    if time.size < 2:
        return 30.0
    steps = np.diff(time.values) / np.timedelta64(1, "D") if time.dtype.kind == "M" else _days(time)
    if np.any(steps <= 0):
        i = int(np.flatnonzero(steps <= 0)[0])
        raise ValueError(
            f"{name}: time does not increase after step {i} ({time.values[i]}); merge or sort the files first"
        )
    return float(np.median(steps))


def _days(time: xr.DataArray) -> NDArray[np.float64]:
    return np.array([d.total_seconds() / 86400 for d in np.diff(time.values)])


def _relabelled(x: xr.DataArray, time: xr.DataArray) -> xr.DataArray:
    years = time.dt.year.values.astype("int64")
    if np.unique(years).size != years.size:
        raise ValueError(f"{x.name}: annual steps repeat a year; time labels lie on the turn of years?")
    out = x.assign_coords(time=years).rename(time="year")
    out["year"].attrs.update(YEAR_ATTRS)
    return out


@dataclass(frozen=True)
class _Plan:
    """Steps of the complete years (``keep``): weights and number of year (``index``); steps per year (``length``)."""

    years: NDArray[np.int64]
    keep: NDArray[np.bool_]
    weight: NDArray[np.float64]
    index: NDArray[np.int64]
    length: NDArray[np.int64]
    dropped: str


def _plan(time: xr.DataArray, *, monthly: bool) -> _Plan:
    year = time.dt.year.values.astype("int64")
    years, index, found = np.unique(year, return_inverse=True, return_counts=True)
    if monthly:
        month = time.dt.month.values
        if np.unique(year * 12 + month).size != month.size:
            twice = np.flatnonzero(np.diff(year * 12 + month) == 0)[0]
            raise ValueError(f"time has month {year[twice]}-{month[twice]:02d} twice; merge the files first")
        expected = np.full(years.size, 12)
        length = time.dt.days_in_month.values.astype(float)
    else:
        per_day = max(1, round(1 / _step_in_days(time, "time")))
        first = np.flatnonzero(np.diff(index, prepend=-1))
        expected = per_day * np.asarray(_days_in_year(time[first]))
        length = np.ones(time.size)
    complete = found == expected
    keep = complete[index]
    unit = "months" if monthly else "steps"
    lacking = [f"{y} ({n} of {e} {unit})" for y, n, e in
               zip(years[~complete], found[~complete], expected[~complete], strict=True)]  # fmt: skip
    position = np.cumsum(complete) - 1
    total = np.bincount(index, weights=length)
    weight = (length / total[index])[keep]
    return _Plan(years[complete], keep, weight, position[index][keep], found[complete], ", ".join(lacking))


def _days_in_year(time: xr.DataArray) -> NDArray[np.int64]:
    """Length of the year of each time, in its calendar."""
    calendar = time.dt.calendar
    fixed = {"360_day": 360, "noleap": 365, "365_day": 365, "all_leap": 366, "366_day": 366}
    if calendar in fixed:
        return np.full(time.size, fixed[calendar])
    leap = time.dt.is_leap_year.values if time.dtype.kind == "M" else np.array(
        [t.replace(month=12, day=31).dayofyr == 366 for t in time.values]
    )  # fmt: skip
    return np.where(leap, 366, 365)


def _weighted(x: xr.DataArray, plan: _Plan) -> xr.DataArray:
    ordered = x.transpose(*[d for d in x.dims if d == "member"], "time", ...)
    axis = ordered.get_axis_num("time")
    data = ordered.data
    if not plan.keep.all():
        steps = np.flatnonzero(plan.keep)
        whole = slice(int(steps[0]), int(steps[-1]) + 1)
        chosen = whole if plan.keep[whole].all() else steps
        data = data[(slice(None),) * axis + (chosen,)]
    if isinstance(data, dask.array.Array):
        mean: Any = _lazy_means(data, plan, axis)
    else:
        mean = block_means(np.asarray(data), plan.weight, plan.index, axis)
    dims = ["year" if d == "time" else d for d in ordered.dims]
    coords = {n: c.variable for n, c in ordered.coords.items() if "time" not in c.dims}
    coords["year"] = xr.Variable("year", plan.years, YEAR_ATTRS)
    return xr.DataArray(mean, dims=dims, coords=coords, name=x.name, attrs=x.attrs).transpose(
        *["year" if d == "time" else d for d in x.dims]
    )


def _lazy_means(data: Any, plan: _Plan, axis: int) -> Any:
    """Cut chunks at the turn of years, then one task per block."""
    starts = np.append(np.flatnonzero(np.diff(plan.index, prepend=-1)), plan.index.size)
    chunks = _year_chunks(data, starts, axis)
    data = data.rechunk({axis: chunks})
    shape = [-1 if i == axis else 1 for i in range(data.ndim)]
    along_time = [da.from_array(values, chunks=(chunks,)).reshape(shape) for values in (plan.weight, plan.index)]
    ends = np.cumsum(chunks)
    years = tuple(int(n) for n in np.diff(np.searchsorted(starts, ends), prepend=0))
    out_chunks = tuple(years if i == axis else c for i, c in enumerate(data.chunks))
    return da.map_blocks(_block, data, *along_time, axis=axis, chunks=out_chunks, dtype=np.float64,
                         meta=np.empty((0,) * data.ndim))  # fmt: skip


def _year_chunks(data: Any, starts: NDArray[np.int64], axis: int) -> tuple[int, ...]:
    """Chunk lengths along time that end at the turn of years, close to the chunks the data has."""
    cuts = {0, int(starts[-1])}
    for edge in np.cumsum(data.chunks[axis]):
        cuts.add(int(starts[np.abs(starts - edge).argmin()]))
    edges = sorted(cuts)
    return tuple(int(n) for n in np.diff(edges))


def _block(
    values: NDArray[np.floating], weight: NDArray[np.float64], index: NDArray[np.int64], axis: int
) -> NDArray[np.float64]:
    return block_means(values, weight.ravel(), index.ravel(), axis)


def block_means(
    values: NDArray[np.floating], weight: NDArray[np.float64], index: NDArray[np.int64], axis: int
) -> NDArray[np.float64]:
    """Weighted sums of ``values`` along ``axis`` over runs of equal ``index``, accumulated in float64."""
    starts = np.append(np.flatnonzero(np.diff(index, prepend=index[0] - 1)), index.size)
    moved = np.moveaxis(values, axis, 0)
    out = np.empty((starts.size - 1, *moved.shape[1:]))
    for year, (start, stop) in enumerate(pairwise(starts)):
        out[year] = np.einsum("t,t...->...", weight[start:stop], moved[start:stop])  # no BLAS, no threads
    return np.moveaxis(out, 0, axis)
