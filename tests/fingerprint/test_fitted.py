"""The fitted fingerprint: its numbers, its labels, its file."""

import warnings

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression, Ridge

import climanchor as ca
from climanchor.estimators import GammaWithoutAlphaWarning, InertRankWarning, WeakAnchorWarning
from climanchor.fingerprint import gather

TRAIN = ["A1", "B-2", "C3", "D4"]


@pytest.fixture(scope="module")
def fp(data):
    return ca.fit_fingerprint(data, models=TRAIN, gamma=5, alpha=10.0, rank=4, samples_per_model=70)


def test_it_is_the_estimator_on_the_stacked_standardised_samples(data, fp):
    """fit_fingerprint equals Anchor(ReducedRankRidge) fitted by hand on the same samples."""
    evidence = gather(data, models=TRAIN, samples_per_model=70, space="samples")
    X, Y, A = (np.concatenate([getattr(s, k) for s in evidence.samples.values()]) for k in ("X", "Y", "A"))
    sx, sy = X.std(0), Y.std(0)
    by_hand = ca.Anchor(ca.ReducedRankRidge(alpha=10.0, rank=4), gamma=5)
    by_hand.fit((X - X.mean(0)) / sx, (Y - Y.mean(0)) / sy, anchors=A)
    field = data["E5"]["field"]
    expected = by_hand.predict((field.values.reshape(-1, 48) - X.mean(0)) / sx) * sy + Y.mean(0)
    np.testing.assert_allclose(fp.predict(field).values.reshape(-1, 48), expected, atol=1e-9)


def test_prediction_is_labelled_and_lazy(data, fp):
    """Dims and coordinates survive, whatever stands before lat and lon; dask goes in, dask comes out."""
    field = data["E5"]["field"]
    lazy = fp.predict(field.chunk(member=1, year=7, lat=3))
    assert isinstance(lazy.data, da.Array)
    xr.testing.assert_allclose(lazy.compute(), fp.predict(field))
    one = fp.predict(field.isel(member=0, year=5))
    assert one.dims == ("lat", "lon")
    np.testing.assert_allclose(one, fp.predict(field)[0, 5])
    assert one.attrs["units"] == "K"


def test_score_equals_the_definition(data, fp):
    """Maps and means of one model computed from predictions by hand."""
    scores = fp.score(data, models=["E5"])
    ds = data["E5"].to_dataset()
    error = ds["forced"] - fp.predict(ds["field"])
    valid = ds["div"].notnull()
    e = error.where(valid).stack(s=("member", "year")).dropna("s")
    y = ds["forced"].broadcast_like(error).where(valid).stack(s=("member", "year")).dropna("s")
    a = ds["div"].stack(s=("member", "year")).dropna("s")
    r2 = 1 - (e**2).sum("s") / ((y - y.mean("s")) ** 2).sum("s")
    np.testing.assert_allclose(scores["r2"], r2, atol=1e-9)
    np.testing.assert_allclose(scores["residual_correlation"], xr.corr(e, a, "s"), atol=1e-9)
    np.testing.assert_allclose(scores["mse"], (e**2).mean("s"), atol=1e-9)
    weights = np.cos(np.deg2rad(ds["lat"]))
    area = np.diff(np.sin(np.deg2rad(np.arange(-90, 91, 30))))
    np.testing.assert_allclose(scores["r2_area_mean"], np.average(r2.mean("lon"), weights=area), atol=1e-9)
    assert abs(float(scores["r2_area_mean"]) - float(r2.weighted(weights).mean())) < 0.02
    np.testing.assert_allclose(scores["r_abs_mean"], np.abs(scores["residual_correlation"]).mean())


def test_models_are_pooled_with_equal_weight(data, fp):
    """Two models of unequal size: MSE of both is the mean of their MSEs."""
    scores = fp.score(data, models=["D4", "C3"])
    np.testing.assert_allclose(scores["mse"], scores["mse_by_model"].mean("model"), atol=1e-12)
    alone = fp.score(data, models=["C3"])
    np.testing.assert_allclose(scores["r2_by_model"].sel(model="C3"), alone["r2"])


