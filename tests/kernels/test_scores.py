"""Scores from moments equal scores from samples, for every α and rank."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from climanchor.kernels import (
    Moments,
    decompose_samples,
    residual_moments,
    score_factors,
    score_path,
    score_residuals,
    target_basis,
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(40, 30)), rng.normal(size=(40, 2))
    B = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 12))
    Y = X @ B + A @ rng.normal(size=(2, 12)) + rng.normal(size=(40, 12))
    Xv, Av = rng.normal(size=(25, 30)) + 0.5, rng.normal(size=(25, 2))
    Yv = Xv @ B + 2 * Av @ rng.normal(size=(2, 12)) + 3.0 + rng.normal(size=(25, 12))
    w = rng.uniform(0.5, 2, 25)
    x_mean, y_mean = X.mean(0), Y.mean(0)
    return decompose_samples(X - x_mean, Y - y_mean), Xv - x_mean, Yv - y_mean, Av, w


ALPHAS, RANKS = [0.1, 10.0], [1, 3, 7, 500]


def test_every_candidate_equals_its_samples(problem):
    """R², MSE and correlations of the whole grid agree with predictions made one by one, to 1e-8."""
    spectrum, Xv, Yv, Av, w = problem
    m = Moments.from_samples(Xv, Yv, Av, weights=w).rotated(spectrum.directions)
    grid = score_path(spectrum, m, alphas=ALPHAS, ranks=RANKS, summarise=lambda s: s)
    for alpha, scores in zip(ALPHAS, grid, strict=True):
        for i, rank in enumerate(RANKS):
            P = Xv @ spectrum.fit(alpha, rank).coef
            E = Yv - P
            np.testing.assert_allclose(
                scores.r2[i], r2_score(Yv, P, sample_weight=w, multioutput="raw_values"), atol=1e-8
            )
            np.testing.assert_allclose(scores.mse[i], np.average(E**2, axis=0, weights=w), rtol=1e-8)
            for a in range(2):
                cov = [np.cov(E[:, j], Av[:, a], aweights=w) for j in range(E.shape[1])]
                r = [c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]) for c in cov]
                np.testing.assert_allclose(scores.correlation[i, :, a], r, atol=1e-8)


def test_one_fit_from_moments_and_from_blocks_of_samples(problem):
    """`score_factors` and added `residual_moments` are twins."""
    spectrum, Xv, Yv, Av, w = problem
    factors = spectrum.fit(1.0, 4)
    a = score_factors(factors, Moments.from_samples(Xv, Yv, Av, weights=w))
    P = factors.predict(Xv)
    halves = [slice(0, 10), slice(10, None)]
    b = score_residuals(sum(residual_moments(Yv[h], P[h], Av[h], weights=w[h]) for h in halves))
    for name in ("r2", "mse", "correlation"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-10)


def test_a_basis_of_the_validation_targets_changes_nothing(problem):
    spectrum, Xv, Yv, Av, w = problem
    rows, index = Yv[:6], np.arange(25) % 6
    m = Moments.from_samples(Xv, rows[index], Av, weights=w).rotated(spectrum.directions)
    basis = target_basis(rows)
    Z = Moments.from_samples(Xv @ spectrum.directions, (rows @ basis)[index], Av, weights=w)
    compact = Moments(**{**m.__dict__, "xy": Z.xy})
    plain = score_path(spectrum, m, alphas=ALPHAS, ranks=RANKS, summarise=lambda s: s.r2)
    small = score_path(spectrum, compact, alphas=ALPHAS, ranks=RANKS, summarise=lambda s: s.r2, basis=basis)
    np.testing.assert_allclose(small, plain, atol=1e-9)


def test_a_constant_target_has_no_r2(problem):
    """Undefined scores are NaN, not a number that looks like one."""
    _, _, Yv, Av, _ = problem
    Yv = Yv.copy()
    Yv[:, 2] = 1.0
    scores = score_residuals(residual_moments(Yv, np.zeros_like(Yv), Av))
    assert np.isnan(scores.r2[2])
    assert np.isnan(scores.correlation[2]).all()
    assert np.isfinite(np.delete(scores.r2, 2)).all()
