"""Anchors as the user has them (numbers, strings, categories, tables) to a centred matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from climanchor.kernels.anchor import Array


@dataclass(frozen=True)
class EncodedAnchors:
    """Centred anchors: ``matrix`` (n, q), a name per column of ``matrix``, and the inputs that never vary.

    Numeric inputs give one column, categorical inputs one column per category found. Centring makes the
    categories of one input sum to zero; the anchor projection copes with such collinear columns.
    """

    matrix: Array
    names: tuple[str, ...]
    constant: tuple[str, ...]


def encode_anchors(anchors: Any, *, n_samples: int) -> EncodedAnchors:
    """Encode ``anchors`` of ``n_samples`` rows: one-hot for categories, as they are for numbers, then centred.

    ``anchors`` is an array (n,) or (n, q), or a pandas Series or DataFrame. Columns of strings, booleans,
    objects that are not all numbers, and pandas categories are categorical; integers are numbers, so
    give integer codes of categories as strings or as a pandas category.

    Raises ``ValueError`` for another number of rows, no columns, and missing or infinite values.

    >>> encode_anchors(["sea", "land", "sea", "sea"], n_samples=4).names
    ('anchors[0]=land', 'anchors[0]=sea')
    """
    columns = _columns(anchors, n_samples)
    parts: list[Array] = []
    names: list[str] = []
    constant: list[str] = []
    for name, values in columns.items():
        block, labels = _encode_column(values, name)
        parts.append(block)
        names.extend(labels)
        if bool(np.all(block == block[0])):
            constant.append(name)
    matrix = np.column_stack(parts)
    return EncodedAnchors(matrix - matrix.mean(axis=0), tuple(names), tuple(constant))


def _columns(anchors: Any, n_samples: int) -> dict[str, Array]:
    """The inputs by name, each one-dimensional; pandas objects keep the kind of each column."""
    if hasattr(anchors, "columns") and hasattr(anchors, "iloc"):
        columns = {str(c): _plain(anchors.iloc[:, i]) for i, c in enumerate(anchors.columns)}
        shape = anchors.shape
    else:
        array = _plain(anchors)
        shape = array.shape
        table = array.reshape(-1, 1) if array.ndim == 1 else array
        if table.ndim != 2:
            raise ValueError(f"anchors must be of shape (n,) or (n, q), not {shape}: reshape them")
        columns = {f"anchors[{i}]": table[:, i] for i in range(table.shape[1])}
    if shape[0] != n_samples:
        raise ValueError(f"anchors has {shape[0]} rows but X has {n_samples}: give one row of anchors per sample of X")
    if not columns:
        raise ValueError(f"anchors of shape {shape} has no columns: give at least one, or anchors=None")
    return columns


def _plain(values: Any) -> Array:
    """An array of numbers; or of strings, with None where missing, where a pandas dtype says they are categories."""
    kind = getattr(values, "dtype", None)
    if kind is None or isinstance(kind, np.dtype):
        return np.asarray(values)
    if getattr(kind, "kind", "O") in "iuf":
        return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))
    plain = np.empty(len(values), dtype=object)
    plain[:] = [None if missing else str(v) for v, missing in zip(values, values.isna(), strict=True)]
    return plain


def _encode_column(values: Array, name: str) -> tuple[Array, list[str]]:
    numbers = _as_numbers(values)
    if numbers is not None:
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            raise ValueError(
                f"anchors column {name} has {bad.size} NaN or infinite values (first at row {bad[0]}): "
                "drop those samples, or fill them before fitting"
            )
        return numbers[:, None], [name]
    missing = [i for i, v in enumerate(values) if v is None or v != v]
    if missing:
        raise ValueError(
            f"anchors column {name} has {len(missing)} missing categories (first at row {missing[0]}): "
            "drop those samples, or give them a category of their own"
        )
    labels, codes = np.unique([str(v) for v in values], return_inverse=True)
    return np.eye(len(labels))[codes], [f"{name}={label}" for label in labels]


def _as_numbers(values: Array) -> Array | None:
    """``values`` as floats, or None when they are categories."""
    if values.dtype.kind in "iuf":
        return values.astype(float)
    if values.dtype.kind == "O" and all(
        isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_) for v in values
    ):
        return values.astype(float)
    return None
