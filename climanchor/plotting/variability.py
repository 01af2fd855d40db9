"""Figures of decadal internal variability (DIV): how large it is by model, and beside the forced response."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from climanchor.plotting.ensemble import by_model, variable
from climanchor.plotting.grid import TEMPERATURE_UNITS, check_units
from climanchor.plotting.style import COLOURS, Width, figure_of, label_panels, new_figure, styled
from climanchor.preprocess import div_magnitude as magnitude
from climanchor.preprocess import global_mean

#: Colour and marker of the two groups of models and of those in neither.
GROUPS = {"training": (COLOURS[1], "o"), "test": (COLOURS[0], "^"), "other": ("0.45", "s")}


def div_magnitude(
    data: xr.DataTree,
    *,
    train: Sequence[str] = (),
    test: Sequence[str] = (),
    ax: Axes | None = None,
    width: Width = "one",
) -> Figure:
    """Draw the standard deviation of DIV of every member, by climate model, training and test models apart.

    Small marks are members; the bar is their mean and the open diamond the mean corrected for the size of the
    ensemble, since removing the mean of m members shrinks the spread by √(1 − 1/m). Models are ordered by
    their mean within training and test.

    Parameters
    ----------
    data
        What ``prepare`` returns: one child per model, with ``div`` (member, year) in kelvin. Only ``div`` is
        computed.
    train, test
        Names of the training and of the test models; models in neither are grey.
    ax
        Axes to draw on, instead of a new figure.
    width
        ``"one"`` or ``"two"`` columns.

    Raises
    ------
    TypeError
        If ``data`` is not a DataTree.
    ValueError
        If a named model does not exist or is in both groups, or if ``div`` is missing or has other units.

    Examples
    --------
    >>> div = xr.DataArray([[-0.1, 0.1], [0.1, -0.1]], dims=("member", "year"), attrs={"units": "K"})
    >>> data = xr.DataTree.from_dict({"calm": div.to_dataset(name="div"), "lively": (2 * div).to_dataset(name="div")})
    >>> figure = div_magnitude(data, train=["calm"], test=["lively"])
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['calm (2)', 'lively (2)']
    """
    if not isinstance(data, xr.DataTree):
        raise TypeError(f"data must be a DataTree with one child per model, got {type(data).__name__}")
    both = sorted(set(train) & set(test))
    if both:
        raise ValueError(f"{both} cannot be training and test models at once")
    by_model(data, [*train, *test])
    sizes = {name: _magnitude(node, name) for name, node in by_model(data, None).items()}
    group = {name: "training" if name in train else "test" if name in test else "other" for name in sizes}
    order = sorted(sizes, key=lambda name: (list(GROUPS).index(group[name]), float(sizes[name]["raw"])))
    with styled():
        if ax is None:
            ax = new_figure(width, 0.22 * len(order) + 0.95).add_subplot()
        for row, name in enumerate(order):
            _draw_members(ax, row, sizes[name], *GROUPS[group[name]])
        ax.set_yticks(range(len(order)), [f"{name} ({sizes[name].sizes['member']})" for name in order])
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlim(left=0)
        ax.set_xlabel("Standard deviation of DIV (K)")
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", linewidth=0.4, color="0.9")
        _add_key(ax, [name for name in GROUPS if name in group.values()])
    return figure_of(ax)


def _magnitude(node: xr.Dataset, name: str) -> xr.Dataset:
    div = variable(node, "div", f" of {name}")
    check_units(div, f"div of {name}", TEMPERATURE_UNITS)
    return magnitude(div).compute()


def _draw_members(ax: Axes, row: int, size: xr.Dataset, colour: str, marker: str) -> None:
    values = size["by_member"].values
    spread = 0.2 * np.resize([0, 1, -1, 0.5, -0.5], values.size)  # so that equal members do not hide each other
    ax.plot(values, row + spread, marker, color=colour, markersize=2.6, markeredgewidth=0, alpha=0.7)
    raw, corrected = float(size["raw"]), float(size["corrected"])
    ax.plot([raw, raw], [row - 0.36, row + 0.36], "-", color="k", linewidth=1.3)
    ax.plot(corrected, row, "D", color="k", markersize=3.4, markerfacecolor="white", markeredgewidth=0.7)


def _add_key(ax: Axes, groups: list[str]) -> None:
    keys = [
        Line2D([], [], color=GROUPS[name][0], marker=GROUPS[name][1], linestyle="", markersize=3.5, label=name)
        for name in groups
    ]
    keys.append(Line2D([], [], color="k", marker="|", linestyle="", markersize=7, label="mean"))
    keys.append(
        Line2D([], [], color="k", marker="D", markerfacecolor="white", linestyle="", markersize=3.4, label="corrected")
    )
    ax.legend(
        handles=keys, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(keys), columnspacing=0.8,
        handletextpad=0.1, borderaxespad=0.2,
    )  # fmt: skip


def div_series(
    data: xr.DataTree | xr.Dataset,
    *,
    models: Sequence[str] | None = None,
    ax: Axes | None = None,
    width: Width | None = None,
) -> Figure:
    """Draw the DIV of every member with the global forced response, one panel per climate model.

    One model of low and one of high variability side by side show what the fingerprint has to look through.

    Parameters
    ----------
    data
        What ``prepare`` returns, or one model of it: ``div`` (member, year) and ``forced`` (year, lat, lon), in
        kelvin. The forced response is averaged over the globe by area, and over members if it has them.
    models
        Climate models to draw, in this order; all by default. For a DataTree only.
    ax
        Axes to draw one model on, instead of a new figure.
    width
        ``"one"`` or ``"two"`` columns; two by default when there are several panels.

    Raises
    ------
    TypeError, ValueError
        If a model does not exist, a variable is missing or has other units, or ``ax`` is given for several models.

    Examples
    --------
    >>> from climanchor.simulate import prepared
    >>> data = prepared(models=["CESM2", "CNRM-CM6-1"], members=2, years=(1950, 2000), grid=30.0)
    >>> [ax.get_title().split(",")[0] for ax in div_series(data).axes]
    ['CESM2', 'CNRM-CM6-1']
    """
    nodes = by_model(data, models)
    if ax is not None and len(nodes) != 1:
        raise ValueError(f"ax holds one panel, but there are {len(nodes)} models: choose one with models=[…]")
    series = {name: _series(node, f" of {name}" if name else "") for name, node in nodes.items()}
    with styled():
        axes = [ax] if ax is not None else _panels(len(series), width)
        for panel, (name, (div, forced)) in zip(axes, series.items(), strict=True):
            panel.axhline(0, color="0.6", linewidth=0.5)
            lines = panel.plot(div["year"], div.transpose("year", "member"), color=COLOURS[4], linewidth=0.5)
            lines[0].set_label("DIV, each member")
            panel.plot(forced["year"], forced, color="k", linewidth=1.4, label="forced response")
            spread = f"σ(DIV) = {float(div.std('year').mean()):.3f} K"
            panel.set_title(f"{name}, {spread}" if name else spread)
            place = panel.get_subplotspec()
            if place is None or place.is_first_col():
                panel.set_ylabel("Global mean (K)")
            panel.set_xlabel("Year")
            panel.margins(x=0.01)
        axes[0].legend(loc="upper left", borderaxespad=0.1)
        label_panels(axes)
    return figure_of(axes[0])


def _panels(count: int, width: Width | None) -> list[Axes]:
    columns = min(count, 2)
    rows = -(-count // columns)
    figure = new_figure(width or ("one" if count == 1 else "two"), 0.3 + 2.0 * rows)
    axes: list[Axes] = []
    for i in range(count):
        axes.append(figure.add_subplot(rows, columns, i + 1, sharex=axes[0] if axes else None,
                                       sharey=axes[0] if axes else None))  # fmt: skip
    return axes


def _series(node: xr.Dataset, where: str) -> tuple[xr.DataArray, xr.DataArray]:
    if not isinstance(node, xr.Dataset):
        raise TypeError(f"data{where} must be a Dataset with div and forced, got {type(node).__name__}")
    div, forced = variable(node, "div", where), variable(node, "forced", where)
    for name, values in (("div", div), ("forced", forced)):
        check_units(values, f"{name}{where}", TEMPERATURE_UNITS)
    if "member" in forced.dims:
        forced = forced.mean("member", keep_attrs=True)
    return div.compute(), global_mean(forced).compute()
