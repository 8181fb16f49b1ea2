"""Signs of formulas on strips of inputs and messages: by balls on cells, and where a factor is 0 at a corner."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import sympy as sp
from flint import arb

from symamp.algebra.order import sign
from symamp.derivation.crossing import number
from symamp.mechanisms.continuous.formula_range import formula_range
from symamp.mechanisms.continuous.resolved import Y
from symamp.mechanisms.continuous.strips import Strip, X

_MOST, _DEGREE = 3_000, 12
"""Cells that are tried, and the largest degree of polynomials that are factored."""

Box = tuple[arb, ...]


def _range(formula: sp.Expr) -> Callable[[Box], arb]:
    inner = formula_range(formula, (X, Y))
    return lambda box: inner({"x": box[0], "y": box[1]})


def positive(formula: sp.Expr, s: Strip) -> bool:
    """Return whether balls show a formula to be positive on a strip; on its lower line if only X occurs."""
    value = _range(formula)
    left, wide, bottom, top = (number(s.left)(), number(s.right - s.left)(), _range(s.bottom), _range(s.top))
    open_, tried = [(sp.S.Zero, sp.S.One, sp.S.Zero, sp.S.One)], 0
    while open_:
        p1, p2, q1, q2 = open_.pop()
        x, q, none = left + wide * _hull(p1, p2), _hull(q1, q2), arb(0)
        y = bottom((x, none)) + q * (top((x, none)) - bottom((x, none)))
        if value((x, y)) > 0:
            continue
        tried += 1
        if tried > _MOST:
            return False
        p, r = (p1 + p2) / 2, (q1 + q2) / 2
        open_ += [(p1, p, q1, r), (p, p2, q1, r), (p1, p, r, q2), (p, p2, r, q2)]
    return True


def not_negative(formula: sp.Expr, s: Strip) -> bool:
    """Return whether a formula is shown to be >= 0 on a strip: 0, positive, or of polynomial factors with signs."""
    if formula == 0 or positive(formula, s):
        return True
    parts = sp.fraction(formula)
    if not all(p.is_polynomial(X, Y) and sp.Poly(p, X, Y).total_degree() <= _DEGREE for p in parts):
        return False
    powers = (f.as_base_exp() for f in sp.Mul.make_args(sp.factor(formula)))
    odd = [base if e.is_Integer else base**e for base, e in powers if not (e.is_Integer and e % 2 == 0)]
    return bool(prod(_sign_on(f, s) for f in odd) == 1)


def _sign_on(factor: sp.Expr, s: Strip) -> int:
    """Return 1 if a factor is shown to be >= 0 on a strip, -1 if <= 0, else 0: if it is affine, at the corners."""
    if not factor.is_polynomial(X, Y) or sp.Poly(factor, X, Y).total_degree() > 1:
        return next((k for k in (1, -1) if positive(k * factor, s)), 0)
    corners = [factor.xreplace({Y: y}).xreplace({X: x}) for x in (s.left, s.right) for y in (s.bottom, s.top)]
    return next((k for k in (1, -1) if all(sign(k * c) >= 0 for c in corners)), 0)


def _hull(low: sp.Expr, high: sp.Expr) -> arb:
    return number(low)().union(number(high)())
