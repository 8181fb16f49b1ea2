"""Reports of two messages: the largest divergence over all data sets, by boxes of counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from math import inf, log1p

from flint import acb, acb_mat, arb

from symamp.laws.law import Level, Number, total
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Enclosure, Settings, starting_precision
from symamp.sums.step_sums import FloatVictim, StepPlan, Steps, StepSum

EVALUATOR = "counts of messages"
Counts = tuple[int, int]
"""How many of the other users send the message 1 with the largest, and with the least probability."""
# What is tuned: every plan and every cover by boxes gives a bound; these trade time against width. Rules of thumb.
_ROOM, _ROOM_OF_BOX = 30.0, 16.0
"""By how much, in logarithms, what is left out is below the divergence: of one data set, and of a box."""
_GAP, _SHARE_OF_GAP, _MOST_BOXES = 2e-4, 0.9, 300
"""How far above the largest divergence found a box may lie, relatively, or what part of the gap that is asked for; and
how many there are before wider ones are taken."""
_PIECES, _NARROWER, _LEAST = 12, 8, -690.0
"""Into so many pieces the thresholds within 1 of the tilted mean are cut; how much narrower a box is tried at most; the
logarithm of the smallest gain that doubles see."""
_MOST_THRESHOLDS = 8
"""A ball around the mean that has more says nothing."""
_NEIGHBOURS, _GRID, _MOST_LISTED = 4, 8, 64
"""Compositions tried for the largest divergence: so many beside either end and beside the best, a grid of so many
steps, and all of them where there are few."""


@dataclass(frozen=True)
class Box:
    """The data sets with ``first`` to ``last`` of the other users at the largest probability, all others at the least.

    ``plan`` evaluates the data set of all users that these have in common, or the spread bound.
    """

    first: int
    last: int
    plan: StepPlan
    spread: bool = False


@dataclass(frozen=True)
class CountsEvidence:
    """Boxes that cover all data sets."""

    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class TwoMessages:
    """P(message 1) under x0, under x1, and the largest and the least of all inputs; the first is above the second."""

    first: Number
    second: Number
    most: Number
    least: Number

    def gain(self, level: Level) -> arb:
        """Return P0(1) - E P1(1): the divergence of one user."""
        second = self.second()
        return self.first() - second - level.exponential_minus_one() * second

    def sum(self, counts: Counts) -> StepSum:
        """Return the number of messages 1 for a data set."""
        others = [Steps({1: p()}, users) for p, users in zip((self.most, self.least), counts, strict=True) if users]
        return StepSum(Steps({1: self.first()}), Steps({1: self.second()}), tuple(others))

    def enclosed(self, level: Level, counts: Counts, plan: StepPlan | None) -> tuple[arb, arb]:
        """Return bounds on the divergence of a data set: at all thresholds that may be the best.

        Guarantee
        ---------
        The divergence lies between the two. Proof: docs/proofs/two_messages.md.
        """
        gain, more = self.gain(level), level.exponential_minus_one()
        mean = total([w * c for w, c in zip(self._own(gain, more), counts, strict=True)])
        if plan is None or not mean.is_finite():
            return arb(0), gain
        # The best threshold is one more than a mode of a sum of Bernoulli variables, within 1 of its mean.
        ends = (int(x.floor().unique_fmpz()) + 1 for x in (mean.lower(), (mean + 1).upper()))
        first, last = (min(max(k, 1), sum(counts) + 1) for k in ends)
        if last - first > _MOST_THRESHOLDS:
            return arb(0), gain
        values = self.sum(counts).enclosed(plan, arb(1), 1 + more, range(first, last + 1))
        if not all(low.is_finite() and high.is_finite() for low, high in values):
            return arb(0), gain
        low, high = (reduce(arb.max, row) for row in zip(*values, strict=True))
        return low.max(arb(0)), high.max(arb(0)).min(gain)

    def _own(self, gain: arb, more: arb) -> list[arb]:
        """Return the probabilities of a message 1 under the tilt at which the best threshold is about the mean."""
        return [p / (p + (1 - p) * gain / (gain + more)) for p in (self.most(), self.least())]

    def spread(self, level: Level, first: int, last: int, users: int, plan: StepPlan) -> arb:
        """Return a bound on the divergence of all data sets with ``first`` to ``last`` of the users at the most.

        Their number stays: what changes along the box is bounded by a derivative. The plan's threshold is not used.

        Guarantee
        ---------
        The upper end is at least D for every composition, for every plan with a tilt above 0.
        Proof: docs/proofs/two_messages.md.
        """
        gain, more, theta, length = self.gain(level), level.exponential_minus_one(), arb(plan.theta), last - first
        ones, own, shrunk = (self.most(), self.least()), self._own(gain, more), (-theta).exp()
        slope, shares = own[0] - own[1], [p / (p + (1 - p) * shrunk) for p in ones]
        cumulants = [(1 + p * theta.expm1()).log() for p in ones]
        drift = cumulants[0] - cumulants[1] - slope * theta
        middle = first * own[0] + (users - first) * own[1]
        # Rows: the sum at either end of the box, its derivative along the box, and in the threshold; columns:
        # thresholds within 1 of the mean. x goes from 0 to the length, y from -half to half about each.
        half, along, anywhere = arb(1) / _PIECES, arb(length) / 2, arb(0, 1)
        terms, powers = list[list[acb]](), list[list[acb]]()
        for j in range(plan.last + 1):
            u = 2 * arb.pi() * j / plan.nodes
            s, turn = acb(theta, u), acb(0, u).exp() - 1
            logs = [(1 + w * turn).log() for w in shares]
            rate = logs[0] - logs[1] + drift - acb(0, slope * u)
            term = (first * logs[0] + (users - first) * logs[1] - acb(0, middle * u)).exp()
            term *= (gain - more / (s.exp() - 1)) * (1 if j == 0 or 2 * j == plan.nodes else 2)
            all_x = (rate * (along + along * anywhere) + s * (half * anywhere)).exp()
            terms.append([term, term * (rate * length).exp(), term * all_x * rate, term * all_x * s])
            powers.append([(s * (1 - (2 * i + 1) * half)).exp() for i in range(_PIECES)])
        largest = arb(0)
        for column in (acb_mat(terms).transpose() * acb_mat(powers)).transpose().tolist():
            here, there, steep, turned = (x.real for x in column)
            from_left = here.upper() + length * steep.upper().max(arb(0))
            from_right = there.upper() + length * (-steep).upper().max(arb(0))
            largest = largest.max(from_left.min(from_right) + half * abs(turned).upper())
        # Bounds for all compositions and thresholds: logarithms are linear in the composition.
        scale = (first * cumulants[0] + (users - first) * cumulants[1] - middle * theta).exp() / plan.nodes
        most, fall = scale * (1 + (length * drift).exp()) * theta.exp() * plan.nodes, arb(0)
        if 2 * plan.last + 1 < plan.nodes:
            fall = 1 - (2 * arb.pi() * (plan.last + 1) / plan.nodes).cos()
        left = wide = arb(0)
        for count in (first, last):
            counts = count, users - count
            spread, grown, mean = (
                total([c * x for c, x in zip(counts, row, strict=True)])
                for row in ([w * (1 - w) for w in shares], [(1 + p * (2 * theta).expm1()).log() for p in ones], own)
            )
            left = left.max(most * (-spread * fall).exp() if fall > 0 else arb(0))
            wide = wide.max((grown - 2 * theta * (mean - 1)).exp())
        left *= gain + more / theta.expm1()
        return scale * largest + left + (gain + more) * (1 + wide) / (theta * plan.nodes).expm1()


def enclose_two_messages(reports: TwoMessages, level: Level, n: int, settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of the largest divergence over all data sets of the other n - 1 users, for this pair.

    Guarantee
    ---------
    For every choice of inputs of the others D_E is at most ``upper.upper()``; for the worst data set that is found
    it is at least ``lower.lower()``. The evidence has boxes that cover all data sets.
    Proof: docs/proofs/two_messages.md.
    """
    search = Search.of(reports, level, n)
    found = enclose_counts(reports, level, n, search.best[0])
    if found.evidence is None:
        return found
    boxes, upper = list[Box](), arb(0)
    with at_precision(found.precision):
        for box, value in search.cover(max(_GAP, _SHARE_OF_GAP * (settings or Settings()).gap)):
            boxes.append(box)
            upper = upper.max(value.upper() if value.is_finite() else reports.gain(level))
        return replace(found, upper=upper, evidence=CountsEvidence(tuple(boxes)))


