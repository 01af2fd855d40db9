"""A recipe on real files: train on the NCAR PCM ensemble, null from a CMIP6 control run, GISTEMP as observations."""

import json

import pytest

from climanchor.cli import DONE, main

RECIPE = """\
title: Detection with the PCM ensemble
root: {data}/cmip6
datasets:
  train:
    - {{dataset: PCM, files: "{data}/pcm/TREFHT.B06.*.nc", short_name: TREFHT}}
prepare: {{grid: 10, reference: [1951, 1980]}}
gammas: [1, 5]
samples_per_model: null
fingerprint: {{alpha: 1000, rank: 20}}
detection:
  observations: {{path: "{observations}"}}
  control: [{{dataset: ACCESS-ESM1-5}}]
  window: 40
  min_coverage: 0.05
figures: {{formats: [png]}}
"""


@pytest.mark.real
def test_a_recipe_on_real_files_runs_from_files_to_report(real_data, tmp_path):
    """Four members described by hand give a fingerprint, scores, a detection and a page that lists the files."""
    observations = next((real_data / "obs").glob("gistemp*.nc"))
    path = tmp_path / "pcm.yml"
    path.write_text(RECIPE.format(data=real_data, observations=observations))
    output = tmp_path / "out"
    assert main(["run", str(path), "--output", str(output), "--quiet"]) == DONE
    metrics = json.loads((output / "metrics.json").read_text())
    assert metrics["data.PCM.members"] == 4
    assert metrics["data.PCM.first_year"] == 1890
    assert metrics["data.PCM.last_year"] == 1999
    assert 0 < metrics["scores.1.train.r2"] < 1
    assert abs(metrics["scores.5.train.r"]) < abs(metrics["scores.1.train.r"])
    assert metrics["detection.1.p_value"] < 0.05
    page = (output / "index.html").read_text()
    assert "TREFHT.B06" in page
    assert "gistemp" in page.lower()


@pytest.mark.real
def test_data_check_lists_the_real_control_run(real_data, capsys):
    assert main(["data", "check", str(real_data / "cmip6"), "--experiment", "historical,piControl"]) == DONE
    out = capsys.readouterr().out
    assert "ACCESS-ESM1-5" in out
    assert "piControl" in out
