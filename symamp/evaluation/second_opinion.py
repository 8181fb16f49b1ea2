"""The same sums in mpmath, at any number of digits: an estimate, and a second opinion on the balls."""

from __future__ import annotations

import mpmath
from flint import arb

from symamp.evaluation.choice import ENUMERATE_FOR_DIGITS, KERNEL_GAP, Settings
from symamp.evaluation.divergence import positive_part
from symamp.evaluation.enumeration import count_outcomes, positive_expectation
from symamp.evaluation.fast import float_sum
from symamp.evaluation.gparv import BallGparv, ball_gparv, float_gparv
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.law import Law, Level
from symamp.evaluation.plan import Plan
from symamp.numbers.dyadic import exact_mpf
from symamp.numbers.number_system import MPMATH
from symamp.numbers.surroundings import at_precision, mpmath_at

_GUARD_DIGITS = 20


def mpmath_divergence(law: Law, level: Level, n: int, digits: int) -> mpmath.mpf:
    """Return D_E(P0 || P1) to about ``digits`` digits (fewer where only a kernel applies), by mpmath.

    An estimate: rounding is to nearest. The middle of the two kernel sums is returned, or the enumeration.
    """
    rough = float_gparv(law, level)
    bits = int(3.33 * (digits + _GUARD_DIGITS)) + 2 * n.bit_length()
    with at_precision(bits), mpmath_at(bits):
        g = ball_gparv(law, level)
        singular = as_mpf(g.singular)
        if not rough.is_positive or n == 1:
            return as_mpf(positive_part(g)) + singular if n == 1 else singular
        most = Settings.of_digits(digits).most_outcomes
        if count_outcomes(rough, n, most) <= min(most, ENUMERATE_FOR_DIGITS):
            law_mp = [(as_mpf(v), as_mpf(p)) for v, p in zip(g.values, g.masses, strict=True)]
            return positive_expectation([*law_mp, (mpmath.mpf(0), as_mpf(g.null_mass))], n, MPMATH) / n + singular
        plan = float_sum(rough, n, max(10.0**-digits, KERNEL_GAP), Settings().most_frequencies).plan
        low, high = _kernel_sums(g, n, plan)
        return (low + high) / (2 * n) + singular


def as_mpf(x: arb) -> mpmath.mpf:
    """Return the middle of a ball as an mpmath number, exactly."""
    mantissa, exponent = x.mid().man_exp()
    return exact_mpf(int(mantissa), int(exponent))


def _kernel_sums(g: BallGparv, n: int, plan: Plan) -> tuple[mpmath.mpf, mpmath.mpf]:
    mp = mpmath.mp
    values, masses = [as_mpf(v) for v in g.values], [as_mpf(p) for p in g.masses]
    null = as_mpf(g.null_mass)
    theta, w = mp.mpf(plan.window.theta), mp.mpf(plan.window.length)
    m = null + mp.fsum(p * mp.exp(theta * v) for v, p in zip(values, masses, strict=True))
    tilted = [p * mp.exp(theta * v) / m for v, p in zip(values, masses, strict=True)]
    null_n = (null / m) ** n

    def power(u: mpmath.mpf) -> mpmath.mpc:
        return (null / m + mp.fsum(p * mp.expj(u * v) for v, p in zip(values, tilted, strict=True))) ** n - null_n

    kernel = Kernel(MPMATH, theta, w, plan.terms)
    factors = ((j, power(kernel.step * j)) for a, b in plan.blocks.evaluated for j in range(a, b + 1))
    below, above = kernel.sums(factors, 1 - null_n)
    scale = m**n * 2 / w
    return scale * below, scale * above
