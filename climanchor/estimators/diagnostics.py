"""Warnings about fits that are computed as asked, but do not mean what they seem to.

Every class derives from `AnchorWarning`, so one filter silences all of them, or one kind::

    import warnings
    from climanchor.estimators import AnchorWarning, InertRankWarning

    warnings.simplefilter("ignore", InertRankWarning)

Each message also says which argument to change so that the warning has no cause.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from climanchor.kernels.anchor import Array


class AnchorWarning(UserWarning):
    """The root of every warning about anchor regularisation."""


class MissingAnchorsWarning(AnchorWarning):
    """``gamma`` differs from 1 but no anchors were given: the plain estimator was fitted."""


class WeakAnchorWarning(AnchorWarning):
    """The anchors are constant, or span all samples, so that ``gamma`` cannot act as it should."""


class GammaWithoutAlphaWarning(AnchorWarning):
    """The fit interpolates the training data, so it is the same for every finite ``gamma > 0``."""


class InertRankWarning(AnchorWarning):
    """The rank asked for exceeds the rank of the targets: the constraint does nothing."""


class IncompatibleEstimatorWarning(AnchorWarning):
    """The estimator's loss is not known to be a linear form of the covariance of (X, Y)."""


class ConstantColumnWarning(AnchorWarning):
    """Columns of X or Y never vary in the training samples: their coefficients or targets mean nothing."""


def warn_constant_columns(x_constant: NDArray[np.bool_], y_constant: NDArray[np.bool_]) -> None:
    """Warn of the columns of X and Y that are marked constant, by their numbers."""
    for name, constant, effect in (
        ("X", x_constant, "their coefficients are zero"),
        ("y", y_constant, "their prediction is that constant and their R² undefined"),
    ):
        columns = np.flatnonzero(constant)
        if columns.size:
            shown = ", ".join(map(str, columns[:5])) + (", ..." if columns.size > 5 else "")
            warnings.warn(
                f"{name} has {columns.size} constant columns ({shown}) in the training samples: {effect}. "
                "Leave them out, or train on samples in which they vary.",
                ConstantColumnWarning,
                stacklevel=4,
            )


def warn_inert_rank(rank: int, achieved: int, *, name: str) -> None:
    """Warn when ``rank`` asks for more than the ``achieved`` number of components that carry anything."""
    if rank > achieved:
        warnings.warn(
            f"{name}={rank} exceeds {achieved}, the numerical rank of the part of Y that X can predict: every "
            f"{name} from {achieved} up gives the same fit, and no gamma changes that. Use {name}={achieved} or "
            "fewer (repeated rows of Y, such as a forced response shared by members, lower its rank).",
            InertRankWarning,
            stacklevel=3,
        )


def warn_missing_anchors(gamma: float) -> None:
    """Warn that ``gamma`` has nothing to act on."""
    warnings.warn(
        f"anchors is None, so gamma={gamma:g} has no effect and the plain estimator is fitted: pass "
        "fit(X, Y, anchors=A), or set gamma=1 to fit without anchors. Inside a Pipeline or a search, enable "
        "scikit-learn's metadata routing and pass anchors to the outer fit.",
        MissingAnchorsWarning,
        stacklevel=3,
    )


def warn_weak_anchors(constant: list[str], *, rank: int, n_samples: int, gamma: float) -> None:
    """Warn of anchors that are constant in the training set, or that span every sample."""
    if rank == 0:
        message = (
            f"anchors are constant in the {n_samples} training samples, so gamma={gamma:g} has no effect: "
            "give anchors that vary, or set gamma=1"
        )
    elif constant:
        message = (
            f"anchors has constant columns that have no effect: {', '.join(constant)}. "
            "Leave them out, or train on samples in which they vary"
        )
    elif rank >= n_samples - 1:
        message = (
            f"anchors span all {n_samples} training samples (rank {rank}), so gamma={gamma:g} only rescales the "
            "data: use fewer anchors (or fewer categories) than samples"
        )
    else:
        return
    warnings.warn(message + ".", WeakAnchorWarning, stacklevel=3)


def warn_interpolation(residual: Array, Y: Array, *, n_features: int, gamma: float, tol: float = 1e-6) -> None:
    """Warn when ``residual`` vanishes relative to centred ``Y``: for 0 < gamma < inf no gamma changes such a fit."""
    spread = np.linalg.norm(Y - Y.mean(axis=0))
    if spread > 0 and np.linalg.norm(residual) <= tol * spread:
        warnings.warn(
            f"the fit interpolates its {len(Y)} training samples ({n_features} features), and such a fit is the same "
            f"for every finite gamma > 0: gamma={gamma:g} has no effect. Regularise the estimator (alpha > 0, or "
            "a lower rank), or use more samples than features.",
            GammaWithoutAlphaWarning,
            stacklevel=3,
        )


def warn_incompatible(estimator: object, reason: str) -> None:
    """Warn that the worst-case guarantee of anchor regularisation is not known to hold."""
    warnings.warn(
        f"estimator={type(estimator).__name__} is fitted on anchor-transformed data, but {reason}: gamma then "
        "regularises without the worst-case guarantee. Check its loss with is_anchor_compatible, and give the "
        "class an attribute anchor_compatible = True if it passes.",
        IncompatibleEstimatorWarning,
        stacklevel=3,
    )
