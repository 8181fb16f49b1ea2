"""Which evaluator suits a law at a level, chosen in doubles: enumeration, binomial tails or a kernel and its plan."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import frexp, inf, ldexp, log
from typing import Protocol

from symamp.evaluation.binomial_tails import TailPlan, plan_tails, tail_work
from symamp.evaluation.enumeration import count_outcomes
from symamp.evaluation.fast import FloatSum, chernoff_sum, float_sum, planned_sum, sharp_sum
from symamp.evaluation.float_law import quick_gparv
from symamp.evaluation.gparv import BallGparv, FloatGparv, ball_gparv
from symamp.evaluation.law import Law, Level
from symamp.evaluation.plan import gaussian_estimate, saddle_tilt
from symamp.evaluation.tilted import TiltedLaw
from symamp.evaluation.work import kept
from symamp.numbers.surroundings import at_precision

ENUMERATE_AT_ONCE = 1_500
ENUMERATE_AT_MOST = 300_000
ENUMERATE_FOR_DIGITS = 3_000_000
KERNEL_GAP = 1e-10
"""The least relative gap that the kernels aim at: the number of frequencies grows with its inverse square root."""
_STEPS_FOR_DIGITS = 3_000_000
_CHEAP_FREQUENCIES, _FEW_VALUES, _MOST_DEAR = 400, 128, 4_000
_STEPS_PER_FREQUENCY = 12
"""How many steps of a binomial tail take the time of one frequency in balls."""
_POORER = 1.2
"""How much wider what a plan of a neighbour gives may be where even the neighbour misses the gap."""
_NEIGHBOURS = 2**4, 2**12
"""Levels that differ by less than about these fractions share the plan of a kernel: the wider one where it does."""
NO_POSITIVE_VALUE, ENUMERATION = "no positive value", "enumeration"
TAILS, KERNEL, LATTICE = "binomial tails", "compact kernel", "convolution"


@dataclass(frozen=True)
class Settings:
    """What an evaluation aims at: the relative gap, and how many frequencies, outcomes and steps it may evaluate.

    ``most_outcomes`` and ``most_steps`` are what enumeration and binomial tails may cost where the kernel does not
    reach the gap. Of a divergence whose logarithm is below ``negligible`` only that is to be shown.
    """

    gap: float = 1e-6
    most_frequencies: int = 20_000
    most_outcomes: int = ENUMERATE_AT_MOST
    most_steps: int = 100_000
    negligible: float = -inf

    @staticmethod
    def of_digits(digits: int) -> Settings:
        """Return the settings for so many significant digits: beyond what kernels reach, enumerate if feasible."""
        gap = 10.0**-digits
        if gap >= KERNEL_GAP:
            return Settings(gap, 60_000)
        return Settings(gap, 60_000, ENUMERATE_FOR_DIGITS, _STEPS_FOR_DIGITS)


class Leveled(Hashable, Protocol):
    """A law of G at every level: in doubles for searches, and in balls at the ambient precision."""

    def floats(self, level: Level) -> FloatGparv:
        """Return about the law."""

    def matched(self, level: Level, g: FloatGparv, bits: int) -> FloatGparv:
        """Return what ``floats`` has returned, or what goes value by value with the balls at a precision."""

    def balls(self, level: Level) -> BallGparv:
        """Return the law."""


@dataclass(frozen=True)
class OneLaw:
    """A law as it is."""

    law: Law

    def floats(self, level: Level) -> FloatGparv:
        """Return the law in doubles."""
        return quick_gparv(self.law, level)

    def matched(self, level: Level, g: FloatGparv, bits: int) -> FloatGparv:
        """Return what ``floats`` has returned."""
        return g

    def balls(self, level: Level) -> BallGparv:
        """Return the law in balls."""
        return ball_gparv(self.law, level)


def shared_sum(law: Leveled, g: FloatGparv, level: Level, n: int, settings: Settings) -> FloatSum | None:
    """Return the sum by the kernel of a level nearby where that is sharp enough: plans change slowly with eps."""
    if n == 1 or not g.is_positive or g.exponent != 0:
        return None
    mantissa, exponent = frexp(_near_double(level))
    # Where a search is dear and its plan may miss the gap, it is made next to where it is needed.
    wanted = _NEIGHBOURS if len(g.values) <= _FEW_VALUES else _NEIGHBOURS[-1:]
    for parts in wanted if mantissa else ():
        shared = _shared_kernel(law, ldexp(round(mantissa * parts), exponent) / parts, n, settings)
        # Where the gap is missed a plan is worth what it is next to its own level only.
        if shared is not None and (shared.gap <= settings.gap or parts == _NEIGHBOURS[-1]):
            found = planned_sum(g, n, shared.plan)
            if found.gap <= max(settings.gap, _POORER * shared.gap):
                return found
    return None


def _near_double(level: Level) -> float:
    """Return eps to nearly all digits."""
    if level.double is not None:
        return level.double
    with at_precision(64):
        return float(level.eps().mid())


@kept(maxsize=1024)
def _shared_kernel(law: Leveled, eps: float, n: int, settings: Settings) -> FloatSum | None:
    # A little sharper than asked for, because neighbours are a little worse.
    choice = choose(law.floats(Level.of_float(eps)), n, replace(settings, gap=0.97 * settings.gap))
    return choice if isinstance(choice, FloatSum) else None


Choice = FloatSum | TailPlan | str
"""What is evaluated: the kernel, binomial tails, or what the name says."""


def choose(g: FloatGparv, n: int, settings: Settings) -> Choice:
    """Return what is evaluated to reach the gap, or what comes nearest to it."""
    if not g.is_positive:
        return NO_POSITIVE_VALUE
    if n == 1:
        return ENUMERATION
    if count_outcomes(g, n, ENUMERATE_AT_ONCE) <= ENUMERATE_AT_ONCE:
        return ENUMERATION
    tilted = TiltedLaw.of(g, saddle_tilt(g, n))
    if settings.negligible > -inf:
        roughly = chernoff_sum(tilted, n)
        if roughly.log_value + log(2.0) - log(n) < settings.negligible:  # its upper end is at most twice the middle
            return roughly
    gap = max(settings.gap, KERNEL_GAP)
    # About as much work for laws of many values.
    most = settings.most_frequencies
    if len(g.values) > _FEW_VALUES:
        most = min(most * _FEW_VALUES // len(g.values), _MOST_DEAR if settings.gap >= Settings.gap else most)
    if settings.gap >= gap:
        # A kernel that needs few frequencies is tried first, because its sums are short to check.
        kernel = sharp_sum(g, n, gap, min(most, _CHEAP_FREQUENCIES), tilted.theta)
        if kernel is not None:
            return kernel
    tails = plan_tails(tilted, n, log(settings.gap) + log(gaussian_estimate(tilted, n)))
    work = settings.most_steps + 1 if tails is None else tail_work(tails, n, settings.most_steps)
    more = min(most, work // _STEPS_PER_FREQUENCY)
    if settings.gap >= gap and more > _CHEAP_FREQUENCIES:
        kernel = sharp_sum(g, n, gap, more, tilted.theta)
        if kernel is not None:
            return kernel
    if tails is not None and work <= settings.most_steps:
        return tails
    if count_outcomes(g, n, settings.most_outcomes) <= settings.most_outcomes:
        return ENUMERATION
    return float_sum(g, n, gap, most, tilted.theta)
