"""Which losses can be anchor-regularised with a guarantee, and the worst case that is guaranteed."""

from dataclasses import dataclass

import numpy as np
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.linear_model import ElasticNet, LinearRegression, MultiTaskElasticNet, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline

from climanchor.estimators.losses import Loss
from climanchor.kernels.anchor import Array, check_gamma
from climanchor.kernels.moments import Moments

#: Of scikit-learn, with the penalised relatives that derive from them (Lasso, MultiTaskLasso).
_COMPATIBLE = (LinearRegression, Ridge, ElasticNet, MultiTaskElasticNet, PLSRegression)


@dataclass(frozen=True)
class CompatibilityReport:
    """What `is_anchor_compatible` found; true in a boolean context when no violation exceeds ``tol``.

    ``additivity`` and ``homogeneity`` are the largest relative violations of ``f(S + T) = f(S) + f(T)`` and
    ``f(c S) = c f(S)``; ``violation`` says where the worse one was found, and is empty when compatible.

    >>> report = is_anchor_compatible(lambda Sxx, Sxy, Syy: float(Sxx.trace()))
    >>> print(report)
    anchor-compatible: linear in the covariance in 20 trials (tol 1e-08)
    """

    compatible: bool
    additivity: float
    homogeneity: float
    violation: str
    n_trials: int
    tol: float

    def __bool__(self) -> bool:
        return self.compatible

    def __str__(self) -> str:
        if self.compatible:
            return f"anchor-compatible: linear in the covariance in {self.n_trials} trials (tol {self.tol:g})"
        return f"not anchor-compatible: {self.violation}"


def is_anchor_compatible(
    loss: Loss, *, n_features: int = 3, n_targets: int = 2, n_trials: int = 20, tol: float = 1e-8, seed: int = 0
) -> CompatibilityReport:
    """Decide numerically whether ``loss`` is a linear form of the covariance of (X, Y).

    ``loss(Sxx, Sxy, Syy)`` returns a number for covariance blocks of shapes (d, d), (d, p) and (p, p), with its
    parameters held fixed. It is *anchor-compatible* when ``f(S + T) = f(S) + f(T)`` and ``f(c S) = c f(S)``,
    which is tried on ``n_trials`` pairs of random covariances of ``n_features`` d and ``n_targets`` p.
    Violations are relative to the size of the terms and allowed up to ``tol``. A constant penalty (ridge's
    ``alpha |B|²``) is no part of the loss: leave it out. A value that is not finite is a violation.

    >>> import numpy as np
    >>> from climanchor.estimators.losses import negative_correlation, squared_error
    >>> bool(is_anchor_compatible(squared_error(np.ones((2, 3)))))
    True
    >>> report = is_anchor_compatible(negative_correlation(np.ones((3, 1)), np.ones((2, 1))))
    >>> bool(report), report.homogeneity > 0.1
    (False, True)
    """
    if not callable(loss):
        raise TypeError(
            f"loss must be a function loss(Sxx, Sxy, Syy) of covariance blocks, not {type(loss).__name__}: for a "
            "fitted estimator pass its loss, e.g. climanchor.estimators.losses.squared_error(fit.coef_)"
        )
    if n_trials < 1:
        raise ValueError(f"n_trials={n_trials} must be at least 1")
    rng = np.random.default_rng(seed)
    worst = {"additivity": (0.0, ""), "homogeneity": (0.0, "")}
    for trial in range(n_trials):
        S, T = (_random_covariance(rng, n_features + n_targets) for _ in range(2))
        scale = float(rng.uniform(0.1, 10))
        f_S, f_T, f_sum, f_scaled = (_evaluate(loss, C, n_features) for C in (S, T, S + T, scale * S))
        found = {
            "additivity": (_relative(f_sum, f_S, f_T), f"f(S + T) = {f_sum:.6g} but f(S) + f(T) = {f_S + f_T:.6g}"),
            "homogeneity": (
                _relative(f_scaled, scale * f_S),
                f"f({scale:.4g} S) = {f_scaled:.6g} but {scale:.4g} f(S) = {scale * f_S:.6g}",
            ),
        }
        for law, (size, text) in found.items():
            if size > worst[law][0]:
                worst[law] = (size, f"{law} fails in trial {trial}: {text}")
    size, text = max(worst.values())
    compatible = size <= tol
    return CompatibilityReport(
        compatible,
        additivity=worst["additivity"][0],
        homogeneity=worst["homogeneity"][0],
        violation="" if compatible else text,
        n_trials=n_trials,
        tol=tol,
    )


