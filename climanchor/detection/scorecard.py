"""How well a forced response is estimated from one realization, in the manner of ForceSMIP's first tier."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.detection.baselines import BASELINES
from climanchor.detection.coverage import cell_areas
from climanchor.detection.projection import Predictor
from climanchor.kernels.trends import trend

Array = NDArray[np.float64]
ENSEMBLE_MEAN = "training-ensemble mean"


def scorecard(
    fingerprints: Mapping[str, Predictor],
    data: xr.DataTree,
    *,
    models: Sequence[str],
    training: Sequence[str] = (),
    years: tuple[int, int] = (1950, 2022),
    trend_years: tuple[int, int] = (1980, 2022),
) -> xr.Dataset:
    """Score fingerprints and baselines on every member of held-out models.

    The truth T of a member is its model's forced response, its estimate E comes from that member's field
    alone; each loses its own mean over the years. With ⟨·⟩ the area mean:

    - *trend skill*: ``1 − √mean_j(RMSE_j/S_j)²``, ``RMSE_j = √⟨(T−E)²⟩`` and ``S_j = √⟨T²⟩`` of the
      least-squares trends over ``trend_years``; *trend correlation*: the mean of ``⟨TE⟩/√(⟨T²⟩⟨E²⟩)``;
    - *spatiotemporal skill*: the same with errors over space and time; *spatiotemporal correlation*: the
      area mean of each cell's correlation in time.

    Models weigh the same in every mean over realizations j. A skill of one is perfect, zero is that of no
    change at all. RAW is the member itself; RegGMST, the 10-year low-pass, the 4th-order polynomial and
    (where ``training`` names models) the mean forced response of these stand beside it. A forced response
    that is the mean of few members contains the scored member, which flatters RAW and its kin: prepare the
    data with leave-one-out forced responses for small ensembles.

    Parameters
    ----------
    fingerprints
        By the name they shall have in the table.
    data
        Prepared data with ``field`` and ``forced``.
    models, training
        The held-out models that are scored, and the models the fingerprints were fitted on.
    years, trend_years
        Periods of the scores, cut to the years that all these models have (attributes say which).

    Returns
    -------
    xarray.Dataset
        By ``estimate`` (a name per fingerprint and baseline): ``trend_skill, trend_correlation, spatiotemporal_skill,
        spatiotemporal_correlation``; the same by ``(estimate, case)`` as ``…_rmse``, ``…_scale`` and
        ``…_correlation`` with coordinates ``case_model, case_member``; and maps
        ``trend_error (estimate, lat, lon)``, the root-mean-square error of trends in K per decade, with
        ``better_than_raw``. Computed.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CCSM4", "CESM2"], members=3, grid=30.0)
    >>> table = scorecard({}, data, models=["CESM2"], training=["CCSM4"])
    >>> table["estimate"].values.tolist()[-2:]
    ['4th-order polynomial', 'training-ensemble mean']
    """
    _check(data, models, training, fingerprints)
    span = _common_years(data, [*models, *training], years)
    inside = (span >= trend_years[0]) & (span <= trend_years[1])
    if inside.sum() < 10:
        raise ValueError(
            f"models have {inside.sum()} common years of {trend_years[0]}–{trend_years[1]} (they share "
            f"{span[0]}–{span[-1]}): give earlier trend_years"
        )
    template = data[models[0]].to_dataset()["field"]
    areas = cell_areas(template).values.ravel()
    areas = areas / areas.sum()
    fixed = _training_mean(data, training, span)
    scores: list[Scores] = []
    for case in _cases(data, models, span):
        estimates = {name: baseline(case.field, areas) for name, baseline in BASELINES.items()}
        estimates |= {} if fixed is None else {ENSEMBLE_MEAN: fixed}
        estimates |= {name: _flat(fp.predict(case.labelled)) for name, fp in fingerprints.items()}
        scores += [score(case, name, estimate, areas, inside) for name, estimate in estimates.items()]
    return _table(scores, template, span, inside)


@dataclass(frozen=True)
class Case:
    """One realization: its field and the truth, (year, cell) without their means, and the labelled field."""

    model: str
    member: str
    field: Array
    truth: Array
    labelled: xr.DataArray


@dataclass(frozen=True)
class Scores:
    """The numbers of one method on one realization."""

    model: str
    member: str
    method: str
    numbers: dict[str, float]
    trend_error: Array


def score(case: Case, method: str, estimate: Array, areas: Array, inside: NDArray[np.bool_]) -> Scores:
    """Score one estimate (year, cell) against the truth of one realization."""
    true_trend, trend_estimate = 10 * trend(case.truth[inside]), 10 * trend(estimate[inside])
    error = trend_estimate - true_trend
    return Scores(
        case.model,
        case.member,
        method,
        {
            "trend_rmse": float(np.sqrt(areas @ error**2)),
            "trend_scale": float(np.sqrt(areas @ true_trend**2)),
            "trend_correlation": _uncentred(true_trend, trend_estimate, areas),
            "spatiotemporal_rmse": float(np.sqrt(((estimate - case.truth) ** 2).mean(axis=0) @ areas)),
            "spatiotemporal_scale": float(np.sqrt((case.truth**2).mean(axis=0) @ areas)),
            "spatiotemporal_correlation": float(_temporal(case.truth, estimate) @ areas),
        },
        error,
    )


def _uncentred(truth: Array, estimate: Array, areas: Array) -> float:
    scale = np.sqrt((areas @ truth**2) * (areas @ estimate**2))
    return float(areas @ (truth * estimate) / scale) if scale > 0 else 0.0


def _temporal(truth: Array, estimate: Array) -> Array:
    """Correlation in time of each cell; zero where an estimate does not vary."""
    scale = np.sqrt((truth**2).sum(axis=0) * (estimate**2).sum(axis=0))
    shared = (truth * estimate).sum(axis=0)
    return np.asarray(np.divide(shared, scale, out=np.zeros_like(scale), where=scale > 0))


def _cases(data: xr.DataTree, models: Sequence[str], span: NDArray[np.int64]) -> Iterator[Case]:
    for model in models:
        node = data[model].to_dataset().sel(year=span)
        for member in node["member"].values:
            field = node["field"].sel(member=member).transpose("year", "lat", "lon").compute()
            truth = node["forced"]
            truth = truth.sel(member=member) if "member" in truth.dims else truth
            if bool(field.isnull().any()):
                raise ValueError(f"{model} {member} lacks values in {span[0]}–{span[-1]}: leave it out or cut years")
            yield Case(model, str(member), _flat(field), _flat(truth), field)


def _training_mean(data: xr.DataTree, training: Sequence[str], span: NDArray[np.int64]) -> Array | None:
    """Mean forced response of the training models, each with the same weight."""
    if not training:
        return None
    forced = [data[name].to_dataset()["forced"].sel(year=span) for name in training]
    means = [_flat(f.mean("member") if "member" in f.dims else f) for f in forced]
    return np.asarray(np.mean(means, axis=0))


def _flat(field: xr.DataArray) -> Array:
    """(year, cell), without each cell's mean over the years."""
    values = field.transpose("year", "lat", "lon").values.astype(np.float64)
    values = values.reshape(len(values), -1)
    return np.asarray(values - values.mean(axis=0))


