"""Facets from a file's global attributes, for files whose names do not tell."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from climanchor.archive.drs import Facets
from climanchor.archive.integrity import BadFileError, open_file


def facets_from_attributes(attributes: Mapping[str, Any]) -> Facets | None:
    """Facets from CMIP6 (``source_id``, ...) or CMIP5 (``model_id``, ...) global attributes.

    ``None`` where the attributes do not name a model and a member.

    >>> facets_from_attributes({"model_id": "CCSM4", "realization": 2, "initialization_method": 1,
    ...     "physics_version": 1, "experiment_id": "historical", "table_id": "Table Amon (26 July 2011)"}).member
    'r2i1p1'
    """
    known = {name: str(value).strip() for name, value in attributes.items()}
    facets = _cmip6(known) if "source_id" in known else _cmip5(known) if "model_id" in known else None
    return facets if facets and facets.model and facets.member else None


def _cmip6(known: Mapping[str, str]) -> Facets:
    member = known.get("variant_label", "")
    sub = known.get("sub_experiment_id", "none")
    return Facets(
        variable=known.get("variable_id", ""),
        table=known.get("table_id", ""),
        model=known["source_id"],
        experiment=known.get("experiment_id", ""),
        member=member if sub in ("none", "") or not member else f"{sub}-{member}",
        grid_label=known.get("grid_label", ""),
        project=known.get("mip_era", "CMIP6"),
        activity=known.get("activity_id", ""),
        institute=known.get("institution_id", ""),
        frequency=known.get("frequency", ""),
    )


def _cmip5(known: Mapping[str, str]) -> Facets:
    numbers = [known.get(key, "") for key in ("realization", "initialization_method", "physics_version")]
    complete = all(re.fullmatch(r"\d+", number) for number in numbers)
    table = re.match(r"(?:Table\s+)?(\w+)", known.get("table_id", ""))
    return Facets(
        table=table[1] if table else "",
        model=known["model_id"],
        experiment=known.get("experiment_id", "").replace(" ", ""),
        member="r{}i{}p{}".format(*numbers) if complete else "",
        project=known.get("project_id", "CMIP5"),
        institute=known.get("institute_id", ""),
        frequency=known.get("frequency", ""),
        realm=known.get("modeling_realm", ""),
    )


def read_facets(path: Path, *, variable: str) -> Facets | str:
    """Facets of one file from its global attributes, or the reason (a string) why it has none.

    ``variable`` is looked for in the file where the attributes do not name one. Opens the header only.
    """
    try:
        with open_file(path) as file:
            facets = facets_from_attributes({name: file.getncattr(name) for name in file.ncattrs()})
            held = set(file.variables)
    except BadFileError as error:
        return error.reason
    if facets is None:
        return "neither the file name nor the global attributes say which model and member this is"
    if facets.variable:
        return facets
    if variable in held:
        return replace(facets, variable=variable)
    return f"holds no variable {variable!r}"
