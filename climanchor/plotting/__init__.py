"""Figures for papers and reports, from what ``prepare``, ``select``, ``Fingerprint.score`` and ``detect`` return.

Every function returns a matplotlib figure, never calls ``show``, never changes global settings and never
touches the network: coastlines come with the package.
"""

from climanchor.plotting.candidates import pareto, selection_grid
from climanchor.plotting.comparison import map_difference, map_significance
from climanchor.plotting.coverage import coverage
from climanchor.plotting.evidence import detection_series, null_distribution
from climanchor.plotting.maps import map_field, map_forced, map_patterns
from climanchor.plotting.scores import map_r2, map_residual_correlation, map_scores
from climanchor.plotting.simulation import perturbation
from climanchor.plotting.style import save
from climanchor.plotting.tradeoffs import scores_by_gamma
from climanchor.plotting.variability import div_magnitude, div_series

__all__ = [
    "coverage",
    "detection_series",
    "div_magnitude",
    "div_series",
    "map_difference",
    "map_field",
    "map_forced",
    "map_patterns",
    "map_r2",
    "map_residual_correlation",
    "map_scores",
    "map_significance",
    "null_distribution",
    "pareto",
    "perturbation",
    "save",
    "scores_by_gamma",
    "selection_grid",
]
