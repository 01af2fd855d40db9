"""Repeats of a random experiment, side by side, with numbers that do not depend on how they were scheduled."""

from collections.abc import Callable
from typing import TypeVar

from numpy.random import SeedSequence
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from climanchor.simulate.structural import child_seed

Result = TypeVar("Result")


def run_repeats(
    one: Callable[[SeedSequence], Result], *, repeats: int, seed: int = 0, n_jobs: int | None = None
) -> list[Result]:
    """``one(seed)`` for each of ``repeats`` independent streams of ``seed``, in order.

    Repeat b draws from the stream (seed, b) alone, and BLAS runs on one thread in each, so the results are
    the same for any ``n_jobs`` and joblib backend. Threads by default; ``joblib.parallel_config`` chooses
    another backend. ``n_jobs`` counts workers as in scikit-learn: None is one, -1 is one per processor.

    >>> run_repeats(lambda stream: int(stream.generate_state(1)[0] % 100), repeats=3, seed=1) == \\
    ...     run_repeats(lambda stream: int(stream.generate_state(1)[0] % 100), repeats=3, seed=1, n_jobs=2)
    True
    """
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}; it must be at least 1")
    with threadpool_limits(limits=1):
        jobs = (delayed(_single_threaded)(one, child_seed(seed, b)) for b in range(repeats))
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))


def _single_threaded(one: Callable[[SeedSequence], Result], stream: SeedSequence) -> Result:
    """Worker processes do not inherit the limit of the parent; in threads setting it again changes nothing."""
    with threadpool_limits(limits=1):
        return one(stream)
