"""The envelope bound: one law that dominates those of every other input, never looser than the blanket."""

from __future__ import annotations

from symamp.bounds.analysis import Analysis
from symamp.bounds.bound import Bound
from symamp.bounds.envelope_part import SOURCE, EnvelopePart
from symamp.bounds.pair_of_inputs import all_inputs_described, is_large_table, listed, pairs_of_inputs
from symamp.bounds.standing import Standing
from symamp.bounds.subject import Subject
from symamp.bounds.table_pair import table_pairs


def _bound(subject: Subject) -> Bound:
    subject = listed(subject)
    if is_large_table(subject):
        return table_pairs(subject, EnvelopePart)
    return Bound.of(EnvelopePart(triples) for triples in pairs_of_inputs(subject))


ENVELOPE = Analysis(
    "envelope",
    Standing.PROVED,
    SOURCE,
    "a law above those of all other inputs",
    _bound,
    lambda subject: all_inputs_described(listed(subject)),
    rank=2,
    needless=lambda subject: is_large_table(listed(subject)),
)
