"""Running means: the window, its label, and its edges."""

import numpy as np
import pytest
import xarray as xr

from climanchor.kernels.running import running_mean


@pytest.mark.parametrize("window", [1, 2, 5, 10, 30])
def test_complete_windows_equal_the_direct_definition(window: int) -> None:
    """Year t is the mean of the years t - w//2 to t - w//2 + w - 1, and NaN when one of them is absent."""
    series = np.random.default_rng(0).normal(size=(2, 25))
    smooth = running_mean(series, window=window)
    for t in range(25):
        start = t - window // 2
        if start < 0 or start + window > 25:
            assert np.isnan(smooth[:, t]).all()
        else:
            np.testing.assert_allclose(smooth[:, t], series[:, start : start + window].mean(axis=1), rtol=1e-13)


def test_label_of_even_windows_is_that_of_xarray() -> None:
    series = np.random.default_rng(1).normal(size=40)
    theirs = xr.DataArray(series, dims="year").rolling(year=10, center=True).mean()
    np.testing.assert_allclose(running_mean(series, window=10), theirs.values, atol=1e-14)


def test_windows_that_meet_a_gap_are_missing() -> None:
    series = np.ones(20)
    series[10] = np.nan
    assert np.flatnonzero(np.isnan(running_mean(series, window=3))).tolist() == [0, 9, 10, 11, 19]


def test_shrink_averages_what_there_is_if_more_than_half() -> None:
    smooth = running_mean(np.arange(6.0), window=4, edges="shrink")
    np.testing.assert_allclose(smooth, [np.nan, 1.0, 1.5, 2.5, 3.5, 4.0])


def test_zero_padding_shrinks_the_spread_at_the_ends() -> None:
    """The published edge policy: the end of a smoothed series keeps about 0.7 of its spread."""
    series = np.random.default_rng(2).normal(size=(4000, 60))
    smooth = running_mean(series, window=10, edges="zero")
    spread = smooth.std(axis=0)
    assert spread[0] / spread[30] == pytest.approx(np.sqrt(0.5), abs=0.03)
    assert not np.isnan(smooth).any()


def test_other_axes_are_smoothed_alike() -> None:
    series = np.random.default_rng(3).normal(size=(12, 3))
    np.testing.assert_array_equal(running_mean(series, window=3, axis=0), running_mean(series.T, window=3).T)


@pytest.mark.parametrize("window", [0, -1, 2.5, True])
def test_windows_that_are_no_count_are_refused(window: float) -> None:
    with pytest.raises(ValueError, match="whole number of steps"):
        running_mean(np.ones(3), window=window)  # type: ignore[arg-type] # the wrong type is the point


def test_unknown_edges_are_refused() -> None:
    with pytest.raises(ValueError, match="edges must be one of"):
        running_mean(np.ones(3), window=1, edges="reflect")  # type: ignore[arg-type] # unknown on purpose
