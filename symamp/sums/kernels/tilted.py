"""A sum under an exponential tilt in floats, its saddle point, and the parameters of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, factorial, inf, ldexp, log, nextafter, sqrt, ulp
from typing import Protocol

import numpy as np

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import FloatGparv, Floats
from symamp.sums.kernels.kernel import Blocks, Kernel, TwoSided

# --------- The exponentially tilted law of one G in floats: cumulants and characteristic function, free of cancellation

# n multiplies every error in K = log M and in the phase, so both are built from differences: K from e^x - 1 - x and
# the exact mean, the phase from the centred sine (docs/proofs/kernel_sandwich.md, rounding).

_LARGEST_BY_SERIES = 0.06
_LARGE_TILT, _LARGEST = 30.0, 700.0
_AT_ONCE = 2**13  # numbers that a cache holds: larger arrays are mapped anew by the system each time
# Taylor coefficients, highest first, of 2 (e^x - 1 - x)/x^2 and of 6 (x - sin x)/x^3 in x^2: below
# _LARGEST_BY_SERIES the next term is under one rounding error.
_EXPONENTIAL = tuple(2.0 / factorial(k) for k in range(8, 1, -1))
_SINE = (6.0 / factorial(9), -6.0 / factorial(7), 6.0 / factorial(5), -1.0)


def exp_minus_linear(x: Floats) -> Floats:
    """Return e^x - 1 - x without cancellation."""
    is_small = np.abs(x) < _LARGEST_BY_SERIES
    if not is_small.any():  # what is not needed is not computed
        return np.expm1(x) - x
    small = 0.5 * x * x * _horner(_EXPONENTIAL, x)
    return small if is_small.all() else np.where(is_small, small, np.expm1(x) - x)


def turned(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return 1 - cos x, sin x and sin x - x without cancellation: from one tangent, which is faster than two sines."""
    tangent = np.tan(0.5 * x)
    sine = 2.0 * tangent / (1.0 + tangent * tangent)
    versine, bent, is_small = sine * tangent, sine - x, np.abs(x) < _LARGEST_BY_SERIES
    small = x[is_small]
    square = small * small  # a power of what is tiny takes a hundred times as long
    bent[is_small] = small * square * (_horner(_SINE, square) / 6.0)
    return versine, sine, bent


def _horner(coefficients: Sequence[float], x: Floats) -> Floats:
    value = coefficients[0] * x + coefficients[1]
    for coefficient in coefficients[2:]:
        value *= x
        value += coefficient
    return value


@dataclass(frozen=True)
class Cumulants:
    """K(theta) and its first two derivatives."""

    k0: float
    k1: float
    k2: float


def log_mgf(g: FloatGparv, theta: Floats) -> Floats:
    """Return K(theta) = log E[e^(theta G)] for an array of tilts >= 0."""
    x = np.outer(theta, g.values)
    # Large tilts overflow or cancel; there K itself is not small, and log-sum-exp loses nothing that matters.
    large = np.abs(x).max(axis=1) > _LARGE_TILT
    safe = np.where(large[:, None], 0.0, x)
    near = np.log1p(theta * g.mean * ~large + exp_minus_linear(safe) @ g.masses)
    if not large.any():
        return np.asarray(near, dtype=np.float64)
    logs, log_null = g.log_masses
    x += logs
    top = np.maximum(x.max(axis=1), log_null)
    whole = np.exp(x - top[:, None]).sum(axis=1) + np.exp(log_null - top)
    return np.asarray(np.where(large, top + np.log(whole), near), dtype=np.float64)


