"""Finding runs: from a folder of CMIP files to one :class:`Run` per member, by file names first."""

import os
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

from climanchor.archive.attributes import read_facets
from climanchor.archive.drs import Facets, add_folders, parse_filename
from climanchor.archive.runs import Problem, Runs
from climanchor.archive.selection import Found, Names, Wanted, choose_runs


def find_runs(
    root: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    variable: str = "tas",
    experiment: str | Iterable[str] = "historical",
    models: Names = None,
    members: Names = None,
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
    wanted = Wanted(variable, experiment, models, members, project, table, grid, version)
    problems: list[Problem] = []
    return choose_runs(_identified(root, variable, problems), wanted, problems)


def _identified(
    root: str | PathLike[str] | Iterable[str | PathLike[str]], variable: str, problems: list[Problem]
) -> Iterator[Found]:
    """Every netCDF file below the roots with its facets; those that have none go to ``problems``."""
    roots = [root] if isinstance(root, str | PathLike) else list(root)
    for top in roots:
        if not Path(top).is_dir():
            raise FileNotFoundError(f"no such folder: {os.fspath(top)}")
        for folder, name in _netcdf_files(os.fspath(top), problems):
            path = Path(folder, name)
            facets: Facets | str | None = parse_filename(name)
            if facets is None:
                facets = read_facets(path, variable=variable)
            if isinstance(facets, str):
                problems.append(Problem("", "", str(path), facets))
            else:
                yield add_folders(facets, path.parts[:-1]), path


def _netcdf_files(top: str, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """Folder and name of every ``.nc`` file below ``top``, following links to folders once each."""
    pending, seen = [top], {os.path.realpath(top)}
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                listed = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            problems.append(Problem("", "", folder, f"the folder cannot be listed ({error.strerror or error})"))
            continue
        for entry in listed:
            if entry.is_dir():
                if not entry.is_symlink() or _new_target(entry.path, folder, seen):
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
