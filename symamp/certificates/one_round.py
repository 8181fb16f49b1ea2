"""The certificate of one round: who runs what, as data, and evidence for every pair of inputs that is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import log2
from typing import Any, cast

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.all_data_sets.generic import PatternCell
from symamp.bounds.blanket import SOURCE, blanket_of_rows
from symamp.bounds.bound import Evidence, PairBound
from symamp.bounds.densities import AboveDensities
from symamp.bounds.few_users import HISTOGRAMS
from symamp.bounds.hypotheses import EVERYONE, ProofStatus
from symamp.bounds.interval import BoxesEvidence, NoiseInterval
from symamp.bounds.pairs_of_a_table import IN_COMMON, MaxOverRows, common_tilt, open_pairs
from symamp.bounds.reduction import PairOfInputs, Reduction, dataset_reduction, is_triple
from symamp.bounds.registry import BOUNDS, CandidateBounds
from symamp.bounds.subject import Subject
from symamp.bounds.two_messages import FixedCounts
from symamp.certificates import evidence as write
from symamp.certificates import mechanisms
from symamp.certificates.evidence import Data, Proof, bits, sentences, setting
from symamp.certificates.text import LIMIT, THOROUGH, At, accepted, exact_double, fraction_text, integer_text, patience
from symamp.decompositions.blanket import blanket
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.envelope import envelope
from symamp.decompositions.pairs import distinct_pairs
from symamp.errors import ArgumentError, Problem
from symamp.laws.law import Level
from symamp.numbers.dyadic import ZERO, Dyadic
from symamp.numbers.rationals import fmpq_of, rational_of
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import DATA, Mechanism
from symamp.randomizers.noise.densities import dominating_table
from symamp.settings.question import Query, Question
from symamp.settings.rounds import Drawn
from symamp.settings.users_who_differ import HeterogeneousUsers, members_below, positions_above
from symamp.sums.all_data_sets.moments import MOMENTS
from symamp.sums.divergence import LATTICE, Enclosure, Settings, one_user_divergence
from symamp.sums.inversion import LARGEST_EPS

# What is tuned: size and time against the number of answers with a certificate. The verifier checks every one.
MORE_BITS = (0, 32, 512, 4096)
"""How many bits a certificate has beyond the evaluation that it repeats: the first for which it is accepted."""
FINER_GAPS = (1e-2, 1e-4, 1e-7, 1e-10)
"""Relative gaps tried, widest first, for what has no evaluation yet, as pairs that another bound or the local
budget has settled, or none that proves the claim."""
_MOST_LISTED, _MOST_INPUTS = 4, 64
"""The most inputs of a table whose classes of pairs are all listed; beyond the second there is no certificate."""

_MOST_ENTRIES = 60_000
"""Pairs that no blanket bounds, times the entries of the table: with more the verifier takes too long."""
_MOST_CORNERS, _MOST_OPEN, _MOST_OPEN_OF_LAPLACE = 185_000, 500_000, 2_500_000
"""Messages times boxes: with more of them, large budgets or few users, corners of other noise than Laplace noise take
the verifier minutes; and messages in the laws of pairs that no tilt settles."""

_OF_DENSITIES = ("worst_pair", "density_pairs", "interval")
"""Analyses whose evaluations the verifier cannot repeat."""
_IN_FINITE_LAWS = ("finite_sandwich", "fallback_law")
"""Analyses for the same questions that it can repeat."""
_OF_TRIPLES = ("blanket", "generic", *_IN_FINITE_LAWS)
"""Analyses by triples: what has a table, orbits, a budget or a bounded density meets the hypotheses of one."""
_OF_DATA = ("blanket", "envelope", "all_data_sets", "two_messages", "few_messages", "every_data_set")
"""Analyses whose laws the verifier makes from the mechanism."""
_OF_BUDGET = ("generic", "generic_all_data_sets")
_OF_ROUNDED = ("density_envelope", "density_data_sets")


@dataclass(frozen=True)
class Claim:
    """What a certificate states: the question, the two ends, and the evaluations that prove them."""

    question: Question
    asked: Query
    least: Dyadic
    most: Dyadic
    above: tuple[Evidence, ...]
    below: tuple[Evidence, ...]


def certificate(claim: Claim) -> Data:
    """Return the certificate of a claim as JSON-ready data (documented in docs/certificates.md).

    Every number is exact: doubles as fractions, probabilities and levels as expressions. All classes of pairs of the
    method are covered; those that another bound covers are evaluated here. ``verify`` has accepted the result.
    Raises PrecisionError if no precision suffices for that.

    >>> import symamp as sa
    >>> found = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="0.1", method="blanket").certificate()
    >>> found["claim"]["eps"], found["settings"][0]["groups"][0]["mechanism"]["pairs"][0]["columns"][0]["on"]
    ('1/10', ['E/(1 + E)', '1/(1 + E)'])
    """
    ends_, above, below = _epsilon(claim) if claim.asked.quantity == "epsilon" else _delta(claim)
    proofs = [] if above is None else [above]
    users = Users.of(claim.question, proofs, [e for _, e in below], None if above is None else above.at)
    sides: dict[str, Callable[[int], Data] | None] = {
        "above": None if above is None else partial(users.above, above),
        "below": partial(_pieces_below, users, below) if below else None,
    }
    supposed = users.supposed((*claim.above, *(e for proof in proofs for e in proof.found)))
    is_noise = any(isinstance(e.part, NoiseInterval) for e in claim.above)
    subject = claim.question.subject
    remedy = _instead(subject) if is_noise else _with_interval(subject) or "ask with a larger gap"
    claimed = {"quantity": claim.asked.quantity, **ends_}
    return stated(claimed, [users.setting], sides, supposed, claim.asked.effort, remedy)


def stated(
    claim: Data,
    settings: list[Data],
    sides: dict[str, Callable[[int], Data] | None],
    supposed: list[str],
    effort: str = "default",
    remedy: str = "ask with a larger gap",
) -> Data:
    """Return the first certificate that the verifier accepts, with more and more bits, or raise PrecisionError."""
    documents = (
        {"claim": claim, "settings": settings}
        | {name: None if made is None else made(more) for name, made in sides.items()}
        | {"supposed": supposed}
        for more in MORE_BITS
    )
    return accepted(documents, effort, remedy)


# --- the claim --------------------------------------------------------------------------------------------------------


Below = list[tuple[At, Evidence]]


def _epsilon(claim: Claim) -> tuple[dict[str, str], Proof | None, Below]:
    delta, lower, upper = claim.asked.given, claim.least, claim.most
    above, below = None, Below()
    if upper.exponent is not None:
        above = proof_above(claim.question, claim.above, At.of(rational_of(upper.fraction)), delta, claim.asked.effort)
    if _are_listed(claim) and (lower.exponent is None or lower.mantissa > 0):
        at = LIMIT if lower.exponent is None else At.of(rational_of(lower.fraction))
        below = [(LIMIT if e.eps == "inf" else at, e) for e in claim.below]
    lower = lower if below else ZERO
    ends = (fraction_text(x.fraction) if x.exponent is not None else "inf" for x in (lower, upper))
    return {"delta": fraction_text(delta), **dict(zip(("lower", "upper"), ends, strict=True))}, above, below


def _delta(claim: Claim) -> tuple[dict[str, str], Proof | None, Below]:
    at = At.of(claim.asked.given)
    (low, lower), (high, upper) = ends(claim)
    # The divergence decreases in eps: for a huge eps it is evaluated at a smaller one.
    there = At.of(sp.Integer(int(LARGEST_EPS))) if float(sp.N(claim.asked.given, 15)) > LARGEST_EPS else at
    above = proof_above(claim.question, claim.above, there, upper, claim.asked.effort) if upper < 1 else None
    below = [(LIMIT if e.eps == "inf" else at, e) for e in claim.below] if lower > 0 and _are_listed(claim) else []
    return {"eps": at.text, "lower": low if below else "0", "upper": high}, above, below


def _are_listed(claim: Claim) -> bool:
    """Return whether the verifier can repeat the evaluations of the data sets below: else their end is not claimed."""
    is_noise = any(isinstance(e.part, NoiseInterval) for e in claim.above)

    def is_listed(e: Evidence) -> bool:
        taking = write.taking_part(e.part)
        if taking is not None:
            return taking.base.decomposition.is_listed and e.evaluator != LATTICE
        if is_triple(e.part):
            return e.part.decomposition.is_listed and e.evaluator != LATTICE
        counts = e.evaluator == HISTOGRAMS or (isinstance(e.part, FixedCounts) and e.details is not None)
        return counts and not is_noise

    return bool(claim.below) and (bool(claim.question.victims) or all(map(is_listed, claim.below)))


# --- above ------------------------------------------------------------------------------------------------------------


def proof_above(
    question: Question, known: tuple[Evidence, ...], at: At, bound: fmpq | arb, effort: str = "default"
) -> Proof:
    """Return evaluations at ``at`` of every class of pairs, or of those of a table that no common bound covers."""
    subject, n = question.subject, question.n
    repeated = [e for e in known if e.evaluator not in (IN_COMMON, MOMENTS)]
    evaluated = {e.part.signature: e for e in repeated}
    method = known[0].part.method if known else None
    if question.victims:
        same = {e.part: e for e in repeated if e.eps == at.text}
        every = [part for v in question.victims for part in v.bound.parts]
        return Proof(at, bound, tuple(same.get(part) or _evaluated(part, at.level, n, bound) for part in every))
    if _is_of_known_noise(known, patience(effort)):
        return Proof(at, bound, known)
    if method in _OF_DENSITIES:
        more = f", or {THOROUGH}" * _is_of_known_noise(known, patience("thorough"))
        raise ArgumentError("certificate", Problem(f"an answer by {method} has none"), _instead(subject) + more)
    if known and known[0].evaluator == HISTOGRAMS:  # of all pairs at once
        return Proof(at, bound, (max(known, key=lambda e: e.precision),))
    whole = CandidateBounds(subject, method).first
    table = whole.searched_table
    # A bound of 0 is shown by one user alone: no tilt proves it.
    if table is not None and len(table.inputs) > _MOST_LISTED and not table.is_restricted and bound > 0:
        beyond = _with_interval(subject) or "ask with method='blanket'"
        return _of_table(cast(MaxOverRows, whole), at, bound, n, evaluated, patience(effort), beyond)
    settled = {e.part.pair: e for e in repeated if e.part.method != method}  # by another bound on the same pair
    cells = [part.shares for part in whole.parts if isinstance(part, PatternCell)]
    if cells and settled:
        return Proof(at, bound, tuple(settled.values()))
    parts = whole.parts
    if subject.participation is not None:  # every pair in every order, whether or not another has the same triple
        parts = subject.participation.parts(CandidateBounds(subject, method).everyone)
    found = tuple(
        evaluated.get(part.signature) or settled.get(part.pair) or _evaluated(part, at.level, n, bound)
        for part in (part.sharper_triple or part for part in parts)
    )
    if subject.participation is not None:
        return Proof(at, bound, tuple(replace(e, part=part) for e, part in zip(found, parts, strict=True)))
    for e in found:
        if not (is_triple(e.part) or e.part.fixed_background or e.details or e.evaluator in write.ALONE):
            wrong = Problem(f"the verifier checks triples, and {e.part.method} is none")
            methods = (
                f"with method={name!r}" for name in _OF_TRIPLES if BOUNDS[name].unsupported_reason(subject) is None
            )
            raise ArgumentError("certificate", wrong, f"ask {next(methods, 'without a method')}")
    return Proof(at, bound, found, shares=(cells[0][0], *(right for _, right in cells)) if cells else ())


def _is_of_known_noise(known: Sequence[Evidence], times: int) -> bool:
    """Return whether the verifier can repeat an evaluation of all pairs of an interval: it knows the noise, in time."""
    for e in known:
        if isinstance(e.details, BoxesEvidence) and isinstance(e.part, NoiseInterval):
            found, stage = mechanisms.of_noise(e.part.noise), e.details.stages[0]
            size = len(stage.nodes) * len(stage.first) * len(stage.second)
            is_laplace = found is not None and found.data["kind"] == "laplace"
            if found is None or e.details.work > times * (_MOST_OPEN_OF_LAPLACE if is_laplace else _MOST_OPEN):
                return False
            return is_laplace or size <= times * _MOST_CORNERS
    return False


def _with_interval(subject: Subject) -> str:
    """Return what to ask where a table of noise takes too long: the evidence of all its pairs at once is smaller."""
    return "" if BOUNDS["interval"].unsupported_reason(subject) else "ask with method='interval'"


def _instead(subject: Subject) -> str:
    """Return which analysis of a density has certificates, or what the density would have to be."""
    lacks = {name: BOUNDS[name].unsupported_reason(subject) for name in _IN_FINITE_LAWS}
    for name, lack in lacks.items():
        if lack is None:
            return f"ask with method={name!r}, which bounds the density by a finite law"
    name, lack = next(iter(lacks.items()))
    is_interval = BOUNDS["interval"].unsupported_reason(subject) is None
    more = "; answers by method='interval' have some, with more users than here" if is_interval else ""
    return f"method={name!r} has certificates, but {lack}{more}"


def _of_table(
    whole: MaxOverRows, at: At, bound: fmpq | arb, n: int, known: dict[Any, Evidence], times: int, beyond: str
) -> Proof:
    """Return the evidence for all pairs of rows: a common tilt, and for pairs that it leaves open their own."""
    assert at.level is not None
    table = whole.table
    size = len(table.inputs)
    if size > _MOST_INPUTS:
        raise ArgumentError("certificate", f"a table of {size} inputs", f"at most {_MOST_INPUTS} inputs")
    with at_precision(128):
        theta = common_tilt(table, at.level, n, arb(bound)) or 1.0
    found, left = [], open_pairs(table, at.level, n, arb(bound), theta)
    for group in distinct_pairs(table, left):
        part = blanket_of_rows(table, group[0])
        tried = known.get(part.signature) or _evaluated(part, at.level, n, bound)
        if tried.upper.ball <= bound:
            found.append(tried)
            left = [pair for pair in left if pair not in group]
    groups = whole.groups(table, left)
    if len(groups) * size * len(table.messages) > times * _MOST_ENTRIES:
        raise ArgumentError("certificate", Problem(f"{len(groups)} pairs of inputs are too many"), beyond)
    for group in groups:
        own, names = whole.part(group[0]), {(table.inputs[i], table.inputs[j]) for i, j in group}
        alike = (e for e in known.values() if e.part.method == own.method and e.part.pair in names)
        found.append(known.get(own.signature) or next(alike, None) or _evaluated(own, at.level, n, bound))
    return Proof(at, bound, tuple(found) or (_evaluated(blanket_of_rows(table, (0, 1)), at.level, n, bound),), theta)


def _evaluated(part: PairBound, level: Level | None, n: int, bound: fmpq | arb) -> Evidence:
    assert level is not None
    with at_precision(256):
        one = one_user_divergence(part.law, level) if is_triple(part) else arb("inf")
        if bound == 0 or one <= arb(bound) or _is_tie(part, level, bound):
            return Evidence.of(part, level, Enclosure(arb(0), one, "no positive value", 128))
    for gap in FINER_GAPS:
        found = Evidence.of(part, level, part.enclose(level, n, Settings(gap=gap)))
        if found.upper.ball <= bound or found.lower.ball > bound:  # proved, or not to be proved by any gap
            break
    return found


def _is_tie(part: PairBound, level: Level, bound: fmpq | arb) -> bool:
    """Return whether the divergence for one user is exactly the bound, which balls of it cannot decide."""
    if not isinstance(bound, fmpq) or not is_triple(part):
        return False
    return bool(part.enclose(level, 1, Settings(gap=FINER_GAPS[0])).exact == bound)


# --- below ------------------------------------------------------------------------------------------------------------


def _pieces_below(users: Users, below: Below, more: int) -> Data:
    listed = [users.below(at, e) for at, e in below]
    return {"eps": below[0][0].text, "precision": bits((e for _, e in below), more), "evidence": listed}


# --- ends -------------------------------------------------------------------------------------------------------------


def ends(claim: Claim) -> tuple[tuple[str, fmpq | arb], tuple[str, fmpq | arb]]:
    """Return the bounds on delta as texts and exact numbers: the doubles, or more digits where doubles lose some."""
    exact = (claim.least, claim.most)
    doubles = [Fraction(x) for x in (claim.least.below, claim.most.above)]
    found = [(fraction_text(x), fmpq_of(x)) for x in doubles]
    if not claim.above:
        return found[0], found[1]
    for i, (x, double) in enumerate(zip(exact, doubles, strict=True)):
        shown = (claim.above if i else claim.below or claim.above)[0]
        gap = shown.relative_gap
        kept = 24 + (int(-log2(gap)) if gap > 0.0 else shown.precision)
        if x.mantissa > 0 and (gap < 1e-13 or double < Fraction(1, 10**290)):
            found[i] = _rounded(x, kept, up=i == 1)
    return found[0], found[1]


def _rounded(x: Dyadic, bits: int, *, up: bool) -> tuple[str, arb]:
    """Return a positive number rounded outward to a number of bits: as text, and as a ball of radius 0."""
    assert x.exponent is not None
    mantissa, exponent = x.mantissa, x.exponent
    excess = max(mantissa.bit_length() - bits, 0)
    mantissa, exponent = -(-mantissa >> excess) if up else mantissa >> excess, exponent + excess
    with at_precision(bits + 64):
        return f"{integer_text(mantissa)}*2**({exponent})", arb(mantissa) * arb(2) ** exponent


# --- who runs what: one mechanism, or groups of users who differ ------------------------------------------------------


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
        """Return the evidence of an upper end as data, each class of pairs covered."""
        split, n, known = 2 if more else 1, self.question.n, self.known
        if proof.shares:
            listed: list[Data] = [write.every_randomizer(proof.shares, proof.found, n, split)]
        else:
            made = ((e, write.above(known, e.part, proof.at, e, n, split)) for e in proof.found)
            found = [(e, data) for e, data in made if data is not None]
            listed = [data for _, data in found]
            listed += [] if proof.tilt is None else [{"kind": "common tilt", "theta": exact_double(proof.tilt)}]
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
    listed = "all_data_sets" in methods or any(side.tilt is not None for side in above)
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
