"""The user's settings: a small YAML file, the same for every recipe.

``config.yml`` in ``$CLIMANCHOR_CONFIG`` (a folder), else in ``climanchor/`` under ``$XDG_CONFIG_HOME``,
``~/.config`` or, on Windows, ``%APPDATA%``. It holds what belongs to the machine and not to the science::

    dask: threads            # threads, processes, slurm, or the address of a scheduler
    workers: 4               # threads or processes; all cores when left out
    blas_threads: 1          # threads of one matrix product or eigenproblem
    slurm: {queue: compute, account: xy1234, cores: 8, memory: 24GB, walltime: "01:00:00", jobs: 4}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from climanchor.workflow.recipe import RecipeError
from climanchor.workflow.sections import Section
from climanchor.workflow.wording import error_line, mark, problem


class Slurm(Section):
    """What ``--dask slurm`` asks of the scheduler; the names are those of dask-jobqueue."""

    queue: str | None = None
    account: str | None = None
    cores: int = Field(default=1, ge=1)
    processes: int = Field(default=1, ge=1)
    memory: str = "4GB"
    walltime: str = Field(default="01:00:00", pattern=r"^(\d+-)?\d{1,2}:\d{2}:\d{2}$")
    jobs: int = Field(default=2, ge=1)
    interface: str | None = None
    python: str | None = None
    local_directory: str | None = None
    job_extra_directives: list[str] = Field(default_factory=list)
    job_script_prologue: list[str] = Field(default_factory=list)
    wait_seconds: int = Field(default=600, ge=1)


class Config(Section):
    """The settings of ``config.yml``; every one has a default.

    With one BLAS thread the results are the same to the last bit on any number of cores, and a busy machine does
    not make the threads wait for one another. On a machine of one's own, with grids much finer than 5°, more
    threads make the fits faster; the results then agree to rounding.
    """

    dask: str = "threads"
    workers: int | None = Field(default=None, ge=1)
    blas_threads: int = Field(default=1, ge=1)
    slurm: Slurm = Slurm()


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the settings are read from, whether or not the file exists."""
    if environ.get("CLIMANCHOR_CONFIG"):
        return Path(environ["CLIMANCHOR_CONFIG"]).expanduser() / "config.yml"
    home = environ.get("XDG_CONFIG_HOME") or environ.get("APPDATA") or "~/.config"
    return Path(home).expanduser() / "climanchor" / "config.yml"


def load_config(path: Path | None = None) -> Config:
    """Read and validate the settings; defaults where there is no file. Raises :class:`RecipeError`."""
    path = path or config_path()
    if not path.is_file():
        return Config()
    try:
        text = path.read_text(encoding="utf-8")
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        return Config.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        raise RecipeError(f"{path}{mark(error)}: not valid YAML: {problem(error)}") from None
    except ValidationError as errors:
        lines = [error_line(e, Config, tree, str(path)) for e in errors.errors()]
        raise RecipeError("\n".join(lines)) from None
