"""Centred running means that never invent the ends of a series."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Edges = Literal["complete", "shrink", "zero"]


def running_mean(values: ArrayLike, *, window: int, edges: Edges = "complete", axis: int = -1) -> NDArray[np.float64]:
    """Centred mean over ``window`` consecutive steps; the result has the shape of ``values``.

    Step t is the mean of steps ``t - window // 2, …, t - window // 2 + window - 1``: an even window of ten
    averages five steps before t, t itself and four after, and its true centre is half a step before t.

    Parameters
    ----------
    values : array
        Missing steps are NaN.
    window : int, at least 1
    edges : {"complete", "shrink", "zero"}
        What a window that leaves the series or meets a missing step gives. ``complete``: NaN.
        ``shrink``: the mean of the steps it does hold, if they are more than half. ``zero``: absent
        steps count as zeros, which shrinks the spread at the ends (kept to compare with published series).

    >>> running_mean([1.0, 2.0, 3.0, 4.0], window=2).tolist()
    [nan, 1.5, 2.5, 3.5]
    """
    if isinstance(window, bool) or int(window) != window or window < 1:
        raise ValueError(f"window must be a whole number of steps, at least 1; got {window!r}")
    if edges not in get_args(Edges):
        raise ValueError(f"edges must be one of {get_args(Edges)}; got {edges!r}")
    series = np.moveaxis(np.asarray(values, dtype=float), axis, -1)
    before = window // 2
    pad = [(0, 0)] * (series.ndim - 1) + [(before, window - 1 - before)]
    padded = np.pad(series, pad, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window, axis=-1)
    if edges == "complete":
        mean = windows.mean(axis=-1)
    else:
        held = np.sum(~np.isnan(windows), axis=-1)
        total = np.nansum(windows, axis=-1)
        if edges == "zero":
            mean = np.where(np.isnan(series), np.nan, total / window)
        else:
            mean = np.where(2 * held > window, total / np.maximum(held, 1), np.nan)
    return np.moveaxis(mean, -1, axis)
