"""Answers about users who differ: a certified bracket for each group of victims, and the worst of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, nextafter
from typing import Any, Protocol

import flint
import sympy as sp
from flint import arb, fmpq

from symamp.amplification.question import accuracy
from symamp.analyses.crowd import DATA, Crowd
from symamp.analyses.crowd_data import Positions, positions_above, positions_below
from symamp.analyses.crowd_messages import Victim, victims
from symamp.analyses.standing import Standing
from symamp.derivation.crossing import level_of, number
from symamp.errors import ArgumentError
from symamp.evaluation.divergence import Settings
from symamp.evaluation.grouped import approximate_log_groups, enclose_groups, estimate_log_groups
from symamp.evaluation.grouped_search import Group
from symamp.evaluation.inversion import LARGEST_EPS, estimate_root, log_of
from symamp.evaluation.law import Level
from symamp.evaluation.walks import Walk
from symamp.numbers.arguments import budget, failure_probability
from symamp.numbers.reading import sign_of_constant
from symamp.numbers.rounding import float_above, float_below

SOURCES = {
    DATA: "Theorem C (docs/proofs/users_who_differ.md)",
    "messages": "Theorem D (docs/proofs/users_who_differ.md)",
}
_BITS = 192
_STEPS = 40
_MANY = 10**6
"""Tells the search for a root that there are many users: then it starts from saddle points."""
_ROUGH = Settings(gap=1e-3)

Side = Callable[[Level], tuple[list[Group], Callable[[], arb], Callable[[], arb]]]
"""At a level: groups, what E[S_+] is divided by, and what is added."""


@dataclass(frozen=True)
class CrowdAnswer:
    """A certified bracket for users who differ: private at ``upper``, provably not below ``lower``.

    ``victims`` has the bracket of every group of victims that was asked about, by number; where data are shuffled all
    users have the same. ``dataset`` attains the lower end.

    >>> import symamp as sa
    >>> crowd = sa.heterogeneous([(30, sa.RandomizedResponse(k=2, eps0=1)), (20, sa.RandomizedResponse(k=2, eps0=2))],
    ...                          shuffled="messages")
    >>> answer = sa.epsilon(crowd, delta="1e-3")
    >>> sorted(answer.victims), answer.victims[1] == (answer.lower, answer.upper)
    ([0, 1], True)
    """

    crowd: Crowd = field(repr=False)
    quantity: str
    given: dict[str, str]
    lower: float
    upper: float
    victims: dict[int, tuple[float, float]] = field(repr=False)
    dataset: str | None = None

    @property
    def n(self) -> int:
        """The number of users, the victim included."""
        return self.crowd.n

    @property
    def subject(self) -> str:
        """What the question was about."""
        return repr(self.crowd)

    @property
    def standing(self) -> Standing:
        """Proved: the bracket is certified."""
        return Standing.PROVED

    @property
    def source(self) -> str:
        """Where the upper bound is stated."""
        return SOURCES[self.crowd.shuffled]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for machines: numbers and texts only."""
        return {
            "quantity": self.quantity,
            "lower": self.lower,
            "upper": self.upper,
            "victims": {str(group): list(ends) for group, ends in self.victims.items()},
            "n": self.n,
            **self.given,
            "shuffled": self.crowd.shuffled,
            "standing": self.standing.value,
            "source": self.source,
            "dataset": self.dataset,
        }

    def __str__(self) -> str:
        asked = ", ".join(f"{k} = {v}" for k, v in self.given.items())
        what = f"n = {self.n:,}, {asked}; {self.crowd.shuffled} shuffled, proved"
        return f"{self.quantity} in [{self.lower:.10g}, {self.upper:.10g}]  ({what})"


def crowd_epsilon(crowd: Crowd, delta: object, victim: object, gap: float) -> CrowdAnswer:
    """Return the bracket of the least eps for delta, over all groups of victims or for one.

    Guarantee
    ---------
    For every victim that was asked about the published outputs are (``upper``, delta)-private, and for one of them
    not (eps, delta)-private at any eps < ``lower``. Proof: docs/proofs/users_who_differ.md.
    """
    target, (settings, _) = failure_probability(delta), accuracy(gap, None)
    found: dict[int, tuple[float, float]] = {}
    names: dict[float, str] = {}
    for group, parties in _parties(crowd, victim).items():
        upper, lower = 0.0, 0.0
        for party in parties:
            high, low, name = party.epsilon(target, settings, upper)
            upper, lower = max(upper, high), max(lower, low)
            names.setdefault(low, name)
        found[group] = (min(lower, upper), upper)
    return _answer(crowd, "epsilon", {"delta": str(delta)}, found, names)


