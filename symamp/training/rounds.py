"""One epoch of training as a round: its dominating pair in one direction, enclosed at every level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from math import ceil, exp, expm1, frexp, inf, ldexp, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from flint import acb, arb, fmpq

from symamp.accounting.losses import gaussian_log_delta
from symamp.accounting.round import DirectedRound, deviation_of
from symamp.certificates.evidence import evaluated
from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, PrecisionError, Problem
from symamp.laws.law import Floats, Law, Level
from symamp.numbers.doubles import log_ndtr, root_between
from symamp.numbers.dyadic import INFINITE, ZERO, Dyadic, float_below
from symamp.numbers.rationals import rational_of
from symamp.numbers.surroundings import at_precision
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.questions.solve import Trial, step_out
from symamp.settings.question import Query, Question
from symamp.settings.rounds import Rounds
from symamp.sums.divergence import LATTICE, Settings, enclose_divergence
from symamp.sums.inversion import LARGEST_EPS, estimate_epsilon, falling_root, log_of_ball
from symamp.sums.kernels.one_jump import parameters_of_jumps, stop_loss_of_jumps
from symamp.sums.kernels.one_sided import BentLine, Line, Lognormal, line_of
from symamp.sums.kernels.replaced import Frequencies, Progression, Wave
from symamp.training.steps import OPPOSITE, WITH_WITHOUT, Numbering, Shifts, Step, TableStep
from symamp.verifier import MOST_PRECISION

# What is tuned: how close values are taken, against time. Every value is enclosed whatever these are.
FAR_BELOW, _LEAST_LOG, _LEAST_LOG_OF_ALL = 30.0, -30.0, -3000.0
"""How far below what matters errors are, in the logarithm; the first guess of a delta, and below which none is."""
_GRAIN, _COARSER = 10.0, 20.0
"""To how much laws of cells are shared, and how much less is asked of them: with rarer messages, whose ratios are
large, sums are less sharp."""
_ROUGH, _SHARP_ROOT, _ROOM, _LEAST_GUESS = 1e-2, 1e-12, 1.02, 1e-12
"""How near the logarithm of delta is met by estimates of eps, and by roots that are stepped out from; how much farther
slopes are told; and the least eps that is tried, below which a root is 0."""
_ROUGHER, _LEAST_LOG_OF_LAWS = (0.0, 8.0, 16.0), -300.0
"""By how much larger errors are tried where frequencies are too many; and below which logarithm laws of cells, which
would take minutes, are not asked."""
_CELLS, _STATISTIC_BITS, _SPARE_BITS, _LARGEST_LOSS = 600, 256, 32, 150.0
"""Cells of the largest of batch sums; bits of laws of statistics, how many more certificates have, and up to which loss
these bits tell."""
_FIRST_EPS, _NEAR, _NEARLY = 1e-4, 1.0, 4.0
"""Where a root is looked for first where nothing is known, and how near to it, in the logarithm, estimates are; and how
far below delta errors are of estimates that are sums."""
_GAP_OF_LAWS, _GAP_OF_CELLS = Settings(gap=1e-6), Settings(3e-4, 4_000, 2_000, 1_000)
"""How close sums are taken of tables and noise with a density; and of cells, which are many and say no more."""
_WIDTH, _WIDTH_OF_LAWS, _BITS = 1e-11, 1e-3, 192
"""The least relative width of enclosures, that of laws of cells, and bits of comparisons."""
_SHARP, _SHARP_ENOUGH, _WITHOUT_LAWS = 1e-9, 1e-3, 1e9
"""Relative widths of what one jump says at which no line is looked for, at which no laws of cells are, and the largest
where these are not asked."""
_ENOUGH, _FEW = 10.0, 7.0
"""A width, over what is too small to matter, at which no line is looked for; and the logarithm of values, over the
same, of which one jump may say so much."""
_RARE = -120.0
"""The logarithm below which lines are for few levels."""
_MANY_JUMPS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500)
"""Numbers of large summands by which an estimate of rare losses is made."""
_LARGE_EPS, _WORK_OF_WAVES = 100.0, 150.0
"""Beyond it waves would take too many frequencies; and what a unit of their work is of one of a progression's."""
_SPLITS, _GRID_REACH = 30, 40.0
"""Halvings that share a level between two orders, and how far places of an event are looked for, in deviations."""
_CERTAIN = fmpq(1)
"""The rate of a step that the example is certainly in."""


class Found(NamedTuple):
    """Balls whose outer ends enclose a divergence, and what a certificate needs to repeat them, None if nothing does.

    They are ``sharp`` where they are so close, and quick, that a root is sought with them.
    """

    ends: tuple[arb, arb]
    plan: Callable[[], dict[str, Any] | None]
    sharp: bool = True


@dataclass
class _Stored:
    """What is known of equal epochs: many questions ask for the same."""

    enclosed: dict[str, dict[float, tuple[Dyadic, Dyadic, bool]]] = field(default_factory=dict)
    """Both ends, and whether they are sharp, by level and accuracy."""
    roots: dict[tuple[float, int], float] = field(default_factory=dict)
    """Roots that were sought, by the logarithm of delta and the side."""
    slopes: dict[float, float] = field(default_factory=dict)
    """Slopes near roots for which there are no estimates, by the logarithm of delta."""


