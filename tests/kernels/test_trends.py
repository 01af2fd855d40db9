"""Trends, autocorrelation and multiple testing against scipy and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.tsa.stattools import acf

from climanchor.kernels import trends


@pytest.fixture
def series():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(60, 2, 4))
    for step in range(1, 60):
        noise[step] += 0.6 * noise[step - 1]
    return noise + 0.02 * np.arange(60)[:, None, None]


def test_trend_and_its_error_equal_ordinary_least_squares_of_statsmodels(series):
    """Unadjusted slope and standard error are those of statsmodels' OLS, cell by cell."""
    slope, error = trends.trend(series), trends.trend_standard_error(series, adjust=False)
    design = sm.add_constant(np.arange(60.0))
    for cell in np.ndindex(2, 4):
        fit = sm.OLS(series[(slice(None), *cell)], design).fit()
        np.testing.assert_allclose(slope[cell], fit.params[1], rtol=1e-10)
        np.testing.assert_allclose(error[cell], fit.bse[1], rtol=1e-10)


def test_trend_equals_linregress(series):
    fit = stats.linregress(np.arange(60), series[:, 0, 0])
    np.testing.assert_allclose(trends.trend(series)[0, 0], fit.slope, rtol=1e-10)


@pytest.mark.parametrize("lag", [0, 1, 5])
def test_autocorrelation_equals_statsmodels(series, lag):
    expected = acf(series[:, 1, 2], nlags=5, adjusted=False)[lag]
    np.testing.assert_allclose(trends.autocorrelation(series, lag=lag)[1, 2], expected, rtol=1e-10)


def test_adjusted_error_widens_with_persistence_and_never_narrows(series):
    plain = trends.trend_standard_error(series, adjust=False)
    adjusted = trends.trend_standard_error(series)
    assert (adjusted > plain).all()
    alternating = np.tile([1.0, -1.0], 20)
    np.testing.assert_allclose(
        trends.trend_standard_error(alternating), trends.trend_standard_error(alternating, adjust=False)
    )


def test_adjusted_error_covers_the_truth_of_autocorrelated_series():
    """The adjusted error is close to the true spread of trends of AR(1) noise; the plain one is far below."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 3000))
    for step in range(1, 200):
        noise[step] += 0.5 * noise[step - 1]
    noise = noise[50:]
    spread = trends.trend(noise).std()
    adjusted = np.sqrt((trends.trend_standard_error(noise) ** 2).mean())
    plain = np.sqrt((trends.trend_standard_error(noise, adjust=False) ** 2).mean())
    assert adjusted == pytest.approx(spread, rel=0.06)
    assert plain < 0.65 * spread


@pytest.mark.parametrize(("ranks", "peer"), [(True, stats.spearmanr), (False, stats.pearsonr)])
def test_correlation_equals_scipy_also_with_ties(series, ranks, peer):
    y = np.round(series, 0)
    reference = np.round(np.linspace(0, 4, 60))
    ours = trends.correlation(y, reference, ranks=ranks)
    for cell in np.ndindex(2, 4):
        expected = peer(y[(slice(None), *cell)], reference).statistic
        np.testing.assert_allclose(ours[cell], expected, rtol=1e-10)


def test_constant_series_has_no_correlation():
    assert np.isnan(trends.correlation(np.ones(5), np.arange(5.0)))
    assert np.isnan(trends.autocorrelation(np.ones(5)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_adjusted_p_values_equal_statsmodels_and_scipy(p_values):
    expected = multipletests(p_values, method="fdr_bh")[1]
    np.testing.assert_allclose(trends.adjust_p_values(p_values), expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(stats.false_discovery_control(p_values), expected, rtol=1e-12, atol=1e-300)


def test_adjusted_p_values_keep_shape_and_refuse_nonsense():
    p = np.array([[0.2, np.nan], [0.001, 0.5]])
    adjusted = trends.adjust_p_values(p)
    assert adjusted.shape == p.shape
    assert np.isnan(adjusted[0, 1])
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        trends.adjust_p_values([1.5])


@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_polynomial_residuals_equal_polyfit(series, degree):
    time = np.arange(60.0)
    expected = series[:, 0, 1] - np.polyval(np.polyfit(time, series[:, 0, 1], degree), time)
    np.testing.assert_allclose(trends.polynomial_residuals(series, degree=degree)[:, 0, 1], expected, atol=1e-9)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_kept_trend_variance_is_what_white_noise_shows(degree):
    """The share derived from weights equals the measured shrinking of trends of detrended white noise."""
    noise = np.random.default_rng(2).normal(size=(60, 20000))
    kept = trends.trend(trends.polynomial_residuals(noise, degree=degree)[10:40]).var()
    share = trends.kept_trend_variance(60, start=10, window=30, degree=degree)
    assert share == pytest.approx(kept / trends.trend(noise[10:40]).var(), rel=0.02)


def test_nothing_of_a_trend_survives_detrending_over_the_same_years():
    assert trends.kept_trend_variance(40, start=0, window=40, degree=1) == pytest.approx(0, abs=1e-12)


def test_emergence_needs_the_signal_to_stay_above():
    signal = np.array([[0, 0, -3.0], [3, 3, -3], [1, 3, -3], [3, 1, -3]])
    np.testing.assert_array_equal(trends.emergence(signal, 2.0), [3, np.nan, 0])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: trends.trend([1.0]), "at least two time steps, got 1"),
        (lambda: trends.autocorrelation([1.0, 2.0], lag=2), "lag must lie in 0 … 1"),
        (lambda: trends.polynomial_residuals([1.0, 2.0], degree=2), "degree must lie in 0 … 1"),
        (lambda: trends.kept_trend_variance(10, start=5, window=6, degree=1), "does not fit in 10"),
        (lambda: trends.correlation(np.ones((4, 2)), np.ones(3)), "one series of 4 time steps"),
    ],
)
def test_impossible_requests_are_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()
