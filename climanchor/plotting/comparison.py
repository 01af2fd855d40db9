"""Maps that compare: two fingerprints with hatching where one is better, and stippled significance."""

from collections.abc import Hashable

import cartopy.crs as ccrs
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from climanchor.plotting.cells import add_hatching
from climanchor.plotting.grid import DIMENSIONLESS, check_same_grid, check_units, checked_map, describe, grid_of
from climanchor.plotting.panels import Scale, add_colour_bar, centred, draw_field, map_axes, panel_title, sequential
from climanchor.plotting.scores import score_maps
from climanchor.plotting.style import Width, label_panels, styled

BETTER = "////"


def map_difference(
    anchored: xr.Dataset,
    plain: xr.Dataset,
    *,
    model: str | None = None,
    names: tuple[str, str] = ("anchor-regularised", "plain"),
    limits: tuple[float, float] | None = None,
    mean: bool = False,
    projection: ccrs.Projection | None = None,
    width: Width = "two",
) -> Figure:
    """Map what anchor regularisation changes: the differences of R² (A) and of \\|r\\| (B), cell by cell.

    Both panels show anchored − plain. Red and hatched cells are those where the anchor-regularised fingerprint
    is strictly better: a higher R² in A; in B a smaller \\|r\\|, since r, the correlation of residuals with
    DIV, is best at zero and its sign only says which way DIV was defined. The colour scales are symmetric
    about zero, and B's is reversed so that red means better in both.

    Parameters
    ----------
    anchored, plain
        What ``Fingerprint.score`` returns for the two fingerprints, on the same grid and the same test data.
    model
        Compare on one climate model instead of the models pooled.
    names
        What to call the two fingerprints in the labels.
    limits
        Ends of the two symmetric colour scales, for R² and for \\|r\\|; from the data if left out.
    mean, projection, width
        As in :func:`map_field`; with ``width="one"`` the panels are on top of one another.

    Raises
    ------
    TypeError, ValueError
        As in :func:`map_r2`; also when the two are on different grids or have no cell in common.

    Examples
    --------
    >>> coords = {"lat": np.arange(-87.5, 90, 5), "lon": np.arange(2.5, 360, 5)}
    >>> values = (("lat", "lon"), np.full((36, 72), 0.4))
    >>> plain = xr.Dataset({"r2": values, "residual_correlation": values}, coords)
    >>> figure = map_difference(plain * 0.5, plain)
    >>> ["better" in [c.get_label() for c in ax.collections] for ax in figure.axes[:2]]  # only |r| fell
    [False, True]
    """
    r2 = _difference(anchored, plain, "r2", model, names)
    r = _difference(anchored, plain, "residual_correlation", model, names)
    r2_limit, r_limit = limits or (None, None)
    panels = [
        (r2, r2 > 0, centred([r2], limit=r2_limit), "Difference of R²"),
        (r, r < 0, centred([r], limit=r_limit, cmap="RdBu"), "Difference of |r|"),
    ]
    with styled():
        figure, axes = map_axes(2, ax=None, projection=projection, width=width, title_lines=1, own_bars=True)
        figure.set_size_inches(figure.get_figwidth(), figure.get_figheight() + 0.3)  # room for the key
        for ax, (field, better, scale, label) in zip(axes, panels, strict=True):
            cells = draw_field(ax, field, scale, outline=False)
            if better.any():
                add_hatching(ax, grid_of(field), better.values, hatch=BETTER, label="better")
            ax.set_title(panel_title("", field, mean=mean))
            add_colour_bar(figure, cells, [ax], scale, label=label, extend=scale.extend([field]), outline=False)
        label_panels(axes)
        key = Patch(facecolor="none", edgecolor="0.1", linewidth=0.4, hatch=BETTER)
        figure.legend([key], [f"{names[0]} better than {names[1]}"], loc="outside lower center", handleheight=1.4)
    return figure


