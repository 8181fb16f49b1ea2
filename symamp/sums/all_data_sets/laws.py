"""The laws of the bound over all data sets: few that cover all, and a majorant of 1/p^2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import inf

import flint
import numpy as np
from flint import arb

from symamp.errors import ArgumentError, Problem
from symamp.laws.law import BallGparv, Law, Level, ball_gparv, total
from symamp.numbers.surroundings import at_precision
from symamp.sums.all_data_sets.floats import FloatClasses, Parameters, Term, saddles
from symamp.sums.all_data_sets.merged_classes import are_few, merged_classes
from symamp.sums.divergence import positive_part

# --------- The laws of the bound over all data sets in balls: few that cover all, and the number E[G_+] that they share


def prepared_laws(
    laws: Sequence[Law], level: Level, n: int, bits: int, mixed: bool, merges: bool = True
) -> tuple[list[BallGparv], list[arb], float]:
    """Return few laws that cover all, G+, one number unless they are mixed, and how far merging raised a transform.

    The singular part, if any, is in G+ only.
    """
    if not laws:
        raise ArgumentError("laws", Problem("the list is empty"), "give the law of at least one input")
    if not all(law.complete for law in laws):
        raise ArgumentError(
            "laws", Problem("the masses of a law sum to less than 1"), "give laws of messages under inputs"
        )
    with at_precision(bits):
        balls = [ball_gparv(law, level) for law in laws]
        if mixed:
            few = _merged(balls)
            return few, [positive_part(g) + g.singular for g in few], 0.0
        gains = [positive_part(g) + g.singular for g in balls]
        if not all(gain.overlaps(gains[0]) for gain in gains):
            raise ArgumentError("laws", Problem("their E[G_+] differ"), "give laws for one pair of inputs")
        few, loss = _few(_merged(balls), level, n) if merges else (balls, 0.0)
        return few, [min(gains, key=lambda x: float(x.rad()))], loss


def _few(laws: list[BallGparv], level: Level, n: int) -> tuple[list[BallGparv], float]:
    """Return the laws, or fewer that cover them where one for each input would take long, and the loss."""
    if n < 2 or are_few(laws) or not has_bound(laws):
        return laws, 0.0
    mean = -float(level.exponential_minus_one())
    with np.errstate(all="ignore"):
        _, _, v = saddles(FloatClasses.of(laws, mean), n)[0]
        return merged_classes(laws, mean, n, v)


def _merged(laws: Sequence[BallGparv]) -> list[BallGparv]:
    """Return the laws without repetitions: laws whose balls overlap become one, of the unions of the balls."""
    result: list[BallGparv] = []
    for g in laws:
        order = sorted(range(len(g.values)), key=lambda k: (float(g.values[k]), float(g.masses[k])))
        law = BallGparv(tuple(g.values[k] for k in order), tuple(g.masses[k] for k in order), g.null_mass, g.singular)
        for i, other in enumerate(result):
            pairs = zip(_numbers(law), _numbers(other), strict=False)
            if len(law.values) == len(other.values) and all(a.overlaps(b) for a, b in pairs):
                both = [a.union(b) for a, b in zip(_numbers(law), _numbers(other), strict=True)]
                k = len(law.values)
                result[i] = BallGparv(tuple(both[:k]), tuple(both[k : 2 * k]), both[-2], both[-1])
                break
        else:
            result.append(law)
    return result


def _numbers(g: BallGparv) -> tuple[arb, ...]:
    return (*g.values, *g.masses, g.null_mass, g.singular)


def has_bound(laws: Sequence[BallGparv]) -> bool:
    """Whether the theorem applies: no message names its sender, and all values have a sign."""
    if any(not g.singular.is_zero() for g in laws) or any(v.contains(0) for g in laws for v in g.values):
        return False
    return all(any(v > 0 for v in g.values) for g in laws)


# ----------------------------------------------------- A sum of exponentials proved to be at least 1/p^2 on a half-line

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
