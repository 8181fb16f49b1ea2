"""Rational numbers in the types of Python, SymPy and python-flint, and convex hulls of points of such numbers."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import sympy as sp
from flint import fmpq

from symamp.numbers.surroundings import CAREFUL_BITS, at_precision


def fmpq_of(number: sp.Rational | Fraction) -> flint.fmpq:
    """Return a rational number as python-flint's."""
    return flint.fmpq(int(number.numerator), int(number.denominator))


def ball_of(number: flint.fmpq) -> flint.arb:
    """Return a narrow ball around the number, the same at every precision that is set outside."""
    with at_precision(CAREFUL_BITS):
        return flint.arb(number)


def log_ball(number: flint.fmpq) -> flint.arb:
    """Return a ball around the logarithm, with all digits near 1, and where the number is very small.

    >>> log_ball(flint.fmpq(1, 2**400))
    [-277.258872223978 +/- ...]
    """
    return flint.arb(number - 1).log1p() if 2 * abs(number - 1) < 1 else flint.arb(number).log()


def rational_of(number: Fraction | flint.fmpq) -> sp.Rational:
    """Return a rational number as SymPy's."""
    return sp.Rational(int(number.numerator), int(number.denominator))


def fraction_of(number: sp.Rational | flint.fmpq) -> Fraction:
    """Return a rational number as Python's."""
    return Fraction(int(number.numerator), int(number.denominator))


def rational_below(x: flint.arb, bits: int) -> sp.Rational:
    """Return a multiple of 2^-bits that is at most every number of the ball.

    >>> rational_below(flint.arb(1) / 3, 4)
    5/16
    """
    return sp.Rational(int((x * flint.arb(2) ** bits).lower().floor().unique_fmpz()), 2**bits)


# ----------------------------------------------------- The lower convex hull of points in the plane, in exact rationals

Vertex: TypeAlias = tuple[fmpq, fmpq]


def lower_hull(points: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the vertices of the greatest convex function below the points, from left to right.

    Of points with the same abscissa the lowest counts; points on a line between two others are left out.

    >>> from flint import fmpq
    >>> lower_hull([(fmpq(x), fmpq(y)) for x, y in ((0, 1), (1, 2), (2, 0), (1, 1), (3, 0))])
    [(0, 1), (2, 0), (3, 0)]
    """
    hull: list[tuple[Any, Any]] = []
    for point in sorted(points):
        if hull and hull[-1][0] == point[0]:
            continue
        while len(hull) > 1 and not _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _turns_up(a: tuple[Any, Any], b: tuple[Any, Any], c: tuple[Any, Any]) -> bool:
    return bool((b[1] - a[1]) * (c[0] - b[0]) < (c[1] - b[1]) * (b[0] - a[0]))
