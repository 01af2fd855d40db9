"""Reading values: one array over the files of all members of a model, opened only when a part is asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from climanchor.archive.grids import Grid, Orientation
from climanchor.archive.header import Header
from climanchor.archive.integrity import BadFileError, open_file

_Values = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Source:
    """Where and how one file holds its values; ``add`` is what brings them to kelvin."""

    path: str
    name: str
    axes: tuple[int, ...]
    rank: int
    dtype: str
    fills: tuple[float, ...]
    scale: float | None
    offset: float | None
    orientation: Orientation | None
    add: float = 0.0

    @classmethod
    def of(cls, header: Header, grid: Grid, *, add: float = 0.0) -> "Source":
        """The source that a header describes, on its normalised grid."""
        return cls(
            path=header.path,
            name=header.name,
            axes=header.axes,
            rank=len(header.shape),
            dtype=header.unpacked or header.dtype,
            fills=header.fills,
            scale=header.scale,
            offset=header.offset,
            orientation=grid.orientation,
            add=add,
        )

    def read(self, start: int, stop: int) -> _Values:
        """Steps ``start`` to ``stop`` as ``(step, *space)``: unpacked, fill values NaN, in kelvin.

        A file without time has one step. ``BadFileError`` names the file and the steps.
        """
        index: list[slice | int] = [0] * self.rank
        for axis in self.axes:
            if axis >= 0:
                index[axis] = slice(None)
        if self.axes[0] >= 0:
            index[self.axes[0]] = slice(start, stop)
        try:
            with open_file(self.path) as file:
                stored = np.asarray(file.variables[self.name][tuple(index)])
        except (BadFileError, KeyError, IndexError) as error:
            reason = getattr(error, "reason", f"no longer holds {self.name!r} as when it was opened")
            raise BadFileError(self.path, f"steps {start} to {stop} of {self.name!r}: {reason}") from error
        return self._decoded(self._ordered(stored))

    def _ordered(self, stored: NDArray[Any]) -> NDArray[Any]:
        kept = sorted(axis for axis in self.axes if axis >= 0)
        order = [kept.index(axis) for axis in self.axes if axis >= 0]
        turned = stored.transpose(order)
        return turned if self.axes[0] >= 0 else turned[np.newaxis]

    def _decoded(self, stored: NDArray[Any]) -> _Values:
        values = stored.astype(self.dtype, copy=stored.dtype.kind != "f" or not stored.flags.writeable)
        if self.scale is not None:
            values *= self.scale
        if self.offset is not None:
            values += self.offset
        if stored.dtype.kind == "f" and self.scale is None and self.offset is None:
            _blank(values, self.fills)
        else:
            for fill in self.fills:
                values[stored == np.asarray(fill).astype(stored.dtype)] = np.nan
        if self.add:
            values += values.dtype.type(self.add)
        return values if self.orientation is None else self.orientation.apply(values)


def _blank(values: _Values, fills: tuple[float, ...]) -> None:
    """Write NaN over fill values in place; where all are huge, one look at the largest value may do."""
    if not fills or not values.size:
        return
    if min(fills) > 1e10 and values.max() < min(fills) * (1 - 1e-6):
        return
    for fill in fills:
        values[values == values.dtype.type(fill)] = np.nan


class MemberArray:
    """The values of all members of a model as one array ``(member, time, *space)`` that reads when indexed.

    ``files`` and ``steps``, both ``(member, time)``, say which source and which of its steps holds each field;
    -1 is a field that a member does not have, which reads as NaN. Files are opened for one read and closed, so
    any number of members costs no handles. Made for ``dask.array.from_array``.
    """

    def __init__(
        self,
        sources: list[Source],
        files: NDArray[np.int64],
        steps: NDArray[np.int64],
        *,
        space: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        self.sources, self.files, self.steps = sources, files, steps
        self.shape = (*files.shape, *space)
        self.ndim = len(self.shape)
        self.dtype = dtype

    def __getitem__(self, key: tuple[slice | int, ...]) -> NDArray[Any]:
        full: list[slice | int] = [*key, *[slice(None)] * (self.ndim - len(key))]
        members, times, space = full[0], full[1], full[2:]
        rows = np.atleast_1d(np.arange(self.shape[0])[members])
        columns = np.atleast_1d(np.arange(self.shape[1])[times])
        blocks = [self._member(self.files[row, columns], self.steps[row, columns]) for row in rows]
        shape = (0, columns.size, *self.shape[2:])
        out = blocks[0][np.newaxis] if len(blocks) == 1 else np.stack(blocks) if blocks else np.empty(shape, self.dtype)
        whole = tuple(0 if isinstance(part, int | np.integer) else slice(None) for part in (members, times))
        return np.asarray(out[(*whole, *space)])

    def _member(self, files: NDArray[np.int64], steps: NDArray[np.int64]) -> _Values:
        """Fields of one member; a block that lies in one file is passed on without a copy."""
        parts = list(stretches(files, steps))
        if len(parts) == 1 and files[0] >= 0:
            return self._read(files, steps, 0, files.size)
        out = np.empty((files.size, *self.shape[2:]), self.dtype)
        for first, last in parts:
            out[first:last] = np.nan if files[first] < 0 else self._read(files, steps, first, last)
        return out

    def _read(self, files: NDArray[np.int64], steps: NDArray[np.int64], first: int, last: int) -> _Values:
        source = self.sources[files[first]]
        return np.asarray(source.read(int(steps[first]), int(steps[last - 1]) + 1), dtype=self.dtype)


def stretches(files: NDArray[np.int64], steps: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Stretches that one read can fill: one file, consecutive steps; or no file."""
    same = (np.diff(files) == 0) & ((np.diff(steps) == 1) | (files[1:] < 0))
    edges = np.concatenate([[0], np.flatnonzero(~same) + 1, [files.size]])
    for first, last in pairwise(edges):
        if last > first:
            yield int(first), int(last)
