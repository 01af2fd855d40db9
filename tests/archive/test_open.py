"""Opening runs: the many forms of good files become one form."""

from pathlib import Path
from typing import Any

import dask
import netCDF4
import numpy as np
import pytest
import xarray as xr
from xarray.backends.netCDF4_ import NETCDF4_PYTHON_LOCK

from climanchor import simulate
from climanchor.archive import AssumptionWarning, describe_run, find_runs, open_runs, problems
from climanchor.archive.integrity import library_lock


def opened(root: Path, **options: Any) -> xr.Dataset:
    """The only model below a folder."""
    (node,) = open_runs(find_runs(root, **options)).children.values()
    return node.to_dataset()


def stored(path: Path, name: str = "tas") -> np.ndarray:
    """A variable as the netCDF library decodes it, which is the reference here."""
    with netCDF4.Dataset(path) as file:
        return np.ma.filled(file.variables[name][:].astype("f8"), np.nan)


def months(data: xr.Dataset) -> list[tuple[int, int]]:
    return [(date.year, date.month) for date in data.time.values]


def test_opening_computes_nothing_and_keeps_float32(tmp_path: Path, write: Any, no_compute: Any) -> None:
    paths = [write(member=f"r{r}i1p1f1", seed=r) for r in (1, 2)]
    with no_compute():
        data = opened(tmp_path)
    assert data.tas.dtype == np.float32
    assert data.tas.dims == ("member", "time", "lat", "lon")
    assert data.tas.chunks is not None
    np.testing.assert_array_equal(data.tas.values, [stored(path) for path in paths])


def test_one_node_per_model_with_its_own_members_years_and_grid(tmp_path: Path, write: Any) -> None:
    write(model="A")
    write(model="B", member="r1i1p1f1", lat=(-45.0, 45.0), years=(1860, 1862), dates="186001-186212")
    write(model="B", member="r2i1p1f1", lat=(-45.0, 45.0), years=(1861, 1862), dates="186101-186212", seed=2)
    tree = open_runs(find_runs(tmp_path))
    assert dict(tree["A"].sizes) == {"member": 1, "time": 24, "lat": 3, "lon": 4, "bnds": 2}
    assert dict(tree["B"].sizes) == {"member": 2, "time": 36, "lat": 2, "lon": 4, "bnds": 2}


def test_a_step_that_a_member_lacks_is_nan_and_marked(tmp_path: Path, write: Any) -> None:
    write(member="r1i1p1f1", years=(1850, 1852))
    write(member="r2i1p1f1", years=(1851, 1851))
    data = opened(tmp_path)
    lacking = ~data.present.sel(member="r2i1p1f1").values
    assert lacking.sum() == 24
    empty = np.isnan(data.tas.sel(member="r2i1p1f1").values).all(axis=(1, 2))
    np.testing.assert_array_equal(empty, lacking)
    assert data.present.sel(member="r1i1p1f1").all()