def worst_case_risk(loss: Loss, moments: Moments, gamma: float) -> float:
    """The largest expected loss over shifts up to ``gamma`` times the training influence of the anchors.

    That is ``f(S) + (gamma - 1) f(S_A)``, for an anchor-compatible ``loss`` f (see `is_anchor_compatible`), S the
    covariance of (X, Y) in ``moments`` and S_A that of its projection on the anchors. For ``gamma=inf`` it is
    infinite unless f(S_A) vanishes.

    Raises ``ValueError`` for moments without anchors, and for a loss that needs the covariances between targets
    when ``moments`` holds only their variances (the default of `Moments.from_samples`).

    >>> import numpy as np
    >>> from climanchor.estimators.losses import squared_error
    >>> A = np.array([-1.0, 1.0, -1.0, 1.0])
    >>> moments = Moments.from_samples(A[:, None] + [[1.0], [1.0], [-1.0], [-1.0]], 3 * A, A)
    >>> loss = squared_error(np.array([[1.0]]))
    >>> worst_case_risk(loss, moments, 1.0), worst_case_risk(loss, moments, 5.0)
    (5.0, 21.0)
    """
    gamma = check_gamma(gamma)
    if moments.shape[2] == 0:
        raise ValueError("moments has no anchors: build it with Moments.from_samples(X, Y, A)")
    plain, anchored = (_risk(loss, m) for m in (moments, moments.projected()))
    if np.isinf(gamma):
        negligible = abs(anchored) <= 1e-12 * abs(plain)
        return plain if negligible else float(np.copysign(np.inf, anchored))
    return plain + (gamma - 1) * anchored


def _risk(loss: Loss, moments: Moments) -> float:
    Syy = moments.yy
    if Syy.ndim == 1:  # covariances between targets are unknown: a loss that reads them is found out by NaN
        Syy = np.where(np.eye(len(Syy), dtype=bool), Syy, np.nan)
    risk = float(loss(moments.xx / moments.weight, moments.xy / moments.weight, Syy / moments.weight))
    if np.isnan(risk):
        raise ValueError("loss gave NaN: if it reads covariances between targets, build moments with full_targets=True")
    return risk


def incompatibility(estimator: object) -> str | None:
    """Why anchor-regularising ``estimator`` has no known guarantee; None when it has.

    A class attribute ``anchor_compatible`` decides for estimators of others.
    """
    declared = getattr(estimator, "anchor_compatible", None)
    if declared is not None:
        return None if declared else "its class says that its loss is not a linear form of the covariance of (X, Y)"
    if isinstance(estimator, MultiOutputRegressor):
        return incompatibility(estimator.estimator)
    if isinstance(estimator, _COMPATIBLE):
        return None
    if isinstance(estimator, CCA):
        return "correlation is not a linear form of the covariance of (X, Y)"
    if isinstance(estimator, Pipeline):
        return "the earlier steps of a Pipeline would see transformed data (put Anchor last in the Pipeline instead)"
    return "its loss is not known to be a linear form of the covariance of (X, Y)"


def _random_covariance(rng: np.random.Generator, size: int) -> Array:
    """A well-conditioned Wishart draw, so that losses which divide by variances are evaluated fairly."""
    root = rng.standard_normal((size, 3 * size))
    return root @ root.T / (3 * size)


def _evaluate(loss: Loss, covariance: Array, n_features: int) -> float:
    x, y = slice(None, n_features), slice(n_features, None)
    return float(loss(covariance[x, x], covariance[x, y], covariance[y, y]))


def _relative(left: float, *right: float) -> float:
    """How far ``left`` is from the sum of ``right``, relative to the sizes; infinite when not finite."""
    if not np.all(np.isfinite([left, *right])):
        return np.inf
    size = max(abs(left), *(abs(r) for r in right))
    return abs(left - sum(right)) / size if size > 0 else 0.0
