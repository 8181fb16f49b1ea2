"""The answer to a question: a certified bracket with its evidence, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log10
from typing import Any, Protocol, Self, cast

import sympy as sp
from flint import fmpq

from symamp.bounds.bound import AttainedBound, DataSetBound, DataSets, Evidence, gap_of_largest
from symamp.bounds.hypotheses import ProofStatus
from symamp.bounds.reduction import is_large_table
from symamp.bounds.registry import BOUNDS
from symamp.certificates.one_round import Claim, certificate
from symamp.decompositions.envelope import envelope, envelope_classes
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.errors import ArgumentError, ContradictionError, PrecisionError, Problem, SymampError
from symamp.laws.law import Level
from symamp.numbers.dyadic import ZERO, Dyadic
from symamp.numbers.limits import EFFORTS
from symamp.numbers.rationals import rational_of
from symamp.numbers.reading import Real, printable_number
from symamp.numbers.surroundings import undisturbed
from symamp.questions.bracket import Bracket, Interval, json_number, outward_decimal
from symamp.questions.risk import RATES, Accusation, Risk, curves_of_bracket, risk_of
from symamp.settings.question import Query, Question
from symamp.settings.rounds import Rounds

_LOCAL_BUDGET, _COMPOSITION = "local budget", "composition"
_UNATTAINED = "no data set that is found attains the upper end"

# Thresholds of the text of an answer; none of them changes an end.
_UNDERFLOW = 1e-300
"""Ends below it are compared by their logarithms."""
_MOST_DIGITS = 1000
"""Digits of an end that is known exactly."""
WIDE, _WIDE_DELTA = 1.1, 2.0
"""Above these values of upper/lower the text of an answer has a warning; the second is for delta of one round."""
_APART, _MISSED = 0.01, 1.5
"""Above this relative distance of the ends an answer says why they differ; for many rounds, whose points are placed by
a rule of thumb, above this factor of the gap."""


class ProofOfRounds(Protocol):
    """What proves both ends of a bracket about many rounds."""

    @property
    def shown(self) -> str:
        """The evaluations behind both ends, in one line."""

    def certificate(self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds) -> dict[str, Any]:
        """Return the bracket and all that is needed to check it without a search."""


@dataclass(frozen=True, repr=False)
class Answer(Bracket):
    """A certified bracket of ``epsilon`` or of ``delta`` for n shuffled users, with its evidence.

    The shuffled mechanism is private at ``upper`` and proved not to be private below ``lower``; both are doubles
    rounded outward. ``pair`` is the pair of inputs that attains the upper bound, ``dataset`` the two neighbouring data
    sets that attain the lower bound. ``evidence_above`` and ``evidence_below`` are the certified evaluations of both.

    ``bound`` encloses the value of the analysis that gives ``upper``: its width is the numerical error, its distance
    from ``lower`` the gap of the analysis. If ``digits`` were requested and the smallest bound is not known to so many
    digits, ``upper`` is still the smallest bound, and ``bound`` belongs to the smallest one that has the digits
    (``evidence_of_digits``).

    An analysis that is not proved (``method="variation_ratio_2023"``) does not change the bracket: its value is
    ``claimed``, which may lie below ``lower``. ``limited`` is True if a search stopped at the limit that ``effort``
    sets; then effort="thorough" may find a narrower bracket.

    For many rounds, ``rounds`` lists them and ``covered`` says which adaptive choices the upper end covers.
    ``gaussian`` is the Gaussian approximation (mu-GDP), which is not a bound; ``gaussian_place`` says how far it is
    from the bracket. ``has_one_end`` is True if only the end that proves an inverse answer was computed.

    Answers are plain data: they can be pickled, compared and hashed.

    >>> import symamp as sa
    >>> answer = sa.epsilon(sa.RandomizedResponse(k=3, eps0=1), n=1000, delta="1e-6")
    >>> print(answer)
    epsilon in [0.130566..., 0.130695...]  (n = 1,000, delta = 1e-6; blanket, proved)
    >>> answer.pair, str(answer.dataset), answer.proof_status.is_guarantee
    (('x0', 'x1'), 'victim x0 against x1, everyone else holds x2', True)
    """

    _internal_names = (
        "aimed asked checked evidence_above evidence_below evidence_of_digits gap_of_evidence has_one_end larger "
        "narrowed of_directions of_victims proof question worst"
    )

    question: Question
    asked: Query
    least: Dyadic
    most: Dyadic
    bound: Interval
    evidence_above: tuple[Evidence, ...] = ()
    evidence_below: tuple[Evidence, ...] = ()
    claimed: Interval | None = None
    limited: bool = False
    evidence_of_digits: tuple[Evidence, ...] = ()
    of_victims: tuple[tuple[int, Interval], ...] = ()
    of_directions: tuple[tuple[str, Interval], ...] = ()
    conjectured: Interval | None = None
    gaussian: float | None = None
    aimed: float | None = None
    proof: ProofOfRounds | None = None

    def __post_init__(self) -> None:
        """Raise ContradictionError for ends that cross, of any group of victims."""
        super().__post_init__()
        for victim, found in self.of_victims:
            if not 0.0 <= found.lower <= found.upper:
                raise ContradictionError(f"{self.asked_about}, victim {victim}", str(found), self.shown_evidence)

    @staticmethod
    def worst(victims: Mapping[int | None, Answer]) -> Answer:
        """Return what holds for all victims: the largest upper end, with all evidence, and the largest lower one.

        The victims are groups by number; where all users run one mechanism they are one, without a number.
        """
        first, *others = sorted(victims.values(), key=lambda answer: answer.most, reverse=True)
        low = max(victims.values(), key=lambda answer: answer.least)
        known = {v: Interval(answer.lower, answer.upper) for v, answer in victims.items() if v is not None}
        return replace(
            first,
            least=low.least,
            bound=Interval(max(answer.bound.lower for answer in victims.values()), first.bound.upper),
            evidence_above=sum((answer.evidence_above for answer in others), first.evidence_above),
            evidence_below=low.evidence_below,
            limited=any(answer.limited for answer in victims.values()),
            of_victims=tuple(known.items()),
        )

    @staticmethod
    def larger(directions: Mapping[str, Answer], about: Rounds) -> Answer:
        """Return the larger of the answers for the directions of one training, each composed by itself.

        Each end is the larger of the two ends, because the truth is the larger of two numbers that are bracketed.
        """
        first = max(directions.values(), key=lambda answer: (answer.upper, answer.lower))
        known = tuple((name, Interval(answer.lower, answer.upper)) for name, answer in directions.items())
        least = max((answer.least for answer in directions.values()), key=lambda x: (x.below, x.above))
        bound = Interval(max(x.lower for _, x in known), first.upper)
        question = replace(first.question, subject=about)
        return replace(first, question=question, least=least, bound=bound, of_directions=known)

    @property
    def directions(self) -> dict[str, tuple[float, float]]:
        """The bracket of each direction of training by its name; empty where there is one question only."""
        return {name: (found.lower, found.upper) for name, found in self.of_directions}

    @property
    def direction(self) -> str | None:
        """The name of the direction with the larger upper end; None without directions."""
        return max(self.of_directions, key=lambda d: (d[1].upper, d[1].lower))[0] if self.of_directions else None

    @property
    def quantity(self) -> str:
        """What the bracket is for: "epsilon" or "delta"."""
        return self.asked.quantity

    @property
    def is_probability(self) -> bool:
        return self.quantity == "delta"

    @property
    def asked_about(self) -> str:
        method = "" if self.question.method is None else f", method={self.question.method!r}"
        return f"{self.quantity} of {self.question.subject!r}{method}, {self._question()}"

    @property
    def shown_evidence(self) -> str:
        if self.proof is not None:
            return self.proof.shown
        above, below = (
            ", ".join(f"{e.part.method} {e.part.pair} at {e.eps} by {e.evaluator} {e.plan}" for e in side)
            for side in (self.evidence_above, self.evidence_below)
        )
        return f"above: {above or 'none'}; below: {self.dataset}, {below or 'none'}"

    @property
    def n(self) -> int:
        """The number of users; 0 for many rounds, each of which has its own."""
        return self.question.n

    @property
    def rounds(self) -> tuple[tuple[str, int], ...]:
        """The rounds as texts, each with its number of repetitions; empty for one round."""
        subject = self.question.subject if self.question is not None else None
        return subject.listed if isinstance(subject, Rounds) else ()

    @property
    def covered(self) -> str:
        """What the upper end of many rounds covers, and what it does not; "" for one round."""
        return self.question.subject.covered if self.rounds else ""

    @property
    def gaussian_place(self) -> str:
        """Where the Gaussian approximation lies: how far below or above the certified bracket."""
        if self.gaussian is None or self.gaussian == self.upper:
            return "inside the bracket"
        if self.gaussian < self.lower:
            return f"{1.0 - self.gaussian / self.lower:.2g} relative below the bracket"
        above = self.gaussian / self.upper - 1.0 if self.upper > 0.0 else inf
        return f"{above:.2g} relative above the bracket" if above > 0.0 else "inside the bracket"

    @property
    def has_one_end(self) -> bool:
        """Whether only one end was computed: that of delta which proves an end of an inverse answer."""
        return self.aimed == inf

    @property
    def given(self) -> dict[str, str]:
        """What was given, eps or delta, as it was written."""
        return {"delta" if self.quantity == "epsilon" else "eps": self.asked.written}

    @property
    def subject(self) -> str:
        """What the question was about."""
        return repr(self.question.subject)

    @property
    def method(self) -> str:
        """The analysis that ``method`` named or, if it named none, the one that gives the upper bound."""
        if self.question.method is not None:
            return self.question.method
        without = _COMPOSITION if self.rounds else _LOCAL_BUDGET
        return self.evidence_above[0].part.method if self.evidence_above else without

    @property
    def victims(self) -> dict[int, tuple[float, float]]:
        """The bracket of every group of victims, by number; empty where all users run one mechanism."""
        return {group: (found.lower, found.upper) for group, found in self.of_victims}

    @property
    def proof_status(self) -> ProofStatus:
        """The proof status of ``method``; the bracket itself is always proved."""
        return BOUNDS[self.method].proof_status if self.method in BOUNDS else ProofStatus.PROVED

    @property
    def source(self) -> str:
        """Where the analysis is stated."""
        if self.method in BOUNDS:
            return BOUNDS[self.method].source
        without = "docs/proofs/composition.md" if self.rounds else "definition of the local budget"
        return self.evidence_above[0].part.source if self.evidence_above else without

    @property
    def pair(self) -> tuple[str, str] | None:
        """The ordered pair of inputs that attains the upper bound; None where no evaluation was needed."""
        pair = self.evidence_above[0].part.pair if self.evidence_above else ("", "")
        return pair if any(pair) else None

    @property
    def dataset(self) -> DataSets | None:
        """The data sets that attain the lower bound; None where it is trivial."""
        part = self.evidence_below[0].part if self.evidence_below else None
        return None if part is None else cast(DataSetBound, part).data_sets

    @cached_property
    def worst_data_set(self) -> DataSets | None:
        """The neighbouring data sets that are proved to be the worst of all at this question; None if none are proved.

        They are where one input attains the envelope everywhere (docs/proofs/envelope.md), and those of other pairs are
        proved to be no larger; or they are found among all data sets of few users, where divergences are fractions.
        """
        mechanism = None if self.pair is None else self.question.subject.mechanism
        if mechanism is None or self.pair is None:
            return None
        known = self.evidence_below[0].fraction if self.evidence_below and self.quantity == "delta" else None
        if (
            known is not None
            and isinstance(self.evidence_above[0].part, AttainedBound)
            and all(e.is_at_most(known) for e in self.evidence_above)
        ):
            return self.dataset
        try:
            x = envelope(mechanism, self.pair).attained_by(self.evidence_above[0].eps)
            worst = x is not None and self._is_worst_pair(mechanism)
        except SymampError:  # inputs that are not described, or an order that is not proved
            return None
        return DataSets(*self.pair, ((x, "1"),)) if worst and x is not None else None

    def _is_worst_pair(self, mechanism: LocalRandomizer) -> bool:
        """Return whether no other pair is worse than ``pair``, whose envelope is its divergence: by bounds on them."""
        first, *others = self.evidence_above
        if is_large_table(self.question.subject):  # not all of them are evaluated
            return False
        if len(envelope_classes(mechanism)) == 1:
            return True
        compared = first.part.method == "envelope" and len(others) + 1 == len(envelope_classes(mechanism))
        if printable_number(first.eps, "eps") == 0:  # E = 1: both orders of a pair have the same divergence
            others = [e for e in others if e.part.pair != first.part.pair[::-1]]
        return compared and all(not first.lower < e.upper for e in others)

    @property
    def tight(self) -> bool:
        """Whether the upper bound is proved to be the truth, so that the width of the bracket is numerical only."""
        part = self.evidence_above[0].part if self.evidence_above else None
        return part is not None and (
            isinstance(part, AttainedBound) or (part.method == "envelope" and self.worst_data_set is not None)
        )

    @property
    def digits(self) -> int:
        """How many significant digits of ``bound``, and of ``claimed``, are proved; 1000 if they are exact."""
        worst = self.bound.gap
        # Balls know more digits of delta than doubles have, unless they are about a smaller eps.
        evaluated = self.evidence_of_digits or self.evidence_above
        if self.quantity == "delta" and evaluated and evaluated[0].eps == str(self.asked.given):
            worst = gap_of_largest(evaluated)
        if self.claimed is not None:
            worst = max(worst, self.claimed.gap)
        return _MOST_DIGITS if worst <= 0.0 else max(0, min(_MOST_DIGITS, int(-log10(worst))))

    @property
    def gap_of_evidence(self) -> float:
        """The relative width of the enclosure of the largest divergence behind ``upper``; inf without evidence."""
        return gap_of_largest(self.evidence_above) if self.evidence_above else inf

    def narrowed(self, other: Answer) -> Self:
        """Return the intersection of this answer's bracket with that of another answer to the same question."""
        found = self
        if other.upper < self.upper:
            kept = self.evidence_of_digits or self.evidence_above
            found = replace(found, most=other.most, evidence_above=other.evidence_above, evidence_of_digits=kept)
        if other.lower > self.lower:
            found = replace(found, least=other.least, evidence_below=other.evidence_below)
        return found if found is self else replace(found, limited=self.limited or other.limited)

    def checked(self) -> Self:
        """Return the answer if it has the requested digits; else raise PrecisionError with the most it has."""
        wanted = self.asked.digits
        if wanted is not None and self.digits < wanted:
            raise PrecisionError("digits", wanted, f"at most {self.digits} here: {self.digits_limited_by}")
        return self

    @property
    def digits_limited_by(self) -> str:
        """Why no more ``digits`` are proved, as a text."""
        if self.limited:
            return self._capped
        used = {e.evaluator for e in self.evidence_above}
        if "compact kernel" in used:
            return "the kernel's frequencies grow with 10**(digits/2), and the outcomes are too many to enumerate"
        return f"evaluated by {', '.join(sorted(used)) or self.method}"

    @property
    def _capped(self) -> str:
        return "Search is capped" + ("" if self.asked.effort == "thorough" else "; ask for effort='thorough'")

    @property
    def _ratio(self) -> float:
        """upper/lower, right also below the smallest double; ``inf`` without a lower end."""
        if self.most == self.least:
            return 1.0
        if self.lower > _UNDERFLOW:
            return self.upper / self.lower
        return float(10.0 ** min(self.log10_upper - self.log10_lower, 300.0)) if self.log10_lower > -inf else inf

    @property
    def gap_limited_by(self) -> str:
        """Why the ends differ by more than a percent, as a text; "" if they do not.

        For many rounds: why they differ by more than the ``gap`` that was requested.

        >>> import symamp as sa
        >>> joint = sa.joint([sa.RandomizedResponse(k=10, eps0="1/8")] * 8)
        >>> print(sa.delta(joint, n=10**6, eps="0.0008").gap_limited_by)
        no data set found attains the bound blanket; all_data_sets needs a list of all inputs and messages, as...
        """
        if self.question is None:
            return ""
        if self.rounds:
            aimed = _APART if self.aimed is None else _MISSED * self.aimed
            if self._ratio <= 1.0 + aimed or (self.aimed is None and not self.limited):
                return ""
            if self.limited:
                return self._capped
            why = _UNATTAINED if self._is_one else "the bounds behind both ends are apart"
            return f"{why}: the width is {self._ratio - 1.0:.2g}, aimed at was {self.aimed:.2g}"
        if self._ratio <= 1.0 + _APART:
            return ""
        if self.limited:
            return self._capped
        if self.upper > _UNDERFLOW and self.bound.upper > self.bound.lower * (1.0 + _APART):
            return f"the evaluation of {self.method}: its own enclosure is wider than a percent"
        needed, subject, interval = "", self.question.subject, BOUNDS["interval"]
        efforts = (self.asked.effort, "thorough") if interval.unsupported_reason(subject) is None else ()
        if [interval.too_costly(subject, Level.of_float(0.0), self.n, EFFORTS[x]) for x in efforts] == [True, False]:
            needed = "; ask for effort='thorough'"
        elif self.question.victims:
            needed = ", the only one for users who differ; one mechanism for all has closer ones"
        elif getattr(subject, "participation", None) is not None:
            needed = "; closer ones suppose that all take part: say how many count, by colluders=, or leave it out"
        elif BOUNDS["all_data_sets"].unsupported_reason(subject) is not None:
            needed = "; all_data_sets needs a list of all inputs and messages, as small tables have"
        return f"no data set found attains the bound {self.method}{needed}"

    @property
    def _is_one(self) -> bool:
        """Whether no part of the rounds can be asked by itself: a sample, coordinates, or training."""
        subject = self.question.subject
        return bool(isinstance(subject, Rounds) and (subject.text or sum(count for _, count in subject.listed) == 1))

    @property
    def caution(self) -> str:
        """A warning that the bracket is wide, with the reason and the remedy; "" if it is not wide.

        A bracket is wide if upper/lower exceeds 1.1, or 2 for delta of one round (where a factor of two in delta is a
        small change of eps). If ``method`` was given there is no warning. If no eps suffices, the text says so. The
        warning is part of ``str(answer)``.

        >>> import symamp as sa
        >>> given = sa.from_privacy_profile([(0, "1e-2"), ("0.1", "1e-6")])
        >>> print(given.rounds(3).delta("0.3").caution)
        WIDE: no lower end is known; the upper end holds, rounds of shuffled users have both
        """
        if self.lower == inf:
            return "no eps is enough: what only one of two inputs can send is likelier than delta"
        if self.has_one_end:
            return ""
        asked_for = not self.rounds and (self.question is None or self.question.method is not None)
        if asked_for:
            return ""
        if self._ratio <= (WIDE if self.rounds or self.quantity == "epsilon" else _WIDE_DELTA):
            return ""
        if not self.rounds:
            ratio = f"upper/lower = {self._ratio:.3g}" if self.log10_lower > -inf else "no lower end is known"
            return f"WIDE: {ratio}: {self.gap_limited_by}"
        if self.log10_lower == -inf:
            return "WIDE: no lower end is known; the upper end holds, rounds of shuffled users have both"
        ratio = f"WIDE: upper/lower = {self._ratio:.3g}"
        if self.limited:
            return f"{ratio}: {self._capped}"
        why = "the bounds behind both ends are apart"
        if self.quantity == "delta":
            return f"{ratio}: {why}, or eps is close and delta is not; give a smaller gap, or ask for epsilon"
        if self._is_one:
            other = "sampler, as random_allocation" if self.of_directions else "mechanism"
            return f"{ratio}: {_UNATTAINED}, which holds; take another {other}"
        return f"{ratio}: {why}; ask one round by itself, whose gap_limited_by says why, or take another mechanism"

    @property
    def parameters(self) -> dict[str, Any]:
        """Evaluator, precision and parameters of the evaluation of ``upper``, such as tilt, window and frequencies.

        ``merging`` is present if values or inputs were merged: an upper bound on how much that raised a stop-loss
        transform, and so delta by the envelope.
        """
        if not self.evidence_above:
            return {"evaluator": "exact"}
        found = self.evidence_above[0]
        merging = {"merging": found.merging} if found.merging > 0.0 else {}
        shown = {"evaluator": found.evaluator, "precision": found.precision, "relative_gap": found.relative_gap}
        return shown | merging | (found.plan.parameters if found.plan is not None else {})

    @undisturbed()
    def risk(self, *, prior: Real = "1/2", rates: Iterable[object] = RATES) -> Risk:
        """Return certified ranges of an attacker's success that follow from this one bracket.

        ``prior`` is the probability of the accused input before the attack, ``rates`` are false positive rates. The
        upper ends follow from (upper, delta)-privacy. The lower ends are weak, because one bracket implies little;
        ``risk`` of a profile or of many rounds uses the whole curve.

        Guarantee
        ---------
        No attacker on neighbouring data sets exceeds the upper ends; on some, an attacker reaches the lower ones.
        Proof: docs/proofs/risk.md.

        >>> import symamp as sa
        >>> answer = sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**4, delta="1e-6")
        >>> 0.0116 < answer.risk().advantage.upper < 0.0117
        True
        """
        accused = Accusation.of(prior, rates)
        if self.question is None:
            raise ArgumentError("risk", Problem("the question is not stored with this answer"), "ask again")
        ends: list[tuple[sp.Expr, fmpq] | None] = []
        for end, size, up in ((self.most, self.log10_upper, True), (self.least, self.log10_lower, False)):
            if end.exponent is None or (self.quantity == "epsilon" and not up and end.mantissa == 0):
                ends.append(None)
            elif self.quantity == "epsilon":
                ends.append((rational_of(end.fraction), self.asked.given))
            elif size > -_MOST_DIGITS:
                ends.append((self.asked.given, end.fraction))
            else:  # fractions of that size are slow, and nothing is seen of them
                ends.append((self.asked.given, fmpq(1, 10**_MOST_DIGITS) if up else fmpq(0)))
        above, below = ends
        return risk_of(f"{self.subject}, {self._question()}", *curves_of_bracket(above, below), accused)

    @undisturbed()
    def certificate(self) -> dict[str, Any]:
        """Return the claim and all that is needed to check it without a search, as JSON-ready data.

        For many rounds each point of each curve has a certificate of its own. The claimed ends are wider than those of
        the answer by a part in 10^9, for roundings, and a lower end that comes from cells of messages is not claimed.

        Raises ArgumentError for what no certificate can carry, PrecisionError if ``verify`` accepts it at no precision.
        """
        if self.question is None:  # answers are plain data, and it may have been taken out
            raise ArgumentError("certificate", Problem("the question is not stored with this answer"), "ask again")
        if self.proof is not None:
            return self.proof.certificate(self.asked, self.least, self.most, self.question.subject)
        claim = Claim(self.question, self.asked, self.least, self.most, self.evidence_above, self.evidence_below)
        return certificate(claim)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for machines: numbers and texts only, infinities as "inf"."""
        low, high = self.decimals()
        return {
            "quantity": self.quantity,
            **self.ends_json(),
            "lower_text": low,
            "upper_text": high,
            "bound": _both(self.bound),
            "claimed": _both(self.claimed),
            "n": None if self.rounds else self.n,
            **self.given,
            "method": self.method,
            "proof_status": self.proof_status.value,
            "source": self.source,
            "pair": self.pair,
            "tight": self.tight,
            "worst_data_set": None if self.worst_data_set is None else str(self.worst_data_set),
            "dataset": None if self.dataset is None else str(self.dataset),
            "victims": {str(group): _both(ends) for group, ends in self.of_victims},
            "parameters": self.parameters,
            "directions": {name: _both(ends) for name, ends in self.of_directions},
            "conjectured": _both(self.conjectured),
            "rounds": [{"round": text, "count": count} for text, count in self.rounds],
            "covered": self.covered,
            "gaussian": self.gaussian,
            "gaussian_place": None if self.gaussian is None else self.gaussian_place,
            "gap_limited_by": self.gap_limited_by,
        }

    def __str__(self) -> str:
        return f"{self._claim(' in ')}  ({self._question()}; {self._said()})"

    def _repr_markdown_(self) -> str:
        return f"{self._claim(' ∈ ')} for {self._question()} (*{self._said()}*)"

    def _question(self) -> str:
        users = [] if self.rounds else [f"n = {self.n:,}"]
        return ", ".join([*users, *(f"{k} = {v}" for k, v in self.given.items())])

    def _said(self) -> str:
        if self.rounds:
            larger = f"; larger: {self.direction}" if len(self.of_directions) > 1 else ""
            said = f"; conjectured: {self.conjectured}" if self.conjectured is not None else ""
            caution = f"; {self.caution}" if self.caution else ""
            return f"{self.subject}{larger}{said}{caution}"
        if self.claimed is None:
            return f"{self.method}, {self.proof_status.value}" + (f"; {self.caution}" if self.caution else "")
        proved = self.evidence_above[0].part.method if self.evidence_above else _LOCAL_BUDGET
        low, high = outward_decimal(self.claimed.lower, down=True), outward_decimal(self.claimed.upper, down=False)
        said = high if low == high else f"[{low}, {high}]"
        return f"{proved}, proved; the {self.proof_status.value} analysis {self.method} says {said}, WITHOUT GUARANTEE"

    def _claim(self, within: str) -> str:
        low, high = self.decimals()
        if self.has_one_end:
            return f"{self.quantity} <= {high}" if self.least == ZERO else f"{self.quantity} >= {low}"
        return f"{self.quantity}{within}[{low}, {high}]"


def _both(found: Interval | None) -> list[float | str] | None:
    return None if found is None else [json_number(found.lower), json_number(found.upper)]
