"""Size and power of a test, from model runs that play the part of observations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.detection.coverage import cell_areas, expected_window
from climanchor.detection.design import Design
from climanchor.detection.projection import Predictor, check_units, project, project_runs
from climanchor.detection.regions import Region, region_weights
from climanchor.detection.segments import NullSampler, Statistic, cut

Array = NDArray[np.float64]


def size_and_power(
    fingerprint: Predictor,
    *,
    control: xr.DataTree | Sequence[xr.DataTree],
    data: xr.DataTree | None = None,
    unforced: xr.DataTree | Sequence[xr.DataTree] | None = None,
    statistic: Literal["trend", "correlation"] = "trend",
    window: int | tuple[int, int] = 40,
    expected: xr.DataArray | None = None,
    region: Region = None,
    land: xr.DataArray | None = None,
    design: Design | None = None,
) -> xr.Dataset:
    """How often the test rejects where it should not (size) and where it should (power).

    *Size*: every unforced segment in turn plays the observations against a null it has no part in:
    without itself (``null="pooled"``), the rest of its own model (``"per_model"``), or the other models
    (``"leave_model_out"``). Segments of ``unforced``, when given, take the place of those of ``control``:
    runs livelier than the control show how over-confident a test from calm models is.
    *Power*: every member of every model of ``data`` plays the observations in the window, or in its last
    years of that length when it ends earlier (a correlation is with the same expected series all the same).

    Parameters
    ----------
    control, statistic, window, expected, region, land
        As in :func:`detect`.
    data
        Prepared data of models the fingerprint has not seen; None leaves power out.
    unforced
        Other unforced runs to test, in the form of ``control``.
    design
        The :class:`Design` of the test; pooled, two-sided at 5 % by default.

    Returns
    -------
    xarray.Dataset
        ``size`` and ``power``, means over models (each with the same weight), with Monte-Carlo standard
        errors ``size_error``, ``power_error``; per model ``size_by_model (size_model)`` and
        ``power_by_model (power_model)``; numbers of tests ``size_tests``, ``power_tests``. Computed.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CCSM4", "CESM2"], members=3, grid=30.0)
    >>> fp = ca.fit_fingerprint(data, models=["CCSM4"], gamma=5, alpha=100, rank=5, samples_per_model=100)
    >>> control = ca.detection.prepare_control(ca.simulate.control(models=["CCSM4"], years=400, grid=30.0))
    >>> int(size_and_power(fp, control=control)["size_tests"].sum())
    10
    """
    design = design or Design()
    weights = region_weights(region, areas=cell_areas(_template(control)), land=land)
    length = window if isinstance(window, int) else window[1] - window[0] + 1
    years = None if isinstance(window, int) else np.arange(window[0], window[1] + 1)
    if expected is not None and years is None:
        years = expected["year"].values[-length:]
    measure = Statistic(statistic, expected_window(statistic, expected, years))
    sampler = NullSampler(cut(project_runs(fingerprint, control, weights), window=length, gap=design.gap), measure)
    others = None
    if unforced is not None:
        others = NullSampler(cut(project_runs(fingerprint, unforced, weights), window=length, gap=design.gap), measure)
    forced, short = ([], []) if data is None else members(fingerprint, data, weights, years=years, length=length)
    result = rejection_rates(design, sampler, others=others, forced=forced)
    if "size" not in result:
        raise ValueError(
            f"{len(sampler.segments)} control segment(s) are too few to test any of them against the others: "
            "give longer control runs or a shorter window"
        )
    if data is not None and not forced:
        raise ValueError(f"no member has the {length} years of the window: {', '.join(short)}")
    return result.assign_attrs(set_aside=", ".join(short))


def rejection_rates(
    design: Design,
    sampler: NullSampler,
    *,
    others: NullSampler | None = None,
    forced: Sequence[tuple[str, Array]] = (),
) -> xr.Dataset:
    """Size from the sampler's own segments (or those of ``others``) and power from ``forced`` windows by model.

    Segments whose null would have fewer than two others are not tested; without any test there is no rate.
    """
    cells = ("lat", "lon")[: sampler.segments.values.ndim - 2]
    tests = _own_segments(design, sampler) if others is None else _other_segments(design, sampler, others)
    powers = ((name, design.judge(sampler.statistic(part), sampler, tested=name).p_value) for name, part in forced)
    return _rates("size", tests, design.level, cells).merge(_rates("power", powers, design.level, cells))


def over_confidence(
    fingerprints: Mapping[str, Predictor],
    *,
    calm: xr.DataTree | Sequence[xr.DataTree],
    lively: xr.DataTree | Sequence[xr.DataTree],
    data: xr.DataTree | None = None,
    window: int = 40,
    design: Design | None = None,
) -> xr.Dataset:
    """What a test from calm models makes of lively truth, for several fingerprints side by side.

    Unforced segments of the ``lively`` models are tested against a null from the ``calm`` ones and against a
    matching null, from the lively models themselves (without the tested segment). A size above the level is
    over-confidence.

    Parameters
    ----------
    fingerprints
        By name, for example the strength of their anchor regularisation.
    calm, lively
        Unforced runs, as ``control`` in :func:`detect`.
    data
        Prepared forced data of held-out models, for the power under either null.
    window, design
        As in :func:`size_and_power`.

    Returns
    -------
    xarray.Dataset
        ``size, size_error`` and, with ``data``, ``power, power_error``, each ``(fingerprint, null)`` with the
        nulls ``calm`` and ``matching``. Computed.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CCSM4"], members=3, grid=30.0)
    >>> fp = ca.fit_fingerprint(data, gamma=5, alpha=100, rank=5, samples_per_model=100)
    >>> calm, lively = (ca.simulate.control(models=[name], years=400, grid=30.0) for name in ("CCSM4", "CNRM-CM6-1"))
    >>> table = over_confidence({"γ = 5": fp}, calm=calm, lively=lively)
    >>> table["null"].values.tolist(), bool((table["size"] <= 1).all())
    (['calm', 'matching'], True)
    """
    rows = []
    for fingerprint in fingerprints.values():
        against = (
            size_and_power(fingerprint, control=calm, unforced=lively, data=data, window=window, design=design),
            size_and_power(fingerprint, control=lively, data=data, window=window, design=design),
        )
        names = [name for name in ("size", "size_error", "power", "power_error") if name in against[0]]
        rows.append(xr.concat([part[names] for part in against], dim="null"))
    table = xr.concat(rows, dim="fingerprint")
    return table.assign_coords(fingerprint=list(fingerprints), null=["calm", "matching"])


def _own_segments(design: Design, sampler: NullSampler) -> Iterator[tuple[str, Array]]:
    """p-values of the control's own segments, each against a null it has no part in."""
    truth, null = sampler(), sampler(design.inflate)
    for i, name in enumerate(null.model.tolist()):
        rest = np.arange(len(null.model)) != i
        if design.null == "per_model":
            rest &= null.model == name
        if rest.sum() > 1:
            yield name, design.judge_against(truth.statistics[i], null.take(rest), tested=name).p_value


