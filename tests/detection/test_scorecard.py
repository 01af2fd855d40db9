"""The scorecard of forced responses and its baselines."""

import numpy as np
import pytest
import xarray as xr

import climanchor as ca
from climanchor.detection import scorecard
from climanchor.detection.baselines import low_pass, polynomial, regression_on_global_mean
from climanchor.kernels.trends import trend


class Oracle:
    """Predicts the forced response it was given, whatever the field."""

    def __init__(self, forced):
        self.forced = forced

    def predict(self, field):
        return self.forced.sel(year=field["year"])

    def restrict(self, mask):
        return self


@pytest.fixture(scope="module")
def data():
    return ca.simulate.prepared(models=["CCSM4", "CESM2", "CNRM-CM6-1"], members=3, grid=30.0)


@pytest.fixture(scope="module")
def table(data):
    forced = data["CNRM-CM6-1"].to_dataset()["forced"]
    prints = {"oracle": Oracle(forced), "nothing": Oracle(0 * forced), "double": Oracle(2 * forced)}
    return scorecard(prints, data, models=["CNRM-CM6-1"], training=["CCSM4", "CESM2"])


def test_the_truth_scores_one_no_change_zero_and_double_the_truth_zero(table):
    for kind in ("trend_skill", "spatiotemporal_skill"):
        assert float(table[kind].sel(estimate="oracle")) == pytest.approx(1)
        assert float(table[kind].sel(estimate="nothing")) == pytest.approx(0)
        assert float(table[kind].sel(estimate="double")) == pytest.approx(0)


def test_correlations_ignore_amplitude(table):
    for kind in ("trend_correlation", "spatiotemporal_correlation"):
        np.testing.assert_allclose(table[kind].sel(estimate=["oracle", "double"]), 1)
        assert float(table[kind].sel(estimate="nothing")) == 0


def test_raw_and_the_four_baselines_stand_beside(table):
    names = ["RAW", "RegGMST", "10-year low-pass", "4th-order polynomial", "training-ensemble mean"]
    assert table["estimate"].values.tolist()[:5] == names
    assert not bool(table["better_than_raw"].sel(estimate="RAW").any())
    assert bool(table["better_than_raw"].sel(estimate="oracle").all())
    assert table.attrs["realizations"] == 3
    assert table.attrs["years"] == "1950-2005"
    assert table.attrs["trend_years"] == "1980-2005"


def test_raw_scores_are_those_of_the_formula(data, table):
    """Trend skill, correlation and error of RAW, written out with xarray's own weights."""
    node = data["CNRM-CM6-1"].to_dataset().sel(year=slice(1980, 2005))
    truth = 10 * node["forced"].polyfit("year", 1).polyfit_coefficients.sel(degree=1)
    raw = 10 * node["field"].polyfit("year", 1).polyfit_coefficients.sel(degree=1)
    band = np.sin(np.deg2rad(node["lat"] + 15)) - np.sin(np.deg2rad(node["lat"] - 15))
    mean = {"dim": ("lat", "lon")}
    share = ((raw - truth) ** 2).weighted(band).mean(**mean) / (truth**2).weighted(band).mean(**mean)
    np.testing.assert_allclose(table["trend_skill"].sel(estimate="RAW"), 1 - np.sqrt(share.mean()), rtol=1e-5)
    both = (truth * raw).weighted(band).mean(**mean)
    scale = np.sqrt((truth**2).weighted(band).mean(**mean) * (raw**2).weighted(band).mean(**mean))
    np.testing.assert_allclose(table["trend_correlation"].sel(estimate="RAW"), (both / scale).mean(), rtol=1e-5)
    error = np.sqrt(((raw - truth) ** 2).mean("member"))
    np.testing.assert_allclose(table["trend_error"].sel(estimate="RAW"), error, rtol=1e-4)


def test_regression_on_the_global_mean_recovers_a_fixed_pattern():
    rng = np.random.default_rng(0)
    pattern, series = rng.normal(1, 0.3, size=50), rng.normal(size=60)
    areas = np.full(50, 1 / 50)
    field = np.outer(series - series.mean(), pattern)
    np.testing.assert_allclose(regression_on_global_mean(field, areas), field, atol=1e-12)


def test_low_pass_keeps_decades_and_stops_years():
    year = np.arange(200.0)
    slow, fast = np.sin(2 * np.pi * year / 40), np.sin(2 * np.pi * year / 4)
    passed = low_pass((slow + fast)[:, None], np.ones(1))[20:-20, 0]
    assert np.abs(passed - slow[20:-20]).max() < 0.01


def test_polynomial_keeps_what_is_of_fourth_order():
    time = np.linspace(-1, 1, 50)
    curve = (time**4 - time)[:, None]
    np.testing.assert_allclose(polynomial(curve, np.ones(1)), curve, atol=1e-12)
    assert trend(polynomial(np.sin(20 * time)[:, None], np.ones(1))).shape == (1,)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"models": ["CESM9"]}, "no model CESM9"),
        ({"models": []}, "names no model to score"),
        ({"models": ["CESM2"], "training": ["CESM2"]}, "held-out models must not be training models"),
        ({"models": ["CESM2"], "years": (2010, 2022)}, "share 5 years of 2010–2022"),
        ({"models": ["CCSM4"], "trend_years": (2000, 2022)}, "6 common years of 2000–2022"),
    ],
)
def test_impossible_scorecards_are_refused(data, options, match):
    with pytest.raises(ValueError, match=match):
        scorecard({}, data, **options)


def test_names_of_baselines_are_taken(data):
    with pytest.raises(ValueError, match="RAW is the name of a baseline"):
        scorecard({"RAW": Oracle(None)}, data, models=["CESM2"])


def test_members_with_gaps_are_named(data):
    node = data["CESM2"].to_dataset()
    holed = node.assign(field=node["field"].where(node["year"] != 1990))
    with pytest.raises(ValueError, match=r"CESM2 r1i1p1f1 lacks values in 1950–2014"):
        scorecard({}, xr.DataTree.from_dict({"CESM2": holed}), models=["CESM2"])
