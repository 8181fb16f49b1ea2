"""The divergence of all rounds in floats: the search for the plan of a certified evaluation, and an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isnan, log, log1p, pi, sqrt

import numpy as np

from symamp.accounting.float_product import FloatProduct, TiltedProduct
from symamp.accounting.loss_kernel import HockeyStickKernel
from symamp.evaluation.blocks import partition
from symamp.evaluation.gparv import Floats
from symamp.evaluation.plan import Plan, Window
from symamp.numbers.number_system import NUMPY
from symamp.numbers.scipy_functions import brentq, erfcx

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
