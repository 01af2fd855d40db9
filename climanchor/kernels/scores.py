"""Scores from moments alone: R² and residual–anchor correlation of each target, for every α and rank.

A prediction ``ŷ = ȳ + B'(x − x̄)`` with training means leaves residuals whose scatter, mean and covariance with
the anchors are quadratic and linear in B and need only the moments of the evaluated samples:

``Σ w (e − ē)² = yy − 2 diag(B' xy) + diag(B' xx B)``,  ``ē = ȳ_v − ŷ(x̄_v)``,  ``Σ w (e − ē)(a − ā)' = ya − B' xa``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from climanchor.kernels.moments import Moments
from climanchor.kernels.path import Factors, Spectrum

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of each target (p,), or of a stack of fits (..., p).

    ``mse`` is the mean squared error, ``r2`` = 1 − Σ w e²/Σ w (y − ȳ)² with ȳ of the evaluated samples, and
    ``correlation`` (..., p, q) that of the residuals ``y − ŷ`` with each anchor (NaN where either is constant).
    """

    r2: Array
    mse: Array
    correlation: Array


def score_sums(m: Moments, mean: Array, scatter: Array, covariance: Array) -> Scores:
    """Scores from the residuals' mean, scatter about it and covariance with the anchors (..., p[, q])."""
    squares = np.maximum(scatter, 0.0) + m.weight * mean**2
    spread = np.sqrt(np.maximum(scatter, 0.0))[..., None] * np.sqrt(np.diagonal(m.aa))
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(m.y_scatter > 0, 1 - squares / m.y_scatter, np.nan)
        correlation = np.where(spread > 0, covariance / spread, np.nan)
    return Scores(r2, squares / m.weight, correlation)


def score_factors(factors: Factors, m: Moments) -> Scores:
    """Scores of one fit on the samples behind ``m``, whose means are relative to the training means."""
    L, V = factors.y_loadings, factors.x_weights
    scatter = m.y_scatter - 2 * np.einsum("jm,jm->j", L, m.xy.T @ V) + np.einsum("jm,jm->j", L, L @ (V.T @ (m.xx @ V)))
    return score_sums(m, m.y_mean - L @ (V.T @ m.x_mean), scatter, m.ya - L @ (V.T @ m.xa))


def score_path(
    spectrum: Spectrum,
    m: Moments,
    *,
    alphas: ArrayLike,
    ranks: ArrayLike,
    summarise: Callable[[Scores], Any],
    basis: Array | None = None,
    map: Callable[..., Iterable[Any]] = map,
) -> list[Any]:
    """Score every (α, ρ) and return ``summarise(Scores)`` of each α, the stack over ``ranks`` in front.

    ``m`` holds the evaluated samples in the coordinates of the spectrum (`Moments.rotated`), relative to the
    training means. With ``basis`` (p, r_v), which spans the rows of their targets, ``m.xy`` is in its coordinates
    (k, r_v). ``ranks`` above the target rank give the scores of that rank. ``map`` may run the α in parallel.
    """
    tops = np.minimum(np.atleast_1d(ranks), spectrum.target_rank)
    steps, where = np.unique(tops, return_inverse=True)

    def one(alpha: float) -> Any:
        _, vectors = spectrum.modes(alpha, int(steps[-1]))
        L = spectrum.loadings(vectors)  # (p, ρ)
        V = spectrum.ridge(alpha) @ vectors  # (k, ρ)
        with_targets = m.xy.T @ V
        with_targets = with_targets if basis is None else basis @ with_targets
        linear = _nested(L, -2 * with_targets, steps)
        quadratic = _nested_quadratic(L, V.T @ (m.xx @ V), steps)
        mean = m.y_mean - _nested(L, np.broadcast_to(m.x_mean @ V, L.shape), steps)
        covariance = np.stack(
            [m.ya[:, a] - _nested(L, np.broadcast_to(xa @ V, L.shape), steps) for a, xa in enumerate(m.xa.T)],
            -1,
        )
        scores = score_sums(m, mean, m.y_scatter + linear + quadratic, covariance)
        return summarise(Scores(scores.r2[where], scores.mse[where], scores.correlation[where]))

    return list(map(one, np.atleast_1d(np.asarray(alphas, dtype=np.float64)).tolist()))


def _nested(L: Array, M: Array, steps: NDArray[np.intp]) -> Array:
    """``Σ_{m ≤ ρ} L_jm M_jm`` for each ρ of ``steps``: (len(steps), p)."""
    edges = [0, *steps]
    parts = [np.einsum("jm,jm->j", L[:, lo:hi], M[:, lo:hi]) for lo, hi in pairwise(edges)]
    return np.cumsum(parts, axis=0)


def _nested_quadratic(L: Array, S: Array, steps: NDArray[np.intp]) -> Array:
    """``Σ_{l,m ≤ ρ} L_jl S_lm L_jm`` for each ρ of ``steps`` and symmetric S: one triangle of products."""
    parts = []
    for lo, hi in pairwise([0, *steps]):
        block = L[:, :lo] @ (2 * S[:lo, lo:hi]) + L[:, lo:hi] @ S[lo:hi, lo:hi]
        parts.append(np.einsum("jm,jm->j", L[:, lo:hi], block))
    return np.cumsum(parts, axis=0)


def residual_moments(Y: Array, prediction: Array, A: Array, *, weights: Array | None = None) -> Moments:
    """Moments of residuals and targets side by side (2p columns, no predictors); they add over samples."""
    nothing = np.empty((len(Y), 0))
    return Moments.from_samples(nothing, np.hstack([Y - prediction, Y]), A, weights=weights)


def score_residuals(m: Moments) -> Scores:
    """Scores from `residual_moments`: the sample-based twin of `score_factors`."""
    p = len(m.y_mean) // 2
    targets = m.restrict(targets=np.arange(p, 2 * p))
    return score_sums(targets, m.y_mean[:p], m.y_scatter[:p], m.ya[:p])
