"""From balls to doubles, rounded outward."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

from flint import arb

from symamp.numbers.surroundings import at_precision

_SMALLEST = 5e-324
_BITS = 128


def float_below(x: arb) -> float:
    """Return the largest double that is at most every number of the ball.

    >>> float_below(arb(1) / 3) <= 1 / 3
    True
    """
    with at_precision(_BITS):  # at a lower ambient precision -x would be rounded coarsely
        return 0.0 - float_above(-x)  # 0.0 and not -0.0


def float_above(x: arb) -> float:
    """Return the smallest double that is at least every number of the ball.

    >>> float_above(arb(10) ** -1000)
    5e-324
    """
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
