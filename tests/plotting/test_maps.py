"""Maps: what is coloured, hatched and closed, and what wrong input says."""

import subprocess
import sys
import time

import cartopy.crs as ccrs
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.path import Path

from climanchor import plotting
from climanchor.plotting import panels
from climanchor.plotting.cells import cell_paths
from climanchor.plotting.coastline import coastline
from climanchor.plotting.grid import area_mean, grid_of


def artist(figure, label, panel=0):
    (found,) = [c for c in figure.axes[panel].collections if c.get_label() == label]
    return found


def covered(figure, label, field, panel=0):
    """Which cells of ``field`` have their centre inside the artist."""
    ax = figure.axes[panel]
    lon, lat = np.meshgrid(field["lon"], field["lat"])
    centres = ax.projection.transform_points(ccrs.Geodetic(), lon.ravel(), lat.ravel())[:, :2]
    inside = np.zeros(lon.size, bool)
    for path in artist(figure, label, panel).get_paths():
        inside |= path.contains_points(centres)
    return inside.reshape(lon.shape)


def better_masks(anchored, plain):
    r2 = anchored["r2"].values > plain["r2"].values
    r = np.abs(anchored["residual_correlation"].values) < np.abs(plain["residual_correlation"].values)
    return r2, r


@pytest.mark.parametrize("projection", [None, ccrs.Robinson(central_longitude=151.3), ccrs.Mollweide(180)])
def test_hatching_covers_exactly_the_cells_where_the_anchored_fingerprint_is_better(make_scores, projection):
    anchored, plain = make_scores(seed=1), make_scores(seed=5)
    figure = plotting.map_difference(anchored, plain, projection=projection)
    for panel, better in enumerate(better_masks(anchored, plain)):
        assert 0 < better.sum() < better.size
        np.testing.assert_array_equal(covered(figure, "better", plain["r2"], panel), better)


def test_hatching_has_one_piece_per_better_cell(make_scores):
    anchored, plain = make_scores(seed=1), make_scores(seed=5)
    figure = plotting.map_difference(anchored, plain)
    for panel, better in enumerate(better_masks(anchored, plain)):
        (path,) = artist(figure, "better", panel).get_paths()
        assert np.count_nonzero(path.codes == Path.MOVETO) == better.sum()


def test_better_correlation_is_the_smaller_magnitude_whatever_the_sign(make_scores):
    plain = make_scores() * 0 - 0.4
    anchored = plain * 0 + 0.1  # r² is equal nowhere, r has changed sign
    figure = plotting.map_difference(anchored.assign(r2=plain["r2"]), plain)
    assert covered(figure, "better", plain["r2"], 1).all()
    assert [c.get_label() for c in figure.axes[0].collections].count("better") == 0  # R² equal: not better


def test_red_means_better_in_both_panels(make_scores):
    plain = make_scores() * 0 + 0.3
    anchored = plain.assign(r2=plain["r2"] + 0.1, residual_correlation=plain["residual_correlation"] - 0.1)
    figure = plotting.map_difference(anchored, plain)
    for panel in (0, 1):
        cells = artist(figure, "cells", panel)
        red, _, blue, _ = cells.cmap(cells.norm(cells.get_array()[0]))
        assert red > blue


def test_colour_scales_are_symmetric_where_zero_is_the_neutral_value(make_scores, make_map):
    scores, field = make_scores(), make_map()
    patterns = xr.concat([field, 2 * field + 0.3], "mode").assign_coords(mode=[1, 2])
    forced = field.expand_dims(year=[2000, 2001]) + 1.0
    figures = [
        plotting.map_residual_correlation(scores),
        plotting.map_difference(scores, make_scores(seed=3)),
        plotting.map_patterns(patterns),
        plotting.map_forced(forced),
        plotting.map_significance(field, abs(field)),
        plotting.map_field(field + 0.5, diverging=True),
    ]
    for figure in figures:
        for ax in figure.axes:
            for collection in ax.collections:
                if collection.get_label() == "cells":
                    assert collection.norm.vmin == -collection.norm.vmax
    r2 = artist(plotting.map_r2(scores), "cells")
    assert (r2.norm.vmin, r2.norm.vmax) == (0, 1)


def test_panels_share_one_scale_and_one_colour_bar(make_scores):
    figure = plotting.map_r2({"plain": make_scores(), "γ = 5": make_scores(0.6)})
    assert len(figure.axes) == 3
    assert artist(figure, "cells", 0).norm.vmax == artist(figure, "cells", 1).norm.vmax
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == ["A", "B"]


