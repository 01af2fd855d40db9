"""What makes two inputs the same: identities of files and of code."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path

import netCDF4

PACKAGE = Path(__file__).resolve().parents[1]


@functools.cache
def code_version(*parts: str) -> str:
    """Hash of the source of subpackages (``"preprocess"``) or modules (``"workflow/steps.py"``).

    A product is made again when the code that makes it has changed, and only then: drawing a map differently
    does not prepare the data anew.
    """
    digest = hashlib.sha256()
    for part in sorted(parts):
        path = PACKAGE / part
        files = [path] if path.is_file() else sorted(path.rglob("*.py"))
        if not files:
            raise FileNotFoundError(f"no source of climanchor at {part}")
        for file in files:
            digest.update(str(file.relative_to(PACKAGE)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def file_identity(path: Path) -> dict[str, str | int]:
    """The identity of an input file: its path, its size and its CMIP tracking id, or else when it was changed.

    A file that is not there, or cannot be read, has an identity too, so that its return is noticed.
    """
    try:
        status = path.stat()
    except OSError as error:
        return {"path": str(path), "missing": error.strerror or "unreadable"}
    identity: dict[str, str | int] = {"path": str(path), "bytes": status.st_size}
    tracking = tracking_id(path)
    if tracking:
        identity["tracking_id"] = tracking
    else:
        identity["changed"] = status.st_mtime_ns
    return identity


def identities(paths: Iterable[Path]) -> list[dict[str, str | int]]:
    """The identities of several files, in order of their paths."""
    return [file_identity(Path(path)) for path in sorted(map(str, paths))]


def tracking_id(path: Path) -> str | None:
    """The ``tracking_id`` that ESGF gives every file, or None."""
    try:
        with netCDF4.Dataset(path) as dataset:
            value = getattr(dataset, "tracking_id", None)
    except (OSError, RuntimeError):  # not netCDF, truncated, unreadable: the archive says why
        return None
    return str(value) if value else None
