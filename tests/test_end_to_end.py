"""The main job from recipe to report, on a small synthetic archive: results, resumption, damage, and two at once."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import xarray as xr

from climanchor.cli import DONE, IN_USE, NO_DATA, main
from climanchor.workflow.lock import FolderLock
from climanchor.workflow.page import number

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


@pytest.fixture(scope="module")
def recipe(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "small.yml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="module")
def finished(recipe, tmp_path_factory) -> Path:
    """The output folder of an uninterrupted run."""
    output = tmp_path_factory.mktemp("finished")
    assert main(["run", str(recipe), "--output", str(output), "--quiet"]) == DONE
    return output


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    """A copy of the finished folder that a test may spoil."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def results(output: Path) -> dict[str, bytes]:
    """Every number of a run: its metrics and the bytes of its netCDF files."""
    files = [output / "metrics.json", *sorted((output / "data").rglob("*.nc"))]
    return {str(path.relative_to(output)): path.read_bytes() for path in files}


def test_the_output_folder_holds_what_was_promised(finished):
    for name in ("index.html", "metrics.json", "figures/r2.png", "data/selection.nc", "data/fingerprint_gamma-5.nc",
                 "data/prepared/HadCM3.nc", "data/scores_gamma-1_test.nc", "data/scorecard.nc",
                 "data/over_confidence.nc", "data/detection_gamma-5.nc",
                 "run/log.txt", "run/recipe.yml", "run/provenance.json", "run/environment.json"):  # fmt: skip
        assert (finished / name).is_file(), name
    assert not (finished / "run" / "lock").exists()


def test_metrics_are_flat_and_complete(finished):
    metrics = json.loads((finished / "metrics.json").read_text())
    assert metrics["format"] == 1
    assert not any(isinstance(value, dict) for value in metrics.values())
    for gamma in ("1", "5"):
        for role in ("train", "validation", "test"):
            for score in ("r2", "r2_area", "r", "r_abs"):
                assert -1 <= metrics[f"scores.{gamma}.{role}.{score}"] <= 1
        for name in ("statistic", "p_value", "detected", "size", "power", "inflation_limit"):
            assert f"detection.{gamma}.{name}" in metrics
        for name in ("size_calm", "size_matching"):
            assert 0 <= metrics[f"detection.{gamma}.{name}"] <= 1
    for estimate in ("gamma-1", "gamma-5", "RAW", "RegGMST", "10-year_low-pass", "4th-order_polynomial",
                     "training-ensemble_mean"):  # fmt: skip
        assert metrics[f"scorecard.{estimate}.spatiotemporal_skill"] <= 1
        assert metrics[f"scorecard.{estimate}.trend_skill"] <= 1
        for kind in ("trend", "spatiotemporal"):
            assert -1 <= metrics[f"scorecard.{estimate}.{kind}_correlation"] <= 1
    assert metrics["selection.alpha"] in (10, 1000)
    assert metrics["selection.rank"] in (2, 5)
    assert metrics["selection.splits"] == 3
    assert metrics["selection.seed"] == 0
    assert metrics["selection.target_rank"] > 5
    assert 0 < metrics["div_magnitude.IPSL-CM6A-LR"] < 0.5


def test_the_numbers_of_the_metrics_are_in_the_netcdf_files(finished):
    metrics = json.loads((finished / "metrics.json").read_text())
    with xr.open_dataset(finished / "data" / "scores_gamma-5_test.nc") as scores:
        assert float(scores["r2_mean"]) == metrics["scores.5.test.r2"]
        assert float(scores["r2"].mean()) == pytest.approx(metrics["scores.5.test.r2"])
    with xr.open_dataset(finished / "data" / "selection.nc") as selection:
        chosen = {"alpha": metrics["selection.alpha"], "rank": metrics["selection.rank"]}
        validation = selection["r2"].sel(gamma=1, **chosen).mean("split")
        assert float(validation) == pytest.approx(metrics["scores.1.validation.r2"])
        assert float(validation) == pytest.approx(float(selection["r2"].sel(gamma=1).mean("split").max()))
    with xr.open_dataset(finished / "data" / "detection_gamma-5.nc") as detection:
        assert float(detection["p_value"]) == metrics["detection.5.p_value"]
    with xr.open_dataset(finished / "data" / "scorecard.nc") as card:
        skill = metrics["scorecard.training-ensemble_mean.trend_skill"]
        assert float(card["trend_skill"].sel(estimate="training-ensemble mean")) == skill
    with xr.open_dataset(finished / "data" / "over_confidence.nc") as sizes:
        assert float(sizes["size"].sel(fingerprint="5", null="calm")) == metrics["detection.5.size_calm"]


