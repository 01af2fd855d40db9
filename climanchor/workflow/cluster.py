"""Where the work runs: threads, local processes, SLURM jobs, or a scheduler that already runs.

The profiles differ in where, never in what: every one computes the same graph. A ``distributed`` client that is
already active is used as it is. ``distributed`` and ``dask-jobqueue`` are imported only when a profile needs them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import dask
from threadpoolctl import threadpool_limits

from climanchor.workflow.config import Config, Slurm
from climanchor.workflow.recipe import RecipeError
from climanchor.workflow.wording import suggest

PROFILES = ["threads", "processes", "slurm"]


class ClusterError(RuntimeError):
    """The cluster did not start, or could not be reached."""


@contextlib.contextmanager
def cluster(profile: str, config: Config) -> Iterator[str]:
    """Compute with ``profile`` inside the block; yields one line that says where.

    Raises :class:`RecipeError` for a profile that does not exist and :class:`ClusterError` when workers do not come.
    """
    check_profile(profile)
    if profile == "threads" and _has_active_client():
        with _limited(config):
            yield "the active dask client"
        return
    if profile == "threads":
        workers = config.workers or cores()
        with dask.config.set(scheduler="threads", num_workers=workers), _limited(config):
            yield f"{workers} threads of this process"
        return
    with _client(profile, config) as (client, where), _limited(config):
        yield f"{where}; dashboard {client.dashboard_link}"


def _has_active_client() -> bool:
    """Whether this process already works for a ``distributed`` scheduler; never imports ``distributed``."""
    distributed: Any = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_client()
    except ValueError:
        return False
    return True


def _limited(config: Config) -> Any:
    """Hold BLAS to the threads of the settings, so that they do not multiply with dask's."""
    return threadpool_limits(config.blas_threads, user_api="blas")


def check_profile(profile: str) -> None:
    """Refuse a profile that is neither known nor an address."""
    if profile not in PROFILES and not re.match(r"^(tcp|tls|ucx|ws|wss|inproc)://\S+$", profile):
        raise RecipeError(
            f"--dask {profile} is not a profile{suggest(profile, PROFILES)} (or the address of a scheduler, tcp://…)"
        )


def cores() -> int:
    """The cores this process may use: what the batch system or the affinity mask grants, not what exists."""
    granted = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if granted.isdigit():
        return int(granted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _client(profile: str, config: Config) -> Iterator[tuple[Any, str]]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise ClusterError(
            f"--dask {profile} needs distributed: pip install 'climanchor[hpc]' (or use --dask threads)"
        ) from None
    with contextlib.ExitStack() as stack:
        if profile == "processes":
            workers = config.workers or cores()
            local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            stack.enter_context(local)
            client, where = stack.enter_context(distributed.Client(local)), f"{workers} local processes"
        elif profile == "slurm":
            jobs = stack.enter_context(_slurm_cluster(config.slurm))
            client = stack.enter_context(distributed.Client(jobs))
            where = f"{config.slurm.jobs} SLURM jobs"
            _wait_for_workers(client, config.slurm)
        else:
            try:
                client = stack.enter_context(distributed.Client(profile, timeout=20))
            except (OSError, TimeoutError) as error:
                raise ClusterError(f"no dask scheduler answers at {profile} ({error})") from None
            where = f"the scheduler at {profile}"
        yield client, where


def _slurm_cluster(slurm: Slurm) -> Any:
    try:
        jobqueue: Any = importlib.import_module("dask_jobqueue")
    except ImportError:
        raise ClusterError("--dask slurm needs dask-jobqueue: pip install 'climanchor[hpc]'") from None
    given = slurm.model_dump(exclude={"jobs", "wait_seconds"}, exclude_none=True)
    return jobqueue.SLURMCluster(n_workers=slurm.jobs * slurm.processes, **given)


def _wait_for_workers(client: Any, slurm: Slurm) -> None:
    """Go on as soon as one worker is there; more join as the scheduler starts them."""
    try:
        client.wait_for_workers(1, timeout=slurm.wait_seconds)
    except TimeoutError:
        raise ClusterError(
            f"no SLURM job started within {slurm.wait_seconds} s: look at squeue, or raise slurm.wait_seconds"
        ) from None
