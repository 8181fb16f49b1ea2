"""Sums whose summands differ, by groups of one law, of fixed or Poisson numbers: their transforms, and E[S_+]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import comb, exp, expm1, fsum, inf, log
from operator import mul
from typing import Any, Self

import numpy as np
from flint import acb, arb

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import BallGparv, Floats, nearest_doubles, total
from symamp.numbers.limits import KERNEL_PLAN
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import FLINT
from symamp.sums.divergence import Enclosure, Settings, positive_part, settled, starting_precision
from symamp.sums.kernels.balls import Tilted, TiltedBalls, tilted_sum
from symamp.sums.kernels.floats import FloatSum, two_sided_sum
from symamp.sums.kernels.kernel import Kernel, Ranges, TwoSided
from symamp.sums.kernels.tilted import (
    Cumulants,
    Plan,
    Power,
    TiltedFloats,
    TiltedLaw,
    Transform,
    gaussian_estimate,
    raised_tilt,
    saddle_tilt,
)

_ENUMERATE, _LARGEST_PRECISION, _LARGEST_LOG = 2_000, 4096, 700.0
"""Outcomes that are enumerated, bits up to which precision is doubled, and the largest logarithm that is raised."""

# --------- The transform of a sum over groups of users whose laws differ, or of many rounds, in floats: for searches


@dataclass(frozen=True)
class Group:
    """So many users whose summands share the law that ``source`` gives in balls at the ambient precision.

    ``poisson`` says that their number is a Poisson variable of this mean.
    """

    count: int
    source: Callable[[], BallGparv]
    poisson: bool = False


def constant(value: arb) -> BallGparv:
    """Return the law of a number other than 0."""
    return BallGparv((value,), (arb(1),), arb(0), arb(0))


@dataclass(frozen=True)
class PoissonPower(Power):
    """A Poisson number of copies of one G, of mean n: n summands, each of a Poisson number of copies of mean 1."""

    @property
    def supremum(self) -> float:
        return inf if self.g.is_positive else 0.0

    def cumulants(self, theta: float) -> Cumulants:
        """Return K = M - 1 and its derivatives, M that of G."""
        k = super().cumulants(theta)
        k0 = min(k.k0, _LARGEST_LOG)
        return Cumulants(expm1(k0), exp(k0) * k.k1, exp(k0) * (k.k2 + k.k1**2))

    def tilted(self, theta: float) -> TiltedPoisson:  # type: ignore[override]
        return TiltedPoisson(self.n, theta, self.cumulants(theta), TiltedLaw.of(self.g, 1, theta))


@dataclass(frozen=True)
class TiltedPoisson(TiltedFloats):
    """The same under a tilt: n M(theta) copies of the tilted law in the mean."""

    n: int
    theta: float
    cumulants: Cumulants
    law: TiltedLaw

    @property
    def copies(self) -> float:
        """The mean number of copies in one summand."""
        return exp(min(self.law.cumulants.k0, _LARGEST_LOG))

    @property
    def log_null(self) -> float:
        """The logarithm of the tilted probability that no copy is other than 0."""
        return -self.copies * (1.0 - self.law.null_probability)

    def log_mgf(self, tilts: Floats) -> Floats:
        return np.asarray(np.expm1(self.law.log_mgf(tilts)))

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        """Return (log |phi(u)|, arg phi(u)): parts of M(theta) (phi - 1), phi that of the tilted law."""
        modulus, phase = self.law.log_phi(u)
        real = np.expm1(modulus) * np.cos(phase) - 2.0 * np.sin(phase / 2.0) ** 2
        return self.copies * real, self.copies * np.exp(modulus) * np.sin(phase)

    def decays(self, middle: Floats, half: Floats) -> Floats:
        root = np.sqrt(np.maximum(-self.log_phi(middle)[0], 0.0)) - np.sqrt(self.cumulants.k2 / 2.0) * half
        return np.asarray(np.exp(-self.n * np.maximum(root, 0.0) ** 2))


@dataclass(frozen=True)
class Product(Transform):
    """A sum of independent sums, whose values are in one unit; to it a ``shift`` is added."""

    parts: tuple[Power, ...]
    shift: float = 0.0

    @staticmethod
    def of_groups(groups: Sequence[Group]) -> Product:
        """Return the sum over all users of all groups."""
        parts, shift = list[Power](), 0.0
        for group in groups:
            one = (PoissonPower if group.poisson else Power)(nearest_doubles(group.source).unscaled, group.count)
            if one.g.masses.tolist() == [1.0] and not group.poisson:
                shift += one.supremum
            elif len(one.g.values):
                parts.append(one)
        return Product(tuple(parts), shift)

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        """The number of summands."""
        return sum(x.n for x in self.parts)

    @property
    def largest(self) -> float:
        return max(self.shift, *(x.largest for x in self.parts))

    @property
    def moments(self) -> tuple[float, float]:
        means, squares = zip(*(x.moments for x in self.parts), strict=True)
        return self.shift + sum(means), sum(squares)

    @property
    def supremum(self) -> float:
        """The largest value of S, as far as doubles tell."""
        return self.shift + fsum(x.supremum for x in self.parts)

    def cumulants(self, theta: float) -> Cumulants:
        rows = np.array([(c.k0, c.k1, c.k2) for c in (x.cumulants(theta) for x in self.parts)])
        k0, k1, k2 = (float(x) for x in self.counts @ rows)
        return Cumulants((k0 + theta * self.shift) / self.n, (k1 + self.shift) / self.n, k2 / self.n)

    def tilted(self, theta: float) -> TiltedProduct:
        parts = tuple(x.tilted(theta) for x in self.parts)
        return TiltedProduct(self.n, theta, self.cumulants(theta), parts, self.counts, self.shift)

    @cached_property
    def counts(self) -> Floats:
        """How many summands each part has."""
        return np.array([float(x.n) for x in self.parts])


@dataclass(frozen=True)
class TiltedProduct(TiltedFloats):
    """All parts under one tilt, per summand."""

    n: int
    theta: float
    cumulants: Cumulants
    parts: tuple[TiltedFloats, ...]
    counts: Floats
    shift: float

    def _mean(self, of_parts: Iterable[Any]) -> Any:
        return sum(c * x for c, x in zip(self.counts, of_parts, strict=True)) / self.n

    @property
    def log_null(self) -> float:
        """The average of that of the parts: what is shifted is not 0 where all of them are."""
        return -inf if self.shift else float(self._mean(t.log_null for t in self.parts))

    def log_mgf(self, tilts: Floats) -> Floats:
        return np.asarray(self._mean(t.log_mgf(tilts) for t in self.parts) + tilts * (self.shift / self.n))

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        both = [t.log_phi(u) for t in self.parts]
        return self._mean(x for x, _ in both), self._mean(x for _, x in both) + u * (self.shift / self.n)

    def decays(self, middle: Floats, half: Floats) -> Floats:
        return np.asarray(reduce(np.multiply, (t.decays(middle, half) for t in self.parts)))


def _searched(product: Product, settings: Settings, payoff: type[TwoSided] = Kernel) -> FloatSum:
    """Return the estimate of E[f(S)] with its plan."""
    if not (product.parts and product.supremum > 0.0):
        raise PrecisionError("eps", Problem("the divergence is beyond the range of doubles"), "take a smaller eps")
    with np.errstate(all="ignore"):
        theta = saddle_tilt(product, payoff)
        k = product.cumulants(raised_tilt(product, theta, payoff))
    if not np.isfinite((k.k0, k.k2)).all():
        raise PrecisionError("eps", Problem("the divergence is beyond the range of doubles"), "take a smaller eps")
    found = two_sided_sum(product, settings.gap, settings.most_frequencies, payoff, theta)
    values = sum(len(x.g.values) for x in product.parts)
    settings.limits.charge(KERNEL_PLAN.of(values * found.plan.blocks.evaluations))
    return found


# ------------ E[S_+] for a sum over groups of users whose laws differ: one power of a characteristic function per group

# The kernel sandwich never uses that the summands share one law (docs/proofs/users_who_differ.md, section 1).


def enclose_groups(groups: Sequence[Group], settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of E[S_+], S the sum over all users of all groups, each group with a law of its own.

    Guarantee
    ---------
    ``lower.lower() <= E[S_+] <= upper.upper()``, whatever the plan that floats have found.
    Proof: docs/proofs/users_who_differ.md, section 1, and docs/proofs/participation.md, section 3, for Poisson numbers.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    settings = settings or Settings()
    n = sum(g.count for g in groups)
    bits = starting_precision(max(n, 1), settings.gap)
    with at_precision(bits):
        present = [g for g in groups if g.count > 0 and any(not v.is_zero() for v in g.source().values)]
        balls = [g.source() for g in present]
        if not any(v > 0 for b in balls for v in b.values) or _largest(present, balls) <= 0:
            most = total([g.count * positive_part(b) for g, b in zip(present, balls, strict=True)])
            return Enclosure(arb(0), most.min(_largest(present, balls).max(arb(0))), "no positive value", bits)
        if _outcomes((g.count, len(b.values), g.poisson) for g, b in zip(present, balls, strict=True)) <= _ENUMERATE:
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
    within the range of doubles, as where the payoff is 0 at all that S reaches.
    """
    settings = settings or Settings()
    bits = starting_precision(sum(g.count for g in groups), settings.gap)
    with at_precision(bits):
        if _largest(groups, [g.source() for g in groups]) <= 0:
            return Enclosure(arb(0), arb(0), "no positive value", bits)
    plan = _searched(Product.of_groups(groups), settings, payoff).plan
    found = settled(lambda bits: _sum(groups, payoff, plan, bits), bits, settings.gap, _LARGEST_PRECISION)
    if found is None or not (found.lower.is_finite() and found.upper.is_finite()):
        wrong = Problem(f"rounding errors dominate even at {_LARGEST_PRECISION} bits")
        raise PrecisionError("precision", wrong, "take a larger gap")
    return found


