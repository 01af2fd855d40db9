"""Figures of the simulation experiments: a score against the strength of the perturbation."""

from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from climanchor.plotting.style import COLOURS, LINES, Width, inches, label_panels, new_figure, styled

LABELS = {"r2": "R²", "mse": "Mean squared error"}


def perturbation(
    results: xr.Dataset,
    *,
    metric: Literal["r2", "mse"] = "mse",
    limits: tuple[float, float] | None = None,
    width: Width = "two",
) -> Figure:
    """Draw a score against the strength t of an intervention on the anchor, one panel per algorithm.

    Lines are means over the repeats, bands ± 2 standard errors of that mean. Results for several kinds of noise
    (a dimension ``noise``) have one row of panels each.

    Parameters
    ----------
    results
        ``mse`` or ``r2`` with dimensions ``algorithm, method, t, repeat`` and perhaps ``noise``, as the
        perturbation experiments return.
    metric
        ``"mse"`` or ``"r2"``.
    limits
        Ends of the vertical axis; from the data if left out.
    width
        ``"one"`` or ``"two"`` columns.

    Raises
    ------
    TypeError, ValueError
        If the metric or a dimension is missing, or all values are.

    Examples
    --------
    >>> coords = {"algorithm": ["MLR", "RRR"], "method": ["plain", "IV"], "t": [0.0, 2.0, 4.0], "repeat": [0, 1]}
    >>> mse = np.random.default_rng(0).uniform(size=(2, 2, 3, 2))
    >>> results = xr.Dataset({"mse": (tuple(coords), mse)}, coords)
    >>> [ax.get_title() for ax in perturbation(results).axes]
    ['MLR', 'RRR']
    """
    values = _checked(results, metric)
    rows = values["noise"].values.tolist() if "noise" in values.dims else [None]
    algorithms = values["algorithm"].values.tolist()
    columns = min(len(algorithms), 5 if width == "two" else 2)
    lines = -(-len(algorithms) // columns)
    count = len(rows) * lines * columns
    with styled():
        height = min(inches(width) / columns * 1.15, 2.2)
        figure = new_figure(width, height * len(rows) * lines + 0.45)
        axes: list[Axes] = []
        for position in range(count):
            row, place = divmod(position, lines * columns)
            if place >= len(algorithms):
                continue
            share = axes[0] if axes else None
            ax = figure.add_subplot(len(rows) * lines, columns, position + 1, sharex=share, sharey=share)
            chosen = values.sel(algorithm=algorithms[place])
            _draw_methods(ax, chosen if rows[row] is None else chosen.sel(noise=rows[row]))
            ax.set_title(algorithms[place] if rows[row] is None else f"{algorithms[place]}, {rows[row]}")
            first = place % columns == 0
            ax.tick_params(labelleft=first)
            if first:
                ax.set_ylabel(LABELS[metric])
            axes.append(ax)
        _finish(figure, axes, limits)
    return figure


def _finish(figure: Figure, axes: list[Axes], limits: tuple[float, float] | None) -> None:
    if limits is not None:
        axes[0].set_ylim(*limits)
    figure.supxlabel("Strength t of the perturbation", fontsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    if len(axes) <= 6:
        label_panels(axes)


def _checked(results: xr.Dataset, metric: str) -> xr.DataArray:
    if not isinstance(results, xr.Dataset):
        raise TypeError(f"results must be a Dataset, got {type(results).__name__}")
    if metric not in LABELS or metric not in results:
        raise ValueError(
            f"metric must be 'r2' or 'mse' and in the results, got {metric!r} of {sorted(map(str, results))}"
        )
    values = results[metric]
    lacking = [dim for dim in ("algorithm", "method", "t", "repeat") if dim not in values.dims]
    if lacking:
        raise ValueError(f"{metric} has no dimension {lacking}: its dimensions are {tuple(map(str, values.dims))}")
    if not np.isfinite(values).any():
        raise ValueError(f"{metric} is missing everywhere: there is nothing to draw")
    return values.compute()


def _draw_methods(ax: Axes, values: xr.DataArray) -> None:
    strengths = values["t"].values
    for number, method in enumerate(values["method"].values.tolist()):
        colour, line = COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]
        one = values.sel({"method": method})  # as a keyword, method would say how to look up
        mean = one.mean("repeat")
        if one.sizes["repeat"] > 1:
            error = one.std("repeat", ddof=1) / np.sqrt(one.sizes["repeat"])
            ax.fill_between(strengths, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.25, linewidth=0)
        ax.plot(strengths, mean, color=colour, linestyle=line, label=str(method).replace("gamma=", "γ = "))
