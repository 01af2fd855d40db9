"""Grids like those of real models, and CDO where it is installed."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

Cdo = Callable[..., xr.DataArray]


@pytest.fixture
def cdo(tmp_path: Path) -> Cdo:
    """``cdo(operators, dataset)``: what CDO makes of a dataset with the variable ``tas``."""
    program = shutil.which("cdo")
    if program is None:
        pytest.skip("cdo is not installed")

    def run(operator: str, data: xr.Dataset) -> xr.DataArray:
        source, result = tmp_path / "source.nc", tmp_path / "result.nc"
        data.to_netcdf(source, engine="netcdf4")
        command = [program, "-s", "-O", "-b", "F64", *operator.split(), str(source), str(result)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        with xr.open_dataset(result) as out:
            return out["tas"].load()

    return run


GRID_5_DEGREES = "gridtype=lonlat\nxsize=72\nysize=36\nxfirst=2.5\nxinc=5\nyfirst=-87.5\nyinc=5\n"


@pytest.fixture
def grid_file(tmp_path: Path) -> Path:
    """CDO's description of the 5° grid."""
    path = tmp_path / "grid5.txt"
    path.write_text(GRID_5_DEGREES)
    return path


def gaussian_latitudes(n: int) -> np.ndarray:
    return np.rad2deg(np.arcsin(np.polynomial.legendre.leggauss(n)[0]))


#: Centres of rows and columns: like NorCPM1/CNRM (Gaussian), HadCM3 and CESM.
GRIDS = {
    "gaussian": (gaussian_latitudes(64)[::-1], np.arange(128) * 360 / 128),
    "hadcm3": (np.linspace(90, -90, 73), np.arange(96) * 3.75),
    "cesm": (np.linspace(-90, 90, 192), np.arange(288) * 1.25),
    "dateline": (np.linspace(-89, 89, 90), -179 + 2.0 * np.arange(180)),
}


def field_on(lat: np.ndarray, lon: np.ndarray, *, seed: int = 0) -> xr.Dataset:
    """Temperature-like field with sharp features, as a CF dataset without bounds."""
    rng = np.random.default_rng(seed)
    smooth = 250 + 50 * np.cos(np.deg2rad(lat))[:, None] + 5 * np.sin(np.deg2rad(3 * lon))
    values = smooth + rng.normal(0, 3, (lat.size, lon.size))
    data = xr.Dataset({"tas": (("lat", "lon"), values, {"units": "K"})}, coords={"lat": lat, "lon": lon})
    data["lat"].attrs = {"standard_name": "latitude", "units": "degrees_north", "axis": "Y"}
    data["lon"].attrs = {"standard_name": "longitude", "units": "degrees_east", "axis": "X"}
    return data


@pytest.fixture(params=list(GRIDS))
def model_field(request: pytest.FixtureRequest) -> xr.Dataset:
    """One field on each of the model-like grids in turn."""
    return field_on(*GRIDS[request.param])