def test_factors_are_maps_of_the_coefficients(data, fp):
    """weights and patterns multiply to the sensitivity of the prediction to the field."""
    field = data["E5"]["field"].isel(member=0, year=3).astype(float)
    nudged = field.copy()
    nudged[2, 3] += 1.0
    response = fp.predict(nudged) - fp.predict(field)
    expected = (fp.patterns * fp.weights.isel(lat=2, lon=3)).sum("mode")
    np.testing.assert_allclose(response, expected, atol=1e-10)
    assert fp.patterns.dims == ("mode", "lat", "lon")
    assert fp.patterns.sizes["mode"] == 4


@pytest.mark.parametrize("space", ["samples", "cells"])
def test_a_file_holds_everything(data, tmp_path, space):
    """Read back, it predicts, restricts and describes itself as before, bit for bit."""
    fp = ca.fit_fingerprint(data, models=TRAIN, gamma=np.inf, alpha=10.0, rank=3, samples_per_model=70, space=space)
    path = tmp_path / "fp.nc"
    fp.to_netcdf(path)
    back = ca.Fingerprint.from_netcdf(path)
    field = data["E5"]["field"]
    np.testing.assert_array_equal(back.predict(field).values, fp.predict(field).values)
    mask = field[0, 0] > field[0, 0].mean()
    np.testing.assert_array_equal(back.restrict(mask).predict(field).values, fp.restrict(mask).predict(field).values)
    assert repr(back) == repr(fp)
    assert back.attrs["sample_seed"] == 0
    with xr.open_dataset(path) as ds:
        assert ds["lat"].attrs["standard_name"] == "latitude"
        assert ds.attrs["models"] == TRAIN


@pytest.mark.parametrize("space", ["samples", "cells"])
def test_restriction_equals_a_fit_on_masked_data(data, space):
    """restrict(mask) is the fingerprint that data with those cells missing would give, to 1e-8."""
    kwargs = {"models": TRAIN, "gamma": 5, "alpha": 10.0, "rank": 3, "samples_per_model": 70, "space": space}
    mask = xr.zeros_like(data["A1"]["field"][0, 0], dtype=bool)
    mask[1:4, 2:] = True
    masked = data.map_over_datasets(lambda ds: ds.assign(field=ds["field"].where(mask)) if ds else ds)
    with pytest.warns(UserWarning, match="30 of 48 cells have missing values, first at"):
        refit = ca.fit_fingerprint(masked, **kwargs)
    restricted = ca.fit_fingerprint(data, **kwargs).restrict(mask)
    field = data["E5"]["field"]
    np.testing.assert_allclose(restricted.predict(field), refit.predict(field), atol=1e-8)
    assert restricted.cells.size == 18
    assert refit.attrs["cells_masked"] == 30


def test_without_evidence_it_predicts_but_cannot_be_restricted(data, fp, tmp_path):
    fp.to_netcdf(tmp_path / "lean.nc", evidence=False)
    lean = ca.Fingerprint.from_netcdf(tmp_path / "lean.nc")
    assert lean.predict(data["E5"]["field"]).notnull().all()
    with pytest.raises(ValueError, match="saved without its training evidence"):
        lean.restrict(lean.mask)


