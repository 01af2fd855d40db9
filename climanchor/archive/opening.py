"""Opening runs: a lazy tree with one node per climate model, and an account of what was set aside."""

import json
import os
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import xarray as xr
from dask.base import tokenize
from numpy.typing import NDArray

from climanchor.archive.reading import MemberArray, Source
from climanchor.archive.runs import Problem, Run, Runs, problem_table
from climanchor.archive.series import Series, axis_notes, differing_repeats, disagreements, read_series
from climanchor.archive.times import in_calendar

#: Size that blocks of data are kept near, in bytes.
BLOCK_BYTES = 32 * 2**20
_LAT = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north"}
_LON = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east"}


class ArchiveError(ValueError):
    """Nothing usable is left, or (with ``strict``) something had to be set aside; ``problems`` says what."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        shown = "".join(f"\n  {problem}" for problem in problems[:10])
        more = f"\n  and {len(problems) - 10} more" if len(problems) > 10 else ""
        super().__init__(message + shown + more)
        self.problems = tuple(problems)


class AssumptionWarning(UserWarning):
    """Metadata was missing and something was inferred that changes the numbers."""


def open_runs(runs: Iterable[Run], *, strict: bool = False, chunks: int | None = None) -> xr.DataTree:
    """Open runs as a lazy tree, one child per climate model, members along ``member``.

    Each child holds the variable by its CMIP name on ``(member, time, lat, lon)`` (``(…, y, x)`` on curvilinear
    and ``(…, cell)`` on unstructured grids), backed by dask in blocks of one member and whole years. Time is in
    the model's own calendar; a step that some members lack is NaN for them and False in the coordinate
    ``present (member, time)``; a step that none has is absent. Latitude ascends, longitude runs from 0° on
    global rectilinear grids, bounds are ``lat_bnds`` and ``lon_bnds`` where the files have them, packed values
    are unpacked, fill values are NaN, and temperatures are in K.

    Files that cannot be used, and members that do not fit their siblings, are set aside and listed by
    :func:`problems`; with ``strict`` they raise :class:`ArchiveError`, as does having nothing left. Files that
    overlap are merged where their values are identical; where they differ the member is set aside.

    Only headers and coordinates are read, with the last field of each file as a check, and the steps that files
    have in common, to compare them. ``chunks`` is the number of time steps per block (by default about 32 MB).
    Temperature without units is inferred from its values, with an :class:`AssumptionWarning`.

    >>> import tempfile
    >>> from climanchor.archive import find_runs
    >>> time = xr.date_range("1850-01-16", periods=12, freq="MS", calendar="noleap", use_cftime=True)
    >>> axes = {"time": time, "lat": [-45.0, 45.0], "lon": [0.0, 90.0, 180.0, 270.0]}
    >>> tas = xr.DataArray(np.full((12, 2, 4), 280.0), axes, name="tas", attrs={"units": "K"})
    >>> with tempfile.TemporaryDirectory() as root:
    ...     tas.to_netcdf(f"{root}/tas_Amon_CESM2_historical_r1i1p1f1_gn_185001-185012.nc")
    ...     tree = open_runs(find_runs(root))
    >>> tree["CESM2"]["tas"].dims, tree["CESM2"]["tas"].chunks is not None
    (('member', 'time', 'lat', 'lon'), True)
    """
    listed = list(runs)
    if not listed:
        raise ArchiveError("no runs to open: find_runs found none", getattr(runs, "problems", ()))
    _check_request(listed)
    found, trouble = _read_all(listed)
    nodes: dict[str, xr.Dataset] = {}
    for name, series in found.items():
        kept, odd = disagreements(series)
        trouble += odd
        if kept:
            nodes[name] = _model_dataset(kept, chunks)
    _judge(nodes, trouble, strict)
    known = [*(runs.problems if isinstance(runs, Runs) else ()), *trouble]
    tree = xr.DataTree.from_dict(nodes)
    tree.attrs["problems"] = json.dumps([asdict(problem) for problem in known])
    return tree


def problems(tree: xr.DataTree) -> pd.DataFrame:
    """What was set aside, assumed or noted when a tree was opened: model, member, path, reason, action.

    >>> problems(xr.DataTree()).empty
    True
    """
    return problem_table([Problem(**entry) for entry in json.loads(tree.attrs.get("problems", "[]"))])


def _check_request(runs: list[Run]) -> None:
    for what in ("experiment", "variable"):
        values = sorted({getattr(run, what) for run in runs})
        if len(values) > 1:
            raise ValueError(f"open one {what} at a time; these runs have {', '.join(values)}")
    seen: set[tuple[str, str, str]] = set()
    for run in runs:
        key = (run.project, run.model, run.member)
        if key in seen:
            raise ValueError(f"{run.model} {run.member} is given twice")
        seen.add(key)


def _read_all(runs: list[Run]) -> tuple[dict[str, list[Series]], list[Problem]]:
    """Every run's series by node name, and the problems met."""
    found: dict[str, list[Series]] = defaultdict(list)
    trouble: list[Problem] = []
    projects = defaultdict(set)
    for run in runs:
        projects[run.model].add(run.project)
    for run in runs:
        series, met = read_series(run)
        conflict = differing_repeats(series) if series else None
        notes = (*run.notes, *(axis_notes(series) if series and not conflict else ()))
        trouble += [*met, *(Problem(run.model, run.member, "", note, "noted") for note in notes)]
        if conflict:
            trouble.append(conflict)
        elif series:
            name = run.model if len(projects[run.model]) == 1 else f"{run.model} ({run.project})"
            found[name].append(series)
    return found, trouble


