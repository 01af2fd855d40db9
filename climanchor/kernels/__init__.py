"""The numerics, on plain arrays: NumPy and SciPy only, no labels.

Reading order: `moments` (the sums), `anchor` (the projection), `path` (reduced-rank ridge for all α and ρ),
`scores` (R² and residual–anchor correlation from the sums).
"""

from climanchor.kernels.anchor import anchor_basis, anchor_factor, anchor_transform, check_gamma
from climanchor.kernels.moments import Moments, Scaling
from climanchor.kernels.path import (
    Factors,
    Spectrum,
    decompose_gram,
    decompose_moments,
    decompose_samples,
    ridge_path,
    target_basis,
)
from climanchor.kernels.scores import Scores, residual_moments, score_factors, score_path, score_residuals, score_sums

__all__ = [
    "Factors",
    "Moments",
    "Scaling",
    "Scores",
    "Spectrum",
    "anchor_basis",
    "anchor_factor",
    "anchor_transform",
    "check_gamma",
    "decompose_gram",
    "decompose_moments",
    "decompose_samples",
    "residual_moments",
    "ridge_path",
    "score_factors",
    "score_path",
    "score_residuals",
    "score_sums",
    "target_basis",
]
