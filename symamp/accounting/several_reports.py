"""Several reports of each user: shuffled together, one shuffle for each, in one message, or drawn once and kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, inf, log1p, sqrt
from typing import Any

import sympy as sp
from flint import arb, fmpq

from symamp.accounting.composition import Composition, RoundProfile
from symamp.accounting.losses import gaussian_epsilon, gaussian_log_delta
from symamp.accounting.pairs import LARGEST_ROUNDS, RoundPairs, round_count
from symamp.accounting.round import RoundAbove, ShuffledRound
from symamp.accounting.rounds_proof import MORE_SLACK, SLACK, RoundsProof
from symamp.bounds.reduction import Reduction, is_triple
from symamp.certificates.evidence import steps
from symamp.certificates.mechanisms import Described
from symamp.certificates.text import At, accepted, fraction_text
from symamp.data_sets.search import DataSetSearch
from symamp.decompositions.decomposition import LawTriple
from symamp.decompositions.to_law import level_of, number
from symamp.errors import ArgumentError, Problem, SymampError, checked_call
from symamp.laws.law import Level, Number
from symamp.numbers.dyadic import INFINITE, ZERO, Dyadic
from symamp.numbers.limits import Limits
from symamp.numbers.rationals import rational_of
from symamp.numbers.reading import Count, Real, users, whole_number
from symamp.numbers.surroundings import at_precision
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.questions.curve import HasCurve
from symamp.questions.profile import OneRound
from symamp.randomizers.combined import joint
from symamp.settings.participation import Participation, checked_participation, lost_reports
from symamp.settings.question import Query, Question, checked_subject
from symamp.settings.rounds import COVERED, Rounds
from symamp.sums.coordinate_sums import proved_epsilon
from symamp.sums.divergence import Settings
from symamp.sums.inversion import log_of, log_of_ball
from symamp.sums.step_sums import StepSum, steps_of

SEEN = SHUFFLED, ROUNDS, BUNDLED = "shuffled", "rounds", "bundled"
"""What is seen of several reports of each user: all in one shuffle, one shuffle each, or all of one user together."""
_BITS, _STEPS, _GUESSES, _CLOSE, _FEW_MESSAGES, _USUAL, _LARGEST = 192, 4, 8, 1e-3, 16, 1e-6, 700.0
"""Bits of factors; certified tries for the least eps of a step, guesses of it in floats, and how far above them the
search begins, relatively; up to so many messages bundles are tried as a bound on shuffled reports, too; the gap of
answers by one round; no double is e to more than the last."""
_SLACKS, _BITS_OF_STEPS = (fmpq(0), SLACK, MORE_SLACK, fmpq(1, 10**3)), 512
"""By which parts of themselves lower ends are tried to be less in a certificate, and its precision."""
_OFF = 0.02
"""By how much the normal approximation of rounds must be below the end by steps, in eps or in log delta."""
_KEPT = (
    "reports that are drawn once and sent again on all days; not covered: reports that are drawn anew, attendance or "
    "numbers of reports that depend on data"
)
_AT_ONCE = (
    "all reports of a user, about one value or several, with fresh randomness; not covered: memoised randomness, "
    "numbers of reports that depend on values, reports chosen by earlier outputs"
)
"""What is covered by answers about reports that are kept, and about those that are seen at once."""
_MOST_NODES = 20_000
"""Nodes of the sum of steps beyond which fewer kinds of messages are told apart."""
_LEAST_EXPONENT = -10_000
"""At a delta below 2 to this, reports one by one are not asked about: their sum says nothing."""


@dataclass(frozen=True)
class StepsOfReports:
    """The sum of the steps of all messages for two data sets: the law of it, who is compared, and what others hold."""

    sum: StepSum
    up: int
    down: int
    pair: tuple[str, str]
    other: str

    def evidence(self, mechanism: dict[str, Any], eps: float) -> dict[str, Any] | None:
        """Return the evidence of a lower end at eps; None where no messages are listed, or no plan is known."""
        plan = self.sum.plan(Level.of_float(eps)) if mechanism["kind"] in ("table", "orbits") else None
        if plan is None or not {*self.pair, self.other} <= set(mechanism["inputs"]):
            return None
        held = [(self.other, s.count) for s in self.sum.others]
        return steps(Described(mechanism, tuple(mechanism["inputs"])), self.pair, held, plan, self.up, self.down)


@dataclass(frozen=True)
class TogetherProof:
    """What proves an answer about reports that are shuffled together: where the upper end is from.

    It is that of rounds, of one report among all messages, in so many steps, or of one round of messages
    or users that tell no less.
    """

    above: object
    by: str
    below: str
    steps: int = 1
    data_sets: StepsOfReports | None = field(default=None, compare=False)

    @property
    def shown(self) -> str:
        """What is behind both ends, in one line."""
        return f"above: {self.by}; below: {self.below}"

    def certificate(self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds) -> dict[str, Any]:
        """Return the certificate of what the upper end is from; of steps among all messages with the lower end.

        Raises ArgumentError where that is from elsewhere, PrecisionError if the verifier does not accept it.
        """
        if isinstance(self.above, RoundsProof):
            return replace(self.above, below=None).certificate(asked, ZERO, most, rounds)
        if not isinstance(self.above, Answer):
            told = Problem(f"an upper end by {self.by} has no certificate")
            raise ArgumentError("certificate", told, "ask sa.epsilon or sa.delta about these users, or seen='rounds'")
        data, is_epsilon = self.above.certificate(), asked.quantity == "epsilon"
        given = {"delta": fraction_text(asked.given)} if is_epsilon else {"eps": At.of(asked.given).text}
        high = most.fraction if is_epsilon else min(most.fraction * (1 + SLACK), fmpq(1))
        data["settings"][0] |= {"reports": self.steps} if self.steps > 1 else {}
        data["supposed"].append(f"All reports together tell no more than {self.by}.")

        def documents() -> Iterator[dict[str, Any]]:
            known = self.data_sets if self.steps > 1 and least.mantissa > 0 else None
            for low in (*(least.fraction * (1 - slack) for slack in _SLACKS if known), fmpq(0)):
                text, side = fraction_text(low), None
                if known is not None and low > 0:
                    eps = sp.N(rational_of(low) if is_epsilon else asked.given, 17)
                    made = known.evidence(data["settings"][0]["groups"][0]["mechanism"], float(eps))
                    if made is None:
                        continue
                    at = {"eps": text} if is_epsilon else given
                    side = at | {"precision": _BITS_OF_STEPS, "evidence": [made]}
                claim = {"quantity": asked.quantity, **given, "lower": text, "upper": fraction_text(high)}
                yield data | {"below": side, "claim": claim}

        return accepted(documents(), asked.effort, "ask with another gap")


@dataclass(frozen=True, repr=False)
class SeveralReports(RoundProfile, HasCurve):
    """What several reports of each of n users reveal, about any values: made by ``symamp.several_reports``.

    >>> import symamp as sa
    >>> krr = sa.RandomizedResponse(k=10, eps0=1)
    >>> print(sa.several_reports(krr, n=10**4, reports=2).epsilon("1e-6", gap=1e-2))
    epsilon in [0.033809..., 0.033812...]  (delta = 1e-6; several_reports(...))
    """

    mechanism: Any
    n: int
    reports: int
    seen: str = SHUFFLED
    kept: bool = False
    attending: int | None = None
    lost: Participation | None = None
    """The chance with which a report of another user is lost, by itself; the users that count are in ``n``."""

    def __repr__(self) -> str:
        further = f", attending={self.attending}" if self.attending is not None else ""
        how = f"kept=True{further}" if self.kept else f"seen={self.seen!r}"
        how += "" if self.lost is None else f", {self.lost!r}"
        return f"several_reports({self.mechanism!r}, n={self.n}, reports={self.reports}, {how})"

    def rounds(self, count: Count) -> Composition:
        """Return ``count`` repetitions, adaptively composed, each with fresh randomness.

        A round of bundled reports is one of whole messages; else each report has a round of its own. Where all reports
        are shuffled together these bound what is seen, so that only upper ends are known. Raises ArgumentError for
        reports that are kept.
        """
        if self.kept:
            told = Problem("rounds need fresh randomness, and reports that are kept are sent again")
            raise ArgumentError("kept", told, "count all days in reports=..., which tell no more than one day")
        many = round_count(count)
        if self.seen == BUNDLED:
            return Composition.of([(ShuffledRound(self._whole), many)])
        kind = RoundAbove if self._is_one_shuffle else ShuffledRound
        return Composition.of([(kind(self._question(self.mechanism, self.n)), many * self.reports)])

    @property
    def _all(self) -> RoundPairs:
        if not self.kept:
            return super()._all
        alike = self.n if self.attending is None else self.attending  # a day of those who attend the same ones
        kind = ShuffledRound if alike == self.n else RoundAbove
        return RoundPairs.of([(kind(self._question(self.mechanism, alike)), 1)])

    def _asked(self, quantity: str, given: object, gap: Real | None, effort: str) -> Answer:
        """Return the answer of one round, of rounds, or the least of these and of steps."""
        if self._is_one_shuffle:
            return self._together(Query.of(quantity, given, Settings.gap, effort=effort), gap)
        if self.seen == ROUNDS and not self.kept:
            return self.rounds(1)._asked(quantity, given, gap, effort)
        query = Query.of(quantity, given, _USUAL if gap is None else gap, effort=effort)

        def ask(question: Question) -> Answer:
            return OneRound(question).answer(query)

        if not self.kept:
            return ask(self._whole)
        alike = self.n if self.attending is None else self.attending
        found = ask(self._question(self.mechanism, alike))
        if alike == self.n:
            return found
        least = min(ask(self._question(self.mechanism, self.n)).least, found.most)
        told = f"{alike:,} users who attend the same days as the victim", f"one day of all {self.n:,} users"
        return self._answer(found, found.asked, least, found.most, TogetherProof(found, *told))

    @property
    def _whole(self) -> Question:
        """About all reports of a user in one message."""
        return self._question(joint([self.mechanism] * self.reports), self.n)

    def _question(self, mechanism: Any, n: int) -> Question:
        return Question.of(mechanism, n, None, participation=self.lost)

    @property
    def _is_one_shuffle(self) -> bool:
        return self.seen == SHUFFLED and self.reports > 1 and not self.kept

    # ----------------------------------------------------------------------------------------- all shuffled together

    def _together(self, asked: Query, gap: Real | None) -> Answer:
        """Return the least of the bounds above, and the sum of steps of all messages below.

        Where points of rounds cost much, a search that is not thorough leaves them out if they seem to tell no less.
        """
        to_epsilon = asked.quantity == "epsilon"
        by_steps = self._steps_to_epsilon(asked) if to_epsilon else self._steps_to_delta(asked)
        rounds = self.rounds(1)
        bundled = self._bundled(asked)
        ends: list[tuple[Dyadic, str, object, int]] = [
            (by_steps[0], f"{self.reports} steps among {self.n * self.reports:,} messages", by_steps[1], self.reports),
            (INFINITE if bundled is None else bundled.most, f"{self.reports} reports in one message", bundled, 1),
        ]
        answer = None
        if asked.effort == "thorough" or not rounds.rounds[0][0].is_slow or _may_be_less(rounds, asked, by_steps[0]):
            answer = rounds._asked(asked.quantity, asked.written, gap, asked.effort)
            ends.insert(0, (answer.most, f"{self.reports} rounds of {self.n:,} users", answer.proof, 1))
        most, by, proof, steps = min(ends, key=lambda end: end[0])
        least, below, data_sets = self._below(asked, most)
        return self._answer(answer, asked, least, most, TogetherProof(proof, by, below, steps, data_sets))

    def _answer(self, answer: Answer | None, asked: Query, least: Dyadic, most: Dyadic, proof: TogetherProof) -> Answer:
        text = f"{self!r}"
        listed = (answer.rounds if answer is not None else None) or ((text, 1),)
        covered = _KEPT if self.kept else COVERED if self.seen == ROUNDS else _AT_ONCE
        question = Question(Rounds(listed, covered, text), 0)
        limited = answer is not None and answer.limited
        return Answer(question, asked, least, most, Interval(least.below, most.above), limited=limited, proof=proof)

    def _bundled(self, asked: Query) -> Answer | None:
        if self.n * self.reports > _FEW_MESSAGES or self.lost is not None:  # there whole messages are lost
            return None
        with suppress(SymampError):
            return OneRound(self._whole).answer(asked.usual)
        return None

    @cached_property
    def _among_all(self) -> OneRound:
        """One report among all messages."""
        return OneRound(self._question(self.mechanism, self.n * self.reports))

    def _factor(self, eps: arb) -> arb:
        """Return the sum of e^(j eps) over j < r."""
        return (self.reports * eps).expm1() / eps.expm1() if eps > 0 else arb(self.reports)

    def _steps_to_delta(self, asked: Query) -> tuple[Dyadic, Answer | None]:
        """Return delta of one report among all messages at eps/r, times the sum of e^(j eps/r)."""
        step = whole = asked.given / self.reports
        if not step.is_Rational:  # a little less, so that balls of certificates distinguish them
            with at_precision(_BITS // 3):
                step = rational_of(max(Dyadic.of(level_of(step).eps().lower()), ZERO).fraction)
        found = self._among_all.delta(step, effort=asked.effort)
        with at_precision(_BITS):
            value = found.most.ball * self._factor(level_of(whole).eps())
            most = Dyadic.of(value.upper())
        return (most, found) if most < Dyadic(1) else (Dyadic(1), None)

    def _steps_to_epsilon(self, asked: Query) -> tuple[Dyadic, Answer | None]:
        """Return r times an eps whose delta, times the sum of e^(j eps), is at most delta."""
        best, proof, start = inf, None, 0.0
        for _ in range(_STEPS):
            with at_precision(_BITS):
                share = Dyadic.of((arb(asked.given) / self._factor(arb(start))).lower())
            if (share.exponent or 0) < _LEAST_EXPONENT:
                break
            found = self._among_all.epsilon(rational_of(share.fraction), effort=asked.effort)
            if found.upper == 0.0 or not self.reports * found.upper <= _LARGEST:
                break
            if found.upper <= start:
                # At a smaller eps the steps have a smaller sum, so that what it is divided by there suffices here.
                is_close = found.upper > (1.0 - _CLOSE / 10.0) * start
                best, proof, start = found.upper, found, found.upper
                if is_close:
                    break
            elif best < inf:
                break
            else:
                start = self._guessed(found.upper, log_of(share.fraction), asked.log_delta)
        if best == inf:
            return INFINITE, None
        step = Dyadic.of_float(best)
        return Dyadic(step.mantissa * self.reports, step.exponent), proof

    def _guessed(self, eps: float, log_share: float, log_delta: float) -> float:
        """Return about the eps at which steps close, a little above: eps falls with the root of log delta, or so."""
        guess = eps
        for _ in range(_GUESSES):
            whole = log1p(-exp(-self.reports * guess)) - log1p(-exp(-guess))
            log_factor = (self.reports - 1) * guess + whole
            guess = eps * sqrt(max((log_delta - log_factor) / log_share, 1.0))
        return guess * (1.0 + _CLOSE)

    def _below(self, asked: Query, most: Dyadic) -> tuple[Dyadic, str, StepsOfReports | None]:
        """Return the lower end by data sets in which all other users hold one input, and who holds what."""
        settings = Settings(limits=Limits.of("default"))
        is_epsilon = asked.quantity == "epsilon"
        near = Level.of_float(min(most.above, 1.0) / self.reports) if is_epsilon else asked.level
        worst = DataSetSearch(checked_subject(self.mechanism)).repeatable(near, self.n, settings)
        if worst is None or not is_triple(worst):
            return ZERO, "none", None
        if not (worst.decomposition.is_listed or isinstance(worst.decomposition, LawTriple)):
            return ZERO, "none", None
        lost = sp.S.Zero if self.lost is None else 1 - self.lost.present
        counts = self.reports, (self.n - 1) * self.reports
        made = (steps_of(_rows(worst, lost), counts, only_two=few, may_be_lost=lost != 0) for few in (False, True))
        plans = ((x, x[0].plan(near)) for x in made if x is not None)
        found = next((x for x, plan in plans if plan is not None and plan.last < _MOST_NODES), None)
        if found is None:
            return ZERO, "none", None
        if is_epsilon:
            log_value = lambda eps: max(found[0].log_estimate(Level.of_float(eps)), -_LARGEST)  # noqa: E731
            eps = proved_epsilon(log_value, found[0].below, arb(asked.given), min(most.above, _LARGEST))
            least = Dyadic.of_float(eps)
        else:
            value = found[0].below(asked.level)
            with at_precision(64):
                least = max(Dyadic.of(value.lower()), ZERO)
        other = worst.dataset[0][0]
        told = f"victim {worst.pair[0]} against {worst.pair[1]}, everyone else holds {other}"
        return least, told, StepsOfReports(*found, worst.pair, other)


def _may_be_less(rounds: Composition, asked: Query, most: Dyadic) -> bool:
    """Return whether the normal approximation of rounds is below a bound by more than it is usually off."""
    if asked.quantity == "epsilon":
        return gaussian_epsilon(rounds.mu, asked.log_delta) < (1.0 - _OFF) * most.above
    log_most = log_of_ball(most.ball) if most.mantissa > 0 else -inf
    return gaussian_log_delta(rounds.mu, float(sp.N(asked.given, 17))) < (1.0 + _OFF) * log_most


def _rows(found: Reduction, lost: sp.Rational) -> list[tuple[Number, Number, Number]]:
    """Return the chances of each message under x0, x1 and x*, where another user's report may be lost: the last one."""
    law, nothing = found.law, number(sp.S.Zero)
    rows: list[tuple[Number, Number, Number]] = [
        (_times(a.ratio0, a.mass), _times(a.ratio1, a.mass), _times(a.mass, number(1 - lost))) for a in law.atoms
    ]
    return rows + [(a, b, nothing) for a, b in law.singular] + [(nothing, nothing, number(lost))] * bool(lost)


