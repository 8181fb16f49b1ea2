"""The bound over all data sets at once: nearly the truth where many messages distinguish the two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from math import inf, nan
from typing import ClassVar

import flint
import numpy as np
import sympy as sp
from flint import arb

from symamp.bounds.bound import Bound, MaxOverPairs, PairBound
from symamp.bounds.envelope import EnvelopePairBound
from symamp.bounds.hypotheses import COVERED, PROBABILITIES, SHUFFLED, ProofStatus
from symamp.bounds.pairs_of_a_table import MaxOverRows, Pair, badly_hidden, common_bounds, positive_messages
from symamp.bounds.reduction import PairOfInputs, Reduction, is_large_table, listed, pairs_of_inputs, triples_of_rows
from symamp.bounds.subject import Subject
from symamp.decompositions.numeric_table import Floats, NumericTable
from symamp.decompositions.pair_groups import PairGroup
from symamp.decompositions.pairs import pairs_with_equal_laws
from symamp.decompositions.randomizer import groups_of
from symamp.laws.law import Level
from symamp.numbers.dyadic import float_below
from symamp.numbers.limits import Limits
from symamp.numbers.surroundings import at_precision
from symamp.sums.all_data_sets.bound import enclose_all_data_sets, estimate_log_all_data_sets, moments_below
from symamp.sums.all_data_sets.laws import MANY_CLASSES, raised_to_majorant
from symamp.sums.all_data_sets.search import SHARP, SHARPER, Others, Searches
from symamp.sums.divergence import ROUGH, Enclosure, Settings, enclose_level, estimate_log_level
from symamp.sums.envelope import AboveAll

# ---------------------------------------------------------- The bound of one pair of inputs, or of the vertices of many


SOURCE = "Theorem G (docs/proofs/all_data_sets.md)"
OTHERS = "Theorem M (docs/proofs/other_inputs.md)"


_OF_ENVELOPE = 0.5
"""The largest gap of an envelope: with a larger one kernels say hardly anything, and lattices have no certificates."""


_FEW_LAWS = 16
"""The envelope of more laws, which is made of balls one by one, takes longer than parameters of another pair."""


def is_rough(settings: Settings) -> bool:
    """Return whether parameters of another pair are good enough."""
    return settings.gap >= ROUGH.gap


@dataclass(frozen=True)
class AllDataSetsPairBound(PairOfInputs):
    """The bound of one pair of inputs over all data sets of the other users.

    ``others`` is what was found for the pairs that share this list: where a gap of a thousandth of delta is enough,
    their parameters may be taken over.
    """

    others: Others | None = field(default=None, compare=False, repr=False, kw_only=True)

    method: ClassVar[str] = "all_data_sets"
    source: ClassVar[str] = SOURCE
    estimate_error: ClassVar[float] = 2e-3

    @cached_property
    def searches(self) -> Searches:
        """What was found at the levels asked before."""
        return Searches(self.laws, self.mixed, self.others)

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        found = self.searches
        if settings.limits.is_spent() and not (found.knows(level, n) or found.are_for(n)):
            return inf
        return estimate_log_all_data_sets(found, level, n, settings, rough=is_rough(settings))

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the divergence for every data set of the others: an upper end, and 0.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/all_data_sets.md.
        """
        return enclose_all_data_sets(self.searches, level, n, settings, rough=is_rough(settings))