def cumulants(g: FloatGparv, theta: float) -> Cumulants:
    """Return K, K' and K'' at one tilt."""
    x = theta * g.values
    if float(np.abs(x).max(initial=0.0)) > _LARGE_TILT:
        logs, log_null = g.log_masses
        x += logs
        top = max(float(x.max()), log_null)
        weights, null = np.exp(x - top), float(np.exp(log_null - top))
        whole = float(weights.sum()) + null
        k1 = float(weights @ g.values) / whole
        k2 = float(weights @ (g.values - k1) ** 2) / whole + null * k1 * k1 / whole
        return Cumulants(top + float(np.log(whole)), k1, k2)
    grown = np.expm1(x)
    excess = theta * g.mean + float(g.masses @ exp_minus_linear(x))
    m = 1.0 + excess
    k1 = (g.mean + float((g.masses * g.values) @ grown)) / m
    k2 = (float((g.masses * (grown + 1.0)) @ (g.values - k1) ** 2) + g.null_mass * k1 * k1) / m
    return Cumulants(float(np.log1p(excess)), k1, k2)


class TiltedFloats(Protocol):
    """A sum S of n independent summands under a tilt, in doubles; K, phi and the like are averages over summands."""

    n: int
    theta: float
    cumulants: Cumulants
    exponent: int = 0
    """The power of two that values are in units of."""

    @property
    def deviation(self) -> float:
        """The root of the variance of one tilted summand."""
        return float(np.sqrt(self.cumulants.k2))

    @property
    def log_scale(self) -> float:
        """The logarithm of E[e^(theta S)]."""
        return self.n * self.cumulants.k0 + self.exponent * log(2.0)

    @property
    def log_null(self) -> float:
        """The logarithm of the tilted probability of the null value."""

    def log_mgf(self, tilts: Floats) -> Floats:
        """Return K at an array of tilts >= 0."""

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        """Return (log |phi(u)|, arg phi(u)), accurate enough to be multiplied by n."""

    def decays(self, middle: Floats, half: Floats) -> Floats:
        """Return bounds on |phi|^n over blocks of frequencies with these middles and half widths."""


