"""The parameters of one evaluation, chosen in floats. Any choice gives valid bounds; a good one gives narrow ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, exp, inf, ldexp, log, sqrt

import numpy as np

from symamp.evaluation.blocks import Blocks
from symamp.evaluation.gparv import FloatGparv
from symamp.evaluation.tilted import TiltedFloats, cumulants

_ROOT_HALF_PI = float(np.sqrt(np.pi / 2.0))
_STEPS, _FAR, _CLOSE, _LARGEST, _LEAST_TILT, _LARGEST_TILT = 60, 3.0, 1e-3, 1e100, 1e-150, 1e150
_ABOVE, _BELOW = np.geomspace(0.1, 10.0, 33), np.linspace(0.02, 0.98, 33)


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
    """Everything that the certified evaluation needs besides the law: theta, W, theta', theta'', N and the blocks.

    The smoothing length is d = W/N with an integer N: then 0 < j < W/d is exactly 1 <= j <= N - 1, and no comparison
    of inexact numbers decides which frequencies belong to the sum.
    """

    window: Window
    terms: int
    blocks: Blocks

    @property
    def parameters(self) -> dict[str, float]:
        """What there is to tell of the plan, by name."""
        window, blocks = self.window, self.blocks
        counts = {"frequencies": blocks.evaluations, "dropped_blocks": len(blocks.dropped)}
        return {"theta": window.theta, "W": window.length, "terms": self.terms} | counts


def saddle_tilt(g: FloatGparv, n: int) -> float:
    """Return theta0, near the solution of n theta K'(theta) = 2 (the saddle point of M(theta)^n / theta^2).

    Newton's steps for the logarithm of the left side as a function of log theta, in a bracket that they narrow.
    """
    top = float(g.values[g.masses > 0.0].max())
    variance = float(g.masses @ g.values**2)
    root = sqrt(g.mean**2 + 8.0 * variance / n)
    guess = 4.0 / (n * (root + g.mean)) if g.mean > 0.0 else (root - g.mean) / (2.0 * variance)
    theta, low, high = min(guess, 1e3 / top), 0.0, inf
    for _ in range(_STEPS):
        with np.errstate(all="ignore"):  # what overflows is too large a tilt, or a step too far
            k = cumulants(g, theta)
            product = n * theta * k.k1
            step = log(2.0 / product) / (1.0 + theta * k.k2 / k.k1) if 0.0 < product < inf else _FAR
        low, high = (theta, high) if product < 2.0 else (low, theta)
        following = theta * exp(max(min(step, _FAR), -_FAR))
        if not low < following < high:
            following = 0.5 * (low + high) if low > 0.0 else 0.5 * theta
        if following * top > _LARGEST:  # no solution: what is there is negligible
            return theta
        if abs(following - theta) <= _CLOSE * theta:
            return following
        theta = following
    return theta


def gaussian_estimate(tilted: TiltedFloats, n: int) -> float:
    """Return the normal approximation of E[S_+] / M(theta)^n: for choosing parameters and starting a search."""
    sigma = np.sqrt(n) * tilted.deviation
    mean = n * tilted.cumulants.k1
    with np.errstate(all="ignore"):
        value = sigma / np.sqrt(2.0 * np.pi) * np.exp(-0.5 * (mean / sigma) ** 2) * relative_overshoot(tilted, n)
    # Where one outcome carries all the mass there is no normal shape; then Chernoff's 1/(e theta) gives the scale.
    return float(value) if value > 1e-280 else float(1.0 / (np.e * tilted.theta))


def relative_overshoot(tilted: TiltedFloats, n: int) -> float:
    """Return r(z) = 1 - z Mills(z) at z = theta sigma - mean/sigma."""
    sigma = np.sqrt(n) * tilted.deviation
    if not sigma > 0.0:  # one value has all the mass of the tilted law
        return 1.0
    z = float(tilted.theta * sigma - n * tilted.cumulants.k1 / sigma)
    if z > 25.0:
        return 1.0 / (z * z + 3.0)
    z = max(z, -25.0)  # below, the estimate underflows anyway
    return 1.0 - z * _ROOT_HALF_PI * exp(0.5 * z * z) * erfc(z / sqrt(2.0))


def raised_tilt(g: FloatGparv, n: int, theta0: float) -> float:
    """Return a tilt above theta0 at which n K - 2 log theta is larger by about 0.6: a shorter window suffices."""
    theta0 = max(theta0, _LEAST_TILT)
    curvature = n * cumulants(g, theta0).k2 + 2.0 / min(theta0, _LARGEST_TILT) ** 2
    return theta0 + float(np.sqrt(1.2 / curvature))


def choose_window(tilted: TiltedFloats, n: int, log_allowance: float) -> Window:
    """Return the window that keeps each side of the aliasing below e^(-log_allowance) of M^n."""
    theta = tilted.theta
    scale = np.sqrt(2.0 * max(log_allowance, 1.0)) / max(np.sqrt(n) * tilted.deviation, 1e-3 / theta)
    above = scale * _ABOVE
    below = np.minimum(above, theta * _BELOW)
    tilts = np.concatenate([theta + above, theta - below])
    k = n * (tilted.log_mgf(tilts) - tilted.cumulants.k0) + log_allowance - np.log(tilts) - 1.0
    w_above, w_below = k[: len(above)] / above, k[len(above) :] / below
    i, j = int(np.nanargmin(w_above)), int(np.nanargmin(w_below))
    length = float(np.fmax(np.fmax(w_above[i], w_below[j]), 1.0 / theta))
    return Window(theta, length, theta + float(above[i]), theta - float(below[j]))
