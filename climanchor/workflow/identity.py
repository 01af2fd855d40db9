"""What makes two inputs the same: identities of files and of code."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import netCDF4

from climanchor.archive.integrity import check_file

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
    """The identity of an input file: its path, its size and when it was changed.

    Not its CMIP tracking id, which an edited file keeps. A file that is not there, or cannot be read, has an
    identity too, so that its return is noticed.
    """
    try:
        status = path.stat()
    except OSError as error:
        return {"path": str(path), "missing": error.strerror or "unreadable"}
    return {"path": str(path), "bytes": status.st_size, "changed": status.st_mtime_ns}


def tracking_id(path: Path) -> str | None:
    """The ``tracking_id`` that ESGF gives every file, or None."""
    try:
        check_file(path)
        with netCDF4.Dataset(path) as dataset:
            value = getattr(dataset, "tracking_id", None)
    except (OSError, RuntimeError):  # not netCDF, truncated, unreadable: the archive says why
        return None
    return str(value) if value else None


def checksum(path: Path) -> str | None:
    """The SHA-256 of a file, or None where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None
