"""Years that models share."""

import numpy as np
import xarray as xr


def common_period(tree: xr.DataTree, *, first: int | None = None, last: int | None = None) -> xr.DataTree:
    """Keep the years that every model of the tree has, optionally within ``first`` to ``last``. Lazy.

    Raises
    ------
    ValueError
        No year is common; the message names the models that end first and begin last.

    >>> years = {"A": range(1850, 1860), "B": range(1855, 1870)}
    >>> tree = xr.DataTree.from_dict({k: xr.Dataset(coords={"year": list(v)}) for k, v in years.items()})
    >>> common_period(tree)["A"].year.values.tolist()
    [1855, 1856, 1857, 1858, 1859]
    """
    years = {name: _years(name, node) for name, node in tree.children.items()}
    if not years:
        raise ValueError("the tree has no models: expected one child node per climate model")
    common = set.intersection(*(set(v.tolist()) for v in years.values()))
    chosen = sorted(y for y in common if (first is None or y >= first) and (last is None or y <= last))
    if not chosen:
        ends = min(years, key=lambda m: int(years[m].max()))
        begins = max(years, key=lambda m: int(years[m].min()))
        raise ValueError(
            f"no year is common to {', '.join(years)} between {first or 'the start'} and {last or 'the end'}: "
            f"{ends} ends in {years[ends].max()}, {begins} begins in {years[begins].min()}"
        )
    parts = {name: node.to_dataset().sel(year=chosen) for name, node in tree.children.items()}
    out = xr.DataTree.from_dict(parts, name=tree.name)
    out.attrs.update(tree.attrs)
    out.attrs["common_period"] = f"{chosen[0]}-{chosen[-1]} ({len(chosen)} years)"
    return out


def _years(model: str, node: xr.DataTree) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    if "year" not in node.coords or node.coords["year"].size == 0:
        raise ValueError(f"{model}: no coordinate 'year'; take annual_mean first")
    return np.asarray(node.coords["year"].values, dtype="int64")
