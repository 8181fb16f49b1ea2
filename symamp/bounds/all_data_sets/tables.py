"""The bound over all data sets at once for all pairs of rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import nan

import numpy as np
from flint import arb

from symamp.bounds.all_data_sets.pair import AllDataSetsPairBound
from symamp.bounds.bound import PairBound
from symamp.bounds.pair_of_inputs import triples_of_rows
from symamp.bounds.pairs_of_a_table import Pair, badly_hidden, common_bounds
from symamp.bounds.subject import Subject
from symamp.bounds.table_bound import MaxOverRows
from symamp.decompositions.numeric_table import Floats, NumericTable
from symamp.decompositions.pairs import pairs_with_equal_laws
from symamp.laws.law import Level
from symamp.numbers.dyadic import float_below
from symamp.numbers.limits import TRIPLES, Limits
from symamp.numbers.surroundings import at_precision
from symamp.sums.all_data_sets.laws import raised_to_majorant
from symamp.sums.all_data_sets.search import Others

_ALIKE = 1e-3
"""Levels within this relative distance share one ranking of the pairs."""


def common(
    part: AllDataSetsPairBound,
    table: NumericTable,
    level: Level,
    n: int,
    pairs: Sequence[Pair],
    log_unit: float,
    limits: Limits,
) -> Floats:
    """Return bounds on pairs of rows over all data sets, in units of e^log_unit, by the parameters of a part."""
    found = part.searches.found(level, n, limits, rough=True)
    with at_precision(128):
        parameters = None if found is None else raised_to_majorant(found.parameters)
    if parameters is None:
        return np.full(len(pairs), nan)
    groups = pairs_with_equal_laws(table, pairs)
    some, place = [group[0] for group in groups], {pair: k for k, group in enumerate(groups) for pair in group}
    limits.charge(TRIPLES.of(len(some) * table.floats.size * (3 + len(parameters.terms))))
    rows = table.inputs.index(part.pair[0]), table.inputs.index(part.pair[1])
    return common_bounds(table, level, n, some, (rows, parameters), log_unit)[[place[pair] for pair in pairs]]


def table_pairs(subject: Subject) -> MaxOverRows:
    """Return the bound over all pairs of rows of a table; what blankets or moments prove to be smaller is left out.

    Guarantee
    ---------
    The largest divergence of the parts is at least that of the shuffled reports of every two neighbouring data sets.
    Proof: docs/proofs/all_pairs.md, docs/proofs/all_data_sets.md.
    """
    mechanism = subject.mechanism
    assert mechanism is not None
    assert mechanism.numeric is not None
    table, others = mechanism.numeric, Others()

    @cache
    def part(rows: Pair) -> AllDataSetsPairBound:
        return AllDataSetsPairBound(triples_of_rows(mechanism, rows), others=others)

    def closer(worst: PairBound, level: Level, n: int, bound: arb, pairs: list[Pair], limits: Limits) -> list[Pair]:
        if not isinstance(worst, AllDataSetsPairBound) or not bound > 0 or not worst.searches.knows(level, n):
            return pairs
        with at_precision(128):
            log_bound = float_below(bound.log())
        bounds = common(worst, table, level, n, pairs, log_bound, limits)
        return [pair for pair, found in zip(pairs, bounds.tolist(), strict=True) if not found <= 1.0]

    last: list[tuple[int, float, Floats]] = []

    def ranking(table: NumericTable, level: Level, n: int) -> Floats:
        here = level.rough_minus_one()
        if not last or last[0][0] != n or not abs(here - last[0][1]) <= _ALIKE * here:
            last[:] = [(n, here, badly_hidden(table, level, n))]
        return last[0][2]

    return MaxOverRows(table, part, groups=pairs_with_equal_laws, closer=closer, ranking=ranking)
