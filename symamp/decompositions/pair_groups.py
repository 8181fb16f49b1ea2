"""What a family declares of all its inputs: groups of pairs, and for each a few laws above those of every other input.

For a pair (x0, x1) and another input x the law of (R(x0) - E R(x1))/R(x) under R(x) decides what the user who holds x
hides. A few laws whose mixtures are above all of these in convex order are enough (docs/proofs/other_inputs.md). Where
R(x) has two levels, t on a set S_x of messages and 1 outside, a law is given by five shares of messages, a ``Pattern``,
and which patterns stand for all does not depend on t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import sympy as sp
from flint import fmpq

from symamp.decompositions.decomposition import Component, Decomposition
from symamp.formulas.normal_form import normal
from symamp.formulas.order import constant_sign, ordered
from symamp.numbers.linear_programme import Row, Solution, feasible
from symamp.numbers.rationals import fmpq_of

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
    ``pair`` names a pair of the group, or says which they are. ``held`` names inputs x with the law that they have, or
    one below it, at a pair that is compared. With ``listed`` every other input has one of the laws itself: none mix
    them.
    """

    pair: tuple[str, str]
    laws: tuple[Decomposition, ...]
    above: Decomposition | None = None
    held: tuple[tuple[str, Decomposition], ...] = ()
    listed: bool = False


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
        groups.append(PairGroup(pair, laws, above))
    return tuple(groups)


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


# --------------------------- A check of declared groups of pairs against the rows of a small member, in exact fractions


_F0, _F1 = fmpq(0), fmpq(1)
Law = tuple[tuple[fmpq, fmpq], ...]
"""Values with their masses, in the order of the values."""


class _Listed(NamedTuple):
    """The laws of a group at a level, all their values, and ``above``, which the blanket has to be below."""

    laws: tuple[Law, ...]
    nodes: tuple[fmpq, ...]
    above: Law | None


class Refuted(NamedTuple):
    """A function of w whose mean is larger for an input than for every law of a group: the law is below no mixture.

    It is ``positive`` times w_+ plus, for each of the ``nodes`` (u, z), z times (w - u)_+, z >= 0. The law is that of
    the input at the pair and the level; without an input it is the blanket of the pair, against what is above.
    """

    level: fmpq
    pair: tuple[str, str]
    group: int
    input: str | None
    positive: fmpq
    nodes: tuple[tuple[fmpq, fmpq], ...]

    def __str__(self) -> str:
        terms = [f"{self.positive} w_+" if self.positive != 0 else ""]
        terms += [f"{z} (w - {u})_+" for u, z in self.nodes]
        of = "the blanket" if self.input is None else f"input {self.input}"
        return f"{of} at E = {self.level}: the mean of {' + '.join(t for t in terms if t)} is above those of the list"


