"""The result of a test as a labelled dataset, and the few numbers of it that go into a summary."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.detection.design import Design, inflation_limit
from climanchor.detection.null import CONFIDENCE, Verdict
from climanchor.detection.segments import NullSampler, Unforced, decadal_part, present_years
from climanchor.kernels import trends

CELLS = ("lat", "lon")
SUMMARY = ("statistic", "p_value", "detected", "size", "power", "inflation_limit")


def assemble(
    design: Design,
    sampler: NullSampler,
    *,
    series: xr.DataArray,
    years: NDArray[np.int64],
    runs: Sequence[Unforced],
    inflations: Sequence[float],
    tested: str | None,
    emergence: float,
) -> xr.Dataset:
    """Judge the projected observations ``series (realization, year[, lat, lon])`` and label everything."""
    dims = tuple(dim for dim in series.dims if dim in CELLS)
    coords = {dim: series[dim] for dim in dims}
    central = series.mean("realization").transpose("year", *dims)
    window = central.sel(year=years).values
    statistic = sampler.statistic(window)
    judged = design.judge(statistic, sampler, tested=tested)
    values: dict[str, Any] = {
        "statistic": (dims, statistic),
        **_verdict(design, judged, dims),
        "inflation_limit": (dims, inflation_limit(design, statistic, sampler, tested=tested)),
        "series": central,
    }
    if sampler.statistic.name == "trend":
        values["statistic_error"] = (dims, 10 * trends.trend_standard_error(window))
    result = xr.Dataset(values, coords=coords)
    result = result.assign(_null(design, sampler, dims) | _emergence(design, runs, central, emergence))
    result["p_value_by_inflation"] = _by_inflation(design, sampler, statistic, inflations, tested, dims)
    result["p_value_by_model"] = _by_model(design, sampler, statistic, dims)
    if series.sizes["realization"] > 1:
        result = result.assign(_ensemble(design, sampler, series, years, tested, dims))
    if dims:
        adjusted = trends.adjust_p_values(judged.p_value)
        result["p_adjusted"] = (dims, adjusted)
        result["detected_fdr"] = (dims, adjusted <= design.level)
    return _described(result, design, sampler)


def _verdict(design: Design, judged: Verdict, dims: tuple[str, ...]) -> dict[str, Any]:
    return {
        "p_value": (dims, judged.p_value),
        "p_value_low": (dims, judged.low),
        "p_value_high": (dims, judged.high),
        "detected": (dims, judged.p_value <= design.level),
        "critical_value": (dims, judged.critical),
        "null_std": (dims, judged.spread.std),
        "effective_segments": (dims, judged.spread.freedom),
    }


def _null(design: Design, sampler: NullSampler, dims: tuple[str, ...]) -> dict[str, xr.DataArray]:
    segments = sampler.segments
    coords = {
        "segment_model": ("segment", segments.model),
        "segment_member": ("segment", segments.member),
        "segment_start": ("segment", segments.start),
    }
    statistics = sampler.statistics(design.inflate)
    return {
        "null": xr.DataArray(statistics, dims=("segment", *dims), coords=coords),
        "null_weight": xr.DataArray(sampler().weights, dims="segment", coords=coords),
    }


def _emergence(
    design: Design, runs: Sequence[Unforced], central: xr.DataArray, threshold: float
) -> dict[str, xr.DataArray]:
    """Mean and spread of the projected control, and the year from which the signal stays outside it."""
    mean, std = control_state(runs, inflate=design.inflate, decades=design.decades)
    known = central.dropna("year", how="all")
    place = trends.emergence(known.values - mean, threshold * std)
    last = np.clip(np.nan_to_num(place).astype(int), 0, known.sizes["year"] - 1)
    year = np.where(np.isnan(place), np.nan, known["year"].values[last])
    template = central.isel(year=0, drop=True)
    return {
        "control_mean": template.copy(data=mean),
        "control_std": template.copy(data=std),
        "emergence_year": template.copy(data=year).assign_attrs(threshold=threshold),
    }


def control_state(runs: Sequence[Unforced], *, inflate: float, decades: int) -> tuple[trends.Array, trends.Array]:
    """Mean and standard deviation of annual values of projected unforced runs, models weighing the same."""
    means, variances = [], []
    for name in dict.fromkeys(run.model for run in runs):
        values = []
        for run in (run for run in runs if run.model == name):
            known = run.values[present_years(run.values)]
            if not len(known):
                continue
            values.append(known + (inflate - 1) * (decadal_part(known, window=decades) - known.mean(axis=0)))
        if not values:
            continue
        together = np.concatenate(values)
        means.append(together.mean(axis=0))
        variances.append(together.var(axis=0))
    return np.mean(means, axis=0), np.sqrt(np.mean(variances, axis=0))


def _by_inflation(
    design: Design,
    sampler: NullSampler,
    statistic: trends.Array,
    inflations: Sequence[float],
    tested: str | None,
    dims: tuple[str, ...],
) -> xr.DataArray:
    p = [design.judge(statistic, sampler, inflate=f, tested=tested).p_value for f in inflations]
    return xr.DataArray(np.stack(p), dims=("inflation", *dims), coords={"inflation": list(inflations)})


def _by_model(design: Design, sampler: NullSampler, statistic: trends.Array, dims: tuple[str, ...]) -> xr.DataArray:
    """p-value against each model's own null; NaN for a model with a single segment."""
    null, models = sampler(design.inflate), sampler(design.inflate).models
    observed = sampler.statistic.gaussian(statistic)
    p = [
        design.judge_alone(observed, part).p_value if len(part.statistics) > 1 else np.full(statistic.shape, np.nan)
        for part in (null.take(null.model == name) for name in models)
    ]
    return xr.DataArray(np.stack(p), dims=("model", *dims), coords={"model": models})


