"""The command line: ``climanchor demo``, ``run``, ``recipes``, ``data check``, ``simulate``, ``config``.

Exit codes, for schedulers and scripts:

====  ==========================================================================================
0     done
1     a step failed; what was finished is kept
2     the command line, the recipe or the settings are wrong
3     the data are missing or not enough
4     the output folder is in use by another run
5     the cluster could not be started or reached
130   interrupted from the keyboard; what was finished is kept: run the same command again
143   ended by the scheduler (SIGTERM), likewise
====  ==========================================================================================
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from climanchor._version import __version__

DONE, FAILED, WRONG, NO_DATA, IN_USE, NO_CLUSTER, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 4, 5, 130, 143
EXIT_CODES = "exit codes:\n" + re.split(r"={4}  =+\n", __doc__)[1] if __doc__ else ""


class _Terminated(BaseException):
    """SIGTERM, turned into an exception so that locks and files are released on the way out."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # figures go to files; compute nodes have no display
    parsed = parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = parsed.command
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        return _guarded(command, parsed)
    except KeyboardInterrupt:
        return _say("interrupted: what was finished is kept, run the same command again to go on", INTERRUPTED)
    except _Terminated:
        return _say("ended by SIGTERM: what was finished is kept, run the same command again to go on", TERMINATED)
    except BrokenPipeError:  # `climanchor recipes show demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    finally:
        signal.signal(signal.SIGTERM, previous)


def _guarded(command: Callable[[argparse.Namespace], int], parsed: argparse.Namespace) -> int:
    from climanchor.workflow.cluster import ClusterError
    from climanchor.workflow.lock import FolderInUse
    from climanchor.workflow.recipe import RecipeError
    from climanchor.workflow.session import NotEnoughData, StepFailed

    codes = {
        RecipeError: WRONG,
        NotEnoughData: NO_DATA,
        FolderInUse: IN_USE,
        ClusterError: NO_CLUSTER,
        StepFailed: FAILED,
    }
    try:
        return command(parsed)
    except tuple(codes) as error:
        return _say(f"error: {error}", next(code for kind, code in codes.items() if isinstance(error, kind)))


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def _say(text: str, code: int) -> int:
    print(text, file=sys.stderr, flush=True)
    return code


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(
        "climanchor", description="Anchor-regularised fingerprints of climate change.", epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"climanchor {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run the main job on a synthetic archive; needs no data")
    _add_running(demo)
    demo.set_defaults(command=_run, recipe="demo", root=None)

    run = commands.add_parser("run", help="run a recipe; run it again to go on where it was")
    run.add_argument("recipe", metavar="RECIPE", help="a file, or the name of a recipe that comes with climanchor")
    run.add_argument("--root", action="append", metavar="DIR", help="folder of CMIP files, instead of the recipe's")
    _add_running(run)
    run.set_defaults(command=_run)

    recipes = commands.add_parser("recipes", help="recipes that come with climanchor")
    verbs = recipes.add_subparsers(required=True, metavar="VERB")
    verbs.add_parser("list", help="list them").set_defaults(command=_list_recipes)
    for verb, what, action in (("show", "print one", _show_recipe), ("get", "copy one here to edit", _get_recipe)):
        one = verbs.add_parser(verb, help=what)
        one.add_argument("recipe", metavar="NAME")
        one.set_defaults(command=action)
        if verb == "get":
            one.add_argument("target", nargs="?", default=".", metavar="TARGET", help="file or folder; here by default")

    data = commands.add_parser("data", help="look at data before using them")
    check = data.add_subparsers(required=True, metavar="VERB").add_parser("check", help="what is there, what is wrong")
    _add_check(check)

    simulate = commands.add_parser("simulate", help="write the synthetic archive")
    simulate.add_argument("root", type=Path, metavar="ROOT")
    simulate.add_argument("--size", default="demo", help="tiny, demo or full (default: demo)")
    simulate.add_argument("--seed", type=int, default=0)
    simulate.add_argument("--models", nargs="+", metavar="MODEL", help="only these models")
    simulate.add_argument("--workers", type=int, help="processes that write")
    simulate.set_defaults(command=_simulate)

    config = commands.add_parser("config", help="your settings")
    show = config.add_subparsers(required=True, metavar="VERB").add_parser("show", help="print them, and where from")
    show.set_defaults(command=_show_config)
    return top


