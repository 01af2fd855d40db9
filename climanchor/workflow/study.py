"""A study: from a recipe to its products, its metrics and its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from climanchor.workflow import climate, netcdf
from climanchor.workflow.drawings import Drawing, drawing_step, wanted
from climanchor.workflow.page import PageSection, Table
from climanchor.workflow.recipe import Recipe
from climanchor.workflow.schema import ClimateRecipe, ExperimentRecipe
from climanchor.workflow.session import Session
from climanchor.workflow.store import Step


@dataclass(frozen=True)
class Findings:
    """What a study found: metrics for machines, sections for people, and the table to print at the end."""

    metrics: Mapping[str, Any]
    sections: list[PageSection]
    summary: list[str]
    table: Table
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def run_study(recipe: Recipe, session: Session) -> Findings:
    """Make every product of ``recipe`` and gather what they say."""
    if isinstance(recipe, ExperimentRecipe):
        return _run_experiment(recipe, session)
    return _run_climate(recipe, session)


def _run_climate(recipe: ClimateRecipe, session: Session) -> Findings:
    from climanchor.workflow.climate_page import findings
    from climanchor.workflow.pictures import pictures

    archive = climate.archive_step(recipe)
    written = session.make(archive) if archive is not None else None
    found = climate.look(recipe, written)
    plan = climate.plan(recipe, found, archive, session.reporter)
    drawings: list[tuple[Drawing, Step]] = [
        (d, drawing_step(d, recipe.figures)) for d in wanted(pictures(plan), recipe.figures)
    ]
    early = [step for name, step in plan.steps.items() if name == "coverage" or name.startswith("prepared:")]
    with session.reporter.steps(len(plan.steps) + len(drawings)):
        session.make_all(early)
        aside = climate.check_prepared(plan, session)
        session.make_all([*plan.steps.values(), *(step for _, step in drawings)])
    return findings(plan, session, drawings, aside)


def _run_experiment(recipe: ExperimentRecipe, session: Session) -> Findings:
    from climanchor.workflow import experiment as other

    experiment = other.find_experiment(recipe)
    steps = other.experiment_steps(recipe, experiment)
    with session.reporter.steps(len(steps)):
        session.make_all(steps)
    results, figures = (session.products[step.key] for step in steps)
    dataset = netcdf.read(results.file("results.nc"))
    section = other.table_section(experiment.table(dataset), experiment.notes)
    drawn = PageSection("figures", "Figures", figures=other.page_figures(figures))
    asked = Table(["parameter", "value"], [[k, str(v)] for k, v in recipe.parameters.items()])
    sections = [PageSection("asked", "What was asked", [recipe.description], [asked] if asked.rows else []), section]
    return Findings(
        experiment.metrics(dataset), [*sections, drawn] if drawn.figures else sections, [], section.tables[0],
        steps=list(steps),
    )  # fmt: skip
