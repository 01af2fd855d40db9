"""Conditional variance penalties for linear multi-output regression."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from climanchor.estimators.descent import adam
from climanchor.estimators.environments import check_penalised, environment_labels, predict_linear, set_linear

Array = NDArray[np.float64]


class CVP(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Linear regression that penalises the variance of predictions within groups (Heinze-Deml & Meinshausen 2021).

    The groups of target j are the environments, or with ``bins`` the cells of environment × quantile bin of
    that outcome; a group g of environment e weighs ``n_g / n_e``. The objective is the convex quadratic

        MSE(XB + b, Y) + penalty Σ_j Σ_e Σ_{g in e} (n_g / n_e) Var_g(X B_j),

    with the mean squared error averaged over samples and targets and the unbiased variance.

    Parameters
    ----------
    penalty : float, default 1e-3
        Weight of the variances, >= 0.
    bins : int or None, default None
        Number of quantile bins of each outcome, >= 2, or None for the variance within environments.
    solver : {"exact", "adam"}, default "exact"
        Closed form, or the published descent (see :class:`IRM` for its settings, which are the same).
    fit_intercept : bool, default True
    learning_rate, patience, tol, max_iter, random_state :
        Of Adam.

    Attributes
    ----------
    coef_ : array (p, d), or (d,) for a single 1-D target
    intercept_ : array (p,) or float
    environments_ : array
    n_iter_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)); Y = X @ np.array([[1.0], [2.0]])
    >>> season = np.repeat(["winter", "summer"], 100)
    >>> free, held = (CVP(penalty).fit(X, Y, environments=season) for penalty in (0.0, 1.0))
    >>> bool(abs(held.coef_).sum() < abs(free.coef_).sum())
    True
    """

    def __init__(
        self,
        penalty: float = 1e-3,
        *,
        bins: int | None = None,
        solver: str = "exact",
        fit_intercept: bool = True,
        learning_rate: float = 0.1,
        patience: int = 200,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.bins = bins
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
        if self.bins is not None and self.bins < 2:
            raise ValueError(f"bins is {self.bins}; it must be at least 2, or None for no binning")
        X, Y = validate_data(self, X, Y, multi_output=True, y_numeric=True, dtype=np.float64)
        targets = np.asarray(Y, dtype=float).reshape(len(X), -1)
        self.environments_, label = environment_labels(environments, len(X))
        x_mean, y_mean = np.zeros(X.shape[1]), np.zeros(targets.shape[1])
        if self.fit_intercept:
            x_mean, y_mean = X.mean(axis=0), targets.mean(axis=0)
        X, targets = X - x_mean, targets - y_mean
        gram, cross = X.T @ X / targets.size, X.T @ targets / targets.size
        hessians = gram + self.penalty * self._group_covariances(X, targets, label)
        if self.solver == "exact":
            B, self.n_iter_ = _solve_each(hessians, cross), 1
        else:
            B, self.n_iter_ = self._descend(hessians, gram, cross)
        set_linear(self, B, y_mean, x_mean, single=np.ndim(Y) == 1)
        return self

    def predict(self, X: Any) -> Array:
        """Predictions (n, p), or (n,) after a fit on a 1-D target."""
        return predict_linear(self, X)

    def _group_covariances(self, X: Array, Y: Array, label: NDArray[np.intp]) -> Array:
        """For each target, the summed covariances of X within its groups: (p or 1, d, d)."""
        if self.bins is None:
            return _within(X, label, label)[None]
        edges = np.quantile(Y, np.linspace(0, 1, self.bins + 1)[1:-1], axis=0)
        cells = (np.searchsorted(edges[:, j], Y[:, j], side="right") for j in range(Y.shape[1]))
        return np.stack([_within(X, label, label * self.bins + cell) for cell in cells])

    def _descend(self, hessians: Array, gram: Array, cross: Array) -> tuple[Array, int]:
        d, p = cross.shape
        bound = 1 / np.sqrt(d)
        start = check_random_state(self.random_state).uniform(-bound, bound, d * p)

        def gradient(theta: Array) -> Array:
            B = theta.reshape(d, p)
            return np.asarray(2 * (np.matmul(hessians, B.T[:, :, None])[:, :, 0].T - cross)).ravel()

        def training_error(theta: Array) -> float:
            """The mean squared error up to the constant |Y|² / (n p)."""
            B = theta.reshape(d, p)
            return float(np.sum(B * (gram @ B - 2 * cross)))

        result = adam(
            gradient,
            start,
            monitor=training_error,
            learning_rate=self.learning_rate,
            patience=self.patience,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return result.best.reshape(d, p), result.n_iter


def _within(X: Array, label: NDArray[np.intp], group: NDArray[np.intp]) -> Array:
    """``Σ_e Σ_{g in e} (n_g / n_e) Cov_g(X)``; a group of one sample has no variance and adds nothing."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for g in np.unique(group):
        rows = X[group == g]
        if len(rows) > 1:
            share = len(rows) / np.count_nonzero(label == label[group == g][0])
            deviations = rows - rows.mean(axis=0)
            total += share * (deviations.T @ deviations) / (len(rows) - 1)
    return total


def _solve_each(hessians: Array, cross: Array) -> Array:
    """Column j of the answer solves ``hessians[j] b = cross[:, j]`` (one Hessian may serve all)."""
    if len(hessians) == 1:
        return np.asarray(np.linalg.lstsq(hessians[0], cross, rcond=None)[0])
    return np.column_stack([np.linalg.lstsq(H, c, rcond=None)[0] for H, c in zip(hessians, cross.T, strict=True)])