def enclose_counts(reports: TwoMessages, level: Level, n: int, counts: Counts) -> Enclosure:
    """Return an enclosure of the divergence of one data set: so many of the others at either probability.

    Guarantee
    ---------
    The divergence lies between the outer ends. Proof: docs/proofs/two_messages.md.
    """
    bits = starting_precision(n, _GAP) + 32
    with at_precision(bits):
        gain = reports.gain(level)
        if not gain > 0:
            return Enclosure(arb(0), gain.max(arb(0)), "no positive value", bits)
        plan = Search.of(reports, level, n).plan(counts, _ROOM)
        if plan is None:  # doubles do not see it
            return Enclosure(arb(0), gain, "one user", bits)
    with at_precision(max(bits, plan.bits)):
        low, high = reports.enclosed(level, counts, plan)
        return Enclosure(low, high, EVALUATOR, max(bits, plan.bits), evidence=plan)


class Search:
    """The divergence of every composition of n - 1 users, in doubles, and what is searched among them."""

    def __init__(self, reports: TwoMessages, level: Level, n: int) -> None:
        self._reports, self._level, self._others = reports, level, n - 1
        with at_precision(128):
            gain, both = reports.gain(level), reports.sum((1, 1))
            self._log_gain = float(gain.log()) if gain > 0 else -inf
            self._victim = FloatVictim.of(both.on_x0, both.on_x1, level)
            self._laws = [s.floats[0] for s in both.others]
        self.plan = lru_cache(maxsize=None)(self._plan)

    @staticmethod
    @lru_cache(maxsize=64)
    def of(reports: TwoMessages, level: Level, n: int) -> Search:
        """Return the search, which is kept."""
        return Search(reports, level, n)

    def _plan(self, counts: Counts, room: float = _ROOM_OF_BOX) -> StepPlan | None:
        """Return a plan for a data set; None where doubles do not see a divergence."""
        if not self._log_gain > _LEAST:
            return None
        return self._victim.plan(list(zip(self._laws, counts, strict=True)), room)

    def at(self, counts: Counts) -> float:
        """Return an estimate of log D of a data set; -inf for zero, that of one user where doubles see no more."""
        found = self.plan(counts)
        return self._log_gain if found is None else found.log_value

    @cached_property
    def best(self) -> tuple[Counts, float]:
        """The counts with the largest divergence found, and log D: a grid, then ever smaller steps, then neighbours."""
        m = self._others
        some = {c for i in range(_NEIGHBOURS) for c in (i, m - i)} | {m * i // _GRID for i in range(_GRID + 1)}
        some |= set(range(m + 1 if m <= _MOST_LISTED else 0))
        c = max((x for x in some if 0 <= x <= m), key=self._of)
        step = m // _GRID
        while step:
            c, before = max((x for x in (c - step, c, c + step) if 0 <= x <= m), key=self._of), c
            step = step if c != before and step > 1 else step // 4
        c = max(range(max(c - _NEIGHBOURS, 0), min(c + _NEIGHBOURS, m) + 1), key=self._of)
        return (c, m - c), self._of(c)

    def _of(self, c: int) -> float:
        return self.at((c, self._others - c))

    def cover(self, gap: float) -> Iterator[tuple[Box, arb]]:
        """Yield boxes that cover all compositions, with bounds that are about the largest divergence found, or near."""
        goal = self.best[1] + log1p(gap)
        first, width, count = 0, self._others, 0
        while first <= self._others:
            last = min(first + width, self._others)
            common, middle = (first, self._others - last), (first + last) // 2
            if width > 0 and self.at(common) > goal:
                plan = self.plan((middle, self._others - middle))
                assert plan is not None
                value = self._reports.spread(self._level, first, last, self._others, plan)
                excess = (float(value.log()) if value.is_finite() and value > 0 else inf) - goal
                if excess <= 0.0 or (count >= _MOST_BOXES and value.is_finite()):
                    yield Box(first, last, plan, spread=True), value
                else:
                    width = int(width * max(min(0.5, gap / (gap + excess)), 1.0 / _NARROWER))
                    continue
            else:
                plan = self.plan(common)
                assert plan is not None
                yield Box(first, last, plan), self._reports.enclosed(self._level, common, plan)[1]
            first, width, count = last + 1, width * 3 // 2 + 1, count + 1
