"""Reports of two messages: the largest divergence over all data sets, by boxes of counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import expm1, inf, log, log1p

import flint
from flint import arb

from symamp.evaluation.divergence import Enclosure, Settings, starting_precision
from symamp.evaluation.law import Level, Number
from symamp.evaluation.two_binomials import CountPlan, FloatCounts, Group, Victim, enclosed_divergence

BOX_GAP = 5e-5
"""Relative accuracy in delta of the boxes: what a box may lie above the largest divergence found."""
_MOST_BOXES = 400
_EVALUATION_GAP = 1e-9
_NEAR, _GRID = 8, 16
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
class Box:
    """The data sets with ``first`` to ``last`` of the other users at the largest probability, all others at the least.

    ``plan`` evaluates the data set of all users that these have in common; none of them has a larger divergence.
    """

    first: int
    last: int
    plan: CountPlan


@dataclass(frozen=True)
class TwoMessagesEnclosure(Enclosure):
    """Balls around the largest divergence over all data sets: one data set below, boxes that cover all above."""

    counts: Counts = (0, 0)
    boxes: tuple[Box, ...] = field(default=(), repr=False)


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
    with flint.ctx.workprec(bits):
        victim = reports.victim(level)
        if not victim.gain > 0:
            return TwoMessagesEnclosure(arb(0), victim.gain.max(arb(0)), "no positive value", bits)
        search = _Search.of(reports, level, n)
        counts, log_best = search.best
        planned = search.floats.planned(counts, _EVALUATION_GAP)
        lower, _ = enclosed_divergence(victim, reports.groups(counts), planned[0])
        upper, boxes = arb(0), tuple(search.boxes(log_best))
        for box in boxes:
            common = reports.groups((box.first, n - 1 - box.last))
            upper = upper.max(enclosed_divergence(victim, common, box.plan)[1])
        return TwoMessagesEnclosure(lower, upper, "boxes of counts", bits, counts=counts, boxes=boxes)


def enclose_counts(reports: TwoMessages, level: Level, n: int, counts: Counts) -> Enclosure:
    """Return an enclosure of the divergence of one data set: so many of the others at either probability.

    Guarantee
    ---------
    The divergence lies between the outer ends. Proof: docs/proofs/two_messages.md.
    """
    bits = starting_precision(n, _EVALUATION_GAP) + 32
    with flint.ctx.workprec(bits):
        victim = reports.victim(level)
        if not victim.gain > 0:
            return Enclosure(arb(0), victim.gain.max(arb(0)), "no positive value", bits)
        plan, _ = _Search.of(reports, level, n).floats.planned(counts, _EVALUATION_GAP)
        return Enclosure(*enclosed_divergence(victim, reports.groups(counts), plan), "sum of two binomials", bits)


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
        with flint.ctx.workprec(128):
            victim = reports.victim(level)
            ones = [reports.most(), reports.least()]
            gain = float(victim.gain) if victim.gain > 0 else 0.0
            zeros = [float(1 - p) for p in ones]
            return _Search(FloatCounts(gain, float(victim.minus_one), [float(p) for p in ones], zeros), n)

    def at(self, counts: Counts) -> float:
        """Return an estimate of log D; -inf for zero."""
        return self.floats.log_divergence(counts) if self.floats.gain > 0.0 else -inf

    @property
    def best(self) -> tuple[Counts, float]:
        """The best composition found: a grid, then steps that halve, then its neighbours."""
        if self._best is None:
            m = self._others
            some = {c for i in range(_NEAR) for c in (i, m - i)} | {m * i // _GRID for i in range(_GRID + 1)}
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

    def boxes(self, log_best: float) -> Iterator[Box]:
        """Yield boxes that cover all compositions, each as long as its common users allow."""
        c, m, goal, length = 0, self._others, log_best + log1p(self._gap(log_best)), 1
        while c <= m:
            length = self._longest(c, length, goal)
            last = min(c + length - 1, m)
            yield Box(c, last, self.floats.planned((c, m - last), _EVALUATION_GAP)[0])
            c = last + 1

    def _longest(self, c: int, guess: int, goal: float) -> int:
        """Return about the largest length of a box from c on whose common users stay below the goal; at least 1."""
        m = self._others

        def fits(length: int) -> bool:
            return length == 1 or self.at((c, max(m - c - length + 1, 0))) <= goal

        low, high = 0, guess
        while fits(high):
            if c + high > m:
                return high
            low, high = high, 2 * high
        while high > 1 and high > 1.15 * low:
            middle = low + (high - low + 1) // 2 if low else (high + 1) // 2
            if middle == high:
                break
            low, high = (middle, high) if fits(middle) else (low, middle)
        return max(low, 1)

    def _gap(self, log_best: float) -> float:
        """Return the least gap, from that wanted on, for which the boxes are not too many by an estimate."""
        m, gap, most = self._others, BOX_GAP, _MOST_BOXES
        if m <= most:
            return expm1(1e-12)
        points = [(m * i // _GRID, m * (i + 1) // _GRID) for i in range(_GRID)]
        losses = [self.at((a, m - b)) - self._of(a) for a, b in points]  # of so many users
        drops = [tuple(max(log_best - self._of(c), 0.0) for c in ends) for ends in points]
        while sum(loss * _mean_inverse(a + gap, b + gap) for loss, (a, b) in zip(losses, drops, strict=True)) > most:
            gap *= 2.0
        return gap


def _mean_inverse(a: float, b: float) -> float:
    """Return the mean of 1/x between two positive numbers."""
    return log(b / a) / (b - a) if abs(b - a) > 1e-6 * a else 1.0 / a
