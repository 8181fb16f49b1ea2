"""The bound over all data sets at once: nearly the truth where many messages tell the two inputs apart."""

from __future__ import annotations

from symamp.analyses.all_data_sets_part import SOURCE, AllDataSetsPart
from symamp.analyses.analysis import Analysis
from symamp.analyses.bound import Bound
from symamp.analyses.pair_of_inputs import all_inputs_listed, has_many_pairs, pairs_of_inputs
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.analyses.table_pair import TablePair, table_pairs

_MOST_INPUTS = 20
"""Up to so many inputs of a table the pairs that their blankets do not settle are few enough for a default."""


def _bound(subject: Subject) -> Bound:
    if has_many_pairs(subject):
        return table_pairs(subject, TablePair)
    return Bound.of(AllDataSetsPart(triples) for triples in pairs_of_inputs(subject))


def _needless(subject: Subject) -> bool:
    mechanism = subject.mechanism
    return has_many_pairs(subject) and mechanism is not None and len(mechanism.inputs) > _MOST_INPUTS


ALL_DATA_SETS = Analysis(
    "all_data_sets",
    Standing.PROVED,
    SOURCE,
    "all data sets at once",
    _bound,
    all_inputs_listed,
    rank=3,
    needless=_needless,
)
