"""A discrete pair that dominates a round: the hull of upper bounds on its curve."""

from __future__ import annotations

from symamp.accounting.curve_points import CurvePoints
from symamp.accounting.discrete_pair import DiscretePair
from symamp.numbers.convex_hull import Vertex, lower_hull


def pessimistic(curve: CurvePoints) -> DiscretePair:
    """Return a pair whose curve is at least that of the round at every level, from upper bounds at some.

    Guarantee
    ---------
    If D_E <= ``high`` at the points, for every pair of outputs that may occur, then D_E of all these pairs is at most
    that of the result at every E >= 0, so that it dominates them in adaptive composition.
    Proof: docs/proofs/composition.md, section 2.

    >>> from flint import fmpq
    >>> from symamp.accounting.curve_points import CurvePoint
    >>> point = CurvePoint(fmpq(1), fmpq(1, 4), fmpq(1, 3))
    >>> pessimistic(CurvePoints((point,), fmpq(1, 3), fmpq(3))).divergence(fmpq(1))
    1/3
    """
    return DiscretePair.of_curve(curve_above(curve))


def curve_above(curve: CurvePoints) -> list[Vertex]:
    """Return the vertices of a convex function that is at least D_E; it is constant after the last.

    Guarantee
    ---------
    The function is at least D_E at every E >= 0. Proof: docs/proofs/composition.md, section 2.
    """
    values = [(e, high) for e, _, high in curve.known()]
    # The curve does not increase: after the least bound it stays below it.
    least = min(range(len(values)), key=lambda i: (values[i][1], i))
    return lower_hull(values[: least + 1])
