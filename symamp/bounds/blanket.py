"""The blanket bound: the optimal decomposition of the mechanism itself."""

from __future__ import annotations

from functools import partial

from symamp.bounds.bound import Bound, MaxOverPairs
from symamp.bounds.hypotheses import PROBABILITIES, SHUFFLED, ProofStatus
from symamp.bounds.pairs_of_a_table import MaxOverRows, Pair
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.blanket import table_blanket
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.pairs import pair_classes

SOURCE = "Su, Cheng, Wang 2025, Theorems 5 to 7 and 12"


def blanket_bound(subject: Subject) -> MaxOverPairs:
    """Return the bound with one reduction per class of ordered pairs: the maximum over them.

    Guarantee
    ---------
    The largest divergence of these triples is at least the divergence of the shuffled reports of every two
    neighbouring data sets. Proof: docs/proofs/blanket_reduction.md.
    """
    assert subject.mechanism is not None
    table = subject.mechanism.numeric
    if table is not None:
        return MaxOverRows(table, partial(blanket_of_rows, table))
    return MaxOverPairs.of(_reduction(c.decomposition) for c in pair_classes(subject.mechanism))


def blanket_of_rows(table: NumericTable, rows: Pair) -> Reduction:
    """Return the optimal decomposition of two rows of a table."""
    return _reduction(table_blanket(table, rows))


def _reduction(decomposition: Decomposition) -> Reduction:
    return Reduction("blanket", ProofStatus.PROVED, SOURCE, decomposition)


BLANKET = Bound(
    "blanket",
    ProofStatus.PROVED,
    SOURCE,
    "optimal decomposition of each pair of inputs",
    "blanket_reduction",
    (*SHUFFLED, PROBABILITIES),
    blanket_bound,
    rank=0,
    triples=True,
    ordered=True,
    removed=blanket_bound,
)
