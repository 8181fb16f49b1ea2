"""Reports of two messages: the largest divergence over all data sets, by boxes of counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import asin, ceil, exp, inf, log, log1p, pi, sqrt
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb

from symamp.laws.law import Floats, Level, Number, total
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Enclosure, Settings, starting_precision
from symamp.sums.kernels.balls import power

# ---------------------------------------- From what an evaluation of two-message reports can be repeated: plain numbers


@dataclass(frozen=True)
class CountPlan:
    """Threshold k, tilt theta, period N (odd), frequencies 0..J; tilts on either side that bound the wrap-around."""

    k: int
    theta: float
    nearer: float
    further: float
    period: int
    last: int


@dataclass(frozen=True)
class Box:
    """The data sets with ``first`` to ``last`` of the other users at the largest probability, all others at the least.

    ``plan`` evaluates the data set of all users that these have in common, or the spread bound.
    """

    first: int
    last: int
    plan: CountPlan
    spread: bool = False


@dataclass(frozen=True)
class CountsEvidence:
    """Boxes that cover all data sets; or the ``counts`` of one at the most and the least probable, and its only box."""

    boxes: tuple[Box, ...]
    counts: tuple[int, int] | None = None


# ---------- The divergence of a data set of two-message reports: a count of ones, the sum of a few binomials, for any n

# P(B = k - 1) and P(B >= k) are one sum over equidistant frequencies under a tilt. Few frequencies matter, whatever n
# is; what the rest and the wrap-around bring is bounded in balls (docs/proofs/two_messages.md).

# What is tuned of both parts: every plan and every cover by boxes gives a bound; these trade time against width. Where
# nothing is said of how a number was chosen, it is a rule of thumb.
_THRESHOLDS = range(-2, 3)
"""Thresholds tried around the guess: the mode of a sum of Bernoulli variables is within 1 of its mean."""
_EVALUATION_GAP, _SHARE_OF_WIDTH, _MARGIN = 1e-9, 1e-3, 8.0
"""Relative accuracy in delta of one data set; that of a box, as a part of how far it may lie above the largest; and how
far below it, in the logarithm, what a plan leaves out lies."""
_SHIFTS = np.geomspace(0.25, 32.0, 15)
"""Shifts of the tilt, in inverse deviations, at which the period of the frequencies is sought: a short one is quick."""
_LARGEST_TILT, _LARGE_TILT, _LARGEST_DOUBLE = 300.0, 30.0, 1e300
"""Doubles do not go beyond the first and the last; from the second on logarithms are taken of what is left over."""
_PIECES, _FEW_PIECES, _WIDE = 16, 12, 1e-3
"""Into so many pieces the thresholds within 1 of the tilted mean are cut: time against the width of one box. Fewer are
enough where boxes may be wider than the last number."""
BOX_GAP, _SHARE_OF_GAP, _MOST_BOXES, _FEW_BOXES = 5e-5, 0.9, 1000, 64
"""Relative accuracy in delta of the boxes: what a box may lie above the largest divergence found, and more, up to a
share of the gap, where a wide one is asked for; and how many there are before wider ones are taken, fewer where they
may be wide."""
_NARROWER = 2.0
"""By so much the spread bound is expected to come nearer to the truth on half of a box."""
_NEIGHBOURS, _GRID, _MOST_LISTED = 4, 8, 64
"""Compositions tried for the largest divergence: so many beside either end and beside the best, a grid of so many
steps, and all of them where there are few."""


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
        self.gain, self.minus_one = gain, min(minus_one, _LARGEST_DOUBLE)
        self._chances = tuple(zip(ones, zeros, strict=True))
        self.tilt = min(log1p(minus_one / gain), _LARGEST_TILT) if gain > 0.0 else _LARGEST_TILT

    def log_divergence(self, users: Sequence[int], gap: float = _EVALUATION_GAP) -> float:
        """Return an estimate of log D for groups of so many users; -inf if floats do not see it. Not a bound."""
        return self.planned(users, gap)[1]

    def planned(self, users: Sequence[int], gap: float) -> tuple[CountPlan, float]:
        """Return a plan for a relative accuracy of about ``gap``, and the estimate of log D."""
        groups = [(c, p, q) for c, (p, q) in zip(users, self._chances, strict=True) if c]
        m = sum(users)
        mean, variance = _moments(groups, self.tilt)
        width = max(sqrt(variance), 1.0)
        theta = max(self.tilt, 1.0 / width)
        k = min(max(round(mean + 0.5), 1), m + 1)
        tilts = np.concatenate([[theta], theta + _SHIFTS / width, np.maximum(theta - _SHIFTS / width, 0.0)])
        heights = _cumulants(groups, tilts) - (k - 1) * tilts
        scale = float(heights[0])
        log_size = log(self.gain) - log(3.0 * width) - log1p((width * theta) ** 2)
        tolerance = log(min(gap, 1.0 / width**2)) - _MARGIN
        size = log_size + tolerance - log(self.gain + self.minus_one)
        # Periods from which Chernoff's bound at a tilt is below the size, in units of scale.
        with np.errstate(all="ignore"):
            periods = (heights - scale + 3.0 * tilts - size) / np.abs(tilts - theta)
        periods, tilts = (x[1:].reshape(2, -1) for x in (np.where(np.isnan(periods), inf, periods), tilts))
        further, nearer = (float(t[i]) for t, i in zip(tilts, periods.argmin(axis=1), strict=True))
        right, left = (max(ceil(x), 1) for x in periods.min(axis=1).tolist())
        period = max(left, min(right, m + 4), 3) | 1
        variance = _moments(groups, theta)[1]
        needed = -(tolerance - 2.0 * log(width * theta + 1.0)) + 2.0
        reach = pi if needed >= 2.0 * variance else 2.0 * asin(sqrt(0.5 * needed / variance))
        last = min(ceil(period * reach / (2.0 * pi)), (period - 1) // 2)
        plan = CountPlan(k, theta, nearer, further, period, last)
        return self._with_best(plan, groups, scale, m)

    def _with_best(self, plan: CountPlan, groups: FloatGroups, scale: float, m: int) -> tuple[CountPlan, float]:
        u = 2.0 * pi / plan.period * np.arange(plan.last + 1)
        s = plan.theta + 1j * u
        sine, half, logs = np.sin(u), np.sin(0.5 * u) ** 2, -1j * (plan.k - 1) * u
        for c, p, q in groups:  # from differences, for many users multiply what is rounded
            w = p / (p + q * exp(-plan.theta))
            logs += c * (0.5 * np.log1p(np.maximum(-4.0 * w * (1.0 - w) * half, -1.0 + 1e-300)))
            logs += 1j * c * np.arctan2(w * sine, 1.0 - 2.0 * w * half)
        terms = np.exp(logs) * (2.0 / plan.period)
        terms[0] *= 0.5
        with np.errstate(all="ignore"):  # what overflows is no number, and is left out
            value = float(((self.gain - self.minus_one / np.expm1(s)) * terms).real.sum())
            terms *= self.gain - (self.gain + self.minus_one) * np.exp(-s)
            steps = (np.exp(np.outer(-s, _THRESHOLDS)).T @ terms).real.tolist()
        values = _around(value, steps)
        best = max(
            ((v, -abs(i), i) for i, v in values.items() if 1 <= plan.k + i <= m + 1 and v > 0.0), default=(0.0, 0, 0)
        )
        found = replace(plan, k=plan.k + best[2])
        return found, scale + log(best[0]) if best[0] > 0.0 else -inf


FloatGroups = Sequence[tuple[int, float, float]]
"""Users, and the chances of a one and of a zero."""


def _moments(groups: FloatGroups, theta: float) -> tuple[float, float]:
    """Return mean and variance of the number of ones under a tilt."""
    shares = [(c, p / (p + q * exp(-theta))) for c, p, q in groups]
    return sum(c * w for c, w in shares), sum(c * w * (1.0 - w) for c, w in shares)


def _cumulants(groups: FloatGroups, tilts: Floats) -> Floats:
    if tilts.max() > _LARGE_TILT:
        return np.asarray(sum(c * (tilts + np.log(p + q * np.exp(-tilts))) for c, p, q in groups))
    return np.asarray(sum(c * np.log1p(p * np.expm1(tilts)) for c, p, _ in groups))


def _around(value: Any, steps: Sequence[Any]) -> dict[int, Any]:
    """Return {i: F(k + i)} from F(k) and the steps h(k + i) = F(k + i) - F(k + i + 1)."""
    found = {0: value}
    for i in range(_THRESHOLDS.stop):
        found[i + 1] = found[i] - steps[i - _THRESHOLDS.start]
    for i in range(0, _THRESHOLDS.start, -1):
        found[i - 1] = found[i] + steps[i - 1 - _THRESHOLDS.start]
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
    low = next((i for i in range(0, _THRESHOLDS.start, -1) if plan.k + i <= 1 or steps[i - 1] <= 0), None)
    high = next((i for i in range(_THRESHOLDS.stop) if plan.k + i > m or steps[i] >= 0), None)
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
    value, steps = acb(0), [acb(0) for _ in _THRESHOLDS]
    for j in range(plan.last + 1):
        u = 2 * arb.pi() * j / period
        sine, cosine = u.sin_cos()
        turn = acb(cosine, -sine)
        term = turn ** (k - 1) * (1 if j else arb(1) / 2)
        for g, w in zip(groups, shares, strict=True):
            term *= power(1 + w * acb(cosine - 1, sine), g.users)
        shrink = turn * inverse  # e^(-s)
        value += term * (gain - minus_one * shrink / (1 - shrink))
        term *= (gain - loss * shrink) / shrink**-_THRESHOLDS.start
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
    for i, step in zip(_THRESHOLDS, steps, strict=True):
        wrapped = left.bound(k + i - 1) if k + i >= period else arb(0)
        wrapped += right.bound(k + i - 1) if k + i - 1 <= most else 0
        enclosed.append(scale * step.real + (hidden * inverse**i + wrapped) * (gain + loss) * either)
    return _around(scale * value.real + around * either, enclosed), dict(zip(_THRESHOLDS, enclosed, strict=True))


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


# --- A bound for many compositions at once: the count's divergence as a smooth function of composition and threshold

# Removing users costs a factor e^(1/n) each, too much where all compositions are nearly equal, as they are for many
# users. Here their number stays: what changes along the box is bounded by a derivative (docs/proofs/two_messages.md).


@dataclass(frozen=True)
class Range:
    """The data sets with ``first`` to ``last`` of ``users`` others at one probability, all others at another."""

    first: int
    last: int
    users: int

    @property
    def ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The compositions at both ends."""
        return (self.first, self.users - self.first), (self.last, self.users - self.last)


