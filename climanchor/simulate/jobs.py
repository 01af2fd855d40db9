"""The jobs of the synthetic archive: each draws what its files hold and writes those that are missing."""

from collections.abc import Collection
from pathlib import Path, PurePosixPath

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from climanchor.kernels.running import running_mean
from climanchor.simulate.attributes import NOTICE, file_attributes
from climanchor.simulate.files import (
    add_field,
    add_grid,
    add_height,
    add_months,
    chunk_steps,
    new_file,
    rounded,
    save_dataset,
)
from climanchor.simulate.geography import land_fraction
from climanchor.simulate.models import MODELS, NATURE, ModelSpec
from climanchor.simulate.plan import SIZES, Job, Settings, file_months, fixed_member
from climanchor.simulate.pseudo_observations import Observed, nature, observe
from climanchor.simulate.variability import WINDOW
from climanchor.simulate.worlds import (
    Realisation,
    World,
    forced_series,
    historical_months,
    realise,
    world,
)

_TAS = {
    "standard_name": "air_temperature",
    "long_name": "Near-Surface Air Temperature",
    "units": "K",
    "cell_methods": "area: time: mean",
    "cell_measures": "area: areacella",
    "coordinates": "height",
}
_FIXED = {
    "areacella": {"standard_name": "cell_area", "long_name": "Grid-Cell Area for Atmospheric Grid", "units": "m2"},
    "sftlf": {"standard_name": "land_area_fraction", "long_name": "Land Area Fraction", "units": "%"},
}


def execute(job: Job, settings: Settings, root: Path, wanted: Collection[str]) -> None:
    """Write those of the job's outputs that are ``wanted``, with one thread so that rounding never differs."""
    with threadpool_limits(1):
        match job.kind:
            case "historical" | "piControl":
                _write_run(job, settings, root, wanted)
            case "fixed":
                _write_fixed(job, settings, root, wanted)
            case "truth":
                _write_truth(job, settings, root)
            case "observations":
                _write_observations(job, settings, root)


def _write_run(job: Job, settings: Settings, root: Path, wanted: Collection[str]) -> None:
    spec, control = MODELS[job.model], job.kind == "piControl"
    run = _draw(spec, settings, job.member, control=control)
    place = world(spec, SIZES[settings.size].rows)
    for output, cut in zip(job.outputs, file_months(settings, spec, control=control), strict=True):
        if output in wanted:
            _write_months(root, output, place, run.part(*cut), job, settings)


def _draw(spec: ModelSpec, settings: Settings, member: str, *, control: bool = False) -> Realisation:
    """A run as it is whatever years are kept of it, cut to those."""
    kept = settings.months(spec, control=control)
    whole = kept if control else historical_months(spec)
    start = 12 * (kept.first_year - whole.first_year) + kept.offset - whole.offset
    degree = world(spec, SIZES[settings.size].rows).harmonics.resolved
    run = realise(spec, whole, seed=settings.seed, member=member, control=control, degree=degree)
    return run.part(start, start + kept.count)


