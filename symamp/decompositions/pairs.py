"""Ordered pairs of inputs, grouped by equal component lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from symamp.decompositions.blanket import blanket
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.errors import Problem, UnknownInputError

_MOST_MERGED_GROUPS = 64  # groups of pairs up to this number are compared by their merged components, too


@dataclass(frozen=True)
class PairClass:
    """Ordered pairs whose blanket decompositions are the same, and that decomposition."""

    decomposition: Decomposition
    pairs: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1024)
def pair_classes(mechanism: LocalRandomizer) -> tuple[PairClass, ...]:
    """Return all ordered pairs of inputs (one for each symmetry that the description knows), in classes.

    Both orders of a pair are there: they may differ.
    """
    if mechanism.numeric is not None:
        return _table_classes(mechanism, mechanism.numeric)
    groups: dict[object, list[tuple[str, str]]] = {}
    first: dict[object, Decomposition] = {}
    for pair in mechanism.ordered_pairs():
        decomposition = blanket(mechanism, pair)
        signature = decomposition.signature()
        groups.setdefault(signature, []).append(pair)
        first.setdefault(signature, decomposition)
    return tuple(PairClass(first[s], tuple(pairs)) for s, pairs in groups.items())


def _table_classes(mechanism: LocalRandomizer, table: NumericTable) -> tuple[PairClass, ...]:
    x = mechanism.inputs
    groups = distinct_pairs(table, table.pairs)
    merged: dict[object, list[list[tuple[int, int]]]] = {}
    for group in groups:
        first, is_merged = (x[group[0][0]], x[group[0][1]]), len(groups) <= _MOST_MERGED_GROUPS
        key = blanket(mechanism, first).signature() if is_merged else group[0]
        merged.setdefault(key, []).append(group)
    return tuple(
        PairClass(blanket(mechanism, pairs[0]), pairs)
        for same in merged.values()
        for pairs in [tuple((x[i], x[j]) for group in same for i, j in group)]
    )


def distinct_pairs(table: NumericTable, pairs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return the ordered pairs of rows in groups: those of a group have the same blanket, exactly.

    Each message stands for (R(i), R(j), m) by ranks: two pairs are in one group if their triples are the same up to
    their order. Pairs whose components agree only after merging may be in different groups.
    """
    ranks, size = table.ranks.astype(np.int64), len(table.numbers)
    _, least = np.unique(table.least, return_inverse=True)
    groups: dict[bytes, list[tuple[int, int]]] = {}
    for i, j in pairs:
        messages = np.sort((ranks[i] * size + ranks[j]) * (int(least.max()) + 1) + least)
        groups.setdefault(messages.tobytes(), []).append((i, j))
    return list(groups.values())


def pairs_with_equal_laws(table: NumericTable, pairs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return the ordered pairs of rows in groups: those of a group have the same set of laws of other users, exactly.

    For each row x the messages stand for (R(i), R(j), R(x)) by ranks; two pairs are in one group if the sets of these
    lists, each up to its order, are the same (docs/proofs/all_pairs.md, section 4). Pairs with equal blankets need not
    be.
    """
    ranks, size = table.ranks.astype(np.int64), len(table.numbers)
    both = [ranks[i] * size + ranks[j] for i, j in pairs]
    rough = [np.sort(row).tobytes() for row in both]
    often, groups = Counter(rough), dict[Hashable, list[tuple[int, int]]]()
    for pair, row, key in zip(pairs, both, rough, strict=True):
        laws = () if often[key] == 1 else frozenset(x.tobytes() for x in np.sort(row * size + ranks, axis=1))
        groups.setdefault((key, laws), []).append(pair)
    return list(groups.values())


def only_pair(mechanism: LocalRandomizer) -> tuple[str, str]:
    """Return a pair that represents all ordered pairs; UnknownInputError if they differ."""
    classes = pair_classes(mechanism)
    if len(classes) > 1:
        shown = " or ".join(f"{c.pairs[0]}" for c in classes[:6])
        wrong = Problem(f"there are {len(classes)} classes of pairs")
        raise UnknownInputError("pair", wrong, f"give one, such as {shown}")
    return classes[0].pairs[0]
