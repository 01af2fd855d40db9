"""Recipes: what is accepted, and the message for each way of getting one wrong."""

import math
import re
from pathlib import Path

import pytest

from climanchor.workflow.library import find_recipe, recipe_folder, recipe_names
from climanchor.workflow.recipe import RecipeError, load, parse

GOOD = """\
title: A study
root: .
datasets:
  train: [CCSM4, CESM2]
  test: [IPSL-CM6A-LR]
selection: {}
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def added(text: str) -> str:
    return GOOD + text + "\n"


WRONG = {
    "a near miss at the top": (
        added("gama: [1, 5]"),
        "line 7: gama is not a key of a climate recipe: did you mean gammas?",
    ),
    "a near miss in a section": (
        added("prepare: {refrence: [1850, 1900]}"),
        "line 7: prepare.refrence is not a key of prepare: did you mean reference?",
    ),
    "a near miss in a dataset": (
        changed("CCSM4", "{dataset: CCSM4, ensembl: r1i1p1}"),
        "line 4: datasets.train[0].ensembl is not a key of datasets.train[0]: did you mean ensemble?",
    ),
    "a key like no other": (
        added("prepare: {zzz: 1}"),
        "prepare.zzz is not a key of prepare; known are grid, method, reference",
    ),
    "a word for a number": (
        added("seed: soon"),
        "line 7: seed is 'soon', should be a valid integer",
    ),
    "a fractional rank": (
        added("fingerprint: {rank: 1.5}"),
        "fingerprint.rank is 1.5, should be a valid integer",
    ),
    "a negative gamma": (added("gammas: [1, -5]"), "gammas[1] is -5, should be greater than or equal to 0"),
    "a gamma that is not a number": (added("gammas: [1, .nan]"), "gammas"),
    "an infinite alpha": (
        changed("selection: {}", "selection: {alphas: [1, .inf]}"),
        "selection.alphas[1] is inf, should be a finite number",
    ),
    "an empty list of gammas": (added("gammas: []"), "gammas is [], should"),
    "a gamma given twice": (added("gammas: [1, 5, 5]"), "gammas: a value is listed twice"),
    "the published rule without gamma 1": (
        added("gammas: [5, 100]"),
        "selection.rule published chooses at gamma = 1, so gammas must contain 1",
    ),
    "a grid that does not tile the globe": (
        added("prepare: {grid: 7}"),
        "prepare.grid: cells of 7° do not tile the globe: 180 / 7 is not whole",
    ),
    "a negative grid": (added("prepare: {grid: -5}"), "prepare.grid is -5, should be greater than 0"),
    "a grid too coarse for the ranks": (
        added("prepare: {grid: 30}"),
        "rank 600 exceeds the 72 cells of the 30° grid",
    ),
    "a reference period backwards": (
        added("prepare: {reference: [1900, 1850]}"),
        "prepare.reference: the first year (1900) is after the last (1850)",
    ),
    "a reference of one year": (added("prepare: {reference: [1850]}"), "prepare.reference[1] is missing"),
    "more reference years than there are": (
        added("prepare: {reference: [1961, 1990], min_reference_years: 40}"),
        "min_reference_years (40) exceeds the 30 years of reference",
    ),
    "an unknown method": (
        added("prepare: {method: conservativ}"),
        "should be 'conservative' or 'bilinear' (did you mean conservative?)",
    ),
    "an unknown rule": (
        changed("selection: {}", "selection: {rule: paretto}"),
        "should be 'published', 'per_gamma', 'weighted' or 'pareto' (did you mean pareto?)",
    ),
    "a root that does not exist": (changed("root: .", "root: no/such/folder"), "no/such/folder does not exist"),
    "a root that is a file": (changed("root: .", "root: file.nc"), "file.nc is a file, not a folder"),
    "no root": (changed("root: .\n", ""), "root is missing: name the folder of your CMIP files"),
    "root and simulate": (added("simulate: {size: tiny}"), "root and simulate exclude one another: keep one"),
    "an environment variable that is not set": (
        changed("root: .", "root: $NOWHERE/cmip"),
        "environment variable NOWHERE is not set",
    ),
    "no datasets": ("title: A\nroot: .\nselection: {}\n", "datasets is missing"),
    "no title": (changed("title: A study\n", ""), "title is missing"),
    "no training models": (changed("[CCSM4, CESM2]", "[]"), "datasets.train is [], should"),
    "selection with one model": (
        changed("[CCSM4, CESM2]", "[CCSM4]"),
        "selection leaves half of the training models out, so datasets.train needs at least 2, not 1",
    ),
    "neither selection nor a choice": (
        changed("selection: {}", "fingerprint: {alpha: 10}"),
        "without selection:, fingerprint.alpha and fingerprint.rank must both be given",
    ),
    "a model on both sides": (
        changed("[IPSL-CM6A-LR]", "[CESM2]"),
        "datasets: CESM2 is in both train and test: that tests nothing",
    ),
    "a facet in two spellings": (
        changed("CCSM4", "{dataset: CCSM4, exp: historical, experiment: rcp85}"),
        "datasets.train[0]: exp and experiment are two spellings of one facet: keep one",
    ),
    "a time range backwards": (
        changed("CCSM4", "{dataset: CCSM4, timerange: 2014/1850}"),
        "the first year of 2014/1850 is after the last",
    ),
    "a time range of another form": (
        changed("CCSM4", "{dataset: CCSM4, timerange: 1850-2014}"),
        "datasets.train[0].timerange is '1850-2014', should",
    ),
    "an unknown project": (
        changed("CCSM4", "{dataset: CCSM4, project: CMIP4}"),
        "datasets.train[0].project is 'CMIP4', should be 'CMIP5' or 'CMIP6'",
    ),
    "files that are not there": (
        changed("CCSM4", "{dataset: PCM, files: 'pcm/*.nc'}"),
        "files of PCM: no file matches",
    ),
    "a family of strangers": (
        changed("selection: {}", "selection: {families: {cnrm: [CNRM-CM6-1]}}"),
        "selection.families.cnrm names CNRM-CM6-1, not among datasets.train (CCSM4, CESM2)",
    ),
    "a log scale from zero": (
        changed("selection: {}", "selection: {alphas: {start: 0, stop: 10, num: 3, scale: log}}"),
        "selection.alphas: a log scale needs start > 0, not 0",
    ),
    "a range backwards": (
        changed("selection: {}", "selection: {ranks: {start: 600, stop: 300, num: 3}}"),
        "selection.ranks: stop (300) is below start (600)",
    ),
    "a misspelt range": (
        changed("selection: {}", "selection: {ranks: {start: 3, stop: 30, number: 3}}"),
        "selection.ranks.number is not a key of selection.ranks: did you mean num?",
    ),
    "simulated observations of a real archive": (
        added("detection: {observations: {simulated: true}}"),
        "detection.observations.simulated needs simulate: at the top of the recipe",
    ),
    "observations that are not there": (
        added("detection: {observations: {path: hadcrut.nc}}"),
        "hadcrut.nc does not exist",
    ),
    "observations from nowhere": (
        added("detection: {observations: {}}"),
        "detection.observations: give either path: (a file) or simulated: true",
    ),
    "a gamma that is not fitted": (
        added("simulate: {}\ndetection: {observations: {simulated: true}, gammas: [7]}").replace("root: .\n", ""),
        "detection.gammas has 7, which is not in gammas",
    ),
    "a key given twice": (added("root: elsewhere"), "line 7: root is given twice: keep one"),
    "a list instead of a mapping": ("- title: A\n", "a recipe is a mapping of keys to values, not a list"),
    "an empty file": ("", "a recipe is a mapping of keys to values, not an empty file"),
    "a bracket left open": ("title: [A\n", "line 2: not valid YAML"),
    "a tab": ("title: A\nprepare:\n\tgrid: 5\n", "line 3: not valid YAML"),
    "a Python object": ("title: !!python/object/apply:os.getcwd []\n", "not valid YAML"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_recipe_gets_the_message_a_user_would_hope_for(name, tmp_path):
    text, message = WRONG[name]
    (tmp_path / "file.nc").touch()
    path = tmp_path / "study.yml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=re.escape(message)) as error:
        load(path, environ={})
    assert str(path) in str(error.value)


def test_every_mistake_is_told_at_once():
    with pytest.raises(RecipeError, match=r"(?s)prepare\.grid.*sed is not a key"):
        parse(added("sed: 1\nprepare: {grid: 7}"))


def test_a_recipe_that_is_not_text(tmp_path):
    path = tmp_path / "study.yml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecipeError, match="is not a text file: a recipe is YAML in UTF-8"):
        load(path)


@pytest.mark.parametrize(
    "facets",
    [
        "{dataset: A, exp: historical, ensemble: 'r(1:10)i1p1f1', mip: Amon, short_name: tas, grid: gn}",
        "{source_id: A, experiment_id: historical, variant_label: 'r(1:10)i1p1f1', table_id: Amon, variable_id: tas,"
        " grid_label: gn}",
        "{model: A, experiment: historical, member: 'r(1:10)i1p1f1', cmor_table: Amon, variable: tas, grid: gn}",
    ],
)
def test_facets_are_accepted_in_the_spellings_of_esmvalcore_cmip6_and_cmip5(facets):
    one = parse(changed("CCSM4", facets)).datasets.train[0]
    assert (one.model, one.exp, one.ensemble, one.mip, one.short_name, one.grid) == (
        "A", "historical", "r(1:10)i1p1f1", "Amon", "tas", "gn",
    )  # fmt: skip


def test_environment_variables_and_home_in_paths(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "cmip").mkdir()
    for root in ("~/cmip", "$DATA/cmip", "${DATA}/cmip", "${OTHER:-~/cmip}"):
        recipe = parse(changed("root: .", f"root: {root}"), environ={"DATA": str(tmp_path)})
        assert recipe.root == [tmp_path / "cmip"]


def test_paths_start_at_the_folder_of_the_recipe(tmp_path):
    (tmp_path / "cmip").mkdir()
    (tmp_path / "study.yml").write_text(changed("root: .", "root: [cmip, .]"))
    assert load(tmp_path / "study.yml").root == [tmp_path / "cmip", tmp_path]


def test_a_root_given_by_hand_replaces_the_one_in_the_recipe(tmp_path):
    assert load(find_recipe("climate"), root=[tmp_path]).root == [tmp_path]


def test_ranges_are_spelt_out():
    recipe = parse(
        changed(
            "selection: {}",
            "selection: {alphas: {start: 1, stop: 1e6, num: 7, scale: log}, ranks: {start: 3, stop: 30, num: 4}}",
        )
    )
    assert recipe.selection.alphas == pytest.approx([1, 10, 100, 1e3, 1e4, 1e5, 1e6])
    assert recipe.selection.ranks == [3, 12, 21, 30]


def test_gamma_may_be_zero_and_infinite():
    assert parse(added("gammas: [0, 1, .inf]")).gammas == [0.0, 1.0, math.inf]


def test_the_key_null_is_a_word_although_yaml_reads_it_as_nothing(tmp_path):
    (tmp_path / "obs.nc").touch()
    text = added(f"detection:\n  observations: {{path: {tmp_path}/obs.nc}}\n  null: per_model")
    assert parse(text).detection.null == "per_model"


def test_the_published_grid_is_the_default():
    selection = parse(GOOD).selection
    assert (len(selection.alphas), selection.alphas[0], selection.alphas[-1]) == (20, 1.0, 1e6)
    assert (len(selection.ranks), selection.ranks[0], selection.ranks[-1]) == (21, 300, 600)


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_that_come_with_the_package_are_valid_and_say_what_they_need(name, tmp_path):
    text = (recipe_folder() / f"{name}.yml").read_text()
    for word in ("What it does", "What it needs", "How long"):
        assert word in text.split("title:")[0]
    if name == "climate":
        assert load(find_recipe(name), root=[tmp_path]).title
    elif "CLIMANCHOR_" not in text:
        assert load(find_recipe(name)).title


def test_a_recipe_that_does_not_exist_is_compared_with_those_that_do():
    with pytest.raises(RecipeError, match=r"no recipe dmo, .*did you mean demo\?"):
        find_recipe("dmo")


def test_a_folder_is_not_a_recipe(tmp_path):
    with pytest.raises(RecipeError, match="is a folder: give the path of a recipe"):
        find_recipe(str(tmp_path))


def test_recipes_are_found_by_path_and_by_name(tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text(GOOD)
    assert find_recipe(str(path)) == path
    assert find_recipe("demo") == find_recipe("demo.yml") == Path(recipe_folder() / "demo.yml")
