"""The envelope bound: one law that dominates those of every other input, never looser than the blanket."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from symamp.bounds.bound import Bound, MaxOverPairs
from symamp.bounds.hypotheses import DESCRIBED, PROBABILITIES, SHUFFLED, ProofStatus
from symamp.bounds.pairs_of_a_table import MaxOverRows, Pair, is_small, positive_messages
from symamp.bounds.reduction import PairOfInputs, is_large_table, listed, pairs_of_inputs, triples_of_rows
from symamp.bounds.subject import Subject
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.pairs import pairs_with_equal_laws
from symamp.laws.law import Level
from symamp.randomizers.mechanism import Mechanism
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.envelope import enclose_envelope, estimate_envelope_epsilon, estimate_log_envelope

SOURCE = "Theorem E (docs/proofs/envelope.md)"
_MOST, _MANY = 2**13, 25.0
"""Entries of all pairs of rows that take a second; with more positive messages the bound over all data sets is less."""


@dataclass(frozen=True)
class EnvelopePairBound(PairOfInputs):
    """The envelope of one pair of inputs."""

    method: ClassVar[str] = "envelope"
    source: ClassVar[str] = SOURCE

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        return estimate_log_envelope(self.laws, level, n, settings)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        return estimate_envelope_epsilon(self.laws, n, log_delta, settings, start)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the bound of the dominating law.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/envelope.md.
        """
        return enclose_envelope(self.laws, level, n, settings)


def _bound(subject: Subject) -> MaxOverPairs:
    subject = listed(subject)
    if is_large_table(subject):
        mechanism = subject.mechanism
        assert mechanism is not None
        assert mechanism.numeric is not None
        return envelope_of_rows(mechanism, mechanism.numeric)
    return MaxOverPairs.of(EnvelopePairBound(triples) for triples in pairs_of_inputs(subject))


def envelope_of_rows(mechanism: Mechanism, table: NumericTable) -> MaxOverRows:
    """Return the bound over all pairs of rows of a table; what blankets prove to be smaller is left out.

    Guarantee
    ---------
    The largest divergence of the parts is at least that of the shuffled reports of every two neighbouring data sets.
    Proof: docs/proofs/all_pairs.md, docs/proofs/envelope.md.
    """

    @cache
    def part(rows: Pair) -> EnvelopePairBound:
        return EnvelopePairBound(triples_of_rows(mechanism, rows))

    return MaxOverRows(table, part, groups=pairs_with_equal_laws)


def _too_costly(subject: Subject, level: Level, n: int, patience: float) -> bool:
    """Return whether there are many pairs, or so many positive messages that all data sets at once are less."""
    mechanism = listed(subject).mechanism
    table = None if mechanism is None else mechanism.numeric
    if table is None or is_small(table):
        return False
    return len(table.inputs) * table.floats.size > _MOST * patience or not positive_messages(table, level, n) < _MANY


ENVELOPE = Bound(
    "envelope",
    ProofStatus.PROVED,
    SOURCE,
    "one law above those of all inputs that other users may hold",
    "envelope",
    (*SHUFFLED, PROBABILITIES, DESCRIBED),
    _bound,
    rank=2,
    too_costly=_too_costly,
)
