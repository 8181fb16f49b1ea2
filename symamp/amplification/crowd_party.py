"""One victim among users who differ: the bound from above, and data sets from below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nextafter
from typing import Any, Protocol

from flint import arb, fmpq

from symamp.amplification.certificate_text import exact_double, expression_text
from symamp.amplification.crowd_evidence import BITS, Found, columns_data, evaluation, positions_data, victim_data
from symamp.analyses.crowd import DATA, Crowd
from symamp.analyses.crowd_counts import mean_of_counts
from symamp.analyses.crowd_data import Positions, positions_above, positions_below
from symamp.analyses.crowd_messages import StepTest, Victim, victims
from symamp.analyses.part import DataSets
from symamp.derivation.crossing import log_above
from symamp.errors import ContradictionError
from symamp.evaluation.divergence import Enclosure, Settings
from symamp.evaluation.grouped import approximate_log_groups, enclose_groups, estimate_log_groups
from symamp.evaluation.grouped_search import Group
from symamp.evaluation.inversion import estimate_root, log_of
from symamp.evaluation.law import Level
from symamp.evaluation.walks import StepPlan
from symamp.numbers.rationals import ball_of
from symamp.numbers.rounding import float_above, float_below
from symamp.numbers.surroundings import at_precision

_STEPS, _FAR_OFF = 40, 27.0
_MANY = 10**6
"""Tells the search for a root that there are many users: then it starts from saddle points."""
_ROUGH = Settings(gap=1e-3)
_ACCURACY = 0.01
"""The part of the gap to which a root is sought: what is certified is farther from it, and estimates have noise."""

Side = Callable[[Level], tuple[list[Group], Callable[[], arb], Callable[[], arb]]]
"""At a level: groups, what E[S_+] is divided by, and what is added."""


class _Below(Protocol):
    """Data sets whose divergence is known: what they prove of delta, and of eps."""

    def found(self, level: Level, settings: Settings) -> Found:
        """Return a ball whose lower end is at most the largest divergence found, and where."""

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return an estimate of the eps at which it is delta."""


@dataclass(frozen=True)
class Party:
    """One victim and pair of inputs: the bound from above, and data sets from below."""

    above: Side
    below: _Below
    top: float
    described: Callable[[], dict[str, Any]]
    counted: Callable[[Level], arb | None] = lambda _: None

    def delta(self, level: Level, settings: Settings) -> tuple[float, float, DataSets | None]:
        """Return (upper, lower, data set)."""
        low = self.below.found(level, settings)
        return float_above(self.most(level, settings).value), max(float_below(low.value), 0.0), low.name

    def epsilon(self, target: fmpq, settings: Settings, least: float) -> tuple[float, float, DataSets | None]:
        """Return (upper, lower, data set); a party that is private at ``least`` has no larger upper end."""
        upper = least if least > 0.0 and self.is_private(least, target, settings) else self._upper(target, settings)
        return upper, *self._lower(target, upper, settings)

    def _upper(self, target: fmpq, settings: Settings) -> float:
        if self.is_private(0.0, target, _ROUGH):
            return 0.0
        shift = 0.05 * settings.gap
        guess = _guess(self.above, log_of(target), settings, self.top, counted=self.counted)
        for _ in range(_STEPS):
            eps = min(nextafter(guess * (1.0 + shift), inf), self.top)
            if eps >= self.top or self.is_private(eps, target, settings):
                return eps
            shift *= 3.0
        return self.top

    def is_private(self, eps: float, target: fmpq, settings: Settings) -> bool:
        """Return whether the divergence at a double is proved to be at most delta."""
        return bool(self.most(Level.of_float(eps), settings).value <= ball_of(target))

    def most(self, level: Level, settings: Settings) -> Found:
        """Return a number that is at least the divergence."""
        with at_precision(BITS):
            mean = self.counted(level)
            if mean is not None:
                told: dict[str, Any] = {"evaluator": "mean over counts", "plan": None}
                return Found(mean.upper(), evidence=lambda: self.described() | told)
        groups, divisor, rest = self.above(level)
        found = enclose_groups(groups, settings) if groups else Enclosure(arb(0), arb(0), "no positive value", BITS)
        with at_precision(BITS):
            value = (found.upper.upper() / divisor() + rest()).upper()
        return Found(value, precision=found.precision, evidence=lambda: self.described() | evaluation(found))

    def _lower(self, target: fmpq, upper: float, settings: Settings) -> tuple[float, DataSets | None]:
        """Return an eps below the guess at which some data set is certified to have more than delta."""
        guess = self.below.guess(log_of(target), settings, upper) if upper else 0.0
        if guess >= upper > 0.0:  # a root next to the upper end: nothing may be proved there
            above = self.below.found(Level.of_float(upper), settings)
            if above.value > ball_of(target):
                told = f"eps <= {upper!r} and eps > {upper!r}"
                raise ContradictionError(f"{self.described()}, delta = {target}", told, f"{above.name}")
            guess = upper
        shift = 0.05 * settings.gap
        while guess > 0.0 and shift < 1.0:
            eps = nextafter(guess * (1.0 - shift), -inf)
            low = self.below.found(Level.of_float(eps), settings)
            if low.value > ball_of(target):
                return eps, low.name
            # Where half is missing a kernel says little, and nothing that is near will do.
            shift *= 3.0 if 2 * low.value > ball_of(target) else _FAR_OFF
        return 0.0, None