@lru_cache(maxsize=256)
def _stored(epoch: OneEpoch) -> _Stored:
    return _Stored()


@dataclass(frozen=True)
class OneEpoch(DirectedRound):
    """One epoch in one direction: "remove" has the world with the example first, "add" the one without."""

    is_attained: bool = field(default=True, kw_only=True)

    @property
    def ratio(self) -> sp.Expr | None:
        """None: no likelihood ratio is told to be the largest."""
        return None

    @property
    def swapped(self) -> bool:
        """Whether the world without the example is the first one."""
        return self.direction == "add"

    def reversed(self) -> OneEpoch:
        """Return the other direction; with replacement both are equal."""
        other = {"remove": "add", "add": "remove"}.get(self.direction, self.direction)
        return replace(self, direction=other)  # type: ignore[call-arg]

    def found(self, level: Level, log_least: float) -> Found:
        """Return the divergence of the pair at a level E >= 1; e^log_least is too small to matter."""
        raise NotImplementedError

    def enclose(self, level: Level, log_least: float) -> tuple[Dyadic, Dyadic]:
        """Return a lower and an upper end of the divergence of the pair at a level E >= 1.

        Guarantee
        ---------
        D_E of the pair lies between them. Proof: docs/proofs/random_allocation.md.
        """
        return self._known(level, log_least)[:2]

    @property
    def _stored(self) -> _Stored:
        return _stored(replace(self, is_attained=True))

    def _known(self, level: Level, log_least: float) -> tuple[Dyadic, Dyadic, bool]:
        """Return both ends, and whether they are sharp."""
        known = self._stored.enclosed.setdefault(level.text, {})
        if log_least not in known:
            found = self.found(level, log_least)
            low, high = found.ends
            with at_precision(_BITS):
                known[log_least] = (
                    max(Dyadic.of(low.lower()), ZERO) if low.is_finite() else ZERO,
                    min(Dyadic.of(high.upper()), Dyadic(1)) if high.is_finite() else Dyadic(1),
                    found.sharp,
                )
        return known[log_least]

    def asked(self, level: Level) -> float:
        """Return the last ``log_least`` of an enclosure that was made at a level; if none was, that of a large one."""
        return next(reversed(self._stored.enclosed.get(level.text, {})), _LEAST_LOG)

    def rough_root(self, log_delta: float) -> float:
        """Return about the eps at which the divergence is delta."""
        return self._solved(log_delta, 1, _FIRST_EPS, _ROUGH)

    def end(self, log_delta: float) -> float:
        """Return an estimate of the eps at which the divergence is delta; inf if there is none."""
        return self.rough_root(log_delta)

    @cached_property
    def deviation(self) -> float:
        """That of the normal loss with the same total variation."""
        low, high = self.enclose(Level.of_float(0.0), _LEAST_LOG)
        return deviation_of(max((low.above + high.below) / 2.0, 1e-300))

    def root(self, log_delta: float, side: int = 0) -> float:
        """Return the eps at which the middle of the enclosure is delta, in doubles; 0 if it is less at 0.

        If ``side`` is 1 or -1, that at which the upper or the lower end is.
        """
        known = self._stored.roots
        if (log_delta, side) not in known:
            guess = max(self.rough_root(log_delta), _LEAST_GUESS)
            is_sharp = guess < inf and self.is_sharp(guess, log_delta)
            known[log_delta, side] = self._solved(log_delta, side, guess, _SHARP_ROOT) if is_sharp else guess
        return known[log_delta, side]

    def is_sharp(self, eps: float, log_delta: float) -> bool:
        """Return whether what encloses the divergence there is sharp."""
        return self._known(Level.of_float(eps), log_delta - FAR_BELOW)[2]

    def rough_slope(self, eps: float, log_delta: float) -> float:
        """Return about -d log delta/d eps: estimated, or what was found near the root; 0 where neither is at hand."""
        other = _ROOM * eps
        first, second = self.rough_log(eps), self.rough_log(other)
        if second < min(first, 0.0):
            return (first - second) / (other - eps)
        return self._stored.slopes.get(log_delta, 0.0)

    def _solved(self, log_delta: float, side: int, guess: float, tolerance: float, below: float = FAR_BELOW) -> float:
        """Return where an end, or the middle, misses the logarithm of delta by so much at most."""

        @cache
        def miss(eps: float) -> float:
            low, high = self.enclose(Level.of_float(eps if eps > _LEAST_GUESS else 0.0), log_delta - below)
            with at_precision(_BITS):
                found = (low.ball * (1 - side) + high.ball * (1 + side)) / 2
                return max(log_of_ball(found), 4.0 * (log_delta - below)) - log_delta

        last = self.budget * (1.0 - 1e-12)
        guess = min(guess, last / _ROOM)
        if guess == 0.0:
            return 0.0
        slope = self.rough_slope(guess, log_delta) or (miss(guess) - miss(_ROOM * guess)) / (_ROOM * guess - guess)
        self._stored.slopes.setdefault(log_delta, slope)
        found = falling_root(miss, guess, slope, last, tolerance)
        return self.budget if found >= last else found if found > _LEAST_GUESS else 0.0

    def alone(self, query: Query) -> Answer | None:
        """Return the bracket for one epoch by itself; None where every eps has this delta, or none is known to have."""
        question = Question(Rounds(((self.text, 1),)), 0)
        if query.quantity == "delta":
            low, high = self._delta(query.level)
            low = low if self.is_attained else ZERO
            return Answer(question, query, low, high, Interval(low.below, high.above))
        root = inf if self.top == 1 else self.root(query.log_delta)
        if root == inf:
            return None
        above = step_out(_Proved(self, query, root, 1))
        below = step_out(_Proved(self, query, root, -1)) if root > 0.0 and self.is_attained else None
        least = ZERO if below is None else Dyadic.of_float(below[0])
        most = Dyadic.of_float(min(self.budget, inf if above is None else above[0])) if above or self.top else INFINITE
        return Answer(question, query, least, most, Interval(least.below, most.above))

    def _delta(self, level: Level) -> tuple[Dyadic, Dyadic]:
        with at_precision(_BITS):
            if self.top is not None and (level.rational == self.top or level.exponential() >= arb(self.top)):
                return ZERO, ZERO
            log_least = min(_LEAST_LOG, self.rough_log(float(level.eps())) - 1.5 * FAR_BELOW)
        while True:
            low, high = self.enclose(level, log_least)
            with at_precision(_BITS):
                size = log_of_ball(high.ball)
            if log_least < size - FAR_BELOW or log_least < _LEAST_LOG_OF_ALL:
                return low, high
            log_least = min(size - 1.5 * FAR_BELOW, 1.5 * log_least)


