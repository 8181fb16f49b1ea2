"""The exact local budget eps0 of a mechanism."""

from __future__ import annotations

import sympy as sp

from symamp.algebra.arrangement import arranged
from symamp.algebra.normal_form import normal
from symamp.algebra.order import maximum
from symamp.derivation.derived import derived
from symamp.derivation.infimum import densities, infimum, supremum
from symamp.derivation.randomizer import LocalRandomizer
from symamp.derivation.same_value import compared, log
from symamp.errors import UndecidedOrderError

_LONG = 1000
"""Bits of a fraction from which on SymPy does not look for powers: it does so in doubles."""


@derived
def largest_ratio(mechanism: LocalRandomizer) -> sp.Expr:
    """Return e^eps0 = max over messages and inputs of R(x)(y)/R(x')(y): ``oo`` if a zero meets a nonzero.

    Max(...) of the candidates if their order depends on the parameters. Raises UndecidedOrderError if a density that
    only some messages of an orbit have would decide it.
    """
    if mechanism.numeric is not None:
        return mechanism.numeric.largest_ratio()
    if (composed := mechanism.composed_ratio()) is not None:
        return composed
    # One pair shows everything: density and rest together list all inputs on every message.
    sure: list[sp.Expr] = []
    possible: list[sp.Expr] = []
    parameters = mechanism.parameters
    for orbit in mechanism.orbits(mechanism.pairs()[0]):
        here, elsewhere = densities(orbit, parameters)
        high = supremum(here, parameters)
        if orbit.measure == 0 or (high == 0 and not elsewhere):
            continue
        low = infimum(orbit, parameters)
        if low == 0:
            return sp.oo
        sure.append(normal(high / low))
        possible.extend(normal(d / low) for d in elsewhere)
    sure = list(dict.fromkeys(sure))
    extra = [r for r in dict.fromkeys(possible) if r not in sure]
    try:
        best = maximum([*sure, *extra], parameters)
    except UndecidedOrderError:
        if extra:
            raise
        return sp.Max(*sure, evaluate=False)  # SymPy would drop some by its own view of their order
    if best >= len(sure):
        raise UndecidedOrderError("local epsilon", extra[best - len(sure)], "parameters under which it is attained")
    return sure[best]


@derived
def compared_ratio(mechanism: LocalRandomizer) -> sp.Expr:
    """Return the largest ratio of probabilities between two inputs that are compared: at most ``largest_ratio``."""
    if not mechanism.compares_all:
        if mechanism.numeric is not None:
            return mechanism.numeric.compared_ratio()
        if (composed := mechanism.composed_compared_ratio()) is not None:
            return composed
    return largest_ratio(mechanism)


def local_epsilon(mechanism: LocalRandomizer) -> sp.Expr:
    """Return log of the largest ratio, simplified."""
    ratio = largest_ratio(mechanism)
    if ratio is sp.oo:
        return sp.oo
    plain = ratio.has(sp.Max) or (ratio.is_Rational and ratio.p.bit_length() > _LONG)
    budget = sp.log(ratio) if plain else sp.expand_log(sp.log(sp.powsimp(ratio)), force=False)
    return compared(arranged(budget, mechanism.parameters), ratio, mechanism.parameters, log)