def test_the_page_needs_nothing_but_itself(finished):
    page = (finished / "index.html").read_text()
    for word in ('src="http', 'href="http', "<script", "url(", "@import"):
        assert word not in page
    assert page.count("data:image/png;base64,") == 1
    for section in ("asked", "data", "choices", "scores", "skill", "detection", "citing", "provenance", "recipe"):
        assert f'<section id="{section}">' in page


def test_the_page_shows_skill_and_over_confidence(finished):
    """Both tables are there, with the numbers of their files."""
    page = (finished / "index.html").read_text()
    metrics = json.loads((finished / "metrics.json").read_text())
    skill = page[page.index('<section id="skill">') : page.index('<section id="detection">')]
    for name in ("γ = 5", "RAW", "training-ensemble mean"):
        assert f"<td>{name}</td>" in skill
    assert number(metrics["scorecard.RAW.trend_correlation"]) in skill
    detection = page[page.index('<section id="detection">') :]
    table = detection[detection.index("Over-confidence: how often") :]
    assert number(metrics["detection.5.size_calm"]) in table[: table.index("</table>")]


def test_provenance_names_every_input_file_and_product(finished):
    origin = json.loads((finished / "run" / "provenance.json").read_text())
    assert len(origin["inputs"]) == len({entry["path"] for entry in origin["inputs"]}) > 10
    assert all(entry["bytes"] > 0 for entry in origin["inputs"])
    assert any(entry["tracking_id"] for entry in origin["inputs"])
    assert {"selection by leaving models out", "fingerprint at γ = 5"} <= {step["step"] for step in origin["steps"]}


def test_the_filled_recipe_gives_the_same_run(finished, tmp_path, copy):
    """Running the saved recipe in the same folder finds every product."""
    saved = tmp_path / "again.yml"
    shutil.copyfile(finished / "run" / "recipe.yml", saved)
    before = products(copy)
    assert main(["run", str(saved), "--output", str(copy), "--quiet"]) == DONE
    assert products(copy) == before


def products(output: Path) -> dict[str, int]:
    """Every product of a folder and when it was made."""
    manifests = (output / "run" / "store").glob("*/manifest.json")
    return {path.parent.name: path.stat().st_mtime_ns for path in manifests}


def test_a_second_run_makes_nothing_and_changes_nothing(recipe, copy):
    made, numbers = products(copy), results(copy)
    assert main(["run", str(recipe), "--output", str(copy), "--quiet"]) == DONE
    assert products(copy) == made
    assert results(copy) == numbers


def test_an_edited_rank_redoes_what_depends_on_it_and_nothing_else(recipe, copy, tmp_path):
    edited = tmp_path / "edited.yml"
    edited.write_text(SMALL.replace("ranks: [2, 5]", "ranks: [2, 5, 7]"))
    before = products(copy)
    assert main(["run", str(edited), "--output", str(copy), "--quiet"]) == DONE
    new = {name.rsplit("-", 1)[0] for name in set(products(copy)) - set(before)}
    assert "selection" in new
    assert "fingerprint_5" in new
    assert not any(name.startswith(("archive", "prepared", "control", "coverage", "observations")) for name in new)


def test_a_damaged_product_is_rebuilt_with_the_same_bytes(recipe, copy):
    numbers = results(copy)
    damaged = next((copy / "run" / "store").glob("prepared_CESM2-*")) / "CESM2.nc"
    truncated = next((copy / "run" / "store").glob("selection-*")) / "selection.nc"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged.write_bytes(content)
    truncated.write_bytes(truncated.read_bytes()[:-100])
    assert main(["run", str(recipe), "--output", str(copy), "--quiet"]) == DONE
    assert results(copy) == numbers


