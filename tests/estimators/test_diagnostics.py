"""Fits that do not mean what they seem warn; input that means nothing is refused; both say what to do."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, MultiTaskLasso, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from climanchor import OPLS, Anchor, Moments, ReducedRankRidge
from climanchor.estimators import (
    AnchorWarning,
    ConstantColumnWarning,
    GammaWithoutAlphaWarning,
    IncompatibleEstimatorWarning,
    InertRankWarning,
    MissingAnchorsWarning,
    WeakAnchorWarning,
)


def sample(n=40, d=5, p=4, seed=0):
    rng = np.random.default_rng(seed)
    A, H = rng.normal(size=(n, 1)), rng.normal(size=(n, 1))
    X = A + H + rng.normal(size=(n, d))
    return X, X @ rng.normal(size=(d, p)) + H + rng.normal(size=(n, p)), A


def shared_targets(n_years, n_members, d=30, p=20, seed=0):
    """All members of a model share the targets of a year, so that Y has the rank of the years (less the mean)."""
    rng = np.random.default_rng(seed)
    Y = np.tile(rng.normal(size=(n_years, p)), (n_members, 1))
    return rng.normal(size=(len(Y), d)) + Y[:, :1], Y, rng.normal(size=len(Y))


@pytest.mark.parametrize("n_members", [2, 8])
@pytest.mark.parametrize("gamma", [1.0, 5.0])
def test_ranks_above_that_of_the_targets_are_inert(n_members, gamma):
    """Six years give rank five; a larger rank is plain anchor-ridge whatever gamma, and is said to be."""
    X, Y, A = shared_targets(6, n_members)
    ridge = Anchor(ReducedRankRidge(1.0), gamma=gamma).fit(X, Y, anchors=A)
    limit = ridge.estimator_.rank_
    assert limit == 5
    with pytest.warns(InertRankWarning, match=rf"rank=12 exceeds {limit}, .* Use rank={limit} or fewer"):
        inert = Anchor(ReducedRankRidge(1.0, rank=12), gamma=gamma).fit(X, Y, anchors=A)
    assert_allclose(inert.predict(X), ridge.predict(X), rtol=1e-8, atol=1e-8)
    below = Anchor(ReducedRankRidge(1.0, rank=limit - 1), gamma=gamma).fit(X, Y, anchors=A)
    assert np.abs(below.predict(X) - ridge.predict(X)).max() > 1e-4


def test_inert_ranks_without_anchors_equal_the_years_less_one():
    X, Y, _ = shared_targets(6, 8)
    assert ReducedRankRidge(1.0).fit(X, Y).rank_ == 5
    with pytest.warns(InertRankWarning, match="n_components=6 exceeds 5"):
        OPLS(n_components=6).fit(X, Y)
    with pytest.warns(InertRankWarning, match="rank=6 exceeds 5"):
        ReducedRankRidge(rank=6).fit_moments(Moments.from_samples(X, Y))


@pytest.mark.parametrize("inner", [LinearRegression(), Ridge(1e-9), ReducedRankRidge(0.0), PLSRegression(9)], ids=repr)
def test_interpolating_fits_do_not_depend_on_gamma_and_say_so(inner):
    X, Y, A = sample(n=10, d=30)
    plain = Anchor(inner, gamma=1.0).fit(X, Y, anchors=A)
    with pytest.warns(GammaWithoutAlphaWarning, match=r"gamma=5 has no effect.*alpha > 0"):
        fit = Anchor(inner, gamma=5.0).fit(X, Y, anchors=A)
    if not isinstance(inner, PLSRegression):  # which rescales, and so interpolates in another way
        assert_allclose(fit.predict(X + 1), plain.predict(X + 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("inner", [Ridge(1.0), ReducedRankRidge(1.0), ReducedRankRidge(0.0, rank=1)], ids=repr)
def test_a_penalty_or_a_lower_rank_lets_gamma_act(inner):
    """No warning (warnings are errors here), and another fit."""
    X, Y, A = sample(n=10, d=30)
    fits = [Anchor(inner, gamma=g).fit(X, Y, anchors=A) for g in (1.0, 50.0)]
    assert np.abs(fits[0].coef_ - fits[1].coef_).max() > 1e-3


@pytest.mark.parametrize("anchors", [np.full(40, 0.1), ["DJF"] * 40, np.full((40, 2), 273.15)], ids=["0.1", "str", "K"])
def test_constant_anchors_warn_and_change_nothing(anchors):
    X, Y, _ = sample()
    with pytest.warns(WeakAnchorWarning, match="anchors are constant in the 40 training samples, so gamma=5"):
        fit = Anchor(Ridge(), gamma=5.0).fit(X, Y, anchors=anchors)
    assert_allclose(fit.coef_, Ridge().fit(X, Y).coef_)
    with pytest.raises(ValueError, match=r"anchors are constant .* gamma=inf keeps only what they explain"):
        Anchor(Ridge(), gamma=np.inf).fit(X, Y, anchors=anchors)


def test_one_constant_anchor_of_several_is_named():
    X, Y, A = sample()
    with pytest.warns(WeakAnchorWarning, match=r"constant columns that have no effect: anchors\[1\]\."):
        Anchor(Ridge(), gamma=5.0).fit(X, Y, anchors=np.column_stack([A, np.ones(40)]))


def test_anchors_that_span_every_sample_warn():
    X, Y, _ = sample()
    with pytest.warns(WeakAnchorWarning, match=r"span all 40 training samples \(rank 39\)"):
        Anchor(Ridge(), gamma=5.0).fit(X, Y, anchors=[f"year {i}" for i in range(40)])


def test_missing_anchors_warn_unless_gamma_is_one():
    X, Y, _ = sample()
    with pytest.warns(MissingAnchorsWarning, match=r"anchors is None, so gamma=2 .* pass fit\(X, Y, anchors=A\)"):
        Anchor(gamma=2.0).fit(X, Y)
    Anchor(gamma=1.0).fit(X, Y)


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (CCA(2), "estimator=CCA .* correlation is not a linear form of the covariance"),
        (RandomForestRegressor(2), "estimator=RandomForestRegressor .* not known to be a linear form"),
        (make_pipeline(StandardScaler(), Ridge()), "put Anchor last in the Pipeline"),
        (MultiOutputRegressor(RandomForestRegressor(2)), "not known to be a linear form"),
    ],
    ids=["CCA", "forest", "pipeline", "multi-output"],
)
def test_incompatible_estimators_are_fitted_with_a_warning(inner, message):
    X, Y, A = sample()
    with pytest.warns(IncompatibleEstimatorWarning, match=message):
        Anchor(inner, gamma=5.0).fit(X, Y, anchors=A)
    Anchor(inner, gamma=1.0).fit(X, Y, anchors=A)


@pytest.mark.parametrize(
    "inner",
    [Ridge(), MultiTaskLasso(0.1), MultiOutputRegressor(Lasso(0.1)), PLSRegression(2), OPLS(2), ReducedRankRidge()],
    ids=repr,
)
def test_compatible_estimators_do_not_warn(inner):
    X, Y, A = sample()
    Anchor(inner, gamma=5.0).fit(X, Y, anchors=A)


def test_a_class_can_declare_itself_compatible():
    class Declared(RandomForestRegressor):
        anchor_compatible = True

    X, Y, A = sample()
    Anchor(Declared(2), gamma=5.0).fit(X, Y, anchors=A)
    Declared.anchor_compatible = False
    with pytest.warns(IncompatibleEstimatorWarning, match="its class says"):
        Anchor(Declared(2), gamma=5.0).fit(X, Y, anchors=A)


@pytest.mark.parametrize("inner", [None, ReducedRankRidge()], ids=repr)
def test_constant_columns_are_counted_and_named(inner):
    X, Y, A = sample()
    X[:, 2], Y[:, 1] = 273.15, 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = Anchor(inner, gamma=5.0).fit(X, Y, anchors=A)
    assert [w.category for w in caught] == [ConstantColumnWarning] * 2
    assert str(caught[0].message).startswith("X has 1 constant columns (2)")
    assert str(caught[1].message).startswith("y has 1 constant columns (1)")
    assert_allclose(fit.coef_[:, 2], 0, atol=1e-10)
    assert_allclose(fit.predict(X)[:, 1], 0, atol=1e-10)


def test_one_filter_silences_every_diagnostic():
    X, Y, _ = sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AnchorWarning)
        Anchor(CCA(2), gamma=5.0).fit(X, Y, anchors=np.ones(40))
        OPLS(5).fit(X, Y)


def bad_inputs():
    """(what, estimator, X, Y, anchors, message)."""
    X, Y, A = sample()
    hole = X.copy()
    hole[3, 1] = np.nan
    hole_y = Y.copy()
    hole_y[2, 0] = np.inf
    return [
        ("nan in X", Anchor(), hole, Y, A, "Input X contains NaN"),
        ("inf in Y", Anchor(), X, hole_y, A, "Input y contains infinity"),
        ("nan in anchors", Anchor(), X, Y, hole[:, 1], "anchors column .* 1 NaN .* drop those samples"),
        ("nan in X", ReducedRankRidge(), hole, Y, None, "Input X contains NaN"),
        ("nan in X", OPLS(), hole, Y, None, "Input X contains NaN"),
        ("rows of Y", Anchor(), X, Y[:-1], A, r"inconsistent numbers of samples: \[40, 39\]"),
        ("rows of anchors", Anchor(), X, Y, A[:-1], "anchors has 39 rows but X has 40: give one row"),
        ("one-dimensional X", Anchor(), X[:, 0], Y, A, "(?s)Expected 2D array.*Reshape"),
        ("three-dimensional Y", ReducedRankRidge(), X, Y[:, :, None], None, "dim 3"),
        ("one row", Anchor(), X[:1], Y[:1], A[:1], "1 sample.* minimum of 2 is required by Anchor"),
        ("one row", ReducedRankRidge(), X[:1], Y[:1], None, "1 sample.* minimum of 2 is required"),
        ("negative gamma", Anchor(gamma=-1), X, Y, A, r"gamma must be a number in \[0, inf\], got -1: 0 partials"),
        ("gamma not a number", Anchor(gamma=np.nan), X, Y, A, "gamma must be .* got nan"),
        ("gamma a word", Anchor(gamma="five"), X, Y, A, "gamma must be .* got 'five'"),
        ("gamma missing", Anchor(gamma=None), X, Y, A, "gamma must be .* got None"),
        ("negative alpha", ReducedRankRidge(alpha=-0.1), X, Y, None, r"alpha must be a number in \[0, inf\), got -0.1"),
        ("infinite alpha", ReducedRankRidge(alpha=np.inf), X, Y, None, "alpha must be .* got inf"),
        ("alpha a word", ReducedRankRidge(alpha="1"), X, Y, None, "alpha must be .* got '1'"),
        ("rank zero", ReducedRankRidge(rank=0), X, Y, None, "rank must be a whole number of at least 1, got 0"),
        ("rank fractional", ReducedRankRidge(rank=2.5), X, Y, None, "rank must be a whole number .* got 2.5"),
        ("rank too large", ReducedRankRidge(rank=6), X, Y, None, "rank=6 exceeds n_features=5: use at most 5"),
        ("rank inside Anchor", Anchor(ReducedRankRidge(rank=6)), X, Y, A, "rank=6 exceeds n_features=5"),
        ("components", OPLS(n_components=6), X, Y, None, "n_components=6 exceeds n_features=5: use at most 5"),
        ("no components", OPLS(n_components=None), X, Y, None, "n_components must be .* got None"),
    ]


@pytest.mark.parametrize(
    ("estimator", "X", "Y", "anchors", "message"),
    [pytest.param(*case[1:], id=f"{case[0]}, {type(case[1]).__name__}") for case in bad_inputs()],
)
def test_bad_input_is_refused_by_name_value_and_remedy(estimator, X, Y, anchors, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y) if anchors is None else estimator.fit(X, Y, anchors=anchors)


def test_new_data_of_another_width_are_refused():
    X, Y, A = sample()
    fit = Anchor(ReducedRankRidge(), gamma=2.0).fit(X, Y, anchors=A)
    with pytest.raises(ValueError, match="X has 4 features, but Anchor is expecting 5 features"):
        fit.predict(X[:, :4])
