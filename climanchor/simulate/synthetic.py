"""The synthetic archive: a multi-model ensemble in the folders and files of CMIP5 and CMIP6, with known truth."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climanchor.simulate.files import read_key
from climanchor.simulate.plan import Job, Settings, plan
from climanchor.simulate.workers import run_here, run_in_processes

Progress = Callable[[int, int, str], None]
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Archive:
    """What :func:`write_archive` leaves on disk.

    ``files`` are all files of the request, by path below ``root``; ``written`` of them are new, ``reused`` were there
    already. ``truth`` gives the file of each model's forced response and DIV, ``observations`` the pseudo-observations.

    >>> folder = Path("archive")
    >>> Archive(folder, (), 0, 75, {"CESM2": folder / "truth" / "CESM2.nc"}, folder / "observations.nc").reused
    75
    """

    root: Path
    files: tuple[str, ...]
    written: int
    reused: int
    truth: Mapping[str, Path]
    observations: Path


def write_archive(
    root: str | os.PathLike[str],
    *,
    size: str = "demo",
    seed: int = 0,
    models: Sequence[str] | None = None,
    members: int | Mapping[str, int] | None = None,
    years: tuple[int, int] | None = None,
    workers: int | None = None,
    progress: bool | Progress = False,
    overwrite: bool = False,
) -> Archive:
    """Write a synthetic archive of the seven models of the study: monthly ``tas`` as ESGF would serve it.

    Each model's file tree, file splits, calendar, years, member labels and kind of grid are those of its real runs.
    Temperature in K is a mean state with seasons, coasts and mountains, plus

    - the forced response: greenhouse, aerosol, volcanic (real dates) and solar forcing through a two-box energy
      balance with the model's own sensitivity, each agent with the model's own pattern;
    - internal variability: decadal modes, an El Niño mode and smooth weather. The decadal modes are as strong
      as the model's real magnitude of decadal internal variability (DIV) asks for.

    It follows the causal graph forcing → forced response → field ← internal variability; nothing is tuned to
    any estimator.

    It differs from CMIP in that the forced and internal parts add up (no change of variability with warming, no
    volcano that starts an El Niño); the modes are linear, Gaussian and of fixed pattern; weather has no fronts and
    nothing smaller than six degrees; the models share one family of patterns and one forcing history, so they are
    more alike than real ones; control runs drift linearly and historical runs do not drift; members begin
    independently of the control run they name as their parent.

    Parameters
    ----------
    root : folder to write to; it then holds ``CMIP6/``, ``cmip5/``, ``observations/``, ``truth/`` and a manifest.
    size : ``tiny`` (three members, some 12° grids, a few seconds: for tests), ``demo`` (50 members, some 6° grids,
        below 300 MB) or ``full`` (the paper's 131 members on the models' own grids, some 20 GB).
        All have every year.
    seed : of the draws; the same seed gives the same values whatever the number of workers. The models' climates
        do not depend on it.
    models : names of the models; all seven when ``None``.
    members : how many members of each model: a number, or a number by model; that of ``size`` when ``None``.
    years : first and last year kept of the historical runs, both included; all when ``None``. The values of a
        year do not depend on it.
    workers : processes that write; by default one for ``tiny`` and one per processor, up to eight, otherwise.
    progress : ``True`` draws a bar on the terminal; a function is called with the jobs done, their number and
        the path just written.
    overwrite : replace an archive of other parameters in the same folder (only the files it lists as its own).

    Returns
    -------
    Archive

    Raises
    ------
    ValueError
        An unknown size, model or number of members, or a folder that holds an archive of other parameters.
    RuntimeError
        A worker failed; the message names the file. What was written stays and is reused.

    Notes
    -----
    Files are complete or absent, and those already written with the same parameters are kept: an interrupted call
    is finished by repeating it. More models or members may be added to a folder by later calls.
    Besides monthly runs there are ``areacella`` and ``sftlf``, one control run per model, monthly
    pseudo-observations (gaps, errors; of a world that is none of the models), and for each model the truth:
    ``forced`` (year, lat, lon) on the model's grid and ``div`` (member, year), both from 1850–1900.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     archive = write_archive(folder, size="tiny", models=["HadCM3"], members=1, years=(1859, 1880))
    ...     print(archive.files[3].rpartition("/")[2])
    tas_Amon_HadCM3_historical_r1i1p1_185912-188012.nc
    """
    settings, folder = Settings.choose(size, seed, models, members, years), Path(root)
    known = _claim(folder, settings, overwrite)
    jobs = plan(settings)
    wanted = _missing(jobs, folder)
    count = _workers(workers, settings)
    report = _bar(len(wanted)) if progress is True else nullcontext(progress or None)
    with report as tell:
        finished = 0

        def done(number: int) -> None:
            nonlocal finished
            finished += 1
            if tell:
                tell(finished, len(wanted), jobs[number].outputs[-1])

        if count == 1 or len(wanted) < 2:
            run_here(settings, folder, wanted, done)
        else:
            run_in_processes(settings, folder, wanted, done, count)
    files = tuple(output for job in jobs for output in job.outputs)
    _write_manifest(folder, settings, sorted({*known, *files}))
    written = sum(len(outputs) for outputs in wanted.values())
    truth = {job.model: folder / job.outputs[0] for job in jobs if job.kind == "truth"}
    return Archive(folder, files, written, len(files) - written, truth, folder / jobs[0].outputs[0])


def _workers(workers: int | None, settings: Settings) -> int:
    if workers is None:
        return 1 if settings.size == "tiny" else min(os.cpu_count() or 1, 8)
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    return workers


def _missing(jobs: Sequence[Job], root: Path) -> dict[int, tuple[str, ...]]:
    """Outputs that are not there with the key of their job, by number of the job."""
    missing = {
        number: tuple(output for output in job.outputs if read_key(root / output) != job.key)
        for number, job in enumerate(jobs)
    }
    return {number: outputs for number, outputs in missing.items() if outputs}


def _claim(root: Path, settings: Settings, overwrite: bool) -> list[str]:
    """Check that the folder may hold this archive; returns the files of it that are listed already."""
    path = root / _MANIFEST
    old = json.loads(path.read_text()) if path.exists() else {"files": []}
    known: list[str] = old.pop("files")
    if old and old != json.loads(json.dumps(settings.shared)):
        if not overwrite:
            raise ValueError(
                f"{root} holds a synthetic archive with other parameters ({_listed(old)}; asked for"
                f" {_listed(settings.shared)}): choose another folder, or overwrite=True to replace it"
            )
        for name in known:
            (root / name).unlink(missing_ok=True)
        known = []
    # Whoever resumes after an interruption must find the parameters and every file that may be there.
    planned = {output for job in plan(settings) for output in job.outputs}
    _write_manifest(root, settings, sorted({*known, *planned}))
    return known


def _listed(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parameters.items())


def _write_manifest(root: Path, settings: Settings, files: Sequence[str]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    partial = root / f"{_MANIFEST}.{os.getpid()}.part"
    partial.write_text(json.dumps({**settings.shared, "files": list(files)}, indent=1) + "\n")
    partial.replace(root / _MANIFEST)


def _bar(total: int) -> AbstractContextManager[Progress]:
    """A progress bar on the terminal that takes the same calls as a function of the user's."""
    from rich.progress import Progress as Bar  # only where a bar is drawn

    class Shown(AbstractContextManager[Progress]):
        def __enter__(self) -> Progress:
            self.bar = Bar(transient=True)
            self.bar.start()
            task = self.bar.add_task("Synthetic archive", total=total)
            return lambda done, _, path: self.bar.update(task, completed=done)

        def __exit__(self, *_: Any) -> None:
            self.bar.stop()

    return Shown()
