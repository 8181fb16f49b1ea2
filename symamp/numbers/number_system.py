"""The number systems in which one formula is evaluated: Arb balls, mpmath numbers, numpy doubles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint
import mpmath
import numpy as np

Number = Any  # of whichever system: flint.arb or acb, mpmath.mpf or mpc, numpy.float64 or an array


@dataclass(frozen=True)
class NumberSystem:
    """The operations that formulas need; ``power`` takes a Python int or a number of the system.

    >>> MPMATH.rational(1, 4) + MPMATH.sqrt(MPMATH.rational(1, 4))
    mpf('0.75')
    """

    name: str
    rational: Callable[[int, int], Number]
    exp: Callable[[Number], Number]
    log: Callable[[Number], Number]
    sqrt: Callable[[Number], Number]
    power: Callable[[Number, Number], Number]
    pi: Callable[[], Number]
    expm1: Callable[[Number], Number]
    complex: Callable[[Number, Number], Number]
    maximum: Callable[[Number, Number], Number]
    binomial: Callable[[int, int], Number]
    factorial: Callable[[int], Number]
    log_gamma: Callable[[Number], Number]
    erf: Callable[[Number], Number]
    erfc: Callable[[Number], Number]
    atan: Callable[[Number], Number]


def _flint_power(base: Number, exponent: Number) -> Number:
    found = flint.arb(base)
    if not isinstance(exponent, int):
        return found**exponent
    # Powers of real balls are taken by logarithms, and are not finite on one that contains 0.
    return (flint.acb(found) ** flint.fmpz(exponent)).real if found.contains(0) else found ** flint.fmpz(exponent)


def _numpy_power(base: Number, exponent: Number) -> Number:
    return np.power(base, np.float64(exponent)) if isinstance(exponent, int) else np.power(base, exponent)


FLINT = NumberSystem(
    "flint",
    lambda p, q: flint.arb(p) if q == 1 else flint.arb(flint.fmpq(p, q)),
    lambda x: x.exp() if isinstance(x, flint.acb) else flint.arb(x).exp(),
    lambda x: flint.arb(x).log(),
    lambda x: flint.arb(x).sqrt(),
    _flint_power,
    flint.arb.pi,
    lambda x: x.expm1(),
    flint.acb,
    lambda x, y: x.max(y),
    lambda n, k: flint.arb.bin_uiui(n, min(k, n - k)),
    lambda n: flint.arb(n).fac(),
    lambda x: flint.arb(x).lgamma(),
    lambda x: flint.arb(x).erf(),
    lambda x: flint.arb(x).erfc(),
    lambda x: flint.arb(x).atan(),
)
"""Balls of python-flint at the precision of ``flint.ctx``: every result contains the true value."""

MPMATH = NumberSystem(
    "mpmath",
    lambda p, q: mpmath.mpf(p) / q,
    mpmath.exp,
    mpmath.log,
    mpmath.sqrt,
    lambda x, n: mpmath.power(x, n),
    lambda: +mpmath.pi,
    mpmath.expm1,
    mpmath.mpc,
    max,
    mpmath.binomial,
    mpmath.factorial,
    mpmath.loggamma,
    mpmath.erf,
    mpmath.erfc,
    mpmath.atan,
)
"""Numbers of mpmath at the precision of ``mpmath.mp``: rounded to nearest, no guarantee."""

NUMPY = NumberSystem(
    "numpy",
    lambda p, q: np.float64(p / q),
    np.exp,
    np.log,
    np.sqrt,
    _numpy_power,
    lambda: np.float64(math.pi),
    np.expm1,
    lambda x, y: x + 1j * y,
    np.maximum,
    lambda n, k: np.float64(math.comb(n, k)),
    lambda n: np.float64(math.factorial(n)),
    lambda x: np.float64(math.lgamma(x)),
    np.vectorize(math.erf, otypes=[np.float64]),
    np.vectorize(math.erfc, otypes=[np.float64]),
    np.arctan,
)
"""Doubles (scalars or arrays): fast, no guarantee."""
