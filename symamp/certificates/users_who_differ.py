"""The certificate of users who differ: the mechanism of every group as data, and evidence for every victim and pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb

from symamp.bounds.blanket import SOURCE
from symamp.bounds.bound import DataSets
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction, dataset_reduction
from symamp.certificates.evidence import evaluation
from symamp.certificates.mechanisms import Described, of_budget, of_table
from symamp.certificates.one_round import accepted, of_mechanism, setting
from symamp.certificates.text import At, exact_double, fraction_text
from symamp.decompositions.decomposition import Decomposition
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import DATA, Mechanism
from symamp.settings.users_who_differ import (
    Constant,
    HeterogeneousUsers,
    Positions,
    StepTest,
    Victim,
    members,
)
from symamp.settings.users_who_differ import positions_above as positions_of
from symamp.sums.divergence import Enclosure
from symamp.sums.groups import StepPlan
from symamp.verifier import MOST_PRECISION

Data = dict[str, Any]
_BITS, _LEAST_BITS = 192, 160


@dataclass(frozen=True)
class Users:
    """The groups of users with their mechanisms as data, at the level of the upper end."""

    crowd: HeterogeneousUsers
    at: At
    by_ratio: bool

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


Piece = Callable[[Users], Data]
"""Returns the evidence of one evaluation as data."""


@dataclass(frozen=True)
class GroupsEvidence:
    """One evaluation about users who differ: its precision, and what repeats it."""

    precision: int
    piece: Piece


def hidden_users(users: Users, victim: Victim, how: Data) -> Data:
    """Return the evidence by Theorem D for a victim and a pair of inputs."""
    pair = users.known[victim.group].pair(victim.pair)
    return {"kind": "hidden users", "victim": victim.group, "pair": pair, **how}


def positions_above(users: Users, positions: Positions, how: Data) -> Data:
    """Return the evidence by the blankets of all positions, or by their ratios alone."""
    both = zip(users.known, positions.known, strict=True)
    pairs = None if users.by_ratio else [m.pair(x.pair) for m, x in both if isinstance(x, Decomposition)]
    return {"kind": "positions", "pairs": pairs, **how}


def positions_below(users: Users, name: DataSets, found: Enclosure) -> Data:
    """Return the evidence of one pair of data sets where data are shuffled."""
    known = users.known
    if users.by_ratio:
        known = [users.member(m) for m in dict(members(users.crowd))[name.member]]
    pair, other = known[0].pair((name.x0, name.x1)), known[0].inputs.index(name.others[0][0])
    data = {"kind": "positions", "pair": pair, "other": other, **evaluation(found)}
    return data | ({"members": [m.data for m in known]} if users.by_ratio else {})


def steps(users: Users, victim: Victim, test: StepTest, plan: StepPlan) -> Data:
    """Return the evidence by a threshold for a sum of signs, where all others hold one input."""
    known, own = users.known[victim.group], victim.columns[victim.group]
    pair = known.pair(victim.pair)
    view = known.as_read().view((pair[0], pair[1]))
    i, j = view.places((pair[0], pair[1]))

    def is_same(on: Sequence[Any], x: Constant, y: Constant) -> bool:
        return bool(arb(on[i]).overlaps(x()) and arb(on[j]).overlaps(y()))

    with at_precision(_BITS):
        place = [next(k for k, c in enumerate(own) if is_same(y.on, c.on_x0, c.on_x1)) for y in view.columns]
    return {
        "kind": "steps",
        "victim": victim.group,
        "pair": pair,
        "other": known.inputs.index(test.name.others[0][0]),
        "signs": [(k in test.up) - (k in test.down) for k in place],
        "plan": {"threshold": plan.threshold, "theta": exact_double(plan.tilt), "N": plan.nodes, "last": plan.last},
    }


@dataclass(frozen=True)
class GroupsClaim:
    """What is claimed of some groups: the quantity, what is given, two doubles, and at which levels they are proved."""

    quantity: str
    given: Any
    lower: float
    upper: float
    victims: Sequence[int]
    low: At
    high: At


def certificate(
    crowd: HeterogeneousUsers, claim: GroupsClaim, above: Sequence[GroupsEvidence], below: Sequence[GroupsEvidence]
) -> Data:
    """Return the certificate of a claim about groups of victims, with its evidence.

    Raises PrecisionError if the verifier accepts it at no precision.
    """
    by_ratio = crowd.shuffled == DATA and not all(isinstance(x, Decomposition) for x in positions_of(crowd).known)
    users, key = Users(crowd, claim.high, by_ratio), "delta" if claim.quantity == "epsilon" else "eps"
    # Where data are shuffled, nobody's place is known: what holds for one holds for all.
    named = [
        (c, crowd.shuffled == DATA or i in claim.victims, m.data)
        for i, ((c, _), m) in enumerate(zip(crowd.groups, users.known, strict=True))
    ]
    stated = {
        "quantity": claim.quantity,
        key: fraction_text(claim.given) if key == "delta" else claim.high.text,
        "lower": exact_double(claim.lower),
        "upper": exact_double(claim.upper),
    }

    def side(at: At, found: Sequence[GroupsEvidence]) -> Callable[[int], Data] | None:
        if not found:
            return None
        listed = [
            data for e in found if (data := e.piece(users))["kind"] != "hidden users" or data["evaluator"] != "one user"
        ]
        bits = max(_LEAST_BITS, *(e.precision for e in found))
        return lambda more: {"eps": at.text, "precision": min(bits + more, MOST_PRECISION), "evidence": listed}

    sides = {"above": side(claim.high, above), "below": side(claim.low, below)}
    return accepted(stated, [setting(repr(crowd), named, shuffled=crowd.shuffled, kept=1 - crowd.dropout)], sides, [])