@pytest.mark.parametrize(
    ("calendar", "name"),
    [
        ("standard", "standard"), ("gregorian", "standard"), ("proleptic_gregorian", "proleptic_gregorian"),
        ("julian", "julian"), ("noleap", "noleap"), ("365_day", "noleap"), ("360_day", "360_day"),
        ("all_leap", "all_leap"),
    ],
)  # fmt: skip
def test_every_calendar_is_read(tmp_path: Path, write: Any, calendar: str, name: str) -> None:
    write(calendar=calendar, years=(1850, 1853))
    data = opened(tmp_path)
    assert data.time.dt.calendar == name
    assert data.attrs["calendar"] == name
    assert months(data) == [(1850 + m // 12, m % 12 + 1) for m in range(48)]


def test_a_missing_calendar_is_assumed_and_said(tmp_path: Path, write: Any) -> None:
    path = write(calendar="noleap", years=(1850, 1869))
    with netCDF4.Dataset(path, "a") as file:
        file.variables["time"].delncattr("calendar")
    tree = open_runs(find_runs(tmp_path))
    table = problems(tree)
    assert tree["CESM2"].attrs["calendar"] == "noleap"
    assert list(table.action) == ["assumed"]
    assert "no calendar attribute: noleap assumed" in table.reason[0]


def test_december_to_november_slices_make_one_series(tmp_path: Path, write: Any) -> None:
    write(
        project="CMIP5",
        member="r1i1p1",
        calendar="360_day",
        years=(1859, 1861),
        months=slice(11, 23),
        dates="185912-186011",
    )
    write(
        project="CMIP5",
        member="r1i1p1",
        calendar="360_day",
        years=(1859, 1861),
        months=slice(23, 35),
        dates="186012-186111",
    )
    data = opened(tmp_path)
    assert months(data)[0] == (1859, 12)
    assert months(data)[-1] == (1861, 11)
    assert data.sizes["time"] == 24
    np.testing.assert_array_equal(np.diff([y * 12 + m for y, m in months(data)]), 1)


def test_a_gap_is_left_out_and_noted(tmp_path: Path, write: Any) -> None:
    write(years=(1850, 1850), dates="185001-185012")
    write(years=(1852, 1852), dates="185201-185212")
    tree = open_runs(find_runs(tmp_path))
    assert tree["CESM2"].sizes["time"] == 24
    assert "12 step(s) missing between 1851-01 and 1851-12" in problems(tree).reason[0]


def test_blocks_of_time_start_with_a_january(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("climanchor.archive.opening.BLOCK_BYTES", 24 * 3 * 4 * 4)
    write(years=(1850, 1855), months=slice(11, 72))
    data = opened(tmp_path)
    assert data.tas.chunks[1] == (13, 24, 24)
    assert data.time.values[13].month == 1


def test_the_length_of_blocks_can_be_given(tmp_path: Path, write: Any) -> None:
    write()
    assert open_runs(find_runs(tmp_path), chunks=10)["CESM2"].tas.chunks[1] == (10, 10, 4)
    with pytest.raises(ValueError, match="at least 1"):
        open_runs(find_runs(tmp_path), chunks=0)


def test_files_with_identical_overlap_are_merged(tmp_path: Path, write: Any) -> None:
    values = np.random.default_rng(0).normal(285, 5, (36, 3, 4)).astype("f4")
    write(years=(1850, 1851), values=values[:24], dates="185001-185112")
    write(years=(1851, 1852), values=values[12:], dates="185101-185212")
    tree = open_runs(find_runs(tmp_path))
    np.testing.assert_array_equal(tree["CESM2"].tas.values[0], values)
    assert "12 step(s) held twice with identical values" in problems(tree).reason[0]


def test_a_subset_of_the_series_can_be_read(tmp_path: Path, write: Any) -> None:
    paths = [write(years=(y, y), dates=f"{y}01-{y}12", seed=y) for y in (1850, 1851, 1852)]
    data = opened(tmp_path)
    whole = np.concatenate([stored(path) for path in paths])
    part = data.tas.isel(member=0, time=slice(5, 31, 7), lat=[2, 0], lon=1)
    np.testing.assert_array_equal(part.values, whole[5:31:7][:, [2, 0], 1])


@pytest.mark.parametrize("pattern", ["{}_bnds", "{}_bounds", "bounds_{}"])
def test_bounds_have_one_name_whatever_the_file_calls_them(tmp_path: Path, write: Any, pattern: str) -> None:
    write(bounds=pattern)
    data = opened(tmp_path)
    np.testing.assert_array_equal(data.lat_bnds, [[-90, -30], [-30, 30], [30, 90]])
    assert data.lat.attrs["bounds"] == "lat_bnds"
    assert data.lon_bnds.dims == ("lon", "bnds")


def test_missing_bounds_stay_missing(tmp_path: Path, write: Any) -> None:
    write(bounds=None)
    data = opened(tmp_path)
    assert "lat_bnds" not in data.coords
    assert "bounds" not in data.lat.attrs


def test_bounds_that_do_not_enclose_their_centres_are_dropped_and_noted(tmp_path: Path, write: Any) -> None:
    path = write()
    with netCDF4.Dataset(path, "a") as file:
        file.variables["lat_bnds"][:] = 0.0
    tree = open_runs(find_runs(tmp_path))
    assert "lat_bnds" not in tree["CESM2"].coords
    assert "lat bounds do not enclose" in problems(tree).reason[0]


def test_a_scalar_height_becomes_a_scalar_coordinate(tmp_path: Path, write: Any) -> None:
    write()
    assert float(opened(tmp_path).height) == 2.0


def test_western_longitudes_are_turned_to_run_from_zero(tmp_path: Path, write: Any) -> None:
    path = write(lon=(-180.0, -90.0, 0.0, 90.0))
    data = opened(tmp_path)
    np.testing.assert_array_equal(data.lon, [0, 90, 180, 270])
    np.testing.assert_array_equal(data.lon_bnds, [[-45, 45], [45, 135], [135, 225], [225, 315]])
    np.testing.assert_array_equal(data.tas.values[0], np.roll(stored(path), 2, axis=-1))


def test_longitudes_that_jump_back_to_zero_are_sorted(tmp_path: Path, write: Any) -> None:
    path = write(lon=(180.0, 270.0, 0.0, 90.0))
    with netCDF4.Dataset(path, "a") as file:
        file.variables["lon_bnds"][:] = [[135, 225], [225, 315], [315, 45], [45, 135]]
    data = opened(tmp_path)
    np.testing.assert_array_equal(data.lon, [0, 90, 180, 270])
    np.testing.assert_array_equal(data.lon_bnds, [[-45, 45], [45, 135], [135, 225], [225, 315]])
    np.testing.assert_array_equal(data.tas.values[0], np.roll(stored(path), 2, axis=-1))


def test_part_of_the_globe_across_greenwich_stays_in_one_piece(tmp_path: Path, write: Any) -> None:
    path = write(lon=(-20.0, -10.0, 0.0, 10.0))
    data = opened(tmp_path)
    np.testing.assert_array_equal(data.lon, [-20, -10, 0, 10])
    np.testing.assert_array_equal(data.tas.values[0], stored(path))


def test_decreasing_latitude_is_turned_with_its_bounds_and_data(tmp_path: Path, write: Any) -> None:
    path = write(lat=(60.0, 0.0, -60.0))
    data = opened(tmp_path)
    np.testing.assert_array_equal(data.lat, [-60, 0, 60])
    np.testing.assert_array_equal(data.lat_bnds[0], [-90, -30])
    np.testing.assert_array_equal(data.tas.values[0], stored(path)[:, ::-1])


def test_a_repeated_column_at_360_degrees_is_dropped(tmp_path: Path, write: Any) -> None:
    path = write(lon=(0.0, 90.0, 180.0, 270.0, 360.0))
    data = opened(tmp_path)
    np.testing.assert_array_equal(data.lon, [0, 90, 180, 270])
    np.testing.assert_array_equal(data.tas.values[0], stored(path)[..., :4])


def test_members_stored_in_different_orientations_are_siblings(tmp_path: Path, write: Any) -> None:
    one = write(member="r1i1p1f1")
    two = write(member="r2i1p1f1", lat=(60.0, 0.0, -60.0), lon=(-180.0, -90.0, 0.0, 90.0), seed=2)
    data = opened(tmp_path)
    np.testing.assert_array_equal(data.tas.values[0], stored(one))
    np.testing.assert_array_equal(data.tas.values[1], np.roll(stored(two)[:, ::-1], 2, axis=-1))


def replace_grid(path: Path, dims: tuple[str, ...], lat: np.ndarray, lon: np.ndarray, corners: int) -> Path:
    """Rewrite a file on a curvilinear or unstructured grid."""
    values = stored(path)
    with netCDF4.Dataset(path) as old:
        times, units = old.variables["time"][:], old.variables["time"].units
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("vertices", corners)
        for dim, size in zip(dims, lat.shape, strict=True):
            file.createDimension(dim, size)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.calendar, time[:] = units, "noleap", times
        for name, data in (("latitude", lat), ("longitude", lon)):
            variable = file.createVariable(name, "f8", dims, fill_value=1e20)
            variable.standard_name, variable.bounds, variable[:] = name, f"vertices_{name}", data
            edges = file.createVariable(f"vertices_{name}", "f8", (*dims, "vertices"))
            edges[:] = data[..., None] + np.linspace(-0.5, 0.5, corners)
        tas = file.createVariable("tas", "f4", ("time", *dims), fill_value=1e20)
        tas.units, tas.coordinates, tas[:] = "K", "latitude longitude", values.reshape(-1, *lat.shape)
    return path


def test_curvilinear_grids_keep_two_dimensional_coordinates(tmp_path: Path, write: Any) -> None:
    lat, lon = np.mgrid[-10:10:3j, -20:40:4j]
    path = replace_grid(write(), ("j", "i"), lat, lon, 4)
    data = opened(tmp_path)
    assert data.tas.dims == ("member", "time", "y", "x")
    assert data.lat.dims == ("y", "x")
    assert data.lat_bnds.dims == ("y", "x", "vertices")
    np.testing.assert_allclose(data.lon, lon % 360)
    np.testing.assert_array_equal(data.tas.values[0], stored(path))


def test_unstructured_cells_keep_their_corners(tmp_path: Path, write: Any) -> None:
    lat, lon = np.linspace(-80, 80, 12), np.linspace(0, 330, 12)
    path = replace_grid(write(), ("ncells",), lat, lon, 3)
    data = opened(tmp_path)
    assert data.tas.dims == ("member", "time", "cell")
    assert data.lon_bnds.shape == (12, 3)
    np.testing.assert_array_equal(data.tas.values[0], stored(path))


def test_packed_integers_are_unpacked_and_their_fill_value_is_nan(tmp_path: Path, write: Any) -> None:
    codes = np.random.default_rng(0).integers(-3000, 3000, (24, 3, 4)).astype("i2")
    codes[3, 1, 2] = -32767
    packing = {"scale_factor": 0.01, "add_offset": 280.0}
    path = write(values=codes, dtype="i2", fill=np.int16(-32767), attributes=packing)
    data = opened(tmp_path)
    assert np.isnan(data.tas.values[0, 3, 1, 2])
    np.testing.assert_allclose(data.tas.values[0], stored(path), rtol=0, atol=1e-12)


@pytest.mark.parametrize("marker", [1e20, -999.0, 0.0])
@pytest.mark.parametrize("attribute", ["_FillValue", "missing_value"])
def test_fill_values_become_nan(tmp_path: Path, write: Any, marker: float, attribute: str) -> None:
    values = np.full((24, 3, 4), 280, "f4")
    values[5, 0, 1] = marker
    extra = {} if attribute == "_FillValue" else {"missing_value": np.float32(marker)}
    write(values=values, fill=np.float32(marker) if attribute == "_FillValue" else None, attributes=extra)
    blank = np.isnan(opened(tmp_path).tas.values[0])
    assert blank.sum() == 1
    assert blank[5, 0, 1]


def test_values_never_written_become_nan(tmp_path: Path, write: Any) -> None:
    path = write()
    with netCDF4.Dataset(path, "a") as file:
        file.variables["time"][24:25] = 24 * 30.5
    data = opened(tmp_path)
    assert np.isnan(data.tas.values[0, -1]).all()


@pytest.mark.parametrize("units", ["degC", "°C", "Celsius", "C", "deg_C", "degrees Celsius"])
def test_celsius_becomes_kelvin(tmp_path: Path, write: Any, units: str) -> None:
    path = write(values=np.full((24, 3, 4), 11.85, "f4"), units=units)
    data = opened(tmp_path)
    assert data.tas.attrs["units"] == "K"
    assert data.tas.dtype == np.float32
    np.testing.assert_allclose(data.tas.values[0], stored(path) + 273.15, rtol=1e-7)


def test_members_in_different_units_are_brought_together(tmp_path: Path, write: Any) -> None:
    write(member="r1i1p1f1", values=np.full((24, 3, 4), 285.0, "f4"))
    write(member="r2i1p1f1", values=np.full((24, 3, 4), 11.85, "f4"), units="degC")
    np.testing.assert_allclose(opened(tmp_path).tas.values, 285.0, rtol=1e-7)


@pytest.mark.parametrize(("level", "unit"), [(285.0, "K"), (11.85, "degC")])
def test_missing_units_are_inferred_with_a_warning(tmp_path: Path, write: Any, level: float, unit: str) -> None:
    write(values=np.full((24, 3, 4), level, "f4"), units=None)
    with pytest.warns(AssumptionWarning, match=f"{unit} inferred from the values"):
        tree = open_runs(find_runs(tmp_path))
    np.testing.assert_allclose(tree["CESM2"].tas.values, 285.0, rtol=1e-7)
    assert list(problems(tree).action) == ["assumed"]


def test_what_is_not_a_temperature_keeps_its_units(tmp_path: Path, write: Any) -> None:
    write(variable="pr", units="kg m-2 s-1")
    assert opened(tmp_path, variable="pr").pr.attrs["units"] == "kg m-2 s-1"


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC"])
def test_every_format_is_read(tmp_path: Path, write: Any, kind: str) -> None:
    path = write(format=kind)
    np.testing.assert_array_equal(opened(tmp_path).tas.values[0], stored(path))


def test_dimensions_in_another_order_and_of_length_one_are_sorted_out(tmp_path: Path, write: Any) -> None:
    path = write()
    values = stored(path)
    with xr.open_dataset(path, decode_times=False) as old:
        turned = old.load().transpose("lon", "bnds", "time", "lat")
    turned["tas"] = turned.tas.expand_dims(plev=[1000.0], axis=1)
    turned.to_netcdf(path)
    np.testing.assert_array_equal(opened(tmp_path).tas.values[0], values)


def test_stamps_at_the_end_of_the_month_belong_to_the_month_of_their_bounds(tmp_path: Path, write: Any) -> None:
    write(stamp="end")
    tree = open_runs(find_runs(tmp_path))
    assert months(tree["CESM2"].to_dataset())[0] == (1850, 1)
    assert "outside their bounds" in problems(tree).reason[0]


def test_fields_without_time_have_none_once_opened(tmp_path: Path, write: Any) -> None:
    path = write(variable="sftlf", table="fx", dates="", units="%")
    with xr.open_dataset(path, decode_times=False) as old:
        still = old.load().isel(time=0, drop=True).drop_vars("time_bnds")
    still.drop_encoding().to_netcdf(path)
    data = opened(tmp_path, variable="sftlf")
    assert data.sftlf.dims == ("member", "lat", "lon")
    np.testing.assert_array_equal(data.sftlf.values[0], still.sftlf.values)


def test_files_described_by_hand_open_under_the_name_asked_for(tmp_path: Path, write: Any) -> None:
    path = write(name="TREFHT", calendar=None, time_bounds=False)
    run = describe_run(model="PCM", member="B06.57", paths=path, name_in_file="TREFHT", calendar="noleap")
    tree = open_runs([run])
    assert tree["PCM"].attrs["calendar"] == "noleap"
    np.testing.assert_array_equal(tree["PCM"].tas.values[0], stored(path, "TREFHT"))


def test_a_run_described_with_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.nc"):
        describe_run(model="M", member="1", paths=tmp_path / "absent.nc")


def test_units_given_by_hand_replace_those_of_the_file(tmp_path: Path, write: Any) -> None:
    path = write(values=np.full((24, 3, 4), 0.5, "f4"), units="degC")
    run = describe_run(model="OBS", member="anomalies", paths=path, units="K")
    np.testing.assert_array_equal(open_runs([run])["OBS"].tas.values, np.float32(0.5))


def test_annual_data_with_a_plain_year_axis(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(0, 1, (5, 3, 4)).astype("f4")
    axes = {"year": np.arange(1880, 1885), "lat": [-60.0, 0.0, 60.0], "lon": [0.0, 90.0, 180.0, 270.0]}
    data = xr.Dataset({"tas": (("year", "lat", "lon"), values, {"units": "K"})}, axes)
    data.to_netcdf(tmp_path / "obs.nc")
    node = open_runs([describe_run(model="OBS", member="1", paths=tmp_path / "obs.nc")])["OBS"]
    assert node.attrs["frequency"] == "yr"
    assert [date.year for date in node.time.values] == list(range(1880, 1885))
    np.testing.assert_array_equal(node.tas.values[0], values)


def test_daily_files_are_one_series(tmp_path: Path) -> None:
    times = xr.date_range("1850-01-01", periods=730, calendar="noleap", use_cftime=True)
    data = xr.Dataset(
        {"tas": (("time", "lat", "lon"), np.zeros((730, 2, 2), "f4"), {"units": "K"})},
        {"time": times, "lat": [-45.0, 45.0], "lon": [0.0, 180.0]},
    )
    for part, name in ((slice(0, 400), "a.nc"), (slice(400, None), "b.nc")):
        data.isel(time=part).to_netcdf(tmp_path / name)
    run = describe_run(model="M", member="1", paths=sorted(tmp_path.glob("*.nc")))
    node = open_runs([run])["M"]
    assert node.attrs["frequency"] == "day"
    assert node.sizes["time"] == 730


def test_two_experiments_cannot_be_opened_as_one(tmp_path: Path, write: Any) -> None:
    write()
    write(experiment="piControl")
    with pytest.raises(ValueError, match="historical, piControl"):
        open_runs(find_runs(tmp_path, experiment="*"))


def test_the_same_model_of_two_projects_gets_two_nodes(tmp_path: Path, write: Any) -> None:
    write(model="X")
    write(model="X", project="CMIP5", member="r1i1p1")
    tree = open_runs(find_runs(tmp_path))
    assert sorted(tree.children) == ["X (CMIP5)", "X (CMIP6)"]


def test_a_file_that_changes_is_read_anew(tmp_path: Path, write: Any) -> None:
    """Neither the remembered header nor dask's key survives a rewrite of the file."""
    write()
    before = opened(tmp_path)
    write(years=(1850, 1852))
    after = opened(tmp_path)
    assert (before.sizes["time"], after.sizes["time"]) == (24, 36)
    assert before.tas.data.name != after.tas.data.name


def test_reading_while_xarray_writes_shares_one_lock(tmp_path: Path, write: Any) -> None:
    """netCDF is not thread safe: a result is written by xarray while other threads still read its inputs."""
    assert library_lock() is NETCDF4_PYTHON_LOCK
    for r in range(1, 5):
        write(member=f"r{r}i1p1f1", years=(1850, 1859), seed=r)
    tree = open_runs(find_runs(tmp_path), chunks=12)
    anomaly = (tree["CESM2"].tas - 273.15).drop_vars(["present", "time"])
    with dask.config.set(scheduler="threads", num_workers=4):
        anomaly.to_netcdf(tmp_path / "out.nc")
    with xr.open_dataset(tmp_path / "out.nc") as saved:
        np.testing.assert_array_equal(saved.tas.values, anomaly.values)


def test_relative_paths_hold_after_the_working_folder_changes(tmp_path, monkeypatch):
    """Runs found by a relative path open, and their values are read, from wherever the process has gone since."""
    simulate.write_archive(tmp_path / "archive", size="tiny", models=["HadCM3"], members=1, years=(1850, 1870))
    monkeypatch.chdir(tmp_path)
    runs = find_runs("archive/cmip5", variable="tas", experiment="historical")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    tree = open_runs(runs, strict=True)
    assert float(tree["HadCM3"]["tas"].isel(time=0).mean()) > 200
