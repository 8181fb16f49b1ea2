"""A certified evaluation as the evidence of a certificate: the laws, and what repeats it without a search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, frexp, ldexp
from typing import Any, cast

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.bound import Evidence, PairBound
from symamp.bounds.few_users import HISTOGRAMS, RowsOfTable
from symamp.bounds.pairs_of_a_table import Pair
from symamp.bounds.reduction import Reduction, is_triple
from symamp.certificates.text import dyadic_text, exact_double, expression_text, fraction_text
from symamp.decompositions.decomposition import Component
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.to_law import level_of, number
from symamp.errors import ArgumentError, UndecidedOrderError
from symamp.formulas.order import is_zero
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision
from symamp.sums.all_data_sets.floats import AllDataSetsEvidence
from symamp.sums.binomial_tails import TailPlan
from symamp.sums.divergence import LATTICE
from symamp.sums.envelope import envelope_law
from symamp.sums.tilted import Plan
from symamp.sums.two_messages import CountPlan, CountsEvidence
from symamp.verifier import MOST_PRECISION

_GUARD = 64
"""Bits beyond those of numbers that are known exactly: ends are written to more digits than they were computed with."""
_TAILS, _WIDER = "binomial tails", 10.0
"""An evaluator, and how much wider its windows are made: the verifier bounds more simply what is left out."""


@dataclass(frozen=True)
class At:
    """A level of evaluation: as a law sees it, as an expression (None for the limit of large eps) and as text."""

    level: Level | None
    eps: sp.Expr | None
    text: str

    @staticmethod
    def of(eps: sp.Expr) -> At:
        """Return the level of an exact eps."""
        level = level_of(eps)
        # exp(log(q)) is the one exponential that the verifier knows as a fraction.
        exact = level.rational is not None and level.rational != 1
        return At(level, eps, f"log({fraction_text(level.rational)})" if exact else expression_text(eps))


LIMIT = At(None, None, "inf")


def is_of_version_1(evidence: dict[str, Any]) -> bool:
    """Return whether evidence is a triple that the first version of certificates can carry."""
    return "components" in evidence and evidence["evaluator"] != _TAILS


def evidence_data(part: PairBound, at: At, found: Evidence, n: int, more_bits: int) -> dict[str, Any]:
    """Return a certified evaluation as data: that of a triple, or of a pair of inputs with all laws of the others."""
    if found.evaluator == HISTOGRAMS:
        return histograms_data(part, at, found, n, more_bits)
    bits = min(found.precision + more_bits, MOST_PRECISION)
    data: dict[str, Any] = {"method": part.method, "proof_status": part.proof_status.value, "pair": list(part.pair)}
    how = {
        "eps": at.text,
        "evaluator": found.evaluator,
        "precision": bits,
        "plan": plan_data(found, n, 2 if more_bits else 1),
    }
    if is_triple(part):
        others = {"others": [[x, str(w)] for x, w in part.dataset]}
        return data | others | _law(part, at) | how | ({"evaluator": "limit"} if at is LIMIT else {})
    triples = [t for t in part.fixed_background if is_triple(t)]
    if not triples:
        raise ArgumentError(
            "certificate", part.method, "an analysis of triples or laws, such as method='all_data_sets'"
        )
    laws = {json.dumps(sorted(law["components"])): (x, law) for x, law in ((t, _law(t, at)) for t in triples)}
    data |= {"laws": [{"other": t.dataset[0][0], **law} for t, law in laws.values()], "dominating": None}
    data |= {"rounded": fraction_text(fmpq_of(part.rounded))} if part.rounded else {}
    if found.evaluator in ("no positive value", "one user"):
        return data | how | {"evaluator": "one user"}
    if found.details is None:
        assert at.level is not None
        with at_precision(found.precision):
            law = envelope_law([t.law for t in triples], at.level).law
        atoms = [(v, m) for v, m in zip(law.values, law.masses, strict=True) if not m.is_zero()]
        atoms += [] if law.null_mass.is_zero() else [(arb(0), law.null_mass)]
        numbers = [[Dyadic.of(x) for x in column] for column in zip(*atoms, strict=True)]
        texts = [[dyadic_text(x) for x in column] for column in numbers]
        data["dominating"] = {"values": texts[0], "masses": texts[1], "singular": dyadic_text(Dyadic.of(law.singular))}
        how["precision"] = min(max(x.mantissa.bit_length() for y in numbers for x in y) + 64 + bits, MOST_PRECISION)
    return data | how


def table_data(
    table: NumericTable, at: At, part: PairBound, theta: float, found: dict[Pair, Evidence], n: int, more_bits: int
) -> dict[str, Any]:
    """Return the evidence for all ordered pairs of rows of a table: those found one by one, the others by theta."""
    bits = max((e.precision for e in found.values()), default=128) + more_bits
    return {
        "method": part.method,
        "proof_status": part.proof_status.value,
        "eps": at.text,
        "evaluator": "common tilt",
        "theta": exact_double(theta),
        "precision": min(bits, MOST_PRECISION),
        "rows": _rows(table),
        "pairs": [
            {"pair": [int(x) for x in pair], "evaluator": e.evaluator, "plan": plan_data(e, n)}
            for pair, e in found.items()
        ],
    }


def histograms_data(part: PairBound, at: At, found: Evidence, n: int, more_bits: int) -> dict[str, Any]:
    """Return the evidence by histograms: that of all data sets for all pairs of rows, or of one data set."""
    asked = cast(RowsOfTable, part)
    table = cast(NumericTable, asked.table.numeric)
    return {
        "method": part.method,
        "proof_status": part.proof_status.value,
        "eps": at.text,
        "evaluator": found.evaluator,
        "precision": min(found.precision + _GUARD + more_bits, MOST_PRECISION),
        "rows": _rows(table),
        "compared": [list(rows) for rows in (table.pairs if part.is_attained else [asked.rows])],
        "others": asked.held,
    }


def _rows(table: NumericTable) -> list[list[str]]:
    entries = [[table.entry(x, y) for y in range(len(table.messages))] for x in range(len(table.inputs))]
    return [[fraction_text(x) if isinstance(x, fmpq) else expression_text(x) for x in row] for row in entries]


def patterns_data(
    ratio: sp.Expr, shares: Sequence[sp.Rational], at: At, found: Sequence[Evidence], n: int, more_bits: int
) -> dict[str, Any]:
    """Return the evidence for every randomizer of a budget: the cells between shares, last the blanket of few messages.

    The verifier makes all laws from the ratio.
    """
    *cells, low = found
    return {
        "method": cells[0].part.method,
        "proof_status": cells[0].part.proof_status.value,
        "eps": at.text,
        "evaluator": "all randomizers",
        "precision": min(max(e.precision for e in found) + more_bits, MOST_PRECISION),
        "ratio": expression_text(ratio),
        "shares": [fraction_text(fmpq_of(x)) for x in shares],
        "cells": [plan_data(e, n, 2 if more_bits else 1) for e in cells],
        "low": {"evaluator": low.evaluator, "plan": plan_data(low, n)},
    }


def _law(reduction: Reduction, at: At) -> dict[str, Any]:
    decomposition = reduction.decomposition
    if decomposition.enclosing_laws is not None:
        told = "a mechanism whose components are listed: fewer parts, equal ones, or no noise among them"
        raise ArgumentError("certificate", "components that were merged in balls", told)
    return {
        "components": [_component(c, at) for c in decomposition.components],
        "singular": [[expression_text(a), expression_text(b)] for a, b in decomposition.singular],
    }


def _component(c: Component, at: At) -> list[str]:
    """Return the texts of a component; r0 as exp(eps)*(r1) where the two are proved equal, but not as texts."""
    texts = [expression_text(e) for e in c]
    if at.level is None or (c.ratio0.is_Rational and c.ratio1.is_Rational and at.level.rational is not None):
        return texts
    with at_precision(1024):
        value = number(c.ratio0)() - at.level.exponential() * number(c.ratio1)()
    if value.contains(0) and not (texts[0] == texts[1] and at.level.rational == 1):
        try:
            if is_zero(c.ratio0 - sp.exp(at.eps) * c.ratio1):
                texts[0] = f"exp({at.text})*({texts[1]})"
        except UndecidedOrderError:
            pass  # then the ball around the difference has to do
    return texts


def plan_data(found: Evidence, n: int, split: int = 1) -> dict[str, Any] | None:
    """Return what the verifier needs besides the laws to repeat an evaluation; ArgumentError where it cannot."""
    if found.evaluator == LATTICE:
        raise ArgumentError("certificate", "sums on a lattice", "an answer by binomial tails or the kernel")
    if isinstance(found.details, CountsEvidence):
        return _counts_plan(found.details)
    if found.details is not None:
        return _all_data_sets_plan(found.details, split)
    if isinstance(found.plan, TailPlan):
        windows = found.plan.windows(n, _WIDER)
        return {"theta": exact_double(found.plan.theta), "windows": [list(w) for w in windows]}
    if found.plan is None:
        return None
    return kernel_plan(found.plan)


def kernel_plan(plan: Plan) -> dict[str, Any]:
    """Return the parameters of the compact kernel as data."""
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


def _counts_plan(found: CountsEvidence) -> dict[str, Any]:
    """Return the boxes that cover all data sets of two-message reports, or the counts of one."""
    if found.counts is not None:
        return {"counts": [c for c in found.counts if c] or [0], "sum": _sum_plan(found.boxes[0].plan)}
    boxes = [{"from": b.first, "to": b.last, "spread": b.spread, "sum": _sum_plan(b.plan)} for b in found.boxes]
    return {"boxes": boxes}


def _sum_plan(plan: CountPlan) -> dict[str, Any]:
    tilts = {key: exact_double(getattr(plan, key)) for key in ("theta", "nearer", "further")}
    return {"k": plan.k, **tilts, "period": plan.period, "last": plan.last}


def _all_data_sets_plan(found: AllDataSetsEvidence, split: int) -> dict[str, Any]:
    """Return the parameters, each cell in so many: the verifier's bounds are its own, and must not be looser."""
    terms = []
    for term, cells in zip(found.parameters.terms, found.cells, strict=True):
        numbers = {key: exact_double(getattr(term, key)) for key in ("a", "lam", "s", "sigma")}
        ends = [lo + (hi - lo) * k / split for lo, hi in pairwise(cells.ends) for k in range(split)] + [cells.ends[-1]]
        middles = [(2 * k + 1 - split) / (2 * split) for k in range(split)]
        widths = [hi - lo for lo, hi in pairwise(cells.ends)]
        every = zip(cells.scales, cells.slopes, widths, strict=True)
        scales = [exact_double(_short(c * exp(slope * w * k))) for c, slope, w in every for k in middles]
        if any(cells.slopes):
            scales += [exact_double(_short(x)) for x in cells.slopes for _ in range(split)]
        numbers["tail"] = exact_double(_short(cells.tail_scale))
        terms.append({**numbers, "ends": [exact_double(x) for x in ends], "scales": scales})
    p = found.parameters
    return {"p_lo": exact_double(p.p_lo), "a": exact_double(p.tilt_a), "b": exact_double(p.tilt_b), "terms": terms}


def _short(x: float) -> float:
    """Return a double rounded to 24 bits: the best c is a minimum, where such an error costs nothing."""
    mantissa, exponent = frexp(x)
    return ldexp(round(mantissa * 2**24), exponent - 24)
