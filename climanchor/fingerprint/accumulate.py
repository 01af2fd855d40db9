"""Moments by model: one lazy graph for each, computed once, in blocks of bounded size.

A block is some members × some years of the field. The members of a model share its forced response, so X'Y needs
only the sum of the field over the members of a block, year by year: the product is that many times smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from dask.base import compute
from dask.delayed import delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from climanchor.fingerprint.cells import Cells, model_datasets, no_sample
from climanchor.kernels import Moments

Array = NDArray[np.float64]

#: Samples in one block: large enough for BLAS, 2048 × 2592 float64 are 42 MB.
BLOCK_SAMPLES = 2048


@dataclass(frozen=True, eq=False)
class ModelMoments:
    """The moments of one model, the distinct rows of its targets and, if its samples were drawn, the draw."""

    moments: Moments
    rows: Array
    member: NDArray[np.str_] | None = None
    year: NDArray[np.int64] | None = None


def model_moments(
    data: xr.DataTree | Mapping[str, xr.Dataset],
    cells: Cells,
    *,
    models: Sequence[str] | None = None,
    weight_per_model: float = 500.0,
) -> dict[str, ModelMoments]:
    """The moments of each model, its weights summing to ``weight_per_model``; uses an active dask Client.

    All models are one graph, computed in one pass. BLAS runs one thread under each dask thread.
    """
    datasets = model_datasets(data, models)
    graphs = {name: _model_graph(ds, cells) for name, ds in datasets.items()}
    with threadpool_limits(1, user_api="blas"):
        (computed,) = compute(graphs)
    result = {}
    for name, (moments, forced, valid) in computed.items():
        if moments is None:
            raise no_sample([name])
        rows = cells.flatten(forced)[valid if forced.ndim == 4 else valid.any(axis=0)]
        result[name] = ModelMoments(moments.weighing(weight_per_model), np.asarray(rows, dtype=np.float64))
    return result


def _model_graph(ds: xr.Dataset, cells: Cells) -> tuple[Any, Any, Any]:
    """(moments, forced, valid) of one model as delayed values that share every block of the field."""
    blocks = model_blocks(ds)
    accumulate, exists = delayed(block_moments, pure=True), delayed(block_valid, pure=True)
    moments = tree_sum([accumulate(*block, cells.mask) for block in blocks])
    valid = delayed(np.concatenate)([exists(field, div, cells.mask) for field, _, div in blocks])
    forced = [target for _, target, _ in blocks]
    return moments, delayed(np.concatenate)(forced) if "member" in ds["forced"].dims else forced[0], valid


def model_blocks(ds: xr.Dataset) -> list[tuple[Any, Any, Any]]:
    """Delayed (field, forced, div) of some members and all years each, about `BLOCK_SAMPLES` samples."""
    ds = ds[["field", "forced", "div"]].transpose("member", "year", "lat", "lon", ..., missing_dims="ignore")
    ds = ds.chunk({"member": max(1, BLOCK_SAMPLES // ds.sizes["year"]), "year": -1, "lat": -1, "lon": -1})
    field, forced, div = (ds[v].data.to_delayed().reshape(-1) for v in ("field", "forced", "div"))
    targets = forced if "member" in ds["forced"].dims else [forced[0]] * len(field)
    return list(zip(field, targets, div, strict=True))


def block_valid(field: Array, div: Array, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where (member, year) of a block is a sample: the field is there and DIV is defined."""
    return np.asarray(np.isfinite(div) & ~np.isnan(field[..., mask]).all(axis=-1))


def block_moments(field: Array, forced: Array, div: Array, mask: NDArray[np.bool_]) -> Moments | None:
    """Moments of the valid samples of one block, or None if it has none.

    ``field`` is (member, year, lat, lon), ``div`` (member, year), ``forced`` (year, lat, lon), or with a member too.
    """
    valid = block_valid(field, div, mask)
    if not valid.any():
        return None
    X = field[valid][:, mask].astype(np.float64)
    A = div[valid].astype(np.float64)[:, None]
    if forced.ndim == 4:
        return Moments.from_samples(X, forced[valid][:, mask], A)
    return _shared_targets(X, np.asarray(forced[:, mask], dtype=np.float64), np.nonzero(valid)[1], A)


def _shared_targets(X: Array, rows: Array, index: NDArray[np.intp], A: Array) -> Moments:
    """Moments of (X, rows[index], A), summing the samples that share a row before any product with the targets."""
    count = np.bincount(index, minlength=len(rows)).astype(np.float64)
    rows, count = rows[count > 0], count[count > 0]
    x_mean, y_mean, a_mean = X.mean(axis=0), count @ rows / len(X), A.mean(axis=0)
    X, rows, A = X - x_mean, rows - y_mean, A - a_mean
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    x_sums, a_sums = (np.add.reduceat(M[order], starts, axis=0) for M in (X, A))
    return Moments(
        weight=float(len(X)),
        count=len(X),
        x_mean=x_mean,
        y_mean=y_mean,
        a_mean=a_mean,
        xx=X.T @ X,
        xy=x_sums.T @ rows,
        xa=X.T @ A,
        yy=count @ rows**2,
        ya=rows.T @ a_sums,
        aa=A.T @ A,
    )


def _add(a: Moments | None, b: Moments | None) -> Moments | None:
    if a is None or b is None:
        return a if b is None else b
    return a + b


def tree_sum(parts: list[Any]) -> Any:
    """Add delayed moments pairwise, neighbours first, so that few wait in memory at once."""
    add = delayed(_add, pure=True)
    while len(parts) > 1:
        odd = parts[len(parts) // 2 * 2 :]
        parts = [add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
    return parts[0]
