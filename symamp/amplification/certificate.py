"""A certificate: the claim of an answer, with all that is needed to check it without any search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log2
from typing import TYPE_CHECKING, Any

import sympy as sp
from flint import arb, fmpq
from sympy.printing.str import StrPrinter

from symamp.algebra.order import is_zero
from symamp.analyses.lower_bounds import lower_reductions
from symamp.analyses.reduction import Reduction, level_of, number
from symamp.derivation.decomposition import Component
from symamp.errors import ArgumentError, PrecisionError, UndecidedOrderError
from symamp.evaluation.divergence import Enclosure, Settings, enclose_divergence
from symamp.evaluation.inversion import LARGEST_EPS, limit_divergence, one_user_divergence
from symamp.evaluation.law import Law, Level
from symamp.evaluation.plan import Plan
from symamp.numbers.precision import working_precision
from symamp.verifier import MOST_PRECISION, verify

if TYPE_CHECKING:
    from symamp.amplification.answer import Answer, Question

FORMAT, VERSION = "symamp-certificate", 1
_MORE_BITS = (0, 32, 512, 4096)
"""How many bits a certificate has beyond the evaluation that it repeats: the first for which it is accepted."""
_GAPS = (1e-2, 1e-4, 1e-7, 1e-10)
"""Relative gaps for triples that convex order or the local budget has settled, so that there is no evaluation yet."""
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


def certificate(answer: Answer) -> dict[str, Any]:
    """Return the certificate of an answer as JSON-ready data (documented in docs/certificates.md).

    Every number is exact: doubles as fractions, laws and levels as expressions. All classes of pairs of the method
    are listed; those that convex order has settled are evaluated here. ``verify`` has accepted the result. Raises
    PrecisionError if no precision suffices for that.

    >>> import symamp as sa
    >>> certificate = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="0.1").certificate()
    >>> certificate["claim"]["eps"], sorted(certificate["above"][0]["components"])[0]
    ('1/10', ['1', 'E', '1/(1 + E)'])
    """
    question = answer.question
    if question is None:
        raise ArgumentError("certificate", answer.method, "an answer of epsilon() or delta()")
    claim, sides = _epsilon(answer, question) if answer.quantity == "epsilon" else _delta(answer, question)
    for more in _MORE_BITS:
        data = {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": answer.subject,
            "method": answer.method,
            "standing": answer.standing.value,
            "source": answer.source,
            "claim": {"quantity": answer.quantity, "n": answer.n, **claim},
            "above": [_evidence(*found, more) for found in sides[0]],
            "below": [_evidence(*found, more) for found in sides[1]],
        }
        verdict = verify(json.dumps(data))
        if verdict.status == "valid":
            return data
    raise PrecisionError("certificate", verdict.reason, f"a claim that can be checked within {MOST_PRECISION} bits")


_Found = tuple[Reduction, _At, Enclosure]


def _epsilon(answer: Answer, question: Question) -> tuple[dict[str, str], tuple[list[_Found], list[_Found]]]:
    delta = question.given
    above: list[_Found] = []
    below: list[_Found] = []
    if answer.upper < inf:
        above = list(_above(answer, question, _At.of(sp.Rational(Fraction(answer.upper))), delta))
    if answer.lower == inf:
        below = [_hopeless(question, answer.n)]
    elif answer.lower > 0.0:
        at = _At.of(sp.Rational(Fraction(answer.lower)))
        below = [(e.reduction, at, e.enclosure) for e in answer.evidence_below]
    claim = {"delta": _fraction(delta), "lower": exact_double(answer.lower), "upper": exact_double(answer.upper)}
    return claim, (above, below)


def _delta(answer: Answer, question: Question) -> tuple[dict[str, str], tuple[list[_Found], list[_Found]]]:
    at = _At.of(question.given)
    (low, lower), (high, upper) = _ends(answer)
    # The divergence decreases in eps: for a huge eps it is evaluated at a smaller one.
    there = _At.of(sp.Integer(int(LARGEST_EPS))) if float(sp.N(question.given, 15)) > LARGEST_EPS else at
    above = list(_above(answer, question, there, upper)) if upper < 1 else []
    below = [(e.reduction, _LIMIT if e.eps == "inf" else at, e.enclosure) for e in answer.evidence_below]
    return {"eps": at.text, "lower": low, "upper": high}, (above, below if lower > 0 else [])


def _above(answer: Answer, question: Question, at: _At, bound: fmpq | arb) -> Iterator[_Found]:
    """Yield an evaluation at ``at`` of every class of pairs."""
    known = {e.reduction.decomposition.signature(): e.enclosure for e in answer.evidence_above}
    for signature, reduction in {u.decomposition.signature(): u for u in reversed(question.uppers)}.items():
        found = known.get(signature) or _evaluated(reduction.law, at.level, answer.n, bound)
        yield reduction, at, found


def _evaluated(law: Law, level: Level | None, n: int, bound: fmpq | arb) -> Enclosure:
    assert level is not None
    with working_precision(256):
        one = one_user_divergence(law, level)
        if bound == 0 or one <= arb(bound):
            return Enclosure(arb(0), one, "no positive value", 128)
    for gap in _GAPS:
        found = enclose_divergence(law, level, n, Settings(gap=gap))
        if found.is_at_most(bound):
            break
    return found


def _hopeless(question: Question, n: int) -> _Found:
    """Return a data set whose divergence stays above delta for all eps."""
    with working_precision(256):
        for reduction in lower_reductions(question.subject):
            limit = limit_divergence(reduction.law, n)
            if limit > arb(question.given):
                return reduction, _LIMIT, Enclosure(limit, limit, "limit", 256)
    raise PrecisionError("certificate", "lower = inf", "a data set with a limit of the divergence above delta")


def _ends(answer: Answer) -> tuple[tuple[str, fmpq | arb], tuple[str, fmpq | arb]]:
    """Return the bounds on delta as texts and exact numbers: the doubles, or more digits where doubles lose some."""
    doubles = [Fraction(x) for x in (answer.lower, answer.upper)]
    ends = [(_fraction(x), fmpq(x.numerator, x.denominator)) for x in doubles]
    if answer._exact is None or not answer.evidence_above:
        return ends[0], ends[1]
    gap = answer.evidence_above[0].enclosure.relative_gap
    bits = 24 + (int(-log2(gap)) if gap > 0.0 else answer.evidence_above[0].enclosure.precision)
    for i, (x, double) in enumerate(zip(answer._exact, doubles, strict=True)):
        if x > 0 and (gap < 1e-13 or double < Fraction(1, 10**290)):
            ends[i] = _rounded(x, bits, up=i == 1)
    return ends[0], ends[1]


def _rounded(x: arb, bits: int, *, up: bool) -> tuple[str, arb]:
    """Return an exact positive number rounded outward to so many bits: as text, and as a ball of radius 0."""
    mantissa, exponent = (int(part) for part in x.man_exp())
    excess = max(mantissa.bit_length() - bits, 0)
    mantissa, exponent = -(-mantissa >> excess) if up else mantissa >> excess, exponent + excess
    with working_precision(bits + 64):
        return f"{_integer(mantissa)}*2**({exponent})", arb(mantissa) * arb(2) ** exponent


def _evidence(reduction: Reduction, at: _At, enclosure: Enclosure, more_bits: int) -> dict[str, Any]:
    decomposition = reduction.decomposition
    return {
        "method": reduction.method,
        "standing": reduction.standing.value,
        "pair": list(decomposition.pair),
        "others": [[x, str(w)] for x, w in reduction.dataset],
        "components": [_component(c, at) for c in decomposition.components],
        "singular": [[expression_text(a), expression_text(b)] for a, b in decomposition.singular],
        "eps": at.text,
        "evaluator": enclosure.evaluator if at is not _LIMIT else "limit",
        "precision": min(enclosure.precision + more_bits, MOST_PRECISION),
        "plan": None if enclosure.plan is None else _plan(enclosure.plan),
    }


def _component(c: Component, at: _At) -> list[str]:
    """Return the texts of a component; r0 as exp(eps)*(r1) where the two are proved equal, but not as texts."""
    texts = [expression_text(e) for e in c]
    if at.level is None or (c.ratio0.is_Rational and c.ratio1.is_Rational and at.level.rational is not None):
        return texts
    with working_precision(1024):
        value = number(c.ratio0)() - at.level.exponential() * number(c.ratio1)()
    if value.contains(0) and not (texts[0] == texts[1] and at.level.rational == 1):
        try:
            if is_zero(c.ratio0 - sp.exp(at.eps) * c.ratio1):
                texts[0] = f"exp({at.text})*({texts[1]})"
        except UndecidedOrderError:
            pass  # then the ball around the difference has to do
    return texts


def _plan(plan: Plan) -> dict[str, Any]:
    window = plan.window
    return {
        "theta": exact_double(window.theta),
        "W": exact_double(window.length),
        "theta_above": exact_double(window.theta_above),
        "theta_below": exact_double(window.theta_below),
        "N": plan.terms,
        "evaluated": [list(r) for r in plan.blocks.evaluated],
        "dropped": [list(r) for r in plan.blocks.dropped],
    }


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


def _integer(x: int) -> str:
    return str(x) if abs(x) < _LONG_INTEGER else hex(x)