def _difference(
    anchored: xr.Dataset, plain: xr.Dataset, variable: str, model: str | None, names: tuple[str, str]
) -> xr.DataArray:
    (first,) = score_maps(anchored, variable, model).values()
    (second,) = score_maps(plain, variable, model).values()
    check_same_grid(first, second, (f"{variable} of {names[0]}", f"{variable} of {names[1]}"))
    second = second.assign_coords(lat=first["lat"], lon=first["lon"])
    if variable == "residual_correlation":
        first, second = abs(first), abs(second)
    return checked_map(first - second, f"the difference of {variable}")


def map_significance(
    field: xr.DataArray,
    p_values: xr.DataArray,
    *,
    level: float = 0.05,
    control: bool = True,
    diverging: bool = True,
    limits: tuple[float, float] | None = None,
    label: str | None = None,
    mean: bool = False,
    ax: Axes | None = None,
    projection: ccrs.Projection | None = None,
    width: Width = "one",
) -> Figure:
    """Map a field with a dot in every cell that is significant.

    With ``control`` the false-discovery rate is held at ``level`` over the map (Benjamini and Hochberg 1995):
    of the dotted cells, at most this share is expected to be dotted by chance. Without it, each cell is tested
    alone and about ``level`` of a map of pure noise is dotted.

    Parameters
    ----------
    field
        (lat, lon), drawn in colours.
    p_values
        (lat, lon) on the same grid, between 0 and 1; missing cells are not tested and get no dot.
    level
        The false-discovery rate, or the level of each test; between 0 and 1.
    control
        Control the false-discovery rate over the map.
    diverging, limits, label, mean, ax, projection, width
        As in :func:`map_field`.

    Raises
    ------
    TypeError, ValueError
        As in :func:`map_field`; also for p-values outside [0, 1] or with units, a level outside (0, 1), or
        another grid.

    Examples
    --------
    >>> coords = {"lat": np.arange(-87.5, 90, 5), "lon": np.arange(2.5, 360, 5)}
    >>> p = xr.DataArray(np.full((36, 72), 0.5), coords=coords, dims=("lat", "lon"))
    >>> p[:3] = 1e-6
    >>> figure = map_significance(1 - p, p)
    >>> len(figure.axes[0].collections[-1].get_offsets())  # three rows of 72 cells
    216
    """
    shown, tested = checked_map(field, "field"), checked_map(p_values, "p_values")
    check_same_grid(shown, tested, ("field", "p_values"))
    significant = _significant(tested, level, control)
    if diverging:
        if limits is not None and limits[0] != -limits[1]:
            raise ValueError(f"limits of a diverging map must be symmetric about zero, got {limits}")
        scale: Scale = centred([shown], limit=limits[1] if limits else None)
    else:
        scale = sequential([shown], limits=limits, cmap=None)
    with styled():
        figure, (panel,) = map_axes(1, ax=ax, projection=projection, width=width, title_lines=int(mean))
        cells = draw_field(panel, shown, scale)
        rows, columns = np.nonzero(significant)
        panel.scatter(
            shown["lon"].values[columns], shown["lat"].values[rows], s=1.2, c="k", linewidths=0, zorder=4,
            transform=ccrs.PlateCarree(), label="significant",
        )  # fmt: skip
        panel.set_title(panel_title("", shown, mean=mean))
        name: Hashable = shown.name or "value"
        add_colour_bar(
            figure, cells, [panel], scale, label=label or describe(shown, str(name)), extend=scale.extend([shown])
        )
    return figure


def _significant(p_values: xr.DataArray, level: float, control: bool) -> NDArray[np.bool_]:
    """Return the cells whose p-value, adjusted for the false-discovery rate if asked, is at most ``level``."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    check_units(p_values, "p_values", DIMENSIONLESS)
    values = p_values.values
    tested = np.isfinite(values)
    if values[tested].min() < 0 or values[tested].max() > 1:
        low, high = values[tested].min(), values[tested].max()
        raise ValueError(f"p_values go from {low:.4g} to {high:.4g}, but must be between 0 and 1")
    adjusted = np.full(values.shape, np.inf)
    adjusted[tested] = false_discovery_control(values[tested]) if control else values[tested]
    significant: NDArray[np.bool_] = adjusted <= level
    return significant