def test_damaged_foreign_and_newer_files_are_refused(data, fp, tmp_path):
    path = tmp_path / "fp.nc"
    fp.to_netcdf(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="cannot be read as netCDF-4: it is damaged"):
        ca.Fingerprint.from_netcdf(path)
    xr.Dataset({"x": 1}).to_netcdf(tmp_path / "other.nc")
    with pytest.raises(ValueError, match="is not a climanchor fingerprint"):
        ca.Fingerprint.from_netcdf(tmp_path / "other.nc")
    xr.Dataset({"x": 1}, attrs={"climanchor_format": 99, "climanchor_version": "9.0"}).to_netcdf(tmp_path / "new.nc")
    with pytest.raises(ValueError, match=r"format 99, written by climanchor 9.0.*upgrade"):
        ca.Fingerprint.from_netcdf(tmp_path / "new.nc")
    with pytest.raises(FileNotFoundError, match="no fingerprint file"):
        ca.Fingerprint.from_netcdf(tmp_path / "none.nc")


def test_flipped_bytes_in_the_numbers_are_noticed(data, fp, tmp_path):
    """Checksums: a file whose arrays were altered is refused, not read."""
    path = tmp_path / "fp.nc"
    fp.to_netcdf(path, evidence=False)
    whole = bytearray(path.read_bytes())
    for i in range(len(whole) // 2, len(whole) // 2 + 64):
        whole[i] ^= 0xFF
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="damaged"):
        ca.Fingerprint.from_netcdf(path)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (lambda: ca.Anchor(PLSRegression(3, scale=False), gamma=5), "Anchor(PLSRegression)"),
        (lambda: ca.Anchor(Ridge(10.0), gamma=5), "Anchor(Ridge)"),
        (lambda: Ridge(10.0), "Ridge"),
        (lambda: ca.Anchor(ca.OPLS(3), gamma=5), "Anchor(OPLS)"),
    ],
)
def test_other_estimators_have_the_same_interface(data, tmp_path, estimator, name):
    """Any regressor with coefficients gives a fingerprint that predicts as it does, and can be saved and scored."""
    fp = ca.fit_fingerprint(data, models=TRAIN, estimator=estimator(), samples_per_model=70)
    assert fp.estimator == name
    evidence = gather(data, models=TRAIN, samples_per_model=70, space="samples")
    X, Y, A = (np.concatenate([getattr(s, k) for s in evidence.samples.values()]) for k in ("X", "Y", "A"))
    direct = estimator()
    fit = {"anchors": (A - A.mean(0)) / A.std(0)} if hasattr(direct, "gamma") else {}
    direct.fit((X - X.mean(0)) / X.std(0), (Y - Y.mean(0)) / Y.std(0), **fit)
    field = data["E5"]["field"]
    expected = direct.predict((field.values.reshape(-1, 48) - X.mean(0)) / X.std(0)) * Y.std(0) + Y.mean(0)
    np.testing.assert_allclose(fp.predict(field).values.reshape(-1, 48), expected, atol=1e-8)
    fp.to_netcdf(tmp_path / "fp.nc")
    assert ca.Fingerprint.from_netcdf(tmp_path / "fp.nc").score(data, models=["E5"])["r2_mean"] < 1


def test_the_family_of_one_method(data):
    """rank=None is A-ridge, alpha=0 A-RRR, both A-MLR; A-MLR at γ = 1 is least squares."""
    kwargs = {"models": TRAIN, "samples_per_model": 70}
    names = [
        ca.fit_fingerprint(data, gamma=1, alpha=a, rank=r, **kwargs).estimator
        for a, r in ((0, None), (1, None), (0, 3), (1, 3))
    ]
    assert names == ["A-MLR", "A-ridge", "A-RRR", "A-RRRR"]
    mlr = ca.fit_fingerprint(data, gamma=1, alpha=0, rank=None, **kwargs)
    ols = ca.fit_fingerprint(data, estimator=LinearRegression(), **kwargs)
    field = data["E5"]["field"]
    np.testing.assert_allclose(mlr.predict(field), ols.predict(field), atol=1e-7)


