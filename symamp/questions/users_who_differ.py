"""Answers about users who differ: a certified bracket for each group of victims, and the worst of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log10, nextafter
from typing import Any, Protocol

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.bound import DataSets
from symamp.certificates.evidence import evaluation
from symamp.certificates.text import At
from symamp.certificates.users_who_differ import (
    GroupsClaim,
    GroupsEvidence,
    Piece,
    Users,
    certificate,
    hidden_users,
    steps,
)
from symamp.certificates.users_who_differ import positions_above as all_positions
from symamp.certificates.users_who_differ import positions_below as held_positions
from symamp.decompositions.to_law import log_above
from symamp.errors import ArgumentError, ContradictionError
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic, float_above, float_below
from symamp.numbers.rationals import ball_of
from symamp.numbers.reading import sign_of_constant
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.randomizers.mechanism import DATA
from symamp.settings.question import Query, Question
from symamp.settings.users_who_differ import (
    HeterogeneousUsers,
    Positions,
    StepTest,
    Victim,
    mean_of_counts,
    positions_above,
    positions_below,
    victims,
)
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.groups import Group, approximate_log_groups, enclose_groups, estimate_log_groups
from symamp.sums.inversion import LARGEST_EPS, estimate_root, log_of

# ---------------------------------------------------- Evaluations for users who differ, with what repeats them, as data

BITS = 192
"""The precision of what is done besides the sums."""


@dataclass(frozen=True)
class Found:
    """One evaluation: a ball of which one end is a bound, the data set, and what repeats it, as data."""

    value: arb
    name: DataSets | None = None
    precision: int = BITS
    evidence: Piece = field(default=lambda _: {}, repr=False)


# ------------------------------------ One victim among users who differ: the bound from above, and data sets from below

_STEPS, _FAR_OFF = 40, 27.0
_MANY = 10**6
"""Tells the search for a root that there are many users: then it starts from saddle points."""
_ROUGH = Settings(gap=1e-3)
_ACCURACY = 0.01
"""The part of the gap to which a root is sought: what is certified is farther from it, and estimates have noise."""

Side = Callable[[Level], tuple[list[Group], Callable[[], arb], Callable[[], arb]]]
"""At a level: groups, what E[S_+] is divided by, and what is added."""


class _Below(Protocol):
    """Data sets whose divergence is known: what they prove of delta, and of eps."""

    def found(self, level: Level, settings: Settings) -> Found:
        """Return a ball whose lower end is at most the largest divergence found, and where."""

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return an estimate of the eps at which it is delta."""


