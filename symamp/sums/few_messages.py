"""Few positive messages: the bound over labels itself, in closed form, for all compositions of the other users.

The theorem behind ``all_data_sets`` is evaluated, for the laws of one or two kinds of users, by the counts of their
values; boxes of compositions share one evaluation, and the worst is halved (docs/proofs/few_messages.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from heapq import heappop, heappush
from math import exp, inf, log, log1p, nextafter
from typing import Any

import numpy as np
from flint import arb

from symamp.laws.law import BallGparv, Floats, Law, Level, ball_gparv, total
from symamp.numbers.disks import LARGEST, UNIT, exponentials, logarithms_above
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.limits import COUNTS, NO_LIMITS, POINT, QUESTION, Limits
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.sums.binomial_tails import window
from symamp.sums.divergence import Enclosure, Settings

EVALUATOR = "counts of values"
# What is tuned. Every choice gives a bound; these trade time against width, and are rules of thumb.
_GAP, _LEAST_GAP, _MOST_GAP = 0.005, 2e-3, 0.1
"""What a box may lie above the largest value of a composition that was found: usually, at least and at most."""
_GRIDS, _LOST = (3e-2, 8e-3, 2e-3), (1e-2, 3e-3, 1e-3)
"""Steps of the grid on which values are put together, in units of what all users gain, from a first evaluation of a box
to the last; and how much of the value may be left out."""
_STEPS = 20.0
"""The same in units of the inverse tilt: probabilities change by e within one of these."""
_FEW = 200
"""Sums of fewer values are not put together."""
_MOST_BOXES, _MOST_POINTS = 2000, 3e5
"""Boxes that are looked at; points of one evaluation."""
_PART = 0.6
"""Of what a question may take: with the rest another bound is found where there are too many boxes."""
_WIDEST, _ALWAYS = 0.2, 16
"""A box is evaluated only where of no more than this part of all users in units of the gap, or so many, the kind is not
known."""
_TILTS = np.geomspace(1e-4, 60.0, 48)
"""Tilts of Chernoff's bound, in units of the inverse of the largest value."""
_SLACK, _SMALLEST, _LEAST_SHARE = 1e-8, 1e-125, 1e-290
"""What the roundings of sums and products of one evaluation in doubles come to, relatively, at most; a weight that is
raised to."""
_OUTWARD = 1e-13
"""By so much values are moved outward, relatively: more than the differences of their inverses are rounded by."""
_MOST_COUNT = 5000
"""Counts of all rare values; with more the evaluation is left to other bounds."""
_FIRST = 8.0
"""By so much the bound at the worst composition may be below Chernoff's, in its logarithm, before it is known."""
_BEYOND = 1e-4
"""What points that count for nothing, but where p is very large, may come to, as a part of the value."""
_LEAST = -600.0
"""Logarithms of values below this are left to other bounds: doubles would not see parts of them."""

_TINY, _UNTOLD = arb(2) ** -96, arb(2) ** -60
"""What counts as 0 where kinds are compared, and what that comes to for each user."""

Counts = tuple[int, ...]
Balls = tuple[tuple[arb, arb], ...]  # values with masses


# ------------------------------------------------------------------------------------------------------ Kinds of users


@dataclass(frozen=True)
class Kind:
    """Users whose labels have one law: values with masses, those scaled by the weight.

    ``gained`` and ``lost`` are steps (y, size) of functions P and Q: P(x) is at least E[v_+; v > x]/weight, and Q(x) at
    least E[v_-; v_- < x], of the scaled value v. ``gain`` is at least E[v_+]/weight.
    """

    atoms: Balls
    gained: tuple[tuple[float, float], ...]
    lost: tuple[tuple[float, float], ...]
    gain: float

    def log_gained(self, tilt: float) -> float:
        """Return at least log E[v_+ e^(tilt v)]/weight."""
        return _log_total([(size, x) for x, size in self.gained], tilt)

    def log_lost(self, tilt: float) -> float:
        """Return at least log E[e^(-tilt v_-); v < 0]."""
        return _log_total([(float_above(arb(size) / arb(x)), -x) for x, size in self.lost], tilt)

    @staticmethod
    def of(g: BallGparv, weight: float = 1.0) -> Kind:
        """Return the kind of a law, at the ambient precision."""
        atoms = tuple((v * weight, m) for v, m in zip(g.values, g.masses, strict=True))
        above = sorted({float_above(v) for v, _ in atoms if v > 0}, reverse=True)
        below = sorted({float_below(-v) for v, _ in atoms if v < 0})
        gained = [total([v * m for v, m in atoms if v > 0 and float_above(v) >= x]) for x in above]
        lost = [total([-v * m for v, m in atoms if v < 0 and float_below(-v) <= x]) for x in below]
        rises = tuple((x, float_above(size / weight)) for x, size in _steps(above, gained))
        falls = tuple((x, float_above(size)) for x, size in _steps(below, lost))
        return Kind(atoms, rises, falls, float_above(gained[-1] / weight))


