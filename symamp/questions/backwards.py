"""Where a guarantee is met: secants through certified ends of delta, from both sides."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from math import asinh, ceil, copysign, exp, expm1, floor, inf, log

from symamp.numbers.reading import Real
from symamp.questions.answer import Answer
from symamp.questions.solve import log_miss
from symamp.settings.question import Query
from symamp.sums.divergence import Settings

# What is tuned: answers against how near they are to each other. Rules of thumb.
_LEAST_HEIGHT, _LEAST_LOG_VALUE, _LARGEST_LOG = 1e-3, -1e5, 700.0
"""What keeps numbers finite: the least share of log delta that a value has, the least logarithm of a value, and the
largest one of a double."""
_MOST, _SECANTS, _FIRST_STEP, _CONSTANT, _FLAT, _STEEP = 60, 12, 1.0, 1e-6, 5e-3, 10.0
"""Answers for one side, and after how many a bracket is halved; the first step where nothing says how far to go; a
slope of what is constant, and slopes that say nothing."""
_NEAR, _SAME, _COARSEST = 3.0, 1e-12, 2e-3
"""How far beyond the root a proof may be, in units of the accuracy; places near to an end, relatively, are it; and the
largest accuracy where the other end is far."""
_CAPPED = 0.15
"""How near a budget that is proved is to one that is not, if its search was capped: slow bounds are not always used."""
_GUESSES, _SLOWLY, _LEVEL, _CLOSE, _CLOSER = 12, 0.5, 1e-4, 0.05, 0.01
"""Estimates by which a place to begin is found; by which factor each should be nearer; a slope of what hardly changes;
and how near it is sought by rough ones, and by those of an end."""


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

    def is_near(self, log_value: float, part: float) -> bool:
        """Return whether the logarithm of a value differs from that of delta by at most this part, about."""
        return abs(bent(log_value, self.target.log_delta)) <= part


@dataclass(frozen=True)
class Range:
    """The numbers x that are looked at: from ``least`` to ``most``, multiples of ``grain``; delta is ``rising`` in x.

    ``start`` is the first that is asked about, with about the ``slope`` of what ``bent`` says of it there. Ends are
    sought to the ``accuracy``, relatively, or to a ``share`` of what is between them, which is expected to be ``apart``
    in places. Of normal losses log delta is about as 1/x where it falls, -1/x where it is rising, or, of local budgets,
    as -1/sinh(x/2)^2. What is sought is ``near`` the start if that answers a question of the same kind.
    """

    least: float
    most: float
    rising: bool
    start: float
    accuracy: float = 1e-6
    share: float = 0.0
    grain: float = 0.0
    slope: float = 1.0
    is_budget: bool = False
    apart: float = 0.0
    near: bool = False

    def place(self, x: float) -> float:
        """Return a place in which the logarithm of log delta is about a line of slope 1 or -1."""
        return x + 2.0 * log(-0.5 * expm1(-x)) if self.is_budget else log(x)

    def admitted(self, place: float, outward: int) -> float:
        """Return the x of a place, or the next one outward that there is."""
        first, last = self.place(self.least), self.place(self.most)
        if not first < place < last:
            return self.least if place <= first else self.most
        x = 2.0 * asinh(exp(place / 2.0)) if self.is_budget else exp(place)
        x = (ceil if outward > 0 else floor)(x / self.grain) * self.grain if self.grain else x
        ends = self.least, self.most
        return next((end for end in ends if abs(x - end) <= _SAME * end), min(max(x, self.least), self.most))


@dataclass(frozen=True)
class Proof:
    """An answer that proves one side of delta, at the number x that it is about."""

    answer: Answer
    x: float


Ask = Callable[[float, bool, float], Answer]
"""An answer for delta at x that has the upper end, or the lower one, for roots that are sought to an accuracy."""


def proofs(
    goal: Goal,
    numbers: Range,
    ask: Ask,
    estimate: Callable[[bool, float], float] = lambda *_: 0.0,
    estimated: Collection[bool] = (),
    sides: tuple[bool, ...] = (False, True),
) -> tuple[Proof | None, Proof | None]:
    """Return what proves that the goal is met, and that it is missed, as near to each other as they are found.

    None where nothing is proved, or which is not among the ``sides``. The lower end is sought first: it is the quicker
    one, and the other is near. A side that is ``estimated`` begins where an estimate of the logarithm of its end says
    that this is the goal.
    """
    found, start, slope, other = dict[bool, Proof | None](), numbers.start, numbers.slope, None
    easiest = numbers.least if numbers.rising else numbers.most
    for above in sides:
        if (missed := found.get(False)) is not None and missed.x == easiest:
            break  # what is missed there is met nowhere
        apart = numbers.apart if other not in (None, numbers.start) else 0.0
        if above in estimated and found != {False: None}:
            told = guessed(goal, replace(numbers, start=start, slope=slope), partial(estimate, above), _CLOSER)
            start, slope, apart = told.start, told.slope, numbers.accuracy
        outward = 1 if above is not numbers.rising else -1
        begin = numbers.admitted(numbers.place(start) + outward * apart, outward) if apart else start
        proof, start, slope = _nearest(goal, numbers, ask, above, begin, slope, other)
        other = start
        found[above] = proof
    return found.get(True), found.get(False)


def _nearest(
    goal: Goal, numbers: Range, ask: Ask, above: bool, start: float, slope: float, other: float | None = None
) -> tuple[Proof | None, float, float]:
    """Return the nearest proof of one side that is found, and about the root of that end with the slope there.

    ``slope`` is how fast the side gets farther inside outward, from where it is proved on; ``other`` is where the other
    side ends, if that is known.
    """
    outward, log_delta = (1 if above is not numbers.rising else -1), goal.target.log_delta
    best: Proof | None = None
    proved = failed = None
    values, width = dict[float, float](), inf
    accuracy, is_flat, is_steep = numbers.accuracy, False, False
    x, step, seen = start, _FIRST_STEP, set[float]()
    last: tuple[float, float] | None = None
    for tries in range(_MOST):
        answer, at = ask(x, above, accuracy), numbers.place(x)
        seen.add(x)
        if answer.most.at_most(goal.target.given) if above else answer.least.exceeds(goal.target.given):
            best, proved = Proof(answer, x), at
        else:
            failed = at
        if not above and tries and answer.least.mantissa == 0 and not answer.most.at_most(goal.target.given):
            break  # no lower ends are known of such a question
        miss = log_miss(answer.most if above else answer.least, log_delta)
        value, values[at] = miss + log_delta, exp(min(miss, _LARGEST_LOG))
        inside = bent(value, log_delta) * (-1.0 if above else 1.0)
        if is_told := _is_told(value, log_delta):
            found = outward * (inside - last[1]) / (at - last[0]) if last is not None and at != last[0] else slope
            slope, last = found if _FLAT < found < _STEEP else slope, (at, inside)
            is_flat, is_steep = abs(found) < _CONSTANT, found >= _STEEP
        root = at - outward * inside / slope
        if other is not None and len(seen) == 1 and is_told:
            accuracy = max(accuracy, min(numbers.share * abs(root - numbers.place(other)), _COARSEST))
        if proved == at and is_told and inside <= _NEAR * accuracy * slope:
            break
        aim = root + outward * accuracy if is_told else at + (-outward if proved == at else outward) * step
        if proved is not None and failed is not None:
            is_capped = numbers.is_budget and best is not None and best.answer.limited
            if abs(proved - failed) <= (_CAPPED if is_capped else accuracy if width == inf else _NEAR * accuracy):
                break
            if tries > _SECANTS or is_steep or not is_told or not min(proved, failed) < aim < max(proved, failed):
                # Where leaks begin to count, delta itself is about a line: a place next to its root, towards the end
                # that is farther away. A chord that gained little is not repeated.
                share = (1.0 - values[proved]) / (values[failed] - values[proved] or inf)
                is_line, width = abs(proved - failed) <= width / 2.0, abs(proved - failed)
                chord = proved + share * (failed - proved) + copysign(accuracy, (0.5 - share) * (failed - proved))
                is_line = is_line and min(proved, failed) < chord < max(proved, failed)
                aim = chord if is_line else (proved + failed) / 2.0
        elif tries > _SECANTS or is_flat:  # delta may never cross: the end of the range tells
            aim = numbers.place(numbers.most if (proved is None) is (outward > 0) else numbers.least)
        step *= 2.0
        x = numbers.admitted(aim, outward)
        if x in seen:
            x = numbers.admitted(at + outward * step, outward) if best is None else best.x - outward * numbers.grain
            if x in seen or not numbers.least <= x <= numbers.most or numbers.grain < accuracy * x:
                break
    return best, (start if last is None else x if best is None else best.x), slope


def bent(log_value: float, log_delta: float) -> float:
    """Return a number of the sign of the difference, nearly a line in a place where sums are normal."""
    return log(log_delta / min(max(log_value, _LEAST_LOG_VALUE), _LEAST_HEIGHT * log_delta))


def guessed(goal: Goal, numbers: Range, roughly: Callable[[float], float], close: float = _CLOSE) -> Range:
    """Return the range with a place to begin at, and a slope, where an estimate of log delta is that of the goal.

    By secants, and by halves between two signs where these are slow: rare large losses make cliffs.
    """
    x, sign, log_delta = numbers.start, 1.0 if numbers.rising else -1.0, goal.target.log_delta
    slope, last, ends, former, reach = sign * numbers.slope, None, dict[bool, float](), inf, 1.0
    seen = set[float]()
    while len(seen) < _GUESSES and x not in seen:
        seen.add(x)
        at, log_value = numbers.place(x), roughly(x)
        value, is_told, found = bent(log_value, log_delta), _is_told(log_value, log_delta), slope
        if is_told and last is not None and at != last[0]:
            found = (value - last[1]) / (at - last[0])
            slope = found if sign * found > _FLAT else slope
        last, ends[value > 0.0] = (at, value) if is_told else last, at
        low, high, step = min(ends.values()), max(ends.values()), -value / slope
        if abs(value) < close * min(abs(slope), 1.0) or 0.0 < high - low < close * numbers.accuracy:
            x = numbers.admitted(at + step, 1)
            break
        if is_slow := not abs(value) <= _SLOWLY * former:
            reach *= 2.0
        aim, former = at + reach * step if low == high else at + step, abs(value)
        if low == high and abs(found) < _LEVEL:  # the end of the range tells
            aim = numbers.place(numbers.most if step > 0.0 else numbers.least)
        x = numbers.admitted((low + high) / 2.0 if low < high and (is_slow or not low < aim < high) else aim, 1)
    return replace(numbers, start=x, slope=abs(slope))


def _is_told(log_value: float, log_delta: float) -> bool:
    """Return whether a value is neither too small nor too large to tell how far the goal is."""
    return _LEAST_LOG_VALUE < log_value < _LEAST_HEIGHT * log_delta
