"""Reading every value once, to find the damage that headers cannot show."""

from collections.abc import Iterable

import numpy as np

from climanchor.archive.integrity import BadFileError
from climanchor.archive.opening import BLOCK_BYTES
from climanchor.archive.runs import Run, Runs
from climanchor.archive.series import Piece, read_series


def verify_runs(runs: Iterable[Run]) -> Runs:
    """The same runs without the files whose values cannot be read, which are listed in ``.problems``.

    Opening checks what headers tell. Damage inside compressed data shows only when it is read, in the middle of a
    computation; this reads every file once, block by block, and costs as much as that.

    >>> verify_runs([])
    []
    """
    checked = runs if isinstance(runs, Runs) else Runs(runs)
    for run in list(checked):
        series, _ = read_series(run)
        for piece in series.pieces if series else ():
            reason = _damage(piece)
            if reason:
                checked = checked.without(piece.header.path, reason=reason)
    return checked


def _damage(piece: Piece) -> str:
    """Why the values of a file cannot be read; empty where they can."""
    steps = piece.axis.slots.size if piece.axis else 1
    field = np.dtype(piece.source.dtype).itemsize * int(np.prod(piece.grid.shape))
    length = max(1, BLOCK_BYTES // field, piece.header.storage_steps)
    try:
        for start in range(0, steps, length):
            piece.source.read(start, min(start + length, steps))
    except BadFileError as error:
        return error.reason
    return ""
