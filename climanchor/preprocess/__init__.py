"""From fields as models write them to field, forced response and decadal variability on one grid."""

from climanchor.preprocess.annual import annual_mean
from climanchor.preprocess.anomaly import ReferencePeriodError, anomalies
from climanchor.preprocess.grids import Cells, Grid, GridError, regular_grid
from climanchor.preprocess.regridding import regrid
from climanchor.preprocess.weight_files import read_weights, write_weights
from climanchor.preprocess.weights import Weights, make_weights

__all__ = [
    "Cells",
    "Grid",
    "GridError",
    "ReferencePeriodError",
    "Weights",
    "annual_mean",
    "anomalies",
    "make_weights",
    "read_weights",
    "regrid",
    "regular_grid",
    "write_weights",
]
