"""Selection and the moments pass: against refitting every candidate, against the floor, and as the data grow.

Every section runs us and the peer alternately in one process and prints ratios; the best of the repeats counts.

    python benchmarks/bench_select.py [--sections paper,gamma,members,size,table] [--threads 2] [--quick]
"""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np
import xarray as xr
from bench_path import naive, peak_gigabytes, smooth_fields, timed
from threadpoolctl import threadpool_limits

import climanchor as ca
from climanchor.fingerprint import gather
from climanchor.fingerprint.accumulate import model_moments
from climanchor.fingerprint.cells import common_cells, model_datasets

ALPHAS, RANKS = np.logspace(0, 6, 20), np.linspace(300, 600, 21).astype(int)
TRAIN = ["CCSM4", "NorCPM1", "CESM2", "HadCM3"]
TEST = ["CNRM-CM6-1", "CNRM-ESM2-1", "IPSL-CM6A-LR"]
#: Test R² and −r, train R² and −r of the paper (its DIV has the opposite sign).
PUBLISHED = {1: (0.506, 0.419, 0.510, 0.157), 5: (0.537, 0.248, 0.500, 0.120), 100: (0.533, 0.123, 0.487, 0.096)}


def fields(models, members, years, *, n_lat=36, n_lon=72, own_targets=False, seed=0):
    """Prepared data of smooth random fields; with ``own_targets`` no two samples share a target."""
    rng = np.random.default_rng(seed)
    coarse = min(n_lat, 36), min(n_lon, 72)
    zoom = n_lat // coarse[0], n_lon // coarse[1]

    def smooth(n):
        f = smooth_fields(n, *coarse, 0.5, rng).reshape(n, *coarse)
        return np.kron(f, np.ones((1, *zoom))) + 0.05 * rng.standard_normal((n, n_lat, n_lon))

    def model():
        forced = np.linspace(0, 2, years)[:, None, None] + smooth(years)
        div = 0.1 * rng.standard_normal((members, years))
        noise = np.stack([smooth(years) for _ in range(members)])
        field = (forced + noise + div[..., None, None]).astype("f4")
        target = forced + 0.3 * np.roll(noise, 3, axis=0)[..., ::-1] if own_targets else forced
        dims = ("member", "year", "lat", "lon")
        lat, lon = (np.arange(n) + 0.5 for n in (n_lat, n_lon))
        return xr.Dataset(
            {"field": (dims, field), "forced": (dims[-target.ndim :], target), "div": (dims[:2], div)},
            coords={"member": np.arange(members), "year": 1850 + np.arange(years),
                    "lat": lat * 180 / n_lat - 90, "lon": lon * 360 / n_lon},
        )  # fmt: skip

    return {f"M{i}": model() for i in range(models)}


def run_all(pool, function, arguments):
    """Every call in the pool, waited for."""
    list(pool.map(lambda a: function(*a), arguments))


def floor_split(n, cells, r):
    """The products and eigenproblems of one split and γ, on arrays of the same shapes, and nothing else."""
    rng = np.random.default_rng(0)
    X, Xv = rng.standard_normal((n, cells)), rng.standard_normal((n, cells))
    basis, rows = rng.standard_normal((cells, r)), rng.standard_normal((r, cells))
    values, U = np.linalg.eigh(X @ X.T)
    np.linalg.qr(rows.T)
    np.linalg.qr(rows.T)
    F = (Xv @ X.T) @ U
    xx, H, E = F.T @ F, U.T @ X[:, :r], F.T @ Xv[:, :r]
    for alpha in ALPHAS:
        half = H / (values + alpha)[:, None]
        top = min(r, RANKS[-1])
        vectors = np.linalg.eigh(H.T @ half)[1][:, :top]
        L, V = basis @ vectors, half @ vectors
        basis @ (E.T @ V)
        S = V.T @ (xx @ V)
        edges = np.unique([0, *np.minimum(RANKS, top)])
        for lo, hi in pairwise(edges):
            L[:, :hi] @ S[:hi, lo:hi]


def paper(threads, quick):
    """The paper's selection, with shared and with arbitrary targets."""
    for name, own in (("shared targets", False), ("arbitrary targets", True)):
        data = fields(4, 10, 160, own_targets=own)
        kwargs = {"alphas": ALPHAS, "ranks": RANKS, "n_splits": 6, "workers": threads}
        evidence = gather(data)
        rank = evidence.training(("M0", "M1")).target_rank
        stack = [
            tuple(np.concatenate([getattr(evidence.samples[m], k) for m in pair]) for k in ("X", "Y", "A"))
            for pair in (("M0", "M1"), ("M2", "M3"))
        ]
        best = np.full((3, 2), np.inf)
        for turn in range(1 if quick else 2):
            seconds, selection = timed(partial(ca.select, data, **kwargs))
            best[0] = np.minimum(best[0], seconds)
            if not turn:
                peak = peak_gigabytes()
            with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
                splits = [(1000, 2592, rank)] * selection.scores.sizes["split"]
                best[1] = np.minimum(best[1], timed(run_all, pool, floor_split, splits)[0])
            with threadpool_limits(threads):
                best[2] = np.minimum(best[2], timed(naive, *stack, ALPHAS[12], RANKS[0])[0])
        candidates = selection.scores.sizes["split"] * ALPHAS.size * RANKS.size
        wall, cpu = best[2] * candidates / best[0], best[0] / best[1]
        print(
            f"paper, {name} (rank {rank}): {candidates} candidates {wall[0]:.0f} times faster than one naive fit each "
            f"({wall[1]:.0f} in processor time); {cpu[0]:.2f} times the floor ({cpu[1]:.2f}); peak {peak:.2f} GB"
        )


