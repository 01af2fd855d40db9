"""Everything a regression needs, from runs to field, forced response and DIV, in one lazy call."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import xarray as xr

from climanchor.archive import Run, open_runs
from climanchor.kernels.running import Edges
from climanchor.preprocess.annual import annual_mean
from climanchor.preprocess.anomaly import ReferencePeriodError, anomalies, short_members
from climanchor.preprocess.grids import AREA_NAMES, Grid, regular_grid
from climanchor.preprocess.models import data_names, each_model, extend_attrs, one_variable
from climanchor.preprocess.regridding import Backend, regrid
from climanchor.preprocess.variability import decadal_variability, forced_response
from climanchor.preprocess.weights import Method, Weights

ShortMembers = Literal["raise", "drop"]


@dataclass(frozen=True)
class Preparation:
    """The choices of :func:`prepare`, which see."""

    variable: str | None
    grid: Grid | Literal["native"] | None
    method: Method
    backend: Backend
    min_valid: float
    weights: Weights | str | os.PathLike[str] | None
    reference: tuple[int, int]
    min_reference_years: int
    pooled: bool
    short_members: ShortMembers
    window: int
    edges: Edges
    leave_one_out: bool
    weighted: bool
    years: tuple[int, int] | None

    def apply(self, data: xr.Dataset) -> xr.Dataset:
        """Prepare the data of one model."""
        name = str((data[self.variable] if self.variable else one_variable(data, prefer="tas")).name)
        annual = annual_mean(data.drop_vars(_others(data, name)))
        annual, left_out = self._without_short_members(annual, name)
        if not isinstance(self.grid, str):
            annual = regrid(
                annual, grid=self.grid, method=self.method, backend=self.backend,
                min_valid=self.min_valid, weights=self.weights,
            )  # fmt: skip
        deviations = anomalies(
            annual[name], reference=self.reference, min_reference_years=self.min_reference_years, pooled=self.pooled
        )
        field = _described(deviations, left_out)
        around = annual.drop_vars(name)
        forced = forced_response(field, leave_one_out=self.leave_one_out)
        div = decadal_variability(
            around.assign(field=field), window=self.window, leave_one_out=self.leave_one_out,
            weighted=self.weighted, edges=self.edges,
        )["div"]  # fmt: skip
        forced.attrs["long_name"] = f"forced response: {forced.attrs['forced_response']}"
        out = around.assign(field=field, forced=forced, div=div)
        return out if self.years is None else out.sel(year=slice(*self.years))

    def _without_short_members(self, data: xr.Dataset, name: str) -> tuple[xr.Dataset, str]:
        """Leave out members with too few reference years, if so chosen; what was left out and why."""
        if self.short_members == "raise":
            return data, ""
        short = short_members(data[name], self.reference, self.min_reference_years)
        if not short:
            return data, ""
        kept = [m for m in data["member"].values if str(m) not in short]
        span = f"{self.reference[0]}-{self.reference[1]}"
        notes = [f"{m}: {n} of at least {self.min_reference_years} years of {span}" for m, n in short.items()]
        if len(kept) < 2:
            raise ReferencePeriodError(f"fewer than two members are left; left out {', '.join(notes)}")
        chosen = data.sel(member=kept)
        held = chosen["present"].any("member").values
        return chosen.isel(year=held), ", ".join(notes)


def _others(data: xr.Dataset, name: str) -> list[str]:
    """Variables that are neither the one to prepare nor areas or bounds."""
    return [n for n in data_names(data) if n != name and n not in AREA_NAMES]


def _described(field: xr.DataArray, left_out: str) -> xr.DataArray:
    long_name = f"annual anomaly of {field.attrs.get('long_name', field.name)}"
    attrs = {"long_name": long_name, "source_variable": str(field.name)}
    standard = field.attrs.get("standard_name")
    if standard == "air_temperature":
        attrs["standard_name"] = "air_temperature_anomaly"
    named = field.rename("field").assign_attrs(attrs)
    if standard and standard != "air_temperature":
        del named.attrs["standard_name"]
    return extend_attrs(named, left_out_members=left_out)


def prepare(
    runs: Iterable[Run] | xr.DataTree | xr.Dataset,
    *,
    variable: str | None = None,
    grid: Grid | Literal["native"] | None = None,
    method: Method = "conservative",
    backend: Backend = "native",
    min_valid: float = 0.5,
    weights: Weights | str | os.PathLike[str] | None = None,
    reference: tuple[int, int] = (1850, 1900),
    min_reference_years: int = 20,
    pooled: bool = False,
    short_members: ShortMembers = "raise",
    window: int = 10,
    edges: Edges = "complete",
    leave_one_out: bool = False,
    weighted: bool = True,
    years: tuple[int, int] | None = None,
) -> xr.DataTree:
    """Field, forced response and DIV of every model, lazily: nothing is computed, every value is read once.

    For each model: :func:`annual_mean`, then :func:`regrid` (annual means first: there is twelve times less
    to remap and the result is the same), :func:`anomalies`, :func:`forced_response` and
    :func:`decadal_variability`. What was dropped or assumed is in the attributes.

    Parameters
    ----------
    runs : runs, DataTree or Dataset
        From :func:`climanchor.find_runs`, :func:`climanchor.open_runs`; or one model's Dataset.
    variable : str, optional
        Needed where a model's Dataset has several variables, none called ``tas``.
    grid : Grid, optional
        5° × 5° by default; ``"native"`` keeps each model's own grid.
    method, backend, min_valid, weights
        As in :func:`regrid`; ``weights`` may be a folder in which the weights of all grids are kept.
    reference, min_reference_years, pooled
        As in :func:`anomalies`.
    short_members : {"raise", "drop"}
        A member with too few reference years is an error, or is left out and listed in the attribute
        ``left_out_members`` of ``field``.
    window, edges, leave_one_out, weighted
        As in :func:`decadal_variability`.
    years : (first, last), optional
        Keep these years of the result; reference and windows use all.

    Returns
    -------
    DataTree, one child per model with ``field (member, year, lat, lon)``, ``forced (year, lat, lon)`` (with
    ``member`` when ``leave_one_out``) and ``div (member, year)``, NaN where its window is incomplete.

    Raises
    ------
    ReferencePeriodError, GridError, ValueError
        Each names the model. ``ValueError`` also for a model with a single member.

    >>> from climanchor.preprocess import regular_grid
    >>> from climanchor.simulate import prepared
    >>> fields = prepared(models=["CESM2"], members=2, years=(1850, 1900), grid=30.0)["CESM2"].to_dataset()[["field"]]
    >>> data = prepare(xr.DataTree.from_dict({"CESM2": fields.chunk()}), variable="field", grid=regular_grid(60.0))
    >>> data["CESM2"]["forced"].dims, data["CESM2"]["field"].shape
    (('year', 'lat', 'lon'), (2, 51, 3, 6))
    """
    if short_members not in get_args(ShortMembers):
        raise ValueError(f"short_members must be one of {get_args(ShortMembers)}; got {short_members!r}")
    if not (grid is None or grid == "native" or isinstance(grid, Grid)):
        raise TypeError(f"grid must be a Grid, such as regular_grid(5.0), or 'native'; got {grid!r}")
    if grid is None and not isinstance(weights, Weights):
        grid = regular_grid()
    choices = Preparation(
        variable=variable, grid=grid, method=method, backend=backend, min_valid=min_valid, weights=weights,
        reference=reference, min_reference_years=min_reference_years, pooled=pooled,
        short_members=short_members, window=window, edges=edges, leave_one_out=leave_one_out,
        weighted=weighted, years=years,
    )  # fmt: skip
    return each_model(_as_tree(runs), choices.apply)


def _as_tree(runs: Iterable[Run] | xr.DataTree | xr.Dataset) -> xr.DataTree:
    if isinstance(runs, xr.DataTree):
        return runs
    if isinstance(runs, xr.Dataset):
        return xr.DataTree.from_dict({str(runs.attrs.get("model", "model")): runs})
    return open_runs(runs)
