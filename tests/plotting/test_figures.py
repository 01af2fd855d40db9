"""Figures other than maps: what they show of what they are given, and what wrong input says."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from climanchor import plotting
from climanchor.fingerprint import Choice, Selection
from climanchor.simulate import prepared

DIMS = ("split", "gamma", "alpha", "rank")


@pytest.fixture(scope="module")
def data():
    return prepared(models=["CESM2", "HadCM3", "CNRM-CM6-1"], members=3, years=(1900, 2000), grid=30.0)


@pytest.fixture
def selection():
    """R² is highest at (α, ρ) = (100, 20) for every γ; |r| falls with γ; ranks 30 and 40 are inert, 20 in part."""
    gammas, alphas, ranks = [1.0, 5.0, 100.0], [1.0, 10.0, 100.0, 1000.0], [10, 20, 30, 40]
    r2 = 0.5 - 0.02 * np.abs(np.log10(alphas) - 2)[:, None] - 0.01 * np.abs(np.arange(4) - 1)
    r2 = r2 - 0.01 * np.log10(gammas)[:, None, None] + 0.01 * np.array([-1.0, 0, 1])[:, None, None, None]
    r_abs = np.broadcast_to(0.4 / (1 + np.log10(gammas))[:, None, None], (3, 3, 4, 4))
    scores = {"r2": (DIMS, r2), "r2_area": (DIMS, r2), "r": (DIMS, -r_abs), "r_abs": (DIMS, r_abs)}
    scores |= {"mse": (DIMS, 1 - r2), "inert": (("split", "rank"), [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]])}
    dataset = xr.Dataset(scores, {"gamma": gammas, "alpha": alphas, "rank": ranks})
    return Selection(dataset.assign(inert=dataset["inert"].astype(bool)))


@pytest.fixture
def detection():
    rng = np.random.default_rng(0)
    years = np.arange(1950, 2015)
    values = {"null": ("segment", 0.05 * rng.normal(size=60)), "null_weight": ("segment", np.full(60, 1 / 60))}
    values |= {"statistic": 0.2, "p_value": 0.0004, "critical_value": 0.1, "series": ("year", 0.02 * (years - 1950))}
    values |= {"control_mean": 0.0, "control_std": 0.1, "emergence_year": 1961.0}
    return xr.Dataset(values, {"year": years}, {"statistic": "trend", "sided": "two-sided"})


@pytest.fixture
def perturbations():
    coords = {"algorithm": ["MLR", "CCA"], "method": ["PA", "plain", "gamma=5"], "t": np.linspace(0, 4, 5)}
    mean = xr.DataArray(np.arange(30.0).reshape(2, 3, 5), coords=coords, dims=list(coords))
    repeats = xr.DataArray([-1.0, 0.0, 1.0], dims="repeat")
    return xr.Dataset({"mse": mean + repeats, "r2": 1 - (mean + repeats) / 10})


def line(ax, label):
    (found,) = [artist for artist in ax.lines if artist.get_label() == label]
    return found


def test_div_magnitude_shows_every_member_and_the_corrected_mean(data):
    figure = plotting.div_magnitude(data, train=["HadCM3", "CESM2"], test=["CNRM-CM6-1"])
    ax = figure.axes[0]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-1] == "CNRM-CM6-1 (3)"  # test models below training models
    assert sorted(names[:2]) == ["CESM2 (3)", "HadCM3 (3)"]
    members = ax.lines[-3]
    expected = data["CNRM-CM6-1"]["div"].std("year").values
    np.testing.assert_allclose(members.get_xdata(), expected)
    (corrected,) = ax.lines[-1].get_xdata()
    assert corrected == pytest.approx(expected.mean() * np.sqrt(3 / 2))
    assert members.get_color() != ax.lines[0].get_color()
    assert members.get_marker() != ax.lines[0].get_marker()  # told apart without colour too


def test_div_series_shows_members_and_the_area_weighted_forced_response(data):
    figure = plotting.div_series(data, models=["CESM2", "CNRM-CM6-1"])
    for ax, name in zip(figure.axes, ("CESM2", "CNRM-CM6-1"), strict=True):
        weights = np.cos(np.deg2rad(data[name]["lat"]))
        forced = data[name]["forced"].weighted(weights).mean(("lat", "lon"))
        np.testing.assert_allclose(line(ax, "forced response").get_ydata(), forced, atol=0.02)
        np.testing.assert_array_equal(ax.lines[1].get_ydata(), data[name]["div"].isel(member=0))
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_scores_by_gamma_follow_the_published_choice(selection):
    figure = plotting.scores_by_gamma(selection, chosen=5.0)
    best = selection.scores.sel(alpha=100.0, rank=20)
    for ax, metric in zip(figure.axes, ("r2", "r_abs"), strict=True):
        np.testing.assert_allclose(ax.lines[0].get_ydata(), best[metric].mean("split"))
        np.testing.assert_allclose(ax.lines[0].get_xdata(), np.log10([1, 5, 100]))
    band = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(float(best["r2"].mean("split")[0]) + 2 * 0.01 / np.sqrt(3))


def test_scores_by_gamma_take_scores_of_fingerprints():
    scores = xr.Dataset(
        {"r2_mean": ("gamma", [0.5, 0.54]), "r_abs_mean": ("gamma", [0.4, 0.2])}, {"gamma": [1.0, np.inf]}
    )
    figure = plotting.scores_by_gamma({"training": scores, "test": scores - 0.1})
    np.testing.assert_allclose(line(figure.axes[1], "test").get_ydata(), [0.3, 0.1])
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["1", "∞"]


def test_pareto_marks_the_front_and_the_choices(selection):
    chosen = {"published": selection.best("published"), "nearest": selection.best("pareto")}
    ax = plotting.pareto(selection, chosen=chosen).axes[0]
    table = selection.pareto()
    front = table.isel(candidate=np.flatnonzero(table["on_front"])).sortby("correlation")
    np.testing.assert_allclose(line(ax, "Pareto front").get_xydata(), np.stack([front["correlation"], front["r2"]], 1))
    assert len(ax.collections[0].get_offsets()) == 48
    (x,), (y,) = line(ax, "published").get_data()
    assert (x, y) == pytest.approx((0.4, 0.5))


def test_selection_grid_shades_exactly_the_inert_ranks(selection):
    ax = plotting.selection_grid(selection, gamma=5.0, chosen=Choice(5.0, 10.0, 30)).axes[0]
    (mesh,) = [artist for artist in ax.collections if isinstance(artist, QuadMesh)]
    np.testing.assert_allclose(mesh.get_array(), selection.mean()["r2"].sel(gamma=5.0))
    shaded = {p.get_x() + p.get_width() / 2: p.get_hatch() for p in ax.patches if isinstance(p, Rectangle)}
    assert set(shaded) == {20.0, 30.0, 40.0}
    assert shaded[30.0] == shaded[40.0] != shaded[20.0]
    (rank,), (alpha,) = line(ax, "best").get_data()
    assert (rank, alpha) == (20, 100)
    (rank,), (alpha,) = line(ax, "chosen").get_data()
    assert (rank, alpha) == (30, 10)


def test_selection_grid_knows_that_small_correlations_are_better(selection):
    scores = selection.scores.copy(deep=True)
    scores["r_abs"] = scores["r_abs"] - 0.1 * ((scores["alpha"] == 1.0) & (scores["rank"] == 40))
    (rank,), (alpha,) = line(plotting.selection_grid(scores, metric="r_abs").axes[0], "best").get_data()
    assert (rank, alpha) == (40, 1)


def test_null_distribution_shows_shares_the_critical_values_and_the_observation(detection):
    ax = plotting.null_distribution(detection).axes[0]
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(1)
    positions = sorted(artist.get_xdata()[0] for artist in ax.lines)
    assert positions == pytest.approx([-0.1, 0.1, 0.2])
    assert ax.get_title() == "p < 0.001, 60 segments"


def test_critical_correlations_come_back_from_fishers_scale(detection):
    result = detection.assign_attrs(statistic="correlation", sided="greater")
    ax = plotting.null_distribution(result).axes[0]
    assert line(ax, "critical value").get_xdata()[0] == pytest.approx(np.tanh(0.1))
    assert len(ax.lines) == 2  # one-sided: one critical value


def test_detection_series_shows_the_band_and_the_emergence(detection):
    ax = plotting.detection_series(detection).axes[0]
    band = ax.patches[0]
    assert (band.get_y(), band.get_height()) == pytest.approx((-0.2, 0.4))
    np.testing.assert_array_equal(line(ax, "observations").get_ydata(), detection["series"])
    assert line(ax, "emergence").get_xdata()[0] == 1961
    never = plotting.detection_series(detection.assign(emergence_year=np.nan)).axes[0]
    assert "emergence" not in [artist.get_label() for artist in never.lines]


def test_a_test_of_every_cell_is_not_one_series(detection):
    local = detection.assign(null=detection["null"].expand_dims(lat=[0.0], lon=[0.0]))
    with pytest.raises(ValueError, match=r"made in every cell: choose one .* map_significance"):
        plotting.null_distribution(local)


def test_perturbation_bands_are_two_standard_errors(perturbations):
    figure = plotting.perturbation(perturbations)
    assert [ax.get_title() for ax in figure.axes] == ["MLR", "CCA"]
    ax = figure.axes[1]
    np.testing.assert_allclose(line(ax, "γ = 5").get_ydata(), np.arange(25.0, 30.0))
    band = ax.collections[2].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(29 + 2 / np.sqrt(3))


def test_perturbation_has_a_row_for_each_noise(perturbations):
    noisy = xr.concat(
        [perturbations, perturbations * 2], xr.DataArray(["gamma", "poisson"], dims="noise", name="noise")
    )
    titles = [ax.get_title() for ax in plotting.perturbation(noisy, metric="r2").axes]
    assert titles == ["MLR, gamma", "CCA, gamma", "MLR, poisson", "CCA, poisson"]


def table(*rows):
    return pd.DataFrame(rows, columns=["model", "member", "first", "last", "gaps"])


def test_coverage_tells_complete_incomplete_and_absent_years():
    """A gap from March 1852 to February 1854 leaves 1853 absent and its neighbours incomplete."""
    ax = plotting.coverage(
        table(("CESM2", "r1", "1850-01", "1855-12", "1852-03…1854-02"), ("HadCM3", "r1", "1851-12", "1855-12", ""))
    ).axes[0]
    states = ax.collections[0].get_array()
    np.testing.assert_array_equal(states, [[2, 2, 1, 0, 1, 2], [0, 1, 2, 2, 2, 2]])


def test_coverage_takes_the_table_of_complete_years_and_keeps_models_together():
    index = pd.MultiIndex.from_tuples(
        [("B", "historical", "r1"), ("A", "historical", "r1"), ("B", "historical", "r2")],
        names=["model", "experiment", "member"],
    )
    years = pd.DataFrame([[True, False], [True, True], [False, False]], index=index, columns=[1850, 1851])
    ax = plotting.coverage(years).axes[0]
    np.testing.assert_array_equal(ax.collections[0].get_array(), [[2, 0], [0, 0], [2, 2]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["B (2)", "A (1)"]
    assert "set aside" in [text.get_text() for text in ax.get_legend().get_texts()]  # B r2 has nothing


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: plotting.div_magnitude(d, train=["GFDL"]), ValueError, r"data has no models \['GFDL'\]"),
        (lambda d: plotting.div_magnitude(d, train=["CESM2"], test=["CESM2"]), ValueError, r"training and test models"),
        (lambda d: plotting.div_magnitude(d["CESM2"].to_dataset()), TypeError, r"must be a DataTree .* got Dataset"),
        (lambda d: plotting.div_series(d["CESM2"].to_dataset().drop_vars("div")), ValueError, r"data has no 'div'"),
        (lambda d: plotting.div_series(d, ax=Figure().add_subplot()), ValueError, r"there are 3 models: choose one"),
        (lambda d: plotting.coverage(pd.DataFrame({"model": []})), TypeError, r"lacks the columns \['member'"),
        (lambda d: plotting.coverage([]), ValueError, r"no members with complete years"),
        (lambda d: plotting.perturbation(xr.Dataset()), ValueError, r"metric must be 'r2' or 'mse'"),
        (lambda d: plotting.scores_by_gamma(xr.Dataset()), ValueError, r"scores have no dimension gamma"),
        (lambda d: plotting.pareto(xr.Dataset()), ValueError, r"candidates lack \['r2'"),
        (lambda d: plotting.selection_grid(xr.Dataset()), ValueError, r"scores have no 'r2'"),
        (lambda d: plotting.null_distribution(xr.Dataset()), ValueError, r"results lack \['null'"),
        (lambda d: plotting.detection_series({}), ValueError, r"empty mapping"),
    ],
)
def test_wrong_input_is_explained(data, call, error, message):
    with pytest.raises(error, match=message):
        call(data)


def test_wrong_choices_are_explained(selection):
    with pytest.raises(ValueError, match=r"gamma=3 was not tried: choose one of"):
        plotting.selection_grid(selection, gamma=3)
    with pytest.raises(ValueError, match=r"chosen 'mine' .* is not among the candidates"):
        plotting.pareto(selection, chosen={"mine": Choice(3.0, 1.0, 1)})
    with pytest.raises(ValueError, match=r"alpha=3 was not tried"):
        plotting.scores_by_gamma(selection, alpha=3)
    metres = xr.Dataset({"div": (("member", "year"), np.eye(3), {"units": "m"})})
    with pytest.raises(ValueError, match=r"div of CESM2 has units 'm'"):
        plotting.div_magnitude(xr.DataTree.from_dict({"CESM2": metres}))


def every_figure(data, selection, detection, perturbations, make_scores, make_map):
    scores, field = make_scores(), make_map(units="K", long_name="observed trend of the predicted forced response")
    many = {f"model {i}": field for i in range(3)}
    row = ("1850-01", "2014-12", "")
    return {
        "difference": plotting.map_difference(scores, make_scores(seed=3), mean=True),
        "difference one": plotting.map_difference(scores, make_scores(seed=3), mean=True, width="one"),
        "scores": plotting.map_scores(scores, mean=True),
        "three maps": plotting.map_field(many, mean=True, diverging=True),
        "significance": plotting.map_significance(field, abs(make_map()), mean=True),
        "magnitude": plotting.div_magnitude(data, train=["CESM2"], test=["CNRM-CM6-1"]),
        "series": plotting.div_series(data),
        "by gamma": plotting.scores_by_gamma(selection, chosen=5.0),
        "by gamma one": plotting.scores_by_gamma({"training": selection, "test": selection}, width="one"),
        "pareto": plotting.pareto(selection, chosen={"published": selection.best("published")}),
        "grid": plotting.selection_grid(selection, gamma=1.0, chosen=Choice(5.0, 10.0, 30)),
        "null": plotting.null_distribution(detection),
        "nulls": plotting.null_distribution({"γ = 1": detection, "γ = 5": detection, "γ = 100": detection}),
        "detection": plotting.detection_series(detection),
        "perturbation": plotting.perturbation(perturbations),
        "coverage": plotting.coverage(table(("CNRM-ESM2-1", "r1", *row), ("IPSL-CM6A-LR", "r1", *row)), width="one"),
    }


def test_no_label_is_clipped_or_lies_over_another(
    data, selection, detection, perturbations, make_scores, make_map, check_labels
):
    figures = every_figure(data, selection, detection, perturbations, make_scores, make_map)
    for name, figure in figures.items():
        try:
            check_labels(figure)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


def test_the_label_check_sees_clipped_and_overlapping_text(check_labels):
    figure = Figure(figsize=(2, 2))
    figure.text(0.9, 0.5, "too long for here")
    with pytest.raises(AssertionError, match=r"outside the figure: \['too long for here'\]"):
        check_labels(figure)
    figure = Figure(figsize=(2, 2))
    figure.text(0.2, 0.5, "one")
    figure.text(0.25, 0.5, "two")
    with pytest.raises(AssertionError, match=r"texts over one another"):
        check_labels(figure)