def gamma_path(threads, quick):
    """Twenty γ against one, with maps; Gram matrices, standardisation and target bases are shared."""
    data = fields(4, 10, 160)
    kwargs = {"alphas": ALPHAS, "ranks": RANKS, "n_splits": 6, "workers": threads}
    one = timed(partial(ca.select, data, gammas=[1], **kwargs))[0]
    gammas = np.logspace(0, 4, 5 if quick else 20)
    many = timed(partial(ca.select, data, gammas=gammas, **kwargs))[0]
    evidence = gather(data)

    def maps(values):
        for g in values:
            ca.fingerprint.fit_evidence(evidence, gamma=g, alpha=1e4, rank=300).score(data)

    one_map, many_maps = timed(maps, [1.0])[0], timed(maps, gammas)[0]
    ratio = (many + many_maps) / (one + one_map)
    print(
        f"gamma: {gammas.size} values cost {ratio[0]:.1f} times one ({ratio[1]:.1f} in processor time), maps included; "
        "products of samples, scaling and target bases are shared, the eigenproblems are not"
    )


def members(threads, quick):
    """Cost of the pass and of selection at 1×, 4× and 16× the members; the pass against the bare product."""
    base = 4
    for factor in (1, 4) if quick else (1, 4, 16):
        data = fields(2, base * factor, 160)
        cells = common_cells(model_datasets(data, None))
        best = np.full((3, 2), np.inf)
        for _ in range(2):
            best[0] = np.minimum(best[0], timed(partial(model_moments, data, cells))[0])
            X = [ds["field"].values.reshape(-1, cells.size).astype("f8") for ds in data.values()]
            Y = [
                np.broadcast_to(ds["forced"].values, ds["field"].shape).reshape(-1, cells.size) for ds in data.values()
            ]
            with threadpool_limits(threads):
                best[1] = np.minimum(
                    best[1], timed(lambda x=X, y=Y: [(a.T @ a, a.T @ b) for a, b in zip(x, y, strict=True)])[0]
                )
            kwargs = {"alphas": ALPHAS[::4], "ranks": [50, 300], "samples_per_model": None, "space": "cells"}
            best[2] = np.minimum(best[2], timed(partial(ca.select, data, **kwargs))[0])
        n = sum(len(x) for x in X)
        print(
            f"members ×{factor}: {n} samples, the pass at {best[1][0] / best[0][0]:.2f} of the rate of bare X'X and "
            f"X'Y ({best[1][1] / best[0][1]:.2f} in processor time); pass {best[0][0] / n * 1e3:.2f} ms a sample; "
            f"selection beyond the pass {max(best[2][0] - best[0][0], 0):.1f} s"
        )


def size(threads, quick):
    """A grid four times finer, and 100,000 samples: seconds (on this machine, as it is now) and memory."""
    data = fields(4, 4, 160, n_lat=72, n_lon=144)
    seconds = timed(partial(ca.select, data, alphas=ALPHAS, ranks=RANKS, n_splits=6, workers=threads))[0]
    print(f"size, 10,368 cells, 2,000 samples: selection {seconds[0]:.0f} s, peak {peak_gigabytes():.1f} GB")
    del data
    data = fields(2, 20 if quick else 310, 162)
    seconds = timed(partial(ca.select, data, alphas=ALPHAS, ranks=RANKS, samples_per_model=None, workers=1))[0]
    n = sum(ds["div"].size for ds in data.values())
    print(f"size, 2,592 cells, {n:,} samples: selection {seconds[0]:.0f} s, peak {peak_gigabytes():.1f} GB")


def table(threads, quick):
    """The full table on the synthetic archive (in memory), beside the published one."""
    data = ca.simulate.prepared(members=4 if quick else None, seed=0)
    selection = ca.select(data, models=TRAIN, gammas=[1, 5, 100], alphas=ALPHAS, ranks=RANKS, workers=threads)
    mean = selection.mean()
    print("table: synthetic archive (published in brackets); r with the published sign, i.e. −r of ours")
    for gamma, (r2_test, r_test, r2_train, r_train) in PUBLISHED.items():
        choice = selection.best("published", gamma=gamma)
        fp = ca.fit_fingerprint(data, models=TRAIN, gamma=gamma, alpha=choice.alpha, rank=min(choice.rank, 300))
        test, train = fp.score(data, models=TEST), fp.score(data, models=TRAIN)
        v = mean.sel(gamma=gamma, alpha=choice.alpha, rank=choice.rank)
        print(
            f"  γ={gamma:<4d} test R² {float(test.r2_mean):.3f} ({r2_test}) r {-float(test.r_mean):.3f} ({r_test}) | "
            f"validation R² {float(v.r2):.3f} r {-float(v.r):.3f} | train R² {float(train.r2_mean):.3f} ({r2_train}) "
            f"r {-float(train.r_mean):.3f} ({r_train}); α={choice.alpha:.3g} ρ={choice.rank}"
        )
    inert = int(selection.scores.inert.all("split").sum())
    print(f"  target rank {selection.scores.target_rank.values.tolist()}: {inert} of {RANKS.size} ranks inert in all")


SECTIONS = {"paper": paper, "gamma": gamma_path, "members": members, "size": size, "table": table}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    for name in options.sections.split(","):
        SECTIONS[name](options.threads, options.quick)


if __name__ == "__main__":
    main()
