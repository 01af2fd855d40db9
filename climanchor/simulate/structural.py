"""Linear structural causal models with anchors: samples and population covariances.

The variables are stacked as ``V = (X, Y, H)``: predictors, targets, hidden. They obey

    V = B V + noise + M A,

so ``V = (I - B)⁻¹ (noise + M A)`` when the graph of ``B`` has no cycle. The anchors ``A`` are exogenous;
an intervention ``do(A ~ ν)`` replaces their distribution and leaves everything else as it was.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]
Seed = int | np.random.SeedSequence
Draw = Callable[[np.random.Generator, int], Array]

GAMMA_SHAPE = 2.0


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def _exponential(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.standard_exponential(shape) - 1.0)


def _gamma(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray((rng.standard_gamma(GAMMA_SHAPE, shape) - GAMMA_SHAPE) / np.sqrt(GAMMA_SHAPE))


def _poisson(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.poisson(1.0, shape) - 1.0)


#: Noise families, each with mean 0 and variance 1: a scale is a standard deviation in all of them.
NOISES: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = MappingProxyType(
    {"gaussian": _gaussian, "exponential": _exponential, "gamma": _gamma, "poisson": _poisson}
)


class Sample(NamedTuple):
    """``n`` draws in rows: predictors, targets, anchors and the hidden variables nobody observes.

    >>> X, Y, A, H = scm([[0, 0, 1], [2, 0, 1], [0, 0, 0]], [[1], [0], [0]], n_predictors=1, n_targets=1).sample(5)
    >>> X.shape, H.shape
    ((5, 1), (5, 1))
    """

    X: Array
    Y: Array
    A: Array
    H: Array


def child_seed(seed: Seed, *key: int) -> np.random.SeedSequence:
    """The stream of ``seed`` at ``key``: the same every time it is asked for, unlike ``SeedSequence.spawn``.

    >>> a, b = child_seed(3, 0), child_seed(3, 0)
    >>> bool((a.generate_state(2) == b.generate_state(2)).all())
    True
    """
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key))


@dataclass(frozen=True, eq=False)
class LinearSCM:
    """A linear structural causal model with anchors; built and checked by :func:`scm`.

    Attributes
    ----------
    B : array (k, k)
        Direct effects: ``B[i, j]`` of variable j on variable i; ``k = n_predictors + n_targets + hidden``.
    M : array (k, q)
        Direct effects of the anchors.
    n_predictors, n_targets : int
        Sizes of X and Y; the remaining variables are hidden.
    noise : str
        Family of the noise and of the anchors, a key of ``NOISES``.
    noise_scale : array (k,)
        Standard deviation of each variable's noise.
    anchor_covariance : array (q, q)
        Covariance of A in the training distribution.

    Examples
    --------
    Doubling the standard deviation of the anchor adds three times the anchor's part of the covariance:

    >>> world = scm([[0, 0, 1], [2, 0, 1], [0, 0, 0]], [[1], [0], [0]], n_predictors=1, n_targets=1)
    >>> np.allclose(world.covariance(do=2.0), world.covariance() + 3 * world.anchor_part())
    True
    """

    B: Array
    M: Array
    n_predictors: int
    n_targets: int
    noise: str
    noise_scale: Array
    anchor_covariance: Array
    total_effects: Array = field(repr=False)

    def sample(self, n: int, *, do: "Intervention" = None, seed: Seed = 0) -> Sample:
        """Draw ``n`` rows under ``do(A ~ ν)``.

        ``do`` is None for the training distribution; a number t that multiplies the standard deviation of
        A; a (q, q) covariance; or a function ``(generator, n) -> (n, q)`` for any other ν. Noise and
        anchors have their own streams, so that one ``seed`` gives the same noise under every intervention:
        with a number t the sample is an affine function of t.

        >>> equations = scm([[0, 0], [2.0, 0]], [[1.0], [0.0]], n_predictors=1, n_targets=1)
        >>> still = equations.sample(5, do=0.0, seed=1)
        >>> bool(np.all(still.A == 0))
        True
        """
        anchor_rng, noise_rng = (np.random.default_rng(child_seed(seed, key)) for key in (0, 1))
        A = self._anchors(anchor_rng, n, do)
        noise = NOISES[self.noise](noise_rng, (n, len(self.B))) * self.noise_scale
        V = (noise + A @ self.M.T) @ self.total_effects.T
        d, p = self.n_predictors, self.n_targets
        return Sample(X=V[:, :d], Y=V[:, d : d + p], A=A, H=V[:, d + p :])

    def covariance(self, *, do: "Intervention" = None) -> Array:
        """Population covariance of (X, Y) under ``do(A ~ ν)``: ``D Σ_noise D' + D M Σ_ν M' D'``.

        Raises ValueError when ν is given as a function, whose covariance is not known.
        """
        D = self._observed_effects()
        return (D * self.noise_scale**2) @ D.T + self.anchor_part(do=do)

    def anchor_part(self, *, do: "Intervention" = None) -> Array:
        """Population covariance of the projections of (X, Y) on A: ``D M Σ_ν M' D'``.

        ``covariance() + (gamma - 1) * anchor_part()`` is the covariance whose linear forms are the worst
        case over all ν with ``Σ_ν ⪯ gamma Σ_A``.
        """
        DM = self._observed_effects() @ self.M
        return DM @ self._intervened_covariance(do) @ DM.T

    def _observed_effects(self) -> Array:
        """D: the rows of ``(I - B)⁻¹`` that belong to X and Y."""
        return self.total_effects[: self.n_predictors + self.n_targets]

    def _anchors(self, rng: np.random.Generator, n: int, do: "Intervention") -> Array:
        if callable(do):
            A = np.asarray(do(rng, n), dtype=float)
            if A.shape != (n, self.M.shape[1]):
                raise ValueError(f"do(rng, {n}) gave shape {A.shape}; it must be {(n, self.M.shape[1])}")
            return A
        values, vectors = np.linalg.eigh(self._intervened_covariance(do))
        root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
        return np.asarray(NOISES[self.noise](rng, (n, self.M.shape[1])) @ root)

    def _intervened_covariance(self, do: "Intervention") -> Array:
        if do is None:
            return self.anchor_covariance
        if callable(do):
            raise ValueError("the covariance of a sampling function is not known; pass a number or a (q, q) array")
        if np.ndim(do) == 0:
            return self.anchor_covariance * float(np.asarray(do)) ** 2
        return _checked_covariance(do, self.M.shape[1], "do")


Intervention = None | float | Array | Draw


def scm(
    B: ArrayLike,
    M: ArrayLike,
    *,
    n_predictors: int,
    n_targets: int,
    noise: str = "gaussian",
    noise_scale: ArrayLike = 1.0,
    anchor_covariance: ArrayLike | None = None,
) -> LinearSCM:
    """Build the linear structural causal model ``(X, Y, H) = B (X, Y, H) + noise + M A``.

    Parameters
    ----------
    B : array (k, k)
        Direct effects, row = effect, column = cause; its graph must have no cycle (order is free).
    M : array (k, q)
        Direct effects of the q anchors. Anchors have no parents: nothing else can act on them.
    n_predictors, n_targets : int
        X is the first ``n_predictors`` variables, Y the next ``n_targets``, H the rest.
    noise : {"gaussian", "exponential", "gamma", "poisson"}
        Family of noise and anchors, centred and scaled to unit variance (gamma: shape 2).
    noise_scale : float or array (k,)
        Standard deviations of the noise, not negative.
    anchor_covariance : array (q, q), optional
        Covariance of A; the identity by default.

    Raises
    ------
    ValueError
        For shapes that do not fit, an unknown noise, or a cycle (the message names its variables).

    Examples
    --------
    X causes Y, both share a hidden cause, and the anchor moves X:

    >>> equations = scm([[0, 0, 1], [2, 0, 1], [0, 0, 0]], [[1], [0], [0]], n_predictors=1, n_targets=1)
    >>> equations.covariance()
    array([[ 3.,  7.],
           [ 7., 18.]])
    >>> equations.sample(4, do=3.0, seed=0).Y.shape
    (4, 1)
    """
    B, M = np.atleast_2d(np.asarray(B, dtype=float)), np.asarray(M, dtype=float)
    M = M[:, None] if M.ndim == 1 else M
    k = len(B)
    if B.shape != (k, k) or M.shape[0] != k:
        raise ValueError(f"B must be square and M have as many rows: got B {B.shape} and M {M.shape}")
    if n_predictors < 1 or n_targets < 1 or n_predictors + n_targets > k:
        raise ValueError(f"{n_predictors} predictors and {n_targets} targets do not fit in {k} variables")
    if noise not in NOISES:
        raise ValueError(f"noise is {noise!r}; it must be one of {', '.join(NOISES)}")
    scale = np.broadcast_to(np.asarray(noise_scale, dtype=float), (k,)).copy()
    if np.any(scale < 0):
        raise ValueError("noise_scale holds standard deviations: none may be negative")
    _check_acyclic(B, n_predictors, n_targets)
    q = M.shape[1]
    covariance = (
        np.eye(q) if anchor_covariance is None else _checked_covariance(anchor_covariance, q, "anchor_covariance")
    )
    total = np.asarray(solve(np.eye(k) - B, np.eye(k)), dtype=float)
    return LinearSCM(B, M, n_predictors, n_targets, noise, scale, covariance, total)


def _check_acyclic(B: Array, n_predictors: int, n_targets: int) -> None:
    n_components, label = connected_components(csr_array(B != 0), connection="strong")
    on_cycle = np.bincount(label, minlength=n_components)[label] > 1
    on_cycle |= np.diag(B) != 0
    if on_cycle.any():
        names = [f"X{i}" for i in range(n_predictors)] + [f"Y{i}" for i in range(n_targets)]
        names += [f"H{i}" for i in range(len(B) - len(names))]
        culprits = ", ".join(name for name, bad in zip(names, on_cycle, strict=True) if bad)
        raise ValueError(f"B has a cycle through {culprits}: an anchor graph must be acyclic")


def _checked_covariance(value: ArrayLike, q: int, name: str) -> Array:
    covariance = np.asarray(value, dtype=float)
    if covariance.shape != (q, q) or not np.allclose(covariance, covariance.T):
        raise ValueError(f"{name} must be a symmetric ({q}, {q}) covariance, got shape {covariance.shape}")
    if np.linalg.eigvalsh(covariance)[0] < -1e-12 * max(1.0, float(np.abs(covariance).max())):
        raise ValueError(f"{name} is not a covariance: it has a negative eigenvalue")
    return covariance
