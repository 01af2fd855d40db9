"""Which runs a recipe means: found below its root, or described by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climanchor.archive import Problem, Run, Runs, describe_run, find_runs
from climanchor.archive.patterns import matcher
from climanchor.workflow.identity import file_identity
from climanchor.workflow.recipe import expand_files
from climanchor.workflow.schema import ClimateRecipe
from climanchor.workflow.sections import Dataset
from climanchor.workflow.session import NotEnoughData


@dataclass(frozen=True)
class Survey:
    """The runs of each climate model by role, and what was found but cannot be used.

    ``known`` are identities of files that need no look at the disk: those of the synthetic archive, whose sums
    the store has checked.
    """

    train: Mapping[str, Runs]
    test: Mapping[str, Runs]
    control: Mapping[str, Runs]
    known: Mapping[str, Mapping[str, Any]]

    @property
    def historical(self) -> dict[str, Runs]:
        """Training and test models."""
        return {**self.train, **self.test}

    @property
    def problems(self) -> list[Problem]:
        """What could not become a run."""
        groups = (*self.train.values(), *self.test.values(), *self.control.values())
        return list(dict.fromkeys(problem for runs in groups for problem in runs.problems))

    def files(self) -> list[Path]:
        """Every file of every run."""
        groups = (*self.train.values(), *self.test.values(), *self.control.values())
        return sorted({path for runs in groups for run in runs for path in run.paths})

    def identity(self, runs: Iterable[Run]) -> list[dict[str, Any]]:
        """What identifies runs as an input: their facets and files."""
        return [
            {
                "model": run.model,
                "member": run.member,
                "experiment": run.experiment,
                "variable": run.variable,
                "name_in_file": run.name_in_file,
                "files": [self.known.get(str(path)) or file_identity(path) for path in run.paths],
            }
            for run in runs
        ]


def survey(recipe: ClimateRecipe, root: Sequence[Path], known: Mapping[str, Mapping[str, Any]]) -> Survey:
    """Find the runs of every dataset of ``recipe``. Raises :class:`NotEnoughData` when a side has no run at all."""
    everything = [*recipe.datasets.train, *recipe.datasets.test]
    found = _Finder(recipe, root)
    runs = {dataset.model: found.runs(dataset, recipe.variable.exp) for dataset in everything}
    control: dict[str, Runs] = {}
    if recipe.detection is not None:
        asked = recipe.detection.control or [d for d in everything if d.files is None]
        by_exp = [d.model_copy(update={"exp": None, "ensemble": None}) if d in everything else d for d in asked]
        control = {d.model: found.runs(d, recipe.detection.exp) for d in by_exp}
    result = Survey(
        {d.model: runs[d.model] for d in recipe.datasets.train},
        {d.model: runs[d.model] for d in recipe.datasets.test},
        {model: some for model, some in control.items() if some},
        {str(Path(path).absolute()): identity for path, identity in known.items()},
    )
    _check(result, recipe, root)
    return result


class _Finder:
    """Looks through the root once for each combination of facets, whatever the number of models."""

    def __init__(self, recipe: ClimateRecipe, root: Sequence[Path]) -> None:
        self.variable = recipe.variable
        self.root = root
        self._found: dict[tuple[str | None, ...], Runs] = {}

    def runs(self, dataset: Dataset, exp: str) -> Runs:
        if dataset.files is not None:
            return by_hand(dataset, self.variable.short_name, dataset.exp or exp)
        facets = (
            dataset.short_name or self.variable.short_name,
            dataset.exp or exp,
            dataset.project or self.variable.project,
            dataset.mip or self.variable.mip,
            dataset.grid,
            dataset.version,
        )
        if facets not in self._found:
            variable, experiment, project, table, grid, version = facets
            assert variable is not None
            assert experiment is not None
            self._found[facets] = find_runs(
                self.root, variable=variable, experiment=experiment, project=project, table=table, grid=grid,
                version=version,
            )  # fmt: skip
        all_runs = self._found[facets]
        wanted = matcher(dataset.ensemble)
        chosen = [run for run in all_runs if run.model == dataset.model and wanted(run.member)]
        return Runs(chosen, [p for p in all_runs.problems if p.model in ("", dataset.model)])


def by_hand(dataset: Dataset, variable: str, exp: str) -> Runs:
    """Runs of a dataset with ``files``: a mapping from member to files, or a pattern with one member per file."""
    files = dataset.files
    if isinstance(files, str):
        groups = {Path(path).stem: [path] for path in expand_files(files)}
    else:
        listed = {m: [v] if isinstance(v, str) else v for m, v in (files or {}).items()}
        groups = {m: [path for pattern in v for path in expand_files(pattern)] for m, v in listed.items()}
    return Runs(
        describe_run(
            model=dataset.model, member=member, paths=paths, variable=variable, experiment=exp,
            name_in_file=dataset.short_name or "", project=dataset.project or "",
        )
        for member, paths in groups.items()
    )  # fmt: skip


def _check(found: Survey, recipe: ClimateRecipe, root: Sequence[Path]) -> None:
    """Stop when what was found cannot be enough, before anything is opened."""
    where = f"below {', '.join(map(str, root))}" if root else "in the files given"
    what = f"{recipe.variable.short_name} of {recipe.variable.exp}"
    for role, runs in (("train", found.train), ("test", found.test)):
        absent = [model for model, some in runs.items() if not some]
        if runs and len(absent) == len(runs):
            raise NotEnoughData(
                f"no {what} of any model of datasets.{role} ({', '.join(absent)}) {where}: "
                f"see what is there with `climanchor data check`"
            )
    present = [model for model, some in found.train.items() if some]
    if recipe.selection is not None and len(present) < 2:
        raise NotEnoughData(
            f"selection needs 2 training models, but only {', '.join(present)} has {what} {where}; "
            f"absent: {', '.join(m for m in found.train if m not in present)}"
        )
