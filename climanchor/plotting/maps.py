"""Maps of labelled fields: any field, forced responses, the patterns of a fingerprint."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import cartopy.crs as ccrs
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from climanchor.plotting.ensemble import by_model, variable
from climanchor.plotting.grid import TEMPERATURE_UNITS, check_units, checked_map, describe
from climanchor.plotting.panels import Scale, add_colour_bar, centred, draw_field, map_axes, panel_title, sequential
from climanchor.plotting.style import Width, label_panels, styled


def map_field(
    field: xr.DataArray | Mapping[str, xr.DataArray],
    *,
    diverging: bool = False,
    limits: tuple[float, float] | None = None,
    cmap: str | None = None,
    label: str | None = None,
    mean: bool = False,
    ax: Axes | None = None,
    projection: ccrs.Projection | None = None,
    width: Width | None = None,
) -> Figure:
    """Draw a field, or several in panels with one colour bar, on a world map.

    Every cell is drawn with its own outline: nothing is interpolated, the seam at 0°/360° is closed, missing
    cells are grey and cross-hatched. A field that does not go round the globe is shown on its own region.
    Coastlines come from the package; nothing is downloaded.

    Parameters
    ----------
    field
        (lat, lon) in degrees, in any order, or a mapping of panel titles to such fields. Lazy fields are computed.
    diverging
        Use a diverging colour map centred on zero.
    limits
        Values at the ends of the colour bar; symmetric about zero if ``diverging``. From the data if left out.
    cmap
        Name of a matplotlib colour map, instead of the default.
    label
        Text of the colour bar; by default the field's ``long_name`` and ``units``.
    mean
        Write the area-weighted mean into the titles.
    ax
        A cartopy axes to draw one field on, instead of a new figure.
    projection
        Any cartopy projection; Robinson by default.
    width
        ``"one"`` or ``"two"`` columns; two by default when there are several panels.

    Raises
    ------
    TypeError
        If a field is not a DataArray or ``ax`` not a map.
    ValueError
        If ``lat`` or ``lon`` is missing, other dimensions are left, all values are missing, or a diverging
        scale is not symmetric.

    Examples
    --------
    >>> lat, lon = np.arange(-87.5, 90, 5), np.arange(2.5, 360, 5)
    >>> warming = xr.DataArray(np.ones((36, 72)), coords={"lat": lat, "lon": lon}, dims=("lat", "lon"))
    >>> figure = map_field(warming.assign_attrs(long_name="Warming", units="K"), mean=True)
    >>> figure.axes[0].get_title()
    'area-weighted mean 1 K'
    """
    panels = dict(field) if isinstance(field, Mapping) else {"": field}
    maps = {title: checked_map(values, f"field {title!r}" if title else "field") for title, values in panels.items()}
    if diverging and limits is not None and limits[0] != -limits[1]:
        raise ValueError(f"limits of a diverging map must be symmetric about zero, got {limits}")
    shown = list(maps.values())
    if not shown:
        raise ValueError("field is an empty mapping: there is nothing to draw")
    if diverging:
        scale = centred(shown, limit=limits[1] if limits else None, cmap=cmap)
    else:
        scale = sequential(shown, limits=limits, cmap=cmap)
    name = label or describe(shown[0], str(shown[0].name or "value"))
    return draw_panels(maps, scale, label=name, mean=mean, ax=ax, projection=projection, width=width)


def draw_panels(
    maps: Mapping[str, xr.DataArray], scale: Scale, *, label: str, mean: bool, ax: Axes | None,
    projection: ccrs.Projection | None, width: Width | None,
) -> Figure:  # fmt: skip
    """Draw checked maps in panels that share ``scale`` and one colour bar."""
    with styled():
        figure, axes = map_axes(
            len(maps),
            ax=ax,
            projection=projection,
            width=width or ("one" if len(maps) == 1 else "two"),
            title_lines=any(maps) + mean,
        )
        for panel, (title, values) in zip(axes, maps.items(), strict=True):
            cells = draw_field(panel, values, scale)
            panel.set_title(panel_title(title, values, mean=mean))
        label_panels(axes)
        add_colour_bar(figure, cells, axes, scale, label=label, extend=scale.extend(list(maps.values())))
    return figure


def map_forced(
    data: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    models: Sequence[str] | None = None,
    period: tuple[int, int] | None = None,
    limit: float | None = None,
    mean: bool = False,
    ax: Axes | None = None,
    projection: ccrs.Projection | None = None,
    width: Width | None = None,
) -> Figure:
    """Map the forced response, averaged over a period, with one panel per climate model.

    Parameters
    ----------
    data
        What ``prepare`` returns, one model of it, or its ``forced`` (year, lat, lon) in kelvin. A leave-one-out
        response, with ``member``, is averaged over the members. Only the years shown are computed.
    models
        Climate models to draw, in this order; all by default. For a DataTree only.
    period
        First and last year of the average; the last 20 years by default.
    limit
        The colour bar goes from −limit to limit; from the data if left out.
    mean, ax, projection, width
        As in :func:`map_field`.

    Raises
    ------
    TypeError, ValueError
        As in :func:`map_field`; also for an unknown model, other units, or a period without data.

    Examples
    --------
    >>> coords = {"year": np.arange(1990, 2015), "lat": np.arange(-87.5, 90, 5), "lon": np.arange(2.5, 360, 5)}
    >>> forced = xr.DataArray(np.ones((25, 36, 72)), coords=coords, dims=list(coords), attrs={"units": "K"})
    >>> map_forced(forced, period=(2005, 2014)).axes[-1].get_xlabel()
    'Forced response, 2005–2014 (K)'
    """
    responses = {title: _forced(node, title) for title, node in by_model(data, models).items()}
    maps, periods = {}, set()
    for title, forced in responses.items():
        last = int(forced["year"].max())
        first_year, last_year = period or (last - 19, last)
        years = forced["year"]
        chosen = forced.isel(year=np.flatnonzero((years >= first_year) & (years <= last_year)))
        if chosen.sizes["year"] == 0:
            raise ValueError(
                f"forced of {title or 'data'} has no year in {first_year}–{last_year}: it covers "
                f"{int(years.min())}–{last}"
            )
        periods.add(f"{int(chosen['year'].min())}–{int(chosen['year'].max())}")
        maps[title] = checked_map(chosen.mean("year", keep_attrs=True), f"forced of {title}" if title else "forced")
    asked = f"{period[0]}–{period[1]}" if period else "last 20 years"
    label = f"Forced response, {periods.pop() if len(periods) == 1 else asked}"
    units = next(iter(maps.values())).attrs.get("units")
    scale = centred(list(maps.values()), limit=limit)
    label = f"{label} ({units})" if units else label
    return draw_panels(maps, scale, label=label, mean=mean, ax=ax, projection=projection, width=width)


def _forced(node: Any, title: str) -> xr.DataArray:
    where = f" of {title}" if title else ""
    forced = variable(node, "forced", where)
    if "year" not in forced.dims:
        raise ValueError(f"forced{where} has no dimension year: its dimensions are {tuple(map(str, forced.dims))}")
    check_units(forced, f"forced{where}", TEMPERATURE_UNITS)
    return forced.mean("member", keep_attrs=True) if "member" in forced.dims else forced


def map_patterns(
    fingerprint: Any,
    *,
    side: Literal["target", "predictor"] = "target",
    modes: int = 4,
    limit: float | None = None,
    ax: Axes | None = None,
    projection: ccrs.Projection | None = None,
    width: Width | None = None,
) -> Figure:
    """Map the leading factor patterns of a fingerprint, with one colour bar.

    A reduced-rank coefficient is a sum of products of a predictor-side weight and a target-side pattern; the
    modes are drawn in the order in which they matter to the prediction.

    Parameters
    ----------
    fingerprint
        A ``Fingerprint``, or a DataArray (mode, lat, lon).
    side
        ``"target"`` for the patterns of the forced response, ``"predictor"`` for the weights given to the field.
    modes
        How many of the leading modes to draw.
    limit
        The colour bar goes from −limit to limit; from the data if left out.
    ax, projection, width
        As in :func:`map_field`.

    Raises
    ------
    TypeError, ValueError
        As in :func:`map_field`; also without ``mode``, or for a side or number of modes that do not exist.

    Examples
    --------
    >>> coords = {"mode": [1, 2], "lat": np.arange(-87.5, 90, 5), "lon": np.arange(2.5, 360, 5)}
    >>> patterns = xr.DataArray(np.ones((2, 36, 72)), coords=coords, dims=list(coords))
    >>> [ax.get_title() for ax in map_patterns(patterns).axes[:2]]
    ['mode 1', 'mode 2']
    """
    names = {"target": "patterns", "predictor": "weights"}
    if side not in names:
        raise ValueError(f"side must be 'target' or 'predictor', got {side!r}")
    patterns = fingerprint if isinstance(fingerprint, xr.DataArray) else getattr(fingerprint, names[side], None)
    if not isinstance(patterns, xr.DataArray):
        raise TypeError(f"fingerprint must be a Fingerprint or a DataArray, got {type(fingerprint).__name__}")
    if "mode" not in patterns.dims:
        raise ValueError(f"patterns have no dimension mode: theirs are {tuple(map(str, patterns.dims))}")
    if modes < 1:
        raise ValueError(f"modes must be at least 1, got {modes}")
    numbers = patterns["mode"].values if "mode" in patterns.coords else np.arange(1, patterns.sizes["mode"] + 1)
    maps = {
        f"mode {numbers[i]}": checked_map(patterns.isel(mode=i, drop=True), f"mode {numbers[i]}")
        for i in range(min(modes, patterns.sizes["mode"]))
    }
    first = next(iter(maps.values()))
    label = describe(first, {"target": "Pattern of the response", "predictor": "Weight of the field"}[side])
    scale = centred(list(maps.values()), limit=limit)
    return draw_panels(maps, scale, label=label, mean=False, ax=ax, projection=projection, width=width)
