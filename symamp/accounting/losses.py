"""The sum of the losses of many rounds: searched in floats, enclosed in balls, eps from delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, expm1, fsum, inf, isnan, log, log1p, nextafter, pi, sqrt

import flint
import numpy as np
from flint import arb, fmpq

from symamp.accounting.curves import DominatingPair
from symamp.bounds.pair_of_inputs import falling_root
from symamp.errors import PrecisionError, Problem
from symamp.laws.law import BallGparv, Floats, total
from symamp.numbers.optional import brentq, erfcx, log_ndtr
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import NUMPY, Number, NumberSystem
from symamp.sums.groups import TiltedGroups
from symamp.sums.inversion import log_of
from symamp.sums.kernel import TwoSided, partition
from symamp.sums.kernel_balls import tilted_sum
from symamp.sums.tilted import Plan, Window, versine_and_sine

# ---------------------------------------- The Gaussian approximation of many rounds: mu-GDP. Not a bound on either side


def gaussian_log_delta(mu: float, eps: float) -> float:
    """Return log delta of mu-GDP at eps, in floats; -inf where it is too small for them.

    >>> round(exp(gaussian_log_delta(1.0, 1.0)), 6)
    0.126937
    """
    first = log_ndtr(-eps / mu + mu / 2.0)
    second = eps + log_ndtr(-eps / mu - mu / 2.0)
    return first + log1p(-exp(second - first)) if second < first else -inf


def gaussian_epsilon(mu: float, log_delta: float) -> float:
    """Return the eps at which mu-GDP has this delta, in floats; 0 if it has less at eps = 0.

    >>> round(gaussian_epsilon(1.0, gaussian_log_delta(1.0, 0.7)), 9)
    0.7
    """
    if gaussian_log_delta(mu, 0.0) <= log_delta:
        return 0.0
    high = mu * mu / 2.0 + mu * sqrt(-2.0 * log_delta)
    return brentq(lambda eps: max(gaussian_log_delta(mu, eps), -1e300) - log_delta, 0.0, high, rtol=1e-13)


# ---------------------------------- The compact-support kernel for (1 - e^(-x))_+: one formula for floats and for balls

# With smoothing length d, Om = 2 pi/d and s = theta + iu, the functions B+ and B- on |u| < Om are the Fourier
# transforms of the extremal majorant and minorant of (1 - e^(-x))_+ e^(-theta x) of exponential type Om
# (docs/proofs/composition.md, section 3). They vanish for |u| >= Om: a sum over frequencies has no truncation error.

_SMALL, _SERIES = 1e-5, 1e-3
"""Below these lengths doubles take derivatives for differences, and series for derivatives."""


class HockeyStickKernel(TwoSided):
    """The kernel of f(x) = (1 - e^(-x))_+."""

    def __init__(self, numbers: NumberSystem, theta: Number, window: Number, terms: int) -> None:
        super().__init__(numbers, theta, window, terms)
        lam = theta * self.d
        if numbers.name == "numpy" and self.d < _SMALL:
            middle = lam + self.d / 2
            slope = (
                -0.5 - middle / 12 + middle**3 / 720 if middle < _SERIES else 1 / middle + 1 / numbers.expm1(-middle)
            )
            self.alpha, self.c = 1 + slope, -self.d * slope * self._gam(middle)
            return
        further = lam + self.d
        self.alpha = 1 - numbers.log(self._gam(lam) / self._gam(further)) / self.d
        self.c = self._gam(lam) - self._gam(further)

    def at_zero(self) -> tuple[Number, Number]:
        """Return B-(0) and B+(0)."""
        above = self._z(self.alpha, self.theta) - self._z(self.alpha, self.theta + 1)
        return self.d * (self._z(1, self.theta) - self._z(1, self.theta + 1)), self.d * above

    def at(self, u: Number) -> tuple[Number, Number]:
        """Return B-(u) and B+(u) for 0 < u < Om."""
        i = self.numbers.complex(0 * self.theta, self.numbers.rational(1, 1))
        s = self.numbers.complex(self.theta, u)
        bend, further = 1 + i * s / self.top, 1 + i * (s + 1) / self.top
        above = bend * self._z(self.alpha, s) - further * self._z(self.alpha, s + 1)
        below = bend * self._z(1, s) - further * self._z(1, s + 1)
        return self.d * (below - i * (self.c / (2 * self.numbers.pi()))), self.d * above

    def modulus(self, u: Number) -> Number:
        """Return |1/(s (s + 1))|, s = theta + iu."""
        return 1 / self.numbers.sqrt((self.theta**2 + u**2) * ((self.theta + 1) ** 2 + u**2))

    def peak(self, tilt: Number) -> Number:
        """Return the largest (1 - e^(-x)) e^(-tilt x) over x >= 0, tilt >= 0."""
        share = tilt / (1 + tilt)
        return self.numbers.exp(tilt * self.numbers.log(share)) / (1 + tilt) if tilt > 0 else 1 / (1 + tilt)

    def _z(self, a: Number, s: Number) -> Number:
        return self.numbers.exp(-s * (a * self.d)) / -self.numbers.expm1(-s * self.d)

    def _gam(self, x: Number) -> Number:
        """Return x/(e^x - 1)."""
        return x * self.numbers.exp(-x) / -self.numbers.expm1(-x)


# --------------- The loss of all rounds in floats: cumulants and characteristic function of a product of discrete pairs

_CHUNK, _TINY = 2**15, -40.0


@dataclass(frozen=True)
class FloatFactor:
    """``count`` rounds with the same losses log dP/dQ; ``logs`` are the logarithms of their P-masses.

    ``log_infinite`` is that of the mass at an infinite loss.
    """

    losses: Floats
    logs: Floats
    count: int
    log_infinite: float

    @staticmethod
    def of(pair: DominatingPair, count: int) -> FloatFactor:
        """Return a pair in doubles; masses far below the smallest double keep their logarithms."""
        with at_precision(64):
            losses = np.array([_log(e) for e, _ in pair.atoms])
            logs = np.array([_log(p) for _, p in pair.atoms])
            return FloatFactor(losses, logs, count, _log(pair.infinite) if pair.infinite > 0 else -inf)


def _log(x: flint.fmpq) -> float:
    ball = arb(x)
    return float((ball - 1).log1p() if abs(ball - 1) < 0.5 else ball.log())


@dataclass(frozen=True)
class FloatProduct:
    """All rounds."""

    factors: tuple[FloatFactor, ...]

    @staticmethod
    def of(rounds: Sequence[tuple[DominatingPair, int]]) -> FloatProduct:
        """Return the product of pairs, each taken so many times."""
        return FloatProduct(tuple(FloatFactor.of(pair, count) for pair, count in rounds))

    @property
    def log_infinite(self) -> float:
        """The logarithm of the P-mass of an infinite loss in some round."""
        if any(f.log_infinite >= 0.0 for f in self.factors):
            return 0.0
        # The probability that all losses are finite is 1 for doubles where the others are small.
        most = float(np.logaddexp.reduce([f.log_infinite + log(f.count) for f in self.factors]))
        if most < _TINY:
            return most
        return log(-expm1(fsum(f.count * _log_rest(f.log_infinite) for f in self.factors)))

    @property
    def largest(self) -> float:
        """The largest finite loss of all rounds together."""
        return fsum(f.count * float(f.losses.max(initial=-inf)) for f in self.factors)

    def log_mgf(self, theta: float) -> float:
        """Return K(theta) = log E_P[e^(theta L)] over finite losses."""
        return fsum(f.count * _log_sum(f.logs + theta * f.losses) for f in self.factors)

    def tilted(self, theta: float) -> TiltedProduct:
        """Return the product under the tilt theta."""
        tilted = [f.logs + theta * f.losses for f in self.factors]
        return TiltedProduct(self, theta, tuple(np.exp(x - _log_sum(x)) for x in tilted))


@dataclass(frozen=True)
class TiltedProduct:
    """All rounds under the tilt theta, with the tilted masses of each factor."""

    product: FloatProduct
    theta: float
    masses: tuple[Floats, ...]

    @cached_property
    def means(self) -> list[float]:
        """The mean loss of one round of each factor."""
        return [float(p @ f.losses) for p, f in zip(self.masses, self.product.factors, strict=True)]

    @property
    def mean(self) -> float:
        """The mean of the loss of all rounds."""
        return fsum(f.count * m for f, m in zip(self.product.factors, self.means, strict=True))

    @cached_property
    def deviations(self) -> list[float]:
        """The standard deviation of the loss of one round of each factor."""
        parts = zip(self.masses, self.product.factors, self.means, strict=True)
        return [float(np.sqrt(p @ (f.losses - m) ** 2)) for p, f, m in parts]

    @property
    def variance(self) -> float:
        """The variance of the loss of all rounds."""
        return fsum(f.count * s * s for f, s in zip(self.product.factors, self.deviations, strict=True))

    def log_phi(self, u: Floats) -> tuple[list[Floats], Floats]:
        """Return (log |phi| of one round of each factor, argument of the product), losses taken from their means."""
        moduli, phase = [], np.zeros_like(u)
        for p, f, m in zip(self.masses, self.product.factors, self.means, strict=True):
            size = max(1, _CHUNK // len(p))
            turns = (versine_and_sine(np.outer(u[i : i + size], f.losses - m)) for i in range(0, len(u), size))
            parts = [p.sum() - versine @ p + 1j * (sine @ p) for versine, sine in turns]
            phi = np.concatenate(parts) if parts else np.empty(0, dtype=complex)
            with np.errstate(divide="ignore"):
                moduli.append(np.minimum(np.log(np.abs(phi)), 0.0))
            phase = phase + f.count * np.angle(phi)
        return moduli, phase

    def decay(self, middle: Floats, half: Floats) -> Floats:
        """Return bounds on the modulus of the product over blocks of frequencies."""
        log_bound = np.zeros_like(middle)
        moduli, _ = self.log_phi(middle)
        for f, s, modulus in zip(self.product.factors, self.deviations, moduli, strict=True):
            distance = np.clip(np.sqrt(-np.expm1(2.0 * modulus)) - s * half, 0.0, 1.0)
            with np.errstate(divide="ignore"):
                log_bound += 0.5 * f.count * np.log1p(-(distance**2))
        return np.asarray(np.exp(log_bound))


def _log_rest(x: float) -> float:
    """Return log(1 - e^x) for x < 0, however near to 0."""
    return log(-expm1(x)) if x > -1.0 else log1p(-exp(x))


def _log_sum(logs: Floats) -> float:
    top = float(logs.max(initial=-inf))
    return top + float(np.log(np.exp(logs - top).sum())) if top > -inf else -inf


# ----------- The divergence of all rounds in floats: the search for the plan of a certified evaluation, and an estimate

_ROUNDS, _MOST = 12, 40_000
_SHARE = 0.01
"""The part of the gap that aliasing may take."""


@dataclass(frozen=True)
class FloatDivergence:
    """Logarithms of estimates of delta from both sides, and the plan they were found with; None if none is needed.

    ``plan`` is None where no finite loss exceeds eps.
    """

    log_lower: float
    log_upper: float
    plan: Plan | None

    @property
    def gap(self) -> float:
        """The relative gap between the two estimates."""
        return -np.expm1(self.log_lower - self.log_upper) if self.log_upper > -inf else 0.0


def estimate_divergence(product: FloatProduct, eps: float, gap: float) -> FloatDivergence:
    """Return estimates of D_E at E = e^eps, refined until their relative gap is met. Not a bound."""
    infinite = product.log_infinite
    if not product.largest > eps:
        return FloatDivergence(infinite, infinite, None)
    with np.errstate(all="ignore"):
        theta = _tilt(product, eps)
        tilted = product.tilted(theta)
        scale = product.log_mgf(theta) - theta * eps
        estimate, density = _normal(tilted, eps)
        window = _window(product, tilted, eps, -log(_SHARE * gap * estimate))
        d = min(sqrt(6.4 * gap * estimate / density), window.length)
        best: tuple[float, float, Plan] | None = None
        for _ in range(_ROUNDS):
            found = _sums(product, tilted, eps, window, d, gap * estimate)
            if found is None:
                break
            # Windows of many hundreds overflow while there are few terms.
            if not isnan(found[1] - found[0]) and (best is None or found[1] - found[0] < best[1] - best[0]):
                best = found
            reached = (found[1] - found[0]) / found[1] if found[1] > 0.0 else inf
            if reached <= gap:
                break
            estimate = min(estimate, found[1]) if found[1] > 0.0 else estimate
            d *= float(np.clip(0.95 * sqrt(gap / reached), 0.25, 0.9))
        best = best or _sums(product, tilted, eps, window, window.length, gap * estimate)
    assert best is not None
    low = scale + log(best[0]) if best[0] > 0.0 else -inf
    high = scale + log(best[1]) if best[1] > 0.0 else inf
    return FloatDivergence(float(np.logaddexp(low, infinite)), float(np.logaddexp(high, infinite)), best[2])


def _tilt(product: FloatProduct, eps: float) -> float:
    """Return the saddle point, raised a little: a larger tilt needs a shorter window."""

    def excess(log_theta: float) -> float:
        theta = float(np.exp(log_theta))
        return product.tilted(theta).mean - eps - 1.0 / theta - 1.0 / (1.0 + theta)

    first = product.tilted(0.0)
    variance = max(first.variance, (1e-6 * (product.largest - eps)) ** 2)  # one loss alone has none
    low = high = log(max((eps - first.mean) / variance, 1.0 / sqrt(variance)))
    step = 0.25
    while excess(high) < 0.0 and high < 700.0:
        high, step = high + step, 2.0 * step
    step = 0.25
    while excess(low) > 0.0 and low > -700.0:
        low, step = low - step, 2.0 * step
    theta = float(np.exp(brentq(excess, low, high, xtol=1e-3, rtol=1e-3))) if low < high else float(np.exp(low))
    curvature = product.tilted(theta).variance + theta**-2 + (1.0 + theta) ** -2
    return theta + sqrt(1.2 / curvature)


def _normal(tilted: TiltedProduct, eps: float) -> tuple[float, float]:
    """Return the normal approximations of E[f(X)] and of the density of X at 0, X the tilted loss beyond eps."""
    mean = tilted.mean - eps
    deviation = max(sqrt(tilted.variance), 1e-6 * abs(mean))
    density = float(np.exp(-0.5 * (mean / deviation) ** 2)) / (deviation * sqrt(2.0 * pi))
    a, b = ((theta * deviation - mean / deviation) / sqrt(2.0) for theta in (tilted.theta, tilted.theta + 1.0))
    value = density * deviation * sqrt(pi / 2.0) * float(erfcx(a) - erfcx(b))
    if value > 1e-280 and density > 1e-280:
        return value, density
    peak = 1.0 / (tilted.theta * (tilted.theta + 1.0))  # the integral of f
    return peak / max(deviation, 1.0 / tilted.theta), 1.0 / max(deviation, 1.0 / tilted.theta)


def log_kappa(a: float) -> float:
    """Return the logarithm of the largest (1 - e^(-x)) e^(-ax) over x >= 0."""
    return (a * log(a) if a > 0.0 else 0.0) - (1.0 + a) * log1p(a)


def _window(product: FloatProduct, tilted: TiltedProduct, eps: float, allowance: float) -> Window:
    """Return the window that keeps each side of the aliasing below e^(-allowance) in units of e^K."""
    theta, k0 = tilted.theta, product.log_mgf(tilted.theta)

    def length(other: float) -> float:
        growth = product.log_mgf(other) - k0 - (other - theta) * eps
        return (growth + allowance + log_kappa(other)) / abs(other - theta)

    deviation = max(sqrt(tilted.variance), 1e-3 / theta)
    shifts = sqrt(2.0 * max(allowance, 1.0)) / deviation * np.geomspace(0.1, 10.0, 25)
    above = min((length(theta + float(x)), theta + float(x)) for x in shifts)
    lesser = {theta - float(x) for x in shifts if x < theta} | {theta * float(x) for x in np.linspace(0.0, 0.98, 12)}
    below = min((length(x), x) for x in lesser)
    return Window(theta, max(above[0], below[0], 1.0 / theta), above[1], below[1])


def _sums(
    product: FloatProduct, tilted: TiltedProduct, eps: float, window: Window, d: float, allowance: float
) -> tuple[float, float, Plan] | None:
    """Return the two sums in units of e^K with the plan, None if it would need too many frequencies."""
    theta, w = window.theta, window.length
    if not d > w * 2.0**-40:
        return None
    terms, step = ceil(w / d), 2.0 * pi / w

    def modulus(u: Floats) -> Floats:
        return np.asarray(1.0 / np.sqrt((theta**2 + u**2) * ((theta + 1.0) ** 2 + u**2)))

    cut = partition(tilted.decay, modulus, step, terms - 1, 1e-4 * allowance, _MOST)
    if cut is None:
        return None
    u = step * cut.indices.astype(np.float64)
    moduli, phase = tilted.log_phi(u)
    log_phi = sum((f.count * m for f, m in zip(product.factors, moduli, strict=True)), np.zeros_like(u))
    power = np.exp(log_phi + 1j * (phase + u * (tilted.mean - eps)))
    kernel = HockeyStickKernel(NUMPY, theta, w, terms)
    (below, above), (low, high) = kernel.at(u), kernel.at_zero()
    lower = 2.0 / w * (low / 2.0 + float((below * power).real.sum())) - cut.spent
    upper = 2.0 / w * (high / 2.0 + float((above * power).real.sum())) + cut.spent
    for other in (window.theta_above, window.theta_below):
        shift = abs(other - theta) * w
        growth = product.log_mgf(other) - product.log_mgf(theta) - (other - theta) * eps
        lower -= float(np.exp(growth + log_kappa(other) - shift)) / -np.expm1(-shift)
    return lower, upper, Plan(window, terms, cut.blocks())


# ---------------------------------------------- The divergence of all rounds in balls: no search, every number enclosed

Rounds = Sequence[tuple[DominatingPair, int]]
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
    raise PrecisionError("precision", Problem(f"{_MOST_BITS} bits do not certify this value"), "take a larger gap")


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


def _losses(pair: DominatingPair) -> BallGparv:
    """Return the finite losses with their masses, which are not those of a whole law."""
    losses = tuple(arb(e - 1).log1p() for e, _ in pair.atoms)
    return BallGparv(losses, tuple(arb(p) for _, p in pair.atoms), arb(0), arb(0))


# -------------------- eps from delta for many rounds, certified: floats find a guess, one evaluation in balls proves it

Found = tuple[float, Plan | None, int]
"""A certified eps with the plan of the evaluation that proves it, and its precision."""
_STEPS, _RELATIVE, _TOLERANCE = 30, 1e-8, 0.05
_FAR = 1e6


def epsilon_above(rounds: Rounds, delta: fmpq, start: float, gap: float) -> Found:
    """Return an eps at which the divergence of all rounds together is proved to be at most delta; inf if none is.

    Guarantee
    ---------
    D_E <= delta at the returned eps, and at all larger ones. Proof: docs/proofs/composition.md, section 3.
    """
    return _certified(rounds, delta, start, gap, up=True)


def epsilon_below(rounds: Rounds, delta: fmpq, start: float, gap: float) -> Found:
    """Return an eps at which the divergence of all rounds together is proved to be above delta; 0 if none is.

    inf if it is proved to be above delta at all of them.

    Guarantee
    ---------
    D_E > delta at the returned eps > 0, and at all smaller ones. Proof: docs/proofs/composition.md, section 3.
    """
    return _certified(rounds, delta, start, gap, up=False)


def _certified(rounds: Rounds, delta: fmpq, start: float, gap: float, up: bool) -> Found:
    product, log_delta = FloatProduct.of(rounds), log_of(delta)
    if up and product.log_infinite >= log_delta:
        return inf, None, 0
    if not up and product.log_infinite >= log_delta:
        bits = _proved(rounds, 0.0, None, delta, up)
        if bits is not None:
            return inf, None, bits

    def ends(eps: float) -> tuple[float, FloatDivergence]:
        found = estimate_divergence(product, eps, gap)
        return (found.log_upper if up else found.log_lower) - log_delta, found

    at_zero, found = ends(0.0)
    if at_zero <= 0.0:
        bits = _proved(rounds, 0.0, found.plan, delta, up) if up else 0
        if bits is not None:
            return 0.0, found.plan if up else None, bits
    largest = product.largest
    if largest <= 0.0:
        return (inf if up else 0.0), None, 0
    start = min(max(start, 1e-3 * largest / (1.0 + sum(count for _, count in rounds))), 0.9 * largest)
    first = estimate_divergence(product, start, gap)
    slope = first.plan.window.theta if first.plan is not None else 1.0 / largest
    tolerance = _TOLERANCE * gap
    root = 0.0
    if at_zero > 0.0:
        root = falling_root(lambda e: max(ends(e)[0], -_FAR), start, slope, largest, tolerance, furthest=inf)
    shift = 0.0
    for _ in range(_STEPS):
        eps = nextafter(root + shift, inf) if up else nextafter(root - shift, -inf)
        if eps <= 0.0:
            return 0.0, None, 0
        miss, found = ends(eps)
        if found.plan is not None:
            slope = found.plan.window.theta
        if miss < 0.0 if up else miss > 0.0:
            bits = _proved(rounds, eps, found.plan, delta, up)
            if bits is not None:
                return eps, found.plan, bits
        step = min(abs(miss), 50.0) + tolerance
        shift = max(2.0 * shift, shift + step / slope, _RELATIVE * root)
    return (inf if up else 0.0), None, 0


def _proved(rounds: Rounds, eps: float, plan: Plan | None, delta: fmpq, up: bool) -> int | None:
    """Return the precision at which balls prove the claim at eps, None if they do not."""
    lower, upper, bits = enclose_divergence(rounds, arb(eps), plan)
    with at_precision(bits):
        proved = upper <= arb(delta) if up else lower > arb(delta)
    return bits if proved else None