class _Proved:
    """One side of the root of a curve: the step outward that balls prove."""

    def __init__(self, epoch: OneEpoch, query: Query, root: float, outward: int) -> None:
        self.epoch, self.query, self.root, self.outward = epoch, query, root, outward
        logs = self._logs(root)
        known = logs[1] - logs[0] if logs[0] > -inf else _WIDTH_OF_LAWS
        if known > _SHARP_ENOUGH and epoch.is_sharp(root, query.log_delta):
            self.root, known = epoch.root(query.log_delta, outward), _WIDTH  # the ends have roots of their own
        self.width = max(known, _WIDTH)
        self.error = self.width / 10.0

    def _logs(self, place: float) -> tuple[float, float]:
        low, high = self.epoch.enclose(Level.of_float(place), self.query.log_delta - FAR_BELOW)
        with at_precision(_BITS):
            return log_of_ball(low.ball) if low.mantissa > 0 else -inf, log_of_ball(high.ball)

    def slope(self, place: float) -> float:
        """Return about -d log delta/d eps."""
        slope = self.epoch.rough_slope(place, self.query.log_delta)
        if slope > 0.0:
            return slope
        budget = self.epoch.budget  # near it the divergence vanishes a short way on
        other = min(place * 1.001, (place + budget) / 2.0 if budget > place else inf) or 1e-6
        first, second = (float(np.logaddexp(*self._logs(eps))) for eps in (place, other))
        slope = (first - second) / (other - place)
        return slope if 0.0 < slope < inf else 1.0 / (place or 1e-3)

    def trial(self, place: float) -> Trial[bool]:
        """Return whether the divergence is proved to be on the side of delta."""
        low, high = self.epoch.enclose(Level.of_float(place), self.query.log_delta - FAR_BELOW)
        proved = high.at_most(self.query.given) if self.outward > 0 else low.exceeds(self.query.given)
        size = max(self._logs(place)[self.outward > 0], -1e6)
        return Trial(True if proved else None, self.outward * (size - self.query.log_delta))


# -------------------------------------------------------------------- One of t steps, chosen uniformly for each example


