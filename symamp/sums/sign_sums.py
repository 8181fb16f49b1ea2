"""One user among groups of others whose reports step up, down or stay: the divergence of the sum of all steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil, cos, exp, expm1, inf, log, pi

import numpy as np
from flint import acb, arb

from symamp.laws.law import Level, total
from symamp.numbers.surroundings import at_precision

_ROOM, _MOST_NODES, _LONGEST, _LARGEST_TILT, _BITS = 45.0, 200_000, 2**36, 40.0, 128
_AROUND, _LARGEST_SQUARE, _NEVER = 3, 100.0, -1.0 + 2.0**-53
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

    What is tested is whether the sum reaches a threshold. The laws on the two inputs may have less mass than 1.
    """

    on_x0: Steps
    on_x1: Steps
    others: tuple[Steps, ...]
    mass0: arb = field(default_factory=partial(arb, 1))
    mass1: arb = field(default_factory=partial(arb, 1))

    def slopes(self, level: Level) -> tuple[arb, arb, arb]:
        """Return E times the mass on x1 less that on x0; and that on x0 less E times that on x1 of each step."""
        more, x, y = level.exponential_minus_one(), self.on_x0, self.on_x1
        return (
            more * self.mass1 + (self.mass1 - self.mass0),
            (x.up - y.up) - more * y.up,
            (x.down - y.down) - more * y.down,
        )

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
            return plan.lower(self.slopes(level)).max(arb(0))

    def chances(self, plan: StepPlan) -> tuple[arb, arb]:
        """Return how likely the sum reaches the threshold: on x0 at least the first, on x1 at most the second.

        Guarantee
        ---------
        Both are bounds on these sides. Proof: docs/proofs/users_who_differ.md, section 7.
        """
        x, y = self.on_x0, self.on_x1
        with at_precision(plan.bits):
            low, less = plan.lower((-self.mass0, x.up, x.down)), plan.lower((self.mass1, -y.up, -y.down))
            return low.max(arb(0)), (-less).upper()

    def plan(self, level: Level) -> StepPlan | None:
        """Return the threshold where P0 = E P1 by the saddle point, and where to integrate."""
        with at_precision(_BITS):
            more, a, b = (float(x) for x in self.slopes(level))
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
        around = range(-_AROUND, _AROUND + 1) if square < _LARGEST_SQUARE else (0,)
        found = (StepPlan.of(self, groups, tilt, h, middle_of_step + i) for i in around)
        best = max(found, key=lambda p: p.log_value)
        return None if best.nodes <= 2 and best.log_value == -inf else best


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
        if -here > tilt * _LONGEST + _ROOM:
            return StepPlan(walk, threshold, tilt, 2, 0, -inf)  # no sum of so many nodes tells it from other periods
        nodes = min(ceil((max(0.0, beyond) - low) / tilt) + 2, _LONGEST)
        last = min(nodes // 2, _MOST_NODES)
        if kappa * (1.0 - cos(pi)) > 2.0 * _ROOM:
            share = 1.0 - 2.0 * _ROOM / kappa
            last = min(last, ceil(float(np.arccos(share)) * nodes / (2.0 * pi)) + 1)
        return StepPlan(walk, threshold, tilt, nodes, last, _estimate(groups, threshold, tilt, nodes, last, here, h))

    def lower(self, slopes: tuple[arb, arb, arb]) -> arb:
        """Return the integral in balls, without what is dropped and what other periods may add."""
        others, k, tilt, n = self.walk.others, self.threshold, arb(self.tilt), self.nodes
        more, a, b = slopes
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
        return (whole / n - self._rest(here, more, a, b)).lower()

    def _rest(self, here: arb, more: arb, a: arb, b: arb) -> arb:
        others, k, tilt, n = self.walk.others, self.threshold, arb(self.tilt), self.nodes
        size = abs(more) / (1 - (-tilt).exp()) + abs(a) * tilt.exp() + abs(b)
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
