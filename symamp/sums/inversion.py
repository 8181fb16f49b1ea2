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
_SHARE_OF_GAP, _SHARE_OF_TOLERANCE, _ACCURACY, _LEAST_ACCURACY = 0.02, 0.05, 1e-13, 1e-15
"""A value may miss log delta by so much of the gap; a bracket is narrowed, relatively, to so much of the tolerance in
log delta, where functions jump; and eps is found as closely as this where values are exact enough."""
_STEPS, _FAR_ABOVE = 8, 1.0
"""Secant steps before the root is bracketed instead, and how far above its aim, in the logarithm, none is promising."""
_MISS_OF_LAST_STEP, _MISS_WITHOUT_STEP = 1e-2, 1e-3
"""From so near in the logarithm a step is predicted rather than evaluated, and where eps cannot move it is taken."""
_MOST_BRACKETED, _ROUGH_ACCURACY, _STEEP_SHARE, _ASTRAY = 12, 1e-3, 1e-2, 5.0
"""Saddle points: of no use for so few users, solved so closely for a start, but as closely as can be in this last part
of the range, where the logarithm is steep; better than a start that they see so far from delta, in the logarithm."""
_JUMP, _JUMP_WIDTH, _MOST_HEIGHT = 5.0, 1e-4, 1e4
"""A fall by less than the first that stays while its bracket narrows by the second is a jump of the estimates, not the
curve; heights beyond so many times -log delta are cut off, so that a bracket is divided evenly."""
_LOG_ZERO = -1e300
"""Stands for the logarithm of zero: brackets need finite ends."""


def largest_epsilon(law: Law) -> float:
    """Return (a float near) the eps from which on the law has divergence 0; inf if there is none."""
    with at_precision(64):
        bounds = [0.0]
        for r0, r1 in [(a.ratio0(), a.ratio1()) for a in law.atoms] + [(a(), b()) for a, b in law.singular]:
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


def approximate_log_divergence(law: Law, eps: float, n: int) -> float:
    """Return the saddle-point approximation of log D_E, fast and good to a few per cent; -inf for zero."""
    return approximate_log_law(quick_gparv(law, Level.of_float(eps)), n)


def approximate_log_law(g: FloatGparv, n: int) -> float:
    """Return the saddle-point approximation of log(E[S_+]/n + singular part); -inf for zero."""
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
        lambda eps: approximate_log_divergence(law, eps, n),
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
    accuracy: float = _ACCURACY,
) -> float:
    """Return an estimate of the eps at which a falling curve, given by two estimates of its logarithm, is delta.

    0 if it is below delta at eps = 0; ``top`` is where it reaches 0, inf if nowhere. ``accuracy`` is that of eps, as
    far as the values allow. Not a bound.
    """

    value, rough = (_Falling(f, log_delta, top, _SHARE_OF_GAP * settings.gap) for f in (log_value, log_rough))
    # A normal shape is assumed for the rough value: where there is none it may be far too low.
    if rough.miss(0.0) < 1.0 and value.miss(0.0) <= 0.0:
        return 0.0
    if n <= _MOST_BRACKETED or top == inf:
        return _bracketed(value, accuracy)
    if start is None or not 0.0 < start < top or abs(rough.miss(start)) > _ASTRAY:
        start = _bracketed(rough, accuracy=_ROUGH_ACCURACY)
        if start > (1.0 - _STEEP_SHARE) * top:
            start = _bracketed(rough)
        if not 0.0 < start < top:
            return _bracketed(value)
    return _polished(value, rough, start, top, settings.gap, accuracy)


class _Falling:
    """The logarithm of a falling curve less log delta; evaluated once for each eps, and known to vanish at its end."""

    def __init__(self, log_value: Callable[[float], float], log_delta: float, top: float, enough: float) -> None:
        self._log_value, self.log_delta, self._enough = log_value, log_delta, enough
        self._known: dict[float, float] = {top: _LOG_ZERO}
        self._narrow = inf, inf

    def miss(self, eps: float) -> float:
        if eps not in self._known:
            self._known[eps] = max(self._log_value(eps), _LOG_ZERO) - self.log_delta
        return self._known[eps]

    def bracket(self) -> tuple[float, float]:
        """Return the ends between which the sign changes, of what is known."""
        low = max((eps for eps, value in self._known.items() if value > 0.0), default=0.0)
        return low, min((eps for eps, value in self._known.items() if value <= 0.0 and eps > low), default=inf)

    def bent(self, eps: float) -> float:
        """Return a number of the same sign that is nearly linear in eps where the curve is nearly normal; 0 if near.

        0, too, at a jump, which estimates have where they change from one kind of sum to another.
        """
        if abs(self.miss(eps)) < self._enough or self._jumps():
            return 0.0
        height = max(-self.log_delta - self.miss(eps), 0.0)
        return sqrt(-self.log_delta) - sqrt(min(height, -_MOST_HEIGHT * self.log_delta))

    def _jumps(self) -> bool:
        """Return whether the bracket has become much narrower, and what the curve falls in it hardly less."""
        low, high = self.bracket()
        width, fall = high - low, self._known.get(low, inf) - self._known.get(high, -inf)
        if not fall < _JUMP or fall < 0.5 * self._narrow[1]:
            self._narrow = width, fall
        return width < _JUMP_WIDTH * self._narrow[0]


