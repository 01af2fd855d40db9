"""The seven climate models of the study, as the synthetic archive imitates them.

Names, institutes, grids, calendars, years and member labels are those of the real archives. Climate
sensitivity, transient response and aerosol forcing follow published estimates where there are any; time
scales and shares of the decadal modes are invented.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from climanchor.simulate.grids import Grid, gaussian_grid, polar_grid

GridKind = Literal["polar", "gaussian"]


@dataclass(frozen=True)
class DecadalMode:
    """One decadal mode: where it acts, how it oscillates, and its share of the decadal variance.

    ``period`` and ``damping`` (e-folding time) are in years; ``share`` is relative to the model's other modes.
    """

    region: Literal["pacific", "atlantic", "southern"]
    period: float
    damping: float
    share: float


@dataclass(frozen=True)
class Physics:
    """What makes a model's climate: K for temperatures, W m⁻² for forcing.

    ``ecs`` and ``tcr`` are the equilibrium and transient response to doubled CO₂, ``aerosol`` the aerosol
    forcing at its strongest, ``div`` the magnitude of decadal internal variability (standard deviation of the
    10-year running mean of the area-weighted global mean), ``enso`` the standard deviation of the global mean
    that the El Niño mode alone causes, ``drift`` the trend of the control run in K per century.
    """

    ecs: float
    tcr: float
    aerosol: float
    div: float
    modes: tuple[DecadalMode, ...]
    enso: float = 0.085
    arctic: float = 1.6
    land: float = 0.6
    drift: float = 0.0


@dataclass(frozen=True)
class ModelSpec:
    """A climate model of the archive: identity, files, grid, calendar and physics.

    ``months_per_file`` cuts the historical run into files; 0 writes one file. ``start`` is the first (year,
    month) of the historical run and ``end`` its last year; ``control_start`` is the first year of ``piControl``.
    """

    name: str
    project: Literal["CMIP5", "CMIP6"]
    institute: str
    institution: str
    grid_kind: GridKind
    shape: tuple[int, int]
    calendar: str
    time_units: str
    members: tuple[str, ...]
    version: str
    physics: Physics
    end: int
    start: tuple[int, int] = (1850, 1)
    control_start: int = 1
    months_per_file: int = 0
    grid_label: str = "gn"
    nominal_resolution: str = "100 km"

    def grid(self, rows: int | None = None) -> Grid:
        """The model's grid, coarsened by a whole factor to at most about ``rows`` latitudes; its kind is kept."""
        nlat, nlon = self.shape
        factor = 1 if rows is None else max(1, round(nlat / rows))
        while nlon % factor:
            factor += 1
        make = gaussian_grid if self.grid_kind == "gaussian" else polar_grid
        return make(-(-nlat // factor), nlon // factor)

    @property
    def years(self) -> range:
        """The complete calendar years of the historical run."""
        year, month = self.start
        return range(year + (month > 1), self.end + 1)


def _variants(count: int, suffix: str) -> tuple[str, ...]:
    return tuple(f"r{i}{suffix}" for i in range(1, count + 1))


_NCAR = "National Center for Atmospheric Research, Boulder, CO, USA"
_CNRM = "CNRM (Centre National de Recherches Meteorologiques) and CERFACS, Toulouse, France"

_SPECS = (
    ModelSpec(
        "CCSM4", "CMIP5", "NCAR", _NCAR, "polar", (192, 288), "noleap", "days since 1850-01-01 00:00:00",
        (*_variants(6, "i1p1"), "r1i2p1", "r1i2p2"), "v20160829", end=2005, control_start=800,
        physics=Physics(
            2.9, 1.8, -1.0, 0.031, enso=0.085, arctic=1.5, land=0.55,
            modes=(DecadalMode("pacific", 18, 6, 0.6), DecadalMode("atlantic", 45, 15, 0.4)),
        ),
    ),
    ModelSpec(
        "NorCPM1", "CMIP6", "NCC", "NorESM Climate modeling Consortium, Bergen, Norway", "polar", (96, 144),
        "noleap", "days since 1850-01-01 00:00:00", _variants(30, "i1p1f1"), "v20200724", end=2014,
        nominal_resolution="250 km",
        physics=Physics(
            3.05, 1.56, -1.2, 0.042, enso=0.09, arctic=1.7, land=0.5, drift=0.02,
            modes=(DecadalMode("pacific", 16, 6, 0.5), DecadalMode("atlantic", 35, 12, 0.5)),
        ),
    ),
    ModelSpec(
        "CESM2", "CMIP6", "NCAR", _NCAR, "polar", (192, 288), "noleap", "days since 0001-01-01 00:00:00",
        _variants(11, "i1p1f1"), "v20190308", end=2014, months_per_file=600,
        physics=Physics(
            5.16, 2.06, -1.37, 0.051, enso=0.11, arctic=1.5, land=0.6, drift=0.025,
            modes=(
                DecadalMode("pacific", 15, 7, 0.6),
                DecadalMode("southern", 30, 10, 0.2),
                DecadalMode("atlantic", 30, 12, 0.2),
            ),
        ),
    ),
    ModelSpec(
        "HadCM3", "CMIP5", "MOHC", "Met Office Hadley Centre, Fitzroy Road, Exeter, Devon, EX1 3PB, UK",
        "polar", (73, 96), "360_day", "days since 1859-12-01", _variants(10, "i1p1"), "v20110823", end=2005,
        start=(1859, 12), control_start=1860, months_per_file=300,
        physics=Physics(
            3.3, 2.0, -0.9, 0.046, enso=0.08, arctic=1.4, land=0.65, drift=-0.015,
            modes=(DecadalMode("pacific", 20, 8, 0.4), DecadalMode("atlantic", 30, 14, 0.6)),
        ),
    ),
    ModelSpec(
        "CNRM-CM6-1", "CMIP6", "CNRM-CERFACS", _CNRM, "gaussian", (128, 256), "gregorian",
        "days since 1850-01-01 00:00:00", _variants(30, "i1p1f2"), "v20180917", end=2014, control_start=1850,
        grid_label="gr", nominal_resolution="250 km",
        physics=Physics(
            4.83, 2.14, -1.15, 0.110, enso=0.085, arctic=1.9, land=0.55, drift=0.04,
            modes=(
                DecadalMode("atlantic", 110, 35, 0.6),
                DecadalMode("southern", 70, 25, 0.25),
                DecadalMode("pacific", 22, 8, 0.15),
            ),
        ),
    ),
    ModelSpec(
        "CNRM-ESM2-1", "CMIP6", "CNRM-CERFACS", _CNRM, "gaussian", (128, 256), "gregorian",
        "days since 1850-01-01 00:00:00", _variants(10, "i1p1f2"), "v20181206", end=2014, control_start=1850,
        grid_label="gr", nominal_resolution="250 km",
        physics=Physics(
            4.76, 1.86, -0.74, 0.108, enso=0.085, arctic=1.9, land=0.55,
            modes=(
                DecadalMode("atlantic", 105, 35, 0.6),
                DecadalMode("southern", 75, 25, 0.25),
                DecadalMode("pacific", 22, 8, 0.15),
            ),
        ),
    ),
    ModelSpec(
        "IPSL-CM6A-LR", "CMIP6", "IPSL", "Institut Pierre Simon Laplace, Paris 75252, France", "polar",
        (143, 144), "gregorian", "days since 1850-01-01 00:00:00", _variants(32, "i1p1f1"), "v20180803",
        end=2014, control_start=1850, grid_label="gr", nominal_resolution="250 km",
        physics=Physics(
            4.56, 2.32, -0.63, 0.092, enso=0.075, arctic=1.7, land=0.6, drift=0.01,
            modes=(
                DecadalMode("atlantic", 150, 40, 0.7),
                DecadalMode("pacific", 20, 8, 0.2),
                DecadalMode("southern", 50, 15, 0.1),
            ),
        ),
    ),
)  # fmt: skip

#: The models by name, in the order of the paper: the first four train, the last three test.
MODELS: Mapping[str, ModelSpec] = {spec.name: spec for spec in _SPECS}

#: The world that the pseudo-observations observe: none of the seven models, so none has seen it.
NATURE = ModelSpec(
    "Nature", "CMIP6", "none", "none", "polar", (37, 72), "gregorian", "days since 1850-01-01 00:00:00",
    ("r1i1p1f1",), "v20200101", end=2024, grid_label="gr",
    physics=Physics(
        3.0, 1.8, -1.1, 0.055, enso=0.095, arctic=1.7, land=0.6,
        modes=(DecadalMode("pacific", 20, 8, 0.5), DecadalMode("atlantic", 60, 20, 0.5)),
    ),
)  # fmt: skip


def choose_models(models: Sequence[str] | None) -> tuple[ModelSpec, ...]:
    """The named models, or all seven.

    >>> [spec.name for spec in choose_models(["HadCM3"])]
    ['HadCM3']
    """
    names = list(MODELS) if models is None else list(models)
    unknown = [name for name in names if name not in MODELS]
    if unknown or not names:
        raise ValueError(f"unknown models {unknown}: choose one or more of {', '.join(MODELS)}")
    return tuple(MODELS[name] for name in names)


def choose_members(spec: ModelSpec, members: int | Mapping[str, int] | None) -> tuple[str, ...]:
    """The first members of a model: a number for every model, or by model, or (``None``) as many as the paper.

    >>> choose_members(MODELS["CNRM-CM6-1"], 2)
    ('r1i1p1f2', 'r2i1p1f2')
    """
    count = members.get(spec.name) if isinstance(members, Mapping) else members
    if count is None:
        return spec.members
    if not 1 <= count <= len(spec.members):
        raise ValueError(f"{spec.name} has 1 to {len(spec.members)} members, not {count}")
    return spec.members[:count]
