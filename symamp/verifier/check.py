"""Numbers from the texts of a certificate, and the limit of the work spent on them.

The settings of FLINT belong to the process, not to a thread, so that one verification waits for another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import add, mul, sub, truediv
from threading import RLock
from typing import Any

from flint import arb, ctx, fmpq

from .documents import Malformed, require

# Limits and precisions of all checks: so that no document takes long, and so that what is seen to be equal is.
MOST_PRECISION, MOST_FRACTION, MOST_WORK, MANY, MANY_PAIRS = 8192, 2**19, 10**7, 6, 12
"""Bits of balls, and of an exact fraction; operations, about a microsecond each, and how many times more for many
rounds, and for all pairs of an interval."""
_TERMS = 10
"""The terms of power series: fewer would drop what bounds on curvature are read from."""
_TEXT = re.compile(r"(?:[0-9a-fx+\-*/() ]|exp|log|sqrt|E|pi){1,400000}", re.ASCII)
_LOCK = RLock()
TINY, NEARLY = 99, 80
"""Balls whose radius is below 2^-99 tell a number; numbers that differ by no more than 2^-80 of them are taken to be
what a document says are the same."""

Number = Any  # an exact fraction (fmpq) where possible, else a ball (arb) at the working precision
ZERO, INFINITY = fmpq(0), arb("inf")


@contextmanager
def working(bits: int) -> Iterator[None]:
    """Set the precision of balls and the length of series within the block; the caller's are restored after it."""
    with _LOCK:
        before = ctx.prec, ctx.cap
        ctx.prec, ctx.cap = bits, _TERMS
        try:
            yield
        finally:
            ctx.prec, ctx.cap = before


def larger(x: Number, y: Number = ZERO) -> Number:
    """Return the larger of two numbers, exact if both are."""
    return max(x, y) if isinstance(x, fmpq) and isinstance(y, fmpq) else arb(x).max(arb(y))


def lesser(x: Number, y: Number) -> Number:
    """Return the lesser of two numbers."""
    return -larger(-x, -y)


def fraction_below(x: Number) -> fmpq:
    """Return a fraction that is at most a number, and hardly less: 0 for those that are not proved to exceed 2^-256."""
    if isinstance(x, fmpq):
        return x
    mantissa, exponent = x.lower().man_exp() if x > arb(2) ** -256 else (0, 0)
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def largest(values: Iterable[arb]) -> arb:
    """Return the largest of some balls."""
    return reduce(arb.max, values)


def least(values: Iterable[arb]) -> arb:
    """Return the least of some balls."""
    return reduce(arb.min, values)


def positive_part(x: Number) -> Number:
    """Return x_+, the fraction 0 where x is proved to be at most 0: then sums of fractions stay exact."""
    return ZERO if x <= 0 else larger(x)


def is_one(x: Number) -> bool:
    """Return whether a number is 1: exactly, or as a tiny ball around it."""
    return bool(x == 1 if isinstance(x, fmpq) else x.contains(1) and x.rad() < arb(2) ** -TINY)


def is_at_most(x: Number, y: Number) -> bool:
    """Return whether x <= y: exactly, or but for the radius of a tiny ball."""
    d = x - y
    return bool(d <= 0 or (isinstance(d, arb) and d.contains(0) and d.rad() < arb(2) ** -TINY))


def _power(x: Number, y: Number) -> Number:
    if not isinstance(y, fmpq) or y.q > 2:
        return arb(x) ** arb(y)
    require(abs(y.p) < 2**63, "an exponent beyond 2**63")
    x, exponent = (arb(x).sqrt() if y.q == 2 else x), int(y.p)
    small = isinstance(x, fmpq) and (x.p.bit_length() + x.q.bit_length()) * abs(exponent) <= MOST_FRACTION
    return x**exponent if small else arb(x) ** exponent


_BINARY: dict[type, Any] = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv, ast.Pow: _power}


class Check:
    """The numbers of one certificate, and the work that is spent on them."""

    require, larger, working = staticmethod(require), staticmethod(larger), staticmethod(working)

    def __init__(self, most: int = MOST_WORK) -> None:
        self.work, self.most = 0, most
        self._known: dict[tuple[int, str], Number] = {}

    def spend(self, operations: int, hard: bool = False) -> None:
        """Count operations, refusing when there are too many."""
        self.work += operations * (2 + (ctx.prec // 512) ** 2 if hard else 1)
        require(self.work <= self.most, f"too large: more than {self.most} operations to check it")

    def limited(self, x: Number) -> Number:
        """Return a number, a ball in place of a fraction that is too long."""
        bits = x.p.bit_length() + x.q.bit_length() if isinstance(x, fmpq) else 0
        self.spend(1 + bits // 32, hard=bits == 0)
        return x if bits <= 2 * MOST_FRACTION else arb(x)

    def total(self, numbers: Iterable[Number]) -> Number:
        """Return a sum."""
        return reduce(lambda x, y: self.limited(x + y), numbers, ZERO)

    def number(self, text: str) -> Number:
        """Return the value of an expression of + - * / ** exp log sqrt E pi and integers, or +inf for "inf"."""
        if text == "inf":
            return INFINITY
        found = self._known.get((ctx.prec, text))
        self.spend(len(text) if found is None else 1)
        if found is None:
            require(_TEXT.fullmatch(text), f"not an expression: {text[:40]!a}")
            try:
                found = self._value(ast.parse(text.strip(), mode="eval").body)
            except (SyntaxError, ValueError, ArithmeticError) as error:
                raise Malformed(f"not a number: {text[:40]!a} ({type(error).__name__})") from None
            finite = isinstance(found, fmpq) or found.is_finite()
            require(finite, f"not a finite number at this precision: {text[:40]!a}")
            self._known[ctx.prec, text] = found
        return found

    def fraction(self, text: str) -> fmpq:
        """Return the value of an expression that is a fraction."""
        found = self.number(text)
        require(isinstance(found, fmpq), f"not a fraction: {text[:40]!a}", "invalid")
        return found

    def _value(self, node: ast.expr) -> Number:
        result: Number
        match node:
            case ast.Constant(value=int(n)) if type(n) is int:
                result = fmpq(n)
            case ast.Name(id="E" | "pi" as name):
                result = arb.const_e() if name == "E" else arb.pi()
            case ast.UnaryOp(op=ast.USub(), operand=x):
                result = -self._value(x)
            case ast.Call(func=ast.Name(id="exp"), args=[ast.Call(func=ast.Name(id="log"), args=[x], keywords=[])]):
                result = self._value(x)
            case ast.Call(func=ast.Name(id="exp" | "log" | "sqrt" as name), args=[x], keywords=[]):
                inner = self._value(x)
                result = fmpq(1) if name == "exp" and inner == 0 else getattr(arb(inner), name)()
            case ast.BinOp(left=x, op=op, right=y) if type(op) in _BINARY:
                result = _BINARY[type(op)](self._value(x), self._value(y))
            case _:
                raise Malformed(f"{type(node).__name__} in an expression")
        return self.limited(result)

    def exponential(self, eps: str) -> tuple[Number, Number]:
        """Return e^eps, and 1 - e^eps without cancellation."""
        e = self.number(f"exp({eps})")
        return e, 1 - e if isinstance(e, fmpq) else -arb(self.number(eps)).expm1()
