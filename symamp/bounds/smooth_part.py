"""Parts of bounds for noise with a density: between two laws, and the worst pair of inputs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import log
from typing import ClassVar

import sympy as sp

from symamp.bounds.bound import PairBoundDefaults
from symamp.bounds.proof_status import ProofStatus
from symamp.decompositions.to_law import log_above
from symamp.errors import PrecisionError
from symamp.laws.density import SmoothLaw
from symamp.laws.law import Level
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.densities import Densities
from symamp.sums.density import enclose_smooth, estimate_log_smooth, estimate_smooth_epsilon
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import LARGEST_EPS

WORST_PAIR = "Corollary 2 of Theorem P (docs/proofs/worst_pair.md)"

_GAP_OF_CUT, _LEAST_LOG_DELTA = 1e-4, -200.0 * log(10.0)
_ALLOWED = "at least 1e-200 for noise with unbounded ratios, whose tails are cut"


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

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
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
