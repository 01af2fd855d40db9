"""Recipes, the runner with its product store, and the report."""

from climanchor.workflow.recipe import RecipeError, load, parse
from climanchor.workflow.schema import ClimateRecipe, ExperimentRecipe

__all__ = ["ClimateRecipe", "ExperimentRecipe", "RecipeError", "load", "parse"]
