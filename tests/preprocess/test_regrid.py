"""Regridding of labelled fields: bounds, other grids, weights kept and read, missing values, errors."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr

import climanchor as ca
from climanchor.preprocess import Cells, Grid, GridError, make_weights, read_weights, write_weights
from climanchor.preprocess.cells import cell_areas, cell_overlaps
from climanchor.preprocess.grids import find_grid

Cdo = Callable[..., xr.DataArray]


def field(lat: Any, lon: Any, *, seed: int = 0) -> xr.DataArray:
    values = np.random.default_rng(seed).normal(280, 10, (len(lat), len(lon)))
    return xr.DataArray(values, dims=("lat", "lon"), coords={"lat": lat, "lon": lon}, name="tas")


def rotated(rows: int, columns: int, *, tilt: float = 35.0) -> xr.Dataset:
    """A regular grid turned away from the poles: curvilinear, with cells around and on the true poles."""
    lat, lon = np.linspace(-90, 90, rows + 1), np.linspace(0, 360, columns + 1)

    def turned(phi: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        phi, lam = np.meshgrid(np.deg2rad(phi), np.deg2rad(lam), indexing="ij")
        x, y, z = np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)
        t = np.deg2rad(tilt)
        x, z = x * np.cos(t) + z * np.sin(t), z * np.cos(t) - x * np.sin(t)
        return np.rad2deg(np.arcsin(z.clip(-1, 1))), np.rad2deg(np.arctan2(y, x)) % 360

    def corners(mesh: np.ndarray) -> np.ndarray:
        return np.stack([mesh[:-1, :-1], mesh[:-1, 1:], mesh[1:, 1:], mesh[1:, :-1]], axis=-1)

    centres = turned((lat[1:] + lat[:-1]) / 2, (lon[1:] + lon[:-1]) / 2)
    edges = turned(lat, lon)
    values = 280 + 20 * np.cos(np.deg2rad(centres[0])) + np.random.default_rng(0).normal(0, 2, (rows, columns))
    data = xr.Dataset({"tas": (("y", "x"), values)})
    names = (("lat", "latitude", "degrees_north"), ("lon", "longitude", "degrees_east"))
    for (name, standard, units), centre, edge in zip(names, centres, edges, strict=True):
        attrs = {"standard_name": standard, "units": units, "bounds": f"{name}_vertices"}
        data = data.assign_coords({name: (("y", "x"), centre, attrs)})
        data[f"{name}_vertices"] = (("y", "x", "vertices"), corners(edge))
    return data


def test_global_mean_is_conserved(model_field: xr.Dataset) -> None:
    before, after = ca.global_mean(model_field), ca.global_mean(ca.regrid(model_field))
    np.testing.assert_allclose(after["tas"], before["tas"], rtol=1e-12)


def test_regridding_twice_to_the_same_grid_changes_nothing(model_field: xr.Dataset) -> None:
    once = ca.regrid(model_field)
    np.testing.assert_allclose(ca.regrid(once)["tas"], once["tas"], rtol=1e-13)


@pytest.mark.parametrize("name", ["{}_bnds", "{}_bounds", "bounds_{}"])
def test_bounds_of_the_file_are_used_under_any_usual_name(name: str) -> None:
    """Two uneven rows, whose edge is not midway: the derived bounds would give another mean."""
    data = xr.Dataset({"tas": field([-45.0, 60.0], np.arange(0, 360, 45.0))})
    lat_edges, lon_edges = [[-90.0, 30.0], [30.0, 90.0]], [[x - 22.5, x + 22.5] for x in np.arange(0, 360, 45.0)]
    edges = {"lat": (("lat", "b"), lat_edges), "lon": (("lon", "b"), lon_edges)}
    given = data.assign({name.format(axis): values for axis, values in edges.items()})
    band = ca.regrid(given, grid=ca.regular_grid(60.0))["tas"].isel(lat=1)
    rows = ca.regrid(given.isel(lat=[0]), grid=ca.regular_grid(60.0), min_valid=0.0)["tas"]
    np.testing.assert_allclose(band, rows.isel(lat=1), rtol=1e-13)
    assert not np.allclose(ca.regrid(data, grid=ca.regular_grid(60.0))["tas"].isel(lat=1), band)
    assert "derived" in ca.regrid(data)["tas"].attrs["assumed"]
    assert "assumed" not in ca.regrid(given)["tas"].attrs


def test_result_carries_coordinates_bounds_and_what_was_done() -> None:
    data = xr.Dataset({"tas": field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0)), "series": ("time", [1.0, 2.0])})
    out = ca.regrid(data)
    assert out["tas"].attrs["regridding"] == "conservative to 36x72, valid fraction at least 0.5"
    assert out["lat"].attrs["bounds"] == "lat_bnds"
    assert out["lat_bnds"].values[[0, -1]].tolist() == [[-90.0, -85.0], [85.0, 90.0]]
    assert out["series"].values.tolist() == [1.0, 2.0]


def test_lazy_input_stays_lazy_and_keeps_its_chunks() -> None:
    data = field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0)).expand_dims(year=6).chunk(year=2, lat=3)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("computed")

    with dask.config.set(scheduler=refuse):
        out = ca.regrid(data)
    assert out.chunks == ((2, 2, 2), (36,), (72,))
    np.testing.assert_array_equal(out.compute().values, ca.regrid(data.compute()).values)


def test_dimension_order_of_the_source_does_not_matter() -> None:
    data = field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0))
    np.testing.assert_array_equal(ca.regrid(data.T).values, ca.regrid(data).values)


def test_curvilinear_cells_cover_the_sphere_and_conserve_the_mean() -> None:
    data = rotated(30, 60)
    grid = find_grid(data["tas"], data)
    assert isinstance(grid, Cells)
    assert cell_areas(grid).sum() == pytest.approx(4 * np.pi, rel=1e-12)
    np.testing.assert_allclose(cell_overlaps(grid, ca.regular_grid()).sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(ca.global_mean(ca.regrid(data))["tas"], ca.global_mean(data)["tas"], rtol=1e-12)


def test_curvilinear_agrees_with_remapcon(cdo: Cdo, grid_file: Path) -> None:
    """Within 1e-2 K everywhere and 1e-3 K rms on a field of 2 K noise: edges of polygons differ a little."""
    data = rotated(60, 120)
    theirs = cdo(f"remapcon,{grid_file}", data)
    off = ca.regrid(data)["tas"].values - theirs.values
    assert np.abs(off).max() < 1e-2
    assert np.sqrt(np.mean(off**2)) < 1e-3


def test_unstructured_cells_equal_the_curvilinear_ones_they_are() -> None:
    """Cells in one row, some with a repeated corner as padding, give what the mesh gives."""
    data = rotated(12, 24)
    flat = data.stack(cell=("y", "x")).drop_vars(["cell", "y", "x"])
    for name in ("lat_vertices", "lon_vertices"):
        corners = flat[name].transpose("cell", "vertices").values
        flat[name] = (("cell", "corner"), np.column_stack([corners, corners[:, -1]]))
    np.testing.assert_allclose(ca.regrid(flat)["tas"].values, ca.regrid(data)["tas"].values, atol=1e-9)


def test_weights_are_made_once_per_pair_of_grids() -> None:
    grid = find_grid(field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0)))
    assert make_weights(grid, ca.regular_grid(10.0)) is make_weights(grid, ca.regular_grid(10.0))
    assert make_weights(grid, ca.regular_grid(10.0)) is not make_weights(grid, ca.regular_grid(15.0))


@pytest.mark.parametrize("method", ["conservative", "bilinear"])
def test_weights_in_a_folder_are_kept_and_found_again(tmp_path: Path, method: Any) -> None:
    data = field(np.linspace(-90, 90, 10), np.arange(0, 360, 20.0))
    first = ca.regrid(data, method=method, weights=tmp_path)
    (kept,) = tmp_path.iterdir()
    stamp = kept.stat().st_mtime_ns
    again = ca.regrid(data, method=method, weights=tmp_path)
    assert kept.stat().st_mtime_ns == stamp
    np.testing.assert_allclose(again, first, rtol=1e-14)
    np.testing.assert_allclose(ca.regrid(data, weights=kept), first, rtol=1e-14)


def test_weights_object_brings_its_own_grid() -> None:
    data = field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0))
    weights = make_weights(find_grid(data), ca.regular_grid(30.0))
    assert ca.regrid(data, weights=weights).shape == (6, 12)


def test_bare_esmf_weights_need_and_use_the_grid(tmp_path: Path) -> None:
    """xESMF writes row, col and S alone, numbered from one."""
    data = field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0))
    matrix = make_weights(find_grid(data), ca.regular_grid()).matrix.tocoo()
    links = {"row": matrix.row + 1, "col": matrix.col + 1, "S": matrix.data}
    path = tmp_path / "esmf.nc"
    xr.Dataset({name: ("n_s", values) for name, values in links.items()}).to_netcdf(path)
    with pytest.raises(GridError, match="does not describe its target grid"):
        ca.regrid(data, weights=path)
    by_file = ca.regrid(data, weights=path, grid=ca.regular_grid())
    np.testing.assert_allclose(by_file, ca.regrid(data), rtol=1e-13)


def scrip_file(path: Path, data: xr.DataArray) -> None:
    """A SCRIP file in radians with weights divided by the covered fraction, as remapping tools write them."""
    source, target = find_grid(data), ca.regular_grid(10.0)
    weights = make_weights(source, target)
    matrix, covered = weights.matrix.tocoo(), np.asarray(weights.matrix.sum(axis=1))
    centres = {
        "src_grid_center_lat": ("src", np.repeat(source.lat, source.lon.size)),
        "src_grid_center_lon": ("src", np.tile(source.lon, source.lat.size)),
        "dst_grid_center_lat": ("dst", np.repeat(target.lat, target.lon.size)),
        "dst_grid_center_lon": ("dst", np.tile(target.lon, target.lat.size)),
    }
    scrip = xr.Dataset({n: (d, np.deg2rad(v), {"units": "radians"}) for n, (d, v) in centres.items()})
    scrip["src_address"] = ("links", matrix.col + 1)
    scrip["dst_address"] = ("links", matrix.row + 1)
    scrip["remap_matrix"] = (("links", "num_wgts"), (matrix.data / covered[matrix.row])[:, None])
    scrip["dst_grid_frac"] = ("dst", covered)
    scrip.assign_attrs(normalization="fracarea").to_netcdf(path)


def test_scrip_weights_serve_data_that_runs_the_other_way(tmp_path: Path) -> None:
    """Weights made for the file serve the opened data, whose rows and columns were turned round."""
    path = tmp_path / "scrip.nc"
    stored = field(np.linspace(70, -70, 8), np.arange(-180, 180, 20.0))
    scrip_file(path, stored)
    opened = stored.isel(lat=slice(None, None, -1)).assign_coords(lon=stored.lon % 360).sortby("lon")
    expected = ca.regrid(stored, grid=ca.regular_grid(10.0))
    np.testing.assert_allclose(ca.regrid(opened, weights=path), expected, rtol=1e-12)
    assert np.isnan(expected).any()


def test_weights_of_another_grid_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scrip.nc"
    scrip_file(path, field(np.linspace(-70, 70, 8), np.arange(0, 360, 20.0)))
    with pytest.raises(GridError, match="weights for 144 source cells, but the source grid has 162"):
        ca.regrid(field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0)), weights=path)
    with pytest.raises(GridError, match="these weights are for another grid"):
        ca.regrid(field(np.linspace(-60, 60, 8), np.arange(0, 360, 20.0)), weights=path)
    with pytest.raises(GridError, match="weights for 648 target cells"):
        read_weights(path, grid=ca.regular_grid(5.0))
    weights = make_weights(ca.regular_grid(10.0), ca.regular_grid(30.0))
    with pytest.raises(ValueError, match=r"weights are for 648 source cells; tas has \(9, 18\)"):
        ca.regrid(field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0)), weights=weights)


def test_files_without_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tas.nc"
    data = field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0))
    data.to_netcdf(path)
    with pytest.raises(GridError, match="neither 'row, col, S' nor SCRIP links; found"):
        ca.regrid(data, weights=path)
    with pytest.raises(FileNotFoundError, match=r"weights='.*absent' is neither a weight file nor an existing folder"):
        ca.regrid(data, weights=tmp_path / "absent")


def test_written_weights_come_back(tmp_path: Path) -> None:
    weights = make_weights(ca.regular_grid(10.0), ca.regular_grid(30.0))
    write_weights(weights, tmp_path / "w.nc")
    again = read_weights(tmp_path / "w.nc")
    assert abs(again.matrix - weights.matrix).max() < 1e-15
    assert again.target.key == weights.target.key


def test_xesmf_is_imported_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the default works, and asking for it says where it comes from."""
    monkeypatch.setitem(sys.modules, "xesmf", None)
    data = field(np.linspace(-80, 80, 9), np.arange(0, 360, 20.0))
    assert ca.regrid(data).shape == (36, 72)
    with pytest.raises(ImportError, match=r"conda env create -f environment\.yml"):
        ca.regrid(data, backend="xesmf")


