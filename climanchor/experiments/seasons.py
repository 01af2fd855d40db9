"""Train, validate and test on different seasons."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
Predict = Callable[[Array], Array]

PREDICTORS = ("T", "RH", "AH")
SEASONS = ("DJF", "MAM", "JJA", "SON")
#: Every order of the seasons, by code: two to train on, one to validate, one to test.
ORDERS = tuple(permutations(range(4)))


class Part(NamedTuple):
    """Rows of one purpose: predictors, targets, season codes."""

    X: Array
    Y: Array
    season: NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """Rows to train on, to choose hyperparameters on, and to test on."""

    train: Part
    validation: Part
    test: Part

    def test_error(self, predict: Predict) -> float:
        """Mean squared error over test rows and targets."""
        return mean_squared_error(predict, self.test)

    def tuned_error(self, candidates: Iterable[Predict]) -> float:
        """Test error of the candidate with the lowest validation error, the first among equals."""
        return self.test_error(min(candidates, key=lambda predict: mean_squared_error(predict, self.validation)))


def mean_squared_error(predict: Predict, part: Part) -> float:
    """Mean over rows and targets."""
    return float(np.mean((part.Y - predict(part.X)) ** 2))


def season_codes(time: pd.DatetimeIndex) -> NDArray[np.intp]:
    """0 to 3 for December–February, March–May, June–August, September–November.

    >>> season_codes(pd.DatetimeIndex(["2004-12-01", "2004-05-31", "2004-08-01"])).tolist()
    [0, 1, 2]
    """
    return np.asarray(time.month, dtype=np.intp) % 12 // 3


def rows(X: Array, Y: Array, season: NDArray[np.intp], chosen: NDArray[np.bool_]) -> Part:
    """The chosen rows."""
    return Part(X[chosen], Y[chosen], season[chosen])
