"""Rectilinear grids of the kinds that climate models use."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EARTH_RADIUS = 6_371_229.0


@dataclass(frozen=True, eq=False)
class Grid:
    """Cell centres and edges in degrees; latitude ascends, longitude runs eastwards round the globe."""

    lat: Array
    lon: Array
    lat_edges: Array
    lon_edges: Array

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.lat), len(self.lon)

    @property
    def lat_bnds(self) -> Array:
        return np.column_stack([self.lat_edges[:-1], self.lat_edges[1:]])

    @property
    def lon_bnds(self) -> Array:
        return np.column_stack([self.lon_edges[:-1], self.lon_edges[1:]])

    @property
    def share(self) -> Array:
        """Each cell's share of the globe's area, (lat, lon); sums to one."""
        rows = np.diff(np.sin(np.deg2rad(self.lat_edges))) / 2
        return np.outer(rows, np.diff(self.lon_edges) / 360)

    @property
    def area(self) -> Array:
        """Cell areas in m²."""
        return 4 * np.pi * EARTH_RADIUS**2 * self.share

    def mean(self, field: NDArray[np.floating]) -> Array:
        """Area-weighted mean over the last two axes."""
        return np.asarray(np.einsum("...ij,ij->...", field, self.share, dtype=float))


def regular_cells(step: float) -> Grid:
    """Cells of ``step`` degrees whose edges meet the poles and the meridian of Greenwich.

    >>> regular_cells(5.0).shape, float(regular_cells(5.0).lat[0])
    ((36, 72), -87.5)
    """
    nlat, nlon = round(180 / step), round(360 / step)
    if step <= 0 or not np.isclose(nlat * step, 180):
        raise ValueError(f"a grid step must divide 180 degrees, and {step} does not")
    lat_edges, lon_edges = np.linspace(-90, 90, nlat + 1), np.linspace(0, 360, nlon + 1)
    return Grid((lat_edges[1:] + lat_edges[:-1]) / 2, (lon_edges[1:] + lon_edges[:-1]) / 2, lat_edges, lon_edges)


def polar_grid(nlat: int, nlon: int) -> Grid:
    """Evenly spaced latitudes with a row on each pole (half cells there); longitudes from 0.

    >>> grid = polar_grid(73, 96)
    >>> float(grid.lat[0]), float(grid.lat_edges[1]), float(grid.lon[1])
    (-90.0, -88.75, 3.75)
    """
    lat = np.linspace(-90, 90, nlat)
    return _round_the_globe(lat, np.concatenate([[-90], (lat[1:] + lat[:-1]) / 2, [90]]), nlon)


def gaussian_grid(nlat: int, nlon: int) -> Grid:
    """Gaussian latitudes; the edges enclose the quadrature weights, so that areas are the weights.

    >>> round(float(gaussian_grid(128, 256).lat[-1]), 3)
    88.928
    """
    nodes, weights = np.polynomial.legendre.leggauss(nlat)
    edges = np.rad2deg(np.arcsin(np.clip(np.concatenate([[-1], np.cumsum(weights) - 1]), -1, 1)))
    edges[-1] = 90
    return _round_the_globe(np.rad2deg(np.arcsin(nodes)), edges, nlon)


def _round_the_globe(lat: Array, lat_edges: Array, nlon: int) -> Grid:
    step = 360 / nlon
    lon_edges = step * (np.arange(nlon + 1.0) - 0.5)
    return Grid(lat, lon_edges[:-1] + step / 2, lat_edges, lon_edges)
