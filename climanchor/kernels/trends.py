"""Numbers of time series: trends, autocorrelation, rank correlation, many tests at once, emergence.

Time is the first axis of every array; what follows it is carried along, so a field costs one call.
Missing values are the caller's business: a NaN anywhere in a series makes its result NaN.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]


def trend_weights(length: int) -> Array:
    """Weights ``w`` with ``w'y`` the least-squares slope of ``y`` per time step.

    ``w = (t − t̄) / Σ(t − t̄)²`` for ``t = 0 … length − 1``.

    >>> trend_weights(3)
    array([-0.5,  0. ,  0.5])
    """
    if length < 2:
        raise ValueError(f"a trend needs at least two time steps, got {length}")
    time = np.arange(length, dtype=np.float64)
    time -= time.mean()
    weights: Array = time / (time @ time)
    return weights


def trend(y: ArrayLike) -> Array:
    """Least-squares slope of ``y (time, ...)`` per time step.

    >>> float(trend([1.0, 3.0, 5.0]))
    2.0
    """
    y = np.asarray(y, dtype=np.float64)
    return np.asarray(np.tensordot(trend_weights(y.shape[0]), y, axes=1))


def trend_residuals(y: ArrayLike) -> Array:
    """What ``y (time, ...)`` leaves around its least-squares line."""
    y = np.asarray(y, dtype=np.float64)
    time = np.arange(y.shape[0], dtype=np.float64)
    time = (time - time.mean()).reshape(-1, *[1] * (y.ndim - 1))
    residuals: Array = y - y.mean(axis=0) - time * trend(y)
    return residuals


def autocorrelation(y: ArrayLike, *, lag: int = 1) -> Array:
    """Sample autocorrelation of ``y (time, ...)`` at one lag.

    ``Σ z_t z_{t+lag} / Σ z_t²`` with ``z = y − ȳ``. Constant series have none and give NaN.

    >>> float(autocorrelation([1.0, 2.0, 3.0, 4.0]))
    0.25
    """
    y = np.asarray(y, dtype=np.float64)
    if not 0 <= lag < y.shape[0]:
        raise ValueError(f"lag must lie in 0 … {y.shape[0] - 1} for {y.shape[0]} time steps, got {lag}")
    z = y - y.mean(axis=0)
    total = (z**2).sum(axis=0)
    shared = (z[: z.shape[0] - lag] * z[lag:]).sum(axis=0)
    return np.asarray(np.divide(shared, total, out=np.full_like(total, np.nan), where=total > 0))


def effective_size(size: ArrayLike, correlation: ArrayLike) -> Array:
    """Number of independent values that ``size`` values of an AR(1) series are worth.

    ``size (1 − r) / (1 + r)``, never more than ``size``: negative autocorrelation earns no credit.
    Give ``r²`` for ``r`` when a *variance about a known mean* is estimated: squares of a Gaussian
    series with autocorrelation ``r`` have autocorrelation ``r²``.

    >>> float(effective_size(40, 0.5))
    13.333333333333334
    """
    r = np.clip(np.asarray(correlation, dtype=np.float64), 0.0, 1.0)
    worth: Array = np.asarray(size, dtype=np.float64) * (1 - r) / (1 + r)
    return worth


def trend_standard_error(y: ArrayLike, *, adjust: bool = True) -> Array:
    """Standard error of :func:`trend`, per time step.

    ``s / √Σ(t − t̄)²`` with ``s² = Σe² / (n_e − 2)`` from the residuals ``e``. ``n_e`` is the number of
    time steps or, with ``adjust``, their effective number for the residuals' lag-1 autocorrelation.
    Where fewer than two and a bit effective steps remain the error is unknown: infinite.
    """
    y = np.asarray(y, dtype=np.float64)
    length = y.shape[0]
    residuals = trend_residuals(y)
    size = np.full(residuals.shape[1:], float(length))
    if adjust:
        r = autocorrelation(residuals)
        size = effective_size(length, np.where(np.isnan(r), 0.0, r))
    freedom = size - 2
    scale = np.divide((residuals**2).sum(axis=0), freedom, out=np.full_like(size, np.inf), where=freedom > 1e-9)
    return np.asarray(np.sqrt(scale * (trend_weights(length) ** 2).sum()))


def correlation(y: ArrayLike, reference: ArrayLike, *, ranks: bool = True) -> Array:
    """Correlation of ``y (time, ...)`` with one series ``reference (time,)``.

    Spearman's with ``ranks`` (ties share their mean rank), Pearson's without. Constant series give NaN.

    >>> float(correlation([1.0, 2.0, 9.0], [0.0, 1.0, 1.5]))
    1.0
    """
    values, x = np.asarray(y, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if x.shape != values.shape[:1]:
        raise ValueError(f"reference must be one series of {len(values)} time steps, got shape {x.shape}")
    if ranks:
        missing = np.isnan(values).any(axis=0)
        values = np.where(missing, np.nan, rankdata(values, axis=0))
        x = rankdata(x)
    values, x = values - values.mean(axis=0), x - x.mean()
    scale = np.sqrt((values**2).sum(axis=0) * (x @ x))
    shared = np.tensordot(x, values, axes=1)
    ratio = np.divide(shared, scale, out=np.full_like(scale, np.nan), where=scale > 0)
    return np.asarray(np.clip(ratio, -1.0, 1.0))


def polynomial_residuals(y: ArrayLike, *, degree: int, time: ArrayLike | None = None) -> Array:
    """``y (time, ...)`` minus its least-squares polynomial in time (degree 0 removes the mean).

    ``time`` are the times of the steps where they are not equally spaced.
    """
    y = np.asarray(y, dtype=np.float64)
    basis = polynomial_basis(np.arange(y.shape[0]) if time is None else time, degree)
    residuals: Array = y - np.tensordot(basis, np.tensordot(basis.T, y, axes=1), axes=1)
    return residuals


def polynomial_basis(time: ArrayLike, degree: int) -> Array:
    """Orthonormal basis ``(time, degree + 1)`` of the polynomials of a degree."""
    time = np.asarray(time, dtype=np.float64)
    if not 0 <= degree < time.size:
        raise ValueError(f"degree must lie in 0 … {time.size - 1} for {time.size} time steps, got {degree}")
    scaled = (time - time.mean()) / (np.ptp(time) or 1.0)
    return np.linalg.qr(np.vander(scaled, degree + 1, increasing=True))[0]


def kept_trend_variance(length: int, *, start: int, window: int, degree: int) -> float:
    """Share of a window's trend variance that survives removing a polynomial from the whole series.

    For white noise: ``|Mw|² / |w|²`` with ``w`` the trend weights of the window, ``M`` the residual
    maker of the polynomial on all ``length`` steps. One for degree 0; for degree 1 it is
    close to ``1 − (window / length)³``, and zero when the window is the whole series.

    >>> round(kept_trend_variance(80, start=0, window=40, degree=1), 4)
    0.8751
    """
    if not (start >= 0 and start + window <= length):
        raise ValueError(f"a window of {window} from step {start} does not fit in {length} time steps")
    weights = np.zeros(length)
    weights[start : start + window] = trend_weights(window)
    return float(1 - ((polynomial_basis(np.arange(length), degree).T @ weights) ** 2).sum() / (weights @ weights))


def adjust_p_values(p_values: ArrayLike) -> Array:
    """Benjamini–Hochberg adjusted p-values: rejecting those ≤ q keeps the false-discovery rate below q.

    ``min over j ≥ i of p_(j) n / j`` for the sorted p-values; NaN (cells not tested) stay NaN and do not
    count. Holds for independent and positively dependent tests, which fields of temperature are.

    >>> adjust_p_values([0.01, 0.04, 0.03, np.nan])
    array([0.03, 0.04, 0.04,  nan])
    """
    p = np.asarray(p_values, dtype=np.float64)
    valid = ~np.isnan(p)
    tested = p[valid]
    if ((tested < 0) | (tested > 1)).any():
        raise ValueError("p-values must lie in [0, 1]")
    order = np.argsort(tested)[::-1]
    scaled = tested[order] * tested.size / np.arange(tested.size, 0, -1)
    adjusted = np.full(p.shape, np.nan)
    values = np.empty_like(tested)
    values[order] = np.minimum.accumulate(np.minimum(scaled, 1.0))
    adjusted[valid] = values
    return adjusted


def emergence(signal: ArrayLike, threshold: ArrayLike) -> Array:
    """First index after which ``|signal| (time, ...)`` stays above the threshold with one sign; NaN if never.

    >>> float(emergence([0.0, 3.0, 1.0, 2.5, 4.0], 2.0))
    3.0
    """
    signal = np.asarray(signal, dtype=np.float64)
    sign = np.sign(signal[-1])
    above = signal * sign > threshold
    staying = np.logical_and.accumulate(above[::-1], axis=0).sum(axis=0)
    first = (signal.shape[0] - staying).astype(np.float64)
    return np.where(staying > 0, first, np.nan)
