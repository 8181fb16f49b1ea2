"""Two-level families seen from inputs whose sets of messages are as disjoint as they can be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar

import sympy as sp

from symamp.decompositions.pair_groups import PairGroup, free_sets_groups
from symamp.decompositions.randomizer import Orbit
from symamp.formulas.order import constant_sign
from symamp.randomizers.family import Family

AVERAGE = "average"
_HALF = sp.Rational(1, 2)


class DisjointCover(Family):
    """A family in which R(x) has density ``high`` on a set of messages that belongs to x, and ``low`` outside.

    The reference measure is a probability, every set has share c of it, high/low = t, and every message lies outside
    the set of some input. The inputs x0 and x1 are those whose sets are disjoint, or overlap least. They are worst
    for every number of users: sets with more in common turn components (t, 1) and (1, t) into as much (t, t) and
    (1, 1), and t - E, 1 - t E is a mean-preserving spread of t - t E, 1 - E (convex order).

    A subclass gives ``coverage``, and ``overlap`` if two sets do not fit beside each other. With ``packs`` every
    share of the messages outside of the sets of x0 and x1, and what is left to c from one of them, is the set of an
    input: x2 is outside of both if 3c <= 1, else x2 has all that is outside and shares the rest of its set with x0, x3
    with x1. Where no such input is known to exist, the other users' data are represented by ``average``: an input drawn
    uniformly for each of them, which hides in the reference measure. That is an average over data sets, so lower
    bounds stay lower bounds, and infima stay what they are.
    """

    _internal_names = "averages coverage levels overlap packs ratio sets"

    packs: ClassVar[bool] = False
    averages: ClassVar[bool] = True
    lists_all_inputs = False  # sets that overlap otherwise are not shown

    @abstractmethod
    def coverage(self) -> sp.Expr:
        """Return c, the share of the messages that belong to an input."""

    def overlap(self) -> sp.Expr:
        """Return the share of the messages that belong to both x0 and x1."""
        return sp.Integer(0)

    def ratio(self) -> sp.Expr:
        """Return t = high/low."""
        return sp.exp(self["eps0"])

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """Return the densities (high, low) against the reference measure."""
        t, c = self.ratio(), self.coverage()
        return t / (c * t + 1 - c), 1 / (c * t + 1 - c)

    def sets(self) -> Mapping[tuple[str, ...], sp.Expr]:
        """Return the shares of the messages that belong to the sets of some of the inputs that are shown, and no other.

        What is left belongs to none of them.
        """
        c, common = self.coverage(), self.overlap()
        pair: dict[tuple[str, ...], sp.Expr] = {("x0",): c - common, ("x1",): c - common}
        if common != 0:
            return {**pair, ("x0", "x1"): common}
        return packed(c) if self.packs and c.is_number else pair

    @property
    def inputs(self) -> tuple[str, ...]:
        """The worst pair, and third inputs or an average one."""
        found = tuple(sorted({x for names in self.sets() for x in names}))
        return (*found, AVERAGE) if self.averages and not (self.packs and len(found) > 2) else found

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The inputs whose sets have least in common; a symmetry exchanges them."""
        return (("x0", "x1"),)

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The worst pair alone: no inputs are further apart, and all ratios to ``low`` lie in [1, t].

        Proof: docs/proofs/envelope.md, section 4.
        """
        return pair if set(pair) == {"x0", "x1"} else None

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """Whatever the sets are, they are sets of share c."""
        return free_sets_groups(self.ratio(), self.coverage())

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """The messages that belong to one input, to two, to none."""
        high, low = self.levels()
        members: dict[tuple[str, ...], sp.Expr] = {}
        for names, measure in self.sets().items():
            seen = tuple(x for x in names if x in distinguished)
            members[seen] = members.get(seen, sp.Integer(0)) + measure
        members[()] = 1 - sp.Add(*(measure for names, measure in members.items() if names))
        found = []
        for names, measure in members.items():
            if measure == 0:
                continue
            density = tuple(sp.Integer(1) if x == AVERAGE else high if x in names else low for x in distinguished)
            # Some input has the low density: a further one for sure if no distinguished one has it.
            others = ((low, None if low in density else sp.Integer(1)), (high, None))
            found.append(Orbit(f"y in the sets of {', '.join(names) or 'none'}", measure, density, others))
        return tuple(found)


def packed(c: sp.Expr) -> Mapping[tuple[str, ...], sp.Expr]:
    """Return the shares of the sets of x0 and x1, and of third inputs, where there is room for sets of any kind.

    >>> sorted(packed(sp.Rational(1, 4)))
    [('x0',), ('x1',), ('x2',)]
    """
    pair: dict[tuple[str, ...], sp.Expr] = {("x0",): c, ("x1",): c}
    if c == _HALF:
        return pair
    if _is_at_most(3 * c, 1):
        return {**pair, ("x2",): c}
    outside = 1 - 2 * c
    return {
        ("x0",): outside,
        ("x1",): outside,
        ("x0", "x2"): c - outside,
        ("x1", "x3"): c - outside,
        ("x2", "x3"): outside,
    }


@lru_cache(maxsize=256)
def _is_at_most(number: sp.Expr, most: int) -> bool:
    return constant_sign(number - most) <= 0


def with_average(rows: Mapping[str, Mapping[str, sp.Expr]]) -> dict[str, dict[str, sp.Expr]]:
    """Return the rows of a table and their mean, the row of an input drawn uniformly."""
    found = {x: dict(row) for x, row in rows.items()}
    messages = next(iter(found.values()))
    return {**found, AVERAGE: {y: sp.Add(*(row[y] for row in rows.values())) / len(rows) for y in messages}}
