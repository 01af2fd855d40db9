"""Global attributes of the archive's files, as CMIP5 and CMIP6 files carry them."""

import re
import uuid
from pathlib import PurePosixPath

from climanchor.archive.drs import Facets, cmip5_path, cmip6_path
from climanchor.simulate.models import ModelSpec

Values = dict[str, str | int | float]
NOTICE = "Synthetic data written by climanchor.simulate. It imitates the files of a climate model and is none."
_EXPERIMENTS = {
    "CMIP5": {"historical": "historical", "piControl": "pre-industrial control"},
    "CMIP6": {
        "historical": "all-forcing simulation of the recent past",
        "piControl": "pre-industrial control",
    },
}


def drs_path(
    spec: ModelSpec, *, variable: str, table: str, experiment: str, member: str, dates: str = ""
) -> PurePosixPath:
    """Path of one file below the archive's root, in the reference syntax of the model's project."""
    facets = Facets(
        variable=variable,
        table=table,
        model=spec.name,
        experiment=experiment,
        member=member,
        dates=dates,
        version=spec.version,
        institute=spec.institute,
        project=spec.project,
        grid_label=spec.grid_label if spec.project == "CMIP6" else "",
        activity="CMIP" if spec.project == "CMIP6" else "",
    )
    return cmip6_path(facets) if spec.project == "CMIP6" else cmip5_path(facets)


def file_attributes(
    spec: ModelSpec, path: PurePosixPath, *, variable: str, table: str, experiment: str, member: str, key: str
) -> Values:
    """The global attributes of one file; ``key`` identifies the parameters it was written with."""
    make = _cmip6 if spec.project == "CMIP6" else _cmip5
    tracking = uuid.uuid5(uuid.NAMESPACE_URL, f"climanchor:{path}:{key}")
    prefix = "hdl:21.14100/" if spec.project == "CMIP6" else ""
    return {
        **make(spec, variable, table, experiment, member),
        "institution": spec.institution,
        "source": f"climanchor synthetic archive, in the manner of {spec.name}",
        "frequency": "fx" if table == "fx" else "mon",
        "experiment_id": experiment,
        "experiment": _EXPERIMENTS[spec.project][experiment],
        "title": f"Synthetic {spec.name} output prepared for {spec.project} {experiment}",
        "comment": NOTICE,
        "history": f"{_created(spec)} written by climanchor.simulate",
        "creation_date": _created(spec),
        "tracking_id": f"{prefix}{tracking}",
        "climanchor_key": key,
    }


def _cmip5(spec: ModelSpec, variable: str, table: str, experiment: str, member: str) -> Values:
    realisation, initialisation, physics = _indices(member)
    parent: Values = {
        "parent_experiment_id": "piControl",
        "parent_experiment": "pre-industrial control",
        "parent_experiment_rip": "r1i1p1",
        "branch_time": _branch_days(realisation),
    }
    orphan: Values = {"parent_experiment_id": "N/A", "branch_time": 0.0}
    return {
        "Conventions": "CF-1.4",
        "project_id": "CMIP5",
        "product": "output",
        "institute_id": spec.institute,
        "model_id": spec.name,
        "modeling_realm": "atmos",
        "table_id": f"Table {table} (26 July 2011)",
        "realization": realisation,
        "initialization_method": initialisation,
        "physics_version": physics,
        "forcing": "GHG, SA, Sl, Vl" if experiment == "historical" else "N/A",
        **(parent if experiment == "historical" else orphan),
    }


def _cmip6(spec: ModelSpec, variable: str, table: str, experiment: str, member: str) -> Values:
    realisation, initialisation, physics, forcing = _indices(member)
    parent: Values = {
        "branch_method": "standard",
        "branch_time_in_child": 0.0,
        "branch_time_in_parent": _branch_days(realisation),
        "parent_activity_id": "CMIP",
        "parent_experiment_id": "piControl",
        "parent_mip_era": "CMIP6",
        "parent_source_id": spec.name,
        "parent_time_units": f"days since {spec.control_start:04d}-01-01",
        "parent_variant_label": spec.members[0],
    }
    orphan: Values = {"branch_method": "no parent", "parent_experiment_id": "no parent"}
    page = f"CMIP6.{spec.institute}.{spec.name}.{experiment}.none.{member}"
    return {
        "Conventions": "CF-1.7 CMIP-6.2",
        "mip_era": "CMIP6",
        "activity_id": "CMIP",
        "product": "model-output",
        "institution_id": spec.institute,
        "source_id": spec.name,
        "source_type": "AOGCM",
        "realm": "atmos",
        "table_id": table,
        "variable_id": variable,
        "variant_label": member,
        "realization_index": realisation,
        "initialization_index": initialisation,
        "physics_index": physics,
        "forcing_index": forcing,
        "sub_experiment": "none",
        "sub_experiment_id": "none",
        "grid": "synthetic rectilinear grid",
        "grid_label": spec.grid_label,
        "nominal_resolution": spec.nominal_resolution,
        "data_specs_version": "01.00.30",
        **({} if variable == "areacella" else {"external_variables": "areacella"}),
        "further_info_url": f"https://furtherinfo.es-doc.org/{page}",
        "license": "Synthetic data, free of any restriction",
        **(parent if experiment == "historical" else orphan),
    }


def _indices(member: str) -> list[int]:
    """The numbers of a variant label: ``r1i2p3f4`` gives [1, 2, 3, 4]."""
    return [int(number) for number in re.findall(r"\d+", member)]


def _branch_days(realisation: int) -> float:
    """Where in its control run a member says it began: twenty years after the one before it."""
    return 7300.0 * realisation


def _created(spec: ModelSpec) -> str:
    digits = spec.version.removeprefix("v")
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}T00:00:00Z"
