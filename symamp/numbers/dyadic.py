"""Dyadic numbers as plain data: the exact end of a ball, which travels between processes."""

from __future__ import annotations

from dataclasses import dataclass

import mpmath
from flint import arb, fmpq

from symamp.numbers.rounding import float_above, float_below
from symamp.numbers.surroundings import at_precision

_BITS = 64
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
        """Return a double as the dyadic number that it is.

        >>> Dyadic.of_float(0.75)
        Dyadic(mantissa=3, exponent=-2)
        """
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
        if self.exponent is None:
            return False
        if abs(self.exponent) < _LONG_EXPONENT:
            return bool(self.fraction <= x)
        with at_precision(max(_BITS, self.mantissa.bit_length()) + _BITS):
            return bool(self.ball <= arb(x))

    def exceeds(self, x: fmpq) -> bool:
        """Return whether the number is proved to be larger than x."""
        if self.exponent is None:
            return True
        if abs(self.exponent) < _LONG_EXPONENT:
            return bool(self.fraction > x)
        with at_precision(max(_BITS, self.mantissa.bit_length()) + _BITS):
            return bool(self.ball > arb(x))

    def __lt__(self, other: Dyadic) -> bool:
        return bool(self.ball < other.ball)

    @property
    def ball(self) -> arb:
        """The number as a ball of radius 0, at any working precision."""
        if self.exponent is None:
            return arb("inf")
        with at_precision(max(_BITS, self.mantissa.bit_length())):
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
