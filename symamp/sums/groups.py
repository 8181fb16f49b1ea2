"""E[S_+] for sums over groups of users whose laws differ, and steps up or down of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import ceil, comb, cos, exp, expm1, inf, log, pi
from operator import mul
from typing import Any

import numpy as np
from flint import acb, arb

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import BallGparv, FloatGparv, Floats, Level, nearest_doubles, total
from symamp.numbers.limits import KERNEL_PLAN
from symamp.numbers.optional import brentq
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Enclosure, Settings, positive_part, settled, starting_precision
from symamp.sums.kernel import Ranges
from symamp.sums.kernel_balls import Tilted, TiltedBalls, tilted_sum
from symamp.sums.kernel_floats import FloatSum, searched
from symamp.sums.tilted import Cumulants, Plan, TiltedFloats, TiltedLaw, cumulants, gaussian_estimate

# ------------------------------------ The search in floats for the plan of a sum over groups of users whose laws differ


@dataclass(frozen=True)
class Group:
    """So many users whose summands share the law that ``source`` gives in balls at the ambient precision."""

    count: int
    source: Callable[[], BallGparv]


@dataclass(frozen=True)
class _Average(TiltedFloats):
    """All groups under one tilt, per user."""

    theta: float
    cumulants: Cumulants
    tilted: tuple[TiltedLaw, ...]
    counts: Floats

    def _mean(self, of_groups: Iterable[Any]) -> Any:
        return sum(c * x for c, x in zip(self.counts, of_groups, strict=True)) / self.counts.sum()

    @property
    def log_null(self) -> float:
        return float(self._mean(t.log_null for t in self.tilted))

    def log_mgf(self, tilts: Floats) -> Floats:
        return np.asarray(self._mean(t.log_mgf(tilts) for t in self.tilted))

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        both = [t.log_phi(u) for t in self.tilted]
        return self._mean(x for x, _ in both), self._mean(x for _, x in both)

    def decays(self, n: int, middle: Floats, half: Floats) -> Floats:
        factors = (t.decays(int(c), middle, half) for t, c in zip(self.tilted, self.counts, strict=True))
        return np.asarray(reduce(np.multiply, factors))


class GroupSearch:
    """The search in floats for the parameters of the sum."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.counts = np.array([float(g.count) for g in groups])
        self.n = int(sum(g.count for g in groups))
        self.laws = [_unscaled(nearest_doubles(g.source)) for g in groups]

    def rough(self) -> float:
        """Return the saddle-point approximation of log E[S_+], without a plan."""
        with np.errstate(all="ignore"):
            at = self._average(self._saddle())
            return self.n * at.cumulants.k0 + log(gaussian_estimate(at, self.n))

    def sum(self, settings: Settings) -> FloatSum:
        """Return the estimate of E[S_+] with its plan."""
        with np.errstate(all="ignore"):
            theta = self._saddle()
            theta += float(np.sqrt(1.2 / (self.n * self._cumulants(theta).k2 + 2.0 / theta**2)))
            at = self._average(theta)
            if not np.isfinite((at.cumulants.k0, at.deviation)).all():
                raise PrecisionError(
                    "eps", Problem("the divergence is beyond the range of doubles"), "take a smaller eps"
                )
            found = searched(at, self.n, settings.gap, settings.most_frequencies)
            values = sum(len(g.values) for g in self.laws)
            settings.limits.charge(KERNEL_PLAN.of(values * found.plan.blocks.evaluations))
            return found

    def _cumulants(self, theta: float) -> Cumulants:
        """Return the averages over users."""
        rows = np.array([(c.k0, c.k1, c.k2) for c in (cumulants(g, theta) for g in self.laws)])
        return Cumulants(*(float(x) for x in self.counts @ rows / self.n))

    def _average(self, theta: float) -> _Average:
        tilted = tuple(TiltedLaw.of(g, theta) for g in self.laws)
        return _Average(theta, self._cumulants(theta), tilted, self.counts)

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats]:
        """Values and masses with one row for each group, the null value last, and the largest value of each."""
        width = max(len(g.values) for g in self.laws)
        values, masses = (np.zeros((len(self.laws), width + 1)) for _ in range(2))
        for i, g in enumerate(self.laws):
            values[i, : len(g.values)], masses[i, : len(g.values)], masses[i, -1] = g.values, g.masses, g.null_mass
        return values, masses, np.where(masses > 0.0, values, -inf).max(axis=1)

    @property
    def can_be_positive(self) -> bool:
        """Whether the sum can be positive, as far as doubles tell."""
        return bool(self.counts @ self._table[2] > 0.0)

    def _saddle(self) -> float:
        """Return the solution of theta K'(theta) = 2 for the sum over all users."""
        top = max(float(g.values.max(initial=0.0)) for g in self.laws)

        values, masses, largest = self._table
        if not self.can_be_positive:
            raise PrecisionError("eps", Problem("the divergence is beyond the range of doubles"), "take a smaller eps")

        def excess(log_theta: float) -> float:
            theta = float(np.exp(log_theta))
            weights = masses * np.exp(np.minimum(theta * (values - largest[:, None]), 0.0))
            means = (weights * values).sum(axis=1) / weights.sum(axis=1)
            return theta * float(self.counts @ means) - 2.0

        low = high = float(np.log(1.0 / top)) - 0.5 * log(self.n)
        while (found := excess(high)) < 0.0:
            high += 1.0
        if not found >= 0.0:
            raise PrecisionError("eps", Problem("the divergence is beyond the range of doubles"), "take a smaller eps")
        while excess(low) > 0.0:
            low -= 1.0
        return float(np.exp(brentq(excess, low, high, xtol=1e-3, rtol=1e-3)))


