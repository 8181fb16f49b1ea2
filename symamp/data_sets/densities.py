"""Data sets of noise and of densities: the divergence of a data set lies between two finite laws."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symamp.bounds.bound import DataSetBound, DataSets
from symamp.bounds.densities import SmoothPairBound
from symamp.bounds.reduction import DATA_SETS, Reduction
from symamp.data_sets.proposer import DataSpace, Pair
from symamp.decompositions.blanket import Weights
from symamp.decompositions.decomposition import LawTriple
from symamp.laws.density import finite_law
from symamp.laws.law import Level
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.densities import Densities

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
