"""Where delta is met: the least upper and the largest lower bound as functions of one number, and what is proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import asinh, ceil, exp, floor, inf, isfinite, log, sinh, sqrt
from typing import Any

import sympy as sp

from symamp.accounting.composition import Composition
from symamp.accounting.coordinates import CoordinateSums
from symamp.accounting.losses import gaussian_log_delta
from symamp.accounting.privacy_profile import Profile
from symamp.bounds.registry import by_default
from symamp.bounds.search import LOOSE, CandidateBounds
from symamp.bounds.subject import Subject
from symamp.data_sets.search import DataSetSearch
from symamp.numbers.doubles import root_between
from symamp.numbers.limits import EFFORTS, Limits
from symamp.numbers.reading import Real
from symamp.questions.answer import Answer
from symamp.questions.solve import WORTH, Trial, log_miss, step_out
from symamp.settings.question import Query, Question
from symamp.sums.divergence import Settings

# What is tuned: evaluations against how near the place is to the root. It is proved by questions/solve.py. Rules of
# thumb.
_FIRST_USERS = 1e6
"""How many users a search begins with: few take longer to evaluate."""
_ROUGH_ACCURACY, _ACCURACY = 1e-3, 1e-7
"""How near a root is sought, relatively: of bounds that take long or show only where to begin, and of the others."""
_STEPS, _FLAT, _JUMP, _FIRST_STEP = 12, 0.1, 2.0, 0.1
"""Secant steps before the root is bracketed instead, as it is where a slope is below that part of what was expected, or
a step ends so many times as far on the other side; and the first step of that in the logarithm."""
_LEAST_HEIGHT, _LEAST_LOG_VALUE, _LARGEST_LOG = 1e-3, -1e5, 700.0
"""What keeps numbers finite: the least share of log delta that a value has, the least logarithm of a value, and the
largest of a quotient of places."""
_FIRST_SHIFT = 1e-6
"""How far from the root the first proof is tried, relatively, where estimates are close."""
_ROUNDS_GAP, _SLOW_ROUNDS_GAP, _BESIDE_SLOW = 1e-3, 3e-2, 4e-3
"""The least width of eps for many rounds; what is taken where points cost much, and for the other end there."""
_FEW_POINTS, _WIDEST_GAP, _SHARE_OF_BRACKET, _EPS_PER_LOG = 3e-2, 2e-2, 0.1, 0.05
"""The width of eps at which estimates of many rounds aim, and the largest of ends; the share of a bracket that is left
to points; and how much of eps, relatively, makes one in the logarithm of delta, about."""
_NEAR, _FAR, _DELTA_GAP = 2e-3, 3e-2, 1e-3
"""How near a place is that is corrected, relatively, and how far at most it is then moved; and the least width of delta
that sums over frequencies aim at."""
_USERS_GAP = 1e-2
"""The width of delta at which estimates of users who differ aim."""
_CUTS, _NEAR_ENOUGH = 3, 2e-2
"""Places tried between one that is proved and one that is not, unless these are so near, relatively."""
_CLOSE, _SAME = 1e-2, 1e-12
"""Places so near, relatively, show rounding in place of a slope; and those so near to an end are the end."""
_LEAST_SLOPE = 1e-6
"""Slopes below say nothing of how far to go: delta is the same everywhere."""
_SLOW_ERROR = 0.05
"""How far beyond what is missed, in the logarithm of delta, steps go where a trial takes long."""
_ROOM = 1e-2
"""How far from the root ends that are known by certified sums alone are tried first, in the logarithm of delta."""


def is_slow(whole: Composition | CoordinateSums) -> bool:
    """Return whether points of the upper end take long."""
    return isinstance(whole, Composition) and any(found.is_slow for found, _ in whole.rounds)


@dataclass(frozen=True)
class Goal:
    """The central guarantee that is sought: ``at`` asks for delta at its eps, ``target`` has the delta to be met."""

    at: Query
    target: Query

    @staticmethod
    def of(eps: Real, delta: Real, effort: str) -> Goal:
        """Return the goal, its numbers read."""
        return Goal(Query.of_delta(eps, Settings.gap, effort=effort), Query.of_epsilon(delta, Settings.gap))

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """Both numbers as they were given, with their names."""
        return ("eps", self.at.written), ("delta", self.target.written)

    def is_met(self, answer: Answer) -> bool:
        """Return whether an answer for delta proves the goal."""
        return answer.most.at_most(self.target.given)

    def is_missed(self, answer: Answer) -> bool:
        """Return whether an answer for delta proves that the goal is not met."""
        return answer.least.exceeds(self.target.given)


@dataclass(frozen=True)
class Range:
    """The numbers x that are looked at: from ``least`` to ``most``, in ``whole`` steps; delta is ``rising`` in x."""

    least: float
    most: float
    rising: bool
    whole: bool

    def at_root(self, x: float) -> float:
        """Return the place of an estimate: the next whole number, where steps are whole."""
        return float(round(x)) if self.whole else x

    def admitted(self, x: float, outward: int) -> float:
        """Return the place at which to ask: x, or the next one outward that there is."""
        x = float((ceil if outward > 0 else floor)(x)) if self.whole else x
        return next((end for end in (self.least, self.most) if abs(x - end) <= _SAME * end), self.cut(x))

    def cut(self, x: float) -> float:
        """Return the nearest number of the range."""
        return min(max(x, self.least), self.most)


@dataclass(frozen=True)
class Proof:
    """An answer that proves one side of delta, at the number x that it is about."""

    answer: Answer
    x: float


class Search:
    """delta at a fixed eps as a function of one unknown x: the local budget, the number of users, or that of rounds.

    Floats find where the least upper bound, and the largest lower one, are delta; certified answers say the rest.
    """

    accuracy = _ROUGH_ACCURACY
    """How near a root of estimates is sought, relatively."""

    def __init__(self, goal: Goal, range_: Range) -> None:
        self.goal, self.range = goal, range_
        self.log_delta = goal.target.log_delta
        self.roughly = cache(self.roughly)  # type: ignore[method-assign]
        self.answer = cache(self._answer)

    def _answer(self, x: float, above: bool) -> Answer:
        """Return an answer for delta that has the upper end, or the lower one."""
        raise NotImplementedError

    def estimate(self, x: float, above: bool) -> float:
        """Return an estimate of the logarithm of that end."""
        raise NotImplementedError

    def roughly(self, x: float) -> float:
        """Return an estimate that is quick, which shows where to begin."""
        raise NotImplementedError

    def room(self, slope: float) -> float:
        """Return how far from the root, in the logarithm of delta, the first proof is tried."""
        return _ROOM

    def is_slow(self, x: float) -> bool:
        """Return whether one upper end must do: a nearer place is not tried."""
        return False

    def proofs(self, known: float | None = None) -> tuple[Proof | None, Proof | None]:
        """Return what proves that the goal is met, and that it is missed, as near to each other as they are found.

        ``known`` is a place that is known to meet it. None where nothing is proved.
        """
        high, low = self.roots()
        outward = -1 if self.range.rising else 1
        return _proof(_Side(self, True, high, outward), known), _proof(_Side(self, False, low, -outward))

    def roots(self) -> tuple[_Root, _Root]:
        """Return where the least upper bound, and the largest lower bound, are about delta.

        With each comes about d log delta / d log x there, without its sign.
        """
        least, most, rising = self.range.least, self.range.most, self.range.rising
        begin = self.range.cut(max(1.0, 2.0 * least)) if rising else _FIRST_USERS
        if rising and not self.range.whole and begin < _LARGEST_LOG:  # log delta is about as 1/sinh(eps0/2)^2
            height = max(self.roughly(begin), _LEAST_LOG_VALUE) / self.log_delta
            begin = self.range.cut(2.0 * asinh(sqrt(height) * sinh(0.5 * begin)))
        place = self._root(self.roughly, begin, 2.0 if rising else 1.0, _ROUGH_ACCURACY)
        private, not_private = (least, most) if rising else (most, least)
        below = self.estimate(self.range.at_root(place[0]), False)
        if below == -inf:  # no data sets are known
            low = not_private, 0.0
        elif not place[1] > 0.0 and self.estimate(private, False) > self.log_delta:  # no place is private
            return (private, 0.0), (private, 0.0)
        else:
            low = self._root(lambda x: self.estimate(x, False), *place, self.accuracy)
        return self._high(place, low), low

    def _high(self, place: _Root, low: _Root) -> _Root:
        """Return the root of the least upper bound: by steps from that of the largest lower one, which is near."""
        return self._root(lambda x: self.estimate(x, True), *(low if low[1] > 0.0 else place), self.accuracy)

    def _root(self, log_value: Callable[[float], float], start: float, slope: float, accuracy: float) -> _Root:
        sign = 1.0 if self.range.rising else -1.0

        @cache
        def curve(x: float) -> float:
            return sign * _bent(max(log_value(x), _LEAST_LOG_VALUE), self.log_delta)

        grain = 1.0 if self.range.whole else 0.0
        return _from(lambda x: curve(self.range.at_root(x)), self.range, start, slope, accuracy, grain)


class OneRound(Search):
    """One round of users who run one mechanism: floats know both ends nearly as well as certified evaluations do."""

    accuracy = _ACCURACY

    def __init__(
        self,
        goal: Goal,
        range_: Range,
        subject: Callable[[float], Subject],
        users: Callable[[float], int],
        method: str | None,
    ) -> None:
        super().__init__(goal, range_)
        self.subject, self.users, self.method = subject, users, method
        self._level = goal.at.level
        self._shift = _FIRST_SHIFT
        self._cheapest = method
        self._quickest: str | None = None
        self._member: int | None = None

    def _high(self, place: _Root, low: _Root) -> _Root:
        if self.method != self._cheapest and self.method is not None:
            return self._root(lambda x: self.estimate(x, True), *low, _ACCURACY)
        away = log(low[0] / place[0])
        if abs(away) <= LOOSE or self.method is not None or not self.range.least < place[0] < self.range.most:
            return self._root(self.roughly, *place, _ACCURACY)
        # The smallest bound is near the fast one, or near the data sets.
        miss = abs(_bent(max(self.estimate(place[0], True), _LEAST_LOG_VALUE), self.log_delta))
        is_near = miss < 0.5 * abs(away) * low[1]
        return self._root(lambda x: self.estimate(x, True), place[0] if is_near else low[0], low[1], _ACCURACY)

    def room(self, slope: float) -> float:
        return self._shift * slope

    def _answer(self, x: float, above: bool) -> Answer:
        """Whatever bounds it from above will do where the lower end is wanted."""
        subject = self.subject(x)
        if self._quickest is None:
            self._quickest = by_default(subject)[0].name
        method = self.method if above else self._quickest
        return Profile(Question.of(subject, self.users(x), method)).answer(self.goal.at)

    def _limited(self) -> Settings:
        """Return what one estimate in floats aims at, with limits of its own."""
        return Settings(limits=Limits.of(self.goal.at.effort))

    def roughly(self, x: float) -> float:
        n, settings = self.users(x), self._limited()
        ladder = CandidateBounds(self.subject(x), self._cheapest)
        if self._cheapest is not None and ladder.first.parts[0].estimate_error > 0.0:  # one that takes long
            ladder, self._cheapest = CandidateBounds(self.subject(x), None), None
        if self._cheapest is None:  # which analyses apply is not asked again
            self._cheapest = ladder.first.parts[0].method
        return ladder.first.ranked(self._level, n, settings)[0].log_estimate(self._level, n, settings)

    def estimate(self, x: float, above: bool) -> float:
        if not above:
            return self._below(x)
        ladder = CandidateBounds(self.subject(x), self.method)
        value, _, part = ladder.least_value(self._level, self.users(x), self._limited(), -inf)
        self._shift = max(_FIRST_SHIFT, 0.1 * part.estimate_error)
        return value

    def _below(self, x: float) -> float:
        """Return an estimate of log of the lower bound; of many mechanisms, of the one that was the worst at first."""
        subject = self.subject(x)
        members = subject.members()
        if self._member is not None:
            subject = members[self._member]
        value, found = DataSetSearch(subject).largest_value(self._level, self.users(x), self._limited())
        if self._member is None and len(members) > 1:
            assert found.data_sets is not None
            self._member = [repr(m) for m in members].index(found.data_sets.member)
        return value


class ManyRounds(Search):
    """Many rounds: few points in floats say where each end is delta, as many as a certified end has say by how much.

    Where points of the upper end take long no estimate has any: the normal law stands in.
    """

    accuracy = _NEAR

    def __init__(self, goal: Goal, range_: Range, composed: Callable[[float], Composition | CoordinateSums]) -> None:
        super().__init__(goal, range_)
        self._at = goal.at
        self._one = cache(lambda x: composed(range_.at_root(x)))
        self._budget = float(sp.N(goal.at.given, 17))
        self._width = _ROUNDS_GAP
        self.estimate = cache(self._estimate)  # type: ignore[method-assign]

    def roots(self) -> tuple[_Root, _Root]:
        """If the bracket is wide, ends and the estimates that correct places are less accurate.

        Where few points say that one end is delta somewhere and the other one nowhere, delta may be flat: more tell.
        """
        high, low = super().roots()
        high_inside, low_inside = (self.range.least < x < self.range.most for x, _ in (high, low))
        if high_inside and not low_inside:
            low = self._root(lambda x: self._estimate(x, False, self._gap(x, False)), *high, self.accuracy)
        elif low_inside and not high_inside:
            high = self._root(lambda x: self._estimate(x, True, self._gap(x, True)), *low, self.accuracy)
        elif high_inside:
            apart = abs(log(high[0] / low[0])) * low[1] * -self.log_delta * _EPS_PER_LOG - _FEW_POINTS
            self._width = min(max(_ROUNDS_GAP, _SHARE_OF_BRACKET * apart), _WIDEST_GAP)
        return self._corrected(high, True), self._corrected(low, False)

    def _corrected(self, root: _Root, above: bool) -> _Root:
        x, slope = root
        if not (self.range.least < x < self.range.most and isfinite(slope) and slope > 0.0):
            return root
        sign, x = 1.0 if self.range.rising else -1.0, self.range.at_root(x)
        value, gap = self.estimate(x, above), self._gap(x, above)
        if gap < _FEW_POINTS:  # what points cost is about in proportion to the width
            fewer = self._estimate(x, above, 2.0 * _FEW_POINTS)
            value += (value - fewer) * (1.0 - gap / _FEW_POINTS) if isfinite(value - fewer) else 0.0
        step = sign * _bent(max(value, _LEAST_LOG_VALUE), self.log_delta) / slope
        return (self.range.cut(x * exp(-step)) if abs(step) < _FAR else x), slope

    def _gap(self, x: float, above: bool) -> float:
        """Return the width of eps that points of one end aim at: wider where they take long."""
        whole = self._one(x)
        if isinstance(whole, CoordinateSums) or (above and self.is_slow(x)):
            return _SLOW_ROUNDS_GAP
        width = max(self._width, _BESIDE_SLOW) if self.is_slow(x) else self._width
        return max(width, *(found.gap if above else found.gap_below for found, _ in whole.rounds))

    def room(self, slope: float) -> float:
        return max(_ROOM, self._width)

    def is_slow(self, x: float) -> bool:
        return is_slow(self._one(x))

    def roughly(self, x: float) -> float:
        return gaussian_log_delta(self._one(x).mu, self._budget)

    def _estimate(self, x: float, above: bool, width: float = _FEW_POINTS) -> float:
        whole = self._one(x)
        if above and self.is_slow(x):
            return self.roughly(x)
        if isinstance(whole, Composition):
            return whole.estimate(self._at, above, width)
        if above:
            return whole.rounds(1).estimate(self._at, above, width)
        return log_miss(self._answer(x, above).least, self.log_delta) + self.log_delta

    def _answer(self, x: float, above: bool) -> Answer:
        whole, width = self._one(x), self._gap(x, above)
        at = self._at.to_gap(max(_DELTA_GAP, 0.2 * width))
        if isinstance(whole, Composition):
            return whole.delta_of(replace(at, effort=self._effort(x, above)), width, (above,))
        return whole.one_end(at, self.log_delta, width, above)

    def _effort(self, x: float, above: bool) -> str:
        """Return the effort of one answer: one step less where each point takes long, for two or three are asked."""
        if not (above and self.is_slow(x)):
            return self._at.effort
        efforts = list(EFFORTS)
        return efforts[max(efforts.index(self._at.effort) - 1, 0)]


class UsersWhoDiffer(Search):
    """Users who differ: certified answers, which are quick, are their own estimates."""

    def __init__(self, goal: Goal, range_: Range, crowd: Callable[[float], Any]) -> None:
        super().__init__(goal, range_)
        at = cache(lambda x: Profile(Question.of_users(crowd(x))))
        self._both = cache(lambda x: at(x).answer(goal.at))
        self._about = cache(lambda x: at(x).answer(goal.at.to_gap(_USERS_GAP)))

    def _answer(self, x: float, above: bool) -> Answer:
        return self._both(x)

    def estimate(self, x: float, above: bool) -> float:
        found = self._about(self.range.at_root(x))
        return log_miss(found.most if above else found.least, self.log_delta) + self.log_delta

    def roughly(self, x: float) -> float:
        return self.estimate(x, True)


def _proof(side: _Side, known: float | None = None) -> Proof | None:
    """Return the first proof of a side from its root outward, and a nearer one where places between are far apart.

    ``known`` is a place that is proved otherwise.
    """
    stepped = step_out(side)
    found = None if stepped is None else stepped[1]
    if found is None and known is None and side.outward < 0:  # steps go beyond the least place
        found = side.trial(0.0).proof
    for _ in range(_CUTS):
        x = known if found is None else found.x
        failed = None if x is None else side.nearest_failure(x)
        if x is None or failed is None:
            break
        found = side.at(sqrt(failed) * sqrt(x)).proof or found
    return found


class _Side:
    """Answers for delta, to be proved on one side of it. Places are log(x/least)."""

    def __init__(self, search: Search, above: bool, found: _Root, outward: int) -> None:
        self.search, self.above, self.outward = search, above, outward
        self.root = log(found[0] / search.range.least)
        self._slope = -search.log_delta * found[1] if isfinite(found[1]) and found[1] > _LEAST_SLOPE else 1.0
        self.width = search.room(self._slope) if found[1] > _LEAST_SLOPE else 0.0
        self.error = _SLOW_ERROR if above and search.is_slow(found[0]) else 0.0
        self._known: dict[float, Trial[Proof]] = {}

    def slope(self, place: float) -> float:
        """Return about d log delta / d log x, without its sign."""
        return self._slope

    def trial(self, place: float) -> Trial[Proof]:
        """Return the answer at a place, or at the nearest one that there is."""
        return self.at(self.search.range.least * exp(min(place, _LARGEST_LOG)))

    def at(self, near: float) -> Trial[Proof]:
        """Return the answer at the nearest x that there is."""
        numbers = self.search.range
        x = numbers.admitted(near, self.outward)
        if x not in self._known:
            found = self._asked(x)
            # Where nothing is seen of delta, it does not say how far to go.
            self._known[x] = replace(found, miss=min(found.miss, self._slope))
        if self._known[x].proof is None and x == (numbers.most if self.outward > 0 else numbers.least):
            self.root = inf  # there is none beyond
        return self._known[x]

    def nearest_failure(self, proved: float) -> float | None:
        """Return the nearest place without a proof before one with; None if it is next to it, or is not looked for."""
        failed = [x for x, t in self._known.items() if t.proof is None and self.outward * (proved - x) > 0.0]
        if not failed or self.search.is_slow(proved):
            return None
        x = max(failed, key=lambda place: self.outward * place)
        middle = self.search.range.admitted(sqrt(x) * sqrt(proved), self.outward)
        return None if abs(log(x / proved)) < _NEAR_ENOUGH or middle in (x, proved) else x

    def _asked(self, x: float) -> Trial[Proof]:
        answer, goal = self.search.answer(x, self.above), self.search.goal
        if self.above:
            proved, miss = goal.is_met(answer), log_miss(answer.most, self.search.log_delta)
        else:
            proved, miss = goal.is_missed(answer), -log_miss(answer.least, self.search.log_delta)
        return Trial(
            Proof(answer, x) if proved else None, miss, inf if self.above and self.search.is_slow(x) else WORTH
        )


_Root = tuple[float, float]
"""A place and the slope there."""


def _bent(log_value: float, log_delta: float) -> float:
    """Return a number of the sign of the difference, nearly linear in log n, and in log eps0, where sums are normal."""
    return log(log_delta / min(log_value, _LEAST_HEIGHT * log_delta))


def _from(
    miss: Callable[[float], float],
    numbers: Range,
    start: float,
    slope: float,
    accuracy: float,
    grain: float,
) -> tuple[float, float]:
    """Return what ``_crossing`` does, and about the slope there: secants from a place, with about the slope known.

    Steps below ``grain`` change nothing.
    """
    z, first, last = log(start), log(numbers.least), log(numbers.most)
    value, steep = miss(start), slope
    for _ in range(_STEPS):
        if not (isfinite(slope) and slope > _FLAT * steep >= 0.0):  # beyond a jump no slope says how far to go
            break
        step = -value / slope
        if not first < z + step < last:
            break
        if abs(step) <= max(accuracy, grain * exp(-z)):
            return exp(z + step), slope
        there = miss(exp(z + step))
        if value * there < 0.0 and abs(there) > _JUMP * abs(value):
            found = exp(_between(miss, (z, value), (z + step, there), max(accuracy, 0.5 * grain * exp(-z))))
            return found, abs(there - value) / abs(step)
        if abs(step) > _CLOSE or not isfinite(there - value):  # nearer slopes are those of rounding
            slope = (there - value) / step
        z, value = z + step, there
    found = _crossing(miss, numbers, exp(z), _FIRST_STEP, max(accuracy, 0.5 * grain * exp(-z)))
    aside = found * exp(-_CLOSE if found > numbers.least else _CLOSE)
    return found, abs(miss(found) - miss(aside)) / _CLOSE


def _crossing(miss: Callable[[float], float], numbers: Range, start: float, step: float, accuracy: float) -> float:
    """Return where an increasing function of log x is about 0 between two positive numbers; the nearer end if nowhere.

    Floats: what is found is certified afterwards.
    """
    x = numbers.cut(start)
    at = cache(lambda z: miss(exp(z)))
    low = high = log(x)
    first, last = log(numbers.least), log(numbers.most)
    value = at(low)
    if value == 0.0:
        return x
    while value < 0.0:
        if high >= last:
            return numbers.most
        low, high, step = high, min(high + step, last), 2.0 * step
        value = at(high)
    if low == high:
        while value > 0.0:
            if low <= first:
                return numbers.least
            low, high, step = max(low - step, first), low, 2.0 * step
            value = at(low)
    return exp(_between(miss, (low, at(low)), (high, at(high)), accuracy))


def _between(
    miss: Callable[[float], float], start: tuple[float, float], end: tuple[float, float], accuracy: float
) -> float:
    """Return the logarithm of a root between two of which the values are known, one of either sign."""
    known = dict((start, end))
    at = cache(lambda z: known[z] if z in known else miss(exp(z)))
    return root_between(at, *sorted(known), xtol=accuracy, rtol=1e-12)
