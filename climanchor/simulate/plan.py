"""What a synthetic archive consists of: its settings, and the jobs that write its files."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from climanchor.simulate.attributes import drs_path
from climanchor.simulate.models import MODELS, NATURE, ModelSpec, choose_members, choose_models
from climanchor.simulate.worlds import Months, control_months, historical_months

#: Raised whenever the same settings would give other values, so that old files are not reused.
GENERATOR = 1

Kind = Literal["historical", "piControl", "fixed", "truth", "observations"]


@dataclass(frozen=True)
class Size:
    """How large an archive is: latitudes per grid (``None``: the model's own), members, years of control.

    Values are rounded to 1/``fraction`` K (0: not at all) and deflated; ``realisations`` is the number of
    members of the pseudo-observations.
    """

    rows: int | None
    members: int | Mapping[str, int] | None
    control_years: int
    realisations: int
    fraction: int


_DEMO_MEMBERS = {
    "CCSM4": 6, "NorCPM1": 8, "CESM2": 7, "HadCM3": 7, "CNRM-CM6-1": 8, "CNRM-ESM2-1": 6, "IPSL-CM6A-LR": 8,
}  # fmt: skip
SIZES: Mapping[str, Size] = {
    "tiny": Size(rows=16, members=3, control_years=60, realisations=0, fraction=64),
    "demo": Size(rows=32, members=_DEMO_MEMBERS, control_years=240, realisations=3, fraction=64),
    "full": Size(rows=None, members=None, control_years=500, realisations=10, fraction=0),
}


@dataclass(frozen=True)
class Settings:
    """Everything that the values of an archive depend on, in plain types; ``members`` lists them by model."""

    size: str
    seed: int
    years: tuple[int, int] | None
    members: dict[str, tuple[str, ...]]

    @classmethod
    def choose(
        cls,
        size: str,
        seed: int,
        models: Sequence[str] | None,
        members: int | Mapping[str, int] | None,
        years: tuple[int, int] | None,
    ) -> "Settings":
        """Check the arguments of ``write_archive`` and fill in what they leave open."""
        if size not in SIZES:
            raise ValueError(f"unknown size {size!r}: choose one of {', '.join(SIZES)}")
        if seed < 0:
            raise ValueError(f"seed must not be negative: got {seed}")
        counts = SIZES[size].members if members is None else members
        chosen = {spec.name: choose_members(spec, counts) for spec in choose_models(models)}
        for name in chosen:
            historical_months(MODELS[name], years)
        return cls(size, seed, None if years is None else (int(years[0]), int(years[1])), chosen)

    @property
    def shared(self) -> dict[str, object]:
        """What archives that share a folder must have in common."""
        return {"generator": GENERATOR, "size": self.size, "seed": self.seed, "years": self.years}

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        values = json.loads(text)
        years = None if values["years"] is None else tuple(values["years"])
        members = {model: tuple(labels) for model, labels in values["members"].items()}
        return cls(values["size"], values["seed"], years, members)

    def months(self, spec: ModelSpec, *, control: bool) -> Months:
        """The months that the archive holds of a model's run."""
        if control:
            return control_months(spec, SIZES[self.size].control_years)
        return historical_months(spec, self.years)


@dataclass(frozen=True)
class Job:
    """Files that are written together, by paths below the root; one member's run, for example."""

    kind: Kind
    model: str
    member: str
    outputs: tuple[str, ...]
    key: str


def plan(settings: Settings) -> list[Job]:
    """The jobs of an archive, the longest first."""
    jobs = []
    for name, members in settings.members.items():
        spec = MODELS[name]
        jobs.append(_run(settings, spec, "piControl", spec.members[0]))
        jobs += [_run(settings, spec, "historical", member) for member in members]
        jobs.append(_job(settings, "fixed", name, "", _fixed_paths(spec)))
        jobs.append(_job(settings, "truth", name, ",".join(members), (f"truth/{name}.nc",)))
    last = NATURE.end
    observed = (f"observations/pseudo-observations_5x5_monthly_1850-{last}.nc", "truth/observations.nc")
    return [_job(settings, "observations", NATURE.name, NATURE.members[0], observed), *jobs]


def file_months(settings: Settings, spec: ModelSpec, *, control: bool) -> list[tuple[int, int]]:
    """First and last (excluded) month of every file of a run."""
    count = settings.months(spec, control=control).count
    length = (1200 if control and spec.months_per_file else spec.months_per_file) or count
    return [(start, min(start + length, count)) for start in range(0, count, length)]


def fixed_member(spec: ModelSpec) -> str:
    """The member that fixed fields are filed under: none in CMIP5, the first in CMIP6."""
    return "r0i0p0" if spec.project == "CMIP5" else spec.members[0]


def _run(settings: Settings, spec: ModelSpec, experiment: Literal["historical", "piControl"], member: str) -> Job:
    control = experiment == "piControl"
    months = settings.months(spec, control=control)
    stamps = [months.part(*cut).stamp for cut in file_months(settings, spec, control=control)]
    where = {"variable": "tas", "table": "Amon", "experiment": experiment, "member": member}
    paths = tuple(str(drs_path(spec, dates=stamp, **where)) for stamp in stamps)
    return _job(settings, experiment, spec.name, member, paths)


def _fixed_paths(spec: ModelSpec) -> tuple[str, ...]:
    where = {"table": "fx", "experiment": "historical", "member": fixed_member(spec)}
    return tuple(str(drs_path(spec, variable=variable, **where)) for variable in ("areacella", "sftlf"))


def _job(settings: Settings, kind: Kind, model: str, member: str, outputs: tuple[str, ...]) -> Job:
    """A job with the key of all that its values depend on."""
    content = json.dumps([settings.shared, repr(SIZES[settings.size]), kind, model, member])
    return Job(kind, model, member, outputs, hashlib.sha256(content.encode()).hexdigest()[:16])
