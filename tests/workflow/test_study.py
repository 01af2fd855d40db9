"""Surveys, experiments and files: what a plan is made of."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from climanchor.cli import DONE, main
from climanchor.workflow import netcdf
from climanchor.workflow.climate import plan
from climanchor.workflow.experiment import find_experiment
from climanchor.workflow.progress import Reporter
from climanchor.workflow.recipe import RecipeError, parse
from climanchor.workflow.session import NotEnoughData
from climanchor.workflow.survey import survey


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).touch()


FILES = [
    "tas_Amon_CESM2_historical_r1i1p1f1_gn_185001-201412.nc",
    "tas_Amon_CESM2_historical_r2i1p1f1_gn_185001-201412.nc",
    "tas_Amon_CESM2_piControl_r1i1p1f1_gn_000101-010012.nc",
    "tas_Amon_CCSM4_historical_r1i1p1_185001-200512.nc",
    "tas_Amon_CCSM4_rcp85_r1i1p1_200601-210012.nc",
]


def recipe_on(root: Path, extra: str = "", train: str = "[CESM2, CCSM4]"):
    return parse(f"title: T\nroot: {root}\ndatasets: {{train: {train}}}\nselection: {{}}\n{extra}")


def test_runs_are_found_by_model_experiment_and_member(tmp_path):
    touch(tmp_path, *FILES)
    recipe = recipe_on(tmp_path, train="[{dataset: CESM2, ensemble: r2i1p1f1}, {dataset: CCSM4, project: CMIP5}]")
    found = survey(recipe, recipe.root, {})
    assert {m: [run.member for run in runs] for m, runs in found.train.items()} == {
        "CESM2": ["r2i1p1f1"],
        "CCSM4": ["r1i1p1"],
    }
    assert [p.name for p in found.files()] == [FILES[3], FILES[1]]


def test_control_runs_are_found_for_detection_whatever_member_the_historical_runs_are(tmp_path):
    touch(tmp_path, *FILES, "obs.nc")
    extra = f"detection: {{observations: {{path: {tmp_path}/obs.nc}}}}\n"
    recipe = recipe_on(tmp_path, extra, train="[{dataset: CESM2, ensemble: r2i1p1f1}, CCSM4]")
    found = survey(recipe, recipe.root, {})
    assert {m: [run.experiment for run in runs] for m, runs in found.control.items()} == {"CESM2": ["piControl"]}


def test_one_model_for_a_selection_is_too_little(tmp_path):
    touch(tmp_path, *FILES)
    recipe = recipe_on(tmp_path, train="[CESM2, NorCPM1]")
    with pytest.raises(NotEnoughData, match=r"selection needs 2 training models, but only CESM2 .*absent: NorCPM1"):
        survey(recipe, recipe.root, {})


def test_detection_without_control_runs_says_what_to_do(tmp_path):
    touch(tmp_path, FILES[0], FILES[3], "obs.nc")
    recipe = recipe_on(tmp_path, f"detection: {{observations: {{path: {tmp_path}/obs.nc}}}}\n")
    with pytest.raises(NotEnoughData, match=r"no tas of piControl was found: .*leave detection: out"):
        plan(recipe, survey(recipe, recipe.root, {}), None, Reporter(quiet=True))


def keys(recipe, root) -> dict[str, str]:
    made = plan(recipe, survey(recipe, root, {}), None, Reporter(quiet=True))
    return {name: step.key for name, step in made.steps.items()}


def test_a_changed_file_changes_the_keys_of_what_is_made_from_it_and_of_nothing_else(tmp_path):
    touch(tmp_path, *FILES)
    recipe = recipe_on(tmp_path)
    before = keys(recipe, recipe.root)
    (tmp_path / FILES[3]).write_bytes(b"more")
    after = keys(recipe, recipe.root)
    same = {name for name in before if before[name] == after[name]}
    assert same == {"prepared:CESM2"}


@pytest.mark.parametrize(
    ("extra", "unchanged"),
    [
        ("seed: 1", {"coverage", "prepared:CESM2", "prepared:CCSM4", "variability"}),
        ("gammas: [1, 7]", {"coverage", "prepared:CESM2", "prepared:CCSM4", "variability"}),
        ("prepare: {window: 5}", {"coverage"}),
        ("description: other words", None),
    ],
)
def test_an_edited_parameter_changes_only_the_keys_that_depend_on_it(tmp_path, extra, unchanged):
    touch(tmp_path, *FILES)
    plain, edited = recipe_on(tmp_path), recipe_on(tmp_path, extra)
    before, after = keys(plain, plain.root), keys(edited, edited.root)
    assert {name for name in before if before[name] == after.get(name)} == (unchanged or set(before))


def test_files_described_by_hand_become_members(tmp_path):
    touch(tmp_path, "run_a.nc", "run_b.nc", "x1.nc", "x2.nc")
    train = f'[{{dataset: PCM, files: "{tmp_path}/run_*.nc", short_name: TREFHT}}, ' \
            f'{{dataset: XYZ, files: {{m1: ["{tmp_path}/x1.nc", "{tmp_path}/x2.nc"]}}}}]'  # fmt: skip
    recipe = parse(f"title: T\ndatasets: {{train: {train}}}\nselection: {{}}")
    found = survey(recipe, [], {})
    assert [(run.member, run.name_in_file) for run in found.train["PCM"]] == [("run_a", "TREFHT"), ("run_b", "TREFHT")]
    assert [len(run.paths) for run in found.train["XYZ"]] == [2]


def test_the_same_values_give_the_same_bytes(tmp_path):
    values = np.random.default_rng(0).normal(size=(3, 4))
    dataset = xr.Dataset({"x": (("a", "b"), values), "name": ("a", ["u", "v", "w"])}, {"b": np.arange(4)})
    for name, chunks in (("one.nc", None), ("two.nc", {"a": 1})):
        netcdf.write(dataset if chunks is None else dataset.chunk(chunks), tmp_path / name)
    assert (tmp_path / "one.nc").read_bytes() == (tmp_path / "two.nc").read_bytes()
    xr.testing.assert_identical(netcdf.read(tmp_path / "one.nc")["x"], dataset["x"])


def experiment(text: str):
    return parse(f"title: T\n{text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiment: confouding", r"there is no experiment confouding: did you mean confounding\?"),
        (
            "experiment: confounding\nparameters: {gama: 5}",
            r"parameters\.gama is not a parameter of confounding: did you mean gamma\?",
        ),
        ("experiment: confounding\nparameters: {repeats: many}", r"parameters\.repeats is 'many', should be"),
    ],
)
def test_wrong_experiments_and_parameters_are_refused_before_they_run(text, message):
    with pytest.raises(RecipeError, match=message):
        find_experiment(experiment(text))


def test_an_unknown_key_of_an_experiment_recipe():
    with pytest.raises(RecipeError, match=r"paramters is not a key of an experiment recipe: did you mean parameters\?"):
        experiment("experiment: confounding\nparamters: {}")


def test_an_experiment_runs_from_recipe_to_report(tmp_path, capsys):
    path = tmp_path / "quick.yml"
    path.write_text(
        "title: Quick\nexperiment: confounding\n"
        "parameters: {algorithms: [MLR], repeats: 2, seed: 0}\nfigures: {formats: [png]}\n"
    )
    assert main(["run", str(path), "--output", str(tmp_path / "out"), "--quiet"]) == DONE
    assert "MLR" in capsys.readouterr().out
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert len(metrics["mse.MLR.plain"]) == len(metrics["t"])
    assert list((tmp_path / "out" / "figures").glob("*.png"))
    assert "data:image/png" in (tmp_path / "out" / "index.html").read_text()


def test_progress_in_a_batch_log_is_plain_dated_lines(capsys):
    reporter = Reporter(SimpleNamespace(isatty=lambda: False, write=print, flush=lambda: None))
    assert not reporter.live
    reporter = Reporter()
    with reporter.steps(1), reporter.step("prepare CESM2"):
        pass
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line[2] == line[5] == ":" for line in lines)
    assert "\x1b" not in "".join(lines)


def test_progress_on_a_terminal_is_a_display_that_leaves_the_lines(monkeypatch, capsys):
    class Terminal:
        def __init__(self) -> None:
            self.text = ""

        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

        def flush(self) -> None:
            pass

    terminal = Terminal()
    reporter = Reporter(terminal)
    with reporter.steps(2):
        with reporter.step("prepare CESM2"):
            pass
        reporter.reused("prepare CCSM4")
    assert "prepare CESM2: done in" in terminal.text
    assert "prepare CCSM4: unchanged, reused" in terminal.text
