"""Methods that check each other: by name, each on any question; the Gaussian sandwich, and the same sums in mpmath."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, log, pi, sqrt
from types import MappingProxyType

import mpmath
from flint import acb, arb

from symamp.laws.law import BallGparv, FloatGparv, Law, Level, ball_gparv, float_gparv
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.surroundings import at_precision, mpmath_at
from symamp.numbers.systems import FLINT, MPMATH
from symamp.sums.divergence import ENUMERATE_FOR_DIGITS, KERNEL_GAP, Settings, positive_part
from symamp.sums.enumeration import count_outcomes, enumerated_sum, exact_divergence, positive_expectation
from symamp.sums.kernels.balls import TiltedBalls, certified_sum
from symamp.sums.kernels.floats import float_sum
from symamp.sums.kernels.kernel import Kernel
from symamp.sums.kernels.tilted import Plan, Window

# ------------------------------------ The Gaussian sandwich: a second method, with other kernels, that checks the first

_GAP, _MOST_FREQUENCIES = 1e-5, 20_000
_MOST_TERMS, _POWER = 2e6, 20
"""So many terms take some seconds, a power being worth so many."""
_TAIL = 1e-12
_REACH = sqrt(2.0 * log(1.0 / _TAIL)) / (2.0 * pi)


def gaussian_sum(g: BallGparv, n: int, window: Window, width: float) -> tuple[arb, arb]:
    """Return balls (lower, upper) such that lower <= E[S_+] <= upper for S the sum of n copies of G.

    ``width`` is the standard deviation tau of the smoothing; frequencies are summed until the Gaussian factor is
    negligible. Every frequency is evaluated: slower than the compact kernel by one to three orders.

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
    last = ceil(_REACH * window.length / width)
    for j in range(1, last + 1):
        u = step * j
        s = acb(theta, u)
        term = (s * s * tau2 / 2).exp() * tilted.power(tilted.phi(u))
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


# ------------------------------------------------------------- The methods by name: what ``sa.method_check`` compares

_GAP_OF_KERNEL, _MOST_OUTCOMES, _MOST_USERS_EXACT = 1e-6, 30_000, 12
"""What the compact kernel aims at, outcomes that are enumerated, users of whom a sum is exact: some seconds each."""

Ends = tuple[arb, arb]


@dataclass(frozen=True)
class Case:
    """A law at a level and a number of users, with its G in doubles and, at the ambient precision, in balls."""

    law: Law
    level: Level
    n: int
    rough: FloatGparv
    balls: BallGparv

    def of_sum(self, low: arb, high: arb) -> Ends:
        """Return the ends of the divergence from those of E[S_+]."""
        return low / self.n + self.balls.singular, high / self.n + self.balls.singular


def _compact(case: Case) -> Ends | None:
    if not case.rough.is_positive:
        return None
    plan = float_sum(case.rough, case.n, _GAP_OF_KERNEL, _MOST_FREQUENCIES).plan
    return case.of_sum(*certified_sum(case.balls, case.n, plan))


def _gaussian(case: Case) -> Ends | None:
    if not case.rough.is_positive:
        return None
    plan = float_sum(case.rough, case.n, _GAP, _MOST_FREQUENCIES).plan
    # Every width is valid: a wider one needs fewer frequencies, each of which takes as long as the law has values.
    most = _MOST_TERMS / (len(case.balls.values) + _POWER)
    width = plan.window.length * max(1.0 / plan.terms / 8**0.5, _REACH / most)
    return case.of_sum(*gaussian_sum(case.balls, case.n, plan.window, width))


def _enumerated(case: Case) -> Ends | None:
    if not case.rough.is_positive or count_outcomes(case.rough, case.n, _MOST_OUTCOMES) > _MOST_OUTCOMES:
        return None
    value = enumerated_sum(case.balls, case.n)
    return case.of_sum(value, value)


def _exact(case: Case) -> Ends | None:
    if case.law.rational is None or case.level.rational is None or case.n > _MOST_USERS_EXACT:
        return None
    value = arb(exact_divergence(case.law.rational, case.level.rational, case.n))
    return value, value


METHODS: Mapping[str, Callable[[Case], Ends | None]] = MappingProxyType(
    {"compact kernel": _compact, "enumeration": _enumerated, "exact": _exact, "gaussian kernel": _gaussian}
)
"""A lower and an upper end of the divergence in balls, by each method; None for cases it is not made for."""


# --------------------- The same sums in mpmath, at any number of digits: an estimate, and a second opinion on the balls

_GUARD_DIGITS = 20


def _mpf(x: arb) -> mpmath.mpf:
    return Dyadic.of(x).as_mpf()


def mpmath_divergence(law: Law, level: Level, n: int, digits: int) -> mpmath.mpf:
    """Return D_E(P0 || P1) to about ``digits`` digits (fewer where only a kernel applies), by mpmath.

    An estimate: rounding is to nearest. The middle of the two kernel sums is returned, or the enumeration.
    """
    rough = float_gparv(law, level)
    bits = int(3.33 * (digits + _GUARD_DIGITS)) + 2 * n.bit_length()
    with at_precision(bits), mpmath_at(bits):
        g = ball_gparv(law, level)
        singular = _mpf(g.singular)
        if not rough.is_positive or n == 1:
            return _mpf(positive_part(g)) + singular if n == 1 else singular
        most = Settings.of_digits(digits).most_outcomes
        if count_outcomes(rough, n, most) <= min(most, ENUMERATE_FOR_DIGITS):
            law_mp = [(_mpf(v), _mpf(p)) for v, p in zip(g.values, g.masses, strict=True)]
            return positive_expectation([*law_mp, (mpmath.mpf(0), _mpf(g.null_mass))], n, MPMATH) / n + singular
        plan = float_sum(rough, n, max(10.0**-digits, KERNEL_GAP), Settings().most_frequencies).plan
        low, high = _kernel_sums(g, n, plan)
        return (low + high) / (2 * n) + singular


def _kernel_sums(g: BallGparv, n: int, plan: Plan) -> tuple[mpmath.mpf, mpmath.mpf]:
    mp = mpmath.mp
    values, masses = [_mpf(v) for v in g.values], [_mpf(p) for p in g.masses]
    null = _mpf(g.null_mass)
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
