"""What a family declares of all its inputs: groups of pairs, and for each a few laws above those of every other input.

For a pair (x0, x1) and another input x the law of (R(x0) - E R(x1))/R(x) under R(x) decides what the user who holds x
hides. A few laws whose mixtures are above all of these in convex order are enough (docs/proofs/other_inputs.md). Where
R(x) has two levels, t on a set S_x of messages and 1 outside, a law is given by five shares of messages, a ``Pattern``,
and which patterns stand for all does not depend on t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import sympy as sp

from symamp.decompositions.decomposition import Component, Decomposition
from symamp.formulas.normal_form import normal
from symamp.formulas.order import constant_sign, ordered

_ONE, _ZERO = sp.Integer(1), sp.Integer(0)
SMALL, NEAR = sp.Rational(1, 4), sp.Rational(9, 10)
"""Ends of the cells of p, in units of the largest; a blanket bounds pairs below the first. All choices are valid."""
_ALONE = 4
"""So many of the largest p that there are have a group each: it is sharper than a cell, and takes an evaluation."""


@dataclass(frozen=True)
class PairGroup:
    """Pairs of inputs, in both orders, and what bounds them whatever the other users hold.

    For every pair of the group and every other input x, the pair included, the law of R(x0) and R(x1) measured by R(x)
    is below a mixture of the ``laws`` in convex order, at every level E >= 1, with the same positive part. ``above`` is
    a triple whose divergence is at least that of every pair of the group: without ``laws`` all that is known, else what
    is tried first.
    ``pair`` names a pair of the group, or says which they are. ``held`` names inputs x that have one of the laws
    themselves, at a pair of the group. With ``listed`` every other input has one of the laws itself: none mix them.
    ``segments``, if any, lists kinds of laws by the numbers of two: for every pair of the group there is one share such
    that each kind's law is the mixture of its two with that share, and all other inputs are below mixtures of these.
    """

    pair: tuple[str, str]
    laws: tuple[Decomposition, ...]
    above: Decomposition | None = None
    held: tuple[tuple[str, Decomposition], ...] = ()
    listed: bool = False
    segments: tuple[tuple[int, int], ...] = ()

    @property
    def kinds(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the laws of each kind of other users: the segments, or each law alone."""
        return self.segments or tuple((i,) for i in range(len(self.laws)))


class Pattern(NamedTuple):
    """How much of the messages a third input's set S has in common with those of a pair, S0 and S1, as shares.

    ``p`` is the share of S0 - S1 and of S1 - S0, ``a`` and ``b`` that of their parts in S, ``F`` that of the messages
    in S0 and S1 but not in S, ``h`` that of S - S0 - S1. As all sets have the same share, a + b + h - F = p.
    """

    p: sp.Expr
    a: sp.Expr
    b: sp.Expr
    F: sp.Expr
    h: sp.Expr

    def law(self, t: sp.Expr, c: sp.Expr, pair: tuple[str, str] = ("x0", "x1")) -> Decomposition:
        """Return the law for two levels of ratio t on sets of share c."""
        p, a, b, F, h = self
        both, none, whole = c - p, 1 - c - p, c * t + 1 - c
        atoms = (
            (t, _ONE, p - a),
            (_ONE, 1 / t, t * a),
            (_ONE, t, p - b),
            (1 / t, _ONE, t * b),
            (t, t, F),
            (_ONE, _ONE, t * (both - F) + none - h),
            (1 / t, 1 / t, t * h),
        )
        return _merged([(x, y, m / whole) for x, y, m in atoms], pair)


def blanket_of(p: sp.Expr, t: sp.Expr, c: sp.Expr, pair: tuple[str, str] = ("x0", "x1")) -> Decomposition:
    """Return a triple whose divergence is at least that of every pair that differs on a share p, or less.

    Guarantee
    ---------
    It bounds every pair of inputs with two levels of ratio t on sets of share c of which at most p is in one of the two
    alone, for every level and number of users. Proof: docs/proofs/other_inputs.md.

    >>> blanket_of(sp.Rational(1, 4), sp.Integer(3), sp.Rational(1, 2)).gamma
    1/2
    """
    whole = c * t + 1 - c
    atoms = ((t, _ONE, p), (_ONE, t, p), (t, t, c - p), (_ONE, _ONE, 1 - c - p))
    return _merged([(x, y, m / whole) for x, y, m in atoms], pair)