def _guess(
    side: Side,
    log_delta: float,
    settings: Settings,
    top: float,
    start: float | None = None,
    counted: Callable[[Level], arb | None] = lambda _: None,
) -> float:
    """Return an estimate of the eps at which a side, or the mean over counts where there is one, is delta."""

    kernel_tells = True

    def sharp(groups: list[Group]) -> float:
        nonlocal kernel_tells
        found = estimate_log_groups(groups, settings) if kernel_tells else None
        # One kind of estimate for all that follow: a search would run after the difference.
        kernel_tells = found is not None
        return approximate_log_groups(groups) if found is None else found

    def log_at(eps: float, estimate: Callable[[list[Group]], float]) -> float:
        level = Level.of_float(max(eps, 0.0))
        groups, divisor, rest = side(level)
        with at_precision(BITS):
            mean = counted(level)
            if mean is not None:
                return float(mean.mid().log()) if mean.mid() > 0 else -inf
            alone, by = rest(), divisor()
            value = estimate(groups) if groups else -inf
            whole = (arb(value).exp() / by if value > -1e300 else arb(0)) + alone
            return float(whole.mid().log()) if whole.mid() > 0 else -inf

    return estimate_root(
        lambda eps: log_at(eps, sharp),
        lambda eps: log_at(eps, approximate_log_groups),
        _MANY,
        log_delta,
        settings,
        top if start is None else 2.0 * top,
        None if start is None else start,
        _ACCURACY * settings.gap,
    )


@dataclass(frozen=True)
class _Positions:
    """Data shuffled: data sets whose divergence is a sum over positions."""

    n: int
    known: tuple[tuple[DataSets, Positions], ...]

    def found(self, level: Level, settings: Settings) -> Found:
        """Return the divergence of the data sets that are the worst."""
        if not self.known:
            return Found(arb(0))
        name, positions = self._worst(level)
        found = enclose_groups(positions(level), settings)
        return Found(found.lower / self.n, name, found.precision, lambda: positions_data(positions) | evaluation(found))

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return the root for the data sets that are the worst at ``top``."""
        if not self.known:
            return 0.0
        positions = self._worst(Level.of_float(nextafter(top, 0.0)))[1]
        return _guess(self._side(positions), log_delta, settings, top, top)

    def _worst(self, level: Level) -> tuple[DataSets, Positions]:
        return max(self.known, key=lambda found: approximate_log_groups(found[1](level)))

    def _side(self, positions: Positions) -> Side:
        return lambda level: (positions(level), lambda: arb(self.n), lambda: arb(0))


@dataclass(frozen=True)
class _Thresholds:
    """Messages shuffled: a threshold for the sum of signs of messages when all others hold one input."""

    victim: Victim

    def found(self, level: Level, settings: Settings) -> Found:
        """Return the divergence of the best test."""
        best = max(self._tests(level), key=lambda test: test.walk.log_estimate(level), default=None)
        plan = None if best is None else best.walk.plan(level)
        if best is None or plan is None:
            return Found(arb(0))
        return Found(best.walk.below(level), best.name, plan.bits, lambda: self._evidence(best, plan))

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return the root by bisection, in doubles, for the data set and sum that are worst near ``top``."""
        level = Level.of_float(0.9 * top)
        scores = [test.walk.log_estimate(level) for test in self._tests(level)]
        best = max(range(len(scores)), key=scores.__getitem__, default=0)

        def above(eps: float) -> bool:
            level = Level.of_float(eps)
            tests = self._tests(level)
            return bool(tests) and tests[min(best, len(tests) - 1)].walk.log_estimate(level) > log_delta

        low, high = 0.9 * top, top
        if not above(low):
            low, high = 0.0, low
        if low == 0.0 and not above(low):
            return 0.0
        close = max(min(1e-7, 0.05 * settings.gap), 1e-15)
        while high - low > close * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if above(middle) else (low, middle)
        return low

    def _tests(self, level: Level) -> list[StepTest]:
        with at_precision(BITS):
            return list(self.victim.tests(level))

    def _evidence(self, test: StepTest, plan: StepPlan) -> dict[str, Any]:
        v = self.victim
        own = [[expression_text(c.size * x.expr) for x in (c.on_x0, c.on_x1)] for c in v.columns[v.group]]
        return {
            **victim_data(v),
            "own": own,
            "others": [[expression_text(c.sums[test.other].expr) for c in columns] for columns in v.columns],
            "signs": [(i in test.up) - (i in test.down) for i in range(len(own))],
            "evaluator": "steps",
            "plan": {
                "threshold": plan.threshold,
                "theta": exact_double(plan.tilt),
                "N": plan.nodes,
                "last": plan.last,
            },
        }


def parties(crowd: Crowd, wanted: Sequence[int]) -> dict[int, list[Party]]:
    """Return the victims of these groups, with every pair of inputs; one for all where data are shuffled."""
    if crowd.shuffled == DATA:
        top = max(log_above(subject.local_ratio()) for _, subject in crowd.groups)
        return {wanted[0]: [_data_party(crowd, top)]}
    found: dict[int, list[Party]] = {i: [] for i in wanted}
    for v in victims(crowd):
        if v.group in found:
            found[v.group].append(_message_party(v, log_above(crowd.groups[v.group][1].local_ratio())))
    return found


def _data_party(crowd: Crowd, top: float) -> Party:
    positions, n = positions_above(crowd), crowd.n
    below = _Positions(n, tuple(positions_below(crowd)))

    def above(level: Level) -> tuple[list[Group], Callable[[], arb], Callable[[], arb]]:
        return positions(level), lambda: arb(n), lambda: arb(0)

    return Party(above, below, top, lambda: positions_data(positions))


def _message_party(v: Victim, top: float) -> Party:
    described, counted = lambda: victim_data(v) | columns_data(v), lambda level: mean_of_counts(v, level)
    return Party(lambda level: v.sides(level, True), _Thresholds(v), top, described, counted)
