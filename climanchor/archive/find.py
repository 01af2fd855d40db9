"""Finding runs: from a folder of CMIP files to one :class:`Run` per member, by file names first."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from climanchor.archive.attributes import read_facets
from climanchor.archive.drs import Facets, add_folders, parse_filename, table_frequency, version_order
from climanchor.archive.patterns import matcher
from climanchor.archive.runs import Problem, Run, Runs

_Names = str | Iterable[str] | None
_Found = tuple[Facets, Path]
_Rank = Callable[[str, int], tuple[int, int, str]]


@dataclass(frozen=True)
class _Dataset:
    """What tells one run's files from another's, before table, grid and version are chosen."""

    project: str
    model: str
    experiment: str
    variable: str


def find_runs(
    root: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    variable: str = "tas",
    experiment: str | Iterable[str] = "historical",
    models: _Names = None,
    members: _Names = None,
    project: str | None = None,
    table: str | None = None,
    grid: str | None = None,
    version: str | None = None,
) -> Runs:
    """Find the runs below one or more folders: CMIP5 or CMIP6 DRS trees, or flat folders of such files.

    File names decide; a netCDF file whose name follows no CMIP syntax is opened once for its global attributes.
    Names may hold wildcards (``*``) and ranges (``r(1:10)i1p1f1``). Where a model has the variable

    - in several tables, and ``table`` is not given: monthly, then yearly, then daily ones are preferred;
    - on several grids, and ``grid`` is not given: the grid most members have, ``gn`` first among equals;
    - in several versions, and ``version`` is not given: each member's newest (``latest`` above ``vYYYYMMDD``).

    What was passed over is in each run's ``notes``; files that could not be placed are in ``.problems``.
    Runs are sorted by model, experiment and member. Raises ``FileNotFoundError`` where a root does not exist.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as root:
    ...     pathlib.Path(root, "tas_Amon_CESM2_historical_r1i1p1f1_gn_185001-201412.nc").touch()
    ...     [run.describe() for run in find_runs(root)]
    ['CMIP6 CESM2 r1i1p1f1 historical Amon tas gn: 1 file']
    """
    wanted = {
        "variable": matcher(variable),
        "experiment": matcher(experiment),
        "model": matcher(models),
        "member": matcher(members),
        "project": matcher(None if project is None else project.upper()),
        "table": matcher(table),
        "version": matcher(version),
    }
    grid_wanted = matcher(grid)
    problems: list[Problem] = []
    datasets: dict[_Dataset, list[_Found]] = defaultdict(list)
    for facets, path in _identified(root, variable, problems):
        if all(test(getattr(facets, name)) for name, test in wanted.items()) and (
            not facets.grid_label or grid_wanted(facets.grid_label)
        ):
            key = _Dataset(facets.project, facets.model, facets.experiment, facets.variable)
            datasets[key].append((facets, path))
    runs = [run for found in datasets.values() for run in _runs_of_dataset(found, problems)]
    problems += _absent(models, {run.model for run in runs}, variable, experiment)
    return Runs(sorted(runs, key=_order), problems)


def _identified(
    root: str | PathLike[str] | Iterable[str | PathLike[str]], variable: str, problems: list[Problem]
) -> Iterator[_Found]:
    """Every netCDF file below the roots with its facets; those that have none go to ``problems``."""
    roots = [root] if isinstance(root, str | PathLike) else list(root)
    for top in roots:
        if not Path(top).is_dir():
            raise FileNotFoundError(f"no such folder: {os.fspath(top)}")
        for folder, name in _netcdf_files(os.fspath(top)):
            path = Path(folder, name)
            facets: Facets | str | None = parse_filename(name)
            if facets is None:
                facets = read_facets(path, variable=variable)
            if isinstance(facets, str):
                problems.append(Problem("", "", str(path), facets))
            else:
                yield add_folders(facets, path.parts[:-1]), path


def _netcdf_files(top: str) -> Iterator[tuple[str, str]]:
    """Folder and name of every ``.nc`` file below ``top``, following links to folders once each."""
    pending, seen = [top], {os.path.realpath(top)}
    while pending:
        folder = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    if entry.is_symlink() and not _new_target(entry.path, folder, seen):
                        continue
                    pending.append(entry.path)
                elif entry.name.endswith((".nc", ".nc4")):
                    yield folder, entry.name


def _new_target(link: str, folder: str, seen: set[str]) -> bool:
    """Whether a linked folder is worth visiting: not a neighbour (``latest`` → ``v2019``), not seen, no loop."""
    target, here = os.path.realpath(link), os.path.realpath(folder)
    if target in seen or os.path.dirname(target) == here or (here + os.sep).startswith(target + os.sep):
        return False
    seen.add(target)
    return True


def _runs_of_dataset(found: list[_Found], problems: list[Problem]) -> Iterator[Run]:
    """One run per member, on one table and one grid."""
    found, other_tables = _choose(found, "table", _table_rank, problems)
    found, other_grids = _choose(found, "grid_label", _grid_rank, problems)
    by_member: dict[str, list[_Found]] = defaultdict(list)
    for item in found:
        by_member[item[0].member].append(item)
    for items in by_member.values():
        yield _newest(items, notes=(*other_tables, *other_grids))


def _choose(
    found: list[_Found], facet: str, rank: _Rank, problems: list[Problem]
) -> tuple[list[_Found], tuple[str, ...]]:
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


def _newest(items: list[_Found], *, notes: tuple[str, ...]) -> Run:
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
        if last and last.name == path.name and last.stat().st_size == path.stat().st_size:
            notes.append(f"a copy of {path.name} in {path.parent} is not used")
        else:
            kept.append(path)
    return tuple(kept), tuple(notes)


def _absent(models: _Names, found: set[str], variable: str, experiment: str | Iterable[str]) -> Iterator[Problem]:
    """A problem for each model asked for by its full name and not found."""
    asked = [models] if isinstance(models, str) else list(models or ())
    wanted = experiment if isinstance(experiment, str) else ", ".join(experiment)
    for model in asked:
        if not set(model) & set("*?[(") and model not in found:
            yield Problem(model, "", "", f"no files of {variable} in {wanted} were found")


def _order(run: Run) -> tuple[str, str, str, list[int], str]:
    numbers = [int(digits) for digits in re.findall(r"\d+", run.member)]
    return (run.model.casefold(), run.project, run.experiment, numbers, run.member)