def _ensemble(
    design: Design,
    sampler: NullSampler,
    series: xr.DataArray,
    years: NDArray[np.int64],
    tested: str | None,
    dims: tuple[str, ...],
) -> dict[str, xr.DataArray]:
    """Statistic and p-value of every realization of the observations."""
    part = series.sel(year=years).transpose("year", "realization", *dims)
    statistics = np.stack([sampler.statistic(part.isel(realization=i).values) for i in range(part.shape[1])])
    p = np.stack([design.judge(value, sampler, tested=tested).p_value for value in statistics])
    template = part.isel(year=0, drop=True)
    return {
        "statistic_by_realization": template.copy(data=statistics),
        "p_value_by_realization": template.copy(data=p),
        "series_by_realization": series.transpose("realization", "year", *dims),
    }


def _described(result: xr.Dataset, design: Design, sampler: NullSampler) -> xr.Dataset:
    units = {"trend": "K/decade", "correlation": "1"}[sampler.statistic.name]
    scale = units if sampler.statistic.name == "trend" else "1 (Fisher's z)"
    described = {
        "statistic": (f"observed {sampler.statistic.name} of the predicted forced response", units),
        "statistic_error": ("standard error of the observed trend, adjusted for autocorrelation", units),
        "p_value": ("probability of a statistic as extreme from internal variability alone", "1"),
        "p_value_low": (f"lower end of the {CONFIDENCE:.0%} interval of the p-value", "1"),
        "p_value_high": (f"upper end of the {CONFIDENCE:.0%} interval of the p-value", "1"),
        "critical_value": ("smallest statistic that is detected", scale),
        "null_std": ("standard deviation of the null", scale),
        "effective_segments": ("effective number of independent control segments", "1"),
        "inflation_limit": ("factor on decadal variability of the null at which detection is lost", "1"),
        "null": ("statistics of the control segments", units),
        "null_weight": ("weight of a control segment in the pooled null", "1"),
        "series": ("forced response predicted from observations", "K"),
        "control_mean": ("mean of the projected control", "K"),
        "control_std": ("standard deviation of annual values of the projected control", "K"),
        "emergence_year": ("first year after which the signal stays above the noise", "1"),
    }
    for name, (long_name, unit) in described.items():
        if name in result:
            result[name].attrs.update(long_name=long_name, units=unit)
    result.attrs.update(
        statistic=sampler.statistic.name, null=design.null, sided=design.sided, level=design.level,
        method=design.method, inflate=design.inflate, gap=design.gap, segments=len(sampler.segments),
        control_models=", ".join(dict.fromkeys(sampler.segments.model.tolist())),
    )  # fmt: skip
    return result


def summary(result: xr.Dataset) -> dict[str, float | bool]:
    """The numbers of a result that name it: statistic, p-value, verdict, size, power, inflation limit.

    For a test of every cell they are area-free: the median statistic and p-value, ``detected`` when any
    cell is after control of the false-discovery rate, and ``detected_fraction`` the share of cells.
    Size is there from three control segments on, power when the test was given pseudo-observations.

    >>> result = xr.Dataset({"statistic": 0.2, "p_value": 0.01, "detected": True, "inflation_limit": 2.5})
    >>> summary(result)
    {'statistic': 0.2, 'p_value': 0.01, 'detected': True, 'inflation_limit': 2.5}
    """
    local = "lat" in result["statistic"].dims
    numbers: dict[str, float | bool] = {}
    for name in SUMMARY:
        if name in result and name != "detected":
            numbers[name] = float(result[name].median())
        elif name == "detected":
            numbers[name] = bool(result["detected_fdr"].any() if local else result["detected"])
    if local:
        tested = result["p_value"].notnull()
        numbers["detected_fraction"] = float(result["detected_fdr"].sum() / tested.sum())
    return numbers
