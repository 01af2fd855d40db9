"""``metrics.json``: every number of the report for machines: one flat object, keys joined by dots.

``format`` is raised when a key changes its meaning. Values are numbers, words, true/false, null (not defined) or
lists of these. Keys of the climate recipes:

``scores.<gamma>.<train|validation|test>.<r2|r2_area|r|r_abs>``
    Mean over grid cells of the coefficient of determination R² of the forced response (``r2_area``:
    area-weighted), of the correlation r of residuals (forced minus predicted) with DIV, signed, and of its
    absolute value. Train and test pool the models with equal weight; validation is the mean over the splits.
``scores.<gamma>.<train|test>.by_model.<model>.<r2|r2_area|r|r_abs>``
    The same for one climate model.
``selection.<alpha|rank|rule|splits|seed|target_rank|inert_ranks>``
    The choice; for rules that choose for each gamma, ``selection.<gamma>.<alpha|rank>``.
``div_magnitude.<model>`` and ``div_magnitude_corrected.<model>``
    Standard deviation of DIV in K: mean over the members; corrected for the size of the ensemble.
``data.<model>.<members|first_year|last_year|role>``
    What was used.
``detection.<gamma>.<statistic|p_value|detected|size|power|inflation_limit>``
    The test on the observations.
``detection.<gamma>.<size_calm|size_matching>``
    Over-confidence: how often the test detects a change in unforced segments of the test models' control runs,
    with a null from those of the training models (calm) and from those of the test models themselves, without
    the tested segment (matching). Where both kinds of control runs exist; standard errors are in
    ``data/over_confidence.nc``.
``scorecard.<estimate>.<trend_skill|trend_correlation|spatiotemporal_skill|spatiotemporal_correlation>``
    Skill of the forced response estimated from single members of the test models. Estimates are the fingerprints
    (``gamma-5``) and the baselines ``RAW``, ``RegGMST``, ``10-year_low-pass``, ``4th-order_polynomial`` and
    ``training-ensemble_mean``; by member and as maps in ``data/scorecard.nc``.

Numbers do not depend on when, where or in how many attempts a run was made.

>>> flatten({"scores": {"5": {"test": {"r2": 0.5}}}, "t": [0.0, 1.0]})
{'scores.5.test.r2': 0.5, 't': [0.0, 1.0]}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from climanchor.workflow.provenance import write_json

METRICS_FORMAT = 1


def flatten(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the keys of nested mappings by dots, and turn NumPy values into plain ones."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = _plain(value)
    return flat


def gamma_key(gamma: float) -> str:
    """The name of a gamma in keys.

    >>> [gamma_key(g) for g in (1.0, 0.5, 100.0, float("inf"))]
    ['1', '0.5', '100', 'inf']
    """
    return f"{gamma:g}"


def write_metrics(path: Path, recipe: str, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Write the flat file; return what was written."""
    content = {"format": METRICS_FORMAT, "recipe": recipe, **flatten(metrics)}
    write_json(path, content)
    return content


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)  # JSON has neither
    return value