def _judge(nodes: dict[str, xr.Dataset], trouble: list[Problem], strict: bool) -> None:
    aside = [problem for problem in trouble if problem.action == "set aside"]
    if strict and aside:
        raise ArchiveError(f"{len(aside)} problem(s), and strict=True:", aside)
    if not nodes:
        raise ArchiveError("no usable run is left:", aside)
    inferred = [problem for problem in trouble if "inferred from the values" in problem.reason]
    if inferred:
        more = f" (and {len(inferred) - 1} more files)" if len(inferred) > 1 else ""
        warnings.warn(f"{inferred[0]}{more}", AssumptionWarning, stacklevel=3)


def _model_dataset(series: list[Series], chunks: int | None) -> xr.Dataset:
    """The members of one model as one lazy dataset."""
    first = series[0]
    timeless = first.frequency == "fx"
    slots = np.unique(np.concatenate([s.slots for s in series]))
    array = _member_array(series, slots)
    steps = _blocks(series, slots, array, chunks)
    sizes = (1, steps, *((size,) for size in array.shape[2:]))
    name = f"open-{first.run.variable}-{tokenize([_identity(s) for s in series], slots)}"
    from_array: Any = da.from_array  # untyped in dask
    lazy = from_array(array, chunks=sizes, name=name, meta=np.empty((0,) * array.ndim, array.dtype))
    space = first.grid.dims
    data = xr.Variable(("member", "time", *space), lazy, _variable_attrs(first))
    dataset = xr.Dataset({first.run.variable: data.isel(time=0) if timeless else data})
    dataset = dataset.assign_coords(_coordinates(series))
    if not timeless:
        dates = _dates(series, slots)
        time_attrs = {"standard_name": "time", "long_name": "time"}
        dataset = dataset.assign_coords(
            time=("time", dates, time_attrs), present=(("member", "time"), array.files >= 0)
        )
    return dataset.assign_attrs(_model_attrs(series))


def _member_array(series: list[Series], slots: NDArray[np.int64]) -> MemberArray:
    sources: list[Source] = []
    files = np.full((len(series), slots.size), -1, np.int64)
    steps = np.full_like(files, -1)
    for row, s in enumerate(series):
        where = np.searchsorted(slots, s.slots)
        files[row, where] = s.files + len(sources)
        steps[row, where] = s.steps
        sources += [piece.source for piece in s.pieces]
    dtype = np.result_type(*(np.dtype(source.dtype) for source in sources))
    return MemberArray(sources, files, steps, space=series[0].grid.shape, dtype=dtype)


