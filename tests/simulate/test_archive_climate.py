"""The generator behind the synthetic archive: forcing, variability, patterns, and data drawn in memory."""

import numpy as np
import pytest
import xarray as xr

from climanchor.simulate import control, observations, prepared
from climanchor.simulate.forcing import (
    AGENTS,
    CO2_DOUBLING,
    DEEP_HEAT_CAPACITY,
    ERUPTIONS,
    UPPER_HEAT_CAPACITY,
    forcing,
    warming,
)
from climanchor.simulate.grids import gaussian_grid, polar_grid, regular_cells
from climanchor.simulate.harmonics import Harmonics, degrees_orders
from climanchor.simulate.models import MODELS
from climanchor.simulate.patterns import decadal_pattern, enso_pattern, forced_pattern
from climanchor.simulate.variability import Oscillation, draw_weather, weather_spectrum
from climanchor.simulate.worlds import Months, historical_months, realise, world_on

MAGNITUDES = {
    "CCSM4": 0.031, "NorCPM1": 0.042, "CESM2": 0.051, "HadCM3": 0.046, "CNRM-CM6-1": 0.11, "CNRM-ESM2-1": 0.108,
    "IPSL-CM6A-LR": 0.092,
}  # fmt: skip


@pytest.fixture(scope="module")
def ensemble() -> xr.DataTree:
    """All members of all models on a coarse grid."""
    return prepared(grid=15.0, seed=1)


def coslat_mean(field: xr.DataArray) -> xr.DataArray:
    bands = np.diff(np.sin(np.deg2rad(np.linspace(-90, 90, field.sizes["lat"] + 1))))
    return field.weighted(xr.DataArray(bands, dims="lat")).mean(("lat", "lon"))


@pytest.mark.parametrize(("model", "magnitude"), MAGNITUDES.items())
def test_div_magnitude_is_that_of_the_real_model(ensemble, model, magnitude):
    """Within three standard errors of the mean over members, with the finite-ensemble correction."""
    div = ensemble[model].div
    members = div.sizes["member"]
    spread = div.std("year") * np.sqrt(members / (members - 1))
    assert float(spread.mean()) == pytest.approx(magnitude, abs=3 * float(spread.std()) / np.sqrt(members) + 0.001)


def test_ensembles_have_the_papers_members_and_the_real_years(ensemble):
    members = {name: node.sizes["member"] for name, node in ensemble.children.items()}
    assert list(members.values()) == [8, 30, 11, 10, 30, 10, 32]
    years = {name: (int(node.year[0]), int(node.year[-1])) for name, node in ensemble.children.items()}
    assert years["HadCM3"] == (1860, 2005)
    assert years["CCSM4"] == (1850, 2005)
    assert years["IPSL-CM6A-LR"] == (1850, 2014)


def test_prepared_data_follow_their_definitions():
    node = prepared(models=["CESM2"], members=3)["CESM2"]
    assert node.field.dims == ("member", "year", "lat", "lon")
    assert node.field.shape[2:] == (36, 72)
    assert node.lat.values[[0, -1]].tolist() == [-87.5, 87.5]
    assert node.lon.values[[0, -1]].tolist() == [2.5, 357.5]
    reference = node.field.sel(year=slice(1850, 1900)).mean("year")
    assert float(abs(reference).max()) < 1e-5
    xr.testing.assert_allclose(node.forced, node.field.mean("member"), atol=1e-5)
    residual = coslat_mean(node.field - node.forced).values
    decade = np.array([np.convolve(row, np.full(10, 0.1), "valid") for row in residual])
    np.testing.assert_allclose(node.div.values[:, 5:-4], decade, atol=1e-6)
    assert int(node.div.isnull().sum()) == 3 * 9


def test_drawn_data_agree_with_the_archive_of_the_same_seed(tiny_archive):
    """The global mean of a member, from files on its own grid and drawn on the target grid."""
    truth = xr.open_dataset(tiny_archive.truth["IPSL-CM6A-LR"])
    drawn = prepared(models=["IPSL-CM6A-LR"], members=3, grid=10.0)["IPSL-CM6A-LR"]
    assert np.corrcoef(truth.div.values[:, 5:-4].ravel(), drawn.true_div.values[:, 5:-4].ravel())[0, 1] > 0.995


def test_the_seed_changes_the_draw_but_not_the_climate():
    one, same, other = (prepared(models=["CCSM4"], members=2, grid=15.0, seed=s)["CCSM4"] for s in (0, 0, 1))
    xr.testing.assert_identical(one.to_dataset(), same.to_dataset())
    assert not np.allclose(one.div, other.div, equal_nan=True)
    xr.testing.assert_identical(one.true_forced, other.true_forced)