def _write_months(root: Path, output: str, place: World, run: Realisation, job: Job, settings: Settings) -> None:
    spec, size = place.spec, SIZES[settings.size]
    where = {"variable": "tas", "table": "Amon", "experiment": job.kind, "member": job.member}
    steps = 1 if size.rows is None else min(chunk_steps(place.grid.share.size), run.months.count)
    with new_file(root / output, file_attributes(spec, PurePosixPath(output), key=job.key, **where)) as dataset:
        add_grid(dataset, place.grid)
        add_months(dataset, run.months, spec.time_units)
        add_height(dataset)
        tas = add_field(dataset, "tas", ("time", "lat", "lon"), _TAS, steps=steps)
        block = steps * max(1, 120 // steps)
        for start in range(0, run.months.count, block):
            part = run.part(start, start + block)
            tas[start : start + part.months.count] = rounded(place.monthly(part), size.fraction)


def _write_fixed(job: Job, settings: Settings, root: Path, wanted: Collection[str]) -> None:
    spec = MODELS[job.model]
    grid = spec.grid(SIZES[settings.size].rows)
    fields = {"areacella": grid.area, "sftlf": 100 * land_fraction(grid)}
    where = {"table": "fx", "experiment": "historical", "member": fixed_member(spec)}
    for output, (variable, values) in zip(job.outputs, fields.items(), strict=True):
        if output in wanted:
            attributes = file_attributes(spec, PurePosixPath(output), variable=variable, key=job.key, **where)
            with new_file(root / output, attributes) as dataset:
                add_grid(dataset, grid)
                add_field(dataset, variable, ("lat", "lon"), _FIXED[variable])[:] = values


def _write_truth(job: Job, settings: Settings, root: Path) -> None:
    """What the archive's members estimate: the expected anomaly, and each member's own DIV."""
    spec, members = MODELS[job.model], settings.members[job.model]
    place, months = world(spec, SIZES[settings.size].rows), settings.months(spec, control=False)
    years, expected = place.annual_expected(months, forced_series(spec, months))
    internal = np.array([place.global_internal(_draw(spec, settings, member)) for member in members])
    early = (years >= 1850) & (years <= 1900)
    base = early if early.any() else np.ones(len(years), dtype=bool)
    forced = expected - expected[base].mean(axis=0)
    div = running_mean(internal - internal[:, base].mean(axis=1, keepdims=True), window=WINDOW)
    grid = place.grid
    dataset = xr.Dataset(
        {
            "forced": (("year", "lat", "lon"), forced.astype(np.float32), _kelvin("expected temperature anomaly")),
            "div": (("member", "year"), div, _kelvin("decadal internal variability of the global mean")),
            "internal": (("member", "year"), internal, _kelvin("internal part of the global mean")),
            "lat_bnds": (("lat", "bnds"), grid.lat_bnds),
            "lon_bnds": (("lon", "bnds"), grid.lon_bnds),
        },
        coords={
            "member": ("member", list(members), {"standard_name": "realization"}),
            "year": years,
            "lat": ("lat", grid.lat, {"standard_name": "latitude", "units": "degrees_north", "bounds": "lat_bnds"}),
            "lon": ("lon", grid.lon, {"standard_name": "longitude", "units": "degrees_east", "bounds": "lon_bnds"}),
        },
        attrs={
            **_facets(spec.name, "historical", "forced"),
            "title": f"Truth of the synthetic archive: {spec.name}",
            "comment": NOTICE,
            "reference_period": f"{years[base][0]}-{years[base][-1]}",
            "climanchor_key": job.key,
        },
    )
    save_dataset(dataset, root / job.outputs[0])


def _write_observations(job: Job, settings: Settings, root: Path) -> None:
    """The monthly pseudo-observations, laid out like HadCRUT's grids, and the annual truth behind them."""
    seen = observe(seed=settings.seed, realisations=SIZES[settings.size].realisations)
    shared = {"comment": NOTICE, "reference_period": "1961-1990", "climanchor_key": job.key}
    monthly = _observation_grid(seen).assign_attrs(
        title="Pseudo-observations",
        Conventions="CF-1.7",
        **shared,
        **_facets("pseudo-observations", "observations", "tas_mean"),
    )
    save_dataset(monthly, root / job.outputs[0])
    truth = nature(seed=settings.seed).assign_attrs(
        title="Truth behind the pseudo-observations",
        **shared,
        **_facets("pseudo-observations", "observations", "true_field"),
    )
    save_dataset(truth, root / job.outputs[1])


def _observation_grid(seen: Observed) -> xr.Dataset:
    """Dimensions time, latitude and longitude from 180° W, and ``realization`` where errors are sampled."""
    edges = np.concatenate([[0], np.cumsum(seen.months.days)]).astype(float)
    days = {"units": NATURE.time_units, "calendar": NATURE.calendar}
    half = seen.grid.shape[1] // 2
    dims = ("time", "latitude", "longitude")
    anomaly = {**_kelvin("blended air temperature anomaly"), "standard_name": "air_temperature_anomaly"}
    dataset = xr.Dataset(
        {
            "tas_mean": (dims, np.roll(rounded(seen.estimate, 128), half, axis=-1), anomaly),
            "time_bnds": (("time", "bnds"), np.column_stack([edges[:-1], edges[1:]])),
        },
        coords={
            "time": ("time", (edges[1:] + edges[:-1]) / 2, {**days, "standard_name": "time", "bounds": "time_bnds"}),
            "latitude": ("latitude", seen.grid.lat, {"standard_name": "latitude", "units": "degrees_north"}),
            "longitude": ("longitude", np.sort((seen.grid.lon + 180) % 360 - 180), {"standard_name": "longitude"}),
        },
    )
    dataset["longitude"].attrs["units"] = "degrees_east"
    if len(seen.realisations):
        values = np.roll(rounded(seen.realisations, 128), half, axis=-1)
        dataset["tas"] = (("realization", *dims), values, anomaly)
        dataset["realization"] = np.arange(1, len(values) + 1)
    return dataset


def _facets(source: str, experiment: str, variable: str) -> dict[str, str]:
    """Attributes by which a search of the archive tells that a file is none of its runs."""
    return {
        "source_id": source,
        "experiment_id": experiment,
        "variant_label": "all",
        "variable_id": variable,
        "history": "written by climanchor.simulate",
    }


def _kelvin(long_name: str) -> dict[str, str]:
    return {"long_name": long_name, "units": "K"}
