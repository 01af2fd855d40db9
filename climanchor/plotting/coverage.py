"""The figure of what data there are: member by year."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from climanchor.archive import Run, coverage_years
from climanchor.plotting.style import COLOURS, Width, figure_of, new_figure, styled

#: What a year of a member can be, with its colour; from light to dark, so that it reads in grey.
STATES = {"absent": "0.91", "incomplete": COLOURS[5], "complete": COLOURS[0]}


def coverage(data: pd.DataFrame | Iterable[Run], *, ax: Axes | None = None, width: Width = "two") -> Figure:
    """Draw which years each member has, grouped by climate model: complete, incomplete or absent.

    Parameters
    ----------
    data
        Runs, whose headers are then read; or the table of :func:`climanchor.coverage`; or that of
        :func:`climanchor.archive.coverage_years`, which does not tell incomplete from absent years.
    ax
        Axes to draw on, instead of a new figure.
    width
        ``"one"`` or ``"two"`` columns.

    Raises
    ------
    TypeError
        If ``data`` is a table of another kind.
    ValueError
        If there are no members or no years.

    Examples
    --------
    >>> table = pd.DataFrame({"model": ["CESM2", "CESM2"], "member": ["r1i1p1f1", "r2i1p1f1"],
    ...                       "first": ["1850-01", "1850-01"], "last": ["2014-12", "2010-06"],
    ...                       "gaps": ["", "1900-03…1901-02"], "usable": [True, True]})
    >>> [label.get_text() for label in coverage(table).axes[0].get_yticklabels()]
    ['CESM2 (2)']
    """
    table = _states(data)
    if table.empty:
        raise ValueError("there are no members with complete years to draw: the table is empty")
    models = table.index.get_level_values(0)
    counts = models.value_counts(sort=False).reindex(models.unique())
    starts = np.concatenate([[0], counts.cumsum().to_numpy()])
    with styled():
        if ax is None:
            row = max(0.045, 0.16 / int(counts.min()))
            ax = new_figure(width, min(len(table) * row, 9.0) + 0.75).add_subplot()
        years = table.columns.to_numpy()
        ax.pcolormesh(
            np.append(years, years[-1] + 1), np.arange(len(table) + 1), table.to_numpy(), vmin=-0.5, vmax=2.5,
            cmap=ListedColormap(list(STATES.values())), rasterized=True,
        )  # fmt: skip
        for start in starts[1:-1]:
            ax.axhline(start, color="white", linewidth=1.2)
        unusable = np.flatnonzero((table.to_numpy() == 0).all(axis=1))
        ax.plot(np.full(unusable.size, years.mean()), unusable + 0.5, "x", color="k", markersize=3, markeredgewidth=0.8)
        ax.set_yticks((starts[1:] + starts[:-1]) / 2, [f"{name} ({count})" for name, count in counts.items()])
        ax.set_ylim(len(table), 0)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("Year")
        ax.spines["left"].set_visible(False)
        _add_key(ax, table.to_numpy(), crossed=unusable.size > 0)
    return figure_of(ax)


def _add_key(ax: Axes, states: NDArray[np.int64], *, crossed: bool) -> None:
    present = [i for i in (2, 1, 0) if (states == i).any()]
    keys: list[Patch | Line2D] = [Patch(facecolor=list(STATES.values())[i], label=list(STATES)[i]) for i in present]
    if crossed:
        keys.append(Line2D([], [], color="k", marker="x", linestyle="", markersize=4, label="set aside"))
    ax.legend(
        handles=keys, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(keys), columnspacing=1.2,
        borderaxespad=0.2, handlelength=1.2,
    )  # fmt: skip


def _states(data: Any) -> pd.DataFrame:
    """Return a table of states (0 absent, 1 incomplete, 2 complete): a row per member, a column per year."""
    if not isinstance(data, pd.DataFrame):
        data = coverage_years(data)
    if isinstance(data.index, pd.MultiIndex) and "model" in data.index.names:
        table: pd.DataFrame = data.astype(int) * 2
        table.index = pd.MultiIndex.from_arrays(
            [data.index.get_level_values(name) for name in ("model", "member")], names=["model", "member"]
        )
        return _grouped(table)
    lacking = [name for name in ("model", "member", "first", "last", "gaps") if name not in data]
    if lacking:
        raise TypeError(f"data is not a coverage table: it lacks the columns {lacking}. Use climanchor.coverage(runs)")
    held = {(row["model"], row["member"]): _member_years(row) for _, row in data.iterrows()}
    every = [year for years in held.values() for year in years]
    if not every:
        return pd.DataFrame()
    span = range(min(every), max(every) + 1)
    rows = [[years.get(year, 0) for year in span] for years in held.values()]
    index = pd.MultiIndex.from_tuples(list(held), names=["model", "member"])
    return _grouped(pd.DataFrame(rows, index=index, columns=pd.Index(span, name="year")))


def _grouped(table: pd.DataFrame) -> pd.DataFrame:
    """Put the members of a model together, models in the order in which they first appear."""
    models = table.index.get_level_values("model")
    order = np.argsort(pd.factorize(models)[0], kind="stable")
    return table.iloc[order]


def _member_years(row: "pd.Series[Any]") -> dict[int, int]:
    """Return the state of the years of one row, from its first and last month and its missing stretches."""
    months = [_month(text, last=last) for text, last in ((row["first"], False), (row["last"], True))]
    if months[0] is None or months[1] is None:
        return {}
    held = set(range(months[0], months[1] + 1))
    for stretch in filter(None, str(row["gaps"]).split(", ")):
        ends = stretch.split("…")
        first, last = _month(ends[0], last=False), _month(ends[-1], last=True)
        if first is not None and last is not None:
            held -= set(range(first, last + 1))
    years = dict.fromkeys(range(months[0] // 12, months[1] // 12 + 1), 0)
    for month in held:
        years[month // 12] += 1
    return {year: 2 if count == 12 else min(count, 1) for year, count in years.items()}


def _month(text: Any, *, last: bool) -> int | None:
    """Return months since year 0 of ``1850-03`` (or of the first or last month of ``1850``); None if empty."""
    found = re.match(r"(\d{1,4})(?:-(\d{2}))?", str(text))
    if found is None:
        return None
    month = int(found[2]) - 1 if found[2] else (11 if last else 0)
    return int(found[1]) * 12 + month
