"""Every data set of few users, one by one: the divergence of each ordered pair of inputs at its worst."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import comb
from typing import NamedTuple

import sympy as sp
from flint import fmpq, fmpz

from symamp.exact.histograms import HistogramLaws, excess_of_pair
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
    """The divergences of all neighbouring data sets of n users of a table, whose entries are numbers.

    ``bits`` is the precision to which entries and levels are rounded where they are not rational.
    """

    def __init__(self, table: FiniteMechanism, n: int, bits: int) -> None:
        self.inputs, self._bits = len(table.inputs), bits
        self._columns = merged_columns(table, table.inputs)
        self._weights = weights_of(self._columns, bits)
        self._laws, self._scale = HistogramLaws(self._weights), self._weights.scale**n
        counts = _compositions(n - 1, self.inputs)
        self._others = {c: self._laws.of({x: k for x, k in enumerate(c) if k}) for c in counts}

    @staticmethod
    @lru_cache(maxsize=8)
    def of(table: FiniteMechanism, n: int, bits: int = BITS) -> EveryDataSet:
        """Return the data sets of a question; those of the last ones are kept."""
        return EveryDataSet(table, n, bits)

    @lru_cache(maxsize=1024)  # noqa: B019
    def extreme(self, pair: Pair, eps: sp.Expr) -> Extreme:
        """Return the largest divergence of an ordered pair of inputs over all data sets of the others.

        Guarantee
        ---------
        It lies between ``lower`` and ``upper``. Proof: docs/proofs/histograms.md.
        """
        level = level_of_budget(eps, self._bits)
        excess = excess_of_pair(self._laws, self._columns, self._weights, pair, level)
        ends = {counts: self._laws.hockey_stick(law, excess) for counts, law in self._others.items()}
        worst = max(ends, key=lambda c: ends[c])
        high = max(high for _, high in ends.values())
        return Extreme(self._fraction(ends[worst][0], level), self._fraction(high, level), worst)

    def divergence(self, pair: Pair, counts: Counts, eps: sp.Expr) -> tuple[fmpq, fmpq]:
        """Return bounds on the divergence of one pair of data sets."""
        level = level_of_budget(eps, self._bits)
        excess = excess_of_pair(self._laws, self._columns, self._weights, pair, level)
        low, high = self._laws.hockey_stick(self._others[counts], excess)
        return self._fraction(low, level), self._fraction(high, level)

    def _fraction(self, value: int, level: ScaledLevel) -> fmpq:
        return fmpq(fmpz(max(value, 0)), fmpz(self._scale * level.scale))


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
