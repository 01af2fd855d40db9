"""Finding ten thousand files, and opening and reading monthly ones, against the floor and against xarray.

The floor of finding is listing the folders; that of reading is a plain loop with netCDF4. Prints ratios (ours over
the other; below 1 is faster) of wall-clock time and, because only it means much on a busy machine, processor time.

    python benchmarks/bench_find.py [--quick]
"""

import argparse
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

import dask
import netCDF4
import numpy as np
import xarray as xr

from climanchor.archive import Facets, cmip6_path, coverage, find_runs, open_runs

Times = dict[str, tuple[float, float]]


def best(repeats: int, **contestants: Callable[[], object]) -> Times:
    """Best wall-clock and processor time of each, taken in turns so that the machine's mood hits all alike."""
    times = {name: (float("inf"), float("inf")) for name in contestants}
    for _ in range(repeats):
        for name, run in contestants.items():
            wall, processor = perf_counter(), process_time()
            run()
            spent = (perf_counter() - wall, process_time() - processor)
            times[name] = (min(times[name][0], spent[0]), min(times[name][1], spent[1]))
    return times


def ratio(times: Times, other: str) -> str:
    """Ours over the other, by wall clock and by processor time."""
    (wall, processor), (other_wall, other_processor) = times["ours"], times[other]
    return f"{wall / other_wall:.2f} (processor {processor / other_processor:.2f}) × {other}"


def facets(member: int, dates: str) -> Facets:
    return Facets(
        variable="tas", table="Amon", model="CESM2", experiment="historical", member=f"r{member}i1p1f1",
        grid_label="gn", dates=dates, version="v20190308", activity="CMIP", institute="NCAR",
    )  # fmt: skip


def touch_archive(root: Path, members: int, files: int) -> None:
    for member in range(1, members + 1):
        for year in range(1850, 1850 + files):
            path = root / cmip6_path(facets(member, f"{year}01-{year}12"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def write_archive(root: Path, members: int, years: int, shape: tuple[int, int]) -> None:
    """Monthly float32 fields, one file per member."""
    lat = np.linspace(-90 + 90 / shape[0], 90 - 90 / shape[0], shape[0])
    lon = np.arange(shape[1]) * 360 / shape[1]
    noise = np.random.default_rng(0).normal(285, 5, (12, *shape)).astype("f4")
    for member in range(1, members + 1):
        path = root / cmip6_path(facets(member, f"185001-{1849 + years}12"))
        path.parent.mkdir(parents=True, exist_ok=True)
        with netCDF4.Dataset(path, "w") as file:
            for name, size in (("time", None), ("lat", shape[0]), ("lon", shape[1])):
                file.createDimension(name, size)
            time = file.createVariable("time", "f8", ("time",))
            time.units, time.calendar = "days since 1850-01-01", "noleap"
            time[:] = np.arange(12 * years) * 365 / 12 + 15
            for name, values, units in (("lat", lat, "degrees_north"), ("lon", lon, "degrees_east")):
                variable = file.createVariable(name, "f8", (name,))
                variable.units, variable[:] = units, values
            tas = file.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=np.float32(1e20))
            tas.units = "K"
            for year in range(years):
                tas[12 * year : 12 * year + 12] = noise + np.float32(member + 0.01 * year)


def bench_find(members: int, files: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        touch_archive(root, members, files)
        times = best(3, ours=lambda: find_runs(root), listing=lambda: sum(len(names) for _, _, names in os.walk(root)))
        count = sum(len(run.paths) for run in find_runs(root))
    print(f"find: {count} files in {times['ours'][0]:.2f} s; {ratio(times, 'listing')} the folders")


def bench_open(members: int, years: int, shape: tuple[int, int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_archive(root, members, years, shape)
        runs = find_runs(root)
        paths = [str(path) for run in runs for path in run.paths]

        def ours_open() -> xr.DataTree:
            return open_runs(runs)

        def xarray_open() -> xr.Dataset:
            return xr.open_mfdataset(
                paths, combine="nested", concat_dim="member", chunks={"time": 144}, compat="override", coords="minimal",
                join="override",
            )  # fmt: skip

        coverage(runs)  # starts the child that reads headers
        with dask.config.set(scheduler="threads", num_workers=2):
            opening = best(3, ours=ours_open, xarray=lambda: xarray_open().close())
            reading = best(
                3,
                ours=lambda: ours_open()["CESM2"].tas.mean(("lat", "lon"), skipna=False).compute(),
                xarray=lambda: xarray_open().tas.mean(("lat", "lon"), skipna=False).compute(),
                loop=lambda: [_plain(path) for path in paths],
            )
    size = members * years * 12 * shape[0] * shape[1] * 4 / 1e9
    print(f"open: {members} members in {opening['ours'][0]:.3f} s; {ratio(opening, 'xarray')}.open_mfdataset")
    print(f"read: {size:.2f} GB to global means in {reading['ours'][0]:.2f} s;")
    print(f"      {ratio(reading, 'xarray')}; {ratio(reading, 'loop')} with netCDF4 in one thread")


def _plain(path: str) -> np.ndarray:
    """The floor: read in blocks, replace fill values, average; one thread."""
    with netCDF4.Dataset(path) as file:
        tas = file.variables["tas"]
        tas.set_auto_maskandscale(False)
        blocks = []
        for start in range(0, tas.shape[0], 144):
            block = tas[start : start + 144]
            block[block == np.float32(1e20)] = np.nan
            blocks.append(block.mean(axis=(1, 2)))
    return np.concatenate(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller archive")
    quick = parser.parse_args().quick
    bench_find(20 if quick else 100, 100)
    bench_open(2 if quick else 4, 20 if quick else 165, (96, 144) if quick else (192, 288))
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