@dataclass(frozen=True)
class Allocation(OneEpoch):
    """1 of ``steps`` steps, messages moved by ``shifts``: the triple at n = steps (Theorem 1)."""

    step: Step
    steps: int
    shifts: Shifts
    direction: str

    @property
    def text(self) -> str:
        return f"1 of {self.steps:,} steps, {self.step!r}, {self.direction}"

    @cached_property
    def ratio(self) -> sp.Expr | None:
        """The largest likelihood ratio of an epoch; None without a limit."""
        low, high = self.step.ratios
        if self.shifts != WITH_WITHOUT or (low == 0 if self.swapped else high is sp.oo):
            return None
        return 1 / low if self.swapped else high

    @cached_property
    def infinite(self) -> fmpq:
        """Of a table: the chance of messages that only the first world sends, or of all t that the other never does."""
        law = self._laws(0.0)[0].rational if isinstance(self.step, TableStep) else None
        if law is None:
            return fmpq(0)
        never = [(a * m, m) for a, b, m in law.atoms if b == 0]
        first, mass = (sum((x[i] for x in never), fmpq(0)) for i in (0, 1))
        with at_precision(_BITS):  # rounded down, as powers are long
            hidden = float_below(arb(first) * arb(mass) ** (self.steps - 1))
        return sum((p for p, q in law.singular if q == 0), fmpq(*hidden.as_integer_ratio()))

    @property
    def _summand(self) -> Lognormal | None:
        """The likelihood ratio of a message of normal noise, where lines or waves are known for these shifts."""
        return self.step.summand if self.shifts in (WITH_WITHOUT, OPPOSITE) else None

    def found(self, level: Level, log_least: float) -> Found:
        """Return the divergence of the pair.

        Guarantee
        ---------
        D_E of the pair lies between the outer ends. Proof: docs/proofs/random_allocation.md.
        """
        law = self._summand
        if law is None:
            return self._by_laws(level, log_least)
        if self.shifts == OPPOSITE:
            return self._by_frequencies(law, level, log_least)
        jump = self._by_one_jump(law, level) if self._may_be_sharp(law, level, log_least) else None
        with at_precision(_BITS):
            enough = _ENOUGH * arb(log_least).exp()
            if jump is not None and _width(jump) <= enough.max(_SHARP * jump.ends[0]):
                return jump
            line = self._by_line(level, log_least)
            if jump is None and not self.swapped and (line is None or _width(line) > enough.max(_SHARP * line.ends[0])):
                jump = self._by_one_jump(law, level)
            if jump is not None and jump.ends[0] > 0:
                widest = _SHARP_ENOUGH if log_least >= _LEAST_LOG_OF_LAWS else _WITHOUT_LAWS
                if _width(jump) <= (widest * jump.ends[0] if line is None else _width(line)):
                    return jump
        if line is None and log_least < _LEAST_LOG_OF_LAWS:
            size = f"a delta of about 1e{log_least / log(10.0):.0f}"
            told = Problem(f"{size} needs too many frequencies for so few steps")
            raise PrecisionError("delta", told, "take a larger delta, or a larger eps, or more steps")
        return line or self._by_laws(level, log_least)

    def _may_be_sharp(self, law: Lognormal, level: Level, log_least: float) -> bool:
        """Return whether one jump may be enough: the square of its first correction is about the least of its width."""
        with at_precision(64):
            eps = float(level.eps())
        excess = self.steps * expm1(min(eps, LARGEST_EPS))
        spread = self.steps * law.rough_variance(1.0 + excess)
        return not self.swapped and (spread < _SHARP * excess**2 or self.rough_log(eps) < log_least + _FEW)

    def _by_one_jump(self, law: Lognormal, level: Level) -> Found:
        t = self.steps
        with at_precision(_BITS):
            k = t * level.exponential()
            low, high = stop_loss_of_jumps(law, t, k)

            def plan() -> dict[str, Any] | None:
                jump = parameters_of_jumps(law, t, float(k))
                return None if jump is None else jump.shown

            return Found((low / t, high / t), plan)

    def _by_line(self, level: Level, log_least: float) -> Found | None:
        with at_precision(64):
            eps = float(level.eps())
        t, fine = self.steps, log_least < _RARE
        accuracy, reach = log_least + log(t), _shared(-eps if self.swapped else eps, fine)
        if self.swapped:  # one line for all levels nearby: K is small where losses are large
            if fine:  # what is much larger needs no such small error
                accuracy = max(accuracy, self.rough_log(eps) - 2.0 * FAR_BELOW + log(t))
            accuracy -= eps
        line = _line_for(self.step, t, self.swapped, reach, accuracy)
        if line is None:
            return None
        with at_precision(line.plan.bits + 32):
            e = level.exponential()
            if self.swapped:
                value = line.stop_loss(t / e) * e / t
            else:
                value = (line.stop_loss(t * e) - t * level.exponential_minus_one()) / t
            return Found((value, value), lambda: line.shown)

    def _by_frequencies(self, law: Lognormal, level: Level, log_least: float) -> Found:
        """Return the divergence for replacement: by frequencies, by laws of cells, or by closed forms."""
        plan = self._frequencies(law, level, log_least)
        if plan is not None:
            with at_precision(plan.precision(law)):
                low, high = plan.expected_excess(law, self.steps, level.exponential())
                return Found((low / self.steps, high / self.steps), lambda: plan.shown(law, self.steps))
        if log_least < _LEAST_LOG_OF_LAWS:
            return self._by_closed_forms(law, level, log_least)
        if log_least not in self._poor:
            found = self._by_laws(level, log_least)
            if found.ends[0] > found.ends[1] / 2 or found.ends[1] < arb(log_least).exp():
                return found
            self._poor.add(log_least)
        return self._by_closed_forms(law, level, log_least)

    def _frequencies(self, law: Lognormal, level: Level, log_least: float) -> Frequencies | None:
        """Return the frequencies that take least work: in geometric progression, or at equal distances."""
        with at_precision(_BITS):
            eps, accuracy = float(level.eps()), log_least + log(self.steps)
        found = Progression.of(law, self.steps, eps, accuracy)
        if (found is None or not found.is_quick(law)) and eps <= _LARGE_EPS:
            rougher = _ROUGHER if found is None else _ROUGHER[:1]
            waves = (Wave.of(law, self.steps, eps, accuracy + x) for x in rougher)
            wave = next((wave for wave in waves if wave is not None), None)
            if wave is not None and (found is None or wave.work(law) < _WORK_OF_WAVES * found.work(law)):
                return wave
        return found

    @cached_property
    def _poor(self) -> set[float]:
        """The accuracies at which laws of cells have said hardly anything: they are not asked again."""
        return set()

    def _by_closed_forms(self, law: Lognormal, level: Level, log_least: float) -> Found:
        """Return ends for replacement, far out: one event, and the worlds beside the one without both examples."""
        t, remove = self.steps, replace(self, shifts=WITH_WITHOUT, direction="remove")
        add = remove.reversed()
        with at_precision(_BITS):
            eps = float(level.eps().lower()) * (1.0 - 1e-14)
        first, most = 0.0, eps
        for _ in range(_SPLITS):  # to where both parts are about equal
            middle = (first + most) / 2.0
            more = remove.rough_log(middle) > middle + add.rough_log(eps - middle)
            first, most = (middle, most) if more else (first, middle)
        one, other, high = Level.of_float(first), Level.of_float(eps - first), arb(1)
        least_of_all, parts = arb(0), dict[str, Found]()
        with suppress(PrecisionError):
            least_of_all = remove.found(level, log_least).ends[0].lower()
        with suppress(PrecisionError):
            parts = {"remove": remove.found(one, log_least), "add": add.found(other, log_least - first)}
            with at_precision(_BITS):
                if one.eps() + other.eps() <= level.eps():
                    high = parts["remove"].ends[1] + one.exponential() * parts["add"].ends[1]
        place, least, _ = self._event(law, eps)
        bits = _BITS + int(4.0 * abs(log_least))

        def plan() -> dict[str, Any] | None:
            plans = {name: part.plan() for name, part in parts.items()}
            if not plans or None in plans.values():
                return None
            about = {"precision": min(bits, MOST_PRECISION), "first": first, "event": [place, least]}
            return {"kind": "parts", **about, **plans}

        with at_precision(bits):
            s, e = law.sigma(), level.exponential()
            far, near = ([_normal((shift - x) / s) for shift in (1, 0, -1)] for x in (arb(place), arb(least)))
            n = t - 1  # the others
            single = far[0] * near[1] + n * far[1] * near[0] - n * far[0] * far[1]
            twice = arb(n * (n - 1)) / 2 * far[1] ** 2 * near[0]
            low = near[1] * (single - e * (far[2] * near[1] + n * far[1] * near[2])) - twice
            low, high = (low * near[1] ** (n - 2)).max(least_of_all), high.min(normal_divergence(2 / s, level.eps(), e))
            return Found((low, high), plan)

    def _event(self, law: Lognormal, eps: float) -> tuple[float, float, float]:
        """Return places c and d: that a message is above c, and all others above d, seems to say most; and its log."""
        others, s, tail = float(self.steps - 1), float(law.sigma().mid()), log_ndtr
        d = s * np.linspace(-_GRID_REACH, _GRID_REACH, _CELLS)
        near = [tail((shift - d) / s) for shift in (1.0, 0.0, -1.0)]
        with np.errstate(all="ignore"):
            # To c a likelihood ratio of eps belongs, where the others are above d and else as usual.
            c = s * s * (log(others) + np.log(exp(eps) * np.exp(near[2] - near[1]) - np.exp(near[0] - near[1]))) + 0.5
            c = np.maximum(c, d)
            far = [tail((shift - c) / s) for shift in (1.0, 0.0, -1.0)]
            more, less = (np.logaddexp(far[i] + near[1], log(others) + far[1] + near[i]) for i in (0, 2))
            value = (others - 1.0) * near[1] + more + np.log1p(-np.exp(eps + less - more))
        value = np.where(np.isfinite(value), value, -1e308)
        best = int(value.argmax())
        return float(c[best]), float(d[best]), float(value[best])

    def _by_laws(self, level: Level, log_least: float) -> Found:
        laws = [(law, _GAP_OF_LAWS if law.rational else _GAP_OF_CELLS) for law in self._laws(log_least)]
        found = [enclose_divergence(law, level, self.steps, gap) for law, gap in laws]

        def plan() -> dict[str, Any]:
            if LATTICE in (x.evaluator for x in found):
                told = "take a larger delta or eps, or more steps; of shuffled batches effort='quick'"
                raise ArgumentError("certificate", Problem("sums on a lattice have no certificate"), told)
            cells = self.step.cells(self.shifts, _grained(log_least))
            bits, how = max(x.precision for x in found) + _SPARE_BITS, [evaluated(x, self.steps) for x in found]
            bits = min(bits, MOST_PRECISION)
            shown = {"kind": "laws", "precision": bits, "below": how[0], "above": how[-1]}
            return shown | ({} if cells is None else {"cells": dict(zip(("from", "to", "count"), cells, strict=True))})

        return Found((found[0].lower, found[-1].upper), plan, sharp=False)

    def _laws(self, log_least: float) -> tuple[Law, ...]:
        found = self.step.laws(self.shifts, _grained(log_least))
        turned = tuple(law.swapped() if self.swapped else law for law in found)
        return turned[:1] if found[0] is found[1] else turned

    def rough_root(self, log_delta: float) -> float:
        if self._summand is not None:
            high, most = 1e-3, _LARGE_EPS if self.shifts == OPPOSITE else LARGEST_EPS
            while self.rough_log(high) > log_delta and high < most:
                high *= 1.5
            if self.rough_log(high) <= log_delta < self.rough_log(0.0):
                high = float(root_between(lambda eps: self.rough_log(eps) - log_delta, 0.0, high))
            if self.shifts != OPPOSITE or high < most:
                return high
            law, high = self._summand, LARGEST_EPS
            while self._event(law, high)[2] <= log_delta and high > _FIRST_EPS:
                high /= 1.5
            if high < LARGEST_EPS:
                top = 1.5 * high
                high = float(root_between(lambda x: self._event(law, x)[2] - log_delta, high, top, rtol=_ROUGH))
            if self._frequencies(law, Level.of_float(high), log_delta - _NEARLY) is not None:
                return self._solved(log_delta, 0, high, _ROUGH, _NEARLY)
            if log_delta - FAR_BELOW < _LEAST_LOG_OF_LAWS:
                return high
        cells = self._laws(log_delta - FAR_BELOW)[-1]
        rough = Settings(gap=1e-4) if cells.rational else _GAP_OF_CELLS
        guess = min(estimate_epsilon(cells, self.steps, log_delta, rough), LARGEST_EPS)
        if self.shifts == OPPOSITE:
            return guess
        # Estimates know no lattices, which enclose what kernels of heavy tails do not tell.
        with at_precision(_BITS):
            sizes = [log_of_ball(x.ball) for x in self.enclose(Level.of_float(guess), log_delta - FAR_BELOW)]
        is_near = sizes[0] - _NEAR < log_delta < sizes[1] + _NEAR
        return guess if is_near else self._solved(log_delta, 1, max(guess, _FIRST_EPS), _ROUGH / 100.0)

    def rough_log(self, eps: float) -> float:
        law, t = self._summand, self.steps
        if law is None:
            return 0.0
        if self.swapped:
            tilts, logs = self._rough_chernoff
            with np.errstate(all="ignore"):
                return float(np.nanmin(tilts * t * exp(-eps) + logs)) + eps - log(t)
        x, variance = t * expm1(eps), law.variance
        if self.shifts == OPPOSITE:  # of L - E L', whose product is constant
            e = exp(min(eps, _LARGE_EPS))
            variance *= 1.0 + e * e + 2.0 * e / (1.0 + variance)
        sigma = sqrt(t * variance)
        z = x / sigma if sigma > 0.0 else inf
        normal = log(sigma) - z * z / 2.0 - log1p(z * z) if z < 1e150 else -inf
        found = np.logaddexp(normal, log(t) + law.rough_tail(1.0 + x))
        for j in _MANY_JUMPS:  # so many summands are above their share: by the large deviations of their number
            p = exp(law.rough_above(1.0 + x / j)) if j <= t else 1.0
            if p < j / (4.0 * t):
                share, log_p = j / t, law.rough_above(1.0 + x / j)
                other = (1.0 - share) * (log1p(-share) - log1p(-p)) if share < 1.0 else 0.0
                found = np.logaddexp(found, log(1.0 + x) - t * (share * (log(share) - log_p) + other))
        return float(found) - log(t)

    @cached_property
    def _rough_chernoff(self) -> tuple[Floats, Floats]:
        law, t = self._summand, self.steps
        assert law is not None
        tilts = np.geomspace(1e-4, 1e200, 1201) / sqrt(t * min(law.variance, float(t)))
        return tilts, t * law.rough(tilts) - 1.0 - np.log(tilts)


