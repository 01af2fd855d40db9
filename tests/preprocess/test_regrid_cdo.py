"""Regridding and annual means against CDO, an independent implementation."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import climanchor as ca

Cdo = Callable[..., xr.DataArray]


def relative_difference(ours: xr.DataArray, theirs: xr.DataArray, data: xr.Dataset) -> float:
    spread = float(data["tas"].max() - data["tas"].min())
    assert np.array_equal(np.isnan(ours.values), np.isnan(theirs.values))
    return float(np.nanmax(np.abs(ours.values - theirs.values))) / spread


def test_conservative_equals_remapcon(model_field: xr.Dataset, cdo: Cdo, grid_file: Path) -> None:
    theirs = cdo(f"remapcon,{grid_file}", model_field)
    assert relative_difference(ca.regrid(model_field["tas"]), theirs, model_field) < 1e-9


def test_bilinear_equals_remapbil(model_field: xr.Dataset, cdo: Cdo, grid_file: Path) -> None:
    theirs = cdo(f"remapbil,{grid_file}", model_field)
    ours = ca.regrid(model_field["tas"], method="bilinear")
    assert relative_difference(ours, theirs, model_field) < 1e-9


def test_missing_values_equal_remapcon(model_field: xr.Dataset, cdo: Cdo, grid_file: Path) -> None:
    """With every valid fraction allowed, a masked field agrees with CDO, gaps included."""
    lat, lon = model_field["lat"], model_field["lon"] % 360
    land = (lat > -20) & (lat < 47) & (lon > 30) & (lon < 111)
    masked = model_field.assign(tas=model_field["tas"].where(~land))
    theirs = cdo(f"remapcon,{grid_file}", masked)
    ours = ca.regrid(masked["tas"], min_valid=0.0)
    assert relative_difference(ours, theirs, masked) < 1e-9
    assert np.isnan(ours).any()


def test_weights_of_gencon_are_read_and_applied(
    model_field: xr.Dataset, cdo: Cdo, grid_file: Path, tmp_path: Path
) -> None:
    """A SCRIP file by ``cdo gencon`` gives what our own weights give."""
    cdo("-copy", model_field)
    weight_file = tmp_path / "weights.nc"
    command = ["cdo", "-s", f"gencon,{grid_file}", str(tmp_path / "source.nc"), str(weight_file)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    by_file = ca.regrid(model_field["tas"], weights=weight_file)
    assert relative_difference(by_file, ca.regrid(model_field["tas"]), model_field) < 1e-9


@pytest.mark.parametrize("calendar", ["standard", "noleap", "360_day", "julian"])
def test_annual_mean_equals_yearmonmean(calendar: str, cdo: Cdo) -> None:
    """Month lengths are those of the calendar, leap years included."""
    time = xr.date_range("1850-01-01", periods=120, freq="MS", calendar=calendar, use_cftime=True)
    rng = np.random.default_rng(1)
    values = rng.normal(280, 10, (120, 4, 8))
    coords = {"time": time, "lat": [-67.5, -22.5, 22.5, 67.5], "lon": np.arange(8) * 45.0}
    data = xr.Dataset({"tas": (("time", "lat", "lon"), values)}, coords=coords)
    data["lat"].attrs["units"], data["lon"].attrs["units"] = "degrees_north", "degrees_east"
    theirs = cdo("yearmonmean", data)
    np.testing.assert_allclose(ca.annual_mean(data["tas"]).values, theirs.values, rtol=0, atol=1e-9)
