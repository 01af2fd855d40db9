"""A tiny synthetic archive, written once for all tests of this folder."""

import pytest

from climanchor.simulate import Archive, write_archive


@pytest.fixture(scope="session")
def tiny_archive(tmp_path_factory) -> Archive:
    return write_archive(tmp_path_factory.mktemp("tiny"), size="tiny")
