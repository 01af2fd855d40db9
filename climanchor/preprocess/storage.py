"""Prepared data on disk: CF netCDF or zarr, written in one pass, reopened lazily."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from climanchor._version import __version__

CONVENTIONS = "CF-1.8"
FILE_ATTRS = ("Conventions", "title", "history", "tree_attributes")  # of files, not of the data in memory
MEMBER_ATTRS = {"standard_name": "realization", "long_name": "ensemble member"}


def save_prepared(tree: xr.DataTree, path: str | os.PathLike[str]) -> Path:
    """Compute prepared data and write it; every model is computed in one pass, in blocks.

    The suffix of ``path`` chooses the form: ``.nc`` one netCDF file with a group per model, ``.zarr`` a zarr
    store with a group per model, anything else a folder with one netCDF file per model. Written under a
    temporary name and renamed when complete; prepared data that is there already is replaced.

    Raises
    ------
    ValueError
        The tree has no models, or a model lacks ``field``, ``forced`` or ``div``.
    FileExistsError
        ``path`` is a folder that holds something else.

    >>> import tempfile
    >>> from climanchor.simulate import prepared
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_prepared(prepared(models=["CESM2"], members=2, grid=30.0), f"{folder}/prepared.nc").name
    'prepared.nc'
    """
    target = Path(path)
    _check_replaceable(target)
    models = {name: _on_disk(name, node.to_dataset()) for name, node in tree.children.items()}
    if not models:
        raise ValueError("nothing to save: the tree has no models")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _writer(target.suffix)(models, _plain(tree.attrs), partial)
        _discard(target)
        partial.replace(target)
    finally:
        _discard(partial)
    return target


def _check_replaceable(path: Path) -> None:
    """Refuse to replace a folder that is not made of what :func:`save_prepared` writes."""
    if not path.is_dir():
        return
    ours = {".zgroup", ".zattrs", ".zmetadata"} if path.suffix == ".zarr" else set[str]()
    foreign = [p.name for p in path.iterdir() if p.name not in ours and not _is_product(p, path.suffix)]
    if foreign:
        raise FileExistsError(f"{path} holds other things than prepared data ({foreign[0]}): choose another path")


def _is_product(path: Path, suffix: str) -> bool:
    return (path / ".zgroup").is_file() if suffix == ".zarr" else path.suffix == ".nc" and path.is_file()


def open_prepared(path: str | os.PathLike[str]) -> xr.DataTree:
    """Open what :func:`save_prepared` wrote, lazily; models come in alphabetical order.

    Raises
    ------
    FileNotFoundError
        ``path`` does not exist.
    ValueError
        It holds no prepared data.

    >>> import tempfile
    >>> from climanchor.simulate import prepared
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_prepared(prepared(models=["CESM2"], members=2, grid=30.0), f"{folder}/prepared")
    ...     open_prepared(path)["CESM2"].load().sizes["member"]
    2
    """
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"no prepared data at {source}")
    if source.is_dir() and source.suffix != ".zarr":
        files = sorted(source.glob("*.nc"))
        nodes = {f.stem: xr.open_dataset(f, engine="netcdf4", chunks={}) for f in files}
        first = next(iter(nodes.values()), xr.Dataset())
        attrs: Mapping[Any, Any] = json.loads(first.attrs.get("tree_attributes", "{}"))
    else:
        engine: Any = "zarr" if source.suffix == ".zarr" else "netcdf4"
        options: dict[str, Any] = {"consolidated": False} if engine == "zarr" else {}
        stored = xr.open_datatree(source, engine=engine, chunks={}, **options)
        nodes = {name: node.to_dataset() for name, node in stored.children.items()}
        attrs = stored.attrs
    if not nodes or not all({"field", "forced", "div"} <= set(n.data_vars) for n in nodes.values()):
        raise ValueError(f"{source} holds no prepared data: expected field, forced and div of each model")
    tree = xr.DataTree.from_dict({name: _in_memory_types(node) for name, node in sorted(nodes.items())})
    tree.attrs.update({key: value for key, value in attrs.items() if key != "Conventions"})
    return tree


def _in_memory_types(data: xr.Dataset) -> xr.Dataset:
    attrs = {k: v for k, v in data.attrs.items() if k not in FILE_ATTRS}
    labels = xr.Variable("member", [str(m) for m in data["member_id"].values], MEMBER_ATTRS)
    out = data.drop_vars("member_id").assign_coords(year=data["year"].astype("int64"), member=labels)
    out = out.set_coords(_bounds(data))
    out.attrs = attrs
    if "present" in out.coords:
        out = out.assign_coords(present=out["present"].astype(bool))
    return out


def _on_disk(model: str, data: xr.Dataset) -> xr.Dataset:
    """Types and attributes that CF knows; blocks of one member."""
    missing = {"field", "forced", "div"} - set(data.data_vars)
    if missing:
        raise ValueError(f"{model}: not prepared data, lacks {', '.join(sorted(missing))}")
    out = data.assign_coords(year=data["year"].astype("int32")).reset_coords(_bounds(data))
    labels = xr.Variable("member", data["member"].values.astype(object), MEMBER_ATTRS)
    out = out.drop_vars("member").assign_coords(member_id=labels)  # CF: text is no coordinate variable
    if "present" in out.coords:
        attrs = {"long_name": "member has this year", "units": "1"}
        out = out.assign_coords(present=out["present"].astype("int8").assign_attrs(attrs))
    for variable in out.variables.values():
        variable.encoding = {}
        variable.attrs = _plain(variable.attrs)
    out["year"].encoding = {"_FillValue": None}
    for name in ("lat", "lon", *_bounds(data)):
        out[name].encoding = {"_FillValue": None}
    titled = {
        "Conventions": CONVENTIONS,
        "title": f"Annual anomalies, forced response and DIV of {model}",
        "history": f"prepared and written by climanchor {__version__}",
    }
    out.attrs = {**_plain(out.attrs), **titled}
    return out


def _bounds(data: xr.Dataset) -> list[str]:
    return [str(n) for n in data.variables if str(n).endswith("_bnds")]


def _plain(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes as netCDF can hold them."""
    return {str(k): v if isinstance(v, str | int | float) and not isinstance(v, bool) else json.dumps(v, default=str)
            for k, v in attrs.items() if v is not None}  # fmt: skip


