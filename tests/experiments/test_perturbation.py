"""Perturbation experiments: the known answers within sampling error, and what the paper says in words."""

import numpy as np
import pytest

from climanchor.experiments import EXPERIMENTS, confounding, high_dimensional, non_gaussian, perturbation_strength
from climanchor.experiments.perturbation_summary import KNOWN, KNOWN_STRENGTHS

COMPATIBLE = ["MLR", "OPLS", "RRR", "PLS"]


@pytest.fixture(scope="module")
def instrumental():
    return perturbation_strength()


@pytest.fixture(scope="module")
def confounded():
    return confounding()


@pytest.fixture(scope="module")
def results(instrumental, confounded):
    return {"instrumental": instrumental, "confounded": confounded}


def curve(dataset, algorithm, method):
    return dataset["mse"].sel({"algorithm": algorithm, "method": method})


@pytest.mark.parametrize(("setting", "algorithm", "method"), [(s, *key) for s, rows in KNOWN.items() for key in rows])
def test_known_answers_within_sampling_error(results, setting, algorithm, method):
    """Ours and theirs are means of 20 independent repeats of like spread: their difference has √2 standard errors.

    Three of these for 50 correlated comparisons, and half a unit of the last printed digit.
    """
    values = curve(results[setting], algorithm, method).sel({"t": list(KNOWN_STRENGTHS)}, method="nearest")
    standard_error = values.std("repeat", ddof=1).values / np.sqrt(values.sizes["repeat"])
    difference = np.abs(values.mean("repeat").values - KNOWN[setting][algorithm, method])
    assert (difference <= 3 * np.sqrt(2) * standard_error + 0.005).all()


@pytest.mark.parametrize("setting", ["instrumental", "confounded"])
@pytest.mark.parametrize("algorithm", ["OPLS", "RRR", "PLS"])
@pytest.mark.parametrize("method", ["PA", "plain", "IV", "gamma=5"])
def test_compatible_algorithms_agree_with_multilinear_regression(results, setting, algorithm, method):
    """W of rank 5 is nearly of rank 1, so that a rank of 5 costs nothing: within 2 % on the same draws."""
    ours, mlr = (curve(results[setting], name, method).mean("repeat") for name in (algorithm, "MLR"))
    np.testing.assert_allclose(ours, mlr, rtol=0.02)


@pytest.mark.parametrize("algorithm", COMPATIBLE)
def test_partialling_out_is_best_without_an_intervention(instrumental, algorithm):
    at_rest = instrumental["mse"].sel(algorithm=algorithm).isel(t=0).mean("repeat")
    assert str(at_rest["method"][int(np.argmin(at_rest.values))].values) == "PA"


@pytest.mark.parametrize("algorithm", COMPATIBLE)
def test_gamma_5_is_best_for_a_range_of_strengths_in_between(instrumental, algorithm):
    """At t² = 5, the intervention gamma = 5 is made for, it beats the other three in the mean and in most repeats."""
    at = instrumental["mse"].sel(algorithm=algorithm).sel({"t": np.sqrt(5)}, method="nearest")
    others = at.sel({"method": ["PA", "plain", "IV"]})
    assert (at.sel({"method": "gamma=5"}).mean("repeat") < others.mean("repeat")).all()
    assert float((at.sel({"method": "gamma=5"}) < others).mean()) > 0.8


@pytest.mark.parametrize("setting", ["instrumental", "confounded"])
@pytest.mark.parametrize("algorithm", COMPATIBLE)
def test_the_iv_limit_is_flat(results, setting, algorithm):
    """From t = 0 to 4 IV rises by less than a tenth, the plain fit by more than a third."""
    mean = results[setting]["mse"].sel(algorithm=algorithm).mean("repeat")
    rise = mean.isel(t=-1) / mean.isel(t=0)
    assert float(rise.sel({"method": "IV"})) < 1.1
    assert float(rise.sel({"method": "plain"})) > 4 / 3


def test_cca_gains_from_the_anchor_but_less_than_compatible_algorithms(instrumental):
    rise = (instrumental["mse"].mean("repeat").isel(t=-1) / instrumental["mse"].mean("repeat").isel(t=0)).to_series()
    assert rise["CCA", "gamma=5"] < rise["CCA", "plain"]
    assert all(rise["CCA", "gamma=5"] > 1.4 * rise[name, "gamma=5"] for name in COMPATIBLE)


def test_under_confounding_only_partialling_out_fails(confounded):
    """Plain, IV and gamma = 5 stay within a half of each other over the whole range; PA grows tenfold."""
    mean = confounded["mse"].sel(algorithm=COMPATIBLE).mean("repeat")
    robust = mean.sel({"method": ["plain", "IV", "gamma=5"]})
    assert float((robust.max("method") / robust.min("method")).max()) < 1.5
    assert float((mean.isel(t=-1) / mean.isel(t=0)).sel({"method": "PA"}).min()) > 8


