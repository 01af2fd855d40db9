"""Preprocessing of real files: published magnitudes, real grids and calendars."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import climanchor as ca
from climanchor.archive import describe_run

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("model", "magnitude", "level"),
    [("CESM2", 0.051, "low"), ("CNRM-CM6-1", 0.113, "high"), ("IPSL-CM6A-LR", 0.093, "high")],
)
def test_div_magnitudes_of_real_global_means(real_data: Path, model: str, magnitude: float, level: str) -> None:
    """The 10-year DIV of real area-weighted global means has the magnitudes known for these models."""
    table = pd.read_csv(real_data / "gsat" / "cmip6_gsat_members.csv.gz")
    runs = table[(table["model"] == model) & (table["experiment"] == "historical")]
    series = runs.pivot_table(index="member", columns="year", values="tas")
    gsat = xr.DataArray(series, dims=("member", "year"), name="tas")
    size = ca.div_magnitude(ca.decadal_variability(ca.anomalies(gsat)))
    assert float(size.raw) == pytest.approx(magnitude, abs=0.001)
    assert str(size.level.values) == level
    assert int(size.members) == len(series)


def test_pcm_yields_forced_response_and_div(real_data: Path) -> None:
    """Four members on a Gaussian grid without bounds or calendar: warming forced response, small DIV."""
    paths = sorted((real_data / "pcm").glob("TREFHT.*.nc"))
    runs = [describe_run(model="PCM", member=p.name.split(".")[2], paths=[p], variable="TREFHT") for p in paths]
    tree = ca.prepare(runs, reference=(1890, 1919))
    data = tree["PCM"].to_dataset().compute()
    assert data["field"].shape == (4, 110, 36, 72)
    warming = ca.global_mean(data["forced"]).sel(year=slice(1990, 1999)).mean()
    assert 0.3 < float(warming) < 0.9
    assert 0.02 < float(ca.div_magnitude(tree)["raw"][0]) < 0.06
    assert not data["field"].isnull().any()
    assert "derived from centres" in data["field"].attrs["assumed"]


def test_hadgem_years_are_the_whole_ones(real_data: Path) -> None:
    """December 1859 to November 2005 in the 360-day calendar holds the years 1860 to 2004."""
    runs = ca.find_runs(real_data / "esgf", variable="tas", experiment="historical", models=["HadGEM2-ES"])
    annual = ca.annual_mean(ca.open_runs(runs))["HadGEM2-ES"]["tas"]
    assert annual.year.values[[0, -1]].tolist() == [1860, 2004]
    assert annual.attrs["dropped_years"] == "1859 (1 of 12 months), 2005 (11 of 12 months)"


def test_access_with_half_cells_at_the_poles_conserves_its_mean(real_data: Path) -> None:
    """The areas between its bounds are those of its areacella (but for its poles, thinned), and the mean is kept."""
    root = real_data / "cmip6"
    runs = ca.find_runs(root, variable="tas", experiment="historical", models=["ACCESS-ESM1-5"])
    data = ca.annual_mean(ca.open_runs(runs))["ACCESS-ESM1-5"].to_dataset()
    before, after = ca.global_mean(data)["tas"], ca.global_mean(ca.regrid(data))["tas"]
    np.testing.assert_allclose(after, before, rtol=1e-12)
    (area_file,) = root.rglob("areacella_fx_ACCESS-ESM1-5_historical_r1i1p1f1_gn.nc")
    with xr.open_dataset(area_file) as opened:
        area = opened["areacella"].load()
    away = {"lat": slice(1, -1)}
    by_areas = ca.global_mean(data["tas"].isel(away), area=area.isel(away))
    np.testing.assert_allclose(by_areas, ca.global_mean(data.isel(away))["tas"], atol=1e-3)


def test_land_mask_of_access_has_a_third_of_the_globe(real_data: Path) -> None:
    (path,) = (real_data / "cmip6").rglob("sftlf_fx_ACCESS-ESM1-5_historical_r1i1p1f1_gn.nc")
    with xr.open_dataset(path) as opened:
        land = ca.land_mask(opened.load())["land"]
    assert float(ca.global_mean(land.astype(float))) == pytest.approx(0.29, abs=0.05)
    assert bool(land.sel(lat=-87.5, lon=2.5))
    assert not bool(land.sel(lat=2.5, lon=182.5))


def test_tripolar_ocean_is_remapped_from_its_corners(real_data: Path) -> None:
    """A thinned tripolar grid: cells keep their values, and what is not covered is missing."""
    for path in sorted((real_data / "esgf").rglob("tos_Omon_*.nc")):
        with xr.open_dataset(path, decode_times=False) as opened:
            data = opened.isel(time=[0]).load()
        out = ca.regrid(data, min_valid=0.0)["tos"]
        valid = out.notnull()
        assert 0 < int(valid.sum()) < valid.size
        assert float(data["tos"].min()) - 1e-6 <= float(out.min())
        assert float(out.max()) <= float(data["tos"].max()) + 1e-6
