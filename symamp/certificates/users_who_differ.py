"""The certificate of users who differ: the mechanism of every group as data, and evidence for every victim and pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from flint import arb

from symamp.bounds.blanket import SOURCE
from symamp.bounds.bound import Evidence
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction, dataset_reduction
from symamp.certificates.evidence import (
    Data,
    Proof,
    bits,
    evaluation,
    of_setting,
    participation,
    sentences,
    setting,
    steps_plan,
    taking_part,
)
from symamp.certificates.mechanisms import Described, of_budget, of_mechanism, of_table
from symamp.certificates.text import At
from symamp.data_sets.users_who_differ import DataOfPositions, StepSums
from symamp.decompositions.decomposition import Decomposition
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import DATA, Mechanism
from symamp.settings.group_sums import BITS
from symamp.settings.question import Question
from symamp.settings.users_who_differ import (
    Constant,
    HeterogeneousUsers,
    members_below,
    positions_above,
)
from symamp.settings.victims import CommonBlanket, OfGroup, ShuffledData


@dataclass(frozen=True)
class Users:
    """The groups of users with their mechanisms as data, at the level of the upper end if there is one."""

    question: Question
    at: At | None

    @property
    def crowd(self) -> HeterogeneousUsers:
        """All users."""
        found: HeterogeneousUsers = self.question.subject
        return found

    @cached_property
    def by_ratio(self) -> bool:
        """Whether data are shuffled and not all blankets are known."""
        crowd = self.crowd
        return crowd.shuffled == DATA and not all(isinstance(x, Decomposition) for x in positions_above(crowd).known)

    def supposed(self, found: Iterable[Evidence]) -> list[str]:
        """Return what the theorem supposes."""
        return sentences(self.crowd.theorem.hypotheses)

    @property
    def setting(self) -> Data:
        """The round as data: the guarantee is that of the victims who are asked about."""
        crowd, who = self.crowd, self.crowd.who
        # Where data are shuffled, nobody's place is known: what holds for one holds for all.
        about = range(len(crowd.groups)) if crowd.shuffled == DATA else [v.group for v in self.question.victims]
        named = [(c, i in about, m.data) for i, ((c, _), m) in enumerate(zip(crowd.groups, self.known, strict=True))]
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

    def _of(self, mechanism: Mechanism) -> Described:
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

    def above(self, proof: Proof, more: int) -> Data:
        """Return the evidence of an upper end as data; what a victim's own message tells the verifier makes itself."""
        every = [self._above(e, proof.at) for e in proof.found]
        listed = [data for data in every if (data["kind"], data.get("evaluator")) != ("hidden users", "one user")]
        return {"eps": proof.at.text, "precision": bits(proof.found, more), "evidence": listed}

    def _above(self, found: Evidence, at: At) -> Data:
        part = found.part
        if taking_part(part) is not None:
            return self._seen(found, at)
        if isinstance(part, CommonBlanket):
            pair = self.known[part.victim.group].pair(part.pair)
            return {"kind": "hidden users", "victim": part.victim.group, "pair": pair, **evaluation(found)}
        assert isinstance(part, ShuffledData)
        both = zip(self.known, part.positions.known, strict=True)
        pairs = None if self.by_ratio else [m.pair(x.pair) for m, x in both if isinstance(x, Decomposition)]
        return {"kind": "positions", "pairs": pairs, **evaluation(found)}

    def _seen(self, found: Evidence, at: At) -> Data:
        taking = taking_part(found.part)
        assert taking is not None
        base = cast(OfGroup, taking.base)
        of = self.known[base.group]
        who = {"kind": "hidden users", "victim": base.group, "pair": of.pair(base.pair)}
        others = {"others": of.others(base.dataset)} if base.dataset else {}
        return who | others | of_setting(taking, found.part, at, found, self.crowd.n)

    def below(self, at: At, found: Evidence) -> Data:
        """Return the evidence of a pair of data sets."""
        part, known = found.part, self.known
        if isinstance(part, StepSums):
            return _steps(self, part, at)
        if taking_part(part) is not None:
            return self._seen(found, at)
        assert isinstance(part, DataOfPositions)
        if self.by_ratio:
            known = [self._of(m) for m in dict(members_below(self.crowd))[part.member]]
        data = {"kind": "positions", "pair": known[0].pair(part.pair), "others": known[0].others(part.dataset)}
        return data | evaluation(found) | ({"members": [m.data for m in known]} if self.by_ratio else {})


def _steps(users: Users, part: StepSums, at: At) -> Data:
    """Return the evidence by a threshold for a sum of signs, if one tells, with what the others of each group hold."""
    victim, test = part.victim, None if at.level is None else part.test(at.level)
    plan = None if test is None or at.level is None else test.sum.plan(at.level)
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
        "plan": None if plan is None else steps_plan(plan),
    }
