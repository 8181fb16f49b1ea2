"""The sum of the privacy losses of many rounds: search in floats, enclosure in balls, and eps from delta."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import exp, expm1, fsum, inf, log, log1p, sqrt

import numpy as np
from flint import arb, fmpq

from symamp.accounting.curves import DominatingPair
from symamp.errors import PrecisionError, Problem
from symamp.laws.law import BallGparv, FloatGparv, total
from symamp.numbers.doubles import log_ndtr, root_between
from symamp.numbers.rationals import log_ball
from symamp.numbers.surroundings import at_precision
from symamp.questions.solve import Trial, step_out
from symamp.settings.question import Query
from symamp.sums.groups import Group, Product, TiltedGroups, constant
from symamp.sums.inversion import falling_root
from symamp.sums.kernels.balls import tilted_sum
from symamp.sums.kernels.floats import two_sided_sum
from symamp.sums.kernels.hockey_stick import HockeyStickKernel
from symamp.sums.kernels.tilted import Plan, Power

# What is tuned: every plan and every precision gives a bound; these trade time against width. Rules of thumb.
WIDEST_SUM = 1e-3
"""The relative gap in delta that sums over frequencies aim at, however wide an answer may be."""
_MOST_FREQUENCIES = 40_000
"""Frequencies of one sum."""
_BITS, _MOST_BITS, _TIE_BITS, _ROUNDING = 128, 4096, 1024, 1e-6
"""Precision starts at the first and doubles up to the second, until rounding is this part of the value; where the
largest sum of losses cannot be told from eps with the third, what they differ by is left open."""
_SHARE_OF_GAP = 0.05
"""How near a root is sought, in the logarithm of delta, in units of its gap."""
_LEAST_MISS, _NO_DOUBLE = -1e6, -40.0
"""The least miss in the logarithm that a search sees; probabilities with logarithms below the second add up as they
are, since for doubles their complements are 1."""

# ---------------------------------------- The Gaussian approximation of many rounds: mu-GDP. Not a bound on either side


def gaussian_log_delta(mu: float, eps: float) -> float:
    """Return log delta of mu-GDP at eps, in floats; -inf where it is too small for them."""
    first = float(log_ndtr(-eps / mu + mu / 2.0))
    second = eps + float(log_ndtr(-eps / mu - mu / 2.0))
    return first + log1p(-exp(second - first)) if second < first else -inf


def gaussian_epsilon(mu: float, log_delta: float) -> float:
    """Return the eps at which mu-GDP has this delta, in floats; 0 if it has less at eps = 0."""
    if gaussian_log_delta(mu, 0.0) <= log_delta:
        return 0.0
    high = mu * mu / 2.0 + mu * sqrt(-2.0 * log_delta)
    return root_between(lambda eps: max(gaussian_log_delta(mu, eps), -1e300) - log_delta, 0.0, high, rtol=1e-13)


# -- The loss of all rounds in floats: the transform of a product of pairs, and the plan of a certified evaluation


@dataclass(frozen=True)
class FloatProduct:
    """All rounds: their finite losses log dP/dQ under P, given that they are finite, and how likely that is."""

    losses: tuple[tuple[FloatGparv, int], ...]
    log_infinite: float
    """The logarithm of the P-mass of an infinite loss in some round."""
    log_finite: float

    @staticmethod
    def of(rounds: Sequence[tuple[DominatingPair, int]]) -> FloatProduct:
        """Return the product of pairs, each repeated by its count; masses far below the smallest double are kept."""
        with at_precision(64):
            infinite = [(_log(pair.infinite) if pair.infinite > 0 else -inf, count) for pair, count in rounds]
            losses = tuple((_finite(pair), count) for pair, count in rounds)
        if any(x >= 0.0 for x, _ in infinite):
            return FloatProduct(losses, 0.0, -inf)
        finite = fsum(count * _log_rest(x) for x, count in infinite)
        # The probability that all losses are finite is 1 for doubles where the others are small.
        most = float(np.logaddexp.reduce([x + log(count) for x, count in infinite]))
        return FloatProduct(losses, most if most < _NO_DOUBLE else log(-expm1(finite)), finite)

    @property
    def largest(self) -> float:
        """The largest finite loss of all rounds together."""
        return fsum(count * float(g.values.max(initial=-inf)) for g, count in self.losses)

    def beyond(self, eps: float) -> Product:
        """Return the sum of all losses less eps."""
        return Product(tuple(Power(g, count) for g, count in self.losses), -eps)


def _finite(pair: DominatingPair) -> FloatGparv:
    losses = np.array([_log(e) for e, _ in pair.atoms])
    logs = np.array([_log(p) for _, p in pair.atoms])
    logs -= float(np.logaddexp.reduce(logs)) if len(logs) else 0.0
    masses = np.exp(logs)
    return FloatGparv(losses, masses, 0.0, float(masses @ losses), 0.0, logs=logs)


def _log(x: fmpq) -> float:
    return float(log_ball(x))


def _log_rest(x: float) -> float:
    """Return log(1 - e^x) for x < 0, however near to 0."""
    return log(-expm1(x)) if x > -1.0 else log1p(-exp(x))


@dataclass(frozen=True)
class FloatDivergence:
    """Logarithms of estimates of delta from both sides, and the plan they were found with; None if none is needed.

    ``plan`` is None where no finite loss exceeds eps.
    """

    log_lower: float
    log_upper: float
    plan: Plan | None

    @property
    def gap(self) -> float:
        """The relative gap between the two estimates."""
        return -np.expm1(self.log_lower - self.log_upper) if self.log_upper > -inf else 0.0


def estimate_divergence(product: FloatProduct, eps: float, gap: float) -> FloatDivergence:
    """Return estimates of D_E at E = e^eps, refined until their relative gap is met. Not a bound."""
    infinite = product.log_infinite
    if not product.largest > eps:
        return FloatDivergence(infinite, infinite, None)
    found = two_sided_sum(product.beyond(eps), gap, _MOST_FREQUENCIES, HockeyStickKernel)
    scale = found.log_scale + product.log_finite
    low = scale + log(found.lower) if found.lower > 0.0 else -inf
    high = scale + log(found.upper) if found.upper > 0.0 else inf
    return FloatDivergence(float(np.logaddexp(low, infinite)), float(np.logaddexp(high, infinite)), found.plan)


# ---------------------------------------------- The divergence of all rounds in balls: no search, every number enclosed

Rounds = Sequence[tuple[DominatingPair, int]]
"""Pairs, each with the number of rounds that it stands for."""


def enclose_divergence(rounds: Rounds, eps: arb, plan: Plan | None) -> tuple[arb, arb, int]:
    """Return balls (lower, upper) around D_E of the product of all rounds at E = e^eps, and the bits that it took.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose D_E for *every* plan with
    0 <= theta'' < theta < theta', W > 0, N >= 1 and blocks that cover the frequencies j h, 0 < j < N, and without a
    plan (None), where they are close if hardly any finite loss exceeds eps. Proof: docs/proofs/composition.md,
    section 3.

    Raises PrecisionError if rounding still dominates at the largest working precision.
    """
    bits = _BITS
    while bits <= _MOST_BITS:
        with at_precision(bits), suppress(PrecisionError):  # of values too large for these bits
            lower, upper = _enclosed(rounds, eps, plan)
            if bits > _BITS and not (lower.is_finite() and upper.is_finite()):
                return arb(0), arb(1), bits  # more bits do not tell more of what overflows
            top = upper.upper()
            is_tie = plan is None and bits >= _TIE_BITS
            if top == 0 or is_tie or (lower.rad() <= _ROUNDING * top and upper.rad() <= _ROUNDING * top):
                return lower, upper, bits
        bits *= 2
    raise PrecisionError("precision", Problem(f"{_MOST_BITS} bits do not certify this value"), "take a larger gap")


def _enclosed(rounds: Rounds, eps: arb, plan: Plan | None) -> tuple[arb, arb]:
    infinite = _some_infinite(rounds)
    if plan is None:
        lower, upper = _largest_losses(rounds, eps)
        return (lower + infinite).min(arb(1)), (upper + infinite).min(arb(1))
    # What is less by eps is a sum, too, of one more value.
    groups = [Group(count, partial(_losses, pair)) for pair, count in rounds] + [Group(1, lambda: constant(-eps))]
    lower, upper = tilted_sum(TiltedGroups.of(groups, plan.window.theta), plan, HockeyStickKernel)
    return (lower + infinite).min(arb(1)), (upper + infinite).min(arb(1))


def _largest_losses(rounds: Rounds, eps: arb) -> tuple[arb, arb]:
    """Return balls below and above the part of finite losses, from the outcome in which every loss is the largest.

    Losses above eps in all are each within (the largest sum - eps) of the largest, and exceed eps by no more.
    """
    if not all(pair.atoms for pair, _ in rounds):
        return arb(0), arb(0)
    losses = [[(log_ball(e), arb(p)) for e, p in pair.atoms] for pair, _ in rounds]
    room = total([count * found[-1][0] for found, (_, count) in zip(losses, rounds, strict=True)]) - eps
    excess = -(-room).expm1().min(arb(0))
    lower = upper = excess
    for found, (_, count) in zip(losses, rounds, strict=True):
        largest, chance = found[-1]
        left = eps if len(rounds) == count == 1 else largest - room  # what the others leave, where there are others
        lower *= chance**count
        upper *= total([p for x, p in found if not x <= left]) ** count
    return lower, upper


def _some_infinite(rounds: Rounds) -> arb:
    """Return the probability that the loss of some round is infinite."""
    masses = [(arb(pair.infinite), count) for pair, count in rounds]
    if any(not mass < 1 for mass, _ in masses):
        return arb(1)
    return -total([count * (-mass).log1p() for mass, count in masses]).expm1()


def _losses(pair: DominatingPair) -> BallGparv:
    """Return the finite losses with their masses, which are not those of a whole law."""
    losses = tuple(log_ball(e) for e, _ in pair.atoms)
    return BallGparv(losses, tuple(arb(p) for _, p in pair.atoms), arb(0), arb(0))


# -------------------- eps from delta for many rounds: a curve that the one solver proves on either side of delta

Found = tuple[float, Plan | None, int]
"""A certified eps with the plan of the evaluation that proves it, and its precision."""


def certified_bracket(above: Rounds, below: Rounds, query: Query, start: float) -> tuple[Found, Found]:
    """Return (above, below): an eps at which all rounds are proved to have at most delta, and one at which more.

    The first rounds dominate what is asked about, the second are dominated by it. Above, inf if none is proved; below,
    0 if none is, and inf if it is proved to be above delta at all of them. ``start`` is an eps near both.

    Guarantee
    ---------
    D_E of the first is <= delta at the first eps and at all larger ones; that of the second is > delta at the second
    eps > 0 and at all smaller ones. Proof: docs/proofs/composition.md, section 3.
    """
    high = _RoundsSide(above, query, start, 1)
    low = _RoundsSide(below, query, start, -1) if below else None
    first, (plan, bits) = step_out(high) or (inf, (None, 0))
    if low is None or low.never_falls is not None:
        return (first, plan, bits), (0.0, None, 0) if low is None else (inf, None, low.never_falls or 0)
    second, (other, more) = (step_out(low) if low.root > 0.0 else None) or (0.0, (None, 0))
    return (first, plan, bits), (second, other, more)


class _RoundsSide:
    """The divergence of all rounds on one side of delta: floats find the plan of an evaluation, balls repeat it."""

    def __init__(self, rounds: Rounds, query: Query, start: float, outward: int) -> None:
        self.outward = outward
        self._rounds, self._query, self._gap = rounds, query, query.settings.gap
        self._product = FloatProduct.of(rounds)
        self._at = cache(lambda eps: estimate_divergence(self._product, eps, self._gap))
        self.width = self.error = _SHARE_OF_GAP * self._gap
        self.root = self._root(start)

    def _root(self, start: float) -> float:
        largest = self._product.largest
        if self._product.log_infinite >= self._query.log_delta:
            return inf
        if self._miss(0.0) <= 0.0 or largest <= 0.0:
            return 0.0
        start = min(max(start, 1e-3 * largest / (1.0 + sum(count for _, count in self._rounds))), 0.9 * largest)
        slope = self.slope(start)
        return falling_root(
            lambda eps: max(self._miss(eps), _LEAST_MISS), start, slope, largest, self.width, furthest=inf
        )

    def _miss(self, eps: float) -> float:
        """Return by how much the end that is to be proved is above delta, in the logarithm."""
        found = self._at(eps)
        return (found.log_upper if self.outward > 0 else found.log_lower) - self._query.log_delta

    def slope(self, place: float) -> float:
        """Return the tilt, which is -d log delta / d eps; something where no finite loss exceeds eps."""
        plan = self._at(place).plan
        return plan.window.theta if plan is not None else 1.0 / max(self._product.largest, 1e-300)

    def trial(self, place: float) -> Trial[tuple[Plan | None, int]]:
        """Return the enclosure in balls by the plan that floats found, if the estimate says that it can help."""
        miss, plan = self.outward * self._miss(place), self._at(place).plan
        bits = self.proved(place, plan) if miss <= 0.0 else None
        return Trial(None if bits is None else (plan, bits), miss)

    def proved(self, eps: float, plan: Plan | None) -> int | None:
        """Return the precision at which balls prove the claim at eps, None if they do not."""
        lower, upper, bits = enclose_divergence(self._rounds, arb(eps), plan)
        with at_precision(bits):
            proved = upper <= arb(self._query.given) if self.outward > 0 else lower > arb(self._query.given)
        return bits if proved else None

    @cached_property
    def never_falls(self) -> int | None:
        """The precision at which the divergence is proved to be above delta for every eps, None if it is not."""
        is_infinite = self._product.log_infinite >= self._query.log_delta
        return self.proved(0.0, None) if is_infinite else None
