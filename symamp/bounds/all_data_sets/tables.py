"""A pair of rows of a table, bounded over all data sets of the other users."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import inf, nan

import numpy as np
from flint import arb

from symamp.bounds.all_data_sets.pair import AllDataSetsPairBound, is_rough
from symamp.bounds.bound import PairBound
from symamp.bounds.envelope import EnvelopePairBound
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
from symamp.sums.all_data_sets.search import SHARP, Others
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.envelope import enclose_envelope, estimate_envelope_epsilon, estimate_log_envelope
from symamp.sums.inversion import log_of_ball

_SHARP, _MISSED = 0.01, 1.0
"""The envelope is not below the largest divergence of a constant data set: it is not tried so near to that. Parameters
whose bound is so far above its estimate are not asked again."""
_OWN = 3
"""After this many searches the parameters of one pair rarely suit another."""
_ALIKE = 1e-3
"""Levels within this relative distance share one ranking of the pairs."""


@dataclass(frozen=True)
class TablePair(AllDataSetsPairBound):
    """One pair of rows: the less of the bound over all data sets and of the envelope."""

    @property
    def signature(self) -> Hashable:
        """The pair: the laws of a large table are not written as formulas."""
        return self.method, self.pair

    @property
    def looser_proxy(self) -> EnvelopePairBound | None:
        """The envelope, where parameters of the pairs evaluated before left a wide bound, or did not suit others."""
        is_poor = self.others and (self.others[-1][2].excess > SHARP or len(self.others) > _OWN)
        return EnvelopePairBound(self.triples) if is_poor else None

    def _estimates(self, level: Level, n: int, settings: Settings) -> tuple[float, float]:
        """Return estimates of the logarithms of both bounds; inf for what is not, or hardly, less than the other."""
        rough = is_rough(settings)
        found = self.searches.found(level, n, settings.limits, rough)
        if found is not None and found.excess < _SHARP:
            return super().log_estimate(level, n, settings), inf
        envelope = estimate_log_envelope(self.laws, level, n, settings.usual)
        return (super().log_estimate(level, n, settings) if self.searches.are_met else inf), envelope

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        return min(self._estimates(level, n, settings))

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the bound is delta: 0 if it is smaller at 0, inf if never."""
        eps = super().root(n, log_delta, settings, start) if self.searches.are_met else inf
        if (
            0.0 < eps < inf and not self._estimates(Level.of_float(eps), n, settings.usual)[1] < log_delta
        ) or eps == 0.0:
            return eps
        return min(self.known_root(n, log_delta, settings, start if eps == inf else eps), eps)

    def known_root(self, n: int, log_delta: float, settings: Settings, start: float | None) -> float:
        """Return an estimate of the eps at which the envelope is delta."""
        if (n, log_delta, settings) not in self._envelopes:
            found = estimate_envelope_epsilon(self.laws, n, log_delta, settings, start)
            self._envelopes[n, log_delta, settings] = found
        return self._envelopes[n, log_delta, settings]

    @cached_property
    def _envelopes(self) -> dict[tuple[int, float, Settings], float]:
        return {}

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the divergence for every data set of the others: an upper end, and 0.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/all_data_sets.md, docs/proofs/envelope.md.
        """
        own, envelope = self._estimates(level, n, settings)
        found: list[Enclosure] = []
        for estimate, is_own in sorted([(own, True), (envelope, False)]):
            if found and not estimate < log_of_ball(found[0].upper):
                break
            if is_own:
                found.append(super().enclose(level, n, settings))
                self.searches.are_met = log_of_ball(found[-1].upper) <= own + _MISSED
            else:
                found.append(replace(enclose_envelope(self.laws, level, n, settings), lower=arb(0)))
        return min(found, key=lambda e: e.upper.upper())


def rows_of(part: PairBound, table: NumericTable) -> Pair:
    """Return the pair of a part as rows of the table."""
    return table.inputs.index(part.pair[0]), table.inputs.index(part.pair[1])


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
    return common_bounds(table, level, n, some, (rows_of(part, table), parameters), log_unit)[
        [place[pair] for pair in pairs]
    ]


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
    def part(rows: Pair) -> TablePair:
        return TablePair(triples_of_rows(mechanism, rows), others=others)

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
