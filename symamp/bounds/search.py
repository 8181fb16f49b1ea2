"""From floats to a guarantee: which upper bound is least, and eps from delta on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, nextafter
from operator import itemgetter
from typing import TypeAlias

from flint import fmpq

from symamp.bounds.analysis import Bound
from symamp.bounds.bound import ROUGH, Evidence, MaxOverPairs, PairBound, Progress
from symamp.bounds.pairs_of_a_table import MOMENTS
from symamp.bounds.registry import analysis, by_default
from symamp.bounds.subject import Subject
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.surroundings import at_precision
from symamp.numbers.work import is_spent
from symamp.sums.divergence import Settings
from symamp.sums.inversion import LARGEST_EPS, log_of, log_of_ball

# ------------------ The search in floats: which upper bound is the least at a question

LOOSE = 1e-3
"""Relative distance of the bounds from which on more is tried: dearer analyses above, mixtures of inputs below."""

Tried: TypeAlias = tuple[float, MaxOverPairs, PairBound]
"""An estimate of a bound at a question, the bound, and its part with the largest value."""

_NEAR, _FAR_ABOVE = 1.0, 0.1
"""A bound that was so far above the least in log delta is left out where the lower bound has changed by less."""


class CandidateBounds:
    """The upper bounds of a subject, made when they are needed: the named one, or all proved ones, cheap first."""

    def __init__(self, subject: Subject, method: str | None, progress: Progress | None = None) -> None:
        self._analyses = by_default(subject) if method is None else (analysis(method, subject),)
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
        """The cheapest bound."""
        return self._bound(self._analyses[0])

    def _is_hopeless(self, found: Bound, n: int, level: Level, log_delta: float) -> bool:
        """Return whether the bound takes too long for one of many, or its parts show that it is not below this."""
        if len(self._analyses) > 1 and found.too_costly(self._subject, level, n):
            return True
        if found.floor is None:
            return False
        if found.name not in self._floors:
            self._floors[found.name] = tuple(found.floor(self._subject))
        return any(part.log_estimate(level, n, ROUGH) >= log_delta for part in self._floors[found.name])

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
            if tried and is_spent():
                break
            if tried and self._is_hopeless(found, n, Level.of_float(min(least, LARGEST_EPS)), log_delta):
                continue
            bound = self._bound(found)
            if exact and tried and bound.parts[0].estimate_error > 0.0:
                continue
            start, first = (least, None) if tried else (low, None)
            if bound.searched_table is not None and lower is not None and 0.0 < low < inf:
                start, first = low, lower
            root, part = bound.root(n, log_delta, settings, start, first)
            tried.append((root, bound, part))
            if part.is_attained or min(root, least) <= low * (1.0 + LOOSE):
                break
        return sorted(tried, key=itemgetter(0))

    def values(self, level: Level, n: int, low: float, exact: bool = False) -> list[Tried]:
        """Return the bounds that were tried with the logarithms of their estimates, the least first, likewise.

        What was far above the least at a question near this one is not tried again.
        """
        tried: list[Tried] = []
        near, asked, beaten = self._beaten
        is_near = asked == (n, exact) and abs(low - near) < _NEAR
        for found in self._analyses:
            if is_near and found.name in beaten:
                continue
            if tried and is_spent():
                break
            least = min((value for value, *_ in tried), default=inf)
            if self._is_hopeless(found, n, level, least):
                continue
            bound = self._bound(found)
            if exact and tried and bound.parts[0].estimate_error > 0.0:
                continue
            part = bound.ranked(level, n)[0]
            value = part.log_estimate(level, n)
            tried.append((value, bound, part))
            if part.is_attained or min(value, least) <= low + LOOSE:
                break
        if not tried:  # what is left takes too long at this level
            self._beaten = low, (n, exact), frozenset()
            return self.values(level, n, low, exact)
        tried.sort(key=itemgetter(0))
        if not is_near:
            far = (part.method for value, _, part in tried if value > tried[0][0] + _FAR_ABOVE)
            self._beaten = low, (n, exact), frozenset(far)
        return tried

    def least_value(self, level: Level, n: int, low: float, exact: bool = False) -> Tried:
        """Return (log divergence, bound, part) of the bound with the least estimate, down to about ``low``."""
        return self.values(level, n, low, exact)[0]


def attained_first(tried: Sequence[Tried], slack: float) -> Tried:
    """Return the least bound, or one as low within the slack that is known to be attained: its data set is worst."""
    least = tried[0]
    return next((t for t in tried if t[2].is_attained and t[0] <= least[0] + slack), least)


# ----------------------------- eps from delta, certified: one evaluation on each side of a guess that floats have found

_STEPS = 40
_LEAST = 2e-16
_WORTH = 3e-4
"""So much less of eps is worth another evaluation."""
_WIDE, _STEP_SIZES, _SMALL = 1e-2, (1e-4, 1e-7, 1e-10), 1e-3


def epsilon_above(
    bound: MaxOverPairs, worst: PairBound, n: int, delta: fmpq, guess: float, settings: Settings
) -> tuple[float, tuple[Evidence, ...]]:
    """Return a double eps >= guess, as close as can be certified, at which all parts have divergence <= delta.

    Guarantee
    ---------
    Every evaluation of the evidence is proved to be at most delta at the returned eps, and together they cover the
    bound; divergences decrease in eps, so this holds for all larger eps. (inf, ()) if no eps is certified.
    Proof: docs/proofs/inversion.md.
    """
    guess = _at_tie(worst, n, delta, guess)
    if guess == inf:
        return inf, ()
    slope, shift = _first_step(worst, guess, n, delta, settings)
    missed: tuple[float, float] | None = None
    for _ in range(_STEPS):
        eps = guess if guess == shift == 0.0 else nextafter(guess + shift, inf)
        found = bound.evidence(Level.of_float(eps), n, settings, delta, worst)
        miss = _miss(found[-1].upper, delta)
        if missed is not None and missed[1] > miss:
            slope = (missed[1] - miss) / (shift - missed[0])
        if all(e.is_at_most(delta) for e in found):
            closer = eps + (miss + 0.25 * worst.estimate_error) / slope
            if (
                worst.estimate_error > 0.0
                and len(found) == 1
                and not is_spent()
                and 0.0 < closer < eps * (1.0 - _WORTH)
            ):
                again = bound.evidence(Level.of_float(closer), n, settings, delta, worst)
                if all(e.is_at_most(delta) for e in again):
                    return closer, again
            return eps, found
        if is_spent() and worst.estimate_error > 0.0 and found[-1].evaluator == MOMENTS:
            return inf, ()  # pairs are left to their blankets: another bound is as good
        part = found[-1].part
        if part is not worst:  # it is the worse one here, and shows by itself where it is delta
            root = _at_tie(part, n, delta, part.root(n, log_of(delta), settings, guess))
            if guess < root < inf:
                worst, guess = part, root
                slope, shift = _first_step(worst, guess, n, delta, settings)
                missed = None
                continue
        missed = shift, miss
        shift = _further(shift, miss + worst.estimate_error, slope, guess, settings)
    return inf, ()


def _first_step(worst: PairBound, guess: float, n: int, delta: fmpq, settings: Settings) -> tuple[float, float]:
    """Return the slope at a guess, and how far beyond it the divergence is likely to be proved."""
    slope = _slope(worst, guess, n, delta)
    return slope, 0.0 if guess == 0.0 else max(0.6 * max(settings.gap, worst.gap_floor), worst.estimate_error) / slope


def epsilon_below(
    part: PairBound, n: int, delta: fmpq, guess: float, settings: Settings
) -> tuple[float, tuple[Evidence, ...]]:
    """Return a double eps <= guess, as close as can be certified, at which the part has divergence > delta.

    Guarantee
    ---------
    At the returned eps > 0 the left end of the evidence is > delta, and so for all smaller eps; (0, ()) if none is
    certified. Proof: docs/proofs/inversion.md.
    """
    guess = _at_tie(part, n, delta, guess)
    if guess in (0.0, inf) or part.estimate_error > 0.0:  # inf: not proved; accuracy: the part has no lower end
        return 0.0, ()
    slope = _slope(part, guess, n, delta)
    shift = 0.6 * max(settings.gap, part.gap_floor) / slope
    for _ in range(_STEPS):
        eps = nextafter(guess - shift, -inf)
        if eps <= 0.0:
            return 0.0, ()
        level = Level.of_float(eps)
        found = Evidence.of(part, level, part.enclose(level, n, settings))
        if found.is_above(delta):  # strictly: on a plateau at delta itself every eps is private
            return eps, (found,)
        shift = _further(shift, abs(_miss(found.lower, delta)), slope, guess, settings)
    return 0.0, ()


def _at_tie(part: PairBound, n: int, delta: fmpq, guess: float) -> float:
    """Return the guess, or where the divergence comes down to delta, if delta is what is left of it for large eps."""
    plateau = part.plateau
    if plateau == inf:
        return guess
    with at_precision(256):
        return plateau if part.limit(n).contains(delta) else guess


def _further(shift: float, miss: float, slope: float, guess: float, settings: Settings) -> float:
    """Return a larger shift after an evaluation whose end missed delta by ``miss`` in the logarithm."""
    miss = min(miss, 50.0)
    return max(2.0 * shift, shift + 1.1 * miss / slope, abs(guess) * _LEAST, 0.6 * settings.gap / slope)


def _miss(value: Dyadic, delta: fmpq) -> float:
    """Return log(value / delta), -inf for 0 and 1 where it is not known."""
    if value.mantissa <= 0:
        return -inf
    miss = log_of_ball(value.ball) - log_of(delta)
    return miss if isfinite(miss) else 1.0


def _slope(part: PairBound, eps: float, n: int, delta: fmpq) -> float:
    """Return a positive float near -d log D / d eps at the eps where D is delta, for choosing a first step."""
    wide = _WIDE * eps
    cheap = part.slope_proxy(Level.of_float(eps), n)
    if cheap is not None:
        part = cheap
    elif wide > 0.0:
        slope = (log_of(delta) - part.log_estimate(Level.of_float(eps + wide), n, ROUGH)) / wide
        if isfinite(slope) and slope > 0.0:
            return slope
    b = part.log_estimate(Level.of_float(eps), n, ROUGH)
    for relative in _STEP_SIZES:
        # Near the local budget the divergence vanishes a short way on: then the next step is smaller.
        step = relative * (eps or _SMALL)
        slope = (b - part.log_estimate(Level.of_float(eps + step), n, ROUGH)) / step
        if isfinite(slope) and slope > 0.0:
            return slope
    return 1.0 / (eps or _SMALL)