def _blocks(series: list[Series], slots: NDArray[np.int64], array: MemberArray, chunks: int | None) -> tuple[int, ...]:
    """Lengths of the blocks along time: whole calendar years, near the block size, no smaller than storage's."""
    if chunks is not None and chunks < 1:
        raise ValueError(f"chunks must be at least 1 time step, got {chunks}")
    monthly = series[0].frequency == "mon"
    step_bytes = array.dtype.itemsize * int(np.prod(array.shape[2:]))
    wanted = max(1, BLOCK_BYTES // step_bytes)
    storage = max(piece.header.storage_steps for s in series for piece in s.pieces)
    if storage > wanted:  # a smaller block would unpack the same storage again and again
        wanted = min(storage, 8 * wanted)
    if chunks is None and monthly:
        january = slots[0] - slots[0] % 12
        block = (slots - january) // max(12, wanted // 12 * 12)
    else:
        block = np.arange(slots.size) // (chunks or wanted)
    return tuple(int(n) for n in np.unique(block, return_counts=True)[1])


def _dates(series: list[Series], slots: NDArray[np.int64]) -> NDArray[np.object_]:
    """Date of each slot, from the first member that has it, in one calendar."""
    dates = np.empty(slots.size, dtype=object)
    for s in reversed(series):
        dates[np.searchsorted(slots, s.slots)] = in_calendar(s.dates, series[0].calendar)
    return dates


def _coordinates(series: list[Series]) -> dict[str, Any]:
    grid, members = series[0].grid, [s.run.member for s in series]
    coords: dict[str, Any] = {
        "member": ("member", members, {"standard_name": "realization", "long_name": "ensemble member"})
    }
    rectilinear = grid.kind == "rectilinear"
    lat_dims, lon_dims = (("lat",), ("lon",)) if rectilinear else (grid.dims, grid.dims)
    corner = "bnds" if rectilinear else "vertices"
    lat_attrs, lon_attrs = dict(_LAT), dict(_LON)
    if grid.lat_bnds is not None:
        lat_attrs["bounds"] = "lat_bnds"
        coords["lat_bnds"] = ((*lat_dims, corner), grid.lat_bnds)
    if grid.lon_bnds is not None:
        lon_attrs["bounds"] = "lon_bnds"
        coords["lon_bnds"] = ((*lon_dims, corner), grid.lon_bnds)
    coords["lat"], coords["lon"] = (lat_dims, grid.lat, lat_attrs), (lon_dims, grid.lon, lon_attrs)
    heights = {s.pieces[0].header.height for s in series}
    if len(heights) == 1 and None not in heights:
        attrs = {"standard_name": "height", "units": "m", "positive": "up", "axis": "Z"}
        coords["height"] = ((), heights.pop(), attrs)
    return coords


def _variable_attrs(series: Series) -> dict[str, str]:
    kept = ("standard_name", "long_name", "cell_methods")
    header = series.pieces[0].header
    attrs = {name: header.attributes[name] for name in kept if name in header.attributes}
    return {**attrs, "units": series.pieces[0].units} if series.pieces[0].units else attrs


def _model_attrs(series: list[Series]) -> dict[str, Any]:
    run = series[0].run
    facets = {name: getattr(run, name) for name in ("project", "experiment", "table", "institute", "grid_label")}
    return {
        "model": run.model,
        **{name: value for name, value in facets.items() if value},
        "calendar": series[0].calendar,
        "frequency": series[0].frequency,
        "grid": series[0].grid.describe(),
        "versions": ", ".join(sorted({s.run.version for s in series if s.run.version})),
        "files": sum(len(s.pieces) for s in series),
    }


def _identity(series: Series) -> tuple[Any, ...]:
    """What the values of a series depend on: names, sizes and times of its files, and how they are read."""
    stats = [(piece.source, *_stamp(piece.header.path)) for piece in series.pieces]
    return (series.run.member, stats, series.files, series.steps)


def _stamp(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns
