"""The coverage table, year by year, and the memory estimate."""

from pathlib import Path
from typing import Any

import numpy as np

from climanchor.archive import coverage, coverage_years, find_runs, format_coverage, memory_estimate


def test_a_row_says_what_a_member_has(tmp_path: Path, write: Any) -> None:
    for year in (1850, 1851):
        write(years=(year, year), dates=f"{year}01-{year}12", calendar="360_day")
    (row,) = coverage(find_runs(tmp_path)).to_dict("records")
    expected = {
        "model": "CESM2", "member": "r1i1p1f1", "files": 2, "used": 2, "first": "1850-01", "last": "1851-12",
        "steps": 24, "complete_years": 2, "missing": 0, "duplicate": 0, "overlaps": 0, "calendar": "360_day",
        "grid": "rectilinear 3×4", "units": "K", "version": "v20190308", "usable": True, "problems": "",
    }  # fmt: skip
    assert {key: row[key] for key in expected} == expected


def test_gaps_duplicates_and_overlaps_are_counted(tmp_path: Path, write: Any) -> None:
    write(years=(1850, 1851), dates="185001-185112")
    write(years=(1851, 1851), dates="185101-185112")
    write(years=(1853, 1853), months=slice(2, 12), dates="185303-185312")
    row = coverage(find_runs(tmp_path)).iloc[0]
    assert (row.missing, row.duplicate, row.overlaps, row.complete_years) == (14, 12, 1, 2)
    assert row.gaps == "1852-01…1853-02"


def test_bad_files_are_listed_and_a_member_without_good_ones_is_not_usable(tmp_path: Path, write: Any) -> None:
    write(member="r1i1p1f1", touch=True)
    write(member="r2i1p1f1")
    write(member="r2i1p1f1", touch=True, dates="185201-185212")
    table = coverage(find_runs(tmp_path)).set_index("member")
    assert list(table.usable) == [False, True]
    assert list(table.used) == [0, 1]
    assert "185201-185212.nc: is empty (0 bytes) (set aside)" in table.problems["r2i1p1f1"]
    assert "no usable file" in table.problems["r1i1p1f1"]


def test_older_versions_appear_among_the_problems(tmp_path: Path, write: Any) -> None:
    write(version="v1")
    write(version="v2")
    assert coverage(find_runs(tmp_path)).problems[0] == "older version v1 not used (1 files)"


def test_complete_years_make_a_boolean_table(tmp_path: Path, write: Any) -> None:
    write(member="r1i1p1f1", years=(1850, 1852))
    write(member="r2i1p1f1", years=(1850, 1853), months=slice(11, 48), dates="185012-185312")
    write(member="r3i1p1f1", touch=True)
    table = coverage_years(find_runs(tmp_path))
    assert list(table.columns) == [1850, 1851, 1852, 1853]
    expected = [[True, True, True, False], [False, True, True, True], [False] * 4]
    np.testing.assert_array_equal(table.to_numpy(), expected)
    assert table.index.names == ["model", "experiment", "member"]


def test_the_table_reads_as_text(tmp_path: Path, write: Any) -> None:
    write()
    write(member="r2i1p1f1", touch=True)
    text = format_coverage(coverage(find_runs(tmp_path)), width=120)
    header, first, second, *rest = text.splitlines()
    assert header.split()[:4] == ["model", "member", "files", "first"]
    assert first.split()[:5] == ["CESM2", "r1i1p1f1", "1", "1850-01", "1851-12"]
    assert second.split()[-1] == "NO"
    assert any("is empty (0 bytes)" in line for line in rest)


def test_experiments_are_told_apart_where_there_are_several(tmp_path: Path, write: Any) -> None:
    write()
    write(experiment="piControl")
    text = format_coverage(coverage(find_runs(tmp_path, experiment="*")), width=140)
    assert "piControl" in text


def test_overlap_is_counted_without_reading_values(tmp_path: Path, write: Any, monkeypatch: Any) -> None:
    """Coverage reads headers: values that differ in an overlap are found when the run is opened."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr("climanchor.archive.reading.Source.read", refuse)
    write(years=(1850, 1851), dates="185001-185112", seed=1)
    write(years=(1851, 1851), dates="185101-185112", seed=2)
    assert coverage(find_runs(tmp_path)).duplicate[0] == 12


def test_the_memory_estimate_counts_values(tmp_path: Path, write: Any) -> None:
    write()
    write(member="r2i1p1f1")
    estimate = memory_estimate(find_runs(tmp_path), grid=(36, 72), itemsize=8)
    assert estimate.members == 2
    assert estimate.monthly == 2 * 24 * 3 * 4 * 4
    assert estimate.annual == 2 * 2 * 36 * 72 * 8
    assert "2 member(s)" in estimate.describe()
