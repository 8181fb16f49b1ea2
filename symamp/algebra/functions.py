"""Logarithms and binomials in a standard form, so that equal ones become the same generator."""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

from symamp.algebra.generators import OPAQUE
from symamp.algebra.powers import prime_powers, refused
from symamp.algebra.quotient import Normaliser
from symamp.numbers.inert import binomial

_SHIFT = 64  # binomial(n + a, k + b) is reduced to binomial(n, k) for |a|, |b| up to this


@lru_cache(maxsize=1024)
def rewrite(expr: sp.Expr, quotient: Normaliser) -> sp.Expr | None:
    """Return logarithms of primes for log of a rational, and a rational multiple of binomial(n, k) for a shifted one.

    1 - erf for erfc; arguments of erf and atan in normal form. None where the expression is in its final form. Raises
    ExpressionError for other functions.
    """
    if isinstance(expr, sp.log) and len(expr.args) == 1:
        inner = quotient(expr.args[0]).expr
        if inner.is_Rational:
            if inner <= 0:
                raise refused(expr)
            result = sp.Add(*(e * sp.log(p) for p, e in prime_powers(inner).items()))
        else:
            result = sp.log(inner)
        return None if result == expr else result
    if isinstance(expr, OPAQUE):
        inner = quotient(expr.args[0]).expr
        result = 1 - sp.erf(inner) if isinstance(expr, sp.erfc) else expr.func(inner)
        return None if result == expr else result
    if not isinstance(expr, sp.binomial):
        raise refused(expr)
    if all(a.is_Integer for a in expr.args) and isinstance(expr, binomial):
        return None  # too long to be written out
    n, k = (sp.expand(quotient(a).expr) for a in expr.args)
    (a, core_n), (b, core_k) = n.as_coeff_Add(), k.as_coeff_Add()
    if core_k == 0:
        if not b.is_Integer or abs(b) > _SHIFT:
            raise refused(expr)
        return sp.Mul(*[(n - i) / sp.Integer(i + 1) for i in range(int(b))]) if b >= 0 else sp.S.Zero
    if not all(c.is_Integer and abs(c) <= _SHIFT for c in ((b,) if core_n == 0 else (a, b))):
        raise refused(expr)
    factor = sp.S.One
    if core_n == 0:
        core_n, a = a, sp.S.Zero
    for i in range(1, int(a) + 1):
        factor *= (core_n + i) / (core_n + i - k)
    for i in range(-int(a)):
        factor *= (core_n - i - k) / (core_n - i)
    for i in range(int(b)):
        factor *= (core_n - core_k - i) / (core_k + i + 1)
    for i in range(1, -int(b) + 1):
        factor *= (core_k - i + 1) / (core_n - core_k + i)
    result = binomial(core_n, core_k, evaluate=False) * factor
    return None if result == expr else result
