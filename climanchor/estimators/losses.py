"""Losses of multivariate analysis as functions of the covariance blocks of (X, Y), for fixed parameters.

Each function takes the parameters and returns ``loss(Sxx, Sxy, Syy) -> float`` where ``Sxx`` is (d, d), ``Sxy``
(d, p) and ``Syy`` (p, p). Those that are linear in the blocks can be anchor-regularised with a guarantee
(see `is_anchor_compatible`).
"""

from collections.abc import Callable

import numpy as np

from climanchor.kernels.anchor import Array

Loss = Callable[[Array, Array, Array], float]


def squared_error(coef: Array) -> Loss:
    """Mean squared error ``tr(Syy - 2 B Sxy + B Sxx B')`` summed over targets, of ``coef`` B (p, d).

    The loss of least squares, of ridge and reduced-rank regression (up to a penalty that does not depend on
    the data), and of OPLS in its eigenvalue form.

    >>> import numpy as np
    >>> squared_error(np.array([[1.0]]))(np.eye(1), np.array([[0.5]]), np.eye(1))
    1.0
    """
    coef = np.atleast_2d(coef)

    def loss(Sxx: Array, Sxy: Array, Syy: Array) -> float:
        return float(np.trace(Syy) - 2 * np.sum(coef * Sxy.T) + np.sum((coef @ Sxx) * coef))

    return loss


def negative_covariance(x_weights: Array, y_weights: Array) -> Loss:
    """Minus the covariance of the scores, ``-tr(U' Sxy V)``: what PLS minimises over unit-norm weights."""

    def loss(Sxx: Array, Sxy: Array, Syy: Array) -> float:
        return -float(np.sum(x_weights * (Sxy @ y_weights)))

    return loss


def negative_correlation(x_weights: Array, y_weights: Array) -> Loss:
    """Minus the sum of correlations of the paired scores: what CCA minimises. Not linear in the covariance."""

    def loss(Sxx: Array, Sxy: Array, Syy: Array) -> float:
        covariance = np.sum(x_weights * (Sxy @ y_weights), axis=0)
        x_variance = np.sum(x_weights * (Sxx @ x_weights), axis=0)
        y_variance = np.sum(y_weights * (Syy @ y_weights), axis=0)
        return -float(np.sum(covariance / np.sqrt(x_variance * y_variance)))

    return loss


def generalised_opls(x_weights: Array) -> Loss:
    """Minus ``tr((V' Sxx V)⁻¹ V' Sxy Sxy' V)``: OPLS as a generalised eigenvalue problem. Not linear."""

    def loss(Sxx: Array, Sxy: Array, Syy: Array) -> float:
        projected = Sxy.T @ x_weights
        return -float(np.trace(np.linalg.solve(x_weights.T @ Sxx @ x_weights, projected.T @ projected)))

    return loss
