"""Sums whose summands differ, by groups of one law: their transform in floats and in balls, and E[S_+]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import comb, fsum, inf, log
from operator import mul
from typing import Any

import numpy as np
from flint import acb, arb

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import BallGparv, FloatGparv, Floats, nearest_doubles, total
from symamp.numbers.limits import KERNEL_PLAN
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Enclosure, Settings, positive_part, settled, starting_precision
from symamp.sums.kernels.balls import Tilted, TiltedBalls, tilted_sum
from symamp.sums.kernels.floats import FloatSum, two_sided_sum
from symamp.sums.kernels.kernel import Kernel, Ranges, TwoSided
from symamp.sums.kernels.tilted import (
    Cumulants,
    Plan,
    TiltedFloats,
    TiltedLaw,
    Transform,
    cumulants,
    gaussian_estimate,
    raised_tilt,
    saddle_tilt,
)

# --------- The transform of a sum over groups of users whose laws differ, or of many rounds, in floats: for searches


@dataclass(frozen=True)
class Group:
    """So many users whose summands share the law that ``source`` gives in balls at the ambient precision."""

    count: int
    source: Callable[[], BallGparv]


@dataclass(frozen=True)
class Product(Transform):
    """Laws in doubles, each of so many summands, whose values are in one unit; to their sum a ``shift`` is added."""

    laws: tuple[tuple[FloatGparv, int], ...]
    shift: float = 0.0

    @staticmethod
    def of_groups(groups: Sequence[Group]) -> Product:
        """Return the sum over all users of all groups."""
        return Product(tuple((nearest_doubles(g.source).unscaled, g.count) for g in groups))

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        """The number of summands."""
        return sum(count for _, count in self.laws)

    @property
    def largest(self) -> float:
        """The largest value of a summand."""
        return max(float(g.values.max(initial=0.0)) for g, _ in self.laws)

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of S, and the sum of the squares of its summands in the mean."""
        mean = self.shift + sum(c * g.mean for g, c in self.laws)
        return mean, sum(c * float(g.masses @ g.values**2) for g, c in self.laws)

    @property
    def supremum(self) -> float:
        """The largest value of S, as far as doubles tell."""
        return self.shift + fsum(
            c * float(g.values[g.masses > 0.0].max(initial=0.0 if g.null_mass > 0.0 else -inf)) for g, c in self.laws
        )

    def cumulants(self, theta: float) -> Cumulants:
        """Return the averages over users."""
        rows = np.array([(c.k0, c.k1, c.k2) for c in (cumulants(g, theta) for g, _ in self.laws)])
        k0, k1, k2 = (float(x) for x in self.counts @ rows)
        return Cumulants((k0 + theta * self.shift) / self.n, (k1 + self.shift) / self.n, k2 / self.n)

    def tilted(self, theta: float) -> TiltedProduct:
        """Return the sum under a tilt."""
        laws = tuple(TiltedLaw.of(g, count, theta) for g, count in self.laws)
        return TiltedProduct(self.n, theta, self.cumulants(theta), laws, self.counts, self.shift)

    @cached_property
    def counts(self) -> Floats:
        """How many summands each law has."""
        return np.array([float(count) for _, count in self.laws])


@dataclass(frozen=True)
class TiltedProduct(TiltedFloats):
    """All laws under one tilt, per summand."""

    n: int
    theta: float
    cumulants: Cumulants
    laws: tuple[TiltedLaw, ...]
    counts: Floats
    shift: float

    def _mean(self, of_laws: Iterable[Any]) -> Any:
        return sum(c * x for c, x in zip(self.counts, of_laws, strict=True)) / self.n

    @property
    def log_null(self) -> float:
        """The average of that of the laws: what is shifted is not 0 where all of them are."""
        return -inf if self.shift else float(self._mean(t.log_null for t in self.laws))

    def log_mgf(self, tilts: Floats) -> Floats:
        """Return the average of K at an array of tilts >= 0."""
        return np.asarray(self._mean(t.log_mgf(tilts) for t in self.laws) + tilts * (self.shift / self.n))

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        """Return the averages of (log |phi(u)|, arg phi(u))."""
        both = [t.log_phi(u) for t in self.laws]
        return self._mean(x for x, _ in both), self._mean(x for _, x in both) + u * (self.shift / self.n)

    def decays(self, middle: Floats, half: Floats) -> Floats:
        """Return the products of what the laws give for each block."""
        return np.asarray(reduce(np.multiply, (t.decays(middle, half) for t in self.laws)))


