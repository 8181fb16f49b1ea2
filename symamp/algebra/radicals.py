"""Radicals in a quotient of polynomials: apply generator**m = base and clear them from the denominator."""

from __future__ import annotations

import math

import sympy as sp

from symamp.algebra.generators import Generator
from symamp.algebra.polynomials import Fraction, Polynomial, cancel, coefficients
from symamp.algebra.ring import Ring
from symamp.errors import ExpressionError, shown

_MOST_WORK = 400_000
"""In units of about four microseconds."""


def _reduce(polynomial: Polynomial, i: int, m: int, base: Fraction, ring: Ring) -> Fraction:
    """Replace generator**m by its base a/b; the result is over a power of b. (m = 1 comes from base**(D - 1).)"""
    a, b = base
    parts = coefficients(polynomial, i)
    top = max((e // m for e in parts), default=0)
    total = ring.ctx.constant(0)
    for e, part in parts.items():
        total += part * a ** (e // m) * b ** (top - e // m) * ring.variables[i] ** (e % m)
    return total, b**top


def _conjugate(den: Polynomial, i: int, m: int, base: Fraction, ring: Ring) -> Polynomial:
    """A polynomial whose product with ``den`` is free of generator i; 0 if ``den`` has no inverse."""
    a, b = base
    zero = ring.ctx.constant(0)
    rows = [[zero] * m + [ring.one if power == 0 else zero] for power in range(m)]
    for e, part in coefficients(den, i).items():
        for shift in range(m):  # column: coefficients of den * g**shift, times b to stay a polynomial
            rows[(e + shift) % m][shift] = part * (a if e + shift >= m else b)
    # Fraction-free elimination above and below the diagonal (Bareiss): every division is exact.
    last = ring.one
    for k in range(m):
        pivot = next((r for r in range(k, m) if rows[r][k] != 0), None)
        if pivot is None:
            return zero
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for r in range(m):
            if r != k:
                rows[r] = [(rows[k][k] * x - rows[r][k] * y) / last for x, y in zip(rows[r], rows[k], strict=True)]
        last = rows[k][k]
    return sum((rows[r][m] * ring.variables[i] ** r for r in range(m)), zero)


def _check_work(den: Polynomial, radicals: list[tuple[int, Generator]], ring: Ring, expr: sp.Expr) -> None:
    """Refuse to clear a denominator where that takes seconds: its norm has the degree of all its roots together."""
    used = {i: g for i, g in radicals if den.degrees()[i] > 0}
    parts = [den, *(side for g in used.values() for side in ring.read(g.base))]
    terms = {tuple(0 if i in used else e for i, e in enumerate(exps)) for part in parts for exps in part.to_dict()}
    degree, unknowns = math.prod(g.root for g in used.values()), len(terms) - 1
    most = max((g.root for g in used.values()), default=0)
    if most**3 + degree**2 * math.comb(degree + unknowns, unknowns) > _MOST_WORK:
        raise ExpressionError("roots", shown(expr), "small roots in a denominator, and few of them")


def rationalise(ring: Ring, num: Polynomial, den: Polynomial, expr: sp.Expr) -> Fraction:
    """Return num/den reduced by all relations, with a denominator free of radicals.

    Raises ExpressionError where the denominator turns out to be zero.
    """
    radicals: list[tuple[int, Generator]] = [(i, g) for i, g in enumerate(ring.generators) if g.root]
    if radicals:
        _check_work(den, radicals, ring, expr)
    # A base may contain other radicals, so the larger expressions go first.
    for i, g in sorted(radicals, key=lambda item: -sp.count_ops(item[1].base)):
        m, base = g.root, ring.read(g.base)
        (num, below), (den, above) = _reduce(num, i, m, base, ring), _reduce(den, i, m, base, ring)
        num, den = num * above, den * below
        if den.degrees()[i] > 0:
            other = _conjugate(den, i, m, base, ring)
            (num, below), (den, above) = (_reduce(p * other, i, m, base, ring) for p in (num, den))
            num, den = num * above, den * below
        if den == 0:
            raise ExpressionError("expression", shown(expr), "an expression without division by zero")
        num, den = cancel(num, den)
    return num, den
