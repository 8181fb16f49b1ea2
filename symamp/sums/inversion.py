"""eps from delta: the search in floats, and the limits that it starts from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf, isfinite, log, sqrt

import numpy as np
from flint import arb, fmpq

from symamp.laws.law import FloatGparv, Law, Level, quick_gparv, total
from symamp.numbers.doubles import root_between
from symamp.numbers.dyadic import float_above
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Settings, estimate_log_divergence
from symamp.sums.kernels.tilted import Power, gaussian_estimate, saddle_tilt

# What is tuned. All of it decides where a root is looked for, in doubles; what is found is certified elsewhere, so
# that these trade evaluations against how near the place is. Rules of thumb.
LARGEST_EPS = 300.0
"""What a curve without an end does beyond is not followed: it counts as never reaching delta."""
_SHARE_OF_GAP, _SHARE_OF_TOLERANCE, _ACCURACY = 0.02, 0.01, 1e-13
"""A value may miss log delta by so much of the gap; where functions jump a bracket is narrowed to so much of what may
be missed, relatively, and at most so far."""
_STEPS, _TRUSTED, _SHORT = 8, 20.0, 5e-3
"""Secant steps before the root is bracketed instead; up to how many times what may be missed, and up to which part of
the place, the last one is not looked at."""
FEW, _ROUGH_TOLERANCE, _ASTRAY, _MOST_HEIGHT = 12, 1e-2, 5.0, 1e4
"""Saddle points: of no use for so few users, solved so closely for a start, better than one that they see so far from
delta, in the logarithm; heights beyond so many times -log delta are cut off, so that a bracket is divided evenly."""
_LOG_ZERO = -1e300
"""Stands for the logarithm of zero: brackets need finite ends."""


def largest_epsilon(law: Law) -> float:
    """Return (a float near) the eps from which on the law has divergence 0; inf if there is none."""
    with at_precision(64):
        bounds = [0.0]
        for r0, r1, *_ in [*law.numbers(), *((a(), b()) for a, b in law.singular)]:
            if not r0.is_zero():
                bounds.append(inf if r1.is_zero() else float((r0 / r1).log()))
        return max(bounds)


def plateau(law: Law) -> float:
    """Return an eps from which on the divergence is positive and does not fall any more; inf if there is none."""
    if not law.singular:
        return inf
    found = 0.0
    with at_precision(128):
        for atom in law.atoms:
            if atom.ratio1().is_zero() and not atom.ratio0().is_zero():
                return inf
        ratios = [(a.ratio0(), a.ratio1()) for a in law.atoms] + [(a(), b()) for a, b in law.singular]
        for r0, r1 in ratios:
            if not r1.is_zero() and not r0.is_zero():
                found = max(found, float_above((r0 / r1).log()))
    return found


def limit_divergence(law: Law, n: int) -> arb:
    """Return a ball around the limit of the divergence as eps grows: the mass that P0 has where P1 has none."""
    zero = [(a.mass(), a.ratio0()) for a in law.atoms if a.ratio1().is_zero()]
    rest = [a.mass() for a in law.atoms if not a.ratio1().is_zero()]
    hidden = (1 - total(rest)).max(arb(0)) ** (n - 1)
    revealed = total([a() for a, b in law.singular if b().is_zero()])
    return total([m * r for m, r in zero]) * hidden + revealed


def approximate_log_law(g: FloatGparv, n: int) -> float:
    """Return the saddle-point approximation of log(E[S_+]/n + singular part), good to a few per cent; -inf for zero."""
    value = -inf
    if g.is_positive:
        transform = Power(g, n)
        tilted = transform.tilted(saddle_tilt(transform))
        value = n * tilted.cumulants.k0 + log(gaussian_estimate(tilted)) - log(n) + g.log_unit
        value = min(max(value, g.log_mean), g.log_gain)
    return float(np.logaddexp(value, log(g.singular))) if g.singular > 0.0 else value


def estimate_epsilon(
    law: Law,
    n: int,
    log_delta: float,
    settings: Settings,
    start: float | None = None,
    log_value: Callable[[Level], float] | None = None,
) -> float:
    """Return an estimate of the eps at which the law has divergence delta: 0 if it has less at eps = 0.

    inf if the divergence stays above delta. ``log_value`` estimates its logarithm in place of a sum of this module's
    choice, for callers that keep what they have seen. Not a bound.
    """
    found = log_value or (lambda level: estimate_log_divergence(law, level, n, settings))
    top = largest_epsilon(law)
    if top == inf and log_of_ball(limit_divergence(law, n)) > log_delta:
        return inf
    return estimate_root(
        lambda eps: found(Level.of_float(eps)),
        lambda eps: approximate_log_law(quick_gparv(law, Level.of_float(eps)), n),
        n,
        log_delta,
        settings,
        top,
        start,
    )


def estimate_root(
    log_value: Callable[[float], float],
    log_rough: Callable[[float], float],
    n: int,
    log_delta: float,
    settings: Settings,
    top: float,
    start: float | None = None,
) -> float:
    """Return an estimate of the eps at which a falling curve, given by two estimates of its logarithm, is delta.

    0 if it is below delta at eps = 0; ``top`` is where it reaches 0, inf if nowhere. Not a bound.
    """

    def missed(log_value: Callable[[float], float]) -> Callable[[float], float]:
        return cache(lambda eps: (max(log_value(eps), _LOG_ZERO) if eps < top else _LOG_ZERO) - log_delta)

    value, rough = missed(log_value), missed(log_rough)
    tolerance = _SHARE_OF_GAP * settings.gap * min(1.0, -log_delta)  # close to delta = 1 all logarithms are small
    # A normal shape is assumed for the rough value: where there is none it may be far too low.
    if rough(0.0) < 1.0 and value(0.0) <= 0.0:
        return 0.0
    if n <= FEW or top == inf:
        return _bracketed(value, log_delta, top, tolerance)
    if start is None or not 0.0 < start < top or abs(rough(start)) > _ASTRAY:
        start = _bracketed(rough, log_delta, top, _ROUGH_TOLERANCE)
        if not 0.0 < start < top:
            return _bracketed(value, log_delta, top, tolerance)
    step = min(1e-4 * start, 0.5 * (top - start))
    slope = (rough(start - step) - rough(start + step)) / (2.0 * step)
    return falling_root(value, start, slope, top, tolerance)


def _bracketed(miss: Callable[[float], float], log_delta: float, top: float, tolerance: float) -> float:
    """Return where the curve is delta, by a bracket from 0 on; 0 or inf if nowhere."""
    low, high = 0.0, top if top < inf else 1.0
    if miss(low) <= 0.0:
        return 0.0
    while miss(high) > 0.0:
        if high > LARGEST_EPS:
            return inf
        low, high = high, 2.0 * high

    def bent(eps: float) -> float:
        """Return a number of the same sign that is nearly linear in eps where the curve is nearly normal; 0 if near."""
        height = min(max(-log_delta - miss(eps), 0.0), -_MOST_HEIGHT * log_delta)
        return sqrt(-log_delta) - sqrt(height) if abs(miss(eps)) > tolerance else 0.0

    return root_between(bent, low, high, rtol=_ACCURACY)  # just below the top the curve falls to zero


def falling_root(
    miss: Callable[[float], float],
    start: float,
    slope: float,
    top: float,
    tolerance: float,
    furthest: float = LARGEST_EPS,
) -> float:
    """Return where a decreasing function is about 0, in few evaluations: secant steps, the first with a given slope.

    inf if it is still positive at ``top`` or beyond the ``furthest`` place that matters. Floats: what is found is
    certified afterwards.
    """
    miss = cache(miss)  # estimates become rougher where work is spent, and ends must keep their signs
    x, value = start, miss(start)
    for _ in range(_STEPS):
        following = x + value / slope if slope > 0.0 else inf
        if not 0.0 < following < top:
            if abs(value) <= tolerance:
                return x
            break
        if (abs(value) <= _TRUSTED * tolerance and abs(following - x) <= _SHORT * x) or following == x:
            return following
        if abs(value) <= tolerance:
            return x
        there = miss(following)
        if there == inf:  # no more is asked of this bound
            return following
        steeper = (value - there) / (following - x)
        slope = steeper if isfinite(steeper) and steeper > 0.0 else slope
        x, value = following, there
    low = high = x
    closer, farther = 0.8, 1.25
    while miss(low) < 0.0:
        if low < 1e-300:
            return 0.0
        low, closer = closer * low, closer * closer
    while miss(high) > 0.0:
        if high >= top or high > furthest:
            return high if isfinite(top) else inf
        low, high, farther = high, min(farther * high, top), min(farther * farther, 2.0)
    if low == high:
        return low
    accuracy = max(_ACCURACY, _SHARE_OF_TOLERANCE * tolerance)  # where the function jumps over what it may miss
    return root_between(lambda x: miss(x) if abs(miss(x)) > tolerance else 0.0, low, high, rtol=accuracy)


def log_of(delta: fmpq) -> float:
    """Return log delta as a float, also far below the smallest double."""
    with at_precision(256):  # numbers close to 1 keep their digits
        return log_of_ball(arb(delta))


def log_of_ball(x: arb) -> float:
    """Return the logarithm of the middle of a nonnegative ball as a float, -inf for zero."""
    with at_precision(64):
        return float(x.mid().log()) if x.mid() > 0 else -inf
