"""The sign of a constant: balls of growing precision, and algebra where balls cannot tell a zero."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.errors import ExpressionError, UndecidedOrderError, shown
from symamp.numbers.systems import arb_value

_PRECISIONS = (64, 256, 1024, 4096)


@lru_cache(maxsize=16384)
def constant_sign(expr: sp.Expr) -> int:
    """Return the sign (-1, 0, 1) of an expression without symbols, proved.

    Nonzero values are proved by balls of up to 4096 bits; zero by the normal form or, for algebraic numbers, by the
    minimal polynomial. Raises UndecidedOrderError if neither works, ExpressionError if the value is not real.

    >>> constant_sign(sp.exp(1) - 3), constant_sign(sp.sqrt(8) - 2 * sp.sqrt(2))
    (-1, 0)
    """
    if not expr.is_Rational:
        with suppress(ExpressionError):  # most constants need neither algebra nor many bits
            first = arb_value(expr, _PRECISIONS[0])
            if first > 0 or first < 0:
                return 1 if first > 0 else -1
        expr = normal(expr)
    if expr.is_Rational:
        return (int(expr.p) > 0) - (int(expr.p) < 0)
    unbounded: ExpressionError | None = None
    for bits in _PRECISIONS:
        try:
            value = arb_value(expr, bits)
        except ExpressionError as error:  # a denominator that is not yet separated from zero
            unbounded = error
            continue
        unbounded = None
        if value > 0:
            return 1
        if value < 0:
            return -1
    if unbounded is not None:
        raise unbounded
    if expr.is_algebraic:
        x = sp.Dummy("x")
        # SymPy takes more for algebraic than it is.
        with suppress(sp.polys.polyerrors.NotAlgebraic, NotImplementedError):
            if sp.minimal_polynomial(expr, x) == x:
                return 0
    raise UndecidedOrderError(
        "order", shown(expr), f"a constant that is provably zero or differs from zero within {_PRECISIONS[-1]} bits"
    )
