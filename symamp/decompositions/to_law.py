"""From formulas to numbers: the law of a decomposition, which is all that the evaluation needs."""

from __future__ import annotations

from functools import lru_cache, partial
from math import inf

import flint
import sympy as sp
from flint import arb, fmpq

from symamp.decompositions.decomposition import Decomposition
from symamp.errors import ArgumentError, Problem
from symamp.formulas.parameter import Parameter
from symamp.laws.law import Atom, Law, Level, Number, RationalLaw
from symamp.numbers.dyadic import Dyadic, float_above
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import FLINT, compile_expression

_BITS = 128  # of the balls that are rounded outward


@lru_cache(maxsize=4096)
def law_of(decomposition: Decomposition, complete: bool = False) -> Law:
    """Return the law of a decomposition without free parameters: exact numbers as functions of the precision.

    ``complete`` says that A2 is known to be a probability, without a null symbol.
    """
    if decomposition.numeric_law is not None:
        return decomposition.numeric_law
    refuse_symbols(decomposition.parameters)
    components, alone = decomposition.components, decomposition.singular
    if all(e.is_Rational for part in (*components, *alone) for e in part):
        atoms = tuple((fmpq_of(c.ratio0), fmpq_of(c.ratio1), fmpq_of(c.mass)) for c in components)
        return RationalLaw(atoms, tuple((fmpq_of(a), fmpq_of(b)) for a, b in alone)).in_balls(complete)
    balls = (Atom(number(c.ratio0), number(c.ratio1), number(c.mass), c.ratio0 == c.ratio1) for c in components)
    return Law(tuple(balls), tuple((number(a), number(b)) for a, b in alone), complete)


def refuse_symbols(parameters: tuple[Parameter, ...]) -> None:
    """Raise ArgumentError where some parameters are still symbols."""
    if parameters:
        missing = ", ".join(p.describe() for p in parameters)
        wrong = Problem(f"no number is given for {missing}")
        raise ArgumentError("parameters", wrong, "give it by mechanism.at(eps0=1)")


def number(value: fmpq | sp.Expr) -> Number:
    """Return a constant as a function that gives a ball around it at the ambient precision."""
    if isinstance(value, fmpq):
        return partial(arb, value)
    evaluate = compile_expression(value)
    return kept_ball(lambda: evaluate(FLINT, {}))


def kept_ball(made: Number) -> Number:
    """Return the number with its last ball kept: levels of one law share its numbers and mostly their precision."""
    last = 0, arb(0)

    def ball() -> arb:
        nonlocal last
        if last[0] != flint.ctx.prec:
            last = flint.ctx.prec, made()
        return last[1]

    return ball


def log_above(ratio: sp.Expr) -> float:
    """Return the logarithm of a constant as a double, rounded up; inf for infinity."""
    if ratio is sp.oo:
        return inf
    with at_precision(_BITS):
        return float_above(number(sp.log(ratio))())


def rounded_fraction(x: sp.Expr, *, up: bool = True) -> fmpq:
    """Return a constant as a fraction, rounded up or down if it is none."""
    if x.is_Rational:
        return fmpq_of(x)
    with at_precision(_BITS):
        ball = number(x)()
        return Dyadic.of(ball.upper() if up else ball.lower()).fraction


def level_of(eps: sp.Expr) -> Level:
    """Return the exact level of a constant expression eps >= 0."""
    e = sp.exp(eps)
    return Level(number(eps), lambda: str(eps), fmpq_of(e) if e.is_Rational else None)
