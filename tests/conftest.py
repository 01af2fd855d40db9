"""Fixtures shared by every test."""

import os
import re
import shutil
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import climanchor as ca


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files, named by the environment; tests that need it skip without it."""
    root = os.environ.get("CLIMANCHOR_REAL_DATA")
    if not root:
        pytest.skip("CLIMANCHOR_REAL_DATA does not name a folder of real data")
    return Path(root)


@pytest.fixture(scope="session")
def code_blocks() -> Callable[[Path, str], list[str]]:
    """A function that gives the fenced blocks of one language in a Markdown file, without their common indent."""

    def blocks(path: Path, language: str) -> list[str]:
        fenced = re.compile(rf"^( *)```{language}\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
        return [textwrap.dedent(text) for _, text in fenced.findall(path.read_text(encoding="utf-8"))]

    return blocks


@pytest.fixture(scope="session")
def small_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic archive with two members of each model until 1960."""
    root = tmp_path_factory.mktemp("small") / "archive"
    ca.simulate.write_archive(root, size="tiny", members=2, years=(1850, 1960))
    return root


@pytest.fixture
def beside_archive(small_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder for documented snippets: a small synthetic archive in ``archive``, and coarse defaults.

    Snippets run as they are written. The archive they ask for is the small one, and where they leave a grid or a
    grid of candidates out it is small.
    """
    monkeypatch.chdir(tmp_path)
    shutil.copytree(small_archive, "archive")
    monkeypatch.setattr(ca.simulate, "write_archive", lambda root, *, size, seed: None)
    monkeypatch.setattr(ca, "prepare", partial(ca.prepare, grid=ca.regular_grid(30.0)))
    monkeypatch.setattr(ca, "select", partial(ca.select, alphas=[10.0, 100.0], ranks=[5, 20], samples_per_model=60))
    return tmp_path
