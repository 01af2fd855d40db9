"""Anchor regularisation against its definition, its limits and an independent implementation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ivmodels.models.anchor_regression import AnchorRegression
from numpy.testing import assert_allclose
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import PolynomialFeatures

from climanchor import OPLS, Anchor, ReducedRankRidge
from climanchor.estimators import IncompatibleEstimatorWarning

GAMMAS = [0.0, 0.5, 1.0, 2.0, 5.0, 100.0, np.inf]


def sample(n=80, d=5, p=3, q=2, *, seed=0, offset=0.0):
    """Confounded data in which the anchors move X and, through H and directly, Y."""
    rng = np.random.default_rng(seed)
    A, H = rng.normal(size=(n, q)), rng.normal(size=(n, 1))
    X = A @ rng.normal(size=(q, d)) + H + rng.normal(size=(n, d))
    Y = X @ rng.normal(size=(d, p)) / np.sqrt(d) + A[:, :1] + H + rng.normal(size=(n, p))
    return X + offset, Y + offset, A + offset


def projection(A):
    """The explicit n×n projection on centred anchors."""
    A = A - A.mean(axis=0)
    return A @ np.linalg.pinv(A)


def anchor_objective(B, X, Y, A, gamma, alpha=0.0):
    """``|(I - P)(Y - XB)|² + gamma |P(Y - XB)|² + alpha |B|²`` of centred data."""
    X, Y, P = X - X.mean(axis=0), Y - Y.mean(axis=0), projection(A)
    residual = Y - X @ B
    on, off = P @ residual, residual - P @ residual
    return np.sum(off**2) + gamma * np.sum(on**2) + alpha * np.sum(B**2)


def anchor_gradient(B, X, Y, A, gamma, alpha=0.0):
    X, Y, P = X - X.mean(axis=0), Y - Y.mean(axis=0), projection(A)
    residual = Y - X @ B
    return 2 * (alpha * B - X.T @ (residual + (gamma - 1) * P @ residual))


@pytest.mark.parametrize("gamma", [0.5, 2.0, 5.0, 100.0])
def test_linear_regression_equals_ivmodels_column_by_column(gamma):
    X, Y, A = sample(offset=3.0)
    fit = Anchor(LinearRegression(), gamma=gamma).fit(X, Y, anchors=A)
    for j in range(Y.shape[1]):
        peer = AnchorRegression(gamma=gamma).fit(X, Y[:, j], Z=A)
        assert_allclose(fit.coef_[j], peer.coef_, rtol=1e-8, atol=1e-8)
        assert_allclose(fit.intercept_[j], peer.intercept_, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("estimator", [LinearRegression(), ReducedRankRidge(alpha=0.0)], ids=repr)
def test_infinite_gamma_equals_two_stage_least_squares(estimator):
    """First stage X on A, second stage Y on the fitted X."""
    X, Y, A = sample(d=3, q=4, offset=3.0)
    first_stage = LinearRegression().fit(A, X).predict(A)
    second_stage = LinearRegression().fit(first_stage, Y)
    fit = Anchor(estimator, gamma=np.inf).fit(X, Y, anchors=A)
    assert_allclose(fit.coef_, second_stage.coef_, rtol=1e-8)
    assert_allclose(fit.intercept_, Y.mean(axis=0) - second_stage.coef_ @ X.mean(axis=0), rtol=1e-8)


@pytest.mark.parametrize("estimator", [LinearRegression(), ReducedRankRidge(alpha=0.0)], ids=repr)
@pytest.mark.parametrize("offset", [0.0, 300.0])
@pytest.mark.parametrize("n", [8, 80])
def test_infinite_gamma_with_fewer_anchors_than_features_is_the_least_norm_solution(estimator, offset, n):
    """Rounding of the projected data, also of data with an offset, is not taken for information."""
    X, Y, A = sample(n, d=10, q=2, offset=offset)
    P = projection(A)
    expected = np.linalg.pinv(P @ (X - X.mean(axis=0)), rcond=1e-6) @ P @ (Y - Y.mean(axis=0))
    fit = Anchor(estimator, gamma=np.inf).fit(X, Y, anchors=A)
    assert_allclose(fit.coef_.T, expected, atol=1e-8)


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(alpha=3.0), ReducedRankRidge(3.0, rank=2)], ids=repr)
def test_zero_gamma_equals_regression_on_residualised_data(estimator):
    X, Y, A = sample(offset=3.0)
    residualised = [M - LinearRegression().fit(A, M).predict(A) for M in (X, Y)]
    plain = estimator.__class__(**estimator.get_params()).fit(*residualised)
    fit = Anchor(estimator, gamma=0.0).fit(X, Y, anchors=A)
    assert_allclose(fit.coef_, plain.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(fit.intercept_, Y.mean(axis=0) - plain.coef_ @ X.mean(axis=0), rtol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearRegression(),
        LinearRegression(fit_intercept=False),
        Ridge(alpha=2.0),
        ReducedRankRidge(alpha=2.0, rank=2),
        ReducedRankRidge(alpha=2.0, rank=2, fit_intercept=False),
        OPLS(n_components=2),
        PLSRegression(n_components=2),
        CCA(n_components=2),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n", [30, 200])
def test_gamma_one_equals_the_plain_estimator(estimator, n):
    X, Y, A = sample(n, d=8, offset=2.0)
    plain = estimator.__class__(**estimator.get_params()).fit(X, Y)
    fit = Anchor(estimator, gamma=1.0).fit(X, Y, anchors=A)
    new = X + np.random.default_rng(1).normal(size=X.shape)
    assert_allclose(fit.predict(new), plain.predict(new), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("estimator", [Ridge(alpha=0.7), ReducedRankRidge(alpha=0.7)], ids=repr)
@pytest.mark.parametrize(("n", "d"), [(60, 6), (12, 30)])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 5.0, 100.0])
def test_gradient_of_the_stated_objective_vanishes(estimator, n, d, gamma):
    X, Y, A = sample(n, d)
    B = Anchor(estimator, gamma=gamma).fit(X, Y, anchors=A).coef_.T
    gradient = anchor_gradient(B, X, Y, A, gamma, alpha=0.7)
    assert np.abs(gradient).max() < 1e-9 * np.abs(anchor_gradient(0 * B, X, Y, A, gamma)).max()


@settings(max_examples=30, deadline=None)
@given(
    gamma=st.floats(0, 1e3),
    alpha=st.floats(0.01, 1e3),
    rank=st.integers(1, 3),
    n=st.integers(5, 40),
    seed=st.integers(0, 100),
)
def test_no_other_matrix_of_the_same_rank_has_a_lower_objective(gamma, alpha, rank, n, seed):
    """Perturbed factors, and the rank-truncated ridge solution, never beat the fit."""
    X, Y, A = sample(n, d=6, p=4, q=1, seed=seed)
    fit = Anchor(ReducedRankRidge(alpha, rank), gamma=gamma).fit(X, Y, anchors=A).estimator_
    V, U = fit.x_weights_, fit.y_loadings_
    best = anchor_objective(V @ U.T, X, Y, A, gamma, alpha)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-1, 1.0):
        dV, dU = rng.normal(size=V.shape) * np.abs(V).max(), rng.normal(size=U.shape)
        assert anchor_objective((V + size * dV) @ (U + size * dU).T, X, Y, A, gamma, alpha) >= best * (1 - 1e-10)
    ridge = Anchor(Ridge(alpha), gamma=gamma).fit(X, Y, anchors=A).coef_.T
    left, s, right = np.linalg.svd(ridge, full_matrices=False)
    truncated = (left[:, :rank] * s[:rank]) @ right[:rank]
    assert anchor_objective(truncated, X, Y, A, gamma, alpha) >= best * (1 - 1e-10)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize(
    "estimator", [LinearRegression(), Ridge(), ReducedRankRidge(1.0, rank=2), OPLS(2), PLSRegression(2)], ids=repr
)
def test_training_means_are_restored(estimator, gamma):
    """The prediction at the mean of X is the mean of Y, for every gamma and for offsets of 300."""
    X, Y, A = sample(offset=300.0)
    fit = Anchor(estimator, gamma=gamma).fit(X, Y, anchors=A)
    assert_allclose(fit.predict(X.mean(axis=0, keepdims=True))[0], Y.mean(axis=0), rtol=1e-10)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("n", [6, 80])
def test_offsets_shift_predictions_and_nothing_else(gamma, n):
    X, Y, A = sample(n, d=7)
    near, far = (
        Anchor(ReducedRankRidge(alpha=0.1, rank=2), gamma=gamma).fit(X + c, Y + 2 * c, anchors=A + c) for c in (0, 300)
    )
    assert_allclose(far.coef_, near.coef_, rtol=1e-8, atol=1e-9)
    assert_allclose(far.predict(X + 300), near.predict(X) + 600, rtol=1e-10)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 5.0, np.inf])
@pytest.mark.parametrize("estimator", [ReducedRankRidge(alpha=0.3, rank=2), OPLS(n_components=2)], ids=repr)
def test_moments_and_samples_give_the_same_fit(estimator, gamma):
    """The inner estimator fitted to explicitly transformed samples equals the fit from anchored moments."""
    X, Y, A = sample(q=6, offset=2.0)
    W = np.eye(len(X)) + (np.sqrt(gamma) - 1) * projection(A) if gamma < np.inf else projection(A)
    samples = estimator.__class__(**estimator.get_params())
    samples.fit(*(M.mean(axis=0) + W @ (M - M.mean(axis=0)) for M in (X, Y)))
    fit = Anchor(estimator, gamma=gamma).fit(X, Y, anchors=A)
    assert_allclose(fit.predict(X), samples.predict(X), rtol=1e-8)
    assert_allclose(fit.estimator_.x_weights_, samples.x_weights_, rtol=1e-6, atol=1e-8)


class RecordsMoments(ReducedRankRidge):
    """Remembers the moments it was fitted from."""

    def fit_moments(self, moments):
        self.moments_ = moments
        return super().fit_moments(moments)


def test_moments_are_used_where_samples_outnumber_features():
    X, Y, A = sample(n=50, d=5)
    fit = Anchor(RecordsMoments(), gamma=4.0).fit(X, Y, anchors=A)
    P, Xc = projection(A), X - X.mean(axis=0)
    assert_allclose(fit.estimator_.moments_.xx, Xc.T @ Xc + 3 * Xc.T @ P @ Xc)
    fit = Anchor(RecordsMoments(), gamma=4.0).fit(*(M[:5] for M in (X, Y)), anchors=A[:5, :1])
    assert "moments_" not in vars(fit.estimator_)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 5.0, np.inf])
@pytest.mark.parametrize("estimator", [None, Ridge(), ReducedRankRidge(alpha=1.0), OPLS(1), PLSRegression(1)], ids=repr)
def test_one_dimensional_targets_equal_a_single_column(estimator, gamma):
    X, Y, A = sample()
    flat = Anchor(estimator, gamma=gamma).fit(X, Y[:, 0], anchors=A)
    column = Anchor(estimator, gamma=gamma).fit(X, Y[:, :1], anchors=A)
    assert flat.predict(X).shape == (len(X),)
    assert_allclose(flat.predict(X), np.ravel(column.predict(X)), rtol=1e-10)
    assert_allclose(np.ravel(flat.coef_), np.ravel(column.coef_), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("gamma", [0.0, 5.0, np.inf])
def test_new_data_are_never_transformed(gamma):
    """A prediction depends on its own row alone, and equals the linear map of the raw row."""
    X, Y, A = sample()
    fit = Anchor(ReducedRankRidge(0.1, rank=2), gamma=gamma).fit(X, Y, anchors=A)
    assert_allclose(fit.predict(X), X @ fit.coef_.T + fit.intercept_, rtol=1e-10, atol=1e-12)
    assert_allclose(fit.predict(X[3:4]), fit.predict(X)[3:4], rtol=1e-10)
    opls = Anchor(OPLS(2), gamma=gamma).fit(X, Y, anchors=A)
    scores = (X - X.mean(axis=0)) @ opls.estimator_.x_weights_
    assert_allclose(opls.transform(X), scores, atol=1e-10)
    assert_allclose(opls.fit_transform(X, Y, anchors=A), scores, atol=1e-10)


@pytest.mark.parametrize("estimator", [Ridge(), ReducedRankRidge(0.1, rank=2)], ids=repr)
def test_single_precision_targets_are_computed_in_double(estimator):
    """Targets at 300 K in float32 fit as the same numbers in float64 do."""
    X, Y, A = sample(offset=300.0)
    Y = Y.astype(np.float32)
    single, double = (Anchor(estimator, gamma=5.0).fit(X, M, anchors=A) for M in (Y, Y.astype(float)))
    assert_allclose(single.coef_, double.coef_, rtol=1e-12)


def test_anchors_of_any_units_and_collinear_anchors_span_the_same_space():
    X, Y, A = sample()
    expected = Anchor(Ridge(), gamma=7.0).fit(X, Y, anchors=A)
    rescaled = np.column_stack([1e6 * A[:, 0] + 300, 1e-6 * A[:, 1], A.sum(axis=1), A[:, 0]])
    fit = Anchor(Ridge(), gamma=7.0).fit(X, Y, anchors=rescaled)
    assert fit.anchor_rank_ == 2
    assert_allclose(fit.coef_, expected.coef_, rtol=1e-8, atol=1e-10)


def test_estimators_that_are_not_linear_are_fitted_to_transformed_samples():
    """Any regressor will do; one without a known guarantee says so."""
    from sklearn.neighbors import KNeighborsRegressor

    X, Y, A = sample()
    with pytest.warns(IncompatibleEstimatorWarning, match="estimator=KNeighborsRegressor"):
        fit = Anchor(KNeighborsRegressor(1), gamma=0.0).fit(X, Y, anchors=A)
    W = np.eye(len(X)) - projection(A)
    XY = [M.mean(axis=0) + W @ (M - M.mean(axis=0)) for M in (X, Y)]
    assert_allclose(fit.predict(XY[0]), XY[1], rtol=1e-10, atol=1e-10)
    with pytest.raises(AttributeError, match="coef_"):
        _ = fit.coef_


def test_robustness_to_stronger_anchors_grows_with_gamma():
    """Under a shift four times the training strength the error falls from gamma=1 to 5 and to 100."""
    rng = np.random.default_rng(0)

    def draw(n, strength):
        A = strength * rng.normal(size=(n, 1))
        H = rng.normal(size=(n, 1))
        X = A + H + rng.normal(size=(n, 4))
        return X, X @ np.full((4, 2), 0.25) + H + rng.normal(size=(n, 2)), A

    X, Y, A = draw(2000, 1.0)
    X_new, Y_new, _ = draw(2000, 4.0)
    errors = [
        np.mean((Y_new - Anchor(ReducedRankRidge(1.0, rank=1), gamma=g).fit(X, Y, anchors=A).predict(X_new)) ** 2)
        for g in (1, 5, 100)
    ]
    assert errors[0] > 1.05 * errors[1] > 1.05 * errors[2]


def test_features_built_before_the_anchor_keep_the_guarantee():
    """In a pipeline the feature map comes first, and Anchor regularises what it gives."""
    from sklearn.pipeline import make_pipeline

    X, Y, A = sample()
    features = PolynomialFeatures(2, include_bias=False)
    pipeline = make_pipeline(features, Anchor(Ridge(), gamma=3.0)).fit(X, Y, anchor__anchors=A)
    direct = Anchor(Ridge(), gamma=3.0).fit(features.fit_transform(X), Y, anchors=A)
    assert_allclose(pipeline.predict(X), direct.predict(features.transform(X)))
