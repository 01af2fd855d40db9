"""Everything the README tells a reader to type, typed."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from climanchor.cli import DONE, main

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


@pytest.fixture
def commands(code_blocks) -> list[list[str]]:
    """The commands of the README, word by word, without comments."""
    lines = [line for block in code_blocks(README, "console") for line in block.splitlines()]
    return [words for words in (shlex.split(line.removeprefix("$ "), comments=True) for line in lines) if words]


def test_python_blocks_run_and_leave_the_figure_they_promise(code_blocks, beside_archive):
    blocks = code_blocks(README, "python")
    assert len(blocks) >= 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert (beside_archive / "difference.png").stat().st_size > 10_000


def test_make_targets_exist(commands):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = {words[1] for words in commands if words[0] == "make"}
    assert asked
    assert asked <= targets


def test_commands_run_in_the_order_in_which_they_are_given(commands, beside_archive, capsys):
    """On a small archive in the place of the reader's folder, and with a small grid of candidates in the recipe."""
    ours = [words[1:] for words in commands if words[0] == "climanchor"]
    assert [words[0] for words in ours] == ["data", "recipes", "run", "run"]
    for words in ours:
        assert main(["archive" if word.startswith("/path/") else word for word in words]) == DONE, words
        if words[:2] == ["recipes", "get"]:
            _shrink(beside_archive / f"{words[2]}.yml")
    output = Path(ours[-1][ours[-1].index("--output") + 1])
    assert (output / "index.html").is_file()
    assert f"Report: {output.absolute() / 'index.html'}" in capsys.readouterr().out


def _shrink(path: Path) -> None:
    """Do what the README says, put the folder under ``root:``, and make the study small."""
    recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
    recipe |= {"root": "archive", "samples_per_model": 60, "figures": {"formats": ["png"], "only": ["r2"]}}
    recipe["prepare"]["grid"] = 30
    recipe["selection"] |= {"alphas": [10, 100], "ranks": [5, 20]}
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")


def test_nothing_else_is_typed(commands):
    """A new kind of command needs a test of its own."""
    assert {words[0] for words in commands} <= {"make", "climanchor"}


def test_links_and_pictures_are_there():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing
