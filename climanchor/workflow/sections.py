"""The parts of a recipe: what each key may hold, its range and its default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

#: Spellings accepted for each facet of a dataset: ESMValCore's, then those of CMIP6 and CMIP5.
FACET_SPELLINGS = {
    "model": ("dataset", "model", "source_id"),
    "exp": ("exp", "experiment", "experiment_id"),
    "ensemble": ("ensemble", "member", "members", "variant_label"),
    "mip": ("mip", "table", "table_id", "cmor_table"),
    "short_name": ("short_name", "variable", "variable_id"),
    "grid": ("grid", "grid_label"),
}


def _facet(name: str, default: Any = None) -> Any:
    return Field(default=default, validation_alias=AliasChoices(*FACET_SPELLINGS[name]))


class Section(BaseModel):
    """A part of a recipe: no unknown keys, no changes after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _expand_spaced(value: Any) -> Any:
    """Turn ``{start, stop, num, scale}`` into the list of values it describes; leave the rest alone."""
    if not isinstance(value, dict):
        return [value] if isinstance(value, (int, float, str)) else value
    spaced = Spaced.model_validate(value)
    return spaced.values()


class Spaced(Section):
    """Evenly spaced values, ``scale: log`` or ``linear``, both ends included."""

    start: float
    stop: float
    num: int = Field(ge=1, le=10_000)
    scale: Literal["log", "linear"] = "linear"

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.stop < self.start:
            raise ValueError(f"stop ({self.stop:g}) is below start ({self.start:g})")
        if self.scale == "log" and self.start <= 0:
            raise ValueError(f"a log scale needs start > 0, not {self.start:g}")
        return self

    def values(self) -> list[float]:
        """The values, first to last."""
        if self.scale == "log":
            return [float(v) for v in np.geomspace(self.start, self.stop, self.num)]
        return [float(v) for v in np.linspace(self.start, self.stop, self.num)]


def _whole(values: Any) -> Any:
    """Round spaced ranks to whole numbers and drop repeats; a fractional rank in a list stays an error."""
    if isinstance(values, dict):
        values = [round(v) for v in Spaced.model_validate(values).values()]
        return list(dict.fromkeys(values))
    return [values] if isinstance(values, (int, float, str)) else values


Alpha = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Gamma = Annotated[float, Field(ge=0)]
Rank = Annotated[int, Field(ge=1)]
Alphas = Annotated[list[Alpha], Field(min_length=1), BeforeValidator(_expand_spaced)]
Gammas = Annotated[list[Gamma], Field(min_length=1), BeforeValidator(_expand_spaced)]
Ranks = Annotated[list[Rank], Field(min_length=1), BeforeValidator(_whole)]
Drift = Literal["none", "linear", "quadratic"]
Year = Annotated[int, Field(ge=1, le=9999)]


def _forwards(value: tuple[int, int]) -> tuple[int, int]:
    if value[0] > value[1]:
        raise ValueError(f"the first year ({value[0]}) is after the last ({value[1]})")
    return value


Period = Annotated[tuple[Year, Year], AfterValidator(_forwards)]


class Simulate(Section):
    """Write the synthetic archive and use it as ``root``."""

    size: Literal["tiny", "demo", "full"] = "demo"
    seed: int = Field(default=0, ge=0)
    members: int | None = Field(default=None, ge=2)
    years: Period | None = None


class Dataset(Section):
    """One climate model: found under ``root`` by its facets, or described by hand with ``files``.

    ``files`` is a mapping from member to a path, pattern or list of paths, or one pattern that gives each
    file its own member. Facets left out are those of ``variable``.
    """

    model: str = Field(validation_alias=AliasChoices(*FACET_SPELLINGS["model"]), min_length=1)
    project: Literal["CMIP5", "CMIP6"] | None = None
    exp: str | None = _facet("exp")
    ensemble: str | list[str] | None = _facet("ensemble")
    mip: str | None = _facet("mip")
    short_name: str | None = _facet("short_name")
    grid: str | None = _facet("grid")
    version: str | None = None
    timerange: str | None = Field(default=None, pattern=r"^\d{4}/\d{4}$")
    files: dict[str, str | list[str]] | str | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"dataset": value}
        if isinstance(value, dict):
            for spellings in FACET_SPELLINGS.values():
                given = [name for name in spellings if name in value]
                if len(given) > 1:
                    raise ValueError(f"{' and '.join(given)} are two spellings of one facet: keep one")
        return value

    @field_validator("timerange")
    @classmethod
    def _forwards(cls, value: str | None) -> str | None:
        if value is not None and int(value[:4]) > int(value[5:]):
            raise ValueError(f"the first year of {value} is after the last")
        return value

    @property
    def years(self) -> tuple[int, int] | None:
        """The ``timerange`` as first and last year."""
        return None if self.timerange is None else (int(self.timerange[:4]), int(self.timerange[5:]))


