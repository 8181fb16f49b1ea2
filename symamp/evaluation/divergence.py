"""The divergence of a law at n users: which evaluator answers, in floats or with a guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import frexp, inf, ldexp, log, log10

import flint
import numpy as np
from flint import arb, fmpq

from symamp.errors import PrecisionError
from symamp.evaluation.binomial_tails import TailPlan, plan_tails, tail_sum, tail_work
from symamp.evaluation.certified import certified_sum
from symamp.evaluation.enumeration import count_outcomes, enumerated_sum
from symamp.evaluation.exact import exact_divergence, exact_plateau
from symamp.evaluation.fast import FloatSum, float_sum, planned_sum
from symamp.evaluation.float_law import quick_gparv
from symamp.evaluation.gparv import BallGparv, FloatGparv, ball_gparv, nearest_doubles
from symamp.evaluation.law import Law, Level, total
from symamp.evaluation.plan import Plan, gaussian_estimate, saddle_tilt
from symamp.evaluation.tilted import TiltedLaw
from symamp.numbers.rationals import ball_of

ENUMERATE_AT_ONCE = 1_500
ENUMERATE_AT_MOST = 300_000
ENUMERATE_FOR_DIGITS = 3_000_000
KERNEL_GAP = 1e-10
"""The least relative gap that the kernels aim at: the number of frequencies grows with its inverse square root."""
_LARGEST_PRECISION, _LARGEST_FOR_TAILS = 8192, 2048
_EXACT_USERS, _EXACT_USERS_FOR_DIGITS, _EXACT_VALUES = 3, 24, 6
_STEPS_FOR_DIGITS = 3_000_000
_CHEAP_FREQUENCIES, _FEW_VALUES = 400, 128
_WIDER = 3
"""How often the counts that binomial tails list are widened until the gap is met."""
_STEPS_PER_FREQUENCY = 12
"""How many steps of a binomial tail take the time of one frequency in balls."""
_NEIGHBOURS = 2**4, 2**12
"""Levels that differ by less than about these fractions share the plan of a kernel: the wider one where it does."""
_NO_POSITIVE_VALUE, _ENUMERATION = "no positive value", "enumeration"
_TAILS, _KERNEL = "binomial tails", "compact kernel"


@dataclass(frozen=True)
class Settings:
    """What an evaluation aims at: the relative gap, and how many frequencies, outcomes and steps it may evaluate.

    ``most_outcomes`` and ``most_steps`` are what enumeration and binomial tails may cost where the kernel does not
    reach the gap.
    """

    gap: float = 1e-6
    most_frequencies: int = 20_000
    most_outcomes: int = ENUMERATE_AT_MOST
    most_steps: int = 100_000

    @staticmethod
    def of_digits(digits: int) -> Settings:
        """Return the settings for so many significant digits: beyond what kernels reach, enumerate if feasible."""
        gap = 10.0**-digits
        if gap >= KERNEL_GAP:
            return Settings(gap, 60_000)
        return Settings(gap, 60_000, ENUMERATE_FOR_DIGITS, _STEPS_FOR_DIGITS)


@dataclass(frozen=True)
class Enclosure:
    """Balls whose outer ends enclose a divergence, and how they were obtained.

    ``merging`` is how far stop-loss transforms were raised at most where values or inputs were merged beforehand.
    """

    lower: arb
    upper: arb
    evaluator: str
    precision: int
    plan: Plan | TailPlan | None = field(default=None, repr=False)
    exact: fmpq | None = field(default=None, repr=False)
    merging: arb = field(default=arb(0), repr=False)

    def is_at_most(self, delta: fmpq) -> bool:
        """Whether the divergence is proved to be at most delta; a tie is decided if it is known exactly."""
        return bool(self.exact <= delta) if self.exact is not None else bool(self.upper <= ball_of(delta))

    def is_above(self, delta: fmpq) -> bool:
        """Whether the divergence is proved to be above delta."""
        return bool(self.exact > delta) if self.exact is not None else bool(self.lower > ball_of(delta))

    @property
    def relative_gap(self) -> float:
        """(upper - lower)/upper, outer ends, as a float for judging quality; 0 for an exact zero."""
        return self._width(above=True)

    @property
    def digits(self) -> float:
        """How many significant decimal digits are proved; inf where the value is known exactly."""
        gap = self.relative_gap
        return -log10(gap) if gap > 0.0 else inf

    def _width(self, *, above: bool) -> float:
        if self.exact is not None:
            return 0.0
        with flint.ctx.workprec(self.precision + 64):
            low, high = self.lower.lower(), self.upper.upper()
            width, scale = high - low, high if above else low
            return float(width / scale) if scale > 0 else (inf if width > 0 else 0.0)


def enclose_divergence(law: Law, level: Level, n: int, settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of D_E(P0 || P1) for the law at n users.

    Guarantee
    ---------
    ``lower.lower() <= D_E(P0 || P1) <= upper.upper()``. What is evaluated is chosen in floats; that is sound because
    every plan gives a valid bound and the last evaluation is in balls. The bounds of one user (the divergence falls
    with n) and of the mean (Jensen) are used where they are better. Proof: docs/proofs/kernel_sandwich.md,
    docs/proofs/binomial_tails.md, and docs/proofs/enumeration.md for few users.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    settings = settings or Settings()
    bits = starting_precision(n, settings.gap)
    exact = _exact_value(law, level, n, settings)
    if exact is not None:
        with flint.ctx.workprec(bits):
            return Enclosure(arb(exact), arb(exact), "exact", bits, exact=exact)
    near = _neighbour(law, quick_gparv(law, level), level, n, settings)
    if near is not None:
        found = _enclosed(lambda: ball_gparv(law, level), n, settings, near, bits)
        if found.relative_gap <= settings.gap:
            return found
    return enclose_law(lambda: ball_gparv(law, level), n, settings)


def enclose_law(source: Callable[[], BallGparv], n: int, settings: Settings) -> Enclosure:
    """Return an enclosure of E[S_+]/n plus the singular part for the law that ``source`` gives at any precision.

    The guarantee is that of ``enclose_divergence``, for whatever the balls contain.
    """
    bits = starting_precision(n, settings.gap)
    return _enclosed(source, n, settings, _choose(nearest_doubles(source, bits), n, settings), bits)


def one_user_divergence(law: Law, level: Level) -> arb:
    """Return a ball around E[G_+] and the singular part: the divergence at n = 1, the largest over all n."""
    g = ball_gparv(law, level)
    return positive_part(g) + g.singular


def estimate_log_divergence(law: Law, level: Level, n: int, settings: Settings | None = None) -> float:
    """Return an estimate of log D_E(P0 || P1), computed in floats where they suffice; -inf for zero. Not a bound."""
    settings, g = settings or Settings(), quick_gparv(law, level)
    near = _neighbour(law, g, level, n, settings)
    return (
        _log_of_sum(g, n, near)
        if near is not None
        else estimate_log_law(lambda: ball_gparv(law, level), n, settings, g)
    )


def estimate_log_law(
    source: Callable[[], BallGparv], n: int, settings: Settings, rough: FloatGparv | None = None
) -> float:
    """Return an estimate of the logarithm of what ``enclose_law`` encloses; -inf for zero. Not a bound.

    ``rough`` is the law in doubles where it is known.
    """
    g = nearest_doubles(source) if rough is None else rough
    choice = _choose(g, n, settings)
    if isinstance(choice, FloatSum):
        return _log_of_sum(g, n, choice)
    if choice == _NO_POSITIVE_VALUE:
        return _log_of_singular(g)
    found = _enclosed(source, n, settings, choice, 128)
    with flint.ctx.workprec(found.precision):
        middle = (found.lower + found.upper) / 2
        return float(middle.mid().log()) if middle.mid() > 0 else -inf


def _log_of_singular(g: FloatGparv) -> float:
    return log(g.singular) if g.singular > 0.0 else -inf


def _log_of_sum(g: FloatGparv, n: int, found: FloatSum) -> float:
    value = min(max(found.log_value - log(n), g.log_mean), g.log_gain)
    return float(np.logaddexp(value, _log_of_singular(g)))


def _neighbour(law: Law, g: FloatGparv, level: Level, n: int, settings: Settings) -> FloatSum | None:
    """Return the sum by the kernel of a level nearby where that is sharp enough: plans change slowly with eps."""
    if n == 1 or not g.is_positive or g.exponent != 0:
        return None
    mantissa, exponent = frexp(_near_double(level))
    for parts in _NEIGHBOURS if mantissa else ():
        shared = _shared_kernel(law, ldexp(round(mantissa * parts), exponent) / parts, n, settings)
        if shared is not None:
            if shared.gap > settings.gap:  # as little as another neighbour would help
                return None
            found = planned_sum(g, n, shared.plan)
            if found.gap <= settings.gap:
                return found
    return None


def _near_double(level: Level) -> float:
    """Return eps to nearly all digits."""
    if level.double is not None:
        return level.double
    with flint.ctx.workprec(64):
        return float(level.eps().mid())


@lru_cache(maxsize=1024)
def _shared_kernel(law: Law, eps: float, n: int, settings: Settings) -> FloatSum | None:
    # A little sharper than asked for, because neighbours are a little worse.
    choice = _choose(quick_gparv(law, Level.of_float(eps)), n, replace(settings, gap=0.97 * settings.gap))
    return choice if isinstance(choice, FloatSum) else None


def _enclosed(source: Callable[[], BallGparv], n: int, settings: Settings, choice: _Choice, bits: int) -> Enclosure:
    """Return the evaluation of a choice, with as many bits and as wide a range as the gap needs."""
    wider = _WIDER
    while True:
        with flint.ctx.workprec(bits):
            found = _evaluated(source(), n, choice, bits)
            if not _is_settled(found, settings.gap):
                bits *= 2
            elif isinstance(choice, TailPlan) and found.relative_gap > settings.gap and wider:
                choice, wider = choice.widened(found._width(above=False) / settings.gap), wider - 1
            else:
                return found
        if isinstance(choice, TailPlan) and bits > _LARGEST_FOR_TAILS:
            choice = float_sum(
                nearest_doubles(source, bits), n, max(settings.gap, KERNEL_GAP), settings.most_frequencies
            )
            bits = starting_precision(n, settings.gap)
        elif bits > _LARGEST_PRECISION and found.evaluator == _NO_POSITIVE_VALUE:
            return found
        elif bits > _LARGEST_PRECISION:
            raise PrecisionError("precision", bits, f"at most {_LARGEST_PRECISION} bits")


def _exact_value(law: Law, level: Level, n: int, settings: Settings) -> fmpq | None:
    if law.rational is None:
        return None
    if level.rational is not None:
        most = _EXACT_USERS if settings.gap >= KERNEL_GAP else _EXACT_USERS_FOR_DIGITS
        few = n == 1 or (n <= most and len(law.atoms) <= _EXACT_VALUES)
        return exact_divergence(law.rational, level.rational, n) if few else None
    return exact_plateau(law.rational, level.exponential()) if n == 1 else None


_Choice = FloatSum | TailPlan | str
"""What is evaluated: the kernel, binomial tails, or what the name says."""


def _choose(g: FloatGparv, n: int, settings: Settings) -> _Choice:
    if not g.is_positive:
        return _NO_POSITIVE_VALUE
    if n == 1:
        return _ENUMERATION
    if count_outcomes(g, n, ENUMERATE_AT_ONCE) <= ENUMERATE_AT_ONCE:
        return _ENUMERATION
    tilted = TiltedLaw.of(g, saddle_tilt(g, n))
    gap = max(settings.gap, KERNEL_GAP)
    # About as much work for laws of many values.
    most = min(settings.most_frequencies, settings.most_frequencies * _FEW_VALUES // len(g.values))
    if settings.gap >= gap:
        # A kernel that needs few frequencies is tried first, because its sums are short to check.
        kernel = float_sum(g, n, gap, min(most, _CHEAP_FREQUENCIES), tilted.theta)
        if kernel.gap <= gap:
            return kernel
    tails = plan_tails(tilted, settings.gap * gaussian_estimate(tilted, n))
    work = settings.most_steps + 1 if tails is None else tail_work(tails, n, settings.most_steps)
    more = min(most, work // _STEPS_PER_FREQUENCY)
    if settings.gap >= gap and more > _CHEAP_FREQUENCIES:
        kernel = float_sum(g, n, gap, more, tilted.theta)
        if kernel.gap <= gap:
            return kernel
    if tails is not None and work <= settings.most_steps:
        return tails
    if count_outcomes(g, n, settings.most_outcomes) <= settings.most_outcomes:
        return _ENUMERATION
    return float_sum(g, n, gap, most, tilted.theta)


def _evaluated(g: BallGparv, n: int, choice: _Choice, bits: int) -> Enclosure:
    one, mean = positive_part(g), total([v * w for v, w in zip(g.values, g.masses, strict=True)])
    plan: Plan | TailPlan | None = None
    if isinstance(choice, str):
        name = choice
        lower = upper = one if n == 1 or name == _NO_POSITIVE_VALUE else enumerated_sum(g, n) / n
        lower = arb(0) if name == _NO_POSITIVE_VALUE else lower
    elif isinstance(choice, TailPlan):
        name, plan = _TAILS, choice
        lower, upper = tail_sum(g, n, plan)
    else:
        name, plan = _KERNEL, choice.plan
        lower, upper = certified_sum(g, n, plan)
    if plan is not None:
        # The mean (Jensen) from below and one user from above; where a sum overflows they are all there is.
        lower, upper = (lower / n).max(mean) if lower.is_finite() else mean.max(arb(0)), upper / n
        upper = upper.min(one) if upper.is_finite() else one
    return Enclosure(lower + g.singular, upper + g.singular, name, bits, plan)


def settled(evaluate: Callable[[int], Enclosure], bits: int, gap: float, most: int) -> Enclosure | None:
    """Return the evaluation at the first of doubled precisions where rounding is far below the gap; None up to most."""
    while bits <= most:
        with flint.ctx.workprec(bits):
            found = evaluate(bits)
        if _is_settled(found, gap):
            return found
        bits *= 2
    return None


def _is_settled(found: Enclosure, gap: float) -> bool:
    """Return whether rounding is far below the gap."""
    noise = max(_radius_share(found.lower, found.upper), _radius_share(found.upper, found.upper))
    return noise < 0.01 * (gap if found.plan is None else max(gap, found.relative_gap))


def starting_precision(n: int, gap: float) -> int:
    """Return a working precision at which n times the rounding error is far below the wanted gap.

    >>> starting_precision(10**12, 1e-6)
    128
    """
    needed = n.bit_length() + int(-np.log2(gap)) + 44
    return max(128, 32 * (needed // 32 + 1))


def positive_part(g: BallGparv) -> arb:
    """Return a ball around E[G_+], which is at least E[S_+]/n."""
    result = arb(0)
    for v, w in zip(g.values, g.masses, strict=True):
        result += w * v.max(arb(0))
    return result


def _radius_share(x: arb, scale: arb) -> float:
    upper = scale.upper()
    return float(x.rad() / upper) if upper > 0 else 0.0