class Transform(Protocol):
    """A sum S of n independent summands as searches in doubles see it: a new one is a file with these members.

    The certified sum asks the ``Tilted`` of ``balls`` for the same in balls.
    """

    n: int

    @property
    def largest(self) -> float:
        """The largest value of a summand."""

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of S, and the sum of the squares of its summands in the mean: where a saddle point is sought."""

    def cumulants(self, theta: float) -> Cumulants:
        """Return K and its derivatives at one tilt, averages over summands."""

    def tilted(self, theta: float) -> TiltedFloats:
        """Return S under a tilt."""


@dataclass(frozen=True)
class Power(Transform):
    """n copies of one G."""

    g: FloatGparv
    n: int

    @property
    def largest(self) -> float:
        return float(self.g.values[self.g.masses > 0.0].max(initial=0.0))

    @property
    def supremum(self) -> float:
        """The largest value of S, as far as doubles tell."""
        none = 0.0 if self.g.null_mass > 0.0 else -inf
        return self.n * float(self.g.values[self.g.masses > 0.0].max(initial=none))

    @property
    def moments(self) -> tuple[float, float]:
        return self.n * self.g.mean, self.n * float(self.g.masses @ self.g.values**2)

    def cumulants(self, theta: float) -> Cumulants:
        return cumulants(self.g, theta)

    def tilted(self, theta: float) -> TiltedLaw:
        return TiltedLaw.of(self.g, self.n, theta)


@dataclass(frozen=True)
class TiltedLaw(TiltedFloats):
    """n copies of G under the tilt theta, with the tools to evaluate phi(u) = E_theta[e^(iuG)]."""

    g: FloatGparv
    n: int
    theta: float
    cumulants: Cumulants
    probabilities: Floats
    null_probability: float
    exponent: int

    @staticmethod
    def of(g: FloatGparv, n: int, theta: float) -> TiltedLaw:
        """Tilt a law."""
        k = cumulants(g, theta)
        raised = theta * g.values - k.k0
        probabilities = g.masses * np.exp(np.minimum(raised, _LARGEST))
        far = raised > _LARGEST  # masses are as small
        if far.any():
            probabilities[far] = np.exp(g.log_masses[0][far] + raised[far])
        return TiltedLaw(g, n, theta, k, probabilities, g.null_mass * float(np.exp(-k.k0)), g.exponent)

    @property
    def log_null(self) -> float:
        return log(self.null_probability) if self.null_probability > 0.0 else -inf

    def log_mgf(self, tilts: Floats) -> Floats:
        return log_mgf(self.g, tilts)

    def decays(self, middle: Floats, half: Floats) -> Floats:
        modulus, _ = self.log_phi(middle)
        distance = np.sqrt(np.maximum(-np.expm1(2.0 * modulus), 0.0)) - self.deviation * half
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(0.5 * self.n * np.log1p(-(np.clip(distance, 0.0, 1.0) ** 2))))

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        re, im = np.empty_like(u), u * self.cumulants.k1
        values, p = self.g.values, self.probabilities
        rows = max(_AT_ONCE // len(p), 1)
        for i in range(0, len(u), rows):
            fallen, _, bent = turned(np.outer(u[i : i + rows], values))
            re[i : i + rows] = -(fallen @ p)
            im[i : i + rows] += bent @ p
        with np.errstate(divide="ignore"):
            modulus = 0.5 * np.log1p(np.maximum(2.0 * re + re * re + im * im, -1.0))
        return modulus, np.arctan2(im, 1.0 + re)


# --- The parameters of one evaluation, chosen in floats. Any choice gives valid bounds; a good one gives narrow ones

_STEPS, _LARGEST_STEP, _ACCURACY = 60, 3.0, 1e-3
"""Newton's steps for a saddle point, how far one may go in the logarithm, and how near is enough."""
_LARGEST_PLAN, _LEAST_TILT, _LARGEST_TILT = 1e100, 1e-150, 1e150
"""Tilts beyond which doubles overflow."""
_SPREAD, _SPREAD_USUAL, _PARTS_OF_TILT = 2.0, 1.25, (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
"""By how much the variance grows from the saddle point to the raised tilt where rare large values prevail, and up to
how much it is as usual at one of these parts of the latter."""
_ABOVE, _BELOW = np.geomspace(0.1, 10.0, 33), np.linspace(0.02, 0.98, 33)
"""Further tilts that are tried for the window: in units of the normal one, and as parts of the tilt."""


@dataclass(frozen=True)
class Window:
    """Tilt, window length W, and the two further tilts that bound the aliasing."""

    theta: float
    length: float
    theta_above: float
    theta_below: float

    def in_units(self, exponent: int) -> Window:
        """Return the window for values 2^exponent times as large."""
        smaller = (ldexp(t, -exponent) for t in (self.theta, self.theta_above, self.theta_below))
        theta, above, below = smaller
        return Window(theta, ldexp(self.length, exponent), above, below)


@dataclass(frozen=True)
class Plan:
    """Everything that the certified evaluation needs besides the law: theta, W, theta', theta'', N and the blocks."""

    window: Window
    terms: int
    blocks: Blocks

    @property
    def parameters(self) -> dict[str, float]:
        """What there is to tell of the plan, by name."""
        window, blocks = self.window, self.blocks
        counts = {"frequencies": blocks.evaluations, "dropped_blocks": len(blocks.dropped)}
        return {"theta": window.theta, "W": window.length, "terms": self.terms} | counts


def saddle_tilt(transform: Transform, payoff: type[TwoSided] = Kernel) -> float:
    """Return theta0, near the saddle point of M(theta) F(theta): where K' is the pull of the payoff."""
    top, n, (mean, square), least = transform.largest, transform.n, transform.moments, payoff.least_tilt
    root = sqrt(mean**2 + 8.0 * square)
    guess = 4.0 / (root + mean) if mean > 0.0 else (root - mean) / (2.0 * square)

    def tilt(above: float) -> float:
        return max(least + above, nextafter(least, inf))

    above, low, high = min(guess, 1e3 / top), 0.0, inf
    for _ in range(_STEPS):
        with np.errstate(all="ignore"):  # what overflows is too large a tilt, or a step too far
            k, (pull, bend) = transform.cumulants(tilt(above)), payoff.pull(tilt(above))
            quotient = n * k.k1 / pull
            slope = max(above * (k.k2 / k.k1 + bend / pull), ulp(0.0)) if quotient > 0.0 else 1.0
            step = -log(quotient) / slope if 0.0 < quotient < inf else _LARGEST_STEP
        low, high = (above, high) if quotient < 1.0 else (low, above)
        following = above * exp(max(min(step, _LARGEST_STEP), -_LARGEST_STEP))
        if not low < following < high:
            following = 0.5 * (low + high) if low > 0.0 else 0.5 * above
        if following * top > _LARGEST_PLAN:  # no solution: what is there is negligible
            return tilt(above)
        if abs(following - above) <= _ACCURACY * above:
            return tilt(following)
        above = following
    return tilt(above)


def raised_tilt(transform: Transform, theta0: float, payoff: type[TwoSided] = Kernel) -> float:
    """Return a tilt above theta0 at which n K + log F is larger by about 0.6: a shorter window suffices."""
    theta0 = max(theta0, _LEAST_TILT)
    curvature = transform.n * transform.cumulants(theta0).k2 + payoff.pull(min(theta0, _LARGEST_TILT))[1]
    return theta0 + float(np.sqrt(1.2 / curvature))


def lower_tilt(transform: Transform, theta0: float, raised: float) -> float | None:
    """Return a tilt under which rare large values are rare still; None where they do not prevail at the raised one."""
    if not transform.cumulants(raised).k2 > _SPREAD * transform.cumulants(theta0).k2:
        return None
    usual = _SPREAD_USUAL * transform.cumulants(_PARTS_OF_TILT[-1] * raised).k2
    return next(x for x in (part * raised for part in _PARTS_OF_TILT) if transform.cumulants(x).k2 <= usual)


def gaussian_estimate(tilted: TiltedFloats, payoff: type[TwoSided] = Kernel) -> float:
    """Return the normal approximation of E[f(S)] / M(theta): for choosing parameters and starting a search."""
    sigma, mean = np.sqrt(tilted.n) * tilted.deviation, tilted.n * tilted.cumulants.k1
    with np.errstate(all="ignore"):
        value = normal_spread(tilted, payoff) / (np.sqrt(2.0 * np.pi) * sigma) * np.exp(-0.5 * (mean / sigma) ** 2)
    # Where one outcome carries all the mass there is no normal shape; then Chernoff's bound gives the scale.
    return float(value) if value > 1e-280 else float(np.exp(payoff.log_peak(np.array(tilted.theta))))


def normal_spread(tilted: TiltedFloats, payoff: type[TwoSided] = Kernel) -> float:
    """Return what the payoff gives for a normal law, over the density at 0: what decides the smoothing of a plan."""
    with np.errstate(all="ignore"):
        return payoff.spread(tilted.theta, tilted.n * tilted.cumulants.k1, np.sqrt(tilted.n) * tilted.deviation)


def choose_window(tilted: TiltedFloats, log_allowance: float, payoff: type[TwoSided] = Kernel) -> Window:
    """Return the window that keeps each side of the aliasing below e^(-log_allowance) of M(theta)."""
    theta, n, room = tilted.theta, tilted.n, tilted.theta - payoff.least_tilt
    scale = np.sqrt(2.0 * max(log_allowance, 1.0)) / max(np.sqrt(n) * tilted.deviation, 1e-3 / room)
    above = scale * _ABOVE
    below = np.minimum(above, room * _BELOW)
    tilts = np.concatenate([theta + above, theta - below])
    k = n * (tilted.log_mgf(tilts) - tilted.cumulants.k0) + log_allowance + payoff.log_peak(tilts)
    w_above, w_below = k[: len(above)] / above, k[len(above) :] / below
    if np.isnan(w_above).all() or np.isnan(w_below).all():
        wrong = Problem("no window is within the range of doubles")
        raise PrecisionError("payoff", wrong, "one that S can make positive")
    i, j = int(np.nanargmin(w_above)), int(np.nanargmin(w_below))
    length = float(np.fmax(np.fmax(w_above[i], w_below[j]), 1.0 / room))
    return Window(theta, length, theta + float(above[i]), theta - float(below[j]))
