"""A certificate: the claim of an answer, with all that is needed to check it without any search."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import log2
from typing import Any

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.all_data_sets.generic import PatternCell
from symamp.bounds.blanket import blanket_of_rows
from symamp.bounds.bound import Evidence, PairBound
from symamp.bounds.few_users import HISTOGRAMS
from symamp.bounds.pairs_of_a_table import MOMENTS, common_tilt, open_pairs
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import is_triple
from symamp.bounds.registry import BOUNDS
from symamp.bounds.search import CandidateBounds
from symamp.bounds.subject import Subject
from symamp.certificates.evidence import LIMIT, At, evidence_data, is_of_version_1, patterns_data, table_data
from symamp.certificates.text import fraction_text, integer_text
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.pairs import distinct_pairs
from symamp.errors import ArgumentError, PrecisionError, Problem
from symamp.laws.law import Level
from symamp.numbers.dyadic import ZERO, Dyadic
from symamp.numbers.rationals import fmpq_of, rational_of
from symamp.numbers.surroundings import at_precision
from symamp.settings.question import Query, Question
from symamp.sums.divergence import LATTICE, Enclosure, Settings, one_user_divergence
from symamp.sums.inversion import LARGEST_EPS
from symamp.verifier import verify

FORMAT = "symamp-certificate"
MORE_BITS = (0, 32, 512, 4096)
"""How many bits a certificate has beyond the evaluation that it repeats: the first for which it is accepted."""
_FEW_INPUTS, _MOST_INPUTS = 4, 64
"""Up to so many inputs of a table every class of pairs is listed; beyond the second number there is no certificate."""
_OF_DENSITIES = ("worst_pair", "density_pairs")
"""Analyses whose evaluations the verifier cannot repeat."""
_IN_FINITE_LAWS = ("finite_sandwich", "fallback_law")
"""Analyses for the same questions that it can repeat."""
_GAPS = (1e-2, 1e-4, 1e-7, 1e-10)
"""Relative gaps for triples that convex order or the local budget has settled, so that there is no evaluation yet."""


@dataclass(frozen=True)
class Claim:
    """What a certificate states: the question, the two ends, and the evaluations that prove them."""

    question: Question
    asked: Query
    least: Dyadic
    most: Dyadic
    above: tuple[Evidence, ...]
    below: tuple[Evidence, ...]


def certificate(claim: Claim, method: str, proof_status: ProofStatus, source: str) -> dict[str, Any]:
    """Return the certificate of a claim as JSON-ready data (documented in docs/certificates.md).

    Every number is exact: doubles as fractions, laws and levels as expressions. All classes of pairs of the method
    are listed; those that convex order has settled are evaluated here. ``verify`` has accepted the result. Raises
    PrecisionError if no precision suffices for that.

    >>> import symamp as sa
    >>> found = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="0.1", method="blanket").certificate()
    >>> found["claim"]["eps"], sorted(found["above"][0]["components"])[0]
    ('1/10', ['1', 'E', '1/(1 + E)'])
    """
    made = unchecked(claim, method, proof_status, source)
    for more in MORE_BITS:
        data = made(more)
        verdict = verify(json.dumps(data))
        if verdict.status == "valid":
            return data
    raise PrecisionError("certificate", Problem(f"the verifier refuses it: {verdict.reason}"), "ask with a larger gap")


_Found = Callable[[int], dict[str, Any]]
"""Returns data with so many bits beyond the evaluations that it repeats."""


def unchecked(claim: Claim, method: str, proof_status: ProofStatus, source: str) -> _Found:
    """Return what makes the certificate of a claim, which ``verify`` has not seen."""
    quantity = claim.asked.quantity
    stated, sides = _epsilon(claim) if quantity == "epsilon" else _delta(claim)

    def made(more: int) -> dict[str, Any]:
        above, below = ([found(more) for found in side] for side in sides)
        return {
            "format": FORMAT,
            "version": 1 if all(is_of_version_1(e) for e in (*above, *below)) else 2,
            "mechanism": repr(claim.question.subject),
            "method": method,
            "proof_status": proof_status.value,
            "source": source,
            "claim": {"quantity": quantity, "n": claim.question.n, **stated},
            "above": above,
            "below": below,
        }

    return made


def _epsilon(claim: Claim) -> tuple[dict[str, str], tuple[list[_Found], list[_Found]]]:
    delta, lower, upper = claim.asked.given, claim.least, claim.most
    above: list[_Found] = []
    below: list[_Found] = []
    if upper.exponent is not None:
        above = list(_above(claim, At.of(rational_of(upper.fraction)), delta))
    if not _are_listed(claim.below):
        below = []
    elif lower.exponent is None:
        below = list(_below(claim, LIMIT))
    elif lower.mantissa > 0:
        below = list(_below(claim, At.of(rational_of(lower.fraction))))
    lower = lower if below else ZERO
    ends = (fraction_text(x.fraction) if x.exponent is not None else "inf" for x in (lower, upper))
    return {"delta": fraction_text(delta), **dict(zip(("lower", "upper"), ends, strict=True))}, (above, below)


def _delta(claim: Claim) -> tuple[dict[str, str], tuple[list[_Found], list[_Found]]]:
    at = At.of(claim.asked.given)
    (low, lower), (high, upper) = _ends(claim)
    # The divergence decreases in eps: for a huge eps it is evaluated at a smaller one.
    there = At.of(sp.Integer(int(LARGEST_EPS))) if float(sp.N(claim.asked.given, 15)) > LARGEST_EPS else at
    above = list(_above(claim, there, upper)) if upper < 1 else []
    below = list(_below(claim, at)) if lower > 0 and _are_listed(claim.below) else []
    low = low if below else "0"
    return {"eps": at.text, "lower": low, "upper": high}, (above, below)


def _are_listed(evidence: tuple[Evidence, ...]) -> bool:
    """Return whether the verifier can repeat the evaluations of the data sets below: else their end is not claimed."""
    repeated = (is_triple(e.part) or e.details is not None or e.evaluator == HISTOGRAMS for e in evidence)
    return all(repeated) and all(e.evaluator != LATTICE for e in evidence)


def _below(claim: Claim, at: At) -> Iterator[_Found]:
    for e in claim.below:
        yield partial(evidence_data, e.part, LIMIT if e.eps == "inf" else at, e, claim.question.n)


def _above(claim: Claim, at: At, bound: fmpq | arb) -> Iterator[_Found]:
    """Yield an evaluation at ``at`` of every class of pairs, or of those of a table that no common bound settles."""
    known = {e.part.signature: e for e in claim.above if e.evaluator != MOMENTS}
    n = claim.question.n
    method = claim.above[0].part.method if claim.above else None
    if method in _OF_DENSITIES:
        raise ArgumentError("certificate", method, _instead(claim.question.subject))
    if claim.above and claim.above[0].evaluator == HISTOGRAMS:  # of all pairs at once
        yield partial(evidence_data, claim.above[0].part, at, max(claim.above, key=lambda e: e.precision), n)
        return
    whole = CandidateBounds(claim.question.subject, method).first
    if whole.searched_table is not None:
        if method not in (None, "blanket"):
            raise ArgumentError("certificate", Problem(f"{method} of a table has none"), "ask with method='blanket'")
        # A bound of 0 is shown pair by pair: no tilt proves it.
        if bound > 0 and len(whole.searched_table.inputs) > _FEW_INPUTS and not whole.searched_table.is_restricted:
            yield _table(whole.searched_table, at, bound, n, known)
            return
    settled = {e.part.pair: e for e in claim.above if e.part.method != method}  # by another bound on the same pair
    found = [
        known.get(part.signature) or settled.get(part.pair) or _evaluated(part, at.level, n, bound)
        for part in whole.parts
    ]
    cells = [part.shares for part in whole.parts if isinstance(part, PatternCell)]
    if cells and settled:
        found = list(settled.values())
    elif cells:
        shares = [cells[0][0], *(right for _, right in cells)]
        yield partial(patterns_data, claim.question.subject.local_ratio(), shares, at, found, n)
        return
    for e in found:
        yield partial(evidence_data, e.part, at, e, n)


def _instead(subject: Subject) -> str:
    """Return which analysis of a density has certificates, or what the density would have to be."""
    lacks = {name: BOUNDS[name].unsupported_reason(subject) for name in _IN_FINITE_LAWS}
    for name, lack in lacks.items():
        if lack is None:
            return f"an answer of method={name!r}, a finite law above the density"
    name, lack = next(iter(lacks.items()))
    return f"for method={name!r}, which has certificates, {lack}"


def _table(table: NumericTable, at: At, bound: fmpq | arb, n: int, known: dict[Any, Evidence]) -> _Found:
    """Return the evidence for all pairs of rows: a common tilt, and those pairs that it leaves open."""
    assert at.level is not None
    size = len(table.inputs)
    if size > _MOST_INPUTS:
        raise ArgumentError("certificate", f"a table of {size} inputs", f"at most {_MOST_INPUTS} inputs")
    with at_precision(128):
        theta = common_tilt(table, at.level, n, arb(bound)) or 1.0
    found = {}
    for group in distinct_pairs(table, open_pairs(table, at.level, n, arb(bound), theta)):
        part = blanket_of_rows(table, group[0])
        evaluated = known.get(part.signature) or _evaluated(part, at.level, n, bound)
        if evaluated.evaluator != "no positive value":
            found[group[0]] = evaluated
    return partial(table_data, table, at, blanket_of_rows(table, (0, 1)), theta, found, n)


def _evaluated(part: PairBound, level: Level | None, n: int, bound: fmpq | arb) -> Evidence:
    assert level is not None
    with at_precision(256):
        one = one_user_divergence(part.law, level) if is_triple(part) else arb("inf")
        if bound == 0 or one <= arb(bound) or _is_tie(part, level, bound):
            return Evidence.of(part, level, Enclosure(arb(0), one, "no positive value", 128))
    for gap in _GAPS:
        found = Evidence.of(part, level, part.enclose(level, n, Settings(gap=gap)))
        if found.upper.ball <= bound:
            break
    return found


def _is_tie(part: PairBound, level: Level, bound: fmpq | arb) -> bool:
    """Return whether the divergence for one user is exactly the bound, which balls of it cannot decide."""
    if not isinstance(bound, fmpq) or not is_triple(part):
        return False
    return bool(part.enclose(level, 1, Settings(gap=_GAPS[0])).exact == bound)


def _ends(claim: Claim) -> tuple[tuple[str, fmpq | arb], tuple[str, fmpq | arb]]:
    """Return the bounds on delta as texts and exact numbers: the doubles, or more digits where doubles lose some.

    Each end has the digits of its own evaluation.
    """
    exact = (claim.least, claim.most)
    doubles = [Fraction(x) for x in (claim.least.below, claim.most.above)]
    ends = [(fraction_text(x), fmpq_of(x)) for x in doubles]
    if not claim.above:
        return ends[0], ends[1]
    for i, (x, double) in enumerate(zip(exact, doubles, strict=True)):
        shown = (claim.above if i else claim.below or claim.above)[0]
        gap = shown.relative_gap
        bits = 24 + (int(-log2(gap)) if gap > 0.0 else shown.precision)
        if x.mantissa > 0 and (gap < 1e-13 or double < Fraction(1, 10**290)):
            ends[i] = _rounded(x, bits, up=i == 1)
    return ends[0], ends[1]


def _rounded(x: Dyadic, bits: int, *, up: bool) -> tuple[str, arb]:
    """Return a positive number rounded outward to so many bits: as text, and as a ball of radius 0."""
    assert x.exponent is not None
    mantissa, exponent = x.mantissa, x.exponent
    excess = max(mantissa.bit_length() - bits, 0)
    mantissa, exponent = -(-mantissa >> excess) if up else mantissa >> excess, exponent + excess
    with at_precision(bits + 64):
        return f"{integer_text(mantissa)}*2**({exponent})", arb(mantissa) * arb(2) ** exponent
