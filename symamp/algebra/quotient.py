"""The normal form as data: a reduced quotient of polynomials in generators, and the expression it prints as."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from symamp.algebra.generators import Generator
from symamp.algebra.polynomials import Polynomial, context, factorised, polynomial_expression


@dataclass(frozen=True, eq=False)
class Quotient:
    """num/den, reduced, in the generators; den has a positive leading coefficient."""

    generators: tuple[Generator, ...]
    num: Polynomial
    den: Polynomial

    @property
    def independent(self) -> bool:
        """Whether the symbolic generators are known to be algebraically independent over the constants.

        They are if they are symbols and exponentials of different monomials; powers of expressions, and exponents
        such as 1/(k + 1) and k/(k + 1), may hide relations.
        """
        return all(
            g.is_constant
            or (g.core == 1 and g.base.is_Symbol)
            or (not g.base.free_symbols and all(f.as_base_exp()[0].is_Symbol for f in sp.Mul.make_args(g.core)))
            for g in self.generators
        )

    def expression(self, polynomial: Polynomial) -> sp.Expr:
        """Return a polynomial in these generators as an expression."""
        return polynomial_expression(polynomial, self.generators)

    @cached_property
    def factored(self) -> tuple[sp.Rational, tuple[tuple[sp.Expr, int], ...]]:
        """Rational content and irreducible factors with exponents (negative in the denominator)."""
        above, factors = factorised(self.num)
        below, others = factorised(self.den)
        pairs = [(self.expression(f), e) for f, e in factors] + [(self.expression(f), -e) for f, e in others]
        return sp.Rational(above, below), tuple(pairs)

    @cached_property
    def expr(self) -> sp.Expr:
        """The quotient as a SymPy expression, both parts factored."""
        if self.num == 0:
            return sp.S.Zero
        content, factors = self.factored
        if content < 0:  # print (2 - p)/(1 + p) rather than -(p - 2)/(1 + p), as long as one factor can take the sign
            order = sorted(factors, key=lambda pair: (pair[1] < 0, sp.default_sort_key(pair[0])))
            turned = next((f for f, e in order if e % 2 and f.is_Add), None)
            if turned is not None:
                content, factors = -content, tuple((-f if f is turned else f, e) for f, e in factors)
        return sp.Mul(content, *(sp.Pow(f, e) for f, e in factors))


def shrink(generators: Sequence[Generator], num: Polynomial, den: Polynomial) -> Quotient:
    """Return the quotient without unused generators, units as large as possible: independent of how it was written."""
    above, below = num.to_dict(), den.to_dict()
    kept: list[tuple[int, int, Generator]] = []
    for i, g in enumerate(generators):
        common = math.gcd(*(e[i] for e in above), *(e[i] for e in below))
        if common:
            exponential = g.core != 1 or g.base is sp.E
            step = common if exponential else math.gcd(common, int(g.unit.q))
            kept.append((i, step, Generator(g.base, g.core, g.unit * step)))
    kept.sort(key=lambda item: sp.default_sort_key(item[2].expr))
    ctx = context(len(kept))
    num, den = (
        ctx.from_dict({tuple(e[i] // step for i, step, _ in kept): c for e, c in d.items()}) for d in (above, below)
    )
    if den.leading_coefficient() < 0:
        num, den = -num, -den
    return Quotient(tuple(g for _, _, g in kept), num, den)


Normaliser = Callable[[sp.Expr], Quotient]
"""The normal form, handed down to what needs it for a part of an expression: a base, an exponent, an argument."""
