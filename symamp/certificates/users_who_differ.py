"""The certificate of users who differ: the mechanism of every group as data, and evidence for every victim and pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, cast

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.blanket import SOURCE
from symamp.bounds.bound import Evidence, PairBound, largest_upper
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction, dataset_reduction
from symamp.certificates.evidence import evaluation, of_setting, participation, taking_part
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
from symamp.certificates.text import LIMIT, At, exact_double, fraction_text, outward
from symamp.data_sets.users_who_differ import DataOfPositions, StepSums
from symamp.decompositions.decomposition import Decomposition
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
from symamp.settings.victims import BITS, CommonBlanket, OfGroup, ShuffledData, Victims
from symamp.verifier import MOST_PRECISION


def crowd_certificate(claim: Claim, groups: Sequence[int]) -> Data:
    """Return the certificate of a bracket for these groups of victims, by number.

    Raises PrecisionError if the verifier accepts it at no precision.
    """
    crowd = claim.question.subject
    asked, lower, upper = claim.asked, claim.least.below, claim.most.above
    found = [v for v in Victims.of(crowd, None) if v.number in groups]
    is_epsilon = asked.quantity == "epsilon"
    low, high = (_level(end) if is_epsilon else At.of(asked.given) for end in (lower, upper))
    goal = asked.given if is_epsilon else Dyadic.of_float(upper).fraction
    above, below = [], list[Evidence]()
    if upper < (inf if is_epsilon else 1.0):
        above = [_proved(part, high, claim, goal) for v in found for part in v.bound.parts]
    if lower > 0.0:
        below = [claim.below[0]]
    users = Users(crowd, None if high is LIMIT else high)
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
    """Return a round of users who differ, the points of its curve from above, and what is supposed, as data."""
    users, made = Users(question.subject, None), list[Data]()
    for level, found in points:
        at = At.of(sp.log(rational_of(level)))
        side = _side(users, at, found)
        high = outward(largest_upper(found), up=True)
        piece = {key: x for key, x in side(MORE_BITS[1]).items() if key != "eps"} if side else {}
        made.append({"level": fraction_text(level), "low": "0", "high": fraction_text(high), **piece})
    return users.setting(question.victims), {"first": made, "second": None}, users.supposed


def _level(eps: float) -> At:
    return At.of(sp.Rational(eps)) if eps < inf else LIMIT  # doubles are exact


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
    every = [_data(users, e, at) for e in found]
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
        is_plain = who.worlds() == ((1, 1),) and not (who.leaks or who.unshuffled or who.is_poisson)
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


def _data(users: Users, found: Evidence, at: At) -> Data:
    part, known = found.part, users.known
    if isinstance(part, StepSums):
        return _steps(users, part, at)
    if (taking := taking_part(part)) is not None:
        base = cast(OfGroup, taking.base)
        of = known[base.group]
        who = {"kind": "hidden users", "victim": base.group, "pair": of.pair(base.pair)}
        others = {"others": of.others(base.dataset)} if base.dataset else {}
        return who | others | of_setting(taking, part, at, found, users.crowd.n)
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


def _steps(users: Users, part: StepSums, at: At) -> Data:
    """Return the evidence by a threshold for a sum of signs, if one tells, with what the others of each group hold."""
    victim, test = part.victim, None if at.level is None else part.test(at.level)
    plan = None if test is None or at.level is None else test.walk.plan(at.level)
    ups, downs = (test.up, test.down) if test is not None else ((), ())
    known, own, who = users.known[victim.group], victim.columns[victim.group], users.crowd.who
    pair = known.pair(victim.pair)
    view = known.as_read().view((pair[0], pair[1]))
    i, j = view.places((pair[0], pair[1]))

    def is_same(on: Sequence[Any], x: Constant, y: Constant) -> bool:
        return bool(arb(on[i]).overlaps(x()) and arb(on[j]).overlaps(y()))

    with at_precision(BITS):
        place = [next(k for k, c in enumerate(own) if is_same(y.on, c.on_x0, c.on_x1)) for y in view.columns]
    place += [len(own)] * victim.may_miss
    order = {"order": who.worlds().index(victim.worlds)} if who.removal else {}
    return order | {
        "kind": "steps",
        "victim": victim.group,
        "pair": pair,
        "others": [[[known.inputs.index(x), count] for x, count in held.items()] for held in part.held],
        "signs": [(k in ups) - (k in downs) for k in place],
        "plan": None
        if plan is None
        else {"threshold": plan.threshold, "theta": exact_double(plan.tilt), "N": plan.nodes, "last": plan.last},
    }