def test_the_same_recipe_elsewhere_gives_the_same_bytes(recipe, finished, tmp_path):
    assert main(["run", str(recipe), "--output", str(tmp_path / "other"), "--quiet"]) == DONE
    assert results(tmp_path / "other") == results(finished)


def test_a_bad_file_is_set_aside_and_the_rest_goes_on(recipe, copy, tmp_path):
    """On an archive with one truncated file and one model without data the run ends, and says what it left out."""
    archive = next((copy / "run" / "store").glob("archive-*")) / "archive"
    root = tmp_path / "cmip"
    shutil.copytree(archive, root)
    victim = sorted(root.rglob("tas_Amon_CESM2_historical_*.nc"))[0]
    victim.write_bytes(victim.read_bytes()[:1000])
    text = SMALL.replace("simulate: {size: tiny, members: 2, years: [1850, 1925]}", f"root: {root}")
    text = text[: text.index("detection:")] + "figures: {formats: [png], only: [r2]}\n"
    path = tmp_path / "real.yml"
    path.write_text(text.replace("CESM2]", "CESM2, NorESM9]"))
    assert main(["run", str(path), "--output", str(tmp_path / "out"), "--quiet"]) == DONE
    page = (tmp_path / "out" / "index.html").read_text()
    assert victim.name in page
    assert "NorESM9 was set aside: no run found" in page


