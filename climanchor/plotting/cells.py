"""Grid cells as shapes on a map: colours, hatching and marks of missing values share these outlines."""

from functools import lru_cache

import cartopy.crs as ccrs
import numpy as np
from cartopy.mpl.geoaxes import GeoAxes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.path import Path
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon, box

from climanchor.plotting.grid import Array, Grid

#: Projections that cut the globe along one meridian and nowhere else: cells are projected all at once.
ONE_CUT = (
    ccrs.Robinson, ccrs.PlateCarree, ccrs.Mollweide, ccrs.EqualEarth, ccrs.Sinusoidal, ccrs.Miller,
    ccrs.EckertI, ccrs.EckertII, ccrs.EckertIII, ccrs.EckertIV, ccrs.EckertV, ccrs.EckertVI,
    ccrs.LambertCylindrical,
)  # fmt: skip
STEPS = 4  # points along each side of a cell, which is curved on most maps


@lru_cache(maxsize=16)
def cell_paths(grid: Grid, projection: ccrs.Projection) -> tuple[Path, ...]:
    """Return the outline of every cell of ``grid`` in map coordinates, row by row from the south-west.

    A cell that lies across the cut of the map is one path of two pieces; a cell that is out of sight is an
    empty path. The number of paths is the number of cells, whatever the projection.
    """
    south, north = np.array(grid.lat_edges[:-1]), np.array(grid.lat_edges[1:])
    west, east = np.array(grid.lon_edges[:-1]), np.array(grid.lon_edges[1:])
    shape = (south.size, west.size)
    bounds = np.stack([np.broadcast_to(side, shape).ravel() for side in
                       (west, south[:, None], east, north[:, None])], axis=-1)  # fmt: skip
    if isinstance(projection, ONE_CUT):
        return _project_together(bounds, projection)
    return tuple(_project_one(box(*cell), projection) for cell in bounds)


def _project_together(bounds: Array, projection: ccrs.Projection) -> tuple[Path, ...]:
    """Project all cells in one call, cutting those that cross the meridian opposite the map's centre."""
    parameters = projection.proj4_params
    centre = parameters.get("lon_0", parameters.get("pm", 0.0))  # PlateCarree moves the prime meridian instead
    start = float(centre) - 180.0
    bounds = bounds.copy()
    width = bounds[:, 2] - bounds[:, 0]
    bounds[:, 0] = start + (bounds[:, 0] - start + 1e-9) % 360.0 - 1e-9
    bounds[:, 2] = bounds[:, 0] + width
    end = start + 360.0
    crossing = np.flatnonzero(bounds[:, 2] > end + 1e-6)
    beyond = bounds[crossing].copy()
    beyond[:, 0], beyond[:, 2] = start, beyond[:, 2] - 360.0
    bounds[:, 2] = np.minimum(bounds[:, 2], end)
    # A whisker inside the cut: exactly on it, a point could land on either side of the map.
    outlines = _outlines(np.concatenate([bounds, beyond]), start + 1e-7, end - 1e-7)
    projected = projection.transform_points(ccrs.Geodetic(), *outlines)[..., :2]
    paths = [Path(outline, closed=True) for outline in projected]
    whole = paths[: len(bounds)]
    for index, piece in zip(crossing, paths[len(bounds) :], strict=True):
        whole[index] = Path.make_compound_path(whole[index], piece)
    return tuple(whole)


def _outlines(bounds: Array, start: float, end: float) -> tuple[Array, Array]:
    """Return longitudes and latitudes along the outline of each cell, closed."""
    west, south, east, north = (bounds[:, [i]] for i in range(4))
    go, stay = np.linspace(0, 1, STEPS + 1)[:-1], np.zeros(STEPS)
    across = np.concatenate([go, stay + 1, 1 - go, stay, [0.0]])
    up = np.concatenate([stay, go, stay + 1, 1 - go, [0.0]])
    return np.clip(west + across * (east - west), start, end), south + up * (north - south)


def _project_one(cell: Polygon, projection: ccrs.Projection) -> Path:
    """Project one cell exactly, with cartopy's own cutting, for projections with other cuts or a horizon."""
    # Shrunk by a hair: a side exactly on a cut of the map can turn the cell inside out.
    shape = projection.project_geometry(cell.buffer(-1e-5, join_style="mitre"), ccrs.PlateCarree())
    polygons = shape.geoms if isinstance(shape, MultiPolygon) else [shape]
    rings = [Path(np.asarray(p.exterior.coords)[:, :2], closed=True) for p in polygons
             if isinstance(p, Polygon) and not p.is_empty]  # fmt: skip
    return Path.make_compound_path(*rings) if rings else Path(np.empty((0, 2)))


def add_hatching(
    ax: GeoAxes, grid: Grid, mask: NDArray[np.bool_], *, hatch: str, label: str, colour: str = "0.1",
    facecolour: str = "none",
) -> PathCollection:  # fmt: skip
    """Hatch exactly the cells where ``mask`` (lat, lon) is true.

    They form one path with a piece per cell: matplotlib renders the hatch anew for every path it is given.
    """
    paths = cell_paths(grid, ax.projection)
    chosen = Path.make_compound_path(*(paths[i] for i in np.flatnonzero(mask.ravel())))
    artist = PathCollection(
        [chosen], facecolors=facecolour, edgecolors=colour, linewidths=0, hatch=hatch, label=label,
        transform=ax.transData, zorder=2, antialiaseds=False,
    )  # fmt: skip
    ax.add_collection(artist, autolim=False)
    return artist


def add_outline(ax: GeoAxes, grid: Grid, mask: NDArray[np.bool_], *, dashed: bool, label: str) -> LineCollection:
    """Draw a line round the cells where ``mask`` (lat, lon) is true, along the sides they do not share."""
    lat, lon = np.array(grid.lat_edges), np.array(grid.lon_edges)
    rows = np.pad(mask, ((1, 1), (0, 0)), mode="edge")  # no line along the poles or the edge of a region
    i, j = np.nonzero(rows[1:] != rows[:-1])
    along = np.stack([lon[j], lat[i], lon[j + 1], lat[i]], axis=-1)
    columns = np.pad(mask, ((0, 0), (1, 1)), mode="wrap" if lon[-1] - lon[0] == 360.0 else "edge")
    i, j = np.nonzero(columns[:, 1:] != columns[:, :-1])
    once = j < lon.size - 1 if lon[-1] - lon[0] == 360.0 else np.ones(j.size, bool)
    i, j = i[once], j[once]
    across = np.stack([lon[j], lat[i], lon[j], lat[i + 1]], axis=-1)
    ends = np.concatenate([along, across])
    points = [ax.projection.transform_points(ccrs.Geodetic(), ends[:, k], ends[:, k + 1])[:, :2] for k in (0, 2)]
    segments = np.stack(points, axis=1)
    # A side that reaches over the cut of the map would be drawn right across it.
    reach = np.abs(segments[:, 1] - segments[:, 0]).max(axis=1)
    segments = segments[np.isfinite(reach) & (reach < 0.2 * np.ptp(ax.projection.x_limits))]
    artist = LineCollection(
        list(segments), colors="0.1", linewidths=0.5, zorder=2.5, label=label, transform=ax.transData,
        linestyles=[(0, (2.5, 2.0))] if dashed else "solid", capstyle="butt",
    )  # fmt: skip
    ax.add_collection(artist, autolim=False)
    return artist
