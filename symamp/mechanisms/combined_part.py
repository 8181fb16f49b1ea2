"""What a combined mechanism asks of one of its parts: pairs of values, equal ones included, and their triples."""

from __future__ import annotations

import sympy as sp

from symamp.derivation.blanket import blanket
from symamp.derivation.composed import same_input
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.dominating_pair import dominating_pair
from symamp.derivation.pairs import pair_classes
from symamp.derivation.randomizer import LocalRandomizer
from symamp.derivation.triple import triple
from symamp.errors import SupportMismatchError
from symamp.mechanisms.mechanism import Mechanism


def part_triple(part: Mechanism, x0: str, x1: str, other: str | None) -> Decomposition:
    """Return R(x0), R(x1) and the blanket or R(other) of a part, for equal inputs, too."""
    if (found := part.decomposed((x0, x1), other)) is not None:
        return found
    if x0 != x1:
        return _of_pair(part, (x0, x1), other)
    further = next(x for x in part.inputs if x != x0)
    return same_input(_of_pair(part, (x0, further), other), 0)


def _of_pair(part: Mechanism, pair: tuple[str, str], other: str | None) -> Decomposition:
    return blanket(part, pair) if other is None else triple(part, pair, ((other, sp.Integer(1)),))


def different_pairs(part: LocalRandomizer) -> list[tuple[str, str]]:
    """The pairs of different inputs that stand for all."""
    if len(part.inputs) == 1:
        return [(part.inputs[0],) * 2]
    if (best := dominating_pair(part)) is not None:
        return [best]
    if not part.lists_all_inputs and not part.is_composed:
        raise SupportMismatchError("mechanism", repr(part), "a part all of whose pairs of inputs are described")
    return [c.pairs[0] for c in pair_classes(part)]


def equal_pairs(part: Mechanism) -> list[tuple[str, str]]:
    """One pair (x, x) for each law of a single input."""
    if part.first_input_stands_for_all:
        return [(part.inputs[0],) * 2]
    if not part.lists_all_inputs and dominating_pair(part) is None:
        raise SupportMismatchError(
            "mechanism", repr(part), "a part all of whose inputs are described, such as its .table()"
        )
    found = {part_triple(part, x, x, None).signature(): (x, x) for x in part.inputs[::-1]}
    return list(found.values())


def further_values(part: Mechanism, x0: str, x1: str) -> tuple[str, ...]:
    """Values beside x0 and x1, one of each class; a different one, for data sets, where the two are equal."""
    if part.first_input_stands_for_all:
        return ()
    return part.further_inputs((x0, x1)) if x0 != x1 else tuple(x for x in part.inputs if x != x0)[:1]
