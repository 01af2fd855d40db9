"""Grids: rows and columns, or cells with corners; read from labelled data or made to order."""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from climanchor.kernels.overlap import Array, area_weights, latitude_edges, longitude_edges

LATITUDES = ("lat", "latitude", "nav_lat", "TLAT", "yt_ocean", "rlat_geo")
LONGITUDES = ("lon", "longitude", "nav_lon", "TLONG", "xt_ocean", "rlon_geo")
AREA_NAMES = ("areacella", "areacello", "cell_area")
EDGE_NAMES = ("{}_bnds", "{}_bounds", "bounds_{}", "{}_vertices", "vertices_{}", "{}_vert")


class GridError(ValueError):
    """Coordinates from which no usable grid can be read."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A rectilinear grid: latitude rows and longitude columns with their edges, in degrees.

    ``lat_bounds`` and ``lon_bounds`` have shape (n, 2). ``assumed`` says what was not given but derived.
    """

    lat: Array
    lon: Array
    lat_bounds: Array
    lon_bounds: Array
    dims: tuple[str, ...] = ("lat", "lon")
    assumed: str = ""

    @classmethod
    def from_centres(cls, lat: ArrayLike, lon: ArrayLike, *, dims: tuple[str, ...] = ("lat", "lon")) -> "Grid":
        """Grid whose edges lie midway between its centres (and at the poles, see the overlap kernel)."""
        rows, columns = np.asarray(lat, dtype=float), np.asarray(lon, dtype=float)
        edges = latitude_edges(rows), longitude_edges(columns)
        return cls(rows, columns, *edges, dims=dims, assumed="cell bounds derived from centres")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lat.size, self.lon.size

    @property
    def size(self) -> int:
        return self.lat.size * self.lon.size

    @cached_property
    def area(self) -> Array:
        """Cell areas (lat, lon) on the unit sphere; they sum to 4π on a global grid."""
        return area_weights(self.lat_bounds, self.lon_bounds)

    @cached_property
    def key(self) -> str:
        """Digest of the cells, the same for equal grids."""
        return _digest(self.lat, self.lon, self.lat_bounds, self.lon_bounds)

    def coords(self) -> dict[str, xr.Variable]:
        """CF coordinates of a field on this grid."""
        lat = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north", "axis": "Y"}
        lon = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east", "axis": "X"}
        return {"lat": xr.Variable("lat", self.lat, lat), "lon": xr.Variable("lon", self.lon, lon)}

    def describe(self, data: xr.Dataset) -> xr.Dataset:
        """``data`` with the CF coordinates and bounds of this grid."""
        bounds = {
            "lat_bnds": xr.Variable(("lat", "bnds"), self.lat_bounds),
            "lon_bnds": xr.Variable(("lon", "bnds"), self.lon_bounds),
        }
        out = data.assign_coords({**self.coords(), **bounds})
        for name in ("lat", "lon"):
            out[name].attrs["bounds"] = f"{name}_bnds"
        return out


@dataclass(frozen=True, eq=False)
class Cells:
    """A curvilinear or unstructured grid: one polygon per cell, corners in degrees, shape (cells, corners)."""

    lat: Array
    lon: Array
    lat_corners: Array
    lon_corners: Array
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    assumed: str = ""

    @property
    def size(self) -> int:
        return self.lat.size

    @cached_property
    def key(self) -> str:
        """Digest of the cells, the same for equal grids."""
        return _digest(self.lat, self.lon, self.lat_corners, self.lon_corners)


def _digest(*arrays: NDArray[np.float64]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(np.round(array, 9) + 0.0).tobytes())
    return digest.hexdigest()[:16]


def regular_grid(resolution: float = 5.0) -> Grid:
    """Global grid of square cells, rows from south to north, columns from 0° eastward.

    Parameters
    ----------
    resolution : float
        Cell size in degrees; must divide 180.

    >>> grid = regular_grid(5.0)
    >>> grid.shape, float(grid.lat[0]), float(grid.lon[-1])
    ((36, 72), -87.5, 357.5)
    """
    rows = 180.0 / resolution if resolution > 0 else 0.0
    if rows < 1 or abs(rows - round(rows)) > 1e-9:
        raise ValueError(f"resolution must be a positive number of degrees that divides 180; got {resolution}")
    lat = np.linspace(-90.0, 90.0, round(rows) + 1)
    lon = np.linspace(0.0, 360.0, 2 * round(rows) + 1)
    bounds = np.column_stack([lat[:-1], lat[1:]]), np.column_stack([lon[:-1], lon[1:]])
    return Grid(bounds[0].mean(axis=1), bounds[1].mean(axis=1), *bounds)


def find_grid(x: xr.DataArray, context: xr.Dataset | None = None) -> Grid | Cells:
    """Read the grid of ``x`` from its coordinates; bounds come from ``context`` (its Dataset) if it has them.

    Raises
    ------
    GridError
        No latitude or longitude is found, or cells of a non-rectilinear grid have no corners.
    """
    around = x.coords.to_dataset() if context is None else context
    lat, lon = _coordinate(x, LATITUDES, "latitude"), _coordinate(x, LONGITUDES, "longitude")
    lat_bounds, lon_bounds = _edges(around, lat), _edges(around, lon)
    if lat.dims == lon.dims or lat.ndim > 1 or lon.ndim > 1:
        return _cells(lat, lon, lat_bounds, lon_bounds)
    if lat.ndim != 1 or lon.ndim != 1:
        raise GridError(f"{x.name}: latitude and longitude must vary along dimensions; got a single point")
    return _rectilinear(lat, lon, lat_bounds, lon_bounds)


