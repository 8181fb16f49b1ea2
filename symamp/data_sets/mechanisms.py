"""Data sets of a mechanism with listed messages, of a triple, of noise and of densities; constant backgrounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import sympy as sp

from symamp.bounds.bound import DataSetBound, DataSets
from symamp.bounds.densities import SmoothPairBound
from symamp.bounds.few_users import CountedUsers, are_few
from symamp.bounds.hypotheses import ProofStatus
from symamp.bounds.own_law import own_parts
from symamp.bounds.pairs_of_a_table import ESTIMATED, is_small, most_revealing, worst_triples
from symamp.bounds.reduction import DATA_SETS, Reduction, dataset_reduction
from symamp.bounds.subject import Subject
from symamp.bounds.two_messages import FixedCounts
from symamp.data_sets.proposer import DataSpace, Pair, Proposals, Proposer, in_turn
from symamp.decompositions.blanket import Weights
from symamp.decompositions.decomposition import LawTriple
from symamp.decompositions.pairs import pair_classes
from symamp.decompositions.randomizer import groups_of
from symamp.laws.density import finite_law
from symamp.laws.law import Level
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.densities import Densities
from symamp.settings.participation import Participation

# ---------------------------------------------------------------------- The data sets of one mechanism, and of a triple


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


# -------------------------- All other users hold one input x*: every triple (x0, x1, x*) if they are few, else the best


def _chosen(space: DataSpace, level: Level | None, n: int) -> Iterator[tuple[Pair, str]]:
    table = space.table
    if table is None or (level is not None and is_small(table)):
        yield from ((pair, other) for pair in space.pairs for other in space.others(pair))
        return
    x = table.inputs
    if level is None:  # no eps is large enough for messages that x1 never sends: others at x1 hide nothing there
        # Where there are none it is the number of reports that tells, for every pair alike.
        yield from (((x[i], x[j]), x[j]) for i, j in most_revealing(table) or table.pairs[:1])
        return
    yield from (((x[i], x[j]), x[other]) for i, j, other in worst_triples(table, level, n, ESTIMATED))


CONSTANT_BACKGROUND = Proposer(
    "constant_background", lambda space, *at: (space.constant(pair, other) for pair, other in _chosen(space, *at))
)


# ------------------------------------------- All other users hold an input that the family declares as a representative


def _propose_declared(space: DataSpace, level: Level | None, n: int) -> Proposals:
    assert isinstance(space, MechanismSpace)
    for group in groups_of(space.mechanism) or ():
        for x, law in group.held:
            yield Reduction("data set", ProofStatus.LOWER, DATA_SETS, law, ((x, sp.Integer(1)),), space.member)


def _are_declared(space: DataSpace) -> bool:
    return isinstance(space, MechanismSpace) and any(group.held for group in groups_of(space.mechanism) or ())


DECLARED_INPUTS = Proposer("declared_inputs", _propose_declared, _are_declared)


# ----------------------- Data sets of noise and of densities: the divergence of a data set lies between two finite laws

_CELLS, _FEWEST_CELLS = 160, 16
"""How many cells of messages are distinguished in all, and at least in one piece: more cells, closer data sets."""


class SmoothDataSet(SmoothPairBound):
    """Data sets in which all other users hold the input ``other``."""

    @property
    def data_sets(self) -> DataSets:
        """All other users hold the same input."""
        return DataSets(*self.pair, ((str(self.other), "1"),))

    def in_cells(self, level: Level, n: int) -> Reduction:
        """Return the triple of messages of which only the cell is seen, chosen for this level and n.

        Guarantee
        ---------
        Its messages are a post-processing of those of the data sets: for every level, every n and every number of
        rounds their divergence is at most that of the data sets. Proof: docs/proofs/smooth_laws.md.
        """
        law = self.noise.laws(self.pair, level, n, self.other)[0]
        cells = max(_CELLS // max(len(law.pieces), 1), _FEWEST_CELLS)
        triple = LawTriple(finite_law(law, False, cells), self.pair)
        return Reduction(self.method, self.proof_status, self.source, triple, ((str(self.other), sp.Integer(1)),))


class SmoothSpace(DataSpace):
    """The data sets of noise at the ends of an interval of inputs, or of densities: all others hold one input."""

    def __init__(self, noise: AdditiveNoise | Densities) -> None:
        self._noise = noise

    @property
    def pairs(self) -> Sequence[Pair]:
        return self._noise.pairs()

    def others(self, pair: Pair) -> Sequence[str]:
        return self._noise.held_inputs

    def drawn(self, pair: Pair, weights: Weights) -> DataSetBound | None:
        return SmoothDataSet(self._noise, pair, "data set", DATA_SETS, weights[0][0]) if len(weights) == 1 else None


# ----------------------------- Data sets if not everyone takes part: those of the mechanism, transformed by the setting


class SeenSpace(DataSpace):
    """The triples of a space; data sets that are none, such as counts of inputs, are left out."""

    def __init__(self, proposed: DataSpace, participation: Participation) -> None:
        self._proposed, self._participation = proposed, participation
        self.member, self.table = proposed.member, proposed.table

    @property
    def proposed(self) -> DataSpace:
        return self._proposed

    def seen(self, part: DataSetBound, level: Level | None, n: int) -> Iterable[DataSetBound]:
        if isinstance(part, SmoothDataSet):
            if level is None:
                return ()
            part = part.in_cells(level, n)
        return cast(Iterable[DataSetBound], self._participation.of(part))
