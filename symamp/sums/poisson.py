"""E[S_+] where S is a constant and a Poisson number of copies of one G: its transform, in floats and in balls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, inf, log
from typing import ClassVar

import numpy as np
from flint import acb, arb

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import BallGparv, FloatGparv, Floats, nearest_doubles, total
from symamp.numbers.limits import KERNEL_PLAN
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import NO_POSITIVE_VALUE, Enclosure, Settings, positive_part, settled, starting_precision
from symamp.sums.kernels.balls import Tilted, TiltedBalls, tilted_sum
from symamp.sums.kernels.floats import FloatSum, two_sided_sum
from symamp.sums.kernels.kernel import Ranges
from symamp.sums.kernels.tilted import (
    Cumulants,
    Plan,
    TiltedFloats,
    TiltedLaw,
    Transform,
    cumulants,
    gaussian_estimate,
    log_mgf,
    saddle_tilt,
)

_LARGEST_PRECISION, _ROUGH_BITS = 4096, 128
KERNEL = "compact kernel, Poisson"


@dataclass(frozen=True)
class PoissonSource:
    """The law of G and the constant, in balls at the ambient precision, and the mean number of copies of G."""

    law: Callable[[], BallGparv]
    rate: int
    shift: Callable[[], arb]


# ------------------------------------------------------------------------------------------------- in floats: a search


@dataclass(frozen=True)
class PoissonSum(Transform):
    """S as a single summand: log E[e^(theta S)] = rate (M(theta) - 1) + theta shift."""

    g: FloatGparv
    rate: float
    shift: float
    n: ClassVar[int] = 1  # type: ignore[misc]

    @staticmethod
    def of(source: PoissonSource) -> PoissonSum:
        """Return the sum in doubles."""
        with at_precision(_ROUGH_BITS):
            shift = float(source.shift())
        return PoissonSum(nearest_doubles(source.law).unscaled, float(source.rate), shift)

    @property
    def largest(self) -> float:
        """The largest value of G, or the constant if that is larger."""
        return max(float(self.g.values[self.g.masses > 0.0].max(initial=0.0)), self.shift)

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of S, and its variance."""
        return self.rate * self.g.mean + self.shift, self.rate * float(self.g.masses @ self.g.values**2)

    def cumulants(self, theta: float) -> Cumulants:
        """Return K and its derivatives."""
        k = cumulants(self.g, theta)
        grown = self.rate * exp(min(k.k0, 700.0))
        return Cumulants(
            self.rate * expm1(min(k.k0, 700.0)) + theta * self.shift,
            grown * k.k1 + self.shift,
            grown * (k.k2 + k.k1**2),
        )

    def tilted(self, theta: float) -> TiltedPoisson:
        """Return S under a tilt: again a Poisson number of copies, of the tilted law."""
        return TiltedPoisson(theta, self.cumulants(theta), TiltedLaw.of(self.g, 1, theta), self.rate, self.shift)


@dataclass(frozen=True)
class TiltedPoisson(TiltedFloats):
    """S under a tilt: of ``rate`` M(theta) copies of the tilted law, in the mean."""

    theta: float
    cumulants: Cumulants
    law: TiltedLaw
    rate: float
    shift: float
    n: ClassVar[int] = 1  # type: ignore[misc]

    @cached_property
    def mean_number(self) -> float:
        """The mean number of copies under the tilt."""
        return self.rate * exp(min(self.law.cumulants.k0, 700.0))

    @property
    def log_null(self) -> float:
        """The logarithm of the tilted probability that no copy is other than 0; -inf beside a constant."""
        return -inf if self.shift else -self.mean_number * (1.0 - self.law.null_probability)

    def log_mgf(self, tilts: Floats) -> Floats:
        """Return K at an array of tilts >= 0."""
        return np.asarray(self.rate * np.expm1(log_mgf(self.law.g, tilts)) + tilts * self.shift)

    def _excess(self, u: Floats) -> tuple[Floats, Floats]:
        """Return phi - 1 of one copy, its real and its imaginary part."""
        modulus, phase = self.law.log_phi(u)
        return np.expm1(modulus) * np.cos(phase) - 2.0 * np.sin(phase / 2.0) ** 2, np.exp(modulus) * np.sin(phase)

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        """Return (log |phi(u)|, arg phi(u))."""
        real, imaginary = self._excess(u)
        return self.mean_number * real, self.mean_number * imaginary + u * self.shift

    def decays(self, middle: Floats, half: Floats) -> Floats:
        """Return bounds on |phi| over blocks of frequencies with these middles and half widths."""
        one = self.law.cumulants
        spread = np.sqrt((one.k2 + one.k1**2) / 2.0)
        root = np.sqrt(np.maximum(-self._excess(middle)[0], 0.0)) - spread * half
        return np.asarray(np.exp(-self.mean_number * np.maximum(root, 0.0) ** 2))


