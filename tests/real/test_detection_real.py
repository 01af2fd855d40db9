"""Detection on real files: trained on PCM, null from the ACCESS-ESM1-5 control, observations from GISTEMP.

One training model of four members, a control of 80 years and observations decoded from map images: the chain
is tested here, with its gaps and base periods, and no scientific claim is made.
"""

import numpy as np
import pytest

import climanchor as ca
from climanchor import detection

pytestmark = pytest.mark.real
GRID = ca.regular_grid(10.0)
REFERENCE = (1951, 1980)


@pytest.fixture(scope="module")
def chain(real_data):
    """Fingerprint, observations and control, all relative to 1951–1980 (PCM begins in 1890, GISTEMP in 1880)."""
    runs = [
        ca.describe_run(
            model="PCM", member=path.name.split(".")[2], paths=path, variable="tas", name_in_file="TREFHT",
            experiment="historical", frequency="yr", units="K", calendar="noleap",
        )
        for path in sorted((real_data / "pcm").glob("*.nc"))
    ]  # fmt: skip
    data = ca.prepare(runs, grid=GRID, reference=REFERENCE).compute()
    fingerprint = ca.fit_fingerprint(data, gamma=5, alpha=1e3, rank=20, samples_per_model=None)
    observations = detection.load_observations(gistemp(real_data), grid=GRID, reference=REFERENCE)
    found = ca.find_runs(real_data / "cmip6", variable="tas", experiment="piControl", models=["ACCESS-ESM1-5"])
    control = detection.prepare_control(found, grid=GRID, drift="linear")
    return data, fingerprint, observations, control


def gistemp(real_data):
    return next((real_data / "obs").glob("gistemp*.nc"))


def test_the_preindustrial_reference_is_refused_for_gistemp(real_data):
    with pytest.raises(ca.preprocess.ReferencePeriodError, match=r"21 of the 51 years .* rebase the models"):
        detection.load_observations(gistemp(real_data), grid=GRID, reference=(1850, 1900))


def test_observations_have_gaps_and_the_new_base_period(chain):
    _, _, observations, _ = chain
    base = observations.sel(year=slice(*REFERENCE)).mean("year")
    assert float(abs(base).max()) < 1e-6
    covered = observations.notnull().mean(("lat", "lon"))
    assert float(covered.sel(year=1900)) < 0.9
    warming = ca.global_mean(observations.sel(year=slice(2015, 2024))).mean()
    assert 0.7 < float(warming) < 1.2


def test_the_control_is_the_merged_80_years_freed_of_its_drift(chain):
    _, _, _, control = chain
    node = control["ACCESS-ESM1-5"]
    assert node["year"].values[[0, -1]].tolist() == [101, 180]
    assert node.attrs["drift"] == "linear"
    mean = ca.global_mean(node["field"]).values[0]
    assert abs(np.polyfit(np.arange(mean.size), mean, 1)[0]) < 1e-10
    assert 0.05 < mean.std() < 0.2


def test_the_branch_time_of_the_historical_run_is_read(real_data):
    """21,915 days after year 101: the historical member left the control in year 161."""
    historical = ca.find_runs(real_data / "cmip6", variable="tas", experiment="historical")
    assert detection.branch_years(historical) == {"ACCESS-ESM1-5": {"r1i1p1f1": 161}}
    found = ca.find_runs(real_data / "cmip6", variable="tas", experiment="piControl")
    control = detection.prepare_control(found, grid=GRID, branches=detection.branch_years(historical))
    assert control["ACCESS-ESM1-5"]["year"].values[[0, -1]].tolist() == [161, 180]


def test_the_chain_runs_with_gaps_and_gives_a_verdict_with_its_uncertainty(chain):
    """Warming since 1990 is far larger than 20-year control trends, of which there are at most four."""
    _, fingerprint, observations, control = chain
    result = ca.detect(fingerprint, observations=observations, control=control, window=20, sided="greater")
    assert 0 < result.attrs["observed_area"] < 1
    assert result.attrs["segments"] <= 4
    assert 0.05 < float(result["statistic"]) < 0.6
    assert float(result["p_value_low"]) <= float(result["p_value"]) <= float(result["p_value_high"])
    assert result.attrs["window"] == "2005-2024"
    caveats = result.attrs["caveats"]
    assert "trained on one model (PCM)" in caveats
    assert "few members: PCM (4)" in caveats
    assert "the null comes from one model (ACCESS-ESM1-5)" in caveats
    assert "observations: quantised" in caveats
    print(detection.summary(result), dict(result.attrs))


def test_residuals_of_the_ensemble_lengthen_the_null(chain):
    """Four PCM members without their mean are further unforced samples: two models in the null."""
    data, fingerprint, observations, control = chain
    unforced = [control, detection.unforced_residuals(data)]
    result = ca.detect(fingerprint, observations=observations, control=unforced, window=30)
    assert result.attrs["control_models"] == "ACCESS-ESM1-5, PCM"
    assert bool(result["detected"])
    assert float(result["inflation_limit"]) > 1
    print(detection.summary(result))


def test_every_observed_cell_is_tested(chain):
    data, fingerprint, observations, control = chain
    unforced = [control, detection.unforced_residuals(data)]
    result = ca.detect(fingerprint, observations=observations, control=unforced, window=30, region="cells")
    tested = result["p_value"].notnull()
    assert bool((tested == result["observed_cells"]).all())
    assert 0.05 < detection.summary(result)["detected_fraction"] <= 1


def test_a_window_of_the_whole_control_is_refused(chain):
    _, fingerprint, observations, control = chain
    with pytest.raises(ValueError, match="no control run gives a segment of 80 years"):
        ca.detect(fingerprint, observations=observations, control=control, window=80)
