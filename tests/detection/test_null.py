"""The null distribution: its p-values are uniform where the null is true."""

import numpy as np
import pytest
from scipy import stats

from climanchor.detection.null import (
    Null,
    independent_segments,
    least_favourable,
    nulls,
    spread,
    verdict,
)


def make_null(values, models=None, runs=None, independence=1.0):
    values = np.asarray(values, dtype=float)
    models = ["A"] * len(values) if models is None else models
    runs = np.zeros(len(values), dtype=int) if runs is None else np.asarray(runs)
    return Null(values, np.array(models), runs, np.full(len(values), independence))


def judge(statistic, null, *, sided="two-sided", level=0.05, method="student"):
    return verdict(np.asarray(statistic), null, sided=sided, level=level, method=method)


@pytest.mark.parametrize("segments", [2, 5, 20])
@pytest.mark.parametrize("sided", ["two-sided", "greater", "less"])
def test_student_p_values_are_uniform_under_the_null(segments, sided):
    """With any number of segments, even two, the p-values of Gaussian noise are uniform."""
    draws = np.random.default_rng(segments).normal(size=(segments + 1, 20000))
    p = judge(draws[0], make_null(draws[1:], runs=np.arange(segments)), sided=sided).p_value
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_pooled_models_of_different_spread_keep_the_size():
    """Models that differ by a factor of two in spread: the tested one drawn alike, 5 % are rejected."""
    rng = np.random.default_rng(0)
    scales = np.array([0.7, 1.0, 1.4])
    models = np.repeat(["A", "B", "C"], 12)
    draws = rng.normal(size=(36, 30000)) * np.repeat(scales, 12)[:, None]
    tested = rng.normal(size=30000) * rng.choice(scales, 30000)
    rejected = (judge(tested, make_null(draws, models, runs=np.arange(36))).p_value <= 0.05).mean()
    assert rejected == pytest.approx(0.05, abs=0.012)


def test_empirical_p_values_hold_their_level_and_stop_at_their_resolution():
    draws = np.random.default_rng(1).normal(size=(20, 20000))
    p = judge(draws[0], make_null(draws[1:]), method="empirical").p_value
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.01)
    assert judge(99.0, make_null(draws[1:, 0]), method="empirical").p_value == pytest.approx(1 / 20)


def test_the_interval_holds_the_p_value_and_shrinks_with_segments():
    rng = np.random.default_rng(2)
    few, many = (judge(2.0, make_null(rng.normal(size=n))) for n in (6, 600))
    for v in (few, many):
        assert v.low <= v.p_value <= v.high
    assert many.high - many.low < few.high - few.low
    assert many.p_value == pytest.approx(2 * stats.norm.sf(2.0), rel=0.3)


def test_the_critical_value_is_where_the_p_value_is_the_level():
    null = make_null(np.random.default_rng(3).normal(size=15))
    for sided in ("two-sided", "greater"):
        critical = judge(1.0, null, sided=sided).critical
        assert judge(critical, null, sided=sided).p_value == pytest.approx(0.05)


def test_models_weigh_the_same_however_long_their_control():
    null = make_null([2.0, 2.0, 1.0], models=["A", "A", "B"])
    np.testing.assert_allclose(null.weights, [0.25, 0.25, 0.5])
    assert spread(null).std == pytest.approx(np.sqrt((4 + 1) / 2))


def test_persistent_segments_are_worth_fewer():
    """An AR(1) series of segments counts for its variance as n(1−r²)/(1+r²); separate runs do not touch."""
    rng = np.random.default_rng(4)
    series = rng.normal(size=2000)
    for i in range(1, 2000):
        series[i] += 0.7 * series[i - 1]
    one_run = independent_segments(make_null(series))
    assert one_run == pytest.approx(2000 * (1 - 0.49) / (1 + 0.49), rel=0.08)
    assert independent_segments(make_null(series, runs=np.arange(2000))) == 2000


def test_shared_means_lower_the_number_of_segments():
    assert independent_segments(make_null(np.ones(8), runs=np.arange(8), independence=0.75)) == 6


def test_each_choice_of_null_takes_the_models_it_says():
    null = make_null(np.arange(6.0), models=list("AABBCC"))
    assert [n.models for n in nulls(null, choice="pooled", tested=None)] == [["A", "B", "C"]]
    assert [n.models for n in nulls(null, choice="per_model", tested=None)] == [["A"], ["B"], ["C"]]
    assert [n.models for n in nulls(null, choice="leave_model_out", tested="B")] == [["A", "C"]]
    left_out = [n.models for n in nulls(null, choice="leave_model_out", tested=None)]
    assert left_out == [["B", "C"], ["A", "C"], ["A", "B"]]


def test_the_least_favourable_null_decides_in_every_cell():
    calm, lively = make_null([[0.1, 3.0], [0.1, 3.0]]), make_null([[3.0, 0.1], [3.0, 0.1]])
    both = [judge(np.array([1.0, 1.0]), n) for n in (calm, lively)]
    worst = least_favourable(both)
    np.testing.assert_allclose(worst.p_value, np.maximum(both[0].p_value, both[1].p_value))
    np.testing.assert_allclose(worst.spread.std, [3.0, 3.0])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: judge(1.0, make_null([0.5])), r"the null has 1 segment\(s\).*at least two"),
        (lambda: list(nulls(make_null([1.0]), choice="per_model", tested=None)), "no model .* two segments"),
        (
            lambda: list(nulls(make_null([1.0, 2.0]), choice="leave_model_out", tested="A")),
            "leaving out A leaves no model",
        ),
        (lambda: list(nulls(make_null([1.0]), choice="other", tested=None)), "null must be"),
    ],
)
def test_impossible_nulls_are_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()
