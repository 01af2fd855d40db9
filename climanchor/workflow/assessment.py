"""Two steps that judge the fingerprints on models they have not seen: a scorecard, and over-confidence of the test."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor import detection
from climanchor.detection import Design
from climanchor.fingerprint import Fingerprint
from climanchor.workflow import netcdf, products, salvage
from climanchor.workflow.sections import DetectionSettings
from climanchor.workflow.store import Product, Step

#: Periods of ForceSMIP's first tier: of the scores over space and time, and of the trends.
YEARS, TREND_YEARS = (1950, 2022), (1980, 2022)
PREFIX = "fingerprint:"
CODE = ("detection", "fingerprint", "kernels", "workflow/assessment.py", "workflow/products.py", "workflow/salvage.py")


def scorecard_step(
    train: Sequence[str], test: Sequence[str], prepared: Mapping[str, Step], fingerprints: Mapping[str, Step]
) -> Step:
    """Score the fingerprints (steps by γ) and baselines on every member of the test models."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        with products.prepared_data(inputs, [*train, *test]) as data:
            try:
                table = _scorecard(_fingerprints(inputs, "gamma-"), data, train=train, test=test)
            except ValueError as error:  # the models share too few years, or no member has all of them
                salvage.set_aside(folder, str(error))
            else:
                netcdf.write(table, folder / "scorecard.nc")

    return Step(
        "scorecard", build, {"years": YEARS, "trend_years": TREND_YEARS}, {**prepared, **_named(fingerprints)}, CODE,
        "scorecard on test models", {"scorecard.nc": "data/scorecard.nc"},
    )  # fmt: skip


def over_confidence_step(
    settings: DetectionSettings,
    calm: Sequence[str],
    lively: Sequence[str],
    controls: Mapping[str, Step],
    fingerprints: Mapping[str, Step],
) -> Step:
    """Size of the test on control runs of test models, by γ: null from the training models, or from these models."""
    design = Design(sided=settings.sided, level=settings.level)
    asked = {"sided": settings.sided, "level": settings.level, "window": settings.window}

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        with products.prepared_data(inputs, calm, "control") as quiet, \
                products.prepared_data(inputs, lively, "control") as loud:  # fmt: skip
            try:
                table = detection.over_confidence(
                    _fingerprints(inputs), calm=quiet, lively=loud, window=settings.window, design=design
                )
            except ValueError as error:  # control runs that were set aside, or too short for the window
                salvage.set_aside(folder, str(error))
                return
            names = {"calm": ", ".join(quiet.children), "lively": ", ".join(loud.children)}
            netcdf.write(table.assign_attrs(names, **asked), folder / "over_confidence.nc")

    return Step(
        "over_confidence", build, asked, {**controls, **_named(fingerprints)}, CODE,
        "over-confidence of the test", {"over_confidence.nc": "data/over_confidence.nc"},
    )  # fmt: skip


def _scorecard(
    fingerprints: Mapping[str, Fingerprint], data: xr.DataTree, *, train: Sequence[str], test: Sequence[str]
) -> xr.Dataset:
    """The scorecard over ForceSMIP's periods, or as many years at the end of data that stop before 2000."""
    train, test = ([name for name in models if name in data.children] for models in (train, test))
    shared = _shared_years(data)
    years, trend_years = YEARS, TREND_YEARS
    if shared.size and shared[-1] < 2000:
        last = int(shared[-1])
        years, trend_years = ((last - (end - start), last) for start, end in (YEARS, TREND_YEARS))
    span = shared[(shared >= years[0]) & (shared <= years[1])]
    nodes: dict[str, Any] = {name: data[name].to_dataset() for name in train}
    left_out = []
    for name in test:
        one = data[name].to_dataset()
        whole = one["field"].sel(year=span).notnull().all(("year", "lat", "lon")).values
        left_out += [f"{name} {member}" for member in one["member"].values[~whole]]
        if whole.any():
            nodes[name] = one.isel(member=whole)
    scored = [name for name in test if name in nodes]
    if not scored:
        raise ValueError(f"no member of {', '.join(test)} has every value of the years that the models share")
    table = detection.scorecard(
        fingerprints, xr.DataTree.from_dict(nodes), models=scored, training=train, years=years, trend_years=trend_years
    )
    return table.assign_attrs(models=", ".join(scored), left_out=", ".join(left_out))


def _shared_years(data: xr.DataTree) -> NDArray[np.int64]:
    every = [node.to_dataset()["year"].values for node in data.children.values()]
    shared = functools.reduce(np.intersect1d, every) if every else np.empty(0)
    return np.asarray(shared, dtype=np.int64)


def _named(fingerprints: Mapping[str, Step]) -> dict[str, Step]:
    return {f"{PREFIX}{key}": step for key, step in fingerprints.items()}


def _fingerprints(inputs: Mapping[str, Product], prefix: str = "") -> dict[str, Fingerprint]:
    return {
        prefix + name.removeprefix(PREFIX): Fingerprint.from_netcdf(product.file("fingerprint.nc"))
        for name, product in inputs.items()
        if name.startswith(PREFIX)
    }
