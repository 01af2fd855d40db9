"""Choosing: from files with facets to runs, by what was asked and by what is newest and most common."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from climanchor.archive.drs import Facets, table_frequency, version_order
from climanchor.archive.patterns import matcher
from climanchor.archive.runs import Problem, Run, Runs

Names = str | Iterable[str] | None
Found = tuple[Facets, Path]
_Rank = Callable[[str, int], tuple[int, int, str]]


@dataclass(frozen=True)
class Wanted:
    """What was asked for; names may hold wildcards and ranges, ``None`` is anything."""

    variable: str
    experiment: str | Iterable[str]
    models: Names = None
    members: Names = None
    project: str | None = None
    table: str | None = None
    grid: str | None = None
    version: str | None = None

    def tests(self) -> dict[str, Callable[[str], bool]]:
        """A test for each facet that was asked for."""
        asked = {
            "variable": self.variable,
            "experiment": self.experiment,
            "model": self.models,
            "member": self.members,
            "project": None if self.project is None else self.project.upper(),
            "table": self.table,
            "grid_label": self.grid,
            "version": self.version,
        }
        return {facet: matcher(names) for facet, names in asked.items() if names is not None}


def choose_runs(found: Iterable[Found], wanted: Wanted, problems: list[Problem]) -> Runs:
    """Runs from files with facets: those asked for, on one table and grid per model, newest version each.

    ``found`` may add to ``problems`` while it is read.
    """
    tests = wanted.tests()
    datasets: dict[tuple[str, ...], list[Found]] = defaultdict(list)
    for facets, path in found:
        # CMIP5 has no grid labels, so a wanted one says nothing about its files.
        if all(test(getattr(facets, f)) or (f == "grid_label" and not facets.grid_label) for f, test in tests.items()):
            datasets[facets.project, facets.model, facets.experiment, facets.variable].append((facets, path))
    runs = [run for files in datasets.values() for run in _runs_of_dataset(files, problems)]
    problems += _absent(wanted, {run.model for run in runs})
    return Runs(sorted(runs, key=_order), problems)


def _runs_of_dataset(found: list[Found], problems: list[Problem]) -> Iterator[Run]:
    """One run per member, on one table and one grid."""
    found, other_tables = _choose(found, "table", _table_rank, problems)
    found, other_grids = _choose(found, "grid_label", _grid_rank, problems)
    by_member: dict[str, list[Found]] = defaultdict(list)
    for item in found:
        by_member[item[0].member].append(item)
    for items in by_member.values():
        yield _newest(items, notes=(*other_tables, *other_grids))


def _choose(
    found: list[Found], facet: str, rank: _Rank, problems: list[Problem]
) -> tuple[list[Found], tuple[str, ...]]:
    """Keep one value of a facet for the whole model, the best by rank; say what was passed over."""
    members: dict[str, set[str]] = defaultdict(set)
    for facets, _ in found:
        members[getattr(facets, facet)].add(facets.member)
    best = min(members, key=lambda value: rank(value, len(members[value])))
    kind = facet.removesuffix("_label")
    for value in members:
        for member in sorted(members[value] - members[best]) if value != best else ():
            reason = f"only on {kind} {value!r}, while {len(members[best])} member(s) are on {best!r}"
            problems.append(Problem(found[0][0].model, member, "", reason))
    notes = tuple(f"also on {kind} {value} (not used)" for value in sorted(members) if value != best)
    return [item for item in found if getattr(item[0], facet) == best], notes


def _table_rank(table: str, count: int) -> tuple[int, int, str]:
    frequency = table_frequency(table)
    order = ("mon", "yr", "day")
    return (order.index(frequency) if frequency in order else len(order), -count, table)


def _grid_rank(label: str, count: int) -> tuple[int, int, str]:
    return (-count, {"gn": 0, "gr": 1}.get(label, 2), label)


def _newest(items: list[Found], *, notes: tuple[str, ...]) -> Run:
    """The run of one member's newest version; the older ones are noted."""
    versions = Counter(facets.version for facets, _ in items)
    newest = max(versions, key=version_order)
    older = sorted((v for v in versions if v != newest), key=version_order, reverse=True)
    notes += tuple(f"older version {v or '(none)'} not used ({versions[v]} files)" for v in older)
    chosen = [(facets, path) for facets, path in items if facets.version == newest]
    facets = max((facets for facets, _ in chosen), key=lambda f: bool(f.institute))
    paths, copies = _without_copies(path for _, path in chosen)
    f = replace(facets, frequency=facets.frequency or table_frequency(facets.table))
    return Run(
        model=f.model,
        member=f.member,
        variable=f.variable,
        paths=paths,
        experiment=f.experiment,
        table=f.table,
        grid_label=f.grid_label,
        version=f.version,
        project=f.project,
        institute=f.institute,
        activity=f.activity,
        frequency=f.frequency,
        notes=(*notes, *copies),
    )


def _without_copies(paths: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Paths sorted by file name; of files with one name and one size in several folders, the first."""
    kept: list[Path] = []
    notes: list[str] = []
    for path in sorted(paths, key=lambda p: (p.name, p.parts)):
        last = kept[-1] if kept else None
        if last and last.name == path.name and _size(last) == _size(path):
            notes.append(f"a copy of {path.name} in {path.parent} is not used")
        else:
            kept.append(path)
    return tuple(kept), tuple(notes)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else -1


def _absent(wanted: Wanted, found: set[str]) -> Iterator[Problem]:
    """A problem for each model asked for by its full name and not found."""
    asked = [wanted.models] if isinstance(wanted.models, str) else list(wanted.models or ())
    experiment = wanted.experiment if isinstance(wanted.experiment, str) else ", ".join(wanted.experiment)
    for model in asked:
        if not set(model) & set("*?[(") and model not in found:
            yield Problem(model, "", "", f"no files of {wanted.variable} in {experiment} were found")


def _order(run: Run) -> tuple[str, str, str, list[int], str]:
    numbers = [int(digits) for digits in re.findall(r"\d+", run.member)]
    return (run.model.casefold(), run.project, run.experiment, numbers, run.member)