def _width(found: Found) -> arb:
    return found.ends[1].upper() - found.ends[0].lower()


def _grained(log_least: float) -> float:
    """Return to which accuracy laws of cells are made; larger cells are those of rare messages."""
    return _GRAIN * ((log_least + _COARSER) // _GRAIN)


def _shared(eps: float, fine: bool) -> float:
    """Return a number not below that many levels share, fewer where probabilities depend much on it."""
    parts = 128.0 if fine else 16.0 if abs(eps) >= 4.0 else 4.0
    mantissa, exponent = frexp(eps)
    return 0.0 if -0.5 < eps < 0.0 and not fine else ldexp(ceil(parts * mantissa) / parts, exponent)


class _Tried(NamedTuple):
    """A line that was looked for, None where it takes too many frequencies: for K up to t e^reach.

    A straight line is as close for smaller K; one that is bent, or ``rougher`` than asked, is for about that K only.
    """

    reach: float
    log_accuracy: float
    line: Line | BentLine | None
    rougher: float

    def serves(self, reach: float, log_accuracy: float) -> bool:
        """Return whether no other line is needed, or none is found."""
        if self.line is None:
            return self.reach == reach and self.log_accuracy >= log_accuracy
        serves_below = isinstance(self.line, Line) and self.rougher == 0.0
        return (self.reach >= reach if serves_below else self.reach == reach) and self.log_accuracy <= log_accuracy


@lru_cache(maxsize=64)
def _lines(step: Step, t: int, swapped: bool) -> list[_Tried]:
    """Return what was tried; above, lines are close relatively to what is large, so that none serves both orders."""
    return []


def _line_for(step: Step, t: int, swapped: bool, reach: float, log_accuracy: float) -> Line | BentLine | None:
    """Return a line for K up to t e^reach, kept for further questions; None if it takes too many frequencies."""
    known, found = _lines(step, t, swapped), None
    for tried in known:
        if tried.serves(reach, log_accuracy):
            return tried.line
    assert step.summand is not None
    for rougher in _ROUGHER:
        with suppress(PrecisionError):
            found = line_of(step.summand, t, t * exp(reach) * (1.0 + 1e-9), log_accuracy + rougher)
        if found is not None:
            break
    known.append(_Tried(reach, log_accuracy, found, rougher))
    return found


# --------------------------------------------- The Gaussian mechanism, and one step with Poisson sampling, closed forms


@dataclass(frozen=True)
class NormalRound(OneEpoch):
    """N(shift, sigma^2) against N(0, sigma^2), the Gaussian mechanism; or one replaced step with Poisson sampling.

    At a ``rate`` below 1, with a shift of 2, the example is in the step so often: N(1) against N(-1), else N(0).
    """

    sigma: sp.Expr
    shift: int = 1
    direction: str = "replace"
    rate: fmpq = _CERTAIN

    @property
    def text(self) -> str:
        if self.rate == 1:
            return f"Gaussian mechanism, sigma = {self.sigma}, sensitivity {self.shift}"
        return f"GaussianStep(sigma={self.sigma}), replaced, with probability {self.rate}"

    @cached_property
    def deviation(self) -> float:
        """The shift over sigma, if the example is certainly in the step."""
        if self.rate != 1:
            return super().deviation
        with at_precision(64):
            return float(self.shift / number(self.sigma)())

    def rough_log(self, eps: float) -> float:
        return gaussian_log_delta(self.deviation, eps) if self.rate == 1 else 0.0

    def found(self, level: Level, log_least: float) -> Found:
        """Return the closed form twice: the likelihood ratio rises, and is E at one place.

        Guarantee
        ---------
        It is D_E of the two laws. Proof: docs/proofs/random_allocation.md, section 6.
        """
        bits = _BITS + int(4.0 * abs(log_least))
        with at_precision(bits):
            s, q, e, excess = number(self.sigma)(), arb(self.rate), level.exponential(), level.exponential_minus_one()
            if self.rate == 1:
                value = normal_divergence(self.shift / s, level.eps(), e)
            else:
                b = (1 - q) * excess / q * (1 / (2 * s * s)).exp()
                place = s * s * ((b + (b * b + 4 * e).sqrt()) / 2).log()
                above = [_normal((shift - place) / s) for shift in (1, 0, -1)]
                value = q * (above[0] - e * above[2]) - (1 - q) * excess * above[1]
        return Found((value, value), lambda: {"kind": "closed", "precision": min(bits, MOST_PRECISION)})


def normal_divergence(mu: arb, eps: arb, e: arb) -> arb:
    """Return Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)."""
    return _normal(mu / 2 - eps / mu) - e * _normal(-mu / 2 - eps / mu)


def _normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True)
class PoissonStep(OneEpoch):
    """One step in which the example is with probability ``rate``; ``base`` is the step that it certainly is in."""

    base: OneEpoch
    rate: fmpq

    @property
    def text(self) -> str:
        return f"{self.base.text}, with probability {self.rate}"

    @property
    def direction(self) -> str:  # type: ignore[override]
        """That of the base."""
        return self.base.direction

    def reversed(self) -> PoissonStep:
        return replace(self, base=self.base.reversed())

    @cached_property
    def ratio(self) -> sp.Expr | None:
        """1 + rate (ratio - 1) if the example is in the first world, 1/(1 + rate (1/ratio - 1)) if in the second."""
        rate, ratio = rational_of(self.rate), self.base.ratio
        if not self.swapped:
            return None if ratio is None else 1 + rate * (ratio - 1)
        least = sp.S.Zero if ratio is None else 1 / ratio
        return None if rate == 1 and least == 0 else 1 / (1 - rate * (1 - least))

    @property
    def infinite(self) -> fmpq:
        """The rate times that of the base; 0 where the second world may be without the example, too."""
        return fmpq(0) if self.swapped and self.rate < 1 else self.rate * self.base.infinite

    def rough_log(self, eps: float) -> float:
        rate = float(self.rate)
        if not self.swapped:
            return log(rate) + self.base.rough_log(log1p(expm1(eps) / rate))
        missing = -expm1(-eps) / rate
        if missing >= 1.0:
            return -inf
        return eps + log(rate) + log1p(-missing) + self.base.rough_log(-log1p(-missing))

    def found(self, level: Level, log_least: float) -> Found:
        """Return the rate times that of the base at 1 + (E - 1)/rate, or the same with the worlds exchanged.

        Guarantee
        ---------
        The outer ends enclose D_E of the step. Proof: docs/proofs/random_allocation.md, section 6.
        """
        inner, scale = self._inside(level)
        if inner is None:
            return Found((arb(0), arb(0)), lambda: self.base.found(level, log_least).plan())
        found = self.base.found(inner, log_least)
        with at_precision(_BITS + int(4.0 * abs(log_least))):
            low, high = (x * scale() for x in found.ends)
        return found._replace(ends=(low, high))

    def _inside(self, level: Level) -> tuple[Level | None, Callable[[], arb]]:
        """Return the level at which the base is asked, and what its divergence is multiplied by."""
        rate, e = self.rate, level.rational
        excess, written = level.exponential_minus_one, level.text
        if not self.swapped:
            rational = None if e is None else 1 + (e - 1) / rate
            inner = Level(lambda: (excess() / rate).log1p(), lambda: f"log1p(expm1({written})/({rate}))", rational)
            return inner, lambda: arb(rate)

        def missing() -> arb:  # (1 - 1/E)/rate; the base is asked at 1/(1 - this), and counts E rate (1 - this) times
            return excess() / (level.exponential() * rate)

        with at_precision(_BITS):
            if not missing() < 1:
                return None, lambda: arb(0)
        rational = None if e is None else 1 / (1 - (1 - 1 / e) / rate)
        inner = Level(lambda: -(-missing()).log1p(), lambda: f"-log1p(-(1 - exp(-({written})))/({rate}))", rational)
        return inner, lambda: level.exponential() * rate * (1 - missing())