def test_members_may_have_targets_of_their_own(make):
    """forced with a member dimension (leave-one-out) is accepted by selection, fit and score alike."""
    data = xr.DataTree.from_dict({f"M{i}": make(i, 3, range(1900, 1940), own_forced=True) for i in range(3)})
    for space in ("samples", "cells"):
        fp = ca.fit_fingerprint(data, gamma=5, alpha=10.0, rank=2, samples_per_model=None, space=space)
        assert 0 < float(fp.score(data)["r2_mean"]) < 1
    a, b = (ca.select(data, alphas=[1.0], ranks=[2], samples_per_model=None, space=s) for s in ("samples", "cells"))
    np.testing.assert_allclose(a.scores.r2, b.scores.r2, atol=1e-8)


def test_settings_that_do_nothing_are_said(data, make):
    with pytest.warns(InertRankWarning, match="rank=500 exceeds"):
        ca.fit_fingerprint(data, models=TRAIN, gamma=1, alpha=1.0, rank=500, samples_per_model=70)
    with pytest.warns(GammaWithoutAlphaWarning, match="interpolates"):
        ca.fit_fingerprint(data, models=["A1", "C3"], gamma=5, alpha=0, samples_per_model=20)
    calm = data["A1"].to_dataset()
    calm["div"] = calm["div"] * 0 + 0.1
    for space in ("samples", "cells"):
        for standardise in (True, False):
            kwargs = {"alpha": 1.0, "rank": 2, "standardise": standardise, "space": space}
            with pytest.warns(WeakAnchorWarning, match="anchors are constant"):
                anchored = ca.fit_fingerprint({"A1": calm}, gamma=5, **kwargs)
            plain = ca.fit_fingerprint({"A1": calm}, gamma=1, **kwargs)
            np.testing.assert_array_equal(anchored.factors.coef, plain.factors.coef)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ca.fit_fingerprint(data, models=TRAIN, gamma=5, alpha=1.0, rank=4, samples_per_model=70)


def test_bad_data_are_refused_with_their_place(data, fp, make):
    field = data["E5"]["field"]
    with pytest.raises(ValueError, match=r"on another grid: 6×8 \(lat -74…76"):
        fp.predict(field.assign_coords(lat=field.lat + 1))
    with pytest.raises(ValueError, match="no one-dimensional coordinate lat and lon"):
        fp.predict(field.rename(lat="y", lon="x"))
    with pytest.raises(ValueError, match="units 'mm/day'"):
        fp.predict(field.assign_attrs(units="mm/day"))
    flat = data["A1"].to_dataset()
    flat["field"] = flat["field"].where(flat.lat != flat.lat[2], 3.0)
    with pytest.raises(ValueError, match=r"field has no variance in 8 of 48 training cells, first at .*\(-15, 22.5\)"):
        ca.fit_fingerprint({"A1": flat})
    holed = data["A1"].to_dataset()
    holed["field"] = holed["field"].where(holed.lon != holed.lon[1])
    with pytest.raises(ValueError, match=r"6 of 48 cells have missing values, first at \(lat, lon\) \(-75, 67.5\)"):
        ca.fit_fingerprint({"A1": holed}, missing="raise")
    with pytest.raises(ValueError, match="no usable sample"):
        ca.fit_fingerprint({"A1": data["A1"].to_dataset().assign(div=data["A1"]["div"] * np.nan)})
    with pytest.raises(TypeError, match="one node per climate model"):
        ca.fit_fingerprint(3)
    for kwargs, message in (({"alpha": -1}, "alpha must be finite"), ({"rank": 0}, "rank must be a whole number")):
        with pytest.raises(ValueError, match=message):
            ca.fit_fingerprint(data, models=TRAIN, **kwargs)


def test_a_member_without_some_years_loses_only_those(data):
    """Missing years of one member are no samples; the others stay."""
    ds = data["A1"].to_dataset()
    ds["field"] = ds["field"].where((ds.member != "r1i1p1f1") | (ds.year > 1920))
    for space in ("samples", "cells"):
        e = gather({"A1": ds}, samples_per_model=None, space=space)
        assert int(e.describe()["sample_count"][0]) == 4 * 36 - 19
