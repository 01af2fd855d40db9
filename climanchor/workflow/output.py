"""The output folder: ``index.html``, ``metrics.json``, ``figures/``, ``data/`` and ``run/``."""

from __future__ import annotations

import fnmatch
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from climanchor.workflow.session import Session
from climanchor.workflow.store import Step

#: What belongs to the results; everything else in the folder is the user's and is left alone.
FOLDERS = ("figures", "data")


def publish_products(steps: Iterable[Step], session: Session, output: Path) -> None:
    """Show the products of this run under their names, and remove those that earlier recipes left there."""
    wanted: dict[str, Path] = {}
    for step in steps:
        product = session.products[step.key]
        for pattern, target in step.publish.items():
            for name in fnmatch.filter(product.manifest["files"], pattern):
                wanted[f"{target}{name}" if target.endswith("/") else target] = product.file(name)
    publish(wanted, output)


def publish(wanted: Mapping[str, Path], output: Path) -> None:
    """Link (or, across file systems, copy) each file into ``output``; ``wanted`` maps target to source."""
    for folder in FOLDERS:
        for path in sorted((output / folder).rglob("*"), reverse=True):
            if path.is_file() and str(path.relative_to(output)) not in wanted:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
    for target, source in wanted.items():
        _place(source, output / target)


def _place(source: Path, target: Path) -> None:
    """Put a file in place in one move, so that a reader never sees a part of it."""
    if target.exists() and target.samefile(source):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        os.link(source, draft)
    except OSError:
        shutil.copyfile(source, draft)
    os.replace(draft, target)
