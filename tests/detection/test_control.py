"""Control runs: own mean, drift, branch times; and historical residuals as unforced samples."""

import numpy as np
import pytest
import xarray as xr

from climanchor import detection, simulate
from climanchor.archive import describe_run
from climanchor.preprocess import regular_grid


def drifting(degree, *, years=120, members=2):
    rng = np.random.default_rng(5)
    time = np.arange(years) / years
    drift = sum((k + 1.0) * time**k for k in range(degree + 1))
    noise = rng.normal(size=(members, years, 3, 6))
    field = xr.DataArray(
        287 + drift[:, None, None] + noise,
        dims=("member", "year", "lat", "lon"),
        coords={
            "member": [f"r{m}" for m in range(members)],
            "year": np.arange(1, years + 1),
            "lat": [-60.0, 0.0, 60.0],
            "lon": np.arange(30.0, 360.0, 60.0),
        },
        attrs={"units": "K"},
        name="tas",
    )
    return field, noise


@pytest.mark.parametrize(("drift", "degree"), [("none", 0), ("linear", 1), ("quadratic", 2)])
def test_drift_of_each_kind_is_removed_whole_and_nothing_else(drift, degree):
    """What remains is the noise minus its own polynomial: the drift leaves no trace."""
    field, noise = drifting(degree)
    clean = detection.remove_drift(field, drift=drift)
    expected = detection.remove_drift(field.copy(data=noise), drift=drift)
    np.testing.assert_allclose(clean, expected, atol=1e-9)
    np.testing.assert_allclose(clean.mean("year"), 0, atol=1e-10)


def test_missing_years_take_no_part_in_the_drift():
    field, _ = drifting(1, members=1)
    holed = field.where(field["year"] != 50)
    ours = detection.remove_drift(holed).isel(lat=0, lon=0, member=0)
    kept = ours.dropna("year")
    assert kept.sizes["year"] == 119
    slope = np.polyfit(kept["year"], kept.values, 1)
    np.testing.assert_allclose(slope, 0, atol=1e-10)


def test_preparing_a_control_is_lazy_and_says_what_it_did():
    field, _ = drifting(1)
    tree = xr.DataTree.from_dict({"M": field.chunk(year=30).to_dataset()})
    control = detection.prepare_control(tree, grid=regular_grid(30.0), drift="quadratic")
    node = control["M"]
    assert node["field"].chunks is not None
    assert node["field"].dims == ("member", "year", "lat", "lon")
    assert node["field"].shape == (2, 120, 6, 12)
    assert node.attrs["drift"] == "quadratic"
    assert node.attrs["branch"] == "branch times not given"
    np.testing.assert_allclose(node["field"].mean("year"), 0, atol=1e-10)


def test_a_control_is_used_from_the_earliest_branch_on():
    field, _ = drifting(0)
    tree = xr.DataTree.from_dict({"M": field.to_dataset()})
    control = detection.prepare_control(tree, branches={"M": {"r1": 41, "r2": 61, "r3": 5000}})
    assert control["M"]["year"].values[0] == 41
    assert control["M"].attrs["branch"] == "used from branch year 41"
    ignored = detection.prepare_control(tree, branches={"M": {"r1": 5000}})
    assert ignored["M"].sizes["year"] == 120
    assert "5000] lie outside 1-120: ignored" in ignored["M"].attrs["branch"]


def historical_file(path, **attributes):
    time = xr.Variable("time", [15.0], {"units": "days since 1850-01-01", "calendar": "noleap"})
    data = xr.Dataset({"tas": ("time", [287.0])}, coords={"time": time}, attrs=attributes)
    data.to_netcdf(path)
    return path


def test_branch_years_come_from_the_files_that_give_them(tmp_path):
    """Units and calendar of the parent decide the year; files without, or with nonsense, give none."""
    files = {
        "r1": {"branch_time_in_parent": 36500.0, "parent_time_units": "days since 0001-01-01"},
        "r2": {},
        "r3": {"branch_time_in_parent": 0.0, "parent_time_units": "no parent"},
    }
    runs = [
        describe_run(model="M", member=member, paths=historical_file(tmp_path / f"{member}.nc", **attributes))
        for member, attributes in files.items()
    ]
    assert detection.branch_years(runs) == {"M": {"r1": 101}}


@pytest.fixture(scope="module")
def ensemble():
    """White-noise members around a common forced response: the unforced spread is exactly one."""
    rng = np.random.default_rng(7)
    field = xr.DataArray(
        rng.normal(size=(5, 300, 4, 8)) + np.linspace(0, 3, 300)[:, None, None],
        dims=("member", "year", "lat", "lon"),
        coords={"year": np.arange(1700, 2000), "member": list("abcde")},
    )
    return field


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_residuals_have_the_spread_of_unforced_variability(ensemble, leave_one_out):
    """Both kinds of forced response are corrected for the size of the ensemble."""
    from climanchor.preprocess import forced_response

    data = xr.Dataset({"field": ensemble, "forced": forced_response(ensemble, leave_one_out=leave_one_out)})
    residuals = detection.unforced_residuals(xr.DataTree.from_dict({"M": data}))["M"]
    assert float(residuals["field"].std()) == pytest.approx(1.0, abs=0.01)
    assert residuals.attrs["independence"] == pytest.approx(0.8)


def test_a_single_member_has_no_residual(ensemble):
    data = xr.Dataset({"field": ensemble[:1], "forced": ensemble[0]})
    with pytest.raises(ValueError, match="M has one member: its forced response is the member itself"):
        detection.unforced_residuals(xr.DataTree.from_dict({"M": data}))


def test_unknown_models_and_drifts_are_named():
    tree = simulate.prepared(models=["CCSM4"], members=2, years=(1850, 1910), grid=30.0)
    with pytest.raises(ValueError, match="no model CESM9; it has CCSM4"):
        detection.unforced_residuals(tree, models=["CESM9"])
    with pytest.raises(ValueError, match="drift must be one of"):
        detection.prepare_control(tree, drift="cubic")
    with pytest.raises(ValueError, match="a quadratic drift cannot be removed from 3 years"):
        detection.remove_drift(drifting(0, years=3)[0], drift="quadratic")
