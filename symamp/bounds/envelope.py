"""The envelope bound: one law that dominates those of every other input, never looser than the blanket."""

from __future__ import annotations

from symamp.bounds.analysis import Bound
from symamp.bounds.bound import MaxOverPairs
from symamp.bounds.envelope_part import SOURCE, EnvelopePairBound
from symamp.bounds.hypotheses import DESCRIBED, PROBABILITIES, SHUFFLED
from symamp.bounds.pair_of_inputs import is_large_table, listed, pairs_of_inputs
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.subject import Subject
from symamp.bounds.table_pair import table_pairs


def _bound(subject: Subject) -> MaxOverPairs:
    subject = listed(subject)
    if is_large_table(subject):
        return table_pairs(subject, EnvelopePairBound)
    return MaxOverPairs.of(EnvelopePairBound(triples) for triples in pairs_of_inputs(subject))


ENVELOPE = Bound(
    "envelope",
    ProofStatus.PROVED,
    SOURCE,
    "a law above those of all other inputs",
    "envelope",
    (*SHUFFLED, PROBABILITIES, DESCRIBED),
    _bound,
    rank=2,
    skip_by_default=lambda subject: is_large_table(listed(subject)),
)
