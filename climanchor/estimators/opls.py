"""Orthonormalised partial least squares."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from climanchor.estimators.factored import FactoredRegressor
from climanchor.kernels.anchor import Array
from climanchor.kernels.moments import Moments


class OPLS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FactoredRegressor):  # type: ignore[misc] # no types
    """Orthonormalised partial least squares: ``min |Y - X V U'|²`` with ``U'U = I``.

    The eigenvalue form: U are the leading eigenvectors of ``Y'X (X'X)⁻¹ X'Y`` and ``V = (X'X)⁻¹ X'Y U`` (of least
    norm where X'X is singular). Components come in order of how much of Y they predict. The loss is anchor-compatible,
    which that of the generalised-eigenvalue form (``V'X'XV = I``) is not. X and Y are centred, not scaled.

    Parameters
    ----------
    n_components : int of at least 1
        More components than the numerical rank of the targets change nothing and give an `InertRankWarning`.

    Attributes
    ----------
    x_weights_ : (n_features, n_components)
        V, which `transform` applies.
    y_loadings_ : (n_targets, n_components)
        U, orthonormal.
    explained_ : (n_components,)
        How much each component lowers the squared error, in decreasing order.
    rank_ : int
        The number of components that carry more than rounding error.
    coef_, intercept_, x_mean_, y_mean_ : as in `ReducedRankRidge`

    Examples
    --------
    >>> import numpy as np
    >>> from climanchor import OPLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> Y = X[:, :2] @ rng.normal(size=(2, 5)) + rng.normal(size=(100, 5))
    >>> opls = OPLS(n_components=2).fit(X, Y)
    >>> opls.transform(X).shape, bool(opls.explained_[0] > opls.explained_[1])
    ((100, 2), True)
    """

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to predictors ``X`` (n, d) and targets ``y`` (n,) or (n, p).

        Raises ``ValueError`` for n_components out of range, missing values and mismatched lengths.
        """
        self._fit_samples(X, y, **self._settings())
        return self

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from second moments, e.g. sums over climate models or the anchored ``moments.anchored(gamma)``."""
        self._fit_moments(moments, **self._settings())
        return self

    def transform(self, X: Any) -> Array:
        """The scores ``(X - x̄) V`` (n, n_components)."""
        return self._scores(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.x_weights_.shape[1])

    def _settings(self) -> dict[str, Any]:
        if self.n_components is None:
            raise ValueError("n_components must be a whole number of at least 1, got None")
        return {"alpha": 0.0, "rank": self.n_components, "intercept": True, "argument": "n_components"}
