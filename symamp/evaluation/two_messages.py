"""Reports of two messages: the largest divergence over all data sets, by boxes of counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, log, log1p

from flint import arb

from symamp.evaluation.counts_plan import Box, CountPlan, CountsEvidence
from symamp.evaluation.divergence import Enclosure, Settings, starting_precision
from symamp.evaluation.law import Level, Number
from symamp.evaluation.two_binomials import FloatCounts, Group, Victim, enclosed_divergence
from symamp.evaluation.two_messages_spread import Range, spread_bound
from symamp.numbers.surroundings import at_precision

EVALUATOR = "counts of messages"
BOX_GAP = 5e-5
"""Relative accuracy in delta of the boxes: what a box may lie above the largest divergence found."""
_MOST_BOXES = 1000
_EVALUATION_GAP = 1e-9
_NEAR, _GRID, _FEW = 8, 16, 64
Counts = tuple[int, int]
"""How many of the other users send the message 1 with the largest, and with the least probability."""


@dataclass(frozen=True)
class TwoMessages:
    """P(message 1) under x0, under x1, and the largest and the least of all inputs; the first is above the second."""

    first: Number
    second: Number
    most: Number
    least: Number

    def victim(self, level: Level) -> Victim:
        """Return P0(1) - E P1(1) and E - 1 in balls."""
        minus_one, second = level.exponential_minus_one(), self.second()
        return Victim(self.first() - second - minus_one * second, minus_one)

    def groups(self, counts: Counts) -> list[Group]:
        """Return the other users in balls."""
        return [Group(p(), users) for p, users in zip((self.most, self.least), counts, strict=True) if users]


@dataclass(frozen=True)
class CountsEnclosure(Enclosure):
    """Balls around the divergence of reports of two messages, and what they can be recomputed from."""

    evidence: CountsEvidence | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TwoMessagesEnclosure(CountsEnclosure):
    """Balls around the largest divergence over all data sets: one data set below, boxes that cover all above."""

    counts: Counts = (0, 0)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """The boxes, which cover all data sets."""
        return () if self.evidence is None else self.evidence.boxes


def enclose_two_messages(
    reports: TwoMessages, level: Level, n: int, settings: Settings | None = None
) -> TwoMessagesEnclosure:
    """Return an enclosure of the largest divergence over all data sets of the other n - 1 users, for this pair.

    Guarantee
    ---------
    For every choice of inputs of the others D_E is at most ``upper.upper()``; for the data set with ``counts`` of them
    at the inputs with the largest and the least probability of the message 1 it is at least ``lower.lower()``.
    Proof: docs/proofs/two_messages.md.
    """
    bits = starting_precision(n, (settings or Settings()).gap) + 32
    with at_precision(bits):
        victim = reports.victim(level)
        if not victim.gain > 0:
            return TwoMessagesEnclosure(arb(0), victim.gain.max(arb(0)), "no positive value", bits)
        search = _Search.of(reports, level, n)
        if not search.floats.gain > 0.0:  # doubles do not see it
            return TwoMessagesEnclosure(arb(0), victim.gain, "one user", bits)
        counts, _ = search.best
        planned = search.floats.planned(counts, _EVALUATION_GAP)
        lower, _ = enclosed_divergence(victim, reports.groups(counts), planned[0])
        cover = _Cover(reports, victim, search, n)
        evidence = CountsEvidence(tuple(cover.boxes))
        return TwoMessagesEnclosure(lower, cover.upper, EVALUATOR, bits, counts=counts, evidence=evidence)


def enclose_counts(reports: TwoMessages, level: Level, n: int, counts: Counts) -> Enclosure:
    """Return an enclosure of the divergence of one data set: so many of the others at either probability.

    Guarantee
    ---------
    The divergence lies between the outer ends. Proof: docs/proofs/two_messages.md.
    """
    bits = starting_precision(n, _EVALUATION_GAP) + 32
    with at_precision(bits):
        victim = reports.victim(level)
        if not victim.gain > 0:
            return Enclosure(arb(0), victim.gain.max(arb(0)), "no positive value", bits)
        floats = _Search.of(reports, level, n).floats
        if not floats.gain > 0.0:
            return Enclosure(arb(0), victim.gain, "one user", bits)
        plan, _ = floats.planned(counts, _EVALUATION_GAP)
        evidence = CountsEvidence((Box(counts[0], counts[0], plan),), counts)
        ends = enclosed_divergence(victim, reports.groups(counts), plan)
        return CountsEnclosure(*ends, EVALUATOR, bits, evidence=evidence)


def worst_counts(reports: TwoMessages, level: Level, n: int) -> tuple[Counts, float]:
    """Return the counts with the largest divergence found, and an estimate of its logarithm; -inf for zero."""
    return _Search.of(reports, level, n).best


def log_divergence_of_counts(reports: TwoMessages, level: Level, counts: Counts) -> float:
    """Return an estimate of the logarithm of the divergence of one data set; -inf for zero. Not a bound."""
    return _Search.of(reports, level, sum(counts) + 1).at(counts)


class _Search:
    """The divergence of every composition of n - 1 users, in floats, and what is searched among them."""

    def __init__(self, floats: FloatCounts, n: int) -> None:
        self.floats, self._others = floats, n - 1
        self._value = lru_cache(maxsize=None)(self.at)
        self._best: tuple[Counts, float] | None = None

    @staticmethod
    def of(reports: TwoMessages, level: Level, n: int) -> _Search:
        with at_precision(128):
            victim = reports.victim(level)
            ones = [reports.most(), reports.least()]
            gain = float(victim.gain) if victim.gain > 0 else 0.0
            zeros = [float(1 - p) for p in ones]
            return _Search(FloatCounts(gain, float(victim.minus_one), [float(p) for p in ones], zeros), n)

    def at(self, counts: Counts) -> float:
        """Return an estimate of log D; -inf for zero, that of one user where doubles do not see more."""
        if not self.floats.gain > 0.0:
            return -inf
        value = self.floats.log_divergence(counts)
        return value if value > -inf else log(self.floats.gain)

    @property
    def best(self) -> tuple[Counts, float]:
        """The best composition found: a grid, then steps that halve, then its neighbours."""
        if self._best is None:
            m = self._others
            some = {c for i in range(_NEAR) for c in (i, m - i)} | {m * i // _GRID for i in range(_GRID + 1)}
            some |= set(range(m + 1 if m <= _FEW else 0))
            c = max((x for x in some if 0 <= x <= m), key=self._of)
            step = m // _GRID
            while step:
                c, before = max((x for x in (c - step, c, c + step) if 0 <= x <= m), key=self._of), c
                step = step if c != before and step > 1 else step // 2
            c = max(range(max(c - _NEAR, 0), min(c + _NEAR, m) + 1), key=self._of)
            self._best = (c, m - c), self._of(c)
        return self._best

    def _of(self, c: int) -> float:
        return self._value((c, self._others - c))


class _Cover:
    """Boxes that cover all compositions, halved until their bounds are about the largest divergence found."""

    def __init__(self, reports: TwoMessages, victim: Victim, search: _Search, n: int) -> None:
        self._reports, self._victim, self._search, self._others = reports, victim, search, n - 1
        self._log_goal = search.best[1] + log1p(BOX_GAP)
        self._goal = arb(self._log_goal).exp()
        self.boxes: list[Box] = []
        self.upper = arb(0)
        todo = [(0, n - 1)]
        while todo:
            first, last = todo.pop()
            if not self._settled(first, last, len(self.boxes) + len(todo) >= _MOST_BOXES):
                middle = (first + last) // 2
                todo += [(first, middle), (middle + 1, last)]

    def _settled(self, first: int, last: int, anyhow: bool) -> bool:
        """Whether a bound on these compositions is small enough, or is taken anyhow."""
        common = first, self._others - last
        plan, log_value = self._search.floats.planned(common, _EVALUATION_GAP)
        if first == last or log_value <= self._log_goal:
            self._take(Box(first, last, plan), self._removed(common, plan))
            return True
        middle = (first + last) // 2
        plan, log_value = self._search.floats.planned((middle, self._others - middle), _EVALUATION_GAP)
        if log_value <= self._log_goal:
            ones = self._reports.most(), self._reports.least()
            value = spread_bound(self._victim, ones, Range(first, last, self._others), plan)
            if anyhow or value <= self._goal:
                self._take(Box(first, last, plan, spread=True), value)
                return True
        if anyhow:
            self._take(Box(first, last, plan), self._removed(common, plan))
        return anyhow

    def _removed(self, common: Counts, plan: CountPlan) -> arb:
        return enclosed_divergence(self._victim, self._reports.groups(common), plan)[1]

    def _take(self, box: Box, value: arb) -> None:
        self.boxes.append(box)
        self.upper = self.upper.max(value.upper() if value.is_finite() else self._victim.gain)
