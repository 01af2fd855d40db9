"""A climate model's world on a grid: the maps of its climate, and realisations drawn from it.

The causal order is that of the paper: forcing → forced response → field; internal variability → field. No
realisation knows of another, and nothing here knows of any estimator.
"""

from calendar import isleap
from dataclasses import dataclass, replace
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from climanchor.simulate.forcing import AGENTS, FIRST_YEAR, LAST_YEAR, warming
from climanchor.simulate.grids import Array, Grid
from climanchor.simulate.harmonics import Harmonics
from climanchor.simulate.models import ModelSpec
from climanchor.simulate.patterns import (
    decadal_pattern,
    enso_pattern,
    forced_pattern,
    mean_state,
    seasonal_amplification,
    smooth_noise,
    weather_strength,
)
from climanchor.simulate.variability import DEGREE, ENSO, Oscillation, decadal_strength, draw_weather

_MONTH_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


@dataclass(frozen=True)
class Months:
    """A stretch of consecutive months of a calendar, counted from January of ``first_year``."""

    calendar: str
    first_year: int
    offset: int
    count: int

    @property
    def index(self) -> NDArray[np.int64]:
        """Months since January of ``first_year``."""
        return self.offset + np.arange(self.count)

    @property
    def year(self) -> NDArray[np.int64]:
        return self.first_year + self.index // 12

    @property
    def month(self) -> NDArray[np.int64]:
        """Calendar month, 0 for January."""
        return self.index % 12

    @property
    def days(self) -> NDArray[np.int64]:
        """Length of each month in days."""
        if self.calendar == "360_day":
            return np.full(self.count, 30)
        leap = [self.calendar != "noleap" and isleap(year) for year in self.year]
        return np.asarray(_MONTH_LENGTHS[self.month] + ((self.month == 1) & np.array(leap, dtype=bool)))

    @property
    def winter(self) -> Array:
        """Phase of the northern winter: 1 in mid-January, −1 in mid-July."""
        return np.asarray(np.cos(2 * np.pi * self.month / 12))

    @property
    def stamp(self) -> str:
        """First and last month as CMIP file names write them, for example ``185001-201412``."""
        first, last = (f"{self.year[i]:04d}{self.month[i] + 1:02d}" for i in (0, -1))
        return f"{first}-{last}"

    def part(self, start: int, stop: int) -> "Months":
        """The months from ``start`` up to, not including, ``stop`` of this stretch."""
        return replace(self, offset=self.offset + start, count=min(stop, self.count) - start)

    def annual(self) -> tuple[NDArray[np.int64], slice, Array]:
        """Complete years, the slice of their months, and each month's share of its year (year, month)."""
        start = -self.offset % 12
        years = (self.count - start) // 12
        inside = slice(start, start + 12 * years)
        days = self.days[inside].reshape(years, 12)
        return self.year[inside][::12], inside, days / days.sum(axis=1, keepdims=True)


def historical_months(spec: ModelSpec, years: tuple[int, int] | None = None) -> Months:
    """The months of the model's historical run, cut to ``years`` (both included) where given."""
    first, month = spec.start
    last = spec.end
    if years is not None:
        if years[0] > first:
            first, month = years[0], 1
        last = min(last, years[1])
    if first > last:
        raise ValueError(f"{spec.name} has no month in the years {years}: it runs from {spec.start[0]} to {spec.end}")
    return Months(spec.calendar, first, month - 1, 12 * (last - first + 1) - month + 1)


def control_months(spec: ModelSpec, years: int) -> Months:
    """The first ``years`` years of the model's control run."""
    return Months(spec.calendar, spec.control_start, 0, 12 * years)


@dataclass(frozen=True)
class Realisation:
    """One run: months, series of every mode (month, mode) in K and the weather's coefficients."""

    months: Months
    forced: Array
    internal: Array
    weather: NDArray[np.float32]

    def part(self, start: int, stop: int) -> "Realisation":
        """A stretch of the run."""
        cut = slice(start, stop)
        months = self.months.part(start, stop)
        return Realisation(months, self.forced[cut], self.internal[cut], self.weather[cut])


def forced_series(spec: ModelSpec, months: Months, *, control: bool = False) -> Array:
    """Series (month, forced mode) in K: warming by agent, its seasonal part, and the control run's drift."""
    series = np.zeros((months.count, len(AGENTS) + 2))
    if control:
        series[:, -1] = spec.physics.drift * (np.arange(months.count) / 1200 - months.count / 2400)
        return series
    if months.year[0] < FIRST_YEAR or months.year[-1] > LAST_YEAR:
        raise ValueError(f"forcing is known from {FIRST_YEAR} to {LAST_YEAR}, not for {months.stamp}")
    at = 12 * (months.year - FIRST_YEAR) + months.month
    series[:, : len(AGENTS)] = warming(spec.physics)[:, at].T
    series[:, -2] = series[:, : len(AGENTS)].sum(axis=1) * months.winter
    return series


