"""A density with absolute values and cases, cut into intervals of messages on which it is one analytic formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import sympy as sp
from sympy.core.relational import Relational
from sympy.logic.boolalg import And, BooleanFalse, BooleanTrue, Not, Or

from symamp.algebra.order import sign
from symamp.errors import ArgumentError

Y = sp.Symbol("y", real=True)
_CASES = (sp.Abs, sp.Piecewise, sp.Max, sp.Min)
_LINEAR = "Abs, Piecewise, Max and Min of expressions that are linear in the message"


class Stretch(NamedTuple):
    """An interval of messages (an end may be infinite), and one of its inner points."""

    start: sp.Expr
    end: sp.Expr
    inside: sp.Expr


def stretches(formulas: tuple[sp.Expr, ...], low: sp.Expr, high: sp.Expr, others: tuple[sp.Expr, ...]) -> list[Stretch]:
    """Return the intervals between two messages, cut where a case of a formula in y changes, and at ``others``.

    Raises ArgumentError for a case that is not decided by linear expressions, UndecidedOrderError for ends whose order
    is not proved.

    >>> [(s.start, s.end) for s in stretches((sp.Abs(Y - 1),), sp.Integer(0), sp.oo, ())]
    [(0, 1), (1, oo)]
    """
    found: list[sp.Expr] = [e for e in (low, high) if e.is_finite]
    for cut in (*(c for f in formulas for c in _corners(f)), *others):
        if (low.is_infinite or sign(cut - low) > 0) and (high.is_infinite or sign(high - cut) > 0):
            _insert(found, cut)
    ends = [*([low] if low.is_infinite else []), *found, *([high] if high.is_infinite else [])]
    return [Stretch(a, b, _between(a, b)) for a, b in pairwise(ends)]


def resolved(formula: sp.Expr, inside: sp.Expr | Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Return the formula that holds on the whole stretch around a message, or around values of symbols, free of cases.

    >>> resolved(sp.Piecewise((1, Y < 2), (sp.Abs(Y), True)), sp.Integer(3))
    y
    """
    if isinstance(formula, sp.Abs):
        inner = resolved(formula.args[0], inside)
        return inner * sign(_at(inner, inside))
    if isinstance(formula, sp.Max | sp.Min):
        best, *rest = [resolved(a, inside) for a in formula.args]
        for other in rest:
            larger = sign(_at(other - best, inside)) > 0
            best = other if larger == isinstance(formula, sp.Max) else best
        return best
    if isinstance(formula, sp.Piecewise):
        for value, condition in formula.args:
            if _holds(condition, inside):
                return resolved(value, inside)
        raise ArgumentError("density", str(formula), "cases for every message")
    return formula.func(*(resolved(a, inside) for a in formula.args)) if formula.args else formula


def _corners(formula: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the messages at which a case may change."""
    if isinstance(formula, sp.Abs):
        yield from _root(formula.args[0])
    elif isinstance(formula, sp.Max | sp.Min):
        for i, a in enumerate(formula.args):
            for b in formula.args[:i]:
                yield from _root(a - b)
    elif isinstance(formula, sp.Piecewise):
        for _, condition in formula.args:
            for relation in condition.atoms(Relational):
                yield from _root(relation.lhs - relation.rhs)
    for part in formula.args:
        for inner in part.args if part.func is sp.functions.elementary.piecewise.ExprCondPair else (part,):
            if isinstance(inner, sp.Expr):
                yield from _corners(inner)


def _root(argument: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the messages at which an argument vanishes; more of them do no harm."""
    for part in stretches((argument,), -sp.oo, sp.oo, ()) if has_cases(argument) else [None]:
        slope, at_zero = _linear(argument if part is None else resolved(argument, part.inside))
        if sign(slope) != 0:
            yield -at_zero / slope


def _linear(e: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return (a, b) with e = a y + b."""
    if e == Y:
        return sp.S.One, sp.S.Zero
    if Y not in e.free_symbols:
        return sp.S.Zero, e
    if e.is_Add:
        parts = [_linear(a) for a in e.args]
        return sp.Add(*(a for a, _ in parts)), sp.Add(*(b for _, b in parts))
    moving = [a for a in e.args if Y in a.free_symbols]
    if e.is_Mul and len(moving) == 1:
        factor = sp.Mul(*(a for a in e.args if a is not moving[0]))
        slope, at_zero = _linear(moving[0])
        return factor * slope, factor * at_zero
    raise ArgumentError("density", str(e), _LINEAR)


def _holds(condition: sp.Basic, inside: sp.Expr | Mapping[sp.Symbol, sp.Expr]) -> bool:
    if isinstance(condition, BooleanTrue | BooleanFalse):
        return bool(condition)
    if isinstance(condition, And | Or):
        return (all if isinstance(condition, And) else any)(_holds(c, inside) for c in condition.args)
    if isinstance(condition, Not):
        return not _holds(condition.args[0], inside)
    if not isinstance(condition, Relational):
        raise ArgumentError("density", str(condition), _LINEAR)
    order = sign(_at(condition.lhs - condition.rhs, inside))
    if order == 0:
        return isinstance(condition, sp.Le | sp.Ge | sp.Eq)
    if isinstance(condition, sp.Eq | sp.Ne):
        return isinstance(condition, sp.Ne)
    return (order > 0) == isinstance(condition, sp.Gt | sp.Ge)


def _at(e: sp.Expr, inside: sp.Expr | Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    return e.xreplace(inside if isinstance(inside, Mapping) else {Y: inside})


def _insert(found: list[sp.Expr], value: sp.Expr) -> None:
    for k, other in enumerate(found):
        order = sign(value - other)
        if order == 0:
            return
        if order < 0:
            found.insert(k, value)
            return
    found.append(value)


def _between(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    if a.is_infinite:
        return sp.S.Zero if b.is_infinite else b - 1
    return a + 1 if b.is_infinite else (a + b) / 2


def has_cases(formula: sp.Expr) -> bool:
    """Return whether a formula has absolute values or cases left."""
    return bool(formula.has(*_CASES))
