"""The plan of the climate experiment: which steps, with which parameters, from which inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from climanchor.workflow import assessment, products, salvage
from climanchor.workflow.identity import file_identity
from climanchor.workflow.metrics import gamma_key
from climanchor.workflow.progress import Reporter
from climanchor.workflow.schema import ClimateRecipe
from climanchor.workflow.session import NotEnoughData, Session
from climanchor.workflow.store import Product, Step
from climanchor.workflow.survey import Survey, survey

HERE = "workflow/products.py"
PREPARING = ("archive", "preprocess", "kernels", "workflow/salvage.py", HERE)
FITTING = ("fingerprint", "kernels", HERE)
DETECTING = ("detection", "fingerprint", "preprocess", "kernels", HERE)


@dataclass
class ClimatePlan:
    """The steps of one recipe on the runs that were found, by name."""

    recipe: ClimateRecipe
    found: Survey
    steps: dict[str, Step] = field(default_factory=dict)

    def add(self, step: Step) -> Step:
        """Add a step."""
        self.steps[step.name] = step
        return step

    def prepared(self, models: Sequence[str]) -> dict[str, Step]:
        """The steps that prepared ``models``."""
        return {f"prepared:{model}": self.steps[f"prepared:{model}"] for model in models}

    def fingerprints(self, gammas: Sequence[float]) -> dict[str, Step]:
        """The steps that fit the fingerprints, by the name of their γ."""
        return {gamma_key(gamma): self.steps[f"fingerprint:{gamma_key(gamma)}"] for gamma in gammas}

    def models(self, role: str) -> list[str]:
        """The models of a role (``train``, ``test``) of which something was found."""
        runs = self.found.train if role == "train" else self.found.test
        return [model for model, some in runs.items() if some]


def archive_step(recipe: ClimateRecipe) -> Step | None:
    """Write the synthetic archive, if the recipe asks for it."""
    if recipe.simulate is None:
        return None
    settings = recipe.simulate
    models = [d.model for d in (*recipe.datasets.train, *recipe.datasets.test) if d.files is None]
    return Step(
        "archive",
        products.archive(settings, models),
        {**settings.model_dump(), "models": models},
        code=("simulate",),
        label=f"synthetic archive ({settings.size})",
    )


def look(recipe: ClimateRecipe, archive: Product | None) -> Survey:
    """Find the runs of ``recipe``, in the synthetic archive or below its root."""
    if archive is None:
        return survey(recipe, recipe.root or [], {})
    known = {
        str(archive.folder / name): {"path": name, "sha256": entry["sha256"]}
        for name, entry in archive.manifest["files"].items()
    }
    folders = [archive.folder / products.ARCHIVE / project for project in ("CMIP6", "cmip5")]
    return survey(recipe, [folder for folder in folders if folder.is_dir()], known)


def plan(recipe: ClimateRecipe, found: Survey, archive: Step | None, reporter: Reporter) -> ClimatePlan:
    """All steps in order. Nothing runs; the key of every product is known."""
    result = ClimatePlan(recipe, found)
    _coverage(result)
    _prepare(result)
    _fit(result, reporter)
    _score(result)
    if recipe.detection is not None:
        _detect(result, archive)
    return result


def _coverage(plan: ClimatePlan) -> None:
    runs = [run for some in (*plan.found.historical.values(), *plan.found.control.values()) for run in some]
    plan.add(
        Step(
            "coverage",
            products.coverage_table(runs, plan.recipe.detection.exp if plan.recipe.detection else None),
            {"runs": plan.found.identity(runs)},
            code=("archive", HERE),
            label=f"coverage of {len(runs)} runs",
            publish={"coverage.csv": "data/coverage.csv", "years.csv": "data/coverage_years.csv"},
        )
    )


def _prepare(plan: ClimatePlan) -> None:
    recipe = plan.recipe
    years = {d.model: d.years for d in (*recipe.datasets.train, *recipe.datasets.test)}
    for model, runs in plan.found.historical.items():
        if not runs:
            continue
        parameters = recipe.prepare.model_dump() | {"runs": plan.found.identity(runs), "years": years[model]}
        plan.add(
            Step(
                f"prepared:{model}",
                products.prepared(runs, recipe.prepare, years[model]),
                parameters,
                code=PREPARING,
                label=f"prepare {model} ({len(runs)} members)",
                publish={f"{model}.nc": f"data/prepared/{model}.nc"},
            )
        )
    models = [*plan.models("train"), *plan.models("test")]
    plan.add(
        Step(
            "variability",
            products.variability(models),
            inputs=plan.prepared(models),
            code=PREPARING,
            label="magnitude of decadal variability",
            publish={"variability.nc": "data/variability.nc"},
        )
    )


def _fit(plan: ClimatePlan, reporter: Reporter) -> None:
    recipe, train = plan.recipe, plan.models("train")
    sampling = {"samples_per_model": recipe.samples_per_model, "seed": recipe.seed}
    chosen: dict[str, Step] = {}
    if recipe.selection is not None:
        candidates = recipe.selection.model_dump(exclude={"rule", "weight"})
        chosen["selection"] = plan.add(
            Step(
                "selection",
                products.selection(recipe, train, _telling(reporter)),
                {**sampling, **candidates, "gammas": recipe.gammas},
                plan.prepared(train),
                FITTING,
                "selection by leaving models out",
                {"selection.nc": "data/selection.nc"},
            )
        )
    rule = recipe.selection.model_dump(include={"rule", "weight"}) if recipe.selection else {}
    for gamma in recipe.gammas:
        key = gamma_key(gamma)
        fitted = plan.add(
            Step(
                f"fingerprint:{key}",
                products.fingerprint(recipe, train, gamma),
                {**sampling, **rule, **recipe.fingerprint.model_dump(), "gamma": key},
                {**plan.prepared(train), **chosen},
                FITTING,
                f"fingerprint at γ = {key}",
                {"fingerprint.nc": f"data/fingerprint_gamma-{key}.nc"},
            )
        )
        for role in ("train", "test"):
            models = plan.models(role)
            if not models:
                continue
            plan.add(
                Step(
                    f"scores:{key}:{role}",
                    products.scores(models),
                    {"role": role},
                    {**plan.prepared(models), "fingerprint": fitted},
                    FITTING,
                    f"{role} scores at γ = {key}",
                    {"scores.nc": f"data/scores_gamma-{key}_{role}.nc"},
                )
            )


def _score(plan: ClimatePlan) -> None:
    train, test = plan.models("train"), plan.models("test")
    if test:
        fitted = plan.fingerprints(plan.recipe.gammas)
        plan.add(assessment.scorecard_step(train, test, plan.prepared([*train, *test]), fitted))


def _detect(plan: ClimatePlan, archive: Step | None) -> None:
    recipe = plan.recipe
    settings = recipe.detection
    assert settings is not None
    if not plan.found.control:
        raise NotEnoughData(
            f"detection needs unforced runs, but no {recipe.variable.short_name} of {settings.exp} was found: "
            f"add control runs below root, name them in detection.control, or leave detection: out"
        )
    inputs: dict[str, Step] = {}
    for model, runs in plan.found.control.items():
        parameters = {"runs": plan.found.identity(runs), "grid": recipe.prepare.grid}
        step = Step(
            f"control:{model}",
            products.control(runs, recipe.prepare, settings.drift),
            {**parameters, "drift": settings.drift},
            code=("detection", *PREPARING),
            label=f"prepare control of {model}",
            publish={f"{model}.nc": f"data/control/{model}.nc"},
        )
        inputs[step.name] = plan.add(step)
    _compare_nulls(plan, inputs)
    inputs["observations"] = plan.add(_observations(recipe, archive))
    test, train = plan.models("test"), plan.models("train")
    options = settings.model_dump(mode="json", exclude={"observations", "control", "exp", "drift", "gammas"})
    for gamma in settings.gammas or recipe.gammas:
        key = gamma_key(gamma)
        fitted = plan.steps[f"fingerprint:{key}"]
        plan.add(
            Step(
                f"detection:{key}",
                products.detection(recipe, list(plan.found.control), test, train),
                {**options, "fit": fitted.parameters},
                {**inputs, **plan.prepared([*test, *train]), "fingerprint": fitted},
                DETECTING,
                f"detection at γ = {key}",
                {"detection.nc": f"data/detection_gamma-{key}.nc"},
            )
        )


def _compare_nulls(plan: ClimatePlan, controls: Mapping[str, Step]) -> None:
    """Where both training and test models have control runs: how over-confident is a null from the former?"""
    settings = plan.recipe.detection
    assert settings is not None
    calm, lively = ([m for m in plan.models(role) if m in plan.found.control] for role in ("train", "test"))
    if calm and lively:
        used = {f"control:{model}": controls[f"control:{model}"] for model in (*calm, *lively)}
        fitted = plan.fingerprints(settings.gammas or plan.recipe.gammas)
        plan.add(assessment.over_confidence_step(settings, calm, lively, used, fitted))


def _observations(recipe: ClimateRecipe, archive: Step | None) -> Step:
    assert recipe.detection is not None
    settings = recipe.detection.observations
    reference = recipe.detection.reference or recipe.prepare.reference
    identity: dict[str, Any] = settings.model_dump(mode="json")
    inputs: dict[str, Step] = {}
    if settings.simulated and archive is not None:
        inputs["archive"] = archive
    elif settings.path is not None:
        identity["file"] = file_identity(settings.path)
    return Step(
        "observations",
        products.observations(settings, recipe.prepare.grid, reference),
        {**identity, "grid": recipe.prepare.grid, "reference": reference},
        inputs,
        ("detection", "preprocess", "kernels", HERE),
        "prepare observations",
        {"observations.nc": "data/observations.nc"},
    )


def _telling(reporter: Reporter) -> Any:
    def tell(done: int, total: int) -> None:
        reporter.line(f"selection: split {done} of {total}")

    return tell


def check_prepared(plan: ClimatePlan, session: Session) -> dict[str, str]:
    """Which models were set aside while preparing, and why; stop if what remains is too little."""
    aside: dict[str, str] = {}
    for model in plan.found.historical:
        step = plan.steps.get(f"prepared:{model}")
        if step is None:
            aside[model] = "no run found"
        elif salvage.is_set_aside(session.products[step.key]):
            aside[model] = salvage.reason(session.products[step.key])
    for role in ("train", "test"):
        left = [m for m in plan.models(role) if m not in aside]
        least = 2 if role == "train" and plan.recipe.selection is not None else 1
        if plan.models(role) and len(left) < least:
            reasons = "; ".join(f"{m}: {aside[m]}" for m in plan.models(role) if m in aside)
            raise NotEnoughData(f"{len(left)} usable {role} models, {least} needed. Set aside: {reasons}")
    return aside
