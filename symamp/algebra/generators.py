"""Generators: the powers base**(unit*core) in which an expression is a rational function."""

from __future__ import annotations

import math
from dataclasses import dataclass

import sympy as sp

from symamp.numbers.inert import power

Key = tuple[sp.Expr, sp.Expr]  # (base, core): the powers base**(c*core) with rational c share one generator


@dataclass(frozen=True)
class Generator:
    """The quantity base**(unit*core); ``unit`` is the largest that makes every exponent in use an integer.

    >>> Generator(sp.E, sp.Symbol("eps0", real=True), sp.Rational(1, 2)).expr
    exp(eps0/2)
    """

    base: sp.Expr
    core: sp.Expr
    unit: sp.Rational

    @property
    def key(self) -> Key:
        """The pair (base, core)."""
        return self.base, self.core

    @property
    def expr(self) -> sp.Expr:
        """The generator as an expression."""
        return sp.exp(self.unit * self.core) if self.base is sp.E else sp.Pow(self.base, self.unit * self.core)

    @property
    def is_constant(self) -> bool:
        """Whether no symbol occurs."""
        return not (self.base.free_symbols or self.core.free_symbols)

    @property
    def is_atom(self) -> bool:
        """Whether the base is taken as independent of everything else: a symbol, e, pi, or a function."""
        return is_atom(self.base)

    @property
    def root(self) -> int:
        """The m of the relation generator**m = base of a radical; 0 where there is no relation."""
        return 0 if self.core != 1 or self.is_atom else int(self.unit.q)


OPAQUE = (sp.erf, sp.erfc, sp.atan)
"""Functions of which only their arguments are known; a constant is told from 0 in balls."""
FUNCTIONS = (sp.log, sp.binomial, *OPAQUE)


def is_atom(base: sp.Expr) -> bool:
    """Return whether ``base`` is a generator by itself rather than a polynomial in generators."""
    return bool(base.is_Symbol or base in (sp.E, sp.pi)) or isinstance(base, (*FUNCTIONS, power))


def unit_of(key: Key, exponents: set[sp.Rational]) -> sp.Rational:
    """Return the unit for these exponents: 1/lcm of denominators; for exponentials the exact common divisor."""
    below = math.lcm(*(int(c.q) for c in exponents))
    base, core = key
    exponential = core != 1 or base is sp.E
    above = math.gcd(*(int(c.p) * (below // int(c.q)) for c in exponents)) if exponential else 1
    return sp.Rational(above or 1, below)
