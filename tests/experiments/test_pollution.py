"""The two air-quality protocols on a made-up table: what each trains on, and what it leaks."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.linear_model import LinearRegression

from climanchor.datasets.uci import COLUMNS
from climanchor.experiments import EXPERIMENTS, air_quality
from climanchor.experiments.pollution import ESTIMATORS
from climanchor.experiments.pollution_described import described_errors, described_split, described_table
from climanchor.experiments.pollution_published import published_errors, published_split
from climanchor.experiments.seasons import PREDICTORS, season_codes

DJF, MAM, JJA, SON = range(4)


@pytest.fixture(scope="module")
def table():
    """Half-daily values over a year; targets depend on the weather and on the season."""
    rng = np.random.default_rng(1)
    index = pd.date_range("2004-03-10 18:00", periods=780, freq="12h")
    season = season_codes(index)
    weather = rng.normal(size=(780, 3)) + season[:, None]
    targets = weather @ rng.normal(size=(3, 10)) + 0.5 * season[:, None] + rng.normal(size=(780, 10))
    values = np.column_stack([targets, weather]) * 10 + 300
    frame = pd.DataFrame(values, index=index, columns=list(COLUMNS))
    assert list(frame.columns[-3:]) == list(PREDICTORS)
    return frame


def test_published_training_rows_are_one_season_and_autumn_comes_with_summer(table):
    winter, summer = (published_split(table, (a, MAM, SON, JJA)).train.season for a in (DJF, JJA))
    assert set(winter) == {DJF}
    assert set(summer) == {JJA, SON}


def test_published_scaling_sees_the_test_season_and_described_scaling_does_not(table):
    order = (DJF, MAM, JJA, SON)
    published, described = published_split(table, order), described_split(table, order)
    assert set(described.train.season) == {DJF, MAM}
    np.testing.assert_allclose(described.train.Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(described.train.Y.std(axis=0), 1)
    assert np.abs(published.train.Y.mean(axis=0)).max() > 0.5
    everything = np.vstack([published_split(table, (s, 0, 1, s)).test.Y for s in range(4)])
    np.testing.assert_allclose(everything.mean(axis=0), 0, atol=1e-12)


def test_published_anchor_does_nothing_in_winter_and_something_in_spring(table):
    """The raw code of winter is 0: the projection on it vanishes and AR is LR. In spring it is a constant 1."""
    winter, spring = (
        published_errors(table, order, np.random.SeedSequence(0))
        for order in ((DJF, MAM, JJA, SON), (MAM, DJF, JJA, SON))
    )
    assert winter["AR"] == pytest.approx(winter["LR"], rel=1e-12)
    assert abs(spring["AR"] - spring["LR"]) > 1e-3
    assert set(winter) == set(ESTIMATORS)


def test_published_irm_depends_on_its_stream_and_nothing_else_does(table):
    one, two = (published_errors(table, (MAM, DJF, JJA, SON), np.random.SeedSequence(s)) for s in (0, 1))
    assert {name for name in ESTIMATORS if one[name] != two[name]} == {"IRM"}


def test_described_errors_do_not_depend_on_the_order_of_the_training_seasons(table):
    incomplete = table.copy()
    incomplete.iloc[::50, 0] = np.nan
    complete = described_table(incomplete)
    assert complete.shape == (780 - 16, 12)
    one, two = (described_errors(complete, (*pair, JJA, DJF), bins=3) for pair in ((MAM, SON), (SON, MAM)))
    assert one == pytest.approx(two, rel=1e-9)
    split = described_split(complete, (MAM, SON, JJA, DJF))
    plain = LinearRegression().fit(split.train.X, split.train.Y)
    assert one["LR"] == pytest.approx(np.mean((split.test.Y - plain.predict(split.test.X)) ** 2))


def test_tuning_cannot_be_worse_on_validation_than_its_plain_member(table):
    """Every grid holds (nearly) the plain fit, so that the tuned validation error is at most that of LR."""
    split = described_split(described_table(table), (DJF, JJA, MAM, SON))
    candidates = [LinearRegression().fit(split.train.X * s, split.train.Y).predict for s in (1.0, 0.5)]
    errors = [float(np.mean((split.validation.Y - f(split.validation.X)) ** 2)) for f in candidates]
    chosen = candidates[int(np.argmin(errors))]
    assert split.tuned_error(candidates) == split.test_error(chosen)


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    coords = {"protocol": ["published", "described"], "estimator": list(ESTIMATORS), "order": np.arange(24)}
    return xr.Dataset({"mse": (tuple(coords), rng.uniform(0.5, 1.5, (2, 7, 24)))}, coords)


def test_metrics_have_the_documented_structure(dataset):
    metrics = EXPERIMENTS["air_quality"].metrics(dataset)
    assert set(metrics) == {"published", "described"}
    for protocol in metrics.values():
        assert set(protocol) == {"LR", "Ridge", "AR", "A-Ridge", "A-PLS", "IRM", "CVP"}
        assert all(set(row) == {"mean", "median", "max", "min", "better_than_lr"} for row in protocol.values())
        assert protocol["LR"]["better_than_lr"] == 0
    ridge, plain = (dataset["mse"].sel(protocol="published", estimator=e).values for e in ("Ridge", "LR"))
    assert metrics["published"]["Ridge"]["better_than_lr"] == np.sum(ridge < plain)
    assert metrics["published"]["Ridge"]["median"] == np.median(ridge)


def test_the_table_prints_the_paper_beside_the_published_protocol_only(dataset):
    table = EXPERIMENTS["air_quality"].table(dataset).set_index(["protocol", "estimator"])
    assert table.loc[("published", "IRM"), "mean (paper)"] == "0.6852"
    assert table.loc[("published", "A-PLS"), "better than lr (paper)"] == "22"
    assert set(table.loc["described"].filter(like="paper").to_numpy().ravel()) == {"–"}
    ours = float(dataset["mse"].sel(protocol="described", estimator="CVP").mean())
    assert table.loc[("described", "CVP"), "mean"] == f"{ours:.4f}"


@pytest.mark.parametrize("protocols", [["improved"], []])
def test_unknown_protocols_are_refused_before_any_file_is_read(protocols):
    with pytest.raises(ValueError, match="it must hold published and/or described"):
        air_quality(path="nowhere.csv", protocols=protocols)