@pytest.mark.parametrize("method", ["conservative", "bilinear"])
def test_xesmf_is_handed_closed_chains_of_edges(monkeypatch: pytest.MonkeyPatch, method: Any) -> None:
    """Rows from north to south with bounds from south to north become one descending chain; weights come back."""
    asked = {}

    def regridder(source: xr.Dataset, target: xr.Dataset, method: str, *, periodic: bool) -> SimpleNamespace:
        asked.update(source=source, target=target, method=method, periodic=periodic)
        matrix = make_weights(find_grid(data["tas"], data), ca.regular_grid(30.0)).matrix
        return SimpleNamespace(weights=SimpleNamespace(data=SimpleNamespace(to_scipy_sparse=lambda: matrix)))

    monkeypatch.setitem(sys.modules, "xesmf", SimpleNamespace(Regridder=regridder))
    data = xr.Dataset({"tas": field([60.0, 0.0, -60.0], np.arange(0, 360, 60.0))})
    data["lat_bnds"] = (("lat", "bnds"), [[30.0, 90.0], [-30.0, 30.0], [-90.0, -30.0]])
    out = ca.regrid(data, grid=ca.regular_grid(30.0), backend="xesmf", method=method)
    np.testing.assert_array_equal(out["tas"], ca.regrid(data, grid=ca.regular_grid(30.0))["tas"])
    assert asked["source"]["lat_b"].values.tolist() == [90.0, 30.0, -30.0, -90.0]
    assert asked["source"]["lon_b"].values.tolist() == [-30.0, 30.0, 90.0, 150.0, 210.0, 270.0, 330.0]
    assert asked["target"].sizes == {"y": 6, "x": 12, "y_b": 7, "x_b": 13}
    assert asked["periodic"] == (method == "bilinear")


