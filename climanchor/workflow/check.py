"""``climanchor data check``: what a folder holds, before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from climanchor.archive import coverage, coverage_years, find_runs, format_coverage, memory_estimate
from climanchor.workflow.progress import table_width
from climanchor.workflow.session import NotEnoughData


def check_data(
    root: Sequence[Path],
    *,
    variable: str = "tas",
    experiment: Sequence[str] = ("historical",),
    models: Sequence[str] | None = None,
    figure: Path | None = None,
    csv: Path | None = None,
) -> tuple[str, bool]:
    """The coverage table of ``root`` as text, and whether anything in it can be used.

    Reads headers and times, no fields. ``figure`` and ``csv`` name files to write as well.
    """
    try:
        runs = find_runs(root, variable=variable, experiment=experiment, models=models)
    except FileNotFoundError as error:
        raise NotEnoughData(str(error)) from None
    table = coverage(runs)
    lines = [format_coverage(table, width=table_width())]
    if runs.problems:
        lines += ["Not placed:", *(f"  {problem}" for problem in runs.problems)]
    if not table.empty:
        usable = int(table["usable"].astype(bool).sum())
        lines.append(f"{len(table)} runs of {table['model'].nunique()} models, {usable} usable.")
        lines.append(memory_estimate(runs).describe())
    if csv is not None:
        table.to_csv(csv, index=False)
    if figure is not None and not table.empty:
        _draw(figure, coverage_years(runs))
    return "\n".join(lines), bool(len(table)) and bool(table["usable"].astype(bool).any())


def _draw(path: Path, years: pd.DataFrame) -> None:
    from climanchor import plotting  # cartopy and matplotlib only where something is drawn

    plotting.save(plotting.coverage(years), path.with_suffix(""), formats=(path.suffix.lstrip(".") or "png",))
