"""Answers about users who differ: a certified bracket for each group of victims, and the worst of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log10, nextafter
from typing import Any, Protocol

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.bound import DataSets
from symamp.bounds.proof_status import ProofStatus
from symamp.certificates.evidence import At, kernel_plan
from symamp.certificates.one_round import FORMAT, MORE_BITS
from symamp.certificates.text import exact_double, expression_text, fraction_text
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.to_law import log_above
from symamp.errors import ArgumentError, ContradictionError, PrecisionError
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic, float_above, float_below
from symamp.numbers.rationals import ball_of
from symamp.numbers.reading import budget, failure_probability, sign_of_constant
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
from symamp.sums.divergence import LATTICE, Enclosure, Settings
from symamp.sums.groups import Group, StepPlan, approximate_log_groups, enclose_groups, estimate_log_groups
from symamp.sums.inversion import LARGEST_EPS, estimate_root, log_of
from symamp.sums.tilted import Plan
from symamp.verifier import MOST_PRECISION, verify

# ---------------------------------------------------- Evaluations for users who differ, with what repeats them, as data

BITS = 192
"""The precision of what is done besides the sums."""


@dataclass(frozen=True)
class Found:
    """One evaluation: a ball of which one end is a bound, the data set, and what repeats it, as data."""

    value: arb
    name: DataSets | None = None
    precision: int = BITS
    evidence: Callable[[], dict[str, Any]] = dict


def evaluation(found: Enclosure) -> dict[str, Any]:
    """Return what repeats the sum of an enclosure, as data."""
    name = found.evaluator.partition(",")[0]
    return {"evaluator": name, "plan": kernel_plan(found.plan) if isinstance(found.plan, Plan) else None}


def positions_data(positions: Positions) -> dict[str, Any]:
    """Return the laws of positions as data."""
    laws: list[dict[str, Any]] = [
        {"components": [[expression_text(e) for e in c] for c in x.components]}
        if isinstance(x, Decomposition)
        else {"ratio": expression_text(x)}
        for x in positions.known
    ]
    return {"positions": laws}


def victim_data(v: Victim) -> dict[str, Any]:
    """Return which victim it is, and the chance that a message of another user arrives, as data."""
    return {"victim": v.group, "pair": list(v.pair), "kept": expression_text(1 - v.crowd.dropout)}


def columns_data(v: Victim) -> dict[str, Any]:
    """Return the probabilities of the messages of all groups as data."""
    return {
        "columns": [
            [
                {
                    "size": c.size,
                    "on": [expression_text(x.expr) for x in (c.on_x0, c.on_x1)],
                    "further": sorted({expression_text(x.expr) for x in c.further}),
                }
                for c in columns
            ]
            for columns in v.columns
        ]
    }


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
    described: Callable[[], dict[str, Any]]
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
                return Found(mean.upper(), evidence=lambda: self.described() | told)
        groups, divisor, rest = self.above(level)
        found = enclose_groups(groups, settings) if groups else Enclosure(arb(0), arb(0), "no positive value", BITS)
        with at_precision(BITS):
            value = (found.upper.upper() / divisor() + rest()).upper()
        return Found(value, precision=found.precision, evidence=lambda: self.described() | evaluation(found))

    def _lower(self, target: fmpq, upper: float, settings: Settings) -> tuple[float, DataSets | None]:
        """Return an eps below the guess at which some data set is certified to have more than delta."""
        guess = self.below.guess(log_of(target), settings, upper) if upper else 0.0
        if guess >= upper > 0.0:  # a root next to the upper end: nothing may be proved there
            above = self.below.found(Level.of_float(upper), settings)
            if above.value > ball_of(target):
                told = f"eps <= {upper!r} and eps > {upper!r}"
                raise ContradictionError(f"{self.described()}, delta = {target}", told, f"{above.name}")
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
        return Found(found.lower / self.n, name, found.precision, lambda: positions_data(positions) | evaluation(found))

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
        return Found(best.walk.below(level), best.name, plan.bits, lambda: self._evidence(best, plan))

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

    def _evidence(self, test: StepTest, plan: StepPlan) -> dict[str, Any]:
        v = self.victim
        own = [[expression_text(c.size * x.expr) for x in (c.on_x0, c.on_x1)] for c in v.columns[v.group]]
        return {
            **victim_data(v),
            "own": own,
            "others": [[expression_text(c.sums[test.other].expr) for c in columns] for columns in v.columns],
            "signs": [(i in test.up) - (i in test.down) for i in range(len(own))],
            "evaluator": "steps",
            "plan": {
                "threshold": plan.threshold,
                "theta": exact_double(plan.tilt),
                "N": plan.nodes,
                "last": plan.last,
            },
        }


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

    return TargetPair(above, below, top, lambda: positions_data(positions))


def _message_party(v: Victim, top: float) -> TargetPair:
    described, counted = lambda: victim_data(v) | columns_data(v), lambda level: mean_of_counts(v, level)
    return TargetPair(lambda level: v.sides(level, True), _Thresholds(v), top, described, counted)


# --- Certificates of users who differ: the claim of an answer, with all that is needed to check it without a search

VERSION = 4

Located = tuple[At, Found]
"""An evaluation, and at which eps."""


@dataclass(frozen=True)
class HeterogeneousClaim:
    """What is claimed: the quantity ("epsilon" or "delta"), what is given as text, and two ends."""

    quantity: str
    given: Mapping[str, str]
    lower: float
    upper: float
    source: str


def bracket_evidence(
    claim: HeterogeneousClaim, parties: Mapping[int, Sequence[TargetPair]], settings: Settings
) -> tuple[list[Located], list[Located]]:
    """Return what proves a bracket: above, for all victims that were asked about; below, for one of them."""
    everybody = [party for found in parties.values() for party in found]
    if claim.quantity == "epsilon":
        low, high = (At.of(sp.Rational(end)) for end in (claim.lower, claim.upper))  # doubles are exact numbers
    else:
        low = high = At.of(budget(claim.given["eps"]))
    assert low.level is not None
    assert high.level is not None
    above, below = [], list[Located]()
    if claim.quantity == "epsilon" or claim.upper < 1.0:
        above = [(high, party.most(high.level, settings)) for party in everybody]
    if claim.lower > 0.0:
        below = [largest((low, party.below.found(low.level, settings)) for party in everybody)]
    return above, below


def largest(found: Iterable[Located]) -> Located:
    """Return the evaluation with the largest lower end."""
    return max(found, key=lambda item: float(item[1].value.lower()))


def crowd_certificate(
    crowd: HeterogeneousUsers,
    claim: HeterogeneousClaim,
    groups: Iterable[int],
    above: Sequence[Located],
    below: Sequence[Located],
) -> dict[str, Any]:
    """Return the certificate of a claim about these groups of victims, with its evidence.

    The claim says whose guarantee it is: ``victims`` are the numbers of these groups.
    Raises PrecisionError if the verifier accepts it at no precision.
    """
    name, given = ("delta", failure_probability) if claim.quantity == "epsilon" else ("eps", budget)
    # Where data are shuffled, nobody's place is known: what holds for one holds for all.
    value, victims = given(claim.given[name]), sorted(range(len(crowd.groups)) if crowd.shuffled == DATA else groups)
    for more in MORE_BITS:
        data: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": f"{crowd!r}, victims of groups {', '.join(map(str, victims))}",
            "method": f"{crowd.shuffled}_shuffled",
            "proof_status": ProofStatus.PROVED.value,
            "source": claim.source,
            "claim": {
                "quantity": claim.quantity,
                "n": crowd.n,
                "victims": victims,
                "lower": exact_double(claim.lower),
                "upper": exact_double(claim.upper),
                name: fraction_text(value) if name == "delta" else At.of(value).text,
            },
            "above": [_data(crowd, at, found, more) for at, found in above],
            "below": [_data(crowd, at, found, more) for at, found in below],
        }
        verdict = verify(json.dumps(data))
        if verdict.status == "valid":
            return data
    raise PrecisionError("certificate", verdict.reason, f"a claim that can be checked within {MOST_PRECISION} bits")


def _data(crowd: HeterogeneousUsers, at: At, found: Found, more: int) -> dict[str, Any]:
    told = found.evidence()
    if told["evaluator"] == LATTICE:
        raise ArgumentError("certificate", "sums on a lattice", "an answer by enumeration or the kernel")
    return {
        "method": f"{crowd.shuffled}_shuffled",
        "proof_status": ProofStatus.PROVED.value,
        "data": "all" if found.name is None else str(found.name),
        "eps": at.text,
        "precision": min(found.precision + more, MOST_PRECISION),
        "groups": [count for count, _ in crowd.groups],
        **told,
    }


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
        >>> sa.delta(crowd, eps="1/2").certificate()["above"][0]["positions"]
        [{'ratio': 'E'}, {'ratio': 'exp(2)'}]
        """
        claim = HeterogeneousClaim(self.quantity, self.given, self.lower, self.upper, self.source)
        victims = tuple(group for group, _, _ in self.groups)
        evidence = bracket_evidence(claim, parties(self.crowd, victims), Settings(gap=self.aimed))
        return crowd_certificate(self.crowd, claim, victims, *evidence)


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
