"""Formulas that were rewritten, compared in balls with what they were: no rewriting is trusted unseen."""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp
from flint import acb, arb

from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision

_BITS, _NARROW = 256, 2.0**-40


def agree(found: sp.Expr, written: sp.Expr, variable: sp.Symbol, points: Iterable[sp.Rational]) -> bool:
    """Return whether narrow balls around two formulas in one variable overlap at all points.

    >>> y = sp.Symbol("y", positive=True)
    >>> agree(y * (y + 1) - y, y**2, y, [sp.Rational(1, 3)])
    True
    >>> agree(y**2, y**3, y, [sp.Rational(1, 3)])
    False
    """
    both = Holomorphic(found, variable), Holomorphic(written, variable)
    with at_precision(_BITS):
        return all(same(*(f(acb(arb(fmpq_of(p)))).real for f in both)) for p in points)


def same(a: arb, b: arb) -> bool:
    """Return whether two balls overlap and are narrow.

    >>> same(arb(1) / 3, arb(2) / 6), same(arb(1), arb(2)), same(arb(1), arb(0, 2))
    (True, False, False)
    """
    return all(bool(x.is_finite() and x.rad() <= _NARROW * abs(x)) for x in (a, b)) and bool(a.overlaps(b))
