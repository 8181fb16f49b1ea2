"""Inverse questions: the largest local budget, the least number of users or the most rounds for a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from os import PathLike
from typing import Any, Protocol

import sympy as sp

from symamp.accounting.composition import Composition
from symamp.accounting.coordinates import COORDINATES, MESSAGES, CoordinateSums, coordinate_sums, is_by_coordinates
from symamp.accounting.losses import gaussian_log_delta
from symamp.accounting.pairs import LARGEST_ROUNDS, round_count
from symamp.accounting.privacy_profile import Profile
from symamp.bounds.registry import by_default
from symamp.bounds.subject import Subject
from symamp.decompositions.to_law import log_above
from symamp.errors import ArgumentError, ContradictionError, Problem, checked_call, shown
from symamp.formulas.order import sign
from symamp.numbers.dyadic import Dyadic, decimal_end
from symamp.numbers.limits import EFFORTS
from symamp.numbers.reading import LARGEST_N, Count, Real, exact_number, users
from symamp.numbers.surroundings import undisturbed
from symamp.questions.answer import WIDE, Answer
from symamp.questions.backwards import Goal, Proof, Range, guessed, proofs
from symamp.questions.bracket import Interval, TwoEnds, json_number, write_csv
from symamp.settings.participation import Participation, checked_participation
from symamp.settings.question import Question, checked_subject
from symamp.settings.users_who_differ import HeterogeneousUsers
from symamp.sums.inversion import LARGEST_EPS

# --- The answer to a question asked backwards: a bracket of eps0, n or rounds, with the two answers that prove its ends


def asked_for(asked: Iterable[tuple[str, str]]) -> str:
    """Return the question as a text, whole numbers with their thousands."""
    return ", ".join(f"{k} = {int(v):,}" if v.isdecimal() else f"{k} = {v}" for k, v in asked)


_NAMED = {"eps0": "largest", "n": "least", "rounds": "most"}
"""What is sought of each quantity."""
_BOUNDS_APART = "the bounds behind both ends are apart; ask for epsilon at an end: its text says why"


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

    @property
    def caution(self) -> str:
        """A warning that upper/lower exceeds 1.1, with the reason and the remedy; "" if it does not.

        No warning is given where an end is 0 or inf, nor for whole numbers that are neighbours. It is part of the text.

        >>> import symamp as sa
        >>> weekly = {"eps": 1, "delta": "1e-8", "rounds": 30, "rate": "1/10"}
        >>> print(sa.least_n(sa.RandomizedResponse(k=2, eps0=4), **weekly).caution)
        WIDE: upper/lower = 1.84: the bounds behind both ends are apart; ask for epsilon at an end: its text says why
        """
        neighbours = self.quantity != "eps0" and self.upper <= self.lower + 1
        if neighbours or not WIDE * self.lower < self.upper < inf or self.lower == 0:
            return ""
        capped = any(x is not None and x.limited for x in (self.private, self.not_private))
        why = "the search is capped; more effort leaves less open" if capped else _BOUNDS_APART
        return f"WIDE: upper/lower = {self.upper / self.lower:.3g}: {why}"

    def to_dict(self) -> dict[str, Any]:
        """Return the bracket for machines: numbers and texts only, infinities as "inf"."""
        return {
            "quantity": self.quantity,
            "mechanism": self.subject,
            **dict(self.asked),
            **{name: json_number(getattr(self, name)) for name in ("lower", "upper", "safe")},
            "monotone": self.monotone,
            "caution": self.caution,
            "private": None if self.private is None else self.private.to_dict(),
            "not_private": None if self.not_private is None else self.not_private.to_dict(),
        }

    def __str__(self) -> str:
        given = asked_for(self.asked)
        ends = (self.lower, True), (self.upper, False)
        low, high = (f"{x:,}" if isinstance(x, int) else decimal_end(x, 10, down=down) for x, down in ends)
        what, safe = f"{_NAMED[self.quantity]} {self.quantity}", high if self.quantity == "n" else low
        private = f"private at {safe if self.monotone else repr(self.safe)}"
        private += "" if self.monotone else "; monotonicity is not proved"
        if self.upper == inf:
            private = "none is proved to be enough" if self.safe == inf else f"{private}; larger ones are not looked at"
        told = "; ".join(x for x in (private, self.caution) if x)
        return f"{what} in [{low}, {high}]  ({self.subject}, {given}; {told})"

    def to_csv(self, file: str | PathLike[str]) -> None:
        """Write one line: what was asked, both ends, and the safe one."""
        kept = {k: v for k, v in self.to_dict().items() if k not in ("private", "not_private")}
        write_csv(file, list(kept), [list(kept.values())])


# ----- The questions asked backwards: how large a local budget, how few users, how many rounds, for a central guarantee

_LEAST_EPS0 = 1e-9
"""The least local budget that is tried."""
_FIRST_USERS = 1e6
"""How many users a search begins with: few take longer to evaluate."""
_ACCURACY, _SLOW_ACCURACY, _OF_GAP, _SHARE = 1e-3, 1e-2, 0.5, 0.025
"""How near ends of many rounds are sought, relatively: usually, where points cost much, in units of the width of a
round, and in parts of the bracket."""
_WIDTH, _WIDEST, _DELTA_GAP = 4.0, 3e-2, 1e-2
"""The width of eps in units of the usual accuracy, and the largest; and the width of delta that sums aim at."""
_SLOW_WIDTHS = {"quick": 4e-2, "default": 8e-2, "thorough": 3e-2}
"""The width of eps of bounds that cost much at each point: with that of "default" 2 % fewer rounds are proved than with
that of "thorough", and in two thirds of the time."""
_CLIFF, _COARSE, _LIKE_NORMAL = 0.4, 0.1, 0.15
"""How near a place to begin is sought by the normal law where the bound changes; and the width of eps of estimates that
find one, where rare losses make the logarithm of delta differ from that of the normal law by more than this part."""
_APART = 2.0
"""How far apart, in places, ends are expected, in units of the width of eps, or of half the width of a round: eps grows
as the root of n or of rounds, and with half of eps0."""
_SHARE_OF_ONE, _STRAIGHT = 0.05, 1.5
"""How near ends of one round are sought, in parts of the bracket: some bounds take more than a second. And by which
factor a slope may differ from that of normal losses."""
_FEWER_USERS = "the report of one more user can be added to the shuffled reports without knowing whose they are"
_FEWER_DRAWN = "at the same rate more users who are drawn hide the same reports"
_FEWER_ROUNDS = "the outputs of fewer rounds are among those of more"


@checked_call
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
    and ``view`` (what is seen) are those of ``symamp.delta``. If the bounds of a round are slow (Laplace noise), the
    search over many rounds takes each answer with one step less effort: ``effort="thorough"`` leaves less open.
    ``upper`` is inf where even the largest eps0 that is evaluated, about 300, is private: as for users who differ if
    groups with budgets of their own hide the others, whatever these report.

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
    return largest_near(
        None, family, n, Goal.of(eps, delta, effort), Fixed.of(method, participation, rounds, sampled_from, view)
    )


@undisturbed()
def largest_near(start: float | None, family: Any, n: Count | None, goal: Goal, fixed: Fixed) -> Inverse:
    """Return the largest eps0; the search begins at ``start``, the one of a similar family."""
    member = members(family)
    count = fixed.count(n, member(1))

    def subject(x: object) -> Any:
        return fixed.seen(member(x))

    # A default report has the same law for all eps0.
    taking = fixed.participation
    reason = None if taking is not None and taking.runs else family.degradation()
    floor_ = _private_unshuffled(subject, goal.at.given / fixed.rounds)
    most = _largest_evaluated(family)
    if floor_ >= most:
        raise ArgumentError("eps", goal.at.written, f"a number below {LARGEST_EPS * fixed.rounds:g}")
    least = max(floor_, _LEAST_EPS0)
    begin = min(max(2.0 * least, 1.0) if start is None else max(start, least), most)
    numbers = Range(least, most, True, begin, share=_SHARE_OF_ONE, is_budget=True, near=start is not None)
    private, violated = fixed.proofs(goal, numbers, subject, lambda _: count)
    lower, safe = (floor_, None) if private is None else (private.x, private.answer)
    upper, unsafe = (inf, None) if violated is None else (violated.x, violated.answer)
    asked = (*_users(n), *goal.shown, *fixed.shown)
    return Inverse("eps0", _named(family, taking), asked, lower, upper, safe, unsafe, reason)


def members(family: Any) -> Callable[[object], Any]:
    """Return the mechanism of each eps0. Raise ArgumentError unless that is the only parameter that is free."""
    free = [p.name for p in getattr(family, "parameters", ())]
    if isinstance(family, type) or not hasattr(family, "at") or free != ["eps0"]:
        given = f"{family.__name__} is a class" if isinstance(family, type) else shown(family)
        given = given if isinstance(family, type) else f"{given} has {', '.join(free) or 'no parameter'} free"
        accepted = "give a number for each parameter but eps0: sa.RandomizedResponse(k=10), --k 10, or krr:k=10"
        accepted = accepted if free else "leave eps0 out, as in sa.RandomizedResponse(k=10): it is searched for"
        raise ArgumentError("family", Problem(given), accepted)
    return lambda x: family.at(eps0=x)


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
    least n in [1,000,..., 1,000,...]  (RandomizedResponse(k=10, eps0=1), eps = 0.0027292, delta = 1e-8; private at ...)
    >>> daily = sa.least_n(sa.RandomizedResponse(k=10, eps0=1), eps="0.01", delta="1e-6", rounds=30, rate="1/10")
    >>> 14_000 < daily.lower < daily.upper < 14_500
    True
    """
    goal = Goal.of(eps, delta, effort)
    fixed = Fixed.of(method, participation, rounds, None, view, rate)
    taking = fixed.participation
    if taking is not None and isinstance(taking.batches, int | tuple):
        raise ArgumentError("batches", Problem("they say how many users there are"), "leave them out")
    # All colluders are known: what is sought is the number of the others.
    whole: Callable[[int], int] = (lambda m: m) if taking is None else taking.total
    largest = float(LARGEST_N // (fixed.per_user or 1))
    if isinstance(mechanism, HeterogeneousUsers):
        each = fixed.count(None, mechanism)
        crowd = mechanism.seen(taking)
        whole, largest = lambda copies: copies * each, float(LARGEST_N // each)
        subject: Callable[[float], Any] = lambda x: crowd.copies(round(x))  # noqa: E731
    else:
        one = Question.of(mechanism, whole(1), method, participation=participation).subject
        subject = lambda _: one  # noqa: E731
    begin = max(_FIRST_USERS // whole(1), 1.0)
    numbers = Range(1.0, largest, False, min(begin, largest), share=_SHARE_OF_ONE, grain=1.0)
    asked, named = (*goal.shown, *fixed.shown), _named(mechanism, taking)
    reason = _FEWER_USERS if fixed.per_user is None else _FEWER_DRAWN
    private, violated = fixed.proofs(goal, numbers, subject, round)
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

    ``lower`` is 0 if not even one is proved to be private, ``upper`` inf if 10**6 are; more are not looked at. If the
    bounds of a round are slow (Laplace noise), ``effort="thorough"`` finds some 2 % more rounds.

    Guarantee
    ---------
    So many rounds as ``lower``, and fewer, are (eps, delta)-private together; more than ``upper`` are not.
    Proof: docs/proofs/inverse_questions.md.

    >>> import symamp as sa
    >>> print(sa.most_rounds(sa.RandomizedResponse(k=16, eps0=6), n=10**6, eps=1, delta="1e-8"))
    most rounds in [49, 49]  (RandomizedResponse(k=16, eps0=6), n = 1,000,000, eps = 1, delta = 1e-8; private at 49)
    """
    goal = Goal.of(eps, delta, effort)
    given: tuple[tuple[str, str], ...] = ()
    repeat: Any = getattr(mechanism, "rounds", None)  # the rounds of a composition; an answer has a number of them
    if callable(repeat) or isinstance(mechanism, Composition):
        if (n, sampled_from, method, participation) != (None, None, None, None):
            told = Problem(
                f"a {type(mechanism).__name__} already says who takes part in its rounds, and how they are analysed"
            )
            raise ArgumentError("mechanism", told, "leave out n, sampled_from, method and participation")
        one: Composition = mechanism if isinstance(mechanism, Composition) else repeat(1)
        named = str(mechanism) if isinstance(mechanism, Composition) else str(one).removeprefix("1 x ").strip("()")
    else:
        fixed = Fixed.of(method, participation, 1, sampled_from, view)
        count = fixed.count(n, mechanism)
        one = fixed.composition(fixed.seen(mechanism), count)
        given, named = (*_users(n), *fixed.shown), _named(mechanism, fixed.participation)

    places: dict[Any, tuple[float, float]] = {}

    def many(x: float) -> Composition:
        return one.repeated(round(x), places)

    numbers = Range(1.0, float(LARGEST_ROUNDS // one.count), True, 1.0, grain=1.0)
    private, violated = of_rounds(goal, numbers, many, is_known=True)
    lower, safe = (0, None) if private is None else (round(private.x), private.answer)
    upper, unsafe = (inf, None) if violated is None else (round(violated.x) - 1, violated.answer)
    return Inverse("rounds", named, (*given, *goal.shown), lower, upper, safe, unsafe, _FEWER_ROUNDS)


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
        return n * (1.0 if self.participation is None else float(self.participation.present))

    def seen(self, subject: Any) -> Any:
        """Return the subject, seen through who takes part."""
        if isinstance(subject, HeterogeneousUsers):
            return subject.seen(self.participation)
        return subject if self.participation is None else self.participation.subject(subject)

    def proofs(
        self, goal: Goal, numbers: Range, subject: Callable[[float], Any], count: Callable[[float], int]
    ) -> tuple[Proof | None, Proof | None]:
        """Return what proves that so many users that count, of a subject, meet the goal, and that they miss it."""
        if not self.is_one_round:
            first = None if self.by_coordinates else self._profile(subject(numbers.start), count(numbers.start))
            return of_rounds(goal, numbers, cache(lambda x: self.whole(subject(x), count(x), first)))

        def profile(x: float, above: bool) -> Profile:
            about = subject(x)
            if isinstance(about, HeterogeneousUsers):
                return Profile(Question.of_users(about))
            # Whatever bounds it from above will do where the lower end is wanted.
            method = self.method if above else next(by_default(about)).name
            return Profile(Question.of(about, count(x), method))

        return proofs(
            goal,
            numbers,
            lambda x, above, _: profile(x, above).answer(goal.at),
            lambda above, x: profile(x, above).log_estimate_above(goal.at),
            (True,),
        )

    def whole(self, subject: Any, count: int, like: Profile | None = None) -> Composition | CoordinateSums:
        """Return the rounds of so many users that count; of one round by coordinates the view itself.

        What was derived of rounds ``like`` these, of the same subject, serves them, too.
        """
        is_one = self.by_coordinates and self.rounds == 1
        return coordinate_sums(subject, count) if is_one else self.composition(subject, count, like)

    def composition(self, subject: Any, count: int, like: Profile | None = None) -> Composition:
        """Return the rounds of so many users that count."""
        if self.by_coordinates:
            return coordinate_sums(subject, count).rounds(self.rounds)
        alike = None if like is None or like.subject is not subject else like
        one = alike.of_users(count) if alike else self._profile(subject, count)
        people = self.people if self.per_user is None else count * self.per_user
        drawn = one if people is None else one.sampled(n=count, of=people)
        return drawn.rounds(self.rounds)

    def _profile(self, subject: Any, count: int) -> Profile:
        is_crowd = isinstance(subject, HeterogeneousUsers)
        return Profile(Question.of_users(subject) if is_crowd else Question.of(subject, count, self.method))


def of_rounds(
    goal: Goal,
    numbers: Range,
    whole: Callable[[float], Composition | CoordinateSums],
    *,
    is_known: bool = False,
    sides: tuple[bool, ...] = (False, True),
) -> tuple[Proof | None, Proof | None]:
    """Return what proves that rounds meet the goal, and that they miss it; the normal law says where to begin.

    Only the ``sides`` are sought: False is the lower end of delta, which misses it.

    Where points cost much, are not estimated, and not all x have one and the same round (``is_known``), each answer has
    one step less effort.
    """
    value = float(sp.N(goal.at.given, 17))
    efforts = list(EFFORTS)
    less = efforts[max(efforts.index(goal.at.effort) - (not is_known), 0)]

    def effort_of(found: Composition, above: bool) -> str:
        return less if above and found.is_slow and True not in told else goal.at.effort

    def asked(found: Composition, above: bool, accuracy: float) -> float:
        aimed = accuracy if above or slow else min(accuracy, _ACCURACY)  # points below take little
        least = _SLOW_WIDTHS[effort_of(found, above)] if above and found.is_slow else min(_WIDTH * aimed, _WIDEST)
        return max(least, *(one.gap if above else one.gap_below for one, _ in found.rounds))

    def ask(x: float, above: bool, accuracy: float) -> Answer:
        found = whole(x)
        if isinstance(found, CoordinateSums):
            return found.delta(goal.at.written, gap=_WIDEST, effort=goal.at.effort)
        query = replace(goal.at.to_gap(_DELTA_GAP), effort=effort_of(found, above))
        return found.delta_of(query, asked(found, above, accuracy), (above,))

    def estimate(above: bool, x: float, width: float | None = None) -> float:
        found = whole(x)
        assert isinstance(found, Composition)
        return found.log_estimate(goal.at.to_gap(_DELTA_GAP), width or asked(found, above, usual), above)

    looked_at, told = list[float](), list[bool]()

    def roughly(x: float) -> float:
        looked_at.append(x)
        found = whole(x)
        if isinstance(found, Composition) and not numbers.is_budget:  # all share what tells of mu
            return gaussian_log_delta(found.mu, value)
        return gaussian_log_delta(found.rough_mu, value)

    begun = numbers if numbers.near else guessed(goal, replace(numbers, accuracy=_CLIFF), roughly)
    slope = begun.slope if 1.0 / _STRAIGHT < begun.slope < _STRAIGHT else 1.0  # others come from jumps between bounds
    begun = replace(begun, slope=slope)

    @cache
    def coarse(x: float) -> float:
        looked_at.append(x)
        return estimate(False, x, _COARSE)

    if _is_estimated(whole(begun.start), False) and not goal.is_near(coarse(begun.start), _LIKE_NORMAL):
        begun = guessed(goal, begun, coarse)
    near = (*looked_at[1:], begun.start)  # slow bounds may be of use on one side of it only
    slow = not is_known and any(getattr(whole(x), "is_slow", False) for x in near)
    first = whole(begun.start)
    gaps = [one.gap for one, _ in first.rounds] if isinstance(first, Composition) and not is_known else []
    usual = _SLOW_ACCURACY if slow else max((_ACCURACY, *(_OF_GAP * x for x in gaps)))
    apart = max((_APART * min(_WIDTH * usual, _WIDEST), *(2.0 * _APART * x for x in gaps)))
    numbers = replace(begun, accuracy=usual, share=_SHARE, apart=apart)
    is_end = begun.start in (numbers.least, numbers.most)  # a goal that is missed, or met, by all numbers
    alike = slow == all(getattr(whole(x), "is_slow", False) for x in near)  # estimates jump where the bound changes
    # Of one and the same round all answers share their points: an estimate would only be one more.
    told = [up for up in sides if not is_known and not is_end and _is_estimated(first, up) and (alike or not up)]
    return proofs(goal, numbers, ask, estimate, told, sides)


def _is_estimated(found: Composition | CoordinateSums, above: bool) -> bool:
    return isinstance(found, Composition) and found.is_estimated(above)


def _users(n: Count | None) -> tuple[tuple[str, str], ...]:
    return () if n is None else (("n", str(users(n))),)


def _named(subject: object, taking: Participation | None) -> str:
    return repr(subject) if taking in (None, Participation()) else f"{subject!r}, {taking!r}"


def _private_unshuffled(subject: Callable[[object], Subject], eps: sp.Expr) -> float:
    """Return an eps0 at which the largest ratio between compared inputs is at most e^eps: 0 if none is proved.

    The parameter of a family is the logarithm of that ratio, or a part of it, as for several reports at once.
    """
    alone = log_above(subject(1).compared_ratio())
    found = min(float(sp.N(eps, 17)) / max(alone, 1.0) * (1.0 - 1e-15), LARGEST_EPS)
    proved = found > 0.0 and sign(eps - sp.Rational(log_above(subject(found).compared_ratio()))) >= 0
    return found if proved else 0.0


def _largest_evaluated(family: Any) -> float:
    """Return the eps0 up to which the budget of any two inputs, which may be several eps0, can be evaluated."""
    alone = log_above(family.at(eps0=1).local_ratio())
    return LARGEST_EPS / max(alone, 1.0) * (1.0 - 1e-15) if 1.0 < alone < inf else LARGEST_EPS
