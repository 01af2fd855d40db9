"""Fit one fingerprint with a chosen (γ, α, ρ), or with any estimator on stacked samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.estimators.diagnostics import warn_inert_rank, warn_interpolation, warn_weak_anchors
from climanchor.fingerprint.evidence import Evidence, Missing, gather
from climanchor.fingerprint.fitted import Fingerprint
from climanchor.fingerprint.samples import Samples
from climanchor.fingerprint.spaces import SampleTraining, Training
from climanchor.kernels import Factors, check_gamma

Array = NDArray[np.float64]


def fit_fingerprint(
    data: xr.DataTree | Mapping[str, xr.Dataset],
    *,
    models: Sequence[str] | None = None,
    gamma: float = 5.0,
    alpha: float = 1.0,
    rank: int | None = None,
    estimator: Any = None,
    samples_per_model: int | None = 500,
    seed: int = 0,
    standardise: bool = True,
    missing: Missing = "mask",
    space: Literal["auto", "samples", "cells"] = "auto",
) -> Fingerprint:
    """Learn the forced response in every cell from the field: anchor-regularised reduced-rank ridge regression.

    Minimises ``|Y − XB|² + α|B|²`` over ``rank(B) ≤ ρ`` on the anchor-regularised training data, with X the field, Y
    the forced response and the anchor A the decadal internal variability.

    Parameters
    ----------
    data, models, samples_per_model, seed, standardise, missing, space
        As in `climanchor.select`: the same seed draws the same samples.
    gamma : float in [0, inf]
        1 is the plain estimator, 0 partials DIV out, larger values protect against more DIV, inf is the IV limit.
    alpha : float ≥ 0
        Ridge penalty. ``rank=None`` gives A-ridge; ``alpha=0`` A-RRR; both A-MLR.
    rank : int ≥ 1
        Largest rank of the coefficients; None for no bound.
    estimator
        Any multi-output regressor with ``coef_``, for example ``Anchor(PLSRegression(20), gamma=5)``, fitted on the
        stacked standardised samples in the place of reduced-rank ridge; then ``alpha`` and ``rank`` do not apply,
        and γ is the estimator's own.

    Examples
    --------
    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CESM2", "CCSM4"], members=2, seed=0)
    >>> fp = ca.fit_fingerprint(data, gamma=5, alpha=1e3, rank=10, samples_per_model=60)
    >>> fp.predict(data["CESM2"]["field"]).dims
    ('member', 'year', 'lat', 'lon')
    """
    evidence = gather(
        data,
        models=models,
        samples_per_model=samples_per_model,
        seed=seed,
        missing=missing,
        space="samples" if estimator is not None else space,
    )
    if estimator is not None:
        return fit_estimator(evidence, estimator, standardise=standardise)
    return fit_evidence(evidence, gamma=gamma, alpha=alpha, rank=rank, standardise=standardise)


def fit_evidence(
    evidence: Evidence,
    *,
    gamma: float,
    alpha: float,
    rank: int | None,
    standardise: bool = True,
    attrs: Mapping[str, Any] | None = None,
    warn: bool = True,
) -> Fingerprint:
    """Fit reduced-rank ridge on evidence that was gathered before."""
    gamma = check_gamma(gamma)
    if not (np.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"alpha must be finite and not negative, got {alpha}")
    if rank is not None and (rank < 1 or rank != int(rank)):
        raise ValueError(f"rank must be a whole number of at least 1, or None; got {rank}")
    training = evidence.training(evidence.models, standardise=standardise)
    factors = training.fit(gamma, alpha, rank)
    if warn:
        _diagnose(evidence, training, factors, gamma=gamma, alpha=alpha, rank=rank)
    return Fingerprint(
        factors=factors,
        scaling=training.scaling,
        cells=evidence.cells,
        gamma=gamma,
        alpha=float(alpha),
        rank=training.target_rank if rank is None else int(rank),
        models=evidence.models,
        target_rank=training.target_rank,
        standardise=standardise,
        estimator="A-" + ("MLR", "ridge", "RRR", "RRRR")[(alpha > 0) + 2 * (rank is not None)],
        evidence=evidence,
        attrs={**evidence.attributes(), **(attrs or {})},
    )


def _diagnose(
    evidence: Evidence, training: Training, factors: Factors, *, gamma: float, alpha: float, rank: int | None
) -> None:
    """Say when a setting does nothing."""
    if rank is not None:
        warn_inert_rank(rank, training.target_rank, name="rank")
    if gamma != 1:
        constant = ["div"] if np.isinf(training.scaling.a_scale).all() else []
        n = sum(evidence.describe()["sample_count"].values)
        warn_weak_anchors(constant, rank=1 - len(constant), n_samples=int(n), gamma=gamma)
    if gamma not in (0, 1, np.inf) and alpha == 0 and isinstance(training, SampleTraining):
        data = training.data
        residual = data.Y - factors.predict(data.X)
        warn_interpolation(residual, data.Y, n_features=data.X.shape[1], gamma=gamma)


def fit_estimator(evidence: Evidence, estimator: Any, *, standardise: bool = True) -> Fingerprint:
    """Fit any estimator with ``coef_`` on the stacked samples, behind the same labelled interface."""
    assert evidence.samples is not None
    training = SampleTraining(evidence.samples, evidence.models, standardise=standardise)
    data: Samples = training.data
    anchored = hasattr(estimator, "gamma")
    estimator.fit(data.X, data.Y, **({"anchors": data.A} if anchored else {}))
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    name = type(estimator.estimator_).__name__ if anchored else type(estimator).__name__
    factors = coefficient_factors(coef.T)
    # The estimator may have an intercept of its own: it is what it predicts for a field at the training mean.
    offset = np.asarray(estimator.predict(np.zeros((1, data.X.shape[1]))), dtype=np.float64).ravel()
    scaling = training.scaling
    scaling = type(scaling)(
        scaling.x_mean,
        scaling.x_scale,
        scaling.y_mean + offset * scaling.y_scale,
        scaling.y_scale,
        scaling.a_mean,
        scaling.a_scale,
    )
    return Fingerprint(
        factors=factors,
        scaling=scaling,
        cells=evidence.cells,
        gamma=float(getattr(estimator, "gamma", 1.0)),
        alpha=float("nan"),
        rank=factors.rank,
        models=evidence.models,
        target_rank=training.target_rank,
        standardise=standardise,
        estimator=f"Anchor({name})" if anchored else name,
        attrs=evidence.attributes(),
    )


def coefficient_factors(B: Array) -> Factors:
    """Factors of a dense coefficient matrix (d, p), by its singular value decomposition."""
    U, s, Vt = np.linalg.svd(B, full_matrices=False)
    keep = s > max(B.shape) * np.finfo(float).eps * s[0]
    return Factors(U[:, keep] * s[keep], Vt[keep].T, s[keep] ** 2)
