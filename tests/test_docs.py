"""What the documentation says is so: names are documented, snippets run, commands parse, keys are explained."""

import importlib
import inspect
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import climanchor as ca
from climanchor.cli import parser
from climanchor.workflow import ClimateRecipe, ExperimentRecipe
from climanchor.workflow.config import Config

DOCS = Path(__file__).parents[1] / "docs"
GENERATED = ("_build", "gallery", "generated")
PAGES = sorted(p for p in DOCS.rglob("*.md") if not set(p.relative_to(DOCS).parts) & set(GENERATED))
#: Public subpackages, whose names the reference lists beside those of the package itself.
PLACES = ("archive", "preprocess", "fingerprint", "detection", "estimators", "simulate", "plotting", "experiments",
          "datasets", "kernels", "workflow")  # fmt: skip
#: Names for those who read the sources: explained there, not in the reference.
INTERNAL = {"climanchor.fingerprint.Cells"}


def public(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Functions and classes that a module exports."""
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value) and not inspect.ismodule(value):
            yield name, value


def exampled() -> Iterator[tuple[str, object]]:
    """Names that users type: those of the package, and of the four subpackages that are used as ``ca.….name``."""
    for module in (ca, ca.detection, ca.simulate, ca.plotting, ca.estimators):
        for name, value in public(module):
            if not (inspect.isclass(value) and issubclass(value, BaseException)):
                yield f"{module.__name__}.{name}", value


@pytest.mark.parametrize(("name", "value"), [pytest.param(*entry, id=entry[0]) for entry in exampled()])
def test_every_public_name_is_explained_with_an_example(name, value):
    text = inspect.getdoc(value) or ""
    assert len(text.split()) > 8, f"{name} has no docstring to speak of"
    assert ">>> " in text, f"{name} has no example"


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(p.read_text(encoding="utf-8") for p in sorted((DOCS / "reference" / "api").glob("*.md")))
    listed: set[str] = set()
    for module, block in re.findall(r"currentmodule:: (\S+)\n(.*?)```", pages, re.DOTALL):
        listed |= {f"{module}.{name}" for name in re.findall(r"^\.\. auto\w+:: (\w+)", block, re.MULTILINE)}
    top = dict(public(ca))
    expected = {f"climanchor.{name}" for name in top}
    for place in PLACES:
        module = importlib.import_module(f"climanchor.{place}")
        expected |= {f"{module.__name__}.{name}" for name, value in public(module) if top.get(name) is not value}
    assert listed == expected - INTERNAL


def test_every_figure_is_in_the_gallery():
    examples = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "examples").glob("plot_*.py"))
    missing = [name for name, _ in public(ca.plotting) if f"plotting.{name}(" not in examples]
    assert not missing


SNIPPETS = [page for page in PAGES if "\n```python\n" in page.read_text(encoding="utf-8")]
SNIPPETS = [page for page in SNIPPETS if page.name != "metrics.md"]  # reads the output of the demo


@pytest.mark.parametrize("page", SNIPPETS, ids=lambda page: page.stem)
def test_python_blocks_of_a_page_run_one_after_another(page, code_blocks, beside_archive):
    names: dict[str, object] = {}
    for block in code_blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)


def test_blocks_that_are_shown_only_are_valid_python(code_blocks):
    for page in PAGES:
        for block in code_blocks(page, r"\{code-block\} python"):
            compile(block, page.name, "exec")


def test_commands_parse(code_blocks):
    """Every ``climanchor`` command in the documentation is one the command line understands."""
    commands = [
        words
        for page in PAGES
        for block in code_blocks(page, "console")
        for words in (shlex.split(line.removeprefix("$ "), comments=True) for line in block.splitlines())
        if words[:1] == ["climanchor"] and words[1:] != ["--version"]
    ]
    assert len(commands) > 15
    for words in commands:
        parser().parse_args(words[1:])  # leaves with SystemExit otherwise


def test_recipes_in_yaml_blocks_have_only_known_keys(code_blocks):
    for page in PAGES:
        for block in code_blocks(page, "yaml"):
            content = yaml.safe_load(block)
            known = set(ClimateRecipe.model_fields) | set(Config.model_fields)
            assert set(content) <= known, page.name


def test_every_key_of_recipes_and_settings_is_explained(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])
    schema = importlib.import_module("recipe_schema")
    told = yaml.safe_load((DOCS / "reference" / "recipe_keys.yml").read_text(encoding="utf-8"))
    tables = schema.key_tables((ClimateRecipe, ExperimentRecipe, Config))
    assert {table.name: {row.key for row in table.rows} for table in tables} == {k: set(v) for k, v in told.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+?\.(?:md|rst|png|svg))(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "gallery/" not in link and not (page.parent / link).exists()]
    assert not missing


def test_nothing_is_fetched_by_the_pages():
    """Sources of the documentation name no remote script, style or picture."""
    for path in [*PAGES, DOCS / "conf.py", *(DOCS / "_static").glob("*")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(src=|@import|url\(|!\[[^]]*\]\()\s*[\"']?https?://", text), path.name
