"""The certificate of users who differ: the mechanism of every group as data, and evidence for every victim and pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.blanket import SOURCE
from symamp.bounds.bound import Evidence, PairBound, largest_upper
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction, dataset_reduction
from symamp.certificates.evidence import evaluation, participation
from symamp.certificates.mechanisms import Described, of_budget, of_table
from symamp.certificates.one_round import (
    FINER_GAPS,
    LEAST_BITS,
    MORE_BITS,
    Claim,
    Data,
    accepted,
    of_mechanism,
    sentences,
    setting,
)
from symamp.certificates.text import At, exact_double, fraction_text, outward
from symamp.data_sets.users_who_differ import DataOfPositions, StepSums
from symamp.decompositions.decomposition import Decomposition
from symamp.errors import ArgumentError, Problem
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.rationals import rational_of
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import DATA, Mechanism
from symamp.settings.question import Question
from symamp.settings.users_who_differ import (
    DATA_THEOREM,
    MESSAGES_THEOREM,
    Constant,
    HeterogeneousUsers,
    members_below,
    positions_above,
)
from symamp.settings.victims import BITS, CommonBlanket, ShuffledData, Victims
from symamp.verifier import MOST_PRECISION


def crowd_certificate(claim: Claim, groups: Sequence[int]) -> Data:
    """Return the certificate of a bracket for these groups of victims, by number.

    Raises PrecisionError if the verifier accepts it at no precision, ArgumentError where it does not know the setting.
    """
    crowd = _certified(claim.question)
    asked, lower, upper = claim.asked, claim.least.below, claim.most.above
    found = [v for v in Victims.of(crowd, None) if v.number in groups]
    is_epsilon = asked.quantity == "epsilon"
    low, high = (At.of(sp.Rational(end) if is_epsilon else asked.given) for end in (lower, upper))  # doubles are exact
    goal = asked.given if is_epsilon else Dyadic.of_float(upper).fraction
    above, below = [], list[Evidence]()
    if is_epsilon or upper < 1.0:
        above = [_proved(part, high, claim, goal) for v in found for part in v.bound.parts]
    if lower > 0.0:
        first = claim.below[0].part
        is_told = not isinstance(first, StepSums) or (low.level is not None and first.test(low.level) is not None)
        # Where no threshold tells, and all that is known is what leaks, no lower end is claimed.
        below, lower = ([claim.below[0]], lower) if is_told else ([], 0.0)
    users = Users(crowd, high)
    stated = {
        "quantity": asked.quantity,
        "delta" if is_epsilon else "eps": fraction_text(asked.given) if is_epsilon else high.text,
        "lower": exact_double(lower),
        "upper": exact_double(upper),
    }
    sides = {"above": _side(users, high, above), "below": _side(users, low, below)}
    return accepted(stated, [users.setting(found)], sides, users.supposed)


def crowd_rounds(
    question: Question, points: Sequence[tuple[fmpq, tuple[Evidence, ...]]]
) -> tuple[Data, Data, list[str]]:
    """Return a round of users who differ, the points of its curve from above, and what is supposed, as data.

    Raises ArgumentError where the verifier does not know the setting.
    """
    users, made = Users(_certified(question), None), list[Data]()
    for level, found in points:
        at = At.of(sp.log(rational_of(level)))
        side = _side(users, at, found)
        high = outward(largest_upper(found), up=True)
        piece = {key: x for key, x in side(MORE_BITS[1]).items() if key != "eps"} if side else {}
        made.append({"level": fraction_text(level), "low": "0", "high": fraction_text(high), **piece})
    return users.setting(question.victims), {"first": made, "second": None}, users.supposed


def _certified(question: Question) -> HeterogeneousUsers:
    crowd: HeterogeneousUsers = question.subject
    if crowd.who.is_poisson or crowd.who.worlds() != ((1, 1),):
        told = Problem("a random number of users who differ, or one who may be missing, has none")
        raise ArgumentError("certificate", told, "ask about users of one mechanism")
    return crowd


def _proved(part: PairBound, at: At, claim: Claim, goal: fmpq) -> Evidence:
    """Return an evaluation that proves the goal: one that is known, or one as close as it takes."""
    assert at.level is not None
    known = next((e for e in claim.above if e.part == part and e.eps == at.text), None)
    if known is not None:
        return known
    for gap in (claim.asked.settings.gap, *FINER_GAPS[1:]):
        settings = replace(claim.asked.settings, gap=gap)
        found = Evidence.of(part, at.level, part.enclose(at.level, claim.question.n, settings))
        if found.is_at_most(goal):
            break
    return found


def _side(users: Users, at: At, found: Sequence[Evidence]) -> Callable[[int], Data] | None:
    if not found:
        return None
    assert at.level is not None
    every = [_data(users, e, at.level) for e in found]
    # What a victim's own message tells the verifier makes itself.
    listed = [data for data in every if (data["kind"], data.get("evaluator")) != ("hidden users", "one user")]
    bits = max(LEAST_BITS, *(e.precision for e in found))
    return lambda more: {"eps": at.text, "precision": min(bits + more, MOST_PRECISION), "evidence": listed}


@dataclass(frozen=True)
class Users:
    """The groups of users with their mechanisms as data, at the level of the upper end if there is one."""

    crowd: HeterogeneousUsers
    at: At | None

    @cached_property
    def by_ratio(self) -> bool:
        """Whether data are shuffled and not all blankets are known."""
        crowd = self.crowd
        return crowd.shuffled == DATA and not all(isinstance(x, Decomposition) for x in positions_above(crowd).known)

    @property
    def supposed(self) -> list[str]:
        """What the theorem supposes."""
        return sentences((DATA_THEOREM if self.crowd.shuffled == DATA else MESSAGES_THEOREM).hypotheses)

    def setting(self, about: Sequence[Victims]) -> Data:
        """Return the round as data: the guarantee is that of these victims."""
        crowd, who = self.crowd, self.crowd.who
        # Where data are shuffled, nobody's place is known: what holds for one holds for all.
        places = range(len(crowd.groups)) if crowd.shuffled == DATA else [v.group for v in about]
        named = [(c, i in places, m.data) for i, ((c, _), m) in enumerate(zip(crowd.groups, self.known, strict=True))]
        is_plain = not (who.leaks or who.unshuffled)
        made = setting(repr(crowd), named, shuffled=crowd.shuffled, kept=who.seen if is_plain else 1)
        return made | ({} if is_plain else {"participation": participation(who, crowd.n)})

    @cached_property
    def known(self) -> list[Described]:
        """The mechanisms of the groups: where data are shuffled and not all blankets are known, their ratios."""
        if self.by_ratio:
            return [of_budget(subject.local_ratio(), self.at) for _, subject in self.crowd.groups]
        assert self.crowd.mechanisms is not None
        return [self._of(m) for m in self.crowd.mechanisms]

    def _of(self, mechanism: Mechanism, parts: Sequence[Reduction] = ()) -> Described:
        if isinstance(mechanism, FiniteMechanism) and mechanism.numeric is not None and self.crowd.shuffled != DATA:
            first = self.crowd.mechanisms
            assert first is not None
            return of_table(mechanism.numeric, self.at, messages=getattr(first[0], "messages", None))
        if not mechanism.is_composed:
            return of_mechanism(mechanism, self.at)
        pair = mechanism.pairs()[0]
        blankets = [Reduction("blanket", ProofStatus.PROVED, SOURCE, mechanism.blanket(*pair))]
        held = [dataset_reduction(mechanism, pair, ((x, 1),)) for x in (*mechanism.further_inputs(pair), *pair)]
        return of_mechanism(mechanism, self.at, blankets, held)

    def member(self, mechanism: Mechanism) -> Described:
        """Return a member of a budget as data."""
        return self._of(mechanism)


def _data(users: Users, found: Evidence, level: Level) -> Data:
    part, known = found.part, users.known
    if isinstance(part, StepSums):
        return _steps(users, part, level)
    if isinstance(part, CommonBlanket):
        pair = known[part.victim.group].pair(part.pair)
        return {"kind": "hidden users", "victim": part.victim.group, "pair": pair, **evaluation(found)}
    if isinstance(part, ShuffledData):
        both = zip(known, part.positions.known, strict=True)
        pairs = None if users.by_ratio else [m.pair(x.pair) for m, x in both if isinstance(x, Decomposition)]
        return {"kind": "positions", "pairs": pairs, **evaluation(found)}
    assert isinstance(part, DataOfPositions)
    if users.by_ratio:
        known = [users.member(m) for m in dict(members_below(users.crowd))[part.member]]
    data = {"kind": "positions", "pair": known[0].pair(part.pair), "others": known[0].others(part.dataset)}
    return data | evaluation(found) | ({"members": [m.data for m in known]} if users.by_ratio else {})


def _steps(users: Users, part: StepSums, level: Level) -> Data:
    """Return the evidence by a threshold for a sum of signs, with what the others of each group hold."""
    victim, test = part.victim, part.test(level)
    plan = None if test is None else test.walk.plan(level)
    assert test is not None
    assert plan is not None
    known, own = users.known[victim.group], victim.columns[victim.group]
    pair = known.pair(part.pair)
    view = known.as_read().view((pair[0], pair[1]))
    i, j = view.places((pair[0], pair[1]))

    def is_same(on: Sequence[Any], x: Constant, y: Constant) -> bool:
        return bool(arb(on[i]).overlaps(x()) and arb(on[j]).overlaps(y()))

    with at_precision(BITS):
        place = [next(k for k, c in enumerate(own) if is_same(y.on, c.on_x0, c.on_x1)) for y in view.columns]
    return {
        "kind": "steps",
        "victim": victim.group,
        "pair": pair,
        "others": [[[known.inputs.index(x), count] for x, count in held.items()] for held in part.held],
        "signs": [(k in test.up) - (k in test.down) for k in place],
        "plan": {"threshold": plan.threshold, "theta": exact_double(plan.tilt), "N": plan.nodes, "last": plan.last},
    }
