"""The normal form: an expression as a reduced quotient of polynomials in its generators, exact, no floats.

Polynomials are those of python-flint over the integers. Radicals obey generator**m = base; they are reduced, and
removed from the denominator, so that the quotient is unique for roots of primes (Besicovitch 1940: these have no
further relations). Exponentials with exponents independent over the rationals are algebraically independent
functions (Ax 1971), so for expressions with symbols equal functions have equal forms.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import sympy as sp

from symamp.algebra.quotient import Quotient, shrink
from symamp.algebra.radicals import rationalise
from symamp.algebra.ring import Ring


def ring_of(expressions: Iterable[sp.Expr]) -> Ring:
    """Return the ring in all generators of the expressions."""
    return Ring(expressions, quotient)


@lru_cache(maxsize=16384)
def quotient(expr: sp.Expr) -> Quotient:
    """Return the reduced quotient of ``expr``. Raises ExpressionError for unsupported parts or a division by zero."""
    ring = ring_of([expr])
    num, den = ring.read(expr)
    num, den = rationalise(ring, num, den, expr)
    return shrink(ring.generators, num, den)


@lru_cache(maxsize=65536)
def _normal(expr: sp.Expr) -> sp.Expr:
    return quotient(expr).expr


def normal(expr: sp.Expr) -> sp.Expr:
    """Return the canonical form of ``expr``: a reduced quotient, factored; equal functions give equal expressions.

    Raises ExpressionError for functions outside the documented ones, floats, and division by zero.

    >>> e, k = sp.Symbol("eps0", real=True), sp.Symbol("k", integer=True)
    >>> normal(1 - (k - 1) / (sp.exp(e) + k - 1))
    exp(eps0)/(k + exp(eps0) - 1)
    """
    expr = sp.sympify(expr)
    return expr if expr.is_Rational else _normal(expr)


def normal_product(powers: Iterable[tuple[sp.Expr, int]]) -> sp.Expr:
    """Return the product of powers of expressions in normal form, nothing multiplied out but numbers.

    >>> e = sp.Symbol("eps0", real=True)
    >>> normal_product([(3 / (sp.exp(e) + 2), 2), (1 / (sp.exp(e) + 2), 10**6)])
    9/(exp(eps0) + 2)**1000002
    """
    content, exponents = sp.S.One, dict[sp.Expr, int]()
    for expr, power in powers:
        number, factors = quotient(sp.sympify(expr)).factored
        content *= number**power
        for factor, exponent in factors:
            exponents[factor] = exponents.get(factor, 0) + exponent * power
    return sp.Mul(content, *(sp.Pow(factor, exponent) for factor, exponent in exponents.items()))
