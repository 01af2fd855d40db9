"""Stored numbers to dates."""

import numpy as np
import pytest

from climanchor.archive.header import RawTime
from climanchor.archive.times import TimeAxis, TimeError, decode_time


def axis(values: list[float], units: str, stated: str = "standard", **options: str) -> TimeAxis:
    return decode_time(RawTime("time", np.array(values, float), units, stated, None), **options)


def test_months_since_a_start_are_months_in_any_calendar() -> None:
    found = axis([0, 1, 2, 13], "months since 1850-11-01", "noleap")
    assert [(d.year, d.month) for d in found.dates] == [(1850, 11), (1850, 12), (1851, 1), (1851, 12)]
    assert found.frequency == "mon"


def test_years_since_a_start_are_annual() -> None:
    found = axis([0, 1, 2], "years since 1850-01-01")
    assert found.frequency == "yr"
    assert list(found.slots) == [1850, 1851, 1852]


def test_dates_written_as_numbers_are_read() -> None:
    found = axis([18500116.5, 18500215.0, 18500316.5], "day as %Y%m%d.%f")
    assert [(d.month, d.day) for d in found.dates] == [(1, 16), (2, 15), (3, 16)]


def test_months_stamped_on_different_days_share_slots() -> None:
    start = axis([0, 31, 59], "days since 1850-01-01", "noleap")
    middle = axis([15.5, 45, 74.5], "days since 1850-01-01", "noleap")
    np.testing.assert_array_equal(start.slots, middle.slots)


def test_a_missing_calendar_is_inferred_from_how_the_dates_drift() -> None:
    yearly = np.arange(0, 110) * 365.0 + 200
    assert axis(list(yearly), "days since 1870-03-01", "").calendar == "noleap"
    monthly = np.arange(0, 600) * 30.0 + 15
    assert axis(list(monthly), "days since 1850-01-01", "").calendar == "360_day"


def test_a_missing_calendar_is_standard_where_nothing_speaks_against_it() -> None:
    found = axis([15, 45, 74], "days since 1850-01-01", "")
    assert found.calendar == "standard"
    assert found.notes == ("no calendar attribute: standard assumed",)


def test_a_given_calendar_stands_in_for_a_missing_one_only() -> None:
    assert axis([15, 45], "days since 1850-01-01", "", calendar="365_day").calendar == "noleap"
    assert axis([15, 45], "days since 1850-01-01", "360_day", calendar="noleap").calendar == "360_day"


def test_a_lone_date_has_the_declared_frequency() -> None:
    assert axis([15], "days since 1850-01-01", frequency="mon").frequency == "mon"
    assert axis([15], "days since 1850-01-01", frequency="day").frequency == "day"


@pytest.mark.parametrize(
    ("values", "units", "match"),
    [
        ([1, 2], "days", "name no start"),
        ([1, 2], "", "name no start"),
        ([1, 2], "fortnights since 1850-01-01", "fortnights"),
        ([1, 2], "days since yesterday", "yesterday"),
        ([1e30, 2e30], "days since 1850-01-01", "days since 1850"),
    ],
)
def test_time_that_makes_no_sense_is_refused(values: list[float], units: str, match: str) -> None:
    with pytest.raises(TimeError, match=match):
        axis(values, units)
