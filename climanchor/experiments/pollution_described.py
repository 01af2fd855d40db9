"""The air-quality protocol that the paper's text describes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression, Ridge

from climanchor.estimators import CVP, IRM
from climanchor.experiments.seasons import PREDICTORS, SEASONS, Split, rows, season_codes
from climanchor.kernels import Moments, anchor_basis, anchor_transform, decompose_moments

Array = NDArray[np.float64]

GRID = np.logspace(-10, 10, 20)
PENALTIES = np.logspace(-3, 0, 20)
MOSTLY_MISSING = "NMHC(GT)"


def described_table(table: pd.DataFrame) -> pd.DataFrame:
    """Complete rows of the columns that have data: 6,941 hours, nine targets. ``table`` has NaN where missing."""
    return table.drop(columns=MOSTLY_MISSING).dropna()


def described_split(table: pd.DataFrame, order: Sequence[int]) -> Split:
    """Two training seasons; X and Y scaled by the training rows alone."""
    season = season_codes(pd.DatetimeIndex(table.index))
    first, second, validation, test = order
    in_train = np.isin(season, (first, second))
    X, Y = (
        _scaled_by(part.to_numpy(float), in_train)
        for part in (table[list(PREDICTORS)], table.drop(columns=list(PREDICTORS)))
    )
    return Split(*(rows(X, Y, season, chosen) for chosen in (in_train, season == validation, season == test)))


def described_errors(table: pd.DataFrame, order: Sequence[int], *, bins: int) -> dict[str, float]:
    """Test errors of the seven estimators for one order; every hyperparameter by validation error."""
    split = described_split(table, order)
    X, Y, season = split.train
    anchors = np.eye(len(SEASONS))[season]
    moments = Moments.from_samples(X, Y, anchors)
    spectra = [decompose_moments(m.xx, m.xy) for m in map(moments.anchored, GRID)]
    basis = anchor_basis(anchors)
    anchored = [[anchor_transform(M, basis, gamma) for M in (X, Y)] for gamma in GRID]
    return {
        "LR": split.test_error(LinearRegression().fit(X, Y).predict),
        "Ridge": split.tuned_error(Ridge(alpha).fit(X, Y).predict for alpha in GRID),
        "AR": split.tuned_error(spectrum.fit(0.0).predict for spectrum in spectra),
        "A-Ridge": split.tuned_error(spectrum.fit(alpha).predict for spectrum in spectra for alpha in GRID),
        "A-PLS": split.tuned_error(PLSRegression(n).fit(*data).predict for n in (1, 2, 3) for data in anchored),
        "IRM": split.tuned_error(IRM(penalty).fit(X, Y, environments=season).predict for penalty in PENALTIES),
        "CVP": split.tuned_error(
            CVP(penalty, bins=bins).fit(X, Y, environments=season).predict for penalty in PENALTIES
        ),
    }


def _scaled_by(values: Array, reference: NDArray[np.bool_]) -> Array:
    return np.asarray((values - values[reference].mean(axis=0)) / values[reference].std(axis=0))
