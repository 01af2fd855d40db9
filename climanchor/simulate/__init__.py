"""Worlds with a known truth: structural causal models, the paper's toy settings, a synthetic archive."""

from climanchor.simulate.samples import control, prepared
from climanchor.simulate.structural import LinearSCM, Sample, scm
from climanchor.simulate.toys import confounded, direct, instrumental, low_rank_weights

__all__ = [
    "LinearSCM",
    "Sample",
    "confounded",
    "control",
    "direct",
    "instrumental",
    "low_rank_weights",
    "prepared",
    "scm",
]
