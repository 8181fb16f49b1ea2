"""The bound over all data sets at once: nearly the truth where many messages tell the two inputs apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from symamp.analyses.analysis import Analysis
from symamp.analyses.pair_of_inputs import PairOfInputs, all_inputs_listed, has_many_pairs, pairs_of_inputs
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
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


def _parts(subject: Subject) -> Iterator[AllDataSetsPart]:
    return (AllDataSetsPart(triples) for triples in pairs_of_inputs(subject))


ALL_DATA_SETS = Analysis(
    "all_data_sets",
    Standing.PROVED,
    SOURCE,
    "all data sets at once",
    _parts,
    all_inputs_listed,
    rank=3,
    needless=has_many_pairs,
)
