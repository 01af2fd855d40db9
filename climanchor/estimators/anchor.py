"""Anchor regularisation of any scikit-learn regressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from climanchor.estimators.compatibility import incompatibility
from climanchor.estimators.diagnostics import (
    warn_constant_columns,
    warn_incompatible,
    warn_interpolation,
    warn_missing_anchors,
    warn_weak_anchors,
)
from climanchor.estimators.encoding import encode_anchors
from climanchor.kernels.anchor import Array, anchor_basis, anchor_transform, check_gamma
from climanchor.kernels.moments import Moments


def _inner_has(name: str) -> Any:
    """A check for `available_if`: the fitted inner estimator, or else the one given, has the attribute."""

    def check(anchor: Anchor) -> bool:
        inner = anchor.estimator_ if "estimator_" in vars(anchor) else anchor._inner()
        getattr(inner, name)  # its AttributeError is what scikit-learn chains and shows
        return True

    return check


class Anchor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc] # sklearn has no types
    """Fit ``estimator`` so that it stays right when the influence of the anchors grows up to ``gamma`` times.

    With ``P`` the projection on the centred anchors A and a loss f that is linear in the covariance of
    (X, Y) (see `is_anchor_compatible`), the fit minimises ``f(S) + (gamma - 1) f(S_A)``: for least squares

        ``|(I - P)(Y - XB)|² + gamma |P(Y - XB)|²``,

    the worst case over shifts of the distribution in the directions in which the anchors move it, and up to
    ``gamma`` times as strong as in the training data. It is reached by fitting ``estimator`` to
    ``(I + (sqrt(gamma) - 1) P)`` applied to X and Y. The training means are kept, so that intercepts are
    right for every gamma, and data given to `predict`, `transform` and `score` are used as they are.

    Parameters
    ----------
    estimator : regressor or transformer-regressor, optional
        Any of scikit-learn's or of this package's; least squares (``LinearRegression()``) by default. Its
        hyperparameters keep their meaning: scikit-learn's ``alpha`` is not divided by n. Note that
        ``PLSRegression`` rescales the *transformed* data unless ``scale=False``.
    gamma : float in [0, inf]
        0 partials the anchors out, 1 is the plain estimator, ``inf`` the instrumental-variable
        estimator (two-stage least squares for ``LinearRegression``).

    Attributes
    ----------
    estimator_ : the fitted inner estimator
    anchor_names_ : tuple of str
        Names of the columns the anchors were encoded to; empty without anchors.
    anchor_rank_ : int
        Number of independent directions among them.
    coef_, intercept_ : those of ``estimator_``, where it has them.

    Notes
    -----
    Inner estimators with a method ``fit_moments`` are fitted from anchored second moments when there are more
    samples than features. Anchors follow the folds of `GridSearchCV` and the steps of a `Pipeline`: with metadata
    routing enabled they are requested by default (``set_fit_request(anchors=False)`` turns that off).

    Fits that are not what they seem give an `AnchorWarning`: no or constant anchors, gamma without effect
    because the fit interpolates, a loss that is not anchor-compatible.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from climanchor import Anchor
    >>> rng = np.random.default_rng(0)
    >>> A, H = rng.normal(size=(2, 500))
    >>> X = (A + H + rng.normal(size=500))[:, None]
    >>> Y = np.column_stack([2 * X[:, 0] + H, -X[:, 0] + H])
    >>> Anchor(Ridge(alpha=1.0), gamma=np.inf).fit(X, Y, anchors=A).coef_.round(1).tolist()
    [[2.0], [-1.0]]
    """

    __metadata_request__fit = {"anchors": True}  # noqa: RUF012 - scikit-learn reads this class attribute

    def __init__(self, estimator: Any = None, gamma: float = 2.0) -> None:
        self.estimator = estimator
        self.gamma = gamma

    def fit(self, X: Any, y: Any, anchors: Any = None) -> Self:
        """Fit to predictors ``X`` (n, d), targets ``y`` (n,) or (n, p) and ``anchors`` (n,) or (n, q).

        Categorical anchors (strings, booleans, pandas categories) are one-hot encoded; all are centred with
        the training means. Raises ``ValueError`` for ``gamma`` outside [0, inf], missing values and mismatched
        lengths, and for ``gamma=inf`` with constant anchors, which leaves nothing to fit.
        """
        gamma = check_gamma(self.gamma)
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        self.anchor_names_: tuple[str, ...] = ()
        self.anchor_rank_ = 0
        self.estimator_ = clone(self._inner())
        if not hasattr(self.estimator_, "fit_moments"):  # those that have it warn themselves
            warn_constant_columns(np.ptp(X, axis=0) == 0, np.ptp(y.reshape(len(y), -1), axis=0) == 0)
        if anchors is None:
            if gamma != 1:
                warn_missing_anchors(gamma)
            self.estimator_.fit(X, y)
            return self
        basis = self._anchor_basis(anchors, n_samples=len(X), gamma=gamma)
        reason = incompatibility(self.estimator_)
        if gamma != 1 and reason:
            warn_incompatible(self.estimator_, reason)
        self._fit_anchored(X, y, basis, gamma)
        if len(X) - 1 <= X.shape[1] and 0 < gamma < np.inf and gamma != 1 and self.anchor_rank_:
            residual = y - np.reshape(self.estimator_.predict(X), y.shape)
            warn_interpolation(residual, y, n_features=X.shape[1], gamma=gamma)
        return self

    def _anchor_basis(self, anchors: Any, *, n_samples: int, gamma: float) -> Array:
        encoded = encode_anchors(anchors, n_samples=n_samples)
        basis = anchor_basis(encoded.matrix)
        self.anchor_names_, self.anchor_rank_ = encoded.names, basis.shape[1]
        if np.isinf(gamma) and self.anchor_rank_ == 0:
            raise ValueError(
                f"anchors are constant in the {n_samples} training samples, and gamma=inf keeps only what they "
                "explain: give anchors that vary, or a finite gamma"
            )
        if gamma != 1:
            warn_weak_anchors(list(encoded.constant), rank=self.anchor_rank_, n_samples=n_samples, gamma=gamma)
        return basis

    def _fit_anchored(self, X: Array, y: Array, basis: Array, gamma: float) -> None:
        """Fit the inner estimator to the moments, or to the transformed samples where it takes no moments."""
        if hasattr(self.estimator_, "fit_moments") and len(X) > X.shape[1] and y.ndim == 2 and gamma != 1:
            moments = Moments.from_samples(X, y, basis)
            self.estimator_.fit_moments(moments.anchored(gamma))
        else:
            self.estimator_.fit(*(_transform_samples(M, basis, gamma) for M in (X, y)))

    def predict(self, X: Any) -> Array:
        """Predict the targets of ``X`` (n, d), which is not transformed."""
        X = self._check(X)
        return np.asarray(self.estimator_.predict(X))

    @available_if(_inner_has("transform"))  # type: ignore[untyped-decorator] # scikit-learn has no types
    def transform(self, X: Any) -> Any:
        """The scores of ``X`` (n, d) under the inner estimator; ``X`` is not anchor-transformed."""
        X = self._check(X)
        return self.estimator_.transform(X)

    @available_if(_inner_has("transform"))  # type: ignore[untyped-decorator] # scikit-learn has no types
    def fit_transform(self, X: Any, y: Any, anchors: Any = None) -> Any:
        """Fit, then the scores of the same ``X`` as `transform` gives them."""
        return self.fit(X, y, anchors=anchors).transform(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The inner estimator's own score of its predictions (R² for regressors)."""
        X = self._check(X)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(X, y, **weights))

    @property
    def coef_(self) -> Array:
        """Coefficients of the inner estimator."""
        return np.asarray(self.estimator_.coef_)

    @property
    def intercept_(self) -> Any:
        """Intercept of the inner estimator."""
        return self.estimator_.intercept_

    def _inner(self) -> Any:
        return LinearRegression() if self.estimator is None else self.estimator

    def _check(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.target_tags.multi_output = inner.target_tags.multi_output
        tags.target_tags.single_output = inner.target_tags.single_output
        tags.transformer_tags = inner.transformer_tags
        tags.regressor_tags.poor_score = bool(inner.regressor_tags and inner.regressor_tags.poor_score)
        return tags


def _transform_samples(M: Array, basis: Array, gamma: float) -> Array:
    """``(I + (√γ − 1) P)`` applied about the mean, which is kept."""
    mean = M.mean(axis=0)
    return M if gamma == 1 else mean + anchor_transform(M - mean, basis, gamma)
