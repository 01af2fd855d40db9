"""One training problem, solved on the smaller side: in the space of its samples or in that of its cells.

Both sides standardise with the statistics of the training samples, anchor with any γ, and give the spectrum of the
anchored training data and the moments of the validation data in its coordinates. They agree to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from climanchor.fingerprint.cells import Cells
from climanchor.fingerprint.samples import Samples
from climanchor.kernels import (
    Factors,
    Moments,
    Scaling,
    Spectrum,
    check_gamma,
    decompose_gram,
    decompose_moments,
    target_basis,
)
from climanchor.kernels.anchor import orthonormal_basis

Array = NDArray[np.float64]


class Training(Protocol):
    """What selection and fitting need of a training set."""

    @property
    def scaling(self) -> Scaling:
        """Means and scales of the training samples."""

    @property
    def target_rank(self) -> int:
        """Numerical rank of the standardised targets: larger ranks are inert."""

    def spectra(self, gamma: float, validation: Sequence[str]) -> tuple[Spectrum, Moments, Array | None]:
        """The anchored spectrum; validation moments in its coordinates; a basis of the validation targets."""

    def fit(self, gamma: float, alpha: float, rank: int | None) -> Factors:
        """The factors of one fit, in standardised units."""


class SampleTraining:
    """A training set as samples: Gram matrices of samples, never a matrix of cells by cells."""

    def __init__(self, samples: Mapping[str, Samples], train: Sequence[str], *, standardise: bool = True) -> None:
        self.samples = samples
        stacked = Samples.stack(samples[m] for m in train)
        self.scaling = sample_scaling(stacked, scale=standardise)
        self.data = stacked.standardised(self.scaling)

    @cached_property
    def basis(self) -> Array:
        return target_basis(self.data.rows)

    @property
    def target_rank(self) -> int:
        return int(self.basis.shape[1])

    @cached_property
    def _weighted(self) -> tuple[Array, Array, Array]:
        """√w X, the targets √w Y in their basis, and an orthonormal basis of the anchors √w A."""
        root = np.sqrt(self.data.weights)[:, None]
        targets = root * (self.data.rows @ self.basis)[self.data.index]
        return root * self.data.X, targets, orthonormal_basis(root * self.data.A)

    @cached_property
    def _gram(self) -> Array:
        X = self._weighted[0]
        return np.asarray(X @ X.T)

    def _decompose(self, gamma: float) -> tuple[Spectrum, Array]:
        """The spectrum and V (n×k) such that the directions are X'V, with X the weighted training predictors."""
        _, targets, Q = self._weighted
        shift = _Shift(Q, gamma)
        spectrum, V = decompose_gram(shift.both_sides(self._gram), shift(targets), basis=self.basis)
        return spectrum, shift(V)

    def spectra(self, gamma: float, validation: Sequence[str]) -> tuple[Spectrum, Moments, Array | None]:
        spectrum, V = self._decompose(gamma)
        held_out = self._held_out(tuple(validation))
        return spectrum, held_out.in_coordinates(V), held_out.basis

    def _held_out(self, validation: tuple[str, ...]) -> _HeldOut:
        cache: dict[tuple[str, ...], _HeldOut] = self.__dict__.setdefault("_cache", {})
        if validation not in cache:
            data = Samples.stack(self.samples[m] for m in validation).standardised(self.scaling)
            cache[validation] = _HeldOut(data, data.X @ self._weighted[0].T)
        return cache[validation]

    def fit(self, gamma: float, alpha: float, rank: int | None) -> Factors:
        spectrum, V = self._decompose(gamma)
        return replace(spectrum, directions=self._weighted[0].T @ V).fit(alpha, rank)


class _HeldOut:
    """Validation samples and their products with the training samples, shared by every γ."""

    def __init__(self, data: Samples, products: Array) -> None:
        self.basis = target_basis(data.rows)
        self.data, self.products = data, products
        self.targets = (data.rows @ self.basis)[data.index]
        nothing = np.empty((len(data.X), 0))
        self.y_side = Moments.from_samples(nothing, data.Y, data.A, weights=data.weights)

    def in_coordinates(self, V: Array) -> Moments:
        """Moments whose predictors are the coordinates X_v X'V, and whose ``xy`` is in the target basis."""
        m = Moments.from_samples(self.products @ V, self.targets, self.data.A, weights=self.data.weights)
        return replace(m, y_mean=self.y_side.y_mean, yy=self.y_side.yy, ya=self.y_side.ya)


