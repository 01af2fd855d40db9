"""The report as data: sections of paragraphs, tables and figures; and the one HTML file made of them.

The page needs nothing but itself: styles are inside, figures are embedded, and it opens from disk with no
network. What it shows is in ``metrics.json`` and ``data/`` too.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2

from climanchor.workflow.store import write_atomically

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """A table: its columns, its rows, a caption, and which columns hold words rather than numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    note: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Figure:
    """A drawn figure: its name, its title and caption, and the files of each format."""

    name: str
    title: str
    caption: str
    png: Path
    others: Sequence[Path] = ()

    @property
    def wide(self) -> bool:
        """Whether it was drawn for the width of a page rather than of a column."""
        width, height = struct.unpack(">II", self.png.read_bytes()[16:24])  # where every PNG says its size
        return bool(width > 1.5 * height)


@dataclass(frozen=True)
class PageSection:
    """A part of the page; ``name`` is its anchor."""

    name: str
    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    preformatted: str = ""


@dataclass(frozen=True)
class Page:
    """Everything on the page, in reading order."""

    title: str
    description: str
    summary: Sequence[str]
    sections: Sequence[PageSection]
    warnings: Sequence[str] = ()
    footer: str = ""
    links: Sequence[tuple[str, str]] = field(default=())


def number(value: Cell, digits: int = 3) -> str:
    """A cell of a table as people read it; integers whole, missing as a dash.

    >>> [number(v) for v in (0.51234, 1e6, 1e3, 12, None, "α", True, float("nan"), 0.00001, -0.25)]
    ['0.512', '1e+06', '1000', '12', '–', 'α', 'yes', '–', '1e-05', '−0.250']
    """
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (str, int)):
        return str(value)
    small = value != 0 and abs(value) < 10.0**-digits
    text = f"{value:.2g}" if small else f"{value:.{digits}f}" if abs(value) < 100 else f"{value:.4g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def render(page: Page) -> str:
    """The page as one HTML document."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("climanchor.workflow"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"number": number, "embedded": _embedded}
    environment.tests["is_number"] = _is_number
    return environment.get_template("report.html.j2").render(page=page)


def write_page(page: Page, path: Path) -> None:
    """Write the page, whole or not at all."""
    write_atomically(path, render(page))


def _embedded(path: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"


def _is_number(value: Cell) -> bool:
    if isinstance(value, str):
        return value.startswith("< ")  # a bound stands among numbers
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_text(table: Table) -> str:
    """The table for a terminal, columns aligned.

    >>> print(as_text(Table(["γ", "R²"], [[1, 0.5], [100, 0.25]])))
      γ    R²
      1 0.500
    100 0.250
    """
    rows = [[str(c) for c in table.columns], *([number(c) for c in row] for row in table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    right = [all(_is_number(row[i]) or row[i] is None for row in table.rows) for i in range(len(table.columns))]
    lines = (
        " ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
