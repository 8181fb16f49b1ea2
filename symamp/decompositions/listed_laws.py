"""A check of declared groups of pairs against the rows of a small member, in exact fractions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple, TypeAlias

from flint import fmpq

from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.pair_groups import PairGroup
from symamp.errors import Problem, VerificationError
from symamp.numbers.linear_programme import Row, feasible
from symamp.numbers.rationals import fmpq_of

_ZERO, _ONE = fmpq(0), fmpq(1)
Law: TypeAlias = tuple[tuple[fmpq, fmpq], ...]
"""Values with their masses, in the order of the values."""
Weights: TypeAlias = dict[tuple[fmpq, int, Law], Row]
"""For a level, a group and a law, the weights of a mixture of the group's laws above it."""


class _Listed(NamedTuple):
    """The laws of a group at a level, all their values, and ``above``, which the blanket has to be below."""

    laws: tuple[Law, ...]
    nodes: tuple[fmpq, ...]
    above: Law | None


def compare_laws(rows: Mapping[str, Row], groups: Sequence[PairGroup], ratio: fmpq) -> Weights:
    """Return for every pair of inputs the weights by which some group bounds it, at two levels E.

    ``rows`` are those of all inputs, ``ratio`` is e^eps0. A group bounds a pair if for every input weights are found by
    which its law is below a mixture of the laws, and the blanket is below ``above``: a linear programme for each law,
    in fractions. Rows that mix others are no inputs of a pair: they are never worse.

    Raises VerificationError for a pair that no group bounds.
    """
    different = {tuple(rows[x]): x for x in reversed(list(rows))}
    vertices = [x for row, x in different.items() if not _is_mixture(row, [r for r in different if r != row])]
    infimum = [min(column) for column in zip(*rows.values(), strict=True)]
    weights: Weights = {}
    for level in (_ONE, (1 + ratio) / 2):
        listed = [_listed(group, level) for group in groups]
        known: set[tuple[frozenset[Law], Law]] = set()
        for pair in permutations(vertices, 2):
            g = [a - level * b for a, b in zip(rows[pair[0]], rows[pair[1]], strict=True)]
            laws, blanket = {_law(g, row): x for x, row in rows.items()}, _law(g, infimum)
            if (alike := (frozenset(laws), blanket)) in known:
                continue
            wrong = ""
            for k, group in enumerate(listed):
                found = _weights(group, laws, blanket)
                if isinstance(found, dict):
                    weights |= {(level, k, law): row for law, row in found.items()}
                    known.add(alike)
                    break
                wrong += f"; {found} is not below group {k}"
            else:
                told = Problem(f"at E = {level} no group bounds it{wrong}")
                raise VerificationError(f"pair {pair}", told, "a group that does")
    return weights


def _weights(group: _Listed, laws: Mapping[Law, str], blanket: Law) -> dict[Law, Row] | str:
    """Return the weights for each law, or what is not below the group; of a blanket without other inputs no weights."""
    above = group.above
    if above is not None and any(_transform(blanket, u) > _transform(above, u) for u, _ in (*above, (_ZERO, _ZERO))):
        return "the blanket"
    found: dict[Law, Row] = {}
    for law, x in laws.items() if group.laws else ():
        row = _mixture(group, tuple(_transform(law, u) for u in (_ZERO, *group.nodes)))
        if row is None:
            return f"input {x}"
        found[law] = row
    return found


@cache
def _mixture(group: _Listed, goal: tuple[fmpq, ...]) -> Row | None:
    """Return weights of sum 1 with the same E[w+] whose mixture has a transform of at least ``goal`` at all nodes."""
    columns = [[_ONE, *(_transform(law, u) for u in (_ZERO, *group.nodes))] for law in group.laws]
    slack = len(group.nodes)
    columns += [[_ZERO] * (2 + i) + [fmpq(-1)] + [_ZERO] * (slack - 1 - i) for i in range(slack)]
    found = feasible(columns, [_ONE, *goal]).x
    return None if found is None else found[: len(group.laws)]


def _listed(group: PairGroup, level: fmpq) -> _Listed:
    laws = tuple(_law_at(law, level) for law in group.laws)
    nodes = tuple(sorted({v for law in laws for v, _ in law}))
    return _Listed(laws, nodes, None if group.above is None else _law_at(group.above, level))


def _law_at(triple: Decomposition, level: fmpq) -> Law:
    """Return the law of G = r0 - E r1 at a level E."""
    return _collected((fmpq_of(c.ratio0) - level * fmpq_of(c.ratio1), fmpq_of(c.mass)) for c in triple.components)


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


def _is_mixture(row: Row, others: Sequence[Row]) -> bool:
    return bool(others) and feasible([[_ONE, *other] for other in others], [_ONE, *row]).x is not None
