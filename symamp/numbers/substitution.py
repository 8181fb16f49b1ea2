"""Numbers put into formulas: large powers stay as they are, and SymPy's result for the rest is checked in balls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import sympy as sp

from symamp.errors import ExpressionError, Problem
from symamp.numbers.reading import difference, generic_points, rewritten
from symamp.numbers.unevaluated import MOST_EXPONENT, binomial, is_large, power


def put(expr: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Return the expression with numbers (or other expressions) for some of its symbols, all at once.

    A power that would be long stays a ``power``: ``l**(1 - D)`` at D = 10**9 is ``l/l**(10**9)``, not multiplied out.
    Raises ExpressionError where the balls of the result and of the expression at these values do not agree.

    >>> D, x = sp.Symbol("D", integer=True), sp.Symbol("x", real=True)
    >>> put(x / 2 ** (D + 1), {D: sp.Integer(10**9)}), put(x**D, {D: sp.Integer(3)})
    (x/(2*2**1000000000), x**3)
    """
    used = tuple((s, v) for s, v in values.items() if s in expr.free_symbols and s != v)
    return _put(expr, used) if used else expr


@lru_cache(maxsize=16384)
def _put(expr: sp.Expr, used: tuple[tuple[sp.Symbol, sp.Expr], ...]) -> sp.Expr:
    values = dict(used)
    found = _Put(values).made(expr)
    if not found.has(sp.oo, -sp.oo, sp.zoo, sp.nan, sp.I, sp.Max, sp.Min):
        _compare(expr, values, found)
    return found


class _Put:
    def __init__(self, values: Mapping[sp.Symbol, sp.Expr]) -> None:
        self.values = values
        self.done: dict[sp.Basic, sp.Expr] = {}

    def made(self, e: sp.Expr) -> sp.Expr:
        if not e.args:
            return self.values.get(e, e)
        found = self.done.get(e)
        if found is None:
            found = self.done[e] = self._made(e)
        return found

    def _made(self, e: sp.Expr) -> sp.Expr:
        if isinstance(e, sp.Pow | power):
            return self.raised(*e.args)
        args = [self.made(a) for a in e.args]
        if (
            isinstance(e, sp.exp)
            and args[0].has(sp.log)
            and any(abs(number.p) > MOST_EXPONENT for number in args[0].atoms(sp.Integer))
        ):
            return power(sp.E, args[0])  # SymPy would turn exp(10**9*log(2)) into an integer
        return binomial(*args) if isinstance(e, sp.binomial) else e.func(*args)

    def raised(self, base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
        b, n = self.made(base), self.made(exponent)
        if not (n.is_Integer and is_large(b, int(n))):
            return power(b, n) if n.is_Rational and not n.is_Integer and is_large(b, int(n)) else sp.Pow(b, n)
        # Powers of one base keep one exponent: (s + 1)**(-D - 2) is a product of (s + 1)**D and (s + 1)**2.
        small, large = sp.S.Zero, []
        for term in sp.Add.make_args(sp.expand(exponent)):
            c, core = term.as_coeff_Mul()
            if core in self.values and c.is_Integer and abs(c) <= MOST_EXPONENT:
                large.append(power(b, self.values[core]) ** c if self.values[core].p > 0 else power(b, self.made(term)))
            else:
                small += self.made(term)
        if not large or not small.is_Integer or is_large(b, int(small)):
            return 1 / power(b, -n) if n < 0 else power(b, n)
        return sp.Mul(*large, sp.Pow(b, small))


def _compare(expr: sp.Expr, values: Mapping[sp.Symbol, sp.Expr], found: sp.Expr) -> None:
    """Raise ExpressionError unless the result agrees with the expression, in which the values are put unevaluated."""
    named = {s.name: v for s, v in values.items()}
    written = rewritten(expr, lambda leaf: named.get(leaf.name, leaf) if leaf.is_Symbol else leaf)
    free = sorted(expr.free_symbols.union(*(v.free_symbols for v in values.values())) - set(values), key=str)
    points = generic_points(tuple((s.name, bool(s.is_integer)) for s in free))
    wrong = difference(written, found, points, least=0)
    if wrong:
        differs = Problem(f"SymPy does not evaluate {expr} at {values} rightly: {wrong}")
        raise ExpressionError("formula", differs, "write the formula in another form")
