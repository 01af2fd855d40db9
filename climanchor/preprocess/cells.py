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

SUBDIVISIONS = 16  # points per edge; a 2° edge then strays from its great circle by less than 1e-6 rad


def cell_overlaps(source: Cells, grid: Grid) -> sparse.csr_array:
    """Conservative weights (target cells, source cells): shared area over the area of the target cell."""
    polygons = cell_polygons(source.lat_corners, source.lon_corners)
    west = np.mod(grid.lon_bounds.min(axis=1), 360.0)
    width = np.abs(np.diff(grid.lon_bounds, axis=1))[:, 0]
    sines = np.sort(np.sin(np.deg2rad(grid.lat_bounds)), axis=1)
    boxes = shapely.box(west[None], sines[:, :1], (west + width)[None], sines[:, 1:]).ravel()
    tree = shapely.STRtree(boxes)
    rows, columns, areas = [], [], []
    for turn in (-360.0, 0.0, 360.0):
        shifted = _shifted(polygons, turn)
        cell, box = tree.query(shifted, predicate="intersects")
        rows.append(box)
        columns.append(cell)
        areas.append(shapely.area(shapely.intersection(shifted[cell], boxes[box])))
    row, column = np.concatenate(rows), np.concatenate(columns)
    share = np.concatenate(areas) / shapely.area(boxes)[row]
    touched = share > 1e-14
    entries = share[touched], (row[touched], column[touched])
    return sparse.csr_array(sparse.coo_array(entries, shape=(grid.size, source.size)))


def _shifted(polygons: NDArray[Any], degrees: float) -> NDArray[Any]:
    offset = np.array([degrees, 0.0])
    moved: NDArray[Any] = shapely.transform(polygons, lambda xy: xy + offset)
    return moved


def cell_areas(source: Cells) -> Array:
    """Areas of the cells on the unit sphere."""
    return np.asarray(np.deg2rad(shapely.area(cell_polygons(source.lat_corners, source.lon_corners))))


def cell_polygons(lat_corners: Array, lon_corners: Array) -> NDArray[Any]:
    """One shapely polygon per cell in the plane (longitude in degrees, sin(latitude)).

    Repeated corners pad cells with fewer corners; a cell with a corner at a pole, or around one, reaches
    the line sin(latitude) = ±1. The western end lies in [0, 360); the polygon may extend beyond 360.
    """
    polygons = [_polygon(lat, lon) for lat, lon in zip(lat_corners, lon_corners, strict=True)]
    array = np.array(polygons, dtype=object)
    invalid = ~shapely.is_valid(array)
    array[invalid] = shapely.make_valid(array[invalid])
    return array


def _polygon(lat: Array, lon: Array) -> shapely.Polygon:
    finite = np.isfinite(lat) & np.isfinite(lon) & (np.abs(lat) <= 90.0 + 1e-9)
    if finite.sum() < 3:
        return shapely.Polygon()
    x, y = _outline(np.deg2rad(np.clip(lat[finite], -90, 90)), np.deg2rad(lon[finite]))
    turns = x[-1] - x[0]
    if abs(turns) > 180.0:  # the outline goes round a pole: close it along that pole
        pole = np.sign(y.mean())
        x, y = np.append(x, [x[-1], x[0]]), np.append(y, [pole, pole])
    x = x - 360.0 * np.floor(x.min() / 360.0)
    return shapely.Polygon(np.column_stack([x, y]))


def _outline(lat: Array, lon: Array) -> tuple[Array, Array]:
    """Closed outline: longitudes unwrapped in degrees, sines of latitude, edges subdivided."""
    corners = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    moved = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1) > 1e-12
    corners, lon = corners[moved], lon[moved]
    share = np.linspace(0.0, 1.0, SUBDIVISIONS, endpoint=False)[:, None]
    following = np.roll(corners, -1, axis=0)
    points = corners[:, None] * (1 - share) + following[:, None] * share
    points = points.reshape(-1, 3)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    x, y = np.arctan2(points[:, 1], points[:, 0]), points[:, 2]
    at_pole = np.hypot(points[:, 0], points[:, 1]) < 1e-9
    x, y = _split_poles(x, y, at_pole)
    x, y = np.append(x, x[0]), np.append(y, y[0])
    return np.rad2deg(np.unwrap(x)), y


def _split_poles(x: Array, y: Array, at_pole: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Replace a point at the pole, which has every longitude, by those of its two neighbours."""
    if not at_pole.any():
        return x, y
    start = int(np.flatnonzero(~at_pole)[0])
    x, y, at_pole = np.roll(x, -start), np.roll(y, -start), np.roll(at_pole, -start)
    out_x, out_y = [], []
    for i in range(x.size):
        if at_pole[i]:
            out_x += [x[i - 1], x[(i + 1) % x.size]]
            out_y += [np.sign(y[i])] * 2
        else:
            out_x.append(x[i])
            out_y.append(y[i])
    return np.array(out_x), np.array(out_y)
