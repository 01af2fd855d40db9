"""Pseudo-observations: one realisation of a world that no model is, seen through gaps and errors.

Coverage grows from the shipping lanes and the first stations of 1850 to most of the globe, shrinks in the two
world wars, and reaches Antarctica in 1957. Errors are independent noise in each cell and month, and smooth
errors that last for years; both shrink as the network grows.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.simulate.geography import bump, continentality
from climanchor.simulate.grids import Array, Grid, regular_cells
from climanchor.simulate.harmonics import Harmonics, degrees_orders
from climanchor.simulate.models import NATURE
from climanchor.simulate.patterns import smooth_noise
from climanchor.simulate.variability import Oscillation
from climanchor.simulate.worlds import Months, historical_months, realise, world_on

BASELINE = (1961, 1990)
_CELLS = 5.0
_ERROR_DEGREE = 5
#: Share of the globe's area that is observed, by year.
_COVERAGE = {
    1850: 0.20, 1860: 0.25, 1880: 0.37, 1900: 0.47, 1913: 0.55, 1917: 0.43, 1925: 0.58, 1938: 0.66, 1943: 0.52,
    1950: 0.70, 1958: 0.79, 1970: 0.85, 1990: 0.86, 2005: 0.84, 2025: 0.85,
}  # fmt: skip


@dataclass(frozen=True)
class Observed:
    """Monthly anomalies from 1961–1990 in K with NaN for gaps: one best estimate, and realisations of its error.

    ``estimate`` is (month, lat, lon) and ``realisations`` (realisation, month, lat, lon) on ``grid``.
    """

    months: Months
    grid: Grid
    estimate: NDArray[np.float32]
    realisations: NDArray[np.float32]


def observe(*, seed: int = 0, realisations: int = 0) -> Observed:
    """Draw the pseudo-observations: anomalies of one realisation of nature, with errors and gaps."""
    grid, months = regular_cells(_CELLS), historical_months(NATURE)
    rng = np.random.default_rng([seed, 1961])
    truth = _anomalies(months, seed)
    noise, smooth = _error_sizes(months)
    estimate = truth + noise[:, None, None] * rng.standard_normal(truth.shape, np.float32)
    estimate += _smooth_error(months, smooth, grid, rng)
    estimate[~_observed(months, grid, rng)] = np.nan
    draws = [estimate + _smooth_error(months, smooth, grid, rng) for _ in range(realisations)]
    return Observed(months, grid, estimate.astype(np.float32), np.array(draws, np.float32).reshape(-1, *truth.shape))


def observations(*, seed: int = 0, realisations: int = 0, min_months: int = 6) -> xr.Dataset:
    """Annual means of the pseudo-observations on the 5° grid of the prepared data, 1850 to 2024.

    Parameters
    ----------
    seed : of the draw.
    realisations : how many members sample the smooth errors around the best estimate.
    min_months : a cell has a value in years with at least this many months observed, 1 to 12.

    Returns
    -------
    ``field (year, lat, lon)``, the best estimate in K from 1961–1990, NaN in gaps; ``true_field`` without
    errors and gaps; ``true_forced``, its forced part; and ``ensemble (member, year, lat, lon)`` where
    ``realisations`` are asked for.

    >>> seen = observations()
    >>> seen.field.shape, bool(seen.field.isel(year=0).notnull().mean() < seen.field.isel(year=-1).notnull().mean())
    ((175, 36, 72), True)
    """
    if not 1 <= min_months <= 12:
        raise ValueError(f"min_months must be 1 to 12, not {min_months}")
    seen = observe(seed=seed, realisations=realisations)
    dims = ("year", "lat", "lon")
    dataset = nature(seed=seed).assign_attrs(title="Pseudo-observations")
    dataset["field"] = (dims, _annual(seen.estimate, min_months), {"units": "K"})
    if realisations:
        ensemble = np.array([_annual(draw, min_months) for draw in seen.realisations])
        dataset["ensemble"] = (("member", *dims), ensemble, {"units": "K"})
    return dataset


def nature(*, seed: int = 0) -> xr.Dataset:
    """The annual truth that the pseudo-observations observe: ``true_field`` and ``true_forced``."""
    grid, months = regular_cells(_CELLS), historical_months(NATURE)
    place = world_on(NATURE, grid)
    run = realise(NATURE, months, seed=seed, member=NATURE.members[0])
    years, expected = place.annual_expected(months, run.forced)
    base = (years >= BASELINE[0]) & (years <= BASELINE[1])
    truth = expected + place.annual_internal(run)
    values = {"true_field": truth, "true_forced": expected}
    return xr.Dataset(
        {
            name: (("year", "lat", "lon"), (value - value[base].mean(axis=0)).astype(np.float32), {"units": "K"})
            for name, value in values.items()
        },
        coords={"year": years, "lat": grid.lat, "lon": grid.lon},
        attrs={"reference_period": "1961-1990", "seed": seed},
    )


def _anomalies(months: Months, seed: int) -> NDArray[np.float32]:
    """Nature's monthly anomalies from 1961–1990, calendar month by calendar month."""
    run = realise(NATURE, months, seed=seed, member=NATURE.members[0])
    field = world_on(NATURE, regular_cells(_CELLS)).monthly(run)
    by_month = field.reshape(-1, 12, *field.shape[1:])
    years = months.year[::12]
    base = (years >= BASELINE[0]) & (years <= BASELINE[1])
    return np.asarray((by_month - by_month[base].mean(axis=0)).reshape(field.shape))


