"""Pages made from the code at every build: commands, keys of recipes and settings, and the recipes themselves.

They are written to ``reference/generated`` and included from there. The keys, types, ranges and defaults come from
the schema; what each key means is in ``reference/recipe_keys.yml``, which must know every key and no other.
"""

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from recipe_schema import KeyTable, key_tables
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from climanchor.cli import parser
from climanchor.workflow import ClimateRecipe, ExperimentRecipe
from climanchor.workflow.config import Config
from climanchor.workflow.library import header, recipe_folder, recipe_names, summary


def generate(app: Sphinx) -> None:
    """Write the pages, and only those that changed."""
    folder = Path(app.srcdir) / "reference"
    meanings = yaml.safe_load((folder / "recipe_keys.yml").read_text(encoding="utf-8"))
    pages = {
        "commands.md": "\n".join(_commands(parser(), "climanchor", 2)),
        "recipe_keys.md": _keys((ClimateRecipe, ExperimentRecipe), meanings),
        "settings.md": _keys((Config,), meanings),
        "recipes.md": "\n".join(_recipes()),
    }
    (folder / "generated").mkdir(exist_ok=True)
    for name, text in pages.items():
        path = folder / "generated" / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _commands(command: argparse.ArgumentParser, name: str, level: int) -> Iterator[str]:
    """A section for each command that does something, with its help as the command prints it."""
    command.prog = name
    choices = [a.choices for a in command._actions if isinstance(a, argparse._SubParsersAction)]
    if not choices or level == 2:
        command.formatter_class = _Narrow
        yield f"{'#' * min(level, 3)} `{name}`\n"
        yield f"```text\n{command.format_help().rstrip()}\n```\n"
    for verbs in choices:
        for verb, child in verbs.items():
            yield from _commands(child, f"{name} {verb}", level + 1)


class _Narrow(argparse.RawDescriptionHelpFormatter):
    """Help of one width, whatever the terminal of the build."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=88, max_help_position=24)


def _keys(schemas: tuple[type[Any], ...], meanings: dict[str, dict[str, str]]) -> str:
    lines: list[str] = []
    for table in key_tables(schemas):
        lines += [f"({table.anchor})=", f"## {table.title}", "", table.about, "", *_rows(table, meanings), ""]
    return "\n".join(lines)


def _rows(table: KeyTable, meanings: dict[str, dict[str, str]]) -> Iterator[str]:
    told = meanings.get(table.name, {})
    untold = {row.key for row in table.rows} ^ set(told)
    if untold:
        raise ExtensionError(f"recipe_keys.yml and the schema of {table.name} differ in {', '.join(sorted(untold))}")
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for row in table.rows:
        yield f"| `{row.key}` | {row.value} | {row.default} | {told[row.key]} |"


def _recipes() -> Iterator[str]:
    for name in recipe_names():
        path = recipe_folder() / f"{name}.yml"
        yield f"(recipe-{name})=\n## `{name}`\n\n{summary(path)}.\n"
        yield f"```text\n{header(path).strip()}\n```\n"
        yield f"```console\n$ climanchor run {shlex.quote(name)}\n```\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Generate before anything is read."""
    app.connect("builder-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
