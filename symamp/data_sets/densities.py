"""The data sets of noise and of densities: no triple of finitely many messages, but laws between which one lies."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import sympy as sp

from symamp.bounds.bound import DataSetBound, DataSets
from symamp.bounds.densities import SmoothPairBound
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import DATA_SETS, Reduction
from symamp.data_sets.proposer import DataSpace, Pair
from symamp.decompositions.blanket import Weights
from symamp.decompositions.decomposition import LawTriple
from symamp.laws.density import SmoothLaw, even_cuts, finite_sandwich
from symamp.laws.law import Level
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.densities import Densities

_CELLS, _FEWEST_CELLS, _BITS = 160, 16, 256
"""How many cells of messages are distinguished in all, and at least in one piece: more cells, closer data sets."""


@lru_cache(maxsize=64)
def _among(law: SmoothLaw, other: int) -> SmoothLaw:
    """Return the triple with R(0), or R(1), in place of A2."""
    return law.among_first() if other == 0 else law.swapped().among_first().swapped()


class SmoothDataSet(SmoothPairBound):
    """Data sets in which all other users hold the input ``other``."""

    pair: tuple[str, str]
    other: Any

    method: ClassVar[str] = "data set"
    proof_status: ClassVar[ProofStatus] = ProofStatus.LOWER
    source: ClassVar[str] = DATA_SETS

    @property
    def data_sets(self) -> DataSets:
        """All other users hold the same input."""
        return DataSets(*self.pair, ((str(self.other), "1"),))

    @property
    def signature(self) -> Hashable:
        """The noise, the pair and the input of the others."""
        return self.method, self.noise, self.pair, self.other

    def in_cells(self, level: Level, n: int) -> Reduction:
        """Return the triple of messages of which only the cell is seen, chosen for this level and n.

        Guarantee
        ---------
        Its messages are a post-processing of those of the data sets: for every level, every n and every number of
        rounds their divergence is at most that of the data sets. Proof: docs/proofs/smooth_laws.md.
        """
        law = self.laws(level, n)[0]
        cells = max(_CELLS // max(len(law.pieces), 1), _FEWEST_CELLS)
        triple = LawTriple(finite_sandwich(law, cells, _BITS, even_cuts)[0], self.pair)
        return Reduction(self.method, self.proof_status, self.source, triple, ((str(self.other), sp.Integer(1)),))


@dataclass(frozen=True)
class NoiseDataSet(SmoothDataSet):
    """The data sets in which all other users hold the same end of the interval of inputs."""

    noise: AdditiveNoise
    other: int = 0
    pair: tuple[str, str] = ("0", "1")

    def laws(self, level: Level, n: int) -> tuple[SmoothLaw, SmoothLaw]:
        """Return one law: its divergence is at most that of the data sets, which is all that a lower bound needs."""
        lower, _ = self.noise.blanket_laws(level, n)
        law = _among(lower, self.other)
        return law, law


@dataclass(frozen=True)
class DensityDataSet(SmoothDataSet):
    """The data sets of a pair in which all other users hold one input."""

    noise: Densities
    pair: tuple[str, str]
    other: str

    def laws(self, level: Level, n: int) -> tuple[SmoothLaw, SmoothLaw]:
        """Return one law, whatever the level."""
        law = self.noise.law(self.pair, self.other)
        return law, law


class NoiseSpace(DataSpace):
    """The data sets of noise at the ends 0 and 1 of an interval of inputs, which are the worst pair."""

    def __init__(self, noise: AdditiveNoise) -> None:
        self._noise = noise

    @property
    def pairs(self) -> Sequence[Pair]:
        """The ends."""
        return (("0", "1"),)

    def others(self, pair: Pair) -> Sequence[str]:
        """Return the ends."""
        return pair

    def drawn(self, pair: Pair, weights: Weights) -> DataSetBound | None:
        """Return the divergence where all others hold one end."""
        return NoiseDataSet(self._noise, int(weights[0][0])) if len(weights) == 1 else None


class DensitySpace(DataSpace):
    """The data sets of densities on finitely many inputs, or at the ends of an interval and in the middle."""

    def __init__(self, densities: Densities) -> None:
        self._densities = densities

    @property
    def pairs(self) -> Sequence[Pair]:
        """All ordered pairs of those inputs, or of the ends."""
        return self._densities.pairs()

    def others(self, pair: Pair) -> Sequence[str]:
        """Return those inputs."""
        return self._densities.held.inputs

    def drawn(self, pair: Pair, weights: Weights) -> DataSetBound | None:
        """Return the divergence where all others hold one input."""
        return DensityDataSet(self._densities.held, pair, weights[0][0]) if len(weights) == 1 else None
