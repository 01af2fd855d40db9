"""Time axes: stored numbers to dates in any calendar, and to integer slots that files and members share."""

import re
from dataclasses import dataclass
from itertools import pairwise

import cftime
import numpy as np
from numpy.typing import NDArray

from climanchor.archive.header import RawTime

_SAME = {"gregorian": "standard", "365_day": "noleap", "366_day": "all_leap", "none": "", "proleptic": ""}
CALENDARS = frozenset({"standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"})
_GUESSES = ("standard", "noleap", "360_day")
_ABSOLUTE = re.compile(r"day as %Y(%m)?(%d)?(\.%f)?")
_COARSE = re.compile(r"(month|year)s?\s+since\s+(-?\d+)(?:-(\d+))?", re.IGNORECASE)


class TimeError(ValueError):
    """A time axis that cannot be understood."""


@dataclass(frozen=True)
class TimeAxis:
    """Dates of one file. ``slots`` number the months (or years, days, minutes) of the ``frequency``.

    Two dates in one month have the same monthly slot whatever their day, so files stamped in the middle and at
    the start of months agree.
    """

    dates: NDArray[np.object_]
    slots: NDArray[np.int64]
    calendar: str
    frequency: str
    notes: tuple[str, ...] = ()


def decode_time(raw: RawTime, *, calendar: str = "", frequency: str = "") -> TimeAxis:
    """Dates and slots of a stored time axis; ``TimeError`` where it makes no sense.

    A file without a calendar has the one given, else the one whose dates drift least through the year (CF's
    default, ``standard``, unless another is clearly better). Monthly dates that lie outside their own bounds
    (stamps at the end of the month) are replaced by the middle of the bounds. ``frequency`` is the declared
    one; the spacing of the dates decides where there are enough of them.

    >>> raw = RawTime("time", np.array([15.0, 45.0, 75.0]), "days since 1850-01-01", "360_day", None)
    >>> axis = decode_time(raw)
    >>> axis.frequency, str(axis.dates[2]), axis.slots - axis.slots[0]
    ('mon', '1850-03-16 00:00:00', array([0, 1, 2]))
    """
    notes: list[str] = []
    stated = _SAME.get(raw.calendar, raw.calendar)
    if stated and stated not in CALENDARS:
        raise TimeError(f"unknown calendar {raw.calendar!r}")
    chosen = stated or _SAME.get(calendar, calendar)
    if not chosen:
        chosen = _guess_calendar(raw)
        notes.append(f"no calendar attribute: {chosen} assumed")
    dates = _dates(raw, raw.values, chosen)
    rhythm = _frequency(dates, raw, frequency)
    if rhythm == "mon" and raw.bounds is not None:
        dates, moved = _inside_bounds(raw, dates, chosen)
        notes += ["time stamps lie outside their bounds: the middle of the bounds is used"] if moved else []
    return TimeAxis(dates, slots_of(dates, rhythm), chosen, rhythm, tuple(notes))


def slots_of(dates: NDArray[np.object_], frequency: str) -> NDArray[np.int64]:
    """Integer slot of each date: years, months, days, or minutes for anything finer."""
    if frequency in ("yr", "mon"):
        per_year = 12 if frequency == "mon" else 1
        numbers = [d.year * per_year + (d.month - 1 if per_year == 12 else 0) for d in dates]
        return np.array(numbers, dtype=np.int64)
    unit = "days" if frequency == "day" else "minutes"
    numbers = cftime.date2num(dates, f"{unit} since 0001-01-01", calendar=dates[0].calendar)
    return np.floor(np.asarray(numbers, dtype=np.float64) + 1e-6).astype(np.int64)


def slot_name(slot: int, frequency: str) -> str:
    """A slot as text for messages.

    >>> slot_name(1850 * 12 + 11, "mon"), slot_name(1850, "yr")
    ('1850-12', '1850')
    """
    if frequency == "mon":
        return f"{slot // 12:04d}-{slot % 12 + 1:02d}"
    return f"{slot:04d}" if frequency == "yr" else f"{frequency or 'step'} {slot}"


def compatible(calendar: str, other: str) -> bool:
    """Whether two calendars give the same dates (standard and proleptic Gregorian do, after 1582)."""
    modern = {"standard", "proleptic_gregorian"}
    return calendar == other or {calendar, other} <= modern


def in_calendar(dates: NDArray[np.object_], calendar: str) -> NDArray[np.object_]:
    """The same year, month, day and hour in another (compatible) calendar."""
    if dates.size == 0 or dates[0].calendar == calendar:
        return dates
    parts = [(d.year, d.month, d.day, d.hour, d.minute, d.second) for d in dates]
    return np.array([cftime.datetime(*p, calendar=calendar) for p in parts], dtype=object)