Writer = Callable[[dict[str, xr.Dataset], dict[str, Any], Path], None]


def _writer(suffix: str) -> Writer:
    return {".nc": _write_groups, ".zarr": _write_zarr}.get(suffix, _write_folder)


def _blocks(data: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Storage in blocks of one member, which are also the chunks of what is reopened."""
    fields = [n for n in ("field", "forced") if "member" in data[n].dims]
    return {n: {"chunksizes": tuple(1 if d == "member" else s for d, s in data[n].sizes.items())} for n in fields}


def _write_groups(models: dict[str, xr.Dataset], attrs: dict[str, Any], path: Path) -> None:
    xr.Dataset(attrs={**attrs, "Conventions": CONVENTIONS}).to_netcdf(path, engine="netcdf4")
    for name, data in models.items():
        data.to_netcdf(path, mode="a", group=name, engine="netcdf4", encoding=_blocks(data))


def _write_zarr(models: dict[str, xr.Dataset], attrs: dict[str, Any], path: Path) -> None:
    xr.Dataset(attrs=attrs).to_zarr(path, mode="w", zarr_format=2, consolidated=False)
    for name, data in models.items():
        even = data.assign({n: v.chunk({d: -1 for d in v.dims if d != "member"}) for n, v in data.items() if v.chunks})
        even.to_zarr(path, mode="a", group=name, zarr_format=2, consolidated=False)


def _write_folder(models: dict[str, xr.Dataset], attrs: dict[str, Any], path: Path) -> None:
    path.mkdir()
    for name, data in models.items():
        whole = data.assign_attrs(tree_attributes=json.dumps(attrs))
        whole.to_netcdf(path / f"{name}.nc", engine="netcdf4", encoding=_blocks(data))


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
