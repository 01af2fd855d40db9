"""The recipes that come with the package."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from climanchor.workflow.identity import PACKAGE
from climanchor.workflow.recipe import RecipeError
from climanchor.workflow.wording import suggest


def recipe_folder() -> Path:
    """Where the recipes are: inside an installed package, beside it in a checkout."""
    installed = PACKAGE / "recipes"
    return installed if installed.is_dir() else PACKAGE.parent / "recipes"


def recipe_names() -> list[str]:
    """The names of the recipes that come with the package."""
    return sorted(path.stem for path in recipe_folder().glob("*.yml"))


def find_recipe(name: str) -> Path:
    """The path of a recipe given as a path or as a name of :func:`recipe_names`. Raises :class:`RecipeError`."""
    path = Path(name).expanduser()
    if path.is_file():
        return path
    if name in {script.name for script in batch_scripts()}:
        return recipe_folder() / name
    installed = recipe_folder() / f"{name.removesuffix('.yml')}.yml"
    if installed.is_file() and path.parent == Path():
        return installed
    if path.parent != Path() or path.is_dir():
        raise RecipeError(f"{name} is {'a folder' if path.is_dir() else 'not a file'}: give the path of a recipe")
    raise RecipeError(
        f"no recipe {name}, neither a file nor one that comes with climanchor{suggest(name, recipe_names())}"
    )


def summary(path: Path) -> str:
    """The title of a recipe."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return str(content.get("title", "")) if isinstance(content, dict) else ""


def batch_scripts() -> list[Path]:
    """Example batch scripts that come with the recipes."""
    return sorted(recipe_folder().glob("*.sbatch"))


def header(path: Path) -> str:
    """The comment at the top of a recipe: what it does, needs and costs."""
    lines = path.read_text(encoding="utf-8").splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "\n".join(re.sub(r"^# ?", "", line) for line in lines[:end])
