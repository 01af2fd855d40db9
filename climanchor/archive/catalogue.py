"""Catalogues: runs from a table of paths and facets, as intake-esm keeps them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from climanchor.archive.drs import Facets, parse_path
from climanchor.archive.runs import Problem, Runs
from climanchor.archive.selection import Found, Names, Wanted, choose_runs

#: Names that catalogues use for each facet, CMIP6's first.
_COLUMNS = {
    "variable": ("variable_id", "variable", "short_name"),
    "table": ("table_id", "cmor_table", "mip_table", "mip"),
    "model": ("source_id", "model", "dataset"),
    "experiment": ("experiment_id", "experiment", "exp"),
    "member": ("member_id", "variant_label", "ensemble_member", "ensemble"),
    "grid_label": ("grid_label", "grid"),
    "version": ("version",),
    "project": ("mip_era", "project"),
    "activity": ("activity_id", "activity"),
    "institute": ("institution_id", "institute"),
    "frequency": ("frequency",),
}
_PATHS = ("path", "uri", "file", "filename")


def read_catalogue(
    path: str | PathLike[str],
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
    """Read runs from an intake-esm style catalogue: a CSV (may be compressed), or a JSON that names one.

    The JSON holds ``catalog_file`` (a CSV beside it or elsewhere) or ``catalog_dict`` (a list of rows), and may
    name the column of paths in ``assets.column_name``. Columns may have CMIP6's, CMIP5's or ESMValTool's names;
    what they lack is taken from the file names. Relative paths are relative to the catalogue. Selection is as
    in :func:`find_runs`; files that do not exist are set aside into ``.problems``.

    Raises ``FileNotFoundError`` without the catalogue and ``ValueError`` without a column of paths.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = "tas_Amon_CESM2_historical_r1i1p1f1_gn_185001-201412.nc"
    ...     Path(folder, name).touch()
    ...     _ = Path(folder, "catalogue.csv").write_text(f"source_id,path\\nCESM2,{name}\\n")
    ...     [run.describe() for run in read_catalogue(f"{folder}/catalogue.csv")]
    ['CMIP6 CESM2 r1i1p1f1 historical Amon tas gn: 1 file']
    """
    source = Path(path)
    rows, column = _rows(source)
    if column not in rows.columns:
        known = ", ".join(map(str, rows.columns))
        raise ValueError(f"{source}: no column of paths among {known}: call it {_PATHS[0]!r}")
    wanted = Wanted(variable, experiment, models, members, project, table, grid, version)
    problems: list[Problem] = []
    return choose_runs(_files(rows, column, source.parent, problems), wanted, problems)


def _rows(source: Path) -> tuple[pd.DataFrame, str]:
    """The table of a catalogue and the name of its column of paths."""
    if not source.is_file():
        raise FileNotFoundError(f"no such catalogue: {source}")
    column = ""
    if source.suffix == ".json":
        description = _description(source)
        column = str(description.get("assets", {}).get("column_name", ""))
        if "catalog_dict" in description:
            rows = pd.DataFrame(description["catalog_dict"]).astype("str")
        elif "catalog_file" in description:
            named = str(description["catalog_file"]).removeprefix("file://")
            rows = _read_csv(source.parent / named)
        else:
            raise ValueError(f"{source}: neither catalog_file nor catalog_dict is there")
    else:
        rows = _read_csv(source)
    present = [name for name in _PATHS if name in rows.columns]
    return rows, column or (present[0] if present else _PATHS[0])


def _description(source: Path) -> dict[str, Any]:
    try:
        description = json.loads(source.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{source}: is not JSON ({error})") from error
    if not isinstance(description, dict):
        raise ValueError(f"{source}: holds a {type(description).__name__}, not an object")
    return description


def _read_csv(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(f"no such catalogue: {path}")
    try:
        return pd.read_csv(path, dtype="str", keep_default_na=False)
    except (ValueError, UnicodeError) as error:
        raise ValueError(f"{path}: cannot be read as CSV ({error})") from error


def _files(rows: pd.DataFrame, column: str, folder: Path, problems: list[Problem]) -> Iterator[Found]:
    """Each listed file with its facets: the columns', then those of its name."""
    names = {facet: [c for c in columns if c in rows.columns] for facet, columns in _COLUMNS.items()}
    for row in rows.to_dict("records"):
        path = folder / str(row[column]).removeprefix("file://")
        stated = {facet: str(row[columns[0]]) for facet, columns in names.items() if columns}
        facets = _merged(stated, parse_path(path), row)
        if not facets.model or not facets.member:
            problems.append(Problem(facets.model, facets.member, str(path), "the catalogue names no model or member"))
        elif not path.exists():
            problems.append(Problem(facets.model, facets.member, str(path), "does not exist"))
        else:
            yield facets, path


def _merged(stated: dict[str, str], named: Facets | None, row: dict[Any, Any]) -> Facets:
    """Facets from the catalogue's columns, completed by the file's name."""
    facets = named or Facets()
    given = {field.name: stated[field.name] for field in fields(Facets) if stated.get(field.name)}
    sub = str(row.get("dcpp_init_year", "") or "").removesuffix(".0")
    member = given.get("member", "")
    if sub.isdigit() and member and not member.startswith("s"):
        given["member"] = f"s{sub}-{member}"
    version = given.get("version", "")
    if version.isdigit():
        given["version"] = f"v{version}"
    return replace(facets, **given)