class MomentTraining:
    """A training set as moments: any number of samples, matrices of cells by cells."""

    def __init__(
        self,
        moments: Mapping[str, Moments],
        rows: Mapping[str, Array],
        train: Sequence[str],
        *,
        standardise: bool = True,
    ) -> None:
        self.moments, self.rows = moments, rows
        pooled = sum((moments[m] for m in train[1:]), moments[train[0]])
        self.scaling = Scaling.from_moments(pooled, scale=standardise)
        self.data = pooled.standardised(self.scaling)
        self.basis = self._basis(train)

    def _basis(self, models: Sequence[str]) -> Array:
        rows = np.concatenate([self.rows[m] for m in models])
        return target_basis((rows - self.scaling.y_mean) / self.scaling.y_scale)

    @property
    def target_rank(self) -> int:
        return int(self.basis.shape[1])

    def _decompose(self, gamma: float) -> Spectrum:
        anchored = self.data.anchored(gamma)
        return decompose_moments(anchored.xx, anchored.xy, basis=self.basis)

    def spectra(self, gamma: float, validation: Sequence[str]) -> tuple[Spectrum, Moments, Array | None]:
        spectrum = self._decompose(gamma)
        held_out, basis = self._held_out(tuple(validation))
        return spectrum, held_out.rotated(spectrum.directions), basis

    def _held_out(self, validation: tuple[str, ...]) -> tuple[Moments, Array]:
        pooled = sum((self.moments[m] for m in validation[1:]), self.moments[validation[0]])
        basis = self._basis(validation)
        pooled = pooled.standardised(self.scaling)
        return replace(pooled, xy=pooled.xy @ basis), basis

    def fit(self, gamma: float, alpha: float, rank: int | None) -> Factors:
        return self._decompose(gamma).fit(alpha, rank)


class _Shift:
    """``I + (√γ − 1) Q Q'`` (``Q Q'`` for γ = ∞), applied without forming it."""

    def __init__(self, Q: Array, gamma: float) -> None:
        self.Q, self.limit = Q, np.isinf(check_gamma(gamma))
        self.c = 1.0 if self.limit else np.sqrt(gamma) - 1

    def __call__(self, M: Array) -> Array:
        projection = self.c * (self.Q @ (self.Q.T @ M))
        return np.asarray(projection if self.limit else M + projection)

    def both_sides(self, K: Array) -> Array:
        """The shift on both sides of a symmetric matrix."""
        return self(self(K).T)


def sample_scaling(data: Samples, *, scale: bool = True) -> Scaling:
    """Weighted means and standard deviations of the samples, without their moments."""
    w = data.weights / data.weights.sum()
    per_row = np.bincount(data.index, weights=w, minlength=len(data.rows))
    means = [w @ data.X, per_row @ data.rows, w @ data.A]
    columns = ((w, data.X), (per_row, data.rows), (w, data.A))
    variances = [share @ (M - mean) ** 2 for (share, M), mean in zip(columns, means, strict=True)]
    return Scaling.from_variances(means, variances, scale=scale)


def check_variance(scaling: Scaling, cells: Cells) -> None:
    """Raise if a cell or the anchor never varies in training: it cannot be standardised."""
    for what, scale, mean in (
        ("field", scaling.x_scale, scaling.x_mean),
        ("forced", scaling.y_scale, scaling.y_mean),
    ):
        dead = ~(scale > 1e-12 * np.abs(mean)) | (scale == 0)
        if dead.any():
            lat, lon = np.meshgrid(cells.lat, cells.lon, indexing="ij")
            places = [f"({a:g}, {o:g})" for a, o in zip(lat[cells.mask][dead], lon[cells.mask][dead], strict=True)]
            raise ValueError(
                f"{what} has no variance in {dead.sum()} of {dead.size} training cells, first at (lat, lon) "
                f"{', '.join(places[:3])}: mask these cells out, or fit with standardise=False"
            )
