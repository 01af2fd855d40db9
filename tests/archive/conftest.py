"""Small CMIP-like files, with every fault the tests need."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import netCDF4
import numpy as np
import pytest

from climanchor.archive import Facets, cmip5_path, cmip6_path

Write = Callable[..., Path]


def month_starts(first: int, months: int, calendar: str) -> list[float]:
    """Days since the year ``first`` of each month's start, and of the end of the last."""
    name = calendar or "standard"
    dates = [
        netCDF4.num2date(0, f"days since {first + m // 12:04d}-{m % 12 + 1:02d}-01", name) for m in range(months + 1)
    ]
    return [float(netCDF4.date2num(d, f"days since {first:04d}-01-01", name)) for d in dates]


def write_netcdf(
    path: Path,
    *,
    years: tuple[int, int] = (1850, 1851),
    months: slice = slice(None),
    calendar: str | None = "noleap",
    lat: Any = (-60.0, 0.0, 60.0),
    lon: Any = (0.0, 90.0, 180.0, 270.0),
    bounds: str | None = "{}_bnds",
    values: Any = None,
    name: str = "tas",
    units: str | None = "K",
    time_units: str | None = None,
    format: str = "NETCDF4",
    dtype: str = "f4",
    attributes: dict[str, Any] | None = None,
    globals: dict[str, Any] | None = None,
    stamp: str = "middle",
    time_bounds: bool = True,
    seed: int = 0,
    zlib: bool = False,
    fill: Any = None,
    height: bool = True,
) -> Path:
    """Write monthly ``name (time, lat, lon)`` for ``years``; ``months`` cuts the series."""
    path.parent.mkdir(parents=True, exist_ok=True)
    first, last = years
    count = 12 * (last - first + 1)
    edges = np.array(month_starts(first, count, calendar or "standard"))
    low, high = edges[:-1][months], edges[1:][months]
    times = {"middle": (low + high) / 2, "start": low, "end": high}[stamp]
    lat, lon = np.asarray(lat, float), np.asarray(lon, float)
    if values is None:
        values = field(first, count, lat.size, lon.size, seed)[months]
    with netCDF4.Dataset(path, "w", format=format) as file:
        for dim, size in (("time", None), ("lat", lat.size), ("lon", lon.size), ("bnds", 2)):
            file.createDimension(dim, size)
        time = file.createVariable("time", "f8", ("time",))
        time.units = time_units if time_units is not None else f"days since {first:04d}-01-01"
        time.standard_name = "time"
        if calendar is not None:
            time.calendar = calendar
        time[:] = times
        if time_bounds:
            time.bounds = "time_bnds"
            file.createVariable("time_bnds", "f8", ("time", "bnds"))[:] = np.stack([low, high], axis=1)
        for axis, centres, unit in (("lat", lat, "degrees_north"), ("lon", lon, "degrees_east")):
            variable = file.createVariable(axis, "f8", (axis,))
            variable.units = unit
            variable[:] = centres
            if bounds:
                half = abs(centres[1] - centres[0]) / 2
                edge = np.stack([centres - half, centres + half], axis=1)
                variable.bounds = bounds.format(axis)
                held = np.clip(edge, -90, 90) if axis == "lat" else edge
                file.createVariable(bounds.format(axis), "f8", (axis, "bnds"))[:] = held
        if height:
            scalar = file.createVariable("height", "f8", ())
            scalar.units = "m"
            scalar[...] = 2.0
        data = file.createVariable(name, dtype, ("time", "lat", "lon"), fill_value=fill, zlib=zlib)
        data.standard_name = "air_temperature" if name == "tas" else name
        data.coordinates = "height"
        if units is not None:
            data.units = units
        for key, value in (attributes or {}).items():
            data.setncattr(key, value)
        data.set_auto_maskandscale(False)
        data[:] = values
        file.setncatts(globals or {})
    return path


def field(first: int, count: int, lats: int, lons: int, seed: int = 0) -> np.ndarray:
    """Values that depend on the month itself, so that files of one run agree wherever they overlap."""
    fields = [
        np.random.default_rng([seed, first * 12 + m]).normal(285, 5, (lats, lons)).astype("f4") for m in range(count)
    ]
    return np.stack(fields)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write one file into a DRS tree below ``tmp_path``; facets and file options as keywords."""

    def one(
        *, model: str = "CESM2", member: str = "r1i1p1f1", dates: str = "185001-185112", version: str = "v20190308",
        grid_label: str = "gn", experiment: str = "historical", project: str = "CMIP6", table: str = "Amon",
        variable: str = "tas", root: Path | None = None, touch: bool = False, flat: bool = False, **options: Any,
    ) -> Path:  # fmt: skip
        facets = Facets(
            variable=variable, table=table, model=model, experiment=experiment, member=member,
            grid_label=grid_label if project == "CMIP6" else "", dates=dates, version=version, activity="CMIP",
            institute="NCAR",
        )  # fmt: skip
        below = cmip6_path(facets) if project == "CMIP6" else cmip5_path(facets)
        path = (root or tmp_path) / (below.name if flat else below)
        if touch:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            return path
        return write_netcdf(path, name=options.pop("name", variable), **options)

    return one


@pytest.fixture
def no_compute() -> Any:
    """A context in which computing any dask graph fails."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("something was computed")

    return lambda: dask.config.set(scheduler=refuse)