def _other_segments(design: Design, sampler: NullSampler, others: NullSampler) -> Iterator[tuple[str, Array]]:
    """p-values of segments of other unforced runs."""
    for name, value in zip(others.segments.model.tolist(), others.statistics(), strict=True):
        yield name, design.judge(value, sampler, tested=name).p_value


def members(
    fingerprint: Predictor,
    data: xr.DataTree,
    weights: xr.DataArray | None,
    *,
    years: NDArray[np.int64] | None,
    length: int,
) -> tuple[list[tuple[str, Array]], list[str]]:
    """Projected window (year, ...) of every member of every model: ``years``, or its last ``length`` years.

    Also the members that are shorter than the window, in words.
    """
    windows, short = [], []
    for name, node in data.children.items():
        field = node.to_dataset()["field"]
        check_units(field, f"the field of {name}")
        values = project(fingerprint, field, weights)
        for member in values["member"].values:
            series = values.sel(member=member).transpose("year", ...).dropna("year", how="all")
            known = series["year"].values
            if len(known) < length:
                short.append(f"{name} {member} has {len(known)} years")
                continue
            inside = years is not None and np.isin(years, known).all()
            windows.append((name, series.sel(year=years if inside else known[-length:]).values))
    return windows, short


def _rates(what: str, tests: Iterable[tuple[str, Array]], level: float, cells: tuple[str, ...]) -> xr.Dataset:
    """Rejection rates per model and their mean, with Monte-Carlo errors."""
    rejected: dict[str, list[Array]] = {}
    for name, p in tests:
        rejected.setdefault(name, []).append(np.where(np.isnan(p), np.nan, p <= level))
    if not rejected:
        return xr.Dataset()
    rates = np.stack([np.mean(values, axis=0) for values in rejected.values()])
    numbers = np.array([len(values) for values in rejected.values()])
    shape = (-1, *[1] * len(cells))
    error = np.sqrt((rates * (1 - rates) / numbers.reshape(shape)).sum(axis=0)) / len(numbers)
    return xr.Dataset(
        {
            what: (cells, rates.mean(axis=0)),
            f"{what}_error": (cells, error),
            f"{what}_by_model": ((f"{what}_model", *cells), rates),
            f"{what}_tests": (f"{what}_model", numbers),
        },
        coords={f"{what}_model": list(rejected)},
    )


def _template(control: xr.DataTree | Sequence[xr.DataTree]) -> xr.DataArray:
    first = control if isinstance(control, xr.DataTree) else control[0]
    return next(iter(first.children.values())).to_dataset()["field"]