def test_every_cell_has_the_colour_of_its_value(monkeypatch, make_map, draw):
    """Read back from the pixels at the cell centres, with the latitudes given from north to south."""
    monkeypatch.setattr(panels, "add_coastline", lambda ax: None)
    field = make_map(seed=2)
    figure = plotting.map_field(field.isel(lat=slice(None, None, -1)), limits=(-1, 1))
    image, ax = draw(figure, 150), figure.axes[0]
    cells = artist(figure, "cells")
    lon, lat = np.meshgrid(field["lon"], field["lat"])
    inside = np.abs(lat) < 80
    where = image_points(ax, lon[inside], lat[inside], image)
    expected = cells.cmap(cells.norm(field.values[inside]))[:, :3] * 255
    assert np.abs(image[where] - expected).max() < 3


def image_points(ax, lon, lat, image):
    points = ax.projection.transform_points(ccrs.Geodetic(), np.asarray(lon), np.asarray(lat))[:, :2]
    column, row = ax.transData.transform(points).T
    return (image.shape[0] - 1 - row.astype(int), column.astype(int))


@pytest.mark.parametrize(("start", "centre"), [(7.5, 0.0), (7.5, 33.3), (0.0, 0.0), (-172.5, 180.0)])
def test_no_seam_at_any_meridian(monkeypatch, make_map, draw, start, centre):
    """Along the first and last meridian of the grid and along the cut of the map there is no gap."""
    monkeypatch.setattr(panels, "add_coastline", lambda ax: None)
    field = make_map(lon=np.arange(start, start + 360, 15.0)) * 0 + 0.5
    figure = plotting.map_field(field, limits=(0, 1), projection=ccrs.Robinson(central_longitude=centre))
    ax = figure.axes[0]
    ax.spines["geo"].set_visible(False)
    image = draw(figure, 200)
    lat = np.linspace(-80, 80, 321)
    colour = np.array(artist(figure, "cells").cmap(0.5)[:3]) * 255
    for meridian in (start - 7.5, centre + 176, centre - 176):
        for offset in np.linspace(-1.0, 1.0, 9):
            from_cut = (meridian + offset - centre) % 360 - 180
            if abs(from_cut) < 2:  # the very edge of the map, which blends with the page
                continue
            where = image_points(ax, np.full(lat.size, meridian + offset), lat, image)
            assert np.abs(image[where] - colour).max() < 12  # the background is 100 away


def test_coastlines_are_drawn_from_the_package(monkeypatch, make_map, draw):
    field = make_map() * 0

    def dark_share():
        image = draw(plotting.map_field(field, limits=(-100, 1)), 150)
        rows, columns = image.shape[:2]
        middle = image[rows // 4 : rows // 2, columns // 4 : 3 * columns // 4]  # inside the map
        return np.mean(middle.max(axis=-1) < 100)

    assert len(list(coastline().geometries())) > 100
    with_coast = dark_share()
    monkeypatch.setattr(panels, "add_coastline", lambda ax: None)
    assert dark_share() == 0
    assert with_coast > 0.02


def test_coastline_is_where_the_coast_is():
    """Points of well-known capes are within half a degree of the line."""
    points = np.concatenate([np.asarray(line.coords) for line in coastline().geometries()])
    for lon, lat in [(18.5, -34.1), (-67.3, -55.9), (-9.5, 38.7), (153.6, -28.6)]:  # south Africa, Horn, Roca, Byron
        assert np.hypot(*(points - [lon, lat]).T).min() < 1.0
    longest_step = max(np.abs(np.diff(np.asarray(line.coords)[:, 0])).max() for line in coastline().geometries())
    assert longest_step < 20  # no line runs across the map


def test_missing_cells_are_marked_and_not_coloured(make_map):
    field = make_map()
    field[3:5, 2:9] = np.nan
    figure = plotting.map_field(field)
    np.testing.assert_array_equal(covered(figure, "missing", field), np.isnan(field.values))
    assert artist(figure, "cells").get_array().size == field.notnull().sum()


def test_signs_can_be_told_in_grey(make_map):
    """Beyond half the limit, positive cells have a solid outline and negative ones a dashed one."""
    figure = plotting.map_field(make_map(), diverging=True, limits=(-1, 1))
    solid, dashed = artist(figure, "positive"), artist(figure, "negative")
    assert solid.get_linestyle()[0][1] is None
    assert dashed.get_linestyle()[0][1] is not None


@pytest.mark.parametrize(
    "projection", [ccrs.Orthographic(10, 40), ccrs.NorthPolarStereo(), ccrs.InterruptedGoodeHomolosine()]
)
def test_cells_cover_any_projection_once(make_map, projection):
    """Cells fill the visible map: none is lost, none is turned inside out."""
    field = make_map(lat=np.arange(-75, 90, 30.0), lon=np.arange(15, 360, 30.0))
    paths = cell_paths(grid_of(field), projection)
    assert len(paths) == field.size
    areas = [sum(abs(_area(ring)) for ring in path.to_polygons()) for path in paths if len(path.vertices)]
    whole = abs(_area(np.asarray(projection.boundary.coords)))
    assert max(areas) < 0.5 * whole
    assert 0.9 * whole < sum(areas) < 1.02 * whole or isinstance(projection, ccrs.NorthPolarStereo)


def _area(ring):
    x, y = np.asarray(ring)[:, :2].T
    return 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))


