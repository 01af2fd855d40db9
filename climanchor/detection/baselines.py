"""Simple estimates of the forced response of one realization, for fingerprints to stand beside.

Arrays are (year, cell), each cell freed of its mean over the years; ``areas`` sum to one over cells.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from climanchor.kernels.trends import polynomial_residuals

Array = NDArray[np.float64]


def raw(field: Array, areas: Array) -> Array:
    """The realization itself."""
    return field


def regression_on_global_mean(field: Array, areas: Array) -> Array:
    """Every cell's least-squares regression on the realization's own global mean (RegGMST)."""
    mean = field @ areas
    estimate: Array = np.outer(mean, (mean @ field) / (mean @ mean))
    return estimate


def low_pass(field: Array, areas: Array, *, period: float = 10.0, order: int = 4) -> Array:
    """Every cell without its variations faster than ten years: Butterworth, applied forwards and back."""
    sections = butter(order, 2 / period, output="sos")
    length = min(len(field) - 1, 3 * int(period))
    return np.asarray(sosfiltfilt(sections, field, axis=0, padlen=length))


def polynomial(field: Array, areas: Array, *, degree: int = 4) -> Array:
    """Every cell's least-squares polynomial in time, of fourth order."""
    return field - polynomial_residuals(field, degree=degree)


#: The estimates made from the realization alone, by the name they have in a scorecard.
BASELINES = {
    "RAW": raw,
    "RegGMST": regression_on_global_mean,
    "10-year low-pass": low_pass,
    "4th-order polynomial": polynomial,
}
