"""E[S_+] by convolving lattice laws in doubles: sums of products of nonnegative numbers only.

A finite law is moved to a lattice, upward and downward in the increasing convex order, and added up by doubling.
Nothing is ever subtracted, so that every mass keeps its relative accuracy however small it is, and no frequencies are
needed: the kernels ask for very many where phi falls slowly, which it does for few users with large budgets, and where
one rare large value decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from math import exp, floor, frexp, inf, ldexp, log, log2, sqrt

import numpy as np
from flint import arb

from symamp.evaluation.gparv import BallGparv, FloatGparv, Floats
from symamp.evaluation.graded_lattice import (
    UP,
    Grading,
    Rows,
    convolved,
    cut,
    expected_positive_part,
    of_atoms,
    places_of,
)
from symamp.evaluation.plan import saddle_tilt
from symamp.evaluation.tilted import TiltedLaw
from symamp.numbers.rounding import float_above, float_below

_UNIT = 2.0**-53
_SLACK = 1.0 + 1e-6
_HALF, _LESS = 0.5, 1.0
_MOST_ERROR, _MOST_EXCESS, _ROUNDINGS, _RARE, _MANY_USERS = 0.01, 0.05, 8, 3.0, 1_000
_NEGLIGIBLE, _SMALLEST, _LARGEST, _NOISE, _ROUGH, _SIDES = 1e-5, 1e-250, 1e250, 1e-290, 1e-3, (False, True)
_FIRST, _FINE, _MOST_WORK, _WIDE, _DEVIATIONS, _STALLED = 8, 64, 240_000, 8, 3.0, 0.8
_GUESSES = 12
"""How often the size of a sum is guessed anew: each time what is cut is less by a factor e at least."""


@dataclass(frozen=True)
class _Sum:
    """A measure with the number of roundings of each mass at most, and what the masses left out can add to E[S_+]."""

    rows: Rows
    roundings: int
    left_out: float = 0.0


def convolved_sum(
    below: BallGparv, above: BallGparv, rough: FloatGparv, n: int, gap: float
) -> tuple[float, float] | None:
    """Return (lower, upper): E[S_+] of the law ``below`` is at least lower, that of ``above`` at most upper.

    ``rough`` is one of them in doubles. The lattice is refined until the ends, with the singular parts, are within the
    relative gap or nothing is won; None if E[S_+] is too small for doubles.

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
    scales = _scales(rough, n)
    if scales is None:
        return None
    unit = 2.0**rough.exponent
    scales = replace(scales, theta=scales.theta / unit, step=scales.step * unit)
    log_size = scales.log_size + rough.log_unit
    centres = {c * unit for c in scales.centres}
    sides = [(g, _masses(g, upward), upward) for g, upward in zip((below, above), _SIDES, strict=True)]
    laws = {c: [(_values(g, c, upward), masses) for g, masses, upward in sides] for c in centres}
    if not max(np.abs(x[0]).max() for both in laws.values() for x in both) * n < _LARGEST:
        return None
    alone = n * float(below.singular.lower()), n * float(above.singular.upper())
    found, width, fineness, guesses = (0.0, inf), inf, _FIRST, _GUESSES
    while fineness**2 * log2(n + 1) <= _MOST_WORK:
        log_loss = max(log_size, log(alone[1]) if alone[1] > 0.0 else -inf) + log(gap * _NEGLIGIBLE)
        tried = {
            c: [_of_atoms(*x, scales.plan(c, log_loss, fineness, x[0], up)) for x, up in zip(both, _SIDES, strict=True)]
            for c, both in laws.items()
            if c in centres
        }
        ends = {c: (low[0], high[1]) for c, (low, high) in tried.items()}
        centres = {min(ends, key=lambda c: ends[c][1] - ends[c][0])}
        found = max(found[0], *(low for low, _ in ends.values())), min(found[1], *(high for _, high in ends.values()))
        # The size may be known so poorly that too much was cut.
        shown = max(high[0] for _, high in tried.values())
        if guesses and found[1] - shown > _HALF * found[1] and log(max(found[1], _SMALLEST)) < log_size - _LESS:
            log_size, guesses = log(max(found[1], _SMALLEST)), guesses - 1
            continue
        last, width = width, found[1] + alone[1] - found[0] - alone[0]
        if not found[1] > 0.0 or width <= gap * (found[1] + alone[1]) or (fineness > _FINE and width > _STALLED * last):
            break
        log_size = log(found[1])
        fineness = max(2 * fineness, _FINE)
    return found if _SMALLEST < found[1] < inf else None


