"""Declared groups of pairs against the rows of a small member, in fractions: does every law lie below the lists?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple

from flint import fmpq

from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.pair_groups import PairGroup
from symamp.errors import VerificationError
from symamp.numbers.linear_programme import Row, feasible
from symamp.numbers.rationals import fmpq_of

_ZERO, _ONE = fmpq(0), fmpq(1)
Law = tuple[tuple[fmpq, fmpq], ...]


class _Listed(NamedTuple):
    """The laws of a group at a level, their E[w+] and transforms at all their values; the transforms of ``above``."""

    gains: Row
    nodes: Row
    heights: Sequence[Row]
    above: Law | None


def check_groups(rows: Mapping[str, Row], groups: Sequence[PairGroup], ratio: fmpq, name: str) -> int:
    """Return how many different laws were found below the lists of a group that bounds their pair, at two levels each.

    ``rows`` are those of all inputs, ``ratio`` is e^eps0. Rows that mix others are no inputs of a pair: they are never
    worse. Raises VerificationError with the first pair that no group has. A group has a pair if for every other input
    weights are found by which its law is below a mixture of the laws, and the blanket is below ``above``.
    """
    extreme = {
        x: row for x, row in rows.items() if not _is_mixture(row, [r for r in rows.values() if tuple(r) != tuple(row)])
    }
    different = {tuple(row): x for x, row in extreme.items()}
    infimum = [min(column) for column in zip(*rows.values(), strict=True)]
    count = 0
    for level in (_ONE, (1 + ratio) / 2):
        listed = [_listed(group, level) for group in groups]
        known: dict[tuple[frozenset[Law], Law], bool] = {}
        for first, second in permutations(different.values(), 2):
            g = [a - level * b for a, b in zip(rows[first], rows[second], strict=True)]
            laws = frozenset(_law(g, row) for row in rows.values())
            blanket = _law(g, infimum)
            if (laws, blanket) not in known:
                count += len(laws)
                known[laws, blanket] = any(_has(group, laws, blanket) for group in listed)
            if not known[laws, blanket]:
                raise VerificationError(
                    f"{name}: pairs of inputs",
                    f"({first}, {second}) at E = {level}",
                    "a group of laws that holds for it",
                )
    return count


def _has(group: _Listed, laws: frozenset[Law], blanket: Law) -> bool:
    if group.above is not None and not all(
        _transform(blanket, u) <= _transform(group.above, u) for u in [v for v, _ in group.above] + [_ZERO]
    ):
        return False
    return not group.heights or all(_below(group, law) for law in laws)


@cache
def _below_at(
    gains: tuple[fmpq, ...], heights: tuple[tuple[fmpq, ...], ...], gain: fmpq, goal: tuple[fmpq, ...]
) -> bool:
    columns = [[_ONE, x, *row] for x, row in zip(gains, heights, strict=True)]
    columns += [[_ZERO] * (2 + i) + [fmpq(-1)] + [_ZERO] * (len(goal) - 1 - i) for i in range(len(goal))]
    return feasible(columns, [_ONE, gain, *goal]).x is not None


def _below(group: _Listed, law: Law) -> bool:
    """Return whether weights exist by which the law is below a mixture of those of the group."""
    goal = tuple(_transform(law, u) for u in group.nodes)
    return _below_at(tuple(group.gains), tuple(map(tuple, group.heights)), _transform(law, _ZERO), goal)


def _listed(group: PairGroup, level: fmpq) -> _Listed:
    laws = [_of(law, level) for law in group.laws]
    nodes = sorted({v for law in laws for v, _ in law})
    heights = [[_transform(law, u) for u in nodes] for law in laws]
    above = None if group.above is None else _of(group.above, level)
    return _Listed([_transform(law, _ZERO) for law in laws], nodes, heights, above)


def _of(law: Decomposition, level: fmpq) -> Law:
    return _collected((fmpq_of(c.ratio0) - level * fmpq_of(c.ratio1), fmpq_of(c.mass)) for c in law.components)


def _law(g: Row, row: Row) -> Law:
    """Return the law of g/R(x) under R(x), what is missing to a mass of 1 at 0; no message may be impossible."""
    return _collected((a / p, p) for a, p in zip(g, row, strict=True))


def _collected(atoms: Iterator[tuple[fmpq, fmpq]]) -> Law:
    found: dict[fmpq, fmpq] = {}
    for v, m in atoms:
        found[v] = found.get(v, _ZERO) + m
    rest = 1 - sum(found.values(), _ZERO)
    if rest != 0:
        found[_ZERO] = found.get(_ZERO, _ZERO) + rest
    return tuple(sorted(found.items()))


def _transform(law: Law, u: fmpq) -> fmpq:
    return sum((m * (v - u) for v, m in law if v > u), _ZERO)


def _is_mixture(row: Row, others: Sequence[Row]) -> bool:
    return bool(others) and feasible([[_ONE, *other] for other in others], [_ONE, *row]).x is not None
