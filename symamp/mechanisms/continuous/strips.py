"""A density in the plane of inputs and messages, cut by lines into strips that have one formula each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import sympy as sp
from sympy.core.relational import Relational

from symamp.algebra.normal_form import normal
from symamp.algebra.order import is_zero, sign
from symamp.errors import ArgumentError
from symamp.mechanisms.continuous.resolved import Y, resolved

X = sp.Symbol("x", real=True)


@dataclass(frozen=True)
class Strip:
    """Inputs between two numbers and messages between two lines in X, on which each formula is analytic."""

    left: sp.Expr
    right: sp.Expr
    bottom: sp.Expr
    top: sp.Expr
    formulas: tuple[sp.Expr, ...]


def strips(
    formulas: Sequence[sp.Expr],
    inputs: tuple[sp.Expr, sp.Expr],
    messages: tuple[sp.Expr, sp.Expr],
) -> list[list[Strip]]:
    """Return columns, intervals of inputs, of strips in the order of messages; the middles of both are cuts.

    Formulas are in X and Y. Raises ArgumentError unless cases change on lines that are not parallel to the axis of
    messages, and UndecidedOrderError for lines whose order is not proved.

    >>> whole = sp.S.Zero, sp.S.One
    >>> [(s.right, s.bottom, s.top, s.formulas) for s in strips([sp.Abs(Y - X)], whole, whole)[0][:2]]
    [(1/2, 0, x, (x - y,)), (1/2, x, 1/2, (-x + y,))]
    """
    (a, b), (low, high) = inputs, messages
    found = [low, (low + high) / 2, high]
    for line in (e for f in formulas for e in _lines(f)):
        if not any(is_zero(line - other) for other in found):
            found.append(line)
    cuts = [a, (a + b) / 2, b]
    for one, other in combinations(found, 2):
        slope = normal(sp.diff(one - other, X))
        if slope != 0:
            at = normal(-(one - other).xreplace({X: sp.S.Zero}) / slope)
            if sign(at - a) > 0 and sign(b - at) > 0 and all(sign(at - c) != 0 for c in cuts):
                cuts.append(at)
    ends = _sorted(cuts, {})
    return [list(_column(formulas, found, (low, high), left, right)) for left, right in pairwise(ends)]


def _column(
    formulas: Sequence[sp.Expr],
    lines: Sequence[sp.Expr],
    messages: tuple[sp.Expr, sp.Expr],
    left: sp.Expr,
    right: sp.Expr,
) -> Iterator[Strip]:
    at = {X: (left + right) / 2}
    low, high = messages
    inner = [c for c in lines if sign(c.xreplace(at) - low) >= 0 and sign(high - c.xreplace(at)) >= 0]
    for bottom, top in pairwise(_sorted(inner, at)):
        inside = {**at, Y: (bottom + top).xreplace(at) / 2}
        yield Strip(left, right, bottom, top, tuple(resolved(f, inside) for f in formulas))


def _sorted(values: Sequence[sp.Expr], at: dict[sp.Symbol, sp.Expr]) -> list[sp.Expr]:
    found: list[sp.Expr] = []
    for v in values:
        below = sum(1 for w in found if sign((v - w).xreplace(at)) > 0)
        found.insert(below, v)
    return found


def _lines(formula: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the messages, as functions of the input, at which a case may change."""
    for e in sp.preorder_traversal(formula):
        if isinstance(e, sp.Abs):
            yield from _line(e.args[0])
        elif isinstance(e, sp.Max | sp.Min):
            for one, other in combinations(e.args, 2):
                yield from _line(one - other)
        elif isinstance(e, Relational):
            yield from _line(e.lhs - e.rhs)


def _line(e: sp.Expr) -> Iterator[sp.Expr]:
    along, across = normal(sp.diff(e, Y)), normal(sp.diff(e, X))
    if along == across == 0:
        return
    if along == 0 or along.free_symbols or across.free_symbols:
        raise ArgumentError("density", str(e), "cases that change on lines in x and y, not at an input")
    yield normal(Y - e / along)
