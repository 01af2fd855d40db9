"""The look of every figure: sizes, colours, panel labels and files, set locally and never globally."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure, SubFigure

Width = Literal["one", "two"]

#: Figure widths in inches: one column (89 mm) and two columns (183 mm) of a journal page.
WIDTHS = {"one": 3.5, "two": 7.2}

#: Colours of the palette of Okabe and Ito, told apart with any colour vision; the order also alternates in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#56B4E9", "#E69F00", "#CC79A7")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 2)))

SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"
MISSING = "0.85"

# Typed loosely: what the keys may be depends on the version of matplotlib.
STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same letters on every machine
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.45,
    "mathtext.fontset": "dejavusans",
    "pdf.fonttype": 42,
    "figure.dpi": 150.0,
    "savefig.dpi": 300.0,
}


class StyledFigure(Figure):
    """A matplotlib figure that keeps climanchor's style whenever it is drawn and shows itself in notebooks.

    It is not registered with pyplot: nothing global changes and nothing has to be closed.
    """

    def draw(self, renderer: RendererBase) -> None:
        # Hatch widths and fonts are looked up when drawing, after the plotting function has returned.
        with matplotlib.rc_context(STYLE):
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=self.dpi)
        return buffer.getvalue()


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style inside a ``with`` block and leave the user's settings as they were.

    >>> import matplotlib
    >>> before = matplotlib.rcParams["font.size"]
    >>> with styled():
    ...     matplotlib.rcParams["font.size"]
    8.0
    >>> matplotlib.rcParams["font.size"] == before
    True
    """
    with matplotlib.rc_context(STYLE):
        yield


def inches(width: Width) -> float:
    """Return the width in inches of one or two columns."""
    if width not in WIDTHS:
        raise ValueError(f"width must be 'one' or 'two' (columns), got {width!r}")
    return WIDTHS[width]


def new_figure(width: Width, height: float) -> StyledFigure:
    """Return an empty figure one or two columns wide and ``height`` inches high."""
    return StyledFigure(figsize=(inches(width), height), layout="constrained")


def figure_of(ax: Axes) -> Figure:
    """Return the figure that holds ``ax``, also when it sits in a subfigure."""
    figure = ax.figure
    while isinstance(figure, SubFigure):
        figure = figure.figure
    if figure is None:
        raise ValueError("ax has been removed from its figure; give axes that belong to one")
    return figure


def label_panels(axes: list[Axes]) -> None:
    """Write A, B, … before the titles of the axes when there are several."""
    if len(axes) < 2:
        return
    for letter, ax in zip(ascii_uppercase, axes, strict=False):
        ax.set_title(letter, loc="left", fontweight="bold")


def save(figure: Figure, stem: str | Path, *, formats: tuple[str, ...] = ("png", "pdf")) -> list[Path]:
    """Write a figure as ``stem.png`` and ``stem.pdf`` and return the paths.

    The same figure gives the same bytes: dates and version strings are left out of the files. Each file is
    written under a temporary name and renamed, so a killed job leaves no half-written figure.

    Parameters
    ----------
    figure
        Any matplotlib figure, such as the functions of this package return.
    stem
        Path without ending; its folder is made if needed.
    formats
        Endings to write, among ``"png"``, ``"pdf"`` and ``"svg"``.

    Raises
    ------
    ValueError
        For a format that is none of these.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(new_figure("one", 2.0), f"{folder}/empty")]
    ['empty.png', 'empty.pdf']
    """
    metadata: dict[str, dict[str, None]] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
        "svg": {"Date": None, "Creator": None},
    }
    unknown = set(formats) - set(metadata)
    if unknown:
        raise ValueError(f"cannot write figures as {sorted(unknown)}; choose among {sorted(metadata)}")
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = []
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": "climanchor"}):
        for ending in formats:
            path = stem.with_name(f"{stem.name}.{ending}")
            part = stem.with_name(f".{stem.name}.{ending}.part")
            figure.savefig(part, format=ending, metadata=metadata[ending])
            part.replace(path)
            paths.append(path)
    return paths
