"""Structural models: samples agree with the population, interventions with the theory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from climanchor import Anchor
from climanchor.simulate import confounded, direct, instrumental, low_rank_weights, scm
from climanchor.simulate.structural import NOISES, child_seed

# X0 -> X1 -> Y0 <- H0 -> X0, X1 -> Y1; two anchors, one of which acts on X1, on a target and on H
B = np.zeros((5, 5))
B[1, 0], B[2, 1], B[3, 1], B[0, 4], B[2, 4] = 0.5, 1.5, -1.0, 1.0, 2.0
M = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.7], [0.0, 0.0], [0.0, 0.3]])
SIGMA_A = np.array([[1.0, 0.4], [0.4, 2.0]])


def example(**kwargs):
    return scm(B, M, n_predictors=2, n_targets=2, anchor_covariance=SIGMA_A, **kwargs)


def observed(sample):
    return np.column_stack([sample.X, sample.Y])


@pytest.mark.parametrize("noise", NOISES)
def test_sample_covariance_is_the_population_covariance(noise):
    """With 50,000 draws the relative error of a variance is below 1 % (2 % for heavy tails): 8 % is four of them."""
    equations = example(noise=noise, noise_scale=[1.0, 0.5, 1.0, 2.0, 1.0])
    for do in (None, 2.5, np.array([[3.0, 0.0], [0.0, 0.0]])):
        sample = equations.sample(50_000, do=do, seed=1)
        expected = equations.covariance(do=do)
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert np.abs(np.cov(observed(sample).T) - expected).max() / scale.max() < 0.08
        assert np.abs(observed(sample).mean(axis=0) / np.sqrt(np.diag(expected))).max() < 0.02


def test_anchor_part_is_what_regression_on_the_anchors_explains():
    equations = example()
    sample = equations.sample(50_000, seed=2)
    fitted = LinearRegression().fit(sample.A, observed(sample)).predict(sample.A)
    assert np.abs(np.cov(fitted.T) - equations.anchor_part()).max() < 0.1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 20.0))
def test_anchored_covariance_bounds_the_risk_under_every_allowed_intervention(seed, gamma):
    """For any coefficients and any Σ_ν ⪯ γ Σ_A the risk is at most f(S) + (γ - 1) f(S_A), with equality at γ Σ_A."""
    equations = example()
    rng = np.random.default_rng(seed)
    coefficients = np.hstack([-rng.normal(size=(2, 2)), np.eye(2)])  # Y - XB from (X, Y)
    root = np.linalg.cholesky(gamma * SIGMA_A)
    shrink = np.linalg.qr(rng.normal(size=(2, 2)))[0] * rng.uniform(0, 1, 2)
    allowed = root @ (shrink @ shrink.T) @ root.T

    def risk(covariance):
        return np.trace(coefficients @ covariance @ coefficients.T)

    bound = risk(equations.covariance() + (gamma - 1) * equations.anchor_part())
    assert risk(equations.covariance(do=allowed)) <= bound * (1 + 1e-9)
    assert risk(equations.covariance(do=np.sqrt(gamma))) == pytest.approx(bound)


@pytest.mark.parametrize("gamma", [0.0, 1.0, 5.0, np.inf])
def test_anchor_regression_converges_to_the_population_solution(gamma):
    """The error of a coefficient is about 1/sqrt(n) = 0.003 times a few; IV has as many anchors as predictors."""
    equations = example()
    sample = equations.sample(100_000, seed=3)
    total, on_anchor = equations.covariance(), equations.anchor_part()
    S = on_anchor if np.isinf(gamma) else total + (gamma - 1) * on_anchor
    expected = np.linalg.solve(S[:2, :2], S[:2, 2:])
    fitted = Anchor(LinearRegression(), gamma=gamma).fit(sample.X, sample.Y, anchors=sample.A)
    np.testing.assert_allclose(fitted.coef_.T, expected, atol=0.05)


def test_the_same_seed_gives_the_same_noise_under_every_intervention():
    """A sample is affine in the strength of the intervention, so that curves over t share their noise."""
    equations = example()
    calm, unit, strong = (observed(equations.sample(50, do=t, seed=7)) for t in (0.0, 1.0, 3.0))
    np.testing.assert_allclose(strong, calm + 3 * (unit - calm), atol=1e-12)


def test_seed_sequences_are_not_used_up():
    stream = np.random.SeedSequence(5)
    equations = example()
    first, again = (equations.sample(3, seed=stream).X for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, equations.sample(3, seed=child_seed(stream, 0)).X)


def test_intervention_by_a_function_replaces_the_anchors():
    equations = example()
    sample = equations.sample(4, do=lambda rng, n: np.full((n, 2), 2.0), seed=0)
    np.testing.assert_array_equal(sample.A, 2.0)
    with pytest.raises(ValueError, match=r"must be \(4, 2\)"):
        equations.sample(4, do=lambda rng, n: np.zeros((n, 1)))
    with pytest.raises(ValueError, match="covariance of a sampling function is not known"):
        equations.covariance(do=lambda rng, n: np.zeros((n, 2)))


def test_the_order_of_the_variables_is_free_but_cycles_are_named():
    backwards = np.zeros((3, 3))
    backwards[0, 1], backwards[1, 2] = 1.0, 1.0  # H -> Y -> X
    assert scm(backwards, np.ones((3, 1)), n_predictors=1, n_targets=1).covariance()[0, 0] == pytest.approx(12.0)
    cyclic = backwards.copy()
    cyclic[1, 0] = 0.1
    with pytest.raises(ValueError, match="cycle through X0, Y0"):
        scm(cyclic, np.ones((3, 1)), n_predictors=1, n_targets=1)
    with pytest.raises(ValueError, match="cycle through H0"):
        scm(np.diag([0, 0, 0.5]), np.ones((3, 1)), n_predictors=1, n_targets=1)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"B": np.zeros((2, 3))}, "B must be square"),
        ({"n_targets": 9}, "do not fit in 5 variables"),
        ({"noise": "cauchy"}, "one of gaussian, exponential, gamma, poisson"),
        ({"noise_scale": -1.0}, "none may be negative"),
        ({"anchor_covariance": np.eye(3)}, r"symmetric \(2, 2\) covariance"),
        ({"anchor_covariance": np.array([[1.0, 2.0], [2.0, 1.0]])}, "negative eigenvalue"),
    ],
)
def test_what_does_not_fit_is_an_error(change, match):
    arguments = {"B": B, "M": M, "n_predictors": 2, "n_targets": 2, **change}
    with pytest.raises(ValueError, match=match):
        scm(arguments.pop("B"), arguments.pop("M"), **arguments)


@pytest.mark.parametrize(
    ("setting", "variance", "covariance", "explained"),
    [(instrumental, 3.0, 2.0, 1.0), (confounded, 6.0, 5.0, 4.0), (direct, 2.25, 1.25, 0.25)],
)
def test_toy_predictors_have_the_moments_of_their_equations(setting, variance, covariance, explained):
    """X = aA + H + ε: Var = a² + 1 + 1 and Cov = a² + 1, with a = 1, 1/2, and 2 where A drives H too."""
    S = setting(low_rank_weights(4, 3, rank=2)).covariance()
    np.testing.assert_allclose(np.diag(S)[:4], variance)
    np.testing.assert_allclose(S[0, 1], covariance)
    assert setting(low_rank_weights(4, 3, rank=2)).anchor_part()[0, 1] == pytest.approx(explained)


@pytest.mark.parametrize(("setting", "on_target"), [(instrumental, 0.0), (confounded, 1.0), (direct, 2.0)])
def test_toy_targets_follow_x_w_plus_hidden_plus_the_direct_effect(setting, on_target):
    """Y - XW = H + ε + direct A: its covariance with A is what reaches Y past X."""
    W = low_rank_weights(4, 3, rank=2, seed=1)
    S = setting(W).anchor_part()
    residual = np.hstack([-W.T, np.eye(3)]) @ S @ np.hstack([-W.T, np.eye(3)]).T
    np.testing.assert_allclose(residual, on_target**2, atol=1e-12)


def test_one_hidden_variable_per_coordinate_ties_only_pairs():
    S = instrumental(low_rank_weights(3, 3, rank=1), hidden="per_coordinate").covariance()
    np.testing.assert_allclose(S[0, 1], 1.0)  # the anchor alone
    np.testing.assert_allclose(S[0, 0], 3.0)
    with pytest.raises(ValueError, match="as many predictors as targets, got 4 and 3"):
        instrumental(low_rank_weights(4, 3, rank=1), hidden="per_coordinate")
    with pytest.raises(ValueError, match="'scalar' or 'per_coordinate'"):
        instrumental(low_rank_weights(3, 3, rank=1), hidden="none")


def test_weights_need_a_possible_rank():
    with pytest.raises(ValueError, match="between 1 and 3"):
        low_rank_weights(4, 3, rank=4)
