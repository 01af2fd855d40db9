"""Adam with early stopping: the gradient descent by which IRM and CVP were published."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FIRST_DECAY, SECOND_DECAY, FLOOR = 0.9, 0.999, 1e-8


class Descent(NamedTuple):
    """Where a descent ended: the parameters with the best monitored value, and how many steps were taken."""

    best: Array
    n_iter: int
    stopped_early: bool


def adam(
    gradient: Callable[[Array], Array],
    start: Array,
    *,
    monitor: Callable[[Array], float],
    learning_rate: float = 0.1,
    patience: int = 200,
    tol: float = 1e-4,
    max_iter: int = 50_000,
) -> Descent:
    """Follow ``gradient`` by Adam until ``monitor`` has not fallen by ``tol`` for ``patience`` steps.

    ``monitor`` need not be the objective: IRM and CVP descend a penalised loss and watch the plain mean
    squared error. Returns the parameters at the best monitored value.

    >>> result = adam(lambda x: 2 * (x - 3), np.zeros(2), monitor=lambda x: float(((x - 3) ** 2).sum()))
    >>> bool(np.allclose(result.best, 3, atol=0.05)), result.stopped_early
    (True, True)
    """
    theta = np.array(start, dtype=float)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    best, best_value, since_best = theta.copy(), np.inf, 0
    for step in range(1, max_iter + 1):
        slope = gradient(theta)
        first = FIRST_DECAY * first + (1 - FIRST_DECAY) * slope
        second = SECOND_DECAY * second + (1 - SECOND_DECAY) * slope**2
        scale = np.sqrt(second / (1 - SECOND_DECAY**step)) + FLOOR
        theta = theta - learning_rate * (first / (1 - FIRST_DECAY**step)) / scale
        value = monitor(theta)
        if value < best_value - tol:
            best, best_value, since_best = theta.copy(), value, 0
        else:
            since_best += 1
        if since_best >= patience:
            return Descent(best, step, stopped_early=True)
    return Descent(best, max_iter, stopped_early=False)
