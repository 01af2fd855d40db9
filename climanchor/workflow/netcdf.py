"""netCDF files whose bytes depend on nothing but their content: no dates, no order of threads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr


def write(dataset: xr.Dataset, path: Path, *, attrs: Mapping[str, str] | None = None) -> None:
    """Compute ``dataset`` and write it; the same values give the same bytes.

    Everything is computed first and written by one thread, variable by variable: where threads write as they
    finish, the layout of the file changes from run to run.
    """
    loaded = dataset.compute()
    loaded.attrs = {"Conventions": "CF-1.11", **loaded.attrs, **(attrs or {})}
    for name, variable in loaded.variables.items():
        fill = None if not np.issubdtype(variable.dtype, np.floating) or name in loaded.coords else np.nan
        variable.encoding = {"_FillValue": fill} if variable.dtype.kind in "fiu" else {}
    loaded.to_netcdf(path, engine="netcdf4", format="NETCDF4")


def read(path: Path, *, chunks: Mapping[str, int] | None = None) -> xr.Dataset:
    """Open a product; loaded into memory and closed unless ``chunks`` asks for lazy arrays."""
    if chunks is not None:
        return xr.open_dataset(path, engine="netcdf4", chunks=dict(chunks))
    with xr.open_dataset(path, engine="netcdf4") as dataset:
        return dataset.load()
