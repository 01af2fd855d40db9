"""Wrong input to the maps says what is wrong and what to do."""

import cartopy.crs as ccrs
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from climanchor import plotting


def test_no_latitude_or_longitude(make_map):
    with pytest.raises(ValueError, match=r"field has no lat and lon: its dimensions are .*'y', 'x'.*Rename"):
        plotting.map_field(make_map().rename(lat="y", lon="x"))
    with pytest.raises(ValueError, match=r"field has no lon"):
        plotting.map_field(make_map().drop_vars("lon"))


def test_other_dimensions_left(make_map):
    with pytest.raises(ValueError, match=r"field has dimensions \['member'\] besides lat and lon: select or average"):
        plotting.map_field(make_map().expand_dims(member=[1, 2]))


def test_all_missing(make_map, make_scores):
    with pytest.raises(ValueError, match=r"field is missing in every cell"):
        plotting.map_field(make_map() * np.nan)
    scores = make_scores()
    with pytest.raises(ValueError, match=r"the difference of r2 is missing in every cell"):
        plotting.map_difference(
            scores.assign(r2=scores["r2"].where(scores["lat"] > 0)),
            scores.assign(r2=scores["r2"].where(scores["lat"] < 0)),
        )


def test_another_grid(make_scores, make_map):
    coarse = make_scores(lat=np.arange(-75, 90, 30.0))
    with pytest.raises(ValueError, match=r"different grids: lat has 12 values -82.5…82.5 and 6 values -75…75"):
        plotting.map_difference(make_scores(), coarse)
    with pytest.raises(ValueError, match=r"field and p_values are on different grids: lon has"):
        plotting.map_significance(make_map(), abs(make_map(lon=np.arange(0, 360, 15.0))))
    with pytest.raises(ValueError, match=r"different grids"):
        plotting.map_r2({"one": make_scores(), "two": coarse})


def test_wrong_units(make_scores, make_map):
    scores = make_scores()
    scores["r2"].attrs["units"] = "K"
    with pytest.raises(ValueError, match=r"r2 has units 'K', expected no units"):
        plotting.map_r2(scores)
    pressure = make_map(units="Pa").expand_dims(year=[2000, 2001])
    with pytest.raises(ValueError, match=r"forced has units 'Pa', expected units 'K'"):
        plotting.map_forced(pressure)


def test_values_that_cannot_be(make_scores, make_map):
    with pytest.raises(ValueError, match=r"r2 reaches .* but cannot exceed 1"):
        plotting.map_r2(make_scores() + 1)
    with pytest.raises(ValueError, match=r"residual_correlation reaches .* but cannot exceed 1"):
        plotting.map_residual_correlation(make_scores() - 1)
    with pytest.raises(ValueError, match=r"p_values go from -1 to .*must be between 0 and 1"):
        plotting.map_significance(make_map(), make_map(seed=1) / abs(make_map(seed=1).min()))
    with pytest.raises(ValueError, match=r"level must be between 0 and 1, got 5"):
        plotting.map_significance(make_map(), abs(make_map()), level=5)


def test_unknown_names(make_scores, make_map):
    with pytest.raises(ValueError, match=r"scores have no model 'GFDL': they hold"):
        plotting.map_r2(make_scores(), model="GFDL")
    with pytest.raises(ValueError, match=r"scores have no 'r2': they hold"):
        plotting.map_r2(make_scores().drop_vars("r2"))
    tree = xr.DataTree.from_dict({"CESM2": make_map().expand_dims(year=[2000]).to_dataset(name="forced")})
    with pytest.raises(ValueError, match=r"data has no models \['GFDL'\]: it holds \['CESM2'\]"):
        plotting.map_forced(tree, models=["GFDL"])
    with pytest.raises(ValueError, match=r"forced of CESM2 has no year in 1900–1910: it covers 2000–2000"):
        plotting.map_forced(tree, period=(1900, 1910))
    with pytest.raises(ValueError, match=r"data of CESM2 has no 'forced'"):
        plotting.map_forced(xr.DataTree.from_dict({"CESM2": make_map().to_dataset(name="field")}))


def test_things_that_are_no_maps(make_map):
    with pytest.raises(TypeError, match=r"field must be an xarray.DataArray with lat and lon, got ndarray"):
        plotting.map_field(np.zeros((3, 4)))
    with pytest.raises(TypeError, match=r"scores must be a Dataset .* got DataArray"):
        plotting.map_r2(make_map())
    with pytest.raises(TypeError, match=r"fingerprint must be a Fingerprint or a DataArray, got dict"):
        plotting.map_patterns({})
    with pytest.raises(ValueError, match=r"patterns have no dimension mode"):
        plotting.map_patterns(make_map())
    with pytest.raises(ValueError, match=r"empty mapping"):
        plotting.map_field({})


def test_axes_and_projections_that_do_not_fit(make_map):
    figure = Figure()
    with pytest.raises(TypeError, match=r"ax must be a cartopy GeoAxes, got Axes: make it with"):
        plotting.map_field(make_map(), ax=figure.add_subplot())
    ax = figure.add_subplot(projection=ccrs.Robinson())
    with pytest.raises(ValueError, match=r"give ax or projection, not both"):
        plotting.map_field(make_map(), ax=ax, projection=ccrs.Robinson())
    with pytest.raises(ValueError, match=r"ax holds one panel, but there are 2 to draw"):
        plotting.map_field({"one": make_map(), "two": make_map()}, ax=ax)


def test_scales_that_make_no_sense(make_map):
    with pytest.raises(ValueError, match=r"must be symmetric about zero, got \(-1, 2\)"):
        plotting.map_field(make_map(), diverging=True, limits=(-1, 2))
    with pytest.raises(ValueError, match=r"limits must be two increasing numbers, got \(1, 0\)"):
        plotting.map_field(make_map(), limits=(1, 0))
    with pytest.raises(ValueError, match=r"width must be 'one' or 'two'"):
        plotting.map_field(make_map(), width="three")
