"""The two-sided sum in balls: no search, every number enclosed."""

from __future__ import annotations

from flint import arb

from symamp.evaluation.coarse_phi import coarse_error
from symamp.evaluation.evaluator import Case, Evaluator
from symamp.evaluation.fast import float_sum
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.kernel import Kernel, TwoSided
from symamp.evaluation.plan import Plan
from symamp.evaluation.tilted_balls import RoughlyTilted, Tilted, TiltedBalls, tilted_numbers
from symamp.numbers.number_system import FLINT

_GAP, _MOST_FREQUENCIES = 1e-6, 20_000
_MANY, _SHARE = 100, 0.01


def suits_doubles(plan: Plan, values: int, n: int, gap: float) -> bool:
    """Return whether there are so many frequencies that doubles save time, and n errors in phi are below the gap."""
    return plan.blocks.evaluations > _MANY and n * coarse_error(values, plan.terms) < _SHARE * gap


def certified_sum(g: BallGparv, n: int, plan: Plan, *, roughly: bool = False) -> tuple[arb, arb]:
    """Return balls (lower, upper) such that lower <= E[S_+] <= upper for S the sum of n copies of G.

    ``roughly`` says that the sum is taken in doubles, with balls around it that hold whatever n is.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for *every* plan with
    0 < theta'' < theta < theta', W > 0, N >= 1 and blocks that cover the frequencies j h, 0 < j < N.
    Proof: docs/proofs/kernel_sandwich.md, and docs/proofs/disks.md for doubles.
    """
    kind = RoughlyTilted if roughly else TiltedBalls
    return tilted_sum(kind(g, n, *tilted_numbers(g, n, arb(plan.window.theta), arb(0))), plan)


def tilted_sum(tilted: Tilted, plan: Plan, function: type[TwoSided] = Kernel) -> tuple[arb, arb]:
    """Return what ``certified_sum`` does for a law that is known by its tilted transform, and for E[f(S)].

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for every plan, whatever law it is
    whose transform, deviation and aliasing are contained. Proof: docs/proofs/kernel_sandwich.md.
    """
    theta, w = tilted.theta, arb(plan.window.length)
    kernel = function(FLINT, theta, w, plan.terms)
    below, above = tilted.sums(kernel, plan.blocks.evaluated)
    excesses = [abs(x - kernel.modulus(arb(0))) for x in kernel.at_zero()]
    dropped = plan.blocks.dropped
    for (first, last), bound in zip(dropped, tilted.decays(kernel.step, dropped), strict=True):
        size = (last - first + 1) * (bound + tilted.null_n)
        modulus = kernel.modulus(kernel.step * first)
        below, above = below - size * (modulus + excesses[0]), above + size * (modulus + excesses[1])
    upper = tilted.scale * 2 / w * above
    lower = tilted.scale * (2 / w * below - tilted.aliasing(plan.window, kernel))
    return lower.max(arb(0)), upper.max(arb(0))


def _enclosed(case: Case) -> tuple[arb, arb] | None:
    if not case.rough.is_positive:
        return None
    plan = float_sum(case.rough, case.n, _GAP, _MOST_FREQUENCIES).plan
    return case.of_sum(*certified_sum(case.balls, case.n, plan))


COMPACT_KERNEL = Evaluator("compact kernel", _enclosed)
