"""Whose guarantee is asked about among users who differ: Theorems C and D as bounds, and the data sets below them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from math import inf
from typing import ClassVar

import sympy as sp
from flint import arb

from symamp.bounds.bound import DataSets, MaxOverPairs, PairBoundDefaults
from symamp.bounds.proof_status import ProofStatus
from symamp.decompositions.to_law import log_above
from symamp.formulas.order import maximum
from symamp.laws.law import Level
from symamp.numbers.surroundings import at_precision
from symamp.settings.users_who_differ import (
    DATA,
    HeterogeneousUsers,
    Positions,
    StepTest,
    Victim,
    mean_of_counts,
    positions_above,
    positions_below,
    victims,
)
from symamp.sums.divergence import NO_POSITIVE_VALUE, Enclosure, Settings
from symamp.sums.groups import Group, approximate_log_groups, enclose_groups, estimate_log_groups
from symamp.sums.inversion import estimate_root

BITS = 192
"""The precision of what is done besides the sums."""
COUNTED, STEPS = "mean over counts", "steps"
_MANY = 10**6
"""Tells the search for a root that there are many users: then it starts from saddle points."""
_ACCURACY = 0.01
"""The part of the gap to which a root is sought: what is certified is farther from it, and estimates have noise."""
_SMALLEST = -1e300

Sides = tuple[Sequence[Group], Callable[[], arb], Callable[[], arb]]
"""Groups, what E[S_+] is divided by, and what is added."""


@dataclass(frozen=True)
class Victims:
    """The users of one group, whose guarantee is asked about; where data are shuffled all users have the same."""

    crowd: HeterogeneousUsers
    group: int

    @staticmethod
    def of(crowd: HeterogeneousUsers, victim: int | None) -> tuple[Victims, ...]:
        """Return those that are asked about: of a group, by its number, or of all where it is None."""
        found = tuple(Victims(crowd, i) for i, number in enumerate(crowd.numbers) if victim in (None, number))
        return found[:1] if crowd.shuffled == DATA else found

    @property
    def number(self) -> int:
        """The number of the group in the list that was given."""
        return self.crowd.numbers[self.group]

    def compared_ratio(self) -> sp.Expr:
        """Return e^eps0 of what may process their data."""
        groups = self.crowd.groups if self.crowd.shuffled == DATA else (self.crowd.groups[self.group],)
        ratios = [subject.local_ratio() for _, subject in groups]
        ratio: sp.Expr = ratios[maximum(ratios)]
        return ratio

    @cached_property
    def bound(self) -> MaxOverPairs:
        """The upper bound, of Theorem C or D."""
        if self.crowd.shuffled == DATA:
            return MaxOverPairs((ShuffledData(self),))
        return MaxOverPairs(
            tuple(CommonBlanket(self, pair) for group, pair in _known(self.crowd) if group == self.group)
        )

    @cached_property
    def data_sets(self) -> MaxOverPairs:
        """The data sets that bound it from below."""
        if self.crowd.shuffled == DATA:
            count = len(_data_sets(self.crowd))
            return MaxOverPairs(tuple(DataOfPositions(self, i) for i in range(max(count, 1))))
        pairs = [(pair, v) for (group, pair), v in _known(self.crowd).items() if group == self.group]
        return MaxOverPairs(tuple(StepSums(self, pair, j) for pair, v in pairs for j in range(len(v.others))))

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: bounds are made again where they are needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@lru_cache(maxsize=16)
def _known(crowd: HeterogeneousUsers) -> dict[tuple[int, tuple[str, str]], Victim]:
    return {(v.group, v.pair): v for v in victims(crowd)}


@lru_cache(maxsize=16)
def _data_sets(crowd: HeterogeneousUsers) -> tuple[tuple[DataSets, Positions], ...]:
    return tuple(positions_below(crowd))


@lru_cache(maxsize=16)
def _positions(crowd: HeterogeneousUsers) -> Positions:
    return positions_above(crowd)


@dataclass(frozen=True)
class _OfVictims(PairBoundDefaults):
    """What every bound on victims says of itself; the number of users is that of the crowd."""

    victims: Victims

    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED

    @property
    def crowd(self) -> HeterogeneousUsers:
        """The users."""
        return self.victims.crowd

    @property
    def method(self) -> str:
        """What is shuffled, which decides the theorem."""
        return f"{self.crowd.shuffled} shuffled"

    @property
    def source(self) -> str:
        """Where the upper bound is stated."""
        return f"Theorem {'C' if self.crowd.shuffled == DATA else 'D'} (docs/proofs/users_who_differ.md)"

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs that is compared; empty names for all of them."""
        return "", ""

    @property
    def signature(self) -> Hashable:
        """The part itself."""
        return self

    @cached_property
    def _top(self) -> float:
        return log_above(self.victims.compared_ratio())

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


