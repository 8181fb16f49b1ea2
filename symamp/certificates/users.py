"""Who runs what, as data, and the evidence about it: one mechanism, or groups of users who differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from symamp.bounds.blanket import SOURCE
from symamp.bounds.bound import Evidence
from symamp.bounds.densities import AboveDensities
from symamp.bounds.hypotheses import EVERYONE, ProofStatus
from symamp.bounds.interval import NoiseInterval
from symamp.bounds.reduction import PairOfInputs, Reduction, dataset_reduction, is_triple
from symamp.bounds.registry import BOUNDS
from symamp.bounds.subject import Subject
from symamp.certificates import evidence as write
from symamp.certificates import mechanisms
from symamp.certificates.evidence import Data, Proof, bits, sentences, setting
from symamp.certificates.text import At
from symamp.decompositions.blanket import blanket
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.envelope import envelope
from symamp.numbers.rationals import fmpq_of
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import DATA, Mechanism
from symamp.randomizers.noise.densities import dominating_table
from symamp.settings.question import Question
from symamp.settings.rounds import Drawn
from symamp.settings.users_who_differ import HeterogeneousUsers, members_below, positions_above

_OF_DATA = ("blanket", "envelope", "all_data_sets", "two_messages", "few_messages", "every_data_set")
"""Analyses whose laws the verifier makes from the mechanism."""
_OF_BUDGET = ("generic", "generic_all_data_sets")
_OF_ROUNDED = ("density_envelope", "density_data_sets")


@dataclass(frozen=True)
class Users:
    """The groups of users with their mechanisms as data, and the evidence about them; one group if all run one."""

    question: Question
    known: tuple[mechanisms.Described, ...]
    at: At | None

    @staticmethod
    def of(question: Question, above: Sequence[Proof], below: Sequence[Evidence], at: At | None) -> Users:
        """Return the users of a question as data from which the verifier makes all laws of these evaluations."""
        if question.victims:
            return Users(question, _groups(question.subject, at), at)
        proofs = [replace(side, found=tuple(map(_of_base, side.found))) for side in above]
        subject: Subject = question.subject.randomizers[0]
        return Users(question, (_described(subject, proofs, [_of_base(e) for e in below], at),), at)

    @property
    def setting(self) -> Data:
        """The round as data: the guarantee is that of the victims who are asked about."""
        subject, n = self.question.subject, self.question.n
        if not self.question.victims:
            made, who = setting(repr(subject), [(n, True, self.known[0].data)]), subject.participation
            return made if who is None else made | {"participation": write.participation(who, n)}
        # Where data are shuffled, nobody's place is known: what holds for one holds for all.
        who, every = subject.who, range(len(subject.groups))
        about = every if subject.shuffled == DATA else [v.group for v in self.question.victims]
        named = [(c, i in about, m.data) for i, ((c, _), m) in enumerate(zip(subject.groups, self.known, strict=True))]
        is_plain = who.worlds() == ((1, 1),) and not (who.leaks or who.unshuffled or who.is_poisson)
        made = setting(repr(subject), named, shuffled=subject.shuffled, kept=who.seen if is_plain else 1)
        return made if is_plain else made | {"participation": write.participation(who, n)}

    def supposed(self, found: Iterable[Evidence]) -> list[str]:
        """Return what the theorems suppose that stand behind some evaluations, and no data of a certificate show."""
        if self.question.victims:
            return sentences(self.question.subject.theorem.hypotheses)
        bounds = [BOUNDS[e.part.method] for e in found if e.part.method in BOUNDS]
        known = () if self.question.subject.participation is None else (EVERYONE,)
        return sentences(h for bound in bounds for h in bound.hypotheses if h not in known)

    def above(self, proof: Proof, more: int) -> Data:
        """Return the evidence of an upper end as data, each class of pairs covered.

        What a victim's own message tells the verifier makes itself.
        """
        split, n, known = 2 if more else 1, self.question.n, self.known
        if proof.shares:
            listed: list[Data] = [write.every_randomizer(proof.shares, proof.found, n, split)]
        else:
            made = ((e, write.above(known, e.part, proof.at, e, n, split)) for e in proof.found)
            found = [(e, data) for e, data in made if data is not None]
            listed = [data for _, data in found]
            listed += [] if proof.tilt is None else [write.common_tilt(proof.tilt)]
            listed += [] if self.question.victims else list(_repeated(known[0], found))
        return {"eps": proof.at.text, "precision": bits(proof.found, more), "evidence": listed}

    def below(self, at: At, found: Evidence) -> Data:
        """Return the evidence of a pair of data sets, with the member of each budget that it is about."""
        n, base = self.question.n, _of_base(found).part
        if self.known[0].data["kind"] != "budget":
            return write.below(self.known, found.part, at, found, n)
        named = getattr(base, "member", "")
        if self.question.victims:
            crowd = self.question.subject
            members = [_of_group(crowd, m, self.at) for m in dict(members_below(crowd))[named]]
        else:
            member = next(m for m in self.question.subject.members() if named in ("", repr(m)))
            members = [mechanisms.of_mechanism(member, at, (), [base])]
        return write.below(members, found.part, at, found, n) | {"members": [m.data for m in members]}


def _groups(crowd: HeterogeneousUsers, at: At | None) -> tuple[mechanisms.Described, ...]:
    """Return the mechanisms of the groups: where data are shuffled and not all blankets are known, their ratios."""
    if crowd.shuffled == DATA and not all(isinstance(x, Decomposition) for x in positions_above(crowd).known):
        return tuple(mechanisms.of_budget(subject.local_ratio(), at) for _, subject in crowd.groups)
    assert crowd.mechanisms is not None
    return tuple(_of_group(crowd, m, at) for m in crowd.mechanisms)


def _of_group(crowd: HeterogeneousUsers, mechanism: Mechanism, at: At | None) -> mechanisms.Described:
    if isinstance(mechanism, FiniteMechanism) and mechanism.numeric is not None and crowd.shuffled != DATA:
        assert crowd.mechanisms is not None
        return mechanisms.of_table(mechanism.numeric, at, messages=getattr(crowd.mechanisms[0], "messages", None))
    if not mechanism.is_composed:
        return mechanisms.of_mechanism(mechanism, at)
    pair = mechanism.pairs()[0]
    blankets = [Reduction("blanket", ProofStatus.PROVED, SOURCE, mechanism.blanket(*pair))]
    held = [dataset_reduction(mechanism, pair, ((x, 1),)) for x in (*mechanism.further_inputs(pair), *pair)]
    return mechanisms.of_mechanism(mechanism, at, blankets, held)


def _of_base(found: Evidence) -> Evidence:
    """Return evidence about the round, or the sample, in which everyone takes part."""
    taking = found.part if isinstance(found.part, Drawn) else write.taking_part(found.part)
    return found if taking is None else replace(found, part=taking.base)


def _described(
    subject: Subject, above: Sequence[Proof], below: Sequence[Evidence], at: At | None
) -> mechanisms.Described:
    """Return the mechanism as data from which the verifier makes all laws of these evaluations."""
    parts = [e.part for side in above for e in side.found]
    methods, mechanism = {part.method for part in parts}, subject.mechanism
    if methods & set(_OF_ROUNDED):
        assert subject.densities is not None
        (rounded,) = {fmpq_of(part.rounded) for part in parts if isinstance(part, AboveDensities)}
        table = dominating_table(subject.densities).numeric
        assert table is not None
        return mechanisms.of_table(table, at, rounded)
    if methods == {"interval"}:
        (part,) = parts
        assert isinstance(part, NoiseInterval)
        found = mechanisms.of_noise(part.noise)
        assert found is not None
        return found
    if methods and methods <= set(_OF_BUDGET):
        return mechanisms.of_budget(subject.local_ratio(), at)
    mixed = any(isinstance(part, PairOfInputs) and part.mixed for part in parts)
    every = [t for part in parts for t in (part, *part.fixed_background)] + [e.part for e in below]
    named = {x for t in every if is_triple(t) for x, _ in t.dataset}
    listed = "all_data_sets" in methods
    is_table = mechanism is not None and (mechanism.listed if listed else mechanism).numeric is not None
    if mechanism is not None and not is_table and not mechanism.is_composed:
        # Laws that stand for those of inputs are listed themselves.
        others = all(map(is_triple, parts)) or mechanisms.lists_others(mechanism)
        if mixed or not others or not named <= set(mechanism.inputs):
            return mechanisms.of_triples(parts, [e.part for e in below], at, mixed=mixed)
    if mechanism is not None and methods <= set(_OF_DATA):
        return mechanisms.of_mechanism(mechanism, at, parts, [e.part for e in below], listed=listed)
    known = subject.mechanism is None and not parts and subject.triple is None
    if known and subject.noise is None and subject.densities is None:
        return mechanisms.of_budget(subject.local_ratio(), at)
    return mechanisms.of_triples(parts, [e.part for e in below], at, exact=subject.triple is not None)


def _repeated(known: mechanisms.Described, found: Sequence[tuple[Evidence, Data]]) -> Iterable[Data]:
    """Yield the evidence of a class of pairs for those of its pairs that are not the same by their texts alone."""
    if known.data["kind"] != "orbits" or known.mechanism is None:
        return
    read, mechanism = known.as_read(), known.mechanism
    found = [(_of_base(e), data) for e, data in found]
    done = {(of, read.key(tuple(data["pair"]), of)) for e, data in found for of in [not is_triple(e.part)]}
    for pair in read.pairs:
        if (True, read.key(pair, True)) in done or (False, read.key(pair)) in done:
            continue
        names = known.inputs[pair[0]], known.inputs[pair[1]]
        for e, data in found:
            own = blanket(mechanism, names).fingerprint if is_triple(e.part) else e.part.signature[1]  # type: ignore[index]
            if own == (e.part.signature if is_triple(e.part) else envelope(mechanism, names).signature()):
                done.add((not is_triple(e.part), read.key(pair, not is_triple(e.part))))
                yield data | {"pair": list(pair)}
                if "order" not in data:
                    break
