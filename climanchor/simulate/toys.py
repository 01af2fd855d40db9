"""The structural models of the paper's simulations, as instances of the general linear one.

All have a scalar anchor A; a hidden H (one scalar, or one per coordinate); ``W`` of low rank with positive
entries that sum to 1; and unit noise. In rows, with 1 a row of ones:

| setting | H | X | Y |
|---|---|---|---|
| instrumental | ε | A 1 + H 1 + ε | X W + H 1 + ε |
| confounded | A + ε | A 1 + H 1 + ε | X W + H 1 + ε |
| direct | ε | A 1 / 2 + H 1 + ε | 2 A 1 + X W + H 1 + ε |

The strength t of an intervention is the standard deviation of A: ``sample(n, do=t)``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

from climanchor.simulate.structural import Array, LinearSCM, Seed, child_seed, scm

Hidden = Literal["scalar", "per_coordinate"]


def low_rank_weights(
    n_predictors: int, n_targets: int, *, rank: int, seed: Seed = 0, low: float = 1.0, high: float = 1.5
) -> Array:
    """``W = U V`` with entries of U and V uniform in [low, high], divided by the sum of W.

    >>> W = low_rank_weights(6, 4, rank=2)
    >>> W.shape, int(np.linalg.matrix_rank(W)), round(float(W.sum()), 12)
    ((6, 4), 2, 1.0)
    """
    if not 1 <= rank <= min(n_predictors, n_targets):
        raise ValueError(f"rank is {rank}; it must lie between 1 and {min(n_predictors, n_targets)}")
    rng = np.random.default_rng(child_seed(seed))
    W = rng.uniform(low, high, (n_predictors, rank)) @ rng.uniform(low, high, (rank, n_targets))
    return np.asarray(W / W.sum())


def instrumental(W: Array, *, hidden: Hidden = "scalar", noise: str = "gaussian") -> LinearSCM:
    """The instrumental-variable setting: A reaches Y only through X.

    >>> equations = instrumental(low_rank_weights(10, 10, rank=5))
    >>> equations.sample(300, do=2.0, seed=1).X.shape
    (300, 10)
    """
    return _setting(W, hidden=hidden, noise=noise, anchor_to=(1.0, 0.0, 0.0))


def confounded(W: Array, *, hidden: Hidden = "scalar", noise: str = "gaussian") -> LinearSCM:
    """The confounding setting: A also drives H, and so reaches Y past X.

    >>> confounded(low_rank_weights(10, 10, rank=5)).sample(20, seed=1).Y.shape
    (20, 10)
    """
    return _setting(W, hidden=hidden, noise=noise, anchor_to=(1.0, 0.0, 1.0))


def direct(W: Array, *, hidden: Hidden = "scalar", noise: str = "gaussian") -> LinearSCM:
    """The setting of the hyperparameter study: A acts on Y directly, four times as strongly as on X.

    >>> direct(low_rank_weights(10, 10, rank=5)).M[[0, 10], 0].tolist()
    [0.5, 2.0]
    """
    return _setting(W, hidden=hidden, noise=noise, anchor_to=(0.5, 2.0, 0.0))


#: The settings by the names recipes use.
SETTINGS: Mapping[str, Callable[..., LinearSCM]] = MappingProxyType(
    {"instrumental": instrumental, "confounded": confounded, "direct": direct}
)


def _setting(W: Array, *, hidden: Hidden, noise: str, anchor_to: tuple[float, float, float]) -> LinearSCM:
    """Assemble B and M; ``anchor_to`` holds the effects of A on each X, each Y and each H."""
    d, p = W.shape
    if hidden not in ("scalar", "per_coordinate"):
        raise ValueError(f"hidden is {hidden!r}; it must be 'scalar' or 'per_coordinate'")
    if hidden == "per_coordinate" and d != p:
        raise ValueError(f"one hidden variable per coordinate needs as many predictors as targets, got {d} and {p}")
    h = 1 if hidden == "scalar" else d
    x, y, z = slice(0, d), slice(d, d + p), slice(d + p, d + p + h)
    B = np.zeros((d + p + h, d + p + h))
    B[y, x] = W.T
    B[x, z] = 1.0 if hidden == "scalar" else np.eye(d)
    B[y, z] = 1.0 if hidden == "scalar" else np.eye(p)
    M = np.repeat(anchor_to, (d, p, h))[:, None]
    return scm(B, M, n_predictors=d, n_targets=p, noise=noise)