# ------------------------------------- Statistics of the outputs of an epoch: what they say of it is a bound from below


class Statistic(OneEpoch):
    """A statistic with finitely many values: their probabilities in both worlds, as balls."""

    def masses(self) -> tuple[Sequence[arb], Sequence[arb]]:
        """Return the probabilities in the world with the example, or the first one, and in the other."""
        raise NotImplementedError

    @property
    def _masses(self) -> tuple[Sequence[arb], Sequence[arb]]:
        return _masses_of(self.reversed() if self.swapped else self)

    def found(self, level: Level, log_least: float) -> Found:
        """Return balls around the divergence of the two laws of the statistic.

        Guarantee
        ---------
        They enclose it, and it is at most D_E of the outputs. Proof: docs/proofs/random_allocation.md, section 7.
        """
        p, q = self._masses[::-1] if self.swapped else self._masses
        with at_precision(_STATISTIC_BITS):
            e, value = level.exponential(), arb(0)
            for a, b in zip(p, q, strict=True):
                difference = a - e * b
                if not difference < 0:
                    value += difference.max(arb(0))
        return Found((value, value), lambda: {"kind": "statistic", "precision": _STATISTIC_BITS})

    def end(self, log_delta: float) -> float:
        """Return an estimate of the eps at which the divergence is delta, at most one for which the bits are enough."""
        return min(super().end(log_delta), _LARGEST_LOSS)


