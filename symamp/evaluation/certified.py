"""The two-sided sum in balls: no search, every number enclosed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flint import acb, arb

from symamp.evaluation.blocks import NEGLIGIBLE
from symamp.evaluation.evaluator import Case, Evaluator
from symamp.evaluation.fast import float_sum
from symamp.evaluation.flat_cells import Loss
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.plan import Plan, Window
from symamp.evaluation.tilted_balls import TiltedBalls
from symamp.numbers.number_system import FLINT

_GAP, _MOST_FREQUENCIES = 1e-6, 20_000

_NEGLIGIBLE = 10.0 * NEGLIGIBLE
"""Somewhat larger than what the floats of the plan take for negligible."""


class Tilted(Protocol):
    """What the sum asks of one G under a tilt: M(theta), phi, a bound on the deviation, and the null outcome."""

    @property
    def n(self) -> int:
        """The number of users."""

    @property
    def theta(self) -> arb:
        """The tilt."""

    @property
    def m(self) -> arb:
        """M(theta)."""

    @property
    def null_n(self) -> arb:
        """The tilted probability that all n draws are null."""

    def phi(self, u: arb) -> acb:
        """Return the characteristic function of one tilted G."""

    def power(self, u: arb) -> acb:
        """Return phi(u)^n - null_n."""

    def moduli(self, step: arb, indices: Sequence[int]) -> list[arb]:
        """Return |phi(j step)|, or more, for each index j."""

    def deviation(self) -> arb:
        """Return the standard deviation of one tilted G, or more."""

    def loss(self) -> Loss:
        """Return what is known of |phi| at all high frequencies."""

    def aliasing(self, window: Window) -> arb:
        """Return a bound on the periodised tails in units of M(theta)^n."""


def certified_sum(g: BallGparv, n: int, plan: Plan) -> tuple[arb, arb]:
    """Return balls (lower, upper) such that lower <= E[S_+] <= upper for S the sum of n copies of G.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for *every* plan with
    0 < theta'' < theta < theta', W > 0, N >= 1 and blocks that cover the frequencies j h, 0 < j < N.
    Proof: docs/proofs/kernel_sandwich.md.
    """
    return tilted_sum(TiltedBalls.of(g, n, plan.window.theta), plan)


def tilted_sum(tilted: Tilted, plan: Plan) -> tuple[arb, arb]:
    """Return what ``certified_sum`` does for a law that is known by its tilted transform.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for every plan, whatever law it is
    whose transform, deviation and aliasing are contained. Proof: docs/proofs/kernel_sandwich.md.
    """
    theta, w = tilted.theta, arb(plan.window.length)
    kernel = Kernel(FLINT, theta, w, plan.terms)
    indices = (j for first, last in plan.blocks.evaluated for j in range(first, last + 1))
    below, above = kernel.sums(indices, tilted.power, 1 - tilted.null_n)
    square = theta**-2
    dropped_above, dropped_below = _dropped(
        tilted, plan, kernel.step, abs(kernel.majorant_at_zero() - square), abs(kernel.minorant_at_zero() - square)
    )
    scale = tilted.m**tilted.n
    upper = scale * 2 / w * (above + dropped_above)
    lower = scale * (2 / w * (below - dropped_below) - tilted.aliasing(plan.window))
    return lower.max(arb(0)), upper.max(arb(0))


def _dropped(tilted: Tilted, plan: Plan, step: arb, excess_above: arb, excess_below: arb) -> tuple[arb, arb]:
    """Return bounds on the dropped part of sum |B (phi^n - null^n)| for the majorant and the minorant."""
    deviation, zero = tilted.deviation(), arb(0)
    above = below = zero
    loss = tilted.loss()
    powers = [(1 - loss.beyond(step * first)).max(zero) ** tilted.n for first, _ in plan.blocks.dropped]
    near = [i for i, power in enumerate(powers) if not power < _NEGLIGIBLE]
    middles = [sum(plan.blocks.dropped[i]) for i in near]
    for i, modulus in zip(near, tilted.moduli(step / 2, middles), strict=True):
        first, last = plan.blocks.dropped[i]
        distance = (1 - modulus * modulus).max(zero).sqrt() - deviation * step * (last - first) / 2
        distance = distance.max(zero).min(arb(1))
        powers[i] = (1 - distance * distance).max(zero).sqrt() ** tilted.n
    for (first, last), power in zip(plan.blocks.dropped, powers, strict=True):
        beta = power + tilted.null_n
        modulus = 1 / (tilted.theta**2 + (step * first) ** 2)
        above += (last - first + 1) * beta * (modulus + excess_above)
        below += (last - first + 1) * beta * (modulus + excess_below)
    return above, below


def _enclosed(case: Case) -> tuple[arb, arb] | None:
    if not case.rough.is_positive:
        return None
    plan = float_sum(case.rough, case.n, _GAP, _MOST_FREQUENCIES).plan
    return case.of_sum(*certified_sum(case.balls, case.n, plan))


COMPACT_KERNEL = Evaluator("compact kernel", _enclosed)
