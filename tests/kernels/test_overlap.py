"""Edges, areas, overlaps and weights of rectilinear grids."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from climanchor.kernels.overlap import (
    apply_weights,
    area_weights,
    bilinear_weights,
    conservative_weights,
    is_gaussian,
    latitude_edges,
    longitude_edges,
    sector_overlaps,
)


def gaussian(n: int) -> np.ndarray:
    return np.rad2deg(np.arcsin(np.polynomial.legendre.leggauss(n)[0]))


def edges(values: np.ndarray) -> np.ndarray:
    return np.column_stack([values[:-1], values[1:]])


REGULAR = edges(np.linspace(-90, 90, 37)), edges(np.linspace(0, 360, 73))


@pytest.mark.parametrize(
    "lat",
    [
        pytest.param(gaussian(10), id="coarse gaussian"),
        pytest.param(gaussian(64)[::-1], id="decreasing gaussian"),
        pytest.param(np.linspace(-90, 90, 73), id="half cells"),
        pytest.param(np.linspace(90, -90, 192), id="decreasing half cells"),
        pytest.param(np.linspace(-87.5, 87.5, 36), id="regular"),
    ],
)
def test_derived_rows_of_global_grids_cover_the_sphere(lat: np.ndarray) -> None:
    area = area_weights(latitude_edges(lat), longitude_edges(np.arange(0, 360, 30.0)))
    assert area.sum() == pytest.approx(4 * np.pi, rel=1e-14)
    assert (area > 0).all()


def test_regional_rows_stay_regional() -> None:
    assert latitude_edges([10.0, 20.0, 30.0])[[0, -1]].tolist() == [[5.0, 15.0], [25.0, 35.0]]
    assert longitude_edges([10.0, 20.0, 30.0])[[0, -1]].tolist() == [[5.0, 15.0], [25.0, 35.0]]


def test_columns_that_go_round_close_at_the_seam() -> None:
    """Uneven columns (HadCM3's are even; thinned ones are not) still add up to 360°."""
    lon = np.array([0.0, 85.0, 180.0, 275.0])
    assert np.diff(longitude_edges(lon), axis=1).sum() == pytest.approx(360.0)
    assert np.diff(longitude_edges(lon[::-1]), axis=1).sum() == pytest.approx(-360.0)
    assert longitude_edges([170.0, 190.0, -150.0])[-1].tolist() == [200.0, 220.0]


def test_gaussian_latitudes_are_told_from_regular_ones() -> None:
    assert is_gaussian(gaussian(64)[::-1])
    assert not is_gaussian(np.linspace(-88, 88, 64))
    assert not is_gaussian(np.linspace(-88, 88, 63))


@pytest.mark.parametrize(
    ("lat", "match"),
    [
        ([0.0, np.nan, 10.0], "missing or infinite"),
        ([0.0, 10.0, 5.0], "strictly increase or decrease"),
        ([0.0, 95.0], r"lie in \[-90, 90\]; got 0 to 95"),
        ([5.0], "single centre"),
        ([[1.0, 2.0]], "one-dimensional"),
    ],
)
def test_unusable_latitudes_are_refused(lat: list[float], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        latitude_edges(lat)


@given(
    rows=st.integers(2, 40),
    columns=st.integers(3, 60),
    west=st.floats(-400, 400),
    backwards=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_any_global_source_covers_every_target_and_keeps_the_global_mean(
    rows: int, columns: int, west: float, backwards: bool, seed: int
) -> None:
    """Conservation, exactly: Σ area × value is the same before and after, and ones stay ones."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.uniform(-90, 90, rows - 1))
    lat = edges(np.concatenate([[-90.0], cuts, [90.0]]))
    lon = edges(west + np.linspace(0, 360, columns + 1))
    if backwards:
        lat, lon = lat[::-1, ::-1], lon[::-1, ::-1]
    weights = conservative_weights(*REGULAR, lat, lon)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-9)
    values = rng.normal(280, 20, rows * columns)
    before = np.average(values, weights=area_weights(lat, lon).ravel())
    after = np.average(apply_weights(weights, values), weights=area_weights(*REGULAR).ravel())
    assert after == pytest.approx(before, rel=1e-12)


def test_sectors_overlap_across_the_seam_once() -> None:
    target = np.array([[-5.0, 5.0], [350.0, 370.0]])
    source = np.array([[355.0, 365.0], [358.75, 1.25], [180.0, 200.0]])
    np.testing.assert_allclose(sector_overlaps(target, source), [[10, 2.5, 0], [10, 2.5, 0]])


def test_zonal_mean_source_fills_every_longitude() -> None:
    weights = conservative_weights(*REGULAR, REGULAR[0], [[0.0, 360.0]])
    np.testing.assert_allclose(apply_weights(weights, np.arange(36.0)).reshape(36, 72)[:, 7], np.arange(36.0))


def test_source_that_does_not_cover_the_globe_leaves_the_rest_missing() -> None:
    weights = conservative_weights(*REGULAR, [[0.0, 45.0], [45.0, 90.0]], REGULAR[1])
    remapped = apply_weights(weights, np.ones(144)).reshape(36, 72)
    assert np.isnan(remapped[:18]).all()
    np.testing.assert_allclose(remapped[18:], 1.0)


@pytest.mark.parametrize(("min_valid", "missing"), [(0.0, False), (0.5, False), (0.51, True), (1.0, True)])
def test_half_valid_cell_is_kept_up_to_its_valid_fraction(min_valid: float, missing: bool) -> None:
    """A target cell half of whose area has a value is the mean of that half, unless more is asked for."""
    source_lon = edges(np.linspace(0, 360, 145))
    weights = conservative_weights(*REGULAR, REGULAR[0], source_lon)
    values = np.full((36, 144), 7.0)
    values[:, 0] = np.nan
    first = apply_weights(weights, values.ravel(), min_valid=min_valid).reshape(36, 72)[:, 0]
    assert np.isnan(first).all() == missing
    if not missing:
        np.testing.assert_allclose(first, 7.0)


def test_bilinear_is_exact_for_linear_fields_and_does_not_extrapolate() -> None:
    lat, lon = np.array([60.0, 0.0, -60.0]), np.arange(0, 360, 30.0)
    target = np.array([70.0, 30.0, -45.0]), np.array([15.0, 350.0])
    weights = bilinear_weights(*target, lat, lon)
    field = np.broadcast_to(lat[:, None], (3, 12))
    remapped = apply_weights(weights, field.ravel()).reshape(3, 2)
    assert np.isnan(remapped[0]).all()
    np.testing.assert_allclose(remapped[1:], [[30, 30], [-45, -45]])
    seam = np.broadcast_to(np.where(lon == 330, 30.0, 0.0), (3, 12))
    np.testing.assert_allclose(apply_weights(weights, seam.ravel()).reshape(3, 2)[1], [0.0, 10.0])


def test_bilinear_on_a_regional_source_stays_inside_it() -> None:
    weights = bilinear_weights([5.0], [355.0, 15.0], [0.0, 10.0], [10.0, 20.0])
    assert weights.sum(axis=1).tolist() == [0.0, 1.0]
