"""The exponentially tilted law of one G in balls: what both certified sums are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import acb, arb

from symamp.evaluation.coarse_phi import coarse_moduli
from symamp.evaluation.flat_cells import Loss
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.law import total
from symamp.evaluation.plan import Window

_FEW_USERS, _MANY = 20, 20_000
"""Up to 2^20 users an error of 1e-12 in |phi| does no harm; from so many values on doubles save time."""


@dataclass(frozen=True)
class TiltedBalls:
    """One G under the tilt theta: M(theta), tilted probabilities, and P(S = 0 because all draws are null)."""

    g: BallGparv
    n: int
    theta: arb
    m: arb
    probabilities: tuple[arb, ...]
    null: arb
    null_n: arb

    @staticmethod
    def of(g: BallGparv, n: int, tilt: float) -> TiltedBalls:
        """Tilt a law by the double ``tilt``, an exact number."""
        theta = arb(tilt)
        weights = [p * (theta * v).exp() for v, p in zip(g.values, g.masses, strict=True)]
        m = g.null_mass + total(weights)
        null = g.null_mass / m
        return TiltedBalls(g, n, theta, m, tuple(weight / m for weight in weights), null, null**n)

    def phi(self, u: arb) -> acb:
        """Return the characteristic function E_theta[e^(iuG)]."""
        real, imaginary = self.null, arb(0)
        for v, p in zip(self.g.values, self.probabilities, strict=True):
            sine, cosine = (u * v).sin_cos()
            real += p * cosine
            imaginary += p * sine
        return acb(real, imaginary)

    def power(self, u: arb) -> acb:
        """Return phi(u)^n less the probability that all draws are null: that outcome contributes nothing."""
        value = self.phi(u)
        # The principal logarithm is one ball only away from the negative axis; elsewhere square and multiply.
        return ((value.log() * self.n).exp() if value.real > 0 else value**self.n) - self.null_n

    def moduli(self, step: arb, indices: Sequence[int]) -> list[arb]:
        """Return |phi(j step)|, or more, for each index j: in doubles where there are many and n errors are few."""
        if self.n.bit_length() <= _FEW_USERS and len(indices) * len(self.probabilities) > _MANY:
            bounds = coarse_moduli(self.g.values, self.probabilities, self.null, step, indices)
            return [arb(bound) for bound in bounds]
        found = [self.phi(step * j) for j in indices]
        return [(z.real * z.real + z.imag * z.imag).max(arb(0)).sqrt() for z in found]

    def deviation(self) -> arb:
        """Return the standard deviation of one tilted G."""
        mean = total([p * v for v, p in zip(self.g.values, self.probabilities, strict=True)])
        square = total([p * v * v for v, p in zip(self.g.values, self.probabilities, strict=True)])
        return (square - mean * mean).max(arb(0)).sqrt()

    def loss(self) -> Loss:
        """Return nothing: a finite law has no density."""
        return Loss((), (), ())

    def aliasing(self, window: Window) -> arb:
        """Return A, the bound on the periodised tails in units of M(theta)^n."""
        w, result = arb(window.length), arb(0)
        for tilt in (window.theta_above, window.theta_below):
            other = arb(tilt)
            weights = [p * (other * v).exp() for v, p in zip(self.g.values, self.g.masses, strict=True)]
            ratio = (self.g.null_mass + total(weights)) / self.m
            result += ratio**self.n / arb.const_e() / other / (abs(other - self.theta) * w).expm1()
        return result
