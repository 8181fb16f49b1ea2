"""Every data set of few users, one by one: the worst pair of neighbouring ones, by exhaustion up to symmetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import NamedTuple, TypeAlias

import sympy as sp
from flint import fmpq, fmpz

from symamp.errors import ArgumentError, Problem, checked_call
from symamp.exact import histograms
from symamp.numbers.reading import budget, users
from symamp.numbers.surroundings import undisturbed
from symamp.randomizers.finite import FiniteMechanism

# ------------------------------------------------ The divergence of each ordered pair of inputs, and its worst data set


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

    def __init__(self, table: FiniteMechanism, n: int, bits: int = histograms.BITS) -> None:
        self.inputs, self.n, self._bits = len(table.inputs), n, bits
        self.columns = histograms.merged_columns(table, table.inputs)
        self.weights = histograms.weights_of(self.columns, bits)
        self._laws = histograms.HistogramLaws(self.weights)
        self._scale: int = self.weights.scale**n

    @staticmethod
    @lru_cache(maxsize=8)
    def of(table: FiniteMechanism, n: int, bits: int = histograms.BITS) -> EveryDataSet:
        """Return the data sets of a question; those of the last ones are kept."""
        return EveryDataSet(table, n, bits)

    def level(self, eps: sp.Expr) -> histograms.ScaledLevel:
        """Return e^eps to the precision of the entries."""
        return histograms.level_of_budget(eps, self._bits)

    def scale(self, level: histograms.ScaledLevel) -> int:
        """Return by what ``ends`` are divided to be divergences."""
        return self._scale * level.scale

    def law(self, counts: Counts) -> histograms.HistogramLaw:
        """Return the law of the reports of the others, of whom so many hold each input."""
        return self._laws.of({x: count for x, count in enumerate(counts) if count})

    def ends(self, pair: Pair, others: histograms.HistogramLaw, level: histograms.ScaledLevel) -> tuple[int, int]:
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
    def _excess(self, pair: Pair, level: histograms.ScaledLevel) -> histograms.HistogramLaw:
        return histograms.excess_of_pair(self._laws, self.columns, self.weights, pair, level)

    @cached_property
    def _others(self) -> dict[Counts, histograms.HistogramLaw]:
        """The laws of all data sets of the others: few, where they are asked about again."""
        return {counts: self.law(counts) for counts in _compositions(self.n - 1, self.inputs)}

    def _fraction(self, value: int, level: histograms.ScaledLevel) -> fmpq:
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


# ----------------------------------------------------------------------------- The worst pair of neighbouring data sets


Progress: TypeAlias = Callable[[int, int], None] | bool | None

_MOST_PAIRS = 20_000_000
"""Pairs of neighbouring data sets up to symmetry: more are refused. A rule of thumb."""

Case = tuple[int, int, Counts]
"""Indices of x0 and x1, and how many other users hold each input."""


@dataclass(frozen=True)
class Neighbours:
    """Two data sets: one user holds x0 in the first and x1 in the second, the others hold ``others`` in both.

    >>> print(Neighbours("x0", "x1", ("x2", "x2")))
    (x0, x2, x2) against (x1, x2, x2)
    """

    x0: str
    x1: str
    others: tuple[str, ...]

    @property
    def data0(self) -> tuple[str, ...]:
        """The first data set."""
        return self.x0, *self.others

    @property
    def data1(self) -> tuple[str, ...]:
        """The second data set."""
        return self.x1, *self.others

    def __str__(self) -> str:
        return f"({', '.join(self.data0)}) against ({', '.join(self.data1)})"


@dataclass(frozen=True)
class WorstDataset:
    """The largest divergence over all neighbouring data sets, and where it is attained.

    ``maximisers`` holds one pair of each class of symmetric ones (all that may attain the maximum if ``value`` is an
    enclosure); it is empty if all divergences are 0. ``examined`` counts the pairs that were evaluated, ``total`` the
    ordered pairs of neighbouring data sets, up to the order of the users, that they stand for.
    """

    value: histograms.Divergence
    maximisers: tuple[Neighbours, ...]
    examined: int
    total: int


@checked_call
@undisturbed()
def worst_dataset(mech: object, n: object, eps: object, progress: Progress = None) -> WorstDataset:
    """Return the maximum of D_E, E = e^eps, over all ordered pairs of neighbouring data sets of n users.

    The other users' inputs are enumerated up to their order and up to exchanges of two inputs that only permute the
    columns of the table. ``progress`` is True for a bar, or a function of (finished, all) groups of data sets.

    Raises what ``divergence`` raises, and ArgumentError for sizes beyond reach.

    Guarantee
    ---------
    ``value`` is the largest divergence (or encloses it), and every pair that attains it is symmetric to one of
    ``maximisers`` unless it is 0. Proof: docs/proofs/histograms.md.

    >>> import symamp as sa
    >>> worst = sa.exact.worst_dataset(sa.RandomizedResponse(k=5, eps0="log(6)"), 4, "log(11/2)")
    >>> print(worst.value, worst.maximisers[0], worst.examined, worst.total)
    27/2500 (x0, x0, x0, x0) against (x1, x0, x0, x0) 14 700
    """
    table, number, level = histograms.finite_table(mech), users(n), budget(eps)
    if table.numeric is not None and table.numeric.is_restricted:
        raise ArgumentError("mech", repr(table), "a table all of whose inputs are compared")
    every, inputs = EveryDataSet(table, number), len(table.inputs)
    order = every.level(level)
    total = comb(number + inputs - 2, inputs - 1) * inputs * (inputs - 1)
    histograms.check_size("n", number, every.weights, max(1, number * inputs // len(every.columns)))
    exchanges = Exchanges(every.columns)
    if exchanges.count(number - 1) * inputs * (inputs - 1) > _MOST_PAIRS:
        many = Problem(f"{number} users with {inputs} inputs have more than {_MOST_PAIRS} pairs of data sets")
        raise ArgumentError("n", many, "take fewer users or inputs")
    best, kept, examined = (0, 0), dict[Case, tuple[int, int]](), 0
    with _reporter(progress) as report:
        cases = exchanges.representatives(number - 1)
        for done, counts in enumerate(cases):
            report(done, len(cases))
            others = every.law(counts)
            for pair in exchanges.pair_representatives(counts):
                examined += 1
                low, high = every.ends(pair, others, order)
                if high <= 0 or high < best[0]:
                    continue
                if low > best[0]:
                    kept = {case: ends for case, ends in kept.items() if ends[1] >= low}
                kept[*pair, counts] = low, high
                best = max(low, best[0]), max(high, best[1])
        report(len(cases), len(cases))
    pairs = tuple(_neighbours(table.inputs, case) for case in kept)
    value = histograms.as_divergence(*best, every.scale(order))
    if pairs and not (every.weights.is_exact and order.is_exact):
        values = [histograms.divergence(table, pair.data0, pair.data1, level) for pair in pairs]
        value = histograms.Divergence(None, max(v.lower for v in values), max(v.upper for v in values))
    return WorstDataset(value, pairs, examined, total)


def _neighbours(inputs: Sequence[str], case: Case) -> Neighbours:
    x0, x1, counts = case
    return Neighbours(inputs[x0], inputs[x1], tuple(x for x, c in zip(inputs, counts, strict=True) for _ in range(c)))


@contextmanager
def _reporter(progress: Progress) -> Iterator[Callable[[int, int], None]]:
    """Give the function that is called with how much is finished."""
    if progress is None or progress is False:
        yield lambda done, every: None
    elif callable(progress):
        yield progress
    elif progress is True:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("data sets")
            yield lambda done, every: bar.update(task, completed=done, total=every)
    else:
        raise ArgumentError("progress", progress, "True, False, None or a function of (finished, all)")


# ---------------- Inputs that can be exchanged in a mechanism, and data sets up to such exchanges


class Exchanges:
    """Exchanges of two inputs that only permute the columns, i.e. amount to renaming the messages.

    ``columns`` list the probability of a message on each input. ``alike`` names for each input the first one that it
    can be exchanged with. Other symmetries, such as cyclic ones, are not looked for: without them more is examined.
    """

    def __init__(self, columns: Sequence[Sequence[Hashable]]) -> None:
        names: dict[Hashable, int] = {}
        numbered = [tuple(names.setdefault(entry, len(names)) for entry in column) for column in columns]
        every, alike = Counter(numbered), list[int]()
        for x in range(len(columns[0])):
            firsts = (y for y in dict.fromkeys(alike) if Counter(_swapped(c, x, y) for c in numbered) == every)
            alike.append(next(firsts, x))
        self.alike = tuple(alike)

    @property
    def _members(self) -> list[list[int]]:
        return [[x for x, first in enumerate(self.alike) if first == one] for one in dict.fromkeys(self.alike)]

    def count(self, users: int) -> int:
        """Return how many data sets there are up to the order of users and exchanges of inputs."""
        ways = [1] + [0] * users
        for members in self._members:
            for part in range(1, len(members) + 1):  # partitions into at most so many parts
                for total in range(part, users + 1):
                    ways[total] += ways[total - part]
        return ways[users]

    def representatives(self, users: int) -> list[Counts]:
        """Return how many of the users hold each input, one tuple for all that exchanges make of it: the largest."""
        return sorted(_spread(users, self._members, len(self.alike)), reverse=True)

    def pair_representatives(self, counts: Counts) -> Iterator[tuple[int, int]]:
        """Yield ordered pairs of different inputs, one for all that exchanges which keep the counts make of it."""
        kinds: dict[tuple[int, int], list[int]] = {}
        for x, kind in enumerate(zip(self.alike, counts, strict=True)):
            kinds.setdefault(kind, []).append(x)
        for first in kinds.values():
            for other in kinds.values():
                if other is not first:
                    yield first[0], other[0]
                elif len(first) > 1:
                    yield first[0], first[1]


def _swapped(values: tuple[int, ...], x: int, y: int) -> tuple[int, ...]:
    changed = list(values)
    changed[x], changed[y] = changed[y], changed[x]
    return tuple(changed)


def _spread(users: int, groups: Sequence[Sequence[int]], inputs: int) -> Iterator[Counts]:
    """Yield the counts of so many users, not increasing inside a group."""

    def filled(left: int, rest: Sequence[Sequence[int]], counts: dict[int, int]) -> Iterator[Counts]:
        if not rest:
            yield tuple(counts[x] for x in range(inputs))
            return
        for here in (left,) if len(rest) == 1 else range(left + 1):
            for parts in _partitions(here, len(rest[0]), here):
                yield from filled(left - here, rest[1:], counts | dict(zip(rest[0], parts, strict=True)))

    return filled(users, groups, {})


def _partitions(total: int, parts: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the tuples that do not increase, of so many nonnegative integers up to ``most`` with the given sum."""
    if total == 0:
        yield (0,) * parts
    elif total <= parts * most:
        for first in range(min(total, most), 0, -1):
            for rest in _partitions(total - first, parts - 1, first):
                yield first, *rest
