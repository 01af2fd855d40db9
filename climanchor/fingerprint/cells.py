"""The grid cells that a fingerprint uses: fields ⇄ matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from climanchor.kernels.overlap import area_weights, latitude_edges, longitude_edges

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cells:
    """A (lat, lon) grid and the mask of its cells in use; matrices have one column per used cell."""

    lat: Array
    lon: Array
    mask: NDArray[np.bool_]

    @classmethod
    def of(cls, x: xr.DataArray | xr.Dataset) -> Cells:
        """All cells of the grid that ``x`` is on."""
        missing = [c for c in ("lat", "lon") if c not in x.coords or x[c].dims != (c,)]
        if missing:
            raise ValueError(
                f"the data have no one-dimensional coordinate {' and '.join(missing)} (dims are {dict(x.sizes)}): "
                "regrid them first, for example with climanchor.prepare"
            )
        lat, lon = (np.asarray(x[c].values, dtype=np.float64) for c in ("lat", "lon"))
        return cls(lat, lon, np.ones((lat.size, lon.size), dtype=bool))

    @property
    def size(self) -> int:
        """Number of cells in use."""
        return int(self.mask.sum())

    @property
    def area(self) -> Array:
        """Share of the area of the used cells that each has."""
        area = area_weights(latitude_edges(self.lat), longitude_edges(self.lon))[self.mask]
        return np.asarray(area / area.sum())

    def keeping(self, columns: NDArray[np.bool_]) -> Cells:
        """Only those of the used cells for which ``columns`` is true."""
        mask = self.mask.copy()
        mask[self.mask] = columns
        return replace(self, mask=mask)

    def flatten(self, values: ArrayLike) -> NDArray[np.floating]:
        """(..., lat, lon) → (..., cells)."""
        return np.asarray(values)[..., self.mask]

    def unflatten(self, matrix: ArrayLike) -> Array:
        """(..., cells) → (..., lat, lon), NaN in the cells that are not used."""
        matrix = np.asarray(matrix, dtype=np.float64)
        out = np.full((*matrix.shape[:-1], *self.mask.shape), np.nan)
        out[..., self.mask] = matrix
        return out

    def to_map(self, matrix: ArrayLike, dims: Sequence[str] = (), **coords: ArrayLike) -> xr.DataArray:
        """A labelled field of (..., cells) values, with leading ``dims``."""
        return xr.DataArray(
            self.unflatten(matrix),
            dims=(*dims, "lat", "lon"),
            coords={**coords, "lat": ("lat", self.lat, LAT), "lon": ("lon", self.lon, LON)},
        )

    def check(self, x: xr.DataArray | xr.Dataset, what: str) -> None:
        """Raise unless ``x`` is on this very grid: nothing is interpolated or aligned silently."""
        other = Cells.of(x)
        same = other.mask.shape == self.mask.shape
        if not (same and np.allclose(other.lat, self.lat) and np.allclose(other.lon, self.lon)):
            raise ValueError(
                f"{what} is on another grid: {describe_grid(other)} instead of {describe_grid(self)}; "
                "regrid it with climanchor.regrid(x, grid=...) first"
            )


LAT = {"standard_name": "latitude", "units": "degrees_north", "axis": "Y"}
LON = {"standard_name": "longitude", "units": "degrees_east", "axis": "X"}


def describe_grid(cells: Cells) -> str:
    """A grid in a few words, for messages."""
    lat, lon = cells.lat, cells.lon
    return f"{lat.size}×{lon.size} (lat {lat[0]:g}…{lat[-1]:g}, lon {lon[0]:g}…{lon[-1]:g})"


def model_datasets(data: xr.DataTree | Mapping[str, xr.Dataset], models: Sequence[str] | None) -> dict[str, xr.Dataset]:
    """The prepared dataset of each model asked for (all by default), checked for what fitting needs."""
    if isinstance(data, xr.DataTree):
        available = {name: node.to_dataset() for name, node in data.children.items()}
    elif isinstance(data, Mapping):
        available = {str(name): ds for name, ds in data.items() if isinstance(ds, xr.Dataset)}
    else:
        raise TypeError(
            f"data must be a DataTree with one node per climate model, as climanchor.prepare returns; "
            f"got {type(data).__name__}"
        )
    names = list(available) if models is None else list(models)
    unknown = [m for m in names if m not in available]
    if unknown or not names:
        raise ValueError(f"no data for model {', '.join(unknown) or '(none asked for)'}; there are {sorted(available)}")
    if len(set(names)) < len(names):
        raise ValueError(f"models are named more than once: {names}")
    for name in names:
        lacking = [v for v in ("field", "forced", "div") if v not in available[name]]
        if lacking:
            raise ValueError(
                f"model {name} has no variable {', '.join(lacking)} (it has {list(available[name].data_vars)}): "
                "prepare the data with climanchor.prepare"
            )
    return {name: available[name] for name in names}


def no_sample(models: Sequence[str]) -> ValueError:
    """The error for models without a single year that has both a field and a DIV."""
    return ValueError(
        f"model {', '.join(models)} has no usable sample: in no year do both the field and DIV exist. "
        "Is the series shorter than the running-mean window?"
    )


def common_cells(datasets: Mapping[str, xr.Dataset]) -> Cells:
    """The one grid that all models share."""
    names = list(datasets)
    cells = Cells.of(datasets[names[0]])
    for name in names[1:]:
        cells.check(datasets[name], f"model {name}")
    return cells