def test_xesmf_is_handed_the_mesh_of_a_curvilinear_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four corners per cell become one mesh of corners; unstructured cells are sent to the native backend."""
    asked = []

    def regridder(source: xr.Dataset, target: xr.Dataset, method: str, *, periodic: bool) -> SimpleNamespace:
        asked.append(source)
        matrix = make_weights(find_grid(data["tas"], data), ca.regular_grid(30.0)).matrix
        return SimpleNamespace(weights=SimpleNamespace(data=SimpleNamespace(to_scipy_sparse=lambda: matrix)))

    monkeypatch.setitem(sys.modules, "xesmf", SimpleNamespace(Regridder=regridder))
    data = rotated(4, 8)
    ca.regrid(data, grid=ca.regular_grid(30.0), backend="xesmf")
    mesh = asked[0]["lat_b"].values
    assert mesh.shape == (5, 9)
    np.testing.assert_array_equal(mesh[:-1, :-1], data["lat_vertices"][..., 0])
    np.testing.assert_array_equal(mesh[1:, 1:], data["lat_vertices"][..., 2])
    flat = data.stack(cell=("y", "x")).drop_vars(["cell", "y", "x"])
    with pytest.raises(ValueError, match="no unstructured source; use backend='native'"):
        ca.regrid(flat, backend="xesmf")


def test_xesmf_agrees_to_the_shape_of_cell_edges() -> None:
    """ESMF's edges are great circles, ours circles of latitude: a few hundredths of a kelvin on smooth fields."""
    pytest.importorskip("xesmf", reason="xESMF comes from conda-forge only", exc_type=ImportError)
    lat, lon = np.linspace(-89, 89, 90), np.arange(0, 360, 2.0)
    smooth = field(lat, lon) * 0 + 250 + 40 * np.cos(np.deg2rad(lat))[:, None]
    np.testing.assert_allclose(ca.regrid(smooth, backend="xesmf"), ca.regrid(smooth), atol=0.1)


