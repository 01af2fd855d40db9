"""Anchors as users have them become centred columns."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from climanchor import Anchor
from climanchor.estimators.encoding import encode_anchors

SEASONS = ["DJF", "JJA", "DJF", "SON", "JJA", "SON", "DJF", "SON"]
ONE_HOT = np.array([[s == c for c in ("DJF", "JJA", "SON")] for s in SEASONS], dtype=float)


@pytest.mark.parametrize(
    "anchors",
    [
        SEASONS,
        np.array(SEASONS),
        np.array(SEASONS, dtype=object)[:, None],
        pd.Series(SEASONS),
        pd.Series(SEASONS, dtype="string"),
        pd.Series(SEASONS, dtype="category"),
        pd.DataFrame({"season": pd.Categorical(SEASONS, categories=["DJF", "MAM", "JJA", "SON"])}),
    ],
    ids=["list", "array", "objects", "series", "string", "category", "unused category"],
)
def test_categories_are_one_hot_encoded_and_centred(anchors):
    encoded = encode_anchors(anchors, n_samples=8)
    assert_allclose(encoded.matrix, ONE_HOT - ONE_HOT.mean(axis=0))
    assert [name.split("=")[1] for name in encoded.names] == ["DJF", "JJA", "SON"]


def test_integers_are_numbers_unless_they_are_a_pandas_category():
    codes = [0, 1, 3, 3]
    assert_allclose(encode_anchors(codes, n_samples=4).matrix[:, 0], np.array(codes) - 1.75)
    assert encode_anchors(pd.Series(codes, dtype="category"), n_samples=4).matrix.shape == (4, 3)
    assert encode_anchors(pd.Series(codes, dtype="Int64"), n_samples=4).matrix.shape == (4, 1)


def test_mixed_tables_keep_the_kind_of_each_column():
    table = pd.DataFrame({"model": list("aabb"), "div": [0.1, 0.3, -0.2, 0.2], "wet": [True, False, True, True]})
    encoded = encode_anchors(table, n_samples=4)
    assert encoded.names == ("model=a", "model=b", "div", "wet=False", "wet=True")
    assert_allclose(encoded.matrix.mean(axis=0), 0, atol=1e-15)
    same = encode_anchors(table.to_numpy(dtype=object), n_samples=4)
    assert_allclose(same.matrix, encoded.matrix)


def test_constant_columns_are_named():
    table = pd.DataFrame({"model": ["a"] * 3, "div": [0.1, 0.2, 0.4], "height": [2.0] * 3})
    assert encode_anchors(table, n_samples=3).constant == ("model", "height")


def test_categorical_anchors_fit_like_their_indicator_columns():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(8, 2)) + ONE_HOT[:, :1], rng.normal(size=(8, 2)) - ONE_HOT[:, 1:2]
    by_name = Anchor(gamma=5.0).fit(X, Y, anchors=SEASONS)
    by_number = Anchor(gamma=5.0).fit(X, Y, anchors=ONE_HOT[:, :2])
    assert by_name.anchor_rank_ == 2
    assert by_name.anchor_names_[0] == "anchors[0]=DJF"
    assert_allclose(by_name.coef_, by_number.coef_, rtol=1e-10)
    within = Anchor(gamma=0.0).fit(X, Y, anchors=SEASONS)  # partialling out groups: the within-group regression
    means = ONE_HOT @ (ONE_HOT.T @ np.column_stack([X, Y]) / ONE_HOT.sum(axis=0)[:, None])
    X_within, Y_within = X - means[:, :2], Y - means[:, 2:]
    assert_allclose(within.coef_.T, np.linalg.lstsq(X_within, Y_within, rcond=None)[0], rtol=1e-8)


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        ([1.0, np.nan, 2.0], r"anchors column anchors\[0\] has 1 NaN or infinite values \(first at row 1\)"),
        ([1.0, 2.0, -np.inf], r"first at row 2"),
        (pd.DataFrame({"div": [1.0, None, 2.0]}), "anchors column div has 1 NaN"),
        (pd.DataFrame({"n": pd.array([1, None, 2], dtype="Int64")}), "anchors column n has 1 NaN"),
        (np.array(["a", None, "b"], dtype=object), r"1 missing categories \(first at row 1\)"),
        (pd.Series(["a", None, "b"], dtype="category"), "1 missing categories"),
        (pd.Series(["a", "b", None], dtype="string"), r"1 missing categories \(first at row 2\)"),
        ([1.0, 2.0], "anchors has 2 rows but X has 3"),
        (np.zeros((3, 2, 2)), r"anchors must be of shape \(n,\) or \(n, q\), not \(3, 2, 2\)"),
        (np.float64(3.0), r"anchors must be of shape \(n,\) or \(n, q\), not \(\)"),
        (np.zeros((3, 0)), "has no columns"),
        (pd.DataFrame(index=range(3)), "has no columns"),
    ],
)
def test_bad_anchors_are_named_with_place_and_remedy(anchors, message):
    with pytest.raises(ValueError, match=message):
        encode_anchors(anchors, n_samples=3)