@dataclass(frozen=True)
class TargetPair:
    """One victim and pair of inputs: the bound from above, and data sets from below."""

    above: Side
    below: _Below
    top: float
    described: Callable[[Users, dict[str, Any]], dict[str, Any]]
    name: str
    counted: Callable[[Level], arb | None] = lambda _: None

    def delta(self, level: Level, settings: Settings) -> tuple[float, float, DataSets | None]:
        """Return (upper, lower, data set)."""
        low = self.below.found(level, settings)
        return float_above(self.most(level, settings).value), max(float_below(low.value), 0.0), low.name

    def epsilon(self, target: fmpq, settings: Settings, least: float) -> tuple[float, float, DataSets | None]:
        """Return (upper, lower, data set); a party that is private at ``least`` has no larger upper end."""
        upper = least if least > 0.0 and self.is_private(least, target, settings) else self._upper(target, settings)
        return upper, *self._lower(target, upper, settings)

    def _upper(self, target: fmpq, settings: Settings) -> float:
        if self.is_private(0.0, target, _ROUGH):
            return 0.0
        shift = 0.05 * settings.gap
        guess = _guess(self.above, log_of(target), settings, self.top, counted=self.counted)
        for _ in range(_STEPS):
            eps = min(nextafter(guess * (1.0 + shift), inf), self.top)
            if eps >= self.top or self.is_private(eps, target, settings):
                return eps
            shift *= 3.0
        return self.top

    def is_private(self, eps: float, target: fmpq, settings: Settings) -> bool:
        """Return whether the divergence at a double is proved to be at most delta."""
        return bool(self.most(Level.of_float(eps), settings).value <= ball_of(target))

    def most(self, level: Level, settings: Settings) -> Found:
        """Return a number that is at least the divergence."""
        with at_precision(BITS):
            mean = self.counted(level)
            if mean is not None:
                told: dict[str, Any] = {"evaluator": "mean over counts", "plan": None}
                return Found(mean.upper(), evidence=lambda users: self.described(users, told))
        groups, divisor, rest = self.above(level)
        found = enclose_groups(groups, settings) if groups else Enclosure(arb(0), arb(0), "no positive value", BITS)
        with at_precision(BITS):
            value = (found.upper.upper() / divisor() + rest()).upper()
        return Found(value, precision=found.precision, evidence=lambda users: self.described(users, evaluation(found)))

    def _lower(self, target: fmpq, upper: float, settings: Settings) -> tuple[float, DataSets | None]:
        """Return an eps below the guess at which some data set is certified to have more than delta."""
        guess = self.below.guess(log_of(target), settings, upper) if upper else 0.0
        if guess >= upper > 0.0:  # a root next to the upper end: nothing may be proved there
            above = self.below.found(Level.of_float(upper), settings)
            if above.value > ball_of(target):
                told = f"eps <= {upper!r} and eps > {upper!r}"
                raise ContradictionError(f"{self.name}, delta = {target}", told, f"{above.name}")
            guess = upper
        shift = 0.05 * settings.gap
        while guess > 0.0 and shift < 1.0:
            eps = nextafter(guess * (1.0 - shift), -inf)
            low = self.below.found(Level.of_float(eps), settings)
            if low.value > ball_of(target):
                return eps, low.name
            # Where half is missing a kernel says little, and nothing that is near will do.
            shift *= 3.0 if 2 * low.value > ball_of(target) else _FAR_OFF
        return 0.0, None


def _guess(
    side: Side,
    log_delta: float,
    settings: Settings,
    top: float,
    start: float | None = None,
    counted: Callable[[Level], arb | None] = lambda _: None,
) -> float:
    """Return an estimate of the eps at which a side, or the mean over counts where there is one, is delta."""

    kernel_tells = True

    def sharp(groups: list[Group]) -> float:
        nonlocal kernel_tells
        found = estimate_log_groups(groups, settings) if kernel_tells else None
        # One kind of estimate for all that follow: a search would run after the difference.
        kernel_tells = found is not None
        return approximate_log_groups(groups) if found is None else found

    def log_at(eps: float, estimate: Callable[[list[Group]], float]) -> float:
        level = Level.of_float(max(eps, 0.0))
        groups, divisor, rest = side(level)
        with at_precision(BITS):
            mean = counted(level)
            if mean is not None:
                return float(mean.mid().log()) if mean.mid() > 0 else -inf
            alone, by = rest(), divisor()
            value = estimate(groups) if groups else -inf
            whole = (arb(value).exp() / by if value > -1e300 else arb(0)) + alone
            return float(whole.mid().log()) if whole.mid() > 0 else -inf

    return estimate_root(
        lambda eps: log_at(eps, sharp),
        lambda eps: log_at(eps, approximate_log_groups),
        _MANY,
        log_delta,
        settings,
        top if start is None else 2.0 * top,
        None if start is None else start,
        _ACCURACY * settings.gap,
    )


