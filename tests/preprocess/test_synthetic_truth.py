"""The forced response and DIV of the synthetic archive are recovered, from files to numbers."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import climanchor as ca
from climanchor.kernels.running import running_mean
from climanchor.simulate import write_archive

MEMBERS = 6


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("archive")
    write_archive(root, size="tiny", models=["HadCM3", "CNRM-CM6-1"], members=MEMBERS, seed=3)
    return root


@pytest.fixture(scope="module")
def prepared(archive: Path) -> xr.DataTree:
    return ca.prepare(ca.find_runs(archive, variable="tas", experiment="historical")).compute()


def truth_of(archive: Path, model: str) -> xr.Dataset:
    with xr.open_dataset(archive / "truth" / f"{model}.nc") as data:
        return data.load()


@pytest.fixture(params=["HadCM3", "CNRM-CM6-1"])
def pair(request: pytest.FixtureRequest, archive: Path, prepared: xr.DataTree) -> tuple[xr.Dataset, xr.Dataset]:
    """What was prepared, and the truth on the same grid."""
    truth = truth_of(archive, request.param)
    return prepared[request.param].to_dataset(), ca.regrid(truth[["forced", "lat_bnds", "lon_bnds"]]).merge(
        truth[["div", "internal"]]
    )


def test_years_are_the_whole_ones(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    ours, truth = pair
    assert ours["year"].values.tolist() == truth["year"].values.tolist()
    assert ours.sizes["member"] == MEMBERS


def test_forced_response_is_the_true_one_plus_the_mean_of_internal_variability(
    pair: tuple[xr.Dataset, xr.Dataset],
) -> None:
    """For the global mean the sampling error is known exactly: the ensemble mean of the true internal part."""
    ours, truth = pair
    error = ca.global_mean(ours["forced"]) - ca.global_mean(truth["forced"])
    sampling = truth["internal"].mean("member")
    np.testing.assert_allclose(error, sampling - sampling.sel(year=slice(1850, 1900)).mean(), atol=2e-3)


def test_error_of_the_forced_field_shrinks_with_the_ensemble_as_it_must(
    pair: tuple[xr.Dataset, xr.Dataset],
) -> None:
    """The rms error in the average cell is the members' spread over the square root of their number."""
    ours, truth = pair
    error = np.sqrt(((ours["forced"] - truth["forced"]) ** 2).mean())
    spread = np.sqrt(((ours["field"] - ours["forced"]) ** 2).sum("member").mean() / (MEMBERS - 1))
    assert float(error / (spread / np.sqrt(MEMBERS))) == pytest.approx(1.0, abs=0.1)


def test_div_is_the_true_one_less_its_ensemble_mean(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    ours, truth = pair
    internal = truth["internal"] - truth["internal"].sel(year=slice(1850, 1900)).mean("year")
    expected = running_mean((internal - internal.mean("member")).transpose("member", "year").values, window=10)
    np.testing.assert_allclose(ours["div"], expected, atol=1e-3)
    off = (ours["div"] - truth["div"]).std()
    assert float(off / truth["div"].std()) == pytest.approx(1 / np.sqrt(MEMBERS), rel=0.6)


def test_magnitudes_separate_low_from_high(prepared: xr.DataTree) -> None:
    table = ca.div_magnitude(prepared)
    levels = dict(zip(table.model.values.tolist(), table.level.values.tolist(), strict=True))
    assert levels == {"HadCM3": "low", "CNRM-CM6-1": "high"}
    assert table.published_level.values.tolist() == table.level.values.tolist()
