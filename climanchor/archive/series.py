"""One member's series: the files of a run put on one time axis, with what does not fit set aside."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from climanchor.archive.grids import Grid, normalise_grid
from climanchor.archive.header import Header
from climanchor.archive.integrity import BadFileError
from climanchor.archive.probe import READER
from climanchor.archive.reading import Source
from climanchor.archive.runs import Problem, Run
from climanchor.archive.times import TimeAxis, TimeError, compatible, decode_time, slot_name, slots_of
from climanchor.archive.units import UnitsError, infer_units, is_temperature, kelvin_offset

_T = TypeVar("_T")


@dataclass(frozen=True)
class Piece:
    """One usable file of a run; ``units`` are those of the opened values (K for a temperature)."""

    header: Header
    axis: TimeAxis | None
    grid: Grid
    source: Source
    units: str
    stored_units: str


@dataclass(frozen=True)
class Series:
    """The files of one run on one time axis.

    ``slots`` are the sorted steps that exist; ``files`` and ``steps`` say which piece holds each, and where.
    ``repeats`` are steps that are there more than once, as (slot, piece kept, step, piece passed over, step).
    """

    run: Run
    pieces: tuple[Piece, ...]
    slots: NDArray[np.int64]
    files: NDArray[np.int64]
    steps: NDArray[np.int64]
    dates: NDArray[np.object_]
    calendar: str
    frequency: str
    repeats: tuple[tuple[int, int, int, int, int], ...]

    @property
    def grid(self) -> Grid:
        """The grid all pieces share."""
        return self.pieces[0].grid

    @property
    def missing(self) -> NDArray[np.int64]:
        """Slots between the first and the last that no file holds."""
        if self.frequency not in ("yr", "mon", "day") or not self.slots.size:
            return np.empty(0, np.int64)
        return np.setdiff1d(np.arange(self.slots[0], self.slots[-1] + 1), self.slots)


def read_series(run: Run) -> tuple[Series | None, list[Problem]]:
    """Read the headers of a run's files and put them on one time axis.

    Returns the series (``None`` where no file is usable) and the problems met. Reads headers and coordinates;
    of the data, the last step of a file (a check), and one field where temperature has no units.
    """
    problems: list[Problem] = []
    pieces = [piece for path in run.paths if (piece := _read_piece(run, str(path), problems))]
    for what, value, same in _AGREEMENTS:
        pieces = _majority(run, pieces, what, value, same, problems)
    if not pieces:
        reason = "no usable file" if run.paths else "no files"
        return None, [*problems, Problem(run.model, run.member, "", reason)]
    return _assemble(run, pieces), problems


def _read_piece(run: Run, path: str, problems: list[Problem]) -> Piece | None:
    """One file, or ``None`` and a problem."""
    try:
        header = READER.read(path, run.name_in_file or run.variable)
        grid = normalise_grid(header.grid)
        axis = None
        if header.time is not None:
            axis = decode_time(header.time, calendar=run.calendar, frequency=run.frequency)
        elif run.frequency not in ("fx", ""):
            raise TimeError("it has no time")
        source = Source.of(header, grid)
        stored, units, add, assumed = _units(run, header, source)
    except BadFileError as error:
        reason = error.reason
    except TimeError as error:
        reason = f"has unreadable time: {error}"
    except ValueError as error:
        reason = str(error)
    else:
        noted = [(note, "noted") for note in grid.notes]
        noted += [(note, "assumed") for note in (*(axis.notes if axis else ()), *assumed)]
        problems += [Problem(run.model, run.member, path, note, action) for note, action in noted]
        return Piece(header, axis, grid, replace(source, add=add), units, stored)
    problems.append(Problem(run.model, run.member, path, reason))
    return None


def _units(run: Run, header: Header, source: Source) -> tuple[str, str, float, list[str]]:
    """Stored units, units once opened, what to add, and assumptions made."""
    stored = run.units or header.attributes.get("units", "")
    if not is_temperature(run.variable, header.attributes.get("standard_name", "")):
        return stored, stored, 0.0, []
    assumed: list[str] = []
    if not stored:
        stored = infer_units(float(np.nanmedian(source.read(0, 1))))
        assumed = [f"temperature without units: {stored} inferred from the values"]
    add = kelvin_offset(stored)
    if add is None:
        raise UnitsError(f"units {stored!r} are not those of a temperature: give units= to describe_run")
    return stored, "K", add, assumed


def _calendar(piece: Piece) -> str:
    return piece.axis.calendar if piece.axis else ""


def _frequency(piece: Piece) -> str:
    return piece.axis.frequency if piece.axis else "fx"


#: What the files of one run, and the members of one model, must agree on: name, text, comparison.
_AGREEMENTS: tuple[tuple[str, Callable[[Piece], str], Callable[[Piece, Piece], bool]], ...] = (
    ("grid", lambda p: p.grid.describe(), lambda p, q: p.grid.same_as(q.grid)),
    ("frequency", _frequency, lambda p, q: _frequency(p) == _frequency(q)),
    ("calendar", _calendar, lambda p, q: compatible(_calendar(p), _calendar(q))),
    ("units", lambda p: p.units, lambda p, q: p.units == q.units),
)


def _majority(
    run: Run,
    pieces: Sequence[Piece],
    what: str,
    value: Callable[[Piece], str],
    same: Callable[[Piece, Piece], bool],
    problems: list[Problem],
) -> list[Piece]:
    """The largest group of files that agree; the others are set aside."""
    groups = group_by(pieces, same)
    best = max(groups, key=len, default=[])
    for group in groups:
        for piece in group if group is not best else ():
            reason = f"{what} {value(piece)} differs from {value(best[0])} of the run's other files"
            problems.append(Problem(run.model, run.member, piece.header.path, reason))
    return list(best)


def disagreements(series: Sequence[Series]) -> tuple[list[Series], list[Problem]]:
    """Members of one model that agree on grid, frequency, calendar and units, and problems for the others."""
    kept, problems = list(series), []
    for what, value, same in _AGREEMENTS:
        groups = group_by([s.pieces[0] for s in kept], same)
        best = max(groups, key=len, default=[])
        chosen = {id(piece) for piece in best}
        for odd in (s for s in kept if id(s.pieces[0]) not in chosen):
            found, usual = value(odd.pieces[0]), value(best[0])
            reason = f"{what} {found} differs from {usual} of its {len(best)} sibling(s)"
            problems.append(Problem(odd.run.model, odd.run.member, "", reason))
        kept = [s for s in kept if id(s.pieces[0]) in chosen]
    return kept, problems


def group_by(items: Iterable[_T], same: Callable[[_T, _T], bool]) -> list[list[_T]]:
    """Groups of items that are the same as the first of their group, in order of appearance."""
    groups: list[list[_T]] = []
    for item in items:
        for group in groups:
            if same(group[0], item):
                group.append(item)
                break
        else:
            groups.append([item])
    return groups


def _assemble(run: Run, pieces: list[Piece]) -> Series:
    """One time axis from all pieces; of a step held more than once, the longest file's is kept."""
    pieces = sorted(pieces, key=_start)
    axes = [piece.axis for piece in pieces]
    if axes[0] is None:
        zero = np.zeros(1, np.int64)
        spare = tuple((0, 0, 0, i, 0) for i in range(1, len(pieces)))
        return Series(run, tuple(pieces), zero, zero, zero, np.array([None]), "", "fx", spare)
    frequency = axes[0].frequency
    dates = np.concatenate([axis.dates for axis in axes if axis])
    slots = np.concatenate([slots_of(axis.dates, frequency) for axis in axes if axis])
    files = np.concatenate([np.full(axis.slots.size, i) for i, axis in enumerate(axes) if axis])
    steps = np.concatenate([np.arange(axis.slots.size) for axis in axes if axis])
    size = np.array([axis.slots.size if axis else 0 for axis in axes])
    order = np.lexsort((steps, files, -size[files], slots))
    slots, files, steps, dates = slots[order], files[order], steps[order], dates[order]
    first = np.concatenate([[True], np.diff(slots) > 0])
    keeper = np.maximum.accumulate(np.where(first, np.arange(slots.size), 0))
    again = np.flatnonzero(~first)
    repeats = tuple(
        (int(slots[i]), int(files[k]), int(steps[k]), int(files[i]), int(steps[i]))
        for i, k in zip(again, keeper[again], strict=True)
    )
    kept = (slots[first], files[first], steps[first], dates[first])
    return Series(run, tuple(pieces), *kept, axes[0].calendar, frequency, repeats)


