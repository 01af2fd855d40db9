"""Leave models out: every candidate (γ, α, ρ) scored on models it has not seen."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from climanchor._version import __version__
from climanchor.fingerprint.evidence import Evidence, Missing, gather
from climanchor.fingerprint.selection import METRICS, Selection
from climanchor.fingerprint.splits import Scheme, Split, split_models
from climanchor.kernels import Scores, check_gamma, score_path

Array = NDArray[np.float64]


def select(
    data: xr.DataTree | Mapping[str, xr.Dataset],
    *,
    models: Sequence[str] | None = None,
    gammas: ArrayLike = (1.0,),
    alphas: ArrayLike | None = None,
    ranks: ArrayLike | None = None,
    n_splits: int = 10,
    samples_per_model: int | None = 500,
    seed: int = 0,
    scheme: Scheme = "halves",
    families: Mapping[str, str] | Iterable[Iterable[str]] | None = None,
    standardise: bool = True,
    missing: Missing = "mask",
    space: Literal["auto", "samples", "cells"] = "auto",
    store: str | Path | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Selection:
    """Score every (γ, α, ρ) on left-out models.

    Each split standardises with its training samples, fits anchor-regularised reduced-rank ridge on them and scores
    the others: R² and residual–DIV correlation of every cell, averaged over cells. One pass over the data serves all
    splits and candidates; after it the cost does not depend on the number of members.

    Parameters
    ----------
    data : DataTree
        ``field``, ``forced`` and ``div`` of each model, as `climanchor.prepare` returns them; lazy or not.
    models : sequence of str
        The training models, to be split; test models do not belong here. All of ``data`` by default.
    gammas, alphas, ranks : array-like
        The candidates: γ in [0, ∞], α ≥ 0 (default: 20 log-spaced in [1, 1e6]), ρ ≥ 1 (default: 21 in [300, 600]).
    n_splits, scheme, families, seed
        See `climanchor.fingerprint.split_models`.
    samples_per_model : int or None
        Samples drawn from each model without replacement; None uses all, with equal weight per model.
    standardise : bool
        Divide cells and DIV by their training standard deviation.
    missing : {"mask", "raise"}
        Leave cells with a missing value out (and say so in the attributes), or raise an error that names them.
    space : {"auto", "samples", "cells"}
        Where the algebra is done; by default the smaller side. The scores are the same to rounding.
    store : path
        Folder where each finished split is kept; a killed selection resumes from it and gives the same bits.
    workers : int
        Splits scored at the same time, each with one BLAS thread (default: the available cores).
    progress : callable
        Called with (splits done, all splits).

    Raises
    ------
    ValueError
        For unknown models, candidates out of range, fewer than two models, cells without variance.

    Examples
    --------
    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CESM2", "CCSM4", "NorCPM1", "HadCM3"], members=2, seed=0)
    >>> s = ca.select(data, gammas=[1, 5], alphas=[1e2, 1e4], ranks=[5, 20], samples_per_model=60)
    >>> dict(s.scores.r2.sizes)
    {'split': 6, 'gamma': 2, 'alpha': 2, 'rank': 2}
    >>> s.best("per_gamma", gamma=5).rank in (5, 20)
    True
    """
    grid = _candidates(gammas, alphas, ranks)
    evidence = gather(data, models=models, samples_per_model=samples_per_model, seed=seed, missing=missing, space=space)
    splits = split_models(list(evidence.models), scheme=scheme, n_splits=n_splits, seed=seed, families=families)
    parts = _score_splits(
        evidence, splits, grid, standardise=standardise, store=store, workers=workers, progress=progress
    )
    return Selection(_label(parts, splits, grid, evidence, scheme=scheme, seed=seed, standardise=standardise))


def _candidates(gammas: ArrayLike, alphas: ArrayLike | None, ranks: ArrayLike | None) -> dict[str, NDArray[Any]]:
    g = np.unique([check_gamma(v) for v in np.atleast_1d(gammas)])
    a = np.unique(np.logspace(0, 6, 20) if alphas is None else np.atleast_1d(np.asarray(alphas, dtype=float)))
    r = np.unique(np.linspace(300, 600, 21).astype(int) if ranks is None else np.atleast_1d(ranks))
    if a.size == 0 or not (np.isfinite(a) & (a >= 0)).all():
        raise ValueError(f"alphas must be finite and not negative, got {a.tolist()}")
    if r.size == 0 or (r < 1).any() or (r != r.astype(int)).any():
        raise ValueError(f"ranks must be whole numbers of at least 1, got {r.tolist()}")
    return {"gamma": g, "alpha": a, "rank": r.astype(int)}


def _score_splits(
    evidence: Evidence,
    splits: Sequence[Split],
    grid: Mapping[str, NDArray[Any]],
    *,
    standardise: bool,
    store: str | Path | None,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> list[xr.Dataset]:
    digest = "" if store is None else evidence.digest()
    results: dict[Split, xr.Dataset] = {}

    def keep(split: Split, scores: xr.Dataset) -> None:
        results[split] = scores
        if progress is not None:
            progress(len(results), len(set(splits)))

    def path(split: Split) -> Path:
        assert store is not None
        return Path(store) / f"split-{_key(digest, split, grid, standardise)}.nc"

    # The netCDF library is not thread-safe: files are read and written here, numbers are made in the threads.
    missing = []
    for split in dict.fromkeys(splits):
        kept = None if store is None else _read_split(path(split))
        if kept is None:
            missing.append(split)
        else:
            keep(split, kept)
    with _one_blas_thread_each(workers or _cores()) as pool:
        futures = {pool.submit(_score_split, evidence, split, grid, standardise): split for split in missing}
        for future in as_completed(futures):
            split, scores = futures[future], future.result()
            if store is not None:
                _write_split(scores, path(split))
            keep(split, scores)
    return [results[split] for split in splits]


def _score_split(evidence: Evidence, split: Split, grid: Mapping[str, NDArray[Any]], standardise: bool) -> xr.Dataset:
    training = evidence.training(split.train, standardise=standardise)
    area = evidence.cells.area

    def summarise(s: Scores) -> Array:
        r = s.correlation[..., 0]
        return np.stack([s.r2.mean(-1), s.r2 @ area, r.mean(-1), np.abs(r).mean(-1), s.mse.mean(-1)], axis=-1)

    values = []
    for gamma in grid["gamma"]:
        spectrum, moments, basis = training.spectra(gamma, split.validation)
        values.append(
            score_path(spectrum, moments, alphas=grid["alpha"], ranks=grid["rank"], summarise=summarise, basis=basis)
        )
    scores = np.asarray(values)  # (gamma, alpha, rank, metric)
    dims = ("gamma", "alpha", "rank")
    ds = xr.Dataset({name: (dims, scores[..., i]) for i, name in enumerate(METRICS)}, coords=dict(grid))
    ds["target_rank"] = training.target_rank
    ds["inert"] = ("rank", grid["rank"] > training.target_rank)
    return ds


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _one_blas_thread_each(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads with one BLAS thread each, so that the two never multiply; an error ends what has not begun."""
    pool = ThreadPoolExecutor(workers)
    with threadpool_limits(1, user_api="blas"):
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


