"""Estimators that follow scikit-learn's contract: `fit`, `predict`, `transform`, `score` on plain arrays.

`Anchor` regularises any of them; the warnings it can give derive from `AnchorWarning` (see `diagnostics`).
"""

from climanchor.estimators.anchor import Anchor
from climanchor.estimators.compatibility import CompatibilityReport, is_anchor_compatible, worst_case_risk
from climanchor.estimators.cvp import CVP
from climanchor.estimators.diagnostics import (
    AnchorWarning,
    ConstantColumnWarning,
    GammaWithoutAlphaWarning,
    IncompatibleEstimatorWarning,
    InertRankWarning,
    MissingAnchorsWarning,
    WeakAnchorWarning,
)
from climanchor.estimators.irm import IRM
from climanchor.estimators.opls import OPLS
from climanchor.estimators.reduced_rank import ReducedRankRidge

__all__ = [
    "CVP",
    "IRM",
    "OPLS",
    "Anchor",
    "AnchorWarning",
    "CompatibilityReport",
    "ConstantColumnWarning",
    "GammaWithoutAlphaWarning",
    "IncompatibleEstimatorWarning",
    "InertRankWarning",
    "MissingAnchorsWarning",
    "ReducedRankRidge",
    "WeakAnchorWarning",
    "is_anchor_compatible",
    "worst_case_risk",
]