def crowd_delta(crowd: Crowd, eps: object, victim: object, gap: float) -> CrowdAnswer:
    """Return the bracket of delta at eps, over all groups of victims or for one.

    Guarantee
    ---------
    For every victim that was asked about D_{e^eps} <= ``upper``, and for one of them it is >= ``lower`` for some data
    sets. Proof: docs/proofs/users_who_differ.md.
    """
    exact, (settings, _) = budget(eps), accuracy(gap, None)
    if sign_of_constant(exact - int(LARGEST_EPS)) > 0:
        raise ArgumentError("eps", eps, f"a number of at most {LARGEST_EPS:g} for users who differ")
    level = level_of(exact)
    found: dict[int, tuple[float, float]] = {}
    names: dict[float, str] = {}
    for group, parties in _parties(crowd, victim).items():
        upper, lower = 0.0, 0.0
        for party in parties:
            high, low, name = party.delta(level, settings)
            upper, lower = max(upper, high), max(lower, low)
            names.setdefault(low, name)
        found[group] = (min(lower, upper), min(upper, 1.0))
    return _answer(crowd, "delta", {"eps": str(eps)}, found, names)


def _answer(
    crowd: Crowd,
    quantity: str,
    given: dict[str, str],
    found: dict[int, tuple[float, float]],
    names: dict[float, str],
) -> CrowdAnswer:
    lower, upper = max(low for low, _ in found.values()), max(high for _, high in found.values())
    return CrowdAnswer(crowd, quantity, given, lower, upper, found, names.get(lower) or None)


class _Below(Protocol):
    """Data sets whose divergence is known: what they prove of delta, and of eps."""

    def delta(self, level: Level, settings: Settings) -> tuple[arb, str]:
        """Return a ball whose lower end is at most the largest divergence found, and where."""

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return an estimate of the eps at which it is delta."""


@dataclass(frozen=True)
class _Party:
    """One victim and pair of inputs: the bound from above, and data sets from below."""

    above: Side
    below: _Below
    top: float

    def delta(self, level: Level, settings: Settings) -> tuple[float, float, str]:
        low, name = self.below.delta(level, settings)
        return float_above(self._value(level, settings)), max(float_below(low), 0.0), name

    def epsilon(self, target: fmpq, settings: Settings, least: float) -> tuple[float, float, str]:
        """Return (upper, lower, data set); a party that is private at ``least`` has no larger upper end."""
        if least > 0.0 and self._value(Level.of_float(least), settings) <= arb(target):
            upper = least
        else:
            upper = self._upper(target, settings)
        return upper, *self._lower(target, upper, settings)

    def _upper(self, target: fmpq, settings: Settings) -> float:
        if self._value(Level.of_float(0.0), _ROUGH) <= arb(target):
            return 0.0
        shift, guess = 0.05 * settings.gap, _guess(self.above, log_of(target), settings, self.top)
        for _ in range(_STEPS):
            eps = min(nextafter(guess * (1.0 + shift), inf), self.top)
            if eps >= self.top or self._value(Level.of_float(eps), settings) <= arb(target):
                return eps
            shift *= 3.0
        return self.top

    def _value(self, level: Level, settings: Settings) -> arb:
        """Return a number that is at least the divergence."""
        groups, divisor, rest = self.above(level)
        found = enclose_groups(groups, settings).upper if groups else arb(0)
        with flint.ctx.workprec(_BITS):
            return (found.upper() / divisor() + rest()).upper()

    def _lower(self, target: fmpq, upper: float, settings: Settings) -> tuple[float, str]:
        """Return an eps below the guess at which some data set is certified to have more than delta."""
        guess = min(self.below.guess(log_of(target), settings, upper), upper) if upper else 0.0
        shift = 0.05 * settings.gap
        while guess > 0.0 and shift < 1.0:
            eps = nextafter(guess * (1.0 - shift), -inf)
            low, name = self.below.delta(Level.of_float(eps), settings)
            if low > arb(target):
                return eps, name
            shift *= 3.0
        return 0.0, ""


def _guess(side: Side, log_delta: float, settings: Settings, top: float, start: float | None = None) -> float:
    """Return an estimate of the eps at which a side is delta."""

    def log_at(eps: float, estimate: Callable[[list[Group]], float]) -> float:
        groups, divisor, rest = side(Level.of_float(max(eps, 0.0)))
        with flint.ctx.workprec(_BITS):
            alone, by = rest(), divisor()
            value = estimate(groups) if groups else -inf
            whole = (arb(value).exp() / by if value > -1e300 else arb(0)) + alone
            return float(whole.mid().log()) if whole.mid() > 0 else -inf

    return estimate_root(
        lambda eps: log_at(eps, lambda groups: estimate_log_groups(groups, settings)),
        lambda eps: log_at(eps, approximate_log_groups),
        _MANY,
        log_delta,
        settings,
        top if start is None else 2.0 * top,
        None if start is None else start,
    )


@dataclass(frozen=True)
class _DataSets:
    """Data shuffled: data sets whose divergence is a sum over positions."""

    n: int
    found: tuple[tuple[str, Positions], ...]

    def delta(self, level: Level, settings: Settings) -> tuple[arb, str]:
        if not self.found:
            return arb(0), ""
        name, positions = self._worst(level)
        return enclose_groups(positions(level), settings).lower / self.n, name

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return the root for the data sets that are the worst at ``top``."""
        if not self.found:
            return 0.0
        positions = self._worst(Level.of_float(nextafter(top, 0.0)))[1]
        return _guess(self._side(positions), log_delta, settings, top, top)

    def _worst(self, level: Level) -> tuple[str, Positions]:
        return max(self.found, key=lambda found: approximate_log_groups(found[1](level)))

    def _side(self, positions: Positions) -> Side:
        return lambda level: (positions(level), lambda: arb(self.n), lambda: arb(0))


