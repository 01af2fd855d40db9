"""Read a recipe: safe YAML, environment variables, validation, and errors a person can act on.

>>> recipe = parse("title: T\\nexperiment: climate\\nroot: .\\ndatasets: {train: [A, B]}\\nselection: {}")
>>> [d.model for d in recipe.datasets.train], recipe.gammas
(['A', 'B'], [1.0, 5.0, 100.0])
>>> try:
...     parse("title: T\\nroot: .\\ndatasets: {train: [A, B]}\\nselection: {}\\ngama: [1]")
... except RecipeError as error:
...     print(error)
recipe, line 5: gama is not a key of a climate recipe: did you mean gammas?
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from climanchor.workflow.schema import ClimateRecipe, ExperimentRecipe
from climanchor.workflow.wording import error_line, kind, mark, problem

Recipe = ClimateRecipe | ExperimentRecipe


class RecipeError(ValueError):
    """A recipe that cannot be run as written; the message names the key, the value and what is allowed."""


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a repeated key is an error, not a silent replacement."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise RecipeError(f"line {key.start_mark.line + 1}: {key.value} is given twice: keep one")
            seen.add(key.value)
        mapping = super().construct_mapping(node, deep)
        # YAML reads the word null, a key of detection, as nothing.
        return {"null" if key is None else key: value for key, value in mapping.items()}


def load(path: Path, *, root: list[Path] | None = None, environ: Mapping[str, str] = os.environ) -> Recipe:
    """Read and validate the recipe at ``path``; ``root`` replaces its own. Raises :class:`RecipeError`.

    Paths are relative to the folder of the recipe. Nothing is opened but the recipe itself; the folders and
    files that it names are only looked up.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise RecipeError(f"{path} is not a text file: a recipe is YAML in UTF-8") from None
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror})") from None
    return parse(text, source=str(path), folder=path.parent, root=root, environ=environ)


def parse(
    text: str,
    *,
    source: str = "recipe",
    folder: Path = Path(),
    root: list[Path] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Recipe:
    """Validate the YAML ``text`` of a recipe; ``source`` names it in errors."""
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.load(text, Loader=_Loader)
    except RecipeError as error:
        raise RecipeError(f"{source}, {error}") from None
    except yaml.YAMLError as error:
        raise RecipeError(f"{source}{mark(error)}: not valid YAML: {problem(error)}") from None
    if not isinstance(content, dict):
        raise RecipeError(f"{source}: a recipe is a mapping of keys to values, not {kind(content)}")
    if root is not None:
        content["root"] = [str(path) for path in root]
        content.pop("simulate", None)
    climate = content.get("experiment", "climate") == "climate"
    schema: type[Recipe] = ClimateRecipe if climate else ExperimentRecipe
    try:
        content = _expand(content, environ)
        recipe = schema.model_validate(_resolve(content, folder))
    except KeyError as error:
        raise RecipeError(f"{source}: environment variable {error.args[0]} is not set") from None
    except ValidationError as errors:
        lines = [error_line(e, schema, tree, source) for e in errors.errors()]
        raise RecipeError("\n".join(dict.fromkeys(lines))) from None
    _check_paths(recipe, source)
    return recipe


_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")


def _expand(value: Any, environ: Mapping[str, str]) -> Any:
    """Fill ``$NAME``, ``${NAME}`` and ``${NAME:-default}`` into every string; empty means "not given"."""
    if isinstance(value, dict):
        return {k: _expand(v, environ) for k, v in value.items()}
    if isinstance(value, list):
        return [_expand(v, environ) for v in value]
    if not isinstance(value, str) or "$" not in value:
        return value

    def fill(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in environ and match[3] is None:
            raise KeyError(name)
        return environ.get(name) or (match[3] or "")

    return _VARIABLE.sub(fill, value) or None


def _resolve(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the paths of a climate recipe absolute: ``~`` is home, the rest starts at ``folder``."""

    def absolute(path: Any) -> Any:
        return os.path.abspath(folder / Path(path).expanduser()) if isinstance(path, str) else path

    content = dict(content)
    if isinstance(content.get("root"), list):
        content["root"] = [absolute(path) for path in content["root"]]
    elif "root" in content:
        content["root"] = absolute(content["root"])
    for dataset in _by_hand(content):
        files = dataset["files"]
        dataset["files"] = (
            {m: [absolute(p) for p in v] if isinstance(v, list) else absolute(v) for m, v in files.items()}
            if isinstance(files, dict)
            else absolute(files)
        )
    observations = _get(content, "detection", "observations")
    if isinstance(observations, dict) and "path" in observations:
        observations["path"] = absolute(observations["path"])
    return content


def _by_hand(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for section, name in (("datasets", "train"), ("datasets", "test"), ("detection", "control")):
        for dataset in _get(content, section, name) or []:
            if isinstance(dataset, dict) and "files" in dataset:
                yield dataset


def _get(content: Any, *keys: str) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def expand_files(pattern: str) -> list[str]:
    """The files that a path or a pattern with ``*`` names, sorted."""
    return sorted(glob.glob(pattern, recursive=True))


def _check_paths(recipe: Recipe, source: str) -> None:
    if isinstance(recipe, ExperimentRecipe):
        return
    for folder in recipe.root or []:
        if not folder.is_dir():
            what = "is a file, not a folder" if folder.exists() else "does not exist"
            raise RecipeError(f"{source}: root: {folder} {what}")
    control = recipe.detection.control if recipe.detection else []
    for dataset in (*recipe.datasets.train, *recipe.datasets.test, *control):
        groups = dataset.files.values() if isinstance(dataset.files, dict) else [dataset.files or []]
        for group in groups:
            for pattern in [group] if isinstance(group, str) else group:
                if not expand_files(pattern):
                    raise RecipeError(f"{source}: files of {dataset.model}: no file matches {pattern}")
    if recipe.detection and recipe.detection.observations.path is not None:
        path = recipe.detection.observations.path
        if not path.is_file():
            raise RecipeError(f"{source}: detection.observations.path: {path} does not exist")
