"""Bounds over all data sets for finitely many inputs with densities: those of a finite table above them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

import sympy as sp
from flint import arb

from symamp.bounds.all_data_sets_part import AllDataSetsPairBound
from symamp.bounds.analysis import Bound
from symamp.bounds.bound import MaxOverPairs, PairBoundDefaults
from symamp.bounds.envelope_part import EnvelopePairBound
from symamp.bounds.hypotheses import FINITE_BUDGET, LISTED_DENSITIES, SHUFFLED
from symamp.bounds.pair_of_inputs import PairOfInputs, pairs_of_inputs
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.laws.law import Level
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.noise.densities import ROUNDED, dominating_table
from symamp.sums.divergence import Enclosure, Settings

SOURCE = "Theorems E and G of a table above the densities (docs/proofs/dominating_table.md)"
_MOST_INPUTS = 4
"""Up to so many inputs the pairs of a table are few enough for a default."""


@dataclass(frozen=True)
class AboveDensities(PairBoundDefaults):
    """A part of a bound for a table of rounded numbers, with what the rounding may have taken away."""

    part: PairOfInputs
    method: str
    proof_status: ProofStatus = ProofStatus.PROVED
    source: str = SOURCE

    rounded: ClassVar[sp.Rational] = ROUNDED

    @property
    def fixed_background(self) -> tuple[Reduction, ...]:
        """The data sets of the table."""
        return self.part.fixed_background

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""
        return self.part.pair

    @property
    def estimate_error(self) -> float:
        """The relative distance of estimates from certified values."""
        return self.part.estimate_error

    @property
    def signature(self) -> Hashable:
        """That of the table."""
        return self.method, self.part.signature

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        return self.part.log_estimate(level, n, settings)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the bound is delta: 0 if it is smaller at 0, inf if never."""
        return self.part.root(n, log_delta, settings, start)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure whose upper end bounds the divergence of the pair, whatever the other users hold.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair and every data set of the others.
        Proof: docs/proofs/dominating_table.md.
        """
        found = self.part.enclose(level, n, settings)
        with at_precision(found.precision):
            lost = (1 + level.exponential()) * n / int(self.rounded.q)
            upper = (found.upper + lost).min(arb(1))
        return replace(found, lower=arb(0), upper=upper)


def _analysis(name: str, part: type[PairOfInputs], summary: str, rank: int) -> Bound:
    def bound(subject: Subject) -> MaxOverPairs:
        assert subject.densities is not None
        table = dominating_table(subject.densities)
        return MaxOverPairs.of(AboveDensities(part(triples), name) for triples in pairs_of_inputs(table))

    hypotheses = (*SHUFFLED, LISTED_DENSITIES, FINITE_BUDGET)
    return Bound(name, ProofStatus.PROVED, SOURCE, summary, "dominating_table", hypotheses, bound, rank, _needless)


def _needless(subject: Subject) -> bool:
    return subject.densities is not None and len(subject.densities.inputs) > _MOST_INPUTS


DENSITY_ENVELOPE = _analysis("density_envelope", EnvelopePairBound, "a law above those of all inputs, for densities", 1)
DENSITY_DATA_SETS = _analysis("density_data_sets", AllDataSetsPairBound, "all data sets at once, for densities", 3)