def _steps(places: Sequence[float], sums: Sequence[arb]) -> list[tuple[float, arb]]:
    """Return the steps of a function that does not fall from one place to the next, where there are any."""
    steps = [(x, (b - a).max(arb(0))) for x, a, b in zip(places, [arb(0), *sums], sums, strict=False)]
    return [(x, step) for x, step in steps if step.upper() > 0]


def _place(value: arb) -> int:
    """Return where a value stands, in units of 2^-140: the same for balls around one number but for bad luck."""
    return int((value * 2**140 + arb(1) / 3).mid().floor().fmpz())


@dataclass(frozen=True)
class Intervals:
    """Users of whom it is known that each has, with these masses, a value between ``low`` and ``high``."""

    low: Floats
    high: Floats
    masses: Floats

    @staticmethod
    def of(laws: Sequence[Balls]) -> Intervals:
        """Return intervals for users who have any of these laws, or mixtures: their quantiles go in parallel."""
        rows = [sorted(law, key=lambda atom: -_place(atom[0])) for law in laws]
        ends = [[total([m for _, m in row[: k + 1]]) for k in range(len(row))] for row in rows]
        cuts = sorted((_place(c), i, k) for i, row in enumerate(ends) for k, c in enumerate(row[:-1]))
        place, last, found = [0] * len(rows), arb(0), dict[tuple[float, float], arb]()
        for cut in (*cuts, None):
            here = arb(1) if cut is None else ends[cut[1]][cut[2]]
            size = (here - last).upper().max(arb(0))
            values = [row[k][0] for row, k in zip(rows, place, strict=True)]
            if size < _TINY:  # which of two laws goes first is not told
                size, values = size + _TINY, [v for row in rows for v, _ in row]
            high = max(map(float_above, values))
            low = max(min(map(float_below, values)), min(high, 0.0))  # of what is not positive no more counts
            found[low, high] = found.get((low, high), arb(0)) + size
            if cut is not None:
                place[cut[1]], last = cut[2] + 1, here
        rows_ = [(*x, float_above(m)) for x, m in found.items() if m > 0]
        return Intervals(*(np.array(column) for column in zip(*rows_, strict=True)))

    @property
    def parts(self) -> Floats:
        """The least and the largest positive part, and the least negative part, of each value: three rows."""
        return np.array([np.maximum(self.low, 0.0), np.maximum(self.high, 0.0), np.maximum(-self.high, 0.0)])

    def log_moment(self, tilt: float) -> float:
        """Return at least log E e^(tilt high), and hardly more."""
        return _log_total(zip(self.masses.tolist(), self.high.tolist(), strict=True), tilt)


# ------------------- Exponentials and logarithms that are proved: all else in doubles is sums, products and quotients


def _log_total(steps: Iterable[tuple[float, float]], tilt: float) -> float:
    """Return at least the logarithm of the sum of mass e^(tilt value), and hardly more."""
    with at_precision(BALL_BITS):
        return float_above(total([arb(m) * (arb(tilt) * arb(v)).exp() for m, v in steps]).log())


def exp_above(x: float) -> float:
    """Return at least e^x, and hardly more."""
    with at_precision(BALL_BITS):
        return float_above(arb(x).exp())


def log_above(x: float) -> float:
    """Return at least log x, and hardly more."""
    with at_precision(BALL_BITS):
        return float_above(arb(x).log())


