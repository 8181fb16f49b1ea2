"""The search in floats: which upper bound is the least at a question."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import itemgetter
from typing import TypeAlias

from symamp.bounds.bound import AttainedBound, Bound, MaxOverPairs, PairBound, Progress
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.registry import by_default, named
from symamp.bounds.subject import Subject
from symamp.laws.law import Level
from symamp.sums.divergence import Settings
from symamp.sums.inversion import LARGEST_EPS

LOOSE = 1e-3
"""Relative distance of the bounds from which on costlier bounds are tried."""

Tried: TypeAlias = tuple[float, MaxOverPairs, PairBound]
"""An estimate of a bound at a question, the bound, and its part with the largest value."""

_MOST_CHANGED, _BEATEN_BY = 1.0, 0.1
"""A bound that was so far above the least in log delta is left out where the lower bound has changed by less."""
_STEEP = 10.0
"""About so much log delta changes for a relative change of epsilon."""


class CandidateBounds:
    """The upper bounds of a subject, made when they are needed: the named one, or all proved ones, fast ones first."""

    def __init__(self, subject: Subject, method: str | None, progress: Progress | None = None) -> None:
        self._analyses = by_default(subject) if method is None else (named(method, subject),)
        self._subject, self._progress = subject, progress
        self._made: dict[str, MaxOverPairs] = {}
        self._floors: dict[str, tuple[PairBound, ...]] = {}
        self._beaten: tuple[float, tuple[int, bool], frozenset[str]] = (inf, (0, False), frozenset())

    def _bound(self, found: Bound) -> MaxOverPairs:
        if found.name not in self._made:
            bound = found.bound(self._subject)
            self._made[found.name] = bound if self._progress is None else bound.watched(self._progress)
        return self._made[found.name]

    @property
    def first(self) -> MaxOverPairs:
        """The fastest bound."""
        return self._bound(self._analyses[0])

    @property
    def everyone(self) -> MaxOverPairs:
        """The fastest bound for a round in which everyone takes part."""
        return self._analyses[0].everyone(self._subject)

    def _is_hopeless(self, found: Bound, n: int, level: Level, log_delta: float, settings: Settings) -> bool:
        """Return whether the bound takes too long for one of many, or its parts show that it is not below this."""
        if len(self._analyses) > 1 and found.too_costly(self._subject, level, n, settings.limits.patience):
            return True
        if found.floor is None:
            return False
        if found.name not in self._floors:
            self._floors[found.name] = tuple(found.floor(self._subject))
        return any(part.log_estimate(level, n, settings.rough) >= log_delta for part in self._floors[found.name])

    def roots(
        self,
        n: int,
        log_delta: float,
        settings: Settings,
        low: float,
        exact: bool = False,
        lower: PairBound | None = None,
    ) -> list[Tried]:
        """Return the bounds that were tried with their estimated eps, the least first, down to about ``low``.

        ``exact`` leaves out analyses that no gap makes sharper. ``lower`` is the data set that has ``low``.
        """
        tried: list[Tried] = []
        for found in self._analyses:
            least = min((root for root, *_ in tried), default=inf)
            if tried and settings.limits.is_spent():
                break
            if tried and (
                least <= low * (1.0 + found.only_above)
                or self._is_hopeless(found, n, Level.of_float(min(least, LARGEST_EPS)), log_delta, settings)
            ):
                continue
            bound = self._bound(found)
            if exact and tried and bound.parts[0].estimate_error > 0.0:
                continue
            start, first = (low if 0.0 < low < inf else least), None
            if bound.searched_table is not None and lower is not None and 0.0 < low < inf:
                start, first = low, lower
            root, part = bound.root(n, log_delta, settings, start, first)
            tried.append((root, bound, part))
            if isinstance(part, AttainedBound) or min(root, least) <= low * (1.0 + LOOSE):
                break
        return sorted(tried, key=itemgetter(0))

    def values(self, level: Level, n: int, settings: Settings, low: float, exact: bool = False) -> list[Tried]:
        """Return the bounds that were tried with the logarithms of their estimates, the least first, likewise.

        What was far above the least at a question near this one is not tried again.
        """
        tried: list[Tried] = []
        near, asked, beaten = self._beaten
        is_near = asked == (n, exact) and abs(low - near) < _MOST_CHANGED
        for found in self._analyses:
            if is_near and found.name in beaten:
                continue
            if tried and settings.limits.is_spent():
                break
            least = min((value for value, *_ in tried), default=inf)
            if least <= low + _STEEP * found.only_above or self._is_hopeless(found, n, level, least, settings):
                continue
            bound = self._bound(found)
            if exact and tried and bound.parts[0].estimate_error > 0.0:
                continue
            part = bound.ranked(level, n, settings)[0]
            value = part.log_estimate(level, n, settings.usual)
            tried.append((value, bound, part))
            if isinstance(part, AttainedBound) or min(value, least) <= low + LOOSE:
                break
        if not tried:  # what is left takes too long at this level
            self._beaten = low, (n, exact), frozenset()
            return self.values(level, n, settings, low, exact)
        tried.sort(key=itemgetter(0))
        if not is_near:
            far = (part.method for value, _, part in tried if value > tried[0][0] + _BEATEN_BY)
            self._beaten = low, (n, exact), frozenset(far)
        return tried

    def least_value(self, level: Level, n: int, settings: Settings, low: float, exact: bool = False) -> Tried:
        """Return (log divergence, bound, part) of the bound with the least estimate, down to about ``low``."""
        return self.values(level, n, settings, low, exact)[0]


class OnlyBound(CandidateBounds):
    """One bound, where there is no other: one without a name."""

    def __init__(self, bound: MaxOverPairs) -> None:
        only = Bound("", ProofStatus.PROVED, "", "", "", (), lambda _: bound)
        self._analyses, self._made, self._progress = (only,), {only.name: bound}, None
        self._floors, self._beaten = {}, (inf, (0, False), frozenset())


def attained_first(tried: Sequence[Tried], slack: float) -> Tried:
    """Return the least bound, or one as low within the slack that is known to be attained: its data set is worst."""
    least = tried[0]
    return next((t for t in tried if isinstance(t[2], AttainedBound) and t[0] <= least[0] + slack), least)
