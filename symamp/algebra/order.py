"""Proved order of expressions over all admissible parameters: exact algebra and balls, never floats.

A sign is proved by writing every generator of the normal form as its bound plus (or Moebius-mapped to) an unknown
u > 0, and showing that each irreducible factor of numerator and denominator then has coefficients of one sign, or no
root in (0, oo). What cannot be proved is refused with the assumption that would help; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import sympy as sp

from symamp.algebra.constant_sign import constant_sign
from symamp.algebra.normal_form import normal, quotient
from symamp.algebra.parameter import Parameter
from symamp.algebra.sign_by_ranges import Outcome
from symamp.algebra.sign_proof import proved_sign
from symamp.errors import UndecidedOrderError, shown
from symamp.numbers.substitution import put

_ARGUMENT = "order"


def is_zero(expr: sp.Expr) -> bool:
    """Return whether ``expr`` is identically zero, proved either way.

    Zero is proved by the normal form (or a minimal polynomial); a constant is proved nonzero by balls, an expression
    in symbols by a coefficient that is not zero. Raises UndecidedOrderError if neither can be proved.

    >>> is_zero(sp.exp(sp.log(3)) - 3), is_zero(sp.sqrt(2) - sp.Rational(3, 2))
    (True, False)
    """
    expr = sp.sympify(expr)
    return bool(expr == 0) if expr.is_Rational else _is_zero(expr)


@lru_cache(maxsize=16384)
def _is_zero(expr: sp.Expr) -> bool:
    q = quotient(expr)
    if q.num == 0:
        return True
    if not q.expr.free_symbols:
        return constant_sign(q.expr) == 0
    if q.independent:
        parts: dict[tuple[int, ...], list[sp.Expr]] = {}
        for exps, c in q.num.to_dict().items():
            pairs = list(zip(exps, q.generators, strict=True))
            constant = sp.Mul(int(c), *(sp.Pow(g.expr, e) for e, g in pairs if g.is_constant))
            parts.setdefault(tuple(0 if g.is_constant else e for e, g in pairs), []).append(constant)
        return all(constant_sign(sp.Add(*part)) == 0 for part in parts.values())
    # Powers of expressions may hide a relation: a value that is not zero settles it.
    symbols = sorted(q.expr.free_symbols, key=str)
    for start in (2, 3, 5):
        point = {s: sp.Integer(start + i) if s.is_integer else sp.Rational(1, start + i) for i, s in enumerate(symbols)}
        try:
            if constant_sign(put(q.expr, point)):
                return False
        except ValueError:  # outside the domain, or undecided there: try the next point
            continue
    raise UndecidedOrderError(_ARGUMENT, shown(q.expr), "an expression that can be proved zero or not zero")


def sign(expr: sp.Expr, parameters: Sequence[Parameter] = ()) -> int:
    """Return 1 if expr >= 0 for all admissible parameters, -1 if expr <= 0, 0 if it is identically zero.

    The order is weak: 1 does not exclude that ``expr`` vanishes for some parameters (see ``strictly_positive``), but
    it does exclude that it is identically zero. Raises UndecidedOrderError, naming a missing assumption, if no proof
    is found.

    >>> from symamp.algebra.parameter import EPS0
    >>> sign(sp.exp(EPS0.symbol) - 1, [EPS0])
    1
    >>> sign(sp.exp(EPS0.symbol) - 3, [EPS0])
    Traceback (most recent call last):
    ...
    symamp.errors.UndecidedOrderError: order: got exp(eps0) - 3; accepted: an expression whose sign follows from \
eps0 > 0; add an assumption such as exp(eps0) > 3
    """
    expr = sp.sympify(expr)
    if expr.is_Rational:
        return (int(expr.p) > 0) - (int(expr.p) < 0)
    return _outcome(expr, tuple(parameters)).sign_or_raise()


@lru_cache(maxsize=65536)
def _outcome(expr: sp.Expr, parameters: tuple[Parameter, ...]) -> Outcome:
    if not expr.free_symbols:
        found = constant_sign(expr)
        return Outcome(found, found != 0)
    return proved_sign(normal(expr), parameters)


def compare(a: sp.Expr, b: sp.Expr, parameters: Sequence[Parameter] = ()) -> int:
    """Return ``sign(a - b)``: 1 if a >= b, -1 if a <= b for all admissible parameters, 0 if they are equal.

    Raises UndecidedOrderError if no proof is found.

    >>> compare(sp.Rational(1, 3), sp.Rational(1, 4)), compare(sp.exp(1), sp.log(20))
    (1, -1)
    """
    return 0 if a == b else sign(sp.sympify(a) - b, parameters)


def strictly_positive(expr: sp.Expr, parameters: Sequence[Parameter] = ()) -> bool:
    """Return True if expr > 0 is proved for all admissible parameters, False if it is not (never raises for that).

    >>> k = Parameter("k", lower=sp.Integer(2), integer=True)
    >>> strictly_positive(k.symbol - 1, [k]), strictly_positive(k.symbol - 2, [k])
    (True, False)
    """
    expr = sp.sympify(expr)
    if expr.is_Rational:
        return bool(expr > 0)
    outcome = _outcome(expr, tuple(parameters))
    return outcome.sign == 1 and outcome.strict


def minimum(values: Sequence[sp.Expr], parameters: Sequence[Parameter] = ()) -> int:
    """Return the index of a proved least element (the first of equal ones).

    Raises UndecidedOrderError if no element is proved to be below all others, ValueError if there is none.

    >>> minimum([sp.Rational(1, 2), sp.Rational(1, 3), sp.Rational(1, 3)])
    1
    """
    return _extreme(values, lambda a, b: compare(a, b, parameters) > 0)


def maximum(values: Sequence[sp.Expr], parameters: Sequence[Parameter] = ()) -> int:
    """Return the index of a proved greatest element (the first of equal ones).

    Raises UndecidedOrderError if no element is proved to be above all others, ValueError if there is none.

    >>> maximum([sp.exp(1), sp.Integer(3), sp.Integer(2)])
    1
    """
    return _extreme(values, lambda a, b: compare(a, b, parameters) < 0)


def _extreme(values: Sequence[sp.Expr], worse: Callable[[sp.Expr, sp.Expr], bool]) -> int:
    """A tournament in one pass; only if some pair is not comparable, look for one that beats all others."""
    if not values:
        raise ValueError("values: got an empty sequence; accepted: at least one expression")
    first: dict[sp.Expr, int] = {}
    for i, v in enumerate(values):
        first.setdefault(normal(v), i)
    candidates = list(first)
    best, failed = candidates[0], None
    for other in candidates[1:]:
        try:
            if worse(best, other):
                best = other
        except UndecidedOrderError as error:  # two that cannot be compared may both lose to a third
            failed = error
            break
    if failed is None:
        return first[best]
    for best in candidates:
        try:
            if not any(worse(best, other) for other in candidates if other is not best):
                return first[best]
        except UndecidedOrderError:
            continue
    raise failed


__all__ = ["compare", "is_zero", "maximum", "minimum", "normal", "sign", "strictly_positive"]
