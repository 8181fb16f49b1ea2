"""Which data sets are tried for the lower bound: all that hide a pair of inputs badly, by a ranking of all triples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import sympy as sp

from symamp.bounds.background_mixtures import ascent, rounded
from symamp.bounds.bound import DataSetBound, MaxOverPairs, MaxOverSearchedPairs, PairBound, has_many_messages
from symamp.bounds.data_sets import dataset_reduction, pure_datasets
from symamp.bounds.density_pairs import density_data_sets
from symamp.bounds.own_law import own_parts
from symamp.bounds.pairs_of_a_table import best, chi_squares, excesses, log_divergences, ranking_work
from symamp.bounds.reduction import Reduction
from symamp.bounds.smooth_part import NoiseDataSet
from symamp.bounds.subject import Subject
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.pairs import pair_classes
from symamp.decompositions.seen_table import seen_table
from symamp.errors import UndecidedOrderError
from symamp.laws.law import Level
from symamp.numbers.limits import Limits
from symamp.randomizers.mechanism import Mechanism
from symamp.sums.divergence import Settings

_REFINED = 8
"""How many triples of the ranking are estimated one by one."""
_RANKED, _NEAR = 16, 0.1
"""How many of them say which x* are tried again at levels that differ by no more than this part."""
_FEW_INPUTS, _FEW_MESSAGES = 6, 64
"""Up to so many inputs all triples are estimated one by one: for few users no ranking is to be trusted."""
_MOST_HIDING = 100
"""Up to so many inputs each is tried for the other users; of more, those with the largest chi-square."""
_MOST_MIXED, _DENOMINATOR = 6, 4096


def lower_bound(subject: Subject) -> MaxOverPairs:
    """Return the data sets that are tried for the lower bound: all that there are, or a search among them."""
    if subject.triple is not None:
        return MaxOverPairs(own_parts(subject))
    if subject.noise is not None and subject.noise is subject:  # of neighbours at a distance only members are known
        return MaxOverPairs(tuple(NoiseDataSet(subject.noise, x) for x in (0, 1)))
    if subject.densities is not None:
        return density_data_sets(subject.densities)
    return MaxOverDataSets(subject)


@dataclass(frozen=True, init=False)
class MaxOverDataSets(MaxOverSearchedPairs):
    """The data sets (x0, x*, ..., x*) of a subject, x0, x1 and x* any inputs, the worst ones proposed first."""

    subject: Any
    _hiding: dict[int, tuple[float, list[int]]] = field(init=False, compare=False, repr=False)

    def __init__(self, subject: Subject) -> None:
        vars(self).update(subject=subject, _hiding={})

    @property  # type: ignore[misc]
    def parts(self) -> tuple[PairBound, ...]:
        """The data sets of all pairs of a description, or those of a table in which a message may name its sender."""
        return tuple(r for m in self.subject.members() for r in self._revealing(m))

    @property
    def is_dear(self) -> bool:
        """Whether a table has many messages."""
        return any(m.numeric is not None and has_many_messages(m.numeric) for m in self.subject.members())

    def proposed(self, level: Level, n: int, settings: Settings) -> Sequence[Reduction]:
        """Return a few data sets for each mechanism of the subject."""
        return [r for m in self.subject.members() for r in self._of(m, self._proposed(m, level, n, settings.limits))]

    def mixtures(self, reduction: DataSetBound, level: Level, n: int) -> Iterator[Reduction]:
        """Yield data sets for the same pair in which the other users draw their inputs, weights found by ascent."""
        for m in self.subject.members():
            if reduction.member in ("", repr(m)):
                # Entries too close to be ordered: the search goes without mixtures.
                with suppress(UndecidedOrderError):
                    yield from self._of(m, _mixed(m, reduction, level, n))

    def _proposed(self, mechanism: Mechanism, level: Level, n: int, limits: Limits) -> Iterator[Reduction]:
        table = mechanism.numeric
        if table is None:
            return _all(mechanism)
        size = len(table.inputs)
        if size <= _FEW_INPUTS and len(table.messages) <= _FEW_MESSAGES:
            return (_triple(mechanism, (i, j, k)) for i, j in table.pairs for k in range(size))
        here, some = self._hiding.get(id(table), (0.0, None))
        is_near = level.double is not None and abs(level.double - here) <= _NEAR * here
        some = some if is_near else None
        limits.charge(len(_hiding(table) if some is None else some) * ranking_work(table))
        found = worst_triples(table, level, n, _RANKED, some)
        if _has_many_inputs(table) and level.double is not None:  # those that hide worst at one level do so near to it
            self._hiding[id(table)] = level.double, list(dict.fromkeys(other for *_, other in found))
        return (_triple(mechanism, rows) for rows in found[:_REFINED])

    def _of(self, mechanism: Mechanism, reductions: Iterator[Reduction]) -> Iterator[Reduction]:
        one = self.subject.mechanism is not None
        return reductions if one else (replace(r, member=repr(mechanism)) for r in reductions)

    def _revealing(self, mechanism: Mechanism) -> Iterator[Reduction]:
        table = mechanism.numeric
        if table is None:
            return self._of(mechanism, _all(mechanism))
        return self._of(mechanism, (_triple(mechanism, (*pair, pair[1])) for pair in _most_revealing(table)))


def _all(mechanism: Mechanism) -> Iterator[Reduction]:
    """Yield the data sets of a description, which names few inputs: all of them."""
    return (r for c in pair_classes(mechanism) for r in pure_datasets(mechanism, c.pairs[0]))


def _triple(mechanism: Mechanism, rows: tuple[int, int, int]) -> Reduction:
    x0, x1, other = (mechanism.inputs[i] for i in rows)
    return dataset_reduction(mechanism, (x0, x1), ((other, sp.Integer(1)),))


def worst_triples(
    table: NumericTable, level: Level, n: int, most: int, hiding: Sequence[int] | None = None
) -> list[tuple[int, int, int]]:
    """Return triples (x0, x1, x*) of rows with a large divergence of (x0, x*, ...) against (x1, x*, ...), by estimates.

    All of them are ranked: the chi-square sum over messages of (R(x0) - R(x1))^2/R(x*) chooses x* where there are many
    inputs, saddle points choose among the triples. ``hiding`` are the x* that are tried, if they are known.

    >>> import symamp as sa
    >>> [found] = worst_triples(sa.RandomizedResponse(k=3, eps0=1).table().numeric, Level.of_float(0.01), 1000, 1)
    >>> sorted(found)
    [0, 1, 2]
    """
    found = list[tuple[float, tuple[int, int, int]]]()
    for other, scores in _scores(table, level, n, hiding):
        # A tie goes to an input outside the pair: that is the data set that papers name.
        found += [(scores[i, j] - 1e-9 * (other in (i, j)), (i, j, other)) for i, j in best(scores, most)]
    found.sort(key=lambda item: (-item[0], item[1]))
    return [triple for _, triple in found[:most]] or [(i, j, i) for i, j in table.pairs[:1]]


def pairs_badly_hidden(table: NumericTable, level: Level, n: int, most: int) -> list[tuple[int, int]]:
    """Return the ordered pairs of rows with the largest divergence where all others hold the same input, by estimates.

    >>> import symamp as sa
    >>> len(pairs_badly_hidden(sa.RandomizedResponse(k=3, eps0=1).table().numeric, Level.of_float(0.01), 1000, 9))
    6
    """
    return best(reduce(np.maximum, (scores for _, scores in _scores(table, level, n))), most)


def _scores(
    table: NumericTable, level: Level, n: int, hiding: Sequence[int] | None = None
) -> Iterator[tuple[int, Any]]:
    """Yield inputs x* of the others with estimates of log D for all pairs."""
    rows, minus_one = table.floats, level.rough_minus_one()
    alone = excesses(rows, 1.0 + minus_one)
    for other in _hiding(table) if hiding is None else hiding:
        yield other, np.where(table.admissible, log_divergences(rows, rows[other], minus_one, n, alone), -np.inf)


def _has_many_inputs(table: NumericTable) -> bool:
    return len(table.inputs) > _MOST_HIDING


@lru_cache(maxsize=8)
def _hiding(table: NumericTable) -> list[int]:
    rows = table.floats
    if len(rows) <= _MOST_HIDING:
        return list(range(len(rows)))
    with np.errstate(all="ignore"):
        largest = [float(chi_squares(rows, row).max()) for row in rows]
    return [int(i) for i in np.argsort(largest)[::-1][: _MOST_HIDING // 4]]


def _most_revealing(table: NumericTable) -> list[tuple[int, int]]:
    """Return the pairs where x0 has most mass on messages that x1 never sends: there others at x1 hide nothing."""
    never = table.floats == 0.0
    masses = table.floats @ never.T
    return best(np.where((masses > 0.0) & table.admissible, masses, -np.inf), 2)


def _mixed(mechanism: Mechanism, reduction: DataSetBound, level: Level, n: int) -> Iterator[Reduction]:
    pair = reduction.pair
    if mechanism.is_composed:  # a mixture of inputs is no product: constant data sets only
        return
    table = mechanism.numeric or seen_table(mechanism, pair)
    place = {x: i for i, x in enumerate(table.inputs)}
    minus_one = level.rough_minus_one()
    rows = place[pair[0]], place[pair[1]]
    for start in dict.fromkeys([place[reduction.dataset[0][0]], *rows]):
        weights = rounded(ascent(table.floats, rows, minus_one, n, start), _MOST_MIXED, _DENOMINATOR)
        others = tuple((table.inputs[i], sp.Rational(w, _DENOMINATOR)) for i, w in weights.items())
        yield dataset_reduction(mechanism, pair, others)
