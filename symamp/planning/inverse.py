"""Inverse questions: the largest local budget, the least number of users or the most rounds for a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from math import asinh, ceil, exp, floor, inf, isfinite, log, sinh, sqrt
from os import PathLike
from typing import Any, ClassVar, Protocol

import sympy as sp
from flint import fmpq

from symamp.accounting.composition import Composition
from symamp.accounting.coordinates import COORDINATES, MESSAGES, CoordinateSums, coordinate_sums, is_by_coordinates
from symamp.accounting.losses import gaussian_log_delta
from symamp.accounting.pairs import LARGEST_ROUNDS, round_count
from symamp.accounting.privacy_profile import Profile
from symamp.bounds.registry import by_default
from symamp.bounds.search import LOOSE, CandidateBounds
from symamp.bounds.subject import Subject
from symamp.data_sets.search import DataSetSearch
from symamp.decompositions.to_law import log_above
from symamp.errors import ArgumentError, ContradictionError, Problem, checked_call, shown
from symamp.formulas.order import sign
from symamp.numbers.doubles import root_between
from symamp.numbers.dyadic import Dyadic, decimal_end
from symamp.numbers.limits import Limits
from symamp.numbers.reading import LARGEST_N, Count, Real, exact_number, users
from symamp.numbers.surroundings import undisturbed
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval, TwoEnds, json_number, write_csv
from symamp.questions.solve import WORTH, Trial, log_miss, step_out
from symamp.settings.participation import Participation, checked_participation
from symamp.settings.question import Query, Question, checked_subject
from symamp.settings.users_who_differ import HeterogeneousUsers
from symamp.sums.divergence import Settings
from symamp.sums.inversion import LARGEST_EPS

# --- The answer to a question asked backwards: a bracket of eps0, n or rounds, with the two answers that prove its ends


def asked_for(asked: Iterable[tuple[str, str]]) -> str:
    """Return the question as a text, whole numbers with their thousands."""
    return ", ".join(f"{k} = {int(v):,}" if v.isdecimal() else f"{k} = {v}" for k, v in asked)


_NAMED = {"eps0": "largest", "n": "least", "rounds": "most"}
"""What is sought of each quantity."""


@dataclass(frozen=True, repr=False)
class Inverse(TwoEnds):
    """A certified bracket of the largest eps0, the least n or the most rounds at which (eps, delta)-privacy holds.

    ``quantity`` is "eps0", "n" or "rounds"; ``safe`` is the end that is proved to be private. ``private`` and
    ``not_private`` are the two answers for delta that prove the ends: the first has ``upper`` <= delta, the second
    ``lower`` > delta. Either is None if its end needs no proof or has none. For n, ``not_private`` is about one user
    fewer than ``lower`` (for users who differ, one copy of all groups fewer); for rounds, about one more than
    ``upper``. For many rounds each of the two answers has only the end that it proves.

    ``monotone`` is the reason why every smaller eps0 (larger n, fewer rounds) than the safe end is private too, and
    every larger eps0 (smaller n, more rounds) than the other end is not. It is None if that is not proved: then only
    the two ends themselves are certified.

    Plain data: it can be pickled, compared and hashed.

    >>> import symamp as sa
    >>> found = sa.least_n(sa.RandomizedResponse(k=2, eps0=1), eps="0.1", delta="1e-6")
    >>> found.safe == found.upper, found.monotone
    (True, 'the report of one more user can be added to the shuffled reports without knowing whose they are')
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
        """The end at which the mechanism is proved to be private: the upper one for n, the lower one for others."""
        return self.upper if self.quantity == "n" else self.lower

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
        given = asked_for(self.asked)
        ends = (self.lower, True), (self.upper, False)
        low, high = (f"{x:,}" if isinstance(x, int) else decimal_end(x, 10, down=down) for x, down in ends)
        what, safe = f"{_NAMED[self.quantity]} {self.quantity}", high if self.quantity == "n" else low
        private = f"private at {safe}" if self.monotone else f"private at {self.safe!r}; monotonicity is not proved"
        return f"{what} in [{low}, {high}]  ({self.subject}, {given}; {private})"

    def to_csv(self, file: str | PathLike[str]) -> None:
        """Write one line: what was asked, both ends, and the safe one."""
        kept = {k: v for k, v in self.to_dict().items() if k not in ("private", "not_private")}
        write_csv(file, list(kept), [list(kept.values())])


# ----- The questions asked backwards: how large a local budget, how few users, how many rounds, for a central guarantee

