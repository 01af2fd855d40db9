"""Data sets of the paper beside the climate archives."""

from climanchor.datasets.uci import air_quality

__all__ = ["air_quality"]
