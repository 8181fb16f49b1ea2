"""Which data sets are tried for the lower bound of noise on an interval: all other users at one of its ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from symamp.analyses.bound import Bound
from symamp.analyses.part import Part
from symamp.analyses.smooth_part import NoiseDataSet
from symamp.evaluation.law import Level
from symamp.mechanisms.continuous.additive_noise import AdditiveNoise


@dataclass(frozen=True)
class NoiseDataSetBound(Bound):
    """The data sets (0, x, ..., x) against (1, x, ..., x), x = 0 or 1; those of (1, 0) are their mirror images."""

    @staticmethod
    def of_noise(noise: AdditiveNoise) -> NoiseDataSetBound:
        """Return the data sets of some noise."""
        return NoiseDataSetBound(tuple(NoiseDataSet(noise, x) for x in (0, 1)))

    def mixtures(self, found: Part, level: Level, n: int) -> Iterator[Part]:
        """Yield nothing: mixtures of the ends were never found to be worse."""
        return iter(())
