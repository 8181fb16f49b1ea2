"""E[S_+] for few users by convolving lattice laws in doubles: sums of products of nonnegative numbers only.

A finite law is moved to a lattice, upward and downward in the increasing convex order, and added up by halves. Nothing
is ever subtracted, so that every mass keeps its relative accuracy however small it is, and no frequencies are needed:
the kernels ask for very many where phi falls slowly, which it does for few users with large budgets.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, frexp, inf, log

import numpy as np

from symamp.evaluation.gparv import BallGparv, FloatGparv, Floats
from symamp.evaluation.plan import saddle_tilt
from symamp.evaluation.tilted import TiltedLaw
from symamp.numbers.rounding import float_above, float_below

_UNIT = 2.0**-53
_UP, _DOWN = 1.0 + 2.0**-50, 1.0 - 2.0**-50
_SAFE, _SLACK = 1.0 - 1e-10, 1.0 + 1e-6
_NEGLIGIBLE, _SMALLEST, _NOISE = 1e-5, 1e-250, 1e-290
_MOST_OF_ONE, _MOST_POINTS, _FIRST, _FINE, _FINEST = 1 << 12, 1 << 14, 8.0, 128.0, 4096.0


@dataclass(frozen=True)
class _Sum:
    """A measure on the multiples of the step: masses of ``first``, ``first + 1``, ...; ``roundings`` of each at most.

    ``left_out`` is what the masses left out can add to E[S_+], in steps.
    """

    first: int
    masses: Floats
    roundings: int
    left_out: float = 0.0


def convolved_sum(
    below: BallGparv, above: BallGparv, rough: FloatGparv, n: int, gap: float
) -> tuple[float, float] | None:
    """Return (lower, upper): E[S_+] of the law ``below`` is at least lower, that of ``above`` at most upper.

    ``rough`` is one of them in doubles. The lattice is refined until the ends are within the relative gap or nothing
    is won; None if E[S_+] is too small for doubles, or the sums too long.

    Guarantee
    ---------
    Both ends hold whatever the lattice and the windows are. Proof: docs/proofs/convolution.md.

    >>> from flint import arb
    >>> from symamp.evaluation.gparv import BallGparv, FloatGparv
    >>> fair = BallGparv((arb(1), arb(-1)), (arb("0.5"), arb("0.5")), arb(0), arb(0))
    >>> floats = FloatGparv(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 0.0, 0.0, 0.0)
    >>> [round(x, 9) for x in convolved_sum(fair, fair, floats, 4, 1e-3)]
    [0.75, 0.75]
    """
    tilted = TiltedLaw.of(rough, saddle_tilt(rough, n))
    theta, log_m = tilted.theta / 2.0**rough.exponent, tilted.cumulants.k0
    spread = tilted.deviation * 2.0**rough.exponent
    most = n * float(rough.masses @ np.maximum(rough.values, 0.0)) * 2.0**rough.exponent
    log_size = min(n * log_m - log(theta) - 1.0, log(most))
    lows, highs = _atoms(below, upward=False), _atoms(above, upward=True)
    found: tuple[float, float] | None = None
    fineness = _FIRST
    while fineness <= _FINEST:
        size = log(found[1]) if found and found[1] > 0.0 else log_size
        edge = (size + log(gap * _NEGLIGIBLE * theta) + 1.0 - (n - 1) * log_m) / theta
        range_ = highs[0].max() - max(edge, min(highs[0].min(), lows[0].min()))
        step = 2.0 ** (frexp(max(spread / fineness, range_ / _MOST_OF_ONE))[1] - 1)
        low, high = (
            _of_atoms(*atoms, step, _Plan(n, theta * step, log_m, size + log(gap * _NEGLIGIBLE / step), upward))
            for atoms, upward in ((lows, False), (highs, True))
        )
        if low is None or high is None:
            break
        new = low[0] * step, high[1] * step
        better = found is None or fineness < _FINE or new[1] - new[0] < 0.7 * (found[1] - found[0])
        found = new if found is None else (max(new[0], found[0]), min(new[1], found[1]))
        if found[1] - found[0] <= gap * found[1] or not better:
            break
        fineness *= 2.0
    return found if found and _SMALLEST < found[1] < inf else None


@dataclass(frozen=True)
class _Plan:
    """Where sums are cut: tilt and log M in steps, the log of what may be lost, and the side of the bound."""

    n: int
    theta: float
    log_m: float
    log_loss: float
    upward: bool

    def edge(self, k: int) -> int:
        """Return a sum of k users from which the others hardly come back, in floats."""
        return floor((self.log_loss + log(self.theta) + 1.0 - (self.n - k) * self.log_m) / self.theta)


def _atoms(g: BallGparv, upward: bool) -> tuple[Floats, Floats]:
    """Return values and masses rounded upward, or downward, with the null symbol."""
    rounded = float_above if upward else float_below
    values = np.array([*(rounded(v) for v in g.values), 0.0])
    masses = np.array([max(rounded(m), 0.0) for m in (*g.masses, g.null_mass)])
    return values, masses


def _of_atoms(values: Floats, masses: Floats, step: float, plan: _Plan) -> tuple[float, float] | None:
    """Return E[S_+] of n draws from both sides, in steps; None if sums become too long."""
    edge = plan.edge(1) * step
    if plan.upward:
        values = np.maximum(values, edge)
    else:
        kept = values >= edge
        values, masses = values[kept], masses[kept]
    if not len(values) or not (values.max() - values.min()) / step < _MOST_POINTS:
        return None
    return _expected((_upward if plan.upward else _downward)(values, masses, step), plan)


def _upward(values: Floats, masses: Floats, step: float) -> _Sum:
    """Return a measure above: every atom is split between its two neighbours."""
    places = values / step  # exact: the step is a power of two
    floors = np.floor(places)
    part = np.minimum((places - floors) * _UP, 1.0)
    first = int(floors.min())
    found = np.zeros(int(floors.max()) - first + 2)
    index = (floors - first).astype(np.int64)
    np.add.at(found, index, masses * (1.0 - part) * _UP)
    np.add.at(found, index + 1, masses * part * _UP)
    return _Sum(first, found, len(values) + 4)


def _downward(values: Floats, masses: Floats, step: float) -> _Sum:
    """Return a measure below: runs of atoms go to the lattice point below the first, which is about their mean."""
    order = np.argsort(-values, kind="stable")
    left = [(float(v), float(m)) for v, m in zip(values[order] / step, masses[order], strict=True) if m > 0.0]
    found: dict[int, float] = {}
    i = 0
    while i < len(left):
        point = floor(left[i][0])
        mass = surplus = 0.0
        while i < len(left):
            value, here = left[i]
            if value >= point:
                mass, surplus, i = mass + here, surplus + here * (value - point), i + 1
                continue
            # No more mass from below the point than the mean allows.
            most = surplus * _SAFE / (point - value)
            if here <= most:
                mass, surplus, i = mass + here, surplus * _SAFE - here * (point - value), i + 1
                continue
            left[i] = value, (here - most) * _DOWN
            mass += most
            break
        found[point] = found.get(point, 0.0) + mass * _DOWN
    first = min(found)
    points = np.zeros(max(found) - first + 1)
    for point, mass in found.items():
        points[point - first] = mass
    return _Sum(first, points, len(values) + 4)


def _expected(one: _Sum, plan: _Plan) -> tuple[float, float] | None:
    """Return E[S_+] of n draws from both sides, in steps; None if sums become too long."""
    places = one.first + np.arange(len(one.masses), dtype=np.float64)
    mean = float((np.maximum(places, 0.0) * one.masses).sum()) * _SLACK
    if plan.n * (float(one.masses.sum()) - 1.0) > 0.5 * (_SLACK - 1.0):
        return None
    known: dict[int, _Sum | None] = {1: one}

    def of(k: int) -> _Sum | None:
        if k not in known:
            a, b = of(k // 2), of(k - k // 2)
            known[k] = None if a is None or b is None else _cut(_convolved(a, b), k, mean, plan)
        return known[k]

    if plan.n == 1:
        a, b = one, _Sum(0, np.ones(1), 0)
    else:
        first, second = of(plan.n // 2), of(plan.n - plan.n // 2)
        if first is None or second is None:
            return None
        a, b = first, second
    # E[(A + B)_+] is the sum over the a of the stop-loss transform of B: a sum of tails, nothing subtracted.
    tails = np.cumsum(b.masses[::-1])[::-1]
    stop_loss = np.cumsum(tails[::-1])[::-1]  # at first + j: the sum of the tails from there on
    place = 1 - (a.first + np.arange(len(a.masses))) - b.first  # the first index that counts
    inside = np.clip(place, 0, len(b.masses))
    total = float(tails[0])
    values = np.append(stop_loss, 0.0)[inside] + np.maximum(-place, 0) * total
    value = float((a.masses * values).sum())
    error = (a.roundings + b.roundings + len(a.masses) + 2 * len(b.masses) + 16) * _UNIT * 1.01
    lost = sum(found.left_out for found in known.values() if found is not None)
    return max(value * (1.0 - error) - _NOISE, 0.0), (value * (1.0 + error) + lost) * _UP + _NOISE


def _convolved(a: _Sum, b: _Sum) -> _Sum | None:
    if len(a.masses) + len(b.masses) > _MOST_POINTS:
        return None
    # The sum as defined, not by transforms: that keeps the relative accuracy of every mass.
    masses = np.convolve(a.masses, b.masses)
    return _Sum(a.first + b.first, masses, a.roundings + b.roundings + min(len(a.masses), len(b.masses)) + 2)


def _cut(found: _Sum | None, k: int, mean: float, plan: _Plan) -> _Sum | None:
    """Return the sum of k users without the masses that hardly count; upward the left ones move to the edge."""
    if found is None:
        return None
    first, masses = found.first, found.masses
    drop = min(plan.edge(k) - first, -1 - first, len(masses) - 1)
    if drop > 0:
        at_edge = float(masses[: drop + 1].sum()) if plan.upward else float(masses[drop])
        first, masses = first + drop, np.append(at_edge, masses[drop + 1 :])
    # What a sum beyond the end can add, for each of the blocks of k users: itself, and the positive parts of the rest.
    places = first + np.arange(len(masses), dtype=np.float64)
    costs = (plan.n // k) * (np.maximum(places, 0.0) + (plan.n - k) * mean) * masses
    beyond = np.cumsum(costs[::-1])[::-1]
    allowed = exp(min(plan.log_loss, 600.0))
    end = max(int((beyond > allowed).sum()), 1)
    lost = float(beyond[end]) * _SLACK if end < len(masses) else 0.0
    return _Sum(first, masses[:end], found.roundings + len(masses), lost)
