"""``--dry-run``: what would run, what is there already, the coverage table, and what it would cost."""

from __future__ import annotations

from pathlib import Path

from climanchor.archive import coverage, format_coverage, memory_estimate
from climanchor.workflow import climate
from climanchor.workflow.drawings import drawing_step, wanted
from climanchor.workflow.page import Table, as_text
from climanchor.workflow.progress import Reporter, seconds, size, table_width
from climanchor.workflow.recipe import load
from climanchor.workflow.runner import Options, check_experiment
from climanchor.workflow.schema import ClimateRecipe, ExperimentRecipe
from climanchor.workflow.session import Session
from climanchor.workflow.store import Step, Store

#: Measured on two cores of a laptop; an estimate of the order of magnitude is all that is wanted.
READ_BYTES_PER_SECOND = 60e6
FIT_SECONDS_PER_CANDIDATE = 0.01


def preview(path: Path, options: Options, reporter: Reporter) -> str:
    """Everything that can be said without computing. Nothing is written."""
    recipe = load(path, root=options.root)
    check_experiment(recipe)
    session = Session(Store(options.store or options.output / "run" / "store"), reporter)
    if isinstance(recipe, ExperimentRecipe):
        from climanchor.workflow.experiment import experiment_steps, find_experiment

        return _plan_text(list(experiment_steps(recipe, find_experiment(recipe))), session)
    return _climate(recipe, session)


def _climate(recipe: ClimateRecipe, session: Session) -> str:
    from climanchor.workflow.pictures import pictures

    archive = climate.archive_step(recipe)
    written = session.store.find(archive) if archive is not None else None
    if archive is not None and written is None:
        return _plan_text([archive], session) + "\nThe other steps follow from the files of the synthetic archive."
    found = climate.look(recipe, written)
    plan = climate.plan(recipe, found, archive, session.reporter)
    drawings = [drawing_step(d, recipe.figures) for d in wanted(pictures(plan), recipe.figures)]
    steps = [*([archive] if archive else []), *plan.steps.values(), *drawings]
    runs = [run for some in (*found.historical.values(), *found.control.values()) for run in some]
    rows = round(180 / recipe.prepare.grid)
    parts = [format_coverage(coverage(runs), width=table_width()), *(f"not usable: {p}" for p in found.problems)]
    parts += [memory_estimate(runs, grid=(rows, 2 * rows)).describe(), _cost(plan, session), _plan_text(steps, session)]
    return "\n\n".join(parts)


def _cost(plan: climate.ClimatePlan, session: Session) -> str:
    """A rough time: reading what is not prepared yet, and comparing the candidates."""
    waiting = [m for m in plan.found.historical if f"prepared:{m}" in plan.steps
               and not session.is_done(plan.steps[f"prepared:{m}"])]  # fmt: skip
    files = {path for m in waiting for run in plan.found.historical[m] for path in run.paths}
    read = sum(path.stat().st_size for path in files if path.exists())
    settings = plan.recipe.selection
    candidates = 0
    if settings is not None and not session.is_done(plan.steps["selection"]):
        candidates = len(settings.alphas) * len(plan.recipe.gammas) * settings.splits
    estimate = read / READ_BYTES_PER_SECOND + candidates * FIT_SECONDS_PER_CANDIDATE
    return f"To read: {len(files)} files, {size(read)}. Time: about {seconds(estimate)} on two cores, figures apart."


def _plan_text(steps: list[Step], session: Session) -> str:
    rows = [[step.title, "there, reused" if session.is_done(step) else "to do"] for step in steps]
    return as_text(Table(["step", "state"], rows))
