"""The test itself, with fingerprints whose answers are known."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import climanchor as ca
from climanchor.detection import rebase, summary


def test_the_trend_and_its_p_value_are_those_computed_by_hand(toy, rng, control, observations):
    """One model: the trend is scipy's, the p-value Student's t of the trends of the control's segments."""
    one = xr.DataTree.from_dict({"M1": control["M1"].to_dataset()})
    result = ca.detect(toy.Mean(), observations=observations, control=one)
    series = observations.sel(year=slice(1981, 2020)).mean(("lat", "lon"))
    slope = 10 * stats.linregress(np.arange(40), series).slope
    unforced = one["M1"]["field"].mean(("lat", "lon")).values[0].reshape(10, 40)
    null = np.array([10 * stats.linregress(np.arange(40), part).slope for part in unforced])
    np.testing.assert_allclose(result["statistic"], slope)
    np.testing.assert_allclose(result["null"], null)
    r2 = max(((null[1:] * null[:-1]).sum() / (null**2).sum()) ** 2 - 0.1, 0)
    freedom = 10 * (1 - r2) / (1 + r2)
    expected = 2 * stats.t.sf(slope / np.sqrt((null**2).mean()), freedom)
    np.testing.assert_allclose(result["p_value"], expected)
    assert bool(result["detected"])
    assert result.attrs["window"] == "1981-2020"


def test_no_change_is_not_detected_and_change_is(toy, rng, control):
    still = toy.observed(rng, slope=0.0)
    assert not bool(ca.detect(toy.Mean(), observations=still, control=control)["detected"])
    warming = toy.observed(rng, slope=0.02)
    assert bool(ca.detect(toy.Mean(), observations=warming, control=control)["detected"])


def test_only_a_one_sided_test_tells_warming_from_cooling(toy, rng, control):
    cooling = toy.observed(rng, slope=-0.02)
    p = {s: float(ca.detect(toy.Mean(), observations=cooling, control=control, sided=s)["p_value"])
         for s in ("two-sided", "greater", "less")}  # fmt: skip
    assert p["less"] == pytest.approx(p["two-sided"] / 2)
    assert p["greater"] == pytest.approx(1 - p["less"])


def test_detection_is_lost_exactly_at_the_inflation_limit(toy, control, observations):
    """Just below the limit the change is detected, just above it is not."""
    result = ca.detect(toy.Mean(), observations=observations, control=control)
    limit = float(result["inflation_limit"])
    assert limit > 2
    for factor, found in ((0.999 * limit, True), (1.001 * limit, False)):
        again = ca.detect(toy.Mean(), observations=observations, control=control, inflate=factor)
        assert bool(again["detected"]) is found
        assert float(again["inflation_limit"]) == pytest.approx(limit)


def test_an_undetected_change_has_a_limit_below_one(toy, rng):
    """Decadal variability is what hides it: with little of it the change would be seen; without signal, never."""
    slow = toy.control_tree(rng, [0.3], memory=0.95)
    weak = ca.detect(toy.Mean(), observations=toy.observed(rng, slope=0.004, noise=0.001), control=slow)
    assert not bool(weak["detected"])
    assert 0 < float(weak["inflation_limit"]) < 1
    none = ca.detect(toy.Mean(), observations=toy.observed(rng, slope=0.0, noise=1e-6), control=slow)
    assert float(none["inflation_limit"]) == 0


def test_p_values_grow_with_inflation_and_with_the_liveliest_model(toy, control, observations):
    result = ca.detect(toy.Mean(), observations=observations, control=control, null="per_model")
    assert (np.diff(result["p_value_by_inflation"]) > 0).all()
    assert float(result["p_value"]) == pytest.approx(float(result["p_value_by_model"].max()))
    out = ca.detect(toy.Mean(), observations=observations, control=control, null="leave_model_out")
    options = {"observations": observations, "control": control, "null": "leave_model_out"}
    left = [float(ca.detect(toy.Mean(), tested=m, **options)["p_value"]) for m in ("M1", "M2", "M3")]
    assert float(out["p_value"]) == pytest.approx(max(left))


