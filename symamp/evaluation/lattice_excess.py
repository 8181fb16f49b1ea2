"""How far a lattice raises E[S_+]: a bound from the law of the sum on it (docs/proofs/fft.md, section 5)."""

from __future__ import annotations

from functools import reduce
from math import ceil, inf, log

import flint
import numpy as np
from flint import arb

from symamp.evaluation.gparv import Floats
from symamp.evaluation.lattice import LatticeLaw
from symamp.evaluation.pointwise import Pointwise
from symamp.evaluation.wrapped import Weight

_UNIT = 2.0**-53


def excess_of_lattice(law: LatticeLaw, n: int, null: arb, points: Pointwise) -> arb:
    """Return what E_theta[S_+ e^(-theta S)] exceeds that of G itself by at most, S the sum on the lattice.

    ``null`` is the tilted probability that all draws are null, ``points`` the law of the sum, point by point.

    Guarantee
    ---------
    M(theta)^n times the result is at least E[S'_+] - E[S_+], S' the sum on the lattice and S that of G, in steps.
    Proof: docs/proofs/fft.md, section 5.
    """
    offsets, wrapped, theta = law.offsets, points.wrapped, points.theta
    variance = n * reduce(arb.max, [arb(0), *(f * (1 - f) for f in offsets)]).upper()
    if not variance > 0:
        return n * law.lift
    rate, power = _choose_rates(law, n, float(null), points)
    narrow = rate * power
    moment = variance.min(variance.sqrt() / 2)
    exponential = _growth(offsets, arb(rate)) ** n / (arb.const_e() * rate)
    bump = moment ** (1 - arb(power)) * exponential**power
    # Beyond this many steps the weight is below the working precision.
    reach = ceil(0.7 * flint.ctx.prec / (narrow - theta)) + 1
    low, high = max(wrapped.first, -reach), min(wrapped.last, reach)
    expected = 2 * points.outside() + 2 * ((arb(theta) - arb(narrow)) * reach).exp() - null
    if low <= high:
        expected += wrapped.expectation(Weight(theta, narrow), low, high)
    return _growth(offsets, arb(narrow)) ** n * bump * expected + n * law.lift


def _choose_rates(law: LatticeLaw, n: int, null: float, points: Pointwise) -> tuple[float, float]:
    """Return lambda and tau of the correction, by the smallest estimate of it; tau is a power of two."""
    wrapped, theta = points.wrapped, points.theta
    offsets = np.array([float(f) for f in law.offsets])
    variance = n * float((offsets * (1.0 - offsets)).max())
    probabilities = wrapped.floats()
    noise = wrapped.noise + _UNIT * null
    moment = min(variance, 0.5 * np.sqrt(variance))
    best, chosen = inf, (4.0 * theta, 0.5)
    natural = 1.0 / np.sqrt(variance) if variance > 0.0 else inf
    for rate in [*(natural * np.geomspace(0.4, 2.0, 8)), *(2.0 ** np.arange(-2, 5))]:
        for power in (1.0, 0.5, 0.25, 0.125, 0.0625):
            narrow = rate * power
            if not (1.1 * theta < narrow and rate < 40.0):
                continue
            reach = int(min(40.0 / (narrow - theta), 1e9)) + 1
            low, high = max(wrapped.first, -reach), min(wrapped.last, reach)
            if low > high:
                continue
            stride = (high - low) // 2000 + 1
            k = np.arange(-(-low // stride) * stride, high + 1, stride)
            weight, _ = Weight(theta, narrow).array(k.astype(np.float64))
            expected = stride * float(weight @ probabilities[k - wrapped.first]) - null
            growth = n * (_log_growth(offsets, rate) * power + _log_growth(offsets, narrow))
            cost = (1.0 - power) * log(max(moment, 1e-300)) - power * (1.0 + log(rate)) + growth
            cost += log(max(expected, noise, 1e-300))
            if cost < best:
                best, chosen = cost, (float(rate), power)
    return chosen


def _growth(offsets: tuple[arb, ...], x: arb) -> arb:
    """Return the largest of E e^(x N) and E e^(-x N), N = 1 - f with probability f and -f otherwise."""
    terms = ((1 - f) * (s * x * f).exp() + f * (s * x * (f - 1)).exp() for f in offsets for s in (1, -1))
    return reduce(arb.max, terms)


def _log_growth(offsets: Floats, x: float) -> float:
    terms = [(1.0 - offsets) * np.expm1(s * x * offsets) + offsets * np.expm1(s * x * (offsets - 1.0)) for s in (1, -1)]
    return float(np.log1p(np.max(terms)))
