"""Weight files: ours and ESMF's (``row, col, S``), and the SCRIP files that ``cdo gencon`` writes."""

import os
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse

from climanchor.kernels.overlap import Array
from climanchor.preprocess.grids import Cells, Grid, GridError
from climanchor.preprocess.weights import Weights


def write_weights(weights: Weights, path: str | os.PathLike[str]) -> None:
    """Write weights as netCDF in ESMF's layout (``row, col, S``, numbered from one) with the target's cells."""
    matrix = weights.matrix.tocoo()
    grid = weights.target
    data = xr.Dataset(
        {
            "row": ("n_s", (matrix.row + 1).astype("int32")),
            "col": ("n_s", (matrix.col + 1).astype("int32")),
            "S": ("n_s", matrix.data),
            "yc_b": ("n_b", np.repeat(grid.lat, grid.lon.size), {"units": "degrees"}),
            "xc_b": ("n_b", np.tile(grid.lon, grid.lat.size), {"units": "degrees"}),
            "lat_bounds_b": (("lat", "two"), grid.lat_bounds),
            "lon_bounds_b": (("lon", "two"), grid.lon_bounds),
            "dst_grid_dims": ("dst_grid_rank", np.array(grid.shape[::-1], dtype="int32")),
        },
        attrs={"normalization": "destarea", "map_method": weights.method, "source_key": weights.source_key,
               "source_size": matrix.shape[1]},
    )  # fmt: skip
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    data.to_netcdf(partial, engine="netcdf4")
    partial.replace(target)


def read_weights(
    path: str | os.PathLike[str], *, grid: Grid | None = None, source: Grid | Cells | None = None
) -> Weights:
    """Read remapping weights from an ESMF, xESMF, CDO (SCRIP) or climanchor file.

    Parameters
    ----------
    grid : Grid, optional
        The grid the weights map to. Needed where the file does not say (xESMF's do not); otherwise checked.
    source : Grid or Cells, optional
        The grid of the data. Where the file has cell centres they are matched with it, so that rows or columns may
        run the other way than in the file the weights were made from.

    Raises
    ------
    GridError
        The file holds no weights, or they belong to other grids.
    """
    with xr.open_dataset(path, engine="netcdf4") as data:
        data.load()
    if {"row", "col", "S"} <= set(data.variables):
        row, col, values = data["row"].values, data["col"].values, data["S"].values
        suffixes = {"lat": "yc_", "lon": "xc_", "source": "a", "target": "b", "fraction": "frac_b"}
    elif {"dst_address", "src_address", "remap_matrix"} <= set(data.variables):
        row, col = data["dst_address"].values, data["src_address"].values
        values = data["remap_matrix"].values.reshape(row.size, -1)[:, 0]
        suffixes = {"lat": "{}_grid_center_lat", "lon": "{}_grid_center_lon", "source": "src", "target": "dst",
                    "fraction": "dst_grid_frac"}  # fmt: skip
    else:
        raise GridError(f"{path}: neither 'row, col, S' nor SCRIP links; found {sorted(map(str, data.variables))}")
    centres = {side: _centres(data, suffixes, side) for side in ("source", "target")}
    target = grid or _target_grid(data, centres["target"], path)
    rows = _positions(path, "target", target, centres["target"])[row - 1]
    if source is None:
        columns, size = col - 1, _source_size(data, centres["source"], int(col.max()))
    else:
        columns, size = _positions(path, "source", source, centres["source"])[col - 1], source.size
    matrix = sparse.coo_array((values.astype(float), (rows, columns)), shape=(target.size, size)).tocsr()
    if str(data.attrs.get("normalization", "")) == "fracarea" and suffixes["fraction"] in data:
        covered = np.empty(target.size)
        covered[_positions(path, "target", target, centres["target"])] = data[suffixes["fraction"]].values
        matrix = sparse.diags_array(covered) @ matrix
    method = str(data.attrs.get("map_method", "from file"))
    return Weights(sparse.csr_array(matrix), target, method, str(data.attrs.get("source_key", "")))


def _centres(data: xr.Dataset, names: dict[str, str], side: str) -> tuple[Array, Array] | None:
    """Latitudes and longitudes of one side's cells in degrees, if the file has them."""
    short = names[side]
    keys = [names[c].format(short) if "{}" in names[c] else names[c] + short for c in ("lat", "lon")]
    if not set(keys) <= set(data.variables):
        return None
    radians = str(data[keys[0]].attrs.get("units", "degrees")).startswith("rad")
    lat, lon = (np.rad2deg(data[k].values) if radians else data[k].values.astype(float) for k in keys)
    return lat, lon


def _source_size(data: xr.Dataset, centres: tuple[Array, Array] | None, largest: int) -> int:
    if centres is not None:
        return centres[0].size
    return int(data.attrs.get("source_size", data.sizes.get("n_a", largest)))


def _target_grid(data: xr.Dataset, centres: tuple[Array, Array] | None, path: object) -> Grid:
    if centres is None:
        raise GridError(f"{path} does not describe its target grid: pass grid=")
    lat, lon = np.unique(centres[0].round(9)), np.unique(centres[1].round(9))
    if lat.size * lon.size != centres[0].size:
        raise GridError(f"{path}: the target grid is not rectilinear; pass grid=")
    if {"lat_bounds_b", "lon_bounds_b"} <= set(data.variables):
        return Grid(lat, lon, data["lat_bounds_b"].values, data["lon_bounds_b"].values)
    return Grid.from_centres(lat, lon)


def _positions(path: object, side: str, grid: Grid | Cells, centres: tuple[Array, Array] | None) -> NDArray[np.int64]:
    """Where each cell of the file is in ``grid``, whose rows and columns may run the other way.

    Without centres in the file the order is taken to be the same.
    """
    if centres is None:
        return np.arange(grid.size)
    lat, lon = centres
    if lat.size != grid.size:
        raise GridError(f"{path}: weights for {lat.size} {side} cells, but the {side} grid has {grid.size}")
    if isinstance(grid, Grid):
        row = np.abs(lat[:, None] - grid.lat).argmin(axis=1)
        column = np.abs((lon[:, None] - grid.lon + 180) % 360 - 180).argmin(axis=1)
        position = row * grid.lon.size + column
        here = grid.lat[row], grid.lon[column]
    else:
        position, here = np.arange(grid.size), (grid.lat, grid.lon)
    apart = np.abs((lon - here[1] + 180) % 360 - 180) * np.cos(np.deg2rad(lat))
    off = np.maximum(np.abs(lat - here[0]), apart)
    if off.max() > 1e-3 or np.unique(position).size != position.size:
        i = int(off.argmax())
        raise GridError(
            f"{path}: {side} cell {i} is at ({lat[i]:.3f}, {lon[i]:.3f}) in the weights; the nearest of the {side} "
            f"grid is at ({here[0][i]:.3f}, {here[1][i]:.3f}): these weights are for another grid"
        )
    return np.asarray(position, dtype="int64")
