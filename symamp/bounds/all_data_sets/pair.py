"""The part of a bound over all data sets at once: one pair of inputs, or the vertices of many."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import ClassVar

from symamp.bounds.pair_of_inputs import PairOfInputs
from symamp.laws.law import Level
from symamp.sums.all_data_sets.bound import enclose_all_data_sets, estimate_log_all_data_sets
from symamp.sums.all_data_sets.search import Others, Searches
from symamp.sums.divergence import ROUGH, Enclosure, Settings

SOURCE = "Theorem G (docs/proofs/all_data_sets.md)"


def is_rough(settings: Settings) -> bool:
    """Return whether parameters of another pair are good enough."""
    return settings.gap >= ROUGH.gap


@dataclass(frozen=True)
class AllDataSetsPairBound(PairOfInputs):
    """The bound of one pair of inputs over all data sets of the other users.

    ``mixed`` says that the laws of other inputs may be any mixtures of those of the triples. ``others``
    is what was found for the pairs that share this list: where a gap of a thousandth of delta is enough, their
    parameters may be taken over.
    """

    others: Others | None = field(default=None, compare=False, repr=False, kw_only=True)

    method: ClassVar[str] = "all_data_sets"
    source: ClassVar[str] = SOURCE
    estimate_error: ClassVar[float] = 2e-3
    mixed: ClassVar[bool] = False

    @cached_property
    def searches(self) -> Searches:
        """What was found at the levels asked before."""
        return Searches(self.laws, self.mixed, self.others)

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        found = self.searches
        if settings.limits.is_spent() and not (found.knows(level, n) or found.are_for(n)):
            return inf
        return estimate_log_all_data_sets(
            self.laws, level, n, settings, mixed=self.mixed, searches=found, rough=is_rough(settings)
        )

    def rough_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of this bound alone, also where another one is at hand for the pair."""
        return AllDataSetsPairBound.log_estimate(self, level, n, settings.usual)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure of the divergence for every data set of the others: an upper end, and 0.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/all_data_sets.md.
        """
        found, rough = self.searches, is_rough(settings)
        return enclose_all_data_sets(self.laws, level, n, settings, mixed=self.mixed, searches=found, rough=rough)
