"""The largest divergence over all pairs of rows of a table: the worst one evaluated, the others ruled out together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from flint import arb, fmpq

from symamp.bounds.bound import Evidence, MaxOverSearchedPairs, PairBound, Progress, sharp_enough
from symamp.bounds.pairs_of_a_table import (
    ESTIMATED,
    IN_COMMON,
    Pair,
    badly_blanketed,
    best,
    is_small,
    narrowed,
    open_pairs,
    ranking_work,
)
from symamp.decompositions.blanket import table_blanket
from symamp.decompositions.numeric_table import Floats, NumericTable
from symamp.decompositions.pairs import distinct_pairs
from symamp.decompositions.to_law import law_of
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.limits import Limits
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Enclosure, Settings

Closer: TypeAlias = Callable[[PairBound, Level, int, arb, list[Pair], Limits], list[Pair]]
"""Returns those of some pairs that it does not prove to lie below a bound, given the worst part; worst first."""
Ranking: TypeAlias = Callable[[NumericTable, Level, int], Floats]
"""Returns estimates of the logarithms of the divergences of all ordered pairs, -inf for those that do not count."""
Groups: TypeAlias = Callable[[NumericTable, Sequence[Pair]], list[list[Pair]]]

_BEHIND = 0.1
"""Pairs whose estimates are further behind the worst one, in the logarithm, are left to the certified evaluation."""
_RULING_OUT = 6
"""The work of ruling out pairs by one tilt and putting the rest in order, in rankings."""


@dataclass(frozen=True, init=False)
class MaxOverRows(MaxOverSearchedPairs):
    """A bound over all compared pairs of rows of a table, whose parts are made when they are needed.

    ``part`` makes the part of a pair of rows; its divergence must be at most that of the blanket of the pair, since
    pairs are ranked and ruled out by their blankets. ``groups`` puts pairs in groups with the same divergence of their
    parts: those with equal blankets, unless the part is another bound. ``closer`` rules out more pairs at once.
    ``ranking`` proposes pairs: by their blankets, unless the part is another bound. ``progress`` is called with how
    many ordered pairs are ruled out, and with how many there are.
    """

    table: NumericTable
    part: Callable[[Pair], PairBound]
    progress: Progress | None = None
    groups: Groups = distinct_pairs
    closer: Closer | None = None
    ranking: Ranking = badly_blanketed

    def __init__(
        self,
        table: NumericTable,
        part: Callable[[Pair], PairBound],
        progress: Progress | None = None,
        groups: Groups = distinct_pairs,
        closer: Closer | None = None,
        ranking: Ranking = badly_blanketed,
    ) -> None:
        vars(self).update(table=table, part=part, progress=progress, groups=groups, closer=closer, ranking=ranking)

    def watched(self, progress: Progress) -> MaxOverRows:
        """Return the bound that reports how many pairs are ruled out."""
        return MaxOverRows(self.table, self.part, progress, self.groups, self.closer, self.ranking)

    @property
    def searched_table(self) -> NumericTable:
        """The table."""
        return self.table

    @property
    def _every(self) -> int:
        size = len(self.table.inputs)
        return size * (size - 1)

    @property  # type: ignore[misc]
    def parts(self) -> tuple[PairBound, ...]:
        """One part for each class of pairs: all of them, which may be many."""
        return tuple(self.part(group[0]) for group in self.groups(self.table, self.table.pairs))

    def proposed(self, level: Level, n: int, settings: Settings) -> list[PairBound]:
        """Return the parts of the pairs that a common ranking finds worst."""
        if is_small(self.table):
            return [self.part(pair) for pair in self.table.pairs]
        settings.limits.charge(ranking_work(self.table))
        found = best(self.ranking(self.table, level, n), ESTIMATED, _BEHIND) or self.table.pairs[:1]
        return [self.part(group[0]) for group in self.groups(self.table, found)]

    def own(self, part: PairBound | None) -> PairBound | None:
        """Return the part for the pair of inputs of another bound's part."""
        return None if part is None else self.part(self._rows(part))

    def _rows(self, part: PairBound) -> Pair:
        return self.table.inputs.index(part.pair[0]), self.table.inputs.index(part.pair[1])

    def evidence(
        self,
        level: Level,
        n: int,
        settings: Settings,
        goal: fmpq | None = None,
        first: PairBound | None = None,
        known: Iterable[Evidence] = (),
    ) -> tuple[Evidence, ...]:
        """Return certified evaluations whose largest upper end bounds the divergence of every pair at this level.

        Pairs that are proved to lie below the goal, or below what is already found, leave no evidence. With a ``goal``
        the search ends at the first evaluation that is not proved to be at most the goal. ``known`` ones are not used.

        Guarantee
        ---------
        Every ordered pair of inputs that are compared has a divergence of at most the largest ``upper`` of the result,
        or of the goal if that is larger, unless the last of them is above the goal. Proof: docs/proofs/all_pairs.md.
        """
        limits = settings.limits
        worst = self.ranked(level, n, settings)[0] if first is None else first
        found = [Evidence.of(worst, level, worst.enclose(level, n, settings))]
        if goal is not None and not found[0].is_at_most(goal):
            return tuple(found)
        limit: fmpq | Dyadic = found[0].upper if goal is None else goal
        groups, in_common = self._others(level, n, limit, worst, limits)
        every, report, closer = self._every, self.progress or _no_progress, self.closer
        while groups:
            report(every - len(groups), every)
            if limits.is_spent():
                pair = max((group[0] for group in groups), key=in_common.__getitem__)
                found.append(Evidence.of(self.part(pair), level, Enclosure(arb(0), in_common[pair], IN_COMMON, 256)))
                break
            group = groups.pop(0)
            part = self.part(group[0])
            tried = sharp_enough(part, level, n, limit, settings)
            if not tried.is_at_most(limit):
                found.append(tried)
                if goal is not None:
                    break
                limit = tried.upper
            if closer is not None and groups:  # parameters of this one may suit some of the others better
                left = set(closer(part, level, n, _ball(limit), [group[0] for group in groups], limits))
                closer = closer if len(left) < len(groups) else None
                groups = [group for group in groups if group[0] in left]
        report(every, every)
        return tuple(sorted(found, key=lambda e: e.upper, reverse=True) if goal is None else found)

    def _others(
        self, level: Level, n: int, limit: fmpq | Dyadic, worst: PairBound, limits: Limits
    ) -> tuple[list[list[Pair]], dict[Pair, arb]]:
        """Return what no common bound rules out, worst first, in groups of which one stands for all, and these bounds.

        Guarantee
        ---------
        No part of one of these pairs has a divergence above its bound. Proof: docs/proofs/all_pairs.md.
        """
        first = self._rows(worst)
        every, report = self._every, self.progress or _no_progress
        report(0, every)
        with at_precision(256):
            ball = _ball(limit)
            limits.charge(_RULING_OUT * ranking_work(self.table))
            left = open_pairs(self.table, level, n, ball)

            def of_sums(done: int, terms: int) -> None:
                if len(left) * done // terms > len(left) * (done - 1) // terms:
                    report(every - len(left) + len(left) * done // terms, every)

            bounds = narrowed(
                self.table, level, n, ball, left, law_of(table_blanket(self.table, first)), limits, of_sums
            )
            rest = [pair for pair in bounds if pair != first]
            if len(rest) > 1:
                scores = self.ranking(self.table, level, n)
                rest.sort(key=lambda pair: -scores[pair])
            if self.closer is not None and rest:
                rest = self.closer(worst, level, n, ball, rest, limits)
        return [group for group in self.groups(self.table, [first, *rest]) if first not in group], bounds


def _ball(limit: fmpq | Dyadic) -> arb:
    with at_precision(256):
        return limit.ball if isinstance(limit, Dyadic) else arb(limit)


def _no_progress(done: int, every: int) -> None:
    """Report nothing."""
