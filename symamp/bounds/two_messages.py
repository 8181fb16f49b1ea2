"""Reports of two messages: the truth over all data sets, by boxes of counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import sympy as sp

from symamp.bounds.analysis import Bound
from symamp.bounds.attained_root import attained_root
from symamp.bounds.fixed_counts import FixedCounts, reports_of
from symamp.bounds.hypotheses import ANY_TWO, DESCRIBED, EVERY_CLASS, PROBABILITIES, SHUFFLED, Hypothesis, every
from symamp.bounds.pair_of_inputs import PairOfInputs, pairs_of_inputs
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction, dataset_reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.envelope import envelope_classes
from symamp.decompositions.pairs import pair_classes
from symamp.laws.law import Level
from symamp.randomizers.mechanism import Mechanism
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import largest_epsilon
from symamp.sums.two_messages import TwoMessages, enclose_two_messages, worst_counts

SOURCE = "Theorem T (docs/proofs/two_messages.md)"


@dataclass(frozen=True)
class TwoMessagesPairBound(PairOfInputs):
    """The largest divergence of one pair of inputs over all data sets, where there are two messages."""

    method: ClassVar[str] = "two_messages"
    is_attained: ClassVar[bool] = True
    source: ClassVar[str] = SOURCE
    estimate_error: ClassVar[float] = 1e-4

    @cached_property
    def reports(self) -> TwoMessages:
        """The probabilities of the message that is likelier under x0 than under x1."""
        return reports_of(self.laws)

    def attained(self, level: Level, n: int) -> FixedCounts:
        """Return the worst data set that is found: so many users at the one extreme input, all others at the other."""
        return FixedCounts(self.triples, worst_counts(self.reports, level, n)[0])

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        return worst_counts(self.reports, level, n)[1]

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the bound is delta: 0 if it is smaller at 0, inf if never."""
        return attained_root(self, largest_epsilon(self.laws[0]), n, log_delta, settings, start)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the largest divergence over all data sets, for this pair.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold; the lower one is
        at most that of some data set. Proof: docs/proofs/two_messages.md.
        """
        return enclose_two_messages(self.reports, level, n, settings)


def _not_two(subject: Subject) -> str | None:
    mechanism = subject.mechanism
    assert mechanism is not None
    return None if _has_two(mechanism) else "here there are others: take method='all_data_sets'"


def _has_two(mechanism: Mechanism) -> bool:
    table = mechanism.numeric
    if table is not None:
        return len(table.messages) == 2 and bool((table.ranks != table.ranks[0]).any())
    # Messages that no triple tells apart are not told apart by the blanket, which is at hand.
    if any(len(c.decomposition.components) > 2 for c in pair_classes(mechanism)):
        return False
    triples = (t for found in envelope_classes(mechanism) for t in found.triples)
    return all(len(t.components) + len(t.singular) == 2 for t in triples)


def _parts(subject: Subject) -> Iterator[TwoMessagesPairBound]:
    mechanism = subject.mechanism
    assert mechanism is not None
    if mechanism.numeric is None:
        return (TwoMessagesPairBound(triples) for triples in pairs_of_inputs(subject))
    ends = [
        mechanism.inputs[int(i)] for ranks in [mechanism.numeric.ranks[:, 0]] for i in (ranks.argmax(), ranks.argmin())
    ]
    return (TwoMessagesPairBound(tuple(_triple(mechanism, pair, x) for x in ends)) for pair in (ends, ends[::-1]))


def _triple(mechanism: Any, pair: list[str], other: str) -> Reduction:
    return dataset_reduction(mechanism, (pair[0], pair[1]), ((other, sp.Integer(1)),))


TWO_KINDS = Hypothesis(
    "two_messages", "There are two messages, up to equal ratios, and some two inputs differ.", every(_not_two)
)
TWO_MESSAGES = Bound(
    "two_messages",
    ProofStatus.PROVED,
    SOURCE,
    "all compositions of two messages",
    "two_messages",
    (*SHUFFLED, PROBABILITIES, EVERY_CLASS, DESCRIBED, ANY_TWO, TWO_KINDS),
    _parts,
    rank=3,
)
