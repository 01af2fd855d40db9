"""Where a result came from: machine, versions, command, files; written beside the products, never inside."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from climanchor._version import __version__
from climanchor.workflow.identity import checksum, tracking_id
from climanchor.workflow.session import Session
from climanchor.workflow.store import write_atomically

#: The packages whose version can change a number.
PACKAGES = (
    "numpy", "scipy", "scikit-learn", "xarray", "dask", "distributed", "pandas", "netCDF4", "cftime", "shapely",
    "matplotlib", "cartopy", "pydantic",
)  # fmt: skip


def environment() -> dict[str, Any]:
    """Versions, machine and command of this process."""
    return {
        "climanchor": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": platform.node(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count(),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "folder": str(Path.cwd()),
        "batch_job": os.environ.get("SLURM_JOB_ID"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def describe_files(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Every input file with its size and its tracking id, or its checksum where it has none."""
    rows = []
    for path in sorted(set(paths)):
        row: dict[str, Any] = {"path": str(path), "bytes": path.stat().st_size if path.exists() else None}
        row["tracking_id"] = tracking_id(path)
        row["sha256"] = None if row["tracking_id"] else checksum(path)
        rows.append(row)
    return rows


def describe_steps(session: Session) -> list[dict[str, Any]]:
    """Every product of a run: its key, what it took when it was made, and whether it was made now."""
    made = {step.key for step in session.made}
    steps = {step.key: step for step in (*session.reused, *session.made)}
    return [
        {
            "step": steps[key].title,
            "product": product.folder.name,
            "seconds": product.manifest["seconds"],
            "made": "now" if key in made else "earlier",
            "files": {name: entry["sha256"] for name, entry in product.manifest["files"].items()},
        }
        for key, product in session.products.items()
    ]


def write_json(path: Path, content: Any) -> None:
    """Write ``content`` as readable JSON, whole or not at all."""
    write_atomically(path, json.dumps(content, indent=1, default=str) + "\n")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
