"""Worlds with a known truth: structural causal models, the paper's toy settings, a synthetic archive."""

from climanchor.simulate.pseudo_observations import observations
from climanchor.simulate.samples import control, prepared
from climanchor.simulate.structural import LinearSCM, Sample, scm
from climanchor.simulate.synthetic import Archive, write_archive
from climanchor.simulate.toys import confounded, direct, instrumental, low_rank_weights

__all__ = [
    "Archive",
    "LinearSCM",
    "Sample",
    "confounded",
    "control",
    "direct",
    "instrumental",
    "low_rank_weights",
    "observations",
    "prepared",
    "scm",
    "write_archive",
]
