"""netCDF files of the synthetic archive: monthly runs, fixed fields, truth and pseudo-observations.

Every file is written under another name and renamed when complete, so that a file with its proper name is whole.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cftime
import netCDF4
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.simulate.grids import Grid
from climanchor.simulate.worlds import Months

Attributes = Mapping[str, str | int | float]
FILL = 1.0e20
_CHUNK_BYTES = 2**20


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path``, renamed to it on success and removed on failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def new_file(path: Path, attributes: Attributes) -> Iterator[netCDF4.Dataset]:
    """An empty netCDF file with global attributes, which gets its name when the block ends well."""
    with _whole(path) as partial, netCDF4.Dataset(partial, "w", format="NETCDF4_CLASSIC") as dataset:
        dataset.setncatts(dict(attributes))
        yield dataset


def save_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write a labelled data set, its fields deflated."""
    packed = {"zlib": True, "complevel": 1, "shuffle": True}
    encoding = {n: packed if v.ndim > 2 else {"_FillValue": None} for n, v in dataset.variables.items()}
    with _whole(path) as partial:
        dataset.to_netcdf(partial, engine="netcdf4", encoding=encoding)


def add_grid(dataset: netCDF4.Dataset, grid: Grid) -> None:
    """Latitude and longitude with their bounds."""
    dataset.createDimension("bnds", 2)
    for name, axis, long_name, units in (
        ("lat", "Y", "latitude", "degrees_north"),
        ("lon", "X", "longitude", "degrees_east"),
    ):
        values = getattr(grid, name)
        dataset.createDimension(name, len(values))
        variable = dataset.createVariable(name, "f8", (name,))
        variable.setncatts(
            {"standard_name": long_name, "long_name": long_name, "units": units, "axis": axis, "bounds": f"{name}_bnds"}
        )
        variable[:] = values
        dataset.createVariable(f"{name}_bnds", "f8", (name, "bnds"))[:] = getattr(grid, f"{name}_bnds")


def add_months(dataset: netCDF4.Dataset, months: Months, units: str) -> None:
    """The unlimited time axis: middles of the months, with their bounds, in the months' calendar."""
    year, month = int(months.year[0]), int(months.month[0]) + 1
    start = float(cftime.date2num(cftime.datetime(year, month, 1, calendar=months.calendar), units, months.calendar))
    edges = start + np.concatenate([[0], np.cumsum(months.days)])
    dataset.createDimension("time", None)
    time = dataset.createVariable("time", "f8", ("time",), chunksizes=(max(months.count, 1),))
    time.setncatts({"standard_name": "time", "long_name": "time", "units": units, "axis": "T"})
    time.setncatts({"calendar": months.calendar, "bounds": "time_bnds"})
    time[:] = (edges[1:] + edges[:-1]) / 2
    bounds = dataset.createVariable("time_bnds", "f8", ("time", "bnds"), chunksizes=(max(months.count, 1), 2))
    bounds[:] = np.column_stack([edges[:-1], edges[1:]])


def add_height(dataset: netCDF4.Dataset) -> None:
    """The scalar coordinate of near-surface temperature: two metres."""
    height = dataset.createVariable("height", "f8", ())
    height.setncatts({"standard_name": "height", "long_name": "height", "units": "m", "axis": "Z", "positive": "up"})
    height[...] = 2.0


def add_field(
    dataset: netCDF4.Dataset, name: str, dims: tuple[str, ...], attributes: Attributes, *, steps: int = 1
) -> Any:
    """A deflated float32 variable in chunks of whole maps, ``steps`` of them where it has a time axis."""
    chunks = [steps if dim == "time" else len(dataset.dimensions[dim]) for dim in dims]
    variable = dataset.createVariable(
        name, "f4", dims, zlib=True, complevel=1, shuffle=True, fill_value=np.float32(FILL), chunksizes=chunks
    )
    variable.setncatts({**attributes, "missing_value": np.float32(FILL)})
    return variable


def chunk_steps(cells: int) -> int:
    """Time steps of ``cells`` float32 values that fill a chunk."""
    return max(1, _CHUNK_BYTES // (4 * cells))


def rounded(values: NDArray[np.float32], fraction: int) -> NDArray[np.float32]:
    """Values to the nearest 1/``fraction`` K, a power of two, so that they compress; 0 leaves them."""
    if not fraction:
        return values
    return np.asarray(np.round(values * np.float32(fraction)) / np.float32(fraction), np.float32)


def read_key(path: Path) -> str | None:
    """The parameter key of a complete file of the archive; ``None`` if there is no such file."""
    try:
        with netCDF4.Dataset(path) as dataset:
            return str(dataset.climanchor_key)
    except (OSError, AttributeError):  # absent, damaged, or not ours
        return None
