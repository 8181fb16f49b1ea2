"""The compact-support kernel for (1 - e^(-x))_+: one formula for floats and for balls.

With smoothing length d, Om = 2 pi/d and s = theta + iu, the functions B+ and B- on |u| < Om are the Fourier transforms
of the extremal majorant and minorant of (1 - e^(-x))_+ e^(-theta x) of exponential type Om
(docs/proofs/composition.md, section 3). They vanish for |u| >= Om: a sum over frequencies has no truncation error.
"""

from __future__ import annotations

from symamp.numbers.number_system import Number, NumberSystem

_SMALL, _SERIES = 1e-5, 1e-3
"""Below these lengths doubles take derivatives for differences, and series for derivatives."""


class HockeyStickKernel:
    """B+ and B- for a tilt theta, a window W and N terms: d = W/N, and the frequencies are j h, h = 2 pi/W."""

    def __init__(self, numbers: NumberSystem, theta: Number, window: Number, terms: int) -> None:
        self.numbers, self.theta = numbers, theta
        self.d, self.step = window / terms, 2 * numbers.pi() / window
        self.om = 2 * numbers.pi() / self.d
        lam = theta * self.d
        if numbers.name == "numpy" and self.d < _SMALL:
            middle = lam + self.d / 2
            slope = (
                -0.5 - middle / 12 + middle**3 / 720 if middle < _SERIES else 1 / middle + 1 / numbers.expm1(-middle)
            )
            self.alpha, self.c = 1 + slope, -self.d * slope * self._gam(middle)
            return
        further = lam + self.d
        self.alpha = 1 - numbers.log(self._gam(lam) / self._gam(further)) / self.d
        self.c = self._gam(lam) - self._gam(further)

    def at_zero(self) -> tuple[Number, Number]:
        """Return B-(0) and B+(0)."""
        above = self._z(self.alpha, self.theta) - self._z(self.alpha, self.theta + 1)
        return self.d * (self._z(1, self.theta) - self._z(1, self.theta + 1)), self.d * above

    def at(self, u: Number) -> tuple[Number, Number]:
        """Return B-(u) and B+(u) for 0 < u < Om."""
        i = self.numbers.complex(0 * self.theta, self.numbers.rational(1, 1))
        s = self.numbers.complex(self.theta, u)
        bend, further = 1 + i * s / self.om, 1 + i * (s + 1) / self.om
        above = bend * self._z(self.alpha, s) - further * self._z(self.alpha, s + 1)
        below = bend * self._z(1, s) - further * self._z(1, s + 1)
        return self.d * (below - i * (self.c / (2 * self.numbers.pi()))), self.d * above

    def _z(self, a: Number, s: Number) -> Number:
        return self.numbers.exp(-s * (a * self.d)) / -self.numbers.expm1(-s * self.d)

    def _gam(self, x: Number) -> Number:
        """Return x/(e^x - 1)."""
        return x * self.numbers.exp(-x) / -self.numbers.expm1(-x)
