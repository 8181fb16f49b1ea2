"""A reduction: a triple (A0, A1, A2) with a name, a proof status and a source; the triple of data sets among them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import inf
from typing import TypeGuard

import sympy as sp
from flint import arb

from symamp.bounds.bound import DataSets, PairBound, PairBoundDefaults
from symamp.bounds.hypotheses import ProofStatus
from symamp.decompositions.blanket import Weights, triple
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.decompositions.to_law import law_of
from symamp.laws.law import Law, Level, quick_gparv
from symamp.numbers.limits import Limits, kept
from symamp.sums.divergence import Enclosure, Settings, enclose_divergence, estimate_log_divergence
from symamp.sums.inversion import approximate_log_law, estimate_epsilon, largest_epsilon, limit_divergence

DATA_SETS = "Su, Cheng, Wang 2025, Theorem 14"


@dataclass(frozen=True)
class Reduction(PairBoundDefaults):
    """A decomposition as a bound: ``dataset`` weights the inputs of the other users (empty for upper bounds).

    ``member`` says which mechanism it is of where the question was about many.
    """

    method: str
    proof_status: ProofStatus
    source: str
    decomposition: Decomposition
    dataset: tuple[tuple[str, sp.Rational], ...] = ()
    member: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""
        return self.decomposition.pair

    @property
    def has_null(self) -> bool:
        """Whether A2 may have a null symbol: that of data sets is the law of a real message."""
        return not self.dataset

    @property
    def law(self) -> Law:
        """The law that crosses to the evaluation; ArgumentError if a parameter is still a symbol."""
        return law_of(self.decomposition, not self.has_null)

    @property
    def data_sets(self) -> DataSets:
        """The data sets that have this triple, where it is a lower bound."""
        return DataSets(*self.pair, tuple((x, str(w)) for x, w in self.dataset), self.member)

    @property
    def signature(self) -> Hashable:
        """The component list, or what says as much."""
        return self.decomposition.fingerprint

    def swapped(self) -> Reduction:
        """Return the triple with the two data sets exchanged."""
        return replace(self, decomposition=self.decomposition.swapped())

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the divergence, in floats; -inf for zero. Not a bound."""
        if settings.limits.is_spent():
            return approximate_log_law(quick_gparv(self.law, level), n)
        return _estimated(settings.limits, self.decomposition, not self.has_null, level, n, settings)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the divergence is delta: 0 if it is smaller at 0, inf if never."""
        return estimate_epsilon(
            self.law, n, log_delta, settings, start, lambda level: self.log_estimate(level, n, settings)
        )

    def limit(self, n: int) -> arb:
        """Return a ball around the limit of the divergence as eps grows."""
        return limit_divergence(self.law, n) if largest_epsilon(self.law) == inf else arb(0)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence.

        Guarantee
        ---------
        The divergence of the triple lies between the outer ends. Proof: docs/proofs/kernel_sandwich.md.
        """
        return _enclosed(settings.limits, self.decomposition, not self.has_null, level, n, settings)


def is_triple(part: PairBound) -> TypeGuard[Reduction]:
    """Return whether the part is a triple: then it has a law, and a certificate can carry it."""
    return isinstance(part, Reduction)


def dataset_reduction(mechanism: LocalRandomizer, pair: tuple[str, str], others: Weights) -> Reduction:
    """Return the triple A0 = R(x0), A1 = R(x1), A2 = sum of w R(x*) over the weighted inputs of the other users.

    Guarantee
    ---------
    Its divergence is at most that of the shuffled reports for the worst pair of neighbouring data sets: equal to one
    of them if a single input has weight 1, and an average over some of them otherwise.
    Proof: docs/proofs/blanket_reduction.md.
    """
    return Reduction("data set", ProofStatus.LOWER, DATA_SETS, triple(mechanism, pair, others), others)


# A search comes back to the same triple at the same level: nothing is evaluated twice.
@kept(maxsize=8192)
def _estimated(
    limits: Limits, decomposition: Decomposition, complete: bool, level: Level, n: int, settings: Settings
) -> float:
    return estimate_log_divergence(law_of(decomposition, complete), level, n, settings.under(limits))


@kept(maxsize=1024)
def _enclosed(
    limits: Limits, decomposition: Decomposition, complete: bool, level: Level, n: int, settings: Settings
) -> Enclosure:
    settings = settings.under(limits)
    around = decomposition.enclosing_laws
    if around is None:
        return enclose_divergence(law_of(decomposition, complete), level, n, settings)
    below, above = (enclose_divergence(law, level, n, settings) for law in around)
    bits = max(below.precision, above.precision)
    return Enclosure(below.lower, above.upper, f"{above.evaluator}, merged atoms", bits, above.plan)
