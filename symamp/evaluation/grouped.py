"""E[S_+] for a sum over groups of users whose laws differ: one power of a characteristic function per group.

The kernel sandwich never uses that the summands share one law (docs/proofs/users_who_differ.md, section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, inf

import flint
from flint import acb, arb

from symamp.errors import PrecisionError
from symamp.evaluation.divergence import Enclosure, Settings, positive_part, starting_precision
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.grouped_search import Group, GroupSearch
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.law import total
from symamp.evaluation.plan import Plan
from symamp.evaluation.tilted_balls import TiltedBalls
from symamp.numbers.number_system import FLINT

_ENUMERATE = 2_000
_LARGEST_PRECISION = 4096


def enclose_groups(groups: Sequence[Group], settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of E[S_+], S the sum over all users of all groups, each group with a law of its own.

    Guarantee
    ---------
    ``lower.lower() <= E[S_+] <= upper.upper()``, whatever the plan that floats have found.
    Proof: docs/proofs/users_who_differ.md, section 1.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    n = sum(g.count for g in present)
    bits = starting_precision(max(n, 1), settings.gap)
    with flint.ctx.workprec(bits):
        balls = [g.source() for g in present]
        if not any(v > 0 for b in balls for v in b.values) or _largest(present, balls) <= 0:
            most = total([g.count * positive_part(b) for g, b in zip(present, balls, strict=True)])
            return Enclosure(arb(0), most.min(_largest(present, balls).max(arb(0))), "no positive value", bits)
        if _outcomes(present, balls) <= _ENUMERATE:
            value = _enumerated(present, balls)
            return Enclosure(value, value, "enumeration", bits)
    plan = GroupSearch(present, settings).plan()
    while bits <= _LARGEST_PRECISION:
        with flint.ctx.workprec(bits):
            found = _sum(present, plan, bits)
            noise = max(float(found.lower.rad() / found.upper), float(found.upper.rad() / found.upper))
            if noise < 0.01 * max(settings.gap, found.relative_gap):
                return found
        bits *= 2
    raise PrecisionError("precision", bits, f"at most {_LARGEST_PRECISION} bits")


def estimate_log_groups(groups: Sequence[Group], settings: Settings | None = None) -> float:
    """Return an estimate of log E[S_+] in floats where they suffice; -inf for zero. Not a bound."""
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    with flint.ctx.workprec(128):
        balls = [g.source() for g in present]
        if not _largest(present, balls) > 0:
            return -inf
        if _outcomes(present, balls) <= _ENUMERATE:
            return _log(_enumerated(present, balls))
    try:
        return GroupSearch(present, settings).log_value()
    except PrecisionError:  # out of the range of doubles
        return -inf


def approximate_log_groups(groups: Sequence[Group]) -> float:
    """Return the saddle-point approximation of log E[S_+], cheap and good to a few per cent; -inf for zero."""
    search = GroupSearch([g for g in groups if g.count > 0], Settings())
    value = search.rough() if search.can_be_positive else -inf
    return value if value == value else -inf


def _log(x: arb) -> float:
    return float(x.mid().log()) if x.mid() > 0 else -inf


def _largest(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return the largest value of S."""
    result = arb(0)
    for group, ball in zip(groups, balls, strict=True):
        values = [*ball.values, *([] if ball.null_mass.is_zero() else [arb(0)])]
        top = values[0]
        for v in values[1:]:
            top = top.max(v)
        result += group.count * top
    return result


def _outcomes(groups: Sequence[Group], balls: Sequence[BallGparv]) -> int:
    result = 1
    for group, ball in zip(groups, balls, strict=True):
        result *= comb(group.count + len(ball.values), len(ball.values)) if group.count < _ENUMERATE else _ENUMERATE + 1
        if result > _ENUMERATE:
            break
    return result


def _enumerated(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return a ball around E[S_+]: all outcomes of all groups."""
    sums = [(arb(0), arb(1))]
    for group, ball in zip(groups, balls, strict=True):
        law = [*zip(ball.values, ball.masses, strict=True), (arb(0), ball.null_mass)]
        # Each partial sum carries how many users of the group are still to be placed; the last value takes all.
        placed = [(s, w, group.count) for s, w in sums]
        for i, (value, mass) in enumerate(law):
            placed = [
                (s + k * value, w * comb(left, k) * _power(mass, k), left - k)
                for s, w, left in placed
                for k in ((left,) if i == len(law) - 1 else range(left + 1))
            ]
        sums = [(s, w) for s, w, _ in placed]
    return total([w * s.max(arb(0)) for s, w in sums])


def _power(mass: arb, k: int) -> arb:
    """Return mass^k; the library has no number for the power of a ball around 0."""
    if k and mass.mid() == 0 and not mass.is_zero():
        most = mass.upper() ** k
        return most.union(-most)
    return mass**k


def _sum(groups: Sequence[Group], plan: Plan, bits: int) -> Enclosure:
    """Return the two-sided sum in balls at the ambient precision."""
    window = plan.window
    tilted = [TiltedBalls.of(g.source(), g.count, window.theta) for g in groups]
    theta, w = arb(window.theta), arb(window.length)
    null = _product([t.null_n for t in tilted])

    def power(u: arb) -> acb:
        result = acb(1)
        for t in tilted:
            result *= t.power(u) + t.null_n
        return result - null

    kernel = Kernel(FLINT, theta, w, plan.terms)
    below, above = kernel.sums((j for a, b in plan.blocks.evaluated for j in range(a, b + 1)), power, 1 - null)
    square = theta**-2
    excesses = abs(kernel.minorant_at_zero() - square), abs(kernel.majorant_at_zero() - square)
    deviations = [t.deviation() for t in tilted]
    for first, last in plan.blocks.dropped:
        beta, zero = arb(1), arb(0)
        for t, deviation in zip(tilted, deviations, strict=True):
            phi = t.phi(kernel.step * (first + last) / 2)
            modulus2 = phi.real * phi.real + phi.imag * phi.imag
            distance = (1 - modulus2).max(zero).sqrt() - deviation * kernel.step * (last - first) / 2
            distance = distance.max(zero).min(arb(1))
            beta *= (1 - distance * distance).max(zero).sqrt() ** t.n
        most = 1 / (square**-1 + (kernel.step * first) ** 2)
        size = (last - first + 1) * (beta + null)
        below, above = below - size * (most + excesses[0]), above + size * (most + excesses[1])
    aliasing = arb(0)
    for tilt in (window.theta_above, window.theta_below):
        other = arb(tilt)
        ratio = _product([(_mgf(t.g, other) / t.m) ** t.n for t in tilted])
        aliasing += ratio / arb.const_e() / other / (abs(other - theta) * w).expm1()
    scale = _product([t.m**t.n for t in tilted])
    mean = total([t.n * total([v * p for v, p in zip(t.g.values, t.g.masses, strict=True)]) for t in tilted])
    alone = total([t.n * positive_part(t.g) for t in tilted])
    lower, upper = scale * (2 / w * below - aliasing), scale * 2 / w * above
    lower = lower.max(mean).max(arb(0)) if lower.is_finite() else mean.max(arb(0))
    upper = upper.min(alone) if upper.is_finite() else alone
    return Enclosure(lower, upper, "compact kernel, groups", bits, plan)


def _mgf(g: BallGparv, theta: arb) -> arb:
    return g.null_mass + total([p * (theta * v).exp() for v, p in zip(g.values, g.masses, strict=True)])


def _product(factors: Sequence[arb]) -> arb:
    result = arb(1)
    for x in factors:
        result *= x
    return result
