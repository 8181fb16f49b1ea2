"""The part of a bound over all data sets at once: one pair of inputs, or the vertices of many."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import ClassVar

import sympy as sp

from symamp.bounds.bound import PairBound
from symamp.bounds.envelope import EnvelopePairBound
from symamp.bounds.pair_of_inputs import PairOfInputs
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.decompositions.pair_groups import PairGroup
from symamp.laws.law import Level
from symamp.sums.all_data_sets.bound import enclose_all_data_sets, estimate_log_all_data_sets
from symamp.sums.all_data_sets.search import SHARP, SHARPER, Others, Searches
from symamp.sums.divergence import ROUGH, Enclosure, Settings

SOURCE = "Theorem G (docs/proofs/all_data_sets.md)"
OTHERS = "Theorem M (docs/proofs/other_inputs.md)"


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
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
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
class PairGroupBound(AllDataSetsPairBound):
    """The bound of a group of pairs of inputs: the laws of other inputs are below mixtures of those of the triples.

    ``above`` is a triple that bounds the same pairs, if there is one: where it is enough no more is asked.
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

    @cached_property
    def envelope(self) -> EnvelopePairBound:
        """The envelope of the laws, which is above their mixtures, too."""
        return EnvelopePairBound(self.triples, mixed=self.mixed)

    @property
    def looser_proxy(self) -> PairBound:
        """What is evaluated sooner: the triple above the pairs of the group, or the envelope."""
        return self.above or self.envelope

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        own = super().log_estimate(level, n, settings)
        return own if self._is_sharp(level, n, settings) else min(own, self.envelope.log_estimate(level, n, settings))

    def _is_sharp(self, level: Level, n: int, settings: Settings) -> bool:
        """Return whether the bound is known to be so near to a data set that the envelope is hardly below it."""
        found = self.searches.known(level, n)
        return found is not None and found.excess <= (SHARP if is_rough(settings) else SHARPER)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the divergence of all pairs of the group and all data sets of the others.

        Guarantee
        ---------
        The upper end is at least the divergence for every pair of the group, whatever inputs the other users hold, if
        the group is what it says. Proof: docs/proofs/other_inputs.md.
        """
        rough = settings.rough
        own = super().log_estimate(level, n, rough)
        if not self._is_sharp(level, n, settings) and self.envelope.log_estimate(level, n, rough) < own:
            return self.envelope.enclose(level, n, settings)
        return super().enclose(level, n, settings)