def _error_sizes(months: Months) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Standard deviations in K of the independent and of the smooth error in each month."""
    network = _coverage(months)
    return (0.1 / network).astype(np.float32), (0.12 * (1 - network) + 0.01).astype(np.float32)


def _smooth_error(
    months: Months, size: NDArray[np.float32], grid: Grid, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Errors of thousands of kilometres that last for about five years."""
    n, _ = degrees_orders(_ERROR_DEGREE)
    slow = Oscillation(period=20.0, damping=5.0)
    series = np.column_stack([slow.draw(months.count, rng) for _ in n]) / np.sqrt(len(n))
    return np.asarray(size[:, None, None] * Harmonics(grid, _ERROR_DEGREE).synthesise(series))


def _coverage(months: Months) -> Array:
    return np.interp(months.year + (months.month + 0.5) / 12, list(_COVERAGE), list(_COVERAGE.values()))


def _observed(months: Months, grid: Grid, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which cells are observed in each month: the least remote ones, with flicker at the margin."""
    draw = rng.random((months.count, *grid.shape), np.float32)
    margin = ((_coverage(months)[:, None, None] - _remoteness()) / 0.03).astype(np.float32)
    seen = draw < 1 / (1 + np.exp(-np.clip(margin, -30, 30)))
    seen[np.ix_(months.year < 1957, grid.lat < -62)] = False
    return np.asarray(seen)


@cache
def _remoteness() -> Array:
    """Rank of each cell by remoteness, as the share of the globe that is less remote: 0 Europe, 1 the poles."""
    grid = regular_cells(_CELLS)
    land, lat = continentality(grid), grid.lat[:, None]
    poles = 2.5 * (np.abs(lat) / 90) ** 4 + 1.5 / (1 + np.exp((lat + 52) / 4))
    interior = 1.3 * bump(grid, 5, 20, 18, 14) + 1.3 * bump(grid, -8, 300, 14, 12) + 0.8 * bump(grid, 35, 85, 12, 20)
    pacific = 0.9 * bump(grid, 0, 210, 35, 45) + 0.6 * bump(grid, -35, 240, 15, 40)
    lanes = 1.2 * bump(grid, 48, 5, 14, 25) + 1.0 * bump(grid, 38, 275, 12, 20) + 0.9 * bump(grid, 0, 335, 45, 14)
    lanes = lanes + 0.7 * bump(grid, -15, 75, 25, 18) + 0.6 * bump(grid, -35, 150, 8, 14)
    remote = poles + interior * land + pacific * (1 - land) - lanes + 0.35 * smooth_noise(grid, "remoteness")
    remote = remote + 0.15 * np.random.default_rng(1850).standard_normal(grid.shape)
    order = np.argsort(remote, axis=None)
    rank = np.empty(remote.size)
    rank[order] = np.cumsum(grid.share.ravel()[order])
    return rank.reshape(grid.shape)


def _annual(monthly: NDArray[np.float32], min_months: int) -> NDArray[np.float32]:
    by_month = monthly.reshape(-1, 12, *monthly.shape[1:])
    held = np.sum(~np.isnan(by_month), axis=1)
    total = np.nansum(by_month, axis=1)
    return np.where(held >= min_months, total / np.maximum(held, 1), np.nan).astype(np.float32)
