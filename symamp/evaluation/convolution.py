"""E[S_+] by convolving lattice laws in doubles: sums of products of nonnegative numbers only.

A finite law is moved to a lattice, upward and downward in the increasing convex order, and added up by doubling.
Nothing is ever subtracted, so that every mass keeps its relative accuracy however small it is, and no frequencies are
needed: the kernels ask for very many where phi falls slowly, which it does for few users with large budgets, and where
one rare large value decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
_MOST_ERROR = 0.01
_NEGLIGIBLE, _SMALLEST, _LARGEST, _NOISE, _ROUGH, _SIDES = 1e-5, 1e-250, 1e250, 1e-290, 1e-3, (False, True)
_FIRST, _FINE, _MOST_WORK, _WIDE, _DEVIATIONS, _STALLED = 16, 64, 240_000, 8, 3.0, 0.8


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
    centres = {0.0, scales.centre * unit}
    laws = {c: (_atoms(below, c, upward=False), _atoms(above, c, upward=True)) for c in centres}
    if not max(np.abs(x[0]).max() for both in laws.values() for x in both) * n < _LARGEST:
        return None
    alone = n * float(below.singular.lower()), n * float(above.singular.upper())
    found, width, fineness = (0.0, inf), inf, _FIRST
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
    masses = np.append(g.masses, g.null_mass)
    log_loss, found = scales.log_size + log(_ROUGH * _NEGLIGIBLE), []
    for centre in {0.0, scales.centre}:
        values = np.append(g.values, 0.0) - centre
        found.append(_of_atoms(values, masses, scales.plan(centre, log_loss, _FINE, values, upward=True))[1])
    value = min(found)
    return log(value) + g.log_unit if _SMALLEST < value < inf else -inf


@dataclass(frozen=True)
class _Scales:
    """What floats say of a sum: the tilt at its saddle, log M there, its size, a centre, and the scale of the sum."""

    n: int
    theta: float
    log_m: float
    log_size: float
    centre: float
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
    centre, typical = _centre(g, n)
    log_size = min(n * tilted.cumulants.k0 - log(tilted.theta) - 1.0, log(most))
    # Where one large value decides the tilted law is wide; what counts is how fast its tail falls, and most values.
    scale = min(sqrt(n) * tilted.deviation, _DEVIATIONS / tilted.theta, 2.0 * sqrt(n) * typical)
    return _Scales(n, tilted.theta, tilted.cumulants.k0, log_size, centre, scale) if scale > 0.0 else None


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


def _centre(g: FloatGparv, n: int) -> tuple[float, float]:
    """Return about the median of G, with so few digits that multiples up to n are exact, and the mean distance."""
    values, masses = np.append(g.values, 0.0), np.append(g.masses, g.null_mass)
    order = np.argsort(values)
    median = float(values[order][int(np.searchsorted(np.cumsum(masses[order]), 0.5 * masses.sum()))])
    fraction, exponent = frexp(median)
    digits = 52 - n.bit_length()
    centre = ldexp(round(ldexp(fraction, digits)), exponent - digits) if digits > 0 else 0.0
    return centre, float(np.abs(values - median) @ masses)


def _atoms(g: BallGparv, centre: float, upward: bool) -> tuple[Floats, Floats]:
    """Return values less the centre and masses, rounded upward or downward, with the null symbol."""
    rounded = float_above if upward else float_below
    values = np.array([*(rounded(v - centre) for v in g.values), rounded(arb(-centre))])
    masses = np.array([max(rounded(m), 0.0) for m in (*g.masses, g.null_mass)])
    return values, masses


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
    one = _Sum(of_atoms(values, masses, plan.grading(1)), len(values) + 4)
    total = sum(float(m.sum()) for _, m in one.rows.values())
    if plan.n * (total - 1.0) > 0.5 * (_SLACK - 1.0):
        return 0.0, inf
    return _expected(one, plan)


def _expected(one: _Sum, plan: _Plan) -> tuple[float, float]:
    """Return E[S_+] of n draws from both sides; (0, inf) if roundings count."""

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
        lost += more * _SLACK
        longest = max((len(m) for _, m in rows.values()), default=0)
        return _Sum(rows, a.roundings + b.roundings + terms + longest)

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
