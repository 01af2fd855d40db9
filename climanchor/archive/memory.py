"""How much memory a set of runs will need, estimated before anything is computed."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from climanchor.archive.opening import BLOCK_BYTES
from climanchor.archive.runs import Run
from climanchor.archive.series import read_series


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on disk as values (``monthly``), after annual means on a grid (``annual``), and while computing.

    ``working`` is what preprocessing holds at once: a few blocks per worker thread.
    """

    members: int
    monthly: int
    annual: int
    working: int

    def describe(self) -> str:
        """One line for people."""
        parts = (human_size(self.monthly), human_size(self.annual), human_size(self.working))
        return "{} member(s): {} as opened, {} as annual fields, {} while preparing".format(self.members, *parts)


def memory_estimate(
    runs: Iterable[Run], *, grid: tuple[int, int] = (36, 72), threads: int = 2, itemsize: int = 8
) -> MemoryEstimate:
    """Estimate the size of runs as opened and as annual fields on a target ``grid`` of (lat, lon) cells.

    ``itemsize`` is the bytes per value of the annual fields. Headers are read, nothing is computed.

    >>> memory_estimate([]).describe()
    '0 member(s): 0 B as opened, 0 B as annual fields, 0 B while preparing'
    """
    members = monthly = years = block = 0
    for run in runs:
        series, _ = read_series(run)
        if series is None:
            continue
        members += 1
        item = max(np.dtype(piece.source.dtype).itemsize for piece in series.pieces)
        field = item * int(np.prod(series.grid.shape))
        monthly += field * series.slots.size
        years += len({date.year for date in series.dates}) if series.frequency != "fx" else 0
        block = max(block, min(field * series.slots.size, max(BLOCK_BYTES, 12 * field)))
    annual = years * int(np.prod(grid)) * itemsize
    # Each thread holds the stored block, its decoded copy and the reduction of it.
    return MemoryEstimate(members, monthly, annual, 3 * threads * block + annual)


def human_size(size: int) -> str:
    """A number of bytes as text.

    >>> human_size(0), human_size(1536), human_size(3 * 10**9)
    ('0 B', '1.5 KB', '2.8 GB')
    """
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"