def test_correlation_is_spearmans_with_the_expected_series(toy, control, observations):
    expected = xr.DataArray(np.arange(1970, 2021) ** 2.0, coords={"year": np.arange(1970, 2021)}, dims="year")
    result = ca.detect(
        toy.Mean(), observations=observations, control=control, statistic="correlation", expected=expected
    )
    series = observations.sel(year=slice(1981, 2020)).mean(("lat", "lon"))
    by_hand = stats.spearmanr(series, expected.sel(year=slice(1981, 2020))).statistic
    np.testing.assert_allclose(result["statistic"], by_hand)
    assert float(abs(result["null"]).max()) < 1
    assert bool(result["detected"])


def test_unobserved_cells_are_left_out_of_observations_and_control_alike(toy, rng, observations):
    """Nonsense in cells that are not observed, in the control, does not reach the test."""
    control = toy.control_tree(rng, [0.1])
    hidden = observations["lat"] < -50
    gaps = observations.where(~hidden)
    wild = xr.DataTree.from_dict({"M1": control["M1"].to_dataset() * xr.where(hidden, 100.0, 1.0)})
    wild["M1"]["field"].attrs["units"] = "K"
    calm, wild = (ca.detect(toy.Mean(), observations=gaps, control=c) for c in (control, wild))
    np.testing.assert_allclose(calm["p_value"], wild["p_value"])
    assert calm["observed_cells"].sum() == 60
    assert 0.8 < calm.attrs["observed_area"] < 1


def test_cells_are_tested_each_and_false_discoveries_controlled(toy, rng):
    """Warming north of the equator only: it is found there, and next to nothing in the south."""
    pattern = np.zeros((6, 12))
    pattern[3:] = 1.0
    span = np.arange(1900, 2021)
    field = toy.grid_field(0.03 * np.maximum(span - 1970, 0), pattern).assign_coords(year=span)
    field = (field + 0.3 * rng.normal(size=field.shape)).assign_attrs(units="K")
    control = toy.control_tree(rng, [0.0, 0.0], local=0.3)
    result = ca.detect(toy.Identity(), observations=field, control=control, region="cells")
    assert result["statistic"].dims == ("lat", "lon")
    assert bool(result["detected_fdr"].sel(lat=slice(0, None)).all())
    assert int(result["detected_fdr"].sel(lat=slice(None, 0)).sum()) <= 4
    assert bool((result["p_adjusted"] >= result["p_value"]).all())
    years = result["emergence_year"].sel(lat=slice(0, None))
    assert float(years.median()) == pytest.approx(2005, abs=12)
    assert summary(result)["detected_fraction"] == pytest.approx(float(result["detected_fdr"].mean()))


def test_cells_agree_with_the_average_over_a_cell(toy, rng, observations, control):
    """Testing every cell and testing a region of one cell are the same test."""
    cells = ca.detect(toy.Identity(), observations=observations, control=control, region="cells")
    one = ca.detect(toy.Identity(), observations=observations, control=control, region=(0, 30, 0, 30))
    for name in ("statistic", "p_value", "inflation_limit", "emergence_year", "null_std", "control_std"):
        np.testing.assert_allclose(cells[name].sel(lat=15, lon=15), one[name])


def test_emergence_is_the_year_after_which_the_signal_stays_above_the_noise(toy, rng, control, observations):
    result = ca.detect(toy.Mean(), observations=observations, control=control, emergence=3.0)
    signal = (result["series"] - result["control_mean"]).values
    above = signal > 3 * float(result["control_std"])
    year = int(result["emergence_year"])
    place = year - 1900
    assert above[place:].all()
    assert not above[place - 1]


def test_an_ensemble_of_observations_gives_a_spread(toy, rng, control, observations):
    members = xr.concat([observations + 0.1 * rng.normal() + 0.05 * rng.normal(size=(121, 1, 1)) for _ in range(4)],
                        dim="realization").assign_attrs(units="K")  # fmt: skip
    result = ca.detect(toy.Mean(), observations=members, control=control)
    assert result["statistic_by_realization"].shape == (4,)
    np.testing.assert_allclose(result["statistic"], result["statistic_by_realization"].mean())
    alone = ca.detect(toy.Mean(), observations=members.isel(realization=2), control=control)
    np.testing.assert_allclose(alone["p_value"], result["p_value_by_realization"].isel(realization=2))


def test_several_trees_of_unforced_runs_are_pooled(toy, control, observations):
    parts = [xr.DataTree.from_dict({m: control[m].to_dataset()}) for m in ("M1", "M2", "M3")]
    whole, pieces = (ca.detect(toy.Mean(), observations=observations, control=c) for c in (control, parts))
    np.testing.assert_allclose(whole["p_value"], pieces["p_value"])