@dataclass(frozen=True)
class OrEnvelope(AllDataSetsPairBound):
    """The bound of one pair of inputs over all data sets, or the envelope of the same laws where that is less."""

    @cached_property
    def envelope(self) -> EnvelopePairBound:
        """The envelope of the laws, which is above their mixtures, too."""
        return EnvelopePairBound(self.triples, mixed=self.mixed)

    @property
    def looser_proxy(self) -> PairBound | None:
        """What is evaluated sooner: the envelope of few laws.

        Not any more once there are parameters, its own or those of another pair.
        """
        is_first = self.searches.is_empty and (self.others is None or not self.others.searched)
        return self.envelope if is_first and len(self.triples) <= _FEW_LAWS else None

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        own = super().log_estimate(level, n, settings)
        return own if self._is_sharp(level, n, settings) else min(own, self.envelope.log_estimate(level, n, settings))

    def _is_sharp(self, level: Level, n: int, settings: Settings) -> bool:
        """Return whether the bound is known to be so near to a data set that the envelope is hardly below it."""
        if self.searches.is_settled(level, n):
            return True
        found = self.searches.known(level, n)
        return found is not None and found.excess <= (SHARP if is_rough(settings) else SHARPER)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the divergence for every data set of the others: an upper end.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/all_data_sets.md, docs/proofs/envelope.md.
        """
        rough = settings.rough
        own = super().log_estimate(level, n, rough)
        if not self._is_sharp(level, n, settings) and self.envelope.log_estimate(level, n, rough) < own:
            return self.envelope.enclose(level, n, replace(settings, gap=min(settings.gap, _OF_ENVELOPE)))
        return super().enclose(level, n, settings)


@dataclass(frozen=True)
class PairGroupBound(OrEnvelope):
    """The bound of a group of pairs of inputs: the laws of other inputs are below mixtures of those of the triples.

    ``above`` is a triple that bounds the same pairs, if there is one: where it is enough no more is asked.
    Every end holds for all pairs of the group if the group is what it says. Proof: docs/proofs/other_inputs.md.
    """

    above: Reduction | None = None

    @staticmethod
    def of(group: PairGroup, others: Others | None = None) -> PairBound:
        """Return the bound of a group, one of those that share the list ``others``."""
        above = None
        if group.above is not None:
            above = Reduction("all_data_sets", ProofStatus.PROVED, OTHERS, group.above)
            if not group.laws:
                return above
        one, laws = sp.Integer(1), ((f"law {i}", law) for i, law in enumerate(group.laws))
        triples = (Reduction("all_data_sets", ProofStatus.PROVED, OTHERS, law, ((x, one),)) for x, law in laws)
        return PairGroupBound(tuple(triples), above, others=others, mixed=not group.listed)

    @property
    def looser_proxy(self) -> PairBound | None:
        return self.above or super().looser_proxy

    def shown_below(self, level: Level, n: int, log_limit: float, settings: Settings) -> Enclosure | None:
        """Return an enclosure by moments whose upper end is at most e^log_limit; None where they do not show that.

        Guarantee
        ---------
        The upper end is at least the divergence for every pair of the group, whatever inputs the other users hold.
        Proof: docs/proofs/all_pairs.md, docs/proofs/other_inputs.md.
        """
        return moments_below(self.searches, level, n, log_limit, settings.limits)


# ----------------------------------------------------------------------------------------- All pairs of rows of a table


@dataclass(frozen=True)
class _RowsPairBound(AllDataSetsPairBound):
    """The bound of a pair of rows of a large table."""

    @cached_property
    def looser_proxy(self) -> PairBound:
        """The envelope of the few laws that cover all."""
        return _EnvelopeOfFew(self.triples, searches=self.searches)


@dataclass(frozen=True)
class _EnvelopeOfFew(EnvelopePairBound):
    """The envelope of laws that cover those of all inputs: it takes a tenth of the time of integrals."""

    searches: Searches = field(compare=False, repr=False, kw_only=True)

    def _above(self, n: int) -> AboveAll:
        return AboveAll(lambda level: self.searches.prepared(level, n, flint.ctx.prec)[0])

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        return estimate_log_level(self._above(n), level, n, settings)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the bound of the law above those that cover all, whose lower end is 0.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/envelope.md, docs/proofs/all_data_sets.md.
        """
        found = enclose_level(self._above(n), level, n, settings)
        merging = self.searches.prepared(level, n, found.precision)[2]
        return replace(found, lower=arb(0), merging=arb(merging))


def common(
    part: AllDataSetsPairBound | None,
    table: NumericTable,
    level: Level,
    n: int,
    pairs: Sequence[Pair],
    log_unit: float,
    limits: Limits,
) -> Floats:
    """Return bounds on pairs of rows over all data sets, in units of e^log_unit, by the parameters of a part if any."""
    of = None
    if part is not None:
        found = part.searches.found(level, n, limits, rough=True)
        with at_precision(128):
            parameters = None if found is None else raised_to_majorant(found.parameters)
        if parameters is None:
            return np.full(len(pairs), nan)
        of = (table.inputs.index(part.pair[0]), table.inputs.index(part.pair[1])), parameters
    groups = pairs_with_equal_laws(table, pairs)
    some, place = [group[0] for group in groups], {pair: k for k, group in enumerate(groups) for pair in group}
    return common_bounds(table, level, n, some, of, log_unit, limits)[[place[pair] for pair in pairs]]


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
        return _RowsPairBound(triples_of_rows(mechanism, rows), others=others)

    def closer(
        worst: PairBound | None, level: Level, n: int, bound: arb, pairs: list[Pair], limits: Limits
    ) -> list[Pair]:
        if not (worst is None or (isinstance(worst, AllDataSetsPairBound) and worst.searches.has_answered(level, n))):
            return pairs
        if not bound > 0:
            return pairs
        with at_precision(128):
            log_bound = float_below(bound.log())
        bounds = common(worst, table, level, n, pairs, log_bound, limits)
        return [pair for pair, found in zip(pairs, bounds.tolist(), strict=True) if not found <= 1.0]

    return MaxOverRows(table, part, groups=pairs_with_equal_laws, closer=closer, ranking=badly_hidden)


