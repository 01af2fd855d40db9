"""What was taken from the data for fitting: samples or moments of each model, on the cells that all have."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.fingerprint.accumulate import ModelMoments, model_moments
from climanchor.fingerprint.cells import Cells, common_cells, model_datasets
from climanchor.fingerprint.samples import Samples, complete_columns, draw_samples
from climanchor.fingerprint.spaces import MomentTraining, SampleTraining, Training, check_variance
from climanchor.kernels import Moments

Missing = Literal["mask", "raise"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Samples by model, or moments by model (one of the two is set), and the cells they are on."""

    cells: Cells
    masked: int
    samples: Mapping[str, Samples] | None = None
    moments: Mapping[str, ModelMoments] | None = None
    seed: int = 0

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(self.samples if self.samples is not None else self.moments or ())

    def training(self, train: Sequence[str], *, standardise: bool = True) -> Training:
        """The training set of some of the models."""
        training: Training
        if self.samples is not None:
            training = SampleTraining(self.samples, train, standardise=standardise)
        else:
            assert self.moments is not None
            moments = {m: v.moments for m, v in self.moments.items()}
            rows = {m: v.rows for m, v in self.moments.items()}
            training = MomentTraining(moments, rows, train, standardise=standardise)
        if standardise:
            check_variance(training.scaling, self.cells)
        return training

    def restrict(self, mask: NDArray[np.bool_]) -> Evidence:
        """The same evidence on the cells of ``mask`` (lat, lon) only: sub-blocks, no new pass over the data."""
        columns = mask[self.cells.mask]
        if not columns.any():
            raise ValueError("the mask leaves no cell that the fingerprint was fitted on: nothing to restrict to")
        return replace(
            self,
            cells=self.cells.keeping(columns),
            samples=None if self.samples is None else {m: s.restrict(columns) for m, s in self.samples.items()},
            moments=None
            if self.moments is None
            else {
                m: replace(v, moments=v.moments.restrict(predictors=columns, targets=columns), rows=v.rows[:, columns])
                for m, v in self.moments.items()
            },
        )

    def digest(self) -> str:
        """A hash of every number in it."""
        h = hashlib.sha256(np.ascontiguousarray(self.cells.mask).tobytes())
        for name in self.models:
            h.update(name.encode())
            for array in self._arrays(name):
                h.update(np.ascontiguousarray(array).tobytes())
        return h.hexdigest()

    def _arrays(self, model: str) -> list[NDArray[Any]]:
        if self.samples is not None:
            s = self.samples[model]
            return [s.X, s.rows, s.index, s.A, s.weights]
        assert self.moments is not None
        m: Moments = self.moments[model].moments
        return [m.xx, m.xy, m.xa, m.yy, m.ya, m.aa, m.x_mean, m.y_mean, m.a_mean, self.moments[model].rows]

    def describe(self) -> xr.Dataset:
        """How many samples each model gave and, where they were drawn, the member and year of each."""
        parts = self.samples or self.moments or {}
        counts = [len(v.X) if isinstance(v, Samples) else v.moments.count for v in parts.values()]
        ds = xr.Dataset({"sample_count": ("model", counts)}, coords={"model": list(parts)})
        if any(v.member is None for v in parts.values()):
            return ds
        return ds.assign(
            sample_model=("sample", np.repeat(list(parts), counts)),
            sample_member=("sample", np.concatenate([v.member for v in parts.values()])),
            sample_year=("sample", np.concatenate([v.year for v in parts.values()])),
        )

    def attributes(self) -> dict[str, Any]:
        return {
            "cells_used": self.cells.size,
            "cells_masked": self.masked,
            "sample_seed": self.seed,
            "space": "samples" if self.samples is not None else "cells",
        }


def gather(
    data: xr.DataTree | Mapping[str, xr.Dataset],
    *,
    models: Sequence[str] | None = None,
    samples_per_model: int | None = 500,
    seed: int = 0,
    missing: Missing = "mask",
    space: Literal["auto", "samples", "cells"] = "auto",
) -> Evidence:
    """One pass over the data of ``models``: samples where they are fewer than cells, moments otherwise."""
    if missing not in ("mask", "raise"):
        raise ValueError(f"missing must be 'mask' or 'raise', got {missing!r}")
    if samples_per_model is not None and samples_per_model < 2:
        raise ValueError(f"samples_per_model must be at least 2, or None for all samples; got {samples_per_model}")
    datasets = model_datasets(data, models)
    cells = common_cells(datasets)
    if _in_samples(datasets, cells, samples_per_model, space):
        samples = draw_samples(datasets, cells, samples_per_model=samples_per_model, seed=seed)
        complete = complete_columns(samples.values())
        evidence = Evidence(cells, 0, samples=samples, seed=seed)
    else:
        moments = _moments(datasets, cells, samples_per_model, seed)
        complete = np.logical_and.reduce(
            [np.isfinite(v.moments.x_mean) & np.isfinite(v.rows).all(axis=0) for v in moments.values()]
        )
        evidence = Evidence(cells, 0, moments=moments, seed=seed)
    return evidence if complete.all() else _without_missing(evidence, complete, missing)


def _in_samples(datasets: Mapping[str, xr.Dataset], cells: Cells, samples_per_model: int | None, space: str) -> bool:
    if space not in ("auto", "samples", "cells"):
        raise ValueError(f"space must be 'auto', 'samples' or 'cells', got {space!r}")
    if space != "auto":
        return space == "samples"
    sizes = [ds.sizes["member"] * ds.sizes["year"] for ds in datasets.values()]
    return sum(min(n, samples_per_model or n) for n in sizes) <= cells.size


def _moments(
    datasets: Mapping[str, xr.Dataset], cells: Cells, samples_per_model: int | None, seed: int
) -> dict[str, ModelMoments]:
    if samples_per_model is None:
        return model_moments(datasets, cells)
    drawn = draw_samples(datasets, cells, samples_per_model=samples_per_model, seed=seed)
    return {m: ModelMoments(s.moments(), s.rows, s.member, s.year) for m, s in drawn.items()}


def _without_missing(evidence: Evidence, complete: NDArray[np.bool_], missing: Missing) -> Evidence:
    cells = evidence.cells
    lat, lon = np.meshgrid(cells.lat, cells.lon, indexing="ij")
    gaps = [f"({a:g}, {o:g})" for a, o in zip(lat[cells.mask][~complete], lon[cells.mask][~complete], strict=True)]
    what = f"{len(gaps)} of {complete.size} cells have missing values, first at (lat, lon) {', '.join(gaps[:3])}"
    if missing == "raise" or not complete.any():
        raise ValueError(f"{what}: fill or mask them, or use missing='mask' to leave these cells out everywhere")
    warnings.warn(f"{what}; they are left out of every model", stacklevel=3)
    kept = evidence.restrict(cells.keeping(complete).mask)
    return replace(kept, masked=len(gaps))