@dataclass(frozen=True)
class _Thresholds:
    """Messages shuffled: a threshold for the sum of signs of messages when all others hold one input."""

    victim: Victim

    def delta(self, level: Level, settings: Settings) -> tuple[arb, str]:
        walks = self._walks(level)
        if not walks:
            return arb(0), ""
        name, walk = max(walks, key=lambda found: found[1].log_estimate(level))
        return walk.below(level), name

    def guess(self, log_delta: float, settings: Settings, top: float) -> float:
        """Return the root by bisection, in doubles, for the data set and sum that are worst near ``top``."""
        level = Level.of_float(0.9 * top)
        scores = [walk.log_estimate(level) for _, walk in self._walks(level)]
        best = max(range(len(scores)), key=scores.__getitem__, default=0)

        def above(eps: float) -> bool:
            level = Level.of_float(eps)
            walks = self._walks(level)
            return bool(walks) and walks[min(best, len(walks) - 1)][1].log_estimate(level) > log_delta

        low, high = 0.9 * top, top
        if not above(low):
            low, high = 0.0, low
        if low == 0.0 and not above(low):
            return 0.0
        while high - low > 1e-7 * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if above(middle) else (low, middle)
        return low

    def _walks(self, level: Level) -> list[tuple[str, Walk]]:
        with flint.ctx.workprec(_BITS):
            return list(self.victim.walks(level))


def _parties(crowd: Crowd, victim: object) -> dict[int, list[_Party]]:
    groups = range(len(crowd.groups))
    if victim is not None and (isinstance(victim, bool) or victim not in groups):
        raise ArgumentError("victim", victim, f"the number of a group, 0 to {len(groups) - 1}, or None for all")
    wanted = [i for i in groups if victim is None or i == victim]
    if crowd.shuffled == DATA:
        top = max(_top(subject.local_ratio()) for _, subject in crowd.groups)
        party = _data_party(crowd, top)
        return {wanted[0]: [party]} if victim is not None else {0: [party]}
    found: dict[int, list[_Party]] = {i: [] for i in wanted}
    for v in victims(crowd):
        if v.group in found:
            found[v.group].append(_message_party(v, _top(crowd.groups[v.group][1].local_ratio())))
    return found


def _top(ratio: sp.Expr) -> float:
    """Return the local budget, rounded up."""
    with flint.ctx.workprec(_BITS):
        return float_above(number(sp.log(ratio))())


def _data_party(crowd: Crowd, top: float) -> _Party:
    positions, n = positions_above(crowd), crowd.n
    below = _DataSets(n, tuple(positions_below(crowd)))
    return _Party(lambda level: (positions(level), lambda: arb(n), lambda: arb(0)), below, top)


def _message_party(v: Victim, top: float) -> _Party:
    return _Party(lambda level: v.sides(level, True), _Thresholds(v), top)
