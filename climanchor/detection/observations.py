"""Observed anomalies: opened, brought to annual means on the fingerprint's grid, and to its reference."""

import os
from collections.abc import Sequence
from os import PathLike

import numpy as np
import xarray as xr

from climanchor.detection.coverage import check_observations
from climanchor.detection.projection import check_units
from climanchor.preprocess import Grid, ReferencePeriodError, annual_mean, anomalies, regrid
from climanchor.preprocess.models import data_names

Path = str | PathLike[str]

#: Names that dimensions have in the gridded products, and ours.
RENAMED = {"latitude": "lat", "longitude": "lon", "ensemble": "realization", "member": "realization"}


def load_observations(
    source: Path | Sequence[Path] | xr.Dataset | xr.DataArray,
    *,
    grid: Grid | None = None,
    reference: tuple[int, int] | None = None,
    variable: str | None = None,
    units: str | None = None,
    min_valid: float = 0.5,
    min_months: int = 9,
    min_reference_years: int | None = None,
) -> xr.DataArray:
    """Load a gridded anomaly product: HadCRUT, GISTEMP, NOAAGlobalTemp, Berkeley Earth, or your own file.

    Parameters
    ----------
    source
        A file, several files of the same product that are realizations of an ensemble, or opened data.
    grid
        Target of the conservative regridding; None keeps the product's grid.
    reference
        First and last year of the period whose mean becomes zero in every cell; None keeps the product's
        own base period. Use the reference of the models, or rebase the models (see :func:`rebase`).
    variable
        Name of the anomalies where the file holds several variables.
    units
        Units where the file states none. K and degrees Celsius are the same for anomalies.
    min_valid
        Least observed fraction of a regridded cell.
    min_months
        Least number of months, of twelve, that make an annual mean of a cell.
    min_reference_years
        Years of the reference period that the product, and each cell of it, must have: 80 % by default.
        Cells with fewer are missing in the result.

    Returns
    -------
    DataArray
        (year, lat, lon), or with ``realization`` before; K; missing where not observed. Computed.

    Raises
    ------
    ReferencePeriodError
        The product does not cover the reference period; the message says what to do instead.
    ValueError
        Units, dimensions or values are not those of temperature anomalies, or the variable is ambiguous.

    >>> import climanchor as ca
    >>> product = xr.DataArray(np.zeros((40, 18, 36)), dims=("year", "lat", "lon"), attrs={"units": "degC"}, coords={
    ...     "year": np.arange(1951, 1991), "lat": np.arange(-85.0, 90, 10), "lon": np.arange(-175.0, 180, 10)})
    >>> load_observations(product, grid=ca.regular_grid(30.0), reference=(1951, 1980)).sizes["lon"]
    12
    """
    field = _opened(source, variable)
    if units is not None:
        field = field.assign_attrs(units=units)
    if "units" not in field.attrs:
        raise ValueError(f"{field.name} states no units: pass units='K' if these are anomalies in kelvin")
    check_units(field, f"the observations ({field.name})")
    annual = annual_observations(field, min_months=min_months)
    if grid is not None:
        annual = regrid(annual, grid=grid, min_valid=min_valid)
    else:
        annual = annual.assign_coords(lon=annual["lon"] % 360).sortby(["lat", "lon"])
    if reference is not None:
        annual = _rebased(annual, reference, min_reference_years)
    checked = check_observations(annual.compute()).astype("float64")
    if "realization" not in annual.dims:
        checked = checked.isel(realization=0, drop=True)
    base = "as in the product" if reference is None else f"{reference[0]}-{reference[1]}"
    return checked.assign_attrs({**field.attrs, "units": "K", "reference": base})


def annual_observations(field: xr.DataArray, *, min_months: int = 9) -> xr.DataArray:
    """Annual means of monthly anomalies over the months observed, missing below ``min_months`` of them.

    ``Σ n x / Σ n`` over the observed months, of ``n`` days each. Annual fields pass.
    """
    if not 1 <= min_months <= 12:
        raise ValueError(f"min_months must lie in 1 … 12, got {min_months}")
    if "year" in field.dims:
        return field
    valid = field.notnull()
    total = annual_mean(field.fillna(0.0))
    share = annual_mean(valid.astype("float64"))
    return (total / share).where(share >= (min_months - 0.5) / 12)


def _opened(source: Path | Sequence[Path] | xr.Dataset | xr.DataArray, variable: str | None) -> xr.DataArray:
    """The anomalies of a source; several files become realizations."""
    if isinstance(source, xr.DataArray):
        return _one_field(source.to_dataset(name=source.name or "observations"), variable)
    if isinstance(source, xr.Dataset):
        return _one_field(source, variable)
    paths = [source] if isinstance(source, str | PathLike) else list(source)
    fields = [_titled(_one_field(xr.open_dataset(path), variable), path) for path in paths]
    if not fields:
        raise ValueError("no file of observations is given")
    if len(fields) == 1:
        return fields[0]
    return xr.concat(fields, dim="realization", join="exact", coords="minimal", compat="override")


def _titled(field: xr.DataArray, path: Path) -> xr.DataArray:
    """Named after its file where the file has no title of its own."""
    return field.assign_attrs({"title": os.path.basename(path), **field.attrs})


def _one_field(data: xr.Dataset, variable: str | None) -> xr.DataArray:
    data = data.rename({old: new for old, new in RENAMED.items() if old in data.dims and new not in data.dims})
    fields = [name for name in data_names(data) if {"lat", "lon"} <= set(data[name].dims)]
    fields = [name for name in fields if {"time", "year"} & set(data[name].dims)]
    if variable is None and len(fields) != 1:
        raise ValueError(f"the file holds {fields or 'no fields of (time or year, lat, lon)'}: name one with variable=")
    name = variable or fields[0]
    if name not in data:
        raise ValueError(f"the observations hold no variable {name!r}; fields are {fields}")
    title = {"title": data.attrs["title"]} if "title" in data.attrs else {}
    field = data[name].assign_attrs({**title, **data[name].attrs})
    extra = [dim for dim in field.dims if dim not in ("time", "year", "lat", "lon", "realization")]
    if any(field.sizes[dim] > 1 for dim in extra):
        raise ValueError(f"{name} has dimensions {dict(field.sizes)}: select one of each of {extra}")
    return field.isel(dict.fromkeys(extra, 0), drop=True)


def _rebased(field: xr.DataArray, reference: tuple[int, int], least: int | None) -> xr.DataArray:
    length = reference[1] - reference[0] + 1
    least = int(np.ceil(0.8 * length)) if least is None else least
    years = field["year"].values
    covered = int(((years >= reference[0]) & (years <= reference[1])).sum())
    if covered < least:
        raise ReferencePeriodError(
            f"observations of {years.min()}-{years.max()} have {covered} of the {length} years of the reference "
            f"period {reference[0]}-{reference[1]}, and {least} are needed: their anomalies cannot be expressed "
            "relative to it. Choose a reference that they cover and rebase the models instead, "
            "data = rebase(data, reference=(1951, 1980)), then fit the fingerprint on those"
        )
    return anomalies(field, reference=reference, min_reference_years=least)
