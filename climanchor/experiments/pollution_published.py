"""The air-quality protocol that reproduces the paper's printed table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.random import RandomState, SeedSequence
from numpy.typing import NDArray
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression, Ridge

from climanchor.estimators import CVP, IRM
from climanchor.experiments.seasons import PREDICTORS, Part, Split, rows, season_codes
from climanchor.kernels import anchor_transform
from climanchor.kernels.anchor import orthonormal_basis

Array = NDArray[np.float64]

GRID = np.logspace(-10, 10, 20)
PENALTY = 1e-3  # the first of the grid: tuning that compares the targets with themselves never moves on
REPRESENTATION_ALPHA = 1.0  # weighs |φ|² beside the loss of IRM; not in the paper
JJA, SON = 2, 3


def published_split(table: pd.DataFrame, order: Sequence[int]) -> Split:
    """One training season, and SON as well when it is JJA; scaled over the whole table, -200 and all."""
    season = season_codes(pd.DatetimeIndex(table.index))
    X, Y = (
        _standardised(part.to_numpy(float)) for part in (table[list(PREDICTORS)], table.drop(columns=list(PREDICTORS)))
    )
    first, _, validation, test = order
    in_train = season == first
    if first == JJA:
        in_train |= season == SON
    return Split(*(rows(X, Y, season, chosen) for chosen in (in_train, season == validation, season == test)))


def published_errors(table: pd.DataFrame, order: Sequence[int], stream: SeedSequence) -> dict[str, float]:
    """Test errors of the seven estimators for one order of the seasons; ``table`` has -200 as a value."""
    split = published_split(table, order)
    X, Y, season = split.train
    basis = orthonormal_basis(season[:, None].astype(float))  # the raw code, not centred
    anchored = {gamma: [anchor_transform(M, basis, gamma) for M in (X, Y)] for gamma in GRID}
    ridges = {alpha: Ridge(alpha).fit(X, Y) for alpha in GRID}
    regressions = {gamma: LinearRegression().fit(*data) for gamma, data in anchored.items()}
    alpha, gamma = (_best(fits, split.validation) for fits in (ridges, regressions))
    pls = (PLSRegression(n).fit(*data).predict for n in (1, 2, 3) for data in anchored.values())
    d, p = X.shape[1], Y.shape[1]
    irm = IRM(
        PENALTY / (d * p),
        alpha=REPRESENTATION_ALPHA,
        solver="adam",
        fit_intercept=False,
        random_state=RandomState(stream.generate_state(4)),
    )
    return {
        "LR": split.test_error(LinearRegression().fit(X, Y).predict),
        "Ridge": split.test_error(ridges[alpha].predict),
        "AR": split.test_error(regressions[gamma].predict),
        "A-Ridge": split.test_error(Ridge(alpha).fit(anchored[gamma][0], Y).predict),  # Y stays as it is
        "A-PLS": split.tuned_error(pls),
        "IRM": split.test_error(irm.fit(X, Y, environments=season).predict),
        "CVP": split.test_error(CVP(PENALTY).fit(X, Y, environments=season).predict),
    }


def _best(fits: dict[float, LinearRegression | Ridge], validation: Part) -> float:
    """The hyperparameter of the lowest validation error, the smallest among equals."""
    return min(fits, key=lambda value: float(np.mean((validation.Y - fits[value].predict(validation.X)) ** 2)))


def _standardised(values: Array) -> Array:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))
