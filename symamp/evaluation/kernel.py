"""The compact-support kernel: one formula, and one sum over frequencies, for floats, for balls and for mpmath.

With smoothing length d, T = 2 pi/d, lam = theta d and s = theta + iu, the functions B+ and B- on |u| < T are the
Fourier transforms of the extremal majorant and minorant of x_+ e^(-theta x) of exponential type T
(docs/proofs/kernel_sandwich.md). They vanish for |u| >= T, so that a sum over frequencies has no truncation error.
"""

from __future__ import annotations

from collections.abc import Iterable

from symamp.evaluation.work import spend
from symamp.numbers.number_system import Number, NumberSystem

_FREQUENCY = 15.0  # units of work
_SMALL = 1e-3
"""Below this lam doubles take the series: the closed forms cancel. Balls and mpmath have precision to spare."""


class TwoSided:
    """B- and B+ of a function f for a tilt theta, a window W and N terms: d = W/N, frequencies j h, h = 2 pi/W."""

    def __init__(self, numbers: NumberSystem, theta: Number, window: Number, terms: int) -> None:
        self.numbers, self.theta, self.terms = numbers, theta, terms
        self.d, self.step = window / terms, 2 * numbers.pi() / window
        self.top = 2 * numbers.pi() / self.d

    def at_zero(self) -> tuple[Number, Number]:
        """Return B-(0) and B+(0)."""
        raise NotImplementedError

    def at(self, u: Number) -> tuple[Number, Number]:
        """Return B-(u) and B+(u) for 0 < u < T."""
        raise NotImplementedError

    def modulus(self, u: Number) -> Number:
        """Return a bound on the transform of f(x) e^(-theta x) at frequencies from u on; its value at 0."""
        raise NotImplementedError

    def peak(self, tilt: Number) -> Number:
        """Return the largest f(x) e^(-tilt x)."""
        raise NotImplementedError

    def sums(self, factors: Iterable[tuple[int, Number]], rest: Number) -> tuple[Number, Number]:
        """Return Re sum B(jh) factor over pairs (j, factor), with half of B(0) ``rest``, for B- and B+."""
        below, above = (x * rest / 2 for x in self.at_zero())
        for j, factor in factors:
            spend(_FREQUENCY)
            for_minorant, for_majorant = self.at(self.step * j)
            below, above = below + (for_minorant * factor).real, above + (for_majorant * factor).real
        return below, above


class Kernel(TwoSided):
    """The kernel of f(x) = x_+."""

    def __init__(self, numbers: NumberSystem, theta: Number, window: Number, terms: int) -> None:
        super().__init__(numbers, theta, window, terms)
        lam = theta * self.d
        self._minus_lam, self._bent = -lam, self.d * self.d * theta / self.top
        self._over_t = numbers.complex(0 * theta, self.d / self.top)
        if numbers.name == "numpy" and lam < _SMALL:
            self.alpha = 0.5 - lam / 12.0 + lam**3 / 720.0
            self.c = 0.5 - lam / 6.0 + lam**3 / 180.0
            return
        one_minus_q = -numbers.expm1(-lam)
        # The zero of g' for the majorant, and minus the slope of u/(e^u - 1) at lam for the minorant.
        self.alpha = 1 / lam - (1 - one_minus_q) / one_minus_q
        self.c = (1 - one_minus_q) / one_minus_q * (lam / one_minus_q - 1)

    def at_zero(self) -> tuple[Number, Number]:
        """Return B-(0) and B+(0)."""
        one_minus_q = -self.numbers.expm1(-self.theta * self.d)
        ratio, square = (1 - one_minus_q) / one_minus_q, self.d * self.d / one_minus_q
        return square * ratio, square * (self.alpha + ratio) * self.numbers.exp(-self.theta * self.alpha * self.d)

    def at(self, u: Number) -> tuple[Number, Number]:
        """Return B-(u) and B+(u) for 0 < u < T."""
        complex_, square, over_t = self.numbers.complex, self.d * self.d, self._over_t
        minus_sd = complex_(self._minus_lam, u * -self.d)
        one_minus_q = -self.numbers.expm1(minus_sd)
        inverse = 1 / one_minus_q
        ratio = (1 - one_minus_q) * inverse
        bend = complex_(square - u / self.top * square, self._bent)  # d^2 (1 + is/T)
        z0 = self.numbers.exp(minus_sd * self.alpha) * inverse
        above = (bend * (ratio + self.alpha) - over_t) * z0
        return bend * (ratio * inverse) - over_t * (ratio + self.c), above

    def modulus(self, u: Number) -> Number:
        """Return 1/(theta^2 + u^2)."""
        return 1 / (self.theta**2 + u**2)

    def peak(self, tilt: Number) -> Number:
        """Return 1/(e tilt)."""
        return 1 / (tilt * self.numbers.exp(self.numbers.rational(1, 1)))
