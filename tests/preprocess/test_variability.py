"""Global means, forced response, DIV and its magnitude; common years and land."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr

import climanchor as ca
from climanchor.preprocess import GridError
from climanchor.preprocess.magnitude import PUBLISHED_CLASSES


def fields(members: int = 4, years: int = 40, *, seed: int = 0) -> xr.DataArray:
    grid = ca.regular_grid(30.0)
    values = np.random.default_rng(seed).normal(size=(members, years, *grid.shape))
    coords = {"member": [f"r{i + 1}" for i in range(members)], "year": np.arange(1850, 1850 + years)}
    dims = ("member", "year", "lat", "lon")
    return xr.DataArray(values, dims=dims, coords={**coords, **grid.coords()}, name="tas", attrs={"units": "K"})


def test_global_mean_weighs_rows_by_area() -> None:
    """A field of sin²(latitude) has the global mean one third."""
    grid = ca.regular_grid(2.5)
    field = xr.DataArray(
        np.sin(np.deg2rad(grid.lat))[:, None] ** 2 * np.ones(144), dims=("lat", "lon"), coords=grid.coords()
    )
    assert float(ca.global_mean(field)) == pytest.approx(1 / 3, abs=5e-4)
    assert float(ca.global_mean(field, weighted=False)) == pytest.approx(0.5, abs=1e-3)
    assert float(ca.global_mean(field.T)) == pytest.approx(float(ca.global_mean(field)))


def test_missing_cells_are_left_out_of_the_mean_with_their_area() -> None:
    field = fields(1, 2)[0]
    field[0, :3] = np.nan
    field[1] = np.nan
    mean = ca.global_mean(field)
    area = xr.DataArray(ca.regular_grid(30.0).area, dims=("lat", "lon"))
    np.testing.assert_allclose(mean[0], field[0, 3:].weighted(area[3:]).mean(), rtol=1e-13)
    assert np.isnan(mean[1])


def test_areas_come_from_areacella_beside_the_field_or_from_the_argument() -> None:
    field = fields(1, 2)[0]
    area = xr.DataArray(np.arange(72.0).reshape(6, 12), dims=("lat", "lon"), coords=field[0].coords)
    expected = field.weighted(area).mean(("lat", "lon"))
    beside = ca.global_mean(xr.Dataset({"tas": field, "areacella": area}))
    np.testing.assert_allclose(beside["tas"], expected)
    assert list(beside.data_vars) == ["tas"]
    assert beside["tas"].attrs["area_weights"] == "cell areas from areacella"
    np.testing.assert_allclose(ca.global_mean(field, area=area.T), expected)
    with pytest.raises(GridError, match="cell areas have sizes"):
        ca.global_mean(field, area=area[1:])


def test_half_a_grid_is_not_taken_for_a_series() -> None:
    """A zonal mean, or a field without coordinates, has no global mean; it must not pass as one."""
    with pytest.raises(GridError, match="no longitude among the coordinates"):
        ca.global_mean(fields().mean("lon"))
    with pytest.raises(GridError, match="no latitude among the coordinates"):
        ca.decadal_variability(fields().drop_vars(["lat", "lon"]))


def test_series_pass_through_the_global_mean() -> None:
    point = fields().isel(lat=0, lon=0)
    assert ca.global_mean(point) is point
    series = fields().isel(lat=0, lon=0, drop=True)
    assert ca.global_mean(series) is series


def test_leave_one_out_is_the_mean_of_the_others() -> None:
    x = fields()
    x[2, 5] = np.nan
    out = ca.forced_response(x, leave_one_out=True)
    others = x.isel(member=[0, 2, 3]).mean("member")
    np.testing.assert_allclose(out[1], others, atol=1e-13)
    assert out[2, 5].isnull().all()
    assert out.dims == x.dims


def test_forced_response_needs_an_ensemble() -> None:
    with pytest.raises(ValueError, match=r"at least two members; found 1 member\(s\)"):
        ca.forced_response(fields(1))
    with pytest.raises(ValueError, match="found no dimension 'member'"):
        ca.forced_response(fields()[0].drop_vars("member"))


def test_div_has_the_sign_of_a_warm_member() -> None:
    x = fields() * 0 + xr.DataArray([1.0, 0.0, 0.0, 0.0], dims="member")
    div = ca.decadal_variability(x).dropna("year")
    np.testing.assert_allclose(div[:, 0], [0.75, -0.25, -0.25, -0.25])
    assert div.attrs["sign"] == "member minus forced response"


def test_windows_do_not_reach_across_absent_years() -> None:
    x = fields().isel(year=[*range(15), *range(18, 40)])
    div = ca.decadal_variability(x, window=5)
    assert div.year.values.tolist() == x.year.values.tolist()
    missing = div.year.values[np.isnan(div[0].values)]
    assert missing.tolist() == [1850, 1851, 1863, 1864, 1868, 1869, 1888, 1889]


def test_unweighted_and_zero_padded_div_are_offered() -> None:
    x = fields()
    plain = x.mean(("lat", "lon"))
    plain = plain - plain.mean("member")
    published = ca.decadal_variability(x, weighted=False, edges="zero")
    assert not published.isnull().any()
    np.testing.assert_allclose(published[:, 20], plain[:, 15:25].mean("year"), atol=1e-13)
    np.testing.assert_allclose(published[:, 0], plain[:, :5].sum("year") / 10, atol=1e-13)


def test_magnitude_is_corrected_for_the_size_of_the_ensemble() -> None:
    """With few members the raw spread is too small and the leave-one-out one too large; both are corrected."""
    rng = np.random.default_rng(0)
    x = xr.DataArray(rng.normal(size=(3, 20000)), dims=("member", "year"), coords={"year": np.arange(20000)}, name="x")
    together = ca.div_magnitude(ca.decadal_variability(x, window=1))
    apart = ca.div_magnitude(ca.decadal_variability(x, window=1, leave_one_out=True))
    assert float(together.raw) == pytest.approx(np.sqrt(2 / 3), rel=0.01)
    assert float(apart.raw) == pytest.approx(np.sqrt(3 / 2), rel=0.01)
    assert float(together.corrected) == pytest.approx(1.0, rel=0.01)
    assert float(apart.corrected) == pytest.approx(1.0, rel=0.01)
    assert int(together.members) == 3


def test_magnitudes_of_a_tree_are_a_table_with_classes() -> None:
    small, large = fields(seed=1) * 0.1, fields(seed=2) * 10.0
    tree = xr.DataTree.from_dict({"CESM2": small.to_dataset(name="tas"), "New-1": large.to_dataset(name="tas")})
    table = ca.div_magnitude(tree.chunk(member=1))
    assert table.corrected.chunks is not None
    assert table.model.values.tolist() == ["CESM2", "New-1"]
    assert table.level.values.tolist() == ["low", "high"]
    assert table.published_level.values.tolist() == ["low", ""]
    assert set(PUBLISHED_CLASSES.values()) == {"low", "high"}


def test_magnitude_needs_members_and_years() -> None:
    with pytest.raises(ValueError, match=r"lacks \['member'\]"):
        ca.div_magnitude(xr.DataArray([1.0], dims="year", name="div"))
    with pytest.raises(ValueError, match="at least two members; found 1"):
        ca.div_magnitude(xr.DataArray([[1.0]], dims=("member", "year"), name="div"))


def test_common_period_keeps_the_years_all_models_have() -> None:
    nodes = {"A": fields().to_dataset(), "B": fields().isel(year=slice(10, 30)).to_dataset()}
    out = ca.common_period(xr.DataTree.from_dict(nodes), last=1870)
    assert [out[m].year.values.tolist() for m in "AB"] == [list(range(1860, 1871))] * 2
    assert out.attrs["common_period"] == "1860-1870 (11 years)"


def test_models_without_common_years_are_named() -> None:
    late = fields().assign_coords(year=np.arange(1950, 1990))
    tree = xr.DataTree.from_dict({"A": fields().to_dataset(), "B": late.to_dataset()})
    with pytest.raises(ValueError, match="A ends in 1889, B begins in 1950"):
        ca.common_period(tree)
    with pytest.raises(ValueError, match="C: no coordinate 'year'"):
        ca.common_period(xr.DataTree.from_dict({"C": xr.Dataset()}))
    with pytest.raises(ValueError, match="no models"):
        ca.common_period(xr.DataTree())


@pytest.mark.parametrize(("units", "scale"), [("%", 100.0), ("1", 1.0)])
def test_land_is_where_half_the_cell_is(units: str, scale: float) -> None:
    grid = ca.regular_grid(2.5)
    share = np.zeros(grid.shape)
    share[:, 0] = 1.0
    share[:36, 4:6] = 0.4
    data = xr.DataArray(share * scale, dims=("lat", "lon"), coords=grid.coords(), name="sftlf", attrs={"units": units})
    land = ca.land_mask(data)
    assert land.dtype == bool
    assert land[:, 0].all()
    assert not land[:, 1:].any()
    assert ca.land_mask(data, threshold=30.0)[:18, 2].all()
    tree = xr.DataTree.from_dict({"CESM2": data.to_dataset()})
    assert ca.land_mask(tree)["CESM2"]["land"].equals(land)


def test_land_fraction_without_units_is_refused() -> None:
    data = fields()[0, 0].rename("sftlf").assign_attrs(units="K")
    with pytest.raises(ValueError, match="sftlf: units of a land fraction must be '%' or '1'; got 'K'"):
        ca.land_mask(data)
    with pytest.raises(ValueError, match=r"percentage in \(0, 100\]; got 0"):
        ca.land_mask(data, threshold=0)


def test_everything_is_lazy() -> None:
    """A graph that would fail if computed goes through every step."""

    def fail(block: np.ndarray) -> np.ndarray:
        raise AssertionError("computed")

    x = fields()
    lazy = x.copy(
        data=da.from_array(x.values, chunks=(1, 10, 6, 12)).map_blocks(fail, dtype=float, meta=np.empty((0,) * 4))
    )
    for out in (
        ca.global_mean(lazy),
        ca.forced_response(lazy),
        ca.forced_response(lazy, leave_one_out=True),
        ca.decadal_variability(lazy),
        ca.div_magnitude(ca.decadal_variability(lazy)).level,
        ca.land_mask(lazy[0, 0].assign_attrs(units="%")),
    ):
        assert out.chunks is not None
