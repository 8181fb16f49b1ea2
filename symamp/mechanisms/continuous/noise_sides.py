"""Noise of analytic arcs, seen from the inputs 0 and 1: intervals of messages with one formula for both densities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import sympy as sp

from symamp.derivation.crossing import number
from symamp.errors import UndecidedOrderError, VerificationError
from symamp.numbers.agreement import agree
from symamp.numbers.substitution import put
from symamp.numbers.surroundings import at_precision

Z, Y, W = sp.Symbol("z", real=True), sp.Symbol("y", real=True), sp.Symbol("w", positive=True)
_ORDER_BITS = 512
_HALF, _ONE = sp.Rational(1, 2), sp.Integer(1)


@dataclass(frozen=True)
class Arc:
    """The density of the noise for z between two numbers (``oo`` for no end), as an analytic formula in z."""

    start: sp.Expr
    end: sp.Expr
    density: sp.Expr


@dataclass(frozen=True)
class Side:
    """Messages between two numbers with one formula: the densities on both inputs, and their ratio f1/f0."""

    start: sp.Expr
    end: sp.Expr
    density0: sp.Expr
    density1: sp.Expr
    ratio: sp.Expr

    def put(self, values: Mapping[sp.Symbol, sp.Expr]) -> Side:
        """Return the side with numbers for some symbols."""
        both = (put(e, values) for e in (self.start, self.end, self.density0, self.density1, self.ratio))
        return _checked(Side(*both))


@lru_cache(maxsize=1024)
def in_tail(side: Side, formula: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return density and ratio of a side whose messages are a falling formula in w, for dw."""
    density, ratio = (sp.simplify(e.subs(Y, formula)) for e in (side.density0, side.ratio))
    return sp.simplify(density * -sp.diff(formula, W)), ratio


@lru_cache(maxsize=128)
def sides_of(arcs: tuple[Arc, ...]) -> tuple[Side, ...]:
    """Return the messages right of 1/2 for the inputs 0 and 1, cut where a formula changes."""
    kinks = [a.start for a in arcs if a.start != 0] + [arcs[-1].end]
    cuts = [_ONE, *(k + shift for k in kinks for shift in (-1, 0, 1) if k != sp.oo), _ONE - kinks[0]]
    inner = [c for c in cuts if c not in (sp.oo, -sp.oo) and _compare(c, _HALF) > 0]
    ordered = [_HALF, *_sorted(inner)]
    return tuple(_sides(arcs, ordered))


def _sides(arcs: tuple[Arc, ...], cuts: list[sp.Expr]) -> Iterator[Side]:
    ends = [*cuts[1:], sp.oo] if arcs[-1].end == sp.oo else cuts[1:]
    for start, end in zip(cuts, ends, strict=False):
        middle = start + 1 if end == sp.oo else (start + end) / 2
        left = _compare(middle, _ONE) < 0
        f0 = _density(arcs, middle).subs(Z, Y)
        f1 = _density(arcs, 1 - middle if left else middle - 1).subs(Z, 1 - Y if left else Y - 1)
        if f0 != 0:
            yield _checked(Side(start, end, f0, f1, _shorter(f1 / f0)))


def _shorter(ratio: sp.Expr) -> sp.Expr:
    """Return the ratio simplified, exponents as sums in which nothing cancels: balls are narrow so."""
    return sp.simplify(ratio).replace(sp.exp, lambda x: sp.exp(sp.expand(x)))


def _checked(side: Side) -> Side:
    """Return the side; VerificationError if its ratio is proved to be another one than that of its densities."""
    if side.density1 != 0 and (side.ratio * side.density0 * side.density1).free_symbols == {Y}:
        written = side.density1 / side.density0
        if not agree(side.ratio, written, Y, inner_points(side.start, side.end)):
            raise VerificationError("ratio", str(side.ratio), f"{written}, which it was before it was simplified")
    return side


def inner_points(start: sp.Expr, end: sp.Expr) -> list[sp.Rational]:
    """Return some rational numbers between two numbers, of which the second may be ``oo``."""
    far = [start + sp.Rational(1, 3), start + 2, start + 9, start + 40]
    points = far if end == sp.oo else [start + (end - start) * sp.Rational(k, 5) for k in range(1, 5)]
    return [sp.Rational(str(sp.N(p, 12))) for p in points]


def joined(sides: Sequence[Side]) -> list[Side]:
    """Return the sides as they are shown: neighbours with one formula are one, and exponents are products."""
    found: list[Side] = []
    for side in sides:
        last = found[-1] if found else None
        ratio = side.ratio.replace(sp.exp, lambda x: sp.exp(sp.factor(x)))
        if last is not None and (last.density0, last.ratio) == (side.density0, ratio):
            found[-1] = replace(last, end=side.end)
        else:
            found.append(replace(side, ratio=ratio))
    return found


def _density(arcs: tuple[Arc, ...], z: sp.Expr) -> sp.Expr:
    for arc in arcs:
        if arc.end == sp.oo or _compare(z, arc.end) < 0:
            return arc.density
    return sp.Integer(0)


def _sorted(values: list[sp.Expr]) -> list[sp.Expr]:
    found: list[sp.Expr] = []
    for value in values:
        place = len(found)
        while place and _compare(value, found[place - 1]) < 0:
            place -= 1
        if not place or _compare(value, found[place - 1]) > 0:
            found.insert(place, value)
    return found


def _compare(a: sp.Expr, b: sp.Expr) -> int:
    """Return the sign of a - b for constants."""
    if a == b:
        return 0
    with at_precision(_ORDER_BITS):
        difference = number(sp.sympify(a - b))()
        if difference > 0 or difference < 0:
            return 1 if difference > 0 else -1
    if sp.simplify(a - b) == 0:
        return 0
    raise UndecidedOrderError("order", f"{a} against {b}", "numbers whose order can be decided")
