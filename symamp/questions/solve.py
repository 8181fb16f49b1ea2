"""From delta to eps, eps0 or n: a root found in floats, and certified evaluations on both sides of it.

A divergence falls in eps, so one certified evaluation on each side of the root brackets it. Floats find the root; from
there certified evaluations step outward to a place at which the curve is proved to be on one side of delta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, nextafter
from operator import itemgetter
from typing import ClassVar, Generic, Protocol, TypeVar

from symamp.bounds.bound import Evidence, MaxOverPairs, PairBound, largest_upper
from symamp.bounds.pairs_of_a_table import IN_COMMON
from symamp.bounds.reduction import is_triple
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.limits import EFFORTS
from symamp.numbers.surroundings import at_precision
from symamp.settings.question import Query
from symamp.sums.all_data_sets.normal import MANY_USERS
from symamp.sums.inversion import log_of_ball, plateau

# ----------------------------------- One side of a falling curve, and the first place from its root on that proves it

Proof = TypeVar("Proof")

# What is tuned: certified evaluations against how near the place is to the root. What is returned is always proved.
# Rules of thumb.
_TRIALS, _HALVES = 40, 64
"""Places that are tried, and cuts of an interval: more than doubles have bits."""
_LEAST_STEP, _LARGEST_MISS = 2e-16, 50.0
"""A step is at least so much of the place, which doubles tell apart; and a miss in the logarithm counts for no more
than this, so that one step does not leave the range."""
_LONGER_STEP, _STEP_BEYOND, _CLOSING = 2.0, 1.1, 0.3
"""How much longer each shift is than the one before, and than the slope says; and by which part a miss gets smaller
where the slope alone says how far to go."""
_ERROR_KEPT, WORTH, _IN_CLOSED_FORM = 0.25, 3e-4, 1e-4
"""What of the error of estimates a nearer place keeps as room; how much nearer, relatively, is worth evaluating one
pair of inputs; and the error of extrapolations of a bound in closed form."""


@dataclass(frozen=True)
class Trial(Generic[Proof]):
    """One certified evaluation: its proof, None where it has none, and by how much the logarithm of delta misses it.

    ``miss`` is negative where there is room. ``worth`` is how much nearer, relatively, a place has to be to be tried,
    too, where estimates are rough; what is extrapolated to there is as wrong as they are, or has an ``error``.
    """

    proof: Proof | None
    miss: float
    worth: float = inf
    error: float | None = None


class Side(Protocol[Proof]):
    """A falling curve, to be proved on one side of delta: at most delta beyond its root, or above delta before it.

    ``outward`` is 1 or -1. ``root`` is an estimate of the place where the curve is delta, inf if there is none; a trial
    may move it. ``width`` is about how far the logarithm of what is certified lies from the curve, ``error`` how far
    the curve may lie from the estimates that the root is from.
    """

    root: float

    @property
    def outward(self) -> int:
        """1 or -1."""

    @property
    def width(self) -> float:
        """How far the logarithm of what is certified lies from the curve, about."""

    @property
    def error(self) -> float:
        """How far the logarithm of the curve may lie from its estimates."""

    def slope(self, place: float) -> float:
        """Return a positive float near -d log delta / d place, for choosing steps."""

    def trial(self, place: float) -> Trial[Proof]:
        """Return a certified evaluation."""


def step_out(side: Side[Proof]) -> tuple[float, Proof] | None:
    """Return the first place from the root outward at which the side is proved, with the proof; None if none is found.

    Steps are as long as the slope says, and longer each time. No place below 0 is tried, and 0 itself only as the root.
    """
    root, slope, shift = inf, 1.0, 0.0
    missed: tuple[float, float] | None = None
    for _ in range(_TRIALS):
        if side.root != root or missed is None:
            root, missed = side.root, None
            if root == inf:
                return None
            slope = side.slope(root)
            shift = 0.0 if root == 0.0 else side.width / slope
        place = root if root == shift == 0.0 else nextafter(root + side.outward * shift, side.outward * inf)
        if place < 0.0 or (place == 0.0 and root > 0.0):
            return None
        found = side.trial(place)
        if missed is not None and missed[1] > found.miss:
            slope = (missed[1] - found.miss) / (shift - missed[0])
        if found.proof is not None:
            error = side.error if found.error is None else found.error
            nearer = place + side.outward * (found.miss + _ERROR_KEPT * error) / slope
            if nearer > 0.0 and side.outward * (place - nearer) > found.worth * place:
                other = side.trial(nearer)
                if other.proof is not None:
                    return nearer, other.proof
            return place, found.proof
        closes = missed is not None and 0.0 < found.miss < _CLOSING * missed[1]
        missed = shift, found.miss
        miss = min(found.miss + side.error, _LARGEST_MISS)
        shift = max(
            (1.0 if closes else _LONGER_STEP) * shift,
            shift + _STEP_BEYOND * miss / slope,
            abs(root) * _LEAST_STEP,
            side.width / slope,
        )
    return None


def bisected(holds: Callable[[float], bool], fails: float, good: float) -> float:
    """Return a place next to one where a statement is not seen to hold, from ``fails``; it holds at the result.

    >>> bisected(lambda x: x * x >= 2.0, 1.0, 2.0)
    1.4142135623730951
    """
    for _ in range(_HALVES):
        middle = 0.5 * (fails + good)
        if middle in (fails, good):
            break
        if holds(middle):
            good = middle
        else:
            fails = middle
    return good


# ----------------------------------- The sides of one question: an upper bound over all pairs of inputs, and a data set


def epsilon_above(
    bound: MaxOverPairs, worst: PairBound, n: int, query: Query, guess: float
) -> tuple[float, tuple[Evidence, ...]]:
    """Return a double eps >= guess, as close as can be certified, at which all parts have divergence <= delta.

    Guarantee
    ---------
    Every evaluation of the evidence is proved to be at most delta at the returned eps, and together they cover the
    bound; divergences decrease in eps, so this holds for all larger eps. (inf, ()) if no eps is certified.
    Proof: docs/proofs/inversion.md.
    """
    return step_out(_Above(bound, worst, n, query, guess)) or (inf, ())


def epsilon_below(part: PairBound, n: int, query: Query, guess: float) -> tuple[float, tuple[Evidence, ...]]:
    """Return a double eps <= guess, as close as can be certified, at which the part has divergence > delta.

    Guarantee
    ---------
    At the returned eps > 0 the left end of the evidence is > delta, and so for all smaller eps; (0, ()) if none is
    certified. Proof: docs/proofs/inversion.md.
    """
    side = _Below(part, n, query, guess)
    if side.root in (0.0, inf) or part.estimate_error > 0.0:  # inf: not proved; error: the part has no lower end
        return 0.0, ()
    return step_out(side) or (0.0, ())


def own_bracket(bound: MaxOverPairs, n: int, query: Query) -> tuple[float, float]:
    """Return an enclosure of the eps that a bound gives by itself."""
    root, worst = bound.root(n, query.log_delta, query.settings)
    return epsilon_below(worst, n, query, root)[0], epsilon_above(bound, worst, n, query, root)[0]


class _Below:
    """A part has divergence > delta: strictly, because on a plateau at delta itself every eps is private."""

    outward: ClassVar[int] = -1

    def __init__(self, part: PairBound, n: int, query: Query, guess: float) -> None:
        self._part, self._n, self._query = part, n, query
        self.root = _at_tie(part, n, query, guess)

    @property
    def width(self) -> float:
        return max(0.6 * max(self._query.settings.gap, self._part.gap_floor), self.error)

    @property
    def error(self) -> float:
        return 0.0

    def slope(self, place: float) -> float:
        return _slope(self._part, self._n, self._query, place)

    def trial(self, place: float) -> Trial[tuple[Evidence, ...]]:
        level = Level.of_float(place)
        found = Evidence.of(self._part, level, self._part.enclose(level, self._n, self._query.settings))
        miss = abs(log_miss(found.lower, self._query.log_delta))
        return Trial((found,) if found.is_above(self._query.given) else None, miss)


class _Lead(_Below):
    """One part has divergence <= delta."""

    outward: ClassVar[int] = 1
    last_slope = 1.0

    @property
    def error(self) -> float:
        return self._part.estimate_error

    def slope(self, place: float) -> float:
        self.last_slope = super().slope(place)
        return self.last_slope

    def trial(self, place: float) -> Trial[tuple[Evidence, ...]]:
        settings, level = self._query.settings, Level.of_float(place)
        found = Evidence.of(self._part, level, self._part.enclose(level, self._n, settings))
        miss = log_miss(found.upper, self._query.log_delta)
        if not found.is_at_most(self._query.given):
            return Trial(None, miss)
        is_closed = found.evaluator == MANY_USERS
        cost = max(self._part.cost / max(settings.limits.patience, EFFORTS["quick"]), 1.0)
        worth = inf if settings.limits.is_spent() else WORTH * (1.0 if is_closed else cost)
        return Trial((found,), miss, worth, _IN_CLOSED_FORM if is_closed else None)


class _Above(_Lead):
    """All parts of a bound have divergence <= delta. The part that shows the contrary becomes the one that leads.

    Where estimates are rough a part is led to its own place first: there the others are asked once.
    """

    def __init__(self, bound: MaxOverPairs, worst: PairBound, n: int, query: Query, guess: float) -> None:
        super().__init__(worst, n, query, guess)
        self._bound = bound
        self._led(worst, self.root)

    def _led(self, part: PairBound, root: float) -> None:
        """Let a part lead."""
        self._part, self.root, self._own = part, root, tuple[Evidence, ...]()
        if self.error > 0.0:
            side = _Lead(part, self._n, self._query, root)
            place, self._own = step_out(side) or (inf, ())
            self.root, self.last_slope = nextafter(place, 0.0) if self._own else inf, side.last_slope

    @property
    def width(self) -> float:
        return 0.0 if self._own else super().width  # the place of the part itself is next to the root

    def slope(self, place: float) -> float:
        return self.last_slope if self._own else super().slope(place)

    def trial(self, place: float) -> Trial[tuple[Evidence, ...]]:
        query, level = self._query, Level.of_float(place)
        first = next((own for own in self._own if own.eps == level.text), self._part)
        found = self._bound.evidence(level, self._n, query.settings, query.given, first)
        if all(e.is_at_most(query.given) for e in found):
            return Trial(found, log_miss(largest_upper(found), query.log_delta))
        part = found[-1].part
        if self.error > 0.0 and found[-1].evaluator == IN_COMMON:
            self.root = inf  # pairs are left to their blankets: another bound is as good
        elif part is not self._part:  # it is the worse one here, and shows by itself where it is delta
            root = _at_tie(part, self._n, query, part.root(self._n, query.log_delta, query.settings, self.root))
            if self.root < root < inf:
                self._led(part, root)
        return Trial(None, log_miss(found[-1].upper, query.log_delta))


def _at_tie(part: PairBound, n: int, query: Query, guess: float) -> float:
    """Return the guess, or where the divergence comes down to delta, if delta is what is left of it for large eps."""
    last = plateau(part.law) if is_triple(part) else inf
    if last == inf:
        return guess
    with at_precision(256):
        return last if part.limit(n).contains(query.given) else guess


def log_miss(value: Dyadic, log_delta: float) -> float:
    """Return log(value / delta), -inf for 0 and 1 where it is not known."""
    if value.mantissa <= 0:
        return -inf
    miss = log_of_ball(value.ball) - log_delta
    return miss if isfinite(miss) else 1.0


_WIDE, _STEP_SIZES, _SMALL = 1e-2, (1e-4, 1e-7, 1e-10), 1e-3


def _slope(part: PairBound, n: int, query: Query, eps: float) -> float:
    """Return a positive float near -d log D / d eps at the eps where D is delta, for choosing a first step."""
    wide, settings = _WIDE * eps, query.settings.rough
    if wide > 0.0:
        near, far = Level.of_float(eps), Level.of_float(eps + wide)
        # Data sets fall about as the bound does; their saddle points take a fraction of the time.
        at, worst = max(((x.saddle_estimate(near, n), x) for x in part.steepest(n) or (part,)), key=itemgetter(0))
        fall = at - worst.saddle_estimate(far, n)
        fall = fall if isfinite(fall) else query.log_delta - part.log_estimate(far, n, settings)
        if isfinite(fall) and fall > 0.0:
            return fall / wide
    b = part.log_estimate(Level.of_float(eps), n, settings)
    for relative in _STEP_SIZES:
        # Near the local budget the divergence vanishes a short way on: then the next step is smaller.
        step = relative * (eps or _SMALL)
        slope = (b - part.log_estimate(Level.of_float(eps + step), n, settings)) / step
        if isfinite(slope) and slope > 0.0:
            return slope
    return 1.0 / (eps or _SMALL)