def _unscaled(g: FloatGparv) -> FloatGparv:
    unit = 2.0**g.exponent
    return g if g.exponent == 0 else replace(g, values=g.values * unit, mean=g.mean * unit, exponent=0)


# ------------ E[S_+] for a sum over groups of users whose laws differ: one power of a characteristic function per group

# The kernel sandwich never uses that the summands share one law (docs/proofs/users_who_differ.md, section 1).

_ENUMERATE = 2_000
_LARGEST_PRECISION = 4096


def enclose_groups(groups: Sequence[Group], settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of E[S_+], S the sum over all users of all groups, each group with a law of its own.

    Guarantee
    ---------
    ``lower.lower() <= E[S_+] <= upper.upper()``, whatever the plan that floats have found.
    Proof: docs/proofs/users_who_differ.md, section 1.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    n = sum(g.count for g in present)
    bits = starting_precision(max(n, 1), settings.gap)
    with at_precision(bits):
        balls = [g.source() for g in present]
        if not any(v > 0 for b in balls for v in b.values) or _largest(present, balls) <= 0:
            most = total([g.count * positive_part(b) for g, b in zip(present, balls, strict=True)])
            return Enclosure(arb(0), most.min(_largest(present, balls).max(arb(0))), "no positive value", bits)
        if _outcomes(present, balls) <= _ENUMERATE:
            value = _enumerated(present, balls)
            return Enclosure(value, value, "enumeration", bits)
    plan = GroupSearch(present).sum(settings).plan
    found = settled(lambda bits: _sum(present, plan, bits), bits, settings.gap, _LARGEST_PRECISION)
    if found is None:
        raise PrecisionError(
            "precision", Problem(f"rounding errors dominate even at {_LARGEST_PRECISION} bits"), "take a larger gap"
        )
    return found


def estimate_log_groups(groups: Sequence[Group], settings: Settings | None = None) -> float | None:
    """Return an estimate of log E[S_+] in floats where they suffice; -inf for zero. Not a bound.

    None where the sums of a kernel that may be had leave the value open: what they say then is no estimate.
    """
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    with at_precision(128):
        balls = [g.source() for g in present]
        if not _largest(present, balls) > 0:
            return -inf
        if _outcomes(present, balls) <= _ENUMERATE:
            return _log(_enumerated(present, balls))
    try:
        found = GroupSearch(present).sum(settings)
    except PrecisionError:  # out of the range of doubles
        return -inf
    return found.log_value if found.lower > 0.0 else None


def approximate_log_groups(groups: Sequence[Group]) -> float:
    """Return the saddle-point approximation of log E[S_+], cheap and good to a few per cent; -inf for zero."""
    search = GroupSearch([g for g in groups if g.count > 0])
    value = search.rough() if search.can_be_positive else -inf
    return value if value == value else -inf


def _log(x: arb) -> float:
    return float(x.mid().log()) if x.mid() > 0 else -inf


def _largest(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return the largest value of S."""
    result = arb(0)
    for group, ball in zip(groups, balls, strict=True):
        values = [*ball.values, *([] if ball.null_mass.is_zero() else [arb(0)])]
        result += group.count * reduce(arb.max, values)
    return result


def _outcomes(groups: Sequence[Group], balls: Sequence[BallGparv]) -> int:
    result = 1
    for group, ball in zip(groups, balls, strict=True):
        result *= comb(group.count + len(ball.values), len(ball.values)) if group.count < _ENUMERATE else _ENUMERATE + 1
        if result > _ENUMERATE:
            break
    return result


def _enumerated(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return a ball around E[S_+]: all outcomes of all groups."""
    sums = [(arb(0), arb(1))]
    for group, ball in zip(groups, balls, strict=True):
        law = [*zip(ball.values, ball.masses, strict=True), (arb(0), ball.null_mass)]
        # Each partial sum carries how many users of the group are still to be placed; the last value takes all.
        placed = [(s, w, group.count) for s, w in sums]
        for i, (value, mass) in enumerate(law):
            placed = [
                (s + k * value, w * comb(left, k) * _power(mass, k), left - k)
                for s, w, left in placed
                for k in ((left,) if i == len(law) - 1 else range(left + 1))
            ]
        sums = [(s, w) for s, w, _ in placed]
    return total([w * s.max(arb(0)) for s, w in sums])


def _power(mass: arb, k: int) -> arb:
    """Return mass^k; the library has no number for the power of a ball around 0."""
    if k and mass.mid() == 0 and not mass.is_zero():
        most = mass.upper() ** k
        return most.union(-most)
    return mass**k


@dataclass(frozen=True)
class TiltedGroups(Tilted):
    """The sum over all users of all groups under one tilt."""

    theta: arb
    null_n: arb
    groups: tuple[TiltedBalls, ...]

    @staticmethod
    def of(laws: Sequence[tuple[BallGparv, int]], tilt: float) -> TiltedGroups:
        """Tilt laws, each of so many users, by the double ``tilt``, an exact number."""
        groups = tuple(TiltedBalls.of(g, count, tilt) for g, count in laws)
        return TiltedGroups(arb(tilt), _product(t.null_n for t in groups), groups)

    @property
    def scale(self) -> arb:
        """M(theta), the product over all users."""
        return _product(t.scale for t in self.groups)

    def powers(self, step: arb, first: int, last: int) -> Iterator[acb]:
        """Yield the characteristic function of the sum, less ``null_n``, at the frequencies j step."""
        for row in zip(*(t.powers(step, first, last) for t in self.groups), strict=True):
            result = acb(1)
            for t, factor in zip(self.groups, row, strict=True):
                result *= factor + t.null_n
            yield result - self.null_n

    def growth(self, tilt: arb) -> arb:
        """Return M(tilt)/M(theta)."""
        return _product(t.growth(tilt) for t in self.groups)

    def decays(self, step: arb, blocks: Ranges) -> list[arb]:
        """Return the products of what the groups give for each block."""
        return [_product(bounds) for bounds in zip(*(t.decays(step, blocks) for t in self.groups), strict=True)]


def _sum(groups: Sequence[Group], plan: Plan, bits: int) -> Enclosure:
    """Return the two-sided sum in balls at the ambient precision."""
    whole = TiltedGroups.of([(g.source(), g.count) for g in groups], plan.window.theta)
    tilted, (lower, upper) = whole.groups, tilted_sum(whole, plan)
    mean = total([t.n * total([v * p for v, p in zip(t.g.values, t.g.masses, strict=True)]) for t in tilted])
    alone = total([t.n * positive_part(t.g) for t in tilted])
    lower = lower.max(mean) if lower.is_finite() else mean.max(arb(0))
    upper = upper.min(alone) if upper.is_finite() else alone
    return Enclosure(lower, upper, "compact kernel, groups", bits, plan)


def _product(factors: Iterable[arb]) -> arb:
    return reduce(mul, factors, arb(1))


# --- One user among groups of others who step up, down or stay: how well the sum of all steps tells two laws of hers

_ROOM, _MOST_NODES, _LARGEST_TILT, _BITS = 45.0, 200_000, 40.0, 128
_AROUND, _FEW, _NEVER = 3, 100.0, -1.0 + 2.0**-53
"""How many thresholds on each side are compared, up to which variance of the sum."""


@dataclass(frozen=True)
class Steps:
    """The chances of a step up and of a step down, of so many users."""

    up: arb
    down: arb
    count: int = 1

    @property
    def floats(self) -> tuple[float, float, int]:
        """The same in doubles."""
        return float(self.up), float(self.down), self.count


@dataclass(frozen=True)
class Walk:
    """The sum of the steps of all users: the victim's on either input, and those of the groups of others.

    What is tested is whether the sum reaches a threshold.
    """

    on_x0: Steps
    on_x1: Steps
    others: tuple[Steps, ...]

    def log_estimate(self, level: Level) -> float:
        """Return an estimate of the logarithm of the divergence at the best threshold; -inf where there is none."""
        plan = self.plan(level)
        return -inf if plan is None else plan.log_value

    def below(self, level: Level) -> arb:
        """Return a number that is at most D_E of the sums, 0 where no threshold tells.

        Guarantee
        ---------
        The result is at most the divergence of the sums of steps. Proof: docs/proofs/users_who_differ.md, section 4.
        """
        plan = self.plan(level)
        if plan is None:
            return arb(0)
        with at_precision(plan.bits):
            return plan.lower(level)

    def plan(self, level: Level) -> StepPlan | None:
        """Return the threshold where P0 = E P1 by the saddle point, and where to integrate."""
        (u0, d0, _), (u1, d1, _) = self.on_x0.floats, self.on_x1.floats
        with at_precision(64):
            more = float(level.exponential_minus_one())
        a, b = (u0 - u1) - more * u1, (d0 - d1) - more * d1
        middle = -more - a - b
        if not a > 0.0 or middle * middle < 4.0 * a * b:
            return None
        # The larger root of a x^2 + middle x + b, without cancellation.
        x = (-middle + (middle * middle - 4.0 * a * b) ** 0.5) / (2.0 * a)
        if not x > 1.0 + 1e-12:
            x = 1.0 + 1e-12
        groups, tilt, h = [s.floats for s in self.others], min(log(x), _LARGEST_TILT), (more, a, b)
        mean, square, _ = _moments(groups, tilt)
        middle_of_step = ceil(mean - 0.5)
        # Where few steps matter the saddle point is rough, and thresholds around it are compared.
        around = range(-_AROUND, _AROUND + 1) if square < _FEW else (0,)
        return max((StepPlan.of(self, groups, tilt, h, middle_of_step + i) for i in around), key=lambda p: p.log_value)


@dataclass(frozen=True)
class StepPlan:
    """A threshold, a tilt, the number of nodes of the full circle and how many of them, on one side, are evaluated."""

    walk: Walk
    threshold: int
    tilt: float
    nodes: int
    last: int
    log_value: float

    @property
    def bits(self) -> int:
        """A working precision at which roundings do not show."""
        return _BITS + 4 * sum(s.count for s in self.walk.others).bit_length()

    @staticmethod
    def of(
        walk: Walk,
        groups: Sequence[tuple[float, float, int]],
        tilt: float,
        h: tuple[float, float, float],
        threshold: int,
    ) -> StepPlan:
        """Return where to integrate for a threshold and a tilt."""
        square = _moments(groups, tilt)[1]
        tilt = max(tilt, min(1.0, 0.5 / max(square, 1.0) ** 0.5))
        _, square, kappa = _moments(groups, tilt)
        here = _log_mgf(groups, tilt) - tilt * threshold
        beyond = _log_mgf(groups, 2.0 * tilt) - 2.0 * tilt * (threshold - 1)
        # The value is seldom smaller than this by more than the room.
        low = here - log(1.0 + square) - 2.0 * log(1.0 + 1.0 / max(h[0], 1e-12)) - _ROOM
        nodes = min(ceil((max(0.0, beyond) - low) / tilt) + 2, _MOST_NODES)
        last = nodes // 2
        if kappa * (1.0 - cos(pi)) > 2.0 * _ROOM:
            share = 1.0 - 2.0 * _ROOM / kappa
            last = min(last, ceil(float(np.arccos(share)) * nodes / (2.0 * pi)) + 1)
        return StepPlan(walk, threshold, tilt, nodes, last, _estimate(groups, threshold, tilt, nodes, last, here, h))

    def lower(self, level: Level) -> arb:
        """Return the integral in balls, without what is dropped and what other periods may add."""
        others, k, tilt, n = self.walk.others, self.threshold, arb(self.tilt), self.nodes
        more = level.exponential_minus_one()
        a = self.walk.on_x0.up - self.walk.on_x1.up - more * self.walk.on_x1.up
        b = self.walk.on_x0.down - self.walk.on_x1.down - more * self.walk.on_x1.down
        here = _mgf(others, tilt) * (-tilt * k).exp()
        whole = arb(0)
        for j in range(self.last + 1):
            angle = 2 * arb.pi() * j / n
            z = acb(tilt, angle)
            up, down = z.exp(), (-z).exp()
            value = -more / (1 - down) + a * up - b
            for s in others:
                value *= (1 + s.up * (up - 1) + s.down * (down - 1)) ** s.count
            weight = 1 if j == 0 or 2 * j == n else 2
            whole += weight * (value * (-z * k).exp()).real
        return (whole / n - self._rest(here, more, a, b)).lower().max(arb(0))

    def _rest(self, here: arb, more: arb, a: arb, b: arb) -> arb:
        others, k, tilt, n = self.walk.others, self.threshold, arb(self.tilt), self.nodes
        size = more / (1 - (-tilt).exp()) + abs(a) * tilt.exp() + abs(b)
        dropped = arb(0)
        if 2 * self.last + 1 < n:
            kappa = total([s.count * _spread(s, tilt) for s in others])
            fall = 1 - (2 * arb.pi() * (self.last + 1) / n).cos()
            dropped = here * size * (-kappa * fall / 2).exp()
        double = 2 * tilt
        above = _mgf(others, double) * (-double * (k - 1)).exp() / (tilt * n).expm1()
        return dropped + above + 1 / (tilt * n).expm1()


def _mgf(others: Sequence[Steps], tilt: arb) -> arb:
    result = arb(1)
    for s in others:
        result *= (1 + s.up * tilt.expm1() + s.down * (-tilt).expm1()) ** s.count
    return result


def _spread(s: Steps, tilt: arb) -> arb:
    """Return 2 c (u + d) of the tilted chances: |phi(v)|^2 <= 1 - that (1 - cos v)."""
    up, down, stay = s.up * tilt.exp(), s.down * (-tilt).exp(), 1 - s.up - s.down
    whole = up + down + stay
    return (2 * stay * (up + down) / whole**2).max(arb(0))


def _moments(groups: Sequence[tuple[float, float, int]], tilt: float) -> tuple[float, float, float]:
    """Return mean, variance and the sum of spreads of the tilted sum."""
    mean = variance = kappa = 0.0
    for up, down, n in groups:
        u, d, stay = up * exp(tilt), down * exp(-tilt), 1.0 - up - down
        whole = u + d + stay
        step = (u - d) / whole
        mean += n * step
        variance += n * ((u + d) / whole - step * step)
        kappa += n * 2.0 * max(stay, 0.0) * (u + d) / whole**2
    return mean, variance, kappa


def _log_mgf(groups: Sequence[tuple[float, float, int]], tilt: float) -> float:
    return sum(n * float(np.log1p(max(up * expm1(tilt) + down * expm1(-tilt), _NEVER))) for up, down, n in groups)


def _estimate(
    groups: Sequence[tuple[float, float, int]],
    threshold: int,
    tilt: float,
    nodes: int,
    last: int,
    here: float,
    h: tuple[float, float, float],
) -> float:
    """Return the logarithm of the integral in doubles; -inf where it is not positive."""
    more, a, b = h
    angle = 2.0 * pi / nodes * np.arange(last + 1)
    up, down = np.exp(tilt + 1j * angle), np.exp(-tilt - 1j * angle)
    logs = -(tilt + 1j * angle) * threshold - here
    for u, d, n in groups:
        steps = u * (up - 1.0) + d * (down - 1.0)
        logs = logs + n * np.log1p(np.where(steps == -1.0, _NEVER, steps))
    weights = np.full(last + 1, 2.0)
    weights[0] = 1.0
    if 2 * last == nodes:
        weights[-1] = 1.0
    value = float((weights * (np.exp(logs) * (a * up - b - more / (1.0 - down))).real).sum()) / nodes
    return log(value) + here if value > 0.0 else -inf
