"""E[S_+] where a few rare values are far larger than all others: none of them is drawn, or one, or hardly ever more.

The others then have sums with short windows: one kernel for them alone, and one beside each rare value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf, log1p
from typing import NamedTuple

import numpy as np
from flint import arb

from symamp.errors import PrecisionError
from symamp.laws.law import BallGparv, FloatGparv, Floats, total
from symamp.sums.kernels.balls import certified_sum
from symamp.sums.kernels.floats import float_sum
from symamp.sums.kernels.tilted import Plan

# What is tuned. Every threshold and every plan gives a bound.
_MOST_VALUES, _MOST_APART, _RARE, _SHARE, _FREQUENCIES = 100, 16, 0.1, 0.1, 20_000
"""Most values, and most that are apart, how often one of them is drawn at most, what part of the gap draws of two may
take, and the frequencies of each kernel."""
_TOLD_APART, _LARGEST_LOG = 1e-9, 700.0
"""By how much, relatively, values differ between which a threshold is put; and about the largest logarithm of a
double."""


@dataclass(frozen=True)
class LargePlan:
    """Values above ``threshold`` are apart: the plans for sums of the others alone, and beside each of these in order.

    A plan is None where no frequency is needed, because no sum is positive, or every one is.
    """

    threshold: float
    alone: Plan | None
    beside: tuple[Plan | None, ...]

    @property
    def parameters(self) -> dict[str, float]:
        """What there is to tell of the plan, by name."""
        plans = [p for p in (self.alone, *self.beside) if p is not None]
        frequencies = sum(p.blocks.evaluations for p in plans)
        return {"threshold": self.threshold, "apart": len(self.beside), "frequencies": frequencies}


def plan_large(g: FloatGparv, n: int, gap: float) -> tuple[LargePlan, float] | None:
    """Return the plan with the least work that meets the relative gap, or the sharpest, and about its gap; or None."""
    g, best = g.unscaled, None
    order = np.argsort(-g.values)
    values, masses = g.values[order], g.masses[order]
    if n < 2 or not 2 <= len(values) <= _MOST_VALUES or not np.isfinite(values).all() or not values[0] > 0.0:
        return None
    chances = np.cumsum(masses)
    most = min(int(((n * chances <= _RARE) & (values > 0.0)).sum()), _MOST_APART, len(values) - 1)
    for apart in range(most, 0, -1):
        found = _tried(values, masses, g.null_mass, n, apart, gap)
        if found is not None and (best is None or found[1] < best[1]):
            best = found
        if best is not None and (best[1] <= gap or (found is not None and found[1] > best[1])):
            break
    return best


def _tried(
    values: Floats, masses: Floats, null: float, n: int, apart: int, gap: float
) -> tuple[LargePlan, float] | None:
    """Return the plan with so many values apart, and about its gap; None if two of them are drawn too often."""
    large, chance = values[:apart], float(masses[:apart].sum())
    rest, weights, left = values[apart:], masses[apart:] / (1.0 - chance), null / (1.0 - chance)
    if not rest[0] < large[-1] * (1.0 - _TOLD_APART):
        return None
    gains = [float(m @ np.maximum(v, 0.0)) for v, m in ((large, masses[:apart]), (rest, masses[apart:]))]
    twice = n * (n - 1) * chance * (gains[0] + gains[1] * chance * (n - 2) / 2.0)

    def summed(k: int, offset: float, scale: float) -> _Part:
        """Return a plan for k draws and a number, and both ends times the scale."""
        if offset == 0.0:
            g = FloatGparv(rest, weights, left, float(rest @ weights), 0.0)
        else:
            moved, shares = np.append(rest, 0.0) + offset / k, np.append(weights, left)
            g = FloatGparv(moved, shares, 0.0, float(moved @ shares), 0.0)
        if not g.is_positive:
            return _Part(None, 0.0, 0.0)
        if g.values[g.masses > 0.0].min() >= 0.0:
            return _Part(None, scale * k * g.mean, scale * k * g.mean)
        found = float_sum(g, k, gap / 2.0, _FREQUENCIES)
        scale *= exp(min(found.log_scale, _LARGEST_LOG))
        return _Part(found.plan, scale * max(found.lower, 0.0), scale * found.upper)

    try:
        whole = exp(n * log1p(-chance))
        found = [summed(n, 0.0, whole)]
        if not twice <= _SHARE * gap * (found[0].high + n * gains[0]):
            return None
        scales = n * masses[:apart] * whole / (1.0 - chance)
        found += [summed(n - 1, float(v), float(c)) for v, c in zip(large, scales, strict=True)]
    except (PrecisionError, ZeroDivisionError):
        return None
    low, high = (sum(x) for x in zip(*((part.low, part.high) for part in found), strict=True))
    if not 0.0 < high < inf:
        return None
    between = float(large[-1] + max(rest[0], 0.0)) / 2.0
    return LargePlan(between, found[0].plan, tuple(x.plan for x in found[1:])), (high + twice - low) / high


class _Part(NamedTuple):
    """A plan, None where no frequency is needed, and about the ends by it."""

    plan: Plan | None
    low: float
    high: float


def large_sum(g: BallGparv, n: int, plan: LargePlan) -> tuple[arb, arb]:
    """Return balls (lower, upper) such that lower <= E[S_+] <= upper for S the sum of n copies of G.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+], for every plan.
    Proof: docs/proofs/large_values.md.
    """
    threshold = arb(plan.threshold)
    atoms = list(zip(g.values, g.masses, strict=True))
    large = sorted(((v, m) for v, m in atoms if v.mid() > threshold), key=lambda x: -float(x[0].mid()))
    others = [(v, m) for v, m in atoms if not v.mid() > threshold]
    chance = total([m for _, m in large])
    rest = replace(g, values=tuple(v for v, _ in others), masses=tuple(m for _, m in others))
    low, high = _beside(rest, n, arb(0), plan.alone)
    for (value, mass), how in zip(large, plan.beside, strict=True):
        ends = _beside(rest, n - 1, value, how)
        low, high = low + n * mass * ends[0], high + n * mass * ends[1]
    gains = [total([m * v.max(arb(0)) for v, m in some]) for some in (large, others)]
    return low, high + n * (n - 1) * chance * (gains[0] + gains[1] * chance * (n - 2) / 2)


def _beside(g: BallGparv, k: int, offset: arb, plan: Plan | None) -> tuple[arb, arb]:
    """Return ends of the integral of the positive part of k draws from a measure and a number."""
    values, masses = [v + offset / k for v in g.values], list(g.masses)
    moved = replace(g, values=tuple(values))
    if not offset.is_zero():
        values, masses = [*values, offset / k], [*masses, g.null_mass]
        moved = BallGparv(tuple(values), tuple(masses), arb(0), arb(0))
    if plan is not None:
        return certified_sum(moved, k, plan)
    # The positive part of a sum is at most the sum of positive parts, and in the mean at least the mean.
    others = k * (total(masses) + moved.null_mass) ** (k - 1)
    low, high = (
        others * total([m * x for x, m in zip(some, masses, strict=True)])
        for some in (values, [v.max(arb(0)) for v in values])
    )
    return low.max(arb(0)), high
