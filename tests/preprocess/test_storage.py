"""Prepared data survives being written and reopened, and is CF to an independent checker."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from compliance_checker.runner import CheckSuite, ComplianceChecker

import climanchor as ca


@pytest.fixture(scope="module")
def prepared() -> xr.DataTree:
    """Two small models as ``prepare`` returns them, still lazy."""
    rng = np.random.default_rng(0)
    nodes = {}
    for model, members, start in (("Toy-1", 3, 1850), ("Toy-2", 2, 1855)):
        time = xr.date_range(f"{start}-01-01", periods=480, freq="MS", calendar="360_day", use_cftime=True)
        lat, lon = np.linspace(-80, 80, 9), np.arange(18) * 20.0
        coords = {"member": [f"r{i}i1p1f1" for i in range(1, members + 1)], "time": time, "lat": lat, "lon": lon}
        values = rng.normal(280, 1, (members, 480, 9, 18))
        attrs = {"units": "K", "standard_name": "air_temperature"}
        data = xr.Dataset({"tas": (("member", "time", "lat", "lon"), values, attrs)}, coords=coords)
        height = {"standard_name": "height", "units": "m", "positive": "up", "axis": "Z"}
        nodes[model] = data.assign_coords(height=((), 2.0, height)).chunk(member=1)
    tree = xr.DataTree.from_dict(nodes)
    tree.attrs["problems"] = "[]"
    return ca.prepare(tree)


@pytest.mark.parametrize("name", ["prepared.nc", "prepared.zarr", "folder"])
def test_written_data_comes_back_lazily(prepared: xr.DataTree, tmp_path: Path, name: str) -> None:
    path = ca.save_prepared(prepared, tmp_path / name)
    again = ca.open_prepared(path)
    assert list(again.children) == ["Toy-1", "Toy-2"]
    assert again.attrs == prepared.attrs
    for model in again.children:
        before, after = prepared[model].to_dataset().compute(), again[model].to_dataset()
        assert all(after[v].chunks is not None for v in ("field", "forced", "div"))
        xr.testing.assert_equal(before, after.compute())
        assert after["year"].dtype == np.int64
        assert after["field"].chunks[0] == (1,) * after.sizes["member"]
        assert after["field"].attrs == before["field"].attrs
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_existing_data_is_replaced(prepared: xr.DataTree, tmp_path: Path) -> None:
    path = ca.save_prepared(prepared, tmp_path / "data")
    one = xr.DataTree.from_dict({"Toy-2": prepared["Toy-2"].to_dataset()})
    assert list(ca.open_prepared(ca.save_prepared(one, path)).children) == ["Toy-2"]


def test_folder_with_other_things_is_never_replaced(prepared: xr.DataTree, tmp_path: Path) -> None:
    """A folder of the user's, given by mistake, survives."""
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(FileExistsError, match=r"holds other things than prepared data \(thesis\.tex\)"):
        ca.save_prepared(prepared, tmp_path)
    store = tmp_path / "x.zarr"
    store.mkdir()
    (store / "notes").mkdir()
    with pytest.raises(FileExistsError, match=r"\(notes\)"):
        ca.save_prepared(prepared, store)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize("name", ["data.zarr", "data.nc"])
def test_stores_are_replaced(prepared: xr.DataTree, tmp_path: Path, name: str) -> None:
    ca.save_prepared(prepared, tmp_path / name)
    one = xr.DataTree.from_dict({"Toy-2": prepared["Toy-2"].to_dataset()})
    assert list(ca.open_prepared(ca.save_prepared(one, tmp_path / name)).children) == ["Toy-2"]


def test_failed_write_leaves_the_old_data(prepared: xr.DataTree, tmp_path: Path) -> None:
    """Writing to a temporary name first, an error while computing costs nothing that was there."""
    path = ca.save_prepared(prepared, tmp_path / "data")

    def fail(block: np.ndarray) -> np.ndarray:
        raise RuntimeError("disk of the source is gone")

    data = prepared["Toy-1"].to_dataset()
    broken = data.assign(field=data["field"].copy(data=data["field"].data.map_blocks(fail, dtype=float)))
    with pytest.raises(RuntimeError, match="source is gone"):
        ca.save_prepared(xr.DataTree.from_dict({"Toy-1": broken}), path)
    assert list(ca.open_prepared(path).children) == ["Toy-1", "Toy-2"]
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


def test_files_are_cf_compliant(prepared: xr.DataTree, tmp_path: Path) -> None:
    """The IOOS compliance checker finds no error of high priority in what we write."""
    folder = ca.save_prepared(prepared, tmp_path / "data")
    CheckSuite.load_all_available_checkers()
    report = tmp_path / "report.txt"
    passed, errors = ComplianceChecker.run_checker(
        str(folder / "Toy-1.nc"), ["cf:1.8"], verbose=1, criteria="normal", output_filename=str(report)
    )
    assert not errors
    assert passed, report.read_text()


def test_what_is_not_prepared_is_refused(prepared: xr.DataTree, tmp_path: Path) -> None:
    raw = xr.DataTree.from_dict({"Toy-1": prepared["Toy-1"].to_dataset()[["field"]]})
    with pytest.raises(ValueError, match="Toy-1: not prepared data, lacks div, forced"):
        ca.save_prepared(raw, tmp_path / "x.nc")
    with pytest.raises(ValueError, match="no models"):
        ca.save_prepared(xr.DataTree(), tmp_path / "x.nc")
    with pytest.raises(FileNotFoundError, match=r"no prepared data at .*absent\.nc"):
        ca.open_prepared(tmp_path / "absent.nc")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no prepared data"):
        ca.open_prepared(tmp_path / "empty")
