"""Unforced runs as seen through a fingerprint, cut into independent segments, and their statistics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from climanchor.detection.null import Null
from climanchor.kernels.running import running_mean
from climanchor.kernels.trends import correlation, kept_trend_variance, trend

Array = NDArray[np.float64]

#: Least share of a trend's variance that removing drift may leave for a segment to be of use.
LEAST_KEPT = 0.25


@dataclass(frozen=True)
class Unforced:
    """One unforced run after projection: ``values (year, ...)``, with NaN where a year is missing.

    ``degree`` is that of the polynomial removed as drift; ``independence`` as in :class:`Null`.
    """

    model: str
    member: str
    years: NDArray[np.int64]
    values: Array
    degree: int = 0
    independence: float = 1.0


@dataclass(frozen=True)
class Statistic:
    """What is measured in a window: the trend in K per decade, or the correlation with a series.

    ``expected`` is the series (one value per year of the window) that a correlation needs.
    """

    name: Literal["trend", "correlation"]
    expected: Array | None = None

    def __call__(self, values: Array) -> Array:
        """The statistic of ``values (year, ...)``."""
        if self.expected is None:
            return 10 * trend(values)
        return correlation(values, self.expected)

    def gaussian(self, statistic: Array) -> Array:
        """The statistic on the scale where its null is Gaussian: Fisher's z for correlations."""
        if self.expected is None:
            return statistic
        nearly_one = 1 - 1e-9
        return np.asarray(np.arctanh(np.clip(statistic, -nearly_one, nearly_one)))


@dataclass(frozen=True)
class Segments:
    """Independent windows of unforced runs: ``values`` and their ``decadal`` part, (segment, year, ...)."""

    values: Array
    decadal: Array
    kept: Array
    model: NDArray[np.str_]
    member: NDArray[np.str_]
    start: NDArray[np.int64]
    run: NDArray[np.int64]
    independence: Array

    def __len__(self) -> int:
        return len(self.model)


class NullSampler:
    """The null of a statistic for any inflation of decadal variability.

    The inflated segment is ``values + (f − 1) decadal``. Trends are linear in it, so the two parts are
    measured once; a correlation is measured anew for every ``f``.
    """

    def __init__(self, segments: Segments, statistic: Statistic) -> None:
        self.segments, self.statistic = segments, statistic
        if statistic.name == "trend":
            gain = 1 / np.sqrt(segments.kept.reshape(-1, *[1] * (segments.values.ndim - 2)))
            self._total = gain * np.stack([statistic(part) for part in segments.values])
            self._decadal = gain * np.stack([statistic(part) for part in segments.decadal])

    def statistics(self, inflate: float | Array = 1.0) -> Array:
        """Statistics (segment, ...), in their own units; ``inflate`` may differ from cell to cell."""
        factor = np.asarray(inflate) - 1.0
        if self.statistic.name == "trend":
            return np.asarray(self._total + factor * self._decadal)
        parts = zip(self.segments.values, self.segments.decadal, strict=True)
        return np.stack([self.statistic(values + factor * decadal) for values, decadal in parts])

    def __call__(self, inflate: float | Array = 1.0) -> Null:
        """The null on the scale where it is Gaussian."""
        s = self.segments
        return Null(self.statistic.gaussian(self.statistics(inflate)), s.model, s.run, s.independence)


def cut(runs: Sequence[Unforced], *, window: int, gap: int = 0, decades: int = 10) -> Segments:
    """Cut unforced runs into non-overlapping segments of ``window`` years, ``gap`` years apart.

    Years missing from a run split it. The decadal part is the running mean over ``decades`` years of the
    unsplit stretch. Where drift was removed from the whole run, each segment carries the share of trend
    variance that this leaves (``kept``); segments with hardly any left are not used.
    Raises ``ValueError`` naming every run when none is long enough.
    """
    pieces = [
        (run, number, segment)
        for number, run in enumerate(runs)
        for segment in _segments(run, window=window, gap=gap, decades=decades)
    ]
    if not pieces:
        raise ValueError(_too_short(runs, window))
    return Segments(
        values=np.stack([values for _, _, (values, _, _, _) in pieces]),
        decadal=np.stack([decadal for _, _, (_, decadal, _, _) in pieces]),
        kept=np.array([kept for _, _, (_, _, kept, _) in pieces]),
        model=np.array([run.model for run, _, _ in pieces]),
        member=np.array([run.member for run, _, _ in pieces]),
        start=np.array([start for _, _, (_, _, _, start) in pieces]),
        run=np.array([number for _, number, _ in pieces]),
        independence=np.array([run.independence for run, _, _ in pieces]),
    )


def _segments(run: Unforced, *, window: int, gap: int, decades: int) -> Iterator[tuple[Array, Array, float, int]]:
    present = np.flatnonzero(present_years(run.values))
    for stretch in np.split(present, np.flatnonzero(np.diff(run.years[present]) != 1) + 1):
        values = run.values[stretch]
        decadal = decadal_part(values, window=decades)
        for first in range(0, len(stretch) - window + 1, window + gap):
            place = int(np.searchsorted(present, stretch[first]))
            kept = kept_trend_variance(len(present), start=place, window=window, degree=run.degree)
            if kept >= LEAST_KEPT:
                part = slice(first, first + window)
                yield values[part], decadal[part], kept, int(run.years[stretch[first]])


def decadal_part(values: Array, *, window: int = 10) -> Array:
    """Running mean of ``values (year, ...)`` that keeps every year: its window shrinks at the ends.

    The first year of an even window has only half of it to average and takes its neighbour's mean.
    """
    if len(values) < 2:
        return values
    smooth = running_mean(values, window=window, edges="shrink", axis=0)
    smooth[0] = np.where(np.isnan(smooth[0]), smooth[1], smooth[0])
    return smooth


def present_years(values: Array) -> NDArray[np.bool_]:
    """Years with any value: cells that a fingerprint never predicts are missing in every year."""
    return np.asarray(~np.isnan(values).reshape(len(values), -1).all(axis=1))


def _too_short(runs: Sequence[Unforced], window: int) -> str:
    if not runs:
        return "the control holds no run"
    lengths = ", ".join(
        f"{run.model} {run.member}: {int(present_years(run.values).sum())} years"
        + (f" with drift of degree {run.degree} removed" if run.degree else "")
        for run in runs
    )
    return (
        f"no control run gives a segment of {window} years ({lengths}); removing drift also needs runs "
        "clearly longer than the window: shorten the window, give longer runs, or keep the drift"
    )