# ------------------------------------------------------------------------------- The bound, and where it takes too long


_MOST_INPUTS, _MOST_LISTED = 64, 33
"""The most inputs of a table for which a usual question takes seconds; the second if they are listed for this bound."""
_MOST_MESSAGES, _MOST_ENTRIES = 1000, 64**3
"""The most messages for which one evaluation takes seconds, and the most of all different pairs for a question."""
_COMPOSED = 2.0
"""A combination of others takes more than the usual work."""
_FEWEST = 8.0
"""With fewer positive messages parameters are poor, and those of one pair do not suit another."""


class _MaxOverGroups(MaxOverPairs):
    """The bound over declared groups of pairs, led by that of the worst data set's pair, or by the first one.

    The furthest pair is in the first one.
    """

    begins_with_data_set = True

    def root(
        self, n: int, log_delta: float, settings: Settings, start: float | None = None, first: PairBound | None = None
    ) -> tuple[float, PairBound]:
        led = next((part for part in self.parts if first is not None and part.pair == first.pair), None)
        if led is not None:  # the others are asked where it is certified: one that is worse leads from there
            return led.root(n, log_delta, settings, start), led
        return super().root(n, log_delta, settings, start, self.parts[0])


def _bound(subject: Subject) -> MaxOverPairs:
    groups = None if subject.mechanism is None else groups_of(subject.mechanism)
    if groups is not None:
        others = Others()
        return _MaxOverGroups(MaxOverPairs.of(PairGroupBound.of(group, others) for group in groups).parts)
    subject = listed(subject)
    if is_large_table(subject):
        return table_pairs(subject)
    return MaxOverPairs.of(OrEnvelope(triples) for triples in pairs_of_inputs(subject))


def _too_costly(subject: Subject, level: Level, n: int, patience: float) -> bool:
    """Return whether there are many inputs or messages, or few messages that are positive for one of the bad pairs."""
    if _share_of_usual(subject) > patience:
        return True
    mechanism = subject.mechanism
    table = None if mechanism is None else mechanism.numeric
    if table is None or len(table.inputs) <= MANY_CLASSES:
        return False
    return not positive_messages(table, level, n) * patience > _FEWEST


def _share_of_usual(subject: Subject) -> float:
    """Return about how many times the usual work it takes: as many pairs of inputs, or as many messages."""
    found = listed(subject)
    mechanism = found.mechanism
    if mechanism is None or mechanism.numeric is None or not is_large_table(found):
        return 0.0
    most = _MOST_INPUTS if found is subject else _MOST_LISTED
    is_composed = subject.mechanism is not None and subject.mechanism.is_composed
    inputs, messages = len(mechanism.inputs), len(mechanism.numeric.messages)
    of_size, entries = max((inputs / most) ** 2, messages / _MOST_MESSAGES), inputs**2 * messages / _MOST_ENTRIES
    if of_size <= 1.0 < entries:
        entries *= _share_of_pairs(mechanism.numeric)
    return max(of_size, entries) * (_COMPOSED if is_composed else 1.0)


@lru_cache(maxsize=16)
def _share_of_pairs(table: NumericTable) -> float:
    """Return which part of the pairs of rows stand for all."""
    return len(pairs_with_equal_laws(table, table.pairs)) / max(len(table.pairs), 1)


ALL_DATA_SETS = Bound(
    "all_data_sets",
    ProofStatus.PROVED,
    SOURCE,
    "an integral over all data sets at once: close to the truth",
    "all_data_sets",
    (*SHUFFLED, PROBABILITIES, COVERED),
    _bound,
    rank=4,
    too_costly=_too_costly,
)