class Datasets(Section):
    """Which climate models to fit on, and which to keep for the test."""

    train: list[Dataset] = Field(min_length=1)
    test: list[Dataset] = []

    @model_validator(mode="after")
    def _disjoint(self) -> Self:
        names = [d.model for d in (*self.train, *self.test)]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                both = any(d.model == name for d in self.train) and any(d.model == name for d in self.test)
                where = "both train and test: that tests nothing" if both else "one list twice"
                raise ValueError(f"{name} is in {where}")
        return self


class Variable(Section):
    """Facets that hold for every dataset that does not give its own."""

    short_name: str = _facet("short_name", "tas")
    exp: str = _facet("exp", "historical")
    mip: str | None = _facet("mip")
    project: Literal["CMIP5", "CMIP6"] | None = None


class Prepare(Section):
    """From monthly files to annual anomalies, forced response and decadal internal variability."""

    grid: float = Field(default=5.0, gt=0, le=60)
    method: Literal["conservative", "bilinear"] = "conservative"
    reference: Period = (1850, 1900)
    min_reference_years: int = Field(default=20, ge=1)
    short_members: Literal["raise", "drop"] = "drop"
    window: int = Field(default=10, ge=1, le=100)
    leave_one_out: bool = False
    area_weighted: bool = True

    @field_validator("grid")
    @classmethod
    def _divides_globe(cls, value: float) -> float:
        if abs(180 / value - round(180 / value)) > 1e-9:
            raise ValueError(f"cells of {value:g}° do not tile the globe: 180 / {value:g} is not whole")
        return value

    @model_validator(mode="after")
    def _enough_years(self) -> Self:
        length = self.reference[1] - self.reference[0] + 1
        if self.min_reference_years > length:
            raise ValueError(
                f"min_reference_years ({self.min_reference_years}) exceeds the {length} years of reference"
            )
        return self

    @property
    def n_cells(self) -> int:
        """The number of grid cells."""
        return round(180 / self.grid) * round(360 / self.grid)


class SelectionSettings(Section):
    """Which candidates to compare, on which splits of the training models, and how to choose."""

    alphas: Alphas = Field(default_factory=lambda: Spaced(start=1, stop=1e6, num=20, scale="log").values())
    ranks: Ranks = Field(default_factory=lambda: list(range(300, 601, 15)))
    rule: Literal["published", "per_gamma", "weighted", "pareto"] = "published"
    weight: float = Field(default=0.5, ge=0, le=1)
    splits: int = Field(default=10, ge=1, validation_alias=AliasChoices("splits", "n_splits"))
    families: dict[str, list[str]] = {}

    @field_validator("alphas", "ranks")
    @classmethod
    def _distinct(cls, value: list[float]) -> list[float]:
        if len(set(value)) < len(value):
            raise ValueError("a value is listed twice")
        return value


class FingerprintSettings(Section):
    """A fixed choice instead of, or over, the selected one."""

    alpha: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    rank: int | None = Field(default=None, ge=1)


class Observations(Section):
    """A gridded anomaly product, or (``simulated: true``) the synthetic archive's pseudo-observations."""

    path: Path | None = None
    short_name: str | None = _facet("short_name")
    units: str | None = None
    min_reference_years: int | None = Field(default=None, ge=1)
    simulated: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.simulated == (self.path is not None):
            raise ValueError("give either path: (a file) or simulated: true")
        return self


class DetectionSettings(Section):
    """Is the observed change outside what internal variability makes? The settings are those of ``detect``.

    ``reference`` is for observations that do not reach back to the reference of ``prepare``: models and
    observations are both set to this period, and fingerprints refitted on it with the chosen α and ρ.
    """

    observations: Observations
    control: list[Dataset] = Field(default_factory=list)
    exp: str = _facet("exp", "piControl")
    reference: Period | None = None
    statistic: Literal["trend", "correlation"] = "trend"
    window: int = Field(default=40, ge=5, le=1000)
    sided: Literal["two-sided", "greater", "less"] = "two-sided"
    level: float = Field(default=0.05, gt=0, lt=1)
    inflations: list[Annotated[float, Field(gt=0)]] = Field(default=[1.0, 2.0**0.5, 2.0], min_length=1)
    drift: Drift = "linear"
    null: Literal["pooled", "per_model", "leave_model_out"] = "pooled"
    min_coverage: float = Field(default=0.1, gt=0, le=1)
    gammas: Gammas | None = None


class Figures(Section):
    """Which figures to draw (all, or ``only`` those named) and in which formats."""

    formats: list[Literal["png", "pdf", "svg"]] = Field(default=["png", "pdf"], min_length=1)
    only: list[str] | None = None

    @field_validator("formats")
    @classmethod
    def _with_png(cls, value: list[str]) -> list[str]:
        return value if "png" in value else ["png", *value]  # the report shows the PNG