def spatial_dims(x: xr.DataArray) -> tuple[str, ...]:
    """Dimensions of ``x`` that are horizontal; empty for a series (no latitude, no longitude, or a single point).

    Raises
    ------
    GridError
        ``x`` has latitude but no longitude, or the reverse, or a dimension so called without coordinates.
    """
    found = {*_matches(x, LATITUDES, "latitude"), *_matches(x, LONGITUDES, "longitude")}
    varies = any(x.coords[name].ndim for name in found)
    if not varies and not {*LATITUDES, *LONGITUDES} & set(map(str, x.dims)):
        return ()
    lat, lon = _coordinate(x, LATITUDES, "latitude"), _coordinate(x, LONGITUDES, "longitude")
    return tuple(dict.fromkeys(str(d) for d in (*lat.dims, *lon.dims)))


def _coordinate(x: xr.DataArray, names: tuple[str, ...], standard_name: str) -> xr.DataArray:
    matches = _matches(x, names, standard_name)
    if not matches:
        raise GridError(
            f"{x.name}: no {standard_name} among the coordinates {sorted(map(str, x.coords))}; "
            f"name it {names[0]!r} or give it the standard_name {standard_name!r}"
        )
    found: xr.DataArray = x.coords[max(matches, key=lambda name: x.coords[name].ndim)]
    return found


def _matches(x: xr.DataArray, names: tuple[str, ...], standard_name: str) -> list[Hashable]:
    """Names of the coordinates that are latitude (or longitude), by standard name or by name."""
    named = [n for n, c in x.coords.items() if c.attrs.get("standard_name") == standard_name]
    named += [n for n in names if n in x.coords and n not in named]
    return [n for n in named if set(x.coords[n].dims) <= set(x.dims)]


def _edges(context: xr.Dataset, centre: xr.DataArray) -> xr.DataArray | None:
    named = centre.attrs.get("bounds") or centre.encoding.get("bounds")
    candidates = [named] if named else []
    candidates += [pattern.format(centre.name) for pattern in EDGE_NAMES]
    for name in candidates:
        if name in context.variables and context[name].ndim == centre.ndim + 1:
            edges = context[name]
            if set(centre.dims) < set(edges.dims):
                ordered: xr.DataArray = edges.transpose(*centre.dims, ...)
                return ordered
    return None


def _rectilinear(
    lat: xr.DataArray, lon: xr.DataArray, lat_bounds: xr.DataArray | None, lon_bounds: xr.DataArray | None
) -> Grid:
    rows, columns = _values(lat), _values(lon)
    assumed = []
    try:
        if lat_bounds is None:
            assumed.append(str(lat.name))
            lat_edges = latitude_edges(rows)
        else:
            lat_edges = np.clip(_checked(lat_bounds, rows, period=None), -90.0, 90.0)
        if lon_bounds is None:
            assumed.append(str(lon.name))
            lon_edges = longitude_edges(columns)
        else:
            lon_edges = _checked(lon_bounds, columns, period=360.0)
    except ValueError as error:
        raise GridError(str(error)) from error
    note = f"bounds of {' and '.join(assumed)} derived from centres" if assumed else ""
    return Grid(rows, columns, lat_edges, lon_edges, (str(lat.dims[0]), str(lon.dims[0])), note)


def _cells(
    lat: xr.DataArray, lon: xr.DataArray, lat_bounds: xr.DataArray | None, lon_bounds: xr.DataArray | None
) -> Cells:
    if lat.dims != lon.dims:
        raise GridError(f"latitude {lat.dims} and longitude {lon.dims} of a curvilinear grid must share dimensions")
    if lat_bounds is None or lon_bounds is None:
        raise GridError(
            f"the cells of the grid {dict(lat.sizes)} have no corners, which conservative remapping needs: "
            "open the file as a Dataset with its bounds variables, pass weights=, or use backend='xesmf'"
        )
    corners = [_values(edges).reshape(lat.size, -1) for edges in (lat_bounds, lon_bounds)]
    dims = tuple(str(d) for d in lat.dims)
    return Cells(_values(lat).ravel(), _values(lon).ravel(), corners[0], corners[1], dims, lat.shape)


def _values(x: xr.DataArray) -> Array:
    return np.asarray(x.values, dtype=float)


def _checked(bounds: xr.DataArray, centres: Array, *, period: float | None) -> Array:
    """Bounds of shape (n, 2) in which every centre lies."""
    edges = _values(bounds)
    if edges.shape != (centres.size, 2) or not np.all(np.isfinite(edges)):
        raise ValueError(f"{bounds.name} must hold two finite edges per cell; got shape {edges.shape}")
    span = edges[:, 1] - edges[:, 0]
    offset = centres - edges[:, 0]
    if period and centres.size > 1:
        span = (span + period / 2) % period - period / 2
        offset = (offset + period / 2) % period - period / 2
    share = np.divide(offset, span, out=np.full_like(span, np.nan), where=span != 0)
    outside = np.flatnonzero(~((share > -1e-3) & (share < 1 + 1e-3)))
    if outside.size:
        i = outside[0]
        raise ValueError(
            f"{bounds.name}[{i}] = {edges[i].tolist()} does not contain its centre {centres[i]:g}; "
            f"drop {bounds.name} to have the bounds derived from the centres"
        )
    return edges
