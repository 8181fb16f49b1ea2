"""The divergence of a data set of two-message reports: a count of ones, the sum of a few binomials, for any n.

P(B = k - 1) and P(B >= k) are one sum over equidistant frequencies under a tilt. Few frequencies matter, whatever n is;
what the rest and the wrap-around bring is bounded in balls (docs/proofs/two_messages.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, inf, log, log1p, sqrt
from typing import Any

import numpy as np
from flint import acb, arb

from symamp.evaluation.counts_plan import CountPlan
from symamp.evaluation.gparv import Floats
from symamp.evaluation.law import total
from symamp.evaluation.tilted_balls import power

_NEAR = range(-2, 3)
"""Thresholds tried around the guess: the mode of a sum of Bernoulli variables is within 1 of its mean."""
_LARGEST_TILT, _LARGEST, _MARGIN = 300.0, 1e300, 8.0
_SHIFTS = np.geomspace(0.25, 32.0, 15)


@dataclass(frozen=True)
class Victim:
    """The victim's gain g1 = P0(1) - E P1(1) > 0 at the message 1 and E - 1, as balls."""

    gain: arb
    minus_one: arb


@dataclass(frozen=True)
class Group:
    """So many users who send the message 1 with the probability ``one``."""

    one: arb
    users: int


class FloatCounts:
    """The divergence in floats: for the search over data sets, and for the plans of balls."""

    def __init__(self, gain: float, minus_one: float, ones: Sequence[float], zeros: Sequence[float]) -> None:
        self.gain, self.minus_one = gain, min(minus_one, _LARGEST)
        self._ones, self._zeros = np.array(ones), np.array(zeros)
        self.tilt = min(log1p(minus_one / gain), _LARGEST_TILT) if gain > 0.0 else _LARGEST_TILT

    def log_divergence(self, users: Sequence[int], gap: float = 1e-9) -> float:
        """Return an estimate of log D for groups of so many users; -inf if floats do not see it. Not a bound."""
        return self.planned(users, gap)[1]

    def planned(self, users: Sequence[int], gap: float) -> tuple[CountPlan, float]:
        """Return a plan for a relative accuracy of about ``gap``, and the estimate of log D."""
        counts = np.array(users, dtype=float)
        m = int(sum(users))
        share = self._shares(self.tilt)
        deviation = sqrt(max(float(counts @ (share * (1.0 - share))), 0.0))
        theta = max(self.tilt, 1.0 / max(deviation, 1.0))
        k = min(max(round(float(counts @ share) + 0.5), 1), m + 1)
        scale = self._cumulant(counts, theta) - (k - 1) * theta
        width = max(deviation, 1.0)
        log_size = scale + log(self.gain) - log(3.0 * width) - log1p((width * theta) ** 2)
        tolerance = log(min(gap, 1.0 / width**2)) - _MARGIN
        size = log_size - scale + tolerance - log(self.gain + self.minus_one)
        further, right = self._period(counts, theta, theta + _SHIFTS / width, k, size)
        nearer, left = self._period(counts, theta, np.maximum(theta - _SHIFTS / width, 0.0), k, size)
        period = max(left, min(right, m + 4), 3) | 1
        share = self._shares(theta)
        variance = float(counts @ (share * (1.0 - share)))
        needed = -(tolerance - 2.0 * log(width * theta + 1.0)) + 2.0
        reach = np.pi if needed >= 2.0 * variance else 2.0 * np.arcsin(sqrt(0.5 * needed / variance))
        last = min(ceil(period * reach / (2.0 * np.pi)), (period - 1) // 2)
        plan = CountPlan(k, theta, nearer, further, period, last)
        return self._with_best(plan, counts, share, scale, m)

    def _with_best(
        self, plan: CountPlan, counts: Floats, share: Floats, scale: float, m: int
    ) -> tuple[CountPlan, float]:
        u = 2.0 * np.pi / plan.period * np.arange(plan.last + 1)
        sine, half = np.sin(u), np.sin(0.5 * u) ** 2
        modulus, phase = np.zeros_like(u), (float(counts @ share) - (plan.k - 1)) * u
        for c, w in zip(counts, share, strict=True):
            modulus += 0.5 * c * np.log1p(np.maximum(-4.0 * w * (1.0 - w) * half, -1.0 + 1e-300))
            phase += c * (np.arctan2(w * sine, 1.0 - 2.0 * w * half) - w * u)
        s = plan.theta + 1j * u
        terms = np.exp(modulus + 1j * phase) * (2.0 / plan.period)
        terms[0] *= 0.5
        with np.errstate(all="ignore"):  # what overflows is no number, and is left out
            value = float(((self.gain - self.minus_one / np.expm1(s)) * terms).real.sum())
            terms *= self.gain - (self.gain + self.minus_one) * np.exp(-s)
            steps = [float((np.exp(-i * s) * terms).real.sum()) for i in _NEAR]
        values = _around(value, steps)
        best = max(
            ((v, -abs(i), i) for i, v in values.items() if 1 <= plan.k + i <= m + 1 and v > 0.0), default=(0.0, 0, 0)
        )
        found = replace(plan, k=plan.k + best[2])
        return found, scale + log(best[0]) if best[0] > 0.0 else -inf

    def _period(self, counts: Floats, theta: float, tilts: Floats, k: int, log_size: float) -> tuple[float, int]:
        """Return a tilt and the period from which Chernoff's bound there is below a size in units of scale."""
        base = self._cumulant(counts, theta)
        excess = [self._cumulant(counts, t) - base - (t - theta) * (k - 1) + 3.0 * t for t in tilts]
        periods = (np.array(excess) - log_size) / np.abs(tilts - theta)
        best = int(np.nanargmin(periods))
        return float(tilts[best]), max(ceil(float(periods[best])), 1)

    def _cumulant(self, counts: Floats, theta: float) -> float:
        if theta > 30.0:
            return float(counts @ (theta + np.log(self._ones + self._zeros * exp(-theta))))
        return float(counts @ np.log1p(self._ones * np.expm1(theta)))

    def _shares(self, theta: float) -> Floats:
        return np.asarray(self._ones / (self._ones + self._zeros * exp(-theta)))


def _around(value: Any, steps: Sequence[Any]) -> dict[int, Any]:
    """Return {i: F(k + i)} from F(k) and the steps h(k + i) = F(k + i) - F(k + i + 1)."""
    found = {0: value}
    for i in range(_NEAR.stop):
        found[i + 1] = found[i] - steps[i - _NEAR.start]
    for i in range(0, _NEAR.start, -1):
        found[i - 1] = found[i] + steps[i - 1 - _NEAR.start]
    return found


def enclosed_divergence(victim: Victim, groups: Sequence[Group], plan: CountPlan) -> tuple[arb, arb]:
    """Return balls (lower, upper) around the divergence of the count of ones for this data set of the other users.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose D for every plan with
    0 <= nearer < theta < further, odd period and 0 <= last <= period/2. Proof: docs/proofs/two_messages.md.
    """
    values, steps = _sums(victim, groups, plan)
    m = sum(g.users for g in groups)
    low = next((i for i in range(0, _NEAR.start, -1) if plan.k + i <= 1 or steps[i - 1] <= 0), None)
    high = next((i for i in range(_NEAR.stop) if plan.k + i > m or steps[i] >= 0), None)
    reached = range(0 if low is None else low, (0 if high is None else high) + 1)
    below = above = arb(0)
    for i in reached:
        below, above = below.max(values[i].lower()), above.max(values[i].upper())
    if low is None or high is None:
        above = victim.gain
    return below, above.min(victim.gain)


def _sums(victim: Victim, groups: Sequence[Group], plan: CountPlan) -> tuple[dict[int, arb], dict[int, arb]]:
    """Return {i: F(k + i)} and {i: h(k + i)}."""
    theta, period, k = arb(plan.theta), plan.period, plan.k
    gain, minus_one = victim.gain, victim.minus_one
    loss, inverse = gain + minus_one, (-theta).exp()
    shares = [g.one / (g.one + (1 - g.one) * inverse) for g in groups]
    value, steps = acb(0), [acb(0) for _ in _NEAR]
    for j in range(plan.last + 1):
        u = 2 * arb.pi() * j / period
        sine, cosine = u.sin_cos()
        turn = acb(cosine, -sine)
        term = turn ** (k - 1) * (1 if j else arb(1) / 2)
        for g, w in zip(groups, shares, strict=True):
            term *= power(1 + w * acb(cosine - 1, sine), g.users)
        shrink = turn * inverse  # e^(-s)
        value += term * (gain - minus_one * shrink / (1 - shrink))
        term *= (gain - loss * shrink) / shrink**-_NEAR.start
        for i in range(len(steps)):
            steps[i] += term
            term *= shrink
    scale = 2 / arb(period) * inverse ** (k - 1)
    for g in groups:
        scale *= (1 + g.one * theta.expm1()) ** g.users
    # What the other frequencies and the wrap-around bring, on either side.
    hidden, either = scale * unseen(groups, shares, plan), arb(0, 1)
    left, right = (Wrapped.of(groups, plan, tilt) for tilt in (plan.nearer, plan.further))
    most = sum(g.users for g in groups) - period
    around = hidden * (gain + minus_one * inverse / (1 - inverse)) + left.bound(k - 1) * loss
    around += right.bound(k - 1) * loss if k - 1 <= most else 0
    enclosed = []
    for i, step in zip(_NEAR, steps, strict=True):
        wrapped = left.bound(k + i - 1) if k + i >= period else arb(0)
        wrapped += right.bound(k + i - 1) if k + i - 1 <= most else 0
        enclosed.append(scale * step.real + (hidden * inverse**i + wrapped) * (gain + loss) * either)
    return _around(scale * value.real + around * either, enclosed), dict(zip(_NEAR, enclosed, strict=True))


@dataclass(frozen=True)
class Wrapped:
    """Chernoff's bound on the sum over r > 0 of e^(theta r N) P(B >= first + r N), or over r < 0 of the same.

    A tilt above theta is for r > 0; one from 0 to below theta is for r < 0.
    """

    size: arb
    tilt: arb

    @staticmethod
    def of(groups: Sequence[Group], plan: CountPlan, tilt: float) -> Wrapped:
        """Return the bound with this tilt."""
        ratio = (-abs(arb(plan.theta) - arb(tilt)) * plan.period).exp()
        size = ratio / (1 - ratio)
        for g in groups:
            size *= (1 + g.one * arb(tilt).expm1()) ** g.users
        return Wrapped(size, arb(tilt))

    def bound(self, first: arb | int) -> arb:
        """Return the bound for a threshold."""
        return self.size * (-self.tilt * first).exp()


def unseen(groups: Sequence[Group], shares: Sequence[arb], plan: CountPlan) -> arb:
    """Return a bound on the sum of |phi| over the frequencies last < j <= period/2: blocks that double."""
    variance = total([g.users * w * (1 - w) for g, w in zip(groups, shares, strict=True)])
    first, end, result = plan.last + 1, plan.period // 2, arb(0)
    while first <= end:
        upto = min(2 * first - 1, end)
        result += (upto - first + 1) * (-2 * variance * (arb.pi() * first / plan.period).sin() ** 2).exp()
        first = upto + 1
    return result
