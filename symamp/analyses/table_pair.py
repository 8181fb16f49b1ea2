"""A pair of rows of a table, bounded over all data sets of the other users."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from math import log

import sympy as sp
from flint import arb

from symamp.analyses.all_data_sets_part import AllDataSetsPart
from symamp.analyses.blanket_bound import blanket_of_rows
from symamp.analyses.data_sets import dataset_reduction
from symamp.analyses.pair_bounds import Pair
from symamp.analyses.pair_of_inputs import PairOfInputs
from symamp.analyses.reduction import Reduction
from symamp.analyses.subject import Subject
from symamp.analyses.table_bound import TableBound
from symamp.derivation.pairs import pairs_with_equal_laws
from symamp.evaluation.divergence import Enclosure, Settings
from symamp.evaluation.envelope_law import enclose_envelope, estimate_log_envelope
from symamp.evaluation.law import Level
from symamp.evaluation.merged_classes import MANY_CLASSES


@dataclass(frozen=True)
class TablePair(AllDataSetsPart):
    """One pair of rows: the less of the bound over all data sets and of the envelope."""

    @property
    def signature(self) -> Hashable:
        """The pair: the laws of a large table are not written as formulas."""
        return self.method, self.pair

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the divergence for every data set of the others: an upper end, and 0.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/all_data_sets.md, docs/proofs/envelope.md.
        """
        found = super().enclose(level, n, settings)
        if estimate_log_envelope(self.laws, level, n) < log(float(found.upper)):
            other = enclose_envelope(self.laws, level, n, settings)
            if other.upper.upper() < found.upper.upper():
                return replace(other, lower=arb(0))
        return found


def table_pairs(subject: Subject, kind: Callable[[tuple[Reduction, ...]], PairOfInputs]) -> TableBound:
    """Return the bound over all pairs of rows of a table, each a part of this kind; what blankets settle is left out.

    With many inputs that is done for a few pairs only, and the blanket bounds all others.

    Guarantee
    ---------
    The largest divergence of the parts is at least that of the shuffled reports of every two neighbouring data sets.
    Proof: docs/proofs/all_pairs.md, docs/proofs/all_data_sets.md, docs/proofs/envelope.md.
    """
    mechanism = subject.mechanism
    assert mechanism is not None
    assert mechanism.numeric is not None
    inputs, one = mechanism.inputs, sp.Integer(1)

    def part(rows: Pair) -> PairOfInputs:
        pair = inputs[rows[0]], inputs[rows[1]]
        return kind(tuple(dataset_reduction(mechanism, pair, ((x, one),)) for x in inputs))

    instead = partial(blanket_of_rows, mechanism.numeric) if len(inputs) > MANY_CLASSES else None
    return TableBound(mechanism.numeric, part, alike=pairs_with_equal_laws, instead=instead)
