"""CMIP5 and CMIP6 on disk: names, runs, coverage, and opening with quarantine."""

from climanchor.archive.drs import Facets, cmip5_path, cmip6_path, parse_filename, parse_path

__all__ = ["Facets", "cmip5_path", "cmip6_path", "parse_filename", "parse_path"]
