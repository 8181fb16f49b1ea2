"""The divergence of a law at n users: which evaluator answers, in floats or with a guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, log

import flint
import numpy as np
from flint import arb, fmpq

from symamp.errors import PrecisionError
from symamp.evaluation.certified import certified_sum
from symamp.evaluation.enumeration import count_outcomes, enumerated_sum
from symamp.evaluation.exact import exact_divergence
from symamp.evaluation.fast import float_sum
from symamp.evaluation.gparv import BallGparv, FloatGparv, ball_gparv, nearest_doubles
from symamp.evaluation.law import Law, Level
from symamp.evaluation.plan import Plan

ENUMERATE_AT_ONCE = 1_500
ENUMERATE_AT_MOST = 300_000
ENUMERATE_FOR_DIGITS = 3_000_000
KERNEL_GAP = 1e-10
"""The least relative gap that the kernels aim at: the number of frequencies grows with its inverse square root."""
_LARGEST_PRECISION = 8192
_EXACT_USERS, _EXACT_USERS_FOR_DIGITS = 3, 24


@dataclass(frozen=True)
class Settings:
    """What an evaluation aims at: the relative gap, and how many frequencies and outcomes it may evaluate.

    ``most_outcomes`` is what enumeration may cost before the kernel is tried; a gap that no kernel reaches is left to
    enumeration alone.
    """

    gap: float = 1e-6
    most_frequencies: int = 20_000
    most_outcomes: int = ENUMERATE_AT_ONCE

    @staticmethod
    def of_digits(digits: int) -> Settings:
        """Return the settings for so many significant digits: beyond what kernels reach, enumerate if feasible."""
        gap = 10.0**-digits
        return Settings(gap, 60_000, ENUMERATE_AT_ONCE if gap >= KERNEL_GAP else ENUMERATE_FOR_DIGITS)


@dataclass(frozen=True)
class Enclosure:
    """Balls whose outer ends enclose a divergence, and how they were obtained."""

    lower: arb
    upper: arb
    evaluator: str
    precision: int
    plan: Plan | None = field(default=None, repr=False)
    exact: fmpq | None = field(default=None, repr=False)

    def is_at_most(self, delta: fmpq) -> bool:
        """Whether the divergence is proved to be at most delta; a tie is decided if it is known exactly."""
        return bool(self.exact <= delta) if self.exact is not None else bool(self.upper <= arb(delta))

    def is_above(self, delta: fmpq) -> bool:
        """Whether the divergence is proved to be above delta."""
        return bool(self.exact > delta) if self.exact is not None else bool(self.lower > arb(delta))

    @property
    def relative_gap(self) -> float:
        """(upper - lower)/upper, outer ends, as a float for judging quality; 0 for an exact zero."""
        if self.exact is not None:
            return 0.0
        with flint.ctx.workprec(self.precision + 64):
            upper = self.upper.upper()
            return float((upper - self.lower.lower()) / upper) if upper > 0 else 0.0


def enclose_divergence(law: Law, level: Level, n: int, settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of D_E(P0 || P1) for the law at n users.

    Guarantee
    ---------
    ``lower.lower() <= D_E(P0 || P1) <= upper.upper()``. The plan is searched in floats; that is sound because every
    plan gives a valid bound and the last evaluation is in balls. Proof: docs/proofs/kernel_sandwich.md, and
    docs/proofs/enumeration.md for few users.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    settings = settings or Settings()
    bits = starting_precision(n, settings.gap)
    exact_users = _EXACT_USERS if settings.gap >= KERNEL_GAP else _EXACT_USERS_FOR_DIGITS
    if law.rational is not None and level.rational is not None and n <= exact_users and len(law.atoms) <= 6:
        exact = exact_divergence(law.rational, level.rational, n)
        with flint.ctx.workprec(bits):
            return Enclosure(arb(exact), arb(exact), "exact", bits, exact=exact)
    return enclose_law(lambda: ball_gparv(law, level), n, settings)


def enclose_law(source: Callable[[], BallGparv], n: int, settings: Settings) -> Enclosure:
    """Return an enclosure of E[S_+]/n plus the singular part for the law that ``source`` gives at any precision.

    The guarantee is that of ``enclose_divergence``, for whatever the balls contain.
    """
    bits = starting_precision(n, settings.gap)
    rough = nearest_doubles(source, bits)
    most = settings.most_outcomes
    few = n == 1 or (rough.is_positive and count_outcomes(rough, n, most) <= most)
    gap = max(settings.gap, KERNEL_GAP)
    plan = None if few or not rough.is_positive else float_sum(rough, n, gap, settings.most_frequencies)
    while True:
        with flint.ctx.workprec(bits):
            g = source()
            if not rough.is_positive:
                found = Enclosure(g.singular, g.singular + positive_part(g), "no positive value", bits)
            elif plan is None:
                found = _enumerated(g, n, bits)
            else:
                found = _summed(g, n, plan.plan, bits)
                if found.relative_gap > settings.gap and _worth_enumerating(rough, n):
                    found = _narrower(found, _enumerated(g, n, bits))
            noise = max(_radius_share(found.lower, found.upper), _radius_share(found.upper, found.upper))
        if noise < 0.01 * (settings.gap if found.plan is None else max(settings.gap, found.relative_gap)):
            return found
        bits *= 2
        if bits > _LARGEST_PRECISION and found.evaluator == "no positive value":
            return found
        if bits > _LARGEST_PRECISION:
            raise PrecisionError("precision", bits, f"at most {_LARGEST_PRECISION} bits")


def estimate_log_divergence(law: Law, level: Level, n: int, settings: Settings | None = None) -> float:
    """Return an estimate of log D_E(P0 || P1), computed in floats; -inf for zero. Not a bound."""
    return estimate_log_law(lambda: ball_gparv(law, level), n, settings or Settings())


def estimate_log_law(source: Callable[[], BallGparv], n: int, settings: Settings) -> float:
    """Return an estimate of the logarithm of what ``enclose_law`` encloses; -inf for zero. Not a bound."""
    g = nearest_doubles(source)
    value = -inf
    if g.is_positive:
        if n == 1 or count_outcomes(g, n, ENUMERATE_AT_ONCE) <= ENUMERATE_AT_ONCE:
            with flint.ctx.workprec(128):
                positive = _expectation(source(), n)
                value = float(positive.log()) - log(n) if positive > 0 else -inf
        else:
            value = float_sum(g, n, settings.gap, settings.most_frequencies).log_value - log(n)
            value = max(value, g.log_mean)
    singular = log(g.singular) if g.singular > 0.0 else -inf
    return float(np.logaddexp(value, singular)) if max(value, singular) > -inf else -inf


def starting_precision(n: int, gap: float) -> int:
    """Return a working precision at which n times the rounding error is far below the wanted gap.

    >>> starting_precision(10**12, 1e-6)
    128
    """
    needed = n.bit_length() + int(-np.log2(gap)) + 44
    return max(128, 32 * (needed // 32 + 1))


def _summed(g: BallGparv, n: int, plan: Plan, bits: int) -> Enclosure:
    lower, upper = certified_sum(g, n, plan)
    return Enclosure(lower / n + g.singular, upper / n + g.singular, "compact kernel", bits, plan)


def _enumerated(g: BallGparv, n: int, bits: int) -> Enclosure:
    value = _expectation(g, n) / n + g.singular
    return Enclosure(value, value, "enumeration", bits)


def _expectation(g: BallGparv, n: int) -> arb:
    return positive_part(g) if n == 1 else enumerated_sum(g, n)


def _narrower(a: Enclosure, b: Enclosure) -> Enclosure:
    return a if a.relative_gap <= b.relative_gap else b


def _worth_enumerating(g: FloatGparv, n: int) -> bool:
    return count_outcomes(g, n, ENUMERATE_AT_MOST) <= ENUMERATE_AT_MOST


def positive_part(g: BallGparv) -> arb:
    """Return a ball around E[G_+], which is at least E[S_+]/n."""
    result = arb(0)
    for v, w in zip(g.values, g.masses, strict=True):
        result += w * v.max(arb(0))
    return result


def _radius_share(x: arb, scale: arb) -> float:
    upper = scale.upper()
    return float(x.rad() / upper) if upper > 0 else 0.0
