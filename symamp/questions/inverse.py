"""The questions asked backwards: how large a local budget, or how few users, for a guarantee; which mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from io import StringIO
from math import ceil, exp, floor, inf, isfinite, log
from os import PathLike
from typing import Any, ClassVar

import sympy as sp
from flint import fmpq
from rich.console import Console
from rich.table import Table

from symamp.bounds.search import LOOSE, CandidateBounds
from symamp.bounds.subject import Subject
from symamp.data_sets.search import DataSetSearch
from symamp.decompositions.printing import axes_for
from symamp.decompositions.to_law import log_above
from symamp.errors import ArgumentError, ContradictionError, Problem, shown
from symamp.formulas.order import sign
from symamp.numbers.dyadic import Dyadic, decimal_end
from symamp.numbers.limits import Limits
from symamp.numbers.optional import brentq
from symamp.numbers.reading import LARGEST_N, users
from symamp.numbers.surroundings import undisturbed
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval, ShownAsTable, TwoEnds, cell, json_number, write_csv
from symamp.questions.profile import Profile
from symamp.questions.solve import Trial, log_miss, step_out
from symamp.randomizers.mechanism import UTILITIES, variance_of
from symamp.settings.participation import Participation, checked_participation
from symamp.settings.question import Query, Question, checked_subject
from symamp.sums.divergence import Settings
from symamp.sums.inversion import LARGEST_EPS

# --- The answer to a question asked backwards: a bracket of eps0, or of n, with the two answers that prove its ends


@dataclass(frozen=True, repr=False)
class Inverse(TwoEnds):
    """A certified bracket of the largest eps0, or of the least n, at which (eps, delta)-privacy holds.

    ``quantity`` is "eps0" or "n". ``private`` and ``not_private`` are the two answers for delta that prove the ends:
    the first has ``upper`` <= delta, the second ``lower`` > delta; None where an end needs no proof or has none.
    ``monotone`` says why every smaller eps0 (every larger n) than the safe end is private too, and every larger eps0
    (smaller n) than the other end is not; it is None where that is not proved: then each end speaks of itself alone.

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

    def exact_ends(self) -> tuple[Dyadic, Dyadic]:
        """Return both ends as they are known."""
        return Dyadic.of_float(self.lower), Dyadic.of_float(self.upper)

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

# What is tuned: evaluations against how near the place is to the root. It is proved by questions/solve.py. Rules of
# thumb.
_LEAST_EPS0, _FIRST_USERS = 1e-9, 1e6
"""The least local budget that is tried, and how many users a search begins with: few take longer to evaluate."""
_ROUGH_ACCURACY, _ACCURACY = 1e-4, 1e-7
"""How near a root is sought, relatively: of bounds that take long or show only where to begin, and of the others."""
_STEPS, _FIRST_STEP = 12, 0.1
"""Secant steps before the root is bracketed instead, and the first step of that in the logarithm."""
_LEAST_HEIGHT, _LEAST_LOG_VALUE, _LARGEST_LOG = 1e-3, -1e5, 700.0
"""What keeps numbers finite: the least share of log delta that a value has, the least logarithm of a value, and the
largest of a quotient of places."""
_FIRST_SHIFT = 1e-6
"""How far from the root the first proof is tried, relatively, where estimates are close."""
_FEWER_USERS = "removing a user leaves a report that the larger data set can be turned into"


