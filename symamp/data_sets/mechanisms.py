"""Data sets of a mechanism with listed messages, and both orders of a given triple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from symamp.bounds.bound import DataSetBound
from symamp.bounds.few_users import CountedUsers, are_few
from symamp.bounds.own_law import own_parts
from symamp.bounds.reduction import Reduction, dataset_reduction
from symamp.bounds.subject import Subject
from symamp.bounds.two_messages import FixedCounts
from symamp.data_sets.proposer import DataSpace, Pair, in_turn
from symamp.decompositions.blanket import Weights
from symamp.decompositions.pairs import pair_classes
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism


class MechanismSpace(DataSpace):
    """The data sets of one mechanism: pairs of a table, or one of each class that its description knows."""

    def __init__(self, mechanism: Mechanism, member: str = "") -> None:
        # A mixture of inputs of a combination is no product: its table is asked where it is small.
        self.mechanism = mechanism.listed if mechanism.is_composed else mechanism
        self.member, self.table = member, self.mechanism.numeric

    @property
    def pairs(self) -> Sequence[Pair]:
        if self.table is None:
            return [c.pairs[0] for c in pair_classes(self.mechanism)]
        x = self.table.inputs
        return [(x[i], x[j]) for i, j in self.table.pairs]

    def others(self, pair: Pair) -> Sequence[str]:
        return (*self.mechanism.further_inputs(pair), *pair) if self.table is None else self.table.inputs

    def drawn(self, pair: Pair, weights: Weights) -> Reduction | None:
        """Return the triple; of a mechanism made of others a mixture of inputs is no product."""
        if self.mechanism.is_composed and len(weights) > 1:
            return None
        found = dataset_reduction(self.mechanism, pair, weights)
        return replace(found, member=self.member) if self.member else found

    def held(self, pair: Pair, inputs: Sequence[str], n: int) -> DataSetBound | None:
        """Return the triple of one input, or the divergence of a table's data sets where it can be had."""
        counts, found = in_turn(inputs, n - 1), self.mechanism
        if len(counts) > 1 and isinstance(found, FiniteMechanism) and found.numeric is not None:
            x, y = (found.inputs.index(x) for x in pair)
            if are_few(found, n):
                return CountedUsers(found, (x, y), tuple(counts.get(z, 0) for z in found.inputs))
            if len(found.messages) == len(counts) == 2:
                triples = tuple(dataset_reduction(found, pair, ((z, sp.Integer(1)),)) for z in counts)
                return FixedCounts.of(triples, counts)
        return super().held(pair, inputs, n)


class TripleSpace(DataSpace):
    """A triple of one's own, in both orders: what the others send is given."""

    def __init__(self, subject: Subject) -> None:
        self._orders = {str(order): part for order, part in enumerate(own_parts(subject))}

    @property
    def pairs(self) -> Sequence[Pair]:
        return [(order, order) for order in self._orders]

    def others(self, pair: Pair) -> Sequence[str]:
        return ("A2",)

    def drawn(self, pair: Pair, weights: Weights) -> DataSetBound:
        return self._orders[pair[0]]
