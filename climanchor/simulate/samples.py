"""Prepared data drawn in memory, for tests, examples and benchmarks of what comes after preprocessing."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.kernels.running import running_mean
from climanchor.simulate.grids import Grid, regular_cells
from climanchor.simulate.models import ModelSpec, choose_members, choose_models
from climanchor.simulate.variability import WINDOW
from climanchor.simulate.worlds import control_months, forced_series, historical_months, realise, world_on


def prepared(
    *,
    models: Sequence[str] | None = None,
    members: int | Mapping[str, int] | None = None,
    years: tuple[int, int] | None = None,
    seed: int = 0,
    grid: float = 5.0,
    reference: tuple[int, int] = (1850, 1900),
) -> xr.DataTree:
    """Draw annual anomalies, forced responses and DIV of the synthetic models, as preprocessing would give them.

    The draws are those of :func:`write_archive` with the same seed, evaluated on the target grid itself rather
    than on each model's own and then regridded: they agree with the preprocessed archive up to that.

    Parameters
    ----------
    models : names of the models; all seven when ``None``.
    members : how many of each model's members: a number, a number by model, or as many as the paper (``None``:
        131 members, about 10 s and 230 MB on the 5° grid).
    years : first and last year kept, both included; every year of the historical run when ``None``.
    seed : of the draws. The models' climates do not depend on it.
    grid : cell size in degrees, a divisor of 180.
    reference : first and last year of the reference period of the anomalies.

    Returns
    -------
    One child per model: ``field (member, year, lat, lon)`` float32, ``forced (year, lat, lon)`` float32, the
    mean over the members, and ``div (member, year)``, the 10-year running mean of the area-weighted global mean
    of ``field - forced``, NaN where the window is incomplete. In memory, not lazy. ``true_forced`` (year, lat,
    lon) and ``true_div`` (member, year) are what an infinite ensemble would give.

    >>> tree = prepared(models=["HadCM3"], members=2, years=(1860, 1920), grid=15.0)
    >>> tree["HadCM3"].field.shape, tree["HadCM3"].div.shape
    ((2, 61, 12, 24), (2, 61))
    """
    cells = regular_cells(grid)
    nodes = {
        spec.name: _historical(spec, choose_members(spec, members), years, seed, cells, reference)
        for spec in choose_models(models)
    }
    return _tree(nodes, seed)


def control(
    *,
    models: Sequence[str] | None = None,
    years: int = 500,
    seed: int = 0,
    grid: float = 5.0,
) -> xr.DataTree:
    """Draw annual unforced fields of the synthetic models' control runs.

    Returns one child per model with ``field (member, year, lat, lon)`` in K, anomalies from the run's own mean
    (one member of ``years`` years; some models drift slightly). The draws are those of :func:`write_archive`
    for the same number of years.

    >>> control(models=["CESM2"], years=20, grid=15.0)["CESM2"].field.shape
    (1, 20, 12, 24)
    """
    cells = regular_cells(grid)
    nodes = {}
    for spec in choose_models(models):
        months, member = control_months(spec, years), spec.members[0]
        place = world_on(spec, cells)
        degree = place.harmonics.resolved
        run = realise(spec, months, seed=seed, member=member, control=True, degree=degree)
        label, expected = place.annual_expected(months, run.forced)
        field = expected + place.annual_internal(run)
        field = (field - field.mean(axis=0)).astype(np.float32)
        nodes[spec.name] = _dataset({"field": field[None]}, (member,), label, cells)
    return _tree(nodes, seed)


def _historical(
    spec: ModelSpec,
    members: tuple[str, ...],
    years: tuple[int, int] | None,
    seed: int,
    cells: Grid,
    reference: tuple[int, int],
) -> xr.Dataset:
    months, place = historical_months(spec), world_on(spec, cells)
    degree = place.harmonics.resolved
    runs = (realise(spec, months, seed=seed, member=member, degree=degree) for member in members)
    internal = np.array([place.annual_internal(run) for run in runs])
    label, expected = place.annual_expected(months, forced_series(spec, months))
    base = (label >= reference[0]) & (label <= reference[1])
    if not base.any():
        raise ValueError(f"{spec.name} has no year in the reference period {reference[0]}–{reference[1]}")
    signal = expected - expected[base].mean(axis=0)
    internal -= internal[:, base].mean(axis=1, keepdims=True)
    field = signal.astype(np.float32) + internal
    forced = field.mean(axis=0)
    true_div = running_mean(cells.mean(internal), window=WINDOW)
    keep = slice(None) if years is None else (label >= years[0]) & (label <= years[1])
    if not label[keep].size:
        raise ValueError(f"{spec.name} has no year in {years}: it has {label[0]} to {label[-1]}")
    field, forced = field[:, keep], forced[keep]
    values = {
        "field": field,
        "forced": forced,
        "div": running_mean(cells.mean(field - forced), window=WINDOW),
        "true_forced": signal[keep].astype(np.float32),
        "true_div": true_div[:, keep],
    }
    return _dataset(values, members, label[keep], cells)


_ATTRIBUTES = {
    "field": ("surface air temperature anomaly", "K"),
    "forced": ("forced response: mean over members", "K"),
    "div": ("decadal internal variability of the global mean", "K"),
    "true_forced": ("expected temperature anomaly", "K"),
    "true_div": ("decadal internal variability of the global mean, without sampling error of the forced part", "K"),
}


def _dataset(
    values: Mapping[str, NDArray[np.floating]], members: tuple[str, ...], years: NDArray[np.int64], cells: Grid
) -> xr.Dataset:
    dims = {"field": ("member", "year", "lat", "lon"), "div": ("member", "year"), "true_div": ("member", "year")}
    dataset = xr.Dataset(
        {name: (dims.get(name, ("year", "lat", "lon")), array) for name, array in values.items()},
        coords={
            "member": ("member", list(members), {"standard_name": "realization"}),
            "year": ("year", years.astype(np.int64)),
            "lat": ("lat", cells.lat, {"standard_name": "latitude", "units": "degrees_north", "bounds": "lat_bnds"}),
            "lon": ("lon", cells.lon, {"standard_name": "longitude", "units": "degrees_east", "bounds": "lon_bnds"}),
            "lat_bnds": (("lat", "bnds"), cells.lat_bnds),
            "lon_bnds": (("lon", "bnds"), cells.lon_bnds),
        },
    )
    for name in values:
        long_name, units = _ATTRIBUTES[name]
        dataset[name].attrs = {"long_name": long_name, "units": units}
    return dataset


def _tree(nodes: Mapping[str, xr.Dataset], seed: int) -> xr.DataTree:
    tree = xr.DataTree.from_dict({f"/{name}": dataset for name, dataset in nodes.items()})
    tree.attrs = {"title": "Synthetic climate models", "source": "climanchor.simulate", "seed": seed}
    return tree