def _searched(source: PoissonSource, settings: Settings) -> FloatSum | None:
    """Return the estimate of E[S_+] with its plan, None where S is never positive."""
    found = PoissonSum.of(source)
    if not found.largest > 0.0:
        return None
    result = two_sided_sum(found, settings.gap, settings.most_frequencies)
    settings.limits.charge(KERNEL_PLAN.of(len(found.g.values) * result.plan.blocks.evaluations))
    return result


def estimate_log_poisson(source: PoissonSource, settings: Settings) -> float:
    """Return an estimate of log E[S_+]; -inf for zero. Not a bound."""
    found = _searched(source, settings)
    return -inf if found is None else found.log_value


def approximate_log_poisson(source: PoissonSource) -> float:
    """Return the saddle-point approximation of log E[S_+], cheap and good to a few per cent; -inf for zero."""
    found = PoissonSum.of(source)
    if not found.largest > 0.0:
        return -inf
    with np.errstate(all="ignore"):
        tilted = found.tilted(saddle_tilt(found))
        value = tilted.cumulants.k0 + log(gaussian_estimate(tilted))
    return value if value == value else -inf


# ----------------------------------------------------------------------------------------------- in balls: an enclosure


@dataclass(frozen=True)
class PoissonBalls(Tilted):
    """S under a tilt; M is that of one G."""

    one: TiltedBalls
    rate: int
    shift: arb
    theta: arb
    null_n: arb

    @staticmethod
    def of(source: PoissonSource, tilt: float) -> PoissonBalls:
        """Tilt S by the double ``tilt``, an exact number."""
        one, shift = TiltedBalls.of(source.law(), 1, tilt), source.shift()
        null = (-source.rate * one.m * (1 - one.null)).exp() if shift.is_zero() else arb(0)
        return PoissonBalls(one, source.rate, shift, one.theta, null)

    @property
    def scale(self) -> arb:
        """E[e^(theta S)]."""
        return (self.rate * (self.one.m - 1) + self.theta * self.shift).exp()

    def powers(self, step: arb, first: int, last: int) -> Iterable[acb]:
        """Return the characteristic function of S, less ``null_n``, at the frequencies j step."""
        for j, phi in enumerate(self.one.phis(step, first, last), first):
            yield (self.rate * self.one.m * (phi - 1) + acb(0, step * j * self.shift)).exp() - self.null_n

    def growth(self, tilt: arb) -> arb:
        """Return E[e^(tilt S)]/E[e^(theta S)]."""
        return (self.rate * (self.one.mgf(tilt) - self.one.m) + (tilt - self.theta) * self.shift).exp()

    def decays(self, step: arb, blocks: Ranges) -> list[arb]:
        """Return a bound on the modulus over each block: the root of 1 - Re phi moves by (E[G^2]/2)^(1/2) |u - v|."""
        square = total([p * v * v for v, p in zip(self.one.g.values, self.one.probabilities, strict=True)])
        spread, found = (square.upper() / 2).sqrt(), []
        for first, last in blocks:
            away = (1 - self.one.phi(step * (first + last) / 2).real).lower().max(arb(0)).sqrt()
            root = (away - spread * step * (last - first) / 2).lower().max(arb(0))
            found.append((-self.rate * self.one.m * root * root).exp())
        return found


def enclose_poisson(source: PoissonSource, settings: Settings) -> Enclosure:
    """Return an enclosure of E[S_+].

    Guarantee
    ---------
    ``lower.lower() <= E[S_+] <= upper.upper()``, whatever the plan that floats have found.
    Proof: docs/proofs/participation.md, section 3.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    found, bits = _searched(source, settings), starting_precision(source.rate, settings.gap)
    if found is None:
        with at_precision(bits):
            _, most = _simple(source.law(), source)
            return Enclosure(arb(0), most, NO_POSITIVE_VALUE, bits)
    result = settled(lambda bits: _sum(source, found.plan, bits), bits, settings.gap, _LARGEST_PRECISION)
    if result is None:
        raise PrecisionError(
            "precision", Problem(f"rounding errors dominate even at {_LARGEST_PRECISION} bits"), "take a larger gap"
        )
    return result


def _simple(g: BallGparv, source: PoissonSource) -> tuple[arb, arb]:
    """Return E[S], and the sum of the positive parts of all that S consists of in the mean."""
    shift, mean = source.shift(), total([v * p for v, p in zip(g.values, g.masses, strict=True)])
    return source.rate * mean + shift, source.rate * positive_part(g) + shift.max(arb(0))


def _sum(source: PoissonSource, plan: Plan, bits: int) -> Enclosure:
    tilted = PoissonBalls.of(source, plan.window.theta)
    (lower, upper), (mean, most) = tilted_sum(tilted, plan), _simple(tilted.one.g, source)
    lower = lower.max(mean) if lower.is_finite() else mean.max(arb(0))
    return Enclosure(lower, upper.min(most) if upper.is_finite() else most, KERNEL, bits, plan)
