"""Map panels: axes on a projection, a colour scale, the coloured cells and a colour bar they share."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Literal

import cartopy.crs as ccrs
import numpy as np
import xarray as xr
from cartopy.mpl.geoaxes import GeoAxes
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from climanchor.plotting.cells import add_hatching, add_outline, cell_paths
from climanchor.plotting.coastline import add_coastline
from climanchor.plotting.grid import area_mean, grid_of
from climanchor.plotting.style import DIVERGING, MISSING, SEQUENTIAL, StyledFigure, Width, figure_of, inches, new_figure

Extend = Literal["neither", "min", "max", "both"]


@dataclass(frozen=True)
class Scale:
    """A colour map and the values at its two ends."""

    cmap: str
    low: float
    high: float

    @property
    def centred(self) -> bool:
        """Whether zero is in the middle of a diverging scale."""
        return self.low == -self.high

    def extend(self, fields: Sequence[xr.DataArray]) -> Extend:
        """Say at which ends of the scale ``fields`` go beyond it: there the colour bar ends in an arrow."""
        below = any(bool((field < self.low).any()) for field in fields)
        above = any(bool((field > self.high).any()) for field in fields)
        return {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[
            below, above
        ]  # type: ignore[return-value]  # mypy widens the values of a literal dictionary to str


def sequential(fields: Sequence[xr.DataArray], *, limits: tuple[float, float] | None, cmap: str | None) -> Scale:
    """Return a perceptually uniform scale over ``limits`` or over the range of ``fields``."""
    if limits is None:
        limits = min(float(f.min()) for f in fields), max(float(f.max()) for f in fields)
        if limits[0] == limits[1]:
            limits = limits[0] - 0.5, limits[1] + 0.5
    if not limits[0] < limits[1]:
        raise ValueError(f"limits must be two increasing numbers, got {limits}")
    return Scale(cmap or SEQUENTIAL, *limits)


def centred(fields: Sequence[xr.DataArray], *, limit: float | None, cmap: str | None = None) -> Scale:
    """Return a diverging scale from −limit to limit, so that zero has the neutral colour.

    Without ``limit`` it is the 99th percentile of the absolute values, rounded up to a readable number.
    """
    if limit is None:
        values = np.abs(np.concatenate([f.values.ravel() for f in fields]))
        limit = _round_up(float(np.nanpercentile(values, 99)))
    if not limit > 0:
        raise ValueError(f"limit must be positive, got {limit}")
    return Scale(cmap or DIVERGING, -limit, limit)


def _round_up(value: float) -> float:
    """Return the next of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 (times a power of ten) at or above ``value``."""
    if value == 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10])
    return float(steps[np.searchsorted(steps, value / power - 1e-9)] * power)


def map_axes(
    count: int,
    *,
    ax: Axes | None,
    projection: ccrs.Projection | None,
    width: Width,
    title_lines: int = 0,
    own_bars: bool = False,
) -> tuple[Figure, list[GeoAxes]]:
    """Return a figure with ``count`` map panels, or the user's own map axes.

    The figure is as high as the panels need, with titles of ``title_lines`` lines and one colour bar below
    them all or, with ``own_bars``, one below each.

    Raises
    ------
    TypeError
        If ``ax`` is not a cartopy axes.
    ValueError
        If ``ax`` is given with several panels to draw or with a projection of its own.
    """
    if ax is not None:
        if not isinstance(ax, GeoAxes):
            raise TypeError(
                f"ax must be a cartopy GeoAxes, got {type(ax).__name__}: make it with "
                "figure.add_subplot(projection=cartopy.crs.Robinson())"
            )
        if projection is not None:
            raise ValueError("give ax or projection, not both: ax has its projection already")
        if count != 1:
            raise ValueError(f"ax holds one panel, but there are {count} to draw: leave ax out")
        return figure_of(ax), [ax]
    columns = 1 if width == "one" else min(count, 3 if count == 3 else 2)
    rows = -(-count // columns)
    projection = projection or ccrs.Robinson()
    shape = np.ptp(projection.y_limits) / np.ptp(projection.x_limits)
    panel_height = inches(width) / columns * min(float(shape), 1.0) + 0.15 * title_lines + 0.1
    figure = new_figure(width, rows * panel_height + 0.5 * (rows if own_bars else 1))
    axes = [figure.add_subplot(rows, columns, i + 1, projection=projection) for i in range(count)]
    return figure, axes


def draw_field(ax: GeoAxes, field: xr.DataArray, scale: Scale, *, outline: bool = True) -> PathCollection:
    """Colour the cells of a checked map, mark the missing ones, and draw the coastline over them.

    On a centred scale, cells beyond half the limit are outlined, solid where positive and dashed where
    negative: printed in grey, the two ends of the scale look alike.
    """
    grid = grid_of(field)
    values = field.values
    missing = ~np.isfinite(values)
    paths = cell_paths(grid, ax.projection)
    shown = np.flatnonzero(~missing.ravel())
    cells = PathCollection(
        [paths[i] for i in shown], array=values.ravel()[shown], cmap=colormaps[scale.cmap],
        norm=Normalize(scale.low, scale.high), linewidths=0, antialiaseds=False, transform=ax.transData,
        zorder=1, rasterized=True, label="cells",
    )  # fmt: skip
    ax.add_collection(cells, autolim=False)
    if missing.any():
        add_hatching(ax, grid, missing, hatch="xxxxx", colour="0.6", facecolour=MISSING, label="missing")
    if scale.centred:
        for sign, dashed in ((1, False), (-1, True)):
            mask = sign * np.nan_to_num(values) > scale.high / 2
            if outline and mask.any():
                add_outline(ax, grid, mask, dashed=dashed, label="negative" if dashed else "positive")
    ax.set_facecolor(MISSING)
    _set_view(ax, field)
    add_coastline(ax)
    ax.spines["geo"].set_linewidth(0.5)
    return cells


def _set_view(ax: GeoAxes, field: xr.DataArray) -> None:
    """Show the whole globe when the field covers it, and its own region when it does not."""
    lat, lon = (np.array(edges) for edges in (grid_of(field).lat_edges, grid_of(field).lon_edges))
    if lon[-1] - lon[0] > 359.0:
        ax.set_global()
    else:
        ax.set_extent([lon[0], lon[-1], lat[0], lat[-1]], crs=ccrs.PlateCarree())


def panel_title(label: str, field: xr.DataArray, *, mean: bool) -> str:
    """Return ``label`` and, when asked for, the area-weighted mean below it."""
    if not mean:
        return label
    units = str(field.attrs.get("units", ""))
    number = f"{area_mean(field):.3g}".replace("-", "−")
    text = f"area-weighted mean {number} {'' if units == '1' else units}".rstrip()
    return f"{label}\n{text}" if label else text


def add_colour_bar(
    figure: Figure,
    cells: PathCollection,
    axes: Sequence[Axes],
    scale: Scale,
    *,
    label: str,
    extend: Extend,
    outline: bool = True,
) -> None:
    """Put one horizontal colour bar under ``axes``, which all use its scale.

    A label too long for the column is broken, and the figure grows by the lines it takes.
    """
    label = fill(label, 50 if len(axes) == 1 else 90)
    if isinstance(figure, StyledFigure):
        figure.set_size_inches(figure.get_figwidth(), figure.get_figheight() + 0.14 * label.count("\n"))
    bar = figure.colorbar(
        cells, ax=list(axes), orientation="horizontal", extend=extend, label=label,
        shrink=0.85 if len(axes) == 1 else 0.6, aspect=28 if len(axes) == 1 else 40, pad=0.03,
        ticks=MaxNLocator(5 if len(axes) == 1 else 8, steps=[1, 2, 5, 10]),
    )  # fmt: skip
    bar.outline.set_linewidth(0.5)
    if scale.centred and outline:
        bar.ax.axvline(scale.high / 2, color="0.1", linewidth=0.6)
        bar.ax.axvline(scale.low / 2, color="0.1", linewidth=0.6, linestyle=(0, (2.5, 2.0)))
