"""The ring of integer polynomials (python-flint) in the generators of some expressions, and how to read those."""

from __future__ import annotations

import math
from collections.abc import Iterable

import sympy as sp

from symamp.algebra.functions import rewrite
from symamp.algebra.generators import FUNCTIONS, Generator, Key, unit_of
from symamp.algebra.polynomials import Fraction, cancel, context
from symamp.algebra.powers import powers_of
from symamp.algebra.quotient import Normaliser
from symamp.errors import ExpressionError, shown

_LARGEST_POWER = 200_000  # terms of an expanded power
_LARGEST_DEGREE = 20_000
_DEGREES = f"exponents whose ratios have small numerators and denominators: degrees of at most {_LARGEST_DEGREE}"


class Ring:
    """The polynomial ring in all generators of some expressions, and the reading of expressions in it."""

    def __init__(self, expressions: Iterable[sp.Expr], quotient: Normaliser) -> None:
        self._quotient = quotient
        found: dict[Key, set[sp.Rational]] = {}
        seen: set[sp.Expr] = set()
        for e in expressions:
            self._collect(e, found, seen)
        made = [Generator(*key, unit_of(key, exponents)) for key, exponents in found.items()]
        self.generators = tuple(sorted(made, key=lambda g: sp.default_sort_key(g.expr)))
        self.position = {g.key: i for i, g in enumerate(self.generators)}
        self.ctx = context(len(made))
        self.variables = self.ctx.gens()
        self.one = self.ctx.constant(1)
        self._memo: dict[sp.Expr, Fraction] = {}

    def _collect(self, expr: sp.Expr, found: dict[Key, set[sp.Rational]], seen: set[sp.Expr]) -> None:
        if expr.is_Rational or expr in seen:
            return
        seen.add(expr)
        if expr.is_Add or expr.is_Mul:
            for child in expr.args:
                self._collect(child, found, seen)
        elif expr.is_Pow and expr.exp.is_Integer and expr.base is not sp.E:
            self._collect(expr.base, found, seen)
        elif isinstance(expr, FUNCTIONS) and (simpler := rewrite(expr, self._quotient)) is not None:
            self._collect(simpler, found, seen)
        else:
            for key, exponent in powers_of(expr, self._quotient):
                found.setdefault(key, set()).add(exponent)
                if Generator(*key, sp.Rational(1, exponent.q)).root:
                    self._collect(key[0], found, seen)

    def read(self, expr: sp.Expr) -> Fraction:
        """Return ``expr`` as a fraction; relations of radicals are not applied."""
        found = self._memo.get(expr)
        if found is None:
            found = self._memo[expr] = self._read(expr)
        return found

    def _read(self, expr: sp.Expr) -> Fraction:
        if expr.is_Rational:
            return self.ctx.constant(int(expr.p)), self.ctx.constant(int(expr.q))
        if expr.is_Add:
            num, den = self.read(expr.args[0])
            for child in expr.args[1:]:
                a, b = self.read(child)
                num, den = (num + a, den) if b == den else (num * b + a * den, den * b)
            return cancel(num, den)
        if expr.is_Mul:
            num, den = self.one, self.one
            for child in expr.args:
                a, b = self.read(child)
                num, den = cancel(num * a, den * b)
            return num, den
        if expr.is_Pow and expr.exp.is_Integer and expr.base is not sp.E:
            return self._raise(self.read(expr.base), int(expr.exp), expr)
        if isinstance(expr, FUNCTIONS) and (simpler := rewrite(expr, self._quotient)) is not None:
            return self.read(simpler)
        num, den = self.one, self.one
        for key, exponent in powers_of(expr, self._quotient):
            i = self.position[key]
            n = int(exponent / self.generators[i].unit)
            if abs(n) > _LARGEST_DEGREE:
                raise ExpressionError("exponents", shown(expr)[:100], _DEGREES)
            num, den = (num * self.variables[i] ** n, den) if n > 0 else (num, den * self.variables[i] ** -n)
        return num, den

    @staticmethod
    def _raise(value: Fraction, n: int, expr: sp.Expr) -> Fraction:
        num, den = value
        more = max(len(num), len(den)) - 1
        if more > 0 and (abs(n) > _LARGEST_POWER or math.comb(abs(n) + more, more) > _LARGEST_POWER):
            raise ExpressionError("power", shown(expr), f"a power that expands to at most {_LARGEST_POWER} terms")
        if abs(n) * max(num.total_degree(), den.total_degree()) > _LARGEST_DEGREE:
            raise ExpressionError("power", shown(expr)[:100], _DEGREES)
        if n >= 0:
            return num**n, den**n
        if num == 0:
            raise ExpressionError("expression", shown(expr), "an expression without division by zero")
        return cancel(den**-n, num**-n)
