"""The divergence of all rounds in balls: no search, every number enclosed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

import flint
from flint import acb, acb_mat, arb

from symamp.accounting.discrete_pair import DiscretePair
from symamp.accounting.loss_kernel import HockeyStickKernel
from symamp.errors import PrecisionError
from symamp.evaluation.law import total
from symamp.evaluation.plan import Plan
from symamp.evaluation.tilted_balls import power
from symamp.numbers.number_system import FLINT

Rounds = Sequence[tuple[DiscretePair, int]]
"""Pairs, each with the number of rounds that it stands for."""
_FEW = 32
"""Up to so many frequencies in a row are evaluated one by one."""
_BITS, _MOST_BITS = 128, 4096
_NOISE = 1e-6


def enclose_divergence(rounds: Rounds, eps: arb, plan: Plan | None) -> tuple[arb, arb, int]:
    """Return balls (lower, upper) around D_E of the product of all rounds at E = e^eps, and the bits that it took.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose D_E for *every* plan with
    0 <= theta'' < theta < theta', W > 0, N >= 1 and blocks that cover the frequencies j h, 0 < j < N; without a plan
    (None), if no finite loss exceeds eps, otherwise they say nothing. Proof: docs/proofs/composition.md, section 3.

    Raises PrecisionError if rounding still dominates at the largest working precision.
    """
    bits = _BITS
    while True:
        with flint.ctx.workprec(bits):
            lower, upper = _enclosed(rounds, eps, plan)
            top = upper.upper()
            if top == 0 or (lower.rad() <= _NOISE * top and upper.rad() <= _NOISE * top):
                return lower, upper, bits
        bits *= 2
        if bits > _MOST_BITS:
            raise PrecisionError("precision", bits, f"at most {_MOST_BITS} bits")


@dataclass(frozen=True)
class _Factor:
    losses: list[arb]
    masses: list[arb]
    count: int
    infinite: arb

    def weights(self, theta: arb) -> list[arb]:
        return [p * (theta * x).exp() for x, p in zip(self.losses, self.masses, strict=True)]


def _enclosed(rounds: Rounds, eps: arb, plan: Plan | None) -> tuple[arb, arb]:
    factors = [
        _Factor([_log(e) for e, _ in pair.atoms], [arb(p) for _, p in pair.atoms], count, arb(pair.infinite))
        for pair, count in rounds
    ]
    always = any(not f.infinite < 1 for f in factors)
    infinite = arb(1) if always else -total([f.count * (-f.infinite).log1p() for f in factors]).expm1()
    if plan is None:
        largest = total([f.count * max(f.losses, key=lambda x: float(x.mid())) for f in factors if f.losses])
        return infinite, infinite if largest <= eps or always else arb(1)
    lower, upper = _finite(factors, eps, plan)
    return (lower.max(arb(0)) + infinite).min(arb(1)), (upper.max(arb(0)) + infinite).min(arb(1))


def _log(x: flint.fmpq) -> arb:
    return arb(x - 1).log1p()


def _finite(factors: list[_Factor], eps: arb, plan: Plan) -> tuple[arb, arb]:
    window = plan.window
    theta, w = arb(window.theta), arb(window.length)
    weights = [f.weights(theta) for f in factors]
    sums = [total(x) for x in weights]
    tilted = [[x / m for x in xs] for xs, m in zip(weights, sums, strict=True)]
    log_scale = total([f.count * m.log() for f, m in zip(factors, sums, strict=True)]) - theta * eps
    kernel = HockeyStickKernel(FLINT, theta, w, plan.terms)
    at_zero = kernel.at_zero()
    below, above = (x / 2 for x in at_zero)
    for first, last in plan.blocks.evaluated:
        powers = _powers(factors, tilted, kernel.step, eps, first, last)
        for j, phi in enumerate(powers, start=first):
            for_minorant, for_majorant = kernel.at(kernel.step * j)
            below, above = below + (for_minorant * phi).real, above + (for_majorant * phi).real
    dropped = _dropped(factors, tilted, kernel, plan, at_zero)
    aliasing = arb(0)
    for tilt in (window.theta_above, window.theta_below):
        other = arb(tilt)
        growth = total([f.count * total(f.weights(other)).log() for f in factors]) - other * eps - log_scale
        shift = abs(other - theta) * w
        aliasing += (growth + _log_kappa(other)).exp() / shift.expm1()
    scale = log_scale.exp()
    return scale * (2 / w * (below - dropped[0]) - aliasing), scale * 2 / w * (above + dropped[1])


def _log_kappa(a: arb) -> arb:
    """Return the logarithm of the largest (1 - e^(-x)) e^(-ax) over x >= 0."""
    return (a * a.log() if a > 0 else arb(0)) - (1 + a) * a.log1p()


def _powers(
    factors: list[_Factor], tilted: list[list[arb]], step: arb, eps: arb, first: int, last: int
) -> Iterator[acb]:
    """Yield phi(jh) of all rounds less eps, for j from first to last."""
    rows = [_characteristic(f.losses, p, step, first, last) for f, p in zip(factors, tilted, strict=True)]
    for j, values in zip(range(first, last + 1), zip(*rows, strict=True), strict=True):
        result = acb(0, -step * j * eps).exp()
        for f, phi in zip(factors, values, strict=True):
            result *= power(phi, f.count)
        yield result


def _characteristic(losses: list[arb], masses: list[arb], step: arb, first: int, last: int) -> list[acb]:
    """Return sum of p e^(i j h l) for j from first to last; many at once as a product of two matrices."""
    count = last - first + 1
    if count <= _FEW:
        return [_phi(losses, masses, step * j) for j in range(first, last + 1)]
    size = isqrt(count) + 1
    inner = acb_mat([[acb(0, step * (j * x)).exp() for j in range(size)] for x in losses])
    outer = acb_mat(
        [
            [p * acb(0, step * (j * x)).exp() for x, p in zip(losses, masses, strict=True)]
            for j in range(first, last + 1, size)
        ]
    )
    return [value for row in (outer * inner).tolist() for value in row][:count]


def _phi(losses: list[arb], masses: list[arb], u: arb) -> acb:
    real = imaginary = arb(0)
    for x, p in zip(losses, masses, strict=True):
        sine, cosine = (u * x).sin_cos()
        real += p * cosine
        imaginary += p * sine
    return acb(real, imaginary)


def _dropped(
    factors: list[_Factor], tilted: list[list[arb]], kernel: HockeyStickKernel, plan: Plan, at_zero: tuple[arb, arb]
) -> tuple[arb, arb]:
    """Return bounds on the dropped part of the sum for the minorant and the majorant."""
    theta, zero, result = kernel.theta, arb(0), [arb(0), arb(0)]
    excess = [abs(x - 1 / (theta * (theta + 1))) for x in at_zero]
    deviations = [_deviation(f.losses, p) for f, p in zip(factors, tilted, strict=True)] if plan.blocks.dropped else []
    for first, last in plan.blocks.dropped:
        beta, half = arb(1), kernel.step * (last - first) / 2
        for f, p, deviation in zip(factors, tilted, deviations, strict=True):
            phi = _phi(f.losses, p, kernel.step * (first + last) / 2)
            modulus2 = phi.real * phi.real + phi.imag * phi.imag
            distance = ((1 - modulus2).max(zero).sqrt() - deviation * half).max(zero).min(arb(1))
            beta *= (1 - distance * distance).max(zero).sqrt() ** f.count
        u2 = (kernel.step * first) ** 2
        modulus = 1 / ((theta**2 + u2) * ((theta + 1) ** 2 + u2)).sqrt()
        result = [x + (last - first + 1) * beta * (modulus + e) for x, e in zip(result, excess, strict=True)]
    return result[0], result[1]


def _deviation(losses: list[arb], masses: list[arb]) -> arb:
    mean = total([p * x for x, p in zip(losses, masses, strict=True)])
    return total([p * (x - mean) ** 2 for x, p in zip(losses, masses, strict=True)]).max(arb(0)).sqrt()