@dataclass(frozen=True)
class ComparedLaws:
    """The laws of all inputs at all pairs of a table, against the groups of pairs that a family declares.

    ``pairs`` says which group bounds an ordered pair at a level; ``weights`` gives, for a level, a group and a law,
    those of a mixture of the group's laws above it; ``mixtures`` are rows that mix others, and no inputs of a pair:
    they are never worse. ``refuted`` has, for the first pair that no group bounds, a proof for each group; then the
    rest is left out.
    """

    rows: Mapping[str, Row]
    groups: Sequence[PairGroup]
    mixtures: Mapping[str, Mapping[str, fmpq]]
    pairs: Mapping[tuple[fmpq, tuple[str, str]], int]
    weights: Mapping[tuple[fmpq, int, Law], Row]
    refuted: tuple[Refuted, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return all of it with fractions as text, to be checked by whoever likes to: see the page of proofs."""
        levels = dict.fromkeys(level for level, _ in (*self.pairs, *((r.level, r.pair) for r in self.refuted)))
        listed = {level: [_listed(group, level) for group in self.groups] for level in levels}
        pairs = [{"level": level, "pair": pair, "group": k} for (level, pair), k in self.pairs.items()]
        below = [{"level": e, "group": k, "law": law, "weights": found} for (e, k, law), found in self.weights.items()]
        groups = [
            {"level": level, "group": k, "laws": group.laws, "above": group.above}
            for level, found in listed.items()
            for k, group in enumerate(found)
        ]
        refuted = [r._asdict() for r in self.refuted]
        found = {"rows": self.rows, "mixtures": self.mixtures, "groups": groups}
        return _plain({**found, "pairs": pairs, "below": below, "refuted": refuted})  # type: ignore[no-any-return]


def compare_laws(rows: Mapping[str, Row], groups: Sequence[PairGroup], ratio: fmpq) -> ComparedLaws:
    """Return for every pair of inputs a group that bounds it, with the weights for every law, at two levels E.

    ``rows`` are those of all inputs, ``ratio`` is e^eps0. A group bounds a pair if for every input weights are found by
    which its law is below a mixture of the laws, and the blanket is below ``above``: a linear programme for each law,
    in fractions. Where no group bounds a pair, its dual solutions are returned as proofs.
    """
    different = {tuple(rows[x]): x for x in reversed(list(rows))}
    vertices = {x: row for row, x in different.items() if _weights_of(row, [r for r in different if r != row]) is None}
    mixtures = {
        x: {y: c for y, c in zip(vertices, _weights_of(row, list(vertices.values())) or (), strict=True) if c != 0}
        for x, row in rows.items()
        if x not in vertices
    }
    infimum = [min(column) for column in zip(*rows.values(), strict=True)]
    pairs: dict[tuple[fmpq, tuple[str, str]], int] = {}
    weights: dict[tuple[fmpq, int, Law], Row] = {}
    for level in (_F1, (1 + ratio) / 2):
        listed = [_listed(group, level) for group in groups]
        known: dict[tuple[frozenset[Law], Law], int] = {}
        for pair in permutations(vertices, 2):
            g = [a - level * b for a, b in zip(rows[pair[0]], rows[pair[1]], strict=True)]
            laws, blanket = {_law(g, row): x for x, row in rows.items()}, _law(g, infimum)
            alike = frozenset(laws), blanket
            refuted: list[Refuted] = []
            for k, group in enumerate(listed) if alike not in known else ():
                found = _compared(group, laws, blanket)
                if isinstance(found, Refuted):
                    refuted.append(found._replace(level=level, pair=pair, group=k))
                    continue
                weights |= {(level, k, law): row for law, row in found.items()}
                known[alike] = k
                break
            if alike not in known:
                return ComparedLaws(rows, groups, mixtures, pairs, weights, tuple(refuted))
            pairs[level, pair] = known[alike]
    return ComparedLaws(rows, groups, mixtures, pairs, weights)


def _compared(group: _Listed, laws: Mapping[Law, str], blanket: Law) -> dict[Law, Row] | Refuted:
    """Return the weights for each law, or what refutes one; of a group of one pair without other inputs no weights."""
    nowhere = _F0, ("", ""), 0
    for u in () if group.above is None else [*(v for v, _ in group.above), _F0]:
        if _transform(blanket, u) > _transform(group.above or (), u):
            return Refuted(*nowhere, None, _F0, ((u, _F1),))
    found: dict[Law, Row] = {}
    for law, x in laws.items() if group.laws else ():
        if law in group.laws:
            found[law] = [fmpq(k == group.laws.index(law)) for k in range(len(group.laws))]
            continue
        solution = _below(group, tuple(_transform(law, u) for u in (_F0, *group.nodes)))
        if solution.x is None:
            assert solution.dual is not None
            parts = zip(group.nodes, solution.dual[2:], strict=True)
            return Refuted(*nowhere, x, solution.dual[1], tuple((u, z) for u, z in parts if z != 0))
        found[law] = solution.x[: len(group.laws)]
    return found


@cache
def _below(group: _Listed, goal: tuple[fmpq, ...]) -> Solution:
    """Return weights of sum 1 with the same E[w+] whose mixture has a transform of at least ``goal`` at all nodes."""
    columns = [[_F1, *(_transform(law, u) for u in (_F0, *group.nodes))] for law in group.laws]
    slack = len(group.nodes)
    columns += [[_F0] * (2 + i) + [fmpq(-1)] + [_F0] * (slack - 1 - i) for i in range(slack)]
    return feasible(columns, [_F1, *goal])


def _listed(group: PairGroup, level: fmpq) -> _Listed:
    laws = tuple(_of(law, level) for law in group.laws)
    nodes = tuple(sorted({v for law in laws for v, _ in law}))
    return _Listed(laws, nodes, None if group.above is None else _of(group.above, level))


def _of(law: Decomposition, level: fmpq) -> Law:
    return _in_order((fmpq_of(c.ratio0) - level * fmpq_of(c.ratio1), fmpq_of(c.mass)) for c in law.components)


def _law(g: Row, row: Row) -> Law:
    """Return the law of g/R(x) under R(x), what is missing to a mass of 1 at 0; no message may be impossible."""
    return _in_order((a / p, p) for a, p in zip(g, row, strict=True))


def _in_order(atoms: Iterable[tuple[fmpq, fmpq]]) -> Law:
    found: dict[fmpq, fmpq] = {}
    for v, m in atoms:
        found[v] = found.get(v, _F0) + m
    rest = 1 - sum(found.values(), _F0)
    if rest != 0:
        found[_F0] = found.get(_F0, _F0) + rest
    return tuple(sorted(found.items()))


def _transform(law: Law, u: fmpq) -> fmpq:
    return sum((m * (v - u) for v, m in law if v > u), _F0)


def _weights_of(row: Row, others: Sequence[Row]) -> Row | None:
    return feasible([[_F1, *other] for other in others], [_F1, *row]).x if others else None


def _plain(value: Any) -> Any:
    """Return what JSON can hold, with fractions as text."""
    match value:
        case fmpq():
            return str(value)
        case Mapping():
            return {key: _plain(inner) for key, inner in value.items()}
        case tuple() | list():
            return [_plain(inner) for inner in value]
    return value
