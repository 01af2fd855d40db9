"""The design of a test: everything that is decided before an observation is looked at."""

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from climanchor.detection.null import Choice, Method, Null, Sided, Verdict, least_favourable, nulls, verdict
from climanchor.detection.segments import NullSampler

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """How a statistic is held against a null. See :func:`climanchor.detection.detect` for the meanings.

    Raises ``ValueError`` for a choice that does not exist and for numbers out of range.

    >>> Design(null="leave_model_out", sided="greater").level
    0.05
    """

    null: Choice = "pooled"
    sided: Sided = "two-sided"
    level: float = 0.05
    method: Method = "student"
    inflate: float = 1.0
    gap: int = 0
    decades: int = 10

    def __post_init__(self) -> None:
        for name, allowed in (("null", Choice), ("sided", Sided), ("method", Method)):
            if getattr(self, name) not in get_args(allowed):
                raise ValueError(f"{name} must be one of {get_args(allowed)}, got {getattr(self, name)!r}")
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {self.level}")
        if not self.inflate > 0:
            raise ValueError(f"inflate must be positive (1 leaves the null alone), got {self.inflate}")
        if self.gap < 0 or self.decades < 2:
            raise ValueError(f"gap must be >= 0 and decades >= 2, got {self.gap} and {self.decades}")

    def judge(
        self,
        statistic: Array,
        sampler: NullSampler,
        *,
        inflate: float | Array | None = None,
        tested: str | None = None,
    ) -> Verdict:
        """Verdict on a statistic (in its own units) against the sampler's null."""
        null = sampler(self.inflate if inflate is None else inflate)
        observed = sampler.statistic.gaussian(np.asarray(statistic, dtype=np.float64))
        return self.judge_against(observed, null, tested=tested)

    def judge_against(self, observed: Array, null: Null, *, tested: str | None = None) -> Verdict:
        """Verdict on a statistic on the Gaussian scale against a null; the least favourable part decides."""
        parts = nulls(null, choice=self.null, tested=tested)
        return least_favourable([self.judge_alone(observed, part) for part in parts])

    def judge_alone(self, observed: Array, null: Null) -> Verdict:
        """Verdict on a statistic on the Gaussian scale against one null as it is."""
        return verdict(observed, null, sided=self.sided, level=self.level, method=self.method)


def inflation_limit(
    design: Design,
    statistic: Array,
    sampler: NullSampler,
    *,
    tested: str | None = None,
    largest: float = 1000.0,
    steps: int = 40,
) -> Array:
    """Factor on the null's decadal variability at which the test stops rejecting.

    Bisection in the factor between 0 and ``largest``. Below one: not detected as the models stand.
    Zero: not detected even without decadal variability. Infinite: still detected at ``largest``.
    """
    statistic = np.asarray(statistic, dtype=np.float64)

    def rejects(factor: Array) -> NDArray[np.bool_]:
        return np.asarray(design.judge(statistic, sampler, inflate=factor, tested=tested).p_value <= design.level)

    low = np.zeros(statistic.shape)
    high = np.full(statistic.shape, 2.0)
    for _ in range(int(np.ceil(np.log2(largest)))):  # widen until the upper end no longer rejects
        inside = rejects(high)
        low, high = np.where(inside, high, low), np.where(inside, 2 * high, high)
        if not inside.any():
            break
    never, always = ~rejects(np.zeros(statistic.shape)), high > largest
    for _ in range(steps):
        middle = (low + high) / 2
        inside = rejects(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    limit = np.where(always, np.inf, np.where(never, 0.0, low))
    return np.where(np.isnan(statistic), np.nan, limit)
