"""The largest value of analytic formulas on intervals: exact where it is taken at an end, else a number just above."""

from __future__ import annotations

from collections.abc import Sequence

import flint
import sympy as sp
from flint import acb, arb

from symamp.derivation.crossing import number
from symamp.errors import UndecidedOrderError
from symamp.mechanisms.continuous.resolved import Y
from symamp.numbers.holomorphic import Holomorphic

_BITS, _DEPTH, _CLOSE, _DIGITS = 128, 40, 1e-10, 2**64


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
    with flint.ctx.workprec(_BITS):
        for formula, start, end in found:
            for end_ in (start, end) if formula.free_symbols else (start,):
                value = formula.xreplace({Y: end_})
                ball = number(value)()
                if ball.lower() > at_best.lower():
                    best, at_best = value, ball
        above = at_best
        for formula, start, end in found:
            if not formula.free_symbols:
                above = above.max(number(formula)()) if not number(formula)().overlaps(at_best) else above
                continue
            above = above.max(_above(Holomorphic(formula, Y), number(start)(), number(end)(), at_best))
        if not above > at_best:
            return best
        return sp.Rational(int((above * _DIGITS).upper().ceil().unique_fmpz()), _DIGITS)


def _above(f: Holomorphic, start: arb, end: arb, best: arb) -> arb:
    """Return ``best`` if no value is above it, else a number just above all values."""
    above, open_ = best, [(start, end, 0)]
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
            top = max(inner, key=lambda v: float(v.upper()))
        else:
            top = (f(acb((a + b) / 2)).real + slope * (box - (a + b) / 2)) if slope.is_finite() else wide
        if top.is_finite() and top.upper() <= best.lower():
            continue
        if top.is_finite() and float(top.rad()) < _CLOSE * float(best.lower()):
            above = above.max(arb(top.upper()))
            continue
        if depth == _DEPTH:
            raise UndecidedOrderError("density", str(f.formula), "ratios that are finite and analytic between kinks")
        middle = arb(((a + b) / 2).mid())
        open_ += [(a, middle, depth + 1), (middle, b, depth + 1)]
    return above
