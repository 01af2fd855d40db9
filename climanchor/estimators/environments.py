"""What the estimators that compare environments share: labels, parameter checks and the linear predictor."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

Array = NDArray[np.float64]


def check_penalised(estimator: Any, solvers: tuple[str, ...]) -> None:
    """Check the parameters IRM and CVP share."""
    for name in ("penalty", "alpha", "tol"):
        value = getattr(estimator, name, 0.0)
        if not value >= 0:
            raise ValueError(f"{name} is {value!r}; it must be >= 0")
    if estimator.solver not in solvers:
        raise ValueError(f"solver is {estimator.solver!r}; it must be one of {', '.join(solvers)}")


def environment_labels(environments: Any, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct environments and the index of each row's; None means that all rows share one."""
    labels = np.zeros(n, dtype=int) if environments is None else column_or_1d(environments)
    check_consistent_length(labels, np.empty(n))
    distinct, index = np.unique(labels, return_inverse=True)
    return distinct, index


def set_linear(estimator: Any, B: Array, intercept: Array, x_mean: Array, *, single: bool) -> None:
    """Set ``coef_`` (p, d) and ``intercept_`` (p,) from coefficients (d, p) of centred predictors.

    ``single``: the target was one-dimensional, so that ``coef_`` is (d,) and ``intercept_`` a number.
    """
    offset = intercept - x_mean @ B
    estimator.coef_ = B[:, 0].copy() if single else np.ascontiguousarray(B.T)
    estimator.intercept_ = float(offset[0]) if single else offset


def predict_linear(estimator: Any, X: Any) -> Array:
    """``X coef_' + intercept_`` after the usual checks."""
    check_is_fitted(estimator)
    X = validate_data(estimator, X, reset=False, dtype=np.float64)
    return np.asarray(X @ estimator.coef_.T + estimator.intercept_)
