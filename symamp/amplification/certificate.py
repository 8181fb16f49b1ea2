"""A certificate: the claim of an answer, with all that is needed to check it without any search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import frexp, inf, ldexp, log2
from typing import Any

import flint
import sympy as sp
from flint import arb, fmpq
from sympy.printing.str import StrPrinter

from symamp.algebra.order import is_zero
from symamp.amplification.question import Asked, Question
from symamp.amplification.search import Ladder
from symamp.analyses.pair_of_inputs import PairOfInputs
from symamp.analyses.part import Evidence, Part
from symamp.analyses.reduction import Reduction
from symamp.analyses.standing import Standing
from symamp.derivation.crossing import level_of, number
from symamp.derivation.decomposition import Component
from symamp.errors import ArgumentError, PrecisionError, UndecidedOrderError
from symamp.evaluation.all_data_sets_plan import AllDataSetsEvidence
from symamp.evaluation.binomial_tails import TailPlan
from symamp.evaluation.divergence import Enclosure, Settings, one_user_divergence
from symamp.evaluation.envelope_law import envelope_law
from symamp.evaluation.inversion import LARGEST_EPS
from symamp.evaluation.law import Level
from symamp.evaluation.plan import Plan
from symamp.numbers.dyadic import Dyadic
from symamp.verifier import MOST_PRECISION, verify

FORMAT = "symamp-certificate"
_MORE_BITS = (0, 32, 512, 4096)
"""How many bits a certificate has beyond the evaluation that it repeats: the first for which it is accepted."""
_GAPS = (1e-2, 1e-4, 1e-7, 1e-10)
"""Relative gaps for triples that convex order or the local budget has settled, so that there is no evaluation yet."""
_TAILS, _WIDER = "binomial tails", 10.0
"""The evaluator whose windows of counts are made wider by e^-10: what the verifier leaves out is bounded more simply."""
_LONG_INTEGER = 10**4000
"""From here on integers are written in base 16: Python reads decimal ones of up to 4300 digits only."""


@dataclass(frozen=True)
class _At:
    """A level of evaluation: as a law sees it, as an expression (None for the limit of large eps) and as text."""

    level: Level | None
    eps: sp.Expr | None
    text: str

    @staticmethod
    def of(eps: sp.Expr) -> _At:
        level = level_of(eps)
        # exp(log(q)) is the one exponential that the verifier knows as a fraction.
        exact = level.rational is not None and level.rational != 1
        return _At(level, eps, f"log({_fraction(level.rational)})" if exact else expression_text(eps))


_LIMIT = _At(None, None, "inf")


@dataclass(frozen=True)
class Claim:
    """What a certificate states: the question, the two ends, and the evaluations that prove them."""

    question: Question
    asked: Asked
    least: Dyadic
    most: Dyadic
    above: tuple[Evidence, ...]
    below: tuple[Evidence, ...]


def certificate(claim: Claim, method: str, standing: Standing, source: str) -> dict[str, Any]:
    """Return the certificate of a claim as JSON-ready data (documented in docs/certificates.md).

    Every number is exact: doubles as fractions, laws and levels as expressions. All classes of pairs of the method
    are listed; those that convex order has settled are evaluated here. ``verify`` has accepted the result. Raises
    PrecisionError if no precision suffices for that.

    >>> import symamp as sa
    >>> found = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="0.1", method="blanket").certificate()
    >>> found["claim"]["eps"], sorted(found["above"][0]["components"])[0]
    ('1/10', ['1', 'E', '1/(1 + E)'])
    """
    quantity = claim.asked.quantity
    stated, sides = _epsilon(claim) if quantity == "epsilon" else _delta(claim)
    for more in _MORE_BITS:
        data = {
            "format": FORMAT,
            "version": 1,
            "mechanism": repr(claim.question.subject),
            "method": method,
            "standing": standing.value,
            "source": source,
            "claim": {"quantity": quantity, "n": claim.question.n, **stated},
            "above": [_evidence(*found, claim.question.n, more) for found in sides[0]],
            "below": [_evidence(*found, claim.question.n, more) for found in sides[1]],
        }
        data["version"] = 1 if all(_is_of_version_1(e) for e in (*data["above"], *data["below"])) else 2
        verdict = verify(json.dumps(data))
        if verdict.status == "valid":
            return data
    raise PrecisionError("certificate", verdict.reason, f"a claim that can be checked within {MOST_PRECISION} bits")


_Found = tuple[Part, _At, Evidence]


def _epsilon(claim: Claim) -> tuple[dict[str, str], tuple[list[_Found], list[_Found]]]:
    delta, lower, upper = claim.asked.given, claim.least, claim.most
    above: list[_Found] = []
    below: list[_Found] = []
    if upper.exponent is not None:
        above = list(_above(claim, _At.of(_rational(upper.fraction)), delta))
    if lower.exponent is None:
        below = [(_triple(e), _LIMIT, e) for e in claim.below]
    elif lower.mantissa > 0:
        at = _At.of(_rational(lower.fraction))
        below = [(_triple(e), at, e) for e in claim.below]
    ends = (_fraction(x.fraction) if x.exponent is not None else "inf" for x in (lower, upper))
    return {"delta": _fraction(delta), **dict(zip(("lower", "upper"), ends, strict=True))}, (above, below)


def _delta(claim: Claim) -> tuple[dict[str, str], tuple[list[_Found], list[_Found]]]:
    at = _At.of(claim.asked.given)
    (low, lower), (high, upper) = _ends(claim)
    # The divergence decreases in eps: for a huge eps it is evaluated at a smaller one.
    there = _At.of(sp.Integer(int(LARGEST_EPS))) if float(sp.N(claim.asked.given, 15)) > LARGEST_EPS else at
    above = list(_above(claim, there, upper)) if upper < 1 else []
    below = [(_triple(e), _LIMIT if e.eps == "inf" else at, e) for e in claim.below]
    return {"eps": at.text, "lower": low, "upper": high}, (above, below if lower > 0 else [])


def _triple(evidence: Evidence) -> Reduction:
    if not isinstance(evidence.part, Reduction):
        raise ArgumentError("certificate", evidence.part.method, "an answer whose evidence is triples")
    return evidence.part


def _above(claim: Claim, at: _At, bound: fmpq | arb) -> Iterator[_Found]:
    """Yield an evaluation at ``at`` of every class of pairs."""
    known = {e.part.signature: e for e in claim.above}
    method = claim.above[0].part.method if claim.above else None
    for part in Ladder(claim.question.subject, method).first.parts:
        found = known.get(part.signature) or _evaluated(part, at.level, claim.question.n, bound)
        yield found.part, at, found


def _evaluated(part: Part, level: Level | None, n: int, bound: fmpq | arb) -> Evidence:
    assert level is not None
    with flint.ctx.workprec(256):
        one = one_user_divergence(part.law, level) if isinstance(part, Reduction) else arb("inf")
        if bound == 0 or one <= arb(bound):
            return Evidence.of(part, level, Enclosure(arb(0), one, "no positive value", 128))
    for gap in _GAPS:
        found = Evidence.of(part, level, part.enclose(level, n, Settings(gap=gap)))
        if found.upper.ball <= bound:
            break
    return found


def _ends(claim: Claim) -> tuple[tuple[str, fmpq | arb], tuple[str, fmpq | arb]]:
    """Return the bounds on delta as texts and exact numbers: the doubles, or more digits where doubles lose some."""
    exact = (claim.least, claim.most)
    doubles = [Fraction(x) for x in (claim.least.below, claim.most.above)]
    ends = [(_fraction(x), fmpq(x.numerator, x.denominator)) for x in doubles]
    if not claim.above:
        return ends[0], ends[1]
    gap = claim.above[0].relative_gap
    bits = 24 + (int(-log2(gap)) if gap > 0.0 else claim.above[0].precision)
    for i, (x, double) in enumerate(zip(exact, doubles, strict=True)):
        if x.mantissa > 0 and (gap < 1e-13 or double < Fraction(1, 10**290)):
            ends[i] = _rounded(x, bits, up=i == 1)
    return ends[0], ends[1]


def _rounded(x: Dyadic, bits: int, *, up: bool) -> tuple[str, arb]:
    """Return a positive number rounded outward to so many bits: as text, and as a ball of radius 0."""
    assert x.exponent is not None
    mantissa, exponent = x.mantissa, x.exponent
    excess = max(mantissa.bit_length() - bits, 0)
    mantissa, exponent = -(-mantissa >> excess) if up else mantissa >> excess, exponent + excess
    with flint.ctx.workprec(bits + 64):
        return f"{_integer(mantissa)}*2**({exponent})", arb(mantissa) * arb(2) ** exponent


def _is_of_version_1(evidence: dict[str, Any]) -> bool:
    return "components" in evidence and evidence["evaluator"] != _TAILS


def _evidence(part: Part, at: _At, found: Evidence, n: int, more_bits: int) -> dict[str, Any]:
    bits = min(found.precision + more_bits, MOST_PRECISION)
    data: dict[str, Any] = {"method": part.method, "standing": part.standing.value, "pair": list(part.pair)}
    how = {"eps": at.text, "evaluator": found.evaluator, "precision": bits, "plan": _plan(found, n)}
    if isinstance(part, Reduction):
        others = {"others": [[x, str(w)] for x, w in part.dataset]}
        return data | others | _law(part, at) | how | ({"evaluator": "limit"} if at is _LIMIT else {})
    if not isinstance(part, PairOfInputs):
        raise ArgumentError("certificate", part.method, "an analysis by triples, or of pairs of inputs")
    laws = {json.dumps(sorted(law["components"])): (x, law) for x, law in ((t, _law(t, at)) for t in part.triples)}
    data |= {"laws": [{"other": t.dataset[0][0], **law} for t, law in laws.values()], "dominating": None}
    if found.evaluator in ("no positive value", "one user"):
        return data | how | {"evaluator": "one user"}
    if found.details is None:
        assert at.level is not None
        with flint.ctx.workprec(found.precision):
            law = envelope_law(part.laws, at.level).law
        atoms = [(v, m) for v, m in zip(law.values, law.masses, strict=True) if not m.is_zero()]
        atoms += [] if law.null_mass.is_zero() else [(arb(0), law.null_mass)]
        numbers = [[Dyadic.of(x) for x in column] for column in zip(*atoms, strict=True)]
        texts = [[_dyadic(x) for x in column] for column in numbers]
        data["dominating"] = {"values": texts[0], "masses": texts[1], "singular": _dyadic(Dyadic.of(law.singular))}
        how["precision"] = min(max(x.mantissa.bit_length() for y in numbers for x in y) + 64 + bits, MOST_PRECISION)
    return data | how


def _law(reduction: Reduction, at: _At) -> dict[str, Any]:
    decomposition = reduction.decomposition
    return {
        "components": [_component(c, at) for c in decomposition.components],
        "singular": [[expression_text(a), expression_text(b)] for a, b in decomposition.singular],
    }


def _component(c: Component, at: _At) -> list[str]:
    """Return the texts of a component; r0 as exp(eps)*(r1) where the two are proved equal, but not as texts."""
    texts = [expression_text(e) for e in c]
    if at.level is None or (c.ratio0.is_Rational and c.ratio1.is_Rational and at.level.rational is not None):
        return texts
    with flint.ctx.workprec(1024):
        value = number(c.ratio0)() - at.level.exponential() * number(c.ratio1)()
    if value.contains(0) and not (texts[0] == texts[1] and at.level.rational == 1):
        try:
            if is_zero(c.ratio0 - sp.exp(at.eps) * c.ratio1):
                texts[0] = f"exp({at.text})*({texts[1]})"
        except UndecidedOrderError:
            pass  # then the ball around the difference has to do
    return texts


def _plan(found: Evidence, n: int) -> dict[str, Any] | None:
    if found.details is not None:
        return _all_data_sets_plan(found.details)
    if isinstance(found.plan, TailPlan):
        windows = found.plan.windows(n, _WIDER)
        return {"theta": exact_double(found.plan.theta), "windows": [list(w) for w in windows]}
    if found.plan is None:
        return None
    window = found.plan.window
    return {
        "theta": exact_double(window.theta),
        "W": exact_double(window.length),
        "theta_above": exact_double(window.theta_above),
        "theta_below": exact_double(window.theta_below),
        "N": found.plan.terms,
        "evaluated": [list(r) for r in found.plan.blocks.evaluated],
        "dropped": [list(r) for r in found.plan.blocks.dropped],
    }


def _all_data_sets_plan(found: AllDataSetsEvidence) -> dict[str, Any]:
    """Return the parameters, with each cell halved: the verifier's bounds are simpler, and must not be looser."""
    terms = []
    for term, cells in zip(found.parameters.terms, found.cells, strict=True):
        numbers = {key: exact_double(getattr(term, key)) for key in ("a", "lam", "s", "sigma")}
        ends = [x for lo, hi in pairwise(cells.ends) for x in (lo, (lo + hi) / 2)] + [cells.ends[-1]]
        scales = [exact_double(_short(c)) for c in cells.scales for _ in (0, 1)]
        numbers["tail"] = exact_double(_short(cells.tail_scale))
        terms.append({**numbers, "ends": [exact_double(x) for x in ends], "scales": scales})
    p = found.parameters
    return {"p_lo": exact_double(p.p_lo), "a": exact_double(p.tilt_a), "b": exact_double(p.tilt_b), "terms": terms}


