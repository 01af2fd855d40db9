"""Annual means: calendars, whole years, daily and annual input, laziness."""

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr

import climanchor as ca


def series(start: str, periods: int, *, freq: str = "MS", calendar: str = "standard", seed: int = 0) -> xr.DataArray:
    cftime = calendar != "standard"
    time = xr.date_range(start, periods=periods, freq=freq, calendar=calendar, use_cftime=cftime)
    values = np.random.default_rng(seed).normal(280, 10, periods)
    return xr.DataArray(values, dims="time", coords={"time": time}, name="tas")


@pytest.mark.parametrize("calendar", ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"])
def test_months_weigh_as_long_as_they_are_in_the_calendar(calendar: str) -> None:
    """The mean of monthly means of daily values is the mean of the daily values, in every calendar."""
    daily = series("1899-01-01", 6 * 366, freq="D", calendar=calendar)
    daily = daily.isel(time=daily.time.dt.year < 1904)
    monthly = daily.resample(time="MS").mean()
    by_day, by_month = ca.annual_mean(daily), ca.annual_mean(monthly)
    assert by_day.year.values.tolist() == by_month.year.values.tolist() == [1899, 1900, 1901, 1902, 1903]
    np.testing.assert_allclose(by_month.values, by_day.values, rtol=1e-13)
    direct = daily.groupby("time.year").mean()
    np.testing.assert_allclose(by_day.values, direct.values, rtol=1e-13)


def test_december_to_november_loses_the_first_and_last_year_and_says_so() -> None:
    """HadCM3's historical runs begin in December 1859."""
    annual = ca.annual_mean(series("1859-12-01", 1 + 12 * 3 + 11, calendar="360_day"))
    assert annual.year.values.tolist() == [1860, 1861, 1862]
    assert annual.attrs["dropped_years"] == "1859 (1 of 12 months), 1863 (11 of 12 months)"


def test_year_with_a_missing_month_is_dropped_from_the_middle() -> None:
    monthly = series("1850-01-01", 36)
    annual = ca.annual_mean(monthly.isel(time=np.arange(36) != 17))
    assert annual.year.values.tolist() == [1850, 1852]
    assert annual.attrs["dropped_years"] == "1851 (11 of 12 months)"
    np.testing.assert_array_equal(annual.values, ca.annual_mean(monthly).sel(year=[1850, 1852]).values)


def test_incomplete_daily_year_is_dropped() -> None:
    annual = ca.annual_mean(series("1850-01-01", 365 + 364, freq="D", calendar="noleap"))
    assert annual.year.values.tolist() == [1850]
    assert annual.attrs["dropped_years"] == "1851 (364 of 365 steps)"


def test_six_hourly_steps_weigh_alike() -> None:
    six_hourly = series("1851-01-01", 365 * 4, freq="6h", calendar="noleap")
    np.testing.assert_allclose(ca.annual_mean(six_hourly).values, six_hourly.values.mean(), rtol=1e-13)


def test_annual_input_passes_through() -> None:
    yearly = series("1890-07-01", 5, freq="YS-JUL", calendar="noleap")
    annual = ca.annual_mean(yearly)
    assert annual.year.values.tolist() == [1890, 1891, 1892, 1893, 1894]
    assert annual.year.dtype == np.int64
    np.testing.assert_array_equal(annual.values, yearly.values)
    assert ca.annual_mean(annual) is annual


def test_bounds_tell_the_month_of_labels_at_its_end() -> None:
    """Some files stamp a month with the first instant of the next; their time bounds say what is meant."""
    time = xr.date_range("1850-01-01", periods=25, freq="MS", calendar="noleap", use_cftime=True)
    bounds = np.column_stack([time[:-1], time[1:]])
    values = np.random.default_rng(0).normal(size=24)
    data = xr.Dataset(
        {"tas": ("time", values), "time_bnds": (("time", "bnds"), bounds)}, coords={"time": time[1:].values}
    )
    annual = ca.annual_mean(data)
    assert annual.year.values.tolist() == [1850, 1851]
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    np.testing.assert_allclose(annual["tas"].values[0], np.average(values[:12], weights=lengths))


def test_a_missing_month_of_a_cell_makes_its_year_missing() -> None:
    monthly = series("1850-01-01", 24)
    monthly[3] = np.nan
    assert np.isnan(ca.annual_mean(monthly).values).tolist() == [True, False]


@pytest.mark.parametrize("chunk", [5, 7, 12, 100, 240])
def test_chunks_of_any_length_give_the_same_and_stay_lazy(chunk: int) -> None:
    rng = np.random.default_rng(0)
    time = xr.date_range("1850-03-01", periods=240, freq="MS", calendar="noleap", use_cftime=True)
    values = rng.normal(280, 9, (2, 240, 3)).astype("float32")
    eager = xr.DataArray(values, dims=("member", "time", "cell"), coords={"time": time}, name="tas")
    lazy = eager.copy(data=da.from_array(values, chunks=(1, chunk, 3)))

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("computed")

    with dask.config.set(scheduler=refuse):
        annual = ca.annual_mean(lazy)
    np.testing.assert_array_equal(annual.compute().values, ca.annual_mean(eager).values)
    assert annual.dtype == np.float64
    assert annual.sizes["year"] == 19


def test_dimension_order_is_kept() -> None:
    monthly = series("1850-01-01", 24).expand_dims(lat=[0.0, 1.0], axis=0).expand_dims(lon=[0.0, 1.0, 2.0], axis=2)
    assert ca.annual_mean(monthly).dims == ("lat", "year", "lon")


@pytest.mark.parametrize(
    ("broken", "match"),
    [
        (series("1850-01-01", 24).assign_coords(time=np.arange(24)), "holds int64 values, not dates"),
        (series("1850-01-01", 24).isel(time=slice(None, None, -1)), "time does not increase after step 0"),
        (series("1850-01-01", 24).isel(time=[0, 1, 1, *range(2, 24)]), "time does not increase after step 1"),
        (series("1850-01-01", 24).isel(time=slice(0, 0)), "time is empty"),
        (series("1850-01-01", 11), r"no complete year.*1850 \(11 of 12 months\)"),
        (series("1850-01-01", 24).rename(time="when"), "dimension 'time' or 'year'"),
    ],
)
def test_unusable_time_is_named(broken: xr.DataArray, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        ca.annual_mean(broken)


def test_two_labels_in_one_month_are_refused() -> None:
    monthly = series("1850-01-01", 24)
    twice = monthly.assign_coords(time=np.where(np.arange(24) == 4, np.datetime64("1850-04-20"), monthly.time.values))
    with pytest.raises(ValueError, match="month 1850-04 twice"):
        ca.annual_mean(twice)


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="expected a DataArray, a Dataset or a DataTree of models; got ndarray"):
        ca.annual_mean(np.ones(24))  # type: ignore[type-var] # the wrong type is the point
