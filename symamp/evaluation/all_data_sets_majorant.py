"""A sum of exponentials proved to be at least 1/p^2 on a half-line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import inf

import flint
from flint import arb

from symamp.evaluation.all_data_sets_plan import Parameters, Term
from symamp.evaluation.law import total

_LEAST, _MOST = 1.002, 2.0
_MOST_CELLS = 5_000
_ROUNDING = 1e-12
_ROUNDS, _MORE = 6, 2e-6  # the cells of the next round are others, where a little more may be asked for


def raised_to_majorant(parameters: Parameters) -> Parameters | None:
    """Return the parameters with every a_i raised by one factor such that q >= 1/p^2 is proved; None without success.

    Guarantee
    ---------
    For the returned weights q(p) = sum a_i e^(-lam_i p) >= 1/p^2 for all p >= p_lo.
    Proof: docs/proofs/all_data_sets.md.
    """
    bare = tuple(replace(t, s=0.0, sigma=0.0) for t in parameters.terms)
    raised = _raised(bare, parameters.p_lo, flint.ctx.prec)
    if raised is None:
        return None
    return replace(parameters, terms=tuple(replace(t, a=a) for t, a in zip(parameters.terms, raised, strict=True)))


@lru_cache(maxsize=64)
def _raised(terms: tuple[Term, ...], p_lo: float, _precision: int) -> tuple[float, ...] | None:
    """Return the raised weights; remembered, because levels near to each other share p_lo and all (a_i, lam_i)."""
    for _ in range(_ROUNDS):
        factor = missing_factor(terms, p_lo)
        if factor <= 1.0:
            return tuple(t.a for t in terms)
        if factor == inf:
            return None
        terms = tuple(replace(t, a=t.a * factor * (1.0 + _MORE)) for t in terms)
    return None


def missing_factor(terms: Sequence[Term], p_lo: float) -> float:
    """Return a factor, 1 or less if none is needed, by which q must grow for the proof of q >= 1/p^2; inf for failure.

    q is convex, so above its tangent at the middle of a cell; 1/p^2 is convex, so below its chord there: two affine
    functions, compared at both ends of the cell. From 1/sqrt(a) on, a the constant term, nothing remains to prove.
    Cells are as long as the proof goes through; only in the shortest a factor is asked for.
    """
    constant = total([arb(t.a) for t in terms if t.lam == 0.0])
    if not constant > 0:
        return inf
    left, ratio, worst = arb(p_lo), 1.016, 0.0
    rates = [(arb(t.a), arb(t.lam)) for t in terms]
    for _ in range(_MOST_CELLS):
        if left * left * constant >= 1:
            return worst
        right = arb((left * ratio).mid())
        middle, half = (left + right) / 2, (right - left) / 2
        parts = [(a * (-lam * middle).exp(), lam) for a, lam in rates]
        value, slope = total([q for q, _ in parts]), total([q * lam for q, lam in parts])
        proved = [left * left * (value + slope * half), right * right * (value - slope * half)]
        if not all(x >= 1 for x in proved):
            if ratio > _LEAST:
                ratio = max(1.0 + (ratio - 1.0) / 2.0, _LEAST)
                continue
            if not all(x > 0 for x in proved):
                return inf
            worst = max(worst, *(float((1 / x).upper()) * (1.0 + _ROUNDING) for x in proved))
        left, ratio = right, min(2.0 * ratio - 1.0, _MOST)
    return inf
