"""Smooth random fields on the sphere from real spherical harmonics, synthesised latitude first.

A field with coefficients c is ``Σ c[l, m] P[l, m](sin lat) · (cos or sin)(m lon)``. The sum is separable: Legendre
functions along latitude, then trigonometric functions along longitude, which costs far less than one product
with every harmonic's map. The harmonics are normalised so that the mean square of each over the globe is one.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from climanchor.simulate.grids import Array, Grid


def degrees_orders(degree: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Degree l and signed order m of every harmonic up to ``degree``; negative orders are sines.

    The order of coefficients is by degree, so that a truncation is a leading slice.
    """
    pairs = [(n, m) for n in range(degree + 1) for m in range(-n, n + 1)]
    array = np.array(pairs)
    return array[:, 0], array[:, 1]


def legendre(degree: int, x: Array) -> Array:
    """Associated Legendre functions P[l, m](x), (l, m, point), whose harmonics have mean square one."""
    p = np.zeros((degree + 1, degree + 1, len(x)))
    p[0, 0] = 1
    sine = np.sqrt(1 - x**2)
    for m in range(1, degree + 1):
        p[m, m] = np.sqrt((2 * m + 1) / (2 * m) * (2 if m == 1 else 1)) * sine * p[m - 1, m - 1]
    for m in range(degree):
        p[m + 1, m] = np.sqrt(2 * m + 3) * x * p[m, m]
        for n in range(m + 2, degree + 1):
            a = np.sqrt((4 * n**2 - 1) / (n**2 - m**2))
            b = np.sqrt(((n - 1) ** 2 - m**2) / (4 * (n - 1) ** 2 - 1))
            p[n, m] = a * (x * p[n - 1, m] - b * p[n - 2, m])
    return p


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Synthesis of fields on a grid from coefficients up to the degree the grid resolves."""

    grid: Grid
    degree: int

    @property
    def resolved(self) -> int:
        """Highest degree used on this grid: higher ones would alias."""
        nlat, nlon = self.grid.shape
        return min(self.degree, nlat - 2, nlon // 2 - 1)

    @cached_property
    def _tables(self) -> tuple[list[NDArray[np.float32]], NDArray[np.float32]]:
        top = self.resolved
        p = legendre(top, np.sin(np.deg2rad(self.grid.lat))).astype(np.float32)
        lon = np.deg2rad(self.grid.lon)
        orders = range(-top, top + 1)
        waves = np.array([np.cos(m * lon) if m >= 0 else np.sin(-m * lon) for m in orders], np.float32)
        return [p[abs(m) :, abs(m)] for m in orders], waves

    def synthesise(self, coefficients: NDArray[np.floating]) -> NDArray[np.float32]:
        """Fields (time, lat, lon) from coefficients (time, harmonic) in the order of ``degrees_orders``."""
        by_order, waves = self._tables
        top = self.resolved
        _, m = degrees_orders(top)
        c = np.asarray(coefficients[:, : len(m)], np.float32)
        rows = np.empty((len(c), self.grid.shape[0], 2 * top + 1), np.float32)
        for order in range(-top, top + 1):
            rows[:, :, order + top] = c[:, m == order] @ by_order[order + top]
        return (rows.reshape(-1, 2 * top + 1) @ waves).reshape(len(c), *self.grid.shape)

    def analyse(self, field: Array) -> Array:
        """Area means of a field times every harmonic, in the order of ``degrees_orders``; 0 if unresolved."""
        n, m = degrees_orders(self.degree)
        by_order, waves = self._tables
        weighted = (field * self.grid.share) @ waves.T
        means = np.zeros(len(n))
        for order in range(-self.resolved, self.resolved + 1):
            where = (m == order) & (n <= self.resolved)
            means[where] = by_order[order + self.resolved] @ weighted[:, order + self.resolved]
        return means
