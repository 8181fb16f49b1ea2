"""Every data set of few users, one by one: the divergence of each ordered pair of inputs, and its worst."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from math import comb
from typing import NamedTuple

import sympy as sp
from flint import fmpq, fmpz

from symamp.exact.histograms import HistogramLaw, HistogramLaws, excess_of_pair
from symamp.exact.weights import BITS, ScaledLevel, level_of_budget, merged_columns, weights_of
from symamp.randomizers.finite import FiniteMechanism

Counts = tuple[int, ...]
Pair = tuple[int, int]


class Extreme(NamedTuple):
    """Bounds on the largest divergence of a pair, equal where it is known, and how many hold each input there."""

    lower: fmpq
    upper: fmpq
    counts: Counts


class EveryDataSet:
    """The divergences of neighbouring data sets of n users of a table, whose entries are numbers.

    ``bits`` is the precision to which entries and levels are rounded where they are not rational.
    """

    def __init__(self, table: FiniteMechanism, n: int, bits: int = BITS) -> None:
        self.inputs, self.n, self._bits = len(table.inputs), n, bits
        self.columns = merged_columns(table, table.inputs)
        self.weights = weights_of(self.columns, bits)
        self._laws = HistogramLaws(self.weights)
        self._scale: int = self.weights.scale**n

    @staticmethod
    @lru_cache(maxsize=8)
    def of(table: FiniteMechanism, n: int, bits: int = BITS) -> EveryDataSet:
        """Return the data sets of a question; those of the last ones are kept."""
        return EveryDataSet(table, n, bits)

    def level(self, eps: sp.Expr) -> ScaledLevel:
        """Return e^eps to the precision of the entries."""
        return level_of_budget(eps, self._bits)

    def scale(self, level: ScaledLevel) -> int:
        """Return by what ``ends`` are divided to be divergences."""
        return self._scale * level.scale

    def law(self, counts: Counts) -> HistogramLaw:
        """Return the law of the reports of the others, of whom so many hold each input."""
        return self._laws.of({x: count for x, count in enumerate(counts) if count})

    def ends(self, pair: Pair, others: HistogramLaw, level: ScaledLevel) -> tuple[int, int]:
        """Return bounds on the divergence of a pair of inputs beside the reports of the others, times ``scale``."""
        return self._laws.hockey_stick(others, self._excess(pair, level))

    @lru_cache(maxsize=1024)  # noqa: B019
    def extreme(self, pair: Pair, eps: sp.Expr) -> Extreme:
        """Return the largest divergence of an ordered pair of inputs over all data sets of the others.

        Guarantee
        ---------
        It lies between ``lower`` and ``upper``. Proof: docs/proofs/histograms.md.
        """
        level = self.level(eps)
        ends = {counts: self.ends(pair, law, level) for counts, law in self._others.items()}
        worst = max(ends, key=lambda c: ends[c])
        high = max(high for _, high in ends.values())
        return Extreme(self._fraction(ends[worst][0], level), self._fraction(high, level), worst)

    def divergence(self, pair: Pair, counts: Counts, eps: sp.Expr) -> tuple[fmpq, fmpq]:
        """Return bounds on the divergence of one pair of data sets."""
        level = self.level(eps)
        low, high = self.ends(pair, self._others[counts], level)
        return self._fraction(low, level), self._fraction(high, level)

    @lru_cache(maxsize=1024)  # noqa: B019
    def _excess(self, pair: Pair, level: ScaledLevel) -> HistogramLaw:
        return excess_of_pair(self._laws, self.columns, self.weights, pair, level)

    @cached_property
    def _others(self) -> dict[Counts, HistogramLaw]:
        """The laws of all data sets of the others: few, where they are asked about again."""
        return {counts: self.law(counts) for counts in _compositions(self.n - 1, self.inputs)}

    def _fraction(self, value: int, level: ScaledLevel) -> fmpq:
        return fmpq(fmpz(max(value, 0)), fmpz(self.scale(level)))


def work(inputs: int, messages: int, n: int) -> int:
    """Return about how many terms there are in all divergences of n users."""
    return comb(n + inputs - 2, inputs - 1) * inputs * (inputs - 1) * comb(n + messages - 1, messages - 1) * messages


def _compositions(total: int, parts: int) -> Iterator[Counts]:
    """Yield all ordered sums of a given length that make up a number."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
