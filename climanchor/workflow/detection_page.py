"""Detection for its readers: the verdict by γ, and how far a null from calm models can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr

from climanchor.workflow.metrics import gamma_key
from climanchor.workflow.page import Cell, Figure, PageSection, Table, number
from climanchor.workflow.reading import NULLS, Reader

#: Smaller p-values come from the tail of a Student distribution, not from any segment of a control run.
LEAST_P = 0.001


def probability(value: float | None) -> Cell:
    """A p-value for a table: as it is, or that it is below what the control runs can tell.

    >>> probability(0.04), probability(1.9e-16)
    (0.04, '< 0.001')
    """
    return f"< {LEAST_P:g}" if value is not None and value < LEAST_P else value


def equation(value: float) -> str:
    """A p-value for a sentence.

    >>> equation(0.04), equation(1.9e-16)
    ('p = 0.040', 'p < 0.001')
    """
    shown = number(probability(value))
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def detection_section(reader: Reader, metrics: dict[str, Any], figures: Sequence[Figure]) -> PageSection:
    """The verdict by γ, with the null inflated, and how over-confident the test is on livelier models."""
    results = reader.detections()
    first = next(iter(results.values()))
    attrs = first.attrs
    units = first["statistic"].attrs.get("units", "")
    shown = ("statistic", "p_value", "detected", "inflation_limit", "size", "power")
    rows: list[list[Cell]] = [
        [key, *(probability(m.get(name)) if name == "p_value" else m.get(name) for name in shown)]
        for key, m in metrics["detection"].items()
    ]
    table = Table(
        ["γ", f"{attrs['statistic']} ({units})", "p-value", "detected", "lost at inflation", "size", "power"], rows,
        f"Test at the {attrs['level']:.0%} level, {attrs['window']}",
        "Lost at inflation: the factor on the decadal variability of the control runs at which detection is lost. "
        "Size: how often unforced segments are detected. Power: how often held-out forced members are. "
        f"p-values below {LEAST_P:g} rest on a fitted tail far beyond any control segment and are not told apart here.",
    )  # fmt: skip
    by_inflation: list[list[Cell]] = [
        [gamma_key(g), *(probability(float(p)) for p in one["p_value_by_inflation"].values)]
        for g, one in results.items()
    ]
    factors = [f"× {float(f):.3g}" for f in first["inflation"].values]
    second = Table(["γ", *factors], by_inflation, "p-value with the decadal variability of the null inflated")
    more, tables = _over_confidence(reader)
    words = [*_words(reader, results), *more]
    return PageSection("detection", "Detection", words, [table, second, *tables], figures)


def _words(reader: Reader, results: dict[float, xr.Dataset]) -> list[str]:
    attrs = next(iter(results.values())).attrs
    words = [
        f"Is the observed change ({attrs['observations']}) outside what internal variability makes? The observations "
        f"({float(attrs['observed_area']):.0%} of the globe observed throughout {attrs['window']}) and the control "
        f"runs of {attrs['control_models']} were projected on the fingerprint alike; the statistic of the observed "
        f"window is held against {attrs['segments']} independent control segments ({attrs['null']} null, "
        f"{attrs['sided']}).",
    ]
    caveats = dict.fromkeys(
        text for r in results.values() for text in str(r.attrs.get("caveats", "")).split("; ") if text
    )
    if caveats:
        words.append(f"Before believing it: {'; '.join(caveats)}.")
    if reader.recipe.detection is not None and reader.recipe.detection.reference is not None:
        first_year, last_year = reader.recipe.detection.reference
        words.append(
            f"Models and observations are relative to {first_year}–{last_year} here; the fingerprints were refitted on "
            f"that reference with the same α and ρ."
        )
    return words


def _over_confidence(reader: Reader) -> tuple[list[str], list[Table]]:
    """Words and table on what a null from the training models makes of the test models."""
    why, table = reader.missing("over_confidence"), reader.over_confidence()
    if why:
        return [f"Over-confidence could not be measured: {why}."], []
    if table is None:
        return [], []
    attrs = table.attrs
    words = (
        "A test is over-confident when the models behind its null are calmer than the world: it then finds change "
        f"where there is none more often than its level of {float(attrs['level']):.0%} says. Here every unforced "
        f"segment of the test models ({attrs['lively']}) plays the observations, once against a null from the "
        f"training models ({attrs['calm']}; calm) and once against one from the test models themselves, without the "
        f"tested segment (matching). Trends of {attrs['window']} years through the fingerprints as first fitted, whole "
        f"globe, pooled nulls, {attrs['sided']}. "
        "The numbers are reported as they come out, also where anchor regularisation does not help."
    )
    rows: list[list[Cell]] = []
    for key in map(str, table["fingerprint"].values):
        by_null = [table.sel(fingerprint=key, null=null) for null in NULLS]
        rows.append([key, *(float(one[name]) for one in by_null for name in ("size", "size_error"))])
    note = (
        "Error: the Monte-Carlo standard error of the size from the number of segments; zero where none or all of a "
        "model's segments were detected, which few segments do easily."
    )
    columns = ["γ", "size, calm null", "error", "size, matching null", "error"]
    return [words], [Table(columns, rows, "Over-confidence: how often unforced segments are detected", note)]
