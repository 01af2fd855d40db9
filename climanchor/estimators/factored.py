"""What the linear estimators with factored coefficients share: means, factors, prediction."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from climanchor.estimators.diagnostics import warn_constant_columns, warn_inert_rank
from climanchor.kernels.anchor import Array
from climanchor.kernels.moments import Moments
from climanchor.kernels.path import Spectrum, decompose_moments, decompose_samples

#: Penalties below this share of |X|² are solved from the singular values of X itself, which keeps all digits.
EXACT_BELOW = 1e-8


class FactoredRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc] # no types
    """A fit ``Y = ȳ + (X - x̄) V U'`` kept as its factors ``x_weights_`` V (d, r) and ``y_loadings_`` U (p, r)."""

    anchor_compatible = True  # each subclass minimises the squared error for fixed penalty and rank

    def _fit_samples(self, X: Any, y: Any, *, alpha: float, rank: int | None, intercept: bool, argument: str) -> None:
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2)
        Y = y.reshape(len(y), -1).astype(np.float64)
        check_rank(rank, X.shape[1], argument=argument)
        warn_constant_columns(np.ptp(X, axis=0) == 0, np.ptp(Y, axis=0) == 0)
        X, x_mean = _centred(X, intercept)
        Y, y_mean = _centred(Y, intercept)
        exact = alpha < EXACT_BELOW * float(np.vdot(X, X))
        floor = 4 * np.finfo(float).eps * np.sqrt(len(X)) * float(np.linalg.norm(x_mean))
        spectrum = decompose_samples(X, Y, exact=exact, floor=floor)
        self._set_fit(spectrum, x_mean, y_mean, alpha=alpha, rank=rank, argument=argument)
        self._single_target = y.ndim == 1

    def _fit_moments(self, moments: Moments, *, alpha: float, rank: int | None, intercept: bool, argument: str) -> None:
        d, p, _ = moments.shape
        check_rank(rank, d, argument=argument)
        rounding = moments.weight * np.finfo(float).eps ** 2
        warn_constant_columns(
            np.diagonal(moments.xx) <= rounding * moments.x_mean**2,
            moments.y_scatter <= rounding * moments.y_mean**2,
        )
        x_mean, y_mean, xx, xy = moments.x_mean, moments.y_mean, moments.xx, moments.xy
        if not intercept:
            xx = xx + moments.weight * np.outer(x_mean, x_mean)
            xy = xy + moments.weight * np.outer(x_mean, y_mean)
            x_mean, y_mean = np.zeros(d), np.zeros(p)
        self.n_features_in_ = d
        self._set_fit(decompose_moments(xx, xy), x_mean, y_mean, alpha=alpha, rank=rank, argument=argument)
        self._single_target = False

    def _set_fit(
        self,
        spectrum: Spectrum,
        x_mean: Array,
        y_mean: Array,
        *,
        alpha: float,
        rank: int | None,
        argument: str,
    ) -> None:
        factors = spectrum.fit(alpha, rank)
        self.x_mean_, self.y_mean_ = x_mean, y_mean
        self.x_weights_ = factors.x_weights  # V, and B = V U'
        self.y_loadings_ = factors.y_loadings  # U
        self.explained_ = factors.explained
        self.rank_ = numerical_rank(factors.explained, size=max(len(x_mean), len(y_mean)))
        if rank is not None and self.rank_ < rank:
            warn_inert_rank(rank, self.rank_, name=argument)

    def predict(self, X: Any) -> Array:
        """Predict the targets of ``X`` (n, d): (n, p), or (n,) where ``y`` was one-dimensional."""
        prediction = self._scores(X) @ self.y_loadings_.T + self.y_mean_
        return prediction[:, 0] if self._single_target else prediction

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray((X - self.x_mean_) @ self.x_weights_)

    @property
    def coef_(self) -> Array:
        """The dense coefficients (p, d), or (d,) where ``y`` was one-dimensional, made from the factors."""
        coef = self.y_loadings_ @ self.x_weights_.T
        return coef[0] if self._single_target else coef

    @property
    def intercept_(self) -> Any:
        """The prediction at X = 0, (p,) or a number."""
        intercept = self.y_mean_ - (self.x_mean_ @ self.x_weights_) @ self.y_loadings_.T
        return float(intercept[0]) if self._single_target else intercept


def check_alpha(alpha: Any) -> float:
    """Return ``alpha`` as a float, or say why it is no penalty: it must lie in [0, inf)."""
    if not isinstance(alpha, Real) or not 0 <= float(alpha) < np.inf:
        raise ValueError(f"alpha must be a number in [0, inf), got {alpha!r}: 0 means no penalty")
    return float(alpha)


def check_rank(rank: Any, n_features: int, *, argument: str) -> None:
    """Raise unless ``rank`` is None or a whole number from 1 to ``n_features``."""
    if rank is None:
        return
    if isinstance(rank, bool) or not isinstance(rank, Integral) or int(rank) < 1:
        raise ValueError(f"{argument} must be a whole number of at least 1, got {rank!r}")
    if int(rank) > n_features:
        raise ValueError(
            f"{argument}={rank} exceeds n_features={n_features}: use at most {n_features}, the largest rank "
            "that coefficients of X can have"
        )


def numerical_rank(explained: Array, *, size: int) -> int:
    """Number of modes whose share is more than rounding error (``size`` eps of the first)."""
    if not explained.size:
        return 0
    return int(np.sum(explained > size * np.finfo(float).eps * explained[0]))


def _centred(M: Array, intercept: bool) -> tuple[Array, Array]:
    """Centre twice: the second pass removes the rounding of the first mean, which matters with large offsets."""
    if not intercept:
        return M, np.zeros(M.shape[1])
    first = M.mean(axis=0)
    M = M - first
    second = M.mean(axis=0)
    return M - second, first + second
