"""Every data set of few users, one by one: the divergence of each ordered pair of inputs at its worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import comb, inf
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from flint import fmpq, fmpz
from numpy.typing import NDArray

from symamp.exact.histograms import HistogramLaws, excess_of_pair
from symamp.exact.weights import BITS, ScaledLevel, level_of_budget, merged_columns, weights_of
from symamp.numbers.disks import UNIT
from symamp.randomizers.finite import FiniteMechanism

Counts = tuple[int, ...]
Pair = tuple[int, int]
Floats = NDArray[np.float64]

_UNDERFLOW = 1e-290
"""More than all that is lost where doubles underflow."""


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
        laws = [law.upper.to_dict() for law in self._others.values()]
        self._rough = _Rough.of(laws, self._weights.scale ** (n - 1))

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
        level, others = level_of_budget(eps, self._bits), list(self._others)
        excess = excess_of_pair(self._laws, self._columns, self._weights, pair, level)
        near = self._rough.largest(
            excess.lower.to_dict(), self._weights.scale * level.scale, _double(level.upper, level.scale)
        )
        ends = {others[i]: self._laws.hockey_stick(self._others[others[i]], excess) for i in near}
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


class _Rough(NamedTuple):
    """The laws of the others' histograms in doubles, and the place of each histogram with one more message."""

    laws: Floats
    places: list[NDArray[np.int64]]
    histograms: int

    @staticmethod
    def of(laws: Sequence[Mapping[tuple[int, ...], Any]], scale: int) -> _Rough:
        """Return the laws, whose probabilities are divided by ``scale``."""
        seen = {h: i for i, h in enumerate(sorted({h for law in laws for h in law}))}
        rows = np.zeros((len(laws), len(seen)))
        for row, law in zip(rows, laws, strict=True):
            for h, mass in law.items():
                row[seen[h]] = int(mass) / scale
        longer: dict[tuple[int, ...], int] = {}
        messages = range(len(next(iter(seen))))
        places = [
            np.array([longer.setdefault((*h[:y], h[y] + 1, *h[y + 1 :]), len(longer)) for h in seen]) for y in messages
        ]
        return _Rough(rows, places, len(longer))

    def largest(self, excess: Mapping[tuple[int, ...], Any], scale: int, e: float) -> list[int]:
        """Return the laws for which the divergence may be the largest, by R(x0) - E R(x1) for each message.

        Sums of positive parts of ``sum_y g(y) Q(h - e_y)`` are off by at most as many roundings as there are terms,
        each of the size of a sum of moduli, all of which add up to 1 + E. Beyond the range of doubles none is left out.
        """
        terms = np.zeros((len(self.laws), self.histograms))
        with np.errstate(all="ignore"):
            for unit, value in excess.items():
                terms[:, self.places[unit.index(1)]] += _double(int(value), scale) * self.laws
            values = np.maximum(terms, 0.0).sum(axis=1)
            error = (1.0 + e) * (self.histograms + len(self.places) + 8) * UNIT + _UNDERFLOW
            is_less = values < values.max() - 2.0 * error
        return [int(i) for i in np.flatnonzero(~is_less)]


def _double(numerator: int, denominator: int) -> float:
    """Return the quotient as a double, infinite beyond their range."""
    try:
        return numerator / denominator
    except OverflowError:
        return inf if (numerator > 0) == (denominator > 0) else -inf


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
