"""The projection on anchors, without ever forming the n×n matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Directions of the standardised anchors with less than this share of the largest variance count as collinear.
ANCHOR_RTOL = 1e-12


def check_gamma(gamma: float) -> float:
    """Return ``gamma`` as a float, or say why it is none: it must lie in [0, ∞]."""
    if not np.isscalar(gamma) or isinstance(gamma, str | bytes) or not float(gamma) >= 0:
        raise ValueError(
            f"gamma must be a number in [0, inf], got {gamma!r}: 0 partials the anchors out, "
            "1 is the plain estimator, larger values protect against stronger anchors, inf is the IV limit"
        )
    return float(gamma)


def anchor_factor(aa: Array) -> Array:
    """A q×k matrix T with ``T T' = (A'A)⁺``, from the scatter A'A of centred anchors.

    k is the numerical rank: the anchors are standardised first, so that units do not matter, and eigenvectors
    with less than `ANCHOR_RTOL` of the largest eigenvalue are left out. Constant anchors give k = 0.
    """
    scale = np.sqrt(np.diagonal(aa))
    used = scale > 0
    T = np.zeros((len(aa), int(used.sum())))
    if not used.any():
        return T
    unit = aa[np.ix_(used, used)] / scale[used, None] / scale[used]
    values, vectors = np.linalg.eigh(unit)
    keep = values > ANCHOR_RTOL * values[-1]
    T = np.zeros((len(aa), int(keep.sum())))
    T[used] = vectors[:, keep] / np.sqrt(values[keep]) / scale[used, None]
    return T


def centred_anchors(A: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean of the anchors and the anchors about it; constant columns become exactly zero.

    Centring a constant leaves the rounding of its mean, which the pseudo-inverse would blow up to a full anchor.
    """
    mean = weights @ A / weights.sum()
    A = A - mean
    spread = np.sqrt(weights @ A**2 / weights.sum())
    return mean, np.where(spread > 1e-12 * np.abs(mean), A, 0.0)


def anchor_basis(A: Array) -> Array:
    """An orthonormal basis Q (n×k) of the columns of the centred anchors, so that the projection is ``Q Q'``."""
    A = centred_anchors(A.reshape(len(A), -1), np.ones(len(A)))[1]
    return orthonormal_basis(A)


def orthonormal_basis(A: Array) -> Array:
    """An orthonormal basis (n×k) of the columns of ``A``, collinear ones dropped as in `anchor_factor`."""
    Q = A @ anchor_factor(A.T @ A)
    return np.linalg.qr(Q)[0] if Q.shape[1] else Q


def anchor_transform(M: Array, basis: Array, gamma: float) -> Array:
    """``(I + (√γ − 1) Q Q') M`` for centred M; γ = ∞ gives ``Q Q' M``."""
    gamma = check_gamma(gamma)
    if gamma == 1:
        return M
    projection = basis @ (basis.T @ M)
    return projection if np.isinf(gamma) else M + (np.sqrt(gamma) - 1) * projection