@lru_cache(maxsize=16)
def _masses_of(found: Statistic) -> tuple[Sequence[arb], Sequence[arb]]:
    """Return the probabilities of a statistic, which both directions share."""
    with at_precision(_STATISTIC_BITS):
        return found.masses()


@dataclass(frozen=True)
class Counted(Statistic):
    """``selected`` of ``steps`` steps: the sum, modulo ``size``, of a whole number for each message (Theorem 4)."""

    step: Step
    steps: int
    selected: int
    direction: str
    size: int = 1 << 13

    @property
    def text(self) -> str:
        return f"{self.selected:,} of {self.steps:,} steps, {self.step!r}, {self.direction}, from below"

    @property
    def _shifts(self) -> Shifts:
        return OPPOSITE if self.direction == "replace" else WITH_WITHOUT

    @cached_property
    def statistic(self) -> Numbering:
        """The number of each message."""
        return self.step.numbering(self._shifts, self.selected / self.steps, self.steps, self.size)

    def masses(self) -> tuple[Sequence[arb], Sequence[arb]]:
        """Return the laws of the sum, by Fourier transforms in balls."""
        laws = self.step.numbered(self._shifts, self.statistic)
        first, second, rest = (acb.dft([acb(x) for x in law]) for law in laws)
        many = [z ** (self.steps - self.selected) for z in rest]
        return tuple(
            [z.real for z in acb.dft([x**self.selected * y for x, y in zip(some, many, strict=True)], inverse=True)]
            for some in (first, second)
        )  # type: ignore[return-value]


