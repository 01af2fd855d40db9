"""Remapping weights: made once for a pair of grids, applied to any number of fields."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from climanchor.kernels.overlap import Array, apply_weights, bilinear_weights, conservative_weights
from climanchor.preprocess.cells import cell_overlaps
from climanchor.preprocess.grids import Cells, Grid, GridError

Method = Literal["conservative", "bilinear"]


@dataclass(frozen=True, eq=False)
class Weights:
    """A sparse matrix (target cells, source cells) and the rectilinear grid it maps to.

    The valid part of a row sums to the fraction of the target cell that is covered. No BLAS is involved
    in applying it, so dask threads and BLAS threads never multiply.
    """

    matrix: sparse.csr_array
    target: Grid
    method: str
    source_key: str = ""

    def apply(self, values: NDArray[np.floating], *, min_valid: float) -> Array:
        """Remap values (..., source cells in one dimension) to (..., lat, lon)."""
        remapped = apply_weights(self.matrix, values, min_valid=min_valid)
        return remapped.reshape(*values.shape[:-1], *self.target.shape)


def make_weights(source: Grid | Cells, grid: Grid, *, method: Method = "conservative") -> Weights:
    """Weights from ``source`` to the rectilinear ``grid``; equal pairs of grids share one result in memory.

    ``conservative`` takes any cells with edges or corners; ``bilinear`` needs a rectilinear source.
    """
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {get_args(Method)}; got {method!r}")
    return _cached(_Pair(source, grid, method))


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two grids and a method, hashed by what they contain."""

    source: Grid | Cells
    grid: Grid
    method: Method

    def _key(self) -> tuple[str, str, str]:
        return self.source.key, self.grid.key, self.method

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pair) and self._key() == other._key()


@lru_cache(maxsize=64)
def _cached(pair: _Pair) -> Weights:
    source, grid = pair.source, pair.grid
    if isinstance(source, Cells):
        if pair.method != "conservative":
            raise GridError(
                "bilinear remapping needs a rectilinear source grid; "
                "use method='conservative', weights= from a file, or backend='xesmf'"
            )
        matrix = cell_overlaps(source, grid)
    elif pair.method == "conservative":
        edges = grid.lat_bounds, grid.lon_bounds, source.lat_bounds, source.lon_bounds
        matrix = conservative_weights(*edges)
    else:
        matrix = bilinear_weights(grid.lat, grid.lon, source.lat, source.lon)
    return Weights(matrix, grid, pair.method, source.key)
