"""A fingerprint as one self-contained netCDF-4 file: groups of plain arrays, checksummed, no pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor._version import __version__
from climanchor.fingerprint.accumulate import ModelMoments
from climanchor.fingerprint.cells import Cells
from climanchor.fingerprint.evidence import Evidence
from climanchor.fingerprint.fitted import Fingerprint
from climanchor.fingerprint.samples import Samples
from climanchor.kernels import Factors, Moments, Scaling

#: Raised when what the file holds changes; files of a newer format are refused.
FORMAT = 1
_SCALES = ("x_mean", "x_scale", "y_mean", "y_scale")
_SETTINGS = ("gamma", "alpha", "rank", "target_rank", "estimator")
_SAMPLE_DIMS: dict[str, tuple[str, ...]] = {
    "X": ("sample", "cell"),
    "rows": ("row", "cell"),
    "index": ("sample",),
    "A": ("sample", "anchor"),
    "weights": ("sample",),
    "model": ("sample",),
    "member": ("sample",),
    "year": ("sample",),
}
_MOMENT_DIMS: dict[str, tuple[str, ...]] = {
    "weight": (),
    "count": (),
    "x_mean": ("cell",),
    "y_mean": ("cell",),
    "a_mean": ("anchor",),
    "xx": ("cell", "cell_"),
    "xy": ("cell", "cell_"),
    "xa": ("cell", "anchor"),
    "yy": ("cell",),
    "ya": ("cell", "anchor"),
    "aa": ("anchor", "anchor_"),
}


def write_fingerprint(fp: Fingerprint, path: Path) -> None:
    """Write under a temporary name, then rename: a file that exists is whole."""
    groups: dict[str, xr.Dataset] = {"/": _root(fp)}
    evidence = fp.evidence
    if evidence is not None:
        about = {"models": list(evidence.models), "masked": evidence.masked, "seed": evidence.seed}
        groups["/evidence"] = xr.Dataset(attrs=about)
        for i, model in enumerate(evidence.models):
            groups[f"/evidence/{i}"] = _evidence(evidence, model)
    tree = xr.DataTree.from_dict(groups)
    encoding = {node.path: dict.fromkeys(_arrays(node), _PACKED) for node in tree.subtree}
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    tree.to_netcdf(part, engine="netcdf4", encoding=encoding)
    part.replace(path)


_PACKED = {"zlib": True, "complevel": 1, "fletcher32": True}


def _arrays(node: xr.DataTree) -> list[Any]:
    """Names of the numeric arrays, which can be compressed and checksummed."""
    return [name for name, v in node.data_vars.items() if v.ndim and v.dtype.kind in "fiu"]


def _root(fp: Fingerprint) -> xr.Dataset:
    mode = np.arange(1, fp.factors.rank + 1)
    ds = xr.Dataset(
        {
            "x_weights": fp.cells.to_map(fp.factors.x_weights.T, ("mode",), mode=mode),
            "y_loadings": fp.cells.to_map(fp.factors.y_loadings.T, ("mode",), mode=mode),
            "explained": ("mode", fp.factors.explained),
            "a_mean": ("anchor", fp.scaling.a_mean),
            "a_scale": ("anchor", fp.scaling.a_scale),
            "used": (("lat", "lon"), fp.cells.mask.astype("i1")),
        }
    )
    for name in _SCALES:
        ds[name] = fp.cells.to_map(getattr(fp.scaling, name))
    for name, (text, units) in _LONG_NAMES.items():
        ds[name].attrs.update(long_name=text, units=units)
    ds["used"].attrs.update(long_name="cell is used", flag_values=np.array([0, 1], "i1"), flag_meanings="no yes")
    ds.attrs = {
        "Conventions": "CF-1.11",
        "title": f"climanchor fingerprint {fp.estimator}, gamma={fp.gamma:g}",
        "climanchor_version": __version__,
        "climanchor_format": FORMAT,
        "standardise": int(fp.standardise),
        "models": list(fp.models),
        **{k: getattr(fp, k) for k in _SETTINGS},
        **{f"training_{k}": v for k, v in fp.attrs.items()},
    }
    return ds


_LONG_NAMES = {
    "x_weights": ("weights of the standardised field", "1"),
    "y_loadings": ("patterns of the standardised forced response", "1"),
    "explained": ("drop of the penalised loss by mode", "1"),
    "a_mean": ("training mean of DIV", "K"),
    "a_scale": ("training standard deviation of DIV", "K"),
    "x_mean": ("training mean of the field", "K"),
    "x_scale": ("training standard deviation of the field", "K"),
    "y_mean": ("training mean of the forced response", "K"),
    "y_scale": ("training standard deviation of the forced response", "K"),
}


def _evidence(evidence: Evidence, model: str) -> xr.Dataset:
    if evidence.samples is not None:
        return _pack(evidence.samples[model], _SAMPLE_DIMS)
    assert evidence.moments is not None
    part = evidence.moments[model]
    ds = _pack(part.moments, _MOMENT_DIMS).assign(rows=(("row", "cell"), part.rows))
    return ds if part.member is None else ds.assign(member=("sample", part.member), year=("sample", part.year))


def _pack(record: Any, dims: Mapping[str, tuple[str, ...]]) -> xr.Dataset:
    return xr.Dataset({f.name: (dims[f.name], getattr(record, f.name)) for f in fields(record)})


def read_fingerprint(path: Path) -> Fingerprint:
    """Read a file of this or an older format."""
    if not path.exists():
        raise FileNotFoundError(f"there is no fingerprint file {path}")
    try:
        with xr.open_datatree(path, engine="netcdf4") as tree:
            groups = {node.path: node.to_dataset(inherit=False).load() for node in tree.subtree}
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as netCDF-4: it is damaged or something else ({error})") from error
    root = groups["/"]
    version = root.attrs.get("climanchor_format")
    if version is None:
        raise ValueError(f"{path} is not a climanchor fingerprint: it has no attribute climanchor_format")
    if int(version) > FORMAT:
        raise ValueError(
            f"{path} has format {version}, written by climanchor {root.attrs.get('climanchor_version')}; this is "
            f"climanchor {__version__}, which reads up to format {FORMAT}: upgrade climanchor"
        )
    try:
        return _fingerprint(root, groups)
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it lacks {error}") from error


def _fingerprint(root: xr.Dataset, groups: Mapping[str, xr.Dataset]) -> Fingerprint:
    cells = Cells(root["lat"].values, root["lon"].values, root["used"].values.astype(bool))

    def flat(name: str) -> NDArray[np.float64]:
        return np.asarray(cells.flatten(root[name].values), dtype=np.float64)

    scales = {name: flat(name) for name in _SCALES}
    a = root.attrs
    return Fingerprint(
        factors=Factors(flat("x_weights").T, flat("y_loadings").T, root["explained"].values),
        scaling=Scaling(**scales, a_mean=root["a_mean"].values, a_scale=root["a_scale"].values),
        cells=cells,
        gamma=float(a["gamma"]),
        alpha=float(a["alpha"]),
        rank=int(a["rank"]),
        target_rank=int(a["target_rank"]),
        models=tuple(np.atleast_1d(a["models"]).tolist()),
        standardise=bool(a["standardise"]),
        estimator=str(a["estimator"]),
        evidence=_read_evidence(groups, cells) if "/evidence" in groups else None,
        attrs={k.removeprefix("training_"): v for k, v in a.items() if k.startswith("training_")},
    )


def _read_evidence(groups: Mapping[str, xr.Dataset], cells: Cells) -> Evidence:
    about = groups["/evidence"].attrs
    samples: dict[str, Samples] = {}
    moments: dict[str, ModelMoments] = {}
    for i, model in enumerate(np.atleast_1d(about["models"]).tolist()):
        ds = groups[f"/evidence/{i}"]
        if "X" in ds:
            samples[model] = Samples(**{k: ds[k].values for k in _SAMPLE_DIMS})
        else:
            sums = {k: ds[k].values for k in _MOMENT_DIMS if k not in ("weight", "count")}
            whole = Moments(weight=float(ds["weight"]), count=int(ds["count"]), **sums)
            draw = [ds[k].values if k in ds else None for k in ("member", "year")]
            moments[model] = ModelMoments(whole, ds["rows"].values, *draw)
    return Evidence(cells, int(about["masked"]), samples or None, moments or None, int(about["seed"]))
