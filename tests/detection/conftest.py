"""A small world for detection: a fingerprint with known answers, unforced runs and observations."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

LAT = np.arange(-75.0, 90.0, 30.0)
LON = np.arange(15.0, 360.0, 30.0)


@dataclass(frozen=True)
class Mean:
    """A stand-in fingerprint: predicts everywhere the plain mean of the cells it may look at."""

    mask: xr.DataArray | None = None
    gamma: float = 1.0

    def predict(self, field):
        if self.mask is not None:
            field = field.where(self.mask, 0.0) * (self.mask.size / int(self.mask.sum()))
        return xr.ones_like(field) * field.mean(("lat", "lon"), skipna=False)

    def restrict(self, mask):
        return replace(self, mask=mask)


@dataclass(frozen=True)
class Identity:
    """A stand-in fingerprint that takes every cell at face value."""

    mask: xr.DataArray | None = None

    def predict(self, field):
        return field if self.mask is None else field.where(self.mask)

    def restrict(self, mask):
        return replace(self, mask=mask)


def grid_field(series, pattern=None):
    """(..., year) times a pattern, as a labelled field with dims (member,) year, lat, lon."""
    series = np.asarray(series, dtype=float)
    pattern = np.ones((LAT.size, LON.size)) if pattern is None else pattern
    dims = (("member",) if series.ndim == 2 else ()) + ("year", "lat", "lon")
    return xr.DataArray(
        series[..., None, None] * pattern, dims=dims, coords={"lat": LAT, "lon": LON}, attrs={"units": "K"}
    )


def control_tree(rng, scales, *, years=400, members=1, memory=0.0, local=0.0):
    """White or AR(1) control runs whose global mean has the given standard deviation, one model each."""
    tree = {}
    for number, scale in enumerate(scales):
        noise = rng.normal(size=(members, years + 50))
        for step in range(1, years + 50):
            noise[:, step] += memory * noise[:, step - 1]
        field = grid_field(scale * np.sqrt(1 - memory**2) * noise[:, 50:])
        field = field + local * rng.normal(size=field.shape)
        field = field.assign_coords(member=[f"r{m + 1}i1p1f1" for m in range(members)], year=np.arange(1, years + 1))
        tree[f"M{number + 1}"] = xr.Dataset({"field": field.assign_attrs(units="K")})
    return xr.DataTree.from_dict(tree)


def observed(rng, *, slope=0.02, noise=0.1, years=(1900, 2020)):
    span = np.arange(years[0], years[1] + 1)
    series = slope * np.maximum(span - 1970, 0) + noise * rng.normal(size=span.size)
    return grid_field(series).assign_coords(year=span).rename("tas")


@pytest.fixture
def toy():
    """The makers of this small world, for tests that need their own."""
    return SimpleNamespace(
        Mean=Mean, Identity=Identity, control_tree=control_tree, grid_field=grid_field, observed=observed
    )


@pytest.fixture
def rng():
    return np.random.default_rng(42)


@pytest.fixture
def control(rng):
    return control_tree(rng, [0.1, 0.12, 0.08])


@pytest.fixture
def observations(rng):
    return observed(rng)