def test_members_do_not_share_variability(ensemble):
    div = ensemble["CNRM-CM6-1"].true_div.dropna("year").values
    correlation = np.corrcoef(div)[np.triu_indices(len(div), 1)]
    assert abs(correlation.mean()) < 0.1


def test_control_runs_are_unforced_and_some_drift():
    tree = control(models=["CNRM-CM6-1", "CCSM4"], years=400, grid=15.0)
    for name, node in tree.children.items():
        series = coslat_mean(node.field)[0]
        trend = np.polyfit(series.year, series, 1)[0] * 100
        assert abs(trend - MODELS[name].physics.drift) < 0.06
        decade = series.rolling(year=10).mean().dropna("year")
        assert float(decade.std()) == pytest.approx(MAGNITUDES[name], rel=0.5)


def test_forced_warming_is_of_the_observed_size_with_arctic_and_land_amplification(ensemble):
    for node in ensemble.children.values():
        recent = node.true_forced.sel(year=slice(1996, 2005)).mean("year")
        world = float(coslat_mean(recent))
        assert 0.4 < world < 1.3
        assert float(recent.sel(lat=slice(70, 90)).mean()) > 1.3 * world


@pytest.mark.parametrize(("name", "year", "month", "peak"), ERUPTIONS)
def test_volcanoes_cool_after_their_dates(name, year, month, peak):
    volcanic = forcing("volcanic")
    at = 12 * (year - 1850) + month - 1
    assert volcanic[at + 1 : at + 9].min() < 0.9 * peak
    # Nothing happens before the eruption beyond what earlier ones left, which only decays.
    assert volcanic[at] >= volcanic[at - 1] - 1e-9


def test_warming_solves_the_two_box_energy_balance():
    """Against small explicit steps of the same two equations."""
    physics = MODELS["CESM2"].physics
    feedback = CO2_DOUBLING / physics.ecs
    uptake = CO2_DOUBLING / physics.tcr - feedback
    upper = deep = 0.0
    force, result = forcing("greenhouse"), []
    for value in force:
        for _ in range(20):
            flux = uptake * (upper - deep)
            upper += (value - feedback * upper - flux) / UPPER_HEAT_CAPACITY / 240
            deep += flux / DEEP_HEAT_CAPACITY / 240
        result.append(upper)
    np.testing.assert_allclose(warming(physics)[AGENTS.index("greenhouse")], result, atol=2e-3)


@pytest.mark.parametrize("grid", [polar_grid(37, 72), gaussian_grid(32, 64), regular_cells(5.0)])
def test_patterns_have_a_global_mean_of_one_on_every_grid(grid):
    spec = MODELS["HadCM3"]
    maps = [forced_pattern(spec, agent, grid) for agent in AGENTS]
    maps += [decadal_pattern(spec, region, grid) for region in ("pacific", "atlantic", "southern")]
    maps.append(enso_pattern(spec, grid))
    np.testing.assert_allclose(grid.mean(np.array(maps)), 1, atol=0.02)


def test_harmonics_are_orthonormal_and_analysis_is_their_mean():
    grid = gaussian_grid(24, 48)
    harmonics = Harmonics(grid, 8)
    maps = harmonics.synthesise(np.eye(81))
    np.testing.assert_allclose(np.einsum("aij,bij,ij->ab", maps, maps, grid.share), np.eye(81), atol=1e-6)
    field = np.random.default_rng(0).standard_normal(grid.shape)
    np.testing.assert_allclose(harmonics.analyse(field), grid.mean(maps * field), atol=1e-6)
    assert len(degrees_orders(8)[0]) == 81


def test_oscillations_are_stationary_with_their_autocorrelation():
    process = Oscillation(period=4.0, damping=2.0)
    rng = np.random.default_rng(0)
    draws = np.array([process.draw(120, rng) for _ in range(4000)])
    np.testing.assert_allclose(draws.var(axis=0), 1, atol=0.12)
    lagged = np.mean(draws[:, :1] * draws, axis=0)
    np.testing.assert_allclose(lagged, process.autocorrelation(120), atol=0.08)


def test_weather_has_unit_variance_and_memory_and_coarse_grids_draw_a_part_of_it():
    whole = draw_weather(6000, np.random.default_rng(0))
    assert weather_spectrum().sum() == pytest.approx(1)
    assert whole.var(axis=0).sum() == pytest.approx(1, rel=0.02)
    assert np.sum(whole[1:] * whole[:-1]) / np.sum(whole**2) == pytest.approx(0.5, abs=0.02)
    coarse = draw_weather(6000, np.random.default_rng(0), degree=10)
    assert coarse.shape[1] < whole.shape[1]
    np.testing.assert_array_equal(coarse, whole[:, : coarse.shape[1]])


