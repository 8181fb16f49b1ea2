"""Exact fractions from the number types of Python and its libraries, and convex hulls of points of such numbers."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import numpy as np
import sympy as sp
from flint import fmpq

from symamp.numbers.surroundings import at_precision

# ------------------------------------- Exact fractions from the number types of Python and its libraries, within limits

MOST_NUMBER_EXPONENT = 100_000
MOST_DIGITS = 1000
_INTEGER_BITS = 5000  # SymPy may test an integer for primality before it knows its sign
_NUMBER_BITS = 350_000
_BALL_BITS = 256


def fits(number: Fraction) -> bool:
    """Return whether the number is within the limits that keep SymPy and printing cheap."""
    return abs(number) < 2**_INTEGER_BITS and number.denominator.bit_length() <= _NUMBER_BITS


def decimal(text: str, most_exponent: int) -> Fraction | None:
    """Return the fraction that the decimal text is; None when it has too many digits or too large an exponent."""
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > MOST_DIGITS or len(exponent) > 9 or abs(int(exponent or 0)) > most_exponent:
        return None
    return Fraction(text)


def binary(number: tuple[int, int, int, int]) -> Fraction | None:
    """Return the value of mpmath's (sign, mantissa, exponent, bits); None for nan, infinities, huge exponents."""
    sign, mantissa, exponent, _ = (int(part) for part in number)
    if abs(exponent) > _NUMBER_BITS or (mantissa == 0 and exponent != 0):
        return None
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


def fraction(value: object) -> Fraction | None:
    """Return the value of a number of Python, NumPy, mpmath or python-flint; None for what is not a finite real."""
    match value:
        case bool():
            return None
        case int() | np.integer():
            return Fraction(int(value))
        case float() | np.floating():
            return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else None
        case Fraction():
            return value
        case Decimal():
            small = value.is_finite() and abs(value.adjusted()) <= MOST_NUMBER_EXPONENT
            return Fraction(value) if small and len(value.as_tuple().digits) <= MOST_NUMBER_EXPONENT else None
        case flint.fmpz():
            return Fraction(int(value))
        case flint.fmpq():
            return fraction_of(value)
    # Every context of mpmath has a type of its own; python-flint's enclosures also look like mpmath numbers.
    return binary(value._mpf_) if hasattr(value, "_mpf_") and not isinstance(value, flint.arb) else None


def fmpq_of(number: sp.Rational | Fraction) -> flint.fmpq:
    """Return a rational number as python-flint's."""
    return flint.fmpq(int(number.numerator), int(number.denominator))


def ball_of(number: flint.fmpq) -> flint.arb:
    """Return a narrow ball around the number, the same at every precision that is set outside."""
    with at_precision(_BALL_BITS):
        return flint.arb(number)


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


def shown(text: str) -> str:
    """Return the text such that it can be printed: lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def described(value: object) -> str:
    """Return the value where that is short and safe: long integers refuse to be printed, repr may be anyone's code."""
    simple = isinstance(value, bool | float | complex | str | Decimal)
    if simple or (isinstance(value, sp.Atom) and not isinstance(value, sp.Rational | sp.Float)):
        return shown(str(value))
    return f"a value of type {type(value).__name__}"


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
