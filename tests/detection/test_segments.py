"""Cutting unforced runs, and statistics of inflated segments."""

import numpy as np
import pytest
from scipy import stats

from climanchor.detection.segments import NullSampler, Statistic, Unforced, cut, decadal_part
from climanchor.kernels.trends import polynomial_residuals, trend


def run(values, *, start=1, **kwargs):
    return Unforced("A", "r1", np.arange(start, start + len(values)), np.asarray(values, float), **kwargs)


def test_segments_do_not_overlap_and_keep_their_gap():
    segments = cut([run(np.arange(100.0))], window=30, gap=5)
    assert segments.start.tolist() == [1, 36, 71]
    np.testing.assert_array_equal(segments.values[1], np.arange(35.0, 65.0))


def test_missing_years_split_a_run():
    """No segment reaches across a missing year, whether it is NaN or absent from the axis."""
    values = np.arange(50.0)
    values[12] = np.nan
    assert cut([run(values)], window=10).start.tolist() == [1, 14, 24, 34]
    years = np.r_[1:16, 20:41]
    holed = Unforced("A", "r1", years, np.ones(len(years)))
    assert cut([holed], window=10).start.tolist() == [1, 20, 30]


def test_segments_of_several_runs_know_where_they_come_from():
    segments = cut([run(np.ones(20)), Unforced("B", "r9", np.arange(5, 15), np.ones(10))], window=10)
    assert segments.model.tolist() == ["A", "A", "B"]
    assert segments.member.tolist() == ["r1", "r1", "r9"]
    assert segments.run.tolist() == [0, 0, 1]


def test_trends_of_segments_are_corrected_for_the_drift_removed():
    """Removing a line from 80 years shrinks 40-year trends; the null's spread makes up for it."""
    noise = np.random.default_rng(0).normal(size=(80, 6000))
    truth = 10 * trend(noise[:40]).std()
    detrended = Unforced("A", "r1", np.arange(80), polynomial_residuals(noise, degree=1), degree=1)
    sampler = NullSampler(cut([detrended], window=40), Statistic("trend"))
    assert sampler.statistics().std() == pytest.approx(truth, rel=0.02)
    assert 10 * trend(detrended.values[:40]).std() < 0.95 * truth


def test_inflated_trends_are_trends_of_inflated_series():
    """Scaling the decadal part before or after measuring the trend is the same."""
    values = np.random.default_rng(1).normal(size=90)
    sampler = NullSampler(cut([run(values)], window=30), Statistic("trend"))
    inflated = values + 1.5 * decadal_part(values)
    expected = [10 * stats.linregress(np.arange(30), inflated[i : i + 30]).slope for i in (0, 30, 60)]
    np.testing.assert_allclose(sampler.statistics(2.5), expected, rtol=1e-10)


def test_inflation_may_differ_by_cell_and_one_changes_nothing():
    values = np.random.default_rng(2).normal(size=(60, 2))
    for statistic in (Statistic("trend"), Statistic("correlation", np.arange(20.0))):
        sampler = NullSampler(cut([run(values)], window=20), statistic)
        mixed = sampler.statistics(np.array([1.0, 3.0]))
        np.testing.assert_allclose(mixed[:, 0], sampler.statistics(1.0)[:, 0])
        np.testing.assert_allclose(mixed[:, 1], sampler.statistics(3.0)[:, 1])
        np.testing.assert_allclose(sampler.statistics(1.0)[0], statistic(values[:20]))


def test_decadal_part_is_a_running_mean_that_keeps_every_year():
    values = np.random.default_rng(3).normal(size=40)
    smooth = decadal_part(values)
    assert not np.isnan(smooth).any()
    np.testing.assert_allclose(smooth[20], values[15:25].mean())
    np.testing.assert_allclose(decadal_part(np.ones(25)), 1.0)


def test_runs_too_short_for_the_window_are_named():
    with pytest.raises(ValueError, match=r"no control run gives a segment of 40 years \(A r1: 30 years\)"):
        cut([run(np.ones(30))], window=40)


def test_a_line_removed_over_the_window_itself_leaves_nothing_to_test():
    """A 40-year run without its line has no 40-year trend: it must not become a null of zeros."""
    with pytest.raises(ValueError, match=r"40 years with drift of degree 1 removed.*keep the drift"):
        cut([run(np.random.default_rng(0).normal(size=40), degree=1)], window=40)


def test_an_empty_control_is_refused():
    with pytest.raises(ValueError, match="the control holds no run"):
        cut([], window=10)
