"""scikit-learn's own checks, and its tools: pipelines, cloning, searches, metadata routing."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from climanchor import OPLS, Anchor, ReducedRankRidge

ESTIMATORS = [
    ReducedRankRidge(),
    ReducedRankRidge(alpha=0.0, rank=1),
    ReducedRankRidge(fit_intercept=False),
    OPLS(),
    Anchor(),
    Anchor(Ridge(), gamma=np.inf),
    Anchor(ReducedRankRidge(), gamma=0.5),
    Anchor(OPLS(n_components=1)),
    Anchor(PLSRegression(n_components=1), gamma=5),
]


# The checks pass no anchors, use single targets with two components, and constant columns: we warn, as we should.
@pytest.mark.filterwarnings("ignore::climanchor.estimators.AnchorWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    n = 90
    A = rng.normal(size=(n, 2))
    H = rng.normal(size=(n, 1))
    X = A @ rng.normal(size=(2, 4)) + H + rng.normal(size=(n, 4))
    Y = X @ rng.normal(size=(4, 3)) + A[:, :1] + H + rng.normal(size=(n, 3)) + 5.0
    return X, Y, A


def season(n):
    return pd.DataFrame(
        {
            "season": pd.Categorical(np.array(["DJF", "MAM", "JJA", "SON"])[np.arange(n) % 4]),
            "elevation": np.sin(np.arange(n)),
        },
        index=np.arange(n)[::-1],
    )


def scores_by_hand(X, Y, anchors, gammas, cv):
    """R² of each gamma and fold, anchors sliced by row number."""
    rows = anchors.iloc if isinstance(anchors, pd.DataFrame) else anchors
    return [
        [
            Anchor(Ridge(), gamma=g).fit(X[train], Y[train], anchors=rows[train]).score(X[test], Y[test])
            for train, test in cv.split(X)
        ]
        for g in gammas
    ]


@pytest.mark.parametrize("routing", [True, False])
@pytest.mark.parametrize("kind", ["array", "table"])
def test_grid_search_slices_anchors_with_the_folds(data, routing, kind):
    X, Y, A = data
    anchors = A if kind == "array" else season(len(X))
    gammas, cv = [0.0, 1.0, 10.0, np.inf], KFold(3, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(Anchor(Ridge()), {"gamma": gammas}, cv=cv).fit(X, Y, anchors=anchors)
    found = np.column_stack([search.cv_results_[f"split{i}_test_score"] for i in range(3)])
    assert_allclose(found, scores_by_hand(X, Y, anchors, gammas, cv), rtol=1e-10)
    best = Anchor(Ridge(), gamma=search.best_params_["gamma"]).fit(X, Y, anchors=anchors)
    assert_allclose(search.predict(X), best.predict(X))


def test_grid_search_reaches_the_inner_estimator(data):
    X, Y, A = data
    grid = {"estimator__alpha": [0.1, 1e4], "estimator__rank": [1, 3]}
    search = GridSearchCV(Anchor(ReducedRankRidge(), gamma=2.0), grid, cv=3).fit(X, Y, anchors=A)
    assert search.best_params_ == {"estimator__alpha": 0.1, "estimator__rank": 3}


def test_anchors_are_routed_through_a_pipeline_inside_a_search(data):
    """Routing is requested by default, and an explicit request says the same."""
    X, Y, A = data
    with config_context(enable_metadata_routing=True):
        found = []
        for anchor in (Anchor(Ridge(), gamma=7.0), Anchor(Ridge(), gamma=7.0).set_fit_request(anchors=True)):
            pipeline = make_pipeline(StandardScaler(), anchor)
            results = cross_validate(pipeline, X, Y, cv=KFold(3), params={"anchors": A}, return_estimator=True)
            found.append([fit[-1].coef_ for fit in results["estimator"]])
    for (train, _), implicit, explicit in zip(KFold(3).split(X), *found, strict=True):
        scaled = StandardScaler().fit_transform(X[train])
        by_hand = Anchor(Ridge(), gamma=7.0).fit(scaled, Y[train], anchors=A[train])
        assert_allclose(implicit, by_hand.coef_)
        assert_allclose(explicit, by_hand.coef_)


def test_anchors_can_be_refused(data):
    X, Y, A = data
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), Anchor().set_fit_request(anchors=False))
        with pytest.raises(TypeError, match="anchors"):
            pipeline.fit(X, Y, anchors=A)


def test_anchor_may_be_a_step_that_transforms(data):
    X, Y, A = data
    pipeline = make_pipeline(Anchor(OPLS(2), gamma=3.0), LinearRegression()).fit(X, Y, anchor__anchors=A)
    scores = Anchor(OPLS(2), gamma=3.0).fit(X, Y, anchors=A).transform(X)
    assert_allclose(pipeline.predict(X), LinearRegression().fit(scores, Y).predict(scores))


def test_clone_keeps_parameters_and_drops_the_fit(data):
    X, Y, A = data
    fitted = Anchor(ReducedRankRidge(2.0, rank=2), gamma=3.0).fit(X, Y, anchors=A)
    copy = clone(fitted)
    assert copy.get_params()["estimator__rank"] == 2
    assert copy.gamma == 3.0
    assert "estimator_" not in vars(copy)
    assert "coef_" not in vars(fitted.estimator)  # the estimator given is a template, and is not fitted


@pytest.mark.parametrize("inner", [Ridge(), ReducedRankRidge()], ids=repr)
def test_transform_exists_only_where_the_inner_estimator_has_it(inner):
    with pytest.raises(AttributeError, match="has no attribute 'transform'"):
        _ = Anchor(inner).transform


def test_every_method_of_the_field_can_be_anchored(data):
    """MLR, ridge, RRR, RRRR, OPLS, PLS and, with a warning, CCA: a fit, finite predictions, a score."""
    X, Y, A = data
    for inner in (LinearRegression(), Ridge(), ReducedRankRidge(0.0, rank=2), OPLS(2), PLSRegression(2)):
        assert Anchor(inner, gamma=5.0).fit(X, Y, anchors=A).score(X, Y) > 0.5
    with pytest.warns(UserWarning, match="correlation is not a linear form"):
        assert Anchor(CCA(2), gamma=5.0).fit(X, Y, anchors=A).score(X, Y) > 0.3


def test_tables_of_predictors_keep_their_column_names(data):
    X, Y, A = data
    table = pd.DataFrame(X, columns=list("abcd"))
    fit = Anchor(ReducedRankRidge(), gamma=2.0).fit(table, Y, anchors=A)
    assert fit.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        fit.predict(table[list("dcba")])


def test_opls_scores_can_be_tables(data):
    X, Y, _ = data
    scores = OPLS(2).set_output(transform="pandas").fit(X, Y).transform(X)
    assert scores.columns.tolist() == ["opls0", "opls1"]
