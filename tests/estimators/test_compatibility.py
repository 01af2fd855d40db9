"""Which losses are linear in the covariance, and the worst case over interventions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from climanchor import Anchor, Moments, is_anchor_compatible, worst_case_risk
from climanchor.estimators.losses import (
    generalised_opls,
    negative_correlation,
    negative_covariance,
    squared_error,
)

RNG = np.random.default_rng(7)
B, V, U = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=(2, 2))


@pytest.mark.parametrize(
    "loss",
    [
        squared_error(B),
        squared_error((V @ U.T).T),
        negative_covariance(V, U),
        lambda Sxx, Sxy, Syy: Syy[0, 1] + Sxx[0, 0],
    ],
    ids=["least squares", "OPLS, eigenvalue form", "PLS", "any linear form"],
)
def test_linear_forms_are_compatible(loss):
    report = is_anchor_compatible(loss)
    assert report
    assert report.violation == ""
    assert max(report.additivity, report.homogeneity) < 1e-12
    assert str(report).startswith("anchor-compatible")


@pytest.mark.parametrize(
    "loss",
    [
        negative_correlation(V, U),
        generalised_opls(V),
        lambda Sxx, Sxy, Syy: np.linalg.norm(Sxy),
        lambda Sxx, Sxy, Syy: np.trace(Syy) + 1.0,
        lambda Sxx, Sxy, Syy: np.nan,
    ],
    ids=["CCA", "OPLS, generalised eigenvalue form", "homogeneous but not additive", "constant term", "NaN"],
)
def test_other_losses_are_not_and_the_report_shows_where(loss):
    report = is_anchor_compatible(loss)
    assert not report
    assert max(report.additivity, report.homogeneity) > 1e-3
    assert "fails in trial" in report.violation
    assert report.violation in str(report)


def test_a_norm_fails_additivity_alone():
    report = is_anchor_compatible(lambda Sxx, Sxy, Syy: np.linalg.norm(Sxy))
    assert report.homogeneity < 1e-12 < report.additivity
    assert report.violation.startswith("additivity fails")


def test_shapes_of_the_covariance_follow_the_arguments():
    coef = np.ones((4, 6))
    assert is_anchor_compatible(squared_error(coef), n_features=6, n_targets=4)
    with pytest.raises(ValueError, match="n_trials=0"):
        is_anchor_compatible(squared_error(coef), n_trials=0)


def test_an_estimator_is_not_a_loss():
    with pytest.raises(TypeError, match=r"not Anchor: for a fitted estimator pass its loss"):
        is_anchor_compatible(Anchor())


def intervene(n, shift, seed):
    """A linear structural model in which the anchor (n, q) shifts H, X and Y."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, 2)) @ shift
    H = rng.normal(size=(n, 1)) + A[:, :1]
    X = A @ [[1.0, 0.5, 0.0], [0.0, 1.0, 1.0]] + H + rng.normal(size=(n, 3))
    Y = X @ [[1.0, 0.0], [0.5, -1.0], [0.0, 1.0]] + H + A[:, 1:] + rng.normal(size=(n, 2))
    return X, Y, A


@pytest.mark.parametrize("gamma", [0.5, 4.0, 9.0])
def test_bound_holds_under_interventions_and_is_attained(gamma):
    """Risks of new samples, anchors shifted within and up to sqrt(gamma) of training, for fits of several gammas."""
    X, Y, A = intervene(100_000, np.eye(2), seed=0)
    moments = Moments.from_samples(X, Y, A)
    angle = np.array([[0.6, -0.8], [0.8, 0.6]])
    shifts = [0 * np.eye(2), np.diag([1.0, 0.0]), angle @ np.diag([1.0, 0.5]), np.eye(2)]
    for fitted_gamma in (1.0, gamma):
        fit = Anchor(gamma=fitted_gamma).fit(X, Y, anchors=A)
        bound = worst_case_risk(squared_error(fit.coef_), moments, gamma)
        risks = []
        for seed, shift in enumerate(shifts, start=1):
            X_new, Y_new, _ = intervene(100_000, np.sqrt(gamma) * shift, seed=seed)
            risks.append(np.sum(np.mean((Y_new - fit.predict(X_new)) ** 2, axis=0)))
        assert max(risks) < 1.02 * bound
        assert_allclose(risks[-1], bound, rtol=0.02)


def test_the_anchored_fit_has_the_least_worst_case():
    X, Y, A = intervene(500, np.eye(2), seed=0)
    moments = Moments.from_samples(X, Y, A)
    coef = Anchor(gamma=6.0).fit(X, Y, anchors=A).coef_
    best = worst_case_risk(squared_error(coef), moments, 6.0)
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 1.0):
        assert worst_case_risk(squared_error(coef + size * rng.normal(size=coef.shape)), moments, 6.0) > best


def test_worst_case_is_the_risk_of_explicitly_shifted_samples():
    """f(S) + (γ − 1) f(S_A) equals the loss of samples transformed by I + (√γ − 1) P, exactly."""
    X, Y, A = intervene(60, np.eye(2), seed=0)
    A = A - A.mean(axis=0)
    W = np.eye(60) + (np.sqrt(7.0) - 1) * A @ np.linalg.pinv(A)
    residual = W @ ((Y - Y.mean(axis=0)) - (X - X.mean(axis=0)) @ B.T)
    risk = worst_case_risk(squared_error(B), Moments.from_samples(X, Y, A), 7.0)
    assert_allclose(risk, np.sum(residual**2) / 60, rtol=1e-10)


def test_unbounded_interventions_have_unbounded_risk_unless_nothing_is_left_on_the_anchors():
    rng = np.random.default_rng(0)
    A = np.repeat([-1.0, 1.0], 20)
    noise = rng.normal(size=(40, 2))
    noise -= np.where(A[:, None] > 0, noise[A > 0].mean(axis=0), noise[A < 0].mean(axis=0))
    X, Y = A[:, None] + noise[:, :1], 2 * A[:, None] + noise[:, 1:]
    moments = Moments.from_samples(X, Y, A)
    assert worst_case_risk(squared_error(np.array([[1.0]])), moments, np.inf) == np.inf
    assert worst_case_risk(squared_error(np.array([[2.0]])), moments, np.inf) < np.inf


def test_losses_of_covariances_between_targets_need_full_moments():
    X, Y, A = intervene(60, np.eye(2), seed=0)

    def loss(Sxx, Sxy, Syy):
        return float(Syy.sum())

    with pytest.raises(ValueError, match="full_targets=True"):
        worst_case_risk(loss, Moments.from_samples(X, Y, A), 2.0)
    full = Moments.from_samples(X, Y, A, full_targets=True)
    assert_allclose(worst_case_risk(loss, full, 1.0), np.var(Y.sum(axis=1)))


def test_worst_case_needs_anchors_and_a_valid_gamma():
    X, Y, A = intervene(60, np.eye(2), seed=0)
    with pytest.raises(ValueError, match="moments has no anchors"):
        worst_case_risk(squared_error(B), Moments.from_samples(X, Y), 2.0)
    with pytest.raises(ValueError, match="gamma must be a number in"):
        worst_case_risk(squared_error(B), Moments.from_samples(X, Y, A), -1.0)