class _GroupSum(_OfVictims):
    """E[S_+]/divisor + rest, where S is a sum over groups of users."""

    def sides(self, level: Level) -> Sides:
        """Return the groups, the divisor and the rest."""
        raise NotImplementedError

    def counted(self, level: Level) -> arb | None:
        """Return a ball around the value itself, where it is known without a sum over groups."""
        return None

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
        """Return an estimate of the logarithm of the value, in floats; -inf for zero. Not a bound."""

        def estimate(groups: Sequence[Group]) -> float:
            found = estimate_log_groups(groups, settings)
            return approximate_log_groups(groups) if found is None else found

        return self._log(level, estimate)

    def _log(self, level: Level, estimate: Callable[[Sequence[Group]], float]) -> float:
        with at_precision(BITS):
            value = self.counted(level)
            if value is None:
                groups, divisor, rest = self.sides(level)
                alone, by = rest(), divisor()
                sums = estimate(groups) if groups else -inf
                value = (arb(sums).exp() / by if sums > _SMALLEST else arb(0)) + alone
            return float(value.mid().log()) if value.mid() > 0 else -inf

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the value is delta: 0 if it is smaller at 0."""
        kernel_tells = True

        def sharp(groups: Sequence[Group]) -> float:
            nonlocal kernel_tells
            found = estimate_log_groups(groups, settings) if kernel_tells else None
            # One kind of estimate for all that follow: a search would run after the difference.
            kernel_tells = found is not None
            return approximate_log_groups(groups) if found is None else found

        return estimate_root(
            lambda eps: self._log(Level.of_float(max(eps, 0.0)), sharp),
            lambda eps: self._log(Level.of_float(max(eps, 0.0)), approximate_log_groups),
            _MANY,
            log_delta,
            settings,
            self._top,
            start,
            _ACCURACY * settings.gap,
        )

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the value.

        Guarantee
        ---------
        The value lies between the outer ends. Proof: docs/proofs/users_who_differ.md, sections 1 and 4.
        """
        with at_precision(BITS):
            value = self.counted(level)
            if value is not None:
                return Enclosure(value, value, COUNTED, BITS)
        groups, divisor, rest = self.sides(level)
        found = enclose_groups(groups, settings) if groups else Enclosure(arb(0), arb(0), NO_POSITIVE_VALUE, BITS)
        with at_precision(BITS):
            low, high = (x / divisor() + rest() for x in (found.lower.lower(), found.upper.upper()))
            return replace(found, lower=low, upper=high, precision=max(found.precision, BITS))


@dataclass(frozen=True)
class ShuffledData(_GroupSum):
    """Theorem C: every two neighbouring data sets whose entries are shuffled before the positions report on them."""

    @property
    def positions(self) -> Positions:
        """The laws of the positions."""
        return _positions(self.crowd)

    def sides(self, level: Level) -> Sides:
        """Return the positions, which are all users."""
        return self.positions(level), lambda: arb(self.crowd.n), lambda: arb(0)


@dataclass(frozen=True)
class CommonBlanket(_GroupSum):
    """Theorem D: one pair of inputs of a victim, behind the blanket that the messages of all others share."""

    compared: tuple[str, str]

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs that is compared."""
        return self.compared

    @property
    def victim(self) -> Victim:
        """The columns of all mechanisms."""
        return _known(self.crowd)[self.victims.group, self.compared]

    def sides(self, level: Level) -> Sides:
        """Return the hidden users, in groups."""
        return self.victim.sides(level, True)

    def counted(self, level: Level) -> arb | None:
        """Return the mean over the numbers of hidden users, where these are few."""
        return mean_of_counts(self.victim, level)


# ------------------------------------------------------------------------------- Data sets, whose divergences are lower


@dataclass(frozen=True)
class DataOfPositions(_GroupSum):
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
class StepSums(_OfVictims):
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
        return _known(self.crowd)[self.victims.group, self.compared]

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

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
        """Return an estimate of the logarithm of the divergence of the best sum; -inf for zero. Not a bound."""
        found = self.test(level)
        return -inf if found is None else found.walk.log_estimate(level)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which it is delta: 0 if it is smaller at 0."""

        def value(eps: float) -> float:
            return self.log_estimate(Level.of_float(max(eps, 0.0)), n)

        close = max(min(1e-7, 0.05 * settings.gap), 1e-15)
        return estimate_root(value, value, _MANY, log_delta, settings, self._top, start, close)

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
