"""Reduced-rank ridge and OPLS: the objective is minimised, the limits hold, components are ordered."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, Ridge

from climanchor import OPLS, Anchor, Moments, ReducedRankRidge


def sample(n, d, p, *, seed=0, offset=0.0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ np.diag(np.geomspace(3, 0.5, d)) @ scipy.linalg.orth(rng.normal(size=(d, d)))
    return X + offset, X @ rng.normal(size=(d, p)) + noise * rng.normal(size=(n, p)) + offset


def objective(B, X, Y, alpha):
    residual = Y - Y.mean(axis=0) - (X - X.mean(axis=0)) @ B
    return np.sum(residual**2) + alpha * np.sum(B**2)


SHAPES = [(40, 6, 4), (10, 25, 4), (10, 25, 30), (40, 4, 9)]


@pytest.mark.parametrize(("n", "d", "p"), SHAPES)
@pytest.mark.parametrize("alpha", [1e-10, 0.5, 1e3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_full_rank_equals_ridge(n, d, p, alpha, fit_intercept):
    X, Y = sample(n, d, p, offset=3.0)
    peer = Ridge(alpha, fit_intercept=fit_intercept, solver="svd").fit(X, Y)
    fit = ReducedRankRidge(alpha, fit_intercept=fit_intercept).fit(X, Y)
    assert_allclose(fit.coef_, peer.coef_, rtol=1e-8, atol=1e-9)
    assert_allclose(fit.predict(X), peer.predict(X), rtol=1e-8, atol=1e-9)
    assert_allclose(fit.intercept_, peer.intercept_, atol=1e-8)


@pytest.mark.parametrize(("n", "d", "p"), SHAPES)
def test_without_penalty_it_is_least_squares_of_least_norm(n, d, p):
    X, Y = sample(n, d, p, offset=300.0)
    peer = LinearRegression(tol=1e-10).fit(X, Y)
    fit = ReducedRankRidge(alpha=0.0).fit(X, Y)
    assert_allclose(fit.coef_, peer.coef_, rtol=1e-8, atol=1e-9)
    small = ReducedRankRidge(alpha=1e-9).fit(X, Y)
    assert_allclose(small.coef_, fit.coef_, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("n", "d", "p"), SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.7, 50.0])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_stated_objective_is_stationary_in_both_factors(n, d, p, alpha, rank):
    X, Y = sample(n, d, p)
    fit = ReducedRankRidge(alpha, rank).fit(X, Y)
    V, U = fit.x_weights_, fit.y_loadings_
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    G = alpha * V @ U.T - Xc.T @ (Yc - Xc @ V @ U.T)
    scale = np.abs(Xc.T @ Yc).max()
    assert np.abs(G @ U).max() < 1e-10 * scale
    assert np.abs(G.T @ V).max() < 1e-10 * scale * np.abs(V).max()


@pytest.mark.parametrize(("n", "d"), [(20, 4), (4, 8)])
@pytest.mark.parametrize("alpha", [0.1, 5.0])
def test_descent_from_random_starts_finds_nothing_lower(n, d, alpha):
    """Brute force: minimise over both factors from many starts; the best of them is our solution."""
    p, rank = 3, 2
    X, Y = sample(n, d, p)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)

    def value_and_gradient(z):
        V, U = z[: d * rank].reshape(d, rank), z[d * rank :].reshape(p, rank)
        B = V @ U.T
        G = 2 * (alpha * B - Xc.T @ (Yc - Xc @ B))
        return objective(B, X, Y, alpha), np.concatenate([(G @ U).ravel(), (G.T @ V).ravel()])

    rng = np.random.default_rng(0)
    found = [
        scipy.optimize.minimize(value_and_gradient, rng.normal(size=(d + p) * rank), jac=True, method="L-BFGS-B").fun
        for _ in range(12)
    ]
    fit = ReducedRankRidge(alpha, rank).fit(X, Y)
    assert_allclose(min(found), objective(fit.coef_.T, X, Y, alpha), rtol=1e-6)


def test_leading_components_beat_every_other_choice_of_components():
    """Of all sets of eigenvectors the leading ones give the least objective, so they are sorted right."""
    X, Y = sample(30, 6, 5)
    alpha, rank = 2.0, 2
    full = ReducedRankRidge(alpha).fit(X, Y)
    chosen = objective(ReducedRankRidge(alpha, rank).fit(X, Y).coef_.T, X, Y, alpha)
    others = [
        objective(full.x_weights_[:, list(c)] @ full.y_loadings_[:, list(c)].T, X, Y, alpha)
        for c in itertools.combinations(range(5), rank)
    ]
    assert_allclose(chosen, min(others))
    assert others.index(min(others)) == 0


def test_explained_is_the_drop_of_the_objective_by_each_mode():
    X, Y = sample(30, 6, 5)
    values = [objective(ReducedRankRidge(2.0, r).fit(X, Y).coef_.T, X, Y, 2.0) for r in range(1, 6)]
    start = objective(np.zeros((6, 5)), X, Y, 2.0)
    assert_allclose(ReducedRankRidge(2.0).fit(X, Y).explained_, -np.diff([start, *values]))


@pytest.mark.parametrize(("n", "d", "p"), SHAPES)
def test_factors_are_nested_orthonormal_and_of_stable_sign(n, d, p):
    X, Y = sample(n, d, p)
    full = ReducedRankRidge(1.0).fit(X, Y)
    two = ReducedRankRidge(1.0, rank=2).fit(X, Y)
    assert_allclose(two.y_loadings_, full.y_loadings_[:, :2], atol=1e-8)
    assert_allclose(two.x_weights_, full.x_weights_[:, :2], atol=1e-8)
    assert_allclose(two.y_loadings_.T @ two.y_loadings_, np.eye(2), atol=1e-10)
    flipped = ReducedRankRidge(1.0, rank=2).fit(-X, Y)
    assert_allclose(flipped.y_loadings_, two.y_loadings_, atol=1e-8)
    assert np.linalg.matrix_rank(two.coef_) == 2


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_moments_of_parts_give_the_fit_of_all_samples(fit_intercept):
    X, Y = sample(60, 5, 4, offset=10.0)
    moments = sum(Moments.from_samples(X[i : i + 20], Y[i : i + 20]) for i in (0, 20, 40))
    settings = {"alpha": 0.5, "rank": 2, "fit_intercept": fit_intercept}
    whole = ReducedRankRidge(**settings).fit(X, Y)
    parts = ReducedRankRidge(**settings).fit_moments(moments)
    assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-8)


def test_opls_and_reduced_rank_regression_reach_the_same_loss():
    X, Y = sample(50, 7, 5)
    for rank in (1, 2, 4):
        losses = [
            objective(fit.coef_.T, X, Y, 0.0) for fit in (OPLS(rank).fit(X, Y), ReducedRankRidge(0.0, rank).fit(X, Y))
        ]
        assert_allclose(*losses, rtol=1e-10)


def test_opls_spans_the_space_of_the_generalised_eigenvalue_form():
    """Without anchors both forms are one estimator: X'Y Y'X v = λ X'X v spans the same scores."""
    X, Y = sample(50, 7, 5)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    cross = Xc.T @ Yc
    _, vectors = scipy.linalg.eigh(cross @ cross.T, Xc.T @ Xc)
    angles = scipy.linalg.subspace_angles(OPLS(3).fit(X, Y).x_weights_, vectors[:, ::-1][:, :3])
    assert angles.max() < 1e-7


