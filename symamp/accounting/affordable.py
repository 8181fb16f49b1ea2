"""At how many levels of a curve a dear bound is evaluated: as many as some work allows, spread evenly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from flint import fmpq

from symamp.analyses.part import Evidence
from symamp.evaluation.all_data_sets_plan import AllDataSetsEvidence

_MOST_WORK, _FAR_WORK = 40_000, 6_000
"""Cells of frequencies, times laws, of the bounds over all data sets for one list of levels: some seconds."""
_SEARCH = 400
"""What a search for parameters takes, in the same units."""


def affordable(
    levels: Sequence[fmpq], evidence: Callable[[fmpq], Iterable[Evidence]], *, far: bool, last: bool
) -> frozenset[fmpq]:
    """Evaluate a dear bound at levels spread evenly, more and more of them up to some work, and return those levels.

    ``far`` levels matter less; ``last`` asks for the last level first. The work is counted and not measured: answers do
    not depend on the machine.
    """
    spent, done = 0, list[fmpq]()
    for i in dict.fromkeys([*range(len(levels))[-1:][:last], *halving(len(levels))]):
        if spent >= (_FAR_WORK if far else _MOST_WORK):
            break
        done.append(levels[i])
        spent += sum(_work(e) for e in evidence(levels[i]))
    return frozenset(done)


def halving(count: int) -> list[int]:
    """Return the numbers below ``count``: 0, and then what halves the intervals, longer ones first.

    >>> halving(8)
    [0, 4, 2, 6, 1, 3, 5, 7]
    """
    order, intervals = list(range(min(count, 1))), [(0, count)]
    for start, end in intervals:
        middle = (start + end) // 2
        if start < middle:
            order.append(middle)
            intervals += [(start, middle), (middle, end)]
    return order


def _work(found: Evidence) -> int:
    if not isinstance(found.details, AllDataSetsEvidence):
        return 0
    cells = sum(len(c.ends) for region in found.details.regions for c in region.cells)
    return _SEARCH + cells * len(getattr(found.part, "laws", (0,)))
