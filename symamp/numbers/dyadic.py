"""Ends of balls as plain data, and doubles rounded outward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from operator import gt, le
from typing import Any

import mpmath
from flint import arb, fmpq

from symamp.numbers.surroundings import at_precision

# ------------------------------------------------------------------------------- From balls to doubles, rounded outward

_SMALLEST = 5e-324
_BITS = 128


def float_below(x: arb) -> float:
    """Return the largest double that is at most every number of the ball."""
    with at_precision(_BITS):  # at a lower ambient precision -x would be rounded coarsely
        return 0.0 - float_above(-x)  # 0.0 and not -0.0


def float_above(x: arb) -> float:
    """Return the smallest double that is at least every number of the ball."""
    if not x.is_finite():
        return math.inf
    with at_precision(_BITS):  # at a lower ambient precision the end itself would be rounded coarsely
        mantissa, exponent = x.upper().man_exp()
    m, e = int(mantissa), int(exponent)
    size = m.bit_length() + e
    if m == 0:
        return 0.0
    if size < -1080:
        return _SMALLEST if m > 0 else -0.0
    if size > 1030:
        return math.inf if m > 0 else -math.nextafter(math.inf, 0.0)
    if -1000 < size < 1000 and m.bit_length() < 1000:  # no double that comes up is subnormal: scaling is exact
        rounded = float(m)
        return math.ldexp(rounded if int(rounded) >= m else math.nextafter(rounded, math.inf), e)
    exact = Fraction(m) * Fraction(2) ** e
    nearest = _nearest(exact)
    return nearest if nearest == math.inf or Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def decimal_end(x: float, digits: int, *, down: bool) -> str:
    """Return an end of a bracket as a decimal, rounded down or up to so many digits.

    >>> decimal_end(2 / 3, 3, down=True), decimal_end(2 / 3, 3, down=False), decimal_end(-2e-9 / 3, 3, down=True)
    ('0.666', '0.667', '-6.67e-10')
    """
    if not math.isfinite(x):
        return repr(x)
    found = Context(prec=digits, rounding=ROUND_FLOOR if down else ROUND_CEILING).create_decimal(x).normalize()
    return f"{found:f}" if x == 0.0 or -5 < found.adjusted() < digits else f"{found:e}"


def _nearest(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.nextafter(math.inf, 0.0)


# ------------------------------- Dyadic numbers as plain data: the exact end of a ball, which travels between processes

_END_BITS = 64
_LONG_EXPONENT = 1_000_000


@dataclass(frozen=True)
class Dyadic:
    """The number mantissa * 2^exponent; ``exponent`` is None for +infinity.

    >>> Dyadic.of(arb("0.375")).fraction
    3/8
    """

    mantissa: int
    exponent: int | None = 0

    @staticmethod
    def of(x: arb) -> Dyadic:
        """Return the midpoint of a ball: the exact value where the radius is 0, as for ``x.lower()``."""
        if not x.is_finite():
            return INFINITE
        mantissa, exponent = x.mid().man_exp()
        return Dyadic(int(mantissa), int(exponent))

    @staticmethod
    def of_float(x: float) -> Dyadic:
        """Return a double as the dyadic number that it is."""
        return Dyadic.of(arb(x))

    @property
    def fraction(self) -> fmpq:
        """The number as a fraction; OverflowError for infinity."""
        if self.exponent is None:
            raise OverflowError("an infinite number has no fraction")
        shift = self.exponent
        return fmpq(self.mantissa << shift) if shift >= 0 else fmpq(self.mantissa, 1 << -shift)

    def at_most(self, x: fmpq) -> bool:
        """Return whether the number is at most x: decided exactly, but for exponents that no fraction can carry.

        >>> Dyadic(1, -10**18).at_most(fmpq(0)), Dyadic(1, -2).at_most(fmpq(1, 4))
        (False, True)
        """
        return self._compared(x, le)

    def exceeds(self, x: fmpq) -> bool:
        """Return whether the number is proved to be larger than x."""
        return self._compared(x, gt)

    def _compared(self, x: fmpq, is_so: Callable[[Any, Any], bool]) -> bool:
        if self.exponent is not None and abs(self.exponent) < _LONG_EXPONENT:
            return bool(is_so(self.fraction, x))
        with at_precision(max(_END_BITS, self.mantissa.bit_length()) + _END_BITS):
            return bool(is_so(self.ball, arb(x)))

    def __lt__(self, other: Dyadic) -> bool:
        return bool(self.ball < other.ball)

    @property
    def ball(self) -> arb:
        """The number as a ball of radius 0, at any working precision."""
        if self.exponent is None:
            return arb("inf")
        with at_precision(max(_END_BITS, self.mantissa.bit_length())):
            return arb(self.mantissa) * arb(2) ** self.exponent

    @property
    def below(self) -> float:
        """The largest double that is not above."""
        return float("inf") if self.exponent is None else float_below(self.ball)

    @property
    def above(self) -> float:
        """The smallest double that is not below."""
        return float("inf") if self.exponent is None else float_above(self.ball)

    def as_mpf(self) -> mpmath.mpf:
        """Return the number as an mpmath number, exactly."""
        if self.exponent is None:
            return mpmath.inf
        return exact_mpf(self.mantissa, self.exponent)


def exact_mpf(mantissa: int, exponent: int) -> mpmath.mpf:
    """Return mantissa * 2^exponent as an mpmath number, at no precision.

    >>> float(exact_mpf(3, -1))
    1.5
    """
    return mpmath.mp.make_mpf(mpmath.libmp.from_man_exp(mantissa, exponent))


INFINITE = Dyadic(0, None)
ZERO = Dyadic(0)
