"""Which of several densities is least, on cells of messages: what a blanket of finitely many inputs is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sympy as sp
from flint import acb, arb

from symamp.derivation.crossing import number
from symamp.errors import UndecidedOrderError
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.surroundings import at_precision

SLACK = sp.Rational(2**50 - 1, 2**50)
"""The least density is only needed up to this factor, which costs 1e-15 of the blanket: equal ones need no proof."""

_BITS, _DEPTH, _MOST = 128, 28, 4_000


class Cell(NamedTuple):
    """Messages on which ``factor`` times the density with this index is at most every density, and positive."""

    start: sp.Expr
    end: sp.Expr
    least: int
    factor: sp.Expr


def least_cells(densities: Sequence[Holomorphic], start: sp.Expr, end: sp.Expr) -> list[Cell]:
    """Return cells that cover the messages between two numbers.

    Cells are halved until balls decide; in what is left around a crossing the factor is smaller than ``SLACK``.

    Guarantee
    ---------
    On every cell 0 < factor f_least(y) <= f(y) for each of the densities. Proof: docs/proofs/smooth_laws.md.

    Raises UndecidedOrderError for a density that is not shown to be positive, or for too many crossings.
    """
    found: list[Cell] = []
    width = end - start
    with at_precision(_BITS):
        first, wide = number(start)(), number(width)()
        open_ = [(sp.S.Zero, sp.S.One, 0)]
        while open_:
            a, b, depth = open_.pop()
            low, high = (first + wide * arb(int(s.p)) / int(s.q) for s in (a, b))
            decided = _decided(densities, low, high, depth == _DEPTH)
            if decided is None:
                if depth == _DEPTH or len(found) + len(open_) > _MOST:
                    told = "densities that are positive between the ends of the messages, and cross seldom"
                    raise UndecidedOrderError("density", " | ".join(str(f.formula) for f in densities), told)
                middle = (a + b) / 2
                open_ += [(middle, b, depth + 1), (a, middle, depth + 1)]
                continue
            cell = Cell(start + width * a, start + width * b, *decided)
            if found and found[-1][2:] == cell[2:]:
                found[-1] = Cell(found[-1].start, cell.end, *decided)
            else:
                found.append(cell)
    return found


def _decided(densities: Sequence[Holomorphic], a: arb, b: arb, last: bool) -> tuple[int, sp.Expr] | None:
    ranges = [values_between(f, a, b) for f in densities]
    middle = acb((a + b) / 2)
    least = min(range(len(densities)), key=lambda k: float(densities[k](middle).real.mid()))
    if not ranges[least] > 0:
        return None
    others = [k for k in range(len(densities)) if densities[k].formula != densities[least].formula]
    for factor in (sp.S.One, SLACK):
        times = arb(int(factor.p)) / int(factor.q)
        if all(values_between(densities[k], a, b, densities[least], times) >= 0 for k in others):
            return least, factor
    if not last or not all(ranges[k] > 0 for k in others):
        return None
    share = min(float((ranges[k] / ranges[least]).lower()) for k in others)
    return least, sp.Rational(min(share, float(SLACK)))


def values_between(f: Holomorphic, a: arb, b: arb, less: Holomorphic | None = None, times: arb | None = None) -> arb:
    """Return a ball around the values of f - times * less on an interval: value at the middle, and a slope.

    >>> y = sp.Symbol("y")
    >>> values_between(Holomorphic(y, y), arb(0), arb(1), Holomorphic(y**2, y), arb(1)).contains(arb("0.25"))
    True
    """
    box, middle = a.union(b), (a + b) / 2
    at, (wide, slope) = f(acb(middle)), f.with_slope(acb(box))
    if less is not None:
        other, there = less.with_slope(acb(box))
        at, wide, slope = at - less(acb(middle)) * times, wide - other * times, slope - there * times
    if not slope.is_finite():
        return wide.real
    near = at.real + slope.real * (box - middle)
    return near.intersection(wide.real) if near.overlaps(wide.real) and wide.is_finite() else near
