"""The scorecard and the comparison of nulls as steps of a plan: what they leave out, and what they say then."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import climanchor as ca
from climanchor.detection import Design, over_confidence, prepare_control, scorecard
from climanchor.workflow import netcdf, salvage
from climanchor.workflow.assessment import over_confidence_step, scorecard_step
from climanchor.workflow.detection_page import equation, probability
from climanchor.workflow.page import Table, as_text
from climanchor.workflow.sections import DetectionSettings
from climanchor.workflow.store import Step, Store

TRAIN, TEST = ["CCSM4", "CESM2"], ["IPSL-CM6A-LR"]


@pytest.fixture(scope="module")
def data() -> xr.DataTree:
    return ca.simulate.prepared(models=[*TRAIN, *TEST], members=3, grid=30.0).load()


@pytest.fixture(scope="module")
def fingerprint(data):
    return ca.fit_fingerprint(data, models=TRAIN, gamma=5, alpha=100, rank=5, samples_per_model=100)


def file_steps(tree: xr.DataTree, kind: str) -> dict[str, Step]:
    def writing(model: str):
        return lambda folder, inputs, scratch: netcdf.write(tree[model].to_dataset(), folder / f"{model}.nc")

    return {f"{kind}:{model}": Step(f"{kind}:{model}", writing(model)) for model in tree.children}


def fitted(fingerprint) -> dict[str, Step]:
    return {"5": Step("fit", lambda folder, inputs, scratch: fingerprint.to_netcdf(folder / "fingerprint.nc"))}


def made(step: Step, folder: Path):
    store = Store(folder)
    return store.make(step, {name: store.make(needed, {}) for name, needed in step.inputs.items()})


def test_the_scorecard_is_that_of_the_library(data, fingerprint, tmp_path):
    product = made(scorecard_step(TRAIN, TEST, file_steps(data, "prepared"), fitted(fingerprint)), tmp_path)
    table = netcdf.read(product.file("scorecard.nc"))
    expected = scorecard({"gamma-5": fingerprint}, data, models=TEST, training=TRAIN)
    np.testing.assert_allclose(table["trend_skill"], expected["trend_skill"], rtol=1e-6)
    assert table.attrs["trend_years"] == "1980-2005"
    assert table.attrs["left_out"] == ""


def test_members_with_gaps_are_not_scored_and_named(data, fingerprint, tmp_path):
    gappy = data.copy(deep=True)
    gappy["IPSL-CM6A-LR"]["field"].loc[{"year": 1990, "member": gappy["IPSL-CM6A-LR"]["member"][0]}] = np.nan
    product = made(scorecard_step(TRAIN, TEST, file_steps(gappy, "prepared"), fitted(fingerprint)), tmp_path)
    table = netcdf.read(product.file("scorecard.nc"))
    assert table.attrs["left_out"] == f"IPSL-CM6A-LR {data['IPSL-CM6A-LR']['member'].values[0]}"
    assert table.sizes["case"] == 2


def test_data_that_stop_early_are_scored_on_their_last_years(data, fingerprint, tmp_path):
    early = data.map_over_datasets(lambda node: node.sel(year=slice(1850, 1940)) if node.sizes else node)
    product = made(scorecard_step(TRAIN, TEST, file_steps(early, "prepared"), fitted(fingerprint)), tmp_path)
    table = netcdf.read(product.file("scorecard.nc"))
    assert (table.attrs["years"], table.attrs["trend_years"]) == ("1868-1940", "1898-1940")


def test_a_scorecard_that_cannot_be_says_why(data, fingerprint, tmp_path):
    short = data.map_over_datasets(lambda node: node.sel(year=slice(1850, 1860)) if node.sizes else node)
    product = made(scorecard_step(TRAIN, TEST, file_steps(short, "prepared"), fitted(fingerprint)), tmp_path)
    assert salvage.is_set_aside(product)
    assert "the models share 11 years" in salvage.reason(product)


@pytest.mark.parametrize(("years", "usable"), [(200, True), (30, False)])
def test_nulls_are_compared_with_the_recipe_s_level_or_it_is_said_why_not(fingerprint, tmp_path, years, usable):
    control = prepare_control(ca.simulate.control(models=[*TRAIN, *TEST], years=years, grid=30.0))
    settings = DetectionSettings.model_validate({"observations": {"simulated": True}, "level": 0.2, "window": 40})
    step = over_confidence_step(settings, TRAIN, TEST, file_steps(control, "control"), fitted(fingerprint))
    product = made(step, tmp_path)
    if not usable:
        assert "no control run gives a segment of 40 years" in salvage.reason(product)
        return
    table = netcdf.read(product.file("over_confidence.nc"))
    calm, lively = (xr.DataTree.from_dict({m: control[m].to_dataset() for m in some}) for some in (TRAIN, TEST))
    expected = over_confidence({"5": fingerprint}, calm=calm, lively=lively, design=Design(level=0.2))
    np.testing.assert_allclose(table["size"], expected["size"])
    assert (table.attrs["calm"], table.attrs["lively"]) == ("CCSM4, CESM2", "IPSL-CM6A-LR")


def test_tiny_p_values_are_bounds_for_readers():
    assert [probability(p) for p in (1.9e-16, 0.001, 0.3, None)] == ["< 0.001", 0.001, 0.3, None]
    assert [equation(p) for p in (0.0, 0.0321)] == ["p < 0.001", "p = 0.032"]
    assert as_text(Table(["p-value"], [["< 0.001"], [0.25]])).splitlines()[1:] == ["< 0.001", "  0.250"]
