"""At which levels a falling curve is evaluated: nowhere between two at which it is the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from flint import fmpq

from symamp.accounting.curve_points import CurvePoint

Place = TypeVar("Place")
"""What stands for a level."""


def descend(
    levels: Sequence[Place],
    point: Callable[[Place], CurvePoint],
    tolerance: float,
    goes_on: Callable[[], bool] = lambda: True,
) -> tuple[CurvePoint, ...]:
    """Return points at the first and the last two levels, and in the middle of intervals, longer ones first.

    Between levels whose upper ends differ by less than ``tolerance``, relative, none are needed: chords are as close
    there. The last two say how the curve goes on. ``goes_on`` is asked before each point.

    >>> curve = {e: CurvePoint(fmpq(e), fmpq(0), fmpq(1, max(e, 5))) for e in range(1, 10)}
    >>> [int(p.level.p) for p in descend(list(curve), curve.__getitem__, 1e-5)]
    [1, 4, 5, 6, 7, 8, 9]
    """
    found: dict[int, CurvePoint] = {}
    last = len(levels) - 1
    for i in dict.fromkeys(max(i, 0) for i in (0, last, last - 1)) if levels else ():
        if goes_on():
            found[i] = point(levels[i])
    intervals = [(0, last - 1)]
    for start, end in intervals:
        middle = (start + end) // 2
        if middle <= start or not goes_on():
            continue
        if not _agree(found[start].high, found[end].high, tolerance):
            found[middle] = point(levels[middle])
            intervals += [(start, middle), (middle, end)]
    return tuple(found[i] for i in sorted(found))


def _agree(a: fmpq, b: fmpq, tolerance: float) -> bool:
    return bool(abs(a - b) <= max(a, b) * fmpq(*tolerance.as_integer_ratio()))
