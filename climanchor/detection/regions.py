"""Where to look: the globe, boxes, land or ocean, AR6 regions, or any mask, as area weights."""

from collections.abc import Sequence
from importlib import import_module

import numpy as np
import xarray as xr

Region = str | Sequence[float] | xr.DataArray | None


def region_weights(region: Region, *, areas: xr.DataArray, land: xr.DataArray | None = None) -> xr.DataArray | None:
    """Weights (lat, lon) of the average over a region; None for ``"cells"``, which is no average.

    Parameters
    ----------
    region
        None or ``"globe"``; ``(south, north, west, east)`` in degrees, where west > east crosses the
        meridian of 0°; ``"land"`` or ``"ocean"``, which need ``land``; ``"ar6:NEU"`` and the like, which
        need regionmask and its data; a mask or fraction (lat, lon); or ``"cells"``.
    areas
        Cell areas (lat, lon) in any unit; its coordinates are the grid.
    land
        Fraction of land (lat, lon) in [0, 1] on the same grid.

    Raises ``ValueError`` for unknown names, masks on another grid and regions without a cell.

    >>> areas = xr.DataArray(np.ones((2, 4)), {"lat": [-45, 45], "lon": [45, 135, 225, 315]})
    >>> region_weights((0, 90, 270, 90), areas=areas).values.tolist()  # northern, across 0°
    [[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5]]
    """
    if isinstance(region, str) and region == "cells":
        return None
    weights = areas * _share(region, areas, land)
    if not bool((weights > 0).any()):
        raise ValueError(f"region {describe(region)} holds no cell of the grid")
    return weights / weights.sum()


def describe(region: Region) -> str:
    """A region in words, for attributes and messages."""
    if region is None:
        return "globe"
    if isinstance(region, str):
        return region
    if isinstance(region, xr.DataArray):
        return str(region.name or "mask")
    south, north, west, east = region
    return f"{south}…{north}°N, {west}…{east}°E"


def _share(region: Region, areas: xr.DataArray, land: xr.DataArray | None) -> xr.DataArray:
    if isinstance(region, xr.DataArray):
        return _on_grid(region, areas, "the mask given as region")
    if isinstance(region, str):
        return _named(region, areas, land)
    return xr.ones_like(areas) if region is None else _box(region, areas)


def _named(region: str, areas: xr.DataArray, land: xr.DataArray | None) -> xr.DataArray:
    if region == "globe":
        return xr.ones_like(areas)
    if region in ("land", "ocean"):
        if land is None:
            raise ValueError(f"region {region!r} needs land=, the fraction of land on the grid (see land_mask)")
        share = _on_grid(land, areas, "land")
        return share if region == "land" else 1 - share
    if region.startswith("ar6:"):
        return _ar6(region.removeprefix("ar6:"), areas)
    raise ValueError(
        f"region {region!r} is unknown: use globe, land, ocean, cells, ar6:<abbreviation>, a box "
        "(south, north, west, east) or a mask"
    )


def _box(region: Sequence[float], areas: xr.DataArray) -> xr.DataArray:
    if len(region) != 4:
        raise ValueError(f"a box is (south, north, west, east), got {tuple(region)}")
    south, north, west, east = (float(edge) for edge in region)
    if not -90 <= south < north <= 90:
        raise ValueError(f"a box needs -90 <= south < north <= 90, got south {south}, north {north}")
    lon = areas["lon"] % 360
    width = (east - west) % 360 or 360.0
    inside = (areas["lat"] >= south) & (areas["lat"] <= north) & ((lon - west) % 360 <= width)
    return inside.astype("float64").transpose("lat", "lon")


def _ar6(abbreviation: str, areas: xr.DataArray) -> xr.DataArray:
    try:
        regionmask = import_module("regionmask")
    except ImportError as error:
        raise ValueError("AR6 regions need the package regionmask: install it, or give a box or a mask") from error
    try:
        regions = regionmask.defined_regions.ar6.all
    except OSError as error:
        raise ValueError(
            "regionmask has not got the AR6 regions and cannot download them here: open them once on a machine "
            "with a network (regionmask.defined_regions.ar6.all), or give a box or a mask"
        ) from error
    if abbreviation not in regions.abbrevs:
        raise ValueError(f"{abbreviation!r} is no AR6 region; there are {', '.join(sorted(regions.abbrevs))}")
    inside: xr.DataArray = regions.mask(areas["lon"], areas["lat"]) == regions.map_keys(abbreviation)
    return inside.astype("float64").transpose("lat", "lon")


def _on_grid(mask: xr.DataArray, areas: xr.DataArray, what: str) -> xr.DataArray:
    same = set(mask.dims) == {"lat", "lon"} and all(
        mask.sizes[dim] == areas.sizes[dim] and np.allclose(mask[dim], areas[dim]) for dim in ("lat", "lon")
    )
    if not same:
        raise ValueError(f"{what} must be (lat, lon) on the fingerprint's grid, got {dict(mask.sizes)}")
    values = mask.astype("float64").transpose("lat", "lon").fillna(0.0)
    if bool(((values < 0) | (values > 1)).any()):
        raise ValueError(f"{what} must lie in [0, 1] (fractions, not percent)")
    return areas.copy(data=values.values)
