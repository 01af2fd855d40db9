"""Names of CMIP files and folders: the data reference syntax (DRS) of CMIP5 and CMIP6, read and written.

Facets carry one set of names for both projects; CMIP5's ``model, experiment, ensemble, cmor_table`` and
CMIP6's ``source_id, experiment_id, variant_label, table_id`` are the same four things.
"""

import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import PurePath, PurePosixPath

_RIP = r"r\d+i\d+p\d+"
_CMIP5_MEMBER = re.compile(rf"{_RIP}")
_CMIP6_MEMBER = re.compile(rf"(?:(?P<sub>[a-z]\d+)-)?(?P<variant>{_RIP}f\d+)")
_GRID = re.compile(r"g(?:m|n|na|ng|r|ra|rg|rz|n[a-z]+|r\d+[a-z]*|nz)")
_DATES = re.compile(r"\d{4,14}(?:-\d{4,14})?(?:-clim)?")
_VERSION = re.compile(r"v\d+|latest")
_FREQUENCIES = {"fx": "fx", "Ofx": "fx", "day": "day", "cfDay": "day", "3hr": "3hr", "yr": "yr", "Oyr": "yr"}


@dataclass(frozen=True)
class Facets:
    """What the name of a CMIP file says about its contents; an empty string is an unknown facet.

    ``member`` is ``r1i1p1`` (CMIP5), ``r1i1p1f1`` (CMIP6) or ``s1960-r1i1p1f1`` (a decadal prediction, with
    its sub-experiment); ``dates`` is the time range as written, for example ``185001-201412``.

    >>> Facets(model="CESM2", experiment="historical", member="r1i1p1f1").model
    'CESM2'
    """

    variable: str = ""
    table: str = ""
    model: str = ""
    experiment: str = ""
    member: str = ""
    grid_label: str = ""
    dates: str = ""
    version: str = ""
    project: str = ""
    activity: str = ""
    institute: str = ""
    product: str = ""
    frequency: str = ""
    realm: str = ""


def cmip6_filename(facets: Facets) -> str:
    """``variable_table_model_experiment_member_grid[_dates].nc``.

    >>> f = Facets(variable="sftlf", table="fx", model="CESM2", experiment="historical", member="r1i1p1f1")
    >>> cmip6_filename(replace(f, grid_label="gn"))
    'sftlf_fx_CESM2_historical_r1i1p1f1_gn.nc'
    """
    _require(facets, "variable", "table", "model", "experiment", "member", "grid_label")
    return _filename(facets, facets.grid_label)


def cmip6_path(facets: Facets) -> PurePosixPath:
    """Path of a CMIP6 file below the folder that holds ``CMIP6``.

    ``CMIP6/activity/institute/model/experiment/member/table/variable/grid/version/filename``.

    >>> f = Facets(variable="tas", table="Amon", model="CESM2", experiment="historical", member="r1i1p1f1",
    ...            grid_label="gn", dates="185001-201412", version="v20190308", activity="CMIP",
    ...            institute="NCAR")
    >>> print(cmip6_path(f).parent)
    CMIP6/CMIP/NCAR/CESM2/historical/r1i1p1f1/Amon/tas/gn/v20190308
    """
    _require(facets, "activity", "institute", "version")
    f = facets
    folders = (f.activity, f.institute, f.model, f.experiment, f.member, f.table, f.variable, f.grid_label)
    return PurePosixPath("CMIP6", *folders, f.version, cmip6_filename(f))


def cmip5_filename(facets: Facets) -> str:
    """``variable_table_model_experiment_member[_dates].nc``.

    >>> f = Facets(variable="tas", table="Amon", model="HadCM3", experiment="historical", member="r1i1p1")
    >>> cmip5_filename(replace(f, dates="185912-188411"))
    'tas_Amon_HadCM3_historical_r1i1p1_185912-188411.nc'
    """
    _require(facets, "variable", "table", "model", "experiment", "member")
    return _filename(facets)


def cmip5_path(facets: Facets) -> PurePosixPath:
    """Path of a CMIP5 file below the folder that holds ``cmip5``.

    ``cmip5/product/institute/model/experiment/frequency/realm/table/member/version/variable/filename``;
    product, frequency and realm default to ``output1``, the table's frequency and ``atmos``.

    >>> f = Facets(variable="tas", table="Amon", model="CCSM4", experiment="historical", member="r1i1p1",
    ...            dates="185001-200512", version="v20160829", institute="NCAR")
    >>> print(cmip5_path(f).parent)
    cmip5/output1/NCAR/CCSM4/historical/mon/atmos/Amon/r1i1p1/v20160829/tas
    """
    _require(facets, "institute", "version", "table")
    f = facets
    product, frequency, realm = (
        f.product or "output1",
        f.frequency or table_frequency(f.table),
        f.realm or "atmos",
    )
    folders = (product, f.institute, f.model, f.experiment, frequency, realm, f.table, f.member, f.version)
    return PurePosixPath("cmip5", *folders, f.variable, cmip5_filename(f))


