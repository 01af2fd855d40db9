"""The reduced-rank ridge path against the objective it states."""

import numpy as np
import pytest
from scipy.optimize import minimize

from climanchor.kernels import (
    Moments,
    decompose_gram,
    decompose_moments,
    decompose_samples,
    ridge_path,
    target_basis,
)

SHAPES = [(30, 8, 6), (12, 25, 20), (15, 25, 4)]


def centred(n, d, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d)
    Y = X @ rng.normal(size=(d, 3)) @ rng.normal(size=(3, p)) + rng.normal(size=(n, p))
    return X - X.mean(0), Y - Y.mean(0)


def loss(B, X, Y, alpha):
    return np.sum((Y - X @ B) ** 2) + alpha * np.sum(B**2)


@pytest.mark.parametrize("shape", SHAPES)
def test_full_rank_solves_the_normal_equations(shape):
    """Without a bound on the rank the gradient of |Y − XB|² + α|B|² vanishes."""
    X, Y = centred(*shape)
    B = decompose_samples(X, Y).fit(0.7).coef
    gradient = X.T @ (X @ B - Y) + 0.7 * B
    assert np.abs(gradient).max() < 1e-10


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_no_nearby_or_random_start_descends_below_the_reduced_rank_fit(shape, rank):
    """L-BFGS over B = UV' from the fit and from random starts finds no lower loss."""
    X, Y = centred(*shape)
    alpha, (_, d, p) = 0.7, shape
    fit = decompose_samples(X, Y).fit(alpha, rank)

    def objective(z):
        U, V = z[: d * rank].reshape(d, rank), z[d * rank :].reshape(p, rank)
        R = X @ (U @ V.T) - Y
        G = X.T @ R + alpha * (U @ V.T)
        return loss(U @ V.T, X, Y, alpha), 2 * np.concatenate([(G @ V).ravel(), (G.T @ U).ravel()])

    rng = np.random.default_rng(rank)
    starts = [np.concatenate([fit.x_weights.ravel(), fit.y_loadings.ravel()])]
    starts += [rng.normal(size=starts[0].size) for _ in range(3)]
    best = min(minimize(objective, s, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).fun for s in starts)
    assert loss(fit.coef, X, Y, alpha) <= best * (1 + 1e-9)
    assert np.linalg.matrix_rank(fit.coef) == rank


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gamma", [0.0, 1.0, 5.0, 100.0])
def test_sample_and_feature_space_agree(shape, gamma):
    """Gram of samples, Gram of features and singular values give the same coefficients to 1e-8."""
    rng = np.random.default_rng(3)
    X, Y = centred(*shape)
    A = rng.normal(size=(len(X), 1)) + X[:, :1]
    m = Moments.from_samples(X, Y, A).anchored(gamma)
    Q = (A - A.mean()) / np.linalg.norm(A - A.mean())
    Xt, Yt = (M + (np.sqrt(gamma) - 1) * Q @ (Q.T @ M) for M in (X, Y))
    by_moments, by_samples = decompose_moments(m.xx, m.xy), decompose_samples(Xt, Yt)
    by_values = decompose_samples(Xt, Yt, exact=True)
    gram, V = decompose_gram(Xt @ Xt.T, Yt)
    for alpha in (1e-2, 1.0, 1e3):
        for rank in (1, 3, None):
            expected = by_values.fit(alpha, rank)
            for other in (by_moments, by_samples):
                got = other.fit(alpha, rank)
                np.testing.assert_allclose(got.coef, expected.coef, rtol=1e-8, atol=1e-8 * np.abs(expected.coef).max())
            _, vectors = gram.modes(alpha, rank)
            coef = Xt.T @ V @ gram.ridge(alpha) @ vectors @ gram.loadings(vectors).T
            np.testing.assert_allclose(coef, expected.coef, rtol=1e-8, atol=1e-8 * np.abs(expected.coef).max())


def test_modes_are_nested_sorted_and_sign_stable():
    """A smaller rank keeps the leading modes; each explains less than the one before; signs are stable."""
    X, Y = centred(40, 8, 6)
    spectrum = decompose_samples(X, Y)
    five, two = spectrum.fit(0.5, 5), spectrum.fit(0.5, 2)
    np.testing.assert_allclose(five.x_weights[:, :2], two.x_weights, atol=1e-12)
    assert (np.diff(five.explained) <= 0).all()
    flipped = decompose_samples(X[::-1], Y[::-1], exact=True).fit(0.5, 5)
    np.testing.assert_allclose(flipped.y_loadings, five.y_loadings, atol=1e-8)


def test_explained_is_the_drop_of_the_penalised_loss():
    X, Y = centred(30, 8, 6)
    spectrum = decompose_samples(X, Y)
    losses = [loss(spectrum.fit(0.5, r).coef, X, Y, 0.5) for r in range(1, 7)]
    np.testing.assert_allclose(-np.diff([np.sum(Y**2), *losses]), spectrum.fit(0.5, 6).explained, rtol=1e-9)


def test_repeated_target_rows_shrink_the_problem_and_change_nothing():
    """Centred targets with seven distinct rows have rank six, and the same fits in a basis of six vectors."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(7, 20))
    index = rng.integers(0, 7, 50)
    X = rng.normal(size=(50, 30))
    X -= X.mean(0)
    Y = rows[index] - rows[index].mean(0)
    basis = target_basis(rows - rows[index].mean(0))
    small, large = decompose_samples(X, Y, basis=basis), decompose_samples(X, Y)
    assert small.target_rank == 6
    for rank in (2, 6, None):
        np.testing.assert_allclose(small.fit(1.0, rank).coef, large.fit(1.0, rank).coef, atol=1e-10)


def test_ranks_above_that_of_the_targets_are_inert():
    X, Y = centred(30, 8, 6)
    Y = Y[:, :2] @ np.ones((2, 6))
    spectrum = decompose_samples(X, Y, basis=target_basis(Y))
    assert spectrum.target_rank == 1
    np.testing.assert_array_equal(spectrum.fit(1.0, 1).coef, spectrum.fit(1.0, 5).coef)


def test_path_gives_one_fit_per_alpha():
    X, Y = centred(30, 8, 6)
    spectrum = decompose_samples(X, Y)
    alphas = [0.1, 1.0, 10.0]
    for alpha, factors in zip(alphas, ridge_path(spectrum, alphas), strict=True):
        direct = np.linalg.solve(X.T @ X + alpha * np.eye(8), X.T @ Y)
        np.testing.assert_allclose(factors.coef, direct, atol=1e-10)
        np.testing.assert_allclose(factors.predict(X), X @ direct, atol=1e-10)
