"""The same seed gives the same numbers, however the repeats are scheduled."""

import inspect

import joblib
import pytest

from climanchor.experiments import (
    EXPERIMENTS,
    hyperparameters,
    perturbation_strength,
    univariate_vs_multivariate,
)
from climanchor.experiments.repeats import run_repeats

RUNS = {
    "perturbation": (perturbation_strength, {"algorithms": ["RRR", "CCA"], "strengths": [0.0, 3.0], "repeats": 3}),
    "comparison": (univariate_vs_multivariate, {"dimension": 50, "n_train": 30, "repeats": 3}),
    "hyperparameters": (hyperparameters, {"dimension": 40, "n_train": 20, "repeats": 2, "alphas": [10.0, 100.0]}),
}


@pytest.mark.parametrize("run", RUNS)
def test_one_worker_two_threads_and_processes_agree_in_every_digit(run):
    function, arguments = RUNS[run]
    alone = function(**arguments, n_jobs=1)
    assert function(**arguments, n_jobs=2).identical(alone)
    if run == "perturbation":
        with joblib.parallel_config(backend="loky"):
            assert function(**arguments, n_jobs=2).identical(alone)
    assert not function(**arguments, seed=1, n_jobs=1)["mse"].equals(alone["mse"])


def test_more_repeats_leave_the_first_ones_as_they_were():
    few, many = (perturbation_strength(algorithms=["MLR"], strengths=[1.0], repeats=n) for n in (2, 4))
    assert many.isel(repeat=slice(2))["mse"].equals(few["mse"])


def test_repeats_are_independent_streams():
    states = run_repeats(lambda stream: tuple(stream.generate_state(4)), repeats=50, seed=3)
    assert len(set(states)) == 50


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_can_be_run_by_a_recipe_without_parameters(name):
    """All parameters are keywords with defaults, and each experiment has its own notes."""
    parameters = inspect.signature(EXPERIMENTS[name].run).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters)
    assert len(EXPERIMENTS[name].notes) > 200
    assert EXPERIMENTS[name].name == name