def estimated_log_sum(g: FloatGparv, n: int) -> float:
    """Return an estimate of log E[S_+], good to about a thousandth; -inf if it is too small for doubles."""
    scales = _scales(g, n)
    if scales is None:
        return -inf
    masses, centres, log_size = np.append(g.masses, g.null_mass), scales.centres, scales.log_size
    fineness = _FIRST
    for attempt in count(1):
        found = []
        for centre in centres:
            values = np.append(g.values, 0.0) - centre
            plan = scales.plan(centre, log_size + log(_ROUGH * _NEGLIGIBLE), fineness, values, upward=True)
            found.append((*_of_atoms(values, masses, plan)[::-1], centre))
        above, below, best = min(found)
        if not _SMALLEST < above < inf:
            return -inf
        size_is_known = above - below < _HALF * above or log(above) > log_size - _LESS
        log_size, centres = log(above), (best,)
        if (size_is_known and fineness > _FIRST) or attempt > _GUESSES:
            break
        fineness = 4 * _FIRST if size_is_known else _FIRST
    return log_size + g.log_unit


@dataclass(frozen=True)
class _Scales:
    """What floats say of a sum: the tilt at its saddle, log M there, its size, centres, and the scale of the sum."""

    n: int
    theta: float
    log_m: float
    log_size: float
    centres: tuple[float, ...]
    step: float

    def plan(self, centre: float, log_loss: float, fineness: int, values: Floats, upward: bool) -> _Plan:
        largest = float(np.abs(values).max())
        return _Plan(self.n, centre, self.theta, self.log_m, log_loss, self.step / fineness, fineness, largest, upward)


def _scales(g: FloatGparv, n: int) -> _Scales | None:
    """Return what a sum is about, in units of the floats; None if it has no positive value."""
    tilted = TiltedLaw.of(g, saddle_tilt(g, n))
    most = n * float(g.masses @ np.maximum(g.values, 0.0))
    if not 0.0 < most < inf or not 0.0 < tilted.theta < inf:
        return None
    centres, typical = _centres(g, n)
    log_size = min(n * tilted.cumulants.k0 - log(tilted.theta) - 1.0, log(most))
    # Where one large value decides the tilted law is wide; what counts is how fast its tail falls, and most values.
    scale = min(sqrt(n) * tilted.deviation, _DEVIATIONS / tilted.theta, 2.0 * sqrt(n) * typical)
    return _Scales(n, tilted.theta, tilted.cumulants.k0, log_size, centres, scale) if scale > 0.0 else None


@dataclass(frozen=True)
class _Plan:
    """Where sums are cut and how fine they are: tilt, log M, the log of what may be lost, and the side of the bound.

    Values are those of G less the ``centre``, of which n multiples are exact. ``step`` is that of the
    sum of all, ``largest`` the largest modulus of a value.
    """

    n: int
    centre: float
    theta: float
    log_m: float
    log_loss: float
    step: float
    fineness: int
    largest: float
    upward: bool

    def edge(self, k: int) -> float:
        """Return a sum of k users from which the others hardly come back, in floats."""
        return (self.log_loss + log(self.theta) + 1.0 - (self.n - k) * self.log_m) / self.theta

    def grading(self, k: int) -> Grading:
        """Return the lattice of the sum of k users: its step grows as the deviation, at first as the range."""
        half = _WIDE * self.fineness
        step = min(self.step * sqrt(k / self.n), k * self.largest / half)
        return Grading(floor(log2(step)), half, self.upward)