# What is tuned: evaluations against how near the place is to the root. It is proved by questions/solve.py. Rules of
# thumb.
_LEAST_EPS0, _FIRST_USERS = 1e-9, 1e6
"""The least local budget that is tried, and how many users a search begins with: few take longer to evaluate."""
_ROUGH_ACCURACY, _ACCURACY = 1e-4, 1e-7
"""How near a root is sought, relatively: of bounds that take long or show only where to begin, and of the others."""
_STEPS, _FLAT, _JUMP, _FIRST_STEP = 12, 0.1, 2.0, 0.1
"""Secant steps before the root is bracketed instead, as it is where a slope is below that part of what was expected, or
a step ends so many times as far on the other side; and the first step of that in the logarithm."""
_LEAST_HEIGHT, _LEAST_LOG_VALUE, _LARGEST_LOG = 1e-3, -1e5, 700.0
"""What keeps numbers finite: the least share of log delta that a value has, the least logarithm of a value, and the
largest of a quotient of places."""
_FIRST_SHIFT = 1e-6
"""How far from the root the first proof is tried, relatively, where estimates are close."""
_ROUNDS_GAP, _DEAR_ROUNDS_GAP, _BESIDE_DEAR = 1e-3, 3e-2, 4e-3
"""The least width of eps for many rounds; what is taken where points cost much, and for the other end there."""
_FEW_POINTS, _WIDEST_GAP, _SHARE_OF_BRACKET, _EPS_PER_LOG = 3e-2, 2e-2, 0.1, 0.05
"""The width of eps at which estimates of many rounds aim, and the largest of ends; the share of a bracket that is left
to points; and how much of eps, relatively, makes one in the logarithm of delta, about."""
_NEAR, _FAR, _DELTA_GAP = 2e-3, 3e-2, 1e-3
"""How near a place is that is corrected, relatively, and how far at most it is then moved; and the least width of delta
that sums over frequencies aim at."""
_CUTS, _NEAR_ENOUGH = 3, 2e-2
"""Places tried between one that is proved and one that is not, unless these are so near, relatively."""
_CLOSE = 1e-2
"""Places so near, relatively, show rounding in place of a slope."""
_DEAR_ERROR = 0.05
"""How far beyond what is missed, in the logarithm of delta, steps go where a trial takes long."""
_ROOM = 1e-2
"""How far from the root ends that are known by certified sums alone are tried first, in the logarithm of delta."""
_FEWER_USERS = "the report of one more user can be added to the shuffled reports without knowing whose they are"
_FEWER_DRAWN = "at the same rate more users who are drawn hide the same reports"
_FEWER_ROUNDS = "the outputs of fewer rounds are among those of more"


