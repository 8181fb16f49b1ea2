"""The compact-support kernel: one formula, and one sum over frequencies, for floats, for balls and for mpmath.

With smoothing length d, T = 2 pi/d, lam = theta d and s = theta + iu, the functions B+ and B- on |u| < T are the
Fourier transforms of the extremal majorant and minorant of x_+ e^(-theta x) of exponential type T
(docs/proofs/kernel_sandwich.md). They vanish for |u| >= T, so that a sum over frequencies has no truncation error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from symamp.numbers.number_system import Number, NumberSystem

_SMALL = 1e-3
"""Below this lam doubles take the series: the closed forms cancel. Balls and mpmath have precision to spare."""


class Kernel:
    """B+ and B- for a tilt theta, a window W and N terms: d = W/N, and the frequencies are j h, h = 2 pi/W."""

    def __init__(self, numbers: NumberSystem, theta: Number, window: Number, terms: int) -> None:
        self.numbers, self.theta = numbers, theta
        self.d, self.step = window / terms, 2 * numbers.pi() / window
        self.t = 2 * numbers.pi() / self.d
        lam = theta * self.d
        if numbers.name == "numpy" and lam < _SMALL:
            self.alpha = 0.5 - lam / 12.0 + lam**3 / 720.0
            self.c = 0.5 - lam / 6.0 + lam**3 / 180.0
            return
        one_minus_q = -numbers.expm1(-lam)
        # The zero of g' for the majorant, and minus the slope of u/(e^u - 1) at lam for the minorant.
        self.alpha = 1 / lam - (1 - one_minus_q) / one_minus_q
        self.c = (1 - one_minus_q) / one_minus_q * (lam / one_minus_q - 1)

    def majorant_at_zero(self) -> Number:
        """Return B+(0)."""
        one_minus_q = -self.numbers.expm1(-self.theta * self.d)
        decay = self.numbers.exp(-self.theta * self.alpha * self.d)
        return self.d * self.d * (self.alpha + (1 - one_minus_q) / one_minus_q) * decay / one_minus_q

    def minorant_at_zero(self) -> Number:
        """Return B-(0)."""
        one_minus_q = -self.numbers.expm1(-self.theta * self.d)
        return self.d * self.d * (1 - one_minus_q) / one_minus_q**2

    def at(self, u: Number) -> tuple[Number, Number]:
        """Return B+(u) and B-(u) for 0 < u < T."""
        i = self.numbers.complex(0 * self.theta, self.numbers.rational(1, 1))
        s = self.numbers.complex(self.theta, u)
        one_minus_q = -self.numbers.expm1(-s * self.d)
        inverse = 1 / one_minus_q
        q = 1 - one_minus_q
        bend, over_t = 1 + i * s / self.t, i / self.t
        z0 = self.numbers.exp(-s * (self.alpha * self.d)) * inverse
        above = (bend * ((self.alpha + q * inverse) * z0 * self.d) - over_t * z0) * self.d
        z0 = q * inverse
        return above, (bend * (z0 * inverse * self.d) - over_t * (self.c + z0)) * self.d

    def sums(self, indices: Iterable[Number], power: Callable[[Number], Number], rest: Number) -> tuple[Number, Number]:
        """Return Re sum B(jh) power(jh) over the indices j, with half of B(0) ``rest``, for B- and B+.

        An index may be an array of indices; the terms are then arrays, too, and are summed.
        """
        below, above = self.minorant_at_zero() * rest / 2, self.majorant_at_zero() * rest / 2
        for j in indices:
            u = self.step * j
            factor = power(u)
            for_majorant, for_minorant = self.at(u)
            above, below = above + _real(for_majorant * factor), below + _real(for_minorant * factor)
        return below, above


def _real(terms: Number) -> Number:
    return terms.real.sum() if hasattr(terms, "shape") else terms.real
