"""Bad files and members are set aside with their reason, and the rest goes on."""

import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

from climanchor.archive import (
    ArchiveError,
    BadFileError,
    Runs,
    describe_run,
    find_runs,
    open_runs,
    probe,
    problems,
    verify_runs,
)
from climanchor.archive.integrity import check_file
from climanchor.archive.probe import HeaderReader

FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def web_page(path: Path) -> None:
    path.write_text("<!DOCTYPE html><title>404</title>")


def other_variable(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.renameVariable("tas", "pr")


def time_without_start(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.variables["time"].units = "days"


def time_missing(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.variables["time"][3] = np.nan


def odd_calendar(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.variables["time"].calendar = "mayan"


def no_latitude(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.renameVariable("lat", "something")
        file.variables["something"].delncattr("units")


def latitude_out_of_range(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.variables["lat"][:] = [-60.0, 0.0, 600.0]


def odd_units(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.variables["tas"].units = "furlongs"


def unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()
    shutil.rmtree(path)
    path.symlink_to("nowhere")


FAULTS: list[tuple[Callable[[Path], None], str]] = [
    (truncate, "is truncated"),
    (empty, "is empty"),
    (web_page, "is not netCDF"),
    (other_variable, "holds no variable 'tas'"),
    (time_without_start, "unreadable time"),
    (time_missing, "unreadable time"),
    (odd_calendar, "unknown calendar 'mayan'"),
    (no_latitude, "no latitude and longitude"),
    (latitude_out_of_range, "latitude reaches 600"),
    (odd_units, "units 'furlongs'"),
    (unreadable, "cannot be read"),
]


@pytest.mark.parametrize(("spoil", "reason"), FAULTS, ids=[f.__name__ for f, _ in FAULTS])
def test_a_bad_member_is_set_aside_and_the_others_go_on(
    tmp_path: Path, write: Any, spoil: Callable[[Path], None], reason: str
) -> None:
    for r in (1, 2, 3):
        path = write(member=f"r{r}i1p1f1", seed=r)
        if r == 2:
            spoil(path)
            bad = path
    tree = open_runs(find_runs(tmp_path))
    assert list(tree["CESM2"].member.values) == ["r1i1p1f1", "r3i1p1f1"]
    assert np.isfinite(tree["CESM2"].tas.values).all()
    table = problems(tree)
    assert set(table.member) == {"r2i1p1f1"}
    assert reason in table[table.path == str(bad)].reason.item()
    with pytest.raises(ArchiveError, match=r"strict=True[\s\S]*" + reason):
        open_runs(find_runs(tmp_path), strict=True)


def test_a_bad_file_costs_its_years_and_no_more(tmp_path: Path, write: Any) -> None:
    paths = [write(years=(y, y), dates=f"{y}01-{y}12", seed=y) for y in (1850, 1851, 1852)]
    truncate(paths[1])
    tree = open_runs(find_runs(tmp_path))
    assert tree["CESM2"].sizes["time"] == 24
    assert [Path(p).name for p in problems(tree).path if p] == [paths[1].name]


def test_the_file_on_another_grid_is_the_one_set_aside(tmp_path: Path, write: Any) -> None:
    for year in (1850, 1851, 1852):
        odd = {"lat": (-45.0, 45.0)} if year == 1850 else {}
        write(years=(year, year), dates=f"{year}01-{year}12", **odd)
    tree = open_runs(find_runs(tmp_path))
    assert tree["CESM2"].sizes["time"] == 24
    assert "grid rectilinear 2×4 differs from rectilinear 3×4" in problems(tree).reason[0]


def test_the_member_on_another_grid_is_set_aside(tmp_path: Path, write: Any) -> None:
    for r in (1, 2, 3):
        shifted = {"lon": (45.0, 135.0, 225.0, 315.0)} if r == 1 else {}
        write(member=f"r{r}i1p1f1", **shifted)
    tree = open_runs(find_runs(tmp_path))
    assert list(tree["CESM2"].member.values) == ["r2i1p1f1", "r3i1p1f1"]
    assert problems(tree).iloc[0].member == "r1i1p1f1"


def test_the_member_in_another_calendar_is_set_aside(tmp_path: Path, write: Any) -> None:
    for r, calendar in ((1, "standard"), (2, "360_day"), (3, "proleptic_gregorian")):
        write(member=f"r{r}i1p1f1", calendar=calendar)
    tree = open_runs(find_runs(tmp_path))
    assert list(tree["CESM2"].member.values) == ["r1i1p1f1", "r3i1p1f1"]
    assert "calendar 360_day differs from standard" in problems(tree).reason[0]


def test_overlapping_files_that_differ_are_refused_with_both_names(tmp_path: Path, write: Any) -> None:
    one = write(years=(1850, 1851), dates="185001-185112", seed=1)
    two = write(years=(1851, 1852), dates="185101-185212", seed=2)
    write(member="r2i1p1f1")
    tree = open_runs(find_runs(tmp_path))
    assert list(tree["CESM2"].member.values) == ["r2i1p1f1"]
    (problem,) = problems(tree).itertuples()
    assert {problem.path, problem.reason.split()[1]} == {str(one), str(two)}
    assert "differs from it at 1851-01" in problem.reason


def test_a_month_twice_in_one_file_with_other_values_is_refused(tmp_path: Path, write: Any) -> None:
    path = write()
    with netCDF4.Dataset(path, "a") as file:
        file.variables["time"][5] = file.variables["time"][4]
        file.variables["time_bnds"][5] = file.variables["time_bnds"][4]
    with pytest.raises(ArchiveError, match="differs from it at 1850-05"):
        open_runs(find_runs(tmp_path))


def test_a_variable_with_levels_is_refused_with_the_dimension(tmp_path: Path, write: Any) -> None:
    path = write()
    with xr.open_dataset(path, decode_times=False) as old:
        deep = old.load()
    deep["tas"] = deep.tas.expand_dims(plev=[1000.0, 500.0], axis=1)
    deep.to_netcdf(path)
    with pytest.raises(ArchiveError, match="dimension 'plev' of length 2"):
        open_runs(find_runs(tmp_path))


def test_temperature_without_units_and_without_sense_is_set_aside(tmp_path: Path, write: Any) -> None:
    write(values=np.full((24, 3, 4), 1e5, "f4"), units=None)
    with pytest.raises(ArchiveError, match="median of 100000"):
        open_runs(find_runs(tmp_path))


def test_nothing_left_is_an_error_that_says_why(tmp_path: Path, write: Any) -> None:
    empty(write())
    with pytest.raises(ArchiveError, match=r"no usable run is left:[\s\S]*is empty"):
        open_runs(find_runs(tmp_path))


def test_no_runs_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="no runs to open"):
        open_runs(find_runs(tmp_path))


def test_what_finding_could_not_place_is_listed_after_opening(tmp_path: Path, write: Any) -> None:
    write()
    web_page(tmp_path / "stray.nc")
    tree = open_runs(find_runs(tmp_path), strict=True)
    assert [Path(p).name for p in problems(tree).path] == ["stray.nc"]


def test_a_file_that_fails_while_computing_is_named(tmp_path: Path, write: Any) -> None:
    path = write()
    tree = open_runs(find_runs(tmp_path))
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(BadFileError, match=r"185001-185112\.nc: steps 0 to 24 of 'tas': is truncated"):
        tree["CESM2"].tas.compute()


def test_a_file_that_failed_can_be_left_out(tmp_path: Path, write: Any) -> None:
    paths = [write(years=(y, y), dates=f"{y}01-{y}12") for y in (1850, 1851)]
    runs = find_runs(tmp_path).without(paths[0], reason="failed while read")
    assert runs[0].paths == (paths[1],)
    assert runs.problems[0].path == str(paths[0])
    with pytest.raises(ValueError, match="no run has the file"):
        runs.without(paths[0], reason="again")
    assert Runs().problems == ()


def damage_storage(path: Path) -> None:
    """Overwrite compressed data in the middle of a file; its header and its last field stay whole."""
    raw = bytearray(path.read_bytes())
    starts = [i for i in range(len(raw) - 1) if raw[i : i + 2] == b"\x78\x5e"]
    for start in starts[2:12]:
        raw[start : start + 40] = bytes(40)
    path.write_bytes(bytes(raw))


def test_damage_inside_compressed_data_is_found_by_reading_it_all(tmp_path: Path, write: Any) -> None:
    good, bad = (write(member=f"r{r}i1p1f1", zlib=True) for r in (1, 2))
    damage_storage(bad)
    runs = find_runs(tmp_path)
    with pytest.raises(BadFileError, match=r"r2i1p1f1_gn_185001-185112\.nc: steps 0 to 24 of 'tas'"):
        open_runs(runs)["CESM2"].tas.compute()
    checked = verify_runs(runs)
    assert [run.paths for run in checked] == [(good,), ()]
    assert [problem.path for problem in checked.problems] == [str(bad)]
    assert list(open_runs(checked)["CESM2"].member.values) == ["r1i1p1f1"]


def test_errors_survive_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(BadFileError("a.nc", "is empty")))
    assert (error.path, error.reason, str(error)) == ("a.nc", "is empty", "a.nc: is empty")


@pytest.mark.parametrize("kind", FORMATS)
def test_every_shortened_file_is_recognised(tmp_path: Path, write: Any, kind: str) -> None:
    path = write(format=kind)
    whole = path.read_bytes()
    check_file(path)
    cut = tmp_path / "cut.nc"
    for size in [*range(0, 60), *range(60, len(whole), 97), len(whole) - 1]:
        cut.write_bytes(whole[:size])
        with pytest.raises(BadFileError, match=r"cut\.nc"):
            check_file(cut)


def test_a_missing_file_is_a_bad_file(tmp_path: Path) -> None:
    with pytest.raises(BadFileError, match="No such file"):
        check_file(tmp_path / "absent.nc")


CHILD = """
from climanchor.archive import probe
def read_header(path, name):
    {behaviour}
probe.read_header = read_header
probe.serve()
"""


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [("import os; os.abort()", "crash"), ("import time; time.sleep(60)", r"gives no answer for 0\.5 s")],
)
def test_a_file_that_crashes_or_hangs_the_library_is_only_a_bad_file(write: Any, behaviour: str, reason: str) -> None:
    path = write()
    reader = HeaderReader(time_limit=0.5, command=[sys.executable, "-c", CHILD.format(behaviour=behaviour)])
    try:
        with pytest.raises(BadFileError, match=reason):
            reader.read(str(path), "tas")
    finally:
        reader.close()


@pytest.mark.parametrize("command", [["no-such-program"], [sys.executable, "-c", "raise SystemExit(1)"]])
def test_where_no_child_starts_headers_are_read_in_this_process(write: Any, command: list[str]) -> None:
    path = write()
    assert HeaderReader(command=command).read(str(path), "tas").shape == (24, 3, 4)


def test_the_child_that_reads_headers_imports_neither_xarray_nor_dask() -> None:
    check = "print({'xarray', 'dask', 'pandas'} & set(sys.modules) or 'none')"
    script = probe._PROGRAM.replace("\nserve()", f"\n{check}")
    command = [sys.executable, "-c", script, str(Path(probe.__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "none"


def test_the_reader_goes_on_with_a_new_child_after_a_crash(write: Any) -> None:
    good = write()
    reader = HeaderReader()
    try:
        reader.read(str(good), "tas")
        child = reader._child
        assert child is not None
        child.kill()
        child.wait()
        other = write(member="r2i1p1f1")
        assert reader.read(str(other), "tas").shape == (24, 3, 4)
    finally:
        reader.close()


def test_a_run_without_files_is_listed() -> None:
    with pytest.raises(ArchiveError, match="PCM 1: no files"):
        open_runs([describe_run(model="PCM", member="1", paths=[])])