@checked_call
@undisturbed()
def largest_eps0(
    family: Subject | HeterogeneousUsers,
    *,
    n: Count | None = None,
    eps: Real,
    delta: Real,
    rounds: Count = 1,
    sampled_from: Count | None = None,
    method: str | None = None,
    effort: str = "default",
    participation: Participation | None = None,
    view: str = MESSAGES,
) -> Inverse:
    """Return a certified bracket of the largest local budget at which n shuffled users are (eps, delta)-private.

    ``family`` is a mechanism whose only free parameter is ``eps0`` (``sa.RandomizedResponse(k=10)``),
    ``sa.PureLDP()``, or users who differ (``sa.heterogeneous``) with ``eps0`` free in some groups, for whom ``n`` is
    left out. ``rounds`` are composed adaptively; ``sampled_from`` is the number of people from whom each round draws
    its n users. ``method`` selects one proved analysis for the safe end. ``effort``, ``participation`` (who takes part)
    and ``view`` (what is seen) are those of ``symamp.delta``.

    Raises ArgumentError for a family with other parameters free and for arguments out of range.

    Guarantee
    ---------
    At eps0 = ``lower`` the shuffled mechanism is (eps, delta)-private, at eps0 = ``upper`` it is not. If ``monotone``
    is not None this holds for all eps0 <= ``lower``, and for all eps0 >= ``upper`` that the family admits.
    Proof: docs/proofs/inverse_questions.md.

    >>> import symamp as sa
    >>> found = sa.largest_eps0(sa.RandomizedResponse(k=10), n=10**6, eps="0.01", delta="1e-8")
    >>> print(found)
    largest eps0 in [2.0904..., 2.0904...]  (RandomizedResponse(k=10, eps0=eps0), n = 1,000,000, eps = 0.01, ...)
    >>> month = sa.largest_eps0(sa.RandomizedResponse(k=16), n=10**6, rounds=30, eps=1, delta="1e-8")
    >>> 6.48 < month.lower < month.upper < 6.5
    True
    """
    at, goal = Query.of_delta(eps, Settings.gap, effort=effort), Query.of_epsilon(delta, Settings.gap)
    fixed = Fixed.of(method, participation, rounds, sampled_from, view)
    free = [p.name for p in getattr(family, "parameters", ())]
    if isinstance(family, type) or not hasattr(family, "at") or free != ["eps0"]:
        given = f"{family.__name__} is a class" if isinstance(family, type) else shown(family)
        given = given if isinstance(family, type) else f"{given} has {', '.join(free) or 'no parameter'} free"
        accepted = "give a number for each parameter but eps0, such as sa.RandomizedResponse(k=10), or --k 10"
        accepted = accepted if free else "leave eps0 out, as in sa.RandomizedResponse(k=10): it is searched for"
        raise ArgumentError("family", Problem(given), accepted)
    member: Callable[[object], Any] = lambda x: family.at(eps0=x)  # noqa: E731
    count = fixed.count(n, member(1))

    def subject(x: object) -> Any:
        return fixed.seen(member(x))

    # A default report has the same law for all eps0.
    taking = fixed.participation
    reason = None if taking is not None and taking.default is not None else family.degradation()
    floor_ = _private_unshuffled(subject, at.given / fixed.rounds)
    most = _largest_evaluated(family)
    ends = max(floor_, _LEAST_EPS0), most
    if floor_ >= most:
        raise ArgumentError("eps", eps, f"a number below {LARGEST_EPS * fixed.rounds:g}")
    search: _Search
    if fixed.is_one_round and isinstance(family, HeterogeneousUsers):
        search = _UsersWhoDiffer(subject, at, goal, ends, False)
    elif fixed.is_one_round:
        search = _OneRound(subject, lambda _: count, at, goal, method, ends, False)
    else:
        search = _ManyRounds(lambda x: fixed.whole(subject(x), count), at, goal, ends, False)
    high, low = search.roots(rising=True)
    private = _proved(_Private(search, high, -1), floor_ or None)
    violated = _proved(_Violated(search, low, +1))
    lower, safe = (floor_, None) if private is None else (private.x, private.answer)
    upper, unsafe = (inf, None) if violated is None else (violated.x, violated.answer)
    asked = (*_users(n), *_goal(at, goal), *fixed.shown)
    return Inverse("eps0", _named(family, taking), asked, lower, upper, safe, unsafe, reason)


