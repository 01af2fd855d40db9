"""Invariant risk minimisation for linear multi-output regression."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from climanchor.estimators.descent import adam
from climanchor.estimators.environments import check_penalised, environment_labels, predict_linear, set_linear

Array = NDArray[np.float64]


class IRM(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Linear regression whose risk is stationary in every environment (Arjovsky et al. 2019).

    With ``MSE_e`` the mean squared error in environment e, averaged over its samples and the targets, the
    predictor is ``X φ w`` and the objective

        Σ_e MSE_e(φ w) + penalty Σ_e ‖∂MSE_e/∂w‖² + alpha ‖φ‖².

    With φ and w both free this has no minimiser other than the plain one: shrinking φ while w grows
    removes both penalties and leaves the predictions as they are. ``solver="exact"`` therefore holds φ at
    the identity, which makes the objective a convex quadratic in w, solved in closed form (``alpha`` then
    acts on w). ``solver="adam"`` is the published descent on both, from φ = I and a random w: what it
    returns depends on where it stops, and so on ``learning_rate``, ``patience`` and ``tol``.

    Parameters
    ----------
    penalty : float, default 1e-3
        Weight of the squared gradient norms, >= 0. (The paper's code averages the squares over the d·p
        entries of w: divide its λ by d·p.)
    alpha : float, default 0
        Ridge penalty beside the loss, >= 0; the intercept is free of it. (The paper's code has 1.0.)
    solver : {"exact", "adam"}, default "exact"
    fit_intercept : bool, default True
        Centre X by its mean and add a column of ones, whose gradient is penalised like the others'.
    learning_rate, patience, tol, max_iter :
        Of Adam, with the values of the paper's appendix; training stops when the training error has not
        fallen by ``tol`` for ``patience`` steps.
    random_state : int, RandomState or None
        Of Adam's starting w.

    Attributes
    ----------
    coef_ : array (p, d), or (d,) for a single 1-D target
    intercept_ : array (p,) or float
    environments_ : array
        The distinct labels seen in ``fit``.
    n_iter_ : int
        Steps taken (1 for the exact solver).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)); Y = X @ np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> IRM().fit(X, Y, environments=np.repeat([0, 1], 100)).coef_.round(6) + 0.0
    array([[1., 0.],
           [0., 2.]])
    """

    def __init__(
        self,
        penalty: float = 1e-3,
        *,
        alpha: float = 0.0,
        solver: str = "exact",
        fit_intercept: bool = True,
        learning_rate: float = 0.1,
        patience: int = 200,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.patience = patience
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, Y: Any, environments: Any = None) -> Self:
        """Fit to rows of ``X`` (n, d) and ``Y`` (n, p); ``environments`` (n,) labels the rows (None: one)."""
        check_penalised(self, ("exact", "adam"))
        X, Y = validate_data(self, X, Y, multi_output=True, y_numeric=True, dtype=np.float64)
        targets = np.asarray(Y, dtype=float).reshape(len(X), -1)
        self.environments_, label = environment_labels(environments, len(X))
        x_mean = X.mean(axis=0) if self.fit_intercept else np.zeros(X.shape[1])
        features = np.column_stack([X - x_mean, np.ones(len(X))]) if self.fit_intercept else X
        risks = [_Risk.of(features[label == e], targets[label == e]) for e in range(len(self.environments_))]
        if self.solver == "exact":
            w, self.n_iter_ = self._solve(risks), 1
        else:
            w, self.n_iter_ = self._descend(risks)
        offset = w[-1] if self.fit_intercept else np.zeros(targets.shape[1])
        set_linear(self, w[: X.shape[1]], offset, x_mean, single=np.ndim(Y) == 1)
        return self

    def predict(self, X: Any) -> Array:
        """Predictions (n, p), or (n,) after a fit on a 1-D target."""
        return predict_linear(self, X)

    def _solve(self, risks: list["_Risk"]) -> Array:
        """Zero of the objective's gradient at φ = I: one symmetric system for all targets."""
        ridge = np.full(len(risks[0].gram), self.alpha)
        if self.fit_intercept:
            ridge[-1] = 0.0
        left, right = np.diag(ridge), np.zeros_like(risks[0].cross)
        for risk in risks:
            gradient_weight = np.eye(len(left)) + 4 * self.penalty * risk.gram
            left = left + gradient_weight @ risk.gram
            right = right + gradient_weight @ risk.cross
        return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0])

    def _descend(self, risks: list["_Risk"]) -> tuple[Array, int]:
        m, p = risks[0].cross.shape
        bound = 1 / np.sqrt(m)
        start = check_random_state(self.random_state).uniform(-bound, bound, (m, p))
        total = sum(risk.n_samples for risk in risks)

        def split(theta: Array) -> tuple[Array, Array]:
            return theta[: m * m].reshape(m, m), theta[m * m :].reshape(m, p)

        def gradient(theta: Array) -> Array:
            phi, w = split(theta)
            by_phi, by_w = 2 * self.alpha * phi, np.zeros_like(w)
            for risk in risks:
                slope = risk.slope(phi @ w)
                pull = 2 * self.penalty * phi.T @ slope
                through = 2 * risk.gram @ phi @ pull
                by_phi += (slope + through) @ w.T + slope @ pull.T
                by_w += phi.T @ (slope + through)
            return np.concatenate([by_phi.ravel(), by_w.ravel()])

        def training_error(theta: Array) -> float:
            phi, w = split(theta)
            return sum(risk.n_samples * risk.value(phi @ w) for risk in risks) / total

        result = adam(
            gradient,
            np.concatenate([np.eye(m).ravel(), start.ravel()]),
            monitor=training_error,
            learning_rate=self.learning_rate,
            patience=self.patience,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        phi, w = split(result.best)
        return phi @ w, result.n_iter


class _Risk(NamedTuple):
    """The mean squared error of one environment as a quadratic in the coefficients B."""

    gram: Array  # X'X / (n p)
    cross: Array  # X'Y / (n p)
    offset: float  # |Y|² / (n p)
    n_samples: int

    @classmethod
    def of(cls, X: Array, Y: Array) -> "_Risk":
        return cls(X.T @ X / Y.size, X.T @ Y / Y.size, float(np.sum(Y**2)) / Y.size, len(X))

    def value(self, B: Array) -> float:
        return self.offset + float(np.sum(B * (self.gram @ B - 2 * self.cross)))

    def slope(self, B: Array) -> Array:
        return 2 * (self.gram @ B - self.cross)
