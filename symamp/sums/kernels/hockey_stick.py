"""The payoff (1 - e^(-x))_+ of many rounds: its compact-support kernel, one formula for floats and for balls."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from symamp.laws.law import Floats
from symamp.numbers.doubles import erfcx
from symamp.numbers.systems import Number, NumberSystem
from symamp.sums.kernels.kernel import TwoSided

# With smoothing length d, Om = 2 pi/d and s = theta + iu, the functions B+ and B- on |u| < Om are the Fourier
# transforms of the extremal majorant and minorant of (1 - e^(-x))_+ e^(-theta x) of exponential type Om
# (docs/proofs/composition.md, section 3). They vanish for |u| >= Om: a sum over frequencies has no truncation error.

_SMALL, _SERIES = 1e-5, 1e-3
"""Below these lengths doubles take derivatives for differences, and series for derivatives."""


class HockeyStickKernel(TwoSided):
    """The kernel of f(x) = (1 - e^(-x))_+."""

    def __init__(self, numbers: NumberSystem, theta: Number, window: Number, terms: int) -> None:
        super().__init__(numbers, theta, window, terms)
        lam = theta * self.d
        if numbers.name == "numpy" and self.d < _SMALL:
            middle = lam + self.d / 2
            slope = (
                -0.5 - middle / 12 + middle**3 / 720 if middle < _SERIES else 1 / middle + 1 / numbers.expm1(-middle)
            )
            self.alpha, self.c = 1 + slope, -self.d * slope * self._bernoulli(middle)
        else:
            further = lam + self.d
            self.alpha = 1 - numbers.log(self._bernoulli(lam) / self._bernoulli(further)) / self.d
            self.c = self._bernoulli(lam) - self._bernoulli(further)
        self._fall, self._fall_above = -numbers.expm1(-self.d), numbers.exp(-self.d * self.alpha)
        self._i_over_top = numbers.complex(0 * theta, 1 / self.top)
        self._bend = numbers.complex(0 * theta, self.c / (2 * numbers.pi()))

    def at_zero(self) -> tuple[Number, Number]:
        above = self._geometric(self.alpha, self.theta) - self._geometric(self.alpha, self.theta + 1)
        return self.d * (self._geometric(1, self.theta) - self._geometric(1, self.theta + 1)), self.d * above

    def at(self, u: Number) -> tuple[Number, Number]:
        s = self.numbers.complex(self.theta, u)
        minus_sd, linear = s * -self.d, 1 + s * self._i_over_top
        q, missing = self.numbers.exp(minus_sd), -self.numbers.expm1(minus_sd)
        first = linear / missing
        second = (linear + self._i_over_top) / (missing + q * self._fall)  # the same with s + 1, but for a power
        above = self.numbers.exp(minus_sd * self.alpha) * (first - self._fall_above * second)
        below = q * (first - (1 - self._fall) * second)
        return self.d * (below - self._bend), self.d * above

    def modulus(self, u: Number) -> Number:
        return 1 / self.numbers.sqrt((self.theta**2 + u**2) * ((self.theta + 1) ** 2 + u**2))

    def peak(self, tilt: Number) -> Number:
        share = tilt / (1 + tilt)
        return self.numbers.exp(tilt * self.numbers.log(share)) / (1 + tilt) if tilt > 0 else 1 / (1 + tilt)

    @staticmethod
    def pull(theta: float) -> tuple[float, float]:
        return 1.0 / theta + 1.0 / (theta + 1.0), 1.0 / theta / theta + 1.0 / (theta + 1.0) / (theta + 1.0)

    @staticmethod
    def spread(theta: float, mean: float, sigma: float) -> float:
        """Return sigma (pi/2)^(1/2) (w(theta) - w(theta + 1)), w(t) = erfcx((t sigma - mean/sigma)/2^(1/2))."""
        if not sigma > 0.0:
            return 0.0
        a, b = ((t * sigma - mean / sigma) / sqrt(2.0) for t in (theta, theta + 1.0))
        return sigma * sqrt(pi / 2.0) * float(erfcx(a) - erfcx(b))

    @staticmethod
    def log_peak(tilts: Floats) -> Floats:
        return np.asarray(tilts * np.log(tilts) - (1.0 + tilts) * np.log1p(tilts))

    def _geometric(self, a: Number, s: Number) -> Number:
        """Return e^(-s a d)/(1 - e^(-s d)), the sum of a geometric series."""
        return self.numbers.exp(-s * (a * self.d)) / -self.numbers.expm1(-s * self.d)

    def _bernoulli(self, x: Number) -> Number:
        """Return x/(e^x - 1), the generating function of the Bernoulli numbers."""
        return x * self.numbers.exp(-x) / -self.numbers.expm1(-x)