LAT, LON = np.linspace(-80, 80, 9), np.arange(0, 360, 20.0)


@pytest.mark.parametrize(
    ("broken", "options", "match"),
    [
        (field(LAT, LON), {"method": "nearest"}, "method must be one of"),
        (field(LAT, LON), {"backend": "cdo"}, "backend must be one of"),
        (field(LAT, LON), {"min_valid": 1.5}, r"min_valid must lie in \[0, 1\]; got 1.5"),
        (field(LAT, LON).drop_vars("lat"), {}, "no latitude among the coordinates"),
        (field(LAT, LON).isel(lat=0), {}, "no latitude|single point"),
        (field([0, 10, 5], LON), {}, "latitude centres must strictly increase"),
        (field([0, 45, 95], LON), {}, r"latitudes must lie in \[-90, 90\]"),
        (field(LAT, [np.nan, *LON[1:]]), {}, "longitude centres contain missing"),
    ],
)
def test_bad_input_is_named(broken: xr.DataArray, options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        ca.regrid(broken, **options)


def test_bounds_that_do_not_hold_their_centres_are_refused() -> None:
    data = xr.Dataset({"tas": field(LAT, LON)})
    data["lat_bnds"] = (("lat", "bnds"), np.zeros((9, 2)))
    with pytest.raises(GridError, match=r"lat_bnds\[0\] = \[0.0, 0.0\] does not contain its centre -80; drop lat_bnds"):
        ca.regrid(data)


def test_curvilinear_without_corners_says_what_is_needed() -> None:
    with pytest.raises(GridError, match="have no corners"):
        ca.regrid(rotated(4, 8)["tas"])
    with pytest.raises(GridError, match="bilinear remapping needs a rectilinear source"):
        ca.regrid(rotated(4, 8), method="bilinear")


def test_resolution_must_divide_the_globe() -> None:
    assert ca.regular_grid(2.5).shape == (72, 144)
    for wrong in (7.0, 0.0, -5.0):
        with pytest.raises(ValueError, match="divides 180"):
            ca.regular_grid(wrong)


def test_grid_from_centres_serves_as_source() -> None:
    data = field(LAT, LON)
    assert np.array_equal(ca.regrid(data, source=Grid.from_centres(LAT, LON)), ca.regrid(data))
