"""The divergence of a law at n users: which evaluator answers, in floats or with a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from math import inf, log, log10
from typing import Protocol

import numpy as np
from flint import arb, fmpq

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import BallGparv, FloatGparv, Law, Level, ball_gparv, nearest_doubles, quick_gparv, total
from symamp.numbers import limits as limited
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.rationals import ball_of
from symamp.numbers.surroundings import at_precision
from symamp.sums.binomial_tails import TailPlan, lost_bits, plan_tails, tail_sum, tail_work
from symamp.sums.convolution import convolved_sum, estimated_log_sum
from symamp.sums.enumeration import count_outcomes, enumerated_sum, exact_divergence, exact_plateau
from symamp.sums.kernels.balls import certified_sum, suits_doubles
from symamp.sums.kernels.floats import FloatSum, chernoff_sum, float_sum, sharp_sum
from symamp.sums.kernels.tilted import Plan, Power, gaussian_estimate, saddle_tilt
from symamp.sums.large_values import LargePlan, large_sum, plan_large

# --- Which evaluator suits a law at a level, chosen in doubles: enumeration, binomial tails or a kernel and its plan

# What is tuned of the choice. Every evaluator gives a bound; these trade time against width, and were chosen by the
# times of evaluators at equal gaps on the catalogue and on random tables.
KERNEL_GAP = 1e-10
"""The least relative gap that the kernels aim at: the number of frequencies grows with its inverse square root."""
ENUMERATE_AT_ONCE, ENUMERATE_AT_MOST, ENUMERATE_FOR_DIGITS = 1_500, 300_000, 3_000_000
"""Outcomes that are enumerated before anything else is tried, where nothing else meets the gap, and for digits."""
_STEPS_FOR_DIGITS, _STEPS_PER_FREQUENCY = 3_000_000, 12
"""Steps of binomial tails for digits, and how many of them take the time of one frequency in balls."""
_FAST_FREQUENCIES, _FEW_VALUES, _MOST_IF_SLOW = 400, 128, 4_000
"""Frequencies of a kernel that is tried first; up to so many values of G a frequency is cheap, of more so many may be
asked for at the usual gap."""
AS_SHARP = 2.0
"""A sum in doubles may come out so much wider than it was estimated."""
_EXACT_USERS, _EXACT_USERS_FOR_DIGITS, _EXACT_VALUES = 3, 24, 6
"""Up to so many users, with up to so many values, rational laws are summed exactly."""
ROUGH_GAP, _FEW_USERS, _MANY_VALUES = 1e-3, 2_000, 64
"""Estimates so rough are made on lattices, for up to so many users and from so many values on."""
_WIDE, _WIDEST, _FEW_VALUES_TO_ENUMERATE = 0.5, 1.0, 12
"""A kernel with a relative gap beyond the first hardly says where its middle is, and beyond the second not at all; with
fewer values lattices are quick."""
_LARGE_GAP = 1e-2
"""Up to such a relative gap no lattice is tried beside large values that are taken one by one."""
_NEARLY = 0.9
"""Sums with a moment above this power of what is negligible are not negligible."""
_LARGEST_PRECISION, _LARGEST_FOR_TAILS, _MOST_LOST = 8192, 2048, 128
"""Bits up to which precision is doubled, those of tails, and what tails are first given beyond the usual."""
_WIDER = 3
"""How often the counts that binomial tails list are widened until the gap is met."""

NO_POSITIVE_VALUE, ENUMERATION = "no positive value", "enumeration"
TAILS, KERNEL, LARGE, LATTICE = "binomial tails", "compact kernel", "large values", "convolution"


@dataclass(frozen=True)
class Settings:
    """The accuracy of an evaluation: its relative gap, and the most frequencies, outcomes and steps it may evaluate.

    ``most_outcomes`` and ``most_steps`` are what enumeration and binomial tails may cost where the kernel does not
    reach the gap. Of a divergence whose logarithm is below ``negligible`` only that is to be shown, and of one that is
    asked for ``above`` alone the lower end may be 0. Evaluations are charged to ``limits``, those of the question.
    """

    gap: float = 1e-6
    most_frequencies: int = 20_000
    most_outcomes: int = ENUMERATE_AT_MOST
    most_steps: int = 100_000
    negligible: float = -inf
    above: bool = False
    limits: limited.Limits = field(default=limited.NO_LIMITS, compare=False, repr=False)

    def under(self, limits: limited.Limits) -> Settings:
        """Return the same accuracy for a question with these limits."""
        return replace(self, limits=limits)

    def at_least(self, gap: float) -> Settings:
        """Return the same with no smaller gap than this."""
        return replace(self, gap=max(self.gap, gap))

    def until(self, share: float) -> Settings:
        """Return the same accuracy for a stage of the question, whose searches end at this share of its work."""
        return self.under(self.limits.until(share))

    @property
    def rough(self) -> Settings:
        """The accuracy at which many are compared of which only the largest is evaluated with care."""
        return ROUGH.under(self.limits)

    @property
    def usual(self) -> Settings:
        """The usual accuracy."""
        return Settings(limits=self.limits)

    @staticmethod
    def of_digits(digits: int) -> Settings:
        """Return the settings for so many significant digits: beyond what kernels reach, enumerate if feasible."""
        gap = 10.0**-digits
        if gap >= KERNEL_GAP:
            return Settings(gap, 60_000)
        return Settings(gap, 60_000, ENUMERATE_FOR_DIGITS, _STEPS_FOR_DIGITS)


ROUGH = Settings(gap=ROUGH_GAP, most_frequencies=2_000)
"""The accuracy of ``Settings.rough``, where no question has limits."""


class Leveled(Hashable, Protocol):
    """A law of G at every level: in doubles for searches, and in balls at the ambient precision."""

    def floats(self, level: Level, bits: int = 128) -> FloatGparv:
        """Return what goes value by value with the balls at a precision."""

    def balls(self, level: Level) -> BallGparv:
        """Return the law."""


@dataclass(frozen=True)
class OneLaw:
    """A law as it is."""

    law: Law

    def floats(self, level: Level, bits: int = 128) -> FloatGparv:
        """Return the law in doubles."""
        return quick_gparv(self.law, level)

    def balls(self, level: Level) -> BallGparv:
        """Return the law in balls."""
        return ball_gparv(self.law, level)


Choice = FloatSum | TailPlan | str
"""What is evaluated: the kernel, binomial tails, or what the name says."""


def choose(g: FloatGparv, n: int, settings: Settings) -> Choice:
    """Return what is evaluated to reach the gap, or what comes nearest to it."""
    if not g.is_positive:
        return NO_POSITIVE_VALUE
    if n == 1:
        return ENUMERATION
    limits = settings.limits
    limits.charge(limited.CHOICE)
    outcomes = count_outcomes(g, n, ENUMERATE_AT_ONCE)
    if outcomes <= ENUMERATE_AT_ONCE:
        limits.charge(limited.OUTCOME * outcomes)
        return ENUMERATION
    transform = Power(g, n)
    tilted = transform.tilted(saddle_tilt(transform))
    if tilted.log_scale < _NEARLY * settings.negligible:
        roughly = chernoff_sum(tilted)
        if roughly.log_value + log(2.0) - log(n) < settings.negligible:  # its upper end is at most twice the middle
            return roughly
    gap = max(settings.gap, KERNEL_GAP)
    # About as much work for laws of many values.
    most = settings.most_frequencies
    if len(g.values) > _FEW_VALUES:
        most = min(most * _FEW_VALUES // len(g.values), _MOST_IF_SLOW if settings.gap >= Settings.gap else most)
    if settings.gap >= gap:
        # A kernel that needs few frequencies is tried first, because its sums are short to check.
        cheap = min(most, _FAST_FREQUENCIES)
        kernel = sharp_sum(g, n, gap, cheap, tilted.theta)
        _charge(limits, g, kernel, cheap)
        if kernel is not None:
            return kernel
    tails = plan_tails(tilted, n, log(settings.gap) + log(gaussian_estimate(tilted)))
    work = settings.most_steps + 1 if tails is None else tail_work(tails, n, settings.most_steps)
    more = min(most, work // _STEPS_PER_FREQUENCY)
    if settings.gap >= gap and more > _FAST_FREQUENCIES:
        kernel = sharp_sum(g, n, gap, more, tilted.theta)
        _charge(limits, g, kernel, more)
        if kernel is not None:
            return kernel
    if tails is not None and work <= settings.most_steps:
        limits.charge(limited.STEP.of(work))
        return tails
    outcomes = count_outcomes(g, n, settings.most_outcomes)
    if outcomes <= settings.most_outcomes:
        limits.charge(limited.OUTCOME * outcomes)
        return ENUMERATION
    limits.charge(limited.MISCOUNTED * outcomes)
    found = float_sum(g, n, gap, most, tilted.theta)
    _charge(limits, g, found, most)
    return found


def _charge(limits: limited.Limits, g: FloatGparv, found: FloatSum | None, most: int) -> None:
    """Charge a search for a kernel that ended with so many frequencies at most."""
    frequencies = most if found is None else found.plan.blocks.evaluations
    limits.charge(limited.KERNEL_PLAN.of(len(g.values) * frequencies))


# --------------------------- The divergence of a law at n users: which evaluator answers, in floats or with a guarantee


GUARD = 64
"""Bits beyond the precision of an evaluation, with which its ends are taken over."""


@dataclass(frozen=True)
class Enclosure:
    """Balls whose outer ends enclose a divergence, and how they were obtained.

    ``merging`` is how far stop-loss transforms were raised at most where values or inputs were merged beforehand;
    ``evidence`` what another evaluator needs to repeat the evaluation.
    """

    lower: arb
    upper: arb
    evaluator: str
    precision: int
    plan: Plan | TailPlan | LargePlan | None = field(default=None, repr=False)
    exact: fmpq | None = field(default=None, repr=False)
    merging: arb = field(default=arb(0), repr=False)
    evidence: object = field(default=None, repr=False)

    @property
    def ends(self) -> tuple[Dyadic, Dyadic]:
        """The outer ends themselves."""
        with at_precision(self.precision + GUARD):  # at a lower one they would be rounded
            return Dyadic.of(self.lower.lower()), Dyadic.of(self.upper.upper())

    def is_at_most(self, delta: fmpq) -> bool:
        """Whether the divergence is proved to be at most delta; a tie is decided if it is known exactly."""
        return bool(self.exact <= delta) if self.exact is not None else bool(self.upper <= ball_of(delta))

    def is_above(self, delta: fmpq) -> bool:
        """Whether the divergence is proved to be above delta."""
        return bool(self.exact > delta) if self.exact is not None else bool(self.lower > ball_of(delta))

    @property
    def relative_gap(self) -> float:
        """(upper - lower)/upper, outer ends, as a float for judging quality; 0 for an exact zero."""
        if self.exact is not None:
            return 0.0
        with at_precision(self.precision + GUARD):
            low, high = self.lower.lower(), self.upper.upper()
            return float((high - low) / high) if high > 0 else (0.0 if high <= low else inf)  # inf of what is no number

    @property
    def digits(self) -> float:
        """How many significant decimal digits are proved; inf where the value is known exactly."""
        gap = self.relative_gap
        return -log10(gap) if gap > 0.0 else inf


def enclose_divergence(law: Law, level: Level, n: int, settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of D_E(P0 || P1) for the law at n users.

    Guarantee
    ---------
    ``lower.lower() <= D_E(P0 || P1) <= upper.upper()``. What is evaluated is chosen in floats; that is sound because
    every plan gives a valid bound and the last evaluation is in balls. The bounds of one user (the divergence falls
    with n) and of the mean (Jensen) are used where they are better. Proof: docs/proofs/kernel_sandwich.md,
    docs/proofs/binomial_tails.md, docs/proofs/large_values.md, docs/proofs/convolution.md, and
    docs/proofs/enumeration.md for few users.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    settings = settings or Settings()
    bits = starting_precision(n, settings.gap)
    name, exact = _exact_value(law, level, n, settings)
    if exact is not None:
        with at_precision(bits):
            return Enclosure(arb(exact), arb(exact), name, bits, exact=exact)
    return enclose_level(OneLaw(law), level, n, settings)


def enclose_level(law: Leveled, level: Level, n: int, settings: Settings) -> Enclosure:
    """Return an enclosure of E[S_+]/n plus the singular part for what ``law.balls`` gives at this level.

    The guarantee is that of ``enclose_divergence``. Where a kernel or tails say hardly anything, because rare values
    are far too large for them, these are taken one by one, and else sums on a lattice are tried.
    """
    bits = starting_precision(n, settings.gap)
    g = law.floats(level, bits)
    settings.limits.charge(limited.LAW.of(len(g.values)))
    found = _enclosed(lambda: law.balls(level), n, settings, choose(g, n, settings), bits)
    if found.plan is None or found.relative_gap <= _WIDE:
        return found
    if isinstance(found.plan, TailPlan) and settings.gap > ROUGH_GAP:  # an upper end, which certificates repeat
        return found
    if found.upper < arb(settings.negligible).exp():
        return found
    rough = law.floats(level)
    planned = plan_large(rough, n, settings.gap)
    if planned is not None and planned[1] <= _LARGE_GAP:
        closer = _one_by_one(law, level, n, settings, *planned)
        if closer.relative_gap <= _LARGE_GAP:
            return closer
    with at_precision(found.precision):
        settings.limits.charge(limited.CERTIFIED_LATTICE_SUM)
        balls = law.balls(level)
        sums = convolved_sum(balls, balls, rough, n, ROUGH_GAP)
        if sums is None:
            return found
        lower, upper = (balls.singular + arb(x) / n for x in sums)
        closer = Enclosure(lower.max(found.lower), upper.min(found.upper), LATTICE, found.precision)
    return closer if closer.relative_gap < found.relative_gap else found


def _one_by_one(law: Leveled, level: Level, n: int, settings: Settings, plan: LargePlan, gap: float) -> Enclosure:
    """Return the evaluation by a plan for large values, with as many bits as its gap needs."""
    bits = starting_precision(n, settings.gap)
    while True:
        with at_precision(bits):
            balls = law.balls(level)
            values = len(balls.values) * plan.parameters["frequencies"]
            settings.limits.charge(limited.KERNEL_PLAN.of(values) + limited.KERNEL_IN_BALLS.of(values))
            lower, upper = (balls.singular + x / n for x in large_sum(balls, n, plan))
            found = Enclosure(lower, upper, LARGE, bits, plan)
        if found.relative_gap <= AS_SHARP * gap or bits > _LARGEST_FOR_TAILS:
            return found
        bits *= 2


def one_user_divergence(law: Law, level: Level) -> arb:
    """Return a ball around E[G_+] and the singular part: the divergence at n = 1, the largest over all n."""
    g = ball_gparv(law, level)
    return positive_part(g) + g.singular


def estimate_log_divergence(law: Law, level: Level, n: int, settings: Settings | None = None) -> float:
    """Return an estimate of log D_E(P0 || P1), computed in floats where they suffice; -inf for zero. Not a bound."""
    return estimate_log_level(OneLaw(law), level, n, settings or Settings())


def estimate_log_level(law: Leveled, level: Level, n: int, settings: Settings) -> float:
    """Return an estimate of the logarithm of what ``enclose_level`` encloses; -inf for zero. Not a bound."""
    g = law.floats(level)
    settings.limits.charge(limited.LAW.of(len(g.values)))
    on_lattice = 1 < n <= _FEW_USERS and len(g.values) >= _MANY_VALUES and g.is_positive
    if on_lattice and settings.gap >= ROUGH_GAP and (log_value := _on_lattice(g, n, settings.limits)) > -inf:
        return _log_of_sum(g, n, log_value)
    choice = choose(g, n, settings)
    if choice == NO_POSITIVE_VALUE:
        return log(g.singular) if g.singular > 0.0 else -inf
    found = choice if isinstance(choice, FloatSum) else _enclosed(lambda: law.balls(level), n, settings, choice, 128)
    gap = found.gap if isinstance(found, FloatSum) else found.relative_gap
    # Of laws of some dozen values there may be hundreds to compare.
    enough = ROUGH_GAP if on_lattice else _WIDE if len(g.values) <= _FEW_VALUES_TO_ENUMERATE else _WIDEST
    if not gap <= enough and (log_value := _on_lattice(g, n, settings.limits)) > -inf:
        return _log_of_sum(g, n, log_value)
    if isinstance(found, FloatSum):
        return _log_of_sum(g, n, found.log_value)
    with at_precision(found.precision):
        middle = (found.lower + found.upper) / 2
        return float(middle.mid().log()) if middle.mid() > 0 else -inf


def _on_lattice(g: FloatGparv, n: int, limits: limited.Limits) -> float:
    limits.charge(limited.LATTICE_SUM)
    return estimated_log_sum(g, n)


def _log_of_sum(g: FloatGparv, n: int, log_value: float) -> float:
    value = min(max(log_value - log(n), g.log_mean), g.log_gain)
    return float(np.logaddexp(value, log(g.singular))) if g.singular > 0.0 else value


def _enclosed(source: Callable[[], BallGparv], n: int, settings: Settings, choice: Choice, bits: int) -> Enclosure:
    """Return the evaluation of a choice, with as many bits and as wide a range as the gap needs."""
    wider, roughly, aimed = _WIDER, False, settings.gap
    if isinstance(choice, FloatSum):
        aimed = max(settings.gap, choice.gap)
        with at_precision(bits):
            roughly = suits_doubles(choice.plan, len(source().values), n, aimed)
    if isinstance(choice, TailPlan):
        with at_precision(bits):
            bits += min(32 * -(-lost_bits(source(), n, choice) // 32), _MOST_LOST)
    while True:
        with at_precision(bits):
            try:
                balls = source()
                if isinstance(choice, FloatSum):
                    values, frequencies = len(balls.values), choice.plan.blocks.evaluations
                    in_doubles = limited.KERNEL_IN_DOUBLES.of(values * (frequencies + limited.TABLE))
                    settings.limits.charge(in_doubles if roughly else limited.KERNEL_IN_BALLS.of(values * frequencies))
                found = _evaluated(balls, n, choice, bits, roughly)
            except PrecisionError:  # values of which no double is known yet
                if bits > _LARGEST_PRECISION:
                    raise
                bits *= 2
                continue
            if not is_settled(found, settings.gap) or (roughly and found.relative_gap > AS_SHARP * aimed):
                bits, roughly = bits if roughly else 2 * bits, False
            elif isinstance(choice, TailPlan) and found.relative_gap > settings.gap and wider:
                missed = found.relative_gap
                choice = choice.widened(missed / (1.0 - missed) / settings.gap if missed < 1.0 else inf)
                wider -= 1
            else:
                return found
        if isinstance(choice, TailPlan) and bits > _LARGEST_FOR_TAILS:
            gap = max(settings.gap, KERNEL_GAP)
            choice = float_sum(nearest_doubles(source, bits), n, gap, settings.most_frequencies)
            bits = starting_precision(n, settings.gap)
        elif bits > _LARGEST_PRECISION and found.evaluator == NO_POSITIVE_VALUE:
            return found
        elif bits > _LARGEST_PRECISION:
            wrong = Problem(f"{_LARGEST_PRECISION} bits do not certify this value")
            raise PrecisionError("precision", wrong, "take a larger gap")


def _exact_value(law: Law, level: Level, n: int, settings: Settings) -> tuple[str, fmpq | None]:
    if law.rational is None:
        return "", None
    if level.rational is not None:
        most = _EXACT_USERS if settings.gap >= KERNEL_GAP else _EXACT_USERS_FOR_DIGITS
        if n == 1 or (n <= most and len(law.atoms) <= _EXACT_VALUES):
            return "exact", exact_divergence(law.rational, level.rational, n)
    return NO_POSITIVE_VALUE, exact_plateau(law.rational, level.exponential(), n)


def _evaluated(g: BallGparv, n: int, choice: Choice, bits: int, roughly: bool) -> Enclosure:
    one, mean = positive_part(g), total([v * w for v, w in zip(g.values, g.masses, strict=True)])
    plan: Plan | TailPlan | None = None
    if isinstance(choice, str):
        name = choice
        lower = upper = one if n == 1 or name == NO_POSITIVE_VALUE else enumerated_sum(g, n) / n
        lower = arb(0) if name == NO_POSITIVE_VALUE else lower
    elif isinstance(choice, TailPlan):
        name, plan = TAILS, choice
        lower, upper = tail_sum(g, n, plan)
    else:
        name, plan = KERNEL, choice.plan
        lower, upper = certified_sum(g, n, plan, roughly=roughly)
    if plan is not None:
        # The mean (Jensen) from below and one user from above; where a sum overflows they are all there is.
        lower, upper = (lower / n).max(mean) if lower.is_finite() else mean.max(arb(0)), upper / n
        upper = upper.min(one) if upper.is_finite() else one
    return Enclosure(lower + g.singular, upper + g.singular, name, bits, plan)


def settled(evaluate: Callable[[int], Enclosure], bits: int, gap: float, most: int) -> Enclosure | None:
    """Return the evaluation at the first of doubled precisions where rounding is far below the gap; None up to most."""
    while bits <= most:
        with at_precision(bits):
            found = evaluate(bits)
        if is_settled(found, gap):
            return found
        bits *= 2
    return None


def is_settled(found: Enclosure, gap: float) -> bool:
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
