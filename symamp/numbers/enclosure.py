"""Signs of constants by balls, without SymPy's own tests, which may search for minimal polynomials."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator

import flint
import sympy as sp

MAGNITUDE = 100_000  # constants lie between 2**-100000 and 2**100000
_PRECISIONS = (256, 4096)


def constant_sign(expr: sp.Expr) -> int | None:
    """Return the sign of a constant, 0 for what vanishes identically, None where the symbols decide."""
    if expr.is_Rational:
        return int(expr.p > 0) - int(expr.p < 0)
    constant = bool(expr.is_number)
    for ball in _enclosures(expr):
        if constant and (ball > 0 or ball < 0):
            return 1 if ball > 0 else -1
        if not constant and not (ball.is_finite() and ball.contains(0)):
            return None
    return 0


def is_settled(constant: sp.Expr) -> bool:
    """Return whether the constant is provably real, not 0, and neither huge nor tiny."""
    huge = flint.arb(2) ** MAGNITUDE
    return any(1 / huge < abs(ball) < huge for ball in _enclosures(constant))


def _enclosures(expr: sp.Expr) -> Iterator[flint.arb]:
    """Yield balls around the value, first fast, then narrow; symbols get fixed values that no formula expects."""
    precisions = _PRECISIONS if expr.free_symbols or expr.has(sp.exp, sp.log) else _PRECISIONS[:1]
    # Roots that cancel to within 2**-256 are not pursued: SymPy would look for their minimal polynomial.
    for precision in precisions:
        with flint.ctx.workprec(precision):
            ball = _ball(expr)
        yield ball


def _ball(expr: sp.Expr) -> flint.arb:
    if expr.is_Rational:
        return flint.arb(flint.fmpq(int(expr.p), int(expr.q)))
    if expr.is_Symbol:
        return flint.arb(flint.fmpq(1 + zlib.crc32(expr.name.encode("utf-8", "replace")), 2**32 + 15))
    if expr is sp.E:
        return flint.arb(1).exp()
    args = [_ball(arg) for arg in expr.args]
    match expr:
        case sp.Add():
            return sum(args[1:], args[0])
        case sp.Mul():
            return math.prod(args[1:], start=args[0])
        case sp.Pow():
            return args[0] ** args[1]
        case sp.exp():
            return args[0].exp()
        case sp.log():
            return args[0].log()
        case sp.Abs():
            return abs(args[0])
    return flint.arb("nan")
