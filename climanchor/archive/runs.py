"""A run: one member of one climate model in one experiment, and the files that hold it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import pandas as pd


@dataclass(frozen=True)
class Problem:
    """One thing that was wrong with the data, where, and what was done about it.

    ``action`` is ``"set aside"`` (the file or member is not used), ``"assumed"`` (a gap in the metadata was
    filled by a stated assumption) or ``"noted"`` (used as it is).
    """

    model: str
    member: str
    path: str
    reason: str
    action: str = "set aside"

    def __str__(self) -> str:
        where = " ".join(part for part in (self.model, self.member, self.path) if part)
        return f"{where}: {self.reason} ({self.action})"


@dataclass(frozen=True)
class Run:
    """One member of one climate model in one experiment.

    ``paths`` are absolute, sorted by name. ``name_in_file`` is the variable's name inside the files where it is not
    ``variable``; ``units`` and ``calendar``, where given, stand for what the files do not say.
    ``notes`` hold what finding left out: older versions, other grids, other tables.

    >>> run = Run(model="CESM2", member="r1i1p1f1", variable="tas", experiment="historical", paths=())
    >>> run.describe()
    'CESM2 r1i1p1f1 historical tas: 0 files'
    """

    model: str
    member: str
    variable: str
    paths: tuple[Path, ...]
    experiment: str = ""
    table: str = ""
    grid_label: str = ""
    version: str = ""
    project: str = ""
    institute: str = ""
    activity: str = ""
    frequency: str = ""
    name_in_file: str = ""
    units: str = ""
    calendar: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Files are read later, by other processes and perhaps from another working folder.
        object.__setattr__(self, "paths", tuple(path.absolute() for path in self.paths))

    def describe(self) -> str:
        """One line: the facets that are known and the number of files."""
        names = (self.project, self.model, self.member, self.experiment, self.table, self.variable)
        known = " ".join(part for part in (*names, self.grid_label, self.version) if part)
        count = len(self.paths)
        return f"{known}: {count} file{'' if count == 1 else 's'}"


class Runs(list[Run]):
    """A list of runs, and in ``problems`` what was found on disk and could not become one."""

    def __init__(self, runs: Iterable[Run] = (), problems: Iterable[Problem] = ()) -> None:
        super().__init__(runs)
        self.problems: tuple[Problem, ...] = tuple(problems)

    def without(self, path: str | PathLike[str], *, reason: str) -> "Runs":
        """The same runs without one file, which is listed in ``problems``; for a file that failed while read.

        Raises ``ValueError`` where no run has the file.
        """
        gone = Path(path).absolute()
        hit = [run for run in self if gone in run.paths]
        if not hit:
            raise ValueError(f"no run has the file {gone}")
        left = [replace(run, paths=tuple(p for p in run.paths if p != gone)) for run in self]
        listed = (Problem(run.model, run.member, str(gone), reason) for run in hit)
        return Runs(left, (*self.problems, *listed))


def describe_run(
    *,
    model: str,
    member: str,
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    variable: str = "tas",
    name_in_file: str = "",
    experiment: str = "",
    frequency: str = "",
    units: str = "",
    calendar: str = "",
    project: str = "",
    grid_label: str = "",
) -> Run:
    """Describe by hand a run whose files do not follow CMIP names.

    ``variable`` is the name the opened data will have, ``name_in_file`` the one the files use where it differs.
    ``calendar`` and ``units`` are used where the files do not give them. Nothing is opened; a path that does not
    exist raises ``FileNotFoundError``.

    >>> describe_run(model="PCM", member="B06.57", paths=[], variable="tas", name_in_file="TREFHT").model
    'PCM'
    """
    listed = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = tuple(sorted(Path(path) for path in listed))
    absent = [str(path) for path in files if not path.exists()]
    if absent:
        raise FileNotFoundError(f"{model} {member}: no such file: {', '.join(absent)}")
    if not model or not member or not variable:
        raise ValueError("a run needs a model, a member and a variable")
    return Run(
        model=model,
        member=member,
        variable=variable,
        paths=files,
        experiment=experiment,
        frequency=frequency,
        grid_label=grid_label,
        project=project,
        name_in_file="" if name_in_file == variable else name_in_file,
        units=units,
        calendar=calendar,
    )


def problem_table(problems: Sequence[Problem]) -> pd.DataFrame:
    """Problems as a table with the columns model, member, path, reason and action.

    >>> list(problem_table([Problem("CESM2", "r1i1p1f1", "", "no files")]).reason)
    ['no files']
    """
    columns = ["model", "member", "path", "reason", "action"]
    return pd.DataFrame([[getattr(p, c) for c in columns] for p in problems], columns=columns)
