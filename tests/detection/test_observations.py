"""Observations in the forms that products have them."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from climanchor import detection
from climanchor.detection.coverage import check_observations, covered_area, window_years
from climanchor.detection.observations import annual_observations
from climanchor.preprocess import ReferencePeriodError, regular_grid


def product(*, years=(1880, 2020), names=("lat", "lon"), units="K", monthly=False, step=10.0):
    lat = np.arange(-90 + step / 2, 90, step)
    lon = np.arange(-180 + step / 2, 180, step)
    span = np.arange(years[0], years[1] + 1)
    values = np.random.default_rng(0).normal(size=(span.size, lat.size, lon.size)) + 0.01 * (span - 1965)[:, None, None]
    if monthly:
        values = np.repeat(values, 12, axis=0)
        time = ("time", pd.date_range(f"{years[0]}-01-01", periods=12 * span.size, freq="MS"))
    else:
        time = ("year", span)
    return xr.DataArray(
        values, dims=(time[0], *names), coords={time[0]: time[1], names[0]: lat, names[1]: lon}, name="anomaly",
        attrs={"units": units},
    )  # fmt: skip


def test_a_file_is_regridded_rebased_and_its_longitudes_run_east(tmp_path):
    path = tmp_path / "obs.nc"
    product(names=("latitude", "longitude"), units="degC").to_netcdf(path)
    obs = detection.load_observations(path, grid=regular_grid(30.0), reference=(1951, 1980))
    assert obs.dims == ("year", "lat", "lon")
    assert obs.shape == (141, 6, 12)
    assert obs["lon"].values[0] == 15.0
    np.testing.assert_allclose(obs.sel(year=slice(1951, 1980)).mean("year"), 0, atol=1e-12)
    assert obs.attrs["reference"] == "1951-1980"
    assert obs.attrs["units"] == "K"
    assert obs.attrs["title"] == "obs.nc"


def test_a_product_keeps_its_title(tmp_path):
    product().to_dataset().assign_attrs(title="A product").to_netcdf(tmp_path / "obs.nc")
    assert detection.load_observations(tmp_path / "obs.nc").attrs["title"] == "A product"


def test_regridding_is_where_it_should_be():
    """A warm eastern hemisphere at −180…180 stays over the same longitudes at 0…360."""
    field = product()
    field = field.copy(data=np.broadcast_to((field["lon"] > 0).astype(float), field.shape))
    obs = detection.load_observations(field, grid=regular_grid(30.0))
    np.testing.assert_allclose(obs.isel(year=0, lat=0), [1.0] * 6 + [0.0] * 6)


def test_an_uncovered_reference_period_is_refused_and_the_way_out_is_named():
    with pytest.raises(ReferencePeriodError, match=r"1880-2020 have 21 of the 51 years .* rebase the models instead"):
        detection.load_observations(product(), reference=(1850, 1900))


def test_cells_without_the_reference_years_are_missing():
    field = product()
    gaps = field.where((field["year"] > 1975) | (field["lat"] > -80))
    obs = detection.load_observations(gaps, reference=(1951, 1980))
    assert bool(obs.sel(lat=-85).isnull().all())
    assert bool(obs.sel(lat=-75).notnull().all())


def test_annual_means_take_the_months_observed_and_no_fewer_than_asked():
    field = product(years=(1900, 1902), monthly=True)
    month = field["time"].dt.month
    gaps = field.where((month > 3) | (field["lat"] < 0)).where((month > 4) | (field["lon"] < 0))
    annual = annual_observations(gaps, min_months=9)
    north_west, north_east = {"lat": 5, "lon": -5}, {"lat": 5, "lon": 5}
    expected = field.isel(time=slice(None, None, 12))
    np.testing.assert_allclose(annual.sel(north_west), expected.sel(north_west))
    assert bool(annual.sel(north_east).isnull().all())


def test_files_of_an_ensemble_become_realizations(tmp_path):
    for number in range(3):
        (product() + number).assign_attrs(units="K").to_netcdf(tmp_path / f"obs_{number}.nc")
    obs = detection.load_observations(sorted(tmp_path.glob("*.nc")), grid=regular_grid(30.0))
    assert obs.dims == ("realization", "year", "lat", "lon")
    np.testing.assert_allclose(obs.isel(realization=2) - obs.isel(realization=0), 2.0)


def test_singleton_dimensions_are_dropped():
    assert detection.load_observations(product().expand_dims(z=1, axis=1)).dims == ("year", "lat", "lon")


@pytest.mark.parametrize(
    ("source", "options", "match"),
    [
        (product(units="W m-2"), {}, "is in 'W m-2': detection needs temperature anomalies"),
        (product() + 288, {"units": "K"}, "these are not anomalies"),
        (product().drop_attrs(), {}, "states no units: pass units='K'"),
        (product(), {"variable": "tas"}, "hold no variable 'tas'"),
        (product(), {"min_months": 13}, r"min_months must lie in 1 … 12"),
        (product().expand_dims(level=2), {}, r"select one of each of \['level'\]"),
        (xr.Dataset({"a": product(), "b": product()}), {}, r"holds \['a', 'b'\]: name one with variable="),
        (product().isel(year=0, drop=True), {}, "no fields of"),
        ([], {}, "no file of observations"),
    ],
)
def test_what_is_not_an_anomaly_product_is_refused(source, options, match):
    with pytest.raises(ValueError, match=match):
        detection.load_observations(source, **options)


def test_the_window_is_the_last_years_or_the_years_named():
    obs = check_observations(product())
    assert window_years(obs, 40)[[0, -1]].tolist() == [1981, 2020]
    assert window_years(obs, (1950, 1990))[[0, -1]].tolist() == [1950, 1990]


@pytest.mark.parametrize(
    ("window", "match"),
    [
        ((1800, 1850), "1880–2020 do not overlap the window 1800–1850"),
        (200, r"lack 59 of the 200 years of the window 1821–2020 \(first missing: 1821\)"),
        (3, "a window needs five years or more"),
    ],
)
def test_windows_outside_the_observations_are_refused(window, match):
    with pytest.raises(ValueError, match=match):
        window_years(check_observations(product()), window)


def test_the_mask_holds_cells_observed_in_every_year_and_realization():
    obs = xr.concat([product(), product()], dim="realization")
    obs = obs.where((obs["year"] != 2000) | (obs["lat"] > 0))
    obs = obs.where((obs["realization"] != 1) | (obs["lon"] > 0))
    mask = detection.coverage_mask(obs, np.arange(1990, 2011))
    assert covered_area(mask) == pytest.approx(0.25)
    assert bool(mask.sel(lat=5, lon=5))
    assert not bool(mask.sel(lat=5, lon=-5))


def test_empty_coverage_is_refused():
    with pytest.raises(ValueError, match=r"only 0.0% of the globe is observed in every year of 2000–2010"):
        detection.coverage_mask(product() * np.nan, np.arange(2000, 2011))


def test_observations_of_other_dimensions_are_refused():
    with pytest.raises(ValueError, match=r"need dimensions \(year, lat, lon\)"):
        check_observations(product().rename(year="time"))
