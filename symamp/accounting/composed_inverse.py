"""eps from delta for many rounds, certified: floats find a guess, one evaluation in balls proves it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter

from flint import arb, fmpq

from symamp.accounting.composed_divergence import enclose_divergence
from symamp.accounting.discrete_pair import DiscretePair
from symamp.accounting.float_divergence import FloatDivergence, estimate_divergence
from symamp.accounting.float_product import FloatProduct
from symamp.analyses.pair_of_inputs import falling_root
from symamp.evaluation.inversion import log_of
from symamp.evaluation.plan import Plan
from symamp.numbers.surroundings import at_precision

Rounds = Sequence[tuple[DiscretePair, int]]
Found = tuple[float, Plan | None, int]
"""A certified eps with the plan of the evaluation that proves it, and its precision."""
_STEPS, _RELATIVE, _TOLERANCE = 30, 1e-8, 0.05
_FAR = 1e6


def epsilon_above(rounds: Rounds, delta: fmpq, start: float, gap: float) -> Found:
    """Return an eps at which the divergence of all rounds together is proved to be at most delta; inf if none is.

    Guarantee
    ---------
    D_E <= delta at the returned eps, and at all larger ones. Proof: docs/proofs/composition.md, section 3.
    """
    return _certified(rounds, delta, start, gap, up=True)


def epsilon_below(rounds: Rounds, delta: fmpq, start: float, gap: float) -> Found:
    """Return an eps at which the divergence of all rounds together is proved to be above delta; 0 if none is.

    inf if it is proved to be above delta at all of them.

    Guarantee
    ---------
    D_E > delta at the returned eps > 0, and at all smaller ones. Proof: docs/proofs/composition.md, section 3.
    """
    return _certified(rounds, delta, start, gap, up=False)


def _certified(rounds: Rounds, delta: fmpq, start: float, gap: float, up: bool) -> Found:
    product, log_delta = FloatProduct.of(rounds), log_of(delta)
    if up and product.log_infinite >= log_delta:
        return inf, None, 0
    if not up and product.log_infinite >= log_delta:
        bits = _proved(rounds, 0.0, None, delta, up)
        if bits is not None:
            return inf, None, bits

    def ends(eps: float) -> tuple[float, FloatDivergence]:
        found = estimate_divergence(product, eps, gap)
        return (found.log_upper if up else found.log_lower) - log_delta, found

    at_zero, found = ends(0.0)
    if at_zero <= 0.0:
        bits = _proved(rounds, 0.0, found.plan, delta, up) if up else 0
        if bits is not None:
            return 0.0, found.plan if up else None, bits
    largest = product.largest
    if largest <= 0.0:
        return (inf if up else 0.0), None, 0
    start = min(max(start, 1e-3 * largest / (1.0 + sum(count for _, count in rounds))), 0.9 * largest)
    first = estimate_divergence(product, start, gap)
    slope = first.plan.window.theta if first.plan is not None else 1.0 / largest
    tolerance = _TOLERANCE * gap
    root = 0.0
    if at_zero > 0.0:
        root = falling_root(lambda e: max(ends(e)[0], -_FAR), start, slope, largest, tolerance, furthest=inf)
    shift = 0.0
    for _ in range(_STEPS):
        eps = nextafter(root + shift, inf) if up else nextafter(root - shift, -inf)
        if eps <= 0.0:
            return 0.0, None, 0
        miss, found = ends(eps)
        if found.plan is not None:
            slope = found.plan.window.theta
        if miss < 0.0 if up else miss > 0.0:
            bits = _proved(rounds, eps, found.plan, delta, up)
            if bits is not None:
                return eps, found.plan, bits
        step = min(abs(miss), 50.0) + tolerance
        shift = max(2.0 * shift, shift + step / slope, _RELATIVE * root)
    return (inf if up else 0.0), None, 0


def _proved(rounds: Rounds, eps: float, plan: Plan | None, delta: fmpq, up: bool) -> int | None:
    """Return the precision at which balls prove the claim at eps, None if they do not."""
    lower, upper, bits = enclose_divergence(rounds, arb(eps), plan)
    with at_precision(bits):
        proved = upper <= arb(delta) if up else lower > arb(delta)
    return bits if proved else None
