"""Run a recipe in an output folder: lock it, compute, write the results, say where they are."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from climanchor._version import __version__
from climanchor.workflow import provenance
from climanchor.workflow.cluster import check_profile, cluster
from climanchor.workflow.config import load_config
from climanchor.workflow.lock import FolderLock
from climanchor.workflow.metrics import write_metrics
from climanchor.workflow.output import publish_products
from climanchor.workflow.page import Page, PageSection, Table, write_page
from climanchor.workflow.progress import Reporter
from climanchor.workflow.published import REFERENCE
from climanchor.workflow.recipe import Recipe, load
from climanchor.workflow.schema import ExperimentRecipe
from climanchor.workflow.session import Session
from climanchor.workflow.store import Store, write_atomically
from climanchor.workflow.study import Findings, run_study

#: What the foot of the page points to.
LINKS = (
    ("metrics.json", "metrics.json"),
    ("data", "data/"),
    ("log", "run/log.txt"),
    ("recipe", "run/recipe.yml"),
    ("provenance", "run/provenance.json"),
)


@dataclass(frozen=True)
class Result:
    """A finished run: where its report is, its metrics, and its main table."""

    report: Path
    metrics: dict[str, Any]
    table: Table
    made: int
    reused: int


@dataclass(frozen=True)
class Options:
    """How to run, as opposed to what."""

    output: Path
    root: list[Path] | None = None
    profile: str | None = None
    store: Path | None = None
    prune: bool = False


def run(recipe_path: Path, options: Options, reporter: Reporter) -> Result:
    """Run the recipe at ``recipe_path``. What is finished in the folder is reused, whenever the last run ended.

    Raises :class:`RecipeError`, :class:`NotEnoughData`, :class:`FolderInUse`, :class:`ClusterError` or
    :class:`StepFailed`; each says what to do.
    """
    recipe = load(recipe_path, root=options.root)
    check_experiment(recipe)
    config = load_config()
    profile = options.profile or config.dask
    check_profile(profile)
    folder = options.output / "run"
    with contextlib.ExitStack() as stack:
        stack.enter_context(FolderLock(folder, name=options.output))
        if options.store is not None:  # shared by several output folders, used by one run at a time
            stack.enter_context(FolderLock(options.store))
        stack.enter_context(_logging_to(folder / "log.txt"))
        reporter.line(f"climanchor {__version__}: {recipe.title}")
        session = Session(Store(options.store or folder / "store"), reporter)
        session.store.sweep()
        with cluster(profile, config) as where:
            reporter.line(f"computing with {where}")
            findings = run_study(recipe, session)
        result = _write(recipe, recipe_path, options, session, findings)
        if options.prune:
            session.store.prune({product.folder.name for product in session.products.values()})
        reporter.line(f"{len(session.made)} steps made, {len(session.reused)} reused; report: {result.report}")
    return result


def check_experiment(recipe: Recipe) -> None:
    """Refuse an experiment that does not exist, or parameters that it does not have, before anything is done."""
    if isinstance(recipe, ExperimentRecipe):
        from climanchor.workflow.experiment import find_experiment

        find_experiment(recipe)


def _write(recipe: Recipe, path: Path, options: Options, session: Session, findings: Findings) -> Result:
    output, folder = options.output, options.output / "run"
    publish_products(findings.steps, session, output)
    filled = recipe.model_dump(mode="json", exclude_none=True)
    text = yaml.safe_dump(filled, sort_keys=False, allow_unicode=True)
    write_atomically(folder / "recipe.yml", f"# {path.name}, with every default filled in\n{text}")
    environment = provenance.environment()
    provenance.write_json(folder / "environment.json", environment)
    files = provenance.describe_files(findings.files)
    steps = provenance.describe_steps(session)
    provenance.write_json(folder / "provenance.json", {"inputs": files, "steps": steps})
    metrics = write_metrics(output / "metrics.json", path.stem, findings.metrics)
    page = Page(
        title=recipe.title,
        description=recipe.description,
        summary=findings.summary,
        sections=[*findings.sections, _citing(recipe), _origin(environment, files, steps), _recipe_section(text)],
        warnings=[*findings.warnings, *session.warnings()],
        footer=f"climanchor {__version__}, {environment['finished']}.",
        links=LINKS,
    )
    write_page(page, output / "index.html")
    return Result(output / "index.html", metrics, findings.table, len(session.made), len(session.reused))


def _citing(recipe: Recipe) -> PageSection:
    references = recipe.references or [REFERENCE]
    return PageSection(
        "citing",
        "How to cite",
        [f"climanchor {__version__} (cite the version), and the method:", *references],
    )


def _origin(environment: dict[str, Any], files: list[dict[str, Any]], steps: list[dict[str, Any]]) -> PageSection:
    versions = {"climanchor": environment["climanchor"], "Python": environment["python"], **environment["packages"]}
    machine = [[key, str(environment[key])] for key in ("command", "folder", "machine", "system", "cores", "batch_job")
               if environment[key] is not None]  # fmt: skip
    done = [[step[key] for key in ("step", "product", "seconds", "made")] for step in steps]
    read = [[file["path"], file["bytes"], file["tracking_id"] or file["sha256"]] for file in files]
    tables = [
        Table(["", ""], machine, "Machine and command"),
        Table(["package", "version"], [[k, v] for k, v in versions.items()], "Versions", folded=True),
        Table(["step", "product", "seconds", "made"], done, "Steps", folded=True),
        Table(["file", "bytes", "tracking id or SHA-256"], read, "Input files", folded=True),
    ]
    return PageSection("provenance", "Provenance", tables=[table for table in tables if table.rows])


def _recipe_section(text: str) -> PageSection:
    return PageSection("recipe", "The recipe, with every default filled in", preformatted=text)


@contextlib.contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Append everything that is told to ``path``, dated."""
    logger = logging.getLogger("climanchor")
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    level, logger.level = logger.level, logging.INFO
    logger.addHandler(handler)
    logger.info("process %d began", os.getpid())
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()
