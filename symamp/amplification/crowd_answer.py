"""Answers about users who differ: a certified bracket for each group of victims, and the worst of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, log10
from typing import Any

import sympy as sp

from symamp.amplification.answer import Answer
from symamp.amplification.bracket import Interval
from symamp.amplification.certificate_evidence import At
from symamp.amplification.crowd_certificate import CrowdClaim, bracket_evidence, crowd_certificate, largest
from symamp.amplification.crowd_evidence import Found, theorem_d
from symamp.amplification.crowd_party import Party, parties
from symamp.amplification.question import Asked, Question, accuracy
from symamp.analyses.crowd import DATA, Crowd
from symamp.analyses.crowd_counts import MOST
from symamp.analyses.crowd_messages import victims
from symamp.analyses.part import DataSets
from symamp.derivation.crossing import level_of
from symamp.errors import ArgumentError, ContradictionError
from symamp.evaluation.divergence import Settings
from symamp.evaluation.inversion import LARGEST_EPS
from symamp.numbers.arguments import budget, failure_probability
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.reading import sign_of_constant
from symamp.numbers.rounding import float_above, float_below
from symamp.numbers.surroundings import undisturbed

SOURCES = {
    DATA: "Theorem C (docs/proofs/users_who_differ.md)",
    "messages": "Theorem D (docs/proofs/users_who_differ.md)",
}

_CHECKED, _WIDE = 10**6, 1e-5
"""How many outcomes of Theorem D's mean a certificate may leave to the verifier, and the gap of its sums."""
_DOUBLES = "users who differ, whose brackets have doubles as ends"


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

    def __post_init__(self) -> None:
        """Raise ContradictionError for ends that cross, of any group of victims."""
        super().__post_init__()
        for group, low, high in self.groups:
            if not 0.0 <= low <= high:
                victim = self.crowd.numbers[group]
                raise ContradictionError(f"{self.asked_about}, victim {victim}", f"[{low!r}, {high!r}]")

    @property
    def crowd(self) -> Crowd:
        """The users."""
        found: Crowd = self.question.subject
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
        claim = CrowdClaim(self.quantity, self.given, self.lower, self.upper, self.source)
        (settings, _), victims = accuracy(self.aimed, None), tuple(group for group, _, _ in self.groups)
        evidence = bracket_evidence(claim, parties(self.crowd, victims), settings)
        return crowd_certificate(self.crowd, claim, victims, *evidence)

    @undisturbed()
    def theorem_d(self) -> dict[int, tuple[float, float]]:
        """Return an enclosure of the value of Theorem D for each group, a delta at ``upper`` (or at the eps given).

        For few users it is the upper end of the bracket. For many that comes from one evaluation that is a little
        larger; here the mean over the numbers of hidden users is integrated by the rules of Gauss and Radau, which
        takes seconds. ArgumentError where data are shuffled.

        Guarantee
        ---------
        The ends enclose the bound of Theorem D for the worst pair of inputs. Proof: docs/proofs/users_who_differ.md.

        >>> import symamp as sa
        >>> groups = [(99, sa.RandomizedResponse(k=4, eps0=1)), (9, sa.RandomizedResponse(k=4, eps0=2))]
        >>> answer = sa.delta(sa.heterogeneous(groups, shuffled="messages"), eps="1/4", victim=1)
        >>> low, high = answer.theorem_d()[1]
        >>> print(f"{low:.8f} {high:.8f}, the answer {answer.upper:.8f}")
        0.01236120 0.01236120, the answer 0.01245181
        """
        _, found = self._theorem_d(MOST, self.aimed)
        return {self.crowd.numbers[group]: _around(pairs) for group, pairs in found.items()}

    @undisturbed()
    def theorem_d_certificate(self) -> dict[str, Any]:
        """Return the certificate of the largest of what ``theorem_d`` encloses: "theorem_d" is what it claims.

        For more than about a hundred users it lists the sums at all nodes of the two rules. ArgumentError where data
        are shuffled, PrecisionError if the verifier accepts it at no precision.

        >>> import symamp as sa
        >>> crowd = sa.heterogeneous([(4, sa.RandomizedResponse(k=2, eps0="log(3)"))], shuffled="messages")
        >>> sa.delta(crowd, eps="log(2)").theorem_d_certificate()["claim"]["quantity"]
        'theorem_d'
        """
        at, found = self._theorem_d(_CHECKED, max(self.aimed, _WIDE))
        means = [pair for pairs in found.values() for pair in pairs]
        low, high = _around(means)
        claim = CrowdClaim("theorem_d", {"eps": at.text}, low, high, self.source)
        below = [largest((at, pair[0]) for pair in means)] if low > 0.0 else []
        return crowd_certificate(self.crowd, claim, found, [(at, pair[1]) for pair in means], below)

    def _theorem_d(self, most: int, gap: float) -> tuple[At, dict[int, list[tuple[Found, Found]]]]:
        """Return the level, and for each group what encloses the bound for each pair of inputs."""
        if self.crowd.shuffled == DATA:
            raise ArgumentError("shuffled", DATA, "messages: Theorem D is about them")
        at = At.of(budget(self.given["eps"]) if "eps" in self.given else sp.Rational(self.upper))
        assert at.level is not None
        settings, _ = accuracy(gap, None)
        found: dict[int, list[tuple[Found, Found]]] = {group: [] for group, _, _ in self.groups}
        for v in victims(self.crowd):
            if v.group in found:
                found[v.group].append(theorem_d(v, at.level, settings, most))
        return at, found


