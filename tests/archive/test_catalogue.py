"""Runs from catalogues."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from climanchor.archive import open_runs, read_catalogue


def listed(path: Path, **facets: str) -> dict[str, str]:
    row = {
        "activity_id": "CMIP", "institution_id": "NCAR", "source_id": "CESM2", "experiment_id": "historical",
        "member_id": "r1i1p1f1", "table_id": "Amon", "variable_id": "tas", "grid_label": "gn", "version": "20190308",
    }  # fmt: skip
    return {**row, **facets, "path": str(path)}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_csv_of_paths_and_facets_gives_runs(tmp_path: Path, write: Any, suffix: str) -> None:
    rows = [listed(write(member=m, seed=i), member_id=m) for i, m in enumerate(("r1i1p1f1", "r2i1p1f1"))]
    catalogue = tmp_path / f"catalogue{suffix}"
    pd.DataFrame(rows).to_csv(catalogue, index=False)
    runs = read_catalogue(catalogue)
    assert [(r.model, r.member, r.version) for r in runs] == [
        ("CESM2", "r1i1p1f1", "v20190308"),
        ("CESM2", "r2i1p1f1", "v20190308"),
    ]
    assert open_runs(runs)["CESM2"].sizes["member"] == 2
    assert len(read_catalogue(catalogue, members="r2*")) == 1


def test_a_json_names_its_csv_and_the_column_of_paths(tmp_path: Path, write: Any) -> None:
    row = listed(write())
    row["where"] = row.pop("path")
    pd.DataFrame([row]).to_csv(tmp_path / "table.csv", index=False)
    description = {"catalog_file": "table.csv", "assets": {"column_name": "where", "format": "netcdf"}}
    (tmp_path / "catalogue.json").write_text(json.dumps(description))
    assert len(read_catalogue(tmp_path / "catalogue.json")) == 1


def test_a_json_may_hold_the_rows_itself(tmp_path: Path, write: Any) -> None:
    (tmp_path / "catalogue.json").write_text(json.dumps({"catalog_dict": [listed(write())]}))
    assert read_catalogue(tmp_path / "catalogue.json")[0].institute == "NCAR"


def test_facets_not_in_the_catalogue_come_from_the_file_name(tmp_path: Path, write: Any) -> None:
    path = write(project="CMIP5", model="CCSM4", member="r2i1p1")
    pd.DataFrame([{"path": str(path)}]).to_csv(tmp_path / "c.csv", index=False)
    (run,) = read_catalogue(tmp_path / "c.csv")
    assert (run.project, run.model, run.member, run.table) == ("CMIP5", "CCSM4", "r2i1p1", "Amon")


def test_catalogues_describe_files_of_any_name(tmp_path: Path, write: Any) -> None:
    write().rename(tmp_path / "x.nc")
    row = {"dataset": "PCM", "ensemble": "B06.57", "exp": "historical", "mip": "Amon", "short_name": "tas"}
    pd.DataFrame([{**row, "file": "x.nc"}]).to_csv(tmp_path / "c.csv", index=False)
    (run,) = read_catalogue(tmp_path / "c.csv")
    assert (run.model, run.member, run.paths) == ("PCM", "B06.57", (tmp_path / "x.nc",))


def test_decadal_start_years_become_part_of_the_member(tmp_path: Path, write: Any) -> None:
    path = write()
    pd.DataFrame([{**listed(path), "dcpp_init_year": 1960.0}]).to_csv(tmp_path / "c.csv", index=False)
    assert read_catalogue(tmp_path / "c.csv")[0].member == "s1960-r1i1p1f1"


def test_files_that_do_not_exist_are_set_aside(tmp_path: Path, write: Any) -> None:
    rows = [listed(write()), listed(tmp_path / "gone.nc", member_id="r2i1p1f1")]
    pd.DataFrame(rows).to_csv(tmp_path / "c.csv", index=False)
    runs = read_catalogue(tmp_path / "c.csv")
    assert len(runs) == 1
    assert [(p.member, p.reason) for p in runs.problems] == [("r2i1p1f1", "does not exist")]


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("c.csv", "a,b\n1,2\n", "no column of paths among a, b"),
        ("c.json", "{", "is not JSON"),
        ("c.json", "[]", "not an object"),
        ("c.json", "{}", "neither catalog_file nor catalog_dict"),
    ],
)
def test_a_catalogue_that_cannot_be_used_says_why(tmp_path: Path, name: str, text: str, match: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=match):
        read_catalogue(tmp_path / name)


def test_a_missing_catalogue_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such catalogue"):
        read_catalogue(tmp_path / "c.csv")
