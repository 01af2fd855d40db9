"""Prepared data as the figures take them: one dataset per climate model, and a variable of it."""

from collections.abc import Sequence
from typing import Any

import xarray as xr


def by_model(data: Any, models: Sequence[str] | None) -> dict[str, Any]:
    """Return the datasets of a DataTree by climate model, or a single model's data without a name."""
    if not isinstance(data, xr.DataTree):
        if models is not None:
            raise ValueError("models can be chosen from a DataTree only; this is one model's data")
        return {"": data}
    if not data.children:
        return {"": data.to_dataset()}
    unknown = [name for name in models or () if name not in data.children]
    if unknown:
        raise ValueError(f"data has no models {unknown}: it holds {sorted(data.children)}")
    return {name: data[name].to_dataset() for name in (models or data.children)}


def variable(node: Any, name: str, where: str) -> xr.DataArray:
    """Return a variable of one model's dataset, or the array itself when that was given.

    ``where`` goes into the messages after the name, such as " of CESM2".
    """
    if isinstance(node, xr.Dataset):
        if name not in node:
            raise ValueError(f"data{where} has no {name!r}: it holds {sorted(map(str, node.data_vars))}")
        node = node[name]
    if not isinstance(node, xr.DataArray):
        raise TypeError(f"data{where} must be a DataTree, Dataset or DataArray, got {type(node).__name__}")
    return node
