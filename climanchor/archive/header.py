"""What one file says about one variable: read once, without its data.

A :class:`Header` holds values as stored; their meaning is worked out in ``times``, ``grids`` and ``values``.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from climanchor.archive.integrity import BadFileError, open_file

_LATITUDE = ("latitude", {"lat", "latitude", "nav_lat"}, ("degrees_n", "degree_n", "degreesn", "degreen"))
_LONGITUDE = ("longitude", {"lon", "longitude", "nav_lon"}, ("degrees_e", "degree_e", "degreese", "degreee"))
_BOUNDS_NAMES = ("{}_bnds", "{}_bounds", "bounds_{}", "vertices_{}", "{}_vertices", "{}_edges")
_TIME_NAMES = {"time", "year", "t"}
_KEPT = ("standard_name", "long_name", "units", "cell_methods")
#: A last step whose storage chunks hold more than this is not read as a check.
_CHECK_BYTES = 32 * 2**20


@dataclass(frozen=True)
class RawTime:
    """A time coordinate as stored; ``bounds`` is ``(time, 2)`` or ``None``."""

    name: str
    values: NDArray[np.float64]
    units: str
    calendar: str
    bounds: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class RawGrid:
    """Latitude and longitude in degrees as stored, with NaN for fill values; bounds where the file has them.

    ``kind`` is ``rectilinear`` (1-D each), ``curvilinear`` (2-D) or ``unstructured`` (1-D on one dimension).
    """

    kind: str
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    lat_bnds: NDArray[np.float64] | None
    lon_bnds: NDArray[np.float64] | None


@dataclass(frozen=True)
class Header:
    """One variable of one file: its place in the file, its coordinates, and how its values are coded.

    ``axes`` gives the position of time and of the one or two space dimensions among the file's dimensions
    (time is -1 where the file has none); every other dimension has length 1.
    """

    path: str
    name: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str
    grid: RawGrid
    time: RawTime | None
    scale: float | None = None
    offset: float | None = None
    unpacked: str = ""
    fills: tuple[float, ...] = ()
    storage_steps: int = 1
    height: float | None = None
    attributes: dict[str, str] = field(default_factory=dict)


def read_header(path: str, name: str) -> Header:
    """Read what ``path`` says about its variable ``name``; ``BadFileError`` says what is wrong with it."""
    with open_file(path) as file:
        if name not in file.variables:
            held = ", ".join(sorted(file.variables)[:12]) or "nothing"
            raise BadFileError(path, f"holds no variable {name!r} (it holds {held})")
        variable = file.variables[name]
        dims = variable.dimensions
        time_dim, time = _read_time(file, variable, path)
        grid, space = _read_grid(file, variable, path)
        _check_other_dims(file, variable, {time_dim, *space}, path)
        if variable.dtype is str or variable.dtype.kind not in "iuf":
            raise BadFileError(path, f"variable {name!r} is not numeric (type {variable.dtype})")
        header = Header(
            path=path,
            name=name,
            shape=tuple(variable.shape),
            axes=(dims.index(time_dim) if time_dim in dims else -1, *(dims.index(d) for d in space)),
            dtype=variable.dtype.newbyteorder("=").str,
            grid=grid,
            time=time,
            storage_steps=_storage_steps(variable, time_dim),
            height=_scalar(file, "height"),
            attributes={k: _text(variable, k) for k in _KEPT if _text(variable, k)},
            **_coding(variable),
        )
        _check_last_step(variable, header)
    return header


def _read_time(file: Any, variable: Any, path: str) -> tuple[str, RawTime | None]:
    """Name of the time dimension (empty where there is none) and its coordinate."""
    dims = variable.dimensions
    names = [d for d in dims if _is_time(file, d)] or [n for n in ("time",) if n in file.variables]
    if not names:
        return "", None
    name = names[0]
    coordinate = file.variables.get(name)
    if coordinate is None:
        raise BadFileError(path, f"has unreadable time: dimension {name!r} has no coordinate")
    if coordinate.dtype is str or coordinate.dtype.kind not in "iuf":
        raise BadFileError(path, f"has unreadable time: {name!r} is of type {coordinate.dtype}")
    if coordinate.size != (variable.shape[dims.index(name)] if name in dims else 1):
        raise BadFileError(path, f"has unreadable time: {coordinate.size} values of {name!r} do not fit the data")
    values = _floats(coordinate).ravel()
    if values.size == 0:
        raise BadFileError(path, "has no time steps")
    if not np.isfinite(values).all():
        raise BadFileError(path, f"has unreadable time: {name!r} has missing values")
    bounds = _bounds(file, coordinate, name, coordinate.shape)
    calendar = _text(coordinate, "calendar").lower()
    raw = RawTime(name, values, _text(coordinate, "units"), calendar, _pairs(bounds, values.size))
    return (name if name in dims else ""), raw


def _is_time(file: Any, dim: str) -> bool:
    coordinate = file.variables.get(dim)
    if coordinate is None:
        return dim.lower() in _TIME_NAMES
    units = _text(coordinate, "units").lower()
    marked = _text(coordinate, "standard_name") == "time" or _text(coordinate, "axis") == "T"
    return marked or " since " in units or units.startswith("day as") or dim.lower() in _TIME_NAMES


def _pairs(bounds: NDArray[np.float64] | None, size: int) -> NDArray[np.float64] | None:
    if bounds is None or bounds.size != 2 * size or not np.isfinite(bounds).all():
        return None
    return bounds.reshape(size, 2)


def _read_grid(file: Any, variable: Any, path: str) -> tuple[RawGrid, tuple[str, ...]]:
    """Latitude and longitude, and the names of the space dimensions in the order (y, x) or (cell)."""
    lat, lon = (_coordinate(file, variable, kind) for kind in (_LATITUDE, _LONGITUDE))
    if lat is None or lon is None:
        raise BadFileError(path, f"has no latitude and longitude for {variable.name!r}")
    if lat.dimensions != lon.dimensions and lat.ndim == lon.ndim == 1:
        kind, space = "rectilinear", (*lat.dimensions, *lon.dimensions)
    elif lat.dimensions == lon.dimensions and lat.ndim in (1, 2):
        kind, space = ("unstructured" if lat.ndim == 1 else "curvilinear"), lat.dimensions
    else:
        raise BadFileError(path, f"latitude is on {lat.dimensions}, longitude on {lon.dimensions}")
    grid = RawGrid(
        kind,
        _floats(lat),
        _floats(lon),
        _bounds(file, lat, "latitude", lat.shape),
        _bounds(file, lon, "longitude", lon.shape),
    )
    if not (np.isfinite(grid.lat).any() and np.isfinite(grid.lon).any()):
        raise BadFileError(path, "has no valid latitude and longitude")
    return grid, space


def _coordinate(file: Any, variable: Any, kind: tuple[str, set[str], tuple[str, ...]]) -> Any:
    """The latitude or longitude variable: named in ``coordinates``, or a dimension, or any that fits."""
    named = _text(variable, "coordinates").split()
    for name in dict.fromkeys([*named, *variable.dimensions, *file.variables]):
        found = file.variables.get(name)
        if found is None or not found.ndim or not set(found.dimensions) <= set(variable.dimensions):
            continue
        if found.dtype is str or found.dtype.kind not in "iuf":
            continue
        standard_name, names, units = kind
        declared, unit = _text(found, "standard_name"), _text(found, "units").lower()
        if declared == standard_name or (not declared and (unit.startswith(units) or name.lower() in names)):
            return found
    return None


def _check_other_dims(file: Any, variable: Any, known: set[str], path: str) -> None:
    for dim, size in zip(variable.dimensions, variable.shape, strict=True):
        if dim not in known and size != 1:
            raise BadFileError(path, f"variable {variable.name!r} has a dimension {dim!r} of length {size}")


def _bounds(file: Any, coordinate: Any, role: str, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    names = [_text(coordinate, "bounds")]
    names += [pattern.format(stem) for stem in (coordinate.name, role) for pattern in _BOUNDS_NAMES]
    for name in names:
        found = file.variables.get(name)
        fits = found is not None and found.shape[:-1] == shape and found.dtype is not str
        if fits and found.dtype.kind in "iuf" and found.shape[-1] >= 2:
            return _floats(found, radians=_text(coordinate, "units").lower().startswith("radian"))
    return None


def _floats(variable: Any, *, radians: bool = False) -> NDArray[np.float64]:
    """All values of a coordinate in float64, NaN for fill values, degrees for radians."""
    values = np.array(variable[...], dtype=np.float64)
    coding = _coding(variable)
    for fill in coding["fills"]:
        values[values == fill] = np.nan
    if coding["scale"] is not None or coding["offset"] is not None:
        values = values * (coding["scale"] or 1.0) + (coding["offset"] or 0.0)
    return np.rad2deg(values) if radians or _text(variable, "units").lower().startswith("radian") else values


def _coding(variable: Any) -> dict[str, Any]:
    """Packing and fill values; the type of packed data once unpacked is that of its scale factor."""
    declared = set(variable.ncattrs())
    packing = {k: np.asarray(variable.getncattr(k)) for k in ("scale_factor", "add_offset") if k in declared}
    packing = {k: v for k, v in packing.items() if v.dtype.kind in "iuf" and v.size == 1}
    fills = [np.asarray(variable.getncattr(k)) for k in ("_FillValue", "missing_value") if k in declared]
    numbers = {float(v) for f in fills if f.dtype.kind in "iuf" for v in f.ravel()}
    if "_FillValue" not in declared and variable.dtype.kind == "f":
        numbers.add(float(np.float32(9.969209968386869e36)))  # what the library writes where nothing was written
    floats = [v.dtype for v in packing.values() if v.dtype.kind == "f"]
    unpacked = np.result_type(*floats) if floats else np.dtype("f4" if variable.dtype.itemsize <= 2 else "f8")
    return {
        "scale": float(packing["scale_factor"].ravel()[0]) if "scale_factor" in packing else None,
        "offset": float(packing["add_offset"].ravel()[0]) if "add_offset" in packing else None,
        "unpacked": unpacked.newbyteorder("=").str if packing or variable.dtype.kind in "iu" else "",
        "fills": tuple(sorted(n for n in numbers if np.isfinite(n))),
    }


def _storage_steps(variable: Any, time_dim: str) -> int:
    """Time steps per storage chunk of an HDF5 file; 1 where storage is contiguous."""
    chunking = variable.chunking()
    if time_dim not in variable.dimensions or not isinstance(chunking, list | tuple):
        return 1
    return max(1, int(chunking[variable.dimensions.index(time_dim)]))


def _check_last_step(variable: Any, header: Header) -> None:
    """Read the last step where that is cheap: the end of a damaged file is where it shows."""
    axis = header.axes[0]
    step = np.dtype(header.dtype).itemsize * int(np.prod(header.shape)) // (header.shape[axis] if axis >= 0 else 1)
    if step * header.storage_steps <= _CHECK_BYTES:
        variable[tuple(-1 if i == axis else slice(None) for i in range(len(header.shape)))]


def _scalar(file: Any, name: str) -> float | None:
    found = file.variables.get(name)
    if found is None or found.size != 1 or found.dtype is str or found.dtype.kind not in "iuf":
        return None
    return float(np.asarray(found[...]).ravel()[0])


def _text(variable: Any, name: str) -> str:
    if name not in variable.ncattrs():
        return ""
    value = variable.getncattr(name)
    return value.strip() if isinstance(value, str) else ""
