"""The bound for few positive messages: the theorem on labels itself, for all compositions of a few kinds of users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np

from symamp.bounds.all_data_sets.bound import OrEnvelope, PairGroupBound
from symamp.bounds.bound import Bound, PairBound
from symamp.bounds.hypotheses import COVERED, PROBABILITIES, SHUFFLED, ProofStatus
from symamp.bounds.reduction import PairOfInputs, Reduction, is_large_table, listed, pairs_of_inputs
from symamp.bounds.subject import Subject
from symamp.decompositions.randomizer import groups_of
from symamp.laws.law import Level, quick_gparv
from symamp.numbers.dyadic import float_above
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.few_messages import MOST_LAWS, FewMessages, enclose_few_messages, estimate_log_few_messages

SOURCE = "Theorem K (docs/proofs/few_messages.md)"
_FEW = 25.0
"""With more positive messages the bound over all data sets is near the truth, and stands in."""
_MOST_PAIRS, _MOST_VALUES = 2, 4
"""Pairs of inputs, and values of a law, up to which it is tried where nobody asks for it."""
_ONLY_ABOVE = 5e-3
"""Relative width of a bracket of epsilon below which it is not tried: it takes seconds, and has a gap of its own."""
_POOR = 0.1
"""By so much more than was estimated, in its logarithm, the bound says that there was no time for all compositions."""


@dataclass(frozen=True)
class FewMessagesPairBound(PairOfInputs):
    """The bound of one pair of inputs, or of a group of pairs.

    Where the theorem does not apply it is the bound ``otherwise``.
    """

    otherwise: PairBound

    method: ClassVar[str] = "few_messages"
    source: ClassVar[str] = SOURCE
    estimate_error: ClassVar[float] = 2e-3

    @property
    def looser_proxy(self) -> PairBound:
        """The bound over all data sets by exponentials: where it is enough no more is asked."""
        return self.otherwise

    @cached_property
    def searches(self) -> FewMessages:
        """What was found at the levels asked before."""
        return FewMessages(self.laws, self.mixed)

    def _own_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return the same of the theorem itself, inf where it does not apply, or many messages are positive."""
        has_few = any(_positive(t, level, n) <= _FEW for t in self.triples)
        return estimate_log_few_messages(self.searches, level, n, settings) if has_few else inf

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        return min(self._own_estimate(level, n, settings), self.otherwise.log_estimate(level, n, settings))

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the divergence for every data set of the others: an upper end, and 0.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, or these pairs, whatever inputs the other users hold.
        Proof: docs/proofs/few_messages.md.
        """
        own, other = self._own_estimate(level, n, settings), self.otherwise.log_estimate(level, n, settings)
        found = enclose_few_messages(self.searches, level, n, settings) if own < other else None
        if found is not None and float_above(found.upper.log()) <= own + _POOR:
            return found
        instead = self.otherwise.enclose(level, n, settings)
        return instead if found is None else min(found, instead, key=lambda e: e.upper.upper())


def _parts(subject: Subject) -> Iterator[PairBound]:
    groups = None if subject.mechanism is None else groups_of(subject.mechanism)
    if groups is None:
        for triples in pairs_of_inputs(listed(subject)):
            different = tuple({t.signature: t for t in reversed(triples)}.values())[::-1]
            yield FewMessagesPairBound(different, OrEnvelope(triples))
        return
    for group in groups:
        found = PairGroupBound.of(group)
        if isinstance(found, PairGroupBound):
            found = FewMessagesPairBound(found.triples, found, mixed=found.mixed)
        yield found


def _skipped(subject: Subject) -> bool:
    """Return whether there are more than few pairs, laws of other inputs, which are themselves inputs, and values."""
    if any(h.fails(subject) is not None for h in (PROBABILITIES, COVERED)):
        return True
    mechanism = subject.mechanism
    if mechanism is None or (groups_of(mechanism) is None and is_large_table(listed(subject))):
        return True
    pairs = _first_pairs(subject)
    few = all(len(triples) <= MOST_LAWS for triples in pairs) and len(pairs) <= _MOST_PAIRS
    return not few or any(len(t.decomposition.components) > _MOST_VALUES for triples in pairs for t in triples)


def _first_pairs(subject: Subject) -> list[tuple[Reduction, ...]]:
    """Return the laws of other inputs for pairs that are listed, or for the first of the groups of pairs."""
    groups = None if subject.mechanism is None else groups_of(subject.mechanism)
    if groups is not None:
        first = PairGroupBound.of(groups[0])
        return [first.triples] if isinstance(first, PairGroupBound) else []
    return [triples for _, triples in zip(range(_MOST_PAIRS + 1), pairs_of_inputs(listed(subject)), strict=False)]


def _too_costly(subject: Subject, level: Level, n: int, _: float) -> bool:
    """Return whether it is skipped by default, or under some law many messages are expected to be positive."""
    if _skipped(subject):
        return True
    return all(_positive(t, level, n) > _FEW for triples in _first_pairs(subject) for t in triples)


def _positive(triple: Reduction, level: Level, n: int) -> float:
    """Return how many messages of n - 1 users are expected to be positive, about; inf where none can be."""
    g = quick_gparv(triple.law, level)
    positive = np.maximum(g.values, 0.0)
    square = float(g.masses @ positive**2)
    return (n - 1) * float(g.masses @ positive) ** 2 / square if square > 0.0 else inf


FEW_MESSAGES = Bound(
    "few_messages",
    ProofStatus.PROVED,
    SOURCE,
    "few messages that distinguish inputs: every composition of the other users",
    "few_messages",
    (*SHUFFLED, PROBABILITIES, COVERED),
    _parts,
    rank=3,
    skip_by_default=_skipped,
    too_costly=_too_costly,
    only_above=_ONLY_ABOVE,
    takes_seconds=lambda subject: subject.mechanism is not None and groups_of(subject.mechanism) is not None,
)
