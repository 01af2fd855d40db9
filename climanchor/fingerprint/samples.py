"""Samples by model: one row per (member, year) where the field and DIV exist.

The members of a model share its forced response, so targets are kept as their distinct rows and, for every sample,
the index of its row. Nothing is repeated, and the rank of the targets is bounded by the number of rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from dask.base import compute
from numpy.typing import NDArray

from climanchor.fingerprint.cells import Cells, model_datasets, no_sample
from climanchor.kernels import Moments, Scaling

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Samples:
    """Predictors X (n, d), targets ``rows[index]`` (n, p), anchors A (n, q) and weights (n,).

    ``member`` and ``year`` label the samples (the draw that is recorded), ``model`` names their climate model.
    """

    X: Array
    rows: Array
    index: NDArray[np.intp]
    A: Array
    weights: Array
    model: NDArray[np.str_]
    member: NDArray[np.str_]
    year: NDArray[np.int64]

    @property
    def Y(self) -> Array:
        """The targets, one row per sample."""
        return self.rows[self.index]

    def weighing(self, total: float) -> Samples:
        """Scale the weights to sum to ``total``."""
        return replace(self, weights=self.weights * (total / self.weights.sum()))

    def restrict(self, columns: NDArray[np.bool_]) -> Samples:
        """The same samples on some cells only."""
        return replace(self, X=self.X[:, columns], rows=self.rows[:, columns])

    def moments(self) -> Moments:
        """The moments of these samples."""
        return Moments.from_samples(self.X, self.Y, self.A, weights=self.weights)

    def standardised(self, scaling: Scaling) -> Samples:
        """Samples relative to the training means, in units of the training scales."""
        return replace(
            self,
            X=(self.X - scaling.x_mean) / scaling.x_scale,
            rows=(self.rows - scaling.y_mean) / scaling.y_scale,
            A=(self.A - scaling.a_mean) / scaling.a_scale,
        )

    @classmethod
    def stack(cls, parts: Iterable[Samples]) -> Samples:
        """The samples of several models, one after another."""
        parts = list(parts)
        offsets = np.cumsum([0, *(len(p.rows) for p in parts[:-1])])
        index = np.concatenate([p.index + o for p, o in zip(parts, offsets, strict=True)])
        joined = {
            k: np.concatenate([getattr(p, k) for p in parts])
            for k in ("X", "rows", "A", "weights", "model", "member", "year")
        }
        return cls(index=index, **joined)


def draw_samples(
    data: xr.DataTree | Mapping[str, xr.Dataset],
    cells: Cells,
    *,
    models: Sequence[str] | None = None,
    samples_per_model: int | None = 500,
    seed: int = 0,
    weight_per_model: float | None = None,
) -> dict[str, Samples]:
    """Draw samples of each model without replacement; all of them where there are fewer, or with None.

    The draw depends on the seed and on the model's name, not on which other models are asked for. The models' graphs
    are computed one at a time, each once. Every model's weights sum to ``weight_per_model``
    (default: ``samples_per_model``, or 500), so that models have equal votes and α keeps its meaning.
    """
    total = float(weight_per_model or samples_per_model or 500)
    return {
        name: _draw(name, ds, cells, samples_per_model, seed).weighing(total)
        for name, ds in model_datasets(data, models).items()
    }


def sample_seed(model: str, seed: int) -> np.random.Generator:
    """The generator of one model's draw."""
    return np.random.default_rng([seed, zlib.crc32(model.encode())])


def valid_samples(field_exists: NDArray[np.bool_], div: Array, model: str) -> NDArray[np.bool_]:
    """Where (member, year) is a sample: the field is there and DIV is defined."""
    valid = field_exists & np.isfinite(div)
    if not valid.any():
        raise no_sample([model])
    return valid


def _draw(name: str, ds: xr.Dataset, cells: Cells, size: int | None, seed: int) -> Samples:
    ds = ds.transpose("member", "year", "lat", "lon", ..., missing_dims="ignore")
    field, forced, div = compute(ds["field"].data, ds["forced"].data, ds["div"].data)
    own_target = "member" in ds["forced"].dims
    flat = cells.flatten(field)
    valid = valid_samples(~np.isnan(flat).all(axis=-1), np.asarray(div, dtype=np.float64), name)
    pick = np.flatnonzero(valid.ravel())
    if size is not None and size < pick.size:
        pick = np.sort(sample_seed(name, seed).choice(pick, size=size, replace=False))
    i, j = np.unravel_index(pick, valid.shape)
    rows, index = np.unique(pick if own_target else j, return_inverse=True)
    targets = cells.flatten(forced)
    targets = targets.reshape(-1, targets.shape[-1])[rows]
    return Samples(
        X=np.asarray(flat[i, j], dtype=np.float64),
        rows=np.asarray(targets, dtype=np.float64),
        index=index,
        A=np.asarray(div, dtype=np.float64)[i, j][:, None],
        weights=np.ones(pick.size),
        model=np.full(pick.size, name),
        member=np.asarray(ds["member"].values).astype(str)[i],
        year=np.asarray(ds["year"].values, dtype=np.int64)[j],
    )


def complete_columns(samples: Iterable[Samples]) -> NDArray[np.bool_]:
    """Cells without a missing value in any sample or target."""
    columns = [np.isfinite(s.X).all(axis=0) & np.isfinite(s.rows).all(axis=0) for s in samples]
    return np.asarray(np.logical_and.reduce(columns))
