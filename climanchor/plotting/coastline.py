"""The coastline shipped with the package: maps are drawn without any download."""

import json
from functools import cache
from importlib.resources import files

import cartopy.crs as ccrs
from cartopy.feature import ShapelyFeature
from cartopy.mpl.geoaxes import GeoAxes
from shapely.geometry import LineString


@cache
def coastline() -> ShapelyFeature:
    """Return Natural Earth's 1:110 million coastline (public domain) as a cartopy feature.

    The lines are read from the package, once per process; ``tools/build_coastline.py`` makes the file.

    >>> len(list(coastline().geometries()))
    128
    """
    text = files("climanchor.plotting").joinpath("data/coastline_110m.json").read_text()
    lines = [LineString(line) for line in json.loads(text)["lines"]]
    return ShapelyFeature(lines, ccrs.PlateCarree())


def add_coastline(ax: GeoAxes) -> None:
    """Draw the coastline over a map: dark, on a faint white band that shows it on dark colours too."""
    ax.add_feature(coastline(), facecolor="none", edgecolor="white", alpha=0.5, linewidth=1.2, zorder=2.9)
    ax.add_feature(coastline(), facecolor="none", edgecolor="0.1", linewidth=0.5, zorder=3)
