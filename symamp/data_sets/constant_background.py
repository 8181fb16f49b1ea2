"""Data sets in which all other users hold one input x*: every triple (x0, x1, x*) if they are few, else the best."""

from __future__ import annotations

from collections.abc import Iterator

from symamp.bounds.pairs_of_a_table import ESTIMATED, is_small, most_revealing, worst_triples
from symamp.data_sets.proposer import DataSpace, Pair, Proposals, Proposer
from symamp.laws.law import Level


def _propose(space: DataSpace, level: Level | None, n: int) -> Proposals:
    return (space.constant(pair, other) for pair, other in _chosen(space, level, n))


def _chosen(space: DataSpace, level: Level | None, n: int) -> Iterator[tuple[Pair, str]]:
    table = space.table
    if table is None or (level is not None and is_small(table)):
        yield from ((pair, other) for pair in space.pairs for other in space.others(pair))
        return
    x = table.inputs
    if level is None:  # no eps is large enough for messages that x1 never sends: others at x1 hide nothing there
        yield from (((x[i], x[j]), x[j]) for i, j in most_revealing(table))
        return
    yield from (((x[i], x[j]), x[other]) for i, j, other in worst_triples(table, level, n, ESTIMATED))


CONSTANT_BACKGROUND = Proposer("constant_background", _propose)