def _around(pairs: Sequence[tuple[Found, Found]]) -> tuple[float, float]:
    """Return doubles around the largest of some bounds."""
    return max(float_below(low.value) for low, _ in pairs), max(float_above(high.value) for _, high in pairs)


_Ends = tuple[float, float, DataSets | None]
"""The upper end for a party, the lower one, and what attains it."""
_Ask = Callable[[Party, Settings, float], _Ends]
"""The ends for a party, which are told the largest upper end of the group so far."""


@dataclass(frozen=True)
class CrowdProfile:
    """Users who differ, all groups of victims or one: asked as the profile of one mechanism is."""

    crowd: Crowd
    victim: object = None

    @undisturbed()
    def epsilon(self, delta: object, *, gap: float, digits: int | None = None) -> CrowdAnswer:
        """Return the bracket of the least eps for delta, over all groups of victims or for one.

        Guarantee
        ---------
        For every victim that was asked about the published outputs are (``upper``, delta)-private, and for one of them
        not (eps, delta)-private at any eps < ``lower``. Proof: docs/proofs/users_who_differ.md.
        """
        target, (_, wanted) = failure_probability(delta), accuracy(gap, digits, _DOUBLES)
        asked = Asked("epsilon", target, str(delta), wanted)
        return self._answered(asked, lambda party, fit, least: party.epsilon(target, fit, least), inf, gap)

    @undisturbed()
    def delta(self, eps: object, *, gap: float, digits: int | None = None) -> CrowdAnswer:
        """Return the bracket of delta at eps, over all groups of victims or for one.

        Guarantee
        ---------
        For every victim that was asked about D_{e^eps} <= ``upper``, and for one of them it is >= ``lower`` for some
        data sets. Proof: docs/proofs/users_who_differ.md.
        """
        exact, (_, wanted) = budget(eps), accuracy(gap, digits, _DOUBLES)
        if sign_of_constant(exact - int(LARGEST_EPS)) > 0:
            raise ArgumentError("eps", eps, f"a number of at most {LARGEST_EPS:g} for users who differ")
        level = level_of(exact)
        asked = Asked("delta", exact, str(eps), wanted)
        return self._answered(asked, lambda party, fit, _: party.delta(level, fit), 1.0, gap)

    def _answered(self, asked: Asked, ends: _Ask, most: float, gap: float) -> CrowdAnswer:
        """Return the answer; digits take a finer gap, but where the data sets found keep the bracket wider."""
        settings, _ = accuracy(gap, None)
        answer = self._answer(asked, ends, most, settings)
        missing = (asked.digits or 0) - answer.digits
        if missing > 0 and answer.digits + 1 >= -log10(settings.gap):
            settings = replace(settings, gap=settings.gap * 10.0 ** -(missing + 1))
            answer = self._answer(asked, ends, most, settings)
        return answer.checked()

    def _answer(self, asked: Asked, ends: _Ask, most: float, settings: Settings) -> CrowdAnswer:
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
        return CrowdAnswer(question, asked, least, largest, own, groups=tuple(groups), attained=by, aimed=aimed)


def _wanted(crowd: Crowd, victim: object) -> tuple[int, ...]:
    """Return the places of the groups that are asked about."""
    numbers = crowd.numbers
    if victim is not None and (isinstance(victim, bool) or victim not in numbers):
        known = ", ".join(map(str, numbers))
        raise ArgumentError("victim", victim, f"the number of a group with an honest user ({known}), or None for all")
    return tuple(place for place, group in enumerate(numbers) if victim is None or group == victim)
