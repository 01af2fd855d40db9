"""The additive sums: right against the definition, additive, and blind to offsets."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from climanchor.kernels import Moments, Scaling, anchor_basis, anchor_factor, anchor_transform


def samples(n=40, d=6, p=4, q=2, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, q))
    X = rng.normal(size=(n, d)) + A @ rng.normal(size=(q, d))
    Y = X @ rng.normal(size=(d, p)) + rng.normal(size=(n, p)) + A @ rng.normal(size=(q, p))
    return X + offset, Y + offset, A + offset


def assert_same(a, b, rtol=1e-10):
    for name in ("x_mean", "y_mean", "a_mean", "xx", "xy", "xa", "yy", "ya", "aa"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=1e-9, err_msg=name)


def test_sums_follow_the_definition():
    """Each sum is Σ w (u − ū)(v − v̄)'."""
    X, Y, A = samples()
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    m = Moments.from_samples(X, Y, A, weights=w)
    Xc, Yc, Ac = (M - np.average(M, axis=0, weights=w) for M in (X, Y, A))
    np.testing.assert_allclose(m.xy, np.einsum("n,ni,nj->ij", w, Xc, Yc))
    np.testing.assert_allclose(m.aa, np.einsum("n,ni,nj->ij", w, Ac, Ac))
    np.testing.assert_allclose(m.yy, w @ Yc**2)


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(1, 39), min_size=1, max_size=4, unique=True), seed=st.integers(0, 100))
def test_sums_add_over_disjoint_samples(cuts, seed):
    """Any partition of the samples gives the same moments, in any order of addition."""
    X, Y, A = samples(seed=seed)
    edges = [0, *sorted(cuts), len(X)]
    parts = [Moments.from_samples(X[i:j], Y[i:j], A[i:j]) for i, j in pairwise(edges)]
    assert_same(sum(parts), Moments.from_samples(X, Y, A))
    assert_same(sum(reversed(parts)), Moments.from_samples(X, Y, A))


def test_an_offset_of_300_kelvin_costs_no_digits():
    """Fields of small anomalies on 300 K, accumulated in pieces, keep twelve digits; raw squares would keep seven."""
    X, Y, A = samples(n=400)
    small = 1e-2
    plain = Moments.from_samples(small * X, small * Y, small * A)
    shifted = [(small * M + 300.0) for M in (X, Y, A)]
    pieces = sum(Moments.from_samples(*(M[i : i + 50] for M in shifted)) for i in range(0, 400, 50))
    # The offset itself rounds the data at 300·eps/1e-2 = 7e-12; the sums must not be worse than that.
    np.testing.assert_allclose(pieces.xx, plain.xx, rtol=0, atol=1e-11 * np.abs(plain.xx).max())
    raw = shifted[0].T @ shifted[0] - 400 * np.outer(shifted[0].mean(0), shifted[0].mean(0))
    assert np.abs(raw - plain.xx).max() > 1e-9 * np.abs(plain.xx).max()


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 5.0, 1e4, np.inf])
@pytest.mark.parametrize("full", [False, True])
def test_anchored_moments_are_those_of_transformed_samples(gamma, full):
    """S + (γ − 1) S_A equals the moments of (I + (√γ − 1) P) applied to centred X and Y."""
    X, Y, A = samples(offset=3.0)
    Q = anchor_basis(A)
    Xt, Yt = (anchor_transform(M - M.mean(0), Q, gamma) for M in (X, Y))
    m = Moments.from_samples(X, Y, A, full_targets=full).anchored(gamma)
    scale = max(1.0, gamma if np.isfinite(gamma) else 1.0)
    np.testing.assert_allclose(m.xx, Xt.T @ Xt, atol=1e-10 * scale)
    np.testing.assert_allclose(m.xy, Xt.T @ Yt, atol=1e-10 * scale)
    np.testing.assert_allclose(m.yy, Yt.T @ Yt if full else (Yt**2).sum(0), atol=1e-10 * scale)


def test_collinear_and_constant_anchors_do_not_count_twice():
    """A repeated, rescaled or constant anchor leaves the projection as it was."""
    X, Y, A = samples()
    more = np.column_stack([A, 1e6 * A[:, 0], A.sum(axis=1), np.full(len(A), 273.15)])
    assert anchor_basis(more).shape[1] == 2
    plain, redundant = (Moments.from_samples(X, Y, M).anchored(7.0) for M in (A, more))
    np.testing.assert_allclose(redundant.xx, plain.xx, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(redundant.xy, plain.xy, rtol=1e-9, atol=1e-9)


def test_constant_anchors_span_nothing():
    """After centring a constant anchor is no anchor, whatever the rounding of its mean."""
    X, Y, _ = samples()
    m = Moments.from_samples(X, Y, np.full(len(X), 0.1))
    assert anchor_factor(m.aa).shape == (1, 0)
    np.testing.assert_array_equal(m.anchored(100.0).xx, m.xx)


def test_equal_votes():
    """Weighing two unequal groups to the same total makes the mean the mean of their means."""
    X, Y, A = samples(n=60)
    a, b = Moments.from_samples(X[:50], Y[:50], A[:50]), Moments.from_samples(X[50:], Y[50:], A[50:])
    pooled = a.weighing(500) + b.weighing(500)
    np.testing.assert_allclose(pooled.x_mean, (X[:50].mean(0) + X[50:].mean(0)) / 2)
    assert pooled.weight == 1000
    assert pooled.count == 60


def test_restriction_is_the_moments_of_the_columns():
    X, Y, A = samples()
    m = Moments.from_samples(X, Y, A).restrict(predictors=[0, 2, 5], targets=np.array([True, False, True, False]))
    assert_same(m, Moments.from_samples(X[:, [0, 2, 5]], Y[:, [0, 2]], A))


def test_standardising_by_algebra_equals_standardising_the_samples():
    X, Y, A = samples(offset=300.0)
    train, other = Moments.from_samples(X[:25], Y[:25], A[:25]), Moments.from_samples(X[25:], Y[25:], A[25:])
    s = Scaling.from_moments(train)
    Z = [(M[25:] - M[:25].mean(0)) / M[:25].std(0) for M in (X, Y, A)]
    assert_same(other.standardised(s), Moments.from_samples(*Z), rtol=1e-9)


def test_wrong_input_is_named():
    X, Y, A = samples()
    with pytest.raises(ValueError, match="same number of rows, got 40, 39, 40"):
        Moments.from_samples(X, Y[:39], A)
    with pytest.raises(ValueError, match="X has 0 rows"):
        Moments.from_samples(X[:0], Y[:0], A[:0])
    with pytest.raises(ValueError, match="weights must be 40 positive"):
        Moments.from_samples(X, Y, A, weights=np.zeros(40))
    with pytest.raises(ValueError, match=r"cannot add moments of \(6, 4, 2\) and \(5, 4, 2\)"):
        Moments.from_samples(X, Y, A) + Moments.from_samples(X[:, :5], Y, A)
    for gamma in (-1.0, np.nan, "5"):
        with pytest.raises(ValueError, match=r"gamma must be a number in \[0, inf\]"):
            Moments.from_samples(X, Y, A).anchored(gamma)