def _common_years(data: xr.DataTree, models: Sequence[str], years: tuple[int, int]) -> NDArray[np.int64]:
    common = np.arange(years[0], years[1] + 1)
    for name in models:
        common = np.intersect1d(common, data[name].to_dataset()["year"].values)
    if common.size < 20 or np.ptp(common) + 1 != common.size:
        raise ValueError(
            f"the models share {common.size} years of {years[0]}–{years[1]}; a scorecard needs twenty or more "
            "without a gap: choose other years or leave models out"
        )
    return common.astype(np.int64)


def _check(
    data: xr.DataTree, models: Sequence[str], training: Sequence[str], fingerprints: Mapping[str, Predictor]
) -> None:
    missing = [name for name in [*models, *training] if name not in data.children]
    if missing:
        raise ValueError(f"the data has no model {', '.join(missing)}; it has {', '.join(data.children)}")
    if not models:
        raise ValueError("models= names no model to score")
    both = sorted(set(models) & set(training))
    if both:
        raise ValueError(f"{', '.join(both)} cannot be scored: held-out models must not be training models")
    taken = sorted({*BASELINES, ENSEMBLE_MEAN} & set(fingerprints))
    if taken:
        raise ValueError(f"{', '.join(taken)} is the name of a baseline: name the fingerprint otherwise")


def _table(
    scores: list[Scores], template: xr.DataArray, span: NDArray[np.int64], inside: NDArray[np.bool_]
) -> xr.Dataset:
    methods = list(dict.fromkeys(s.method for s in scores))
    by_method = [[s for s in scores if s.method == method] for method in methods]
    model, member = ([getattr(s, what) for s in by_method[0]] for what in ("model", "member"))
    cases = xr.Dataset(
        {
            name: (("estimate", "case"), [[s.numbers[name] for s in row] for row in by_method])
            for name in scores[0].numbers
        },
        coords={"estimate": methods, "case_model": ("case", model), "case_member": ("case", member)},
    )
    weights = xr.DataArray([1 / model.count(name) for name in model], dims="case")
    mean = cases.weighted(weights / weights.sum()).mean("case")
    result = cases.rename(
        trend_correlation="trend_correlation_by_case",
        spatiotemporal_correlation="spatiotemporal_correlation_by_case",
    )
    for kind in ("trend", "spatiotemporal"):
        share = (cases[f"{kind}_rmse"] / cases[f"{kind}_scale"]) ** 2
        result[f"{kind}_skill"] = 1 - np.sqrt(share.weighted(weights).mean("case"))
        result[f"{kind}_correlation"] = mean[f"{kind}_correlation"]
    squares = np.stack([[s.trend_error**2 for s in row] for row in by_method])
    error = np.sqrt(np.average(squares, axis=1, weights=weights))
    shape = (len(methods), template.sizes["lat"], template.sizes["lon"])
    coords = {"estimate": methods, "lat": template["lat"], "lon": template["lon"]}
    result["trend_error"] = xr.DataArray(error.reshape(shape), coords=coords, dims=("estimate", "lat", "lon"))
    result["trend_error"].attrs.update(units="K/decade", long_name="root-mean-square error of trends")
    result["better_than_raw"] = result["trend_error"] < result["trend_error"].sel(estimate="RAW", drop=True)
    result.attrs.update(
        years=f"{span[0]}-{span[-1]}", trend_years=f"{span[inside][0]}-{span[inside][-1]}", realizations=len(model)
    )
    return result
