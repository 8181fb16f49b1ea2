"""The bound of an analysis: the largest divergence of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias

from flint import fmpq

from symamp.analyses.part import DataSetPart, Evidence, Part
from symamp.derivation.numeric_table import NumericTable
from symamp.evaluation.divergence import Settings
from symamp.evaluation.inversion import log_of_ball
from symamp.evaluation.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.rationals import ball_of

ROUGH = Settings(gap=1e-3, most_frequencies=2_000)
"""Accuracy at which parts are compared: only the largest is evaluated with care."""
_GAPS = (0.05, 0.005)
"""Accuracies that may settle a part below the worst one, before it is evaluated with care."""

Progress: TypeAlias = Callable[[int, int], None]
"""A function that is told how much is done, and of how much."""


@dataclass(frozen=True)
class Bound:
    """Parts that together cover everything that the analysis has to bound; those that repeat others are left out."""

    parts: tuple[Part, ...]

    @staticmethod
    def of(parts: Iterable[Part]) -> Bound:
        """Return the bound with one part for each signature."""
        first: dict[object, Part] = {}
        for part in parts:
            first.setdefault(part.signature, part)
        return Bound(tuple(first.values()))

    @property
    def searched_table(self) -> NumericTable | None:
        """The table whose pairs of rows are the parts, where those are searched and not listed."""
        return None

    def watched(self, progress: Progress) -> Bound:
        """Return the bound that tells of its progress where an evaluation may take long."""
        return self

    def mixtures(self, part: DataSetPart, level: Level, n: int) -> Iterator[Part]:
        """Yield mixtures of data sets that may be worse than this one: none that are listed already."""
        return iter(())

    def ranked(self, level: Level, n: int) -> tuple[Part, ...]:
        """Return the parts, largest estimated divergence first."""
        if len(self.parts) == 1:
            return self.parts
        value = {id(p): p.log_estimate(level, n, ROUGH) for p in self.parts}
        return tuple(sorted(self.parts, key=lambda p: -value[id(p)]))

    def root(
        self, n: int, log_delta: float, settings: Settings, start: float | None = None, first: Part | None = None
    ) -> tuple[float, Part]:
        """Return (eps, part) with the largest estimated eps at which a part has divergence delta.

        ``start`` is an eps near it, ``first`` a part that is likely to have it: then parts are not ranked before.
        """
        parts = self.parts
        if first is not None:
            parts = tuple(sorted(parts, key=lambda part: part.signature != first.signature))
        elif start is not None and 0.0 < start < inf:
            parts = self.ranked(Level.of_float(start), n)
        best, root = parts[0], parts[0].root(n, log_delta, settings, start)
        for other in parts[1:]:
            if root == inf:
                break
            level, least = Level.of_float(root), log_delta - ROUGH.gap
            if all(part.log_estimate(level, n, ROUGH) > least for part in (other.cheaper, other) if part is not None):
                candidate = other.root(n, log_delta, settings, root)
                if candidate > root:
                    best, root = other, candidate
        return root, best

    def evidence(
        self,
        level: Level,
        n: int,
        settings: Settings,
        goal: fmpq | None = None,
        first: Part | None = None,
        known: Iterable[Evidence] = (),
    ) -> tuple[Evidence, ...]:
        """Return certified evaluations whose largest upper end bounds every part at this level.

        Parts that the first one settles by convex order, for every n, are not evaluated, and the others only as
        sharply as it takes to see that they are not above the first one, or the goal. With a ``goal`` the search
        ends at the first evaluation that is not proved to be at most the goal. ``first`` is evaluated first. ``known``
        are evaluations, at this level, of another bound on the same pairs: what one settles is not evaluated.

        Guarantee
        ---------
        The divergence of every part is at most the largest ``upper`` of the result, unless the last of them is above
        the goal. Proof: docs/proofs/convex_order.md.
        """
        worst, *others = self.parts if first is None else (first, *(p for p in self.parts if p is not first))
        found = [Evidence.of(worst, level, worst.enclose(level, n, settings))]
        limit = found[0].upper if goal is None else goal
        settled = {e.part.pair: e for e in known if e.is_at_most(limit)}
        for other in others:
            if goal is not None and not found[-1].is_at_most(goal):
                break
            if other.pair in settled:
                found.append(settled[other.pair])
            elif not worst.settles(other, level):
                found.append(sharp_enough(other, level, n, limit, settings))
        return tuple(found)


def sharp_enough(part: Part, level: Level, n: int, limit: fmpq | Dyadic, settings: Settings) -> Evidence:
    """Return an evaluation, as rough as it may be, that proves the limit, else the careful one."""
    rough = _GAPS[:1] if part.accuracy > 0.0 else _GAPS
    whole = limit.ball if isinstance(limit, Dyadic) else ball_of(limit)
    cheap = part.cheaper
    if cheap is not None and cheap.log_estimate(level, n, ROUGH) < log_of_ball(whole) - _GAPS[0]:
        found = Evidence.of(cheap, level, cheap.enclose(level, n, replace(settings, gap=max(settings.gap, _GAPS[0]))))
        if found.is_at_most(limit):
            return found
    margin = log_of_ball(whole) - part.log_estimate(level, n, ROUGH)  # what is wider would prove nothing
    is_hopeless = isinstance(limit, fmpq) and margin < -_GAPS[0]  # a given goal: how far above it does not matter
    for gap in (*(gap for gap in rough if settings.gap < gap < (-margin if is_hopeless else margin)), settings.gap):
        found = Evidence.of(part, level, part.enclose(level, n, replace(settings, gap=gap)))
        if found.is_at_most(limit) or is_hopeless:
            break
    return found
