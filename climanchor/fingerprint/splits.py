"""Which models are left out: distinct halves, one at a time, or random draws, families kept together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

Scheme = Literal["halves", "one", "random"]


@dataclass(frozen=True)
class Split:
    """Models to train on and models to validate on."""

    train: tuple[str, ...]
    validation: tuple[str, ...]


def split_models(
    models: Sequence[str],
    *,
    scheme: Scheme = "halves",
    n_splits: int = 10,
    seed: int = 0,
    families: Mapping[str, str] | Iterable[Iterable[str]] | None = None,
) -> list[Split]:
    """Leave-half-models-out (``"halves"``), leave-one-model-out (``"one"``) or halves with repeats (``"random"``).

    Distinct halves are drawn without replacement, and each is used once where ``n_splits`` exceeds their number
    (6 for four models). ``families`` maps a model to its family, or lists groups of models; a family is never on
    both sides. With an odd number of families the larger half trains.

    >>> [s.train for s in split_models(["A", "B", "C", "D"], n_splits=2, seed=1)]
    [('A', 'B'), ('B', 'D')]
    """
    groups = _groups(models, families)
    if len(groups) < 2:
        raise ValueError(
            f"leaving models out needs at least two models of different families, got {list(models)} "
            f"in {len(groups)} family: add models, or choose alpha and rank by hand"
        )
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, got {n_splits}")
    rng = np.random.default_rng(seed)
    k = len(groups)
    chosen: Iterable[Sequence[int]]
    if scheme == "one":
        chosen = [[g for g in range(k) if g != left] for left in range(k)]
    elif scheme == "random":
        chosen = [sorted(rng.permutation(k)[: (k + 1) // 2]) for _ in range(n_splits)]
    elif scheme == "halves":
        chosen = _distinct_halves(k, n_splits, rng)
    else:
        raise ValueError(f"scheme must be 'halves', 'one' or 'random', got {scheme!r}")
    return [_split(groups, set(train)) for train in chosen]


def _distinct_halves(k: int, n_splits: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    size = (k + 1) // 2
    if comb(k, size) <= 10_000:
        every = list(combinations(range(k), size))
        return [every[i] for i in sorted(rng.permutation(len(every))[:n_splits])]
    seen: dict[tuple[int, ...], None] = {}
    while len(seen) < n_splits:
        seen[tuple(sorted(rng.permutation(k)[:size].tolist()))] = None
    return list(seen)


def _groups(models: Sequence[str], families: Mapping[str, str] | Iterable[Iterable[str]] | None) -> list[list[str]]:
    family: dict[str, str]
    if families is None:
        family = {}
    elif isinstance(families, Mapping):
        family = dict(families)
    else:
        family = {m: "+".join(group) for group in map(list, families) for m in group}
    groups: dict[str, list[str]] = {}
    for model in models:
        groups.setdefault(family.get(model, model), []).append(model)
    return list(groups.values())


def _split(groups: Sequence[Sequence[str]], train: set[int]) -> Split:
    sides: tuple[list[str], list[str]] = ([], [])
    for g, members in enumerate(groups):
        sides[g not in train].extend(members)
    return Split(tuple(sides[0]), tuple(sides[1]))
