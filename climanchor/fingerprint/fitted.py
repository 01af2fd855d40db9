"""The fitted fingerprint: predict, score, restrict, look at its patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from dask.base import compute
from dask.delayed import delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from climanchor.fingerprint.accumulate import block_valid, model_blocks, tree_sum
from climanchor.fingerprint.cells import Cells, model_datasets, no_sample
from climanchor.fingerprint.evidence import Evidence
from climanchor.kernels import Factors, Moments, Scaling, residual_moments, score_residuals

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """A map from a field of anomalies to the forced response in every cell: ``ŷ = ȳ + s_y L V'(x − x̄)/s_x``.

    Made by `climanchor.fit_fingerprint`; the factors V (``weights``) and L (``patterns``) are maps, ordered by how
    much of the forced response they predict. It carries the standardisation, the grid, the choice of (γ, α, ρ), and
    the training evidence that `restrict` refits from.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CESM2", "CCSM4"], members=2, grid=30.0)
    >>> fp = ca.fit_fingerprint(data, gamma=5, alpha=100, rank=5, samples_per_model=60)
    >>> fp.patterns.sizes["mode"], fp.weights.dims
    (5, ('mode', 'lat', 'lon'))
    >>> north = fp.restrict(fp.mask & (fp.mask["lat"] > 0))
    >>> bool(north.predict(data["CESM2"]["field"]).isel(lat=0).isnull().all())
    True
    """

    factors: Factors
    scaling: Scaling
    cells: Cells
    gamma: float
    alpha: float
    rank: int
    models: tuple[str, ...]
    target_rank: int
    standardise: bool = True
    estimator: str = "A-RRRR"
    evidence: Evidence | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Fingerprint {self.estimator} gamma={self.gamma:g} alpha={self.alpha:g} rank={self.factors.rank} "
            f"on {self.cells.size} of {self.cells.mask.size} cells, trained on {', '.join(self.models)}>"
        )

    @property
    def mask(self) -> xr.DataArray:
        """The cells in use (lat, lon)."""
        return self.cells.to_map(np.ones(self.cells.size)).notnull()

    @property
    def patterns(self) -> xr.DataArray:
        """Target-side factor maps L (mode, lat, lon) in K per unit of the mode."""
        maps = self.cells.to_map((self.factors.y_loadings * self.scaling.y_scale[:, None]).T, ("mode",))
        return self._modes(maps, "pattern of the forced response", "K")

    @property
    def weights(self) -> xr.DataArray:
        """Predictor-side factor maps V (mode, lat, lon): what the field is projected on, per K."""
        maps = self.cells.to_map((self.factors.x_weights / self.scaling.x_scale[:, None]).T, ("mode",))
        return self._modes(maps, "fingerprint weights", "K-1")

    def _modes(self, maps: xr.DataArray, name: str, units: str) -> xr.DataArray:
        maps = maps.assign_coords(mode=np.arange(1, self.factors.rank + 1))
        return maps.assign_attrs(long_name=name, units=units)

    def predict(self, field: xr.DataArray) -> xr.DataArray:
        """The forced response predicted from ``field`` (any dims, lat, lon), in K; lazy if ``field`` is.

        A sample with a missing value in a used cell is predicted as missing everywhere: `restrict` the fingerprint
        to the observed cells instead.
        """
        self.cells.check(field, "the field to predict from")
        units = field.attrs.get("units", "K")
        if units not in KELVIN:
            raise ValueError(f"the field has units {units!r}, anomalies in K are needed: convert it first")
        prediction = xr.apply_ufunc(
            self._predict_fields,
            field,
            input_core_dims=[["lat", "lon"]],
            output_core_dims=[["lat", "lon"]],
            dask="parallelized",
            output_dtypes=[np.float64],
            dask_gufunc_kwargs={"allow_rechunk": True},
        )
        name = "forced response predicted by the fingerprint"
        labelled: xr.DataArray = prediction.rename("forced").assign_attrs(long_name=name, units="K", gamma=self.gamma)
        return labelled

    def _predict_fields(self, values: NDArray[Any]) -> Array:
        return self.cells.unflatten(self.predict_matrix(self.cells.flatten(values)))

    def predict_matrix(self, X: NDArray[Any]) -> Array:
        """Predict from (..., cells), unlabelled."""
        s = self.scaling
        return np.asarray(s.y_mean + s.y_scale * self.factors.predict((X - s.x_mean) / s.x_scale))

    def score(self, data: xr.DataTree | Mapping[str, xr.Dataset], *, models: Sequence[str] | None = None) -> xr.Dataset:
        """R² and residual–DIV correlation on all samples of ``models``: maps, and their means over cells.

        Residuals are forced − predicted. Models are pooled with equal weight; ``*_by_model`` has each by itself.
        R² is relative to the mean of the scored samples. One pass, in blocks; an active dask Client is used.

        Returns
        -------
        Dataset
            ``r2, residual_correlation, mse`` (lat, lon), the same ``_by_model`` (model, lat, lon), and the scalars
            ``r2_mean, r2_area_mean, r_mean, r_abs_mean`` with their ``_by_model`` twins.
        """
        datasets = model_datasets(data, models)
        for name, ds in datasets.items():
            self.cells.check(ds, f"model {name}")
        fitted = delayed(self._lean, traverse=False)  # one node of the graph, not a copy in every task
        graphs = {
            name: tree_sum([delayed(_block_residuals)(fitted, *block) for block in model_blocks(ds)])
            for name, ds in datasets.items()
        }
        with threadpool_limits(1, user_api="blas"):
            (sums,) = compute(graphs)
        empty = [name for name, m in sums.items() if m is None]
        if empty:
            raise no_sample(empty)
        equal = {name: m.weighing(1.0) for name, m in sums.items()}
        pooled = self._score_maps(sum(equal.values()), "")
        by_model = xr.concat([self._score_maps(m, "_by_model") for m in equal.values()], "model")
        result = xr.merge([pooled, by_model.assign_coords(model=list(equal))])
        result.attrs = {"gamma": self.gamma, "alpha": self.alpha, "rank": self.rank, "models": ", ".join(equal)}
        return result

    @property
    def _lean(self) -> Fingerprint:
        """Without the evidence, to be sent to workers."""
        return replace(self, evidence=None)

    def _score_maps(self, m: Moments, suffix: str) -> xr.Dataset:
        scores = score_residuals(m)
        r, area = scores.correlation[:, 0], self.cells.area
        maps = {"r2": scores.r2, "residual_correlation": r, "mse": scores.mse}
        means = {
            "r2_mean": scores.r2.mean(),
            "r2_area_mean": scores.r2 @ area,
            "r_mean": r.mean(),
            "r_abs_mean": np.abs(r).mean(),
        }
        ds = xr.Dataset({k + suffix: self.cells.to_map(v) for k, v in maps.items()})
        ds = ds.assign({k + suffix: v for k, v in means.items()})
        for name, (text, units) in SCORE_ATTRS.items():
            ds[name + suffix].attrs.update(long_name=text, units=units)
        return ds

    def restrict(self, mask: xr.DataArray) -> Fingerprint:
        """Refit for the cells where ``mask`` (lat, lon) is true, from the training evidence: no pass over the data.

        Use it for observations with gaps: the fingerprint of the observed cells, for predictors and targets alike.
        """
        from climanchor.fingerprint.fitting import fit_evidence

        self.cells.check(mask, "the mask")
        if self.evidence is None:
            raise ValueError(
                "this fingerprint was saved without its training evidence and cannot be refitted: "
                "save it with to_netcdf(path, evidence=True), or fit it again"
            )
        kept = self.evidence.restrict(np.asarray(mask.transpose("lat", "lon").values, dtype=bool))
        return fit_evidence(
            kept,
            gamma=self.gamma,
            alpha=self.alpha,
            rank=self.rank,
            standardise=self.standardise,
            attrs=self.attrs,
            warn=False,
        )

    def to_netcdf(self, path: str | Path, *, evidence: bool = True) -> None:
        """Save everything in one netCDF-4 file; ``evidence=False`` leaves out what `restrict` needs."""
        from climanchor.fingerprint.storage import write_fingerprint

        write_fingerprint(self if evidence else self._lean, Path(path))

    @classmethod
    def from_netcdf(cls, path: str | Path) -> Fingerprint:
        """Read what `to_netcdf` wrote; damage, or a newer format, gives an error that says so."""
        from climanchor.fingerprint.storage import read_fingerprint

        return read_fingerprint(Path(path))


KELVIN = ("K", "kelvin", "Kelvin", "degC", "degrees_C", "degree_Celsius", "°C", "C", "celsius", "Celsius", "delta_degC")
SCORE_ATTRS = {
    "r2": ("R² of the predicted forced response", "1"),
    "residual_correlation": ("correlation of residuals (forced − predicted) with DIV", "1"),
    "mse": ("mean squared error of the predicted forced response", "K2"),
    "r2_mean": ("mean over cells of R²", "1"),
    "r2_area_mean": ("area-weighted mean of R²", "1"),
    "r_mean": ("mean over cells of the residual–DIV correlation", "1"),
    "r_abs_mean": ("mean over cells of the magnitude of the residual–DIV correlation", "1"),
}


def _block_residuals(fp: Fingerprint, values: Array, forced: Array, div: Array) -> Moments | None:
    valid = block_valid(values, div, fp.cells.mask)
    if not valid.any():
        return None
    member, year = np.nonzero(valid)
    targets = fp.cells.flatten(forced)
    Y = np.asarray(targets[member, year] if forced.ndim == 4 else targets[year], dtype=np.float64)
    X = fp.cells.flatten(values)[member, year].astype(np.float64)
    return residual_moments(Y, fp.predict_matrix(X), div[member, year])