def estimate_log_groups(groups: Sequence[Group], settings: Settings | None = None) -> float | None:
    """Return an estimate of log E[S_+] in floats where they suffice; -inf for zero. Not a bound.

    None where the sums of a kernel that may be had leave the value open: what they say then is no estimate.
    """
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    product = Product.of_groups(present)
    if not product.supremum > 0.0:
        return -inf
    if _outcomes((x.n, len(x.g.values), isinstance(x, PoissonPower)) for x in product.parts) <= _ENUMERATE:
        with at_precision(128):
            value = _enumerated(present, [g.source() for g in present]).mid()
            return float(value.log()) if value > 0 else -inf
    try:
        found = _searched(product, settings)
    except PrecisionError:  # out of the range of doubles
        return -inf
    return found.log_value if found.lower > 0.0 else None


def approximate_log_groups(groups: Sequence[Group]) -> float:
    """Return the saddle-point approximation of log E[S_+], fast and good to a few per cent; -inf for zero."""
    product = Product.of_groups([g for g in groups if g.count > 0])
    if not product.supremum > 0.0:
        return -inf
    if not product.parts:
        return log(product.shift)
    with np.errstate(all="ignore"):
        at = product.tilted(saddle_tilt(product))
        value = product.n * at.cumulants.k0 + log(gaussian_estimate(at))
    return value if value == value else -inf


