"""A derived decomposition against the densities that it comes from, in balls at admissible points.

Nothing of the derivation is used: no normal form, no proof of order, no formula that SymPy made on the way. Merging
keeps the sum of h(A0, A1, A2) over the messages for every h with h(c a) = c h(a); four such sums are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Never

import sympy as sp
from flint import arb, fmpq

from symamp.algebra.parameter import admissible_points
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.orbit import Orbit
from symamp.errors import ExpressionError, VerificationError
from symamp.numbers.enclosure import Point, balls
from symamp.numbers.formula import Formula, from_sympy
from symamp.numbers.surroundings import at_precision

_BITS = 160
_POINTS = 3
Value = Callable[[sp.Expr], arb]
Row = tuple[arb, arb, arb]


def checked(found: Decomposition, orbits: Sequence[Orbit], hidden: Callable[[Orbit, Value], arb]) -> Decomposition:
    """Return the decomposition, or raise VerificationError if balls refute it.

    ``hidden`` gives the density of A2 on an orbit from the values of its densities.
    """
    entries = [e for orbit in orbits for e in (orbit.measure, *orbit.density, *(d for d, _ in orbit.rest))]
    if all(e.is_Rational for e in entries):
        return found  # exact arithmetic, without SymPy
    for point in admissible_points(found.parameters, _POINTS):
        key = tuple(point.items())

        def value(expr: sp.Expr, key: tuple[tuple[str, object], ...] = key) -> arb:
            return _value(expr, key)

        with at_precision(_BITS):
            try:
                pairs = zip(_sums(_raw(orbits, hidden, value)), _sums(_merged(found, value)), strict=True)
            except ExpressionError:  # a part that has no value in balls, such as a maximum
                continue
            if any(a.is_finite() and b.is_finite() and not a.overlaps(b) for a, b in pairs):
                where = ", ".join(f"{k} = {v}" for k, v in point.items())
                raise VerificationError(
                    f"decomposition for {found.pair}", str(found.components), f"its value at {where}"
                )
    return found


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


@lru_cache(maxsize=65536)
def _tree(expr: sp.Expr) -> Formula:
    return from_sympy(expr, _unknown)


@lru_cache(maxsize=65536)
def _value(expr: sp.Expr, point: tuple[tuple[str, object], ...]) -> arb:
    known: Point = dict(point)  # type: ignore[arg-type]
    return balls(_tree(expr), known, _BITS)


def _unknown(part: sp.Basic) -> Never:
    raise ExpressionError("formula", part, "parts that have values in balls")
