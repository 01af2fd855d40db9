"""A recipe small enough to run many times: three synthetic models, two members, 76 years, 72 cells."""

from pathlib import Path

import pytest

SMALL = """\
title: A small study
simulate: {size: tiny, members: 2, years: [1850, 1925]}
datasets:
  train: [CCSM4, HadCM3, CESM2]
  test: [IPSL-CM6A-LR]
prepare: {grid: 30}
gammas: [1, 5]
samples_per_model: 40
selection: {alphas: [10, 1000], ranks: [2, 5]}
detection:
  observations: {simulated: true}
  reference: [1881, 1910]
  window: 20
figures: {formats: [png], only: [r2]}
"""


@pytest.fixture
def small_recipe(tmp_path: Path) -> Path:
    """The small recipe as a file."""
    path = tmp_path / "small.yml"
    path.write_text(SMALL)
    return path
