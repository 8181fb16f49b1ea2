"""Answers about users who differ: a certified bracket for each group of victims, and the worst of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from symamp.amplification.answer import Answer
from symamp.amplification.bracket import Interval
from symamp.amplification.crowd_certificate import CrowdClaim, crowd_certificate
from symamp.amplification.crowd_party import Party, parties
from symamp.amplification.question import Asked, Question, accuracy
from symamp.analyses.crowd import DATA, Crowd
from symamp.analyses.part import DataSets
from symamp.derivation.crossing import level_of
from symamp.errors import ArgumentError
from symamp.evaluation.inversion import LARGEST_EPS
from symamp.numbers.arguments import budget, failure_probability
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.reading import sign_of_constant

SOURCES = {
    DATA: "Theorem C (docs/proofs/users_who_differ.md)",
    "messages": "Theorem D (docs/proofs/users_who_differ.md)",
}


@dataclass(frozen=True, repr=False)
class CrowdAnswer(Answer):
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

    @property
    def crowd(self) -> Crowd:
        """The users."""
        found: Crowd = self.question.subject
        return found

    @property
    def victims(self) -> dict[int, tuple[float, float]]:
        """The bracket of every group of victims, by number; where data are shuffled all users have the same."""
        return {group: (low, high) for group, low, high in self.groups}

    @property
    def dataset(self) -> DataSets | None:
        """The data sets that attain the lower end."""
        return self.attained

    @property
    def method(self) -> str:
        """What is shuffled, which decides the theorem."""
        return f"{self.crowd.shuffled} shuffled"

    @property
    def source(self) -> str:
        """Where the upper bound is stated."""
        return SOURCES[self.crowd.shuffled]

    @property
    def parameters(self) -> dict[str, Any]:
        """What is shuffled, and which groups of victims were asked about."""
        return {"shuffled": self.crowd.shuffled, "groups": [group for group, _, _ in self.groups]}

    def certificate(self) -> dict[str, Any]:
        """Return the certificate of the bracket as JSON-ready data (docs/certificates.md); ``verify`` has accepted it.

        Raises PrecisionError if no precision suffices for that.

        >>> import symamp as sa
        >>> crowd = sa.heterogeneous([(3, sa.PureLDP(eps0=1)), (2, sa.PureLDP(eps0=2))], shuffled="data")
        >>> sa.delta(crowd, eps="1/2").certificate()["above"][0]["positions"]
        [{'ratio': 'E'}, {'ratio': 'exp(2)'}]
        """
        claim = CrowdClaim(self.quantity, self.given, self.lower, self.upper, self.aimed, self.source)
        return crowd_certificate(self.crowd, claim, parties(self.crowd, tuple(self.victims)))


_Ends = tuple[float, float, DataSets | None]
"""The upper end for a party, the lower one, and what attains it."""


def crowd_epsilon(crowd: Crowd, delta: object, victim: object, gap: float) -> CrowdAnswer:
    """Return the bracket of the least eps for delta, over all groups of victims or for one.

    Guarantee
    ---------
    For every victim that was asked about the published outputs are (``upper``, delta)-private, and for one of them
    not (eps, delta)-private at any eps < ``lower``. Proof: docs/proofs/users_who_differ.md.
    """
    target, (settings, _) = failure_probability(delta), accuracy(gap, None)
    asked = Asked("epsilon", target, str(delta))
    return _answer(crowd, asked, victim, lambda party, least: party.epsilon(target, settings, least), inf, gap)


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
    asked = Asked("delta", exact, str(eps))
    return _answer(crowd, asked, victim, lambda party, _: party.delta(level, settings), 1.0, gap)


def _answer(
    crowd: Crowd, asked: Asked, victim: object, ends: Callable[[Party, float], _Ends], most: float, gap: float
) -> CrowdAnswer:
    """Return the answer; ``ends`` is told the largest upper end of the group so far."""
    groups: list[tuple[int, float, float]] = []
    attained: dict[float, DataSets | None] = {}
    for group, found in parties(crowd, _wanted(crowd, victim)).items():
        upper, lower = 0.0, 0.0
        for party in found:
            high, low, data_sets = ends(party, upper)
            upper, lower = max(upper, high), max(lower, low)
            attained.setdefault(low, data_sets)
        groups.append((group, min(lower, upper), min(upper, most)))
    lower, upper = max(low for _, low, _ in groups), max(high for _, _, high in groups)
    least, largest, own = Dyadic.of_float(lower), Dyadic.of_float(upper), Interval(lower, upper)
    question, by = Question(crowd, crowd.n), attained.get(lower)
    return CrowdAnswer(question, asked, least, largest, own, groups=tuple(groups), attained=by, aimed=gap)


def _wanted(crowd: Crowd, victim: object) -> tuple[int, ...]:
    groups = range(len(crowd.groups))
    if victim is not None and (isinstance(victim, bool) or victim not in groups):
        raise ArgumentError("victim", victim, f"the number of a group, 0 to {len(groups) - 1}, or None for all")
    return tuple(i for i in groups if victim is None or i == victim)
