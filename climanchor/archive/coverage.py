"""Coverage: what each member has, year by year, before anything is computed."""

from collections.abc import Iterable, Sequence
from io import StringIO

import cftime
import numpy as np
import pandas as pd

from climanchor.archive.runs import Problem, Run
from climanchor.archive.series import Series, read_series
from climanchor.archive.times import slot_name

COLUMNS = (
    "model", "member", "experiment", "variable", "files", "used", "first", "last", "steps", "complete_years",
    "missing", "duplicate", "overlaps", "frequency", "calendar", "grid", "units", "version", "usable",
    "gaps", "problems",
)  # fmt: skip


def coverage(runs: Iterable[Run]) -> pd.DataFrame:
    """One row per member: what its files hold and what is wrong with them.

    ``first`` and ``last`` are the first and last month (or year); ``missing`` and ``duplicate`` count steps,
    ``overlaps`` pairs of files that share some; ``gaps`` lists the missing stretches; ``complete_years`` counts
    the years with every step; ``used`` the files that are usable. ``problems`` joins the reasons, file by file.
    Reads headers and time only: whether overlapping values are identical is checked when they are opened.

    >>> coverage([]).empty
    True
    """
    rows = [_row(run, *read_series(run)) for run in runs]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def coverage_years(runs: Iterable[Run]) -> pd.DataFrame:
    """Which years are complete: a boolean table, a row per (model, experiment, member), a column per year.

    The columns run from the first to the last complete year of any run, without gaps.

    >>> coverage_years([]).empty
    True
    """
    listed = list(runs)
    found = [read_series(run)[0] for run in listed]
    years = [complete_years(series) if series else [] for series in found]
    held = [year for group in years for year in group]
    span = np.arange(min(held), max(held) + 1) if held else np.empty(0, np.int64)
    names = ["model", "experiment", "member"]
    index = pd.MultiIndex.from_arrays([[getattr(run, name) for run in listed] for name in names], names=names)
    table = np.array([np.isin(span, group) for group in years], dtype=bool).reshape(len(listed), span.size)
    return pd.DataFrame(table, index=index, columns=pd.Index(span, name="year"))


def complete_years(series: Series) -> list[int]:
    """Years of which the series has every month (or day); every year of annual data."""
    if series.frequency == "yr":
        return [int(slot) for slot in series.slots]
    if series.frequency not in ("mon", "day"):
        return []
    years, counts = np.unique([date.year for date in series.dates], return_counts=True)
    full = [12 if series.frequency == "mon" else _days(int(y), series.calendar) for y in years]
    return [int(y) for y, n, whole in zip(years, counts, full, strict=True) if n == whole]


def format_coverage(table: pd.DataFrame, *, width: int | None = None) -> str:
    """The coverage table as text for a terminal, problems beneath it.

    ``width`` is in characters; by default the terminal's.

    >>> print(format_coverage(coverage([])))
    No runs.
    """
    from rich.console import Console
    from rich.table import Table

    if table.empty:
        return "No runs."
    out = Console(file=StringIO(), width=width, no_color=True, highlight=False)
    shown = Table(box=None, pad_edge=False)
    headings = {
        "model": "model", "experiment": "experiment", "member": "member", "files": "files", "first": "first",
        "last": "last", "complete_years": "years", "missing": "missing", "duplicate": "twice", "calendar": "calendar",
        "grid": "grid", "units": "units", "usable": "ok",
    }  # fmt: skip
    headings = {k: v for k, v in headings.items() if k != "experiment" or table.experiment.nunique() > 1}
    numbers = {"files", "complete_years", "missing", "duplicate"}
    for column, heading in headings.items():
        shown.add_column(heading, justify="right" if column in numbers else "left", overflow="fold")
    rows = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
    for row in rows:
        shown.add_row(*(_cell(column, row) for column in headings))
    out.print(shown)
    for row in rows:
        if row["problems"]:
            out.print(f"\n{row['model']} {row['member']}", markup=False)
            for line in str(row["problems"]).split("\n"):
                out.print(f"  {line}", markup=False, overflow="fold")
    stream = out.file
    assert isinstance(stream, StringIO)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _cell(column: str, row: dict[str, object]) -> str:
    if column == "usable":
        return "yes" if row[column] else "NO"
    if column == "files" and row["used"] != row["files"]:
        return f"{row['used']}/{row['files']}"
    return str(row[column])


def _row(run: Run, series: Series | None, problems: Sequence[Problem]) -> dict[str, object]:
    facets = {name: getattr(run, name) for name in ("model", "member", "experiment", "variable", "version")}
    reasons = [_line(problem) for problem in problems] + list(run.notes)
    texts = dict.fromkeys(("first", "last", "frequency", "calendar", "grid", "units", "gaps"), "")
    counts = dict.fromkeys(("used", "steps", "complete_years", "missing", "duplicate", "overlaps"), 0)
    row = {**facets, "files": len(run.paths), **texts, **counts, "usable": series is not None}
    return {**row, **(_held(series) if series else {}), "problems": "\n".join(reasons)}


def _line(problem: Problem) -> str:
    name = problem.path.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{name}: {problem.reason} ({problem.action})" if name else f"{problem.reason} ({problem.action})"


def _held(series: Series) -> dict[str, object]:
    pairs = {frozenset((kept, other)) for _, kept, _, other, _ in series.repeats if kept != other}
    timeless = series.frequency == "fx"
    first, last = (slot_name(int(series.slots[i]), series.frequency) for i in (0, -1))
    if series.frequency not in ("yr", "mon"):
        first, last = ("", "") if timeless else (_day(series.dates[0]), _day(series.dates[-1]))
    return {
        "used": len(series.pieces),
        "first": first,
        "last": last,
        "steps": 0 if timeless else series.slots.size,
        "complete_years": 0 if timeless else len(complete_years(series)),
        "missing": series.missing.size,
        "duplicate": len({repeat[0] for repeat in series.repeats}),
        "overlaps": len(pairs),
        "frequency": series.frequency,
        "calendar": series.calendar,
        "grid": series.grid.describe(),
        "units": ", ".join(sorted({piece.stored_units for piece in series.pieces})),
        "gaps": _gaps(series),
    }


def _gaps(series: Series) -> str:
    """Missing stretches as text: ``1900-03…1901-02, 1950-07``."""
    missing = series.missing
    if not missing.size or series.frequency not in ("yr", "mon"):
        return ""
    edges = np.flatnonzero(np.diff(missing) > 1)
    starts, ends = missing[np.r_[0, edges + 1]], missing[np.r_[edges, missing.size - 1]]
    firsts, lasts = ([slot_name(int(slot), series.frequency) for slot in side] for side in (starts, ends))
    return ", ".join(a if a == b else f"{a}…{b}" for a, b in zip(firsts, lasts, strict=True))


def _day(date: cftime.datetime) -> str:
    return str(date.strftime("%Y-%m-%d")).strip()


def _days(year: int, calendar: str) -> int:
    start, end = (cftime.datetime(y, 1, 1, calendar=calendar) for y in (year, year + 1))
    return int((end - start).days)
