"""The trade-off between R² and invariance along γ."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from climanchor.fingerprint import Selection
from climanchor.plotting.style import COLOURS, LINES, MARKERS, Width, label_panels, new_figure, styled

Array = NDArray[np.float64]
LABELS = {
    "r2": "R²",
    "r2_area": "R², area-weighted",
    "r": "Mean r",
    "r_abs": "Mean |r|",
    "correlation": "Mean |r|",
    "mse": "Mean squared error",
}


def gamma_positions(gammas: Array) -> tuple[Array, list[str]]:
    """Return where to draw values of γ and what to write there: log γ, with 0 and ∞ half a decade outside.

    >>> positions, labels = gamma_positions(np.array([0.0, 1.0, 100.0, np.inf]))
    >>> positions.tolist(), labels
    ([-0.5, 0.0, 2.0, 2.5], ['0', '1', '100', '∞'])
    """
    inside = np.isfinite(gammas) & (gammas > 0)
    logs = np.log10(gammas, out=np.zeros(gammas.shape), where=inside)
    low, high = (logs[inside].min(), logs[inside].max()) if inside.any() else (0.0, 0.0)
    positions = np.where(inside, logs, np.where(gammas == 0, low - 0.5, high + 0.5))
    return positions, ["∞" if np.isinf(g) else f"{g:g}" for g in gammas]


def scores_by_gamma(
    scores: Any,
    *,
    alpha: float | None = None,
    rank: int | None = None,
    correlation: Literal["r_abs", "r"] = "r_abs",
    chosen: float | None = None,
    width: Width = "two",
) -> Figure:
    """Draw R² (A) and the correlation of residuals with DIV (B) against γ.

    Parameters
    ----------
    scores
        A ``Selection``, whose splits are shown as mean ± 2 standard errors; or a Dataset with dimension
        ``gamma`` and the means ``r2_mean`` and ``r_abs_mean`` (what ``Fingerprint.score`` returns, concatenated
        along γ) or ``r2`` and ``r_abs``; or a mapping of line labels, such as training and test, to these.
    alpha, rank
        Which α and ρ of a ``Selection`` to follow; those its published rule chooses by default.
    correlation
        ``"r_abs"``, the mean over cells of |r|, or ``"r"``, the signed mean. Zero is best for both.
    chosen
        A γ to mark.
    width
        ``"one"`` (panels on top of one another) or ``"two"`` columns.

    Raises
    ------
    TypeError, ValueError
        If there is no ``gamma``, a score is missing, or α or ρ is not among those of the selection.

    Examples
    --------
    >>> values = {"r2_mean": ("gamma", [0.51, 0.54, 0.53]), "r_abs_mean": ("gamma", [0.42, 0.25, 0.12])}
    >>> figure = scores_by_gamma({"test": xr.Dataset(values, {"gamma": [1.0, 5.0, 100.0]})}, chosen=5.0)
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['R²', 'Mean |r|']
    """
    lines = dict(scores) if isinstance(scores, Mapping) and not isinstance(scores, xr.Dataset) else {"": scores}
    tables = {name: _along_gamma(value, alpha, rank, correlation) for name, value in lines.items()}
    shape = (1, 2) if width == "two" else (2, 1)
    with styled():
        figure = new_figure(width, 2.2 * shape[0] + 0.2)
        axes = [figure.add_subplot(*shape, i + 1) for i in range(2)]
        for ax, metric in zip(axes, ("r2", correlation), strict=True):
            for number, (name, table) in enumerate(tables.items()):
                _draw_line(ax, table[metric], name, number)
            _label_gammas(ax, np.unique(np.concatenate([t["gamma"].values for t in tables.values()])), chosen)
            ax.set_ylabel(LABELS[metric])
        if len(tables) > 1:
            axes[0].legend(loc="best")
        label_panels(axes)
    return figure


def _along_gamma(scores: Any, alpha: float | None, rank: int | None, correlation: str) -> xr.Dataset:
    """Return the two scores with dims gamma and, for a selection, split."""
    table = scores.scores if isinstance(scores, Selection) else scores
    if not isinstance(table, xr.Dataset):
        raise TypeError(f"scores must be a Selection or a Dataset, got {type(scores).__name__}")
    if "gamma" not in table.dims:
        raise ValueError(f"scores have no dimension gamma: theirs are {sorted(map(str, table.dims))}")
    if isinstance(scores, Selection):
        if alpha is None or rank is None:
            choice = scores.best("published")
            alpha = choice.alpha if alpha is None else alpha
            rank = choice.rank if rank is None else rank
        table = table.sel(alpha=_among(table, "alpha", alpha), rank=_among(table, "rank", rank))
    found = {}
    for name in ("r2", correlation):
        present = [key for key in (f"{name}_mean", name) if key in table]
        if not present:
            raise ValueError(f"scores have neither {name}_mean nor {name}: they hold {sorted(map(str, table))}")
        found[name] = table[present[0]]
    return xr.Dataset(found).compute()


def _among(table: xr.Dataset, name: str, value: float) -> float:
    if value not in table[name].values:
        raise ValueError(f"{name}={value:g} was not tried: the selection has {table[name].values.tolist()}")
    return value


def _draw_line(ax: Axes, values: xr.DataArray, name: str, number: int) -> None:
    values = values.sortby("gamma")
    positions, _ = gamma_positions(values["gamma"].values.astype(float))
    colour, marker, line = (options[number % len(options)] for options in (COLOURS, MARKERS, LINES))
    mean = values.mean("split") if "split" in values.dims else values
    if "split" in values.dims and values.sizes["split"] > 1:
        error = values.std("split", ddof=1) / np.sqrt(values.sizes["split"])
        ax.fill_between(positions, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0)
    ax.plot(positions, mean, color=colour, marker=marker, linestyle=line, label=name)


def _label_gammas(ax: Axes, gammas: Array, chosen: float | None) -> None:
    positions, labels = gamma_positions(gammas)
    # As many labels as fit: at least an eighth of the axis apart, the two ends always among them.
    apart = (positions[-1] - positions[0]) / 8
    shown = [0]
    for i in range(1, len(gammas)):
        if positions[i] - positions[shown[-1]] >= apart and positions[-1] - positions[i] >= apart:
            shown.append(i)
    if len(gammas) > 1:
        shown.append(len(gammas) - 1)
    ax.set_xticks(positions[shown], [labels[i] for i in shown])
    ax.set_xticks(positions, minor=True)
    ax.set_xlabel("γ")
    if chosen is not None:
        if chosen not in gammas:
            raise ValueError(f"chosen={chosen:g} is not among the values of γ {gammas.tolist()}")
        ax.axvline(positions[np.flatnonzero(gammas == chosen)[0]], color="0.5", linewidth=0.8, linestyle=":")
