"""The data sets of users who differ: sums over positions where data are shuffled, sums of signs where messages are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import ClassVar

import sympy as sp
from flint import arb

from symamp.bounds.bound import DataSetBound, DataSets
from symamp.data_sets.proposer import DataSpace, Pair
from symamp.decompositions.blanket import Weights
from symamp.laws.law import Level
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.mechanism import DATA
from symamp.settings.users_who_differ import HeterogeneousUsers, Positions, StepTest, Victim, positions_below
from symamp.settings.victims import BITS, MANY, STEPS, GroupSum, OfVictims, Sides, Victims, columns_of
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import estimate_root


class VictimSpace(DataSpace):
    """The data sets in which the data of some victims differ, and all others hold one input."""

    def __init__(self, victims: Victims) -> None:
        self._victims = victims

    @property
    def pairs(self) -> Sequence[Pair]:
        """All pairs of inputs; those of shuffled data come with what the others hold."""
        crowd, group = self._victims.crowd, self._victims.group
        return [("", "")] if crowd.shuffled == DATA else [pair for g, pair in columns_of(crowd) if g == group]

    def others(self, pair: Pair) -> Sequence[str]:
        """Return all inputs, or the places of the data sets that are known."""
        crowd = self._victims.crowd
        if crowd.shuffled == DATA:
            return [str(i) for i in range(max(len(_data_sets(crowd)), 1))]
        return columns_of(crowd)[self._victims.group, pair].others

    def drawn(self, pair: Pair, weights: Weights) -> DataSetBound | None:
        """Return the data sets in which all others hold one input; nothing is known of mixtures."""
        if len(weights) > 1:
            return None
        place = self.others(pair).index(weights[0][0])
        if self._victims.crowd.shuffled == DATA:
            return DataOfPositions(self._victims, place)
        return StepSums(self._victims, pair, place)


@lru_cache(maxsize=16)
def _data_sets(crowd: HeterogeneousUsers) -> tuple[tuple[DataSets, Positions], ...]:
    return tuple(positions_below(crowd))


@dataclass(frozen=True)
class DataOfPositions(GroupSum):
    """The ``place``-th of the data sets whose divergence is a sum over positions; 0 if there is none."""

    place: int

    dataset: ClassVar[tuple[tuple[str, sp.Rational], ...]] = ()
    member: ClassVar[str] = ""

    @property
    def data_sets(self) -> DataSets | None:
        """The data sets."""
        return _data_sets(self.crowd)[self.place][0] if _data_sets(self.crowd) else None

    @property
    def positions(self) -> Positions | None:
        """The laws of the positions."""
        return _data_sets(self.crowd)[self.place][1] if _data_sets(self.crowd) else None

    def sides(self, level: Level) -> Sides:
        """Return the positions, which are all users."""
        return self.positions(level) if self.positions else (), lambda: arb(self.crowd.n), lambda: arb(0)


@dataclass(frozen=True)
class StepSums(OfVictims):
    """Messages shuffled: a threshold for the sum of signs of messages, when all others hold one input."""

    compared: tuple[str, str]
    other: int

    dataset: ClassVar[tuple[tuple[str, sp.Rational], ...]] = ()
    member: ClassVar[str] = ""

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs that is compared."""
        return self.compared

    @property
    def victim(self) -> Victim:
        """The columns of all mechanisms."""
        return columns_of(self.crowd)[self.victims.group, self.compared]

    @property
    def data_sets(self) -> DataSets:
        """The data sets."""
        return DataSets(*self.compared, ((self.victim.others[self.other], "1"),))

    def test(self, level: Level) -> StepTest | None:
        """Return the sum over messages that tells most at a level, None if none does."""
        with at_precision(BITS):
            tests = [t for t in self.victim.tests(level) if t.other == self.other]
        best = max(tests, key=lambda test: test.walk.log_estimate(level), default=None)
        return None if best is None or best.walk.plan(level) is None else best

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the divergence of the best sum; -inf for zero. Not a bound."""
        found = self.test(level)
        return -inf if found is None else found.walk.log_estimate(level)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which it is delta: 0 if it is smaller at 0."""

        def value(eps: float) -> float:
            return self.log_estimate(Level.of_float(max(eps, 0.0)), n, settings)

        close = max(min(1e-7, 0.05 * settings.gap), 1e-15)
        return estimate_root(value, value, MANY, log_delta, settings, self.top, start, close)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return the divergence of the best sum of signs as a lower end; nothing is said of the upper one.

        Guarantee
        ---------
        The lower end is at most the divergence of the data sets. Proof: docs/proofs/users_who_differ.md, section 4.
        """
        found = self.test(level)
        plan = None if found is None else found.walk.plan(level)
        if found is None or plan is None:
            return Enclosure(arb(0), arb(1), STEPS, BITS)
        return Enclosure(found.walk.below(level), arb(1), STEPS, plan.bits)