def _largest(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return the largest value of S, infinite where a number of users has no limit."""
    result = arb(0)
    for group, ball in zip(groups, balls, strict=True):
        values = [*ball.values, *([arb(0)] if group.poisson or not ball.null_mass.is_zero() else [])]
        largest = reduce(arb.max, values)
        result += arb("inf") if group.poisson and not largest <= 0 else group.count * largest
    return result


def _outcomes(laws: Iterable[tuple[int, int, bool]]) -> int:
    """Return about how many outcomes there are, by numbers of users and values; more than are enumerated for many."""
    result = 1
    for users, values, poisson in laws:
        result *= comb(users + values, values) if users < _ENUMERATE and not poisson else _ENUMERATE + 1
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
                (s + k * value, w * comb(left, k) * FLINT.power(mass, k), left - k)
                for s, w, left in placed
                for k in ((left,) if i == len(law) - 1 else range(left + 1))
            ]
        sums = [(s, w) for s, w, _ in placed]
    return total([w * s.max(arb(0)) for s, w in sums])


@dataclass(frozen=True)
class TiltedPoissonBalls(TiltedBalls):
    """A Poisson number of copies of G, of mean n, under the tilt theta."""

    @classmethod
    def of(cls, g: BallGparv, n: int, tilt: float) -> Self:
        one = super().of(g, 1, tilt)
        return replace(one, n=n, null_n=(-n * one.m * (1 - one.null)).exp())

    @property
    def scale(self) -> arb:
        return (self.n * (self.m - 1)).exp()

    def power(self, phi: acb) -> acb:
        """Return the characteristic function of S, less ``null_n``, from that of G."""
        return (self.n * self.m * (phi - 1)).exp() - self.null_n

    def growth(self, tilt: arb) -> arb:
        return (self.n * (self.mgf(tilt) - self.m)).exp()

    def decays(self, step: arb, blocks: Ranges) -> list[arb]:
        """Return a bound on the modulus over each block: the root of 1 - Re phi moves by (E[G^2]/2)^(1/2) |u - v|."""
        square = total([p * v * v for v, p in zip(self.g.values, self.probabilities, strict=True)])
        spread, found = (square.upper() / 2).sqrt(), []
        for first, last in blocks:
            away = (1 - self.phi(step * (first + last) / 2).real).lower().max(arb(0)).sqrt()
            root = (away - spread * step * (last - first) / 2).lower().max(arb(0))
            found.append((-self.n * self.m * root * root).exp())
        return found


@dataclass(frozen=True)
class TiltedGroups(Tilted):
    """The sum over all users of all groups under one tilt, to which a ``shift`` is added."""

    theta: arb
    null_n: arb
    groups: tuple[TiltedBalls, ...]
    shift: arb

    @staticmethod
    def of(groups: Sequence[Group], tilt: float) -> TiltedGroups:
        """Tilt the laws of groups by the double ``tilt``, an exact number."""
        found, shift = list[TiltedBalls](), arb(0)
        for group in groups:
            g = group.source()
            if g.masses == (1,) and not group.poisson:
                shift += group.count * g.values[0]
            else:
                found.append((TiltedPoissonBalls if group.poisson else TiltedBalls).of(g, group.count, tilt))
        null = _product(t.null_n for t in found) if shift.is_zero() else arb(0)
        return TiltedGroups(arb(tilt), null, tuple(found), shift)

    @property
    def scale(self) -> arb:
        return _product(t.scale for t in self.groups) * (self.theta * self.shift).exp()

    def powers(self, step: arb, first: int, last: int) -> Iterator[acb]:
        """Yield the characteristic function of the sum, less ``null_n``, at the frequencies j step."""
        parts = [(t.null_n, iter(t.powers(step, first, last))) for t in self.groups]
        for j in range(first, last + 1):
            result = acb(1) if self.shift.is_zero() else acb(0, step * j * self.shift).exp()
            for null, part in parts:
                result *= next(part) + null
            yield result - self.null_n

    def growth(self, tilt: arb) -> arb:
        return _product(t.growth(tilt) for t in self.groups) * ((tilt - self.theta) * self.shift).exp()

    def decays(self, step: arb, blocks: Ranges) -> list[arb]:
        bounds = [t.decays(step, blocks) for t in self.groups]
        return [_product(b[i] for b in bounds) for i in range(len(blocks))]


def _sum(groups: Sequence[Group], payoff: type[TwoSided], plan: Plan, bits: int) -> Enclosure:
    """Return the two-sided sum in balls at the ambient precision; of x_+ the mean and each user alone tell more."""
    whole = TiltedGroups.of(groups, plan.window.theta)
    tilted, (lower, upper) = whole.groups, tilted_sum(whole, plan, payoff)
    if payoff is Kernel:
        mean = total([t.n * total([v * p for v, p in zip(t.g.values, t.g.masses, strict=True)]) for t in tilted])
        mean, alone = mean + whole.shift, total([t.n * positive_part(t.g) for t in tilted]) + whole.shift.max(arb(0))
        lower = lower.max(mean) if lower.is_finite() else mean.max(arb(0))
        upper = upper.min(alone) if upper.is_finite() else alone
    return Enclosure(lower, upper, "compact kernel, groups", bits, plan)


def _product(factors: Iterable[arb]) -> arb:
    return reduce(mul, factors, arb(1))
