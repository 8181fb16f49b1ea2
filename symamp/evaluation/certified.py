"""The two-sided sum in balls: no search, every number enclosed."""

from __future__ import annotations

from flint import arb

from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.plan import Plan
from symamp.evaluation.tilted_balls import TiltedBalls
from symamp.numbers.number_system import FLINT


def certified_sum(g: BallGparv, n: int, plan: Plan) -> tuple[arb, arb]:
    """Return balls (lower, upper) such that lower <= E[S_+] <= upper for S the sum of n copies of G.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for *every* plan with
    0 < theta'' < theta < theta', W > 0, N >= 1 and blocks that cover the frequencies j h, 0 < j < N.
    Proof: docs/proofs/kernel_sandwich.md.
    """
    tilted = TiltedBalls.of(g, n, plan.window.theta)
    theta, w = tilted.theta, arb(plan.window.length)
    kernel = Kernel(FLINT, theta, w, plan.terms)
    indices = (j for first, last in plan.blocks.evaluated for j in range(first, last + 1))
    below, above = kernel.sums(indices, tilted.power, 1 - tilted.null_n)
    square = theta**-2
    dropped_above, dropped_below = _dropped(
        tilted, plan, kernel.step, abs(kernel.majorant_at_zero() - square), abs(kernel.minorant_at_zero() - square)
    )
    scale = tilted.m**n
    upper = scale * 2 / w * (above + dropped_above)
    lower = scale * (2 / w * (below - dropped_below) - tilted.aliasing(plan.window))
    return lower.max(arb(0)), upper.max(arb(0))


def _dropped(tilted: TiltedBalls, plan: Plan, step: arb, excess_above: arb, excess_below: arb) -> tuple[arb, arb]:
    """Return bounds on the dropped part of sum |B (phi^n - null^n)| for the majorant and the minorant."""
    deviation, zero = tilted.deviation(), arb(0)
    above = below = zero
    for first, last in plan.blocks.dropped:
        phi = tilted.phi(step * (first + last) / 2)
        modulus2 = phi.real * phi.real + phi.imag * phi.imag
        distance = (1 - modulus2).max(zero).sqrt() - deviation * step * (last - first) / 2
        distance = distance.max(zero).min(arb(1))
        beta = (1 - distance * distance).max(zero).sqrt() ** tilted.n + tilted.null_n
        modulus = 1 / (tilted.theta**2 + (step * first) ** 2)
        above += (last - first + 1) * beta * (modulus + excess_above)
        below += (last - first + 1) * beta * (modulus + excess_below)
    return above, below
