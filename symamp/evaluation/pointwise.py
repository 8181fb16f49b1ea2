"""The probability of every lattice point, enclosed: a wrapped law less what the wrap-around may have brought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from math import fsum, inf

import numpy as np
from flint import arb

from symamp.evaluation.gparv import Floats
from symamp.evaluation.law import total
from symamp.evaluation.tilted_balls import TiltedBalls
from symamp.evaluation.wrapped import Wrapped

_SLACK = 2.0**-45
"""Relative error of what is done with doubles here: some logarithms and exponentials, a few units of rounding each."""


@dataclass(frozen=True)
class Tail:
    """Chernoff's bound on the tilted mass at k and beyond it, on one side: size * exp(rate * k); 0 from ``end`` on."""

    size: arb
    rate: arb
    end: int

    @staticmethod
    def of(tilted: TiltedBalls, tilt: float, end: int) -> Tail:
        """Return the bound from another tilt; ``end`` is the first point that cannot be reached, its sign the side."""
        other = arb(tilt)
        weights = [p * (other * v).exp() for v, p in zip(tilted.g.values, tilted.g.masses, strict=True)]
        return Tail(((tilted.g.null_mass + total(weights)) / tilted.m) ** tilted.n, tilted.theta - other, end)

    def beyond(self, k: int) -> arb:
        """Return a ball whose upper end bounds the tilted mass at k and beyond."""
        if k >= self.end > 0 or k <= self.end < 0:
            return arb(0)
        return _at_most_one(self.size * (self.rate * k).exp())

    def along(self, first: int) -> Iterator[arb]:
        """Yield the bounds at the points from ``first`` on."""
        bound, ratio = self.size * (self.rate * first).exp(), self.rate.exp()
        for k in count(first):
            yield arb(0) if k >= self.end > 0 or k <= self.end < 0 else _at_most_one(bound)
            bound *= ratio


@dataclass(frozen=True)
class Pointwise:
    """The law of the sum T of n draws at the points of a window, from the wrapped law under the tilt theta.

    ``log_scale`` is the logarithm of M(theta)^n, so that P(T = k) = exp(log_scale - theta k) P_theta(T = k).
    """

    wrapped: Wrapped
    below: Tail
    above: Tail
    theta: float
    log_scale: arb

    def outside(self) -> arb:
        """Return a ball whose upper end bounds the tilted mass outside the window."""
        return self.above.beyond(self.wrapped.last + 1) + self.below.beyond(self.wrapped.first - 1)

    def at(self, k: int) -> tuple[arb, arb]:
        """Return balls whose outer ends enclose P(T = k), for any integer k.

        Guarantee
        ---------
        The lower end of the first is at most P(T = k), the upper end of the second at least, if the wrapped law is
        enclosed. Proof: docs/proofs/fft.md, section 3.
        """
        low, high = arb(0), self.above.beyond(k).min(self.below.beyond(k))
        if self.wrapped.first <= k <= self.wrapped.last:
            length = self.wrapped.length
            wrapped_around = self.above.beyond(k + length) + self.below.beyond(k - length)
            low, high = _ends(self.wrapped.ball(k), wrapped_around, high)
        if high == 0:
            return high, high
        weight = (self.log_scale - arb(self.theta) * k).exp()
        return low * weight, (high * weight).min(arb(1))

    def in_balls(self) -> tuple[Floats, Floats, arb, arb]:
        """Return log P(T = k) from below and above on the window, rounded outward, and balls around both sums of P."""
        first, length = self.wrapped.first, self.wrapped.length
        starts = ((self.above, first + length), (self.below, first - length), (self.above, first), (self.below, first))
        weight, ratio = (self.log_scale - arb(self.theta) * first).exp(), arb(-self.theta).exp()
        sums, logs = [arb(0), arb(0)], np.full((2, length), -inf)
        for i, (a, b, c, d) in enumerate(islice(zip(*(t.along(k) for t, k in starts), strict=True), length)):
            ends = _ends(self.wrapped.ball(first + i), a + b, c.min(d))
            for side, edge in enumerate((ends[0], ends[1].upper())):
                if edge > 0:
                    chance = edge * weight
                    sums[side] += chance
                    logarithm = chance.log()
                    logs[side, i] = float(logarithm.upper() if side else logarithm.lower())
            weight *= ratio
        # The conversion to a double errs by less than the distance to the next one.
        upper = np.where(logs[1] > -inf, np.minimum(np.nextafter(logs[1], inf), 0.0), -inf)
        return np.nextafter(logs[0], -inf), upper, sums[0], sums[1]

    def in_doubles(self) -> tuple[Floats, Floats, arb, arb]:
        """Return the same in doubles, for a wrapped law in doubles; elementary functions err by a few units."""
        k = np.arange(self.wrapped.first, self.wrapped.last + 1, dtype=np.float64)
        found, length = self.wrapped.floats(), self.wrapped.length
        wrap = self._tails(self.above, k + length) + self._tails(self.below, k - length)
        low, high = found - self.wrapped.noise - wrap, np.maximum(found, 0.0) + self.wrapped.noise
        high = np.minimum(high, np.minimum(self._tails(self.above, k), self._tails(self.below, k)))
        shift, scale = float(self.log_scale) - self.theta * k, abs(float(self.log_scale)) + np.abs(self.theta * k)
        logs = []
        for ends, side in ((low, -1.0), (high, 1.0)):
            with np.errstate(divide="ignore"):
                logarithm = np.log(np.maximum(ends, 0.0))
            size = np.where(np.isfinite(logarithm), np.abs(logarithm), 0.0) + scale + 1.0
            logs.append(np.minimum(logarithm + shift + side * _SLACK * size, 0.0))
        sums = [fsum(np.exp(x).tolist()) * (1.0 + side * _SLACK) for x, side in zip(logs, (-1.0, 1.0), strict=True)]
        return logs[0], logs[1], arb(sums[0]), arb(sums[1])

    def _tails(self, tail: Tail, k: Floats) -> Floats:
        """Return the bound at many points, in doubles."""
        if not tail.size > 0:
            return np.zeros_like(k)
        size = float(tail.size.log().upper())
        exponent = size + float(tail.rate) * k
        bound = np.exp(np.minimum(exponent + _SLACK * (1.0 + abs(size) + np.abs(exponent)), 0.0))
        reached = k < tail.end if tail.end > 0 else k > tail.end
        return np.where(reached, bound, 0.0)


def _ends(found: arb, wrapped_around: arb, most: arb) -> tuple[arb, arb]:
    """Return ends for a tilted probability from the wrapped one, what may have come round, and another upper bound."""
    return (found - wrapped_around).lower().max(arb(0)), found.upper().max(arb(0)).min(most)


def _at_most_one(bound: arb) -> arb:
    return bound.min(arb(1)) if bound.is_finite() else arb(1)