def _short(x: float) -> float:
    """Return a positive double rounded to 24 bits: the best c is a minimum, where such an error costs nothing."""
    mantissa, exponent = frexp(x)
    return ldexp(round(mantissa * 2**24), exponent - 24)


def exact_double(x: float) -> str:
    """Return a double as an exact fraction, inf as "inf".

    >>> exact_double(0.375)
    '3/8'
    """
    return _fraction(Fraction(x)) if x < inf else "inf"


def expression_text(expr: sp.Expr) -> str:
    """Return an expression as the verifier reads it.

    >>> expression_text(sp.sqrt(2) / (sp.E + 9))
    'sqrt(2)/(E + 9)'
    """
    return str(_Printer().doprint(expr))


class _Printer(StrPrinter):  # type: ignore[misc]
    def _print_Integer(self, expr: sp.Integer) -> str:  # noqa: N802
        return _integer(int(expr.p))

    def _print_Rational(self, expr: sp.Rational) -> str:  # noqa: N802
        return f"{_integer(int(expr.p))}/{_integer(int(expr.q))}"


def _fraction(x: Any) -> str:
    p, q = (x.numerator, x.denominator) if isinstance(x, Fraction) else (int(x.p), int(x.q))
    return _integer(p) if q == 1 else f"{_integer(p)}/{_integer(q)}"


def _dyadic(x: Dyadic) -> str:
    assert x.exponent is not None
    shift = 2 ** abs(x.exponent)
    whole = x.exponent >= 0
    return _integer(x.mantissa * shift) if whole else _fraction(Fraction(x.mantissa, shift))


def _integer(x: int) -> str:
    return str(x) if abs(x) < _LONG_INTEGER else hex(x)


def _rational(x: fmpq) -> sp.Rational:
    return sp.Rational(int(x.p), int(x.q))
