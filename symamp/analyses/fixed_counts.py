"""A lower bound: a data set in which fixed numbers of the other users hold one input or another."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import flint

from symamp.analyses.part import Part
from symamp.analyses.standing import Standing
from symamp.evaluation.divergence import Enclosure, Settings
from symamp.evaluation.inversion import estimate_root
from symamp.evaluation.law import Level
from symamp.evaluation.two_messages import Counts, TwoMessages, enclose_counts, log_divergence_of_counts


@dataclass(frozen=True)
class FixedCounts:
    """The data sets (x0, others) and (x1, others), with ``counts`` of the others at each of two ``inputs``.

    There are two messages; ``reports`` has their probabilities.
    """

    pair: tuple[str, str]
    inputs: tuple[str, str]
    counts: Counts
    reports: TwoMessages = field(repr=False)

    method: ClassVar[str] = "data set"
    standing: ClassVar[Standing] = Standing.LOWER
    source: ClassVar[str] = "docs/proofs/two_messages.md"
    accuracy: ClassVar[float] = 0.0

    @property
    def signature(self) -> Hashable:
        """Who holds what."""
        return self.method, self.pair, self.inputs, self.counts

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
        """Return an estimate of the logarithm of the divergence, in floats; -inf for zero. Not a bound."""
        return log_divergence_of_counts(self.reports, level, self.counts)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the divergence is delta: 0 if it is smaller at 0, inf if never."""
        value = lru_cache(lambda eps: self.log_estimate(Level.of_float(eps), n))
        with flint.ctx.workprec(64):
            ratio = self.reports.first() / self.reports.second()
            top = float(ratio.log()) if ratio.is_finite() else float("inf")
        return estimate_root(value, value, n, log_delta, settings, top, start)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence.

        Guarantee
        ---------
        The divergence lies between the outer ends. Proof: docs/proofs/two_messages.md.
        """
        return enclose_counts(self.reports, level, n, self.counts)

    def settles(self, other: Part, level: Level) -> bool:
        """Return False: nothing is derived from a lower bound."""
        return False
