"""Parts of bounds for noise with a density: the worst pair of inputs from above, data sets from below."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import Any, ClassVar

import sympy as sp

from symamp.bounds.bound import DataSets, PairBoundDefaults
from symamp.bounds.data_sets import SOURCE as DATA_SETS
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.decompositions.decomposition import LawTriple
from symamp.decompositions.to_law import log_above
from symamp.errors import PrecisionError
from symamp.laws.density import SmoothLaw, even_cuts, finite_sandwich
from symamp.laws.law import Level
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.densities import Densities
from symamp.sums.density import enclose_smooth, estimate_log_smooth, estimate_smooth_epsilon
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import LARGEST_EPS

WORST_PAIR = "Corollary 2 of Theorem P (docs/proofs/worst_pair.md)"

_GAP_OF_CUT, _LEAST_LOG_DELTA = 1e-4, -200.0 * log(10.0)
_ALLOWED = "at least 1e-200 for noise with unbounded ratios, whose tails are cut"
_CELLS, _FEWEST_CELLS, _BITS = 160, 16, 256
"""How many cells of messages are told apart in all, and at least in one piece."""


@dataclass(frozen=True)
class SmoothPairBound(PairBoundDefaults):
    """A part whose divergence lies between those of two laws with densities."""

    noise: AdditiveNoise | Densities

    method: ClassVar[str]
    proof_status: ClassVar[ProofStatus]
    source: ClassVar[str]

    def laws(self, level: Level, n: int) -> tuple[SmoothLaw, SmoothLaw]:
        """Return the laws between whose divergences that of the part lies."""
        raise NotImplementedError

    @property
    def signature(self) -> Hashable:
        """The noise, and what it is asked."""
        return self.method, self.noise

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the divergence, in floats; -inf for zero. Not a bound."""
        return estimate_log_smooth(self.laws(level, n)[1], level, n, settings)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the divergence is delta: 0 if it is smaller at 0, inf if never."""
        if self.gap_floor > 0.0 and log_delta < _LEAST_LOG_DELTA:
            raise PrecisionError("delta", f"about 1e{log_delta / log(10):.0f}", _ALLOWED)
        settings = replace(settings, gap=max(settings.gap, self.gap_floor))
        return estimate_smooth_epsilon(lambda level: self.laws(level, n)[1], n, log_delta, settings, self._top, start)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence.

        Guarantee
        ---------
        The divergence of the pair, or of the data sets, lies between the outer ends.
        Proof: docs/proofs/smooth_laws.md.
        """
        low, high = self.laws(level, n)
        settings = replace(settings, gap=max(settings.gap, self.gap_floor))
        return enclose_smooth(high, level, n, settings, low)

    @property
    def gap_floor(self) -> float:
        """The cut of an unbounded tail alone costs about 1e-5, and rare large ratios make many frequencies."""
        return _GAP_OF_CUT if self.noise.local_ratio() is sp.oo else 0.0

    @property
    def _top(self) -> float:
        return min(log_above(self.noise.local_ratio()), LARGEST_EPS)


@lru_cache(maxsize=64)
def _among(law: SmoothLaw, other: int) -> SmoothLaw:
    """Return the triple with R(0), or R(1), in place of A2."""
    return law.among_first() if other == 0 else law.swapped().among_first().swapped()


@dataclass(frozen=True)
class WorstPairBound(SmoothPairBound):
    """The blanket of the pair (0, 1), which is worse than every other pair of inputs."""

    noise: AdditiveNoise

    pair: ClassVar[tuple[str, str]] = ("0", "1")
    method: ClassVar[str] = "worst_pair"
    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED
    source: ClassVar[str] = WORST_PAIR

    def laws(self, level: Level, n: int) -> tuple[SmoothLaw, SmoothLaw]:
        """Return the laws of the noise."""
        return self.noise.blanket_laws(level, n)


class SmoothDataSet(SmoothPairBound):
    """Data sets in which all other users hold the input ``other``."""

    pair: tuple[str, str]
    other: Any

    method: ClassVar[str] = "data set"
    proof_status: ClassVar[ProofStatus] = ProofStatus.LOWER
    source: ClassVar[str] = DATA_SETS
    member: ClassVar[str] = ""
    dataset: ClassVar[tuple[()]] = ()

    @property
    def data_sets(self) -> DataSets:
        """All other users hold the same input."""
        return DataSets(*self.pair, ((str(self.other), "1"),))

    @property
    def signature(self) -> Hashable:
        """The noise, the pair and the input of the others."""
        return self.method, self.noise, self.pair, self.other

    def in_cells(self, level: Level, n: int) -> Reduction:
        """Return the triple of messages that are told apart by cells only, chosen for this level and n.

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
