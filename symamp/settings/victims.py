"""Upper bounds for users who differ: Theorems C and D for the victim of each group."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache, reduce
from typing import ClassVar

import sympy as sp
from flint import arb

from symamp.bounds.bound import MaxOverPairs
from symamp.bounds.hypotheses import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.decompositions.blanket import Weights
from symamp.decompositions.decomposition import LawTriple
from symamp.decompositions.to_law import log_above, number
from symamp.formulas.order import largest
from symamp.laws.law import Atom, Known, Law, Level, Number, total
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision
from symamp.randomizers.mechanism import DATA
from symamp.settings.group_sums import ByEstimates, GroupSum, Sides
from symamp.settings.users_who_differ import (
    Column,
    HeterogeneousUsers,
    Positions,
    Victim,
    mean_of_counts,
    positions_above,
    victims,
)

STEPS = "steps"


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

    @property
    def each(self) -> list[Victim]:
        """Their pairs of inputs, where messages are shuffled, in each order."""
        return [v for (group, _), v in columns_of(self.crowd).items() if group == self.group]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of these."""
        return [v.names for v in self.each]

    def compared_ratio(self) -> sp.Expr:
        """Return e^eps0 of what may process their data; ``oo`` where a report may be missing."""
        if self.crowd.who.removal:
            return sp.oo
        groups = self.crowd.groups if self.crowd.shuffled == DATA else (self.crowd.groups[self.group],)
        return largest([subject.local_ratio() for _, subject in groups])

    @cached_property
    def bound(self) -> MaxOverPairs:
        """The upper bound, of Theorem C or D."""
        if self.crowd.shuffled == DATA:
            return MaxOverPairs((ShuffledData(self),))
        who = self.crowd.who
        if who.is_poisson or who.worlds() != ((1, 1),):
            one_order = {v.pair: v for v in self.each}.values()
            return MaxOverPairs.of(part for v in one_order for part in who.of(behind_all(v)))
        return MaxOverPairs(tuple(CommonBlanket(self, pair) for pair in self.pairs))

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: bounds are made again where they are needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@lru_cache(maxsize=16)
def columns_of(crowd: HeterogeneousUsers) -> dict[tuple[int, tuple[str, str]], Victim]:
    """Return the columns of all mechanisms for each group of victims and pair of inputs."""
    return {(v.group, v.names): v for v in victims(crowd)}


@dataclass(frozen=True)
class OfGroup(Reduction):
    """The triple of a victim of a group."""

    group: int = 0


def behind_all(victim: Victim) -> OfGroup:
    """Return the triple of a victim behind what the messages of all others share, whichever group they are of.

    Of a Poisson number of others, whose groups are not known, the mean over the groups is shared.

    Guarantee
    ---------
    It bounds the divergence of every number of users, of whom some take part. Proof: docs/proofs/users_who_differ.md,
    section 6.
    """
    groups = [(count, columns) for count, columns in zip(victim.counts, victim.columns, strict=True) if count]
    if victim.crowd.who.is_poisson:
        return _triple(victim, lambda j: _mean(victim, lambda columns: columns[j].least()))
    if not groups:
        return _triple(victim, lambda _: arb(0))
    return _triple(victim, lambda j: reduce(arb.min, (columns[j].least() for _, columns in groups)))


def against_a_mean(victim: Victim, weights: Weights) -> OfGroup:
    """Return the triple of data sets in which all others draw inputs by one law: exact for Poisson numbers of them."""
    places = [(victim.others.index(x), number(w)) for x, w in weights]

    def drawn(column: Column) -> arb:
        return total([w() * column.sums[i]() for i, w in places]) / column.size

    return replace(_triple(victim, lambda j: _mean(victim, lambda columns: drawn(columns[j]))), dataset=weights)


def _mean(victim: Victim, of: Callable[[tuple[Column, ...]], arb]) -> arb:
    """Return the mean over all users of what is known of their group."""
    crowd = victim.crowd
    return total([n * of(columns) for (n, _), columns in zip(crowd.groups, victim.columns, strict=True)]) / crowd.n


def _triple(victim: Victim, hiding: Callable[[int], arb]) -> OfGroup:
    """Return the triple of a victim's messages, those of others with these chances."""
    atoms, singular = list[Atom](), list[tuple[Number, Number]]()
    with at_precision(CAREFUL_BITS):
        for j, c in enumerate(victim.columns[victim.group]):
            mass, x0, x1 = hiding(j), c.on_x0(), c.on_x1()
            if mass > 0:
                atoms.append(Atom(Known(x0 / mass), Known(x1 / mass), Known(c.size * mass)))
            else:
                singular.append((Known(c.size * x0), Known(c.size * x1)))
    law, theorem = LawTriple(Law(tuple(atoms), tuple(singular)), victim.pair), victim.crowd.theorem
    return OfGroup(theorem.name, ProofStatus.PROVED, theorem.source, law, group=victim.group)


@lru_cache(maxsize=16)
def _positions(crowd: HeterogeneousUsers) -> Positions:
    return positions_above(crowd)


@dataclass(frozen=True)
class OfVictims(ByEstimates):
    """What every bound on victims says of itself; the number of users is that of the crowd."""

    victims: Victims

    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED

    @property
    def crowd(self) -> HeterogeneousUsers:
        """The users."""
        return self.victims.crowd

    @property
    def method(self) -> str:
        return self.crowd.theorem.name

    @property
    def source(self) -> str:
        return self.crowd.theorem.source

    @property
    def pair(self) -> tuple[str, str]:
        return "", ""

    @property
    def signature(self) -> Hashable:
        return self

    @property
    def top(self) -> float:
        return log_above(self.victims.compared_ratio())

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class ShuffledData(OfVictims, GroupSum):
    """Theorem C: every two neighbouring data sets whose entries are shuffled before the positions report on them."""

    @property
    def positions(self) -> Positions:
        """The laws of the positions."""
        return _positions(self.crowd)

    def sides(self, level: Level, n: int) -> Sides:
        return self.positions(level), lambda: arb(self.crowd.n), lambda: arb(0)


@dataclass(frozen=True)
class CommonBlanket(OfVictims, GroupSum):
    """Theorem D: one pair of inputs of a victim, behind the blanket that the messages of all others share."""

    compared: tuple[str, str]

    @property
    def pair(self) -> tuple[str, str]:
        return self.compared

    @property
    def victim(self) -> Victim:
        """The columns of all mechanisms."""
        return columns_of(self.crowd)[self.victims.group, self.compared]

    def sides(self, level: Level, n: int) -> Sides:
        return self.victim.sides(level)

    def counted(self, level: Level) -> arb | None:
        return mean_of_counts(self.victim, level)
