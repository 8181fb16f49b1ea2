"""The search for data sets: all lower ends, of every setting, come from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from flint import arb, fmpq

from symamp import data_sets
from symamp.bounds.bound import AttainedBound, DataSetBound, MaxOverPairs, MaxOverSearchedPairs, PairBound
from symamp.bounds.pairs_of_a_table import work_of_triples
from symamp.bounds.subject import Subject
from symamp.data_sets.mechanisms import MechanismSpace, SeenSpace, SmoothDataSet, SmoothSpace, TripleSpace
from symamp.data_sets.proposer import DataSpace, Proposer
from symamp.data_sets.users_who_differ import DataOfPositions, StepSums, spaces_of_victims
from symamp.laws.law import Level
from symamp.numbers.optional import defined_in
from symamp.numbers.surroundings import at_precision
from symamp.settings.participation import Repeatable
from symamp.settings.victims import Victims
from symamp.sums.divergence import Settings

PROPOSERS = tuple(sorted({*defined_in(data_sets, Proposer, __name__)}, key=lambda p: p.name))
"""All ways to propose data sets: whatever the files of this folder define."""


def spaces(subject: Subject | tuple[Victims, ...]) -> tuple[DataSpace, ...]:
    """Return the data sets of a subject: one space for each mechanism that it cannot be better protected than."""
    if isinstance(subject, tuple):
        return tuple(space for victims in subject for space in spaces_of_victims(victims))
    if subject.participation is not None:
        return tuple(SeenSpace(space, subject.participation) for space in spaces(subject.randomizers[0]))
    if subject.triple is not None:
        return (TripleSpace(subject),)
    if subject.noise is not None and subject.noise is subject:  # of neighbours at a distance only members are known
        return (SmoothSpace(subject.noise),)
    if subject.densities is not None:
        return (SmoothSpace(subject.densities),)
    one = subject.mechanism is not None
    return tuple(MechanismSpace(m, "" if one else repr(m)) for m in subject.members())


@dataclass(frozen=True)
class _Proposed(MaxOverSearchedPairs):
    """The largest divergence of what is proposed at each level: all that there is, or what a ranking finds worst."""

    spaces: tuple[DataSpace, ...]

    def proposed(self, level: Level | None, n: int, settings: Settings) -> Sequence[DataSetBound]:
        settings.limits.charge(sum(work_of_triples(s.table) for s in self.spaces if s.table is not None))
        return [
            seen
            for space in self.spaces
            for proposer in PROPOSERS
            if proposer.applies(space.proposed)
            for part in proposer.propose(space.proposed, level, n)
            if part is not None
            for seen in space.seen(part, level, n)
        ]


Repeated = Repeatable | DataOfPositions | StepSums
"""Data sets that may be the same in many rounds, those of users who differ among them."""


class DataSetSearch:
    """The lower bounds of a setting: data sets from all proposers, fast ones first, after the last winner."""

    def __init__(self, setting: Subject | tuple[Victims, ...]) -> None:
        self._spaces = spaces(setting)
        self._simple = _Proposed(self._spaces)
        self._winner: PairBound | None = None
        self._hopeless: dict[int, tuple[tuple[DataSetBound, arb], ...]] = {}

    def largest_root(
        self, n: int, log_delta: float, settings: Settings, start: float | None = None
    ) -> tuple[float, DataSetBound]:
        """Return (eps, data set) with the largest estimated eps among the simple data sets."""
        found = self._simple.root(n, log_delta, settings, start, self._winner)
        self._winner = found[1]
        return _data_set(found)

    def other_above(
        self, level: Level, n: int, log_delta: float, settings: Settings, best: PairBound
    ) -> DataSetBound | None:
        """Return another simple data set of the same kind that by an estimate is above delta, None if there is none."""
        found = (p for p in self._simple.proposed(level, n, settings) if p.signature != best.signature)
        alike = (p for p in found if isinstance(p, SmoothDataSet) and isinstance(best, SmoothDataSet))
        return next((p for p in alike if p.log_estimate(level, n, settings.rough) > log_delta), None)

    def largest_value(self, level: Level, n: int, settings: Settings) -> tuple[float, DataSetBound]:
        """Return (log divergence, data set) with the largest estimate among the simple data sets."""
        return _largest(self._simple, level, n, settings)

    def repeatable(self, level: Level, n: int, settings: Settings) -> Repeated | None:
        """Return the worst data sets that may be the same in many rounds, None if there are none.

        There nobody draws an input anew. Messages with a density are seen by their cells only.
        """
        for part in self._simple.ranked(level, n, settings):
            found = part.in_cells(level, n) if isinstance(part, SmoothDataSet) else part
            if isinstance(found, Repeated) and (held := found.data_sets) and (held.counted or len(held.others) <= 1):
                return found
        return None

    def never_below(self, n: int, delta: fmpq) -> DataSetBound | None:
        """Return a data set whose divergence is proved to stay above delta for every eps, None if there is none."""
        with at_precision(256):
            if n not in self._hopeless:
                limits = ((p, p.limit(n)) for p in self._simple.proposed(None, n, Settings()))
                self._hopeless[n] = tuple((p, limit) for p, limit in limits if limit > 0)
            return next((p for p, limit in self._hopeless[n] if limit > arb(delta)), None)


def attained(
    worst: PairBound, level: Level, n: int, known: tuple[float, PairBound], value: Callable[[PairBound], float]
) -> tuple[float, PairBound]:
    """Return (value, data set): that by which a bound is attained at a level, if it is above the known one."""
    if not isinstance(worst, AttainedBound):
        return known
    found = worst.attained(level, n)
    reached = value(found)
    # A bound that is known to any accuracy is the truth, so that no estimate of another data set counts against it.
    return (reached, found) if reached > known[0] or worst.estimate_error == 0.0 else known


def _data_set(found: tuple[float, PairBound]) -> tuple[float, DataSetBound]:
    value, part = found
    return value, cast(DataSetBound, part)


def _largest(bound: MaxOverPairs, level: Level, n: int, settings: Settings) -> tuple[float, DataSetBound]:
    part = bound.ranked(level, n, settings)[0]
    return _data_set((part.log_estimate(level, n, settings.rough), part))
