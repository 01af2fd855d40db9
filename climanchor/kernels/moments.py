"""Second moments of (X, Y, A): the sums that every fit and every score is a function of.

Sums of raw squares lose digits when the data carry an offset (300 K squared is 9e4, an anomaly squared 1e-1).
A `Moments` therefore holds *centred* scatter matrices with their means, and two of them are added by the
pairwise update of Chan, Golub and LeVeque (1983): exact, associative to rounding, and blind to the offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from climanchor.kernels.anchor import ANCHOR_RTOL, anchor_factor, centred_anchors, check_gamma

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted, centred second moments of predictors X (n×d), targets Y (n×p) and anchors A (n×q).

    ``xx`` is Σ w (x − x̄)(x − x̄)' and so on for ``xy`` (d×p), ``xa``, ``ya``, ``aa``; ``yy`` is the diagonal
    Σ w (y − ȳ)² (p,), or the whole p×p matrix when built with ``full_targets=True``. No division by n, so that a
    ridge penalty keeps the meaning it has in scikit-learn. ``m1 + m2`` are the moments of the samples of both.

    Examples
    --------
    >>> import numpy as np
    >>> from climanchor import Moments
    >>> rng = np.random.default_rng(0)
    >>> X, Y, A = rng.normal(size=(8, 3)), rng.normal(size=(8, 2)), rng.normal(size=8)
    >>> whole = Moments.from_samples(X, Y, A)
    >>> parts = Moments.from_samples(X[:3], Y[:3], A[:3]) + Moments.from_samples(X[3:], Y[3:], A[3:])
    >>> np.allclose(whole.xx, parts.xx), whole.count
    (True, 8)
    """

    weight: float
    count: int
    x_mean: Array
    y_mean: Array
    a_mean: Array
    xx: Array
    xy: Array
    xa: Array
    yy: Array
    ya: Array
    aa: Array

    @classmethod
    def from_samples(
        cls,
        X: ArrayLike,
        Y: ArrayLike,
        A: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        full_targets: bool = False,
    ) -> Self:
        """Accumulate the samples in rows. ``weights`` (n,) are positive; ``A=None`` means no anchor (q = 0)."""
        X, Y = as_matrix(X), as_matrix(Y)
        A = np.empty((len(X), 0)) if A is None else as_matrix(A)
        if not len(X) == len(Y) == len(A):
            raise ValueError(f"X, Y and A must have the same number of rows, got {len(X)}, {len(Y)}, {len(A)}")
        if len(X) == 0:
            raise ValueError("moments of no samples are undefined: X has 0 rows")
        w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
        if w.shape != (len(X),) or not (w > 0).all():
            raise ValueError(f"weights must be {len(X)} positive numbers, got shape {w.shape}, min {w.min()}")
        total, root = float(w.sum()), np.sqrt(w)[:, None]
        x_mean, y_mean = w @ X / total, w @ Y / total
        a_mean, A = centred_anchors(A, w)
        X, Y, A = root * (X - x_mean), root * (Y - y_mean), root * A
        yy = Y.T @ Y if full_targets else np.einsum("ij,ij->j", Y, Y)
        return cls(total, len(X), x_mean, y_mean, a_mean, X.T @ X, X.T @ Y, X.T @ A, yy, Y.T @ A, A.T @ A)

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.xy.shape != other.xy.shape or self.a_mean.shape != other.a_mean.shape:
            raise ValueError(
                f"cannot add moments of {self.shape} and {other.shape} (predictors, targets, anchors): "
                "both must be on the same cells and have the same anchors"
            )
        weight = self.weight + other.weight
        share = other.weight / weight
        root = np.sqrt(self.weight * share)
        dx, dy, da = (
            root * (theirs - ours)
            for ours, theirs in (
                (self.x_mean, other.x_mean),
                (self.y_mean, other.y_mean),
                (self.a_mean, other.a_mean),
            )
        )
        between = np.outer(dy, dy) if self.yy.ndim == 2 else dy**2
        return Moments(
            weight,
            self.count + other.count,
            self.x_mean + share * (other.x_mean - self.x_mean),
            self.y_mean + share * (other.y_mean - self.y_mean),
            self.a_mean + share * (other.a_mean - self.a_mean),
            self.xx + other.xx + np.outer(dx, dx),
            self.xy + other.xy + np.outer(dx, dy),
            self.xa + other.xa + np.outer(dx, da),
            self.yy + other.yy + between,
            self.ya + other.ya + np.outer(dy, da),
            self.aa + other.aa + np.outer(da, da),
        )

    def __radd__(self, other: Any) -> Moments:
        return self if other == 0 else NotImplemented  # so that sum() works

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of predictors, targets and anchors."""
        return len(self.x_mean), len(self.y_mean), len(self.a_mean)

    @property
    def y_scatter(self) -> Array:
        """Σ w (y − ȳ)² of each target."""
        return np.diagonal(self.yy) if self.yy.ndim == 2 else self.yy

    def weighing(self, total: float) -> Moments:
        """The same samples with their weights scaled to sum to ``total``: equal totals are equal votes."""
        f = total / self.weight
        scatter = {k: f * getattr(self, k) for k in ("xx", "xy", "xa", "yy", "ya", "aa")}
        return replace(self, weight=float(total), **scatter)

    def restrict(self, *, predictors: ArrayLike | None = None, targets: ArrayLike | None = None) -> Moments:
        """Moments of some columns only (indices or a mask): a sub-block, no new pass over the data."""
        i = slice(None) if predictors is None else np.asarray(predictors)
        j = slice(None) if targets is None else np.asarray(targets)
        return replace(
            self,
            x_mean=self.x_mean[i],
            y_mean=self.y_mean[j],
            xx=self.xx[i][:, i],
            xy=self.xy[i][:, j],
            xa=self.xa[i],
            yy=self.yy[j][:, j] if self.yy.ndim == 2 else self.yy[j],
            ya=self.ya[j],
        )

    def standardised(self, scaling: Scaling) -> Moments:
        """Moments of ``((X − x̄)/s_x, (Y − ȳ)/s_y, (A − ā)/s_a)``, by algebra on the sums."""
        x, y, a = scaling.x_scale, scaling.y_scale, scaling.a_scale
        return replace(
            self,
            x_mean=(self.x_mean - scaling.x_mean) / x,
            y_mean=(self.y_mean - scaling.y_mean) / y,
            a_mean=(self.a_mean - scaling.a_mean) / a,
            xx=self.xx / x[:, None] / x,
            xy=self.xy / x[:, None] / y,
            xa=self.xa / x[:, None] / a,
            yy=self.yy / y[:, None] / y if self.yy.ndim == 2 else self.yy / y**2,
            ya=self.ya / y[:, None] / a,
            aa=self.aa / a[:, None] / a,
        )

    def rotated(self, directions: Array) -> Moments:
        """Moments with ``X @ directions`` in the place of X."""
        return replace(
            self,
            x_mean=self.x_mean @ directions,
            xx=directions.T @ (self.xx @ directions),
            xy=directions.T @ self.xy,
            xa=directions.T @ self.xa,
        )

    def projected(self) -> Moments:
        """S_A: moments of the projections of X and Y on the (centred) anchors."""
        factor = anchor_factor(self.aa)
        x, y = self.xa @ factor, self.ya @ factor
        yy = y @ y.T if self.yy.ndim == 2 else np.einsum("ij,ij->i", y, y)
        return replace(self, xx=x @ x.T, xy=x @ y.T, yy=yy)

    def anchored(self, gamma: float) -> Moments:
        """Anchor-regularised moments ``S + (γ − 1) S_A``; γ = ∞ gives S_A alone (the instrumental-variable limit)."""
        gamma = check_gamma(gamma)
        if gamma == 1:
            return self
        on_anchor = self.projected()
        if np.isinf(gamma):
            return on_anchor
        xx, xy, yy = (
            getattr(self, k) + (gamma - 1) * getattr(on_anchor, k) for k in ("xx", "xy", "yy")
        )  # fmt: skip
        return replace(self, xx=xx, xy=xy, yy=yy)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and scales learnt on training samples, to be applied to every other sample."""

    x_mean: Array
    x_scale: Array
    y_mean: Array
    y_scale: Array
    a_mean: Array
    a_scale: Array

    @classmethod
    def from_moments(cls, m: Moments, *, scale: bool = True) -> Self:
        """Means and population standard deviations of ``m``; with ``scale=False`` only the means."""
        spread = (np.diagonal(m.xx), m.y_scatter, np.diagonal(m.aa))
        return cls.from_variances((m.x_mean, m.y_mean, m.a_mean), [s / m.weight for s in spread], scale=scale)

    @classmethod
    def from_variances(cls, means: Sequence[Array], variances: Sequence[Array], *, scale: bool = True) -> Self:
        """From means and variances of X, Y and A. A constant anchor gets an infinite scale: it becomes zero."""
        x, y, a = (np.sqrt(v) for v in variances)
        varies = a > ANCHOR_RTOL * np.abs(means[2])
        if not scale:
            x, y, a = np.ones_like(x), np.ones_like(y), np.ones_like(a)
        return cls(means[0], x, means[1], y, means[2], np.where(varies, a, np.inf))

    def restrict(self, *, predictors: ArrayLike, targets: ArrayLike) -> Scaling:
        """The scaling of some columns only."""
        i, j = np.asarray(predictors), np.asarray(targets)
        return replace(
            self,
            x_mean=self.x_mean[i],
            x_scale=self.x_scale[i],
            y_mean=self.y_mean[j],
            y_scale=self.y_scale[j],
        )


def as_matrix(M: ArrayLike) -> Array:
    """A float64 matrix; a vector becomes one column."""
    M = np.asarray(M, dtype=np.float64)
    return M[:, None] if M.ndim == 1 else M
