"""Anchor-regularised fingerprints of climate change.

Public names are loaded on first use, so that ``import climanchor`` stays fast and light.
"""

from importlib import import_module
from typing import Any

from climanchor._version import __version__

#: Where each public name lives. The order is that of a study: data, fit, detect; then the tools beside it.
_EXPORTS = {
    "climanchor.archive": ("Run", "find_runs", "describe_run", "read_catalogue", "coverage", "open_runs"),
    "climanchor.preprocess": (
        "annual_mean", "regular_grid", "regrid", "anomalies", "global_mean", "forced_response",
        "decadal_variability", "div_magnitude", "common_period", "land_mask", "prepare",
        "save_prepared", "open_prepared",
    ),
    "climanchor.fingerprint": ("select", "Selection", "fit_fingerprint", "Fingerprint"),
    "climanchor.detection": ("detect",),
    "climanchor.estimators": (
        "Anchor", "ReducedRankRidge", "OPLS", "IRM", "CVP", "is_anchor_compatible", "worst_case_risk",
    ),
    "climanchor.kernels": ("Moments",),
}  # fmt: skip
_MODULES = ("datasets", "detection", "estimators", "experiments", "kernels", "plotting", "simulate")
_HOME = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"climanchor.{name}")
    else:
        raise AttributeError(f"module 'climanchor' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
