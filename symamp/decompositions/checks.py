"""Checks of a decomposition, in balls, against the densities behind it; and that probabilities are probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import sympy as sp
from flint import arb, fmpq

from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.numeric_table import NumericTable, expression
from symamp.decompositions.randomizer import LocalRandomizer, Orbit
from symamp.errors import (
    ExpressionError,
    NegativeProbabilityError,
    Problem,
    RowSumError,
    UndecidedOrderError,
    VerificationError,
    shown,
)
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero, sign
from symamp.formulas.parameter import Parameter, admissible_points
from symamp.numbers.reading import balls
from symamp.numbers.surroundings import at_precision

_CHECK_BITS = 160  # at which a decomposition is compared with what is described
_CHECK_POINTS = 3  # admissible values of the parameters at which that is done

# ---------------------- A derived decomposition against the densities that it comes from, in balls at admissible points

# Nothing of the derivation is used: no normal form, no proof of order, no formula that SymPy made on the way. Merging
# keeps the sum of h(A0, A1, A2) over the messages for every h with h(c a) = c h(a); four such sums are compared.

Value = Callable[[sp.Expr], arb]
Row = tuple[arb, arb, arb]


def checked(found: Decomposition, orbits: Sequence[Orbit], hidden: Callable[[Orbit, Value], arb]) -> Decomposition:
    """Return the decomposition, or raise VerificationError if balls refute it.

    ``hidden`` gives the density of A2 on an orbit from the values of its densities.
    """
    entries = [e for orbit in orbits for e in (orbit.measure, *orbit.density, *(d for d, _ in orbit.rest))]
    if all(e.is_Rational for e in entries):
        return found  # exact arithmetic, without SymPy
    for point in admissible_points(found.parameters, _CHECK_POINTS):
        value = partial(_value, tuple(point.items()))
        with at_precision(_CHECK_BITS):
            try:
                pairs = zip(_sums(_raw(orbits, hidden, value)), _sums(_merged(found, value)), strict=True)
            except ExpressionError:  # a part that has no value in balls, such as a maximum
                continue
            if any(a.is_finite() and b.is_finite() and not a.overlaps(b) for a, b in pairs):
                where = ", ".join(f"{k} = {v}" for k, v in point.items())
                wrong = Problem(f"the components {found.components} differ from what is described at {where}")
                raise VerificationError(f"decomposition for {found.pair}", wrong, "please report this")
    return found


@lru_cache(maxsize=4096)  # the decompositions of one table share most of their entries
def _value(point: tuple[tuple[str, Fraction], ...], formula: sp.Expr) -> arb:
    return balls(formula, dict(point), _CHECK_BITS)


def least(orbit: Orbit, value: Value) -> arb:
    """Return the least density of an orbit: the blanket."""
    first, *others = {*orbit.density, *(d for d, number in orbit.rest if number is None or number != 0)}
    lowest = value(first)
    for density in others:
        lowest = lowest.min(value(density))
    return lowest


def _raw(orbits: Sequence[Orbit], hidden: Callable[[Orbit, Value], arb], value: Value) -> Iterator[Row]:
    for orbit in orbits:
        measure = value(orbit.measure)
        yield measure * value(orbit.density[0]), measure * value(orbit.density[1]), measure * hidden(orbit, value)


def _merged(found: Decomposition, value: Value) -> Iterator[Row]:
    for ratio0, ratio1, mass in found.components:
        m = value(mass)
        yield m * value(ratio0), m * value(ratio1), m
    for a, b in found.singular:
        yield value(a), value(b), arb(0)


def _sums(rows: Iterator[Row]) -> tuple[arb, arb, arb, arb]:
    sums = [arb(0)] * 4
    for a, b, m in rows:
        sums[0] += a
        sums[1] += b
        for i, weight in ((2, fmpq(3, 7)), (3, fmpq(5, 2))):
            if not m.is_zero():  # h = m^2/(m + a + w b)
                sums[i] += m * m / (m + a + weight * b)
    return sums[0], sums[1], sums[2], sums[3]


# ------------------------------- Proof that a description is a local randomizer: rows sum to 1 and no entry is negative


@lru_cache(maxsize=1024)
def check_probabilities(mechanism: LocalRandomizer) -> None:
    """Return if every row sums to 1 and every entry is >= 0 for all admissible parameters."""
    if mechanism.numeric is not None:
        _check_table(mechanism.numeric)
        return
    inputs = tuple(dict.fromkeys(x for pair in mechanism.pairs() for x in pair))
    seen: set[sp.Expr] = set()
    for x in inputs:
        orbits = mechanism.orbits((x,))
        for orbit in orbits:
            for value in (orbit.measure, orbit.density[0]):
                if value not in seen:
                    check_nonnegative(value, f'table["{x}"]["{orbit.label}"]', mechanism.parameters)
                    seen.add(value)
        row = normal(sp.Add(*(normal(orbit.mass(0)) for orbit in orbits)))
        if not is_zero(row - 1):
            wrong = Problem(f"the probabilities sum to {shown(row)}, not to 1")
            raise RowSumError(f'row of input "{x}"', wrong, _hint(row))


def _check_table(table: NumericTable) -> None:
    if table.ball(0) < 0:
        row, column = (int(i) for i in np.argwhere(table.ranks == 0)[0])
        place = f'table["{table.inputs[row]}"]["{table.messages[column]}"]'
        raise NegativeProbabilityError(place, expression(table.numbers[0]), "a probability >= 0")
    right: set[bytes] = set()
    for i, x in enumerate(table.inputs):
        key = np.sort(table.ranks[i]).tobytes()
        if key in right:
            continue
        if not table.sums_to_one(i):
            whole = normal(expression(table.row_sum(i)))
            wrong = Problem(f"the probabilities sum to {shown(whole)}, not to 1")
            raise RowSumError(f'row of input "{x}"', wrong, _hint(whole))
        right.add(key)


def _hint(row: sp.Expr) -> str:
    """Return what to do about floats: their sum is a binary fraction close to 1."""
    if row.is_Rational and abs(row - 1) < sp.Rational(1, 10**9) and int(row.q).bit_count() == 1:
        return (
            'floats count as the binary fractions they are: write decimals as text, "0.3", use Fraction(3, 10), or '
            "normalise=True, which divides each row by its exact sum"
        )
    return "make them sum to 1"


def check_nonnegative(value: sp.Expr, place: str, parameters: Sequence[Parameter], *, proved: bool = True) -> None:
    """Refuse what is negative, and with ``proved`` what is not proved to be >= 0; numbers always can be."""
    try:
        negative = sign(value, parameters) < 0
    except UndecidedOrderError as error:
        if proved or not parameters:
            unknown = Problem(f"it is not proved that {shown(value)} >= 0")
            raise UndecidedOrderError(place, unknown, error.accepted) from error
        return
    if negative:
        raise NegativeProbabilityError(place, value, "a number >= 0")
