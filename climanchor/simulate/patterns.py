"""Maps of the synthetic climate: forced responses, modes of variability and the strength of weather.

Every response and mode has an area mean of one, so that its time series is its share of the global mean. What
a model has of its own is a smooth random departure from the shape that all models share: it depends on the
model's name alone, never on the seed of the draws.
"""

from collections.abc import Callable
from zlib import crc32

import numpy as np

from climanchor.simulate.geography import bump, climatology, continentality
from climanchor.simulate.grids import Array, Grid, regular_cells
from climanchor.simulate.harmonics import Harmonics, degrees_orders
from climanchor.simulate.models import ModelSpec

_REFERENCE = regular_cells(2.5)
_OWN_DEGREE = 7  # the model's own departures are wider than about 25 degrees


def smooth_noise(grid: Grid, *names: str) -> Array:
    """A smooth random map of mean 0 and variance about 1, the same for the same names on every grid."""
    rng = np.random.default_rng([crc32(name.encode()) for name in names])
    n, _ = degrees_orders(_OWN_DEGREE)
    variance = np.where(n > 0, 1 / (1 + (n / 3.0) ** 2) ** 1.5, 0)
    coefficients = rng.standard_normal(len(n)) * np.sqrt(variance / variance.sum())
    return np.asarray(Harmonics(grid, _OWN_DEGREE).synthesise(coefficients[None])[0], float)


def forced_pattern(spec: ModelSpec, agent: str, grid: Grid) -> Array:
    """Annual response of local temperature to one kelvin of global warming by ``agent``.

    Greenhouse warming is stronger over land and in the Arctic, weaker over the Southern Ocean and in the
    North Atlantic; aerosols act most in the northern mid-latitudes; volcanoes on land and in the tropics.
    """
    physics = spec.physics

    def shape(at: Grid) -> Array:
        land, arctic = continentality(at) - 0.29, _step(at, 66, 9)
        south = bump(at, -58, 180, 9, 1e6) * (1 - continentality(at))
        if agent == "aerosol":
            north = bump(at, 42, 0, 20, 1e6) * (1 + 0.8 * land)
            return 0.55 + 1.0 * north + physics.land * land + 0.8 * physics.arctic * arctic
        if agent == "volcanic":
            return 1 + 1.2 * physics.land * land - 0.4 * (_step(at, 60, 8) + _step(at, -55, 8)) - 0.4 * south
        hole = bump(at, 53, 325, 8, 16)
        return 1 + physics.land * land + physics.arctic * arctic - 0.5 * south - 0.8 * hole

    strength = 0.18 * (1 + 1.2 * _step(grid, 62, 10) + 0.6 * _step(grid, -60, 10))
    return _unit(shape, spec, f"forced {agent}", strength, grid)


def seasonal_amplification(spec: ModelSpec, grid: Grid) -> Array:
    """Extra warming in the middle of winter, per kelvin of global warming: sea ice makes the Arctic's largest."""
    inland = continentality(grid) * np.sin(np.deg2rad(grid.lat))[:, None]
    return np.asarray(0.6 * spec.physics.arctic * _step(grid, 68, 8) + 0.25 * inland)


def decadal_pattern(spec: ModelSpec, region: str, grid: Grid) -> Array:
    """Local temperature that goes with one kelvin of global mean in a decadal mode of a region."""

    def shape(at: Grid) -> Array:
        inland = continentality(at)
        if region == "pacific":
            tropics = 2.4 * bump(at, 0, 215, 14, 55) + 1.6 * bump(at, 52, 215, 14, 22)
            return 0.45 + tropics - 1.5 * bump(at, 38, 165, 9, 25) - 0.8 * bump(at, -35, 200, 9, 30) + 0.4 * inland
        if region == "atlantic":
            north = 2.6 * bump(at, 55, 325, 13, 25) + 1.0 * bump(at, 15, 320, 10, 25) + 2.2 * _step(at, 66, 7)
            return 0.4 + north + 0.5 * inland * _step(at, 10, 15) - 0.3 * bump(at, -50, 330, 12, 40)
        ocean = 2.4 * bump(at, -63, 200, 9, 60) + 1.6 * bump(at, -62, 340, 9, 50) + 0.8 * _step(at, -68, 6)
        return 0.3 + ocean + 0.2 * inland

    return _unit(shape, spec, f"decadal {region}", 0.25 * np.ones(grid.shape), grid)


def enso_pattern(spec: ModelSpec, grid: Grid) -> Array:
    """Local temperature that goes with one kelvin of global mean in the El Niño mode."""

    def shape(at: Grid) -> Array:
        tongue = 6.5 * bump(at, 0, 235, 7, 38) + 1.5 * bump(at, -8, 280, 8, 10)
        horseshoe = 1.6 * (bump(at, 30, 180, 8, 25) + bump(at, -30, 195, 8, 25)) + 1.0 * bump(at, 0, 135, 8, 15)
        teleconnection = 2.0 * bump(at, 57, 240, 10, 22) - 1.0 * bump(at, 33, 265, 7, 15)
        return 0.4 + tongue - horseshoe + teleconnection + 0.5 * bump(at, 0, 180, 22, 1e6) + bump(at, 0, 70, 14, 18)

    return _unit(shape, spec, "enso", 0.4 * np.ones(grid.shape), grid)


def weather_strength(spec: ModelSpec, grid: Grid) -> tuple[Array, Array]:
    """Standard deviation of monthly weather in K: its annual mean, and what January adds to it.

    Small over tropical seas, larger inland and over sea ice, and larger in winter.
    """
    sine, land = np.sin(np.deg2rad(grid.lat))[:, None], continentality(grid)
    ice = _step(grid, 68, 6) + 0.6 * _step(grid, -66, 5) * (1 - land)
    mean = 0.38 + 0.35 * np.abs(sine) + 1.7 * land * np.abs(sine) + 0.25 * land + 1.3 * ice
    mean = mean * (1 + 0.12 * smooth_noise(grid, spec.name, "weather"))
    return np.asarray(mean), np.asarray(0.45 * mean * sine * np.clip(land + ice, 0, 1))


def mean_state(spec: ModelSpec, grid: Grid) -> Array:
    """The model's climatology in K, (month, lat, lon): the shared one and a bias of about 1 K."""
    return climatology(grid) + 1.0 * smooth_noise(grid, spec.name, "bias")


def _step(grid: Grid, lat: float, width: float) -> Array:
    """A smooth step from 0 at the equator's side of a latitude to 1 at the pole's side, as a column."""
    towards_pole = (grid.lat - lat) if lat > 0 else (lat - grid.lat)
    return np.asarray(1 / (1 + np.exp(-2 * towards_pole / width)))[:, None]


def _unit(shape: Callable[[Grid], Array], spec: ModelSpec, name: str, strength: Array, grid: Grid) -> Array:
    """The shared shape scaled to a mean of one, plus the model's own departure of mean zero."""
    shared = shape(grid) / _REFERENCE.mean(shape(_REFERENCE))
    return np.asarray(shared + strength * smooth_noise(grid, spec.name, name))