@dataclass(frozen=True)
class _Positions:
    """Data shuffled: data sets whose divergence is a sum over positions."""

    n: int
    known: tuple[tuple[DataSets, Positions], ...]

    def found(self, level: Level, settings: Settings) -> Found:
        """Return the divergence of the data sets that are the worst."""
        if not self.known:
            return Found(arb(0))
        name, positions = self._worst(level)
        found = enclose_groups(positions(level), settings)
        return Found(found.lower / self.n, name, found.precision, lambda users: held_positions(users, name, found))

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return the root for the data sets that are the worst at ``top``."""
        if not self.known:
            return 0.0
        positions = self._worst(Level.of_float(nextafter(top, 0.0)))[1]
        return _guess(self._side(positions), log_delta, settings, top, top)

    def _worst(self, level: Level) -> tuple[DataSets, Positions]:
        return max(self.known, key=lambda found: approximate_log_groups(found[1](level)))

    def _side(self, positions: Positions) -> Side:
        return lambda level: (positions(level), lambda: arb(self.n), lambda: arb(0))


@dataclass(frozen=True)
class _Thresholds:
    """Messages shuffled: a threshold for the sum of signs of messages when all others hold one input."""

    victim: Victim

    def found(self, level: Level, settings: Settings) -> Found:
        """Return the divergence of the best test."""
        best = max(self._tests(level), key=lambda test: test.walk.log_estimate(level), default=None)
        plan = None if best is None else best.walk.plan(level)
        if best is None or plan is None:
            return Found(arb(0))
        return Found(best.walk.below(level), best.name, plan.bits, lambda users: steps(users, self.victim, best, plan))

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return the root by bisection, in doubles, for the data set and sum that are worst near ``top``."""
        level = Level.of_float(0.9 * top)
        scores = [test.walk.log_estimate(level) for test in self._tests(level)]
        best = max(range(len(scores)), key=scores.__getitem__, default=0)

        def above(eps: float) -> bool:
            level = Level.of_float(eps)
            tests = self._tests(level)
            return bool(tests) and tests[min(best, len(tests) - 1)].walk.log_estimate(level) > log_delta

        low, high = 0.9 * top, top
        if not above(low):
            low, high = 0.0, low
        if low == 0.0 and not above(low):
            return 0.0
        close = max(min(1e-7, 0.05 * settings.gap), 1e-15)
        while high - low > close * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if above(middle) else (low, middle)
        return low

    def _tests(self, level: Level) -> list[StepTest]:
        with at_precision(BITS):
            return list(self.victim.tests(level))


def parties(crowd: HeterogeneousUsers, wanted: Sequence[int]) -> dict[int, list[TargetPair]]:
    """Return the victims of these groups, with every pair of inputs; one for all where data are shuffled."""
    if crowd.shuffled == DATA:
        top = max(log_above(subject.local_ratio()) for _, subject in crowd.groups)
        return {wanted[0]: [_data_party(crowd, top)]}
    found: dict[int, list[TargetPair]] = {i: [] for i in wanted}
    for v in victims(crowd):
        if v.group in found:
            found[v.group].append(_message_party(v, log_above(crowd.groups[v.group][1].local_ratio())))
    return found


def _data_party(crowd: HeterogeneousUsers, top: float) -> TargetPair:
    positions, n = positions_above(crowd), crowd.n
    below = _Positions(n, tuple(positions_below(crowd)))

    def above(level: Level) -> tuple[list[Group], Callable[[], arb], Callable[[], arb]]:
        return positions(level), lambda: arb(n), lambda: arb(0)

    return TargetPair(above, below, top, lambda users, how: all_positions(users, positions, how), f"{crowd!r}")


def _message_party(v: Victim, top: float) -> TargetPair:
    def described(users: Users, how: dict[str, Any]) -> dict[str, Any]:
        return hidden_users(users, v, how)

    name, counted = f"{v.crowd!r}, victim {v.group}, {v.pair}", lambda level: mean_of_counts(v, level)
    return TargetPair(lambda level: v.sides(level, True), _Thresholds(v), top, described, name, counted)


# ----------------- Answers about users who differ: a certified bracket for each group of victims, and the worst of them

SOURCES = {
    DATA: "Theorem C (docs/proofs/users_who_differ.md)",
    "messages": "Theorem D (docs/proofs/users_who_differ.md)",
}


