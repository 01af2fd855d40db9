"""Grids: three kinds, brought to one orientation, compared among siblings, with bounds under one name."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from climanchor.archive.header import RawGrid

_Floats = NDArray[np.float64]
#: Degrees by which the coordinates of two files on one grid may differ (some store them in float32).
TOLERANCE = 1e-3
DIMS = {"rectilinear": ("lat", "lon"), "curvilinear": ("y", "x"), "unstructured": ("cell",)}


@dataclass(frozen=True)
class Orientation:
    """How stored rectilinear fields are turned: latitude ascending, longitude ascending from 0.

    ``flip`` says that stored latitude descends, ``reverse`` that stored longitude does; ``columns`` of the
    stored ones are kept (a repeated column at 360° is not); ``shift`` of them move from the front to the back.
    """

    flip: bool
    reverse: bool
    columns: int
    shift: int

    def apply(self, values: NDArray[Any]) -> NDArray[Any]:
        """Turn stored fields ``(..., lat, lon)``."""
        if self.flip:
            values = values[..., ::-1, :]
        if self.reverse:
            values = values[..., ::-1]
        values = values[..., : self.columns]
        if self.shift:
            values = np.concatenate([values[..., self.shift :], values[..., : self.shift]], axis=-1)
        return np.ascontiguousarray(values)


@dataclass(frozen=True)
class Grid:
    """A grid in this package's orientation, and how stored fields are turned into it.

    Rectilinear grids have ascending latitude, and longitude ascending from 0 where they go round the globe.
    ``orientation`` is ``None`` for the other kinds, whose fields are used as stored.
    """

    kind: str
    lat: _Floats
    lon: _Floats
    lat_bnds: _Floats | None
    lon_bnds: _Floats | None
    orientation: Orientation | None = None
    notes: tuple[str, ...] = ()

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the space dimensions."""
        return DIMS[self.kind]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the space dimensions."""
        return (self.lat.size, self.lon.size) if self.kind == "rectilinear" else self.lat.shape

    def describe(self) -> str:
        """Kind and size, for example ``rectilinear 36×72``."""
        return f"{self.kind} {'×'.join(map(str, self.shape))}"

    def same_as(self, other: "Grid") -> bool:
        """Whether two grids have the same cells, to a tolerance of 0.001°."""
        if self.kind != other.kind or self.shape != other.shape:
            return False
        turned = (self.lon - other.lon + 180) % 360 - 180
        near = [np.nanmax(np.abs(d), initial=0) < TOLERANCE for d in (self.lat - other.lat, turned)]
        return all(near) and bool((np.isnan(self.lat) == np.isnan(other.lat)).all())


@lru_cache(maxsize=64)
def normalise_grid(raw: RawGrid) -> Grid:
    """Bring a stored grid into one orientation; bounds that do not enclose their centres are dropped and noted.

    Grids read before are remembered, so files on one grid share its arrays.

    >>> lat, lon = np.array([45.0, -45.0]), np.array([-135.0, -45.0, 45.0, 135.0])
    >>> grid = normalise_grid(RawGrid("rectilinear", lat, lon, None, None))
    >>> grid.lat, grid.lon
    (array([-45.,  45.]), array([ 45., 135., 225., 315.]))
    >>> grid.orientation
    Orientation(flip=True, reverse=False, columns=4, shift=2)
    """
    if raw.kind != "rectilinear":
        return _cells(raw)
    raw = _unwrapped(raw)
    _check_rectilinear(raw)
    notes: list[str] = []
    flip, reverse = (bool(c.size > 1 and c[1] < c[0]) for c in (raw.lat, raw.lon))
    lat, lat_bnds = _ordered(raw.lat, raw.lat_bnds, flip, "lat", notes)
    lon, lon_bnds = _ordered(raw.lon, raw.lon_bnds, reverse, "lon", notes)
    columns = lon.size - 1 if lon.size > 2 and abs(lon[-1] - lon[0] - 360) < TOLERANCE else lon.size
    if columns < lon.size:
        notes.append("the last column repeats the first at 360° and is not used")
    lon, lon_bnds = lon[:columns], None if lon_bnds is None else lon_bnds[:columns]
    lon, lon_bnds, shift = _eastward(lon, lon_bnds)
    if lat_bnds is not None:
        lat_bnds = np.clip(lat_bnds, -90.0, 90.0)
    orientation = Orientation(flip, reverse, columns, shift)
    return Grid("rectilinear", lat, lon, lat_bnds, lon_bnds, orientation, tuple(notes))


def _cells(raw: RawGrid) -> Grid:
    """A curvilinear or unstructured grid: longitudes in [0, 360), corners kept as they are."""
    lon = raw.lon % 360.0
    both = raw.lat_bnds is not None and raw.lon_bnds is not None
    return Grid(raw.kind, raw.lat, lon, raw.lat_bnds if both else None, raw.lon_bnds if both else None)


def _unwrapped(raw: RawGrid) -> RawGrid:
    """Longitudes that jump back by 360° go on instead, and bounds lie within half a turn of their centres."""
    lon = raw.lon + 360.0 * np.concatenate([[0], np.cumsum(np.diff(raw.lon) < -180)])
    bounds = raw.lon_bnds
    if bounds is not None and bounds.shape == (lon.size, 2):
        away = bounds - lon[:, None]
        bounds = lon[:, None] + np.where(np.abs(away) > 180, (away + 180) % 360 - 180, away)
    return replace(raw, lon=lon, lon_bnds=bounds)


def _check_rectilinear(raw: RawGrid) -> None:
    for name, values in (("latitude", raw.lat), ("longitude", raw.lon)):
        steps = np.diff(values)
        if not np.isfinite(values).all() or not ((steps > 0).all() or (steps < 0).all()):
            raise ValueError(f"{name} is not monotonic")
    if np.abs(raw.lat).max() > 90 + TOLERANCE:
        raise ValueError(f"latitude reaches {raw.lat[np.abs(raw.lat).argmax()]:g}°")


def _ordered(
    centres: _Floats, bounds: _Floats | None, backwards: bool, name: str, notes: list[str]
) -> tuple[_Floats, _Floats | None]:
    """Ascending centres with ascending ``(n, 2)`` bounds, or no bounds where they make no sense."""
    step = -1 if backwards else 1
    centres = centres[::step]
    if bounds is None or bounds.shape != (centres.size, 2):
        return centres, None
    bounds = np.sort(bounds[::step], axis=1)
    slack = TOLERANCE + 1e-6 * np.abs(centres)
    inside = (bounds[:, 0] <= centres + slack) & (centres <= bounds[:, 1] + slack)
    if not (np.isfinite(bounds).all() and inside.all() and (bounds[:, 1] > bounds[:, 0]).all()):
        notes.append(f"{name} bounds do not enclose the cell centres and are not used")
        return centres, None
    return centres, bounds


def _eastward(lon: _Floats, bounds: _Floats | None) -> tuple[_Floats, _Floats | None, int]:
    """Longitudes from 0 eastwards where the grid goes round the globe; the shift that brings them there."""
    step = float(np.median(np.diff(lon))) if lon.size > 1 else 0.0
    closes = lon.size > 1 and abs(lon[-1] - lon[0] + step - 360) < 0.5 * step
    if not closes:
        turns = 360.0 * np.floor(lon[0] / 360) if lon.size and lon[-1] < 0 else 0.0
        return lon - turns, None if bounds is None else bounds - turns, 0
    turns = 360.0 * np.floor((lon + TOLERANCE) / 360)
    shift = int((turns < turns[-1]).sum())
    moved = np.roll(lon - turns, -shift)
    return moved, None if bounds is None else np.roll(bounds - turns[:, None], -shift, axis=0), shift