def test_caveats_say_how_little_a_result_rests_on(toy, rng, control, observations):
    """Runs that gave no segment, a single model, few segments and gaps are all named; a full test has none."""
    one = toy.control_tree(rng, [0.1], years=200)
    short = xr.DataTree.from_dict({"S": control["M2"].to_dataset().isel(year=slice(30))})
    gaps = observations.where(observations["lat"] > -60)
    words = ca.detect(toy.Mean(), observations=gaps, control=[one, short]).attrs["caveats"]
    assert "the null comes from one model (M1)" in words
    assert "independent segments" in words
    assert "% of the globe is observed" in words
    assert "too short for the window are not used: S r1i1p1f1" in words
    assert ca.detect(toy.Mean(), observations=observations, control=control).attrs["caveats"] == ""


def test_a_result_survives_being_saved(toy, tmp_path, control, observations):
    result = ca.detect(toy.Mean(), observations=observations, control=control, region="cells", method="empirical")
    result.to_netcdf(tmp_path / "detection.nc")
    with xr.open_dataset(tmp_path / "detection.nc") as saved:
        assert summary(saved) == summary(result)
        assert saved.attrs["null"] == "pooled"


def test_rebased_models_have_the_anomalies_and_the_div_of_the_new_period():
    data = ca.simulate.prepared(models=["CESM2"], members=3, years=(1850, 2000), grid=30.0)
    moved = rebase(data, reference=(1951, 1980))["CESM2"]
    np.testing.assert_allclose(moved["field"].sel(year=slice(1951, 1980)).mean("year"), 0, atol=1e-5)
    np.testing.assert_allclose(moved["forced"], moved["field"].mean("member"), atol=1e-6)
    shift = (moved["div"] - data["CESM2"]["div"]).dropna("year")
    np.testing.assert_allclose(shift.std("year"), 0, atol=1e-5)
    assert float(abs(shift).max()) > 1e-4


EXPECTED = xr.DataArray(np.arange(10.0), coords={"year": np.arange(1900, 1910)}, dims="year")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"window": (1700, 1760)}, "do not overlap the window 1700–1760"),
        ({"window": 500}, "lack 379 of the 500 years"),
        ({"level": 1.5}, "level must lie between 0 and 1"),
        ({"inflate": 0.0}, "inflate must be positive"),
        ({"null": "all"}, "null must be one of"),
        ({"sided": "upper"}, "sided must be one of"),
        ({"gap": -1}, "gap must be >= 0"),
        ({"statistic": "mean"}, 'statistic must be "trend" or "correlation"'),
        ({"statistic": "correlation"}, "needs expected="),
        ({"statistic": "correlation", "expected": EXPECTED}, "covers 1900–1909 and lacks 40 years"),
    ],
)
def test_impossible_designs_are_refused(toy, control, observations, options, match):
    with pytest.raises(ValueError, match=match):
        ca.detect(toy.Mean(), observations=observations, control=control, **options)


def test_unusable_controls_are_refused(toy, rng, control, observations):
    short = toy.control_tree(rng, [0.1], years=30)
    with pytest.raises(ValueError, match=r"no control run gives a segment of 40 years \(M1 r1i1p1f1: 30 years\)"):
        ca.detect(toy.Mean(), observations=observations, control=short)
    with pytest.raises(ValueError, match=r"the null has 1 segment\(s\)"):
        ca.detect(toy.Mean(), observations=observations, control=toy.control_tree(rng, [0.1], years=50))
    wrong = xr.DataTree.from_dict({"M1": control["M1"].to_dataset().rename(field="tas")})
    with pytest.raises(ValueError, match="the control of M1 has no variable 'field'"):
        ca.detect(toy.Mean(), observations=observations, control=wrong)
    with pytest.raises(ValueError, match="the control holds no model"):
        ca.detect(toy.Mean(), observations=observations, control=xr.DataTree())
    with pytest.raises(TypeError, match="control must be a DataTree"):
        ca.detect(toy.Mean(), observations=observations, control=[control["M1"].to_dataset()])


def test_unusable_observations_are_refused(toy, control, observations):
    with pytest.raises(ValueError, match="is in 'degF'"):
        ca.detect(toy.Mean(), observations=observations.assign_attrs(units="degF"), control=control)
    with pytest.raises(ValueError, match=r"only 0\.0% of the globe is observed"):
        ca.detect(toy.Mean(), observations=observations * np.nan, control=control)
