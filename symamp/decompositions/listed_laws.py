"""A check of declared groups of pairs against the rows of a small member, in exact fractions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

from flint import fmpq

from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.pair_groups import PairGroup
from symamp.numbers.linear_programme import Row, Solution, feasible
from symamp.numbers.rationals import fmpq_of

_ZERO, _ONE = fmpq(0), fmpq(1)
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

    def mean(self, law: Law) -> fmpq:
        """Return the mean of the function."""
        parts = ((self.positive, _ZERO), *((z, u) for u, z in self.nodes))
        return sum((z * _transform(law, u) for z, u in parts), _ZERO)

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
    for level in (_ONE, (1 + ratio) / 2):
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
    nowhere = _ZERO, ("", ""), 0
    for u in () if group.above is None else [*(v for v, _ in group.above), _ZERO]:
        if _transform(blanket, u) > _transform(group.above or (), u):
            return Refuted(*nowhere, None, _ZERO, ((u, _ONE),))
    found: dict[Law, Row] = {}
    for law, x in laws.items() if group.laws else ():
        if law in group.laws:
            found[law] = [fmpq(k == group.laws.index(law)) for k in range(len(group.laws))]
            continue
        solution = _below(group, tuple(_transform(law, u) for u in (_ZERO, *group.nodes)))
        if solution.x is None:
            assert solution.dual is not None
            parts = zip(group.nodes, solution.dual[2:], strict=True)
            return Refuted(*nowhere, x, solution.dual[1], tuple((u, z) for u, z in parts if z != 0))
        found[law] = solution.x[: len(group.laws)]
    return found


@cache
def _below(group: _Listed, goal: tuple[fmpq, ...]) -> Solution:
    """Return weights of sum 1 with the same E[w+] whose mixture has a transform of at least ``goal`` at all nodes."""
    columns = [[_ONE, *(_transform(law, u) for u in (_ZERO, *group.nodes))] for law in group.laws]
    slack = len(group.nodes)
    columns += [[_ZERO] * (2 + i) + [fmpq(-1)] + [_ZERO] * (slack - 1 - i) for i in range(slack)]
    return feasible(columns, [_ONE, *goal])


def _listed(group: PairGroup, level: fmpq) -> _Listed:
    laws = tuple(_of(law, level) for law in group.laws)
    nodes = tuple(sorted({v for law in laws for v, _ in law}))
    return _Listed(laws, nodes, None if group.above is None else _of(group.above, level))


def _of(law: Decomposition, level: fmpq) -> Law:
    return _collected((fmpq_of(c.ratio0) - level * fmpq_of(c.ratio1), fmpq_of(c.mass)) for c in law.components)


def _law(g: Row, row: Row) -> Law:
    """Return the law of g/R(x) under R(x), what is missing to a mass of 1 at 0; no message may be impossible."""
    return _collected((a / p, p) for a, p in zip(g, row, strict=True))


def _collected(atoms: Iterable[tuple[fmpq, fmpq]]) -> Law:
    found: dict[fmpq, fmpq] = {}
    for v, m in atoms:
        found[v] = found.get(v, _ZERO) + m
    rest = 1 - sum(found.values(), _ZERO)
    if rest != 0:
        found[_ZERO] = found.get(_ZERO, _ZERO) + rest
    return tuple(sorted(found.items()))


def _transform(law: Law, u: fmpq) -> fmpq:
    return sum((m * (v - u) for v, m in law if v > u), _ZERO)


def _weights_of(row: Row, others: Sequence[Row]) -> Row | None:
    return feasible([[_ONE, *other] for other in others], [_ONE, *row]).x if others else None


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
