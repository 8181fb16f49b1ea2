"""Structures that many families share: each turns a short description into orbits of messages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from itertools import product
from typing import ClassVar, NamedTuple

import sympy as sp

from symamp.decompositions.pair_groups import PairGroup, free_sets_groups, is_less
from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError, Problem
from symamp.formulas.normal_form import normal
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.mechanism import free_budget, is_wider_with_budget, of_two_levels

# --------------------- Two-level set systems: each input has a set of messages, with weight high inside and low outside


class Share(NamedTuple):
    """Messages with a given membership pattern: their measure, and the number of further inputs whose sets have them.

    ``inside`` and ``outside`` are the numbers of further inputs whose set contains them, or not; None if it varies.
    """

    label: str
    measure: sp.Expr
    inside: sp.Expr | None
    outside: sp.Expr | None


class AlikeInputs(Family):
    """A family whose inputs can be exchanged; ``size`` is the parameter that counts them."""

    _internal_names = "size"

    size: str

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(f"x{i}" for i in range(self.count(self.size)))

    @property
    def lists_all_inputs(self) -> bool:
        """Whether a third input is shown, or there are but two."""
        return len(self.inputs) > 2 or bool(self[self.size] == 2)


class ExchangeableSets(AlikeInputs):
    """A family in which R(x)(y) is ``high`` if y is in the set of x and ``low`` if not, and inputs can be exchanged.

    A subclass gives ``size``, ``levels`` and ``shares``.
    """

    _internal_names = "levels shares"

    @abstractmethod
    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """Return the densities (high, low) against the reference measure."""

    @abstractmethod
    def shares(self, inside: int, outside: int) -> tuple[Share, ...]:
        """Return the messages in the sets of ``inside`` given inputs and not in those of ``outside`` others."""

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The pair and a third input, which two levels can do without (docs/proofs/envelope.md, section 4)."""
        return (*pair, *self.further_inputs(pair))

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        return of_two_levels(self, sp.exp(self["eps0"]))

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """One orbit for each pattern of membership, and each share of it."""
        high, low = self.levels()
        found = []
        for pattern in product((True, False), repeat=len(distinguished)):
            names = [x for x, member in zip(distinguished, pattern, strict=True) if member]
            for share in self.shares(sum(pattern), len(pattern) - sum(pattern)):
                if share.measure == 0:
                    continue
                label = f"y in the sets of {', '.join(names) or 'none'}{share.label}"
                density = tuple(high if member else low for member in pattern)
                found.append(Orbit(label, share.measure, density, ((high, share.inside), (low, share.outside))))
        return tuple(found)


# -------------------- One-hot product channels: D coordinates over a finite alphabet, one of which depends on the input

_BINARY_COORDINATES = "a smaller eps0 randomizes every coordinate of the report once more"


class Letter(NamedTuple):
    """A value of one coordinate: its probability at the input's own coordinate, and at any other."""

    label: str
    own: sp.Expr
    other: sp.Expr


class OneHot(AlikeInputs):
    """A family whose message has ``size`` independent coordinates; coordinate x follows ``own``, the rest ``other``.

    The reference measure is the law of a message that encodes no input. Its densities are own/other at the
    coordinate of x. Among the further coordinates only the first letter in the list that occurs is recorded.
    """

    _internal_names = "letters"

    @abstractmethod
    def letters(self) -> tuple[Letter, ...]:
        """Return the alphabet; letters with small own/other first give the fewest undecided orders."""

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The pair and a third input, which two letters can do without (docs/proofs/envelope.md, section 4)."""
        described = len(self.inputs) > 2 or self[self.size] == 2 or len(self.letters()) == 2
        return (*pair, *self.further_inputs(pair)) if described else None

    def degradation(self) -> str | None:
        """Return that coordinates of two letters are randomized once more, or what is known of two levels."""
        budget, letters = free_budget(self.parameters), [(x.own, x.other) for x in self.letters()]
        if budget is not None and len(letters) == 2 and is_wider_with_budget(letters, self.parameters, budget):
            return _BINARY_COORDINATES
        return super().degradation()

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return the chances of the second of two letters."""
        if len(self.letters()) != 2:
            return super().support_probabilities()
        one = self.letters()[1]
        return normal(one.own), normal(one.other)

    def message_bits(self) -> sp.Expr:
        return self[self.size] * sp.log(len(self.letters()), 2)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """One orbit for each word at the distinguished coordinates and first letter among the others."""
        letters = self.letters()
        rest = self[self.size] - len(distinguished)
        found = []
        for word in product(letters, repeat=len(distinguished)):
            measure = sp.Mul(*(a.other for a in word))
            density = tuple(a.own / a.other for a in word)
            label = "".join(a.label for a in word)
            if rest == 0:
                found.append(Orbit(label, measure, density))
                continue
            for j, first in enumerate(letters):
                # All further coordinates have a letter from the j-th on, and not all from the (j+1)-th on.
                tail = sp.Add(*(a.other for a in letters[j:])) if j else sp.Integer(1)
                following = sp.Add(*(a.other for a in letters[j + 1 :]))
                share = tail**rest - (following**rest if j + 1 < len(letters) else 0)
                seen: list[tuple[sp.Expr, sp.Expr | None]] = [(first.own / first.other, sp.Integer(1))]
                seen += [(a.own / a.other, None) for a in letters[j + 1 :]]
                found.append(Orbit(f"{label}, then {first.label}", measure * share, density, tuple(seen)))
        return tuple(found)