@undisturbed()
def largest_eps0(
    family: Subject,
    *,
    n: object,
    eps: object,
    delta: object,
    method: str | None = None,
    effort: str = "default",
    participation: Participation | None = None,
) -> Inverse:
    """Return a certified bracket of the largest local budget at which n shuffled users are (eps, delta)-private.

    ``family`` is a mechanism whose only free parameter is ``eps0`` (``sa.RandomizedResponse(k=10)``), or
    ``sa.PureLDP()``. ``method`` selects one proved analysis for the safe end. ``effort`` is that of every answer for
    delta that the search asks for; ``participation`` says who takes part, as there.

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
    taking = None if participation is None else checked_participation(participation)
    count, at, goal = users(n), Query.of_delta(eps, Settings.gap, effort=effort), Query.of_epsilon(delta, Settings.gap)
    free = [p.name for p in getattr(family, "parameters", ())]
    if isinstance(family, type) or not hasattr(family, "at") or free != ["eps0"]:
        shown = f"{family!r} with {', '.join(free) or 'nothing'} free"
        raise ArgumentError("family", shown, "a family with eps0 free and all other parameters fixed")
    checked_subject(family.at(eps0=1))
    count = count if taking is None else taking.users(count)

    def subject(x: object) -> Subject:
        found: Subject = family.at(eps0=x)
        return found if taking is None else taking.subject(found)

    # A default report has the same law for all eps0.
    reason = None if taking is not None and taking.default is not None else family.degradation()
    floor_ = _private_unshuffled(subject, at.given)
    asked = (("n", str(count)), ("eps", at.written), ("delta", goal.written))
    most = _largest_evaluated(family)
    ends = max(floor_, _LEAST_EPS0), most
    if floor_ >= most:
        raise ArgumentError("eps", eps, f"a number below {LARGEST_EPS:g}")
    search = _Search(subject, lambda _: count, at, goal, method, ends)
    high, low = search.roots(rising=True)
    private, violated = step_out(_Private(search, high, -1)), step_out(_Violated(search, low, +1))
    lower, safe = (floor_, None) if private is None else (private[1].x, private[1].answer)
    upper, unsafe = (inf, None) if violated is None else (violated[1].x, violated[1].answer)
    return Inverse("eps0", _named(family, taking), asked, lower, upper, safe, unsafe, reason)


@undisturbed()
def least_n(
    mechanism: Subject,
    *,
    eps: object,
    delta: object,
    method: str | None = None,
    effort: str = "default",
    participation: Participation | None = None,
) -> Inverse:
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
    at, goal = Query.of_delta(eps, Settings.gap, effort=effort), Query.of_epsilon(delta, Settings.gap)
    taking = None if participation is None else checked_participation(participation)
    if taking is not None and isinstance(taking.batches, int | tuple):
        raise ArgumentError("batches", Problem("they say how many users there are"), "leave them out")
    # All colluders are known: what is sought is the number of the others.
    whole = (lambda m: m) if taking is None else taking.total
    subject = Question.of(mechanism, whole(1), method, participation=participation).subject
    search = _Search(lambda _: subject, round, at, goal, method, (1.0, float(LARGEST_N)))
    asked = (("eps", at.written), ("delta", goal.written))
    found = search.answer(1.0, method)
    if found.most.at_most(goal.given):
        return Inverse("n", _named(mechanism, taking), asked, whole(1), whole(1), found, None, _FEWER_USERS)
    high, low = search.roots(rising=False)
    private = step_out(_Private(search, high, +1, ceil))
    violated = step_out(_Violated(search, low, -1, floor))
    upper, safe = (inf, None) if private is None else (whole(search.users(private[1].x)), private[1].answer)
    lower, unsafe = (1, None) if violated is None else (whole(search.users(violated[1].x) + 1), violated[1].answer)
    return Inverse("n", _named(mechanism, taking), asked, lower, upper, safe, unsafe, _FEWER_USERS)


def _named(subject: object, taking: Participation | None) -> str:
    return repr(subject) if taking in (None, Participation()) else f"{subject!r}, {taking!r}"


def _private_unshuffled(subject: Callable[[object], Subject], eps: sp.Expr) -> float:
    """Return an eps0 at which the largest ratio between compared inputs is at most e^eps: 0 if none is proved.

    The parameter of a family is the logarithm of that ratio, or a part of it, as for several reports at once.
    """
    alone = log_above(subject(1).compared_ratio())
    found = float(sp.N(eps, 17)) / max(alone, 1.0) * (1.0 - 1e-15)
    proved = found > 0.0 and sign(eps - sp.Rational(log_above(subject(found).compared_ratio()))) >= 0
    return found if proved else 0.0


def _largest_evaluated(family: Any) -> float:
    """Return the eps0 up to which the budget of any two inputs, which may be several eps0, can be evaluated."""
    alone = log_above(family.at(eps0=1).local_ratio())
    return LARGEST_EPS / max(alone, 1.0) * (1.0 - 1e-15) if 1.0 < alone < inf else LARGEST_EPS


class _Search:
    """delta at a fixed eps as a function of one unknown x: the local budget, or the number of users."""

    def __init__(
        self,
        subject: Callable[[float], Subject],
        users: Callable[[float], int],
        at: Query,
        goal: Query,
        method: str | None,
        ends: tuple[float, float],
    ) -> None:
        self.subject, self.users, self.method = subject, users, method
        self.least, self.most = ends
        self._at, self.level = at, at.level
        self.target: fmpq = goal.given
        self.log_delta = goal.log_delta
        self.shift = _FIRST_SHIFT
        self.cheapest = method
        self._member: int | None = None

    def roots(self, *, rising: bool) -> tuple[_Root, _Root]:
        """Return where the least upper bound, and the largest lower bound, are about delta.

        With each comes about d log delta / d log x there, without its sign.
        """
        sign = 1.0 if rising else -1.0

        def rises(log_value: Callable[[float], float]) -> Callable[[float], float]:
            return cache(lambda x: sign * _bent(log_value(x), self.log_delta))

        def root(curve: Callable[[float], float], start: float, slope: float, accuracy: float) -> _Root:
            grain = 0.0 if rising else 1.0  # numbers of users are whole
            return _from(curve, self.least, self.most, start, slope, accuracy, grain)

        cheap = rises(lambda x: self._above(x, cheap=True))
        place, slope = root(cheap, self._start(rising), 2.0 if rising else 1.0, _ROUGH_ACCURACY)
        low = root(rises(self._below), place, slope, _ACCURACY)
        away = log(low[0] / place)
        if abs(away) <= LOOSE or self.method is not None or not self.least < place < self.most:
            high = root(cheap, place, slope, _ACCURACY)
        else:  # the least bound is near the cheap one, or near the data sets
            above = rises(lambda x: self._above(x, cheap=False))
            is_near = abs(above(place)) < 0.5 * abs(away) * low[1]
            high = root(above, place if is_near else low[0], low[1], _ROUGH_ACCURACY)
        return high, low

    def _start(self, rising: bool) -> float:
        """Return where to begin: few users take longer to evaluate than many."""
        return min(max(1.0, 2.0 * self.least), self.most) if rising else _FIRST_USERS

    def answer(self, x: float, method: str | None) -> Answer:
        """Return the answer for delta."""
        return Profile(Question.of(self.subject(x), self.users(x), method)).answer(self._at)

    def _limited(self) -> Settings:
        """Return what one estimate in floats aims at, with limits of its own."""
        return Settings(limits=Limits.of(self._at.effort))

    def _above(self, x: float, *, cheap: bool) -> float:
        n, settings = self.users(x), self._limited()
        ladder = CandidateBounds(self.subject(x), self.cheapest if cheap else self.method)
        if self.cheapest is None:  # which analyses apply is not asked again
            self.cheapest = ladder.first.parts[0].method
        if cheap:
            value = ladder.first.ranked(self.level, n, settings)[0].log_estimate(self.level, n, settings)
        else:
            value, _, part = ladder.least_value(self.level, n, settings, -inf)
            self.shift = max(_FIRST_SHIFT, 0.1 * part.estimate_error)
        return max(value, _LEAST_LOG_VALUE)

    def _below(self, x: float) -> float:
        """Return an estimate of log of the lower bound; of many mechanisms, of the one that was the worst at first."""
        subject = self.subject(x)
        members = subject.members()
        if self._member is not None:
            subject = members[self._member]
        value, found = DataSetSearch(subject).largest_value(self.level, self.users(x), self._limited())
        if self._member is None and len(members) > 1:
            assert found.data_sets is not None
            self._member = [repr(m) for m in members].index(found.data_sets.member)
        return max(value, _LEAST_LOG_VALUE)


@dataclass(frozen=True)
class _Proof:
    """An answer that proves one side of delta, at the eps0 or the number of users that it is about."""

    answer: Answer
    x: float


class _Side:
    """Answers for delta, to be proved on one side of it. Places are log(x/least); ``admitted`` rounds an x."""

    error = 0.0

    def __init__(
        self, search: _Search, found: _Root, outward: int, admitted: Callable[[float], float] = lambda x: x
    ) -> None:
        self.search, self.outward, self._admitted = search, outward, admitted
        self.root = log(found[0] / search.least)
        self._slope = -search.log_delta * found[1] if isfinite(found[1]) and found[1] > 0.0 else 1.0
        self.width = search.shift * self._slope
        self._known: dict[float, Trial[_Proof]] = {}

    def slope(self, place: float) -> float:
        """Return about d log delta / d log x, without its sign."""
        return self._slope

    def trial(self, place: float) -> Trial[_Proof]:
        """Return the answer at a place, or at the nearest one that there is."""
        least, most = self.search.least, self.search.most
        x = min(max(float(self._admitted(least * exp(min(place, _LARGEST_LOG)))), least), most)
        if x not in self._known:
            found = self._asked(x)
            # Where nothing is seen of delta, it does not say how far to go.
            self._known[x] = replace(found, miss=min(found.miss, self._slope))
        if self._known[x].proof is None and x == (most if self.outward > 0 else least):
            self.root = inf  # there is none beyond
        return self._known[x]

    def _asked(self, x: float) -> Trial[_Proof]:
        raise NotImplementedError


class _Private(_Side):
    """Delta is proved to suffice."""

    def _asked(self, x: float) -> Trial[_Proof]:
        answer = self.search.answer(x, self.search.method)
        miss = log_miss(answer.most, self.search.log_delta)
        return Trial(_Proof(answer, x) if answer.most.at_most(self.search.target) else None, miss, again=True)


class _Violated(_Side):
    """Delta is proved not to suffice, whatever bounds the answer from above."""

    def _asked(self, x: float) -> Trial[_Proof]:
        answer = self.search.answer(x, self.search.cheapest)
        miss = -log_miss(answer.least, self.search.log_delta)
        return Trial(_Proof(answer, x) if answer.least.exceeds(self.search.target) else None, miss, again=True)


_Root = tuple[float, float]
"""A place and the slope there."""


def _bent(log_value: float, log_delta: float) -> float:
    """Return a number of the sign of the difference, nearly linear in log n, and in log eps0, where sums are normal."""
    return log(log_delta / min(log_value, _LEAST_HEIGHT * log_delta))


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
    for _ in range(_STEPS):
        if not (isfinite(slope) and slope > 0.0):
            break
        step = -value / slope
        if not first < z + step < last:
            break
        if abs(step) <= max(accuracy, grain * exp(-z)):
            return exp(z + step), slope
        there = miss(exp(z + step))
        z, value, slope = z + step, there, (there - value) / step
    return _crossing(miss, least, most, exp(z), _FIRST_STEP, accuracy), slope


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


# ------------------- Which mechanism: a list of them at equal central privacy, ranked by the error of what is estimated


@dataclass(frozen=True)
class Candidate:
    """A mechanism at the largest eps0 that is proved to be private, and what it costs there.

    ``variance`` is that of the estimate from n reports and ``bits`` the length of a message (None: not counted), both
    floats for comparison. ``is_efficient``: no other candidate is better in one of the two and as good in the other.

    >>> import symamp as sa
    >>> found = sa.choose([sa.RandomizedResponse(k=4)], n=10**5, eps="0.1", delta="1e-6", method="blanket").best
    >>> found.eps0 == found.budget.lower, found.bits
    (True, 2.0)
    """

    name: str
    budget: Inverse = field(repr=False)
    variance: float
    bits: float | None
    is_efficient: bool = True

    @property
    def eps0(self) -> float:
        """The local budget, proved to be private."""
        return self.budget.safe

    @property
    def standard_deviation(self) -> float:
        """The square root of the variance."""
        return float(self.variance**0.5)


@dataclass(frozen=True, repr=False)
class Ranking(ShownAsTable):
    """Candidates in the order of their variances.

    >>> import symamp as sa
    >>> families = [sa.RandomizedResponse(k=10), sa.UnaryEncoding.oue(D=10)]
    >>> found = sa.choose(families, n=10**6, eps="0.1", delta="1e-8", method="blanket")
    >>> found.best.name
    'RandomizedResponse(k=10, eps0=eps0)'
    """

    utility: str
    asked: tuple[tuple[str, str], ...]
    candidates: tuple[Candidate, ...]

    columns = ("mechanism", "eps0", "eps0 at most", "standard deviation", "bits", "Pareto-optimal")
    _ends: ClassVar[Mapping[str, bool]] = {"eps0": True, "eps0 at most": False}

    @property
    def best(self) -> Candidate:
        """The candidate with the least variance."""
        return self.candidates[0]

    def rows(self) -> list[tuple[object, ...]]:
        """Return (name, eps0, where it is proved not to be private, standard deviation, bits, efficient) for each."""
        return [(c.name, c.eps0, c.budget.upper, c.standard_deviation, c.bits, c.is_efficient) for c in self.candidates]

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking for machines."""
        rows = [[str(x) if x == float("inf") else x for x in row] for row in self.rows()]
        return {"utility": self.utility, **dict(self.asked), "columns": list(self.columns), "rows": rows}

    def plot(self, ax: Any = None) -> Any:
        """Draw the standard deviation of each candidate over the length of its message; return the Axes.

        Candidates whose messages are not counted are left out.
        """
        ax = axes_for(ax)
        for c in self.candidates:
            if c.bits is not None:
                label = f"{c.name}, ε₀ = {c.eps0:.4g}"
                ax.plot([c.bits], [c.standard_deviation], "o" if c.is_efficient else "x", label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("bits of a message")
        ax.set_ylabel(f"standard deviation ({self.utility})")
        ax.set_title(self._title(), fontsize="small")
        ax.legend(fontsize="small")
        return ax

    def table(self) -> Table:
        """Return a table for rich."""
        table = Table(*self.columns, title=self._title())
        for row in self.rows():
            table.add_row(*(cell(x, self._ends.get(c)) for x, c in zip(row, self.columns, strict=True)))
        return table

    def _title(self) -> str:
        return f"{self.utility} at {', '.join(f'{k} = {v}' for k, v in self.asked)}"

    def __str__(self) -> str:
        out = StringIO()
        Console(file=out, width=140, color_system=None).print(self.table())
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


@undisturbed()
def choose(
    families: Sequence[Subject] | Mapping[str, Subject],
    *,
    n: object,
    eps: object,
    delta: object,
    utility: str = "frequency",
    method: str | None = None,
    effort: str = "default",
) -> Ranking:
    """Return the families at the largest eps0 at which n users are proved (eps, delta)-private, best estimate first.

    ``families`` have eps0 free and all else fixed. ``utility`` is "frequency" (of a rare input) or "mean" (of numbers
    in [0, 1]); variances and message lengths are formulas at that eps0, see ``symamp.randomizers.mechanism``. The other
    arguments are those of ``largest_eps0``. Raises what it raises, and SupportMismatchError for a family without this
    utility.

    Guarantee
    ---------
    Each family is (eps, delta)-private at its ``eps0`` and not at ``budget.upper``. Proof:
    docs/proofs/inverse_questions.md. Variances and lengths are exact formulas, evaluated in floats.

    >>> import symamp as sa
    >>> found = sa.choose([sa.RandomizedResponse(k=4), sa.HadamardResponse(K=8)], n=10**5, eps="0.1", delta="1e-6")
    >>> [c.bits for c in found.candidates]
    [2.0, 3.0]
    """
    named = dict(families) if isinstance(families, Mapping) else {shown(m): m for m in families}
    if not named:
        raise ArgumentError("families", Problem("there is none"), "give at least one family with eps0 free")
    if utility not in UTILITIES:
        raise ArgumentError("utility", utility, f"one of {', '.join(UTILITIES)}")
    for family in named.values():
        variance_of(family, utility)  # refused before anything is evaluated
    count = users(n)
    found = []
    for name, family in named.items():
        budget = largest_eps0(family, n=n, eps=eps, delta=delta, method=method, effort=effort)
        member: Any = family.at(eps0=budget.safe)  # type: ignore[attr-defined]
        bits = member.message_bits()
        variance = float(sp.N(variance_of(member, utility), 17)) / count
        found.append((name, budget, variance, None if bits is None else float(sp.N(bits, 17))))
    found.sort(key=lambda c: (c[2], c[3] is None, c[3] or 0.0))
    candidates: list[Candidate] = []
    for name, budget, variance, bits in found:
        shorter = [c for c in candidates if c.bits is not None and (bits is None or c.bits <= bits)]
        candidates.append(Candidate(name, budget, variance, bits, not shorter))
    return Ranking(utility, (("n", str(n)), ("eps", str(eps)), ("delta", str(delta))), tuple(candidates))
