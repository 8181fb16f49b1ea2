"""Formulas with absolute values and cases on boxes of inputs and messages: a ball around all values there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import sympy as sp
from flint import arb
from sympy.core.relational import Relational
from sympy.logic.boolalg import And, Or

from symamp.errors import ArgumentError
from symamp.mechanisms.continuous.resolved import has_cases
from symamp.numbers.systems import FLINT, compile_expression

Box = Mapping[str, arb]
Range = Callable[[Box], arb]


def formula_range(formula: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> Range:
    """Return a function of balls, by the names of symbols, that contains the values of a formula on them.

    Where a case is not decided on a box, the ball covers all cases that are possible. Raises ArgumentError or
    ExpressionError for functions that are not known.

    >>> x = sp.Symbol("x")
    >>> formula_range(sp.Abs(x), (x,))({"x": arb(1, 2)}).contains(0)
    True
    """
    if not has_cases(formula):
        compiled = compile_expression(formula, symbols)
        return lambda box: compiled(FLINT, box)
    inner = [formula_range(a, symbols) for a in formula.args if isinstance(a, sp.Expr)]
    if isinstance(formula, sp.Abs):
        return lambda box: abs(inner[0](box))
    if isinstance(formula, sp.Max):
        return lambda box: reduce(arb.max, (f(box) for f in inner))
    if isinstance(formula, sp.Min):
        return lambda box: reduce(arb.min, (f(box) for f in inner))
    if isinstance(formula, sp.Piecewise):
        values = [formula_range(v, symbols) for v, _ in formula.args]
        tests = [_test(c, symbols) for _, c in formula.args]
        return lambda box: _cases(values, tests, box)
    if formula.is_Add or formula.is_Mul:
        combine = arb.__add__ if formula.is_Add else arb.__mul__
        return lambda box: reduce(combine, (f(box) for f in inner))
    # A function of parts with cases: they are put in for symbols of its own.
    names = tuple(sp.Symbol(f"part{i}") for i in range(len(formula.args)))
    outer = compile_expression(_rebuilt(formula, names), (*symbols, *names))
    parts = dict(zip((s.name for s in names), (formula_range(a, symbols) for a in formula.args), strict=True))
    return lambda box: outer(FLINT, {**box, **{name: f(box) for name, f in parts.items()}})


def _rebuilt(formula: sp.Expr, names: tuple[sp.Symbol, ...]) -> sp.Expr:
    """Return the function with symbols for its arguments; constant ones stay."""
    return formula.func(*(n if a.free_symbols else a for n, a in zip(names, formula.args, strict=True)))


def _cases(values: list[Range], tests: list[Callable[[Box], bool | None]], box: Box) -> arb:
    found: arb | None = None
    for value, test in zip(values, tests, strict=True):
        holds = test(box)
        if holds is not False:
            here = value(box)
            found = here if found is None else found.union(here)
        if holds:
            break
    return arb("nan") if found is None else found


def _test(condition: sp.Basic, symbols: tuple[sp.Symbol, ...]) -> Callable[[Box], bool | None]:
    """Return whether a condition holds on a box, None if it is not decided."""
    if condition in (sp.true, sp.false):
        return lambda _: bool(condition)
    if isinstance(condition, And | Or):
        parts = [_test(c, symbols) for c in condition.args]
        stop = isinstance(condition, Or)

        def together(box: Box) -> bool | None:
            found = [p(box) for p in parts]
            return stop if stop in found else (None if None in found else not stop)

        return together
    if not isinstance(condition, sp.Lt | sp.Le | sp.Gt | sp.Ge) or not isinstance(condition, Relational):
        raise ArgumentError("density", str(condition), "cases told apart by <, <=, > or >=")
    # Equality is a single message, or a single input at which both sides are covered.
    less = formula_range(condition.lhs - condition.rhs, symbols)
    below = isinstance(condition, sp.Lt | sp.Le)

    def compared(box: Box) -> bool | None:
        difference = less(box)
        if difference < 0:
            return below
        return (not below) if difference > 0 else None

    return compared
