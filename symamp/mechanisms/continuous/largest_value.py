"""The largest value of analytic formulas on intervals: exact where it is taken at an end, else a number just above."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import sympy as sp
from flint import acb, arb

from symamp.algebra.order import sign
from symamp.derivation.crossing import number
from symamp.errors import UndecidedOrderError
from symamp.mechanisms.continuous.resolved import Y
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.rationals import rational_below
from symamp.numbers.surroundings import at_precision

_BITS, _DEPTH, _CLOSE, _DIGITS = 128, 40, 1e-10, 64


def largest_value(found: Sequence[tuple[sp.Expr, sp.Expr, sp.Expr]]) -> sp.Expr:
    """Return the largest value of formulas in y, each on its closed interval (formula, start, end).

    The result is a number at which one of them is attained at an end of its interval, or else a rational number above
    all values, by less than 1e-9 of them. Formulas are constant on intervals without an end.

    Guarantee
    ---------
    No formula has a larger value on its interval. Proof: docs/proofs/smooth_laws.md.

    >>> largest_value([(Y * (1 - Y), sp.Integer(0), sp.Integer(1)), (Y, sp.Integer(0), sp.Integer(3))])
    3
    """
    best, at_best = sp.S.One, arb(1)
    with at_precision(_BITS):
        for formula, start, end in found:
            for place in (start, end) if formula.free_symbols else (start,):
                value = formula.xreplace({Y: place})
                ball = number(value)()
                # Where balls do not tell, exact algebra does.
                if ball > at_best or (ball.overlaps(at_best) and value != best and sign(value - best) > 0):
                    best, at_best = value, ball
        above = [
            _above(Holomorphic(f, Y), number(start)(), number(end)(), at_best)
            for f, start, end in found
            if f.free_symbols
        ]
        larger = [v for v in above if v is not None]
        if not larger:
            return best
        top = reduce(arb.max, larger, at_best)
        return -rational_below(-top, _DIGITS)


def _above(f: Holomorphic, start: arb, end: arb, best: arb) -> arb | None:
    """Return None if every value is shown to be at most the best, else a number just above all values."""
    above: arb | None = None
    open_ = [(start, end, 0)]
    while open_:
        a, b, depth = open_.pop()
        box = a.union(b)
        wide, slope = (v.real for v in f.with_slope(acb(box)))
        values = f(acb(a)).real, f(acb(b)).real
        if slope.is_finite() and (slope >= 0 or slope <= 0):
            # Monotone: the largest value is at an end; that of the whole interval is already known.
            inner = [v for v, e in zip(values, (a, b), strict=True) if not (e.overlaps(start) or e.overlaps(end))]
            if all(v <= best for v in inner):
                continue
            top = reduce(arb.max, inner)
        else:
            top = (f(acb((a + b) / 2)).real + slope * (box - (a + b) / 2)) if slope.is_finite() else wide
        if top.is_finite() and top.upper() <= best.lower():
            continue
        if top.is_finite() and float(top.rad()) < _CLOSE * float(best.lower()):
            above = arb(top.upper()) if above is None else above.max(arb(top.upper()))
            continue
        if depth == _DEPTH:
            raise UndecidedOrderError("density", str(f.formula), "ratios that are finite and analytic between kinks")
        middle = arb(((a + b) / 2).mid())
        open_ += [(a, middle, depth + 1), (middle, b, depth + 1)]
    return above
