"""Conservative regridding of fields in memory, against CDO file to file and against a dense matrix product.

Run ``python benchmarks/bench_regrid.py`` (``--quick`` for fewer fields). All in one process, in turns, best of n;
ratios above one mean that climanchor is faster. Prints the largest difference from CDO beside the times.
"""

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import xarray as xr

import climanchor as ca
from climanchor.kernels.overlap import band_overlaps, sector_overlaps
from climanchor.preprocess.cells import cell_overlaps
from climanchor.preprocess.grids import Cells, Grid

GRIDS = {
    "CESM 192×288": (np.linspace(-90, 90, 192), np.arange(288) * 1.25),
    "HadCM3 73×96": (np.linspace(90, -90, 73), np.arange(96) * 3.75),
    "Gaussian 128×256": (np.rad2deg(np.arcsin(np.polynomial.legendre.leggauss(128)[0])), np.arange(256) * 360 / 256),
}


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def dense(values: np.ndarray, lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
    """The same two matrix products by BLAS: the floor for a separable remapping."""
    source, target = Grid.from_centres(lat, lon), ca.regular_grid()
    rows = band_overlaps(target.lat_bounds, source.lat_bounds)
    columns = sector_overlaps(target.lon_bounds, source.lon_bounds)
    rows, columns = rows / rows.sum(axis=1, keepdims=True), columns / columns.sum(axis=1, keepdims=True)
    return np.stack([(rows @ field) @ columns.T for field in values.astype(float)])


def compare(name: str, steps: int, repeats: int, folder: Path) -> None:
    lat, lon = GRIDS[name]
    rng = np.random.default_rng(0)
    values = rng.normal(280, 10, (steps, lat.size, lon.size)).astype("float32")
    data = xr.DataArray(values, dims=("time", "lat", "lon"), coords={"lat": lat, "lon": lon}, name="tas")
    data["lat"].attrs["units"], data["lon"].attrs["units"] = "degrees_north", "degrees_east"
    source, result, grid = folder / "source.nc", folder / "result.nc", folder / "grid.txt"
    data.to_netcdf(source)
    grid.write_text("gridtype=lonlat\nxsize=72\nysize=36\nxfirst=2.5\nxinc=5\nyfirst=-87.5\nyinc=5\n")
    command = ["cdo", "-s", "-O", "-b", "F64", f"remapcon,{grid}", str(source), str(result)]
    times: dict[str, list[float]] = {"climanchor": [], "dense products": [], "cdo, file to file": []}
    for _ in range(repeats):
        times["climanchor"].append(seconds(lambda: ca.regrid(data)))
        times["dense products"].append(seconds(lambda: dense(values, lat, lon)))
        if shutil.which("cdo"):
            run = lambda: subprocess.run(command, check=True, capture_output=True)  # noqa: E731 - a thunk to time
            times["cdo, file to file"].append(seconds(run))
    ours = min(times.pop("climanchor"))
    line = f"{name}, {steps} fields: climanchor {ours:.2f} s"
    for peer, found in times.items():
        line += f"; {peer} {min(found):.2f} s, ratio {min(found) / ours:.2f}" if found else f"; {peer} not installed"
    if result.exists():
        with xr.open_dataset(result) as theirs:
            line += f"; largest difference from cdo {float(abs(ca.regrid(data) - theirs['tas'].values).max()):.1e} K"
        result.unlink()
    print(line)


def polygons(rows: int, columns: int) -> None:
    """Weights of a curvilinear grid by polygon overlap."""
    mesh = np.meshgrid(np.linspace(-90, 90, rows + 1), np.linspace(0, 360, columns + 1), indexing="ij")
    lat, lon = (np.stack([m[:-1, :-1], m[:-1, 1:], m[1:, 1:], m[1:, :-1]], axis=-1).reshape(-1, 4) for m in mesh)
    cells = Cells(lat.mean(axis=1), lon.mean(axis=1), lat, lon, ("y", "x"), (rows, columns))
    print(
        f"polygon weights of {rows}×{columns} cells: {seconds(lambda: cell_overlaps(cells, ca.regular_grid())):.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="120 fields instead of 1980, once")
    quick = parser.parse_args().quick
    print(f"cores {os.cpu_count()}, OMP_NUM_THREADS {os.environ.get('OMP_NUM_THREADS', 'unset')}")
    with tempfile.TemporaryDirectory() as folder:
        for name in GRIDS:
            compare(name, 120 if quick else 1980, 1 if quick else 3, Path(folder))
    polygons(90, 180) if quick else polygons(220, 256)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
