"""Integer polynomials of python-flint: rings, coefficients, fractions in lowest terms, factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flint
import sympy as sp

from symamp.algebra.generators import Generator

Context = Any  # flint.fmpz_mpoly_ctx
Polynomial = Any  # flint.fmpz_mpoly, which has no type stubs
Fraction = tuple[Polynomial, Polynomial]
_LARGEST_DEGREES = 1000
"""The largest product of the degrees in all unknowns of a polynomial that is factored."""


def context(size: int) -> Context:
    """Return the ring of integer polynomials in ``size`` unknowns."""
    return flint.fmpz_mpoly_ctx.get([f"g{i}" for i in range(size)], "deglex")


def polynomial_expression(polynomial: Polynomial, generators: Sequence[Generator]) -> sp.Expr:
    """Return the SymPy expression of a flint polynomial in ``generators``."""
    gens = [g.expr for g in generators]
    return sp.Add(
        *(
            sp.Mul(int(c), *(sp.Pow(g, e) for g, e in zip(gens, exps, strict=True) if e))
            for exps, c in polynomial.to_dict().items()
        )
    )


def coefficients(polynomial: Polynomial, i: int) -> dict[int, Polynomial]:
    """Return the coefficients of the powers of unknown i, as polynomials that do not contain it."""
    parts: dict[int, dict[tuple[int, ...], Any]] = {}
    for exps, c in polynomial.to_dict().items():
        parts.setdefault(exps[i], {})[(*exps[:i], 0, *exps[i + 1 :])] = c
    ctx = polynomial.context()
    return {e: ctx.from_dict(part) for e, part in parts.items()}


def cancel(num: Polynomial, den: Polynomial) -> Fraction:
    """Return the fraction in lowest terms with a positive leading coefficient below."""
    if den.is_one():
        return num, den
    common = num.gcd(den)
    if not common.is_one():
        num, den = num / common, den / common
    return (-num, -den) if den.leading_coefficient() < 0 else (num, den)


def factorised(polynomial: Polynomial) -> tuple[int, list[tuple[Polynomial, int]]]:
    """Return (content, [(factor, multiplicity), ...]), irreducible factors where python-flint finds them.

    It takes minutes for polynomials of high degree, seen in no formula of a mechanism but with exponents such as
    eps0/1000 beside eps0, and gives up on some large coefficients and exponents. Then the polynomial itself is the one
    factor, which is still canonical: equal polynomials get equal factors.
    """
    if math.prod(d for d in map(int, polynomial.degrees()) if d) > _LARGEST_DEGREES:
        return (1, [(polynomial, 1)])
    try:
        content, factors = polynomial.factor()
    except (OverflowError, RuntimeError):
        return (1, [(polynomial, 1)])
    return int(content), [(factor, int(multiplicity)) for factor, multiplicity in factors]
