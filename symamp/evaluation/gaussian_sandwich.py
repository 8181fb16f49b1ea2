"""The Gaussian sandwich: a second method, with other kernels, that checks the first."""

from __future__ import annotations

from math import ceil, log, pi, sqrt

from flint import acb, arb

from symamp.evaluation.evaluator import Case, Evaluator
from symamp.evaluation.fast import float_sum
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.plan import Window
from symamp.evaluation.tilted_balls import TiltedBalls
from symamp.numbers.number_system import FLINT

_GAP, _MOST_FREQUENCIES = 1e-5, 20_000
_MOST_TERMS, _POWER = 2e6, 20
"""So many terms take some seconds, a power being worth so many."""
_TAIL = 1e-12
_REACH = sqrt(2.0 * log(1.0 / _TAIL)) / (2.0 * pi)


def gaussian_sum(g: BallGparv, n: int, window: Window, width: float, tail: float = _TAIL) -> tuple[arb, arb]:
    """Return balls (lower, upper) such that lower <= E[S_+] <= upper for S the sum of n copies of G.

    ``width`` is the standard deviation tau of the smoothing; frequencies are summed until the Gaussian factor is
    below ``tail``. Every frequency is evaluated: slower than the compact kernel by one to three orders.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for every window and width.
    Proof: docs/proofs/gaussian_sandwich.md.
    """
    tilted = TiltedBalls.of(g, n, window.theta)
    theta, w, tau2 = tilted.theta, arb(window.length), arb(width) ** 2
    step = 2 * arb.pi() / w
    at_zero = (tau2 * theta * theta / 2).exp() * (1 - tilted.null_n) / 2
    above, below = at_zero / theta**2, at_zero * (1 / theta**2 - tau2)
    last = ceil(sqrt(2.0 * log(1.0 / tail)) * window.length / (2.0 * pi * width))
    for j in range(1, last + 1):
        u = step * j
        s = acb(theta, u)
        term = (s * s * tau2 / 2).exp() * tilted.power(u)
        inverse = 1 / (s * s)
        above += (inverse * term).real
        below += ((inverse - tau2) * term).real
    left_out = step * (last + 1)
    factor = (1 - tilted.null_n) * (tau2 * (theta * theta - left_out * left_out) / 2).exp()
    rest = factor / (1 - (-tau2 * left_out * step).exp())
    modulus = 1 / (theta * theta + left_out * left_out)
    scale = tilted.m**n
    upper = scale * 2 / w * (above + rest * modulus)
    lower = scale * (2 / w * (below - rest * (modulus + tau2)) - tilted.aliasing(window, Kernel(FLINT, theta, w, 1)))
    return lower.max(arb(0)), upper.max(arb(0))


def _enclosed(case: Case) -> tuple[arb, arb] | None:
    if not case.rough.is_positive:
        return None
    plan = float_sum(case.rough, case.n, _GAP, _MOST_FREQUENCIES).plan
    # Every width is valid: a wider one needs fewer frequencies, each of which takes as long as the law has values.
    most = _MOST_TERMS / (len(case.balls.values) + _POWER)
    width = plan.window.length * max(1.0 / plan.terms / 8**0.5, _REACH / most)
    return case.of_sum(*gaussian_sum(case.balls, case.n, plan.window, width))


GAUSSIAN_KERNEL = Evaluator("gaussian kernel", _enclosed)
