"""Formulas that enter: checked once, built in SymPy, and what SymPy made of them compared with what was written.

SymPy rewrites as it builds, and some of its rewriting is wrong (docs/findings/sympy_assumptions.md), so nothing that
it made is used before balls have shown the same value at several points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Never

import sympy as sp

from symamp.errors import ExpressionError
from symamp.numbers.enclosure import MAGNITUDE, Point, balls, difference, generic_points, is_settled, sign_of
from symamp.numbers.formula import Formula, from_sympy, to_sympy
from symamp.numbers.formula_size import OBJECT, Limits, Refuse, checked
from symamp.numbers.rationals import fits, fmpq_of, fraction_of
from symamp.numbers.undefined import undefined_part

KNOWN = "numbers, symbols, + - * /, powers, exp, log, sqrt, binomial"
_MORE_POINTS = 60


def built(
    formula: Formula,
    symbols: Mapping[str, sp.Symbol],
    limits: Limits,
    refuse: Refuse,
    points: Sequence[Point] = (),
    probes: Sequence[Point] = (),
) -> sp.Expr:
    """Return the SymPy expression that has the value of the formula, or ``refuse`` with the part and the reason.

    ``points`` are admissible values of the symbols; generic ones are taken if there are none. ``probes`` are some at
    which the formula must be real and finite.
    """
    folded = checked(formula, limits, frozenset(name for name, s in symbols.items() if s.is_integer), refuse)

    partial = undefined_part(formula, probes, {name for name, s in symbols.items() if s.is_integer})
    if partial is not None:
        refuse(*partial)

    def check(part: Formula, expr: sp.Expr) -> None:
        if expr.is_Rational:
            if not fits(fraction_of(expr)):
                refuse(part, "numbers below 2**5000 in size")
        elif not expr.free_symbols and not is_settled(tree(expr, refusing(part))):
            limits = f"between 2**-{MAGNITUDE} and 2**{MAGNITUDE} in size"
            refuse(part, f"constants that are real, {limits}, and that can be told from 0")

    def refusing(part: Formula) -> Callable[[sp.Basic], Never]:
        return lambda _: refuse(part, "an expression with real values")

    expr = to_sympy(formula, symbols, folded, check)
    if id(formula) not in folded and formula.kind != "symbol":
        _compare(formula, tree(expr, refusing(formula)), symbols, points, refuse)
    return expr


def tree(expr: sp.Basic, unknown: Callable[[sp.Basic], None]) -> Formula:
    """Return the tree of an expression that SymPy made."""
    return from_sympy(expr, unknown)


def _compare(
    written: Formula, read: Formula, symbols: Mapping[str, sp.Symbol], points: Sequence[Point], refuse: Refuse
) -> None:
    if points:
        wrong = difference(written, read, points)
    else:
        kinds = tuple((name, bool(symbols[name].is_integer)) for name in sorted(_names(written)))
        wrong = difference(written, read, generic_points(kinds) if kinds else [{}])
        if wrong and wrong.startswith("no value") and kinds:
            wrong = difference(written, read, _scattered(kinds))
    if wrong:
        refuse(written, f"an expression with real values that SymPy reads as it is written ({wrong})")


def _names(formula: Formula) -> set[str]:
    names, seen = set(), [formula]
    while seen:
        f = seen.pop()
        if f.kind == "symbol":
            names.add(f.name)
        seen.extend(f.parts)
    return names


def _scattered(kinds: tuple[tuple[str, bool], ...]) -> list[dict[str, Fraction]]:
    """Return many points, for expressions that are real in a small domain only."""
    return [
        {
            name: Fraction((7 * i + 5 * j) % 23 - 3) if integer else Fraction((37 * i + 101 * j * j) % 211 - 20, 97)
            for j, (name, integer) in enumerate(kinds)
        }
        for i in range(_MORE_POINTS)
    ]


def read_formula(
    expr: sp.Expr,
    argument: str,
    swap: Mapping[sp.Symbol, sp.Symbol],
    points: Sequence[Point] = (),
    probes: Sequence[Point] = (),
    *,
    floats: bool = False,
) -> sp.Expr:
    """Return a SymPy expression from outside over the symbols of ``swap``, rebuilt and compared with its own tree.

    With ``floats`` these count as the binary fractions they are. Raises ExpressionError for other parts than text can
    have, or sizes beyond the limits.

    >>> x = sp.Symbol("x", real=True)
    >>> read_formula(x ** (10**9), "entry", {x: x})
    Traceback (most recent call last):
    ...
    symamp.errors.ExpressionError: entry: got x**1000000000; accepted: exponents of at most 10000 in size, ...
    """
    places: dict[int, sp.Basic] = {}

    def refuse(part: Formula, accepted: str) -> Never:
        raise ExpressionError(argument, places.get(id(part), expr), accepted)

    def unknown(part: sp.Basic) -> Never:
        raise ExpressionError(argument, part, KNOWN)

    try:
        formula = from_sympy(expr, unknown, OBJECT.depth, places, floats)
        return built(formula, {old.name: new for old, new in swap.items()}, OBJECT, refuse, points, probes)
    except RecursionError:
        raise ExpressionError(argument, expr, f"at most {OBJECT.depth} levels of nesting") from None


def check_formula(expr: sp.Expr, argument: str) -> None:
    """Raise ExpressionError for a SymPy expression with other parts than text can have, or beyond its limits.

    >>> check_formula(sp.sin(sp.Symbol("x")), "entry")
    Traceback (most recent call last):
    ...
    symamp.errors.ExpressionError: entry: got sin(x); accepted: numbers, symbols, + - * /, powers, exp, ...
    """
    read_formula(expr, argument, {s: s for s in expr.free_symbols})


def sign_of_constant(expr: sp.Expr) -> int:
    """Return the sign of a constant as balls of 4096 bits show it; 0 where they do not tell it from zero.

    >>> sign_of_constant(sp.log(3) - 1), sign_of_constant(sp.Rational(-1, 3))
    (1, -1)
    """
    if expr.is_Rational:
        return int(expr.p > 0) - int(expr.p < 0)
    return sign_of(from_sympy(expr, _refuse_part), True) or 0


def constant_value(expr: sp.Expr, point: Point) -> tuple[Fraction, Fraction]:
    """Return fractions around the value of an expression at a point; ExpressionError where it has no real value.

    >>> low, high = constant_value(sp.Symbol("x") / 3, {"x": Fraction(2)})
    >>> low <= Fraction(2, 3) <= high
    True
    """
    formula = from_sympy(expr, _refuse_part)
    if formula.kind == "number":
        return formula.number, formula.number
    if formula.kind == "symbol":
        return point[formula.name], point[formula.name]
    ball = balls(formula, point, 128)
    if not ball.is_finite():
        raise ExpressionError("bound", expr, "an expression with a real value")
    # Outward to short fractions: points are admissible strictly, and cheap to compute with.
    low, high = (int(end.floor().unique_fmpz()) for end in ((ball * 2**40).lower(), (ball * 2**40).upper()))
    nearest = (ball * 720720).mid().floor().unique_fmpz()
    exact = Fraction(int(nearest), 720720) if nearest is not None else None
    if exact is not None and ball.contains(fmpq_of(exact)):
        return exact, exact
    return Fraction(low, 2**40), Fraction(high + 1, 2**40)


def _refuse_part(part: sp.Basic) -> Never:
    raise ExpressionError("formula", part, KNOWN)
