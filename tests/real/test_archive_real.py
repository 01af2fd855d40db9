"""Real CMIP files are found, and open or are set aside for the right reason."""

from pathlib import Path

import netCDF4
import numpy as np
import pytest

from climanchor.archive import (
    coverage,
    coverage_years,
    describe_run,
    find_runs,
    open_runs,
    parse_path,
    problems,
)

pytestmark = pytest.mark.real


def files(real_data: Path) -> list[Path]:
    return sorted(path for folder in ("esgf", "cmip6") for path in (real_data / folder).rglob("*.nc"))


def test_every_cmip_file_belongs_to_a_run(real_data: Path) -> None:
    paths = files(real_data)
    variables = {facets.variable for path in paths if (facets := parse_path(path))}
    roots = [real_data / "esgf", real_data / "cmip6"]
    runs = [run for v in sorted(variables) for run in find_runs(roots, variable=v, experiment="*")]
    assert {path for run in runs for path in run.paths} == set(paths)
    assert all(run.version and run.institute for run in runs)


def test_every_run_opens_and_equals_what_the_library_reads(real_data: Path) -> None:
    roots = [real_data / "esgf", real_data / "cmip6"]
    for variable, experiment in (
        ("tas", "historical"), ("tas", "piControl"), ("tos", "historical"), ("tos", "ssp245"), ("sftlf", "historical"),
        ("areacella", "historical"),
    ):  # fmt: skip
        runs = find_runs(roots, variable=variable, experiment=experiment)
        tree = open_runs(runs, strict=True)
        assert {run.model for run in runs} == set(tree.children)
        for run in runs:
            node = tree[run.model]
            opened = node[variable].sel(member=run.member).values
            assert np.isfinite(opened).any()
            with netCDF4.Dataset(run.paths[0]) as file:
                first = np.ma.filled(file.variables[variable][:].astype("f8"), np.nan)
            kelvin = 273.15 if variable == "tos" else 0.0
            field = opened[0] if "time" in node.dims else opened
            expected = first[0] if "time" in node.dims else first
            np.testing.assert_allclose(np.nansum(field), np.nansum(expected + kelvin), rtol=1e-5)


def test_six_hadgem2_files_are_one_run_with_the_right_years(real_data: Path) -> None:
    (run,) = find_runs(real_data / "esgf", models="HadGEM2-ES")
    assert len(run.paths) == 6
    row = coverage([run]).iloc[0]
    assert (row["first"], row["last"], row.missing, row.duplicate) == ("1859-12", "2005-11", 0, 0)
    assert row.calendar == "360_day"
    years = coverage_years([run])
    assert (years.columns[0], years.columns[-1]) == (1860, 2004)
    assert years.to_numpy().all()
    assert open_runs([run], strict=True)["HadGEM2-ES"].sizes["time"] == 1752


def test_sixteen_ec_earth_files_have_bounds_under_the_usual_name(real_data: Path) -> None:
    (run,) = find_runs(real_data / "esgf", models="EC-EARTH")
    node = open_runs([run], strict=True)["EC-EARTH"]
    assert len(run.paths) == 16
    assert node.sizes["time"] == 1919
    assert node.lat_bnds.dims == ("lat", "bnds")
    assert (node.time.values[-1].year, node.time.values[-1].month) == (2009, 11)


def test_overlapping_control_files_are_one_series(real_data: Path) -> None:
    (run,) = find_runs(real_data / "cmip6", experiment="piControl")
    assert len(run.paths) == 2
    tree = open_runs([run], strict=True)
    node = tree["ACCESS-ESM1-5"]
    assert [(d.year, d.month) for d in node.time.values] == [(101 + m // 12, m % 12 + 1) for m in range(960)]
    assert "300 step(s) held twice with identical values" in problems(tree).reason[0]
    with netCDF4.Dataset(run.paths[1]) as file:
        np.testing.assert_array_equal(node.tas.values[0], np.ma.filled(file.variables["tas"][:], np.nan))


def test_unstructured_and_tripolar_grids_keep_their_corners(real_data: Path) -> None:
    icon = open_runs(find_runs(real_data / "esgf", models="ICON-ESM-LR"), strict=True)["ICON-ESM-LR"]
    assert icon.tas.dims == ("member", "time", "cell")
    assert icon.lat_bnds.shape == (20480, 3)
    cnrm = open_runs(find_runs(real_data / "esgf", variable="tos", experiment="ssp245"), strict=True)["CNRM-CM6-1"]
    assert cnrm.lon_bnds.dims == ("y", "x", "vertices")
    assert 270 < float(cnrm.tos.mean()) < 310


def test_the_pcm_ensemble_opens_when_described_by_hand(real_data: Path) -> None:
    paths = sorted((real_data / "pcm").glob("TREFHT.*.nc"))
    assert find_runs(real_data / "pcm") == []
    runs = [
        describe_run(model="PCM", member=path.name[7:13], paths=path, name_in_file="TREFHT", frequency="yr")
        for path in paths
    ]
    tree = open_runs(runs, strict=True)
    node = tree["PCM"]
    assert dict(node.sizes) == {"member": 4, "time": 110, "lat": 64, "lon": 128}
    assert [date.year for date in node.time.values] == list(range(1890, 2000))
    assert set(problems(tree).reason) == {"no calendar attribute: noleap assumed"}
    assert 270 < float(node.tas.mean()) < 290


def test_real_files_cut_short_are_set_aside(real_data: Path, tmp_path: Path) -> None:
    for path in files(real_data):
        cut = tmp_path / path.name
        size = path.stat().st_size
        # EC-EARTH's classic files hold spare bytes behind their data, so a tenth is cut.
        cut.write_bytes(path.read_bytes()[: int(size * 0.9)])
        facets = parse_path(path)
        assert facets is not None
        table = coverage([describe_run(model="M", member="1", paths=cut, variable=facets.variable)])
        assert not table.usable[0], path.name
        assert "truncated" in table.problems[0]