@dataclass(frozen=True, repr=False)
class HeterogeneousAnswer(Answer):
    """A certified bracket for users who differ: private at ``upper``, provably not below ``lower``.

    ``victims`` has the bracket of every group of victims that was asked about. There is no triple behind it.

    >>> import symamp as sa
    >>> crowd = sa.heterogeneous([(30, sa.RandomizedResponse(k=2, eps0=1)), (20, sa.RandomizedResponse(k=2, eps0=2))],
    ...                          shuffled="messages")
    >>> answer = sa.epsilon(crowd, delta="1e-3")
    >>> sorted(answer.victims), answer.victims[1] == (answer.lower, answer.upper)
    ([0, 1], True)
    """

    groups: tuple[tuple[int, float, float], ...] = ()
    attained: DataSets | None = None
    aimed: float = 1e-6

    def __post_init__(self) -> None:
        """Raise ContradictionError for ends that cross, of any group of victims."""
        super().__post_init__()
        for group, low, high in self.groups:
            if not 0.0 <= low <= high:
                victim = self.crowd.numbers[group]
                raise ContradictionError(f"{self.asked_about}, victim {victim}", f"[{low!r}, {high!r}]")

    @property
    def crowd(self) -> HeterogeneousUsers:
        """The users."""
        found: HeterogeneousUsers = self.question.subject
        return found

    @property
    def victims(self) -> dict[int, tuple[float, float]]:
        """The bracket of every group of victims, by number; where data are shuffled all users have the same."""
        return {self.crowd.numbers[group]: (low, high) for group, low, high in self.groups}

    @property
    def dataset(self) -> DataSets | None:
        """The data sets that attain the lower end."""
        return self.attained

    @property
    def method(self) -> str:
        """What is shuffled, which decides the theorem."""
        return f"{self.crowd.shuffled} shuffled"

    @property
    def digits_limited_by(self) -> str:
        """What keeps ``digits`` from being more, in words."""
        return "for users who differ only the bracket is known of the bound, whose ends come from different data sets"

    @property
    def gap_limited_by(self) -> str:
        """What keeps the ends apart by more than a percent, in words; "" where nothing does."""
        return "" if self.gap < 0.01 else self.digits_limited_by

    @property
    def source(self) -> str:
        """Where the upper bound is stated."""
        return SOURCES[self.crowd.shuffled]

    @property
    def parameters(self) -> dict[str, Any]:
        """What is shuffled, and which groups of victims were asked about."""
        return {"shuffled": self.crowd.shuffled, "groups": [group for group, _, _ in self.groups]}

    @undisturbed()
    def certificate(self) -> dict[str, Any]:
        """Return the certificate of the bracket as JSON-ready data (docs/certificates.md); ``verify`` has accepted it.

        Raises PrecisionError if no precision suffices for that.

        >>> import symamp as sa
        >>> crowd = sa.heterogeneous([(3, sa.PureLDP(eps0=1)), (2, sa.PureLDP(eps0=2))], shuffled="data")
        >>> sa.delta(crowd, eps="1/2").certificate()["settings"][0]["groups"][0]["mechanism"]
        {'kind': 'budget', 'ratio': 'E'}
        """
        victims, settings = tuple(group for group, _, _ in self.groups), Settings(gap=self.aimed)
        is_epsilon, given = self.quantity == "epsilon", self.asked.given
        low, high = (
            At.of(sp.Rational(x) if is_epsilon else given) for x in (self.lower, self.upper)
        )  # doubles are exact
        assert low.level is not None
        assert high.level is not None
        claim = GroupsClaim(self.quantity, given, self.lower, self.upper, victims, low, high)
        everybody = [party for found in parties(self.crowd, victims).values() for party in found]
        above, below = [], list[Found]()
        if is_epsilon or self.upper < 1.0:
            above = [party.most(high.level, settings) for party in everybody]
        if self.lower > 0.0:
            shown = (party.below.found(low.level, settings) for party in everybody)
            below = [max(shown, key=lambda found: float(found.value.lower()))]
        sides = ([GroupsEvidence(x.precision, x.evidence) for x in side] for side in (above, below))
        return certificate(self.crowd, claim, *sides)


