"""The exponentially tilted law of one G in balls, and the two-sided sum: no search, every number enclosed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil, sqrt
from operator import mul
from typing import Protocol, Self

import numpy as np
from flint import acb, acb_mat, arb
from numpy.typing import NDArray

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import BallGparv, total
from symamp.numbers.disks import Disks
from symamp.numbers.systems import FLINT
from symamp.sums.kernels.kernel import Kernel, Ranges, TwoSided
from symamp.sums.kernels.tilted import Plan, Window

# What is tuned: each is as true as the others, and these save time.
_FEW_USERS, _MANY = 20, 20_000
"""Up to 2^20 users an error of 1e-12 in |phi| does no harm; from so many values on doubles save time."""
_MANY_TERMS, _SHARE = 100, 0.01
"""From so many frequencies on sums are taken in doubles, if n errors of phi are below this part of the gap."""

_FEW_FREQUENCIES, _LARGEST_MATRIX = 8, 200_000
"""So few frequencies are taken one by one; and entries of matrices of powers."""

# ------------------------------ phi and the sum over frequencies in doubles, with error radii: enough for few users

Waves = NDArray[np.complex128]

_UNIT = 2.0**-53
_LARGEST_RADIUS = arb(2) ** -60
_ROWS, _AT_ONCE, _DIGIT = 32, 2**12, 6


def coarse_error(values: int, last: int) -> float:
    """Return how far ``coarse_sums`` of so many values may be from the exact sums at frequencies up to ``last``."""
    return 1.01 * _UNIT * (9 * last.bit_length() + 2 * values + 8)


def turn_error(last: int) -> float:
    """Return how far each turn by ``coarse_turns`` may be from the exact one at frequencies up to ``last``."""
    return 6.1 * _UNIT * last.bit_length()


def coarse_turns(values: Sequence[arb], step: arb, indices: Sequence[int]) -> Waves:
    """Return about e^(i j step g), a row for each index j and a column for each value g.

    e^(i step g) and its powers with exponents 2^k are each the double next to the exact number, and products are taken
    in doubles, so that nothing is assumed of how a library computes sines.

    Guarantee
    ---------
    No value is farther from the exact one than ``turn_error``. Proof: docs/proofs/smooth_laws.md.

    Raises PrecisionError for values of which too few digits are known.
    """
    return _turned(_tables(values, step, max(indices)), np.array(indices, dtype=np.int64))


def coarse_sums(
    values: Sequence[arb], probabilities: Sequence[arb], rest: arb, step: arb, indices: Sequence[int]
) -> Waves:
    """Return for each index j about sum p e^(i j step g) + rest; probabilities and rest sum to at most 1.

    Guarantee
    ---------
    No value is farther from the exact one than ``coarse_error``. Proof: docs/proofs/smooth_laws.md.

    Raises PrecisionError for values of which too few digits are known.

    >>> import flint
    >>> with flint.ctx.workprec(128):
    ...     coarse_sums([arb(1), arb(-1)], [arb("0.5"), arb("0.5")], arb(0), arb(2), [1, 5]).real
    array([-0.416..., -0.839...])
    """
    tables = _tables(values, step, max(indices))
    weights = np.array([float(p) for p in probabilities])
    found = np.empty(len(indices), dtype=np.complex128)
    rows = max(_ROWS, _AT_ONCE // len(values))
    for first in range(0, len(indices), rows):
        turned = _turned(tables, np.array(indices[first : first + rows], dtype=np.int64))
        found.real[first : first + rows] = turned.real @ weights + float(rest)
        found.imag[first : first + rows] = turned.imag @ weights
    return found


def _tables(values: Sequence[arb], step: arb, last: int) -> list[Waves]:
    bits = last.bit_length()
    return [_powers(values, step * 2**k, min(_DIGIT, bits - k)) for k in range(0, bits, _DIGIT)]


def _turned(tables: Sequence[Waves], indices: NDArray[np.int64]) -> Waves:
    return reduce(mul, (t[(indices >> _DIGIT * k) % 2**_DIGIT] for k, t in enumerate(tables)))


def _powers(values: Sequence[arb], step: arb, digit: int) -> Waves:
    """Return e^(i j step g) for 0 <= j < 2^digit, a row for each j."""
    table = np.ones((1, len(values)), dtype=np.complex128)
    for k in range(digit):
        table = np.concatenate([table, table * _turns(values, step * 2**k)])
    return table


def _turns(values: Sequence[arb], step: arb) -> Waves:
    turns = []
    for value in values:
        sine, cosine = (step * value).sin_cos()
        if not (sine.rad() < _LARGEST_RADIUS and cosine.rad() < _LARGEST_RADIUS):
            wrong = Problem("values have less than 60 bits at this precision")
            raise PrecisionError("precision", wrong, "take a higher one")
        turns.append(complex(float(cosine), float(sine)))
    return np.array(turns)


def coarse_two_sided(kernel: Kernel, indices: Sequence[int], factors: Disks) -> tuple[arb, arb]:
    """Return Re sum B(jh) factor over frequencies j h, 0 < j < N, for B- and B+.

    B/d^2 depends on lam = theta d, N and j alone: 1 + is/T = 1 - j/N + i lam/(2 pi), and e^(-sd) = e^(-lam) e^(-2 pi i
    j/N).

    Guarantee
    ---------
    The balls contain the sums for all numbers in the disks ``factors``. Proof: docs/proofs/disks.md.
    """
    terms, lam, turn = kernel.terms, kernel.theta * kernel.d, 1 / (2 * arb.pi())
    error, one = turn_error(max(indices)), Disks.of(arb(1))
    with np.errstate(all="ignore"):  # what overflows has no finite radius
        waves = [
            Disks(found.real, found.imag, np.full(len(indices), error))
            for found in coarse_turns([-kernel.d, -kernel.alpha * kernel.d], kernel.step, indices).T
        ]
        q = waves[0] * Disks.of((-lam).exp())
        inverse = (one - q).inverse()
        ratio, z0 = q * inverse, waves[1] * Disks.of((-lam * kernel.alpha).exp()) * inverse
        left = (terms - np.array(indices, dtype=np.float64)) / terms
        bend = Disks(left, np.zeros_like(left), 2.0**-52 * left) + Disks.of(acb(arb(0), lam * turn))
        over_t, alpha, c = (Disks.of(x) for x in (acb(arb(0), turn), kernel.alpha, kernel.c))
        above = (bend * (ratio + alpha) - over_t) * z0 * factors
        below = (bend * (ratio * inverse) - over_t * (ratio + c)) * factors
        square = kernel.d * kernel.d
        return below.real_sum() * square, above.real_sum() * square


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
        return self.m**self.n

    def mgf(self, tilt: arb) -> arb:
        """Return M(tilt) of one G."""
        return self.g.null_mass + total(_grown(self.g, tilt))

    def growth(self, tilt: arb) -> arb:
        return (self.mgf(tilt) / self.m) ** self.n

    def phi(self, u: arb) -> acb:
        """Return the characteristic function E_theta[e^(iuG)]."""
        real, imaginary = self.null, arb(0)
        for v, p in zip(self.g.values, self.probabilities, strict=True):
            sine, cosine = (u * v).sin_cos()
            real += p * cosine
            imaginary += p * sine
        return acb(real, imaginary)

    def power(self, phi: acb) -> acb:
        """Return, from phi, the characteristic function of S less the chance that all draws are null."""
        return power(phi, self.n) - self.null_n

    def powers(self, step: arb, first: int, last: int) -> list[acb]:
        return [self.power(phi) for phi in self._phis(step, first, last)]

    def _phis(self, step: arb, first: int, last: int) -> Iterator[acb]:
        """Yield phi(j step): of many frequencies by products of matrices of powers."""
        if last - first < _FEW_FREQUENCIES:
            yield from (self.phi(step * j) for j in range(first, last + 1))
            return
        turns = [acb(0, step * v).exp() for v in self.g.values]
        some = max((_LARGEST_MATRIX // len(turns)) ** 2, _FEW_FREQUENCIES)
        for start in range(first, last + 1, some):
            begun = [p * acb(0, step * start * v).exp() for v, p in zip(self.g.values, self.probabilities, strict=True)]
            yield from (self.null + x for x in sums_of_powers(begun, turns, min(some, last + 1 - start)))

    def _moduli(self, step: arb, indices: Sequence[int]) -> list[arb]:
        """Return |phi(j step)|, or more, for each index j: in doubles where there are many and n errors are few."""
        are_many = self.n.bit_length() <= _FEW_USERS and len(indices) * len(self.probabilities) > _MANY
        if are_many and all(v.is_finite() for v in self.g.values):
            sums = np.abs(coarse_sums(self.g.values, self.probabilities, self.null, step, indices))
            error = coarse_error(len(self.probabilities), max(indices))
            return [arb(float(x) * (1.0 + 8.0 * _UNIT) + error) for x in sums]
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
        middles = self._moduli(step / 2, [first + last for first, last in blocks])
        for (first, last), middle in zip(blocks, middles, strict=True):
            # Ends of balls: the root of one that reaches below 0 is no number.
            away = (1 - middle * middle).lower().max(zero).sqrt()
            distance = away - deviation * step * (last - first) / 2
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
        error = coarse_error(len(self.g.values), indices[-1])
        phi = coarse_sums(self.g.values, self.probabilities, self.null, kernel.step, indices)
        with np.errstate(all="ignore"):
            radius = np.full(len(indices), error)
            factors = Disks(phi.real, phi.imag, radius) ** self.n - Disks.of(self.null_n)
        below, above = coarse_two_sided(kernel, indices, factors)
        return at_zero[0] + below, at_zero[1] + above


def _grown(g: BallGparv, tilt: arb) -> list[arb]:
    return [p * (tilt * v).exp() for v, p in zip(g.values, g.masses, strict=True)]


def power(base: acb, n: int) -> acb:
    """Return base^n in balls."""
    # The principal logarithm is one ball only away from the negative axis; elsewhere square and multiply.
    return (base.log() * n).exp() if base.real > 0 else base**n


def powers_of(x: acb, number: int) -> list[acb]:
    """Return the powers of x from the 0th on, by squaring: boxes turn a few times only."""
    powers = [acb(1), x]
    for k in range(2, number):
        powers.append(powers[k // 2] * powers[k - k // 2])
    return powers[:number]


def sums_of_powers(first: Sequence[acb], ratios: Sequence[acb], number: int) -> list[acb]:
    """Return the sums of a_i x_i^j for j < number: entries of a product of two matrices of powers."""
    rows = ceil(sqrt(number))
    small = [powers_of(x, rows + 1) for x in ratios]
    large = [powers_of(powers[rows], rows) for powers in small]
    left = acb_mat([[x * powers[k] for x, powers in zip(first, large, strict=True)] for k in range(rows)])
    product = left * acb_mat([powers[:rows] for powers in small])
    return [product[j // rows, j % rows] for j in range(number)]


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
