"""What a recipe may say: the keys, their types, ranges and defaults.

Recipes are data. A recipe of the climate experiment is a :class:`ClimateRecipe`; a recipe with another
``experiment:`` is an :class:`ExperimentRecipe`, whose ``parameters`` are those of the experiment's function.
Unknown keys are errors. Nothing here opens a file: :mod:`climanchor.workflow.recipe` reads the YAML, fills in
environment variables, and words the errors.
"""

from __future__ import annotations

import difflib
import math
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from climanchor.simulate.models import MODELS
from climanchor.workflow.sections import (
    Datasets,
    DetectionSettings,
    Figures,
    FingerprintSettings,
    Gammas,
    Prepare,
    Section,
    SelectionSettings,
    Simulate,
    Variable,
)


class Described(Section):
    """What every recipe says about itself."""

    title: str = Field(min_length=1)
    description: str = ""
    references: list[str] = Field(default_factory=list)
    figures: Figures = Figures()


class ClimateRecipe(Described):
    """Fit on some climate models, choose by leaving half of them out, test on others."""

    experiment: Literal["climate"] = "climate"
    root: list[Path] | None = None
    simulate: Simulate | None = None
    variable: Variable = Variable()
    datasets: Datasets
    prepare: Prepare = Prepare()
    gammas: Gammas = Field(default_factory=lambda: [1.0, 5.0, 100.0])
    samples_per_model: int | None = Field(default=500, ge=2)
    seed: int = Field(default=0, ge=0)
    selection: SelectionSettings | None = None
    fingerprint: FingerprintSettings = FingerprintSettings()
    detection: DetectionSettings | None = None

    @field_validator("root", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, (str, Path)) else value

    @field_validator("gammas")
    @classmethod
    def _numbers(cls, value: list[float]) -> list[float]:
        return _no_nan(value)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for check in (_check_source, _check_simulated, _check_choice, _check_ranks, _check_families, _check_detection):
            check(self)
        return self


class ExperimentRecipe(Described):
    """Another experiment of the paper: its name and the parameters of its function."""

    experiment: str
    parameters: dict[str, Any] = Field(default_factory=dict)


def _no_nan(values: list[float]) -> list[float]:
    if any(math.isnan(v) for v in values):
        raise ValueError("gamma must be a number from 0 to inf, not nan")
    if len(set(values)) < len(values):
        raise ValueError("a value is listed twice")
    return values


def _check_source(recipe: ClimateRecipe) -> None:
    by_hand = all(d.files is not None for d in (*recipe.datasets.train, *recipe.datasets.test))
    if recipe.root is not None and recipe.simulate is not None:
        raise ValueError("root and simulate exclude one another: keep one")
    if recipe.root is None and recipe.simulate is None and not by_hand:
        raise ValueError("root is missing: name the folder of your CMIP files (root: /path, or --root /path)")


def _check_simulated(recipe: ClimateRecipe) -> None:
    for dataset in (*recipe.datasets.train, *recipe.datasets.test):
        if recipe.simulate is not None and dataset.files is None and dataset.model not in MODELS:
            near = difflib.get_close_matches(dataset.model, MODELS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(MODELS)}"
            raise ValueError(f"datasets: the synthetic archive has no model {dataset.model}: {hint}")


def _check_choice(recipe: ClimateRecipe) -> None:
    fixed = recipe.fingerprint
    if recipe.selection is None and (fixed.alpha is None or fixed.rank is None):
        raise ValueError("without selection:, fingerprint.alpha and fingerprint.rank must both be given")
    if recipe.selection is not None and len(recipe.datasets.train) < 2:
        raise ValueError(
            "selection leaves half of the training models out, so datasets.train needs at least 2, not 1: "
            "add a model, or give fingerprint.alpha and fingerprint.rank instead of selection"
        )
    if recipe.selection is not None and recipe.selection.rule == "published" and 1.0 not in recipe.gammas:
        raise ValueError("selection.rule published chooses at gamma = 1, so gammas must contain 1")


def _check_ranks(recipe: ClimateRecipe) -> None:
    ranks = list(recipe.selection.ranks) if recipe.selection else []
    ranks += [recipe.fingerprint.rank] if recipe.fingerprint.rank else []
    cells = recipe.prepare.n_cells
    if ranks and max(ranks) > cells:
        raise ValueError(f"rank {max(ranks)} exceeds the {cells} cells of the {recipe.prepare.grid:g}° grid")


def _check_families(recipe: ClimateRecipe) -> None:
    known = {d.model for d in recipe.datasets.train}
    for family, members in (recipe.selection.families if recipe.selection else {}).items():
        strangers = [m for m in members if m not in known]
        if strangers:
            raise ValueError(
                f"selection.families.{family} names {', '.join(strangers)}, not among datasets.train "
                f"({', '.join(sorted(known))})"
            )


def _check_detection(recipe: ClimateRecipe) -> None:
    detection = recipe.detection
    if detection is None:
        return
    if detection.observations.simulated and recipe.simulate is None:
        raise ValueError("detection.observations.simulated needs simulate: at the top of the recipe")
    strangers = [g for g in detection.gammas or [] if g not in recipe.gammas]
    if strangers:
        raise ValueError(f"detection.gammas has {strangers[0]:g}, which is not in gammas")
