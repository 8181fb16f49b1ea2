"""A discrete pair that a round dominates: convexity carries bounds at some levels to the cells between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from flint import fmpq

from symamp.accounting.curve_points import CurvePoints
from symamp.accounting.discrete_pair import DiscretePair
from symamp.numbers.convex_hull import Vertex, lower_hull

Line = tuple[fmpq, fmpq]
"""Value at 0, and slope."""
_ZERO = fmpq(0)
_FLOORS: tuple[Line, ...] = ((fmpq(1), fmpq(-1)), (_ZERO, _ZERO))


def optimistic(curve: CurvePoints) -> DiscretePair:
    """Return a pair whose curve is at most that of the round at every level, from bounds on both sides at some.

    Guarantee
    ---------
    If ``low`` <= D_E(P || Q) <= ``high`` at the points, then D_E(P || Q) is at least that of the result at every
    E >= 0, and so are the divergences of T independent rounds. Proof: docs/proofs/composition.md, section 2.

    >>> from flint import fmpq
    >>> from symamp.accounting.curve_points import CurvePoint
    >>> point = CurvePoint(fmpq(1), fmpq(1, 4), fmpq(1, 3))
    >>> optimistic(CurvePoints((point,), fmpq(1, 3), fmpq(3))).divergence(fmpq(1))
    1/6
    """
    return DiscretePair.of_curve(curve_below(curve))


def curve_below(curve: CurvePoints) -> list[Vertex]:
    """Return the vertices of a convex function that is at most D_E; it is constant after the last.

    Guarantee
    ---------
    The function is at most D_E at every E >= 0. Proof: docs/proofs/composition.md, section 2.
    """
    least: dict[fmpq, fmpq] = {}
    for e, value in _minorant(curve.known()):
        # Where the minorant jumps, at a point, the smaller of its two values counts.
        least[e] = min(value, least.get(e, value))
    return _levelled(lower_hull(least.items()))


def _levelled(hull: list[Vertex]) -> list[Vertex]:
    """Return the larger of a convex function and its last value, which a curve that does not increase is above."""
    last = hull[-1][1]
    falling = [vertex for vertex in hull if vertex[1] > last]
    if not falling:
        return hull
    (e0, d0), (e1, d1) = falling[-1], hull[len(falling)]
    return [*falling, (e0 + (e1 - e0) * (d0 - last) / (d0 - d1), last)]


def _minorant(known: list[tuple[fmpq, fmpq, fmpq]]) -> Iterator[Vertex]:
    """Yield the vertices, cell by cell, of a function below the curve: extended chords, 1 - E and 0."""
    for j, (start, low, _) in enumerate(known):
        lines = list(_FLOORS)
        if j > 0:
            lines.append(_line(known[j - 1][0], known[j - 1][2], start, low))
        if j + 1 < len(known):
            end = known[j + 1][0]
            if j + 2 < len(known):
                lines.append(_line(end, known[j + 1][1], known[j + 2][0], known[j + 2][2]))
        else:
            value, slope = lines[-1]
            # After the last point the chord reaches 0, or says nothing: then the floors alone are left.
            end = max(start, fmpq(1), -value / slope if slope < 0 else start)
        crossings = ((b[0] - a[0]) / (a[1] - b[1]) for a, b in combinations(lines, 2) if a[1] != b[1])
        for e in {start, end, *(x for x in crossings if start < x < end)}:
            yield e, max(value + slope * e for value, slope in lines)


def _line(e0: fmpq, d0: fmpq, e1: fmpq, d1: fmpq) -> Line:
    slope = (d1 - d0) / (e1 - e0)
    return d0 - slope * e0, slope