def listed_group(pair: tuple[str, str], laws: Mapping[str, Iterable[Component]]) -> PairGroup:
    """Return the group of a representative pair, with the laws of all other inputs, each once."""
    held = {x: Decomposition(_collected(law), pair=pair) for x, law in laws.items()}
    first = {frozenset(law.components): x for x, law in reversed(held.items())}
    named = tuple((x, held[x]) for x in reversed(list(first.values())))
    return PairGroup(pair, tuple(law for _, law in named), None, named, listed=True)


def _collected(parts: Iterable[Component]) -> tuple[Component, ...]:
    """Return components with equal ratios put together."""
    masses: dict[tuple[sp.Expr, sp.Expr], list[sp.Expr]] = {}
    for r0, r1, mass in parts:
        masses.setdefault((r0, r1), []).append(mass)
    return tuple(Component(*ratios, sp.Add(*found)) for ratios, found in masses.items())


def _merged(atoms: Iterable[tuple[sp.Expr, sp.Expr, sp.Expr]], pair: tuple[str, str]) -> Decomposition:
    found = tuple(Component(normal(x), normal(y), mass) for x, y, m in atoms if (mass := normal(m)) != 0)
    return Decomposition(found, pair=pair)


# ---------------------------------------------------------------------- Two levels: which patterns stand for all inputs

Patterns = Callable[[sp.Expr], Sequence[Pattern]]
"""The patterns that stand for all other inputs at a pair with p, each affine in p."""


def groups_by_share(
    t: sp.Expr,
    c: sp.Expr,
    most: sp.Expr,
    patterns: Patterns,
    cuts: Iterable[sp.Expr] = (),
    shares: Sequence[sp.Expr] = (),
) -> tuple[PairGroup, ...]:
    """Return groups for all pairs of inputs with two levels that differ on shares p up to ``most``.

    ``patterns`` gives at each p those that stand for all third inputs, affine in p between the ``cuts``. The pairs
    with most p come first; those of a cell of p have the patterns of both ends, those with little p a blanket, too,
    which is nearly always enough. More cuts than it takes make the bound sharper where pairs with less p are nearly as
    bad. ``shares``, if any, lists all p that there are, from the most down: the first have a group each.

    Guarantee
    ---------
    If ``patterns`` lists at each p what mixes to patterns above those of all third inputs, the groups cover all pairs.
    Proof: docs/proofs/other_inputs.md.
    """
    ends = ordered(map(normal, [_ZERO, SMALL * most, NEAR * most, most, *cuts, *shares[:_ALONE]]))
    ends = [x for x in ends if not is_less(x, _ZERO) and not is_less(most, x)]
    groups: list[PairGroup] = []
    for low, high in reversed(list(pairwise(ends))):
        inside = [p for p in shares if is_less(low, p) and not is_less(high, p)]
        if shares and not inside:
            continue
        pair = (f"a pair with p > {float(low):.4g}", f"up to {float(high):.4g}") if groups else ("x0", "x1")
        found = list(dict.fromkeys(v for p in (inside if len(inside) == 1 else (high, low)) for v in patterns(p)))
        laws = tuple(v.law(t, c, pair) for v in found)
        above = None if is_less(SMALL * most, high) else blanket_of(high, t, c, pair)
        segments = () if len(inside) == 1 else _segments(patterns, low, high, found)
        groups.append(PairGroup(pair, laws, above, segments=segments))
    return tuple(groups)


def _segments(patterns: Patterns, low: sp.Expr, high: sp.Expr, found: Sequence[Pattern]) -> tuple[tuple[int, int], ...]:
    """Return the numbers of the patterns at both ends of a cell, as what stands for all goes from one to the other.

    Between the ends patterns are affine, so that two places tell where they lead; none where these are not listed.
    """
    if not (low.is_Rational and high.is_Rational):
        return ()
    one, other = patterns((2 * low + high) / 3), patterns((low + 2 * high) / 3)
    if len(one) != len(other):
        return ()
    ends = [
        tuple(Pattern(*(normal(2 * x - y) for x, y in zip(v, w, strict=True))) for v, w in pair)
        for pair in (zip(one, other, strict=True), zip(other, one, strict=True))
    ]
    if not all(v in found for end in ends for v in end):
        return ()
    return tuple((found.index(v), found.index(w)) for v, w in zip(*ends, strict=True))