@pytest.mark.parametrize("gamma", [0.0, 1.0, 5.0, 100.0])
@pytest.mark.parametrize(("n", "d"), [(60, 7), (12, 20)])
def test_anchored_opls_components_are_ordered_by_predictive_power(gamma, n, d):
    """Each component alone lowers the anchored squared error, the first the most."""
    X, Y = sample(n, d, 5)
    A = np.random.default_rng(1).normal(size=(n, 1))
    X, Y = X + A, Y - 2 * A
    opls = Anchor(OPLS(4), gamma=gamma).fit(X, Y, anchors=A).estimator_
    A = A - A.mean()
    W = np.eye(n) + (np.sqrt(gamma) - 1) * A @ A.T / np.sum(A**2)
    Xg, Yg = W @ (X - X.mean(axis=0)), W @ (Y - Y.mean(axis=0))
    single = [Xg @ np.outer(opls.x_weights_[:, k], opls.y_loadings_[:, k]) for k in range(4)]
    drops = [np.sum(Yg**2) - np.sum((Yg - fit) ** 2) for fit in single]
    assert_allclose(drops, opls.explained_, rtol=1e-8)
    assert drops == sorted(drops, reverse=True)
    assert drops[0] > 1.01 * drops[1]


def test_opls_scores_are_uncorrelated():
    X, Y = sample(50, 7, 5, offset=10.0)
    T = OPLS(3).fit(X, Y).transform(X)
    assert_allclose(T.mean(axis=0), 0, atol=1e-10)
    gram = T.T @ T
    assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-8 * gram.max())
