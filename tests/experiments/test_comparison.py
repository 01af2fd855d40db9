"""A-RRR against AR: the published numbers, and the three that put them in their place."""

import pytest

from climanchor.experiments import EXPERIMENTS, univariate_vs_multivariate
from climanchor.experiments.comparison import KNOWN


@pytest.fixture(scope="module")
def dataset():
    return univariate_vs_multivariate()


def test_published_and_known_means_within_sampling_error(dataset):
    """50 repeats: the standard error of the means is about .014, so that .04 is three of them."""
    mse = EXPERIMENTS["univariate_vs_multivariate"].metrics(dataset)["mse"]
    assert mse["A-RRR"] == pytest.approx(1.45, abs=0.04)
    assert mse["AR"] == pytest.approx(1.91, abs=0.04)
    for name, value in KNOWN.items():
        assert mse[name] == pytest.approx(value, abs=0.04)


def test_interpolating_fits_do_not_depend_on_gamma(dataset):
    """AR and OLS are the same fit, in every repeat; the anchor hardly moves the reduced-rank fit either."""
    mse = dataset["mse"]
    assert float(abs(mse.sel(estimator="AR") - mse.sel(estimator="OLS")).max()) < 1e-8
    assert float(abs(mse.sel(estimator="A-RRR") - mse.sel(estimator="RRR")).mean()) < 0.02


def test_predicting_zero_beats_both(dataset):
    mse = dataset["mse"]
    assert bool((mse.sel(estimator="zero") < mse.sel(estimator=["A-RRR", "AR"])).all())


def test_the_table_tells_the_two_intervals_apart(dataset):
    """The published ± .24 and ± .26 are 1.96 standard deviations over runs; of the mean they are seven times less."""
    table = EXPERIMENTS["univariate_vs_multivariate"].table(dataset).set_index("estimator")
    assert table.loc["AR", "± over runs"] == pytest.approx(0.26, abs=0.07)
    ratio = table["± over runs"] / table["± of the mean"]
    assert ratio.to_numpy() == pytest.approx(50**0.5)
    assert list(table.index) == ["A-RRR", "AR", "RRR", "OLS", "zero"]