def _centres(g: FloatGparv, n: int) -> tuple[tuple[float, ...], float]:
    """Return centres, about the median of G and the mean of what is not rare among n users, and the mean distance.

    A sum that drifts away from the centre is told apart badly, but for few users 0 may be a better one. Centres have
    so few digits that multiples up to n are exact.
    """
    values, masses = np.append(g.values, 0.0), np.append(g.masses, g.null_mass)
    order = np.argsort(values)
    values, masses = values[order], masses[order]
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
    median = float(values[min(int(np.searchsorted(below, 0.5 * masses.sum())), len(values) - 1)])
    often = (np.minimum(below, above) * n > _RARE) | (values == median)
    mean = float(values[often] @ masses[often] / masses[often].sum())
    some = (0.0, median, mean) if n < _MANY_USERS else (median, mean)
    return tuple(dict.fromkeys(_short(x, n) for x in some)), float(np.abs(values - median) @ masses)


def _short(x: float, n: int) -> float:
    """Return about x, with so few digits that multiples up to n are exact."""
    fraction, exponent = frexp(x)
    digits = 52 - n.bit_length()
    return ldexp(round(ldexp(fraction, digits)), exponent - digits) if digits > 0 else 0.0


def _values(g: BallGparv, centre: float, upward: bool) -> Floats:
    """Return values less the centre, that of the null symbol last, rounded upward or downward."""
    rounded = float_above if upward else float_below
    return np.array([*(rounded(v - centre) for v in g.values), rounded(arb(-centre))])


def _masses(g: BallGparv, upward: bool) -> Floats:
    """Return masses, that of the null symbol last, rounded upward or downward."""
    rounded = float_above if upward else float_below
    return np.array([max(rounded(m), 0.0) for m in (*g.masses, g.null_mass)])


def _of_atoms(values: Floats, masses: Floats, plan: _Plan) -> tuple[float, float]:
    """Return E[S_+] of n draws from both sides; (0, inf) if roundings raise the mass of all too much."""
    edge = plan.edge(1) - plan.centre
    if plan.upward:
        values = np.maximum(values, edge)
    else:
        kept = values >= edge
        values, masses = values[kept], masses[kept]
    if not len(values):
        return 0.0, inf
    one = _Sum(of_atoms(values, masses, plan.grading(1)), _ROUNDINGS)
    total = sum(float(m.sum()) for _, m in one.rows.values())
    excess = plan.n * (max(total - 1.0, 0.0) + 128.0 * _UNIT)
    return _expected(one, plan, _SLACK + 2.0 * excess) if excess < _MOST_EXCESS else (0.0, inf)


def _expected(one: _Sum, plan: _Plan, whole: float) -> tuple[float, float]:
    """Return E[S_+] of n draws from both sides, ``whole`` at least the mass of all; (0, inf) if roundings count."""

    def gain(rows: Rows, k: int) -> float:
        """Return E[S_+] of k users."""
        centre = k * plan.centre
        return sum(float((np.maximum(places_of(x, row) + centre, 0.0) * row[1]).sum()) for x, row in rows.items())

    mean, lost = gain(one.rows, 1), 0.0

    def together(a: _Sum, b: _Sum, k: int) -> _Sum:
        nonlocal lost
        rows, terms = convolved(a.rows, b.rows, plan.grading(k))
        blocks = float(plan.n // k)
        costs = blocks, blocks * (gain(rows, k) + 2.0 * mean)
        rows, more = cut(rows, k * plan.centre, plan.edge(k), costs, exp(min(plan.log_loss, 600.0)), plan.upward)
        lost += more * whole
        return _Sum(rows, a.roundings + b.roundings + terms + 1)

    def of(k: int) -> _Sum:
        if k == 1:
            return one
        half = of(k // 2)
        found = together(half, half, k - k % 2)
        return together(found, one, k) if k % 2 else found

    if plan.n == 1:
        a, b = one, _Sum({plan.grading(1).base: (0, np.ones(1))}, 0)
    else:
        a = b = of(plan.n // 2)
        if plan.n % 2:
            b = together(a, one, plan.n // 2 + 1)
    value, terms = expected_positive_part(a.rows, b.rows, plan.n * plan.centre, plan.upward)
    error = (a.roundings + b.roundings + terms + 64) * _UNIT * 1.01
    if error > _MOST_ERROR:
        return 0.0, inf
    noise = _NOISE * max([1.0, *(2.0**level for level in (*a.rows, *b.rows))])
    return max(value * (1.0 - error) - noise, 0.0), (value + lost) * (1.0 + 2.0 * error) * UP + noise
