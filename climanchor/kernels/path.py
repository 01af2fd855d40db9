"""Reduced-rank ridge regression for every penalty and every rank at once.

``min |Y − XB|² + α|B|²  subject to  rank(B) ≤ ρ`` (Mukherjee & Zhu 2011). With the thin decomposition X = U S W'
and H = S U'Y the ridge solution is ``W (S² + α)⁻¹ H``, and the best one of rank ρ is its projection on the leading
ρ eigenvectors of ``G_α = H'(S² + α)⁻¹ H``. So all α share W, S and H, and all ρ share the eigenvectors of G_α.

W, S and H come from the smaller side: from the n samples (`decompose_samples`, `decompose_gram`) or from the d×d
and d×p moments (`decompose_moments`). Targets of low rank r (the members of a model share the forced response of a
year) enter through an orthonormal basis of their rows, so that G_α is r×r: exact, and much smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Eigenvalues of X'X (or XX') below this share of the largest, or below its size times eps, are rounding error.
GRAM_RTOL = 1e-14


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Predictors and targets in the eigenbasis of X'X.

    ``values`` (k,) are the eigenvalues S² in decreasing order, ``directions`` (d, k) the eigenvectors W,
    ``cross`` (k, r) is H in the coordinates of ``basis`` (p, r), orthonormal, or None for the targets themselves.
    """

    values: Array
    directions: Array
    cross: Array
    basis: Array | None = None

    @property
    def target_rank(self) -> int:
        """The largest rank a fit can have; larger ones are inert."""
        return int(min(self.cross.shape))

    def ridge(self, alpha: float) -> Array:
        """``(S² + α)⁻¹ H`` (k, r): the ridge coefficients in the eigenbasis."""
        return self.cross / (self.values + alpha)[:, None]

    def modes(self, alpha: float, rank: int | None = None) -> tuple[Array, Array]:
        """Leading eigenvalues (ρ,) and eigenvectors (r, ρ) of G_α, in decreasing order.

        The eigenvalue of a mode is how much of the regularised fit it explains.
        """
        rank = self.target_rank if rank is None else min(rank, self.target_rank)
        values, vectors = np.linalg.eigh(self.cross.T @ self.ridge(alpha))
        return values[::-1][:rank], np.ascontiguousarray(vectors[:, ::-1][:, :rank])

    def loadings(self, vectors: Array) -> Array:
        """Eigenvectors as orthonormal patterns of the targets (p, ρ)."""
        return vectors if self.basis is None else self.basis @ vectors

    def fit(self, alpha: float, rank: int | None = None) -> Factors:
        """The solution of one (α, ρ), as factors with a stable sign."""
        explained, vectors = self.modes(alpha, rank)
        y_loadings = self.loadings(vectors)
        sign = peak_sign(y_loadings)
        return Factors(
            self.directions @ (self.ridge(alpha) @ vectors) * sign,
            y_loadings * sign,
            np.maximum(explained, 0),
        )


@dataclass(frozen=True, eq=False)
class Factors:
    """``B = x_weights @ y_loadings.T``: predictor patterns (d, ρ), orthonormal target patterns (p, ρ).

    ``explained`` (ρ,) orders the modes: the drop of the penalised loss that each brings.
    """

    x_weights: Array
    y_loadings: Array
    explained: Array

    @property
    def rank(self) -> int:
        return int(self.x_weights.shape[1])

    @property
    def coef(self) -> Array:
        """The dense d×p matrix B."""
        return self.x_weights @ self.y_loadings.T

    def predict(self, X: Array) -> Array:
        return (X @ self.x_weights) @ self.y_loadings.T


def peak_sign(patterns: Array) -> Array:
    """±1 for each column, such that its entry of largest magnitude becomes positive."""
    peak = np.abs(patterns).argmax(axis=0)
    return np.where(patterns[peak, np.arange(patterns.shape[1])] < 0, -1.0, 1.0)


def target_basis(rows: Array) -> Array:
    """An orthonormal basis (p, r) of the span of ``rows`` (m, p), r their numerical rank.

    ``rows`` may be the distinct rows of a much longer Y. The tolerance is max(m, p)·eps of the largest
    singular value, as in `numpy.linalg.matrix_rank`.
    """
    Q, R = np.linalg.qr(rows.T)
    U, s, _ = scipy.linalg.svd(R, full_matrices=False)
    keep = s > max(rows.shape) * np.finfo(float).eps * s[0] if s.size else np.zeros(0, bool)
    return np.asarray(Q @ U[:, keep])


def decompose_samples(
    X: Array, Y: Array, *, basis: Array | None = None, exact: bool = False, floor: float = 0.0
) -> Spectrum:
    """The spectrum of centred (and weighted, and anchored) samples, by the smaller of X'X and XX'.

    ``exact=True`` takes the singular values of X itself instead of eigenvalues of its square: slower, and right
    also for ill-conditioned X without a penalty. Singular values up to ``floor`` are left out with those that are
    rounding error: what a large offset, since removed, has cost X in digits.
    """
    n, d = X.shape
    if exact:
        U, s, Wt = scipy.linalg.svd(X, full_matrices=False)
        keep = s > max(floor, max(n, d) * np.finfo(float).eps * s[0])
        U, s, W = U[:, keep], s[keep], Wt[keep].T
        return _in_basis(s**2, W, s[:, None] * (U.T @ (Y if basis is None else Y @ basis)), basis)
    if n >= d:
        return decompose_moments(X.T @ X, X.T @ Y, basis=basis)
    values, U = _eigenpairs(X @ X.T)
    s = np.sqrt(values)
    return _in_basis(values, X.T @ (U / s), s[:, None] * (U.T @ (Y if basis is None else Y @ basis)), basis)


def decompose_moments(xx: Array, xy: Array, *, basis: Array | None = None) -> Spectrum:
    """The spectrum from ``xx`` = X'X (d×d) and ``xy`` = X'Y (d×p) of centred data."""
    values, W = _eigenpairs(xx)
    return _in_basis(values, W, W.T @ (xy if basis is None else xy @ basis), basis)


def decompose_gram(gram: Array, targets: Array, *, basis: Array | None = None) -> tuple[Spectrum, Array]:
    """The spectrum from ``gram`` = XX' (n×n) and the targets in ``basis`` (n×r), never touching the d predictors.

    ``directions`` is empty; the second value V = U S⁻¹ (n×k) stands for it: W = X'V, so the coordinates X_v W of
    further samples are their products with the training samples times V.
    """
    values, U = _eigenpairs(gram)
    s = np.sqrt(values)
    return _in_basis(values, np.empty((0, len(values))), s[:, None] * (U.T @ targets), basis), U / s


def ridge_path(spectrum: Spectrum, alphas: Sequence[float], rank: int | None = None) -> Iterator[Factors]:
    """The factors for every α at one rank, from one decomposition."""
    return (spectrum.fit(alpha, rank) for alpha in alphas)


def _eigenpairs(gram: Array) -> tuple[Array, Array]:
    """Eigenvalues in decreasing order and eigenvectors of a symmetric matrix, rounding error left out."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > max(GRAM_RTOL, len(gram) * np.finfo(float).eps) * max(values[-1], 0.0)
    return values[keep][::-1], vectors[:, keep][:, ::-1]


def _in_basis(values: Array, W: Array, cross: Array, basis: Array | None) -> Spectrum:
    """Without a basis, targets that outnumber the directions get one: the row space of ``cross``."""
    if basis is None and cross.shape[1] > cross.shape[0]:
        basis, triangle = np.linalg.qr(cross.T)
        cross = triangle.T
    return Spectrum(values, W, cross, basis)