def spread_bound(victim: Victim, ones: tuple[arb, arb], box: Range, plan: CountPlan, pieces: int = _PIECES) -> arb:
    """Return a ball whose upper end bounds the divergence of every data set of the range.

    ``ones`` are the two probabilities of the message 1. ``plan`` is that of one of the data sets; its threshold is not
    used.

    Guarantee
    ---------
    The upper end is at least D for every composition of the range, for every plan with 0 <= nearer < theta < further,
    odd period and 0 <= last <= period/2. Proof: docs/proofs/two_messages.md.
    """
    theta, period, length = arb(plan.theta), plan.period, box.last - box.first
    gain, minus_one = victim.gain, victim.minus_one
    own = [p / (p + (1 - p) * gain / (gain + minus_one)) for p in ones]  # tilted to where the steps change sign
    middle, slope = box.first * own[0] + (box.users - box.first) * own[1], own[0] - own[1]
    inverse = (-theta).exp()
    shares = [p / (p + (1 - p) * inverse) for p in ones]
    cumulants = [(1 + p * theta.expm1()).log() for p in ones]
    drift = cumulants[0] - cumulants[1] - slope * theta
    # Rows: the sum at either end of the box, its derivative along the box, and in the threshold; columns: thresholds
    # within 1 of the mean. x goes from 0 to the length, y from -half to half about each.
    half, along = arb(1) / pieces, arb(length) / 2
    terms, powers, anywhere = list[list[acb]](), list[list[acb]](), arb(0, 1)
    for j in range(plan.last + 1):
        u = 2 * arb.pi() * j / period
        sine, cosine = u.sin_cos()
        s, shrink = acb(theta, u), acb(cosine, -sine) * inverse
        logs = [(1 + w * acb(cosine - 1, sine)).log() for w in shares]
        rate = logs[0] - logs[1] + drift - acb(0, slope * u)
        term = (box.first * logs[0] + (box.users - box.first) * logs[1] - acb(0, middle * u)).exp()
        term *= (gain - minus_one * shrink / (1 - shrink)) * (1 if j else arb(1) / 2)
        all_x = (rate * (along + along * anywhere)).exp() * (s * (half * anywhere)).exp()
        terms.append([term, term * (rate * length).exp(), term * all_x * rate, term * all_x * s])
        here, further = (s * (1 - half)).exp(), (-2 * s * half).exp()
        powers.append([here := here * further if i else here for i in range(pieces)])
    largest = arb(0)
    for column in (acb_mat(terms).transpose() * acb_mat(powers)).transpose().tolist():
        here, there, steepness, turn = (x.real for x in column)
        from_left = here.upper() + length * steepness.upper().max(arb(0))
        from_right = there.upper() + length * (-steepness).upper().max(arb(0))
        largest = largest.max(from_left.min(from_right) + half * abs(turn).upper())
    scale = (box.first * cumulants[0] + (box.users - box.first) * cumulants[1] - middle * theta).exp()
    # From here on bounds that hold for all compositions and thresholds: logarithms are linear in the composition.
    most = scale * (1 + (length * drift).exp()) * theta.exp()
    rest, wrapped = arb(0), arb(0)
    for counts in box.ends:
        groups = [Group(p, c) for p, c in zip(ones, counts, strict=True)]
        rest = rest.max(unseen(groups, shares, plan))
        mean = sum((c * p for c, p in zip(counts, own, strict=True)), arb(0))
        around = [Wrapped.of(groups, plan, tilt).bound(mean - 1) for tilt in (plan.nearer, plan.further)]
        wrapped = wrapped.max(2 * around[0].max(around[1]))
    result = 2 * scale / period * largest + 2 * most / period * rest * (gain + minus_one * inverse / (1 - inverse))
    return result + wrapped * (gain + minus_one)


