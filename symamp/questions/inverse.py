"""The questions asked backwards: how large a local budget, or how few users, for a central guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil, exp, floor, inf, isfinite, log, sqrt
from os import PathLike
from typing import Any

import sympy as sp
from flint import fmpq

from symamp.bounds.search import LOOSE, CandidateBounds
from symamp.bounds.subject import Subject
from symamp.data_sets.search import DataSetSearch
from symamp.decompositions.to_law import level_of, log_above
from symamp.errors import ArgumentError, ContradictionError
from symamp.formulas.order import sign
from symamp.laws.law import Level
from symamp.numbers.dyadic import decimal_end
from symamp.numbers.optional import brentq
from symamp.numbers.reading import LARGEST_N, budget, failure_probability, users
from symamp.numbers.surroundings import undisturbed
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval, ShownAsText, json_number, write_csv
from symamp.questions.profile import Profile
from symamp.settings.question import Question, checked_subject
from symamp.sums.inversion import LARGEST_EPS, log_of

# --- The answer to a question asked backwards: a bracket of eps0, or of n, with the two answers that prove its ends


@dataclass(frozen=True, repr=False)
class Inverse(ShownAsText):
    """A certified bracket of the largest eps0, or of the least n, at which (eps, delta)-privacy holds.

    ``quantity`` is "eps0" or "n". ``private`` and ``not_private`` are the two answers for delta that prove the ends:
    the first has ``upper`` <= delta, the second ``lower`` > delta; None where an end needs no proof or has none.
    ``monotone`` says why privacy holds on the whole safe side and fails on the whole other side; it is None where that
    is not proved, and then each end is a statement about itself alone.

    Plain data: it can be pickled, compared and hashed.

    >>> import symamp as sa
    >>> found = sa.least_n(sa.RandomizedResponse(k=2, eps0=1), eps="0.1", delta="1e-6")
    >>> found.safe == found.upper, found.monotone
    (True, 'removing a user leaves a report that the larger data set can be turned into')
    """

    quantity: str
    subject: str
    asked: tuple[tuple[str, str], ...]
    lower: float
    upper: float
    private: Answer | None
    not_private: Answer | None
    monotone: str | None = None

    def __post_init__(self) -> None:
        """Raise ContradictionError for ends that cross."""
        if not 0 <= self.lower <= self.upper:
            asked = ", ".join(f"{k} = {v}" for k, v in self.asked)
            proofs = f"private: {self.private}; not private: {self.not_private}"
            raise ContradictionError(
                f"{self.quantity} of {self.subject}, {asked}", f"[{self.lower!r}, {self.upper!r}]", proofs
            )

    @property
    def safe(self) -> float:
        """The end at which the mechanism is proved to be private: the lower one for eps0, the upper one for n."""
        return self.lower if self.quantity == "eps0" else self.upper

    @property
    def gap(self) -> float:
        """(upper - lower)/upper."""
        return Interval(self.lower, self.upper).gap

    def to_dict(self) -> dict[str, Any]:
        """Return the bracket for machines: numbers and texts only, infinities as "inf"."""
        return {
            "quantity": self.quantity,
            "mechanism": self.subject,
            **dict(self.asked),
            **{name: json_number(getattr(self, name)) for name in ("lower", "upper", "safe")},
            "monotone": self.monotone,
            "private": None if self.private is None else self.private.to_dict(),
            "not_private": None if self.not_private is None else self.not_private.to_dict(),
        }

    def __str__(self) -> str:
        given = ", ".join(f"{k} = {v}" for k, v in self.asked)
        ends = (self.lower, True), (self.upper, False)
        low, high = (f"{x:,}" if isinstance(x, int) else decimal_end(x, 10, down=down) for x, down in ends)
        what, safe = ("largest eps0", low) if self.quantity == "eps0" else ("least n", high)
        return f"{what} in [{low}, {high}]  ({self.subject}, {given}; private at {safe})"

    def to_csv(self, file: str | PathLike[str]) -> None:
        """Write one line: what was asked, both ends, and the safe one."""
        kept = {k: v for k, v in self.to_dict().items() if k not in ("private", "not_private")}
        write_csv(file, list(kept), [list(kept.values())])


# ------------------- The questions asked backwards: how large a local budget, or how few users, for a central guarantee

_FAR, _LEAST_EPS0 = 1e5, 1e-9
_STEPS, _GROWTH = 24, 3.0
_FIRST_SHIFT = 1e-6
_CLOSE, _FINE, _STEP, _MOST_SECANTS, _LARGEST_SHARE = 1e-4, 1e-7, 0.1, 12, 1e-3
_MANY_USERS = 1e6
_FEWER_USERS = "removing a user leaves a report that the larger data set can be turned into"


@undisturbed()
def largest_eps0(family: Subject, *, n: object, eps: object, delta: object, method: str | None = None) -> Inverse:
    """Return a certified bracket of the largest local budget at which n shuffled users are (eps, delta)-private.

    ``family`` is a mechanism whose only free parameter is ``eps0`` (``sa.RandomizedResponse(k=10)``), or
    ``sa.PureLDP()``. ``method`` selects one proved analysis for the safe end.

    Raises ArgumentError for a family with other parameters free and for arguments out of range.

    Guarantee
    ---------
    At eps0 = ``lower`` the shuffled mechanism is (eps, delta)-private, at eps0 = ``upper`` it is not. If ``monotone``
    is not None this holds for all eps0 <= ``lower``, and for all eps0 >= ``upper`` that the family admits.
    Proof: docs/proofs/inverse_questions.md.

    >>> import symamp as sa
    >>> found = sa.largest_eps0(sa.RandomizedResponse(k=10), n=10**6, eps="0.01", delta="1e-8")
    >>> print(found)
    largest eps0 in [2.0904..., 2.0904...]  (RandomizedResponse(k=10, eps0=eps0), n = 1000000, eps = 0.01, ...)
    """
    count, level, target = users(n), budget(eps), failure_probability(delta)
    free = [p.name for p in getattr(family, "parameters", ())]
    if isinstance(family, type) or not hasattr(family, "at") or free != ["eps0"]:
        shown = f"{family!r} with {', '.join(free) or 'nothing'} free"
        raise ArgumentError("family", shown, "a family with eps0 free and all other parameters fixed")
    checked_subject(family.at(eps0=1))
    reason = family.degradation()
    floor_ = _private_unshuffled(family, level)
    asked = (("n", str(count)), ("eps", str(eps)), ("delta", str(delta)))
    ends = max(floor_, _LEAST_EPS0), LARGEST_EPS
    if floor_ >= LARGEST_EPS:
        raise ArgumentError("eps", eps, f"a number below {LARGEST_EPS:g}")
    search = _Search(lambda x: family.at(eps0=x), lambda _: count, level, target, method, ends)
    high, low = search.roots(rising=True)
    private, safe = search.first(high, -1, search.is_private, lambda x: x)
    violated, unsafe = search.first(low, +1, search.is_violated, lambda x: x, search.cheap)
    lower = safe if private is not None else floor_
    upper = unsafe if violated is not None else inf
    return Inverse("eps0", repr(family), asked, lower, upper, private, violated, reason)


@undisturbed()
def least_n(mechanism: Subject, *, eps: object, delta: object, method: str | None = None) -> Inverse:
    """Return a certified bracket of the least number of users at which shuffling gives (eps, delta)-privacy.

    ``upper`` is inf if no number up to 10**18 suffices. The other arguments, and what is raised, are those of
    ``symamp.delta``.

    Guarantee
    ---------
    Every number of users n >= ``upper`` is (eps, delta)-private, and none below ``lower`` is.
    Proof: docs/proofs/inverse_questions.md.

    >>> import symamp as sa
    >>> print(sa.least_n(sa.RandomizedResponse(k=10, eps0=1), eps="0.0027292", delta="1e-8"))
    least n in [999,9..., 1,000,...]  (RandomizedResponse(k=10, eps0=1), eps = 0.0027292, delta = 1e-8; private at ...)
    """
    level, target = budget(eps), failure_probability(delta)
    subject = Question.of(mechanism, 1, method).subject
    search = _Search(lambda _: subject, round, level, target, method, (1.0, float(LARGEST_N)))
    asked = (("eps", str(eps)), ("delta", str(delta)))
    found = Profile(Question(subject, 1, method)).delta(level)
    if found.most.at_most(target):
        return Inverse("n", repr(subject), asked, 1, 1, found, None, _FEWER_USERS)
    high, low = search.roots(rising=False)
    private, safe = search.first(high, +1, search.is_private, lambda x: float(ceil(x)))
    private, safe = search.fewer(private, safe)
    violated, unsafe = search.first(low, -1, search.is_violated, lambda x: float(floor(x)), search.cheap)
    lower = search.users(unsafe) + 1 if violated is not None else 1
    upper: float = search.users(safe) if private is not None else inf
    return Inverse("n", repr(subject), asked, lower, upper, private, violated, _FEWER_USERS)


def _private_unshuffled(family: Any, eps: sp.Expr) -> float:
    """Return an eps0 at which the largest ratio between compared inputs is at most e^eps: 0 if none is proved.

    The parameter of a family is the logarithm of that ratio, or a part of it, as for several reports at once.
    """
    alone = log_above(family.at(eps0=1).compared_ratio())
    found = float(sp.N(eps, 17)) / max(alone, 1.0) * (1.0 - 1e-15)
    proved = found > 0.0 and sign(eps - sp.Rational(log_above(family.at(eps0=found).compared_ratio()))) >= 0
    return found if proved else 0.0


class _Search:
    """delta at a fixed eps as a function of one unknown x: the local budget, or the number of users."""

    def __init__(
        self,
        subject: Callable[[float], Subject],
        users: Callable[[float], int],
        eps: sp.Expr,
        target: fmpq,
        method: str | None,
        ends: tuple[float, float],
    ) -> None:
        self.subject, self.users, self.eps, self.target, self.method = subject, users, eps, target, method
        self.least, self.most = ends
        self.level: Level = level_of(eps)
        self.log_delta = log_of(target)
        self._shift = _FIRST_SHIFT
        self._cheapest = method
        self._member: int | None = None

    def roots(self, *, rising: bool) -> tuple[float, float]:
        """Return estimates of x where the least upper bound, and the largest lower bound, are delta."""
        sign = 1.0 if rising else -1.0

        def rises(log_value: Callable[[float], float]) -> Callable[[float], float]:
            return cache(lambda x: sign * _bent(log_value(x), self.log_delta))

        def root(curve: Callable[[float], float], start: float, slope: float, accuracy: float) -> tuple[float, float]:
            grain = 0.0 if rising else 1.0  # numbers of users are whole
            return _from(curve, self.least, self.most, start, slope, accuracy, grain)

        cheap = rises(lambda x: self._above(x, cheap=True))
        place, slope = root(cheap, self._start(rising), 2.0 if rising else 1.0, _CLOSE)
        low, slope_below = root(rises(self._below), place, slope, _FINE)
        away = log(low / place)
        if abs(away) <= LOOSE or self.method is not None or not self.least < place < self.most:
            return root(cheap, place, slope, _FINE)[0], low
        # The least bound is near the cheap one, or near the data sets.
        above = rises(lambda x: self._above(x, cheap=False))
        is_near = abs(above(place)) < 0.5 * abs(away) * slope_below
        return root(above, place if is_near else low, slope_below, _CLOSE)[0], low

    def _start(self, rising: bool) -> float:
        """Return where to begin: few users take longer to evaluate than many."""
        return min(max(1.0, 2.0 * self.least), self.most) if rising else _MANY_USERS

    def first(
        self,
        root: float,
        direction: int,
        holds: Callable[[Answer], bool],
        admitted: Callable[[float], float],
        method: str | None = None,
    ) -> tuple[Answer | None, float]:
        """Return the first (answer, x) from the root in the direction for which ``holds`` is certified.

        Steps grow faster and faster; what they passed over is halved. ``method`` is that of the answers, if it is not
        the one that was asked for.
        """
        shift, growth, failed, last = self._shift, _GROWTH, 0.0, None
        held: tuple[Answer | None, float] = (None, root)
        farthest = log((self.most if direction > 0 else root) / (root if direction > 0 else self.least))
        for _ in range(_STEPS):
            x = min(max(admitted(root * exp(direction * shift)), self.least), self.most)
            if x != last:
                answer = self._answer(x, method)
                if holds(answer):
                    held, nearest = (answer, x), shift
                    if failed == 0.0:
                        break
                else:
                    failed = shift
                    if x in (self.least, self.most):
                        break
                last = x
            if held[0] is None:
                shift, growth = min(shift * growth, max(1.01 * farthest, _FIRST_SHIFT)), growth * _GROWTH
            elif nearest > _GROWTH * failed:
                shift = sqrt(failed * nearest)
            elif nearest > failed + _STEP:
                shift = 0.5 * (failed + nearest)
            else:
                break
        return held

    def fewer(self, private: Answer | None, n: float) -> tuple[Answer | None, float]:
        """Return (answer, n) with one or two users less where that is certified, too."""
        for _ in range(2 if self._shift == _FIRST_SHIFT else 0):
            if private is None or n <= 1.0 or n > 1e9:
                break
            answer = self._answer(n - 1.0)
            if not self.is_private(answer):
                break
            private, n = answer, n - 1.0
        return private, n

    def is_private(self, answer: Answer) -> bool:
        """Whether delta is proved to suffice."""
        return answer.most.at_most(self.target)

    def is_violated(self, answer: Answer) -> bool:
        """Whether delta is proved not to suffice."""
        return answer.least.exceeds(self.target)

    @property
    def cheap(self) -> str | None:
        """The analysis for answers whose lower end alone is needed: data sets, whatever bounds them from above."""
        return self._cheapest

    def _answer(self, x: float, method: str | None = None) -> Answer:
        return Profile(Question.of(self.subject(x), self.users(x), method or self.method)).delta(self.eps)

    def _above(self, x: float, *, cheap: bool) -> float:
        n, ladder = self.users(x), CandidateBounds(self.subject(x), self._cheapest if cheap else self.method)
        if self._cheapest is None:  # which analyses apply is not asked again
            self._cheapest = ladder.first.parts[0].method
        if cheap:
            value = ladder.first.ranked(self.level, n)[0].log_estimate(self.level, n)
        else:
            value, _, part = ladder.least_value(self.level, n, -inf)
            self._shift = max(_FIRST_SHIFT, 0.1 * part.estimate_error)
        return max(value, -_FAR)

    def _below(self, x: float) -> float:
        """Return an estimate of log of the lower bound; of many mechanisms, of the one that was the worst at first."""
        subject = self.subject(x)
        members = subject.members()
        if self._member is not None:
            subject = members[self._member]
        value, found = DataSetSearch(subject).largest_value(self.level, self.users(x))
        if self._member is None and len(members) > 1:
            self._member = [repr(m) for m in members].index(found.member)
        return max(value, -_FAR)


def _bent(log_value: float, log_delta: float) -> float:
    """Return a number of the sign of the difference, nearly linear in log n, and in log eps0, where sums are normal."""
    return log(log_delta / min(log_value, _LARGEST_SHARE * log_delta))


def _from(
    miss: Callable[[float], float],
    least: float,
    most: float,
    start: float,
    slope: float,
    accuracy: float,
    grain: float,
) -> tuple[float, float]:
    """Return what ``_crossing`` does, and about the slope there: secants from a place, with about the slope known.

    Steps below ``grain`` change nothing.
    """
    z, first, last = log(start), log(least), log(most)
    value = miss(start)
    for _ in range(_MOST_SECANTS):
        if not (isfinite(slope) and slope > 0.0):
            break
        step = -value / slope
        if not first < z + step < last:
            break
        if abs(step) <= max(accuracy, grain * exp(-z)):
            return exp(z + step), slope
        there = miss(exp(z + step))
        z, value, slope = z + step, there, (there - value) / step
    return _crossing(miss, least, most, exp(z), _STEP, accuracy), slope


def _crossing(
    miss: Callable[[float], float], least: float, most: float, start: float, step: float, accuracy: float
) -> float:
    """Return where an increasing function of log x is about 0 between two positive numbers; the nearer end if nowhere.

    Floats: what is found is certified afterwards.
    """
    x = min(max(start, least), most)

    @cache
    def at(z: float) -> float:
        return miss(exp(z))

    low = high = log(x)
    first, last = log(least), log(most)
    value = at(low)
    if value == 0.0:
        return x
    while value < 0.0:
        if high >= last:
            return most
        low, high, step = high, min(high + step, last), 2.0 * step
        value = at(high)
    if low == high:
        while value > 0.0:
            if low <= first:
                return least
            low, high, step = max(low - step, first), low, 2.0 * step
            value = at(low)
    return exp(brentq(at, low, high, xtol=accuracy, rtol=1e-12))
