"""The bound over all data sets at once: nearly the truth where many messages distinguish the two inputs."""

from __future__ import annotations

from functools import lru_cache

from symamp.bounds.all_data_sets.pair import SOURCE, AllDataSetsPairBound, PairGroupBound
from symamp.bounds.all_data_sets.tables import table_pairs
from symamp.bounds.bound import Bound, MaxOverPairs, PairBound
from symamp.bounds.hypotheses import COVERED, PROBABILITIES, SHUFFLED
from symamp.bounds.pair_of_inputs import is_large_table, listed, pairs_of_inputs
from symamp.bounds.pairs_of_a_table import positive_messages
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.subject import Subject
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.pairs import pairs_with_equal_laws
from symamp.decompositions.randomizer import groups_of
from symamp.laws.law import Level
from symamp.sums.all_data_sets.merged_classes import MANY_CLASSES
from symamp.sums.all_data_sets.search import Others
from symamp.sums.divergence import Settings

_MOST_INPUTS, _MOST_LISTED = 64, 33
"""The most inputs of a table for which a usual question takes seconds; the second if they are listed for this bound."""
_MOST_MESSAGES, _MOST_ENTRIES = 1000, 64**3
"""The most messages for which one evaluation takes seconds, and the most of all different pairs for a question."""
_COMPOSED = 2.0
"""A combination of others takes more than the usual work."""
_FEWEST = 8.0
"""With fewer positive messages parameters are poor, and those of one pair do not suit another."""


class _MaxOverGroups(MaxOverPairs):
    """The bound over declared groups of pairs: the furthest pair is in the first one, and nearly always the worst."""

    def root(
        self, n: int, log_delta: float, settings: Settings, start: float | None = None, first: PairBound | None = None
    ) -> tuple[float, PairBound]:
        return super().root(n, log_delta, settings, start, first or self.parts[0])


def _bound(subject: Subject) -> MaxOverPairs:
    groups = None if subject.mechanism is None else groups_of(subject.mechanism)
    if groups is not None:
        others: Others = []
        return _MaxOverGroups(MaxOverPairs.of(PairGroupBound.of(group, others) for group in groups).parts)
    subject = listed(subject)
    if is_large_table(subject):
        return table_pairs(subject)
    return MaxOverPairs.of(AllDataSetsPairBound(triples) for triples in pairs_of_inputs(subject))


def _too_costly(subject: Subject, level: Level, n: int, patience: float) -> bool:
    """Return whether there are many inputs or messages, or few messages that are positive for one of the bad pairs."""
    if _share_of_usual(subject) > patience:
        return True
    mechanism = subject.mechanism
    table = None if mechanism is None else mechanism.numeric
    if table is None or len(table.inputs) <= MANY_CLASSES:
        return False
    return not positive_messages(table, level, n) * patience > _FEWEST


def _share_of_usual(subject: Subject) -> float:
    """Return about how many times the usual work it takes: as many pairs of inputs, or as many messages."""
    found = listed(subject)
    mechanism = found.mechanism
    if mechanism is None or mechanism.numeric is None or not is_large_table(found):
        return 0.0
    most = _MOST_INPUTS if found is subject else _MOST_LISTED
    is_composed = subject.mechanism is not None and subject.mechanism.is_composed
    inputs, messages = len(mechanism.inputs), len(mechanism.numeric.messages)
    of_size, entries = max((inputs / most) ** 2, messages / _MOST_MESSAGES), inputs**2 * messages / _MOST_ENTRIES
    if of_size <= 1.0 < entries:
        entries *= _share_of_pairs(mechanism.numeric)
    return max(of_size, entries) * (_COMPOSED if is_composed else 1.0)


@lru_cache(maxsize=16)
def _share_of_pairs(table: NumericTable) -> float:
    """Return which part of the pairs of rows stand for all."""
    return len(pairs_with_equal_laws(table, table.pairs)) / max(len(table.pairs), 1)


ALL_DATA_SETS = Bound(
    "all_data_sets",
    ProofStatus.PROVED,
    SOURCE,
    "an integral over all data sets at once: close to the truth",
    "all_data_sets",
    (*SHUFFLED, PROBABILITIES, COVERED),
    _bound,
    rank=4,
    too_costly=_too_costly,
)
