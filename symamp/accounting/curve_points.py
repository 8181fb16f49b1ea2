"""Certified values of the curve E -> D_E of a round at finitely many levels, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from symamp.errors import ArgumentError
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.surroundings import at_precision

LEAST_BITS = 100_000
"""What is below 2^-this lies between 0 and it: fractions stay short."""
_BITS, _LEAST = 64, Dyadic(1, -LEAST_BITS)


@dataclass(frozen=True)
class CurvePoint:
    """low <= D_E <= high at the level E, all exact."""

    level: fmpq
    low: fmpq
    high: fmpq

    @staticmethod
    def of_ends(level: fmpq, low: Dyadic, high: Dyadic) -> CurvePoint:
        """Return the point with the ends rounded outward to few bits."""
        with at_precision(_BITS):
            below, above = Dyadic.of((low.ball * 1).lower()), max(Dyadic.of((high.ball * 1).upper()), _LEAST)
        return CurvePoint(level, fmpq(0) if below < _LEAST else below.fraction, min(above.fraction, fmpq(1)))

    def floored(self, bits: int) -> CurvePoint:
        """Return the point with ends below 2^-bits moved outward, to 0 or up to it: fractions stay short."""
        least = fmpq(1, 1 << bits)
        return self if self.low >= least else CurvePoint(self.level, fmpq(0), max(self.high, least))

    def reflected(self) -> CurvePoint:
        """Return the point at 1/E of the curve of the other order: D_{1/E}(Q || P) = 1 - 1/E + D_E(P || Q)/E."""
        base = 1 - 1 / self.level
        return CurvePoint(1 / self.level, base + self.low / self.level, base + self.high / self.level)


@dataclass(frozen=True)
class CurvePoints:
    """Points of one curve, increasing in E > 0.

    D_E = 1 - E up to ``bottom`` and D_E = 0 from ``top`` on; None where no such level is known, or none is used.
    """

    points: tuple[CurvePoint, ...]
    bottom: fmpq | None = None
    top: fmpq | None = None

    def __post_init__(self) -> None:
        levels = [p.level for p in self.points]
        good = all(a < b for a, b in zip([fmpq(0), *levels], levels, strict=False))
        good = good and (self.bottom is None or 0 < self.bottom <= 1) and (self.top is None or self.top >= 1)
        if not good or any(p.high < max(1 - p.level, fmpq(0)) or p.low > p.high for p in self.points):
            raise ArgumentError("points", "no curve", "levels E > 0 that increase, with bounds of at least 1 - E")

    @staticmethod
    def symmetric(points: tuple[CurvePoint, ...], bottom: fmpq | None = None, top: fmpq | None = None) -> CurvePoints:
        """Return the points of a curve that both orders share, from those at E >= 1."""
        left = [p.reflected() for p in points if p.level > 1]
        return CurvePoints((*left[::-1], *points), bottom, top)

    def known(self) -> list[tuple[fmpq, fmpq, fmpq]]:
        """Return (E, low, high) from E = 0 on: where the curve is known exactly, and the points between."""
        exact = [fmpq(0)] if self.bottom is None else [fmpq(0), self.bottom]
        points = [(e, 1 - e, 1 - e) for e in exact] + [(p.level, p.low, p.high) for p in self.inside()]
        return points if self.top is None else [*points, (self.top, fmpq(0), fmpq(0))]

    def inside(self) -> tuple[CurvePoint, ...]:
        """Return the points where the curve is not known exactly."""
        low, high = self.bottom or fmpq(0), self.top
        return tuple(p for p in self.points if low < p.level and (high is None or p.level < high))
