"""The sign of a normal form over all admissible parameters: a proof by ranges, else by cases of an integer."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import sympy as sp

from symamp.algebra.constant_sign import constant_sign
from symamp.algebra.normal_form import normal
from symamp.algebra.parameter import Parameter
from symamp.algebra.sign_by_ranges import Outcome, Proof
from symamp.errors import ArgumentError, ExpressionError, UndecidedOrderError, shown
from symamp.numbers.substitution import put

_INTEGER_STEPS = 3


@lru_cache(maxsize=65536)
def proved_sign(expr: sp.Expr, parameters: tuple[Parameter, ...]) -> Outcome:
    """Return the sign of an expression in normal form over all admissible parameters, or what is missing."""
    return _decide(expr, parameters, _INTEGER_STEPS)


def _decide(expr: sp.Expr, parameters: tuple[Parameter, ...], steps: int) -> Outcome:
    if not expr.free_symbols:
        try:
            sign = constant_sign(expr)
        except UndecidedOrderError as error:
            said = str(error.value), error.accepted
            return Outcome(None, missing=lambda: said)
        return Outcome(sign, sign != 0)
    undeclared = sorted(str(s) for s in expr.free_symbols - {p.symbol for p in parameters})
    if undeclared:
        said = shown(expr), f"declared parameters only; declare {', '.join(undeclared)}"
        return Outcome(None, missing=lambda: said)
    outcome = _attempt(expr, parameters)
    return outcome if outcome.sign is not None else _by_cases(expr, parameters, steps) or outcome


def _by_cases(expr: sp.Expr, parameters: tuple[Parameter, ...], steps: int) -> Outcome | None:
    """Split off the least value of an integer parameter: (k - 2)*(k - 3) >= 0 holds on integers only."""
    for i, p in enumerate(parameters):
        if steps == 0 or not p.integer or p.symbol not in expr.free_symbols:
            continue
        if p.lower is None or not p.lower.is_Integer or p.lower == p.upper:
            continue
        try:
            rest = tuple(q.given({p.symbol: p.lower}) for j, q in enumerate(parameters) if j != i)
            first = _decide(normal(put(expr, {p.symbol: p.lower})), rest, steps - 1)
        except ArgumentError:  # the range of another parameter is empty there
            first = Outcome(0, True)
        except ExpressionError:  # the expression may have a pole there
            continue
        if first.sign is None:
            continue
        above = (*parameters[:i], replace(p, lower=p.lower + 1, predicate=None), *parameters[i + 1 :])
        other = _attempt(expr, above)
        found = other if other.sign is not None else _by_cases(expr, above, steps - 1)
        if found is not None and found.sign is not None and found.sign * first.sign >= 0:
            return Outcome(found.sign or first.sign, found.strict and first.strict)
    return None


def _check(parameters: tuple[Parameter, ...]) -> None:
    known: set[sp.Symbol] = set()
    for p in parameters:
        for bound in (p.lower, p.upper):
            if bound is not None and not bound.free_symbols <= known:
                raise ArgumentError(f"bound of {p.name}", str(bound), "an expression in parameters declared before it")
        known.add(p.symbol)


def _attempt(expr: sp.Expr, parameters: tuple[Parameter, ...]) -> Outcome:
    _check(parameters)

    def prove(side: sp.Expr) -> tuple[int, bool] | None:
        try:
            found = proved_sign(normal(side), parameters)
        except (ExpressionError, UndecidedOrderError):
            return None
        return None if found.sign is None else (found.sign, found.strict)

    return Proof(expr, parameters, prove).outcome()
