"""From monthly fields of an ensemble to field, forced and div: laziness, numbers, attributes, errors."""

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr

import climanchor as ca
from climanchor.preprocess import ReferencePeriodError


def refuse_to_compute(dsk: Any, keys: Any, **kwargs: Any) -> Any:
    raise AssertionError("something was computed")


def ensemble(
    members: int = 3, years: int = 60, *, start: int = 1850, chunks: int | None = 120, seed: int = 0
) -> xr.Dataset:
    """Monthly temperature of one model on a coarse grid, as the archive opens it."""
    rng = np.random.default_rng(seed)
    time = xr.date_range(f"{start}-01-01", periods=12 * years, freq="MS", calendar="noleap", use_cftime=True)
    lat, lon = np.linspace(-82.5, 82.5, 12), np.arange(24) * 15.0
    values = 280 + rng.normal(0, 1, (members, time.size, lat.size, lon.size)).astype("float32")
    data = da.from_array(values, chunks=(1, chunks, -1, -1)) if chunks else values
    coords = {
        "member": [f"r{i + 1}i1p1f1" for i in range(members)],
        "time": time,
        "lat": ("lat", lat, {"standard_name": "latitude", "units": "degrees_north"}),
        "lon": ("lon", lon, {"standard_name": "longitude", "units": "degrees_east"}),
        "present": (("member", "time"), np.ones((members, time.size), bool)),
    }
    attrs = {"units": "K", "standard_name": "air_temperature", "long_name": "Near-Surface Air Temperature"}
    dims = ("member", "time", "lat", "lon")
    return xr.Dataset({"tas": (dims, data, attrs)}, coords=coords, attrs={"model": "Toy-1"})


@pytest.fixture
def tree() -> xr.DataTree:
    return xr.DataTree.from_dict({"Toy-1": ensemble(), "Toy-2": ensemble(4, start=1855, seed=1)})


def test_prepare_computes_nothing(tree: xr.DataTree) -> None:
    with dask.config.set(scheduler=refuse_to_compute):
        prepared = ca.prepare(tree)
    assert all(prepared["Toy-1"][name].chunks is not None for name in ("field", "forced", "div"))