@pytest.mark.parametrize("calendar", ["noleap", "360_day", "gregorian"])
def test_annual_means_equal_the_mean_of_the_months(calendar):
    """Annual fields from annual coefficients are the month-length-weighted means of the monthly fields."""
    spec = next(s for s in MODELS.values() if s.calendar == calendar)
    months = historical_months(spec, (1899, 1904))
    place = world_on(spec, regular_cells(15.0))
    run = realise(spec, months, seed=0, member="r1i1p1")
    monthly = place.monthly(run).astype(float).reshape(6, 12, 12, 24)
    days = months.days.reshape(6, 12)
    assert days.sum(axis=1).tolist() == {
        "noleap": [365] * 6, "360_day": [360] * 6, "gregorian": [365, 365, 365, 365, 365, 366],
    }[calendar]  # fmt: skip
    expected = np.einsum("ymij,ym->yij", monthly, days / days.sum(axis=1, keepdims=True))
    annual = place.annual_expected(months, run.forced)[1] + place.annual_internal(run)
    np.testing.assert_allclose(annual, expected, atol=2e-4)
    np.testing.assert_allclose(place.global_internal(run), place.grid.mean(place.annual_internal(run)), atol=1e-5)


def test_months_count_complete_years_from_a_december_start():
    months = Months("360_day", 1859, 11, 25)
    years, inside, share = months.annual()
    assert (months.stamp, years.tolist(), inside) == ("185912-186112", [1860, 1861], slice(1, 25))
    np.testing.assert_allclose(share, 1 / 12)


@pytest.mark.parametrize(
    ("model", "shape", "pole"),
    [
        ("CCSM4", (192, 288), 90), ("NorCPM1", (96, 144), 90), ("CESM2", (192, 288), 90), ("HadCM3", (73, 96), 90),
        ("CNRM-CM6-1", (128, 256), 88.93), ("CNRM-ESM2-1", (128, 256), 88.93), ("IPSL-CM6A-LR", (143, 144), 90),
    ],
)  # fmt: skip
def test_grids_are_those_of_the_models_and_coarsening_keeps_their_kind(model, shape, pole):
    spec = MODELS[model]
    native, coarse = spec.grid(), spec.grid(16)
    assert native.shape == shape
    assert native.lat[-1] == pytest.approx(pole, abs=0.01)
    assert coarse.shape[0] <= 20
    assert (coarse.lat[-1] == 90) == (pole == 90)
    for grid in (native, coarse):
        assert grid.share.sum() == pytest.approx(1, abs=1e-12)
        assert np.all((grid.lat_edges[:-1] <= grid.lat) & (grid.lat <= grid.lat_edges[1:]))


def test_observed_coverage_grows_shrinks_in_the_wars_and_reaches_antarctica_late():
    seen = observations(realisations=2)
    share = coslat_mean(seen.field.notnull().astype(float))
    assert float(share.sel(year=1855)) < 0.35
    assert float(share.sel(year=1917)) < float(share.sel(year=1912)) - 0.05
    assert float(share.sel(year=1943)) < float(share.sel(year=1937)) - 0.05
    assert float(share.sel(year=1990)) > 0.75
    antarctic = seen.field.sel(lat=slice(-90, -65))
    assert not antarctic.sel(year=slice(1850, 1956)).notnull().any()
    assert antarctic.sel(year=slice(1960, 2000)).notnull().any()
    error = (seen.field - seen.true_field).std(("lat", "lon"))
    assert float(error.sel(year=slice(1850, 1870)).mean()) > 1.5 * float(error.sel(year=slice(1980, 2000)).mean())
    gaps = seen.ensemble.isnull() == seen.field.isnull()
    assert bool(gaps.all())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: prepared(models=["CESM9"]), "unknown models"),
        (lambda: prepared(models=["CESM2"], members=0), "CESM2 has 1 to 11 members, not 0"),
        (lambda: prepared(models=["CESM2"], members=1, grid=7.0), "must divide 180 degrees"),
        (lambda: prepared(models=["CESM2"], members=1, grid=30.0, years=(2020, 2024)), "CESM2 has no year in"),
        (lambda: prepared(models=["CESM2"], members=1, grid=30.0, reference=(1700, 1800)), "reference period"),
        (lambda: forcing("ozone"), "unknown forcing agent 'ozone'"),
        (lambda: observations(min_months=0), "min_months must be 1 to 12"),
    ],
)
def test_wrong_requests_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
