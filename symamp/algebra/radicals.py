"""Radicals in a quotient of polynomials: apply generator**m = base and clear them from the denominator."""

from __future__ import annotations

import sympy as sp

from symamp.algebra.generators import Generator
from symamp.algebra.polynomials import Fraction, Polynomial, cancel, coefficients
from symamp.algebra.ring import Ring
from symamp.errors import ExpressionError


def _reduce(polynomial: Polynomial, i: int, m: int, base: Fraction, ring: Ring) -> Fraction:
    """Replace generator**m by its base a/b; the result is over a power of b. (m = 1 comes from base**(D - 1).)"""
    a, b = base
    parts = coefficients(polynomial, i)
    top = max((e // m for e in parts), default=0)
    total = ring.ctx.constant(0)
    for e, part in parts.items():
        total += part * a ** (e // m) * b ** (top - e // m) * ring.variables[i] ** (e % m)
    return total, b**top


def _determinant(rows: list[list[Polynomial]], ring: Ring) -> Polynomial:
    """Fraction-free elimination (Bareiss): every division is exact."""
    rows, sign, last = [list(r) for r in rows], 1, ring.one
    for k in range(len(rows) - 1):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k] != 0), None)
        if pivot is None:
            return ring.ctx.constant(0)
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for r in range(k + 1, len(rows)):
            for c in range(k + 1, len(rows)):
                rows[r][c] = (rows[r][c] * rows[k][k] - rows[r][k] * rows[k][c]) / last
        last = rows[k][k]
    return rows[-1][-1] * sign if rows else ring.one


def _conjugate(den: Polynomial, i: int, m: int, base: Fraction, ring: Ring) -> Polynomial:
    """A polynomial whose product with ``den`` is free of generator i: the first column of an adjugate."""
    matrix = []
    a, b = base
    parts = coefficients(den, i)
    zero = ring.ctx.constant(0)
    for shift in range(m):  # row: coefficients of den * g**shift, times b to stay a polynomial
        row = [zero] * m
        for e, part in parts.items():
            row[(e + shift) % m] = part * (a if e + shift >= m else b)
        matrix.append(row)
    total = zero
    for r in range(m):  # solve x * matrix = (det, 0, ..., 0)
        minor = [[v for c, v in enumerate(row) if c] for q, row in enumerate(matrix) if q != r]
        total += (-1) ** r * _determinant(minor, ring) * ring.variables[i] ** r
    return total


def rationalise(ring: Ring, num: Polynomial, den: Polynomial, expr: sp.Expr) -> Fraction:
    """Return num/den reduced by all relations, with a denominator free of radicals.

    Raises ExpressionError where the denominator turns out to be zero.
    """
    radicals: list[tuple[int, Generator]] = [(i, g) for i, g in enumerate(ring.generators) if g.root]
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
            raise ExpressionError("expression", str(expr), "an expression without division by zero")
        num, den = cancel(num, den)
    return num, den