# ---------------------------- Two-level families seen from inputs whose sets of messages are as disjoint as they can be

AVERAGE = "average"
_HALF, _THIRD = sp.Rational(1, 2), sp.Rational(1, 3)


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
    """Return the shares of the sets of x0 and x1, and of third inputs, where there is room for sets of any kind."""
    pair: dict[tuple[str, ...], sp.Expr] = {("x0",): c, ("x1",): c}
    if c == _HALF:
        return pair
    if not is_less(_THIRD, c):
        return {**pair, ("x2",): c}
    outside = 1 - 2 * c
    return {
        ("x0",): outside,
        ("x1",): outside,
        ("x0", "x2"): c - outside,
        ("x1", "x3"): c - outside,
        ("x2", "x3"): outside,
    }


def with_average(rows: Mapping[str, Mapping[str, sp.Expr]]) -> dict[str, dict[str, sp.Expr]]:
    """Return the rows of a table and their mean, the row of an input drawn uniformly."""
    found = {x: dict(row) for x, row in rows.items()}
    messages = next(iter(found.values()))
    return {**found, AVERAGE: {y: sp.Add(*(row[y] for row in rows.values())) / len(rows) for y in messages}}


# ---------------- Two-level mechanisms on an interval: a window of messages around the input, disjoint for the two ends


class SlidingWindow(DisjointCover):
    """A ``DisjointCover`` whose sets are intervals that move with the input, from one end of the messages to the other.

    No input hides in the reference measure: a drawn input leaves the ends of the messages to few windows. Besides the
    two ends x2 is shown, whose window begins where that of x0 ends; or, where this one overlaps that of x1, it is x3,
    and the window of x2 ends where that of x1 begins.
    """

    packs = True
    averages = False
    _internal_names = "cell in_cells"

    def cell(self, length: sp.Expr) -> sp.Rational:
        """Return the largest 1/integer that divides a length; ArgumentError unless it is rational: tables need cells.

        >>> import symamp as sa
        >>> sa.SquareWave(b="3/8", eps0=1).cell(sp.Rational(3, 8))
        1/8
        """
        if not length.is_Rational:
            raise ArgumentError("table", Problem(f"{self!r} has the irrational length {length}"), "take a rational one")
        return sp.Rational(1, length.q)

    def _cell(self, start: sp.Expr, length: sp.Expr) -> Callable[[float], str]:
        """Return what names the cell of the table that a report is in, where the first begins at ``start``."""

        def label(report: float) -> str:
            return str(int((report - float(start)) // float(self.cell(normal(length)))))

        return label

    def in_cells(
        self, cells: int, width: int, high: sp.Expr, low: sp.Expr, place: Callable[[int], sp.Expr]
    ) -> FiniteMechanism:
        """Return the table over cells of messages, for inputs whose windows begin at a cell, which is their place."""
        check_size(cells - width + 1, cells)
        third = {width: self.inputs[-1], cells - 2 * width: "x2"} if len(self.inputs) > 2 else {}
        names = {**third, 0: "x0", cells - width: "x1"}
        rows = {
            names.get(first, f"x = {place(first)}"): {
                str(y): high if first <= y < first + width else low for y in range(cells)
            }
            for first in range(cells - width + 1)
        }
        return FiniteMechanism(rows, name=repr(self))
