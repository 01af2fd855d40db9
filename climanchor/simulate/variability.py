"""Time series of internal variability, and how strong the decadal modes must be for a given DIV magnitude."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import toeplitz

from climanchor.simulate.grids import Array, regular_cells
from climanchor.simulate.harmonics import Harmonics, degrees_orders
from climanchor.simulate.models import ModelSpec
from climanchor.simulate.patterns import weather_strength

DEGREE = 32  # weather is resolved down to about 6 degrees
_COARSE_DEGREE = 14
WEATHER_MEMORY = 0.5  # correlation of weather from month to month
ENSO_PERIOD, ENSO_DAMPING = 4.0, 2.5  # years
WINDOW = 10  # years, of the running mean that defines DIV


@dataclass(frozen=True)
class Oscillation:
    """A damped stochastic oscillation of unit variance in monthly steps, an AR(2) process.

    ``x[t] = 2 r cos(ω) x[t−1] − r² x[t−2] + noise``, ``r = exp(−1/damping)``, ``ω = 2π/period``, in months.
    """

    period: float
    damping: float

    @property
    def _coefficients(self) -> tuple[float, float]:
        r = np.exp(-1 / (12 * self.damping))
        return float(2 * r * np.cos(2 * np.pi / (12 * self.period))), float(-(r**2))

    def autocorrelation(self, lags: int) -> Array:
        """Correlation at lags of 0 to ``lags − 1`` months, by the recursion of the process."""
        a, b = self._coefficients
        rho = np.empty(lags)
        rho[:2] = 1, a / (1 - b)
        for lag in range(2, lags):
            rho[lag] = a * rho[lag - 1] + b * rho[lag - 2]
        return rho

    def draw(self, months: int, rng: np.random.Generator) -> Array:
        """A stationary series."""
        a, b = self._coefficients
        first = self.autocorrelation(2)[1]
        innovation = np.sqrt((1 + b) * ((1 - b) ** 2 - a**2) / (1 - b))
        z = rng.standard_normal(months + 2)
        # Plain floats: the recursion is short, and SciPy's signal package takes longer to import than to save.
        before, last = float(z[0]), float(z[0] * first + z[1] * np.sqrt(1 - first**2))  # x[−2], x[−1]
        series = []
        for shock in (innovation * z[2:]).tolist():
            before, last = last, a * last + b * before + shock
            series.append(last)
        return np.array(series)


ENSO = Oscillation(ENSO_PERIOD, ENSO_DAMPING)


def weather_spectrum() -> Array:
    """Variance of each harmonic of the weather; with unit-mean-square harmonics they add up to one."""
    n, _ = degrees_orders(DEGREE)
    variance = np.where(n > 0, (1 + (n / 8.0) ** 2) ** -1.75, 0)  # weather only moves heat about
    return np.asarray(variance / variance.sum())


def draw_weather(months: int, rng: np.random.Generator, degree: int = DEGREE) -> NDArray[np.float32]:
    """Coefficients (month, harmonic) of a stationary AR(1) in every harmonic, at least up to ``degree``.

    Coarse and fine harmonics come from streams of their own, so that coarse grids need not draw the fine ones.
    """
    scale = np.sqrt(weather_spectrum()).astype(np.float32)
    memory, fresh = np.float32(WEATHER_MEMORY), np.float32(np.sqrt(1 - WEATHER_MEMORY**2))
    coarse = (_COARSE_DEGREE + 1) ** 2
    parts: list[NDArray[np.float32]] = []
    for stream, part in zip(rng.spawn(2), (scale[:coarse], scale[coarse:]), strict=True):
        if parts and degree <= _COARSE_DEGREE:
            break
        noise = stream.standard_normal((months, len(part)), np.float32)
        noise[1:] *= fresh
        for month in range(1, months):
            noise[month] += memory * noise[month - 1]
        parts.append(noise * part)
    return np.concatenate(parts, axis=1)


@lru_cache(maxsize=32)
def decadal_strength(spec: ModelSpec) -> tuple[float, ...]:
    """Standard deviation in K of each decadal mode, such that the model's DIV has its magnitude.

    The expected standard deviation, over the years of the historical run, of the 10-year running mean of the
    global mean is that of the decadal modes, El Niño and the weather together; El Niño and weather are given,
    so the decadal modes take what is left of ``spec.physics.div``.
    """
    modes, years = spec.physics.modes, len(spec.years)
    share = np.array([mode.share for mode in modes])
    share = share / share.sum()
    lags = 12 * (years + WINDOW)
    slow = share @ [Oscillation(mode.period, mode.damping).autocorrelation(lags) for mode in modes]
    fast = spec.physics.enso**2 * ENSO.autocorrelation(lags) + _weather_covariance(spec, lags)
    slow_matrix, fast_matrix = (_decadal_covariance(c, years) for c in (slow, fast))
    low, high = 0.0, 4 * spec.physics.div
    if expected_magnitude(fast_matrix) >= spec.physics.div:
        raise ValueError(f"{spec.name}: El Niño and weather alone exceed a DIV magnitude of {spec.physics.div} K")
    for _ in range(60):
        scale = (low + high) / 2
        too_small = expected_magnitude(scale**2 * slow_matrix + fast_matrix) < spec.physics.div
        low, high = (scale, high) if too_small else (low, scale)
    return tuple(high * np.sqrt(share))


def expected_magnitude(covariance: Array) -> float:
    """Expected standard deviation over time of a Gaussian series, second-order in the spread of its square.

    >>> round(expected_magnitude(np.eye(50)), 3)
    0.985
    """
    centred = covariance - covariance.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    trace = np.trace(centred)
    return float(np.sqrt(trace / len(centred)) * (1 - np.sum(centred**2) / (4 * trace**2)))


def _decadal_covariance(monthly: Array, years: int) -> Array:
    """Covariance matrix of 10-year means, a year apart, of a process with this monthly autocovariance."""
    months = 12 * WINDOW
    d = np.arange(-months + 1, months)
    lags = np.abs(12 * np.arange(years - WINDOW + 1)[:, None] + d)
    return np.asarray(toeplitz(monthly[lags] @ (months - np.abs(d)) / months**2))


def _weather_covariance(spec: ModelSpec, lags: int) -> Array:
    """Autocovariance of the weather's global mean, averaged over the calendar months."""
    grid = regular_cells(2.5)
    mean, winter = weather_strength(spec, grid)
    harmonics, spectrum, d = Harmonics(grid, DEGREE), weather_spectrum(), np.arange(lags)
    steady, seasonal = (float(spectrum @ harmonics.analyse(s) ** 2) for s in (mean, winter))
    return np.asarray(WEATHER_MEMORY**d * (steady + seasonal / 2 * np.cos(2 * np.pi * d / 12)))
