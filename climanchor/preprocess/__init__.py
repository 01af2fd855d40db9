"""From fields as models write them to field, forced response and decadal variability on one grid."""

from climanchor.preprocess.annual import annual_mean
from climanchor.preprocess.anomaly import ReferencePeriodError, anomalies
from climanchor.preprocess.averages import global_mean
from climanchor.preprocess.grids import Cells, Grid, GridError, regular_grid
from climanchor.preprocess.magnitude import PUBLISHED_CLASSES, div_magnitude
from climanchor.preprocess.masks import land_mask
from climanchor.preprocess.periods import common_period
from climanchor.preprocess.pipeline import prepare
from climanchor.preprocess.regridding import regrid
from climanchor.preprocess.storage import open_prepared, save_prepared
from climanchor.preprocess.variability import decadal_variability, forced_response
from climanchor.preprocess.weight_files import read_weights, write_weights
from climanchor.preprocess.weights import Weights, make_weights

__all__ = [
    "PUBLISHED_CLASSES",
    "Cells",
    "Grid",
    "GridError",
    "ReferencePeriodError",
    "Weights",
    "annual_mean",
    "anomalies",
    "common_period",
    "decadal_variability",
    "div_magnitude",
    "forced_response",
    "global_mean",
    "land_mask",
    "make_weights",
    "open_prepared",
    "prepare",
    "read_weights",
    "regrid",
    "regular_grid",
    "save_prepared",
    "write_weights",
]
