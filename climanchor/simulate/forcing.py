"""Radiative forcing from 1850 to 2024, and the two-box energy balance that turns it into warming.

Greenhouse and aerosol forcing run smoothly through rounded decadal values; volcanic forcing is a pulse after
each large eruption, at its real date; the sun has its eleven-year cycle.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.linalg import expm

from climanchor.simulate.models import Physics

Array = NDArray[np.float64]

FIRST_YEAR, LAST_YEAR = 1850, 2024
AGENTS = ("greenhouse", "aerosol", "volcanic", "solar")
CO2_DOUBLING = 3.8  # W m⁻²
UPPER_HEAT_CAPACITY, DEEP_HEAT_CAPACITY = 8.0, 100.0  # W yr m⁻² K⁻¹

_GREENHOUSE = {
    1850: 0.0, 1875: 0.12, 1900: 0.28, 1920: 0.45, 1940: 0.63, 1950: 0.75, 1960: 0.98, 1970: 1.28, 1980: 1.70,
    1990: 2.18, 2000: 2.55, 2010: 2.95, 2020: 3.45, 2025: 3.70,
}  # fmt: skip
#: Aerosol forcing as a fraction of its strongest value.
_AEROSOL = {
    1850: 0.0, 1880: 0.08, 1900: 0.17, 1920: 0.27, 1940: 0.38, 1950: 0.45, 1960: 0.64, 1970: 0.87, 1980: 0.99,
    1990: 1.0, 2000: 0.96, 2010: 0.92, 2020: 0.78, 2025: 0.74,
}  # fmt: skip
#: Large eruptions: name, year, month, global forcing at its peak in W m⁻².
ERUPTIONS = (
    ("Sheveluch", 1854, 2, -0.4), ("Krakatau", 1883, 8, -3.3), ("Tarawera", 1886, 6, -0.5),
    ("Colima", 1890, 2, -0.5), ("Santa María", 1902, 10, -1.2), ("Novarupta", 1912, 6, -0.9),
    ("Agung", 1963, 3, -1.9), ("Fuego", 1974, 10, -0.6), ("El Chichón", 1982, 4, -1.9),
    ("Pinatubo", 1991, 6, -3.2),
)  # fmt: skip


def forcing(agent: str) -> Array:
    """Monthly forcing of an agent from January 1850 to December 2024 in W m⁻² (aerosol: share of its peak).

    >>> forcing("greenhouse").shape, round(float(forcing("volcanic").min()), 1)
    ((2100,), -3.3)
    """
    time = FIRST_YEAR + (np.arange(12 * (LAST_YEAR + 1 - FIRST_YEAR)) + 0.5) / 12
    match agent:
        case "greenhouse" | "aerosol":
            knots = _GREENHOUSE if agent == "greenhouse" else _AEROSOL
            return np.asarray(PchipInterpolator(list(knots), list(knots.values()))(time))
        case "volcanic":
            pulses = [_eruption(time, y + (m - 0.5) / 12, peak) for _, y, m, peak in ERUPTIONS]
            return np.asarray(np.sum(pulses, axis=0))
        case "solar":
            strength = 0.09 + 0.03 * np.sin(2 * np.pi * (time - 1930) / 90)
            return np.asarray(strength * np.cos(2 * np.pi * (time - 1957.5) / 10.9))
    raise ValueError(f"unknown forcing agent {agent!r}: choose one of {', '.join(AGENTS)}")


@lru_cache(maxsize=32)
def warming(physics: Physics) -> Array:
    """Monthly global-mean warming by agent, (agent, month), from January 1850, in K.

    Two boxes: ``C dT/dt = F − λT − κ(T − D)`` and ``C_deep dD/dt = κ(T − D)``, with λ from the model's
    equilibrium and κ from its transient response; each agent is solved exactly for monthly steps.
    """
    feedback = CO2_DOUBLING / physics.ecs
    uptake = CO2_DOUBLING / physics.tcr - feedback
    rates = np.array(
        [
            [-(feedback + uptake) / UPPER_HEAT_CAPACITY, uptake / UPPER_HEAT_CAPACITY, 1 / UPPER_HEAT_CAPACITY],
            [uptake / DEEP_HEAT_CAPACITY, -uptake / DEEP_HEAT_CAPACITY, 0],
            [0, 0, 0],
        ]
    )
    step = expm(rates / 12)
    force = np.array([forcing(agent) for agent in AGENTS])
    force[AGENTS.index("aerosol")] *= physics.aerosol
    response = np.zeros_like(force)
    state = np.zeros((2, len(AGENTS)))
    pushed = step[:2, 2, None, None] * force
    for month in range(force.shape[1]):
        state = step[:2, :2] @ state + pushed[:, :, month]
        response[:, month] = state[0]
    return response


def _eruption(time: Array, date: float, peak: float) -> Array:
    """A pulse that grows for a few months and decays with an e-folding time of about a year; its peak is 1."""
    age = np.maximum(time - date, 0)
    grow, decay = 0.25, 0.95
    pulse = np.exp(-age / decay) - np.exp(-age / grow)
    at_peak = np.log(decay / grow) / (1 / grow - 1 / decay)
    return np.asarray(peak * pulse / (np.exp(-at_peak / decay) - np.exp(-at_peak / grow)))
