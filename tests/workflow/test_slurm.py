"""Recipes on a real SLURM: as one batch job, and with workers that dask-jobqueue starts.

Skipped where no SLURM answers. One node on one's own machine is enough (Debian: packages slurmctld, slurmd and munge);
with SLURM_CONF naming its configuration, run ``pytest -m slurm tests/workflow/test_slurm.py``.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from climanchor.cli import DONE, main
from climanchor.workflow.library import recipe_folder

SMALL = """\
title: A small study
simulate: {size: tiny, members: 2, years: [1850, 1925]}
datasets:
  train: [CCSM4, HadCM3, CESM2]
  test: [IPSL-CM6A-LR]
prepare: {grid: 30}
gammas: [1, 5]
samples_per_model: null
selection: {alphas: [10, 1000], ranks: [2, 5]}
figures: {formats: [png], only: [r2]}
"""


def _slurm_answers() -> bool:
    if shutil.which("sbatch") is None:
        return False
    return subprocess.run(["sinfo", "-h"], capture_output=True, check=False, timeout=30).returncode == 0


pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.skipif(not _slurm_answers(), reason="no SLURM answers (sbatch, sinfo)"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Path:
    """A folder with the recipe, its result on threads, and the products up to the prepared data."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "small.yml").write_text(SMALL)
    assert main(["run", str(folder / "small.yml"), "--output", str(folder / "threads"), "--quiet"]) == DONE
    return folder


def metrics(output: Path) -> dict[str, float]:
    return json.loads((output / "metrics.json").read_text())


def test_the_whole_recipe_as_one_batch_job(shared):
    """The example script runs the recipe, and gives the very numbers of a run outside SLURM."""
    output = shared / "batch"
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "RECIPE": str(shared / "small.yml"),
        "ROOT": "",
        "OUTPUT": str(output),
    }
    command = ["sbatch", "--wait", "--export=ALL", "--cpus-per-task=1", "--mem=1500M", "--chdir", str(shared),
               str(recipe_folder() / "slurm.sbatch")]  # fmt: skip
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)
    logs = "".join(path.read_text() for path in shared.glob("climanchor-*.log"))
    assert ended.returncode == DONE, logs
    assert metrics(output) == metrics(shared / "threads")
    assert json.loads((output / "run" / "environment.json").read_text())["batch_job"]


def test_workers_started_by_dask_jobqueue(shared, monkeypatch):
    """``--dask slurm`` submits the jobs that the settings describe, and the numbers agree with threads."""
    settings = shared / "settings"
    settings.mkdir()
    (settings / "config.yml").write_text(
        f"slurm: {{cores: 1, memory: 1500MB, walltime: '00:20:00', jobs: 1, interface: lo, python: {sys.executable},"
        f" local_directory: {shared}, wait_seconds: 300}}\n"
    )
    monkeypatch.setenv("CLIMANCHOR_CONFIG", str(settings))
    monkeypatch.chdir(shared)
    output = shared / "workers"
    assert main(["run", str(shared / "small.yml"), "--output", str(output), "--dask", "slurm", "--quiet"]) == DONE
    assert "1 SLURM jobs" in (output / "run" / "log.txt").read_text()
    expected, found = metrics(shared / "threads"), metrics(output)
    assert found.keys() == expected.keys()
    numbers = {k: v for k, v in expected.items() if isinstance(v, float)}
    assert {k: found[k] for k in numbers} == pytest.approx(numbers, rel=1e-9, abs=1e-10)
