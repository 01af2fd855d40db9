"""The hyperparameter study: scores equal those of single fits, and the rules choose on validation data."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from climanchor import Anchor, ReducedRankRidge
from climanchor.experiments import EXPERIMENTS, hyperparameters
from climanchor.experiments.tradeoff import _equations, choices
from climanchor.simulate.structural import child_seed

SMALL = {"dimension": 60, "n_train": 40, "n_validation": 50, "n_test": 80, "repeats": 3, "ranks": [2, 10, 20]}


@pytest.fixture(scope="module")
def dataset():
    return hyperparameters(**SMALL)


def test_the_grid_equals_fitting_every_candidate(dataset):
    """One decomposition per gamma gives what Anchor(ReducedRankRidge) gives on standardised samples."""
    stream = child_seed(0, 2)  # the third repeat
    equations = _equations(60, child_seed(stream, 0))
    train, validation = (equations.sample(n, seed=child_seed(stream, k)) for n, k in ((40, 1), (50, 2)))
    test = equations.sample(80, do=2.0, seed=child_seed(stream, 3))
    scale = {name: StandardScaler().fit(getattr(train, name)) for name in "XYA"}
    data = {
        k: [scale[n].transform(getattr(s, n)) for n in "XYA"] for k, s in (("validation", validation), ("test", test))
    }
    for gamma, alpha, rank in ((0, 5, 0), (4, 12, 1), (9, 19, 2)):
        at = dataset.isel(repeat=2, gamma=gamma, alpha=alpha, rank=rank)
        estimator = Anchor(ReducedRankRidge(float(at["alpha"]), rank=int(at["rank"])), gamma=float(at["gamma"]))
        estimator.fit(
            scale["X"].transform(train.X), scale["Y"].transform(train.Y), anchors=scale["A"].transform(train.A)
        )
        for sample, (X, Y, A) in data.items():
            residual = Y - estimator.predict(X)
            r = np.array([np.corrcoef(A[:, 0], e)[0, 1] for e in residual.T])
            expected = {
                "mse": np.mean(residual**2),
                "r2": np.mean(1 - np.mean(residual**2, axis=0) / Y.var(axis=0)),
                "r": r.mean(),
                "r_abs": np.abs(r).mean(),
            }
            for name, value in expected.items():
                assert float(at[name].sel(sample=sample)) == pytest.approx(value, abs=1e-7)


def test_rules_look_at_validation_data_only(dataset):
    """Spoiling the test scores changes no choice."""
    spoilt = dataset.copy()
    for name in ("r2", "mse", "r", "r_abs"):
        spoilt[name] = dataset[name].where(dataset["sample"] == "validation", -1.0)
    assert choices(spoilt) == choices(dataset)


def test_equal_weights_trade_validation_error_for_robustness():
    """On the paper's sizes (4 repeats): the weighted choice is worse in validation and better on test data."""
    dataset = hyperparameters(repeats=4, ranks=[10, 30], alphas=np.logspace(2, 5, 7))
    chosen = EXPERIMENTS["hyperparameters"].metrics(dataset)["choice"]
    plain, weighted = chosen["plain"], chosen["equal_weights"]
    assert plain["gamma"] == 1
    assert weighted["gamma"] > 1
    assert weighted["validation"]["mse"] > plain["validation"]["mse"]
    assert weighted["test"]["mse"] < plain["test"]["mse"]
    assert weighted["test"]["r_abs"] < plain["test"]["r_abs"]
    assert chosen["robust_weights"]["validation"]["r_abs"] <= weighted["validation"]["r_abs"]


def test_table_and_figures_cover_rules_and_samples(dataset):
    experiment = EXPERIMENTS["hyperparameters"]
    assert list(experiment.table(dataset)["choice"]) == ["plain", "equal_weights", "robust_weights", "pareto"]
    drawings = experiment.drawings(dataset)
    assert [d.name for d in drawings] == ["pareto_validation", "pareto_test"]
    assert all(d.dataset.sizes["candidate"] == 10 * 20 * 3 for d in drawings)


def test_gamma_1_must_be_among_the_candidates():
    with pytest.raises(ValueError, match="must hold 1"):
        hyperparameters(gammas=[2.0, 5.0])
