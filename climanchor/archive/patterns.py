"""Patterns for models, members and experiments: wildcards and ranges such as ``r(1:10)i1p1f1``."""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from itertools import product

_RANGE = re.compile(r"\((\d+):(\d+)\)")


def expand_ranges(pattern: str) -> list[str]:
    """Write out the ranges in a pattern; both ends are included.

    >>> expand_ranges("r(1:3)i1p1f1")
    ['r1i1p1f1', 'r2i1p1f1', 'r3i1p1f1']
    >>> expand_ranges("s(1960:1961)-r1i1p1f*")
    ['s1960-r1i1p1f*', 's1961-r1i1p1f*']
    """
    pieces: list[list[str]] = []
    end = 0
    for found in _RANGE.finditer(pattern):
        first, last = int(found[1]), int(found[2])
        if first > last:
            raise ValueError(f"range {found[0]} in {pattern!r} runs backwards: write ({last}:{first})")
        pieces += [[pattern[end : found.start()]], [str(i) for i in range(first, last + 1)]]
        end = found.end()
    pieces.append([pattern[end:]])
    return ["".join(choice) for choice in product(*pieces)]


def matcher(patterns: str | Iterable[str] | None) -> Callable[[str], bool]:
    """A test whether a name matches any of the patterns; ``None`` matches every name.

    ``*``, ``?`` and ``[...]`` work as in the shell, case matters, and ``(a:b)`` is a range of numbers.

    >>> chosen = matcher(["CNRM-*", "CESM2"])
    >>> chosen("CNRM-CM6-1"), chosen("CESM2"), chosen("CESM2-WACCM")
    (True, True, False)
    """
    if patterns is None:
        return lambda name: True
    listed = [patterns] if isinstance(patterns, str) else list(patterns)
    expanded = [name for pattern in listed for name in expand_ranges(pattern)]
    exact = frozenset(name for name in expanded if not set(name) & set("*?["))
    regex = [re.compile(translate(name)) for name in expanded if name not in exact]
    return lambda name: name in exact or any(r.match(name) for r in regex)