def _searched(groups: Sequence[Group], settings: Settings, payoff: type[TwoSided] = Kernel) -> FloatSum:
    """Return the estimate of E[f(S)] with its plan."""
    product = Product.of_groups(groups)
    if not product.supremum > 0.0:
        raise PrecisionError("eps", Problem("the divergence is beyond the range of doubles"), "take a smaller eps")
    with np.errstate(all="ignore"):
        theta = saddle_tilt(product, payoff)
        k = product.cumulants(raised_tilt(product, theta, payoff))
    if not np.isfinite((k.k0, k.k2)).all():
        raise PrecisionError("eps", Problem("the divergence is beyond the range of doubles"), "take a smaller eps")
    found = two_sided_sum(product, settings.gap, settings.most_frequencies, payoff, theta)
    values = sum(len(g.values) for g, _ in product.laws)
    settings.limits.charge(KERNEL_PLAN.of(values * found.plan.blocks.evaluations))
    return found


# ------------ E[S_+] for a sum over groups of users whose laws differ: one power of a characteristic function per group

# The kernel sandwich never uses that the summands share one law (docs/proofs/users_who_differ.md, section 1).

_ENUMERATE = 2_000
_LARGEST_PRECISION = 4096


def enclose_groups(groups: Sequence[Group], settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of E[S_+], S the sum over all users of all groups, each group with a law of its own.

    Guarantee
    ---------
    ``lower.lower() <= E[S_+] <= upper.upper()``, whatever the plan that floats have found.
    Proof: docs/proofs/users_who_differ.md, section 1.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    n = sum(g.count for g in present)
    bits = starting_precision(max(n, 1), settings.gap)
    with at_precision(bits):
        balls = [g.source() for g in present]
        if not any(v > 0 for b in balls for v in b.values) or _largest(present, balls) <= 0:
            most = total([g.count * positive_part(b) for g, b in zip(present, balls, strict=True)])
            return Enclosure(arb(0), most.min(_largest(present, balls).max(arb(0))), "no positive value", bits)
        if _outcomes(present, balls) <= _ENUMERATE:
            value = _enumerated(present, balls)
            return Enclosure(value, value, "enumeration", bits)
    return enclose_payoff(present, Kernel, settings)


def enclose_payoff(groups: Sequence[Group], payoff: type[TwoSided], settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of E[f(S)] for a payoff f >= 0 that is 0 up to 0, S the sum over all users of all groups.

    Guarantee
    ---------
    ``lower.lower() <= E[f(S)] <= upper.upper()``, whatever the plan that floats have found, for every payoff whose B-
    and B+ are the transforms of a minorant and a majorant. Proof: docs/proofs/composition.md, section 3.

    The gap is what the search aims at: where it would take too many frequencies the ends are further apart.
    Raises PrecisionError if rounding still dominates the gap at the largest working precision, and where no plan is
    within the range of doubles.
    """
    settings = settings or Settings()
    plan = _searched(groups, settings, payoff).plan
    bits = starting_precision(sum(g.count for g in groups), settings.gap)
    found = settled(lambda bits: _sum(groups, payoff, plan, bits), bits, settings.gap, _LARGEST_PRECISION)
    if found is None or not (found.lower.is_finite() and found.upper.is_finite()):
        raise PrecisionError(
            "precision", Problem(f"rounding errors dominate even at {_LARGEST_PRECISION} bits"), "take a larger gap"
        )
    return found


def estimate_log_groups(groups: Sequence[Group], settings: Settings | None = None) -> float | None:
    """Return an estimate of log E[S_+] in floats where they suffice; -inf for zero. Not a bound.

    None where the sums of a kernel that may be had leave the value open: what they say then is no estimate.
    """
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    with at_precision(128):
        balls = [g.source() for g in present]
        if not _largest(present, balls) > 0:
            return -inf
        if _outcomes(present, balls) <= _ENUMERATE:
            return _log(_enumerated(present, balls))
    try:
        found = _searched(present, settings)
    except PrecisionError:  # out of the range of doubles
        return -inf
    return found.log_value if found.lower > 0.0 else None


def approximate_log_groups(groups: Sequence[Group]) -> float:
    """Return the saddle-point approximation of log E[S_+], cheap and good to a few per cent; -inf for zero."""
    product = Product.of_groups([g for g in groups if g.count > 0])
    if not product.supremum > 0.0:
        return -inf
    with np.errstate(all="ignore"):
        at = product.tilted(saddle_tilt(product))
        value = product.n * at.cumulants.k0 + log(gaussian_estimate(at))
    return value if value == value else -inf


def _log(x: arb) -> float:
    return float(x.mid().log()) if x.mid() > 0 else -inf


def _largest(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return the largest value of S."""
    result = arb(0)
    for group, ball in zip(groups, balls, strict=True):
        values = [*ball.values, *([] if ball.null_mass.is_zero() else [arb(0)])]
        result += group.count * reduce(arb.max, values)
    return result


def _outcomes(groups: Sequence[Group], balls: Sequence[BallGparv]) -> int:
    result = 1
    for group, ball in zip(groups, balls, strict=True):
        result *= comb(group.count + len(ball.values), len(ball.values)) if group.count < _ENUMERATE else _ENUMERATE + 1
        if result > _ENUMERATE:
            break
    return result


def _enumerated(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return a ball around E[S_+]: all outcomes of all groups."""
    sums = [(arb(0), arb(1))]
    for group, ball in zip(groups, balls, strict=True):
        law = [*zip(ball.values, ball.masses, strict=True), (arb(0), ball.null_mass)]
        # Each partial sum carries how many users of the group are still to be placed; the last value takes all.
        placed = [(s, w, group.count) for s, w in sums]
        for i, (value, mass) in enumerate(law):
            placed = [
                (s + k * value, w * comb(left, k) * _power(mass, k), left - k)
                for s, w, left in placed
                for k in ((left,) if i == len(law) - 1 else range(left + 1))
            ]
        sums = [(s, w) for s, w, _ in placed]
    return total([w * s.max(arb(0)) for s, w in sums])


def _power(mass: arb, k: int) -> arb:
    """Return mass^k; the library has no number for the power of a ball around 0."""
    if k and mass.mid() == 0 and not mass.is_zero():
        most = mass.upper() ** k
        return most.union(-most)
    return mass**k


@dataclass(frozen=True)
class TiltedGroups(Tilted):
    """The sum over all users of all groups under one tilt."""

    theta: arb
    null_n: arb
    groups: tuple[TiltedBalls, ...]

    @staticmethod
    def of(laws: Sequence[tuple[BallGparv, int]], tilt: float) -> TiltedGroups:
        """Tilt laws, each of so many users, by the double ``tilt``, an exact number."""
        groups = tuple(TiltedBalls.of(g, count, tilt) for g, count in laws)
        return TiltedGroups(arb(tilt), _product(t.null_n for t in groups), groups)

    @property
    def scale(self) -> arb:
        """M(theta), the product over all users."""
        return _product(t.scale for t in self.groups)

    def powers(self, step: arb, first: int, last: int) -> Iterator[acb]:
        """Yield the characteristic function of the sum, less ``null_n``, at the frequencies j step."""
        for row in zip(*(t.powers(step, first, last) for t in self.groups), strict=True):
            result = acb(1)
            for t, factor in zip(self.groups, row, strict=True):
                result *= factor + t.null_n
            yield result - self.null_n

    def growth(self, tilt: arb) -> arb:
        """Return M(tilt)/M(theta)."""
        return _product(t.growth(tilt) for t in self.groups)

    def decays(self, step: arb, blocks: Ranges) -> list[arb]:
        """Return the products of what the groups give for each block."""
        return [_product(bounds) for bounds in zip(*(t.decays(step, blocks) for t in self.groups), strict=True)]


def _sum(groups: Sequence[Group], payoff: type[TwoSided], plan: Plan, bits: int) -> Enclosure:
    """Return the two-sided sum in balls at the ambient precision; of x_+ the mean and each user alone tell more."""
    whole = TiltedGroups.of([(g.source(), g.count) for g in groups], plan.window.theta)
    tilted, (lower, upper) = whole.groups, tilted_sum(whole, plan, payoff)
    if payoff is Kernel:
        mean = total([t.n * total([v * p for v, p in zip(t.g.values, t.g.masses, strict=True)]) for t in tilted])
        alone = total([t.n * positive_part(t.g) for t in tilted])
        lower = lower.max(mean) if lower.is_finite() else mean.max(arb(0))
        upper = upper.min(alone) if upper.is_finite() else alone
    return Enclosure(lower, upper, "compact kernel, groups", bits, plan)


def _product(factors: Iterable[arb]) -> arb:
    return reduce(mul, factors, arb(1))