_Ends = tuple[float, float, DataSets | None]
"""The upper end for a party, the lower one, and what attains it."""
_Ask = Callable[[TargetPair, Settings, float], _Ends]
"""The ends for a party, which are told the largest upper end of the group so far."""


@dataclass(frozen=True)
class HeterogeneousProfile:
    """Users who differ, all groups of victims or one: asked as the profile of one mechanism is."""

    crowd: HeterogeneousUsers
    victim: object = None

    @undisturbed()
    def epsilon(self, delta: object, *, gap: float, digits: int | None = None) -> HeterogeneousAnswer:
        """Return the bracket of the least eps for delta, over all groups of victims or for one.

        Guarantee
        ---------
        For every victim that was asked about the published outputs are (``upper``, delta)-private, and for one of them
        not (eps, delta)-private at any eps < ``lower``. Proof: docs/proofs/users_who_differ.md.
        """
        asked = Query.of_epsilon(delta, gap, digits)
        return self._answered(asked, lambda party, fit, least: party.epsilon(asked.given, fit, least), inf, gap)

    @undisturbed()
    def delta(self, eps: object, *, gap: float, digits: int | None = None) -> HeterogeneousAnswer:
        """Return the bracket of delta at eps, over all groups of victims or for one.

        Guarantee
        ---------
        For every victim that was asked about D_{e^eps} <= ``upper``, and for one of them it is >= ``lower`` for some
        data sets. Proof: docs/proofs/users_who_differ.md.
        """
        asked = Query.of_delta(eps, gap, digits)
        if sign_of_constant(asked.given - int(LARGEST_EPS)) > 0:
            raise ArgumentError("eps", eps, f"a number of at most {LARGEST_EPS:g} for users who differ")
        level = asked.level
        return self._answered(asked, lambda party, fit, _: party.delta(level, fit), 1.0, gap)

    def _answered(self, asked: Query, ends: _Ask, most: float, gap: float) -> HeterogeneousAnswer:
        """Return the answer; digits take a finer gap, but where the data sets found keep the bracket wider."""
        settings = Query.of_delta(0, gap).settings
        answer = self._answer(asked, ends, most, settings)
        missing = (asked.digits or 0) - answer.digits
        if missing > 0 and answer.digits + 1 >= -log10(settings.gap):
            settings = replace(settings, gap=settings.gap * 10.0 ** -(missing + 1))
            answer = self._answer(asked, ends, most, settings)
        return answer.checked()

    def _answer(self, asked: Query, ends: _Ask, most: float, settings: Settings) -> HeterogeneousAnswer:
        groups: list[tuple[int, float, float]] = []
        attained: dict[float, DataSets | None] = {}
        for group, found in parties(self.crowd, _wanted(self.crowd, self.victim)).items():
            upper, lower = 0.0, 0.0
            for party in found:
                high, low, data_sets = ends(party, settings, upper)
                upper, lower = max(upper, high), max(lower, low)
                attained.setdefault(low, data_sets)
            groups.append((group, lower, min(upper, most)))
        lower, upper = max(low for _, low, _ in groups), max(high for _, _, high in groups)
        least, largest, own = Dyadic.of_float(lower), Dyadic.of_float(upper), Interval(lower, upper)
        question, by = Question(self.crowd, self.crowd.n), attained.get(lower)
        aimed = settings.gap
        return HeterogeneousAnswer(question, asked, least, largest, own, groups=tuple(groups), attained=by, aimed=aimed)


def _wanted(crowd: HeterogeneousUsers, victim: object) -> tuple[int, ...]:
    """Return the places of the groups that are asked about."""
    numbers = crowd.numbers
    if victim is not None and (isinstance(victim, bool) or victim not in numbers):
        known = ", ".join(map(str, numbers))
        raise ArgumentError("victim", victim, f"the number of a group with an honest user ({known}), or None for all")
    return tuple(place for place, group in enumerate(numbers) if victim is None or group == victim)
