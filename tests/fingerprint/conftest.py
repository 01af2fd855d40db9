"""Small prepared data with the structure of the real thing."""

import numpy as np
import pytest
import xarray as xr


def make_model(seed, members, years, *, lat=6, lon=8, shift=0.0, own_forced=False):
    rng = np.random.default_rng(seed)
    n = len(years)
    trend = np.linspace(0, 1.5, n) ** 2
    pattern, mode = 1 + 0.3 * rng.normal(size=(lat, lon)), rng.normal(size=(lat, lon))
    response = trend[:, None, None] * pattern + 0.05 * rng.normal(size=(n, lat, lon))
    div = 0.3 * np.cumsum(rng.normal(size=(members, n)), axis=1) / np.sqrt(n)
    noise = 0.4 * rng.normal(size=(members, n, lat, lon))
    field = response + div[:, :, None, None] * mode + noise + shift
    div[:, :2] = np.nan  # incomplete windows
    div[:, -2:] = np.nan
    forced = np.broadcast_to(response, field.shape) + 0.01 * rng.normal(size=field.shape) if own_forced else response
    return xr.Dataset(
        {
            "field": (("member", "year", "lat", "lon"), field.astype("f4"), {"units": "K"}),
            "forced": (("member", "year", "lat", "lon") if own_forced else ("year", "lat", "lon"), forced),
            "div": (("member", "year"), div),
        },
        coords={
            "member": [f"r{i + 1}i1p1f1" for i in range(members)],
            "year": np.asarray(years),
            "lat": np.linspace(-75, 75, lat),
            "lon": np.linspace(22.5, 337.5, lon),
        },
    )


@pytest.fixture(scope="session")
def data():
    """Five models with unequal members and years."""
    plan = {"A1": (4, 40), "B-2": (3, 50), "C3": (5, 40), "D4": (2, 60), "E5": (3, 40)}
    return xr.DataTree.from_dict(
        {name: make_model(i, m, range(1900, 1900 + n)) for i, (name, (m, n)) in enumerate(plan.items())}
    )


@pytest.fixture
def make():
    """The factory itself, for data with a twist."""
    return make_model
