"""Choose (γ, α, ρ) from validation scores: the published rule, per γ, by weighted sum, or from the Pareto front."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.kernels import check_gamma

Array = NDArray[np.float64]
Rule = Literal["published", "per_gamma", "weighted", "pareto"]

METRICS = {
    "r2": "mean over cells of R² (uniform weights)",
    "r2_area": "mean over cells of R² (area weights)",
    "r": "mean over cells of the correlation of residuals (forced − predicted) with DIV",
    "r_abs": "mean over cells of the magnitude of the correlation of residuals with DIV",
    "mse": "mean over cells of the squared error, in units of the training variance",
}


@dataclass(frozen=True)
class Choice:
    """One choice of the anchor strength γ, the ridge penalty α and the rank ρ."""

    gamma: float
    alpha: float
    rank: int


@dataclass(frozen=True, eq=False)
class Selection:
    """Validation scores of every candidate, and the rules that choose among them.

    ``scores`` has dims (split, gamma, alpha, rank) and the variables r2, r2_area, r, r_abs, mse; beside them the
    splits, the numerical rank of the targets, which ranks are inert, the seed and the draw of samples.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CESM2", "CCSM4"], members=2, grid=30.0)
    >>> selection = ca.select(data, gammas=[1, 5], alphas=[10, 100], ranks=[5], samples_per_model=60)
    >>> selection.best().gamma, selection.best("per_gamma", gamma=5).gamma
    (1.0, 5.0)
    >>> selection.pareto()["on_front"].any().item()
    True
    """

    scores: xr.Dataset

    def mean(self) -> xr.Dataset:
        """Scores averaged over the splits, dims (gamma, alpha, rank)."""
        return self.scores[list(METRICS)].mean("split")

    def best(
        self,
        rule: Rule = "published",
        *,
        gamma: float | None = None,
        weight: float = 0.5,
        correlation: Literal["r", "r_abs"] = "r_abs",
    ) -> Choice:
        """Choose on validation data.

        - ``"published"``: (α, ρ) of the highest mean R² at γ = 1, as in the paper; ``gamma`` (default 1) is what the
          choice is returned with.
        - ``"per_gamma"``: (α, ρ) of the highest mean R² at ``gamma`` itself.
        - ``"weighted"``: the largest ``weight · R²/σ(R²) − (1 − weight) · |r|/σ(r)`` over all candidates.
        - ``"pareto"``: the point of the Pareto front nearest to the ideal after ideal–nadir scaling.

        Among equals (inert ranks) the smallest rank is taken.
        """
        if rule == "published":
            return self._highest(1.0, 1.0 if gamma is None else gamma)
        if rule == "per_gamma":
            if gamma is None:
                raise ValueError("rule='per_gamma' needs the gamma to choose for: best('per_gamma', gamma=5)")
            return self._highest(gamma, gamma)
        if gamma is not None:
            raise ValueError(f"rule={rule!r} chooses gamma itself: leave gamma={gamma} out")
        table = self.pareto(correlation=correlation)
        if rule == "weighted":
            if not 0 <= weight <= 1:
                raise ValueError(f"weight must lie in [0, 1], got {weight}")
            r2, r = table["r2"].values, table["correlation"].values
            merit = weight * r2 / (np.std(r2) or 1.0) - (1 - weight) * r / (np.std(r) or 1.0)
            return _choice(table, int(np.argmax(merit)))
        if rule == "pareto":
            return _choice(table, int(np.argmin(table["distance"].values)))
        raise ValueError(f"rule must be 'published', 'per_gamma', 'weighted' or 'pareto', got {rule!r}")

    def _highest(self, at: float, gamma: float) -> Choice:
        gammas = self.scores["gamma"].values
        if at not in gammas:
            raise ValueError(f"gamma={at:g} is not among the selected gammas {gammas.tolist()}: add it to gammas=")
        r2 = self.mean()["r2"].sel(gamma=at).transpose("alpha", "rank")
        a, r = np.unravel_index(int(np.argmax(r2.values)), r2.shape)
        return Choice(check_gamma(gamma), float(r2["alpha"][a]), int(r2["rank"][r]))

    def pareto(self, *, correlation: Literal["r", "r_abs"] = "r_abs") -> xr.Dataset:
        """Every candidate with its mean R² and |r|, whether it is on the front, and its distance to the ideal.

        A candidate is on the front when no other has both a higher R² and a smaller correlation. ``distance`` is
        to the ideal point, with R² and |r| scaled by the ideal–nadir range of the front; infinite off the front.
        """
        mean = self.mean()[["r2", correlation]].stack(candidate=("gamma", "alpha", "rank")).reset_index("candidate")
        r2, r = mean["r2"].values, np.abs(mean[correlation].values)
        front = pareto_front(np.stack([-r2, r], axis=1))
        span = [np.ptp(v[front]) or 1.0 for v in (r2, r)]
        distance = np.hypot((r2[front].max() - r2) / span[0], (r - r[front].min()) / span[1])
        return xr.Dataset(
            {
                "r2": ("candidate", r2, {"long_name": METRICS["r2"]}),
                "correlation": ("candidate", r, {"long_name": f"magnitude of {METRICS[correlation]}"}),
                "on_front": ("candidate", front),
                "distance": ("candidate", np.where(front, distance, np.inf)),
            },
            coords={k: ("candidate", mean[k].values) for k in ("gamma", "alpha", "rank")},
        )

    def to_netcdf(self, path: str | Path) -> None:
        """Save as netCDF."""
        self.scores.to_netcdf(path, engine="netcdf4")

    @classmethod
    def from_netcdf(cls, path: str | Path) -> Selection:
        """Read what `to_netcdf` saved."""
        with xr.open_dataset(path, engine="netcdf4") as ds:
            scores = ds.load()
        lacking = [m for m in METRICS if m not in scores]
        if lacking:
            raise ValueError(f"{path} holds no selection: it lacks {', '.join(lacking)}")
        scores["inert"] = scores["inert"].astype(bool)
        return cls(scores)


def pareto_front(costs: Array) -> NDArray[np.bool_]:
    """Which rows of ``costs`` (n, 2), to be minimised, no other row dominates; the first of equal rows counts."""
    order = np.lexsort((costs[:, 1], costs[:, 0]))
    best = np.minimum.accumulate(costs[order, 1])
    front = np.zeros(len(costs), dtype=bool)
    front[order] = np.concatenate([[True], costs[order[1:], 1] < best[:-1]])
    return front


def _choice(table: xr.Dataset, i: int) -> Choice:
    return Choice(float(table["gamma"][i]), float(table["alpha"][i]), int(table["rank"][i]))