@checked_call
@undisturbed()
def least_n(
    mechanism: Subject | HeterogeneousUsers,
    *,
    eps: Real,
    delta: Real,
    rounds: Count = 1,
    rate: Real | None = None,
    method: str | None = None,
    effort: str = "default",
    participation: Participation | None = None,
    view: str = MESSAGES,
) -> Inverse:
    """Return a certified bracket of the least number of users at which shuffling gives (eps, delta)-privacy.

    ``upper`` is inf if no number up to 10**18 suffices. ``rounds`` are composed adaptively, each with n users. For
    users who differ (``sa.heterogeneous``) the number of users grows by whole copies of all groups. The other
    arguments, and what is raised, are those of ``symamp.delta``.

    ``rate`` is 1/k if each round draws its n users from k n people (``Profile.sampled``). With a fixed number of
    people there is no least n, because drawing fewer of them may be more private.

    Guarantee
    ---------
    Every number of users n >= ``upper`` is (eps, delta)-private, and none below ``lower`` is; of users who differ every
    number of whole copies. Proof: docs/proofs/inverse_questions.md.

    >>> import symamp as sa
    >>> print(sa.least_n(sa.RandomizedResponse(k=10, eps0=1), eps="0.0027292", delta="1e-8"))
    least n in [999,9..., 1,000,...]  (RandomizedResponse(k=10, eps0=1), eps = 0.0027292, delta = 1e-8; private at ...)
    >>> daily = sa.least_n(sa.RandomizedResponse(k=10, eps0=1), eps="0.01", delta="1e-6", rounds=30, rate="1/10")
    >>> 14_000 < daily.lower < daily.upper < 14_500
    True
    """
    at, goal = Query.of_delta(eps, Settings.gap, effort=effort), Query.of_epsilon(delta, Settings.gap)
    fixed = Fixed.of(method, participation, rounds, None, view, rate)
    taking = fixed.participation
    if taking is not None and isinstance(taking.batches, int | tuple):
        raise ArgumentError("batches", Problem("they say how many users there are"), "leave them out")
    # All colluders are known: what is sought is the number of the others.
    whole: Callable[[int], int] = (lambda m: m) if taking is None else taking.total
    largest = float(LARGEST_N // (fixed.per_user or 1))
    search: _Search
    if isinstance(mechanism, HeterogeneousUsers):
        each = fixed.count(None, mechanism)
        crowd = mechanism.seen(taking)
        whole, largest = lambda copies: copies * each, float(LARGEST_N // each)
        subject: Callable[[float], Any] = lambda x: crowd.copies(round(x))  # noqa: E731
    else:
        one = Question.of(mechanism, whole(1), method, participation=participation).subject
        subject = lambda _: one  # noqa: E731
    if not fixed.is_one_round:
        search = _ManyRounds(lambda x: fixed.whole(subject(x), round(x)), at, goal, (1.0, largest), True)
    elif isinstance(mechanism, HeterogeneousUsers):
        search = _UsersWhoDiffer(subject, at, goal, (1.0, largest), True)
    else:
        search = _OneRound(subject, round, at, goal, method, (1.0, largest), True)
    asked, named = (*_goal(at, goal), *fixed.shown), _named(mechanism, taking)
    reason = _FEWER_USERS if fixed.per_user is None else _FEWER_DRAWN
    found = search.answer(1.0, True)
    if found.most.at_most(goal.given):
        return Inverse("n", named, asked, whole(1), whole(1), found, None, reason)
    high, low = search.roots(rising=False)
    private = _proved(_Private(search, high, +1, ceil))
    violated = _proved(_Violated(search, low, -1, floor))
    upper, safe = (inf, None) if private is None else (whole(round(private.x)), private.answer)
    lower, unsafe = (whole(1), None) if violated is None else (whole(round(violated.x)) + 1, violated.answer)
    return Inverse("n", named, asked, lower, upper, safe, unsafe, reason)


class _HasRounds(Protocol):
    def rounds(self, count: int) -> Composition:
        """Return a number of rounds."""


@checked_call
@undisturbed()
def most_rounds(
    mechanism: Subject | HeterogeneousUsers | _HasRounds | Composition,
    *,
    n: Count | None = None,
    eps: Real,
    delta: Real,
    sampled_from: Count | None = None,
    method: str | None = None,
    effort: str = "default",
    participation: Participation | None = None,
    view: str = MESSAGES,
) -> Inverse:
    """Return a certified bracket of the most adaptive rounds that are (eps, delta)-private together.

    ``mechanism`` is what the n users of each round run; or a profile (``sa.profile(...)``, sampled, given, or by
    coordinates), or rounds that are repeated as a whole (a ``Composition``, such as those of a day), which say
    everything else themselves. The other arguments are those of ``largest_eps0``.

    ``lower`` is 0 if not even one is proved to be private, ``upper`` inf if 10**6 are; more are not looked at.

    Guarantee
    ---------
    So many rounds as ``lower``, and fewer, are (eps, delta)-private together; more than ``upper`` are not.
    Proof: docs/proofs/inverse_questions.md.

    >>> import symamp as sa
    >>> print(sa.most_rounds(sa.RandomizedResponse(k=16, eps0=6), n=10**6, eps=1, delta="1e-8"))
    most rounds in [49, 49]  (RandomizedResponse(k=16, eps0=6), n = 1,000,000, eps = 1, delta = 1e-8; private at 49)
    """
    at, goal = Query.of_delta(eps, Settings.gap, effort=effort), Query.of_epsilon(delta, Settings.gap)
    given: tuple[tuple[str, str], ...] = ()
    if hasattr(mechanism, "rounds"):
        if (n, sampled_from, method, participation) != (None, None, None, None):
            told = Problem(
                f"a {type(mechanism).__name__} already says who takes part in its rounds, and how they are analysed"
            )
            raise ArgumentError("mechanism", told, "leave out n, sampled_from, method and participation")
        one = mechanism if isinstance(mechanism, Composition) else mechanism.rounds(1)
        named = str(mechanism) if isinstance(mechanism, Composition) else str(one).removeprefix("1 x ").strip("()")
    else:
        fixed = Fixed.of(method, participation, 1, sampled_from, view)
        count = fixed.count(n, mechanism)
        one = fixed.composition(fixed.seen(mechanism), count)
        given, named = (*_users(n), *fixed.shown), _named(mechanism, fixed.participation)

    def many(x: float) -> Composition:
        return Composition.of((found, count * round(x)) for found, count in one.rounds)

    search = _ManyRounds(many, at, goal, (1.0, float(LARGEST_ROUNDS // one.count)), True)
    high, low = search.roots(rising=True)
    private = _proved(_Private(search, high, -1, floor))
    violated = _proved(_Violated(search, low, +1, ceil))
    lower, safe = (0, None) if private is None else (round(private.x), private.answer)
    if private is None:
        found = search.answer(1.0, True)
        lower, safe = (1, found) if found.most.at_most(goal.given) else (0, None)
    upper, unsafe = (inf, None) if violated is None else (round(violated.x) - 1, violated.answer)
    return Inverse("rounds", named, (*given, *_goal(at, goal)), lower, upper, safe, unsafe, _FEWER_ROUNDS)


@dataclass(frozen=True)
class Fixed:
    """What stays as it is while one number is sought: the analysis, who takes part, how often, drawn from whom, seen.

    ``by_coordinates`` says that coordinates are seen, else messages; ``per_user`` how many people there are for each
    user who is drawn.
    """

    method: str | None
    participation: Participation | None
    rounds: int
    people: int | None
    by_coordinates: bool = False
    per_user: int | None = None

    @staticmethod
    def of(
        method: str | None,
        participation: Participation | None,
        rounds: Count,
        people: object = None,
        view: object = MESSAGES,
        rate: object = None,
    ) -> Fixed:
        """Return what is fixed, its arguments checked."""
        taking = None if participation is None else checked_participation(participation)
        summed = is_by_coordinates(view, taking, (method, people, rate))
        share = None if rate is None else exact_number(rate, "rate")
        if share is not None and not (share.is_Rational and share.p == 1 < share.q <= LARGEST_N):
            raise ArgumentError("rate", rate, "one over a whole number, such as 1/10")
        drawn = None if people is None else users(people)
        return Fixed(method, taking, round_count(rounds), drawn, summed, None if share is None else int(share.q))

    def repeated(self, times: int) -> Fixed:
        """Return the same with so many times the rounds."""
        return replace(self, rounds=round_count(times * self.rounds))

    @property
    def is_one_round(self) -> bool:
        """Whether there is one round in which everybody takes part and whole messages are seen."""
        return self.rounds == 1 and self.people is self.per_user is None and not self.by_coordinates

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """The numbers, where there are any, with their names."""
        given: tuple[tuple[str, object], ...] = (("rounds", self.rounds if self.rounds > 1 else None),)
        given += (
            ("sampled_from", self.people),
            ("rate", self.per_user and f"1/{self.per_user}"),
            ("view", COORDINATES if self.by_coordinates else None),
        )
        return tuple((name, str(value)) for name, value in given if value is not None)

    def count(self, n: Count | None, subject: Any) -> int:
        """Return how many users count. Raise ArgumentError for what users who differ say themselves, or is not known.

        Raises it, too, for what is no mechanism.
        """
        if not isinstance(subject, HeterogeneousUsers):
            checked_subject(subject)
            return users(n) if self.participation is None else self.participation.users(users(n))
        if n is not None:
            raise ArgumentError("n", Problem("n follows from the groups"), "leave it out")
        if replace(self, participation=None, rounds=1) != Fixed(None, None, 1, None):
            told = Problem("users who differ have one bound, and whole messages are seen")
            raise ArgumentError("family", told, "leave out sampled_from, rate, method and view")
        return subject.n

    def reports(self, n: int) -> float:
        """Return how many reports arrive in a round, in the mean."""
        return n * (1.0 - (0.0 if self.participation is None else float(self.participation.dropout)))

    def seen(self, subject: Any) -> Any:
        """Return the subject, seen through who takes part."""
        if isinstance(subject, HeterogeneousUsers):
            return subject.seen(self.participation)
        return subject if self.participation is None else self.participation.subject(subject)

    def whole(self, subject: Any, count: int) -> Composition | CoordinateSums:
        """Return the rounds of so many users that count; of one round by coordinates the view itself."""
        is_one = self.by_coordinates and self.rounds == 1
        return coordinate_sums(subject, count) if is_one else self.composition(subject, count)

    def composition(self, subject: Any, count: int) -> Composition:
        """Return the rounds of so many users that count."""
        if self.by_coordinates:
            return coordinate_sums(subject, count).rounds(self.rounds)
        is_crowd = isinstance(subject, HeterogeneousUsers)
        one = Profile(Question.of_users(subject) if is_crowd else Question.of(subject, count, self.method))
        people = self.people if self.per_user is None else count * self.per_user
        drawn = one if people is None else one.sampled(n=count, of=people)
        return drawn.rounds(self.rounds)


def _users(n: Count | None) -> tuple[tuple[str, str], ...]:
    return () if n is None else (("n", str(users(n))),)


def _goal(at: Query, goal: Query) -> tuple[tuple[str, str], ...]:
    return ("eps", at.written), ("delta", goal.written)


def is_dear(whole: Composition | CoordinateSums) -> bool:
    """Return whether points of the upper end take long."""
    return isinstance(whole, Composition) and any(found.is_dear for found, _ in whole.rounds)


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
    """delta at a fixed eps as a function of one unknown x: the local budget, the number of users, or that of rounds.

    Floats find where the least upper bound, and the largest lower one, are delta; certified answers say the rest.
    ``target`` is the delta that is aimed at, with its logarithm; x goes from ``least`` to ``most``, in whole steps if
    ``whole``.
    """

    accuracy = _ROUGH_ACCURACY
    """How near a root of estimates is sought, relatively."""

    def __init__(self, goal: Query, ends: tuple[float, float], whole: bool) -> None:
        self.target: fmpq = goal.given
        self.log_delta = goal.log_delta
        self.least, self.most = ends
        self.grain = 1.0 if whole else 0.0
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

    def is_dear(self, x: float) -> bool:
        """Return whether one upper end must do: a nearer place is not tried."""
        return False

    def roots(self, *, rising: bool) -> tuple[_Root, _Root]:
        """Return where the least upper bound, and the largest lower bound, are about delta.

        With each comes about d log delta / d log x there, without its sign.
        """
        begin = min(max(1.0, 2.0 * self.least), self.most) if rising else _FIRST_USERS
        if rising and not self.grain and begin < _LARGEST_LOG:  # log delta is about as 1/sinh(eps0/2)^2
            height = max(self.roughly(begin), _LEAST_LOG_VALUE) / self.log_delta
            begin = min(max(2.0 * asinh(sqrt(height) * sinh(0.5 * begin)), self.least), self.most)
        place = self._root(self.roughly, rising, begin, 2.0 if rising else 1.0)
        low = self._root(lambda x: self.estimate(x, False), rising, *place, self.accuracy)
        return self._high(place, low, rising), low

    def _high(self, place: _Root, low: _Root, rising: bool) -> _Root:
        """Return the root of the least upper bound: by steps from that of the largest lower one, which is near."""
        return self._root(lambda x: self.estimate(x, True), rising, *low, self.accuracy)

    def _root(
        self,
        log_value: Callable[[float], float],
        rising: bool,
        start: float,
        slope: float,
        accuracy: float = _ROUGH_ACCURACY,
    ) -> _Root:
        sign = 1.0 if rising else -1.0
        curve = cache(lambda x: sign * _bent(max(log_value(x), _LEAST_LOG_VALUE), self.log_delta))
        admitted: Callable[[float], float] = (lambda x: curve(float(round(x)))) if self.grain else curve
        return _from(admitted, self.least, self.most, start, slope, accuracy, self.grain)


class _OneRound(_Search):
    """One round of users who run one mechanism: floats know both ends nearly as well as certified evaluations do."""

    accuracy = _ACCURACY

    def __init__(
        self,
        subject: Callable[[float], Subject],
        users: Callable[[float], int],
        at: Query,
        goal: Query,
        method: str | None,
        ends: tuple[float, float],
        whole: bool,
    ) -> None:
        super().__init__(goal, ends, whole)
        self.subject, self.users, self.method = subject, users, method
        self._at, self._level = at, at.level
        self._shift = _FIRST_SHIFT
        self._cheapest = method
        self._quickest: str | None = None
        self._member: int | None = None

    def _high(self, place: _Root, low: _Root, rising: bool) -> _Root:
        if self.method != self._cheapest and self.method is not None:
            return self._root(lambda x: self.estimate(x, True), rising, *low, _ACCURACY)
        away = log(low[0] / place[0])
        if abs(away) <= LOOSE or self.method is not None or not self.least < place[0] < self.most:
            return self._root(self.roughly, rising, *place, _ACCURACY)
        # The least bound is near the cheap one, or near the data sets.
        miss = abs(_bent(max(self.estimate(place[0], True), _LEAST_LOG_VALUE), self.log_delta))
        is_near = miss < 0.5 * abs(away) * low[1]
        return self._root(lambda x: self.estimate(x, True), rising, place[0] if is_near else low[0], low[1])

    def room(self, slope: float) -> float:
        return self._shift * slope

    def _answer(self, x: float, above: bool) -> Answer:
        """Whatever bounds it from above will do where the lower end is wanted."""
        subject = self.subject(x)
        if self._quickest is None:
            self._quickest = by_default(subject)[0].name
        method = self.method if above else self._quickest
        return Profile(Question.of(subject, self.users(x), method)).answer(self._at)

    def _limited(self) -> Settings:
        """Return what one estimate in floats aims at, with limits of its own."""
        return Settings(limits=Limits.of(self._at.effort))

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


class _ManyRounds(_Search):
    """Many rounds: few points in floats say where each end is delta, as many as a certified end has say by how much."""

    accuracy = _NEAR

    def __init__(
        self,
        composed: Callable[[float], Composition | CoordinateSums],
        at: Query,
        goal: Query,
        ends: tuple[float, float],
        whole: bool,
    ) -> None:
        super().__init__(goal, ends, whole)
        self._composed, self._at = cache(composed), at
        self._budget = float(sp.N(at.given, 17))
        self._width = _ROUNDS_GAP
        self.estimate = cache(self._estimate)  # type: ignore[method-assign]

    def _high(self, place: _Root, low: _Root, rising: bool) -> _Root:
        """Where points take long data sets tell about as well where the bound is delta, and cost little."""
        return low if self.is_dear(low[0]) else super()._high(place, low, rising)

    def roots(self, *, rising: bool) -> tuple[_Root, _Root]:
        """If the bracket is wide, ends and the estimates that correct places are less accurate."""
        high, low = super().roots(rising=rising)
        if self.least < min(high[0], low[0]) and max(high[0], low[0]) < self.most:
            apart = abs(log(high[0] / low[0])) * low[1] * -self.log_delta * _EPS_PER_LOG - _FEW_POINTS
            self._width = min(max(_ROUNDS_GAP, _SHARE_OF_BRACKET * apart), _WIDEST_GAP)
        corrected = self._corrected(low, False, rising)
        return (corrected if high == low else self._corrected(high, True, rising)), corrected

    def _corrected(self, root: _Root, above: bool, rising: bool) -> _Root:
        x, slope = root
        if not (self.least < x < self.most and isfinite(slope) and slope > 0.0):
            return root
        sign, x = 1.0 if rising else -1.0, float(round(x)) if self.grain else x
        value, gap = self.estimate(x, above), self._gap(x, above)
        if gap < _FEW_POINTS:  # what points cost is about in proportion to the width
            fewer = self._estimate(x, above, 2.0 * _FEW_POINTS)
            value += (value - fewer) * (1.0 - gap / _FEW_POINTS) if isfinite(value - fewer) else 0.0
        step = sign * _bent(max(value, _LEAST_LOG_VALUE), self.log_delta) / slope
        return (min(max(x * exp(-step), self.least), self.most) if abs(step) < _FAR else x), slope

    def _one(self, x: float) -> Composition | CoordinateSums:
        return self._composed(float(round(x)) if self.grain else x)

    def _gap(self, x: float, above: bool) -> float:
        """Return the width of eps that points of one end aim at: wider where they take long."""
        whole = self._one(x)
        if isinstance(whole, CoordinateSums) or (above and self.is_dear(x)):
            return _DEAR_ROUNDS_GAP
        width = max(self._width, _BESIDE_DEAR) if self.is_dear(x) else self._width
        return max(width, *(found.gap if above else found.gap_below for found, _ in whole.rounds))

    def room(self, slope: float) -> float:
        return max(_ROOM, self._width)

    def is_dear(self, x: float) -> bool:
        return is_dear(self._one(x))

    def roughly(self, x: float) -> float:
        return gaussian_log_delta(self._one(x).mu, self._budget)

    def _estimate(self, x: float, above: bool, width: float = _FEW_POINTS) -> float:
        whole = self._one(x)
        if isinstance(whole, Composition):
            return whole.estimate(self._at, above, width)
        if above:
            return whole.rounds(1).estimate(self._at, above, width)
        return log_miss(self._answer(x, above).least, self.log_delta) + self.log_delta

    def _answer(self, x: float, above: bool) -> Answer:
        whole, width = self._one(x), self._gap(x, above)
        at = self._at.to_gap(max(_DELTA_GAP, 0.2 * width))
        if isinstance(whole, Composition):
            return whole.delta_of(at, width, (above,))
        return whole.one_end(at, self.log_delta, width, above)


class _UsersWhoDiffer(_Search):
    """Users who differ: certified answers, which are quick, are their own estimates."""

    def __init__(
        self, crowd: Callable[[float], Any], at: Query, goal: Query, ends: tuple[float, float], whole: bool
    ) -> None:
        super().__init__(goal, ends, whole)
        self._both = cache(lambda x: Profile(Question.of_users(crowd(x))).answer(at))

    def _answer(self, x: float, above: bool) -> Answer:
        return self._both(x)

    def estimate(self, x: float, above: bool) -> float:
        found = self._both(float(round(x)) if self.grain else x)
        return log_miss(found.most if above else found.least, self.log_delta) + self.log_delta

    def roughly(self, x: float) -> float:
        return self.estimate(x, True)


def _proved(side: _Side, known: float | None = None) -> _Proof | None:
    """Return the first proof of a side from its root outward, and a nearer one where places between are far apart.

    ``known`` is a place that is proved otherwise.
    """
    stepped = step_out(side)
    found = None if stepped is None else stepped[1]
    for _ in range(_CUTS):
        x = known if found is None else found.x
        failed = None if x is None else side.nearest_failure(x)
        if x is None or failed is None:
            break
        other = side.trial(log(sqrt(failed) * sqrt(x) / side.search.least))
        if other.proof is not None:
            found = other.proof
    return found


@dataclass(frozen=True)
class _Proof:
    """An answer that proves one side of delta, at the eps0 or the number of users that it is about."""

    answer: Answer
    x: float


class _Side:
    """Answers for delta, to be proved on one side of it. Places are log(x/least); ``admitted`` rounds an x."""

    above: ClassVar[bool]

    def __init__(
        self, search: _Search, found: _Root, outward: int, admitted: Callable[[float], float] = lambda x: x
    ) -> None:
        self.search, self.outward, self._admitted = search, outward, admitted
        self.root = log(found[0] / search.least)
        self._slope = -search.log_delta * found[1] if isfinite(found[1]) and found[1] > 0.0 else 1.0
        self.width = search.room(self._slope)
        self.error = _DEAR_ERROR if self.above and search.is_dear(found[0]) else 0.0
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

    def nearest_failure(self, proved: float) -> float | None:
        """Return the nearest place without a proof before one with; None if it is next to it, or is not looked for."""
        failed = [x for x, t in self._known.items() if t.proof is None and self.outward * (proved - x) > 0.0]
        if not failed or self.search.is_dear(proved):
            return None
        x = max(failed, key=lambda place: self.outward * place)
        middle = self._admitted(sqrt(x) * sqrt(proved))
        return None if abs(log(x / proved)) < _NEAR_ENOUGH or middle in (x, proved) else x

    def _asked(self, x: float) -> Trial[_Proof]:
        raise NotImplementedError


class _Private(_Side):
    """Delta is proved to suffice."""

    above = True

    def _asked(self, x: float) -> Trial[_Proof]:
        answer = self.search.answer(x, True)
        miss = log_miss(answer.most, self.search.log_delta)
        proof = _Proof(answer, x) if answer.most.at_most(self.search.target) else None
        return Trial(proof, miss, inf if self.search.is_dear(x) else WORTH)


class _Violated(_Side):
    """Delta is proved not to suffice, whatever bounds the answer from above."""

    above = False

    def _asked(self, x: float) -> Trial[_Proof]:
        answer = self.search.answer(x, False)
        miss = -log_miss(answer.least, self.search.log_delta)
        return Trial(_Proof(answer, x) if answer.least.exceeds(self.search.target) else None, miss, WORTH)


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
    found = _crossing(miss, least, most, exp(z), _FIRST_STEP, max(accuracy, 0.5 * grain * exp(-z)))
    aside = found * exp(-_CLOSE if found > least else _CLOSE)
    return found, abs(miss(found) - miss(aside)) / _CLOSE


def _crossing(
    miss: Callable[[float], float], least: float, most: float, start: float, step: float, accuracy: float
) -> float:
    """Return where an increasing function of log x is about 0 between two positive numbers; the nearer end if nowhere.

    Floats: what is found is certified afterwards.
    """
    x = min(max(start, least), most)

    at = cache(lambda z: miss(exp(z)))
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
    return exp(_between(miss, (low, at(low)), (high, at(high)), accuracy))


def _between(
    miss: Callable[[float], float], start: tuple[float, float], end: tuple[float, float], accuracy: float
) -> float:
    """Return the logarithm of a root between two of which the values are known, one of either sign."""
    known = dict((start, end))
    at = cache(lambda z: known[z] if z in known else miss(exp(z)))
    return root_between(at, *sorted(known), xtol=accuracy, rtol=1e-12)