def _dates(raw: RawTime, values: NDArray[np.float64], calendar: str) -> NDArray[np.object_]:
    units = raw.units
    plain = not units and raw.name.lower() == "year"
    try:
        if plain or units.lower() in ("year", "years") or _ABSOLUTE.match(units):
            return _absolute(values, units, calendar)
        coarse = _COARSE.match(units)
        if coarse:
            return _since_month(values, coarse, calendar)
        if not re.search(r"\ssince\s", units):
            raise TimeError(f"time has the units {units!r}, which name no start")
        decoded = cftime.num2date(values, units, calendar, only_use_cftime_datetimes=True)
    except TimeError:
        raise
    except (ValueError, OverflowError, TypeError, KeyError) as error:
        raise TimeError(f"time in {units!r}, calendar {calendar}: {error}") from error
    dates = np.asarray(decoded, dtype=object)
    if any(abs(d.year) > 100_000 for d in (dates.flat[0], dates.flat[-1])):
        raise TimeError(f"time in {units!r} gives the year {dates.flat[0].year}")
    return dates


def _absolute(values: NDArray[np.float64], units: str, calendar: str) -> NDArray[np.object_]:
    """Years, or dates written as numbers: ``day as %Y%m%d.%f``."""
    found = _ABSOLUTE.match(units)
    whole = np.floor(values).astype(np.int64)
    if found and found[2]:
        parts = [(n // 10000, n // 100 % 100, n % 100) for n in whole]
    elif found and found[1]:
        parts = [(n // 100, n % 100, 15) for n in whole]
    else:
        parts = [(n, 7, 1) for n in whole]
    return np.array([cftime.datetime(*map(int, p), calendar=calendar) for p in parts], dtype=object)


def _since_month(values: NDArray[np.float64], units: re.Match[str], calendar: str) -> NDArray[np.object_]:
    """Months or years since a start: the middle of the month, 1 July for years."""
    start = int(units[2]) * 12 + int(units[3] or 1) - 1
    step = 12 if units[1].lower() == "year" else 1
    months = np.floor(start + values * step + 1e-6).astype(np.int64)
    return np.array([cftime.datetime(int(m) // 12, int(m) % 12 + 1, 15, calendar=calendar) for m in months])


def _guess_calendar(raw: RawTime) -> str:
    """The calendar in which dates of one month drift least from year to year; ``standard`` unless clearly worse."""
    drifts = {}
    for calendar in _GUESSES:
        try:
            dates = _dates(raw, raw.values, calendar)
        except TimeError:
            continue
        drifts[calendar] = _drift(dates)
    if not drifts:
        raise TimeError(f"time in {raw.units!r} cannot be read in any calendar")
    best = min(drifts, key=lambda name: drifts[name])
    return best if drifts[best] < drifts.get("standard", np.inf) - 1.5 else "standard"


def _drift(dates: NDArray[np.object_]) -> float:
    """Largest range, in days, of the position in the year of every twelfth (or every) date."""
    if dates.size < 2:
        return 0.0
    position = np.array([d.dayofyr + d.hour / 24 for d in dates])
    yearly = _days_between(dates) > 300
    lanes = [position] if yearly else [position[i::12] for i in range(12)]
    return max(float(_circular_range(lane)) for lane in lanes if lane.size)


def _circular_range(days: NDArray[np.float64]) -> float:
    """Range of days of the year about the first of them, the year being a circle of 365 days."""
    away = (days - days[0] + 182.5) % 365.0 - 182.5
    return float(np.ptp(away))


def _days_between(dates: NDArray[np.object_]) -> float:
    sample = np.array([(b - a).total_seconds() for a, b in pairwise(dates[:60])])
    return float(np.median(sample)) / 86400


def _frequency(dates: NDArray[np.object_], raw: RawTime, declared: str) -> str:
    """``yr``, ``mon``, ``day`` or finer, by the spacing of the dates; the declared one for a lone date."""
    if dates.size > 1:
        spacing = abs(_days_between(dates))
    elif declared:
        return "mon" if declared == "monC" else declared
    elif raw.bounds is not None and "days since" in raw.units.lower():
        spacing = float(abs(np.diff(raw.bounds[0])[0]))
    else:
        return "yr" if raw.name.lower() == "year" else "mon"
    for name, low, high in (("yr", 300, 400), ("mon", 25, 35), ("day", 0.9, 1.1)):
        if low <= spacing <= high:
            return name
    return declared if declared in ("yr", "mon") and spacing > 35 else "other"


def _inside_bounds(raw: RawTime, dates: NDArray[np.object_], calendar: str) -> tuple[NDArray[np.object_], bool]:
    """Dates moved to the middle of their bounds where they lie outside, and whether any did."""
    assert raw.bounds is not None
    low, high = raw.bounds.min(axis=1), raw.bounds.max(axis=1)
    width = high - low
    plausible = bool((width > 0).all()) and width.max() < 1.5 * np.median(width)
    outside = (raw.values < low) | (raw.values >= high)
    if not plausible or not outside.any():
        return dates, False
    return _dates(raw, (low + high) / 2, calendar), True
