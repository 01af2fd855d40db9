"""Anomalies and the guard on partial reference periods."""

from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr

import climanchor as ca
from climanchor.preprocess import ReferencePeriodError


def fields(members: int = 2, first: int = 1850, years: int = 60) -> xr.DataArray:
    rng = np.random.default_rng(0)
    values = 280 + rng.normal(size=(members, years, 3, 4))
    coords = {"member": [f"r{i + 1}" for i in range(members)], "year": np.arange(first, first + years)}
    return xr.DataArray(values, dims=("member", "year", "lat", "lon"), coords=coords, name="tas")


def test_reference_mean_of_every_member_and_cell_is_zero() -> None:
    out = ca.anomalies(fields())
    np.testing.assert_allclose(out.sel(year=slice(1850, 1900)).mean("year"), 0.0, atol=1e-12)
    assert out.attrs["reference_period"] == "mean of 1850-1900 (51 years) of each member removed"


def test_partial_reference_uses_the_years_that_exist() -> None:
    """HadCM3 has 1860-1900: its mean over those 41 years is removed, and the attributes say so."""
    out = ca.anomalies(fields(first=1860))
    np.testing.assert_allclose(out.sel(year=slice(1860, 1900)).mean("year"), 0.0, atol=1e-12)
    assert "1860-1900 (41 years)" in out.attrs["reference_period"]


def test_pooled_reference_keeps_the_offsets_of_members() -> None:
    x = fields() + xr.DataArray([0.0, 1.0], dims="member")
    out = ca.anomalies(x.rename("tas"), pooled=True).sel(year=slice(1850, 1900)).mean(("year", "lat", "lon"))
    assert float(out[1] - out[0]) == pytest.approx(float((x[1] - x[0]).sel(year=slice(1850, 1900)).mean()))
    np.testing.assert_allclose(out.mean(), 0.0, atol=1e-12)


def test_too_few_years_on_the_axis_are_an_error_that_says_what_there_is() -> None:
    with pytest.raises(ReferencePeriodError, match="16 of the years 1850-1900, needed 20; the data has 1885-1944"):
        ca.anomalies(fields(first=1885))


@pytest.mark.parametrize("lazy", [False, True])
def test_member_with_too_few_values_is_named(lazy: bool) -> None:
    """Without a record of presence the guard acts on the values: at once, or when they are computed."""
    x = fields()
    x[1, :35] = np.nan
    if lazy:
        x = x.copy(data=da.from_array(x.values, chunks=(1, 20, 3, 4)))
        out = ca.anomalies(x)
        with pytest.raises(ReferencePeriodError, match=r"1850-1900, needed 20: r2 \(16\)"):
            out.compute()
    else:
        with pytest.raises(ReferencePeriodError, match=r"1850-1900, needed 20: r2 \(16\)"):
            ca.anomalies(x)


def test_cell_with_too_few_values_is_missing_and_the_member_stays() -> None:
    x = fields()
    x[0, 5:, 0, 0] = np.nan
    x[0, :10, 1, 1] = np.nan
    out = ca.anomalies(x)
    assert out[0, :, 0, 0].isnull().all()
    np.testing.assert_allclose(out[0, 10:51, 1, 1].mean(), 0.0, atol=1e-12)


def test_no_member_is_lost_and_no_dimension_moves() -> None:
    x = fields(members=5).transpose("lat", "year", "member", "lon")
    out = ca.anomalies(x)
    assert out.dims == x.dims
    assert out.member.values.tolist() == x.member.values.tolist()


def test_series_without_members_or_space_work() -> None:
    x = fields()[0, :, 0, 0].drop_vars("member")
    np.testing.assert_allclose(ca.anomalies(x), x - x.sel(year=slice(1850, 1900)).mean(), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"reference": (1900, 1850)}, r"first <= last; got \(1900, 1850\)"),
        ({"reference": (1850, 1860)}, "between 1 and the 11 years"),
        ({"min_reference_years": 0}, "between 1 and the 51 years"),
    ],
)
def test_impossible_periods_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        ca.anomalies(fields(), **options)


def test_monthly_input_is_sent_to_annual_mean() -> None:
    with pytest.raises(ValueError, match="need a dimension 'year'; take annual_mean first"):
        ca.anomalies(fields().rename(year="time"))
