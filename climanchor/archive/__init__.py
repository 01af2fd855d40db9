"""CMIP5 and CMIP6 on disk: names, runs, coverage, and opening with quarantine."""

from climanchor.archive.catalogue import read_catalogue
from climanchor.archive.coverage import coverage, coverage_years, format_coverage
from climanchor.archive.drs import Facets, cmip5_path, cmip6_path, parse_filename, parse_path
from climanchor.archive.find import find_runs
from climanchor.archive.integrity import BadFileError
from climanchor.archive.memory import MemoryEstimate, memory_estimate
from climanchor.archive.opening import ArchiveError, AssumptionWarning, open_runs, problems
from climanchor.archive.runs import Problem, Run, Runs, describe_run
from climanchor.archive.verify import verify_runs

__all__ = [
    "ArchiveError",
    "AssumptionWarning",
    "BadFileError",
    "Facets",
    "MemoryEstimate",
    "Problem",
    "Run",
    "Runs",
    "cmip5_path",
    "cmip6_path",
    "coverage",
    "coverage_years",
    "describe_run",
    "find_runs",
    "format_coverage",
    "memory_estimate",
    "open_runs",
    "parse_filename",
    "parse_path",
    "problems",
    "read_catalogue",
    "verify_runs",
]
