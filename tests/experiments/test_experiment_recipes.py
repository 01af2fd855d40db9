"""The recipes of the experiments say what the functions do by default."""

import inspect
from pathlib import Path

import pytest
import yaml

from climanchor.experiments import EXPERIMENTS

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_recipe_names_its_experiment_and_repeats_its_defaults(name):
    """A recipe is read as documentation: its values are those of the function, and its header says what it needs."""
    text = (RECIPES / f"{name}.yml").read_text(encoding="utf-8")
    recipe = yaml.safe_load(text)
    assert recipe["experiment"] == name
    parameters = inspect.signature(EXPERIMENTS[name].run).parameters
    for key, value in recipe["parameters"].items():
        if key == "path":
            continue  # the user's file, from the environment
        default = parameters[key].default
        assert (tuple(value) if isinstance(value, list) else value) == default, key
    assert all(heading in text for heading in ("# What it does", "# What it needs", "# How long"))
