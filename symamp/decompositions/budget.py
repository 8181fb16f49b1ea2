"""Local budget, variation-ratio parameters and shuffle index of a mechanism, as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import sympy as sp

from symamp.decompositions.blanket import densities, derived, infimum
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.pairs import pair_classes
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.errors import ExpressionError, Problem, UndecidedOrderError, VerificationError
from symamp.formulas.arrangement import arranged
from symamp.formulas.normal_form import normal, quotient
from symamp.formulas.order import largest, maximum, sign
from symamp.formulas.parameter import Parameter, admissible_points
from symamp.numbers.reading import difference

# -------- Formulas that users get, compared in balls with what they were derived from: no rewriting by SymPy is trusted

_CHECK_POINTS = 3  # admissible values of the parameters at which formulas are compared


def compared(found: sp.Expr, written: sp.Expr, parameters: Sequence[Parameter]) -> sp.Expr:
    """Return ``found`` if its balls agree with those of what was derived, at admissible points.

    Formulas with a part that has no value in balls, such as a maximum that is left open, are returned as they are.
    Raises VerificationError if the balls are apart.

    >>> x = Parameter("x", lower=1)
    >>> compared(sp.log(x.symbol), sp.log(x.symbol**2, evaluate=False), [x])
    Traceback (most recent call last):
    ...
    symamp.errors.VerificationError: formula: log(x) differs from log(x**2): another ...; please report this
    """
    points = admissible_points(parameters, _CHECK_POINTS) if parameters else [{}]
    try:
        wrong = difference(written, found, points, least=0)
    except (ExpressionError, RecursionError):
        return found
    if wrong:
        differs = Problem(f"{found} differs from {written}: {wrong}")
        raise VerificationError("formula", differs, "please report this")
    return found


# --------------------------------------------------------------------------- The exact local budget eps0 of a mechanism

_LONG_FRACTION = 1000  # bits from which SymPy is not asked for powers in a fraction: it looks for them in doubles


@derived
def largest_ratio(mechanism: LocalRandomizer) -> sp.Expr:
    """Return e^eps0 = max over messages and inputs of R(x)(y)/R(x')(y): ``oo`` if a zero meets a nonzero."""
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
        high = largest(here, parameters)
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
        unknown = Problem(f"it is not proved that inputs with the ratio {extra[best - len(sure)]} exist")
        raise UndecidedOrderError("local epsilon", unknown, "assume lower bounds of the sizes")
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
    plain = ratio.has(sp.Max) or (ratio.is_Rational and ratio.p.bit_length() > _LONG_FRACTION)
    budget = sp.log(ratio) if plain else sp.expand_log(sp.log(sp.powsimp(ratio)), force=False)
    written = sp.log(ratio, evaluate=False)
    return compared(arranged(budget, mechanism.parameters), written, mechanism.parameters)


# ---------------------------------- The variation-ratio parameters (p, beta, q) of a mechanism (Wang 2023), as formulas


class VariationRatio(NamedTuple):
    """Of the pairs x0, x1 that are compared, and of any third input x.

    p: largest ratio R(x0)/R(x1); beta: largest total variation of a pair; q: largest ratio of either to any R(x).
    """

    p: sp.Expr
    beta: sp.Expr
    q: sp.Expr


@derived
def variation_ratio(mechanism: LocalRandomizer) -> VariationRatio:
    """Return (p, beta, q), each the maximum over the pairs that the description lists."""
    parameters = mechanism.parameters
    if mechanism.is_composed:
        distances = [_distance(c.decomposition, parameters) for c in pair_classes(mechanism)]
        return VariationRatio(compared_ratio(mechanism), largest(distances, parameters), largest_ratio(mechanism))
    ratios: list[sp.Expr] = []
    variations: list[sp.Expr] = []
    reach: list[sp.Expr] = []
    for pair in mechanism.pairs():
        variation = sp.Integer(0)
        for orbit in mechanism.orbits(pair):
            if orbit.measure == 0:
                continue
            a, b = (normal(d) for d in orbit.density)
            order = 0 if a == b else sign(a - b, parameters)
            high, low = (a, b) if order >= 0 else (b, a)
            variation += orbit.measure * (high - low) / 2
            if high != 0:
                ratios.append(sp.oo if low == 0 else normal(high / low))
                least = infimum(orbit, parameters)
                reach.append(sp.oo if least == 0 else normal(high / least))
        variations.append(normal(variation))
    return VariationRatio(
        largest(ratios, parameters),
        largest(variations, parameters),
        largest([*reach, largest_ratio(mechanism)], parameters),
    )


def _distance(found: Decomposition, parameters: Sequence[Parameter]) -> sp.Expr:
    """Return the total variation of A0 and A1 from the components of their triple."""
    excess = [m * (a - b) for a, b, m in found.components] + [a - b for a, b in found.singular]
    return normal(sp.Add(*(e for e in excess if e != 0 and sign(e, parameters) > 0)))


# --------------------------------------------------------------------------------- The shuffle index chi of a mechanism


@derived
def shuffle_index(mechanism: LocalRandomizer) -> sp.Expr:
    """Return the least chi over ordered pairs; 0 where a message names its sender; Min(...) if undecided."""
    classes = pair_classes(mechanism)
    if any(a != b for c in classes for a, b in c.decomposition.singular):
        return sp.Integer(0)
    lists = (c.decomposition.components for c in classes)
    values = list(dict.fromkeys(normal(sp.Add(*(m * (r0 - r1) ** 2 for r0, r1, m in found))) for found in lists))
    with suppress(UndecidedOrderError):
        values = [values[maximum(values, mechanism.parameters)]]
    roots = [sp.oo if v == 0 else _inverse_root(v, mechanism.parameters) for v in values]
    return roots[0] if len(roots) == 1 else sp.Min(*(r for r in roots if r is not sp.oo), evaluate=False)


def _inverse_root(value: sp.Expr, parameters: Sequence[Parameter]) -> sp.Expr:
    """Return value^(-1/2) for a positive value, with squares taken out of the root where their sign is proved."""
    content, factors = quotient(value).factored
    outside, inside = sp.Integer(1), 1 / content
    for base, exponent in factors:
        pairs = int(exponent / 2)  # towards 0: x**(-1/2) stays below the root
        inside *= base ** (2 * pairs - exponent)
        outside *= _absolute(base, parameters) ** -pairs
    found = (outside * sp.sqrt(x) for x in (inside, arranged(inside, tuple(parameters))))
    written = sp.Pow(value, sp.Rational(-1, 2), evaluate=False)
    return compared(min(found, key=lambda e: len(str(e))), written, parameters)


def _absolute(base: sp.Expr, parameters: Sequence[Parameter]) -> sp.Expr:
    try:
        return base if sign(base, parameters) >= 0 else -base
    except UndecidedOrderError:
        return sp.Abs(base, evaluate=False)
