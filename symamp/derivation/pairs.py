"""Ordered pairs of inputs, grouped by equal component lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from symamp.derivation.blanket import blanket
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.randomizer import LocalRandomizer
from symamp.errors import UnknownInputError


@dataclass(frozen=True)
class PairClass:
    """Ordered pairs whose blanket decompositions are the same, and that decomposition."""

    decomposition: Decomposition
    pairs: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1024)
def pair_classes(mechanism: LocalRandomizer) -> tuple[PairClass, ...]:
    """Return all ordered pairs of inputs (one for each symmetry that the description knows), in classes.

    Both orders of a pair are there: they may differ.

    >>> import symamp as sa
    >>> len(pair_classes(sa.RandomizedResponse()))
    1
    """
    groups: dict[object, list[tuple[str, str]]] = {}
    first: dict[object, Decomposition] = {}
    both_orders = dict.fromkeys(p for x, z in mechanism.pairs() for p in ((x, z), (z, x)))
    for pair in both_orders:
        decomposition = blanket(mechanism, pair)
        signature = decomposition.signature()
        groups.setdefault(signature, []).append(pair)
        first.setdefault(signature, decomposition)
    return tuple(PairClass(first[s], tuple(pairs)) for s, pairs in groups.items())


def only_pair(mechanism: LocalRandomizer) -> tuple[str, str]:
    """Return a pair that represents all ordered pairs; UnknownInputError if they differ."""
    classes = pair_classes(mechanism)
    if len(classes) > 1:
        shown = "; ".join(f"{c.pairs[0]}" for c in classes[:6])
        raise UnknownInputError("pair", "none", f"a pair: they fall into {len(classes)} classes, such as {shown}")
    return classes[0].pairs[0]