@dataclass(frozen=True)
class Maximum(Statistic):
    """Shuffled batches, all other gradients -1: the cell of the largest batch sum, moved by 1 (Theorem 5)."""

    sigma: sp.Expr
    steps: int
    direction: str

    @property
    def text(self) -> str:
        return f"{self.steps:,} shuffled batches, sigma = {self.sigma}, the largest sum, {self.direction}"

    @property
    def places(self) -> list[float]:
        """The ends of the cells."""
        return [(2 + 12.0 * float(number(self.sigma)().mid())) * k / _CELLS for k in range(-_CELLS // 4, _CELLS + 1)]

    @property
    def statistic(self) -> Numbering:
        """The number of each cell."""
        places = [str(Fraction(y)) for y in self.places]
        return {"size": len(places) + 1, "first": 0, "places": places, "numbers": []}

    def masses(self) -> tuple[Sequence[arb], Sequence[arb]]:
        """Return the laws of the cell, from the distribution functions of the largest sum."""
        s, places = number(self.sigma)(), [arb(y) for y in self.places]

        def law(shift: int) -> list[arb]:
            below = [_normal(y / s) ** (self.steps - 1) * _normal((y - shift) / s) for y in places]
            return [below[0], *(b - a for a, b in pairwise(below)), 1 - below[-1]]

        return law(2), law(1)
