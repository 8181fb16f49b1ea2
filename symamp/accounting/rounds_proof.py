"""The evidence for a bracket about many rounds, as plain data, and its certificate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import sympy as sp
from flint import arb, fmpq

from symamp.accounting.pairs import RoundCurve
from symamp.accounting.round import GivenRound, SampledRound, ShuffledRound, evidence_below, level_at
from symamp.bounds.bound import Evidence, largest_upper
from symamp.certificates.evidence import Data, Proof, bits, kernel_plan, setting
from symamp.certificates.one_round import MORE_BITS, Users, proof_above, stated
from symamp.certificates.text import At, accepted, expression_text, fraction_text, outward
from symamp.data_sets.search import Repeated
from symamp.errors import ArgumentError, Problem
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.rationals import rational_of
from symamp.numbers.surroundings import at_precision
from symamp.settings.participation import Repeatable, triple_behind
from symamp.settings.question import Query, Question
from symamp.settings.rounds import Drawn, Rounds
from symamp.sums.kernels.tilted import Plan

_ALL_DATA_SETS = "all_data_sets"
_BITS_OF_POINTS, _BITS_OF_RATIOS = MORE_BITS[1], 256
"""How many bits the points of a curve have beyond their evaluations, and those of the largest ratio of a mechanism."""
SLACK, MORE_SLACK = fmpq(1, 10**9), fmpq(1, 10**6)
"""By this part of themselves ends are wider in a certificate, for roundings; and where the verifier needs more room."""

_NEXT_TO_NOTHING = fmpq(1, 2**100)
"""What is claimed of a delta of 0 at exactly the largest losses, which balls do not tell from eps."""

# ---------------------------------------------------- What proves one end of a bracket about many rounds, as plain data


@dataclass(frozen=True)
class Side:
    """The curves of all rounds, the eps in question as an expression, and the plan of the evaluation."""

    curves: tuple[RoundCurve, ...]
    eps: str
    plan: Plan | None
    precision: int


@dataclass(frozen=True)
class Sums:
    """What proves the lower end where coordinates are summed: how many there are, the level, its bits, the evidence.

    The rounds are then those of one bit, two for each of the unary encoding. ``most`` is their upper end, where the
    local budget of the encoding is less.
    """

    size: int
    eps: str
    precision: int
    evidence: Data = field(hash=False)
    most: Dyadic

    @property
    def plan(self) -> str:
        """How the evaluation is done, in words."""
        held = "{}, {} of the other users hold the victim's first input and {} the second"
        return held.format("all counts", *self.evidence["held"])


@dataclass
class _Kind:
    """A kind of round: how often it is run, the curves that are about it, and all that is behind their points."""

    text: str
    count: int
    curves: dict[bool, RoundCurve] = field(default_factory=dict)
    """By whether they are from above."""

    @cached_property
    def question(self) -> Question | None:
        """What is asked about one round; None where its bounds were given."""
        found = next((c.round for c in self.curves.values()), None)
        base = found.base if isinstance(found, SampledRound) else found
        return base.question if isinstance(base, ShuffledRound) else None

    @property
    def rate(self) -> fmpq:
        """With which probability a person is in the round."""
        return next((c.round.rate for c in self.curves.values() if isinstance(c.round, SampledRound)), fmpq(1))

    @cached_property
    def proofs(self) -> list[tuple[fmpq, Proof, bool]]:
        """What proves the points above, by level: of the sample itself (True), or of the round without sampling."""
        curve, question = self.curves.get(True), self.question
        if curve is None or question is None:
            return []
        base = curve.round.base if isinstance(curve.round, SampledRound) else curve.round
        assert isinstance(base, ShuffledRound)
        proofs, levels = list[tuple[fmpq, Proof, bool]](), list[fmpq]()
        for p in (p for p in curve.points.inside() if p.level >= 1):
            own = curve.round.evidence(p.level, p.high, curve.width) if isinstance(curve.round, SampledRound) else None
            if own is None:
                levels.append(1 + (p.level - 1) / self.rate)
                continue
            seen = tuple(replace(e, part=e.part.base) for e in own if isinstance(e.part, Drawn))
            at, high = At.of(sp.log(rational_of(p.level))), outward(largest_upper(own), up=True)
            proofs.append((p.level, Proof(at, high, seen), True))
        known = [(e, base.evidence(e, curve.width)) for e in levels]
        methods = {e.part.method for _, found in known for e in found}
        mechanism, listed = None if question.victims else question.subject.randomizers[0].mechanism, question
        made = mechanism if mechanism is not None and mechanism.is_composed else None  # of others
        if _ALL_DATA_SETS in methods and len(methods) > 1 and made and question.subject.participation is None:
            listed = Question.of(made.listed, question.n, None)  # all points are to be about the table
        for e, found in known:
            about = question if found[0].part.method == _ALL_DATA_SETS else listed
            at, high = At.of(sp.log(rational_of(e))), outward(largest_upper(found), up=True)
            proofs.append((e, proof_above(about, found, at, high), False))
        if not proofs and made:  # no point is needed, but the mechanism is told by its triples
            proofs.append((fmpq(1), proof_above(question, (), At.of(sp.Integer(0)), fmpq(1)), False))
        return proofs

    @cached_property
    def orders(self) -> list[list[tuple[fmpq, Evidence]]]:
        """Evaluations of one data set by level, in one order and in the other."""
        curve = self.curves.get(False)
        if curve is None or curve.data_set is None:
            return []
        (found, n), inside = curve.data_set, curve.points.inside()
        right, left = [p.level for p in inside if p.level >= 1], [1 / p.level for p in inside[::-1] if p.level < 1]
        orders = (found, right), (found.swapped(), left or [fmpq(1)])
        return [[(e, evidence_below(order, level_at(e), n, curve.width)) for e in levels] for order, levels in orders]

    @cached_property
    def users(self) -> Users | None:
        """Those of a round as data, None where nothing is known of them."""
        shown = [e for points in self.orders for _, e in points[:1]]
        proofs = [proof for _, proof, _ in self.proofs]
        return None if self.question is None else Users.of(self.question, proofs, shown, None)

    @property
    def setting(self) -> Data:
        """The kind of round as data."""
        of = {"name": self.text, "count": self.count, "rate": fraction_text(self.rate)}
        if self.users is not None:
            return self.users.setting | of
        curve = self.curves.get(True)
        points = [(fmpq(1), fmpq(1))] if curve is None else [(p.level, p.high) for p in _given(curve).points]
        given = {"kind": "given", "points": [[fraction_text(e), fraction_text(d)] for e, d in points]}
        return setting("", [(1, True, given)]) | of

    def supposed(self) -> list[str]:
        """Return what the theorems suppose that stand behind the points above."""
        found = [e for _, proof, _ in self.proofs for e in proof.found]
        return [] if self.users is None else self.users.supposed(found)

    def curve(self, place: int, up: bool, *, alone: bool) -> Data:
        """Return one of the curves as data; points above have bits enough ``alone``, or all as many more."""
        curve, users = self.curves[up], self.users
        first, second = [], list[Data]()
        if users is not None and up:
            first = [_above(self.setting, users, e, proof, alone, drawn) for e, proof, drawn in self.proofs]
        elif users is not None:
            first, second = ([_below(users, *point) for point in points] for points in self.orders)
        ends = {"bottom": curve.points.bottom, "top": curve.points.top}
        if up and users is not None and not users.question.victims and users.known[0].data["kind"] == "triples":
            # Laws above those of a density name who sent a message far out: then no level is known to be the last.
            with at_precision(_BITS_OF_RATIOS):
                is_known = users.known[0].as_read().ratio(True) < arb("inf")
            ends = {key: x if is_known else None for key, x in ends.items()}
        texts = {key: None if x is None else fraction_text(x) for key, x in ends.items()}
        return {"setting": place, **texts, "first": first, "second": second or None}


def _given(curve: RoundCurve) -> GivenRound:
    if not isinstance(curve.round, GivenRound):
        wrong = Problem(f"{curve.round.text} has no certificate")
        raise ArgumentError("certificate", wrong, "certify rounds of shuffled users")
    return curve.round


def _above(one: Data, users: Users, level: fmpq, proof: Proof, alone: bool, drawn: bool) -> Data:
    """Return a point above, with bits for which the verifier accepts it by itself, or with a fixed number of more."""
    high = fraction_text(proof.bound)
    if alone and not drawn:
        claim = {"quantity": "delta", "eps": proof.at.text, "lower": "0", "upper": high}
        found = stated(
            claim, [one | {"count": 1, "rate": "1"}], {"above": lambda n: users.above(proof, n), "below": None}, []
        )
        made = found["above"]
    else:
        made = users.above(proof, _BITS_OF_POINTS)
    found = {"level": fraction_text(level), "low": "0", "high": high} | {k: made[k] for k in ("precision", "evidence")}
    return found | ({"drawn": True} if drawn else {})


def _below(users: Users, level: fmpq, found: Evidence) -> Data:
    return {
        "level": fraction_text(level),
        "low": fraction_text(outward(found.lower, up=False)),
        "high": fraction_text(outward(found.upper, up=True)),
        "precision": bits([found], _BITS_OF_POINTS),
        "evidence": [users.below(At.of(sp.log(rational_of(level))), found)],
    }


def _side(kinds: Sequence[_Kind], side: Side | None, *, up: bool, alone: bool = False) -> Data | None:
    return (
        None
        if side is None
        else {
            "curves": [k.curve(i, up, alone=alone) for i, k in enumerate(kinds) if up in k.curves],
            "floor": max(c.floor for c in side.curves),
            "precision": side.precision,
            "plan": None if side.plan is None else kernel_plan(side.plan),
        }
    )


def _is_listed(found: Repeated) -> bool:
    return isinstance(found, Repeatable) and triple_behind(found).decomposition.is_listed


# --------------------------------------------------------------- What proves both ends, and its certificate


@dataclass(frozen=True)
class RoundsProof:
    """What proves the ends of a bracket about many rounds, from above and from below; None where nothing does."""

    above: Side | None
    below: Side | None
    sums: Sums | None = None

    @property
    def shown(self) -> str:
        """The evaluations behind both ends, in one line."""
        return "; ".join(
            f"{name}: " + ("none" if side is None else f"at {side.eps} by {side.plan}")
            for name, side in (("above", self.above), ("below", self.sums or self.below))
        )

    def certificate(self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds) -> dict[str, Any]:
        """Return the bracket and all that is needed to check it without a search, as JSON-ready data.

        The ends are wider by a part in 10^9, for roundings, or in 10^6 where a plan depends on them. A lower end from
        cells of messages is not claimed, one by sums of coordinates as it is. Of a delta of 0 at exactly the largest
        losses, which balls do not tell, 2^-100 is claimed.

        Raises ArgumentError for answers without points, and for rounds whose bounds no certificate can carry.
        """
        if self.above is None and self.below is None:
            wrong = Problem(f"no certified points belong to {rounds}")
            raise ArgumentError("certificate", wrong, "ask for a larger delta")
        most = most if self.sums is None else self.sums.most
        below, sums = (self.below, self.sums) if least.mantissa > 0 else (None, None)
        is_listed = below is not None and all(
            c.data_set is None or (_is_listed(c.data_set[0]) and (c.round.text, c.count) in rounds.listed)
            for c in below.curves
        )
        sides = {True: self.above, False: below if is_listed else None}
        kinds = [_Kind(text, count) for text, count in rounds.listed]
        for up, side in sides.items():
            free = list(kinds)
            for c in () if side is None else side.curves:
                kind = next(k for k in free if (k.text, k.count) == (c.round.text, c.count))
                free.remove(kind)
                kind.curves[up] = c
        settings = [k.setting for k in kinds]
        supposed = list(dict.fromkeys(s for k in kinds for s in k.supposed()))
        data = {"settings": settings, "supposed": supposed, "below": _side(kinds, sides[False], up=False)}
        if sums is not None:
            settings[0] |= {"count": kinds[0].count // 2, "coordinates": sums.size}
            data["below"] = {"eps": sums.eps, "precision": sums.precision, "evidence": [sums.evidence]}

        def documents() -> Iterator[Data]:
            for alone in (False, True):  # points that are checked one by one, too, take twice the time
                above = _side(kinds, sides[True], up=True, alone=alone)
                for slack in (SLACK, MORE_SLACK):
                    low = outward(least, up=False) if sums else least.fraction * (1 - slack) if is_listed else fmpq(0)
                    yield data | {"claim": self._claimed(asked, low, most, slack), "above": above}

        return accepted(
            documents(), asked.effort, "ask with a larger gap", "ask with a larger gap, with effort='quick'"
        )

    def _claimed(self, asked: Query, low: fmpq, most: Dyadic, slack: fmpq) -> Data:
        is_epsilon = asked.quantity == "epsilon"
        high = most.fraction * (1 + slack) if self.above is not None and most.exponent is not None else None
        high = _NEXT_TO_NOTHING if high == 0 and slack == MORE_SLACK else high
        high = None if high is not None and not is_epsilon and high >= 1 else high
        return {
            "quantity": asked.quantity,
            "delta" if is_epsilon else "eps": (fraction_text if is_epsilon else expression_text)(asked.given),
            "lower": fraction_text(low),
            "upper": ("inf" if is_epsilon else "1") if high is None else fraction_text(high),
        }
