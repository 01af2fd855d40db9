"""Checks on labelled fields before they are drawn, and the cells of a regular latitude–longitude grid."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Array = NDArray[np.float64]

TEMPERATURE_UNITS = ("K", "kelvin", "degC", "deg_C", "°C", "degree_Celsius", "degrees_Celsius", "Celsius")
DIMENSIONLESS = ("", "1", "dimensionless")


@dataclass(frozen=True)
class Grid:
    """Edges of the cells of a field in degrees: ``lat`` from south to north, ``lon`` from west to east."""

    lat_edges: tuple[float, ...]
    lon_edges: tuple[float, ...]

    def area_weights(self) -> Array:
        """Area of the cells by latitude, up to a constant: the difference of sin(lat) between the edges."""
        weights: Array = np.diff(np.sin(np.deg2rad(self.lat_edges)))
        return weights


def checked_map(field: Any, name: str) -> xr.DataArray:
    """Return ``field`` computed, as (lat, lon) with both coordinates ascending, or say why it is no map.

    Raises
    ------
    TypeError
        If ``field`` is not a DataArray.
    ValueError
        If ``lat`` or ``lon`` is missing, other dimensions are left, or no value is finite.
    """
    if not isinstance(field, xr.DataArray):
        raise TypeError(f"{name} must be an xarray.DataArray with lat and lon, got {type(field).__name__}")
    missing = [axis for axis in ("lat", "lon") if axis not in field.dims or axis not in field.coords]
    if missing:
        raise ValueError(
            f"{name} has no {' and '.join(missing)}: its dimensions are {tuple(map(str, field.dims))}. "
            "Rename the coordinates to lat and lon (degrees), or regrid the field first"
        )
    extra = [str(axis) for axis in field.dims if axis not in ("lat", "lon")]
    if extra:
        raise ValueError(f"{name} has dimensions {extra} besides lat and lon: select or average over them first")
    values: xr.DataArray = field.transpose("lat", "lon").sortby(["lat", "lon"]).compute().astype(np.float64)
    if min(values.sizes.values()) < 2:
        raise ValueError(f"{name} has {dict(values.sizes)}: a map needs at least two latitudes and two longitudes")
    if not np.isfinite(values).any():
        raise ValueError(f"{name} is missing in every cell: there is nothing to draw")
    return values


def check_units(field: xr.DataArray, name: str, allowed: tuple[str, ...]) -> None:
    """Raise ``ValueError`` when ``field`` states units that are not among ``allowed``."""
    units = field.attrs.get("units")
    if units is not None and str(units) not in allowed:
        wanted = "no units" if allowed == DIMENSIONLESS else f"units {allowed[0]!r}"
        raise ValueError(f"{name} has units {units!r}, expected {wanted}: convert it, or draw it with map_field")


def check_same_grid(first: xr.DataArray, second: xr.DataArray, names: tuple[str, str]) -> None:
    """Raise ``ValueError`` when two maps do not have the same cells."""
    for axis in ("lat", "lon"):
        a, b = first[axis].values, second[axis].values
        if a.shape != b.shape or not np.allclose(a, b, rtol=0, atol=1e-6):
            raise ValueError(
                f"{names[0]} and {names[1]} are on different grids: {axis} has {a.size} values "
                f"{a[0]:g}…{a[-1]:g} and {b.size} values {b[0]:g}…{b[-1]:g}. Regrid one of them first"
            )


def grid_of(field: xr.DataArray) -> Grid:
    """Return the cells of a checked map: edges halfway between the centres, closed at the seam and the poles.

    >>> lat = [-45.0, 45.0]
    >>> field = xr.DataArray(np.zeros((2, 3)), coords={"lat": lat, "lon": [60.0, 180.0, 300.0]}, dims=("lat", "lon"))
    >>> grid_of(field)
    Grid(lat_edges=(-90.0, 0.0, 90.0), lon_edges=(0.0, 120.0, 240.0, 360.0))
    """
    lat = np.clip(_edges(field["lat"].values.astype(np.float64)), -90.0, 90.0)
    lon = _edges(field["lon"].values.astype(np.float64))
    if abs(lon[-1] - lon[0] - 360.0) < 0.5 * (lon[1] - lon[0]):
        lon[-1] = lon[0] + 360.0  # a global grid: the last cell ends where the first begins
    return Grid(tuple(lat.tolist()), tuple(lon.tolist()))


def _edges(centres: Array) -> Array:
    middle = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - middle[0], 2 * centres[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])


def area_mean(field: xr.DataArray) -> float:
    """Return the area-weighted mean of a checked map over the cells that are not missing."""
    weights = np.broadcast_to(grid_of(field).area_weights()[:, None], field.shape)
    values = field.values
    valid = np.isfinite(values)
    return float(np.sum(values[valid] * weights[valid]) / np.sum(weights[valid]))


def describe(field: xr.DataArray, fallback: str) -> str:
    """Return a label from the attributes: the long name (or ``fallback``) with the units in brackets.

    >>> describe(xr.DataArray(0.0, attrs={"long_name": "weight of the field", "units": "K-1"}), "")
    'Weight of the field (K⁻¹)'
    """
    name = str(field.attrs.get("long_name", fallback))
    name = name[:1].upper() + name[1:]
    units = str(field.attrs.get("units", ""))
    exponents = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    units_text = re.sub(r"(?<=[A-Za-z])(-?\d+)", lambda found: found[0].translate(exponents), units)
    return name if units in DIMENSIONLESS else f"{name} ({units_text})"
