"""Detection: is the observed change outside what internal variability makes?"""

from collections.abc import Mapping, Sequence
from typing import Literal

import xarray as xr

from climanchor.detection.caveats import caveats, unused_runs
from climanchor.detection.coverage import (
    cell_areas,
    check_observations,
    coverage_mask,
    covered_area,
    expected_window,
    window_years,
)
from climanchor.detection.design import Design
from climanchor.detection.null import Choice, Method, Sided
from climanchor.detection.projection import Predictor, project, project_runs
from climanchor.detection.pseudo import members, rejection_rates
from climanchor.detection.regions import Region, describe, region_weights
from climanchor.detection.result import assemble
from climanchor.detection.segments import NullSampler, Statistic, cut


def detect(
    fingerprint: Predictor,
    *,
    observations: xr.DataArray,
    control: xr.DataTree | Sequence[xr.DataTree],
    statistic: Literal["trend", "correlation"] = "trend",
    window: int | tuple[int, int] = 40,
    expected: xr.DataArray | None = None,
    region: Region = None,
    land: xr.DataArray | None = None,
    null: Choice = "pooled",
    tested: str | None = None,
    sided: Sided = "two-sided",
    level: float = 0.05,
    method: Method = "student",
    inflate: float = 1.0,
    inflations: Sequence[float] = (1.0, 2**0.5, 2.0, 3.0, 5.0),
    gap: int = 0,
    min_coverage: float = 0.1,
    emergence: float = 2.0,
    pseudo_observations: xr.DataTree | None = None,
) -> xr.Dataset:
    """Test whether observations show more forced change than unforced runs do, seen through a fingerprint.

    The fingerprint is restricted to the cells observed in every year of the window, observations and
    control runs are projected alike, and the statistic of the observed window is held against those of
    independent control segments of the same length. The null says: internal variability alone.

    Parameters
    ----------
    fingerprint
        A fitted ``Fingerprint``.
    observations
        Anomalies (year, lat, lon) in K on the fingerprint's grid, NaN where nothing was observed; a
        dimension ``realization`` makes it an ensemble. See :func:`load_observations`.
    control
        Unforced anomalies, one child per model with ``field (member, year, lat, lon)``, or several such
        trees. See :func:`prepare_control` and :func:`unforced_residuals`.
    statistic
        ``"trend"``, in K per decade, or ``"correlation"``: Spearman's, with ``expected``.
    window
        Number of years up to the last one observed, or ``(first, last)``.
    expected
        Expected forced series with coordinate ``year`` (see :func:`expected_series`); correlation only.
    region, land
        Where the predicted response is averaged; ``"cells"`` tests every cell, with control of the
        false-discovery rate at ``level``. See :func:`region_weights`.
    null, tested
        ``"pooled"``: all models, each with the same weight. ``"per_model"``: each model on its own, the
        least favourable decides. ``"leave_model_out"``: without the ``tested`` model; observations belong
        to none, so each is left out in turn and the least favourable decides.
    sided, level, method
        ``"two-sided"``, ``"greater"`` or ``"less"``; the level of the test; and p-values from Student's t
        with the effective number of segments (``"student"``) or from ranks (``"empirical"``).
    inflate, inflations
        Factor on the decadal variability (10-year running mean) of the null; p-values are also given for
        every factor of ``inflations``, and the factor at which detection is lost in any case.
    gap
        Years left out between segments.
    min_coverage
        Least share of the globe's area that must be observed throughout the window.
    emergence
        Emergence is the first year after which the signal stays above this many standard deviations of
        the projected control.
    pseudo_observations
        Prepared data of models the fingerprint has not seen: gives the power of the test beside its size
        (see :func:`size_and_power`).

    Returns
    -------
    xarray.Dataset
        Its variables are listed in the documentation of :mod:`climanchor.detection`. Computed.

    Raises
    ------
    ValueError
        Units, dimensions, periods, coverage, control length or number of segments do not permit the test;
        the message says which and what to do.

    Examples
    --------
    A member of another model plays the observations.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CCSM4", "CESM2"], members=3, grid=30.0)
    >>> fp = ca.fit_fingerprint(data, models=["CCSM4"], gamma=5, alpha=100, rank=5, samples_per_model=100)
    >>> control = ca.detection.prepare_control(ca.simulate.control(models=["CCSM4"], years=400, grid=30.0))
    >>> result = ca.detect(fp, observations=data["CESM2"]["field"].isel(member=0), control=control)
    >>> bool(result["detected"]), result.attrs["window"]
    (True, '1975-2014')
    """
    design = Design(null=null, sided=sided, level=level, method=method, inflate=inflate, gap=gap)
    observed = check_observations(observations)
    years = window_years(observed, window)
    mask = coverage_mask(observed, years, min_coverage=min_coverage)
    restricted = fingerprint if bool(mask.all()) else fingerprint.restrict(mask)
    weights = region_weights(region, areas=cell_areas(mask), land=land)

    series = project(restricted, observed, weights)
    runs = project_runs(restricted, control, weights)
    measure = Statistic(statistic, expected_window(statistic, expected, years))
    sampler = NullSampler(cut(runs, window=len(years), gap=gap, decades=design.decades), measure)

    result = assemble(
        design, sampler, series=series, years=years, runs=runs, inflations=inflations, tested=tested,
        emergence=emergence,
    )  # fmt: skip
    played = xr.DataTree() if pseudo_observations is None else pseudo_observations
    forced, short = members(restricted, played, weights, years=years, length=len(years))
    result = result.merge(rejection_rates(design, sampler, forced=forced))
    result["observed_cells"] = mask
    result.attrs.update(
        window=f"{years[0]}-{years[-1]}",
        region=describe(region),
        observed_area=covered_area(mask),
        observations=str(observations.attrs.get("title", observations.name or "observations")),
        reference=str(observations.attrs.get("reference", "as given")),
        **_fitted(fingerprint),
    )
    weak = caveats(
        result,
        trained_on=_training(fingerprint),
        observations=observations,
        left_out=[*unused_runs(runs, sampler.segments), *short],
    )
    return result.assign_attrs(caveats="; ".join(weak))


def _fitted(fingerprint: Predictor) -> Mapping[str, float]:
    """What identifies a fingerprint, as far as it says."""
    known = {name: getattr(fingerprint, name, None) for name in ("gamma", "alpha", "rank")}
    return {name: float(value) for name, value in known.items() if value is not None}


def _training(fingerprint: Predictor) -> dict[str, int | None]:
    """Training models of a fingerprint and their numbers of members, as far as it says."""
    sizes: dict[str, int | None] = dict.fromkeys(getattr(fingerprint, "models", ()))
    evidence = getattr(fingerprint, "evidence", None)
    drawn = xr.Dataset() if evidence is None else evidence.describe()
    if "sample_member" in drawn:
        pairs = set(zip(drawn["sample_model"].values.tolist(), drawn["sample_member"].values.tolist(), strict=True))
        sizes = {name: sum(model == name for model, _ in pairs) for name in sizes}
    return sizes
