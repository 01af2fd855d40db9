"""Figures for papers and reports, from what ``prepare``, ``select``, ``Fingerprint.score`` and ``detect`` return.

Every function returns a matplotlib figure, never calls ``show``, never changes global settings and never
touches the network: coastlines come with the package.
"""

from climanchor.plotting.comparison import map_difference, map_significance
from climanchor.plotting.maps import map_field, map_forced, map_patterns
from climanchor.plotting.scores import map_r2, map_residual_correlation, map_scores
from climanchor.plotting.style import save

__all__ = [
    "map_difference",
    "map_field",
    "map_forced",
    "map_patterns",
    "map_r2",
    "map_residual_correlation",
    "map_scores",
    "map_significance",
    "save",
]
