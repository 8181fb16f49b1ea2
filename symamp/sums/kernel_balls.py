"""The exponentially tilted law of one G in balls, and the two-sided sum: no search, every number enclosed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Protocol, Self

import numpy as np
from flint import acb, acb_mat, arb

from symamp.errors import PrecisionError
from symamp.laws.law import BallGparv, total
from symamp.numbers.disks import Disks
from symamp.numbers.systems import FLINT
from symamp.sums.doubles_with_radii import coarse_error, coarse_moduli, coarse_sums, coarse_two_sided
from symamp.sums.evaluator import Case, Evaluator
from symamp.sums.kernel import Kernel, Ranges, TwoSided
from symamp.sums.kernel_floats import float_sum
from symamp.sums.tilted import Plan, Window

# What is tuned: each is as true as the others, and these save time.
_FEW = 9
"""Up to so many frequencies in a row are evaluated one by one, more as a product of matrices."""
_FEW_USERS, _MANY = 20, 4_000
"""Up to 2^20 users an error of 1e-12 in |phi| does no harm; from so many values on doubles save time."""
_MANY_TERMS, _SHARE = 100, 0.01
"""From so many frequencies on sums are taken in doubles, if n errors of phi are below this part of the gap."""
_GAP, _MOST_FREQUENCIES = 1e-6, 20_000
"""What the evaluator of ``sa.method_check`` aims at."""

# --------------------------------- The exponentially tilted law of one G in balls: what both certified sums are made of


class Tilted(Protocol):
    """What a two-sided sum asks of the law of S under a tilt; M is the moment generating function of S."""

    theta: arb
    null_n: arb
    """The tilted probability that all draws are null."""

    @property
    def scale(self) -> arb:
        """M(theta)."""

    def powers(self, step: arb, first: int, last: int) -> Iterable[acb]:
        """Return the characteristic function of S, less ``null_n``, at the frequencies j step, first <= j <= last.

        The outcome that is left out contributes nothing.
        """

    def factors(self, step: arb, ranges: Ranges) -> Iterable[tuple[int, acb]]:
        """Yield (j, what ``powers`` returns there) for the indices of some ranges."""
        return (f for first, last in ranges for f in enumerate(self.powers(step, first, last), first))

    def sums(self, kernel: TwoSided, ranges: Ranges) -> tuple[arb, arb]:
        """Return Re sum B(jh) factor over ranges of frequencies, and half of B(0), for B- and B+."""
        return kernel.sums(self.factors(kernel.step, ranges), 1 - self.null_n)

    def growth(self, tilt: arb) -> arb:
        """Return M(tilt)/M(theta)."""

    def decays(self, step: arb, blocks: Ranges) -> list[arb]:
        """Return a bound on the modulus of the characteristic function over each block of frequencies j step."""

    def aliasing(self, window: Window, kernel: TwoSided) -> arb:
        """Return A, the bound on the periodised tails in units of M(theta)."""
        w, result = arb(window.length), arb(0)
        for other in (arb(window.theta_above), arb(window.theta_below)):
            result += self.growth(other) * kernel.peak(other) / (abs(other - self.theta) * w).expm1()
        return result


@dataclass(frozen=True)
class TiltedBalls(Tilted):
    """n copies of G under the tilt theta: M(theta) of one, tilted probabilities, and P(S = 0 as all draws are null)."""

    g: BallGparv
    n: int
    theta: arb
    m: arb
    probabilities: tuple[arb, ...]
    null: arb
    null_n: arb

    @classmethod
    def of(cls, g: BallGparv, n: int, tilt: float) -> Self:
        """Tilt a law by the double ``tilt``, an exact number."""
        theta = arb(tilt)
        weights = _grown(g, theta)
        m = g.null_mass + total(weights)
        null = g.null_mass / m
        return cls(g, n, theta, m, tuple(weight / m for weight in weights), null, null**n)

    @property
    def scale(self) -> arb:
        """M(theta)^n of one G."""
        return self.m**self.n

    def mgf(self, tilt: arb) -> arb:
        """Return M(tilt) of one G."""
        return self.g.null_mass + total(_grown(self.g, tilt))

    def growth(self, tilt: arb) -> arb:
        """Return (M(tilt)/M(theta))^n."""
        return (self.mgf(tilt) / self.m) ** self.n

    def phi(self, u: arb) -> acb:
        """Return the characteristic function E_theta[e^(iuG)]."""
        real, imaginary = self.null, arb(0)
        for v, p in zip(self.g.values, self.probabilities, strict=True):
            sine, cosine = (u * v).sin_cos()
            real += p * cosine
            imaginary += p * sine
        return acb(real, imaginary)

    def phis(self, step: arb, first: int, last: int) -> list[acb]:
        """Return phi(j step) for first <= j <= last; many at once as a product of two matrices."""
        if last - first < _FEW:
            return [self.phi(step * j) for j in range(first, last + 1)]
        size = isqrt(last - first) + 1
        inner = acb_mat([[_turn(step * (j * v)) for j in range(size)] for v in self.g.values])
        both = [*zip(self.g.values, self.probabilities, strict=True)]
        outer = acb_mat([[_turn(step * (j * v)) * p for v, p in both] for j in range(first, last + 1, size)])
        return [self.null + z for row in (outer * inner).tolist() for z in row][: last - first + 1]

    def power(self, u: arb) -> acb:
        """Return phi(u)^n less the probability that all draws are null."""
        return power(self.phi(u), self.n) - self.null_n

    def powers(self, step: arb, first: int, last: int) -> list[acb]:
        """Return phi^n less the probability that all draws are null: that outcome contributes nothing."""
        return [power(phi, self.n) - self.null_n for phi in self.phis(step, first, last)]

    def moduli(self, step: arb, indices: Sequence[int]) -> list[arb]:
        """Return |phi(j step)|, or more, for each index j: in doubles where there are many and n errors are few."""
        many = self.n.bit_length() <= _FEW_USERS and len(indices) * len(self.probabilities) > _MANY
        if many and all(v.is_finite() for v in self.g.values):
            return [arb(x) for x in coarse_moduli(self.g.values, self.probabilities, self.null, step, indices)]
        found = [self.phi(step * j) for j in indices]
        return [(z.real * z.real + z.imag * z.imag).max(arb(0)).sqrt() for z in found]

    def deviation(self) -> arb:
        """Return the standard deviation of one tilted G, or more."""
        mean = total([p * v for v, p in zip(self.g.values, self.probabilities, strict=True)])
        square = total([p * v * v for v, p in zip(self.g.values, self.probabilities, strict=True)])
        return (square - mean * mean).upper().max(arb(0)).sqrt()

    def decays(self, step: arb, blocks: Ranges) -> list[arb]:
        """Return a bound on |phi|^n over each block of frequencies, from its middle and the deviation."""
        deviation, zero, powers = self.deviation(), arb(0), list[arb]()
        for (first, last), modulus in zip(blocks, self.moduli(step / 2, [sum(x) for x in blocks]), strict=True):
            # Ends of balls: the root of one that reaches below 0 is no number.
            distance = (1 - modulus * modulus).lower().max(zero).sqrt() - deviation * step * (last - first) / 2
            distance = distance.lower().max(zero).min(arb(1))
            powers.append((1 - distance * distance).upper().max(zero).sqrt() ** self.n)
        return powers


class RoughlyTilted(TiltedBalls):
    """The same with the sum over frequencies in doubles, and balls around it."""

    def sums(self, kernel: TwoSided, ranges: Ranges) -> tuple[arb, arb]:
        """Return Re sum B(jh) phi^n over ranges of frequencies, and half of B(0), for B- and B+."""
        at_zero = kernel.sums((), 1 - self.null_n)
        indices = [j for first, last in ranges for j in range(first, last + 1)]
        if not indices:
            return at_zero
        assert isinstance(kernel, Kernel)
        phi = coarse_sums(self.g.values, self.probabilities, self.null, kernel.step, indices)
        with np.errstate(all="ignore"):
            radius = np.full(len(indices), coarse_error(len(self.g.values), indices[-1]))
            factors = Disks(phi.real, phi.imag, radius) ** self.n - Disks.of(self.null_n)
        below, above = coarse_two_sided(kernel, indices, factors)
        return at_zero[0] + below, at_zero[1] + above


def _grown(g: BallGparv, tilt: arb) -> list[arb]:
    return [p * (tilt * v).exp() for v, p in zip(g.values, g.masses, strict=True)]


def _turn(x: arb) -> acb:
    sine, cosine = x.sin_cos()
    return acb(cosine, sine)


def power(base: acb, n: int) -> acb:
    """Return base^n in balls."""
    # The principal logarithm is one ball only away from the negative axis; elsewhere square and multiply.
    return (base.log() * n).exp() if base.real > 0 else base**n


# --------------------------------------------------------- The two-sided sum in balls: no search, every number enclosed


def suits_doubles(plan: Plan, values: int, n: int, gap: float) -> bool:
    """Return whether there are so many frequencies that doubles save time, and n errors in phi are below the gap."""
    return plan.blocks.evaluations > _MANY_TERMS and n * coarse_error(values, plan.terms) < _SHARE * gap


def certified_sum(g: BallGparv, n: int, plan: Plan, *, roughly: bool = False) -> tuple[arb, arb]:
    """Return balls (lower, upper) such that lower <= E[S_+] <= upper for S the sum of n copies of G.

    ``roughly`` says that the sum is taken in doubles, with balls around it that hold whatever n is.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for *every* plan with
    0 < theta'' < theta < theta', W > 0, N >= 1 and blocks that cover the frequencies j h, 0 < j < N.
    Proof: docs/proofs/kernel_sandwich.md, and docs/proofs/disks.md for doubles.
    """
    kind = RoughlyTilted if roughly else TiltedBalls
    return tilted_sum(kind.of(g, n, plan.window.theta), plan)


def tilted_sum(tilted: Tilted, plan: Plan, payoff: type[TwoSided] = Kernel) -> tuple[arb, arb]:
    """Return what ``certified_sum`` does for a law that is known by its tilted transform, and for E[f(S)].

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for every plan, whatever law it is
    whose transform, deviation and aliasing are contained. Proof: docs/proofs/kernel_sandwich.md.

    Raises PrecisionError for a plan whose tilts are not above the least one of the payoff.
    """
    theta, w = tilted.theta, arb(plan.window.length)
    if plan.window.theta <= payoff.least_tilt or plan.window.theta_below < payoff.least_tilt:
        raise PrecisionError("plan", plan.window, f"tilts above {payoff.least_tilt}, where the payoff has a transform")
    kernel = payoff(FLINT, theta, w, plan.terms)
    below, above = tilted.sums(kernel, plan.blocks.evaluated)
    excesses = [abs(x - kernel.modulus(arb(0))) for x in kernel.at_zero()]
    dropped = plan.blocks.dropped
    for (first, last), bound in zip(dropped, tilted.decays(kernel.step, dropped), strict=True):
        size = (last - first + 1) * (bound + tilted.null_n)
        modulus = kernel.modulus(kernel.step * first)
        below, above = below - size * (modulus + excesses[0]), above + size * (modulus + excesses[1])
    upper = tilted.scale * 2 / w * above
    lower = tilted.scale * (2 / w * below - tilted.aliasing(plan.window, kernel))
    return lower.max(arb(0)), upper.max(arb(0))


def _enclosed(case: Case) -> tuple[arb, arb] | None:
    if not case.rough.is_positive:
        return None
    plan = float_sum(case.rough, case.n, _GAP, _MOST_FREQUENCIES).plan
    return case.of_sum(*certified_sum(case.balls, case.n, plan))


COMPACT_KERNEL = Evaluator("compact kernel", _enclosed)
