"""The whole (alpha, rank) grid with validation scores, against one naive fit times the size of the grid, and the floor.

The naive fit solves the augmented least-squares problem and takes a full SVD of the fitted values, as published
implementations do for every (alpha, rank). The floor is the bare eigenproblems and matrix products that the path
needs, on arrays of the same shapes and with the same threads. All three alternate in one process; the best of the
repeats counts, and the naive scores must equal ours. Ratios of processor time stand beside those of wall-clock time,
because on a busy machine only they mean anything.

    python benchmarks/bench_path.py [--threads 2] [--repeats 3] [--quick]
"""

import argparse
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from climanchor.kernels import Moments, decompose_samples, score_path, target_basis

N_ALPHAS, N_RANKS = 20, 21


@cache
def smooth_root(n_lat, n_lon, length):
    """A square root of the correlations exp(-distance/length) between the cells of a grid."""
    lat, lon = np.meshgrid(
        np.deg2rad(np.linspace(-90, 90, n_lat + 2)[1:-1]),
        np.linspace(0, 2 * np.pi, n_lon, endpoint=False),
        indexing="ij",
    )
    points = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], -1).reshape(-1, 3)
    distance = np.arccos(np.clip(points @ points.T, -1, 1))
    return np.linalg.cholesky(np.exp(-distance / length) + 1e-6 * np.eye(len(points)))


def smooth_fields(n, n_lat, n_lon, length, rng):
    """Samples (n, n_lat n_lon) of a Gaussian field on the sphere with those correlations."""
    return rng.standard_normal((n, n_lat * n_lon)) @ smooth_root(n_lat, n_lon, length).T