def _times(x: Number, y: Number) -> Number:
    return lambda: x() * y()


@checked_call
def several_reports(
    mechanism: Any,
    *,
    n: Count,
    reports: Count,
    seen: str = SHUFFLED,
    kept: bool = False,
    attending: Count | None = None,
    participation: Participation | None = None,
) -> SeveralReports:
    """Return the privacy of n users who each send several ``reports`` about one value or several, drawn independently.

    Neighbouring data sets differ in all values of one user. ``seen`` says which histogram the adversary sees: that of
    all reports together ("shuffled"); one for the first reports of all users, one for the second reports, and so on
    ("rounds"); or that of messages which each hold all reports of one user ("bundled").

    With ``kept=True`` a report about one value is drawn once and sent again on later days (memoisation); ``reports`` is
    the number of days, and each day is shuffled. ``attending`` is then the number of users, the victim included, who
    attend the same days as the victim, all n by default; who attends must not depend on the data.

    ``participation`` says how many users collude, as a number or as a share, and with which probability (``dropout``)
    each report of another user is lost, independently of the others; if "bundled", each whole message.

    Raises ArgumentError for numbers that depend on values or data, and for rounds of reports that are kept.

    >>> import symamp as sa
    >>> coin = sa.RandomizedResponse(k=2, eps0=1)
    >>> kept = sa.several_reports(coin, n=1000, reports=30, kept=True, attending=1000).epsilon("1e-6")
    >>> kept.upper == sa.epsilon(coin, n=1000, delta="1e-6").upper
    True
    """
    checked_subject(mechanism)
    count = users(n)
    wanted = f"one number for all users, from 1 to {LARGEST_ROUNDS}: how many there are must not depend on values"
    times = whole_number(reports, "reports", LARGEST_ROUNDS, f"{wanted}, so let all users send the most")
    if not isinstance(seen, str) or seen not in SEEN:
        raise ArgumentError("seen", seen, f"one of {', '.join(map(repr, SEEN))}")
    if not isinstance(kept, bool):
        raise ArgumentError("kept", kept, "True or False")
    if not kept and attending is not None:
        raise ArgumentError("attending", Problem("reports are drawn anew each time"), "leave it out, or give kept=True")
    if kept and seen == BUNDLED:
        raise ArgumentError("seen", seen, f"{ROUNDS!r}: reports are kept for several days, each of which is shuffled")
    fixed = f"a number of users up to {count:,}, fixed beforehand: who attends must not depend on the data"
    try:
        together = None if attending is None else whole_number(attending, "attending", count, fixed)
    except SymampError:
        raise ArgumentError("attending", attending, fixed) from None
    if participation is None:
        return SeveralReports(mechanism, count, times, seen, kept, together)
    who = checked_participation(participation)
    if not replace(who, present=sp.S.One).only_counts or who.runs:
        once = Problem("what happens to a user once, in all reports, makes these dependent")
        raise ArgumentError("participation", once, "say dropout, of each report by itself, and how many users collude")
    if kept:
        raise ArgumentError("participation", Problem("who is there is said by attending"), "give attending=...")
    lost = lost_reports(1 - who.present) if who.present != 1 else None
    return SeveralReports(mechanism, who.users(count), times, seen, lost=lost)