def realise(
    spec: ModelSpec,
    months: Months,
    *,
    seed: int,
    member: str,
    control: bool = False,
    degree: int = DEGREE,
) -> Realisation:
    """Draw one run; the draw depends on the seed, the model, the experiment and the member alone.

    ``degree`` is the highest degree of the weather's harmonics that will be used.
    """
    name = f"{spec.name}/{'piControl' if control else 'historical'}/{member}"

    def rng(process: str) -> np.random.Generator:
        return np.random.default_rng([seed, crc32(f"{name}/{process}".encode())])

    decadal = [
        strength * Oscillation(mode.period, mode.damping).draw(months.count, rng(mode.region))
        for mode, strength in zip(spec.physics.modes, decadal_strength(spec), strict=True)
    ]
    enso = spec.physics.enso * ENSO.draw(months.count, rng("enso"))
    forced = forced_series(spec, months, control=control)
    weather = draw_weather(months.count, rng("weather"), degree)
    return Realisation(months, forced, np.column_stack([*decadal, enso]), weather)


@dataclass(frozen=True, eq=False)
class World:
    """The maps of a model's climate on a grid, and fields from realisations.

    ``forced`` and ``internal`` are (mode, lat, lon) in K per K of the mode's series; ``climatology`` is
    (month, lat, lon) in K; ``weather`` is the strength of the weather, its annual mean and January's excess.
    """

    spec: ModelSpec
    grid: Grid
    climatology: Array
    forced: Array
    internal: Array
    weather: tuple[Array, Array]
    harmonics: Harmonics

    def monthly(self, run: Realisation) -> NDArray[np.float32]:
        """Temperature of every month in K, (month, lat, lon)."""
        mean, excess = (s.astype(np.float32) for s in self.weather)
        strength = mean + run.months.winter.astype(np.float32)[:, None, None] * excess
        field = self.harmonics.synthesise(run.weather)
        field *= strength
        series = np.column_stack([run.forced, run.internal]).astype(np.float32)
        patterns = np.concatenate([self.forced, self.internal]).astype(np.float32)
        field += np.tensordot(series, patterns, axes=1)
        field += self.climatology.astype(np.float32)[run.months.month]
        return field

    def annual_expected(self, months: Months, forced: Array) -> tuple[NDArray[np.int64], Array]:
        """Complete years, and their mean temperature (year, lat, lon) in K had there been no variability."""
        years, inside, share = months.annual()
        series = _annual(forced[inside], share)
        return years, np.tensordot(share, self.climatology, axes=1) + np.tensordot(series, self.forced, axes=1)

    def annual_internal(self, run: Realisation) -> NDArray[np.float32]:
        """Internal variability of annual means in K, (year, lat, lon), for the complete years."""
        _, inside, share = run.months.annual()
        weather, winter = run.weather[inside], run.months.winter[inside, None].astype(np.float32)
        mean, excess = (s.astype(np.float32) for s in self.weather)
        field = mean * self.harmonics.synthesise(_annual(weather, share))
        field += excess * self.harmonics.synthesise(_annual(weather * winter, share))
        modes = _annual(run.internal[inside], share).astype(np.float32)
        field += np.tensordot(modes, self.internal.astype(np.float32), axes=1)
        return np.asarray(field, np.float32)

    def global_internal(self, run: Realisation) -> Array:
        """Area-weighted global mean of the internal variability of annual means in K, for the complete years."""
        _, inside, share = run.months.annual()
        weather, winter = run.weather[inside].astype(float), run.months.winter[inside, None]
        mean, excess = (self.harmonics.analyse(strength)[: weather.shape[1]] for strength in self.weather)
        modes = _annual(run.internal[inside], share) @ self.grid.mean(self.internal)
        return np.asarray(modes + _annual(weather, share) @ mean + _annual(weather * winter, share) @ excess)


@lru_cache(maxsize=16)
def world(spec: ModelSpec, rows: int | None = None) -> World:
    """The model's world on its own grid, coarsened to about ``rows`` latitudes where given."""
    return world_on(spec, spec.grid(rows))


def world_on(spec: ModelSpec, grid: Grid) -> World:
    """The model's world on any grid."""
    agents = [forced_pattern(spec, agent, grid) for agent in AGENTS]
    drift = 1 + 0.8 * smooth_noise(grid, spec.name, "drift")
    regions = [decadal_pattern(spec, mode.region, grid) for mode in spec.physics.modes]
    return World(
        spec,
        grid,
        mean_state(spec, grid),
        np.array([*agents, seasonal_amplification(spec, grid), drift]),
        np.array([*regions, enso_pattern(spec, grid)]),
        weather_strength(spec, grid),
        Harmonics(grid, DEGREE),
    )


def _annual(series: NDArray[np.floating], share: Array) -> NDArray[np.floating]:
    """Means (year, mode) of monthly series (month, mode) with each month's share of its year."""
    weights = share.astype(series.dtype)[:, None, :]
    return np.asarray((weights @ series.reshape(*share.shape, -1))[:, 0])