def _bracketed(curve: _Falling, accuracy: float = _ACCURACY) -> float:
    miss, (low, high) = curve.miss, curve.bracket()
    if low == 0.0 and miss(low) <= 0.0:
        return 0.0
    if high == inf:
        high = max(1.0, 2.0 * low)
    while miss(high) > 0.0:
        if high > LARGEST_EPS:
            return inf
        low, high = high, 2.0 * high
    # A root far below the bracket is found to an absolute accuracy only: it is a guess, and is certified afterwards.
    return root_between(curve.bent, low, high, xtol=1e-18 * high, rtol=max(accuracy, _LEAST_ACCURACY))


def _polished(curve: _Falling, rough: _Falling, start: float, top: float, gap: float, accuracy: float) -> float:
    """Secant steps whose first slope comes from the rough curve; falls back to bracketing."""
    miss, step = curve.miss, min(1e-4 * start, 0.5 * (top - start))
    slope = (rough.miss(start + step) - rough.miss(start - step)) / (2.0 * step)
    eps, value = start, miss(start)
    for _ in range(_STEPS):
        if abs(value) < _SHARE_OF_GAP * gap:
            return eps
        if not slope < 0.0:
            break
        following = eps - value / slope
        if not 0.0 < following < top:
            break
        if following == eps:
            if abs(value) < _MISS_WITHOUT_STEP:
                return eps
            break
        next_value = miss(following)
        former, slope = slope, (next_value - value) / (following - eps)
        eps, value = following, next_value
        # What a further step would leave: the share by which the slope has changed, of what is left now.
        if (
            slope < 0.0
            and abs(value) < _MISS_OF_LAST_STEP
            and abs(value * (1.0 - former / slope)) < _SHARE_OF_GAP * gap
        ):
            return min(max(eps - value / slope, 0.0), top)
    return _bracketed(curve, accuracy)


def falling_root(
    miss: Callable[[float], float],
    start: float,
    slope: float,
    top: float,
    tolerance: float,
    known: Callable[[float], float] = lambda _: inf,
    furthest: float = LARGEST_EPS,
) -> float:
    """Return where a decreasing function is about 0, in few evaluations: secant steps, the first with a given slope.

    inf if it is still positive at ``top`` or beyond the ``furthest`` place that matters. Where steps fail, or begin far
    from the root, ``known`` is asked for a place beyond which no root is wanted; it is returned where the function is
    positive there. Floats: what is found is certified afterwards.
    """
    miss = cache(miss)  # estimates become rougher where work is spent, and ends must keep their signs
    x, value = start, miss(start)
    end = known(x) if value > _FAR_ABOVE else inf
    if end <= x or (end < top and miss(end) > 0.0):
        return end
    top = min(top, end)
    for _ in range(_STEPS):
        if abs(value) <= tolerance:
            return x
        following = x + value / slope
        if not 0.0 < following < top or following == x:
            break
        there = miss(following)
        if there == inf:  # no more is asked of this bound
            return following
        steeper = (value - there) / (following - x)
        slope = steeper if isfinite(steeper) and steeper > 0.0 else slope
        x, value = following, there
    low = high = x
    while miss(low) < 0.0:
        if low < 1e-300:
            return 0.0
        low *= 0.8
    if value > 0.0:
        end = known(x)
        if end <= x or (end < top and miss(end) > 0.0):
            return end
        top = min(top, end)
    while miss(high) > 0.0:
        if high >= top or high > furthest:
            return high if isfinite(top) else inf
        high = min(1.25 * high, top)
    if low == high:
        return low

    def coarse(eps: float) -> float:
        found = miss(eps)
        return 0.0 if abs(found) <= tolerance else found

    return root_between(coarse, low, high, rtol=max(_ACCURACY, _SHARE_OF_TOLERANCE * tolerance))


def log_of(delta: fmpq) -> float:
    """Return log delta as a float, also far below the smallest double."""
    with at_precision(256):  # numbers close to 1 keep their digits
        return log_of_ball(arb(delta))


def log_of_ball(x: arb) -> float:
    """Return the logarithm of the middle of a nonnegative ball as a float, -inf for zero."""
    with at_precision(64):
        return float(x.mid().log()) if x.mid() > 0 else -inf