def test_one_hidden_variable_per_coordinate_gives_its_known_answers():
    """γ = 5: .795 at t = 0 and .835 at t = 4, γ = 1: .789 and .877 (SE about .01, so ± .04)."""
    result = perturbation_strength(hidden="per_coordinate", algorithms=["MLR"], strengths=[0.0, 4.0])
    mean = result["mse"].mean("repeat").squeeze("algorithm").to_series()
    expected = {("gamma=5", 0.0): 0.795, ("gamma=5", 4.0): 0.835, ("plain", 0.0): 0.789, ("plain", 4.0): 0.877}
    for key, value in expected.items():
        assert mean[key] == pytest.approx(value, abs=0.04)


def test_other_noise_gives_the_same_curves():
    """Only second moments matter: the means agree with the Gaussian ones within four standard errors, and 2 %."""
    settings = {"algorithms": ["MLR", "PLS"], "strengths": [0.0, 1.0, 2.0], "repeats": 10}
    other, gaussian = non_gaussian(**settings)["mse"], perturbation_strength(**settings, seed=9)["mse"]
    assert other.sizes["noise"] == 3
    squared_errors = [values.var("repeat", ddof=1) / 10 for values in (other, gaussian)]
    difference = abs(other.mean("repeat") - gaussian.mean("repeat")) - 0.02 * gaussian.mean("repeat")
    assert (difference <= 4 * np.sqrt(sum(squared_errors))).all()
    strongest = other.mean("repeat").sel({"t": 2.0})
    assert (strongest.sel({"method": "gamma=5"}) < strongest.sel({"method": "plain"})).all()


@pytest.fixture(scope="module")
def many_predictors():
    return {
        alpha: high_dimensional(alpha=alpha, dimension=80, rank=20, n_train=50, strengths=[0.0, 4.0], repeats=4)
        for alpha in (1e-6, 300.0)
    }


def test_gamma_acts_only_through_the_penalty_when_predictors_outnumber_samples(many_predictors):
    """An interpolating ridge fit is the same at gamma = 1 and 5; a penalised one is far more robust at 5."""
    for alpha, result in many_predictors.items():
        mse = result["mse"].sel(algorithm="Ridge").sel({"t": 4.0}).mean("repeat")
        ratio = float(mse.sel({"method": "gamma=5"}) / mse.sel({"method": "plain"}))
        assert ratio == pytest.approx(1, abs=1e-3) if alpha < 1 else ratio < 0.8


def test_metrics_have_the_documented_structure(instrumental):
    metrics = EXPERIMENTS["perturbation_strength"].metrics(instrumental)
    assert metrics["t"] == pytest.approx(np.linspace(0, 4, 20))
    for score in ("mse", "r2"):
        assert set(metrics[score]) == {"MLR", "OPLS", "RRR", "PLS", "CCA"}
        for methods in metrics[score].values():
            assert {name: len(values) for name, values in methods.items()} == {
                "PA": 20,
                "plain": 20,
                "IV": 20,
                "gamma=5": 20,
            }
    assert metrics["mse"]["MLR"]["IV"][3] == pytest.approx(float(curve(instrumental, "MLR", "IV").isel(t=3).mean()))


def test_metrics_of_several_noises_keep_the_structure_and_add_each_noise():
    result = non_gaussian(noises=["poisson", "gamma"], algorithms=["MLR"], strengths=[0.0], repeats=2)
    metrics = EXPERIMENTS["non_gaussian"].metrics(result)
    assert metrics["noise"] == "poisson"
    assert metrics["mse"] == metrics["noises"]["poisson"]["mse"]
    assert metrics["mse"] != metrics["noises"]["gamma"]["mse"]
    assert list(EXPERIMENTS["non_gaussian"].table(result)["noise"]) == ["poisson"] * 4 + ["gamma"] * 4


def test_r2_is_the_share_of_the_variance_in_the_perturbed_test_data(instrumental):
    """R² and MSE order fits alike, and R² of a useless prediction at t = 4 is far below that of a good one."""
    strongest = instrumental["r2"].sel(algorithm="MLR").isel(t=-1).mean("repeat").to_series()
    assert strongest["PA"] < strongest["plain"] < strongest["gamma=5"] < 1


def test_the_table_puts_known_answers_beside_ours(instrumental, confounded):
    table = EXPERIMENTS["perturbation_strength"].table(instrumental).set_index(["algorithm", "method"])
    assert table.loc[("CCA", "gamma=5"), "known, t = 4.00"] == "1.78"
    assert table.loc[("CCA", "PA"), "known, t = 4.00"] == "–"
    ours = float(curve(instrumental, "MLR", "PA").isel(t=0).mean())
    assert table.loc[("MLR", "PA"), "t = 0.00"].startswith(f"{ours:.3f} ± ")
    other = perturbation_strength(algorithms=["MLR"], strengths=[0.0, 0.5], repeats=2, n_train=100)
    assert list(EXPERIMENTS["perturbation_strength"].table(other).columns) == ["algorithm", "method", "t = 0.00"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"setting": "front door"}, "instrumental, confounded, direct"),
        ({"algorithms": ["SVM"]}, "'SVM' is not one of MLR, OPLS"),
        ({"noise": "cauchy"}, "one of gaussian"),
        ({"repeats": 0}, "at least 1"),
        ({"rank": 11}, "between 1 and 10"),
    ],
)
def test_bad_parameters_are_named(arguments, match):
    with pytest.raises(ValueError, match=match):
        perturbation_strength(**{"repeats": 1, "n_jobs": 1, **arguments})