def antipodal_groups(t: sp.Expr, shares: Sequence[sp.Expr] = ()) -> tuple[PairGroup, ...]:
    """Return the groups of all pairs where an involution of the messages maps each set to its complement.

    ``shares``, if any, lists all p that there are, from the most down.
    """
    half = sp.Rational(1, 2)

    def patterns(p: sp.Expr) -> tuple[Pattern, ...]:
        return Pattern(p, p, _ZERO, half - p, half - p), Pattern(p, _ZERO, p, half - p, half - p)

    return groups_by_share(t, half, half, patterns, shares=shares)


def free_sets(c: sp.Expr) -> Patterns:
    """Return the patterns that stand for all sets of share c: the extreme ones among all that there could be."""
    least = c if is_less(c, sp.Rational(1, 2)) else 1 - c
    wide, half = 1 - 2 * c, (1 - c) / 2

    def patterns(p: sp.Expr) -> tuple[Pattern, ...]:
        found = [Pattern(p, p, _ZERO, least - p, least - p)]
        if not is_less(wide, p):
            found.append(Pattern(p, _ZERO, _ZERO, c - p, c))
        if not is_less(p, wide):
            if not is_less(sp.Rational(1, 2), c):
                found.append(Pattern(p, p - wide, _ZERO, c - p, 1 - c - p))
            if not is_less(half, p):
                found.append(Pattern(p, _ZERO, _ZERO, 1 - c - 2 * p, 1 - c - p))
            if not is_less(p, half):
                rest = 2 * p - 1 + c
                found += [Pattern(p, rest, _ZERO, _ZERO, 1 - c - p), Pattern(p, _ZERO, rest, _ZERO, 1 - c - p)]
        return tuple(dict.fromkeys(Pattern(*map(normal, v)) for v in found))

    return patterns


def by_excess(c: sp.Expr, most: sp.Expr) -> Patterns:
    """Return the patterns that stand for all whose h exceeds F by at most so much, whatever the sets are."""

    def patterns(p: sp.Expr) -> tuple[Pattern, ...]:
        both, none, found = c - p, 1 - c - p, []
        top = min(most, p, none, key=float) if most.is_Rational else most
        between = [none - both] if is_less(_ZERO, none - both) and is_less(none - both, top) else []
        for e in dict.fromkeys((_ZERO, *between, top)):
            F = none - e if is_less(none - e, both) else both
            found += [Pattern(p, p - e, _ZERO, F, F + e), Pattern(p, _ZERO, p - e, F, F + e)]
        return tuple(dict.fromkeys(Pattern(*map(normal, v)) for v in found))

    return patterns


def of_patterns(
    t: sp.Expr,
    c: sp.Expr,
    patterns: Sequence[Pattern],
    pair: tuple[str, str] = ("x0", "x1"),
    names: Mapping[Pattern, str] | None = None,
) -> PairGroup:
    """Return the group of pairs for which these patterns stand for all other inputs; some have ``names``."""
    laws = {v: v.law(t, c, pair) for v in patterns}
    held = tuple((name, laws[v]) for v, name in (names or {}).items() if v in laws)
    return PairGroup(pair, tuple(laws.values()), None, held)


def sketch(base: Sequence[Pattern]) -> Patterns:
    """Return the patterns of a sketch with public hash functions whose rows have these for every pair, all of one p.

    Where the two inputs of a pair collide under some of the functions p is that share of what it is for the base.
    """
    whole = base[0].p

    def patterns(p: sp.Expr) -> tuple[Pattern, ...]:
        share = p / whole
        collided = (_ZERO, _ZERO, _ZERO, whole * (1 - share), whole * (1 - share))
        return tuple(Pattern(*(normal(share * x + y) for x, y in zip(v, collided, strict=True))) for v in base)

    return patterns


_CUTS = (sp.Rational(3, 4),), (sp.Rational(2, 3), sp.Rational(4, 5), sp.Rational(14, 15))
"""Sets of more than a third of the messages hide pairs with less p nearly as badly: one cell more, in units of it.

Those of more than half do so still more, and laws of both ends of a cell mix worse: three cells more.
"""


def free_sets_groups(t: sp.Expr, c: sp.Expr) -> tuple[PairGroup, ...]:
    """Return the groups of all pairs of inputs whose sets have share c, nothing else being known of them."""
    most = c if is_less(c, sp.Rational(1, 2)) else 1 - c
    cuts = _CUTS[is_less(sp.Rational(1, 2), c)]
    return groups_by_share(t, c, most, free_sets(c), (1 - 2 * c, (1 - c) / 2, *(cut * most for cut in cuts)))


def is_less(x: sp.Expr, y: sp.Expr) -> bool:
    """Return whether a number is proved to be less than another one."""
    return constant_sign(x - y) < 0
