"""The product store: what a step made, kept under a key of everything it was made from.

A product is a folder ``<step>-<key>`` with the files that the step wrote and ``manifest.json`` (their sizes and
SHA-256 sums, the parameters, warnings, seconds). The key is a hash of the step's name, its parameters, the
version of the code that makes it and the keys of its inputs, so the keys of a whole plan are known before
anything runs. A product is built in a temporary folder, flushed to disk and renamed: it is there whole or not at
all, whenever the process is killed. On reuse every sum is checked, and a product that was truncated or altered
is removed and made again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from climanchor.workflow.identity import code_version

MANIFEST = "manifest.json"
#: A change here makes every stored product obsolete.
STORE_FORMAT = 1


@dataclass(frozen=True)
class Product:
    """A finished product: where its files are and what its manifest says."""

    folder: Path
    manifest: Mapping[str, Any]

    def file(self, name: str) -> Path:
        """The path of one of its files."""
        if name not in self.manifest["files"]:
            raise FileNotFoundError(f"{self.folder} has no file {name}, only {', '.join(self.manifest['files'])}")
        return self.folder / name

    @property
    def files(self) -> list[Path]:
        """All its files."""
        return [self.folder / name for name in self.manifest["files"]]

    @property
    def warnings(self) -> list[str]:
        """What the step warned of when it ran."""
        return list(self.manifest["warnings"])


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a plan: ``build(folder, inputs, scratch)`` writes the files of the product into ``folder``.

    ``inputs`` are the finished products of the steps it needs, by their names here; ``scratch`` is a folder that
    survives a killed run, for partial results. ``parameters`` must be JSON; ``code`` names the subpackages whose
    source the product depends on; ``publish`` says under which names its files (or those
    that match a pattern, where the name ends in ``/``) are shown in the output folder.
    """

    name: str
    build: Callable[[Path, Mapping[str, Product], Path], None]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Step] = field(default_factory=dict)
    code: tuple[str, ...] = ()
    label: str = ""
    publish: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def key(self) -> str:
        """Hash of everything that the product is made from."""
        parts = {
            "format": STORE_FORMAT,
            "name": self.name,
            "parameters": self.parameters,
            "code": code_version(*self.code),
            "inputs": {name: step.key for name, step in self.inputs.items()},
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]

    @property
    def title(self) -> str:
        """How the step is shown to people."""
        return self.label or self.name


class Store:
    """Products under one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._verified: dict[str, Product] = {}

    def path(self, step: Step) -> Path:
        """Where the product of ``step`` is, or will be."""
        return self.folder / f"{_filename(step.name)}-{step.key}"

    def find(self, step: Step) -> Product | None:
        """The product of ``step`` if it is there and every one of its files is as it was written."""
        path = self.path(step)
        if path.name in self._verified:
            return self._verified[path.name]
        manifest = _read_manifest(path)
        if manifest is None or damage(path, manifest):
            return None
        product = Product(path, manifest)
        self._verified[path.name] = product
        return product

    def make(self, step: Step, inputs: Mapping[str, Product]) -> Product:
        """Build the product of ``step``, replacing a damaged one."""
        path, scratch = self.path(step), self.folder / "partial" / self.path(step).name
        building = self.folder / f".building-{path.name}"
        for old in (building, path):
            if old.exists():
                shutil.rmtree(old)
        building.mkdir(parents=True)
        scratch.mkdir(parents=True, exist_ok=True)
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step.build(building, inputs, scratch)
        manifest = {
            "step": step.name,
            "key": step.key,
            "parameters": dict(step.parameters),
            "inputs": {name: needed.key for name, needed in step.inputs.items()},
            "code": code_version(*step.code),
            "files": {str(p.relative_to(building)): _describe(p) for p in _walk(building)},
            "warnings": _distinct(caught),
            "seconds": round(time.perf_counter() - started, 3),
        }
        _write_durably(building / MANIFEST, json.dumps(manifest, indent=1))
        os.rename(building, path)
        _sync(self.folder)
        shutil.rmtree(scratch, ignore_errors=True)
        product = Product(path, manifest)
        self._verified[path.name] = product
        return product

    def sweep(self) -> None:
        """Remove what killed runs were building; call it only where no other run is at work."""
        for path in self.folder.glob(".building-*"):
            shutil.rmtree(path)

    def prune(self, keep: set[str]) -> list[str]:
        """Remove every product whose folder is not named in ``keep``; return what was removed."""
        removed = []
        for path in sorted(self.folder.iterdir()) if self.folder.exists() else []:
            if path.is_dir() and path.name not in keep:
                shutil.rmtree(path)
                removed.append(path.name)
        return removed


def damage(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The files of a product that are missing, of the wrong length or altered; none means it can be used."""
    wrong = []
    for name, expected in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"{name} is missing")
        elif path.stat().st_size != expected["bytes"]:
            wrong.append(f"{name} has {path.stat().st_size} bytes, not {expected['bytes']}")
        elif checksum(path) != expected["sha256"]:
            wrong.append(f"{name} was altered")
    return wrong


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` so that ``path`` holds the old text or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    _write_durably(temporary, text)
    os.replace(temporary, path)


def _filename(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)


def _walk(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def _describe(path: Path) -> dict[str, Any]:
    _sync(path)
    return {"bytes": path.stat().st_size, "sha256": checksum(path)}


def _distinct(caught: list[warnings.WarningMessage]) -> list[str]:
    ignored = (DeprecationWarning, PendingDeprecationWarning, ResourceWarning)
    return list(dict.fromkeys(str(w.message) for w in caught if not issubclass(w.category, ignored)))


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        complete = {"files", "warnings", "seconds"} <= set(manifest)
    except (OSError, ValueError, TypeError):
        return None
    return manifest if complete else None


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    """Flush a file or folder to disk, where the file system allows it."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some network file systems refuse to sync folders; the rename is still atomic
    finally:
        os.close(descriptor)
