"""Figures of the candidates (γ, α, ρ) of a selection: the Pareto front, and the α × ρ grid at one γ."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from climanchor.fingerprint import Choice, Selection
from climanchor.plotting.style import SEQUENTIAL, Width, figure_of, new_figure, styled
from climanchor.plotting.tradeoffs import LABELS, gamma_positions

Array = NDArray[np.float64]
CHOSEN_MARKERS = ("*", "P", "X", "D", "s", "^")


def pareto(
    candidates: Selection | xr.Dataset,
    *,
    chosen: Mapping[str, Choice] | None = None,
    ax: Axes | None = None,
    width: Width = "one",
) -> Figure:
    """Draw every candidate (γ, α, ρ) by its R² and its mean |r|, the Pareto front, and the chosen points.

    The best corner is the upper left: a high R² and residuals that know nothing of DIV. On the front neither
    can be improved without loss of the other. Colours tell γ.

    Parameters
    ----------
    candidates
        A ``Selection``, or what its ``pareto`` returns: a Dataset with dimension ``candidate`` and the variables
        ``r2``, ``correlation`` (or ``r_abs``) and ``on_front``, and ``gamma``, ``alpha``, ``rank`` of each.
    chosen
        Choices to mark, by label, such as ``{"published": selection.best("published")}``.
    ax
        Axes to draw on, instead of a new figure.
    width
        ``"one"`` or ``"two"`` columns.

    Raises
    ------
    TypeError, ValueError
        If the candidates lack a variable, or a choice is not among them.

    Examples
    --------
    >>> table = xr.Dataset(
    ...     {"r2": ("candidate", [0.5, 0.54]), "correlation": ("candidate", [0.4, 0.2]),
    ...      "on_front": ("candidate", [False, True])},
    ...     {"gamma": ("candidate", [1.0, 5.0]), "alpha": ("candidate", [10.0, 10.0]), "rank": ("candidate", [3, 3])},
    ... )
    >>> pareto(table, chosen={"γ = 5": Choice(5.0, 10.0, 3)}).axes[0].get_ylabel()
    'R²'
    """
    table = _candidates(candidates)
    values, levels = np.unique(table["gamma"].values, return_inverse=True)
    bins = np.arange(values.size + 1) - 0.5
    norm = BoundaryNorm(bins, 256) if values.size > 1 else Normalize(-1, 1)
    colours = ScalarMappable(norm, colormaps[SEQUENTIAL])
    front = table.isel(candidate=np.flatnonzero(table["on_front"].values)).sortby("correlation")
    with styled():
        if ax is None:
            ax = new_figure(width, 2.7).add_subplot()
        ax.scatter(
            table["correlation"], table["r2"], s=5, c=levels, cmap=colours.cmap, norm=norm, linewidths=0,
            alpha=0.7, label="candidates",
        )  # fmt: skip
        ax.plot(front["correlation"], front["r2"], "-", color="k", linewidth=0.9, label="Pareto front")
        for (label, choice), marker in zip((chosen or {}).items(), cycle(CHOSEN_MARKERS), strict=False):
            point = _find(table, choice, label)
            ax.plot(point["correlation"], point["r2"], marker, color="white", markeredgecolor="k", markersize=7,
                    markeredgewidth=0.8, linestyle="", label=label, zorder=4)  # fmt: skip
        ax.set_xlabel(LABELS["r_abs"])
        ax.set_ylabel(LABELS["r2"])
        handles, labels = ax.get_legend_handles_labels()
        ax.legend(
            handles[1:], labels[1:], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, columnspacing=1.2,
            borderaxespad=0.2,
        )  # fmt: skip
        if values.size > 1:
            _add_gamma_bar(ax, colours, values)
    return figure_of(ax)


def _candidates(candidates: Selection | xr.Dataset) -> xr.Dataset:
    table = candidates.pareto() if isinstance(candidates, Selection) else candidates
    if not isinstance(table, xr.Dataset):
        raise TypeError(f"candidates must be a Selection or a Dataset, got {type(candidates).__name__}")
    if "r_abs" in table and "correlation" not in table:
        table = table.rename(r_abs="correlation")
    lacking = [name for name in ("r2", "correlation", "on_front", "gamma", "alpha", "rank") if name not in table]
    if lacking or "candidate" not in table.dims:
        raise ValueError(
            f"candidates lack {lacking or 'the dimension candidate'}: give a Selection or what its pareto() returns"
        )
    return table.compute()


def _find(table: xr.Dataset, choice: Choice, label: str) -> xr.Dataset:
    same = (table["gamma"] == choice.gamma) & (table["alpha"] == choice.alpha) & (table["rank"] == choice.rank)
    if not same.any():
        raise ValueError(f"chosen {label!r} ({choice}) is not among the candidates")
    return table.isel(candidate=int(np.argmax(same.values)))


def _add_gamma_bar(ax: Axes, colours: ScalarMappable, gammas: Array) -> None:
    bar = figure_of(ax).colorbar(colours, ax=ax, label="γ", aspect=25, pad=0.02)
    _, labels = gamma_positions(gammas)
    step = -(-gammas.size // 8)
    bar.set_ticks(list(range(0, gammas.size, step)), labels=labels[::step])
    bar.ax.minorticks_off()
    bar.outline.set_linewidth(0.5)


def selection_grid(
    selection: Selection | xr.Dataset,
    *,
    metric: Literal["r2", "r2_area", "r", "r_abs", "mse"] = "r2",
    gamma: float | None = None,
    chosen: Choice | None = None,
    ax: Axes | None = None,
    width: Width = "one",
) -> Figure:
    """Draw a validation score over the α × ρ grid, averaged over the splits, with the inert ranks hatched.

    All members of a model share the forced response of a year, so the targets of a split have a limited rank.
    A larger ρ changes nothing: those columns are the plain anchor-ridge fit again. Ranks inert in every split
    are hatched densely, those inert in some splits sparsely. The best cell has a white dot.

    Parameters
    ----------
    selection
        A ``Selection``, or its ``scores`` (split, gamma, alpha, rank).
    metric
        Which score to draw.
    gamma
        At which γ; may be left out when there is only one, or for γ = 1.
    chosen
        A choice to mark with a star.
    ax
        Axes to draw on, instead of a new figure.
    width
        ``"one"`` or ``"two"`` columns.

    Raises
    ------
    TypeError, ValueError
        If the scores lack the metric or a dimension, or γ or the choice was not tried.

    Examples
    --------
    >>> scores = xr.Dataset(
    ...     {"r2": (("split", "gamma", "alpha", "rank"), np.linspace(0, 0.5, 12).reshape(2, 1, 3, 2)),
    ...      "inert": (("split", "rank"), [[False, True], [False, True]])},
    ...     {"gamma": [1.0], "alpha": [1.0, 10.0, 100.0], "rank": [5, 10]},
    ... )
    >>> selection_grid(scores).axes[0].get_xlabel()
    'Rank ρ'
    """
    table = selection.scores if isinstance(selection, Selection) else selection
    mean, inert, at = _grid(table, metric, gamma)
    alphas, ranks = mean["alpha"].values.astype(float), mean["rank"].values.astype(float)
    with styled():
        if ax is None:
            ax = new_figure(width, 2.6).add_subplot()
        mesh = ax.pcolormesh(
            _edges(ranks), 10.0 ** _edges(np.log10(alphas)), mean.values, cmap=SEQUENTIAL, rasterized=True,
            shading="flat",
        )  # fmt: skip
        ax.set_yscale("log")
        keys = _shade_inert(ax, _edges(ranks), inert) + _mark_best(ax, mean, metric, chosen)
        ax.legend(
            handles=keys, loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, columnspacing=1.0,
            handleheight=1.2, borderaxespad=0,
        )  # fmt: skip
        ax.set_xlabel("Rank ρ")
        ax.set_ylabel("Ridge penalty α")
        ax.set_title(f"γ = {gamma_positions(np.array([at]))[1][0]}")
        bar = figure_of(ax).colorbar(mesh, ax=ax, label=f"Validation {LABELS[metric]}", aspect=25, pad=0.02)
        bar.outline.set_linewidth(0.5)
    return figure_of(ax)


def _grid(table: xr.Dataset, metric: str, gamma: float | None) -> tuple[xr.DataArray, xr.DataArray, float]:
    """Return the mean score (alpha, rank), the share of splits in which each rank is inert, and γ."""
    if not isinstance(table, xr.Dataset):
        raise TypeError(f"selection must be a Selection or its scores, got {type(table).__name__}")
    if metric not in table:
        raise ValueError(f"scores have no {metric!r}: they hold {sorted(map(str, table.data_vars))}")
    lacking = [dim for dim in ("split", "gamma", "alpha", "rank") if dim not in table[metric].dims]
    if lacking:
        raise ValueError(f"{metric} has no dimension {lacking}: give a Selection or its scores")
    gammas = table["gamma"].values
    at = gamma if gamma is not None else float(gammas[0]) if gammas.size == 1 else 1.0
    if at not in gammas:
        raise ValueError(f"gamma={at:g} was not tried: choose one of {gammas.tolist()}")
    mean = table[metric].mean("split").sel(gamma=at).transpose("alpha", "rank").sortby(["alpha", "rank"]).compute()
    inert = table["inert"] if "inert" in table else xr.zeros_like(table["rank"], dtype=bool)
    share = inert.astype(float).mean([dim for dim in inert.dims if dim != "rank"])
    return mean, share.sortby("rank").compute(), at


def _edges(centres: Array) -> Array:
    if centres.size == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])


def _shade_inert(ax: Axes, edges: Array, share: xr.DataArray) -> list[Artist]:
    """Hatch the columns of inert ranks and return what the legend shows of them."""
    kinds = {
        "inert in all splits": ("xxxx", share.values == 1),
        "inert in some": ("//", (share.values > 0) & (share.values < 1)),
    }
    keys: list[Artist] = []
    for label, (hatch, mask) in kinds.items():
        look: dict[str, Any] = {"edgecolor": "white", "linewidth": 0, "hatch": hatch, "label": label}
        for i in np.flatnonzero(mask):
            corner, wide = (edges[i], 0.0), edges[i + 1] - edges[i]
            ax.add_patch(Rectangle(corner, wide, 1.0, transform=ax.get_xaxis_transform(), facecolor="none", **look))
        if mask.any():
            keys.append(Patch(facecolor="0.5", **look))
    return keys


def _mark_best(ax: Axes, mean: xr.DataArray, metric: str, chosen: Choice | None) -> list[Artist]:
    """Mark the best and the chosen cell and return the marks; a choice that is the best has one mark."""
    merit = {"r": -abs(mean), "r_abs": -mean, "mse": -mean}.get(metric, mean)
    place = merit.argmax(...)
    best = (float(mean["rank"][place["rank"]]), float(mean["alpha"][place["alpha"]]))
    points = {"best": (best, "o", 5)}
    if chosen is not None:
        if chosen.alpha not in mean["alpha"].values or chosen.rank not in mean["rank"].values:
            raise ValueError(f"chosen ({chosen}) is not on the grid of α and ρ")
        same = (chosen.rank, chosen.alpha) == best
        points = {} if same else points
        points["best and chosen" if same else "chosen"] = ((chosen.rank, chosen.alpha), "*", 9)
    return [
        ax.plot(
            *point, marker, color="white", markeredgecolor="k", markersize=size, markeredgewidth=0.8, label=label,
            linestyle="", clip_on=False, zorder=3,
        )[0]
        for label, (point, marker, size) in points.items()
    ]  # fmt: skip
