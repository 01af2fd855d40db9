"""CMIP5 and CMIP6 on disk: names, runs, coverage, and opening with quarantine."""

from climanchor.archive.drs import Facets, cmip5_path, cmip6_path, parse_filename, parse_path
from climanchor.archive.find import find_runs
from climanchor.archive.integrity import BadFileError
from climanchor.archive.runs import Problem, Run, Runs, describe_run

__all__ = [
    "BadFileError",
    "Facets",
    "Problem",
    "Run",
    "Runs",
    "cmip5_path",
    "cmip6_path",
    "describe_run",
    "find_runs",
    "parse_filename",
    "parse_path",
]
