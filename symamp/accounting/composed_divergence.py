"""The divergence of all rounds in balls: no search, every number enclosed."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from symamp.accounting.discrete_pair import DiscretePair
from symamp.accounting.loss_kernel import HockeyStickKernel
from symamp.errors import PrecisionError
from symamp.evaluation.certified import tilted_sum
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.grouped import TiltedGroups
from symamp.evaluation.law import total
from symamp.evaluation.plan import Plan
from symamp.numbers.surroundings import at_precision

Rounds = Sequence[tuple[DiscretePair, int]]
"""Pairs, each with the number of rounds that it stands for."""
_BITS, _MOST_BITS, _TIE_BITS = 128, 4096, 1024
"""Precision starts at the first and doubles up to the second; where the largest sum of losses cannot be told from eps
with the third, what they differ by is left open."""
_NOISE = 1e-6


def enclose_divergence(rounds: Rounds, eps: arb, plan: Plan | None) -> tuple[arb, arb, int]:
    """Return balls (lower, upper) around D_E of the product of all rounds at E = e^eps, and the bits that it took.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose D_E for *every* plan with
    0 <= theta'' < theta < theta', W > 0, N >= 1 and blocks that cover the frequencies j h, 0 < j < N, and without a
    plan (None), where they are close if hardly any finite loss exceeds eps. Proof: docs/proofs/composition.md,
    section 3.

    Raises PrecisionError if rounding still dominates at the largest working precision.
    """
    bits = _BITS
    while bits <= _MOST_BITS:
        with at_precision(bits):
            lower, upper = _enclosed(rounds, eps, plan)
            if bits > _BITS and not (lower.is_finite() and upper.is_finite()):
                return arb(0), arb(1), bits  # more bits do not tell more of what overflows
            top = upper.upper()
            is_tie = plan is None and bits >= _TIE_BITS
            if top == 0 or is_tie or (lower.rad() <= _NOISE * top and upper.rad() <= _NOISE * top):
                return lower, upper, bits
        bits *= 2
    raise PrecisionError("precision", bits, f"at most {_MOST_BITS} bits")


def _enclosed(rounds: Rounds, eps: arb, plan: Plan | None) -> tuple[arb, arb]:
    infinite = _some_infinite(rounds)
    if plan is None:
        lower, upper = _largest_losses(rounds, eps)
        return (lower + infinite).min(arb(1)), (upper + infinite).min(arb(1))
    laws = [(_losses(pair), count) for pair, count in rounds]
    # What is less by eps is a sum, too, of one more value.
    shift = BallGparv((-eps,), (arb(1),), arb(0), arb(0))
    lower, upper = tilted_sum(TiltedGroups.of([*laws, (shift, 1)], plan.window.theta), plan, HockeyStickKernel)
    return (lower + infinite).min(arb(1)), (upper + infinite).min(arb(1))


def _largest_losses(rounds: Rounds, eps: arb) -> tuple[arb, arb]:
    """Return balls below and above the part of finite losses, from the outcome in which every loss is the largest.

    Losses above eps in all are each within (the largest sum - eps) of the largest, and exceed eps by no more.
    """
    if not all(pair.atoms for pair, _ in rounds):
        return arb(0), arb(0)
    losses = [[(arb(e - 1).log1p(), arb(p)) for e, p in pair.atoms] for pair, _ in rounds]
    room = total([count * found[-1][0] for found, (_, count) in zip(losses, rounds, strict=True)]) - eps
    excess = -(-room).expm1().min(arb(0))
    lower = upper = excess
    for found, (_, count) in zip(losses, rounds, strict=True):
        largest, chance = found[-1]
        lower *= chance**count
        upper *= total([p for x, p in found if not x <= largest - room]) ** count
    return lower, upper


def _some_infinite(rounds: Rounds) -> arb:
    """Return the probability that the loss of some round is infinite."""
    masses = [(arb(pair.infinite), count) for pair, count in rounds]
    if any(not mass < 1 for mass, _ in masses):
        return arb(1)
    return -total([count * (-mass).log1p() for mass, count in masses]).expm1()


def _losses(pair: DiscretePair) -> BallGparv:
    """Return the finite losses with their masses, which are not those of a whole law."""
    losses = tuple(arb(e - 1).log1p() for e, _ in pair.atoms)
    return BallGparv(losses, tuple(arb(p) for _, p in pair.atoms), arb(0), arb(0))
