"""Answers about users who differ: a certified bracket for each group of victims, and the worst of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from symamp.amplification.crowd_certificate import CrowdClaim, crowd_certificate
from symamp.amplification.crowd_party import parties
from symamp.amplification.question import accuracy
from symamp.analyses.crowd import DATA, Crowd
from symamp.analyses.standing import Standing
from symamp.derivation.crossing import level_of
from symamp.errors import ArgumentError
from symamp.evaluation.inversion import LARGEST_EPS
from symamp.numbers.arguments import budget, failure_probability
from symamp.numbers.reading import sign_of_constant

SOURCES = {
    DATA: "Theorem C (docs/proofs/users_who_differ.md)",
    "messages": "Theorem D (docs/proofs/users_who_differ.md)",
}


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
    gap: float = field(default=1e-6, repr=False)

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

    def certificate(self) -> dict[str, Any]:
        """Return the certificate of the bracket as JSON-ready data (docs/certificates.md); ``verify`` has accepted it.

        Raises PrecisionError if no precision suffices for that.

        >>> import symamp as sa
        >>> crowd = sa.heterogeneous([(3, sa.PureLDP(eps0=1)), (2, sa.PureLDP(eps0=2))], shuffled="data")
        >>> sa.delta(crowd, eps="1/2").certificate()["above"][0]["positions"]
        [{'ratio': 'E'}, {'ratio': 'exp(2)'}]
        """
        claim = CrowdClaim(self.quantity, self.given, self.lower, self.upper, self.gap, self.source)
        return crowd_certificate(self.crowd, claim, parties(self.crowd, tuple(self.victims)))

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
    for group, found_parties in parties(crowd, _wanted(crowd, victim)).items():
        upper, lower = 0.0, 0.0
        for party in found_parties:
            high, low, name = party.epsilon(target, settings, upper)
            upper, lower = max(upper, high), max(lower, low)
            names.setdefault(low, name)
        found[group] = (min(lower, upper), upper)
    return _answer(crowd, "epsilon", {"delta": str(delta)}, found, names, gap)


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
    for group, found_parties in parties(crowd, _wanted(crowd, victim)).items():
        upper, lower = 0.0, 0.0
        for party in found_parties:
            high, low, name = party.delta(level, settings)
            upper, lower = max(upper, high), max(lower, low)
            names.setdefault(low, name)
        found[group] = (min(lower, upper), min(upper, 1.0))
    return _answer(crowd, "delta", {"eps": str(eps)}, found, names, gap)


def _answer(
    crowd: Crowd,
    quantity: str,
    given: dict[str, str],
    found: dict[int, tuple[float, float]],
    names: dict[float, str],
    gap: float,
) -> CrowdAnswer:
    lower, upper = max(low for low, _ in found.values()), max(high for _, high in found.values())
    return CrowdAnswer(crowd, quantity, given, lower, upper, found, names.get(lower) or None, gap)


def _wanted(crowd: Crowd, victim: object) -> tuple[int, ...]:
    groups = range(len(crowd.groups))
    if victim is not None and (isinstance(victim, bool) or victim not in groups):
        raise ArgumentError("victim", victim, f"the number of a group, 0 to {len(groups) - 1}, or None for all")
    return tuple(i for i in groups if victim is None or i == victim)
