"""Units of temperature: kelvin is what the opened data has, whatever the file stores."""

import re

_KELVIN = {"k", "kelvin", "kelvins", "degk", "deg_k", "degrees_kelvin", "degree_kelvin"}
_CELSIUS = {"c", "°c", "degc", "deg_c", "celsius", "degrees_c", "degree_c", "degrees_celsius", "degree_celsius"}
_TEMPERATURES = re.compile(r"t(as|asmax|asmin|s|os|a|sl|hetao)")
ZERO_CELSIUS = 273.15


class UnitsError(ValueError):
    """Units that a temperature cannot have."""


def is_temperature(variable: str, standard_name: str = "") -> bool:
    """Whether a variable is a temperature, by its CMIP name or its standard name.

    >>> is_temperature("tas"), is_temperature("pr"), is_temperature("TREFHT", "air_temperature")
    (True, False, True)
    """
    return bool(_TEMPERATURES.fullmatch(variable)) or standard_name.endswith("temperature")


def kelvin_offset(units: str) -> float | None:
    """What must be added to values in ``units`` to have kelvin; ``None`` for units that are not temperature.

    >>> kelvin_offset("degC"), kelvin_offset("K"), kelvin_offset("m")
    (273.15, 0.0, None)
    """
    plain = units.strip().lower().replace("º", "°").replace("˚", "°").replace(" ", "_")
    if plain in _KELVIN:
        return 0.0
    return ZERO_CELSIUS if plain in _CELSIUS else None


def infer_units(median: float) -> str:
    """Units of a temperature field from the median of its values: K or degC.

    >>> infer_units(288.0), infer_units(11.5)
    ('K', 'degC')
    """
    if 150.0 < median < 350.0:
        return "K"
    if -90.0 < median < 70.0:
        return "degC"
    raise UnitsError(f"no units, and a median of {median:g} is neither a temperature in K nor one in °C")
