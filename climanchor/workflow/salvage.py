"""Going on without files whose damage shows only when their values are read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import xarray as xr

from climanchor.archive import BadFileError, Problem, Run, Runs
from climanchor.workflow import netcdf
from climanchor.workflow.store import Product

#: Why a product holds no data, and which files it was made without.
SET_ASIDE = "set_aside.json"
LEFT_OUT = "left_out.json"


def write_model(folder: Path, runs: Sequence[Run], prepare: Callable[[Runs], xr.DataTree]) -> None:
    """Write what ``prepare`` makes of the runs of one climate model, without the files that fail while read.

    Damage inside compressed data is met in the middle of the computation: it begins again without that file, as
    often as files fail, and each is listed in ``left_out.json`` and warned of. A model of which nothing usable is
    left, or whose data do not allow it, is set aside with the reason.
    """
    left, model = Runs(runs), runs[0].model
    while True:
        try:
            netcdf.write(prepare(left)[model].to_dataset(), folder / f"{model}.nc")
            break
        except BadFileError as error:
            left = left.without(error.path, reason=error.reason)
            warnings.warn(f"{error.path} was left out: {error.reason}", stacklevel=2)
        except ValueError as error:
            set_aside(folder, "; ".join([str(error), *map(str, left.problems)]), model=model)
            break
    if left.problems:
        entries = [{"model": p.model, "member": p.member, "path": p.path, "reason": p.reason} for p in left.problems]
        (folder / LEFT_OUT).write_text(json.dumps(entries), encoding="utf-8")


def set_aside(folder: Path, reason: str, **about: str) -> None:
    """Say in a product why it holds no data."""
    (folder / SET_ASIDE).write_text(json.dumps({**about, "reason": reason}), encoding="utf-8")


def is_set_aside(product: Product) -> bool:
    """Whether a product holds a reason instead of data."""
    return SET_ASIDE in product.manifest["files"]


def reason(product: Product) -> str:
    """Why a product was set aside."""
    return str(json.loads(product.file(SET_ASIDE).read_text(encoding="utf-8"))["reason"])


def left_out(product: Product) -> list[Problem]:
    """The files that a product was made without."""
    if LEFT_OUT not in product.manifest["files"]:
        return []
    return [Problem(**entry) for entry in json.loads(product.file(LEFT_OUT).read_text(encoding="utf-8"))]
