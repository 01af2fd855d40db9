"""Monthly 192×288 files to annual 5° anomalies: climanchor against CDO, and memory against members.

Run ``python benchmarks/bench_prepare.py`` (``--quick`` for shorter series). Prints the ratio of times on the same
files, in turns, best of n (climanchor also computes forced response and DIV), and the peak memory of a fresh process
for a growing number of members.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import netCDF4
import numpy as np

COUNT_PEAK = """
import resource, sys
import climanchor as ca
runs = [ca.describe_run(model="CESM2", member=f"r{i}i1p1f1", paths=[sys.argv[1]]) for i in range(int(sys.argv[2]))]
ca.save_prepared(ca.prepare(runs), sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def write_member(path: Path, years: int, *, seed: int, compressed: bool) -> None:
    """One member as a CMIP file: monthly tas on the CESM2 grid, noleap."""
    rng = np.random.default_rng(seed)
    with netCDF4.Dataset(path, "w") as file:
        sizes = {"time": 12 * years, "lat": 192, "lon": 288}
        for name, size in sizes.items():
            file.createDimension(name, size)
        t = file.createVariable("time", "f8", ("time",))
        t.units, t.calendar, t.standard_name = "days since 1850-01-01", "noleap", "time"
        month = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
        t[:] = np.cumsum(np.tile(month, years)) - np.tile(month, years) / 2
        for name, values, units in (("lat", np.linspace(-90, 90, 192), "degrees_north"),
                                    ("lon", np.arange(288) * 1.25, "degrees_east")):  # fmt: skip
            axis = file.createVariable(name, "f8", (name,))
            axis.units, axis.standard_name = units, {"lat": "latitude", "lon": "longitude"}[name]
            axis[:] = values
        options = {"zlib": True, "complevel": 1, "shuffle": True} if compressed else {}
        tas = file.createVariable("tas", "f4", tuple(sizes), chunksizes=(1, 192, 288), **options)
        tas.units, tas.standard_name = "K", "air_temperature"
        base = 250 + 45 * np.cos(np.deg2rad(np.linspace(-90, 90, 192)))[:, None]
        for year in range(years):
            tas[12 * year : 12 * year + 12] = base + rng.normal(0, 2, (12, 192, 288)).astype("f4")


def by_cdo(files: list[Path], folder: Path, grid: Path) -> None:
    for i, path in enumerate(files):
        out = folder / f"cdo_{i}.nc"
        command = ["cdo", "-s", "-O", f"remapcon,{grid}", "-yearmonmean", str(path), str(out)]
        subprocess.run(command, check=True, capture_output=True)
        anomaly = ["cdo", "-s", "-O", "sub", str(out), "-timmean", "-selyear,1850/1900", str(out)]
        subprocess.run([*anomaly, str(folder / f"anomaly_{i}.nc")], check=True, capture_output=True)


def by_climanchor(files: list[Path], folder: Path) -> None:
    import climanchor as ca

    runs = [ca.describe_run(model="CESM2", member=f"r{i}i1p1f1", paths=[p]) for i, p in enumerate(files)]
    ca.save_prepared(ca.prepare(runs), folder / "prepared")


def seconds(function: Callable[[], None]) -> tuple[float, float]:
    """Wall-clock and CPU seconds, child processes included."""
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    function()
    return time.perf_counter() - wall, sum(os.times()[:4]) - cpu


def compare(folder: Path, years: int, members: int, repeats: int, *, compressed: bool) -> None:
    files = [folder / f"tas_{compressed}_{i}.nc" for i in range(members)]
    for i, path in enumerate(files):
        write_member(path, years, seed=i, compressed=compressed)
    grid = folder / "grid.txt"
    grid.write_text("gridtype=lonlat\nxsize=72\nysize=36\nxfirst=2.5\nxinc=5\nyfirst=-87.5\nyinc=5\n")
    by_climanchor(files[:2], folder)  # imports and the header reader, once per session
    theirs, ours = [], []
    for _ in range(repeats):
        theirs.append(seconds(lambda: by_cdo(files, folder, grid)))
        ours.append(seconds(lambda: by_climanchor(files, folder)))
    print(f"{'compressed' if compressed else 'uncompressed'}, {members} members × {years} years:")
    for kind, cdo, us in zip(("wall clock", "CPU"), np.min(theirs, axis=0), np.min(ours, axis=0), strict=True):
        print(
            f"  {kind}: cdo (yearmonmean, remapcon, anomaly) {cdo:.2f} s, climanchor {us:.2f} s, ratio {cdo / us:.2f}"
        )


def memory(folder: Path, counts: list[int]) -> None:
    path = next(folder.glob("tas_False_0.nc"))
    for members in counts:
        command = [sys.executable, "-c", COUNT_PEAK, str(path), str(members), str(folder / "memory")]
        out = subprocess.run(command, check=True, capture_output=True, text=True)
        print(f"peak memory, {members:3d} members: {int(out.stdout) / 1e9:.2f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="60 years instead of 165, once")
    quick = parser.parse_args().quick
    if shutil.which("cdo") is None:
        sys.exit("cdo is not installed: there is nothing to compare with")
    years, repeats = (60, 1) if quick else (165, 3)
    threads = os.environ.get("OMP_NUM_THREADS", "unset")
    print(f"cores {os.cpu_count()}, OMP_NUM_THREADS {threads}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for compressed in (False, True):
            compare(folder, years, 2, repeats, compressed=compressed)
        memory(folder, [2, 8] if quick else [2, 8, 24])


if __name__ == "__main__":
    main()
