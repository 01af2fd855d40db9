"""Finding runs by the names of their files."""

import os
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from climanchor.archive import find, find_runs
from climanchor.archive.patterns import expand_ranges


def names(runs: Any) -> list[tuple[str, str]]:
    return [(run.model, run.member) for run in runs]


def test_drs_trees_of_both_projects_are_searched_at_once(tmp_path: Path, write: Any) -> None:
    write(touch=True)
    write(touch=True, project="CMIP5", model="CCSM4", member="r1i1p1")
    runs = find_runs(tmp_path)
    assert [(r.project, r.model, r.member, r.version) for r in runs] == [
        ("CMIP5", "CCSM4", "r1i1p1", "v20190308"),
        ("CMIP6", "CESM2", "r1i1p1f1", "v20190308"),
    ]
    assert names(find_runs(tmp_path, project="cmip5")) == [("CCSM4", "r1i1p1")]


def test_a_flat_folder_is_enough(tmp_path: Path, write: Any) -> None:
    for dates in ("190001-190912", "185001-189912"):
        write(touch=True, flat=True, dates=dates)
    (run,) = find_runs(tmp_path)
    assert [p.name[-16:-3] for p in run.paths] == ["185001-189912", "190001-190912"]


def test_files_named_by_drs_are_never_opened(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(find, "read_facets", refuse)
    write(touch=True)
    write(touch=True, variable="pr")
    assert len(find_runs(tmp_path)) == 1


def test_ten_thousand_files_take_a_few_seconds(tmp_path: Path, write: Any) -> None:
    first = write(touch=True)
    for member in range(1, 101):
        folder = Path(str(first.parent).replace("r1i1p1f1", f"r{member}i1p1f1"))
        folder.mkdir(parents=True, exist_ok=True)
        for year in range(1850, 1950):
            (folder / f"tas_Amon_CESM2_historical_r{member}i1p1f1_gn_{year}01-{year}12.nc").touch()
    start = perf_counter()
    runs = find_runs(tmp_path)
    assert perf_counter() - start < 5
    assert len(runs) == 100
    assert sum(len(run.paths) for run in runs) == 10_001


def test_the_newest_version_wins_and_the_older_is_noted(tmp_path: Path, write: Any) -> None:
    for version in ("v20190308", "v20200101", "v3"):
        write(touch=True, version=version)
    (run,) = find_runs(tmp_path)
    assert run.version == "v20200101"
    assert run.notes == ("older version v20190308 not used (1 files)", "older version v3 not used (1 files)")
    assert find_runs(tmp_path, version="v20190308")[0].version == "v20190308"


def test_a_folder_called_latest_wins(tmp_path: Path, write: Any) -> None:
    for version in ("v20190308", "latest"):
        write(touch=True, version=version)
    assert find_runs(tmp_path)[0].version == "latest"


def test_a_latest_link_to_a_version_beside_it_is_not_a_second_version(tmp_path: Path, write: Any) -> None:
    folder = write(touch=True).parent
    (folder.parent / "latest").symlink_to(folder.name)
    (run,) = find_runs(tmp_path)
    assert (run.version, run.notes, len(run.paths)) == ("v20190308", (), 1)


def test_links_that_lead_back_end(tmp_path: Path, write: Any) -> None:
    folder = write(touch=True).parent
    (folder / "up").symlink_to(tmp_path)
    assert len(find_runs(tmp_path)) == 1


def test_the_native_grid_is_preferred_among_equals(tmp_path: Path, write: Any) -> None:
    write(touch=True, grid_label="gr")
    write(touch=True, grid_label="gn")
    (run,) = find_runs(tmp_path)
    assert run.grid_label == "gn"
    assert run.notes == ("also on grid gr (not used)",)
    assert find_runs(tmp_path, grid="gr")[0].grid_label == "gr"


def test_members_of_a_model_share_the_grid_most_of_them_have(tmp_path: Path, write: Any) -> None:
    for member in ("r1i1p1f1", "r2i1p1f1"):
        write(touch=True, grid_label="gr", member=member)
    write(touch=True, grid_label="gn", member="r3i1p1f1")
    runs = find_runs(tmp_path)
    assert {run.grid_label for run in runs} == {"gr"}
    (problem,) = runs.problems
    assert problem.member == "r3i1p1f1"
    assert "'gn'" in problem.reason


def test_monthly_tables_are_preferred_to_daily_ones(tmp_path: Path, write: Any) -> None:
    write(touch=True, table="day", dates="18500101-18501231")
    write(touch=True)
    assert find_runs(tmp_path)[0].table == "Amon"
    assert find_runs(tmp_path, table="day")[0].table == "day"


def test_decadal_predictions_are_members_of_their_own(tmp_path: Path, write: Any) -> None:
    for year in (1960, 1961):
        write(touch=True, member=f"s{year}-r1i1p1f1", experiment="dcppA-hindcast")
    runs = find_runs(tmp_path, experiment="dcppA-*")
    assert [run.member for run in runs] == ["s1960-r1i1p1f1", "s1961-r1i1p1f1"]
    assert len(find_runs(tmp_path, experiment="dcppA-hindcast", members="s(1961:1970)-r1i1p1f1")) == 1


def test_members_are_chosen_by_ranges_and_wildcards_and_sorted_by_number(tmp_path: Path, write: Any) -> None:
    for r in (1, 2, 10, 11):
        write(touch=True, member=f"r{r}i1p1f1")
    write(touch=True, member="r1i1p2f1")
    assert [m for _, m in names(find_runs(tmp_path, members="r(1:10)i1p1f1"))] == ["r1i1p1f1", "r2i1p1f1", "r10i1p1f1"]
    assert len(find_runs(tmp_path, members="r*i1p1f1")) == 4
    assert len(find_runs(tmp_path, members=["r1i1p2f1", "r11i1p1f1"])) == 2


def test_a_range_that_runs_backwards_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\(1:10\)"):
        expand_ranges("r(10:1)i1p1f1")


def test_models_are_chosen_by_name_and_absent_ones_reported(tmp_path: Path, write: Any) -> None:
    write(touch=True)
    write(touch=True, model="CESM2-WACCM")
    runs = find_runs(tmp_path, models=["CESM2", "HadCM3"])
    assert names(runs) == [("CESM2", "r1i1p1f1")]
    assert [p.model for p in runs.problems] == ["HadCM3"]


def test_odd_names_are_explained_by_cmip6_attributes(tmp_path: Path, write: Any) -> None:
    facets = {
        "source_id": "CESM2", "variant_label": "r4i1p1f1", "experiment_id": "historical", "table_id": "Amon",
        "variable_id": "tas", "grid_label": "gn", "mip_era": "CMIP6", "sub_experiment_id": "none",
    }  # fmt: skip
    path = write(globals=facets)
    path.rename(tmp_path / "download(3).nc")
    (run,) = find_runs(tmp_path)
    assert (run.model, run.member, run.table, run.project) == ("CESM2", "r4i1p1f1", "Amon", "CMIP6")


def test_odd_names_are_explained_by_cmip5_attributes(tmp_path: Path, write: Any) -> None:
    facets = {
        "model_id": "HadCM3", "realization": 7, "initialization_method": 1, "physics_version": 1,
        "experiment_id": "historical", "table_id": "Table Amon (26 July 2011)", "project_id": "CMIP5",
    }  # fmt: skip
    path = write(globals=facets)
    path.rename(tmp_path / "member7.nc")
    (run,) = find_runs(tmp_path)
    assert (run.model, run.member, run.table, run.variable) == ("HadCM3", "r7i1p1", "Amon", "tas")


def test_files_that_nothing_explains_are_listed(tmp_path: Path, write: Any) -> None:
    write(touch=True)
    write(member="r2i1p1f1").rename(tmp_path / "mystery.nc")
    (tmp_path / "page.nc").write_text("<!DOCTYPE html>")
    runs = find_runs(tmp_path)
    assert len(runs) == 1
    reasons = {Path(p.path).name: p.reason for p in runs.problems}
    assert "neither the file name nor the global attributes" in reasons["mystery.nc"]
    assert "is not netCDF" in reasons["page.nc"]


def test_a_copy_of_a_file_elsewhere_is_not_used_twice(tmp_path: Path, write: Any) -> None:
    for root in ("a", "b"):
        write(touch=True, root=tmp_path / root)
    (run,) = find_runs([tmp_path / "a", tmp_path / "b"])
    assert len(run.paths) == 1
    assert "copy" in run.notes[0]


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        find_runs(tmp_path / "nowhere")


def test_nothing_found_is_an_empty_list(tmp_path: Path) -> None:
    assert find_runs(tmp_path) == []


def test_a_folder_that_cannot_be_listed_is_noted(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write(touch=True)
    (tmp_path / "locked").mkdir()
    listing = os.scandir

    def scandir(folder: str) -> Any:
        if folder.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return listing(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    runs = find_runs(tmp_path)
    assert len(runs) == 1
    assert runs.problems[0].reason == "the folder cannot be listed (Permission denied)"