def exps_above(x: Floats) -> Floats:
    """Return at least e^x, and hardly more but below e^-300; inf above e^300.

    >>> bool(0.0 < exps_above(np.array([-1.0]))[0] / np.exp(-1.0) - 1.0 < 1e-10)
    True
    """
    found = exponentials(np.maximum(x, -LARGEST)) * (1.0 + UNIT * (8.0 + 32.0 * LARGEST))
    return np.asarray(np.where(np.isnan(found), inf, found))


def sums_above(*terms: Floats | float) -> Floats:
    """Return at least the sums of a dozen products of two doubles, element by element, and hardly more."""
    return np.asarray(sum(terms) + 16.0 * UNIT * sum(np.abs(x) for x in terms))


# ----------------------------------------------------- The sums of some users: points (p low, p high, m), with weights


class TooManyPointsError(Exception):
    """There are more points than one evaluation may take."""


@dataclass(frozen=True)
class Points:
    """Sums of positive and of negative parts: rows p low, p high, m, with weights e^(tilt (p high - m) - log_unit).

    What is left out has a weight of at most ``lost``.
    """

    sums: Floats
    weights: Floats
    lost: float
    log_unit: float


NOBODY = Points(np.zeros((3, 1)), np.ones(1), 0.0, 0.0)


def squashed(
    sums: Floats, weights: Floats, tilt: float, grid: float, lost: float, counts: Any = None
) -> tuple[Floats, Floats, float, Any]:
    """Return points without the lightest, those in one cell of the grid (of equal ``counts``) put together.

    Both move p up and m down, p low down, and weights grow with the tilt: sums of what grows with p high and falls
    with m and p low do not fall, but for a weight of at most ``lost``, which is the third number.
    """
    heavy = weights > lost / max(len(weights), 1)
    left = float(weights[~heavy].sum()) * (1.0 + _SLACK)
    sums, weights = sums[:, heavy], weights[heavy]
    counts = None if counts is None else counts[heavy]
    if len(weights) <= _FEW:
        return sums, weights, left, counts
    cells = np.floor(sums / grid).astype(np.int64)
    rows = cells if counts is None else np.vstack([cells, counts])
    keys = np.zeros(len(weights), dtype=np.int64)
    for row in rows:
        row = row - row.min()
        keys = keys * (int(row.max()) + 1) + row
    order = np.argsort(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    ordered = sums[:, order]
    ends = zip((np.minimum, np.maximum, np.minimum), ordered, strict=True)
    moved = np.array([end.reduceat(row, starts) for end, row in ends])
    sizes = np.diff(np.append(starts, len(order)))
    shift = sums_above(*np.repeat(moved[1:] * [[tilt], [-tilt]], sizes, axis=1), -tilt * ordered[1], tilt * ordered[2])
    grown = np.add.reduceat(weights[order] * exps_above(shift), starts)
    return moved, grown, left, None if counts is None else counts[order][starts]


def points_of(users: Intervals, n: int, tilt: float, grid: float, lost: float, far: float = inf) -> Points:
    """Return the sums of n users, value by value: how many have each, given how many have those before.

    Points with m above ``far`` are dropped: they are not a part of what is ``lost``.

    Guarantee
    ---------
    Each user has a value in one of the intervals with these masses; for a function f of (p low, p high, m), at least 0,
    that falls with the first and the last and grows with the second, E f is at most sum f w e^(log_unit - tilt (p high
    - m)) (1 + 1e-8), and what is left out. Proof: docs/proofs/few_messages.md.
    """
    if n == 0:
        return NOBODY
    log_unit = users.log_moment(tilt)
    with at_precision(BALL_BITS):
        atoms = zip(users.masses.tolist(), users.high.tolist(), strict=True)
        shares = [arb(m) * (arb(tilt) * arb(x) - arb(log_unit)).exp() for m, x in atoms]
    rare = sorted(range(len(shares)), key=lambda i: float(shares[i]))
    common = rare.pop()
    parts, allowed, left = users.parts, 0.5 * lost / max(len(rare), 1), 0.0
    counts, sums, logs = np.zeros(1, dtype=np.int64), np.zeros((3, 1)), np.zeros(1)
    growth, choices = 1.0, _log_choices(n)
    for i, k in enumerate(rare):
        first, last, missed = _range(n, shares[k], allowed)
        if last > _MOST_COUNT or len(counts) * (last - first + 1) > _MOST_POINTS:
            raise TooManyPointsError
        left += missed * growth
        growth *= exp_above(2.0 * tilt * grid)
        j = np.arange(first, last + 1)
        steps = sums_above(_multiples(shares[k], 0, -j), -_log_factorials()[j] * (1.0 - 4.0 * UNIT))
        counts = (counts[:, None] + j).ravel()
        logs = sums_above(logs[:, None], steps).ravel()
        sums = (sums[:, :, None] + parts[:, k, None, None] * j).reshape(3, -1)
        fits = (counts <= n) & (sums[2] <= far)
        counts, sums, logs = counts[fits], sums[:, fits], logs[fits]
        if counts.max(initial=0) > _MOST_COUNT:
            raise TooManyPointsError
        with at_precision(BALL_BITS):
            rest = total([shares[later] for later in (*rare[i + 1 :], common)])
        others = sums_above(choices[counts], _multiples(rest, n, counts))
        weights = exps_above(sums_above(logs, others))
        sums, weights, missed, counts = squashed(sums, weights, tilt, grid, allowed, counts)
        left += missed
        others = sums_above(choices[counts], _multiples(rest, n, counts))
        logs = sums_above(logarithms_above(np.maximum(weights, _SMALLEST)), -others)
    weights = exps_above(sums_above(logs, choices[counts], _multiples(shares[common], n, counts)))
    sums = sums + parts[:, common, None] * (n - counts)
    sums, weights, missed, _ = squashed(sums, weights, tilt, grid, allowed)
    with at_precision(BALL_BITS):
        return Points(sums, weights, left + missed, float_above(n * arb(log_unit)))


def _multiples(share: arb, n: int, counts: Any) -> Floats:
    """Return at least (n - count) log share."""
    with at_precision(BALL_BITS):
        one = share.log()
        return sums_above(float_above(n * one), counts * np.where(counts > 0, float_above(-one), -float_above(one)))


@lru_cache(maxsize=1)
def _log_factorials() -> Floats:
    """Return log k!, k = 0, 1, ..., within one rounding."""
    with at_precision(BALL_BITS):
        return np.array([float(arb(k + 1).lgamma()) for k in range(_MOST_COUNT + 1)])


@lru_cache(maxsize=256)
def _log_choices(n: int) -> Floats:
    """Return at least log n!/(n - k)! for k = 0, 1, ...: sums of k log n and of log(1 - j/n), j < k."""
    k = np.arange(min(n, _MOST_COUNT) + 1.0)
    found = np.concatenate([[0.0], np.cumsum(logarithms_above((1.0 - k[:-1] / n) * (1.0 + 4.0 * UNIT)))])
    return sums_above(found, np.cumsum(np.abs(found)) * UNIT, k * log_above(n))


def _range(n: int, chance: arb, lost: float) -> tuple[int, int, float]:
    """Return counts of n users with this share each outside of which the chance is at most the third number."""
    low, high = window(n, min(max(float(chance), _LEAST_SHARE), 1.0), -log(0.5 * lost))
    return low, high, sum(_tail(n, k, chance) for k in (low - 1, high + 1) if 0 <= k <= n)


def _tail(n: int, count: int, share: arb) -> float:
    """Return Chernoff's bound on so many, or more extreme counts, of n users."""
    with at_precision(BALL_BITS):
        x = arb(count) / n
        parts = [y * (y / s).log() for y, s in ((x, share), (1 - x, 1 - share)) if y > 0]
        found = (-n * total(parts)).exp() if (x > share if count > n * share else x < share) else arb(1)
        return min(float_above(found), 1.0) if found.is_finite() else 1.0


def both(one: Points, other: Points, tilt: float, grid: float, lost: float, far: float = inf) -> Points:
    """Return the sums of the users of both, but those with m above ``far``."""
    if one is NOBODY or other is NOBODY:
        return other if one is NOBODY else one
    if len(one.weights) * len(other.weights) > _MOST_POINTS:
        raise TooManyPointsError
    every = np.outer(one.weights, other.weights)
    heavy = every > 0.5 * lost / max(every.size, 1)
    missed = float(every[~heavy].sum()) * (1.0 + _SLACK)
    i, j = np.nonzero(heavy & (np.add.outer(one.sums[2], other.sums[2]) <= far))
    weights = every[i, j]
    sums, weights, left, _ = squashed(one.sums[:, i] + other.sums[:, j], weights, tilt, grid, 0.5 * lost)
    left += missed
    # What one of them left out comes with all that the other has, the weight of which may be a little above 1.
    whole = 2.0 + float(one.weights.sum()) + float(other.weights.sum())
    return Points(sums, weights, left + whole * (one.lost + other.lost), _plus(one.log_unit, other.log_unit))


def _plus(x: float, y: float) -> float:
    """Return at least the sum."""
    return nextafter(x + y, inf)


# -------------------------------------------------------------------------------------------- All compositions at once


@dataclass(frozen=True)
class Box:
    """Compositions with ``first`` to ``last`` users of the first kind, and the ``grid`` of its evaluation.

    Without a grid it is Chernoff's bound at the ``tilt``. ``log_value`` is about the logarithm of its value.
    """

    first: int
    last: int
    grid: int | None = None
    tilt: float = 0.0
    log_value: float = inf


@dataclass(frozen=True)
class FewMessagesEvidence:
    """What an evaluation is repeated from: the weights of the kinds, and boxes that cover all compositions."""

    weights: tuple[float, ...]
    tilt: float
    grids: tuple[float, ...]
    allowed: tuple[float, ...]
    boxes: tuple[Box, ...]


class Compositions:
    """The bound for one or two kinds of users, at single compositions of ``others`` users and at boxes of them."""

    def __init__(self, kinds: Sequence[Kind], others: int, limits: Limits = NO_LIMITS) -> None:
        self.kinds, self.others, self._limits = tuple(kinds), others, limits
        self.gain = max(k.gain for k in kinds)
        with at_precision(BALL_BITS):
            own = [Intervals.of([k.atoms]) for k in kinds]
            self._users = [*own, Intervals.of([k.atoms for k in kinds])]  # last those whose kind is not known
        self._largest = max(x for k in kinds for x, _ in k.gained)
        tilts = self._tilts = _TILTS / self._largest
        self._moments = np.array([[u.log_moment(t) for t in tilts.tolist()] for u in own])  # a row for each kind
        self._fronts = np.array([max(k.log_gained(t) for k in kinds) for t in tilts.tolist()])
        best = int((others * self._moments.max(axis=0) + self._fronts).argmin())
        self.tilt = float(tilts[best])
        self.log_peak = float(others * self._moments[:, best].max() + self._fronts[best])
        scale = max(float(u.masses @ u.parts[1]) for u in own) * others
        step = min(max(scale, self._largest), _STEPS / self.tilt)
        self.grids = tuple(share * step for share in _GRIDS)
        self._crowd = 1.0 + others * max(sum(y / x * exp(-self.tilt * x) for x, y in k.lost) for k in kinds)
        self.allowed: tuple[float, ...] = _LOST
        self._far, self._beyond = inf, 0.0
        self._known: dict[tuple[int, int, int], Points] = {}

    def aim(self, value: float) -> None:
        """Let evaluations leave out no more than a small part of this value."""
        size = max(self.log_peak - log(value), 0.0)
        self.allowed = tuple(exp(log(x / self._crowd) - size) for x in _LOST)
        self._far, self._beyond = self._reached(_BEYOND * value)
        self._known.clear()

    def _reached(self, least: float) -> tuple[float, float]:
        """Return m beyond which p hardly gets, and what all that is there comes to at most, about ``least``."""
        users = self._users[: len(self.kinds)]
        most = max([self.gain, *(self.others * k.gain * sum(y / x for x, y in k.lost) for k in self.kinds)])
        moments = [
            self.others * max(_log_total(zip(u.masses.tolist(), u.parts[1].tolist(), strict=True), t) for u in users)
            for t in self._tilts.tolist()
        ]
        level = log(least / (2.0 * most))
        far = min((x - level) / t for x, t in zip(moments, self._tilts.tolist(), strict=True))
        chance = min(_plus(x, -t * far * (1.0 - _OUTWARD)) for x, t in zip(moments, self._tilts.tolist(), strict=True))
        return (far + self._largest) * (1.0 + 10.0 * _OUTWARD), 2.0 * most * exp_above(chance) * (1.0 + _SLACK)

    # Chernoff's bound

    def chernoff(self, first: int, last: int) -> tuple[float, Box]:
        """Return the logarithm of a bound for all compositions in a box, the least over the tilts, and that box."""
        own, others = first * self._moments[0], (self.others - last) * self._moments[-1]
        logs = sums_above(self._fronts, own, others, (last - first) * self._moments.max(axis=0))
        found = int(logs.argmin())
        return float(logs[found]), Box(first, last, None, float(self._tilts[found]))

    # Counts of values

    def _points(self, kind: int, n: int, grid: int) -> Points:
        key = kind, n, grid
        if key not in self._known:
            self._limits.charge(COUNTS)  # whether or not there are too many
            lost = 0.1 * self.allowed[grid]
            self._known[key] = points_of(self._users[kind], n, self.tilt, self.grids[grid], lost, self._far)
        return self._known[key]

    def _rest(self, counts: Counts, uncertain: int, grid: int) -> Points:
        parts = [self._points(k, c, grid) for k, c in enumerate((*counts, uncertain)) if c]
        parts.sort(key=lambda p: len(p.weights))
        small = 0.1 * self.allowed[grid]
        found = reduce(
            lambda one, other: both(one, other, self.tilt, self.grids[grid], small, self._far), parts, NOBODY
        )
        self._limits.charge(POINT.of(len(found.weights)))
        return found

    def value(self, box: Box, goal: float = inf) -> float:
        """Return a bound for all compositions in a box, inf where it would take too many points.

        Guarantee
        ---------
        For every composition in the box the bound on the divergence of the page is at most the number that is
        returned. Above the goal it may be a part of the bound: then it is inf. Proof: docs/proofs/few_messages.md.
        """
        assert box.grid is not None
        try:
            least = (box.first, self.others - box.last)[: len(self.kinds)]
            return self._value(least, box.last - box.first, box.grid, goal) * (1.0 + 10.0 * _SLACK)
        except TooManyPointsError:
            return inf

    def _value(self, least: Counts, uncertain: int, grid: int, goal: float) -> float:
        points = self._rest(least, uncertain, grid)
        _, high, m, weights = _seen(points, self.tilt, 0.0)
        unit = exp_above(points.log_unit)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(m > 0.0, np.maximum(1.0 - m / high, 0.0), 1.0)
        found = self.gain * unit * (float(weights @ shares) + points.lost) + self._beyond
        fronts = [0.0] * len(least)
        for k, a in enumerate(least):
            if (a or uncertain) and found <= goal:
                rest = tuple(c - (i == k) for i, c in enumerate(least)) if a else least
                fronts[k] = self._mixed(k, self._rest(rest, uncertain if a else uncertain - 1, grid))
                found += a * fronts[k]
        return found + (uncertain * max(fronts) if uncertain else 0.0) if found <= goal else inf

    def _mixed(self, k: int, points: Points) -> float:
        """Return the expectation of two labels of opposite signs, of one user of a kind, over the rest."""
        kind = self.kinds[k]
        low, high, m, weights = _seen(points, self.tilt, kind.gained[0][0])
        found = np.zeros_like(weights)
        for x, lost in kind.lost:
            inverse = 1.0 / np.maximum(low, m + x)
            for v, gained in kind.gained:
                found += (gained * lost) * np.maximum(inverse - 1.0 / (high + v), 0.0)
        left = exp_above(_plus(kind.log_gained(self.tilt), kind.log_lost(self.tilt)))
        return exp_above(points.log_unit) * (float(weights @ found) + left * points.lost)

    # The worst composition that is found, and boxes around all of them

    @cached_property
    def worst(self) -> tuple[int, float]:
        """How many of the first kind the worst composition has that is found, and the bound there."""
        one = self.others
        ends = (one, 0)[: len(self.kinds)]
        best, value, before = one, exp(max(self.log_peak - _FIRST, _LEAST)), inf
        while value < 0.9 * before:  # what is left out may be most of it
            self.aim(value)
            before = value
            best, value = self._worst(ends, 0.0)
            if value == 0.0:
                return one, inf
        step = one // 8 if len(ends) > 1 else 0
        while step:
            found = self._worst([c for c in (best - step, best + step) if 0 <= c <= one], value)
            best, value = found if found[1] > value else (best, value)
            step //= 4
        return best, value

    def _worst(self, some: Iterable[int], value: float) -> tuple[int, float]:
        """Return the worst of some compositions that is above a value, by the middle grid; -1 if none is."""
        best = -1
        for c in some:
            if value == 0.0 or self.chernoff(c, c)[0] > log(value):
                found = self.value(Box(c, c, 1))
                best, value = (c, found) if value < found < inf else (best, value)
        return best, value

    def cover(self, gap: float) -> tuple[float, tuple[Box, ...]]:
        """Return a bound for all compositions, and the boxes that prove it: about ``gap`` above the worst one found."""
        _, best = self.worst
        if not 0.0 < best < inf:
            return inf, ()
        value, first = self.chernoff(0 if len(self.kinds) > 1 else self.others, self.others)
        todo = [(-value, 0, first)]
        boxes, looked, count = list[tuple[float, Box]](), 0, 0
        while todo:
            bound, _, box = heappop(todo)
            looked += 1
            goal = best * (1.0 + gap)
            if -bound <= log(goal) or looked > _MOST_BOXES or self._limits.is_spent():
                boxes += [(-bound, box), *((-b, x) for b, _, x in todo)]
                break
            middle = (box.first + box.last) // 2
            for low, high in dict.fromkeys(((box.first, middle), (min(middle + 1, box.last), box.last))):
                found = [self.chernoff(low, high)]
                if found[0][0] > log(goal) and high - low <= max(_WIDEST * gap * self.others, _ALWAYS):
                    for grid in range(len(self.grids)):
                        part = Box(low, high, grid)
                        value = self.value(part, inf if low == high else goal)
                        if 0.0 < value < inf:
                            found.append((log_above(value), part))
                        if value <= goal:
                            break
                    if low == high and found[-1][1].grid is not None:
                        best = max(best, exp(found[-1][0]))
                value, part = min(found, key=lambda x: x[0])
                if low == high:
                    boxes.append((value, part))
                else:
                    count += 1
                    heappush(todo, (-value, count, part))
        worst = max(value for value, _ in boxes)
        return exp_above(worst), tuple(replace(box, log_value=value) for value, box in boxes)


def _seen(points: Points, tilt: float, reach: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return (p low, p high, m, weights) outward, in units of e^log_unit, of the points with m < p high + reach."""
    low, high, m = points.sums
    low, high, m = low * (1.0 - _OUTWARD), high * (1.0 + _OUTWARD), m * (1.0 - _OUTWARD)
    seen = (m < high + reach) | (m == 0.0)
    p, without = points.sums[1:, seen]
    logs = sums_above(-tilt * p * (1.0 - _OUTWARD), tilt * without * (1.0 + _OUTWARD))
    return low[seen], high[seen], m[seen], points.weights[seen] * exps_above(logs)


# ------------------------------------------------------------------------- The bound of laws that inputs have, or mix

MOST_LAWS = 2
"""Users of more laws have so many compositions that the bound over all data sets says more."""
_OTHER_WEIGHTS = (0.3, 0.1, 0.03)
"""What the labels of one kind of users may count, where all others count 1."""


class FewMessages:
    """The bound of some laws at n users: what was found at the levels asked before.

    Each of the other users has one of the laws; with ``mixed`` a mixture: then they have to be comonotone.
    """

    def __init__(self, laws: Sequence[Law], mixed: bool) -> None:
        self.laws, self.mixed = tuple(laws), mixed
        self._found: dict[tuple[Level, int], tuple[Compositions, tuple[float, ...]] | None] = {}
        self._weights: tuple[float, ...] | None = None

    def balls(self, level: Level) -> list[BallGparv]:
        """Return the laws in balls at the ambient precision, a null symbol as a value 0."""
        found = [ball_gparv(law, level) for law in self.laws]
        zero = arb(0)
        return [
            BallGparv((*g.values, zero), (*g.masses, g.null_mass), zero, g.singular) if g.null_mass.upper() > 0 else g
            for g in found
        ]

    def compositions(self, level: Level, n: int, limits: Limits) -> tuple[Compositions, tuple[float, ...]] | None:
        """Return the kinds of users at a level and their weights, None where the theorem does not apply."""
        if (level, n) not in self._found:
            self._found[level, n] = self._made(level, n, limits.until(_PART))
        return self._found[level, n]

    def _made(self, level: Level, n: int, limits: Limits) -> tuple[Compositions, tuple[float, ...]] | None:
        if n < 2 or len(self.laws) > MOST_LAWS:
            return None
        with at_precision(BALL_BITS):
            laws = self.balls(level)
            if not _have_signs(laws):
                laws = self.balls(level.just_below())
            if not _have_signs(laws) or any(not g.singular.is_zero() or not any(v > 0 for v in g.values) for g in laws):
                return None
            if self.mixed and not are_comonotone(laws):
                return None
            usual = (1.0,) * len(laws)
            if self._weights is None and not self.mixed:
                tried = [usual]
                if len(laws) > 1:
                    tried += [pair for w in _OTHER_WEIGHTS for pair in ((w, 1.0), (1.0, w))]
                every = [(self._of(laws, w, n, limits), w) for w in tried]
                found, self._weights = min(every, key=lambda x: x[0].worst[1])
                return found, self._weights
            weights = self._weights or usual
            return self._of(laws, weights, n, limits), weights

    def _of(self, laws: Sequence[BallGparv], weights: Sequence[float], n: int, limits: Limits) -> Compositions:
        return Compositions([Kind.of(g, w) for g, w in zip(laws, weights, strict=True)], n - 1, limits)


def _have_signs(laws: Sequence[BallGparv]) -> bool:
    return all(v > 0 or v < 0 or v.is_zero() for g in laws for v in g.values)


def are_comonotone(laws: Sequence[BallGparv]) -> bool:
    """Return whether of two laws one has P and Q at least as large everywhere (docs/proofs/few_messages.md)."""
    signs = _signs(laws[0], laws[-1])
    return not signs >= {1, -1} and 0 not in signs


def _signs(one: BallGparv, other: BallGparv) -> set[int]:
    """Return the signs of all differences of P and of Q; 0 for one that is not told."""
    found = set[int]()
    for side in (1, -1):
        atoms = [
            [(_place(v), v * m) for v, m in zip(g.values, g.masses, strict=True) if v * side > 0] for g in (one, other)
        ]
        for place in {None, *(x for law in atoms for x, _ in law)}:
            # Beyond a place where the label is positive, up to it where it is negative, and everywhere.
            sums = [
                total([vm for x, vm in law if place is None or (x > place if side > 0 else -x <= -place)])
                for law in atoms
            ]
            d = (sums[0] - sums[1]) * side
            if not (d.contains(0) and abs(d).upper() < _TINY):
                found.add(1 if d > 0 else -1 if d < 0 else 0)
    return found


def estimate_log_few_messages(known: FewMessages, level: Level, n: int, settings: Settings) -> float:
    """Return an estimate of the logarithm of the bound, inf where the theorem does not apply. Not a bound."""
    found = known.compositions(level, n, settings.limits)
    value = inf if found is None else found[0].worst[1]
    return log(value) + log1p(gap_of(settings)) if 0.0 < value < inf else inf


def gap_of(settings: Settings) -> float:
    """Return what a box may lie above the worst composition: less where a question may take longer."""
    most = settings.limits.most
    return max(min(max(_GAP * QUESTION / most, _LEAST_GAP), _MOST_GAP) if most < inf else _GAP, settings.gap)


def enclose_few_messages(known: FewMessages, level: Level, n: int, settings: Settings) -> Enclosure | None:
    """Return an enclosure of the divergence for every data set of the other n - 1 users, 0 at the lower end.

    None where the theorem does not apply, or where there are too many points.

    Guarantee
    ---------
    Let each of the other users have one of the laws, with ``mixed`` a mixture of them. Then the divergence D_E of the
    two shuffled histograms is at most ``upper.upper()``. Boxes, weights and tilts are searched in floats; all of them
    give valid bounds. Proof: docs/proofs/few_messages.md.
    """
    found = known.compositions(level, n, settings.limits)
    if found is None:
        return None
    here, weights = found
    value, boxes = here.cover(gap_of(settings))
    if not 0.0 < value < here.gain:
        return None
    evidence = FewMessagesEvidence(weights, here.tilt, here.grids, here.allowed, boxes)
    with at_precision(BALL_BITS):
        upper = arb(value) * (1 + arb(_SLACK)) + (arb(here.others) * _UNTOLD if known.mixed else 0)
        return Enclosure(arb(0), upper.upper(), EVALUATOR, BALL_BITS, evidence=evidence)
