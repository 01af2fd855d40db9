"""The synthetic archive on disk: names, axes, attributes, truth, resumption."""

import os
import shutil
from pathlib import Path

import cftime
import netCDF4
import numpy as np
import pytest
import xarray as xr

from climanchor.archive import find_runs, parse_path
from climanchor.preprocess import prepare
from climanchor.simulate import write_archive
from climanchor.simulate.files import new_file
from climanchor.simulate.grids import EARTH_RADIUS
from climanchor.simulate.models import MODELS
from climanchor.simulate.plan import SIZES

CALENDARS = {"CCSM4": "noleap", "HadCM3": "360_day", "CNRM-CM6-1": "standard", "IPSL-CM6A-LR": "standard"}


def open_member(archive, model: str, member: str, experiment: str = "historical") -> xr.Dataset:
    run = next(iter(find_runs(archive.root, models=[model], members=[member], experiment=experiment)))
    coder = xr.coders.CFDatetimeCoder(use_cftime=True)
    parts = [xr.open_dataset(path, decode_times=coder) for path in run.paths]
    return xr.concat(parts, "time", data_vars="minimal", coords="minimal", compat="override", join="override")


def annual_means(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Complete years, and annual means weighted by the length of the months, with plain NumPy."""
    lengths = np.array([(b - a).days for a, b in data.time_bnds.values])
    years = np.array([t.year for t in data.time.values])
    complete = [y for y in np.unique(years) if np.sum(years == y) == 12]
    tas = data.tas.values.astype(float)
    return np.array(complete), np.array(
        [np.average(tas[years == y], axis=0, weights=lengths[years == y]) for y in complete]
    )


def area_mean(field: np.ndarray, lat_bnds: np.ndarray) -> np.ndarray:
    bands = np.diff(np.sin(np.deg2rad(lat_bnds)), axis=1)[:, 0]
    return np.average(field.mean(axis=-1), axis=-1, weights=bands)


def test_every_run_file_parses_back_to_its_model(tiny_archive):
    files = [f for f in tiny_archive.files if f.startswith(("CMIP6/", "cmip5/"))]
    for file in files:
        facets = parse_path(file)
        spec = MODELS[facets.model]
        assert (facets.project, facets.institute, facets.version) == (spec.project, spec.institute, spec.version)
        assert facets.experiment in ("historical", "piControl")
    assert {parse_path(f).model for f in files} == set(MODELS)


def test_a_search_finds_all_runs_and_nothing_else(tiny_archive):
    runs = find_runs(tiny_archive.root)
    assert len(runs) == 7 * SIZES["tiny"].members
    assert not runs.problems
    assert len(find_runs(tiny_archive.root, experiment="piControl")) == 7


@pytest.mark.parametrize("model", CALENDARS)
def test_months_follow_one_another_in_the_models_calendar(tiny_archive, model):
    spec = MODELS[model]
    data = open_member(tiny_archive, model, spec.members[0])
    first, last = data.time.values[[0, -1]]
    assert first.calendar == CALENDARS[model]
    assert (first.year, first.month, last.year, last.month) == (*spec.start, spec.end, 12)
    bounds = data.time_bnds.values
    assert all(bounds[1:, 0] == bounds[:-1, 1])
    assert all(b.day == 1 for b in bounds.ravel())


def test_hadcm3_is_cut_into_december_to_november_files(tiny_archive):
    run = next(iter(find_runs(tiny_archive.root, models=["HadCM3"])))
    stamps = [Path(path).stem.rpartition("_")[2] for path in run.paths]
    assert stamps[:2] == ["185912-188411", "188412-190911"]
    assert stamps[-1] == "198412-200512"


def test_temperatures_are_float32_kelvins_of_a_plausible_climate(tiny_archive):
    for model, spec in MODELS.items():
        data = open_member(tiny_archive, model, spec.members[0])
        assert data.tas.dtype == np.float32
        assert data.tas.attrs["units"] == "K"
        assert float(data.height) == 2.0
        mean = area_mean(data.tas.values.mean(axis=0), data.lat_bnds.values)
        assert 284 < mean < 290
        assert float(data.tas.min()) > 185
        assert float(data.tas.max()) < 325
        siberia = data.tas.sel(lat=62, lon=100, method="nearest").values
        seasons = [np.mean([v for v, t in zip(siberia, data.time.values, strict=True) if t.month == m]) for m in (1, 7)]
        assert seasons[1] - seasons[0] > 20


def test_fixed_fields_cover_the_globe(tiny_archive):
    for model in MODELS:
        (area,) = find_runs(tiny_archive.root, models=[model], variable="areacella")
        (land,) = find_runs(tiny_archive.root, models=[model], variable="sftlf")
        cells = xr.open_dataset(area.paths[0])
        share = xr.open_dataset(land.paths[0]).sftlf
        assert float(cells.areacella.sum()) == pytest.approx(4 * np.pi * EARTH_RADIUS**2, rel=1e-5)
        assert cells.lat_bnds.values[[0, -1], [0, 1]].tolist() == [-90, 90]
        assert float(share.min()) >= 0
        assert float(share.max()) == 100
        assert float(share.weighted(cells.areacella).mean()) == pytest.approx(29, abs=2)


def test_attributes_agree_with_the_names(tiny_archive):
    identifiers = set()
    for file in (f for f in tiny_archive.files if f.startswith("CMIP6/")):
        facets = parse_path(file)
        with netCDF4.Dataset(tiny_archive.root / file) as data:
            assert (data.source_id, data.variant_label, data.table_id) == (facets.model, facets.member, facets.table)
            assert (data.variable_id, data.grid_label) == (facets.variable, facets.grid_label)
            assert "none" in data.comment
            identifiers.add(data.tracking_id)
    assert len(identifiers) == len([f for f in tiny_archive.files if f.startswith("CMIP6/")])
    ccsm4 = open_member(tiny_archive, "CCSM4", "r2i1p1").attrs
    assert (ccsm4["model_id"], ccsm4["realization"], ccsm4["parent_experiment_id"]) == ("CCSM4", 2, "piControl")


@pytest.mark.parametrize("model", ["HadCM3", "CNRM-CM6-1", "CESM2"])
def test_truth_is_what_the_members_hold(tiny_archive, model):
    """A member's global mean minus the true forced response is its true internal variability, to rounding."""
    truth = xr.open_dataset(tiny_archive.truth[model])
    members = truth.member.values
    annual = []
    for member in members:
        years, values = annual_means(open_member(tiny_archive, model, member))
        np.testing.assert_array_equal(years, truth.year)
        base = years <= 1900
        annual.append(values - values[base].mean(axis=0))
    annual = np.array(annual)
    bounds = truth.lat_bnds.values
    internal = area_mean(annual - truth.forced.values, bounds)
    expected = truth.internal.values - truth.internal.values[:, base].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(internal, expected, atol=3e-3)
    decade = np.array([np.convolve(row, np.full(10, 0.1), "valid") for row in internal])
    np.testing.assert_allclose(truth.div.values[:, 5:-4], decade, atol=1e-3)
    assert np.isnan(truth.div.values[:, [0, 4, -1]]).all()


@pytest.mark.parametrize("model", ["CCSM4", "IPSL-CM6A-LR"])
def test_ensemble_mean_estimates_the_forced_response_within_its_sampling_error(tiny_archive, model):
    truth = xr.open_dataset(tiny_archive.truth[model])
    annual = np.array([annual_means(open_member(tiny_archive, model, m))[1] for m in truth.member.values])
    annual -= annual[:, truth.year.values <= 1900].mean(axis=1, keepdims=True)
    error = annual.mean(axis=0) - truth.forced.values
    sampling = annual.var(axis=0, ddof=1) / len(annual)
    assert np.mean(error**2) == pytest.approx(np.mean(sampling), rel=0.2)


def test_preprocessing_recovers_the_true_div(tiny_archive):
    """Found, opened and prepared on native grids, DIV is the truth less its ensemble mean."""
    tree = prepare(find_runs(tiny_archive.root, models=["HadCM3", "IPSL-CM6A-LR"]), grid="native")
    for model, node in tree.children.items():
        true = xr.open_dataset(tiny_archive.truth[model]).div
        recovered = node.div.sel(member=true.member, year=true.year).values
        np.testing.assert_allclose(recovered, true - true.mean("member"), atol=1e-3)


def test_control_runs_are_unforced(tiny_archive):
    data = open_member(tiny_archive, "CESM2", "r1i1p1f1", experiment="piControl")
    years, values = annual_means(data)
    assert years[0] == 1
    series = area_mean(values, data.lat_bnds.values)
    trend = np.polyfit(years, series, 1)[0] * 100
    assert abs(trend) < 0.3
    assert series.std() < 0.25


def test_observations_have_growing_coverage_and_the_truth_behind_them(tiny_archive):
    seen = xr.open_dataset(tiny_archive.observations)
    assert dict(seen.sizes) == {"time": 2100, "latitude": 36, "longitude": 72, "bnds": 2}
    truth = xr.open_dataset(tiny_archive.truth["CESM2"].parent / "observations.nc")
    early, late = (seen.tas_mean.sel(time=year).notnull().mean() for year in ("1850", "1980"))
    assert early < 0.5 * late
    by_month = seen.tas_mean.sel(time=slice("1961", "1990")).values.reshape(30, 12, 36, 72)
    annual = np.roll(by_month, 36, axis=-1).mean(axis=1)  # eastwards from 0°; NaN where a month is missing
    held = ~np.isnan(annual)
    true = truth.true_field.sel(year=slice(1961, 1990)).values
    assert np.corrcoef(annual[held], true[held])[0, 1] > 0.98


def values_of(root: Path, files) -> dict[str, bytes]:
    found = {}
    for file in files:
        with netCDF4.Dataset(root / file) as data:
            data.set_auto_maskandscale(False)
            for name, variable in data.variables.items():
                found[f"{file}:{name}"] = np.asarray(variable[:]).tobytes() if variable.dtype is not str else b""
            found[f"{file}:"] = repr({name: data.getncattr(name) for name in data.ncattrs()}).encode()
    return found


def test_values_do_not_depend_on_the_number_of_workers(tmp_path):
    request = {"size": "tiny", "models": ["HadCM3", "CNRM-CM6-1"], "members": 1, "seed": 3, "years": (1859, 1900)}
    one = write_archive(tmp_path / "one", workers=1, **request)
    reports = []
    two = write_archive(tmp_path / "two", workers=2, progress=lambda *args: reports.append(args), **request)
    assert one.files == two.files
    assert values_of(one.root, one.files) == values_of(two.root, two.files)
    assert [done for done, *_ in reports] == list(range(1, len(reports) + 1))
    assert {total for _, total, _ in reports} == {len(reports)}


@pytest.fixture
def small(tmp_path):
    """A call that writes two members of one model for some years."""

    def write(**changes):
        request = {"size": "tiny", "models": ["HadCM3"], "members": 2, "years": (1859, 1890), **changes}
        return write_archive(tmp_path / "small", **request)

    return write


def test_a_partly_written_archive_is_completed_and_nothing_is_written_twice(small):
    whole = small()
    before = values_of(whole.root, whole.files)
    gone, cut = (whole.root / f for f in whole.files if "r2i1p1_" in f)
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    stamps = {f: (whole.root / f).stat().st_mtime_ns for f in whole.files if (whole.root / f) not in (gone, cut)}
    again = small(progress=True)
    assert (again.written, again.reused) == (2, len(whole.files) - 2)
    assert values_of(again.root, again.files) == before
    assert stamps == {f: (whole.root / f).stat().st_mtime_ns for f in stamps}


def test_members_may_be_added_to_an_archive(small):
    one = small(members=1)
    two = small(members=2)
    new = set(two.files) - set(one.files)
    assert all("r2i1p1" in file for file in new)
    assert two.written == len(new) + 1  # and the truth, which lists the members
    assert list(xr.open_dataset(two.truth["HadCM3"]).member.values) == ["r1i1p1", "r2i1p1"]


def test_other_parameters_are_refused_unless_told_to_overwrite(small):
    first = small()
    (first.root / "mine.txt").write_text("not of the archive")
    with pytest.raises(ValueError, match=r"other parameters .*seed 0.*seed 1.*overwrite=True"):
        small(seed=1)
    second = small(seed=1, years=(1859, 1880), overwrite=True)
    held = {os.path.relpath(p, first.root) for p in first.root.rglob("*.nc")}
    assert held == set(second.files)
    assert (first.root / "mine.txt").exists()


def test_a_years_values_do_not_depend_on_the_years_kept(small, tiny_archive):
    cut = open_member(small(), "HadCM3", "r1i1p1")
    whole = open_member(tiny_archive, "HadCM3", "r1i1p1").isel(time=slice(cut.sizes["time"]))
    np.testing.assert_array_equal(cut.tas, whole.tas)
    assert cut.time.values[-1] == cftime.Datetime360Day(1890, 12, 16)


def test_a_file_that_fails_leaves_nothing_behind(tmp_path):
    with pytest.raises(ZeroDivisionError, match="division"), new_file(tmp_path / "x.nc", {"title": "x"}):
        1 / 0  # noqa: B018 - the failure is the point
    assert list(tmp_path.iterdir()) == []


def test_a_failing_worker_is_reported_with_its_file(small):
    root = small(members=1).root
    control = next(root.rglob("*piControl*.nc"))
    control.unlink()
    truth = root / "truth" / "HadCM3.nc"
    truth.unlink()
    shutil.rmtree(control.parent)
    control.parent.write_text("a file where a folder must be")
    with pytest.raises(RuntimeError, match=r"piControl.*Error"):
        small(members=1, workers=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": "huge"}, "unknown size 'huge'"),
        ({"models": ["CESM9"]}, "unknown models"),
        ({"members": 99}, "HadCM3 has 1 to 10 members, not 99"),
        ({"years": (2010, 2014)}, "HadCM3 has no month in the years"),
        ({"seed": -1}, "seed must not be negative"),
        ({"workers": 0}, "workers must be at least 1"),
    ],
)
def test_wrong_arguments_are_named(small, wrong, message):
    with pytest.raises(ValueError, match=message):
        small(**wrong)


def test_files_pass_an_independent_check_of_the_conventions(tiny_archive, tmp_path):
    """The CF checker finds no error in runs, fixed fields and observations."""
    checker = pytest.importorskip("compliance_checker.runner", reason="needs compliance-checker")
    checker.CheckSuite.load_all_available_checkers()
    files = [tiny_archive.observations]
    files += [tiny_archive.root / f for f in tiny_archive.files if "CNRM-CM6-1_historical_r1i1p1f2" in f]
    report = tmp_path / "report.txt"
    passed, errors = checker.ComplianceChecker.run_checker(
        [str(f) for f in files], ["cf:1.7"], 0, "normal", output_filename=str(report)
    )
    assert len(files) == 4
    assert not errors
    assert passed, report.read_text()
