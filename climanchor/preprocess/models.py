"""One function for one variable of one model, applied to a DataArray, a Dataset or a DataTree of models."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, TypeVar

import xarray as xr

EDGES = re.compile(r"(_(bnds|bounds|vertices|vert)$)|(^(bounds|vertices)_)")  # names of variables that hold cell edges

Labelled = TypeVar("Labelled", bound=xr.DataArray | xr.Dataset | xr.DataTree)

#: A transformation of one variable; the second argument is the Dataset around it (bounds, areas).
Transformation = Callable[[xr.DataArray, xr.Dataset], xr.DataArray]


def each_variable(
    x: Labelled,
    transform: Transformation,
    *,
    needs: Collection[str] = (),
    skip: Collection[str] = (),
    finish: Callable[[xr.Dataset], xr.Dataset] | None = None,
) -> Labelled:
    """Apply ``transform`` to ``x``, to the variables of a Dataset, or to those of every model of a tree.

    In a Dataset the variables that have one of the dimensions ``needs`` (all, when empty) are transformed,
    bounds and ``skip`` excepted; of the others those stay whose dimensions the transformation left as they were.
    ``finish`` is applied to every resulting Dataset.
    """

    def one_model(data: xr.Dataset) -> xr.Dataset:
        result = _transformed(data, transform, needs, skip)
        return finish(result) if finish else result

    result: Labelled = _dispatch(x, one_model, transform)
    return result


def each_model(x: Labelled, transform: Callable[[xr.Dataset], xr.Dataset]) -> Labelled:
    """Apply a function of one model's Dataset to a Dataset or to every model of a tree."""
    result: Labelled = _dispatch(x, transform, None)
    return result


def _dispatch(x: Any, on_dataset: Callable[[xr.Dataset], xr.Dataset], on_array: Transformation | None) -> Any:
    if isinstance(x, xr.DataTree):
        children = {name: _named(name, on_dataset, node.to_dataset()) for name, node in x.children.items()}
        if not children:
            raise ValueError("the tree has no models: expected one child node per climate model")
        tree = xr.DataTree.from_dict(children, name=x.name)
        tree.attrs.update(x.attrs)
        return tree
    if isinstance(x, xr.Dataset):
        return on_dataset(x)
    if isinstance(x, xr.DataArray) and on_array is not None:
        return on_array(x, x.coords.to_dataset())
    raise TypeError(f"expected a DataArray, a Dataset or a DataTree of models; got {type(x).__name__}")


def _named(model: str, transform: Callable[[xr.Dataset], xr.Dataset], data: xr.Dataset) -> xr.Dataset:
    """Transform one model's data; errors say which model it was."""
    try:
        return transform(data)
    except ValueError as error:
        raise type(error)(f"{model}: {error}") from error


def _transformed(
    data: xr.Dataset, transform: Transformation, needs: Collection[str], skip: Collection[str]
) -> xr.Dataset:
    names = [name for name in data_names(data) if name not in skip]
    chosen = [name for name in names if not needs or set(needs) & set(map(str, data[name].dims))]
    if not chosen:
        wanted = f" with a dimension {' or '.join(map(repr, needs))}" if needs else ""
        raise ValueError(f"no variable of data{wanted}; found {dict(data.sizes)}")
    result = xr.Dataset({name: transform(data[name], data) for name in chosen}, attrs=data.attrs)
    touched = {dim for name in chosen for dim in data[name].dims if not _same_axis(data, result, dim)}
    gone = {*chosen, *result.variables, *touched}
    kept = {n: v for n, v in data.variables.items() if n not in gone and not touched & set(v.dims)}
    return result.assign(kept).set_coords([n for n in kept if n in data.coords])


def _same_axis(before: xr.Dataset, after: xr.Dataset, dim: Hashable) -> bool:
    if dim not in after.dims or before.sizes[dim] != after.sizes[dim]:
        return False
    return dim not in before.coords or (dim in after.coords and before[dim].equals(after[dim]))


def data_names(data: xr.Dataset) -> list[str]:
    """Names of the variables that hold data, not the bounds of coordinates."""
    bounds = {v.attrs.get("bounds") or v.encoding.get("bounds") for v in data.variables.values()}
    numeric = [n for n, v in data.data_vars.items() if v.dtype.kind in "fiu" and n not in bounds]
    return [str(n) for n in numeric if not EDGES.search(str(n))]


def one_variable(data: xr.Dataset, *, prefer: str = "field") -> xr.DataArray:
    """The variable of a Dataset that holds one quantity, or the one called ``prefer``."""
    names = data_names(data)
    if prefer in names:
        return data[prefer]
    if len(names) != 1:
        raise ValueError(f"expected one variable (or one called {prefer!r}); found {names}: pick one, data[['tas']]")
    return data[names[0]]


def extend_attrs(x: xr.DataArray, **notes: str) -> xr.DataArray:
    """``x`` with notes added to its attributes; empty notes are left out, repeated ones joined."""
    joined = {key: "; ".join(filter(None, [x.attrs.get(key), note])) for key, note in notes.items() if note}
    return x.assign_attrs(joined)


def unsplit(x: xr.DataArray, dims: Iterable[Hashable]) -> xr.DataArray:
    """``x`` with one chunk along ``dims``; other chunks, and arrays in memory, stay as they are."""
    if x.chunks is None:
        return x
    return x.copy(data=x.data.rechunk({x.get_axis_num(dim): -1 for dim in dims}))