@lru_cache(maxsize=4096)
def _member_project(member: str) -> str:
    if _CMIP6_MEMBER.fullmatch(member):
        return "CMIP6"
    return "CMIP5" if _CMIP5_MEMBER.fullmatch(member) else ""


def parse_filename(name: str) -> Facets | None:
    """Facets of a CMIP5 or CMIP6 file name, or ``None`` where the name follows neither syntax.

    >>> parse_filename("tas_Amon_HadCM3_historical_r1i1p1_185912-188411.nc").project
    'CMIP5'
    >>> parse_filename("tas_Amon_IPSL-CM6A-LR_dcppA-hindcast_s1960-r1i1p1f1_gr_196101-197012.nc").member
    's1960-r1i1p1f1'
    >>> parse_filename("TREFHT.B06.57.atm.1890-1999ANN.nc") is None
    True
    """
    stem, dot, suffix = name.rpartition(".")
    if not dot or suffix not in ("nc", "nc4"):
        return None
    variable, *rest = stem.split("_")
    if len(rest) < 4 or not variable:
        return None
    table, model, experiment, member, *tail = rest
    project = _member_project(member)
    grid = tail.pop(0) if project == "CMIP6" and tail and _GRID.fullmatch(tail[0]) else ""
    dates = tail.pop(0) if tail and _DATES.fullmatch(tail[0]) else ""
    if not project or tail or (project == "CMIP6" and not grid) or not (table and model and experiment):
        return None
    return Facets(variable, table, model, experiment, member, grid, dates, project=project)


def parse_path(path: PurePath | str) -> Facets | None:
    """Facets of a file from its name, then from the folders above it where they agree with the name.

    The folders add version, institute and activity (CMIP6) or product, frequency and realm (CMIP5). A file in
    a flat folder keeps what its name says. ``None`` where the name follows neither syntax.

    >>> parse_path("cmip5/output1/NCAR/CCSM4/historical/mon/atmos/Amon/r1i1p1/latest/tas/"
    ...            "tas_Amon_CCSM4_historical_r1i1p1_185001-200512.nc").version
    'latest'
    """
    path = PurePath(path)
    facets = parse_filename(path.name)
    return None if facets is None else add_folders(facets, path.parts[:-1])


def add_folders(facets: Facets, folders: tuple[str, ...]) -> Facets:
    """Facets completed by the folder names above a file, innermost last."""
    if facets.project == "CMIP6" and len(folders) >= 9:
        activity, institute, *middle, version = folders[-9:]
        f = facets
        named = [f.model, f.experiment, f.member, f.table, f.variable, f.grid_label]
        if middle == named and _VERSION.fullmatch(version):
            return replace(facets, activity=activity, institute=institute, version=version)
    elif facets.project == "CMIP5":
        above = folders[:-1] if folders and folders[-1] == facets.variable else folders
        if len(above) >= 9:
            product, institute, _, experiment, frequency, realm, table, member, version = above[-9:]
            named = [facets.experiment, facets.table, facets.member]
            # CMIP5 folders and file names spell some models differently, so the model is not compared.
            if [experiment, table, member] == named and _VERSION.fullmatch(version):
                where = {"product": product, "institute": institute, "frequency": frequency, "realm": realm}
                return replace(facets, version=version, **where)
    return replace(facets, version=next((f for f in reversed(folders[-2:]) if _VERSION.fullmatch(f)), ""))


def version_order(version: str) -> tuple[int, int]:
    """Sort key of version names: unknown, then ``v1``, ``v20190308`` by number, then ``latest``.

    >>> sorted(["latest", "v20190308", "", "v2"], key=version_order)
    ['', 'v2', 'v20190308', 'latest']
    """
    digits = version.removeprefix("v")
    return (2 if version == "latest" else int(bool(version)), int(digits) if digits.isdigit() else 0)


def table_frequency(table: str) -> str:
    """Sampling of a CMOR table by its name: ``mon``, ``day``, ``yr``, ``fx``, ... or an empty string.

    >>> table_frequency("Amon"), table_frequency("6hrPlev"), table_frequency("fx")
    ('mon', '6hr', 'fx')
    """
    if table in _FREQUENCIES:
        return _FREQUENCIES[table]
    found = re.search(r"mon|day|Day|fx|yr|[136]hr|subhr", table)
    return found.group().lower() if found else ""


def _filename(facets: Facets, *extra: str) -> str:
    f = facets
    parts = (f.variable, f.table, f.model, f.experiment, f.member, *extra, *([f.dates] if f.dates else []))
    return "_".join(parts) + ".nc"


def _require(facets: Facets, *names: str) -> None:
    values = {field.name: getattr(facets, field.name) for field in fields(facets)}
    missing = [name for name in names if not values[name]]
    if missing:
        raise ValueError(f"a DRS name needs {', '.join(missing)}: set them on {facets}")
    wrong = {k: v for k, v in values.items() if set(v) & set("_/") and k not in ("dates", "institute")}
    if wrong:
        raise ValueError(f"DRS facets hold neither '_' nor '/': {wrong}")