def damage_inside(path: Path) -> None:
    """Rewrite a file compressed, one field a piece, and spoil pieces in its middle: only reading these shows it."""
    with xr.open_dataset(path, decode_times=False) as dataset:
        whole = dataset.load()
    whole["tas"].encoding = {"zlib": True, "chunksizes": (1, *whole["tas"].shape[1:])}
    whole.to_netcdf(path)
    raw = bytearray(path.read_bytes())
    starts = [i for i in range(len(raw) - 1) if raw[i : i + 2] == b"\x78\x5e"]
    for start in starts[len(starts) // 3 : len(starts) // 3 + 10]:
        raw[start : start + 40] = bytes(40)
    path.write_bytes(raw)


def test_files_damaged_inside_are_left_out_when_their_values_fail(copy, tmp_path):
    """One model loses too much and is set aside; another goes on without one file; a control run is lost."""
    root = tmp_path / "cmip"
    shutil.copytree(next((copy / "run" / "store").glob("archive-*")) / "archive", root)
    lost = sorted(root.rglob("tas_Amon_HadCM3_historical_*.nc"))
    hurt = sorted(root.rglob("tas_Amon_CESM2_historical_r1*.nc"))[1:]
    control = sorted(root.rglob("tas_Amon_CCSM4_piControl_*.nc"))
    for path in (*lost, *hurt, *control):
        damage_inside(path)
    observations = next((root / "observations").glob("*.nc"))
    text = SMALL.replace("simulate: {size: tiny, members: 2, years: [1850, 1925]}", f"root: {root}")
    text = text.replace("{simulated: true}", f"{{path: {observations}, short_name: tas_mean}}")
    (tmp_path / "real.yml").write_text(text)
    out = tmp_path / "out"
    assert main(["run", str(tmp_path / "real.yml"), "--output", str(out), "--quiet"]) == DONE
    assert not (out / "data" / "prepared" / "HadCM3.nc").exists()
    with xr.open_dataset(out / "data" / "prepared" / "CESM2.nc") as prepared:
        first, other = (prepared["field"].isel(member=i).dropna("year", how="all")["year"].values for i in (0, 1))
        assert (first[0], first[-1], other[-1]) == (1850, 1899, 1925)
    page = (out / "index.html").read_text()
    table = page[page.index("Set aside, assumed or noted") :]
    table = table[: table.index("</table>")]
    for path in (*hurt, *control):
        assert f"{path}: steps " in table, path
    assert sum(f"{path}: steps " in table for path in lost) > 0
    assert "HadCM3 was set aside" in page
    assert "control runs" in table


def test_no_data_is_an_error_of_its_own(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    path = tmp_path / "none.yml"
    path.write_text("title: T\nroot: empty\ndatasets: {train: [CESM2, CCSM4]}\nselection: {}\n")
    assert main(["run", str(path), "--output", str(tmp_path / "out"), "--quiet"]) == NO_DATA
    assert "no tas of historical of any model of datasets.train (CESM2, CCSM4)" in capsys.readouterr().err


def test_a_dry_run_writes_nothing_and_says_what_is_there(recipe, finished, copy, tmp_path, capsys):
    assert main(["run", str(recipe), "--output", str(tmp_path / "new"), "--dry-run"]) == DONE
    assert "synthetic archive (tiny) to do" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()
    shutil.rmtree(next((copy / "run" / "store").glob("selection-*")))
    assert main(["run", str(recipe), "--output", str(copy), "--dry-run"]) == DONE
    out = capsys.readouterr().out
    assert "selection by leaving models out" in out
    states = {line.rsplit("  ", 1)[0].strip(): line for line in out.splitlines() if line.endswith(("to do", "reused"))}
    assert states["selection by leaving models out"].endswith("to do")
    assert any(name.startswith("prepare CESM2") and line.endswith("reused") for name, line in states.items())
    assert "r1i1p1f1" in out
    assert "while preparing" in out


def test_two_runs_at_once_in_one_folder(recipe, copy, capsys):
    script = (
        "import pathlib, time; from climanchor.workflow.lock import FolderLock\n"
        f"with FolderLock(pathlib.Path({str(copy / 'run')!r})): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "held"
        assert main(["run", str(recipe), "--output", str(copy), "--quiet"]) == IN_USE
        assert f"in use by another run (process {holder.pid}" in capsys.readouterr().err
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_output_folders_can_share_a_store(recipe, finished, copy, tmp_path):
    """Another output folder with the same store makes nothing; a store in use is refused."""
    store = copy / "run" / "store"
    before = products(copy)
    arguments = ["run", str(recipe), "--output", str(tmp_path / "other"), "--store", str(store), "--quiet"]
    assert main(arguments) == DONE
    assert products(copy) == before
    assert results(tmp_path / "other") == results(finished)
    with FolderLock(store):
        assert main(arguments) == IN_USE


#: Runs the recipe again and again in forked children, so that each attempt costs no imports; kills them at the moments
#: given, as shares of the time a whole run takes, and prints how many were killed before one came through.
KILLER = textwrap.dedent(
    """
    import json, os, signal, sys, time
    from climanchor.cli import main
    import climanchor.workflow.runner, climanchor.workflow.pictures, climanchor.workflow.climate_page
    recipe, output, seconds, moments = sys.argv[1], sys.argv[2], float(sys.argv[3]), json.loads(sys.argv[4])

    def attempt(limit):
        child = os.fork()
        if child == 0:
            os._exit(main(["run", recipe, "--output", output, "--quiet"]))
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    began = time.monotonic()
    codes = []
    for share in [*moments, None]:
        codes.append(attempt(1e9 if share is None else share * seconds))
        if codes[-1] == 0:
            break
    print(json.dumps({"codes": codes, "seconds": time.monotonic() - began}))
    """
)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments_and_run_again_gives_the_same_bytes(recipe, finished, tmp_path):
    """SIGKILL at ten random moments: the run completes, with metrics and netCDF files as if nothing had happened."""
    draw = random.Random(2025)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}

    def attempts(output: Path, seconds: float, moments: list[float]) -> dict[str, list[int] | float]:
        command = [sys.executable, "-c", KILLER, str(recipe), str(output), str(seconds), json.dumps(moments)]
        ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return json.loads(ended.stdout.splitlines()[-1])

    whole = attempts(tmp_path / "whole", 0.0, [])
    assert results(tmp_path / "whole") == results(finished)
    kills = 0
    for i in range(10):
        output = tmp_path / f"killed-{i}"
        codes = attempts(output, whole["seconds"], [draw.uniform(0.02, 0.5) for _ in range(10 - kills)])["codes"]
        assert codes[-1] == DONE
        assert set(codes[:-1]) <= {-signal.SIGKILL}
        assert results(output) == results(finished)
        kills += len(codes) - 1
        if kills >= 10:
            break
    assert kills >= 10