def _key(digest: str, split: Split, grid: Mapping[str, NDArray[Any]], standardise: bool) -> str:
    about = {
        "data": digest,
        "split": asdict(split),
        "grid": {k: v.tolist() for k, v in grid.items()},
        "standardise": standardise,
        "version": __version__,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:24]


def _write_split(scores: xr.Dataset, path: Path) -> None:
    """Write under a temporary name, then rename: a file that exists is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    scores.to_netcdf(part, engine="netcdf4")
    part.replace(path)


def _read_split(path: Path) -> xr.Dataset | None:
    """A finished split, or None where there is none or it cannot be read."""
    if not path.exists():
        return None
    try:
        with xr.open_dataset(path, engine="netcdf4") as ds:
            scores = ds.load()
    except (OSError, ValueError, RuntimeError):
        return None
    scores["inert"] = scores["inert"].astype(bool)
    return scores


def _label(
    parts: Sequence[xr.Dataset],
    splits: Sequence[Split],
    grid: Mapping[str, NDArray[Any]],
    evidence: Evidence,
    **settings: Any,
) -> xr.Dataset:
    ds = xr.concat(parts, "split", coords="minimal", compat="override")
    for name, text in METRICS.items():
        ds[name].attrs.update(long_name=text, units="1")
    ds["target_rank"].attrs["long_name"] = "numerical rank of the training targets"
    ds["inert"].attrs["long_name"] = "rank above that of the targets: the fit is the plain anchor-ridge one"
    models = np.array(evidence.models)
    ds["training"] = (("split", "model"), [[m in s.train for m in models] for s in splits])
    ds["training"].attrs["long_name"] = "the model trains in this split (it validates otherwise)"
    ds = ds.assign_coords(split=np.arange(len(splits)), model=models)
    ds = ds.merge(evidence.describe())
    settings = {k: int(v) if isinstance(v, bool) else v for k, v in settings.items()}
    ds.attrs = {"title": "Validation scores by leaving models out", "climanchor_version": __version__, **settings}
    ds.attrs.update(evidence.attributes())
    return ds
