"""How large a model's decadal variability is, and whether that is low or high."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.preprocess.models import each_model, extend_attrs
from climanchor.preprocess.variability import OTHER_MEMBERS, decadal_variability

#: The models of the published experiment: trained on low, tested on high decadal variability.
PUBLISHED_CLASSES = {
    "CCSM4": "low", "NorCPM1": "low", "CESM2": "low", "HadCM3": "low",
    "CNRM-CM6-1": "high", "CNRM-ESM2-1": "high", "IPSL-CM6A-LR": "high",
}  # fmt: skip
THRESHOLD = 0.07  # K, between the area-weighted magnitudes of those two groups (up to .054, from .09)


def div_magnitude(x: xr.DataArray | xr.Dataset | xr.DataTree, *, threshold: float = THRESHOLD) -> xr.Dataset:
    """Standard deviation of DIV over time, per member and averaged over members.

    Removing the mean of m members shrinks the spread by √(1 − 1/m); ``corrected`` undoes it with
    √(m/(m−1)). With a leave-one-out forced response the spread is too large by √(m/(m−1)) instead, and
    is divided by it. Lazy.

    Parameters
    ----------
    x : DataArray, Dataset or DataTree
        ``div (member, year)``, a Dataset with that variable or with one to take DIV of, or a tree of these.
    threshold : float, K
        A corrected magnitude below it is class ``low``, otherwise ``high``. The default separates the
        published training and test models for area-weighted global means.

    Returns
    -------
    Dataset with ``by_member``, ``raw``, ``corrected``, ``members`` and ``level``; a tree adds the dimension
    ``model`` and ``published_level`` ("" for models outside the published experiment).

    >>> div = xr.DataArray([[-0.1, 0.1], [0.1, -0.1]], dims=("member", "year"), name="div")
    >>> size = div_magnitude(div)
    >>> round(float(size.raw), 3), round(float(size.corrected), 3), str(size.level.values)
    (0.1, 0.141, 'high')
    """
    if isinstance(x, xr.DataTree):
        sizes = {name: _dataset_magnitude(node.to_dataset(), threshold) for name, node in x.children.items()}
        if not sizes:
            raise ValueError("the tree has no models: expected one child node per climate model")
        every = [s.drop_vars("by_member").drop_dims("member", errors="ignore") for s in sizes.values()]
        out = xr.concat(every, dim="model").assign_coords(model=list(sizes))
        known = [PUBLISHED_CLASSES.get(name, "") for name in sizes]
        return out.assign(published_level=("model", known))
    if isinstance(x, xr.Dataset):
        return _dataset_magnitude(x, threshold)
    return _magnitude(x, threshold)


def _dataset_magnitude(data: xr.Dataset, threshold: float) -> xr.Dataset:
    div = data["div"] if "div" in data else each_model(data, decadal_variability)["div"]
    return _magnitude(div, threshold)


def _magnitude(div: xr.DataArray, threshold: float) -> xr.Dataset:
    missing = {"member", "year"} - set(div.dims)
    if missing:
        raise ValueError(f"{div.name}: expected div (member, year); lacks {sorted(missing)}")
    members = div.sizes["member"]
    if members < 2:
        raise ValueError(f"{div.name}: the magnitude of DIV needs at least two members; found {members}")
    by_member = div.std("year")
    raw = by_member.mean("member")
    factor = np.sqrt(members / (members - 1))
    if div.attrs.get("forced_response") == OTHER_MEMBERS:
        factor = 1 / factor
    corrected = raw * factor

    def level(values: NDArray[np.float64]) -> NDArray[np.str_]:
        return np.where(values < threshold, "low", "high")

    units = {"units": str(div.attrs.get("units", "K"))}
    out = xr.Dataset(
        {
            "by_member": by_member.assign_attrs(units, long_name="standard deviation of DIV over time"),
            "raw": raw.assign_attrs(units, long_name="mean over members of the standard deviation of DIV"),
            "corrected": corrected.assign_attrs(units, long_name="raw magnitude corrected for ensemble size"),
            "members": ((), members),
            "level": xr.apply_ufunc(level, corrected, dask="parallelized", output_dtypes=["<U4"]),
        }
    )
    out["level"] = extend_attrs(out["level"], threshold=f"{threshold:g} K on the corrected magnitude")
    return out
