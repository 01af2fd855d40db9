"""Overlaps of cells with any number of corners and the boxes of a rectilinear grid.

Polygons live in the plane of longitude and sin(latitude), which preserves area. Edges between corners are
great circles, drawn there as polylines; edges of the target boxes are straight.
"""

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import sparse

from climanchor.kernels.overlap import Array
from climanchor.preprocess.grids import Cells, Grid

PIECE = 0.25  # degrees: longest straight piece of an edge; it strays from its great circle by less than 1e-6

DIGITS = 11  # of degrees and sines: overlays dislike rounding noise


def cell_overlaps(source: Cells, grid: Grid) -> sparse.csr_array:
    """Conservative weights (target cells, source cells): shared area over the area of the target cell."""
    polygons = cell_polygons(source.lat_corners, source.lon_corners)
    west = np.mod(grid.lon_bounds.min(axis=1), 360.0)
    width = np.abs(np.diff(grid.lon_bounds, axis=1))[:, 0]
    sines = np.sort(np.sin(np.deg2rad(grid.lat_bounds)), axis=1)
    boxes = shapely.box(west[None], sines[:, :1], (west + width)[None], sines[:, 1:]).ravel()
    tree = shapely.STRtree(boxes)
    extent = shapely.bounds(polygons)
    rows, columns, areas = [], [], []
    for turn in (-360.0, 0.0, 360.0):
        here = np.flatnonzero((extent[:, 0] + turn < west.max() + width.max()) & (extent[:, 2] + turn > west.min()))
        shifted = _shifted(polygons[here], turn)
        cell, box = tree.query(shifted)
        rows.append(box)
        columns.append(here[cell])
        areas.append(_shared_area(shifted[cell], boxes[box]))
    row, column = np.concatenate(rows), np.concatenate(columns)
    share = np.concatenate(areas) / shapely.area(boxes)[row]
    touched = share > 1e-14
    entries = share[touched], (row[touched], column[touched])
    return sparse.csr_array(sparse.coo_array(entries, shape=(grid.size, source.size)))


def _shared_area(polygons: NDArray[Any], boxes: NDArray[Any]) -> Array:
    """Areas that polygons share with boxes; no overlay is needed where a polygon lies inside its box."""
    inner, outer = shapely.bounds(polygons), shapely.bounds(boxes)
    inside = (inner[:, :2] >= outer[:, :2]).all(axis=1) & (inner[:, 2:] <= outer[:, 2:]).all(axis=1)
    area = shapely.area(polygons)
    across = np.flatnonzero(~inside)
    area[across] = np.minimum(area[across], shapely.area(shapely.intersection(polygons[across], boxes[across])))
    return np.asarray(area)


def _shifted(polygons: NDArray[Any], degrees: float) -> NDArray[Any]:
    if degrees == 0:
        return polygons
    offset = np.array([degrees, 0.0])
    moved: NDArray[Any] = shapely.transform(polygons, lambda xy: xy + offset)
    return moved


def cell_areas(source: Cells) -> Array:
    """Areas of the cells on the unit sphere."""
    return np.asarray(np.deg2rad(shapely.area(cell_polygons(source.lat_corners, source.lon_corners))))


def cell_polygons(lat_corners: Array, lon_corners: Array) -> NDArray[Any]:
    """One shapely polygon per cell in the plane (longitude in degrees, sin(latitude)).

    Repeated corners pad cells with fewer corners; a cell with a corner at a pole, or around one, reaches
    the line sin(latitude) = ±1; a cell with fewer than three valid corners is empty. The western end lies
    in [0, 360); the polygon may extend beyond 360.
    """
    polygons = np.full(len(lat_corners), shapely.Polygon(), dtype=object)
    valid = np.isfinite(lat_corners) & np.isfinite(lon_corners) & (np.abs(lat_corners) <= 90.0 + 1e-9)
    points = _outlines(np.clip(lat_corners, -90.0, 90.0), lon_corners)
    at_pole = np.hypot(points[..., 0], points[..., 1]) < 1e-9
    x = np.rad2deg(np.unwrap(np.arctan2(points[..., 1], points[..., 0]), axis=1))
    leap = np.abs(np.diff(x, axis=1)).max(axis=1)
    plain = valid.all(axis=1) & ~at_pole.any(axis=1) & (np.abs(x[:, -1] - x[:, 0]) < 180.0) & (leap < 175.0)
    west = 360.0 * np.floor(x[plain].min(axis=1, keepdims=True, initial=np.inf) / 360.0)
    plane = np.stack([x[plain] - west, points[plain][..., 2]], axis=-1)
    polygons[plain] = shapely.polygons(np.round(plane, DIGITS))
    for i in np.flatnonzero(~plain & (valid.sum(axis=1) >= 3)):
        polygons[i] = _polar_polygon(_outlines(lat_corners[None, i, valid[i]], lon_corners[None, i, valid[i]])[0])
    broken = ~shapely.is_valid(polygons)
    polygons[broken] = shapely.make_valid(polygons[broken])
    return polygons


def _outlines(lat: Array, lon: Array) -> Array:
    """Closed outlines (cells, points, 3) on the unit sphere, edges along great circles, subdivided."""
    phi, lam = np.deg2rad(lat), np.deg2rad(lon)
    corners = np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)], axis=-1)
    following = np.roll(corners, -1, axis=1)
    longest = np.nanmax(np.linalg.norm(following - corners, axis=-1), initial=0.0)
    pieces = int(np.clip(np.ceil(np.rad2deg(longest) / PIECE), 1, 128))
    share = np.linspace(0.0, 1.0, pieces, endpoint=False)[:, None]
    points = corners[:, :, None] * (1 - share) + following[:, :, None] * share
    points = points.reshape(len(lat), -1, 3)
    points = np.concatenate([points, points[:, :1]], axis=1)
    norm: Array = points / np.linalg.norm(points, axis=-1, keepdims=True)
    return norm


def _polar_polygon(points: Array) -> shapely.Polygon:
    """Polygon of a cell that lies around a pole, or whose outline passes through one.

    A pole has every longitude: an outline through it is cut there and closed along sin(latitude) = ±1, as is an
    outline that goes round it.
    """
    lon, sine = np.arctan2(points[:-1, 1], points[:-1, 0]), points[:-1, 2]
    at_pole = np.hypot(points[:-1, 0], points[:-1, 1]) < 1e-9
    over_pole = np.abs(np.angle(np.exp(1j * (np.roll(lon, -1) - lon)))) > np.deg2rad(175.0)
    cuts = np.flatnonzero(at_pole | over_pole)
    if cuts.size:
        order = np.roll(np.arange(lon.size), -int(cuts[-1]) - 1)
        order = order[~at_pole[order]]
        lon, sine = lon[order], sine[order]
    else:
        lon, sine = np.append(lon, lon[0]), np.append(sine, sine[0])
    x = np.rad2deg(np.unwrap(lon))
    pole = np.sign(sine[np.abs(sine).argmax()])
    if cuts.size or abs(x[-1] - x[0]) > 180.0:
        x, sine = np.append(x, [x[-1], x[0]]), np.append(sine, [pole, pole])
    return shapely.Polygon(np.round(np.column_stack([x - 360.0 * np.floor(x.min() / 360.0), sine]), DIGITS))
