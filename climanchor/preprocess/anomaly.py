"""Anomalies from a reference period, with a guard on members that have too little of it."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.preprocess.models import Labelled, each_variable, extend_attrs, unsplit


class ReferencePeriodError(ValueError):
    """A member has too few years of the reference period."""


def anomalies(
    x: Labelled,
    *,
    reference: tuple[int, int] = (1850, 1900),
    min_reference_years: int = 20,
    pooled: bool = False,
) -> Labelled:
    """Deviation of each cell from its mean over the reference years, both ends included.

    The mean is over the years of the period that exist, per member, or over all members when ``pooled``
    (members then keep their offsets). Lazy. Whether a member has enough reference years is checked at once
    where the years or the values are in memory, and when its values are computed otherwise; a cell with
    fewer valid reference years than required is NaN.

    Parameters
    ----------
    x : DataArray, Dataset or DataTree with ``year``
    reference : (first, last)
    min_reference_years : int
        Years of the period that every member must have.
    pooled : bool
        One mean for all members of the model.

    Raises
    ------
    ReferencePeriodError
        Names the member and the number of years it has.

    >>> x = xr.DataArray([1.0, 2.0, 6.0], dims="year", coords={"year": [1850, 1851, 1852]})
    >>> anomalies(x, reference=(1850, 1851), min_reference_years=2).values.tolist()
    [-0.5, 0.5, 4.5]
    """
    first, last = reference
    if first > last:
        raise ValueError(f"reference must be (first, last) with first <= last; got {reference}")
    if not 1 <= min_reference_years <= last - first + 1:
        raise ValueError(
            f"min_reference_years must lie between 1 and the {last - first + 1} years of the reference "
            f"period {first}-{last}; got {min_reference_years}"
        )

    def one(variable: xr.DataArray, context: xr.Dataset) -> xr.DataArray:
        return _anomalies(variable, (first, last), min_reference_years, pooled)

    result: Labelled = each_variable(x, one, needs=("year",))
    return result


def _anomalies(x: xr.DataArray, reference: tuple[int, int], least: int, pooled: bool) -> xr.DataArray:
    if "year" not in x.dims:
        raise ValueError(f"{x.name}: anomalies need a dimension 'year'; take annual_mean first")
    first, last = reference
    inside = x.sel(year=(x["year"] >= first) & (x["year"] <= last))
    if inside.sizes["year"] < least:
        raise ReferencePeriodError(
            f"{x.name}: {inside.sizes['year']} of the years {first}-{last}, needed {least}; the data has "
            f"{_span(x)}: choose another reference or lower min_reference_years"
        )
    short = short_members(x, reference, least)
    if short:
        raise ReferencePeriodError(_complaint(f"{first}-{last}", least, short))
    base = _reference_mean(inside, least)
    if pooled and "member" in x.dims:
        base = base.mean("member")
    out = (x - base).transpose(*x.dims).assign_attrs(x.attrs)
    kind = "all members" if pooled and "member" in x.dims else "each member"
    years = inside["year"].values
    note = f"mean of {years[0]}-{years[-1]} ({years.size} years) of {kind} removed"
    return extend_attrs(out, reference_period=note)


def short_members(x: xr.DataArray, reference: tuple[int, int], least: int) -> dict[str, int]:
    """Members whose coordinate ``present`` says they have too few reference years, with how many they have."""
    if "present" not in x.coords or set(x["present"].dims) != {"member", "year"}:
        return {}
    inside = (x["year"] >= reference[0]) & (x["year"] <= reference[1])
    years = (x["present"] & inside).sum("year").values
    names = x["member"].values if "member" in x.coords else np.arange(years.size)
    return {str(name): int(n) for name, n in zip(names, years, strict=True) if n < least}


def _complaint(span: str, least: int, short: dict[str, int]) -> str:
    lacking = ", ".join(f"{member} ({years})" for member, years in short.items())
    return (
        f"too few years in the reference period {span}, needed {least}: {lacking}; leave these members out, "
        "choose another reference or lower min_reference_years"
    )


def _span(x: xr.DataArray) -> str:
    years = x["year"].values
    return f"{years[0]}-{years[-1]}" if years.size else "no years"


def _reference_mean(inside: xr.DataArray, least: int) -> xr.DataArray:
    """Mean over years; raises for members with fewer than ``least`` years that hold any value."""
    core = [d for d in inside.dims if d != "member"]
    others = [d for d in core if d != "year"]
    names = inside["member"].astype(str) if "member" in inside.coords else xr.DataArray(str(inside.name))
    if "member" in inside.dims and "member" not in inside.coords:
        names = xr.DataArray([f"number {i}" for i in range(inside.sizes["member"])], dims="member")
    years = inside["year"].values
    span = f"{years[0]}-{years[-1]}"

    def block(values: NDArray[np.floating], member: NDArray[np.str_]) -> NDArray[np.float64]:
        return guarded_mean(values, member, least=least, span=span)

    mean: xr.DataArray = xr.apply_ufunc(
        block,
        unsplit(inside, core),
        names.drop_vars(list(names.coords)),
        input_core_dims=[["year", *others], []],
        output_core_dims=[others],
        dask="parallelized",
        output_dtypes=[np.float64],
    )
    return mean


def guarded_mean(
    values: NDArray[np.floating], member: NDArray[np.str_], *, least: int, span: str
) -> NDArray[np.float64]:
    """Mean over axis ``year`` of (member…, year, cells…), NaN where fewer than ``least`` years are valid."""
    axis = member.ndim
    valid = ~np.isnan(values)
    count = valid.sum(axis=axis)
    years = valid.any(axis=tuple(range(axis + 1, values.ndim))).sum(axis=axis)
    short = np.flatnonzero(np.atleast_1d(years < least))
    if values.size and short.size:
        names, found = np.atleast_1d(member), np.atleast_1d(years)
        raise ReferencePeriodError(_complaint(span, least, {str(names[i]): int(found[i]) for i in short}))
    total = np.where(valid, values, 0.0).sum(axis=axis)
    enough = count >= least
    return np.where(enough, total / np.where(enough, count, 1), np.nan)
