"""IRM and CVP minimise what they say, with closed forms where there are some."""

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from climanchor import CVP, IRM
from climanchor.estimators.descent import adam

N, D, P = 120, 3, 2


@parametrize_with_checks([IRM(), CVP(), CVP(bins=3), IRM(solver="adam", max_iter=500), CVP(solver="adam")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    """Three environments of unequal size in which means, scales and the effect of one predictor differ."""
    rng = np.random.default_rng(4)
    environment = np.repeat(["a", "b", "c"], [60, 40, 20])
    shift = {"a": 0.0, "b": 1.0, "c": -2.0}
    offset = np.array([shift[e] for e in environment])
    X = rng.normal(size=(N, D)) * (1 + 0.3 * np.abs(offset))[:, None] + offset[:, None] + 5.0
    W = rng.normal(size=(D, P))
    Y = X @ W + 0.5 * offset[:, None] * X[:, :1] + rng.normal(size=(N, P)) - 3.0
    return X, Y, environment


def irm_objective(theta, X, Y, environment, penalty, alpha):
    """The definition, from samples: risk and squared gradient norm in each environment, at φ = I."""
    features = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    w = theta.reshape(D + 1, P)
    value = alpha * np.sum(w[:-1] ** 2)
    for e in np.unique(environment):
        x, y = features[environment == e], Y[environment == e]
        residual = x @ w - y
        value += np.mean(residual**2) + penalty * np.sum((2 * x.T @ residual / residual.size) ** 2)
    return value


def cvp_objective(theta, X, Y, environment, penalty, bins):
    w, b = theta[: D * P].reshape(D, P), theta[D * P :]
    prediction = X @ w + b
    value = np.mean((prediction - Y) ** 2)
    for j in range(P):
        edges = np.quantile(Y[:, j], np.linspace(0, 1, bins + 1)[1:-1])
        cell = np.searchsorted(edges, Y[:, j], side="right")
        for e in np.unique(environment):
            for k in range(bins):
                group = prediction[(environment == e) & (cell == k), j]
                if len(group) > 1:
                    value += penalty * len(group) / np.count_nonzero(environment == e) * np.var(group, ddof=1)
    return value


@pytest.mark.parametrize(("penalty", "alpha"), [(0.0, 0.0), (1e-3, 0.0), (0.3, 0.0), (10.0, 0.5)])
def test_exact_irm_minimises_its_objective(data, penalty, alpha):
    X, Y, environment = data
    fitted = IRM(penalty, alpha=alpha).fit(X, Y, environments=environment)
    brute = minimize(irm_objective, np.zeros((D + 1) * P), args=(*data, penalty, alpha), method="BFGS", tol=1e-9)
    ours = np.vstack([fitted.coef_.T, fitted.intercept_ + fitted.coef_ @ X.mean(axis=0)]).ravel()
    assert irm_objective(ours, *data, penalty, alpha) <= brute.fun * (1 + 1e-8)
    np.testing.assert_allclose(ours, brute.x, atol=2e-3)


@pytest.mark.parametrize(("penalty", "bins"), [(0.0, None), (0.1, None), (0.1, 4), (3.0, 2)])
def test_exact_cvp_minimises_its_objective(data, penalty, bins):
    fitted = CVP(penalty, bins=bins).fit(data[0], data[1], environments=data[2])
    start = np.zeros(D * P + P)
    brute = minimize(cvp_objective, start, args=(*data, penalty, bins or 1), method="BFGS", tol=1e-9)
    ours = np.concatenate([fitted.coef_.T.ravel(), fitted.intercept_])
    assert cvp_objective(ours, *data, penalty, bins or 1) <= brute.fun * (1 + 1e-7)


def test_without_penalty_in_one_environment_both_are_least_squares(data):
    X, Y, _ = data
    expected = LinearRegression().fit(X, Y)
    for estimator in (IRM(0.0), IRM(0.7), CVP(0.0), IRM(0.0, fit_intercept=False)):
        reference = expected if estimator.fit_intercept else LinearRegression(fit_intercept=False).fit(X, Y)
        estimator.fit(X, Y)
        np.testing.assert_allclose(estimator.predict(X), reference.predict(X), atol=1e-7)


def test_irm_ridge_is_that_of_scikit_learn_times_the_number_of_entries(data):
    """One environment, mean instead of sum of squares: alpha n p is scikit-learn's alpha."""
    X, Y, _ = data
    expected = Ridge(0.2 * Y.size).fit(X, Y).coef_
    np.testing.assert_allclose(IRM(0.0, alpha=0.2).fit(X, Y).coef_, expected, atol=1e-8)


def test_a_larger_irm_penalty_makes_every_environment_more_stationary(data):
    X, Y, environment = data

    def slopes(penalty):
        fitted = IRM(penalty).fit(X, Y, environments=environment)
        features = np.column_stack([X - X.mean(axis=0), np.ones(N)])
        parts = (environment == e for e in np.unique(environment))
        return sum(np.sum((2 * features[e].T @ (fitted.predict(X[e]) - Y[e]) / Y[e].size) ** 2) for e in parts)

    values = [slopes(penalty) for penalty in (0.0, 0.1, 1.0, 100.0)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.8 * values[0]  # not zero: no coefficients suit all three


def test_a_huge_cvp_penalty_leaves_the_mean(data):
    X, Y, environment = data
    fitted = CVP(1e9).fit(X, Y, environments=environment)
    np.testing.assert_allclose(fitted.predict(X), np.broadcast_to(Y.mean(axis=0), Y.shape), atol=1e-4)


def test_conditioning_on_the_outcome_spares_the_variance_that_explains_it():
    """Within bins of the outcome the predictions of a good predictor vary little, so they are penalised less."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    Y = X + 0.1 * rng.normal(size=(2000, 1))
    bare, conditional = (CVP(1.0, bins=bins).fit(X, Y).coef_[0, 0] for bins in (None, 10))
    assert bare == pytest.approx(0.5, abs=0.02)
    assert conditional > 0.9


def test_published_descent_reaches_the_exact_solution_of_cvp(data):
    X, Y, environment = data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    exact = CVP(0.05).fit(X, Y, environments=environment)
    descended = CVP(0.05, solver="adam", tol=0.0, patience=500, learning_rate=0.02, random_state=0)
    # the monitored error is not the objective: its best value lies on the way, so only roughly the same point
    difference = descended.fit(X, Y, environments=environment).predict(X) - exact.predict(X)
    assert np.sqrt(np.mean(difference**2)) < 0.2 * exact.predict(X).std()


def test_published_descent_of_irm_fits_and_repeats_with_its_seed(data):
    X, Y, environment = data
    X, Y = ((M - M.mean(axis=0)) / M.std(axis=0) for M in (X, Y))
    first, again, other = (
        IRM(1e-4, solver="adam", fit_intercept=False, random_state=s).fit(X, Y, environments=environment)
        for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.coef_, again.coef_)
    assert not np.array_equal(first.coef_, other.coef_)
    plain = LinearRegression(fit_intercept=False).fit(X, Y)
    assert np.mean((first.predict(X) - Y) ** 2) < 1.05 * np.mean((plain.predict(X) - Y) ** 2)
    assert 200 < first.n_iter_ < 50_000


def test_the_penalty_on_the_representation_holds_the_published_descent_back(data):
    X, Y, environment = data
    X, Y = ((M - M.mean(axis=0)) / M.std(axis=0) for M in (X, Y))
    norms = [
        np.linalg.norm(
            IRM(1e-4, alpha=alpha, solver="adam", max_iter=60, random_state=0).fit(X, Y, environments=environment).coef_
        )
        for alpha in (0.0, 5.0)
    ]
    assert norms[1] < norms[0]


def test_adam_stops_by_patience_and_returns_the_best():
    trace = iter([3.0, 1.0, 2.0, 2.0, 2.0, 0.0])
    seen = []

    def monitor(theta):
        seen.append(theta.copy())
        return next(trace)

    result = adam(lambda x: np.ones_like(x), np.zeros(1), monitor=monitor, patience=3, tol=0.5)
    assert result.n_iter == 5
    assert result.stopped_early
    np.testing.assert_array_equal(result.best, seen[1])


def test_environments_follow_the_folds_of_a_search(data):
    """With metadata routing the labels are sliced like the samples: a fit never sees labels of left-out rows."""
    X, Y, environment = data
    seen = []

    class Recorder(CVP):
        def fit(self, X, Y, environments=None):
            seen.append((len(X), tuple(np.unique(environments))))
            return super().fit(X, Y, environments=environments)

    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Recorder().set_fit_request(environments=True)
        search = GridSearchCV(estimator, {"penalty": [1e-3, 1.0]}, cv=GroupKFold(3))
        search.fit(X, Y, environments=environment, groups=environment)
    assert {(80, ("a", "c")), (60, ("b", "c")), (100, ("a", "b"))} == set(seen[:-1])


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (IRM(-1.0), "penalty is -1.0; it must be >= 0"),
        (IRM(alpha=-1.0), "alpha is -1.0"),
        (IRM(solver="sgd"), "solver is 'sgd'; it must be one of exact, adam"),
        (CVP(solver="sgd"), "solver is 'sgd'"),
        (CVP(bins=1), "bins is 1; it must be at least 2"),
        (CVP(float("nan")), "penalty is nan"),
    ],
)
def test_bad_parameters_are_named(data, estimator, match):
    with pytest.raises(ValueError, match=match):
        estimator.fit(data[0], data[1])


def test_environments_need_one_label_per_row(data):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        IRM().fit(data[0], data[1], environments=data[2][:-1])
