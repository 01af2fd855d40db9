"""The null distribution: how large a statistic internal variability alone makes, and p-values from it.

A stationary climate has no expected trend and no expected correlation with anything, so the null is
centred on zero and only its spread is estimated. Plain NumPy: the first axis is the segment, what
follows (nothing, or cells) is carried along.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv, ndtr, stdtr, stdtrit

from climanchor.kernels.trends import effective_size

Array = NDArray[np.float64]
Sided = Literal["two-sided", "greater", "less"]
Method = Literal["student", "empirical"]
Choice = Literal["pooled", "per_model", "leave_model_out"]

#: Confidence of the interval given beside every p-value.
CONFIDENCE = 0.9


@dataclass(frozen=True)
class Null:
    """Statistics of independent unforced segments, in the order in which each run made them.

    ``run`` numbers the run of every segment, so that only neighbours in one run count as neighbours;
    ``independence`` is the share of an independent sample that a segment is worth (one for a control
    run, ``(m − 1)/m`` for a member of which the mean of ``m`` members was removed).
    """

    statistics: Array
    model: NDArray[np.str_]
    run: NDArray[np.int64]
    independence: Array

    def take(self, keep: NDArray[np.bool_]) -> "Null":
        """The null of some of the segments."""
        return Null(self.statistics[keep], self.model[keep], self.run[keep], self.independence[keep])

    @property
    def models(self) -> list[str]:
        """Names of the climate models, in order of appearance."""
        return list(dict.fromkeys(self.model.tolist()))

    @property
    def weights(self) -> Array:
        """Weight of each segment: models weigh the same, and so do the segments within a model."""
        _, index, size = np.unique(self.model, return_inverse=True, return_counts=True)
        return np.asarray(1 / (len(size) * size[index]))


@dataclass(frozen=True)
class Spread:
    """Spread of a null about zero and the degrees of freedom it was estimated with."""

    std: Array
    freedom: Array


@dataclass(frozen=True)
class Verdict:
    """A p-value with its interval, and the null it was read from."""

    p_value: Array
    low: Array
    high: Array
    critical: Array
    spread: Spread


def independent_segments(null: Null) -> Array:
    """Effective number of independent segments in a null of one model, for estimating its variance.

    ``n (1 − r²)/(1 + r²)`` with ``r`` the correlation of neighbouring segments (about zero, over all
    runs) and ``1/n``, what chance alone gives ``r²``, taken off; times the segments' own share of
    independence. Fewer than four pairs of neighbours say nothing about ``r``, which is then zero.
    """
    values = null.statistics
    neighbours = np.flatnonzero(null.run[1:] == null.run[:-1])
    worth = float(null.independence.sum())
    if neighbours.size < 4:
        return np.full(values.shape[1:], worth)
    shared = (values[neighbours] * values[neighbours + 1]).sum(axis=0)
    total = (values**2).sum(axis=0)
    r = np.divide(shared, total, out=np.zeros_like(total), where=total > 0)
    return effective_size(worth, np.maximum(r**2 - 1 / len(values), 0.0))


def spread(null: Null) -> Spread:
    """Spread about zero, models weighing the same, with Satterthwaite's degrees of freedom.

    ``v = mean_m v_m`` and ``ν = (Σ v_m)² / Σ (v_m²/ν_m)``: for one model ``ν`` is the effective number
    of its segments; models that disagree bring it towards that of the liveliest.
    """
    parts = [null.take(null.model == name) for name in null.models]
    variance = np.stack([(part.statistics**2).mean(axis=0) for part in parts])
    freedom = np.stack([independent_segments(part) for part in parts])
    scatter = (variance**2 / freedom).sum(axis=0)
    total = variance.sum(axis=0)
    pooled = np.divide(total**2, scatter, out=np.array(freedom.sum(axis=0)), where=scatter > 0)
    return Spread(np.sqrt(variance.mean(axis=0)), pooled)


def verdict(statistic: Array, null: Null, *, sided: Sided, level: float, method: Method) -> Verdict:
    """p-value of a statistic against one null.

    ``student``: ``statistic / std`` is Student's t with the effective number of segments as degrees of
    freedom. Its interval is what the p-value would be if the spread were known to be at the ends of its
    90 % interval. ``empirical``: the weighted share of segments as extreme, ``(1 + k)/(1 + n)`` on the
    effective number, with Jeffreys' 90 % interval; it cannot go below ``1/(1 + n)``.
    """
    if len(null.statistics) < 2:
        raise ValueError(
            f"the null has {len(null.statistics)} segment(s): a spread needs at least two; "
            "give longer or more control runs, or a shorter window"
        )
    scale = spread(null)
    if method == "student":
        return _student(np.asarray(statistic, dtype=np.float64), scale, sided=sided, level=level)
    return _empirical(np.asarray(statistic, dtype=np.float64), null, scale, sided=sided, level=level)


def _student(statistic: Array, scale: Spread, *, sided: Sided, level: float) -> Verdict:
    std, freedom = scale.std, scale.freedom
    tail = (1 - CONFIDENCE) / 2
    with np.errstate(divide="ignore", invalid="ignore"):  # a null without variance rejects everything
        p = _tail(lambda x: stdtr(freedom, x), statistic / std, sided)
        ends = [
            _tail(ndtr, statistic / (std * np.sqrt(freedom / (2 * gammaincinv(freedom / 2, q)))), sided)
            for q in (tail, 1 - tail)  # quantiles of chi-squared
        ]
    quantile = 1 - (level / 2 if sided == "two-sided" else level)
    low, high = np.minimum(*ends), np.maximum(*ends)
    return Verdict(p, np.minimum(low, p), np.maximum(high, p), std * stdtrit(freedom, quantile), scale)


def _tail(cdf: Callable[[Array], Array], x: Array, sided: Sided) -> Array:
    """Probability of a value as extreme as ``x`` under a symmetric distribution about zero."""
    if sided == "two-sided":
        return 2 * cdf(-np.abs(x))
    return cdf(-x) if sided == "greater" else cdf(x)


def _empirical(statistic: Array, null: Null, scale: Spread, *, sided: Sided, level: float) -> Verdict:
    values = {"two-sided": np.abs(null.statistics), "greater": null.statistics, "less": -null.statistics}[sided]
    observed = {"two-sided": np.abs(statistic), "greater": statistic, "less": -statistic}[sided]
    weights = null.weights.reshape(-1, *[1] * (values.ndim - 1))
    size = np.minimum(1 / (null.weights**2).sum(), null.independence.sum())
    share = (weights * (values >= observed)).sum(axis=0)
    tail = (1 - CONFIDENCE) / 2
    hits = share * size
    low, high = (betaincinv(hits + 0.5, size - hits + 0.5, q) for q in (tail, 1 - tail))
    p = np.where(np.isnan(observed), np.nan, (1 + hits) / (1 + size))
    order = np.argsort(values, axis=0)
    below = np.cumsum(np.take_along_axis(np.broadcast_to(weights, values.shape), order, axis=0), axis=0)
    place = np.minimum((below < 1 - level).sum(axis=0), len(values) - 1)
    critical = np.take_along_axis(np.take_along_axis(values, order, axis=0), place[None], axis=0)[0]
    return Verdict(p, np.minimum(low, p), np.maximum(high, p), critical, scale)


def nulls(null: Null, *, choice: Choice, tested: str | None) -> Iterator[Null]:
    """The nulls a choice asks for; the least favourable of them decides.

    ``pooled``: all models together. ``per_model``: each model on its own (those with one segment are
    left out). ``leave_model_out``: all but the tested model; observations belong to no model, so then
    every model is left out in turn.
    """
    if choice == "pooled":
        yield null
    elif choice == "per_model":
        parts = [null.take(null.model == name) for name in null.models]
        enough = [part for part in parts if len(part.statistics) > 1]
        if not enough:
            raise ValueError(
                "no model of the control has two segments or more: use longer control runs, a shorter "
                'window, or null="pooled"'
            )
        yield from enough
    elif choice == "leave_model_out":
        for name in null.models if tested is None else [tested]:
            rest = null.take(null.model != name)
            if not len(rest.statistics):
                raise ValueError(
                    f"leaving out {name} leaves no model in the null: give control runs of two models or "
                    'more, or use null="pooled"'
                )
            yield rest
    else:
        raise ValueError(f'null must be "pooled", "per_model" or "leave_model_out", got {choice!r}')


def least_favourable(verdicts: list[Verdict]) -> Verdict:
    """The verdict with the largest p-value, cell by cell."""
    p = np.stack([v.p_value for v in verdicts])
    worst = np.argmax(np.where(np.isnan(p), -1.0, p), axis=0)[None]

    def pick(values: list[Array]) -> Array:
        stacked = np.stack([np.broadcast_to(value, p.shape[1:]) for value in values])
        return np.asarray(np.take_along_axis(stacked, worst, axis=0)[0])

    return Verdict(
        pick([v.p_value for v in verdicts]),
        pick([v.low for v in verdicts]),
        pick([v.high for v in verdicts]),
        pick([v.critical for v in verdicts]),
        Spread(pick([v.spread.std for v in verdicts]), pick([v.spread.freedom for v in verdicts])),
    )