def _add_running(command: argparse.ArgumentParser) -> None:
    command.add_argument("--output", type=Path, metavar="DIR", help="results go here (default: RECIPE-output)")
    command.add_argument("--dask", metavar="PROFILE", help="threads, processes, slurm, or the address of a scheduler")
    command.add_argument("--dry-run", action="store_true", help="say what would run and what is there; compute nothing")
    command.add_argument("--store", type=Path, metavar="DIR", help="keep products here, to share among output folders")
    command.add_argument("--prune", action="store_true", help="remove stored products that this recipe does not use")
    command.add_argument("--quiet", action="store_true", help="print only the result")


def _add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("root", nargs="+", type=Path, metavar="ROOT")
    check.add_argument("--variable", default="tas")
    check.add_argument("--experiment", default="historical", help="comma-separated, wildcards allowed")
    check.add_argument("--models", nargs="+", metavar="MODEL")
    check.add_argument("--figure", type=Path, metavar="FILE", help="draw member × year into FILE (.png or .pdf)")
    check.add_argument("--csv", type=Path, metavar="FILE", help="write the table to FILE")
    check.set_defaults(command=_check_data)


def _run(arguments: argparse.Namespace) -> int:
    from climanchor.workflow.library import find_recipe
    from climanchor.workflow.page import as_text
    from climanchor.workflow.preview import preview
    from climanchor.workflow.progress import Reporter
    from climanchor.workflow.runner import Options, run

    path = find_recipe(arguments.recipe)
    root = [Path(folder).expanduser().absolute() for folder in arguments.root] if arguments.root else None
    output = (arguments.output or Path(f"{path.stem}-output")).expanduser().absolute()
    store = arguments.store.expanduser().absolute() if arguments.store else None
    options = Options(output, root, arguments.dask, store, arguments.prune)
    reporter = Reporter(quiet=arguments.quiet)
    if arguments.dry_run:
        print(preview(path, options, reporter))
        return DONE
    result = run(path, options, reporter)
    print(as_text(result.table))
    print(f"Report: {result.report}")
    return DONE


def _list_recipes(arguments: argparse.Namespace) -> int:
    from climanchor.workflow.library import batch_scripts, recipe_folder, recipe_names, summary

    names = recipe_names()
    width = max(map(len, names))
    for name in names:
        print(f"{name:<{width}}  {summary(recipe_folder() / f'{name}.yml')}")
    for script in batch_scripts():
        print(f"{script.name:<{width}}  example batch script")
    return DONE


def _show_recipe(arguments: argparse.Namespace) -> int:
    from climanchor.workflow.library import find_recipe

    print(find_recipe(arguments.recipe).read_text(encoding="utf-8"), end="")
    return DONE


def _get_recipe(arguments: argparse.Namespace) -> int:
    from climanchor.workflow.library import find_recipe

    source, target = find_recipe(arguments.recipe), Path(arguments.target).expanduser()
    target = target / source.name if target.is_dir() else target
    if target.exists():
        return _say(f"error: {target} exists already: remove it, or name another file", WRONG)
    shutil.copyfile(source, target)
    print(target)
    return DONE


def _check_data(arguments: argparse.Namespace) -> int:
    from climanchor.workflow.check import check_data

    text, usable = check_data(
        [folder.expanduser() for folder in arguments.root], variable=arguments.variable,
        experiment=arguments.experiment.split(","), models=arguments.models, figure=arguments.figure, csv=arguments.csv,
    )  # fmt: skip
    print(text)
    return DONE if usable else NO_DATA


def _simulate(arguments: argparse.Namespace) -> int:
    from climanchor.simulate import write_archive

    try:
        archive = write_archive(
            arguments.root.expanduser(), size=arguments.size, seed=arguments.seed, models=arguments.models,
            workers=arguments.workers, progress=sys.stderr.isatty(),
        )  # fmt: skip
    except ValueError as error:
        return _say(f"error: {error}", WRONG)
    print(f"{archive.root}: {archive.written} files written, {archive.reused} already there")
    return DONE


def _show_config(arguments: argparse.Namespace) -> int:
    import yaml

    from climanchor.workflow.config import config_path, load_config

    path = config_path()
    print(f"# {path} ({'read' if path.is_file() else 'not there: these are the defaults'})")
    print(yaml.safe_dump(load_config().model_dump(), sort_keys=False), end="")
    return DONE
