"""Fields through a fingerprint: predicted forced response, as one series for a region or cell by cell."""

from collections.abc import Iterable, Sequence
from typing import Protocol, Self

import numpy as np
import xarray as xr

from climanchor.detection.segments import Unforced

#: Degree of the polynomial behind each name of a drift.
DRIFT_DEGREES = {"none": 0, "linear": 1, "quadratic": 2}


class Predictor(Protocol):
    """What detection asks of a fingerprint."""

    def predict(self, field: xr.DataArray) -> xr.DataArray:
        """The forced response behind a field (..., lat, lon)."""
        ...

    def restrict(self, mask: xr.DataArray) -> Self:
        """The same fingerprint, refitted for the cells where the mask (lat, lon) is true."""
        ...


def project(fingerprint: Predictor, field: xr.DataArray, weights: xr.DataArray | None) -> xr.DataArray:
    """Predicted forced response of a field, averaged with ``weights (lat, lon)`` or, without, per cell.

    Cells that the fingerprint does not predict are left out of the average; a year it cannot predict is
    NaN. Computes.
    """
    predicted = fingerprint.predict(field)
    if weights is not None:
        valid = predicted.notnull()
        predicted = (predicted * weights).sum(("lat", "lon")) / (valid * weights).sum(("lat", "lon"))
    return predicted.astype("float64").compute()


def project_runs(
    fingerprint: Predictor, control: xr.DataTree | Sequence[xr.DataTree], weights: xr.DataArray | None
) -> list[Unforced]:
    """Every member of every model of one or several trees of unforced runs, projected."""
    return [
        run
        for tree in trees(control)
        for name, node in tree.children.items()
        for run in _project_model(fingerprint, name, node.to_dataset(), weights)
    ]


def trees(control: xr.DataTree | Sequence[xr.DataTree]) -> list[xr.DataTree]:
    """One tree or several, as a list; refuses anything else and empty trees."""
    given = [control] if isinstance(control, xr.DataTree) else list(control)
    for tree in given:
        if not isinstance(tree, xr.DataTree):
            raise TypeError(
                f"control must be a DataTree with one child per model (see prepare_control), got {type(tree)}"
            )
        if not tree.children:
            raise ValueError("the control holds no model")
    return given


def _project_model(
    fingerprint: Predictor, model: str, node: xr.Dataset, weights: xr.DataArray | None
) -> Iterable[Unforced]:
    if "field" not in node:
        raise ValueError(f"the control of {model} has no variable 'field': prepare it with prepare_control")
    check_units(node["field"], f"the control of {model}")
    values = project(fingerprint, node["field"], weights)
    degree = DRIFT_DEGREES[str(node.attrs.get("drift", "none"))]
    independence = float(node.attrs.get("independence", 1.0))
    years = node["year"].values.astype(np.int64)
    rest = [dim for dim in values.dims if dim not in ("member", "year")]
    for member in values["member"].values:
        series = values.sel(member=member).transpose("year", *rest).values
        yield Unforced(model, str(member), years, series, degree, independence)


def check_units(field: xr.DataArray, what: str) -> None:
    """Anomalies must be in kelvin; degrees Celsius are the same for differences."""
    units = str(field.attrs.get("units", "K")).strip().lower().replace("degrees", "degree").replace("_", " ")
    if units not in {"k", "kelvin", "degc", "c", "°c", "celsius", "degree c", "degree celsius", "degree kelvin"}:
        raise ValueError(f"{what} is in {field.attrs['units']!r}: detection needs temperature anomalies in K (or degC)")