def test_area_weighted_mean_in_the_title(make_map):
    """A field of sin²(lat) has the area-weighted mean 1/3 up to the cell size; the plain mean is near 1/2."""
    field = make_map(lat=np.arange(-87.5, 90, 5))
    field = (np.sin(np.deg2rad(field["lat"])) ** 2 + 0 * field).transpose("lat", "lon").assign_attrs(units="K")
    assert area_mean(field) == pytest.approx(1 / 3, abs=2e-3)
    assert plotting.map_field(field, mean=True).axes[0].get_title() == "area-weighted mean 0.334 K"


def test_significance_dots_follow_the_false_discovery_rate(make_map):
    """Benjamini–Hochberg by hand: dots at the k smallest p-values with p_(k) ≤ k q / n."""
    field = make_map()
    p = xr.zeros_like(field) + np.random.default_rng(0).uniform(size=field.shape) ** 4
    p[0, 0] = np.nan
    known = np.sort(p.values[np.isfinite(p.values)])
    passed = np.flatnonzero(known <= 0.05 * np.arange(1, known.size + 1) / known.size)
    expected = int(passed[-1]) + 1
    dots = artist(plotting.map_significance(field, p), "significant").get_offsets()
    assert len(dots) == expected
    alone = artist(plotting.map_significance(field, p, control=False), "significant").get_offsets()
    assert len(alone) == np.count_nonzero(p.values <= 0.05) > expected


def test_forced_response_is_averaged_over_the_period_and_the_members(make_map):
    field = make_map(units="K")
    forced = (field * 0 + 1) * xr.DataArray([1.0, 2.0, 3.0], coords={"year": [2000, 2001, 2002]}, dims="year")
    forced = (forced * xr.DataArray([0.5, 1.5], dims="member")).assign_attrs(units="K")
    tree = xr.DataTree.from_dict(
        {"CESM2": forced.to_dataset(name="forced"), "HadCM3": forced.to_dataset(name="forced")}
    )
    figure = plotting.map_forced(tree, models=["HadCM3"], period=(2001, 2002))
    np.testing.assert_allclose(artist(figure, "cells").get_array(), 2.5)
    assert figure.axes[0].get_title() == "HadCM3"


def test_a_models_own_scores_can_be_drawn(make_scores):
    scores = make_scores()
    scores["r2_by_model"][1] = 0.25
    cells = artist(plotting.map_r2(scores, model="CNRM-CM6-1"), "cells")
    np.testing.assert_array_equal(cells.get_array(), 0.25)


def test_a_user_s_own_axes_are_used(make_map):
    figure = Figure()
    ax = figure.add_subplot(projection=ccrs.Mollweide())
    assert plotting.map_field(make_map(), ax=ax) is figure
    assert any(c.get_label() == "cells" for c in ax.collections)


def test_a_region_is_shown_as_a_region(make_map):
    field = make_map(lat=np.arange(32.5, 70, 5), lon=np.arange(2.5, 60, 5))
    ax = plotting.map_field(field, projection=ccrs.PlateCarree()).axes[0]
    np.testing.assert_allclose(ax.get_extent(crs=ccrs.PlateCarree()), (0, 60, 30, 70))


def test_two_panel_difference_map_is_drawn_in_under_three_seconds(make_scores, draw):
    grid = {"lat": np.arange(-87.5, 90, 5), "lon": np.arange(2.5, 360, 5)}
    anchored, plain = make_scores(seed=1, **grid), make_scores(seed=5, **grid)
    cell_paths.cache_clear()
    start = time.process_time()
    draw(plotting.map_difference(anchored, plain), 300)
    assert time.process_time() - start < 3


def test_importing_climanchor_imports_no_plotting_library():
    code = "import climanchor, sys; print([m for m in ('cartopy', 'matplotlib') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_lazy_fields_are_computed_when_drawn(make_map):
    lazy = make_map().chunk({"lat": 4})
    assert artist(plotting.map_field(lazy), "cells").get_array().size == lazy.size