# ------------------------------- Reports of two messages: the largest divergence over all data sets, by boxes of counts

EVALUATOR = "counts of messages"
Counts = tuple[int, int]
"""How many of the other users send the message 1 with the largest, and with the least probability."""


@dataclass(frozen=True)
class TwoMessages:
    """P(message 1) under x0, under x1, and the largest and the least of all inputs; the first is above the second."""

    first: Number
    second: Number
    most: Number
    least: Number

    def victim(self, level: Level) -> Victim:
        """Return P0(1) - E P1(1) and E - 1 in balls."""
        minus_one, second = level.exponential_minus_one(), self.second()
        return Victim(self.first() - second - minus_one * second, minus_one)

    def groups(self, counts: Counts) -> list[Group]:
        """Return the other users in balls."""
        return [Group(p(), users) for p, users in zip((self.most, self.least), counts, strict=True) if users]


def enclose_two_messages(reports: TwoMessages, level: Level, n: int, settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of the largest divergence over all data sets of the other n - 1 users, for this pair.

    Guarantee
    ---------
    For every choice of inputs of the others D_E is at most ``upper.upper()``; for the data set of ``worst_counts``
    it is at least ``lower.lower()``. The evidence has boxes that cover all data sets.
    Proof: docs/proofs/two_messages.md.
    """
    bits = starting_precision(n, (settings or Settings()).gap) + 32
    with at_precision(bits):
        victim = reports.victim(level)
        if not victim.gain > 0:
            return Enclosure(arb(0), victim.gain.max(arb(0)), "no positive value", bits)
        width = max(BOX_GAP, _SHARE_OF_GAP * (settings or Settings()).gap)
        search = _Search.of(reports, level, n)
        if not search.floats.gain > 0.0:  # doubles do not see it
            return Enclosure(arb(0), victim.gain, "one user", bits)
        counts, _ = search.best
        planned = search.floats.planned(counts, _EVALUATION_GAP)
        lower, _ = enclosed_divergence(victim, reports.groups(counts), planned[0])
        cover = _Cover(reports, victim, search, n, width)
        evidence = CountsEvidence(tuple(cover.boxes))
        return Enclosure(lower, cover.upper, EVALUATOR, bits, evidence=evidence)


def enclose_counts(reports: TwoMessages, level: Level, n: int, counts: Counts) -> Enclosure:
    """Return an enclosure of the divergence of one data set: so many of the others at either probability.

    Guarantee
    ---------
    The divergence lies between the outer ends. Proof: docs/proofs/two_messages.md.
    """
    bits = starting_precision(n, _EVALUATION_GAP) + 32
    with at_precision(bits):
        victim = reports.victim(level)
        if not victim.gain > 0:
            return Enclosure(arb(0), victim.gain.max(arb(0)), "no positive value", bits)
        floats = _Search.of(reports, level, n).floats
        if not floats.gain > 0.0:
            return Enclosure(arb(0), victim.gain, "one user", bits)
        plan, _ = floats.planned(counts, _EVALUATION_GAP)
        evidence = CountsEvidence((Box(counts[0], counts[0], plan),), counts)
        ends = enclosed_divergence(victim, reports.groups(counts), plan)
        return Enclosure(*ends, EVALUATOR, bits, evidence=evidence)


def worst_counts(reports: TwoMessages, level: Level, n: int) -> tuple[Counts, float]:
    """Return the counts with the largest divergence found, and an estimate of its logarithm; -inf for zero."""
    return _Search.of(reports, level, n).best


def log_divergence_of_counts(reports: TwoMessages, level: Level, counts: Counts) -> float:
    """Return an estimate of the logarithm of the divergence of one data set; -inf for zero. Not a bound."""
    return _Search.of(reports, level, sum(counts) + 1).at(counts)


class _Search:
    """The divergence of every composition of n - 1 users, in floats, and what is searched among them."""

    def __init__(self, floats: FloatCounts, n: int) -> None:
        self.floats, self._others = floats, n - 1
        self._value = lru_cache(maxsize=None)(self.at)
        self._best: tuple[Counts, float] | None = None

    @staticmethod
    def of(reports: TwoMessages, level: Level, n: int) -> _Search:
        with at_precision(128):
            victim = reports.victim(level)
            ones = [reports.most(), reports.least()]
            gain = float(victim.gain) if victim.gain > 0 else 0.0
            known = tuple(float(p) for p in ones), tuple(float(1 - p) for p in ones)
            return _search(gain, float(victim.minus_one), *known, n)

    def at(self, counts: Counts) -> float:
        """Return an estimate of log D; -inf for zero, that of one user where doubles do not see more."""
        if not self.floats.gain > 0.0:
            return -inf
        value = self.floats.log_divergence(counts)
        return value if value > -inf else log(self.floats.gain)

    @property
    def best(self) -> tuple[Counts, float]:
        """The best composition found: a grid, then steps that halve, then its neighbours."""
        if self._best is None:
            m = self._others
            some = {c for i in range(_NEIGHBOURS) for c in (i, m - i)} | {m * i // _GRID for i in range(_GRID + 1)}
            some |= set(range(m + 1 if m <= _MOST_LISTED else 0))
            c = max((x for x in some if 0 <= x <= m), key=self._of)
            step = m // _GRID
            while step:
                c, before = max((x for x in (c - step, c, c + step) if 0 <= x <= m), key=self._of), c
                step = step if c != before and step > 1 else step // 2
            c = max(range(max(c - _NEIGHBOURS, 0), min(c + _NEIGHBOURS, m) + 1), key=self._of)
            self._best = (c, m - c), self._of(c)
        return self._best

    def _of(self, c: int) -> float:
        return self._value((c, self._others - c))


@lru_cache(maxsize=64)
def _search(gain: float, minus_one: float, ones: tuple[float, ...], zeros: tuple[float, ...], n: int) -> _Search:
    return _Search(FloatCounts(gain, minus_one, ones, zeros), n)


class _Cover:
    """Boxes that cover all compositions, halved until their bounds are about the largest divergence found."""

    def __init__(self, reports: TwoMessages, victim: Victim, search: _Search, n: int, width: float) -> None:
        self._reports, self._victim, self._search, self._others = reports, victim, search, n - 1
        self._log_goal, self._pieces = search.best[1] + log1p(width), _FEW_PIECES if width > _WIDE else _PIECES
        self._goal, self._gap = arb(self._log_goal).exp(), max(_EVALUATION_GAP, _SHARE_OF_WIDTH * width)
        self.boxes: list[Box] = []
        self.upper = arb(0)
        todo, most = deque([(0, n - 1, 0.0)]), _FEW_BOXES if width > _WIDE else _MOST_BOXES
        while todo:
            # Wide ones first: where there are too many, none stays much wider than others.
            first, last, least = todo.popleft()
            excess = self._unsettled(first, last, least, len(self.boxes) + len(todo) >= most)
            if excess is not None:
                middle = (first + last) // 2
                todo += [(first, middle, excess / _NARROWER), (middle + 1, last, excess / _NARROWER)]

    def _unsettled(self, first: int, last: int, least: float, anyhow: bool) -> float | None:
        """Return None if a bound on these compositions is small enough, or is taken anyhow.

        Otherwise about how far the spread bound is above the divergence in the middle, in the logarithm; at least by
        ``least``, so that it is not evaluated where that is too much.
        """
        common = first, self._others - last
        plan, log_value = self._search.floats.planned(common, self._gap)
        if first == last or log_value <= self._log_goal:
            self._take(Box(first, last, plan), self._removed(common, plan))
            return None
        middle = (first + last) // 2
        spread, log_value = self._search.floats.planned((middle, self._others - middle), self._gap)
        if log_value + least <= self._log_goal:
            ones = self._reports.most(), self._reports.least()
            value = spread_bound(self._victim, ones, Range(first, last, self._others), spread, self._pieces)
            if anyhow or value <= self._goal:
                self._take(Box(first, last, spread, spread=True), value)
                return None
            least = float(value.upper().log()) - log_value
        if anyhow:
            self._take(Box(first, last, plan), self._removed(common, plan))
            return None
        return least

    def _removed(self, common: Counts, plan: CountPlan) -> arb:
        return enclosed_divergence(self._victim, self._reports.groups(common), plan)[1]

    def _take(self, box: Box, value: arb) -> None:
        self.boxes.append(box)
        self.upper = self.upper.max(value.upper() if value.is_finite() else self._victim.gain)
