"""Regions as area weights."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from climanchor.detection import region_weights
from climanchor.detection.regions import describe


@pytest.fixture
def areas():
    lat, lon = np.arange(-75.0, 90, 30), np.arange(15.0, 360, 30)
    values = np.broadcast_to(np.cos(np.deg2rad(lat))[:, None], (6, 12))
    return xr.DataArray(values, coords={"lat": lat, "lon": lon}, dims=("lat", "lon"))


def test_the_globe_is_weighted_by_area_and_weights_sum_to_one(areas):
    weights = region_weights(None, areas=areas)
    np.testing.assert_allclose(weights, areas / areas.sum())
    xr.testing.assert_allclose(weights, region_weights("globe", areas=areas))


def test_boxes_take_the_cells_inside_also_across_the_meridian(areas):
    weights = region_weights((0, 60, 330, 40), areas=areas)
    inside = weights.where(weights > 0).stack(cell=("lat", "lon")).dropna("cell")
    assert sorted({float(x) for x in inside["lon"]}) == [15.0, 345.0]
    assert sorted({float(x) for x in inside["lat"]}) == [15.0, 45.0]
    west = region_weights((0, 60, -30, 40), areas=areas)
    xr.testing.assert_allclose(weights, west)


def test_a_box_of_all_longitudes_is_a_band(areas):
    band = region_weights((60, 90, 0, 360), areas=areas)
    np.testing.assert_allclose(band.sel(lat=75), 1 / 12)


def test_land_and_ocean_share_every_cell(areas):
    fraction = xr.zeros_like(areas) + 0.3
    land, ocean = (region_weights(r, areas=areas, land=fraction) for r in ("land", "ocean"))
    xr.testing.assert_allclose(land, ocean)
    only = xr.where(areas["lat"] > 0, 1.0, 0.0) * xr.ones_like(areas)
    assert float(region_weights("land", areas=areas, land=only).sel(lat=slice(None, 0)).sum()) == 0


def test_every_cell_is_no_average(areas):
    assert region_weights("cells", areas=areas) is None


class Regions:
    """Stands for regionmask's AR6 regions: one region, number 7, in the northern hemisphere."""

    abbrevs = ("NOR",)

    def mask(self, lon, lat):
        return xr.where(lat > 0, 7.0, np.nan) * xr.ones_like(lon)

    def map_keys(self, abbreviation):
        return {"NOR": 7}[abbreviation]


class Offline:
    @property
    def all(self):
        raise ConnectionError("no network")


def install_regionmask(monkeypatch, ar6):
    module = SimpleNamespace(defined_regions=SimpleNamespace(ar6=ar6))
    monkeypatch.setitem(sys.modules, "regionmask", module)


def test_ar6_regions_come_from_regionmask(areas, monkeypatch):
    install_regionmask(monkeypatch, SimpleNamespace(all=Regions()))
    xr.testing.assert_allclose(region_weights("ar6:NOR", areas=areas), region_weights((0, 90, 0, 360), areas=areas))
    with pytest.raises(ValueError, match="'ABC' is no AR6 region; there are NOR"):
        region_weights("ar6:ABC", areas=areas)


def test_ar6_regions_say_what_they_need(areas, monkeypatch):
    """Neither a missing package nor a missing network is a riddle."""
    install_regionmask(monkeypatch, Offline())
    with pytest.raises(ValueError, match="cannot download them here"):
        region_weights("ar6:NOR", areas=areas)
    monkeypatch.setitem(sys.modules, "regionmask", None)
    with pytest.raises(ValueError, match="AR6 regions need the package regionmask"):
        region_weights("ar6:NOR", areas=areas)


@pytest.mark.parametrize(
    ("region", "options", "match"),
    [
        ("mars", {}, "region 'mars' is unknown"),
        ("land", {}, "needs land="),
        ((0, 1, 2), {}, r"a box is \(south, north, west, east\)"),
        ((10, -10, 0, 90), {}, "south < north"),
        ((1, 2, 3, 4), {}, "holds no cell of the grid"),
    ],
)
def test_unusable_regions_are_refused(areas, region, options, match):
    with pytest.raises(ValueError, match=match):
        region_weights(region, areas=areas, **options)


def test_masks_must_be_on_the_grid_and_fractions(areas):
    with pytest.raises(ValueError, match="on the fingerprint's grid"):
        region_weights(areas.isel(lat=slice(3)), areas=areas)
    with pytest.raises(ValueError, match="fractions, not percent"):
        region_weights("land", areas=areas, land=xr.zeros_like(areas) + 40.0)


def test_regions_have_names(areas):
    assert describe(None) == "globe"
    assert describe((0, 60, 330, 40)) == "0…60°N, 330…40°E"
    assert describe(areas.rename("tropics")) == "tropics"
