"""Land, sea and mountains, and the mean climate that goes with them."""

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

from climanchor.simulate.grids import Array, Grid

#: Highlands as smooth hills: latitude, longitude, height in km, half-widths in degrees north and east.
_HIGHLANDS = (
    (-82, 60, 2.6, 12, 90), (-80, 250, 1.2, 8, 50), (73, 320, 2.6, 8, 13), (33, 88, 4.8, 6, 13),
    (42, 250, 1.9, 11, 7), (-18, 291, 3.4, 15, 3.5), (5, 36, 1.6, 9, 5), (-25, 26, 1.2, 7, 7), (35, 50, 1.3, 5, 9),
    (48, 98, 1.6, 6, 12), (63, 130, 0.8, 6, 20), (46, 10, 1.2, 2, 5),
)  # fmt: skip


@cache
def _land_map() -> Array:
    """Land fraction on 1° cells, south to north and eastwards from 0°: Natural Earth, by tools/build_land.py."""
    text = files("climanchor.simulate").joinpath("data/land_1deg.txt").read_text()
    return np.array([[int(digit) for digit in line] for line in text.split()]) / 9


@cache
def _continentality_map() -> Array:
    """The land map smoothed over about 500 km, so that coasts are no steps."""
    padded = np.pad(_land_map(), ((20, 20), (0, 0)), mode="edge")
    return np.asarray(gaussian_filter(padded, (4, 5), mode=("nearest", "wrap"))[20:-20])


def _interpolate(cells: Array, lat: Array, lon: Array) -> Array:
    """Bilinear values of a map of 1° cells at every (lat, lon) of a grid."""
    rows, columns = np.meshgrid(lat + 89.5, (lon - 0.5) % 360, indexing="ij")
    # The rows clamp at the poles and the columns wrap: one column is repeated at the end for that.
    wrapped = np.pad(cells, ((0, 0), (0, 1)), mode="wrap")
    return np.asarray(map_coordinates(wrapped, [np.clip(rows, 0, 179), columns], order=1, mode="nearest"))


def continentality(grid: Grid) -> Array:
    """How continental each grid point is: 0 in the open ocean, 1 far inland."""
    return _interpolate(_continentality_map(), grid.lat, grid.lon)


def land_fraction(grid: Grid) -> Array:
    """Fraction of land in each cell, from points spread evenly over the cell.

    >>> from climanchor.simulate.grids import regular_cells
    >>> round(float(regular_cells(5.0).mean(land_fraction(regular_cells(5.0)))), 2)
    0.29
    """
    n = 6
    steps = (np.arange(n) + 0.5) / n
    lat, lon = (
        (edges[:-1, None] + np.diff(edges)[:, None] * steps).ravel() for edges in (grid.lat_edges, grid.lon_edges)
    )
    inside = _land_map()[np.ix_(np.clip(np.floor(lat + 90), 0, 179).astype(int), np.floor(lon % 360).astype(int))]
    return np.asarray(inside.reshape(grid.shape[0], n, grid.shape[1], n).mean(axis=(1, 3)))


def bump(grid: Grid, lat: float, lon: float, width_lat: float, width_lon: float) -> Array:
    """A smooth hill of height one, centred and sized in degrees, periodic in longitude."""
    east = (grid.lon - lon + 180) % 360 - 180
    return np.outer(np.exp(-0.5 * ((grid.lat - lat) / width_lat) ** 2), np.exp(-0.5 * (east / width_lon) ** 2))


def elevation(grid: Grid) -> Array:
    """Height of the surface in km."""
    hills = sum(height * bump(grid, lat, lon, dy, dx) for lat, lon, height, dy, dx in _HIGHLANDS)
    return np.asarray(continentality(grid) * (0.25 + hills))


def climatology(grid: Grid) -> NDArray[np.float64]:
    """Mean temperature of each calendar month in K, (month, lat, lon): warm tropics, cold heights, seasons.

    The seasonal cycle grows with latitude and inland; the sea lags a month behind the land.
    """
    land, lat = continentality(grid), np.deg2rad(grid.lat)[:, None]
    ice = 1 / (1 + np.exp(-(np.abs(grid.lat) - 72) / 4))[:, None]
    antarctic = 1 / (1 + np.exp((grid.lat + 72) / 4))[:, None]
    annual = 300.3 - 43 * np.abs(np.sin(lat)) ** 2.4 - 6.0 * elevation(grid) - 12 * antarctic * land
    annual = annual + 5 * bump(grid, 65, 0, 12, 25) * (1 - 0.5 * land)
    size = (3.5 + 20 * land + 9 * ice * (1 - land)) * np.sin(lat)
    lag = 0.6 + 1.1 * (1 - land)  # months after the solstice's month
    month = np.arange(12)[:, None, None]
    return np.asarray(annual - size * np.cos(2 * np.pi * (month - lag) / 12))
