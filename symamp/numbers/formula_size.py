"""SymPy expressions from the outside: the same nodes as in text, and limits on their size.

The limits are those of docs/mechanism_format.md as far as a product of several factors may exhaust them: SymPy joins
``x**900*x**900`` to ``x**1800``.
"""

from __future__ import annotations

from typing import NamedTuple, Never

import sympy as sp

from symamp.errors import ExpressionError
from symamp.numbers.exact_number import PRINTABLE_BITS
from symamp.numbers.expression import is_known

_MOST_DEPTH, _MOST_NODES, _MOST_HEIGHT = 160, 20_000, 2
_MOST_EXPONENT, _EXPONENT_BITS = 10_000, 2000
_POWER_BITS, _TOTAL_BITS = 10_000, 50_000


class _Size(NamedTuple):
    bits: int = 1  # of all numbers, after powers have been carried out; a symbol counts as one bit
    scale: int = 1  # numerators and denominators of all numbers, multiplied together
    height: int = 0  # of exp within exp
    plain: bool = True  # fit to be an exponent


def check_formula(expr: sp.Expr, argument: str) -> None:
    """Raise ExpressionError for a SymPy expression with other nodes than text can have, or beyond its limits.

    >>> check_formula(sp.Symbol("x") ** (10**9), "entry")
    Traceback (most recent call last):
    ...
    symamp.errors.ExpressionError: entry: got x**1000000000; accepted: numbers in exponents of at most 10000, ...
    """
    _Walk(argument).size(expr, 0)


class _Walk:
    """One expression, taken apart; equal parts are measured once."""

    def __init__(self, argument: str) -> None:
        self.argument, self.nodes = argument, 0
        self.known: dict[sp.Basic, _Size] = {}

    def size(self, expr: sp.Basic, depth: int) -> _Size:
        found = self.known.get(expr)
        if found is None:
            self.nodes += 1
            if depth > _MOST_DEPTH or self.nodes > _MOST_NODES:
                self.refuse(expr, f"at most {_MOST_DEPTH} levels of nesting and {_MOST_NODES} parts")
            if not is_known(expr):
                self.refuse(expr, "numbers, symbols, + - * /, powers, exp, log, sqrt, binomial")
            found = self.known[expr] = self.measured(expr, [self.size(arg, depth + 1) for arg in expr.args])
        return found

    def measured(self, expr: sp.Basic, parts: list[_Size]) -> _Size:
        if isinstance(expr, sp.Rational):
            p, q = abs(int(expr.p)), int(expr.q)
            if q.bit_length() > PRINTABLE_BITS:
                self.refuse(expr, "numbers of at most 4000 digits")
            return _Size(p.bit_length() + q.bit_length() - 1, max(p, q))
        if not parts:
            return _Size(plain=isinstance(expr, sp.Symbol))
        bits, height = sum(part.bits for part in parts), max(part.height for part in parts)
        if bits > _TOTAL_BITS:
            self.refuse(expr, f"numbers of at most {_TOTAL_BITS} bits in all")
        scale = 1
        for part in parts:
            scale = min(scale * part.scale, 2**_TOTAL_BITS)
        plain = all(part.plain for part in parts)
        if isinstance(expr, sp.Pow):
            return self.power(expr, *parts)
        if isinstance(expr, sp.exp):
            if height == _MOST_HEIGHT:
                self.refuse(expr, f"at most {_MOST_HEIGHT} levels of exp within exp")
            if expr.args[0].has(sp.log) and bits * scale > _POWER_BITS:
                self.refuse(expr, f"powers of at most {_POWER_BITS} bits, also when written with exp and log")
            return _Size(bits, scale, height + 1, False)
        if isinstance(expr, sp.Add | sp.Mul):
            return _Size(bits, scale, height, plain)
        return _Size(bits, scale, height, False)

    def power(self, expr: sp.Pow, base: _Size, exponent: _Size) -> _Size:
        e = expr.exp
        if not exponent.plain or exponent.bits > _EXPONENT_BITS:
            self.refuse(expr, "exponents that are short sums, products or quotients of numbers and symbols")
        if exponent.scale > _MOST_EXPONENT:
            self.refuse(expr, f"numbers in exponents of at most {_MOST_EXPONENT}, multiplied together")
        bits = base.bits if e in (1, -1) else base.bits * exponent.scale
        if bits > _POWER_BITS and e not in (1, -1):
            self.refuse(expr, f"powers of at most {_POWER_BITS} bits")
        scale = base.scale if e in (1, -1) else min(base.scale**exponent.scale, 2**_TOTAL_BITS)
        return _Size(bits, scale, base.height, base.plain and isinstance(e, sp.Integer))

    def refuse(self, part: sp.Basic, accepted: str) -> Never:
        raise ExpressionError(self.argument, part, accepted)
