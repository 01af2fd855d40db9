"""Cell overlaps on the sphere: edges of cells, cell areas, and remapping weights of rectilinear grids.

A rectilinear cell is a rectangle in the plane of longitude and sine of latitude, where area is area on the
sphere. The overlap of two such cells is the product of an overlap in longitude and one in sin(latitude), so
first-order conservative weights are exact and need only two small matrices.
Angles are degrees, edges are arrays of shape (n, 2), one row per cell.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Array: TypeAlias = NDArray[np.float64]

POLE_GAP = 2.0  # degrees: a derived outermost edge nearer than this to a pole is at the pole


def latitude_edges(lat: ArrayLike) -> Array:
    """Edges (n, 2) of latitude rows from their centres: midpoints, and the poles where the rows reach them.

    Rows may increase or decrease; rows at ±90° become half cells. The outermost edges lie half a spacing
    outside; they are put at the pole when they pass it, come within two degrees of it, or when the rows
    are the Gaussian latitudes of a global grid. Otherwise the grid is regional and stays so.

    >>> latitude_edges([-90.0, 0.0, 90.0]).tolist()
    [[-90.0, -45.0], [-45.0, 45.0], [45.0, 90.0]]
    """
    centres = _monotonic(lat, "latitude")
    if np.any(np.abs(centres) > 90 + 1e-6):
        raise ValueError(f"latitudes must lie in [-90, 90]; got {centres.min():g} to {centres.max():g}")
    edges = _midpoints(centres)
    near_pole = np.abs(edges) > 90 - POLE_GAP
    near_pole[1:-1] = False
    if is_gaussian(centres):
        near_pole[[0, -1]] = True
    edges[near_pole] = np.sign(edges[near_pole]) * 90.0
    return np.column_stack([edges[:-1], edges[1:]])


def longitude_edges(lon: ArrayLike) -> Array:
    """Edges (n, 2) of longitude columns from their centres: midpoints, half a spacing at the ends.

    Where the columns go round the globe (the gap across the seam is about one spacing) the seam is a
    midpoint too, so that the cells cover 360° exactly.

    >>> longitude_edges([0.0, 90.0, 180.0, 270.0]).tolist()
    [[-45.0, 45.0], [45.0, 135.0], [135.0, 225.0], [225.0, 315.0]]
    """
    centres = _monotonic(np.unwrap(np.asarray(lon, dtype=float), period=360.0), "longitude")
    edges = _midpoints(centres)
    if centres.size > 1:
        turn = np.copysign(360.0, centres[-1] - centres[0])
        seam_gap = turn - (centres[-1] - centres[0])
        if abs(seam_gap) < 1.5 * np.abs(np.diff(centres)).max() and abs(seam_gap) > 1e-6:
            edges[0] = centres[0] - seam_gap / 2
            edges[-1] = edges[0] + turn
    return np.column_stack([edges[:-1], edges[1:]])


def _monotonic(values: ArrayLike, name: str) -> Array:
    centres = np.asarray(values, dtype=float)
    if centres.ndim != 1 or centres.size == 0:
        raise ValueError(f"{name} centres must be a non-empty one-dimensional array; got {centres.shape}")
    if not np.all(np.isfinite(centres)):
        raise ValueError(f"{name} centres contain missing or infinite values")
    steps = np.diff(centres)
    if centres.size > 1 and not (np.all(steps > 0) or np.all(steps < 0)):
        raise ValueError(f"{name} centres must strictly increase or decrease")
    return centres


def _midpoints(centres: Array) -> Array:
    if centres.size == 1:
        raise ValueError("edges cannot be derived from a single centre; give the bounds of the cell")
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])


def is_gaussian(lat: ArrayLike, *, tolerance: float = 1e-3) -> bool:
    """Whether latitudes are the roots of a Legendre polynomial, i.e. a global Gaussian grid."""
    centres = np.sort(np.asarray(lat, dtype=float))
    if centres.size < 4 or centres.size % 2:
        return False
    roots = np.rad2deg(np.arcsin(np.polynomial.legendre.leggauss(centres.size)[0]))
    return bool(np.max(np.abs(roots - centres)) < tolerance)


def area_weights(lat_edges: ArrayLike, lon_edges: ArrayLike) -> Array:
    """Cell areas (lat, lon) on the unit sphere: band in sin(latitude) × width in radians of longitude.

    They sum to 4π on a global grid, whichever way the rows and columns run.

    >>> area = area_weights([[-90, 0], [0, 90]], [[0, 180], [180, 360]])
    >>> bool(np.allclose(area, np.pi))
    True
    """
    bands = np.abs(np.diff(_sines(lat_edges), axis=1))[:, 0]
    widths = np.diff(_eastward(lon_edges), axis=1)[:, 0]
    return np.asarray(np.outer(bands, np.deg2rad(widths)))


def interval_overlaps(target: ArrayLike, source: ArrayLike) -> Array:
    """Lengths (n_target, n_source) that intervals share; each row of ``target``, ``source`` is (low, high)."""
    t, s = np.asarray(target, dtype=float), np.asarray(source, dtype=float)
    low = np.maximum(t[:, None, 0], s[None, :, 0])
    high = np.minimum(t[:, None, 1], s[None, :, 1])
    return np.asarray(np.clip(high - low, 0.0, None))


def band_overlaps(target: ArrayLike, source: ArrayLike) -> Array:
    """Overlaps (n_target, n_source) of latitude bands, measured in sin(latitude)."""
    return interval_overlaps(np.sort(_sines(target), axis=1), np.sort(_sines(source), axis=1))


def sector_overlaps(target: ArrayLike, source: ArrayLike) -> Array:
    """Overlaps (n_target, n_source) of longitude sectors in degrees, on the circle."""
    t, s = _eastward(target), _eastward(source)
    t = t - 360.0 * np.floor(t[:, :1] / 360.0)
    s = s - 360.0 * np.floor(s[:, :1] / 360.0)
    turns = (-360.0, 0.0, 360.0)  # both begin in [0, 360) and are at most 360 wide
    return np.asarray(np.sum([interval_overlaps(t, s + turn) for turn in turns], axis=0))


def _sines(lat_edges: ArrayLike) -> Array:
    return np.asarray(np.sin(np.deg2rad(np.clip(np.asarray(lat_edges, dtype=float), -90.0, 90.0))))


def _eastward(lon_edges: ArrayLike) -> Array:
    """Edges ordered west, east: a pair such as (358.75, 1.25) crosses the seam, (1.25, -1.25) runs west."""
    edges = np.array(lon_edges, dtype=float)
    if len(edges) > 1:
        width = edges[:, 1] - edges[:, 0]
        edges[:, 1] -= 360.0 * np.round(width / 360.0) * (np.abs(width) > 180.0)
    return np.sort(edges, axis=1)


def conservative_weights(
    target_lat: ArrayLike, target_lon: ArrayLike, source_lat: ArrayLike, source_lon: ArrayLike
) -> sparse.csr_array:
    """First-order conservative weights (target cells, source cells) from the edges of two rectilinear grids.

    Entry (i, j) is the area that target cell i shares with source cell j over the area of cell i, so a row
    sums to the part of the target cell that the source covers (one inside a global source).
    Cells are numbered with longitude running fastest.
    """
    lat = band_overlaps(target_lat, source_lat)
    lon = sector_overlaps(target_lon, source_lon)
    bands = np.abs(np.diff(_sines(target_lat), axis=1))
    widths = np.diff(_eastward(target_lon), axis=1)
    return sparse.csr_array(sparse.kron(_sparse(lat / bands), _sparse(lon / widths), format="csr"))


def bilinear_weights(
    target_lat: ArrayLike, target_lon: ArrayLike, source_lat: ArrayLike, source_lon: ArrayLike
) -> sparse.csr_array:
    """Weights of bilinear interpolation between cell centres, periodic where the source goes round the globe.

    Targets outside the source's outermost centres get an empty row: nothing is extrapolated.
    """
    s_lat = _monotonic(source_lat, "latitude")
    lat = _linear(np.asarray(target_lat, dtype=float), s_lat)
    s_lon = _monotonic(np.unwrap(np.asarray(source_lon, dtype=float), period=360.0), "longitude")
    edges = longitude_edges(s_lon)
    turn = np.copysign(360.0, s_lon[-1] - s_lon[0])
    closed = abs(edges[-1, 1] - edges[0, 0]) > 360.0 - 1e-6
    ring = np.append(s_lon, s_lon[0] + turn) if closed else s_lon
    west = ring.min()
    columns = _linear(west + np.mod(np.asarray(target_lon, dtype=float) - west, 360.0), ring)
    if closed:
        columns[:, 0] += columns[:, -1]
        columns = columns[:, :-1]
    return sparse.csr_array(sparse.kron(_sparse(lat), _sparse(columns), format="csr"))


def _linear(points: Array, nodes: Array) -> Array:
    """Matrix (points, nodes) of linear interpolation; rows of zeros outside the nodes."""
    order = np.argsort(nodes)
    x = nodes[order]
    right = np.clip(np.searchsorted(x, points), 1, x.size - 1)
    share = (points - x[right - 1]) / (x[right] - x[right - 1])
    matrix = np.zeros((points.size, x.size))
    rows = np.flatnonzero((share > -1e-9) & (share < 1 + 1e-9))
    matrix[rows, order[right[rows] - 1]] = 1 - share[rows]
    matrix[rows, order[right[rows]]] = share[rows]
    return matrix


def _sparse(matrix: Array) -> sparse.csr_array:
    return sparse.csr_array(matrix)


def apply_weights(weights: sparse.csr_array, values: NDArray[np.floating], *, min_valid: float = 0.5) -> Array:
    """Remap fields (..., source cells) to (..., target cells) in float64, skipping missing values.

    With w the weights and v the indicator of valid cells, ``y_i = Σ w_ij v_j x_j / Σ w_ij v_j`` where the
    valid fraction ``Σ w_ij v_j`` is at least ``min_valid``, NaN elsewhere.
    """
    fields = values.reshape(-1, values.shape[-1])
    covered = weights @ np.ones(weights.shape[1])
    out = np.empty((len(fields), weights.shape[0]))
    for field, remapped in zip(fields, out, strict=True):
        remapped[:] = weights @ field
        if np.isnan(remapped).any():
            valid = ~np.isnan(field)
            remapped[:] = weights @ np.where(valid, field, 0.0)
            _normalise(remapped, weights @ valid.astype(float), min_valid)
        else:
            _normalise(remapped, covered, min_valid)
    return out.reshape(*values.shape[:-1], weights.shape[0])


def _normalise(values: Array, fraction: Array, min_valid: float) -> None:
    """Divide by the valid fraction in place; NaN where too little of the cell is valid."""
    enough = (fraction > 0) & (fraction >= min_valid - 1e-12)
    np.divide(values, fraction, out=values, where=enough)
    values[~enough] = np.nan
