"""All bounds by name, found in the files of this folder and its subfolders; and which is least at a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from operator import itemgetter
from types import MappingProxyType
from typing import TypeAlias

from symamp import bounds
from symamp.bounds.bound import AttainedBound, Bound, MaxOverPairs, MaxOverSearchedPairs, PairBound, Progress
from symamp.bounds.hypotheses import ProofStatus
from symamp.bounds.subject import Setting, Subject
from symamp.errors import ArgumentError, Problem, SupportMismatchError, one_of
from symamp.laws.law import Level
from symamp.numbers.optional import defined_in
from symamp.sums.divergence import Settings
from symamp.sums.inversion import LARGEST_EPS


def _found() -> Mapping[str, Bound]:
    found = {a.name: a for a in defined_in(bounds, Bound, __name__)}
    last = max((a.rank for a in found.values() if a.rank is not None), default=0) + 1

    def place(a: Bound) -> tuple[int, bool, str]:
        return last if a.rank is None else a.rank, not a.proof_status.is_guarantee, a.name

    order = sorted(found.values(), key=place)
    return MappingProxyType({a.name: a for a in order})


BOUNDS = _found()
"""All bounds by name: fast defaults first, bounds that are not proved last."""


def named(name: object, setting: Setting) -> Bound:
    """Return the bound of that name, after checking that the setting meets its hypotheses.

    Raises ArgumentError for an unknown name, SupportMismatchError with the reason if the setting does not.
    """
    if not isinstance(name, str) or name not in BOUNDS:
        raise ArgumentError("method", name, one_of(BOUNDS, name))
    BOUNDS[name].check(setting)
    return BOUNDS[name]


_ALL_TAKE_PART = (
    "{} does if everyone takes part: leave participation out, say by colluders= how many may not take part, as if they "
    "told all they know, or take noise with a finite local budget, such as sa.Laplace"
)


def by_default(subject: Subject) -> Iterator[Bound]:
    """Yield the proved bounds of which the smallest is taken, fast ones first.

    Raises SupportMismatchError if none applies.
    """
    guaranteed = [a for a in BOUNDS.values() if a.proof_status.is_guarantee]
    randomizer = subject.randomizers[0]
    found = (a for a in guaranteed if a.unsupported_reason(subject) is None)
    if subject.participation is None or randomizer.mechanism is not None:
        found = (a for a in found if a.rank is not None and not a.skip_by_default(randomizer))
    # Else messages have a density: only bounds that are looser by themselves are triples.
    if (first := next(found, None)) is None:
        ranked = [a for a in guaranteed if a.rank is not None]
        reasons = "; ".join(f"{a.name}: {a.unsupported_reason(subject)}" for a in ranked)
        if (base := getattr(subject, "base", None)) is not None:
            whole = next((a.name for a in ranked if a.unsupported_reason(base) is None), None)
            reasons = reasons if whole is None else _ALL_TAKE_PART.format(whole)
        raise SupportMismatchError("mechanism", Problem(f"no bound applies to {subject!r}"), reasons)
    yield first
    yield from found


# --------------------------------------------------- The search in floats: which upper bound is the least at a question


LOOSE, FAR = 1e-3, 1e-2
"""Relative distance of the bounds from which on costlier bounds are tried; and from which on a bound that is had to any
accuracy is left out until it is seen that no other one is nearer."""

_STEEP = 10.0
"""About so much log delta changes for a relative change of epsilon."""

Tried: TypeAlias = tuple[float, MaxOverPairs, PairBound]
"""An estimate of a bound at a question, the bound, and its part with the largest value."""


class CandidateBounds:
    """The upper bounds of a subject, made when they are needed: the named one, or all proved ones, fast ones first.

    With ``many`` levels to come, those that take seconds at one are asked by name only.
    """

    def __init__(
        self, subject: Subject, method: str | None, progress: Progress | None = None, *, many: bool = False
    ) -> None:
        proved = by_default(subject) if method is None else (named(method, subject),)
        self._many, left_out = many, many and method is None
        self._analyses = tuple(a for a in proved if not (left_out and a.takes_seconds(subject.randomizers[0])))
        self._subject, self._progress = subject, progress
        self._made: dict[str, MaxOverPairs] = {}
        self._floors: dict[str, tuple[PairBound, ...]] = {}

    def _bound(self, found: Bound) -> MaxOverPairs:
        if found.name not in self._made:
            bound = found.bound(self._subject)
            bound = bound.for_many() if self._many else bound
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

    def _tried(
        self,
        n: int,
        settings: Settings,
        exact: bool,
        above: Callable[[float], float],
        at: Callable[[float], tuple[Level, float]],
        estimate: Callable[[MaxOverPairs, float], tuple[float, PairBound]],
        steep: float = 1.0,
        is_far: Callable[[MaxOverPairs], bool] | None = None,
    ) -> list[Tried]:
        """Return the bounds that were tried, the least first, until the least is as low as ``above(LOOSE)``.

        ``at`` gives the level, and the log delta there, that a bound has to be below to be less than the least so far;
        ``steep`` is about how much a value changes for a relative change of epsilon. Bounds that ``is_far`` says to be
        above ``above(FAR)`` are left out.
        """
        tried: list[Tried] = []
        known = inf
        for found in self._analyses:
            least = min((value for value, *_ in tried), default=known)
            if least < inf and settings.limits.is_spent():
                break
            if least < inf and (
                least <= above(steep * found.only_above) or self._is_hopeless(found, n, *at(least), settings)
            ):
                continue
            bound = self._bound(found)
            if is_far is not None and is_far(bound):
                known = above(FAR)
                continue
            if exact and tried and bound.parts[0].estimate_error > 0.0:
                continue
            value, part = estimate(bound, least)
            tried.append((value, bound, part))
            if isinstance(part, AttainedBound) or min(value, least) <= above(LOOSE):
                break
        return sorted(tried, key=itemgetter(0))

    def roots(
        self,
        n: int,
        log_delta: float,
        settings: Settings,
        low: float,
        exact: bool = False,
        lower: PairBound | None = None,
        *,
        every: bool = False,
    ) -> list[Tried]:
        """Return the bounds that were tried with their estimated eps, the least first, down to about ``low``.

        ``exact`` leaves out analyses that no gap makes sharper. ``lower`` is the data set that has ``low``. Bounds that
        are far above it are not among them, unless all are or ``every`` one is asked for.
        """
        is_known = 0.0 < low < inf
        beyond = Level.of_float(low * (1.0 + FAR) if is_known else 0.0)

        def is_far(bound: MaxOverPairs) -> bool:
            led = bound.own(lower) if isinstance(bound, MaxOverSearchedPairs) else bound.parts[0]
            if led is None or led.estimate_error > 0.0:
                return False
            return led.log_estimate(beyond, n, settings.rough) > log_delta + settings.rough.gap

        roots: dict[int, tuple[float, PairBound]] = {}

        def root(bound: MaxOverPairs, least: float) -> tuple[float, PairBound]:
            first = lower if is_known and bound.begins_with_data_set else None
            if id(bound) not in roots:
                roots[id(bound)] = bound.root(n, log_delta, settings, low if is_known else least, first)
            return roots[id(bound)]

        def at(least: float) -> tuple[Level, float]:
            return Level.of_float(min(least, LARGEST_EPS)), log_delta

        def above(share: float) -> float:
            return low * (1.0 + share)

        near: list[Tried] = []
        if is_known and len(self._analyses) > 1 and not (exact or every) and self._subject.randomizers[0].mechanism:
            near = self._tried(n, settings, exact, above, at, root, is_far=is_far)
            if near and near[0][0] <= above(FAR):
                return near
        whole = self._tried(n, settings, exact, above, at, root)
        found = [bound for _, bound, _ in whole]
        return sorted([*whole, *(one for one in near if one[1] not in found)], key=itemgetter(0))

    def values(self, level: Level, n: int, settings: Settings, low: float, exact: bool = False) -> list[Tried]:
        """Return the bounds that were tried with the logarithms of their estimates, the least first, likewise."""

        def value(bound: MaxOverPairs, least: float) -> tuple[float, PairBound]:
            part = bound.ranked(level, n, settings)[0]
            return part.log_estimate(level, n, settings.usual), part

        return self._tried(n, settings, exact, lambda share: low + share, lambda least: (level, least), value, _STEEP)

    def least_value(self, level: Level, n: int, settings: Settings, low: float, exact: bool = False) -> Tried:
        """Return (log divergence, bound, part) of the bound with the least estimate, down to about ``low``."""
        return self.values(level, n, settings, low, exact)[0]


class OnlyBound(CandidateBounds):
    """One bound, where there is no other: one without a name."""

    def __init__(self, bound: MaxOverPairs) -> None:
        only = Bound("", ProofStatus.PROVED, "", "", "", (), lambda _: bound)
        self._analyses, self._made, self._progress, self._many = (only,), {only.name: bound}, None, True
        self._floors = {}


def attained_first(tried: Sequence[Tried], slack: float) -> Tried:
    """Return the least bound, or one as low within the slack that is known to be attained: its data set is worst."""
    least = tried[0]
    return next((t for t in tried if isinstance(t[2], AttainedBound) and t[0] <= least[0] + slack), least)
