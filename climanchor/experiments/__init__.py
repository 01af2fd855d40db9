"""The paper's experiments beside the climate one, as functions that return labelled results.

Each has a recipe of the same name; ``EXPERIMENTS`` is the table by which recipes find them.
"""

from collections.abc import Mapping
from types import MappingProxyType

from climanchor.experiments.comparison import (
    COMPARISON_NOTES,
    comparison_metrics,
    comparison_table,
    univariate_vs_multivariate,
)
from climanchor.experiments.experiment import Drawing, Experiment
from climanchor.experiments.perturbation import (
    confounding,
    high_dimensional,
    non_gaussian,
    perturbation_strength,
)
from climanchor.experiments.perturbation_summary import (
    CONFOUNDING_NOTES,
    HIGH_DIMENSIONAL_NOTES,
    NON_GAUSSIAN_NOTES,
    PERTURBATION_NOTES,
    perturbation_drawings,
    perturbation_metrics,
    perturbation_table,
)
from climanchor.experiments.pollution import (
    AIR_QUALITY_NOTES,
    air_quality,
    air_quality_metrics,
    air_quality_table,
)
from climanchor.experiments.tradeoff import (
    HYPERPARAMETER_NOTES,
    hyperparameter_drawings,
    hyperparameter_metrics,
    hyperparameter_table,
    hyperparameters,
)

_PERTURBATIONS = (
    Experiment(name, run, perturbation_metrics, perturbation_table, notes, perturbation_drawings)
    for name, run, notes in (
        ("perturbation_strength", perturbation_strength, PERTURBATION_NOTES),
        ("non_gaussian", non_gaussian, NON_GAUSSIAN_NOTES),
        ("confounding", confounding, CONFOUNDING_NOTES),
        ("high_dimensional", high_dimensional, HIGH_DIMENSIONAL_NOTES),
    )
)
_OTHERS = (
    Experiment(
        "hyperparameters",
        hyperparameters,
        hyperparameter_metrics,
        hyperparameter_table,
        HYPERPARAMETER_NOTES,
        hyperparameter_drawings,
    ),
    Experiment(
        "univariate_vs_multivariate",
        univariate_vs_multivariate,
        comparison_metrics,
        comparison_table,
        COMPARISON_NOTES,
    ),
    Experiment("air_quality", air_quality, air_quality_metrics, air_quality_table, AIR_QUALITY_NOTES),
)

#: Every experiment a recipe can name.
EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({e.name: e for e in (*_PERTURBATIONS, *_OTHERS)})

__all__ = [
    "EXPERIMENTS",
    "Drawing",
    "Experiment",
    "air_quality",
    "confounding",
    "high_dimensional",
    "hyperparameters",
    "non_gaussian",
    "perturbation_strength",
    "univariate_vs_multivariate",
]
