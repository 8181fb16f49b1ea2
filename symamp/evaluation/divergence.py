"""The divergence of a law at n users: which evaluator answers, in floats or with a guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, log, log10

import numpy as np
from flint import arb, fmpq

from symamp.errors import PrecisionError
from symamp.evaluation.binomial_tails import TailPlan, lost_bits, tail_sum
from symamp.evaluation.certified import certified_sum, suits_doubles
from symamp.evaluation.choice import (
    KERNEL,
    KERNEL_GAP,
    LATTICE,
    NO_POSITIVE_VALUE,
    TAILS,
    Choice,
    Leveled,
    OneLaw,
    choose,
    shared_sum,
)
from symamp.evaluation.choice import Settings as Settings
from symamp.evaluation.convolution import convolved_sum, estimated_log_sum
from symamp.evaluation.enumeration import enumerated_sum
from symamp.evaluation.exact import exact_divergence, exact_plateau
from symamp.evaluation.fast import FloatSum, float_sum
from symamp.evaluation.gparv import BallGparv, FloatGparv, ball_gparv, nearest_doubles
from symamp.evaluation.law import Law, Level, total
from symamp.evaluation.plan import Plan
from symamp.numbers.rationals import ball_of
from symamp.numbers.surroundings import at_precision

_LARGEST_PRECISION, _LARGEST_FOR_TAILS = 8192, 2048
_EXACT_USERS, _EXACT_USERS_FOR_DIGITS, _EXACT_VALUES = 3, 24, 6
_AS_SHARP = 2.0
_FEW_USERS, _MANY_VALUES, _ROUGH = 2_000, 64, 1e-3
"""Laws of so many values and so few users are added up on lattices where an estimate so rough will do."""
_WIDE, _FEW_VALUES = 0.5, 12
"""A kernel with a relative gap beyond this hardly says where its middle is."""
_MOST_LOST = 128
"""Tails are first tried with up to so many bits more: far out they may lose none."""
_WIDER = 3
"""How often the counts that binomial tails list are widened until the gap is met."""


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
        with at_precision(self.precision + 64):
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
    docs/proofs/binomial_tails.md, docs/proofs/convolution.md, and docs/proofs/enumeration.md for few users.

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

    The guarantee is that of ``enclose_divergence``. Levels near to each other share the plan of a kernel. Where a
    kernel says hardly anything, because rare values are far too large for it, sums on a lattice are tried.
    """
    found = _by_choice(law, level, n, settings)
    if found.plan is None or isinstance(found.plan, TailPlan) or found.relative_gap <= _WIDE:
        return found
    if found.upper < arb(settings.negligible).exp():
        return found
    with at_precision(found.precision):
        balls = law.balls(level)
        sums = convolved_sum(balls, balls, law.floats(level), n, _ROUGH)
        if sums is None:
            return found
        lower, upper = (balls.singular + arb(x) / n for x in sums)
        closer = Enclosure(lower.max(found.lower), upper.min(found.upper), LATTICE, found.precision)
    return closer if closer.relative_gap < found.relative_gap else found


def _by_choice(law: Leveled, level: Level, n: int, settings: Settings) -> Enclosure:
    g, bits = law.floats(level), starting_precision(n, settings.gap)
    matched = law.matched(level, g, bits)
    near = shared_sum(law, g, level, n, settings) if matched is g else None
    if near is not None:
        found = _enclosed(lambda: law.balls(level), n, settings, near, bits)
        if found.relative_gap <= max(settings.gap, _AS_SHARP * near.gap):
            return found
    return _enclosed(lambda: law.balls(level), n, settings, choose(matched, n, settings), bits)


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
    on_lattice = 1 < n <= _FEW_USERS and len(g.values) >= _MANY_VALUES and g.is_positive
    if on_lattice and settings.gap >= _ROUGH and (log_value := estimated_log_sum(g, n)) > -inf:
        return _log_of_sum(g, n, log_value)
    choice: Choice | None = shared_sum(law, g, level, n, settings)
    if choice is None:
        choice = choose(g, n, settings)
    if isinstance(choice, FloatSum):
        # Of laws of some dozen values there may be hundreds to compare.
        enough = _ROUGH if on_lattice else _WIDE if len(g.values) <= _FEW_VALUES else inf
        if not choice.gap <= enough and (log_value := estimated_log_sum(g, n)) > -inf:
            return _log_of_sum(g, n, log_value)
        return _log_of_sum(g, n, choice.log_value)
    if choice == NO_POSITIVE_VALUE:
        return _log_of_singular(g)
    if isinstance(choice, TailPlan) and (matched := law.matched(level, g, 128)) is not g:
        choice = choose(matched, n, settings)
    found = _enclosed(lambda: law.balls(level), n, settings, choice, 128)
    with at_precision(found.precision):
        middle = (found.lower + found.upper) / 2
        return float(middle.mid().log()) if middle.mid() > 0 else -inf


def _log_of_singular(g: FloatGparv) -> float:
    return log(g.singular) if g.singular > 0.0 else -inf


def _log_of_sum(g: FloatGparv, n: int, log_value: float) -> float:
    value = min(max(log_value - log(n), g.log_mean), g.log_gain)
    return float(np.logaddexp(value, _log_of_singular(g)))


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
                found = _evaluated(source(), n, choice, bits, roughly)
            except PrecisionError:  # values of which no double is known yet
                if bits > _LARGEST_PRECISION:
                    raise
                bits *= 2
                continue
            if not is_settled(found, settings.gap) or (roughly and found.relative_gap > _AS_SHARP * aimed):
                bits, roughly = bits if roughly else 2 * bits, False
            elif isinstance(choice, TailPlan) and found.relative_gap > settings.gap and wider:
                choice, wider = choice.widened(found._width(above=False) / settings.gap), wider - 1
            else:
                return found
        if isinstance(choice, TailPlan) and bits > _LARGEST_FOR_TAILS:
            choice = float_sum(
                nearest_doubles(source, bits), n, max(settings.gap, KERNEL_GAP), settings.most_frequencies
            )
            bits = starting_precision(n, settings.gap)
        elif bits > _LARGEST_PRECISION and found.evaluator == NO_POSITIVE_VALUE:
            return found
        elif bits > _LARGEST_PRECISION:
            raise PrecisionError("precision", bits, f"at most {_LARGEST_PRECISION} bits")


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
