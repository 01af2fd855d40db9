"""Fixtures shared by every test."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files, named by the environment; tests that need it skip without it."""
    root = os.environ.get("CLIMANCHOR_REAL_DATA")
    if not root:
        pytest.skip("CLIMANCHOR_REAL_DATA does not name a folder of real data")
    return Path(root)