def make_data(n, n_lat, n_lon, *, repeats, seed=0):
    """Training and validation (X, Y, A); each row of Y is shared by ``repeats`` samples, as members share a year."""
    rng = np.random.default_rng(seed)
    sets = []
    for _ in range(2):
        Y = np.repeat(smooth_fields(-(-n // repeats), n_lat, n_lon, 0.5, rng), repeats, axis=0)[:n]
        A = rng.standard_normal((n, 1))
        X = Y + smooth_fields(n, n_lat, n_lon, 0.3, rng) + A
        sets.append((X, Y, A))
    return sets


def summarise(scores):
    return scores.r2.mean(axis=-1), scores.correlation[..., 0].mean(axis=-1)


def path(train, validation, alphas, ranks, threads, shared=1):
    """Mean R² and mean residual–anchor correlation of every (alpha, rank), by the kernels.

    ``shared`` consecutive samples have the same targets, whose distinct rows then span a smaller space.
    """
    (X, Y, _), (X_new, Y_new, A_new) = train, validation
    x_mean, y_mean = X.mean(axis=0), Y.mean(axis=0)
    basis = new_basis = None
    with threadpool_limits(threads):
        if shared > 1:
            basis, new_basis = (target_basis(M[::shared] - y_mean) for M in (Y, Y_new))
        spectrum = decompose_samples(X - x_mean, Y - y_mean, basis=basis)
        moments = Moments.from_samples((X_new - x_mean) @ spectrum.directions, Y_new - y_mean, A_new)
        if new_basis is not None:
            moments = replace(moments, xy=moments.xy @ new_basis)
    settings = {"alphas": alphas, "ranks": ranks, "summarise": summarise, "basis": new_basis}
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        found = score_path(spectrum, moments, **settings, map=pool.map)
    return np.moveaxis(np.array(found), 1, 0)  # (score, alpha, rank)


def naive(train, validation, alpha, rank):
    """The same two numbers for one (alpha, rank): augmented solve, full SVD, prediction."""
    (X, Y, _), (X_new, Y_new, A_new) = train, validation
    x_mean, y_mean = X.mean(axis=0), Y.mean(axis=0)
    augmented = np.vstack([X - x_mean, np.sqrt(alpha) * np.eye(X.shape[1])])
    targets = np.vstack([Y - y_mean, np.zeros((X.shape[1], Y.shape[1]))])
    B = scipy.linalg.solve(augmented.T @ augmented, augmented.T @ targets, assume_a="pos")
    _, _, right = np.linalg.svd(augmented @ B, full_matrices=False)
    B = B @ right[:rank].T @ right[:rank]
    residual = Y_new - y_mean - (X_new - x_mean) @ B
    r2 = 1 - np.sum(residual**2, axis=0) / np.sum((Y_new - Y_new.mean(axis=0)) ** 2, axis=0)
    anchor = A_new[:, 0] - A_new.mean()
    spread = residual.std(axis=0) * anchor.std()
    return r2.mean(), np.mean((residual - residual.mean(axis=0)).T @ anchor / len(anchor) / spread)


def floor(train, validation, alphas, ranks, threads):
    """The eigenproblems and products of `path`, and nothing else."""
    (X, Y, _), (X_new, Y_new, _) = train, validation
    with threadpool_limits(threads):
        values, U = np.linalg.eigh(X @ X.T)
        W, C = X.T @ U, U.T @ Y
        basis, C = np.linalg.qr(C.T)
        C = C.T
        new = X_new @ W
        xx, xy = new.T @ new, new.T @ Y_new
    edges = [0, *np.minimum(ranks, len(values))]

    def one(alpha):
        half = C / (values + alpha)[:, None]
        vectors = np.linalg.eigh(C.T @ half)[1][:, : edges[-1]]
        L, V = basis @ vectors, half @ vectors
        xy.T @ V
        S = V.T @ (xx @ V)
        for lo, hi in pairwise(edges):
            L[:, :hi] @ S[:hi, lo:hi]

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, alphas))


def timed(function, *args):
    """Wall-clock and processor seconds, and the result."""
    start = np.array([time.perf_counter(), time.process_time()])
    result = function(*args)
    return np.array([time.perf_counter(), time.process_time()]) - start, result


def peak_gigabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(data, shared, *, alphas, ranks, threads, repeats):
    """The best seconds (wall, processor) of each contender, and the peak memory before the first naive fit."""
    best = {name: np.full(2, np.inf) for name in ("path", "floor", "naive", "shared")}
    places = [(len(alphas) // 2, len(ranks) // 2), (2, len(ranks) - 1)]
    grid = (alphas, ranks, threads)
    for turn in range(repeats):
        seconds, scores = timed(path, *data, *grid)
        best["path"] = np.minimum(best["path"], seconds)
        best["floor"] = np.minimum(best["floor"], timed(floor, *data, *grid)[0])
        best["shared"] = np.minimum(best["shared"], timed(path, *shared, *grid, 3)[0])
        if turn == 0:
            peak = peak_gigabytes()
        if turn < len(places):
            i, j = places[turn]
            with threadpool_limits(threads):
                seconds, expected = timed(naive, *data, alphas[i], ranks[j])
            best["naive"] = np.minimum(best["naive"], seconds)
            np.testing.assert_allclose(scores[:, i, j], expected, rtol=1e-6, atol=1e-8)
    return best, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a small problem, to see that it runs")
    options = parser.parse_args()
    n, n_lat, n_lon, ranks = (100, 12, 24, (30, 60)) if options.quick else (1000, 36, 72, (300, 600))
    data, shared = (make_data(n, n_lat, n_lon, repeats=r) for r in (1, 3))
    grid = {"alphas": np.geomspace(1, 1e6, N_ALPHAS), "ranks": np.linspace(*ranks, N_RANKS).astype(int)}
    best, peak = measure(data, shared, **grid, threads=options.threads, repeats=options.repeats)
    fits = N_ALPHAS * N_RANKS
    print(
        f"n={n}, d=p={n_lat * n_lon}, {N_ALPHAS} alphas x {N_RANKS} ranks, {options.threads} threads; wall / processor"
    )
    for name, (wall, processor) in best.items():
        print(f"  {name:7s} {wall:8.2f} s / {processor:8.2f} s")
    for label, ratio, goal in (
        (f"{fits} naive fits / path", fits * best["naive"] / best["path"], "goal: at least 400"),
        ("path / floor", best["path"] / best["floor"], "goal: at most 2"),
        (f"{fits} naive fits / path, targets shared by 3", fits * best["naive"] / best["shared"], "exact, smaller"),
    ):
        print(f"  {label}: {ratio[0]:.3g} / {ratio[1]:.3g} ({goal})")
    print(f"  peak memory before the first naive fit: {peak:.2f} GB (goal: under 1.5; data and floor included)")


if __name__ == "__main__":
    main()