def test_every_block_is_read_once(tree: xr.DataTree) -> None:
    """Computing field, forced and div together reads each block of the source a single time."""
    reads = []

    def count(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        reads.append(block_info[0]["chunk-location"])
        return block

    source = tree["Toy-1"].to_dataset()
    counted = source["tas"].data.map_blocks(count, meta=np.empty((0,) * 4, "float32"), dtype="float32")
    prepared = ca.prepare(source.assign(tas=source["tas"].copy(data=counted)))
    prepared["Toy-1"].to_dataset().compute()
    assert len(reads) == source["tas"].data.npartitions
    assert len(set(reads)) == len(reads)


def test_shapes_and_labels_are_the_contract(tree: xr.DataTree) -> None:
    prepared = ca.prepare(tree)
    for model, members in (("Toy-1", 3), ("Toy-2", 4)):
        data = prepared[model].to_dataset()
        assert data["field"].dims == ("member", "year", "lat", "lon")
        assert data["field"].shape == (members, 60, 36, 72)
        assert data["forced"].dims == ("year", "lat", "lon")
        assert data["div"].dims == ("member", "year")
        assert data["year"].dtype == np.int64
        assert data["lat"].values[[0, -1]].tolist() == [-87.5, 87.5]
        assert data["lon"].values[[0, -1]].tolist() == [2.5, 357.5]
        assert list(data.data_vars) == ["field", "forced", "div"]


def test_numbers_are_those_of_the_steps_done_by_hand() -> None:
    """An independent path with plain NumPy and xarray gives the same field, forced response and DIV."""
    data = ensemble(chunks=None)
    prepared = ca.prepare(data)["Toy-1"].to_dataset()
    month_days = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    monthly = data["tas"].values.astype(float).reshape(3, 60, 12, 12, 24)
    annual = np.tensordot(monthly, month_days / 365, axes=([2], [0]))
    annual = annual - annual[:, :51].mean(axis=1, keepdims=True)
    south_north = np.sin(np.deg2rad(np.linspace(-90, 90, 13)))
    gsat = np.average(annual.mean(axis=-1), axis=-1, weights=np.diff(south_north))
    internal = xr.DataArray(gsat - gsat.mean(axis=0), dims=("member", "year"))
    expected = internal.rolling(year=10, center=True).mean()
    np.testing.assert_allclose(prepared["div"].values, expected.values, atol=1e-10)
    np.testing.assert_allclose(prepared["forced"].values, prepared["field"].mean("member").values, atol=1e-12)
    weights = np.cos(np.deg2rad(prepared["lat"]))
    np.testing.assert_allclose(prepared["field"].weighted(weights).mean(("lat", "lon")).values, gsat, atol=1e-10)


def test_leave_one_out_is_scaled_by_ensemble_size(tree: xr.DataTree) -> None:
    """Member minus the mean of the others is m/(m-1) times member minus the mean of all."""
    together, apart = ca.prepare(tree)["Toy-2"], ca.prepare(tree, leave_one_out=True)["Toy-2"]
    assert apart["forced"].dims == ("member", "year", "lat", "lon")
    np.testing.assert_allclose(apart["div"].values, together["div"].values * 4 / 3, atol=1e-12)


def test_native_grid_is_kept_when_asked(tree: xr.DataTree) -> None:
    prepared = ca.prepare(tree, grid="native")["Toy-1"]
    assert prepared["field"].shape == (3, 60, 12, 24)


def test_years_are_cut_after_reference_and_windows(tree: xr.DataTree) -> None:
    whole, cut = ca.prepare(tree)["Toy-1"], ca.prepare(tree, years=(1880, 1890))["Toy-1"]
    assert cut["year"].values.tolist() == list(range(1880, 1891))
    np.testing.assert_array_equal(cut["div"].values, whole["div"].sel(year=slice(1880, 1890)).values)


def absent(data: xr.Dataset, member: int, steps: slice) -> xr.Dataset:
    """A member that lacks some months, as the archive opens it."""
    present = data["present"].copy()
    present[member, steps] = False
    values = data["tas"].where(present)
    return data.assign(tas=values.transpose(*data["tas"].dims)).assign_coords(present=present)


def test_member_without_reference_years_is_named_before_computing() -> None:
    data = absent(ensemble(), 1, slice(0, 12 * 40))
    with dask.config.set(scheduler=refuse_to_compute), pytest.raises(ReferencePeriodError, match=r"r2i1p1f1 \(11\)"):
        ca.prepare(data)


def test_member_without_reference_years_can_be_left_out() -> None:
    data = absent(ensemble(4), 1, slice(0, 12 * 40))
    prepared = ca.prepare(data, short_members="drop")["Toy-1"]
    assert "r2i1p1f1" not in prepared["member"].values
    assert "r2i1p1f1: 11 of at least 20 years" in prepared["field"].attrs["left_out_members"]
    with pytest.raises(ReferencePeriodError, match="fewer than two members are left"):
        ca.prepare(absent(ensemble(2), 1, slice(0, 12 * 40)), short_members="drop")


def test_member_that_ends_early_is_missing_there_and_reported() -> None:
    """Its years after the end are NaN, a year begun is named, and the forced response uses the others."""
    data = absent(ensemble(), 0, slice(12 * 50 + 3, None))
    prepared = ca.prepare(data)["Toy-1"].to_dataset().compute()
    assert prepared["field"].attrs["dropped_years"] == "r1i1p1f1: 1900 (3 of 12 steps)"
    late = prepared.sel(year=slice(1900, None))
    assert late["field"].isel(member=0).isnull().all()
    assert late["forced"].notnull().all()
    np.testing.assert_allclose(late["forced"], late["field"].isel(member=slice(1, 3)).mean("member"), atol=1e-12)
    assert prepared["div"].isel(member=0).sel(year=slice(1896, None)).isnull().all()
    assert prepared["div"].isel(member=0).sel(year=slice(1855, 1895)).notnull().all()
    assert not prepared["present"].sel(member="r1i1p1f1", year=1900)


def test_year_that_no_member_has_whole_is_dropped() -> None:
    """Half a year of one member and half of another do not make a year."""
    data = absent(absent(ensemble(2), 0, slice(12 * 59 + 6, None)), 1, slice(12 * 59, 12 * 59 + 6))
    field = ca.prepare(data)["Toy-1"]["field"]
    assert field.year.values[-1] == 1908
    assert field.attrs["dropped_years"] == "r1i1p1f1: 1909 (6 of 12 steps); r2i1p1f1: 1909 (6 of 12 steps)"


def test_cell_areas_weigh_the_native_grid_and_are_not_remapped() -> None:
    """Areas given beside the field are used on its own grid, and gone after regridding."""
    data = ensemble()
    area = xr.DataArray(np.zeros((12, 24)), dims=("lat", "lon"))
    area[6, 3] = 1.0
    given = data.assign(areacella=area, sftlf=area)
    native = ca.prepare(given, grid="native")["Toy-1"].to_dataset()
    cell = native["field"].isel(lat=6, lon=3, drop=True)
    expected = (cell - cell.mean("member")).rolling(year=10, center=True).mean()
    np.testing.assert_allclose(native["div"], expected, atol=1e-12)
    regridded = ca.prepare(given)["Toy-1"].to_dataset()
    assert list(regridded.data_vars) == ["field", "forced", "div"]
    np.testing.assert_allclose(regridded["div"], ca.prepare(data)["Toy-1"]["div"], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "options", "match"),
    [
        (lambda d: d.isel(member=[0]), {}, "Toy-1: .*at least two members; found 1"),
        (lambda d: d.isel(member=0, drop=True), {}, "Toy-1: .*no dimension 'member'"),
        (lambda d: d.isel(time=slice(0, 11)), {}, r"Toy-1: .*no complete year.*1850 \(11 of 12 months\)"),
        (lambda d: d, {"reference": (1700, 1750)}, "Toy-1: .*0 of the years 1700-1750, needed 20"),
        (lambda d: d, {"window": 0}, "window must be a whole number"),
        (lambda d: d, {"edges": "mirror"}, "edges must be one of"),
        (lambda d: d, {"short_members": "ignore"}, "short_members must be one of"),
        (lambda d: d.assign(pr=d["tas"]).rename(tas="ts"), {}, "expected one variable"),
        (lambda d: d.rename(lat="row"), {}, "no latitude among the coordinates"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change: Callable[[xr.Dataset], xr.Dataset], options: dict[str, Any], match: str) -> None:
    broken = change(ensemble())
    for name in broken.coords:
        broken[name].attrs.pop("standard_name", None)
    with pytest.raises(ValueError, match=match):
        ca.prepare(broken, **options)


def test_grid_of_the_wrong_type_is_refused(tree: xr.DataTree) -> None:
    with pytest.raises(TypeError, match="grid must be a Grid"):
        ca.prepare(tree, grid=5.0)  # type: ignore[arg-type] # the wrong type is the point


def test_empty_tree_is_refused() -> None:
    with pytest.raises(ValueError, match="no models"):
        ca.prepare(xr.DataTree())
