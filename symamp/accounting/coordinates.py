"""An adversary who sees each coordinate of the messages by itself: sums, or one histogram for each coordinate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf
from typing import Any

import sympy as sp
from flint import arb

from symamp.accounting.composition import Composition, RoundProfile
from symamp.accounting.pairs import round_count
from symamp.accounting.round import RoundAbove, ShuffledRound
from symamp.accounting.rounds_proof import RoundsProof, Sums
from symamp.bounds.reduction import dataset_reduction
from symamp.certificates.evidence import counts_of_coordinates
from symamp.certificates.text import exact_double, expression_text
from symamp.data_sets.search import Repeated
from symamp.decompositions.to_law import log_above, number
from symamp.errors import ArgumentError, Problem, SupportMismatchError, UndecidedOrderError
from symamp.formulas.order import sign
from symamp.laws.law import Level
from symamp.numbers.dyadic import ZERO, Dyadic
from symamp.numbers.reading import Count, Real, users
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.questions.curve import HasCurve
from symamp.questions.profile import OneRound
from symamp.randomizers.combined import Joint
from symamp.randomizers.families.unary_encoding import _Unary as Unary
from symamp.randomizers.finite import FiniteMechanism
from symamp.settings.participation import DRAWN, Participation, checked_participation
from symamp.settings.question import Question, checked_subject
from symamp.settings.rounds import Rounds
from symamp.settings.users_who_differ import HeterogeneousUsers
from symamp.sums.coordinate_sums import UnarySums
from symamp.sums.divergence import Settings
from symamp.sums.inversion import log_of_ball

VIEWS = MESSAGES, COORDINATES = "messages", "coordinates"
"""What the aggregator sees of messages: each as a whole, or each of its coordinates by itself."""
_WIDTH, _ACCURACY, _KEPT = 6e-3, Settings(gap=8e-3), 64
"""The width of eps that is aimed at, about what the composition of two coordinates is above the truth by; how close
points of its curve are taken; bits of a lower end of delta."""


@dataclass(frozen=True)
class Bit(RoundAbove):
    """One bit of a unary encoding: data sets are those of two bits, the victim's first input and the second.

    ``size`` is how many options there are where each of the two bits is that of half of the rounds; else 0, and only
    upper bounds are used.
    """

    size: int = 0

    def take_turns(self, eps: float) -> tuple[tuple[Repeated, int], ...]:
        """Return the data sets of both bits, where all others hold one of the two inputs, or none of them."""
        bit, n = self.question.subject, self.question.n
        if not self.size or not isinstance(bit, FiniteMechanism):
            return ()
        holds, not_ = bit.inputs
        pairs, one = [(holds, not_), (not_, holds)], sp.Integer(1)
        held = [*pairs, *([(not_, not_)] if self.size > 2 else [])]
        some = [[dataset_reduction(bit, p, ((x, one),)) for p, x in zip(pairs, two, strict=True)] for two in held]
        variation, settings = Level.of_float(0.0), Settings().rough
        worst = max(some, key=lambda two: sum(exp(2.0 * x.log_estimate(variation, n, settings)) for x in two))
        return tuple((x, n) for x in worst)

    def is_estimated(self, up: bool) -> bool:
        return bool(self.size) or super().is_estimated(up)

    @property
    def gap(self) -> float:
        return _WIDTH

    def accuracy(self, width: float) -> Settings:
        return _ACCURACY


@dataclass(frozen=True)
class CoordinateSums(RoundProfile, HasCurve):
    """What the coordinates of n messages reveal, each coordinate shuffled, or summed, by itself.

    The upper end composes the curves of the coordinates in which two inputs may differ. Of unary encodings the lower
    end is the divergence of two data sets itself, by all their counts; after many rounds that of both sums, composed.
    Of ``joint`` mechanisms both ends are those of rounds of the parts. Answers have certificates. ``gap`` is a relative
    width of eps, 6e-3 by default.

    >>> import symamp as sa
    >>> oue = sa.UnaryEncoding.oue(D=4, eps0=1)
    >>> seen = sa.profile(oue, n=10, view="coordinates").delta("1/2", gap=0.1)
    >>> 0 < seen.lower < seen.upper < sa.delta(oue, n=10, eps="1/2").lower
    True
    """

    _internal_names = "parts rough_mu"

    mechanism: Any
    n: int

    @cached_property
    def parts(self) -> tuple[tuple[ShuffledRound, int], ...]:
        """The coordinates in which two inputs may differ, as rounds."""
        if isinstance(self.mechanism, Unary):
            return ((Bit(Question.of(self._bit, self.n, "two_messages"), int(self.mechanism["D"])), 2),)
        return tuple((ShuffledRound(Question.of(part, self.n, None)), 1) for part in self.mechanism.parts)

    @property
    def _bit(self) -> FiniteMechanism:
        p, q = self.mechanism.probabilities()
        return FiniteMechanism([[1 - p, p], [1 - q, q]], name=f"a bit of {self.mechanism!r}")

    @property
    def rough_mu(self) -> float:
        """The parameter of the Gaussian approximation, not a bound."""
        return self.rounds(1).rough_mu

    def rounds(self, count: Count) -> Composition:
        many = round_count(count)
        return Composition.of((found, many * times) for found, times in self.parts)

    def _asked(self, quantity: str, given: object, gap: Real | None, effort: str) -> Answer:
        once = self.rounds(1)
        if isinstance(self.mechanism, Unary):  # the sums of one round are counted out
            once = Composition.of((replace(r, size=0), count) for r, count in self.parts if isinstance(r, Bit))
        answer = once._asked(quantity, given, gap, effort)
        return (self._epsilon if quantity == "epsilon" else self._delta)(answer)

    def _epsilon(self, answer: Answer) -> Answer:
        found = self._sums(Level.of_float(answer.upper if answer.upper < inf else 1.0), answer.asked.log_delta)
        if found is None:
            return self._seen(answer)
        with at_precision(BALL_BITS):
            top = min(answer.upper, 2.0 * log_above(self._bit.local_ratio()))
            eps = found.epsilon(arb(answer.asked.given), top)
        budget = log_above(self.mechanism.local_ratio())
        most = answer.most if budget == inf else min(answer.most, Dyadic.of_float(budget))
        return self._between(answer, found, Dyadic.of_float(eps), most, exact_double(eps))

    def _delta(self, answer: Answer) -> Answer:
        level = answer.asked.level
        found = self._sums(level, log_of_ball(answer.most.ball) if answer.most.mantissa > 0 else 0.0)
        if found is None:
            return self._seen(answer)
        value = found.divergence(level)
        with at_precision(_KEPT):
            least = Dyadic.of(value.lower())
        most = ZERO if self._is_beyond(answer.asked.given) else answer.most
        return self._between(answer, found, least, most, expression_text(answer.asked.given))

    def _is_beyond(self, eps: sp.Expr) -> bool:
        """Return whether eps is proved to be at least the local budget of whole messages."""
        ratio = self.mechanism.local_ratio()
        try:
            return ratio is not sp.oo and sign(eps - sp.log(ratio)) >= 0
        except UndecidedOrderError:
            return False

    def _sums(self, level: Level, log_delta: float) -> UnarySums | None:
        """Return the worst data sets that are found; None where there are none, or too many counts."""
        if not isinstance(self.mechanism, Unary):
            return None
        p, q = (number(x) for x in self.mechanism.probabilities())
        size = int(self.mechanism["D"])
        tried = [UnarySums(p, q, self.n, held, log_delta) for held in UnarySums.candidates(self.n, size)]
        feasible = [x for x in tried if x.is_feasible]
        return max(feasible, key=lambda x: x.estimate(level)) if feasible else None

    def _seen(self, answer: Answer) -> Answer:
        """Return the answer; of unary encodings of very many users with the lower end of a bit by itself."""
        if not isinstance(self.mechanism, Unary):
            return answer
        alone = OneRound(Question.of(self._bit, self.n, None)).answer(answer.asked.usual)
        return replace(answer, least=max(answer.least, alone.least))

    def _between(self, answer: Answer, found: UnarySums, least: Dyadic, most: Dyadic, eps: str) -> Answer:
        """Return the answer with these ends, of which that below is left at 0 where nothing is proved."""
        assert isinstance(answer.question.subject, Rounds)
        about = replace(answer.question.subject, text=f"{self.mechanism!r}, n = {self.n:,}, by coordinates")
        question = replace(answer.question, subject=about, n=self.n)
        if not isinstance(answer.proof, RoundsProof):  # beyond all losses
            return replace(answer, question=question)
        least = max(least, ZERO)
        evidence = counts_of_coordinates(found.held, found.ranges)
        sums = Sums(int(self.mechanism["D"]), eps, BALL_BITS, evidence, answer.most)
        proof = replace(answer.proof, sums=sums)
        own = Interval(least.below, most.above)
        return replace(answer, question=question, least=least, most=most, bound=own, proof=proof)


def coordinate_sums(mechanism: Any, n: Count, participation: Participation | None = None) -> CoordinateSums:
    """Return the view by coordinates of a mechanism, of the users who count.

    Raises SupportMismatchError where the coordinates of a message are not known to be independent given the input: then
    nothing is proved but what holds for whole messages.
    """
    if isinstance(mechanism, HeterogeneousUsers):
        differ = Problem("users run different mechanisms")
        raise SupportMismatchError("view", differ, f"take view={MESSAGES!r}, which holds for sums, too")
    checked_subject(mechanism)
    if isinstance(mechanism, Joint) and mechanism.neighbours != "all":
        one = Problem("which of the coordinates differs is not said")
        raise SupportMismatchError("view", one, "ask about each part by itself, or take neighbours='all'")
    if not isinstance(mechanism, Unary | Joint):
        told = Problem(f"the coordinates of {mechanism!r} are not known to be independent given the input")
        remedy = f"take view={MESSAGES!r}, which holds for sums, too; a unary encoding; or sa.joint of any two inputs"
        raise SupportMismatchError("view", told, remedy)
    count = users(n)
    return CoordinateSums(mechanism, count if participation is None else participation.users(count))


def is_by_coordinates(view: object, participation: Participation | None, about_messages: Iterable[object]) -> bool:
    """Return whether coordinates are seen, after a check that all else that is asked can be asked of them.

    Raises ArgumentError for another view and for what is about whole messages, which is then not None, and
    SupportMismatchError for who takes part by chance.
    """
    if not isinstance(view, str) or view not in VIEWS:
        raise ArgumentError("view", view, f"one of {', '.join(map(repr, VIEWS))}")
    if view == MESSAGES:
        return False
    if any(x is not None for x in about_messages):
        told = Problem("method, neighbours, victim, digits and sampled_from are about whole messages")
        raise ArgumentError("view", told, f"leave them out, or take view={MESSAGES!r}, which holds for sums, too")
    taking = None if participation is None else checked_participation(participation)
    if taking is not None and not (taking.only_counts and not taking.runs and taking.batches != DRAWN):
        told = Problem("chance shows in all coordinates at once, so that they are not independent")
        remedy = f"say how many users count, by colluders or batches, or take view={MESSAGES!r}, which holds for sums"
        raise SupportMismatchError("participation", told, remedy)
    return True
