"""Ridge regression of low rank."""

from __future__ import annotations

from typing import Any, Self

from climanchor.estimators.factored import FactoredRegressor, check_alpha
from climanchor.kernels.moments import Moments


class ReducedRankRidge(FactoredRegressor):
    """Reduced-rank ridge regression (Mukherjee & Zhu 2011): ``min |Y - XB|² + alpha |B|²``, rank(B) ≤ ``rank``.

    The ridge solution ``B_α`` is projected on the leading eigenvectors of ``B_α'(X'X + alpha I) B_α``, which is the
    minimiser. ``alpha=0`` is reduced-rank regression (of least norm where X'X is singular); ``rank=None`` is
    plain ridge regression. Means are removed first when ``fit_intercept``; the intercept is not penalised.

    Parameters
    ----------
    alpha : float in [0, inf)
        The penalty, as in scikit-learn's `Ridge`: not divided by the number of samples.
    rank : int from 1 to n_features, or None for no limit
        A rank above the numerical rank of the targets changes nothing and gives an `InertRankWarning`.
    fit_intercept : bool

    Attributes
    ----------
    x_weights_ : (n_features, r)
        V of ``B = V U'``: how each mode reads the predictors.
    y_loadings_ : (n_targets, r)
        U, orthonormal: the pattern each mode adds to the targets. Its largest entry is positive.
    explained_ : (r,)
        How much each mode lowers the penalised loss, in decreasing order.
    rank_ : int
        The number of modes that carry more than rounding error.
    coef_ : (n_targets, n_features), made from the factors when asked for
    intercept_ : (n_targets,)
    x_mean_, y_mean_ : training means (zero without intercept)

    Examples
    --------
    >>> import numpy as np
    >>> from climanchor import ReducedRankRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> Y = X @ rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5)) + 3.0
    >>> fit = ReducedRankRidge(alpha=1e-3, rank=2).fit(X, Y)
    >>> fit.coef_.shape, fit.x_weights_.shape, fit.score(X, Y) > 0.999
    ((5, 6), (6, 2), True)
    """

    def __init__(self, alpha: float = 1.0, rank: int | None = None, fit_intercept: bool = True) -> None:
        self.alpha = alpha
        self.rank = rank
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to predictors ``X`` (n, d) and targets ``y`` (n,) or (n, p), in whichever of n and d is smaller.

        Raises ``ValueError`` for alpha or rank out of range, missing values and mismatched lengths.
        """
        self._fit_samples(X, y, **self._settings())
        return self

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from second moments, e.g. sums over climate models or the anchored ``moments.anchored(gamma)``."""
        self._fit_moments(moments, **self._settings())
        return self

    def _settings(self) -> dict[str, Any]:
        alpha = check_alpha(self.alpha)
        return {"alpha": alpha, "rank": self.rank, "intercept": self.fit_intercept, "argument": "rank"}