def _start(piece: Piece) -> tuple[int, str]:
    return (int(piece.axis.slots.min()) if piece.axis else 0, piece.header.path)


def differing_repeats(series: Series) -> Problem | None:
    """Compare the steps that are held twice; a problem naming both files where values differ.

    Reads the repeated steps from both files, a few fields at a time, and stops at the first difference.
    """
    for kept, other, kept_step, other_step, slots in _repeated_stretches(series):
        one, two = series.pieces[kept].source, series.pieces[other].source
        try:
            a = one.read(kept_step, kept_step + len(slots))
            b = two.read(other_step, other_step + len(slots))
        except BadFileError as error:
            return Problem(series.run.model, series.run.member, error.path, error.reason)
        different = [not np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True)]
        if any(different):
            when = slot_name(slots[different.index(True)], series.frequency)
            reason = f"overlaps {two.path} and differs from it at {when}: remove the one that is wrong"
            return Problem(series.run.model, series.run.member, one.path, reason)
    return None


def axis_notes(series: Series) -> list[str]:
    """What a reader of the series should know of its time axis: gaps, and steps that were there twice."""
    notes = []
    if series.missing.size:
        first, last = (slot_name(int(series.missing[i]), series.frequency) for i in (0, -1))
        notes.append(f"{series.missing.size} step(s) missing between {first} and {last}")
    if series.repeats:
        pairs = {(kept, other) for _, kept, _, other, _ in series.repeats}
        names = sorted({series.pieces[i].header.path for pair in pairs for i in pair})
        notes.append(f"{len(series.repeats)} step(s) held twice with identical values: {', '.join(names)}")
    return notes


def _repeated_stretches(series: Series) -> Iterator[tuple[int, int, int, int, list[int]]]:
    """Repeats as stretches of consecutive steps in both files, at most 24 fields each."""
    held: list[tuple[int, int, int, int, int]] = []
    for repeat in sorted(series.repeats, key=lambda r: (r[1], r[3], r[2])):
        _, kept, kept_step, other, other_step = repeat
        follows = bool(held) and held[-1][1:] == (kept, kept_step - 1, other, other_step - 1)
        if held and (not follows or len(held) == 24):
            yield held[0][1], held[0][3], held[0][2], held[0][4], [r[0] for r in held]
            held = []
        held.append(repeat)
    if held:
        yield held[0][1], held[0][3], held[0][2], held[0][4], [r[0] for r in held]
