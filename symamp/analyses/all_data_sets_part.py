"""The part of a bound over all data sets at once: one pair of inputs, or the vertices of many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from symamp.analyses.pair_of_inputs import PairOfInputs
from symamp.evaluation.all_data_sets import enclose_all_data_sets, estimate_log_all_data_sets
from symamp.evaluation.divergence import Enclosure, Settings
from symamp.evaluation.law import Level

SOURCE = "Theorem G (docs/proofs/all_data_sets.md)"


@dataclass(frozen=True)
class AllDataSetsPart(PairOfInputs):
    """The bound of one pair of inputs over all data sets of the other users.

    ``mixed`` says that the laws of other inputs may be any mixtures of those of the triples.
    """

    method: ClassVar[str] = "all_data_sets"
    source: ClassVar[str] = SOURCE
    accuracy: ClassVar[float] = 2e-3
    mixed: ClassVar[bool] = False

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        return estimate_log_all_data_sets(self.laws, level, n, mixed=self.mixed)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the divergence for every data set of the others: an upper end, and 0.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/all_data_sets.md.
        """
        return enclose_all_data_sets(self.laws, level, n, settings, mixed=self.mixed)
