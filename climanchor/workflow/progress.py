"""What a run tells while it works: a live display on a terminal, plain dated lines in a batch log."""

from __future__ import annotations

import logging
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

log = logging.getLogger("climanchor")


class Reporter:
    """Tells which step runs, what was reused and what it took; everything goes to the log as well."""

    def __init__(self, stream: IO[str] | None = None, *, quiet: bool = False) -> None:
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.live = not quiet and self.stream.isatty()
        self._progress: Progress | None = None

    def line(self, text: str) -> None:
        """Say one line."""
        log.info(text)
        if self._progress is not None:
            self._progress.console.print(text, highlight=False, markup=False)
        elif not self.quiet:
            print(f"{time.strftime('%H:%M:%S')} {text}", file=self.stream, flush=True)

    def warning(self, text: str) -> None:
        """Say something that the reader should look at."""
        log.warning(text)
        if self._progress is not None:
            self._progress.console.print(f"warning: {text}", style="yellow", highlight=False, markup=False)
        elif not self.quiet:
            print(f"{time.strftime('%H:%M:%S')} warning: {text}", file=self.stream, flush=True)

    @contextmanager
    def steps(self, total: int) -> Iterator[None]:
        """Show progress over ``total`` steps inside the block."""
        if not self.live:
            yield
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(file=self.stream), transient=True) as progress:
            self._progress = progress
            progress.add_task("starting", total=total)
            try:
                yield
            finally:
                self._progress = None

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Announce a step, and when it ends, what it took."""
        started = time.perf_counter()
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], description=title)
            log.info("%s: started", title)
        else:
            self.line(f"{title} …")
        yield
        self.line(f"{title}: done in {seconds(time.perf_counter() - started)}")
        self.advance()

    def reused(self, title: str) -> None:
        """Announce a step that had been done before."""
        self.line(f"{title}: unchanged, reused")
        self.advance()

    def advance(self) -> None:
        """Move the bar by one step."""
        if self._progress is not None:
            self._progress.advance(self._progress.task_ids[0])


def table_width() -> int:
    """Columns for wide tables: those of the terminal, or enough for everything in a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 180


def seconds(value: float) -> str:
    """A duration for people.

    >>> seconds(0.25), seconds(12.3), seconds(3723)
    ('0.2 s', '12 s', '1 h 2 min')
    """
    if value < 10:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    if value < 3600:
        return f"{value / 60:.0f} min"
    return f"{int(value // 3600)} h {int(value % 3600 // 60)} min"


def size(value: float) -> str:
    """A number of bytes for people.

    >>> size(512), size(3.2e6), size(2.5e9)
    ('512 B', '3.2 MB', '2.5 GB')
    """
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
