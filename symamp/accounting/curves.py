"""Certified values of the curve E -> D_E of a round, the choice of levels, and the dominating pairs that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import ceil, exp, expm1, inf, sqrt
from typing import Any, TypeVar

from flint import fmpq

from symamp.errors import ArgumentError, Problem
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.limits import NO_LIMITS, Limits
from symamp.numbers.rationals import Vertex, log_ball, lower_hull
from symamp.numbers.surroundings import at_precision

# ----------------------------- Certified values of the curve E -> D_E of a round at finitely many levels, as plain data

LEAST_BITS = 100_000
"""What is below 2^-this lies between 0 and it: fractions stay short."""
_BITS, _LEAST, _ZERO = 64, Dyadic(1, -LEAST_BITS), fmpq(0)
"""Bits of an end, which decide the size of fractions; and the least end above."""


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
            below, above = Dyadic.of(low.ball.lower()), max(Dyadic.of(high.ball.upper()), _LEAST)
        return CurvePoint(level, fmpq(0) if below < _LEAST else below.fraction, min(above.fraction, fmpq(1)))

    def floored(self, bits: int) -> CurvePoint:
        """Return the point with ends below 2^-bits moved outward, to 0 or up to it: fractions stay short."""
        least = fmpq(1, 1 << bits)
        return self if self.low >= least else CurvePoint(self.level, fmpq(0), max(self.high, least))

    def reflected(self) -> CurvePoint:
        """Return the point at 1/E of the curve of the other order: D_{1/E}(Q || P) = 1 - 1/E + D_E(P || Q)/E."""
        base = 1 - 1 / self.level
        return CurvePoint(1 / self.level, base + self.low / self.level, base + self.high / self.level)


Points = tuple[CurvePoint, ...]


@dataclass(frozen=True)
class CurvePoints:
    """Points of one curve, increasing in E > 0.

    D_E = 1 - E up to ``bottom`` and D_E = 0 from ``top`` on; None where no such level is known, or none is used.
    Where they are ``joined`` the curve is above the chords of the lower ends, and after the last of these. Nowhere is
    it below ``least``, a chance that a loss is infinite.
    """

    points: tuple[CurvePoint, ...]
    bottom: fmpq | None = None
    top: fmpq | None = None
    joined: bool = False
    least: fmpq = _ZERO

    def __post_init__(self) -> None:
        levels = [p.level for p in self.points]
        good = all(a < b for a, b in zip([fmpq(0), *levels], levels, strict=False))
        good = good and (self.bottom is None or 0 < self.bottom <= 1) and (self.top is None or self.top >= 1)
        if not good or any(p.high < max(1 - p.level, fmpq(0)) or p.low > p.high for p in self.points):
            wrong = Problem("the levels do not increase, or a bound is below 1 - E")
            raise ArgumentError("points", wrong, "give increasing levels E > 0 and bounds >= 1 - E")

    @staticmethod
    def of_tests(tests: Iterable[tuple[fmpq, fmpq]]) -> CurvePoints:
        """Return what tests prove of D_E(P || Q): of each a chance that P has at least, and one that Q has at most.

        D_E is at least p - E q for each, and at least 1 - E and 0; the points are where the largest of these changes.

        >>> [(p.level, p.low) for p in CurvePoints.of_tests([(fmpq(1, 2), fmpq(1, 8))]).points]
        [(4/7, 3/7), (4, 0)]
        """
        best = lower_hull([(fmpq(0), fmpq(0)), (fmpq(1), fmpq(-1)), *((q, -p) for p, q in tests)])
        kinks = (((b - d) / (c - a), -b, a) for (a, b), (c, d) in pairwise(best))
        found = (CurvePoint(e, p - e * q, fmpq(1)) for e, p, q in kinks if e > 0)
        return CurvePoints(tuple(found)[::-1], joined=True)

    @staticmethod
    def of_orders(right: Points, left: Points | None = None, **ends: Any) -> CurvePoints:
        """Return a curve from its points at E >= 1, and those of the other order, which are the same if not given."""
        reflected = [p.reflected() for p in (right if left is None else left) if p.level > 1]
        return CurvePoints((*reflected[::-1], *right), **ends)

    def without_far(self, loss: float, flat: fmpq) -> CurvePoints:
        """Return the points without those beyond a loss, nor those before it of which the last is as low, by a factor.

        What the curve has where it ends counts as infinite. Itself where hardly anything is beyond.
        """
        far = next((i for i, p in enumerate(self.points) if p.level >= 1 and log_ball(p.level) >= loss), None)
        if far is None:
            return self
        last = next(i for i, p in enumerate(self.points) if p.high <= flat * self.points[far].high)
        return replace(self, points=self.points[: last + 1], top=None)

    def known(self) -> list[tuple[fmpq, fmpq, fmpq]]:
        """Return (E, low, high) from E = 0 on: where the curve is known exactly, and the points between."""
        exact = [fmpq(0)] if self.bottom is None else [fmpq(0), self.bottom]
        points = [(e, 1 - e, 1 - e) for e in exact] + [(p.level, p.low, p.high) for p in self.inside()]
        return points if self.top in (None, self.bottom) else [*points, (self.top, fmpq(0), fmpq(0))]

    def inside(self) -> tuple[CurvePoint, ...]:
        """Return the points where the curve is not known exactly."""
        low, high = self.bottom or fmpq(0), self.top
        return tuple(p for p in self.points if low < p.level and (high is None or p.level < high))


# ---------------------------- At which levels a falling curve is evaluated: nowhere between two at which it is the same

Place = TypeVar("Place")
"""What stands for a level."""


def descend(
    levels: Sequence[Place], point: Callable[[Place], CurvePoint], tolerance: float, limits: Limits = NO_LIMITS
) -> tuple[CurvePoint, ...]:
    """Return points at the first and the last two levels, and in the middle of intervals, longer ones first.

    None are needed between levels whose upper ends differ by less than ``tolerance``, relative, nor beside a middle
    that is so near the chord: a convex curve is about as near everywhere. The last two say how the curve goes on. None
    is evaluated where ``limits`` are spent.

    >>> curve = {e: CurvePoint(fmpq(e), fmpq(0), fmpq(1, max(e, 5))) for e in range(1, 10)}
    >>> [int(p.level.p) for p in descend(list(curve), curve.__getitem__, 1e-5)]
    [1, 4, 5, 6, 7, 8, 9]
    """
    found: dict[int, CurvePoint] = {}
    last = len(levels) - 1
    for i in dict.fromkeys(max(i, 0) for i in (0, last, last - 1)) if levels else ():
        if not limits.is_spent():
            found[i] = point(levels[i])
    intervals = [(0, last - 1)]
    for start, end in intervals:
        middle, ends = (start + end) // 2, (found.get(start), found.get(end))
        if middle > start and not _agree(*ends, tolerance) and not limits.is_spent():
            found[middle] = point(levels[middle])
            if not _agree(found[middle], _on_chord(*ends, found[middle].level), tolerance):
                intervals += [(start, middle), (middle, end)]
    return tuple(found[i] for i in sorted(found))


def spread(levels: Sequence[Place], most: float) -> list[Place]:
    """Return about so many of the levels, evenly among them, with the middle one.

    >>> spread(range(9), 3), spread(range(9), 2), spread(range(9), 0.1), spread(range(9), 9) == [*range(9)]
    ([1, 4, 7], [0, 4, 8], [4], True)
    """
    step = ceil(len(levels) / (most + 0.5))
    return list(levels[len(levels) // 2 % step :: step])


def _agree(a: CurvePoint | None, b: CurvePoint | None, tolerance: float) -> bool:
    if a is None or b is None:
        return False
    return bool(abs(a.high - b.high) <= max(a.high, b.high) * fmpq(*tolerance.as_integer_ratio()))


def _on_chord(a: CurvePoint | None, b: CurvePoint | None, level: fmpq) -> CurvePoint | None:
    if a is None or b is None:
        return None
    return CurvePoint(level, _ZERO, a.high + (b.high - a.high) * (level - a.level) / (b.level - a.level))


# --- At which levels the curve of a round is evaluated: few points, dense where the losses of many rounds come from

# What is tuned: points against width. Every grid gives a bound; these are rules of thumb.
_WIDTH = 12.3
"""The relative width of the bracket of eps is about this over the square of the number of points."""
_STEP, _EVEN_STEP, _LONGEST = 4.34, 8.1, 0.5
"""The spacing at the centre and that of even grids, in deviations over the number of points; the longest, in
deviations."""
_MOST_POINTS = 20_000
"""Of a grid, whatever the gap."""
_LARGEST_LOSS = 700.0
"""Beyond it no double is e^l."""


@dataclass(frozen=True)
class Grid:
    """What decides the levels: loss ``centre`` and ``deviation`` of one round under the tilt, the range, the density.

    The spacing is proportional to the cube root of the inverse density, which makes the error of the variance least;
    or it is ``even``, for questions that are not known yet. Far from 0 and from the centre, where only losses that are
    large and rare can be, it grows with the distance. Points that cost much are ``sparse``: 0 is none of them, so that
    those of the other order are a step below the first, and far out they double their distance.
    """

    centre: float
    deviation: float
    end: float
    points: float
    even: bool = False
    sparse: bool = False

    def levels(self) -> tuple[fmpq, ...]:
        """Return the levels E >= 1, the first of them 1 or half a step beyond, each the dyadic number next to e^l.

        >>> [float(e.p) / float(e.q) for e in Grid(0.0, 1.0, 2.0, 4.0).levels()[:3]]
        [1.0, 1.648..., 2.718...]
        """
        return _levels(self._losses)

    def tail(self, points: int, furthest: float) -> tuple[fmpq, ...]:
        """Return geometrically spaced levels beyond, up to ``furthest``: for moments that reach into the far tail.

        >>> [round(float(e.p) / float(e.q), 2) for e in Grid(0.0, 1.0, 1.0, 4.0).tail(3, 8.0)]
        [7.39, 54.6]
        """
        last = self._losses[-1]
        ratio = (furthest / last) ** (1.0 / points) if points and last < furthest < inf else 1.0
        return _levels(last * ratio**k for k in range(1, points)) if ratio > 1.0 else ()

    @property
    def _losses(self) -> list[float]:
        losses = [min(0.5 * _STEP / self.points * self.deviation, self.end) if self.sparse else 0.0]
        growth = 1.0 if self.sparse else min(_EVEN_STEP / self.points, _LONGEST)
        while losses[-1] < self.end and len(losses) < _MOST_POINTS:
            z = (losses[-1] - self.centre) / self.deviation
            step = _EVEN_STEP / self.points if self.even else _STEP / self.points * exp(min(z * z / 6.0, 50.0))
            far = growth * min(losses[-1] / self.deviation, abs(z))
            losses.append(min(losses[-1] + self.deviation * min(step, max(_LONGEST, far)), self.end))
        return losses


def _levels(losses: Iterable[float]) -> tuple[fmpq, ...]:
    return tuple(dict.fromkeys(1 + fmpq(*expm1(x).as_integer_ratio()) for x in losses if x <= _LARGEST_LOSS))


def points_for(gap: float) -> float:
    """Return the number of points for a relative width of eps."""
    return sqrt(_WIDTH / gap)


# ------------------------------ A pair of distributions (P, Q) with finitely many likelihood ratios, in exact rationals


@dataclass(frozen=True)
class DominatingPair:
    """A pair (P, Q) as its ratios: ``atoms`` lists (E, P-mass at dP/dQ = E), increasing in E > 0.

    ``infinite`` is the P-mass where Q has none. What Q has where P has none is the rest of Q.
    """

    atoms: tuple[Vertex, ...]
    infinite: fmpq = _ZERO

    @staticmethod
    def of_curve(vertices: Sequence[Vertex]) -> DominatingPair:
        """Return the pair whose divergence E -> D_E is the convex function with these vertices, from (0, 1) on.

        It is constant after the last vertex. The Q-mass at a ratio is the change of slope there.

        >>> from flint import fmpq
        >>> DominatingPair.of_curve([(fmpq(0), fmpq(1)), (fmpq(1, 3), fmpq(2, 3)), (fmpq(3), fmpq(0))]).atoms
        ((1/3, 1/4), (3, 3/4))
        """
        slopes = [(d1 - d0) / (e1 - e0) for (e0, d0), (e1, d1) in pairwise(vertices)] + [_ZERO]
        masses = [right - left for left, right in pairwise(slopes)]
        atoms = ((e, e * q) for (e, _), q in zip(vertices[1:], masses, strict=True) if q != 0)
        return DominatingPair(tuple(atoms), vertices[-1][1])

    def swapped(self) -> DominatingPair:
        """Return (Q, P)."""
        atoms = tuple((1 / e, p / e) for e, p in self.atoms[::-1])
        return DominatingPair(atoms, 1 - sum((q for _, q in atoms), _ZERO))

    def divergence(self, level: fmpq) -> fmpq:
        """Return D_E(P || Q) at the level E >= 0, exactly."""
        return sum((p * (1 - level / e) for e, p in self.atoms if e > level), self.infinite)


# ---------------------------------------- A discrete pair that dominates a round: the hull of upper bounds on its curve


def pessimistic(curve: CurvePoints) -> DominatingPair:
    """Return a pair whose curve is at least that of the round at every level, from upper bounds at some.

    Guarantee
    ---------
    If D_E <= ``high`` at the points, for every pair of outputs that may occur, then D_E of all these pairs is at most
    that of the result at every E >= 0, so that it dominates them in adaptive composition.
    Proof: docs/proofs/composition.md, section 2.

    >>> from flint import fmpq
    >>> from symamp.accounting.curves import CurvePoint
    >>> point = CurvePoint(fmpq(1), fmpq(1, 4), fmpq(1, 3))
    >>> pessimistic(CurvePoints((point,), fmpq(1, 3), fmpq(3))).divergence(fmpq(1))
    1/3
    """
    return DominatingPair.of_curve(curve_above(curve))


def curve_above(curve: CurvePoints) -> list[Vertex]:
    """Return the vertices of a convex function that is at least D_E; it is constant after the last.

    Guarantee
    ---------
    The function is at least D_E at every E >= 0. Proof: docs/proofs/composition.md, section 2.
    """
    values = [(e, high) for e, _, high in curve.known()]
    # The curve does not increase: after the least bound it stays below it.
    least = min(range(len(values)), key=lambda i: (values[i][1], i))
    return lower_hull(values[: least + 1])


# ------------ A discrete pair that a round dominates: convexity carries bounds at some levels to the cells between them

Line = tuple[fmpq, fmpq]
"""Value at 0, and slope."""


def optimistic(curve: CurvePoints) -> DominatingPair:
    """Return a pair whose curve is at most that of the round at every level, from bounds on both sides at some.

    Guarantee
    ---------
    If ``low`` <= D_E(P || Q) <= ``high`` at the points, then D_E(P || Q) is at least that of the result at every
    E >= 0, and so are the divergences of T independent rounds. Proof: docs/proofs/composition.md, section 2.

    >>> from flint import fmpq
    >>> from symamp.accounting.curves import CurvePoint
    >>> point = CurvePoint(fmpq(1), fmpq(1, 4), fmpq(1, 3))
    >>> optimistic(CurvePoints((point,), fmpq(1, 3), fmpq(3))).divergence(fmpq(1))
    1/6
    """
    return DominatingPair.of_curve(curve_below(curve))


def curve_below(curve: CurvePoints) -> list[Vertex]:
    """Return the vertices of a convex function that is at most D_E; it is constant after the last.

    Guarantee
    ---------
    The function is at most D_E at every E >= 0. Proof: docs/proofs/composition.md, section 2.
    """
    if curve.joined:
        return lower_hull((e, low) for e, low, _ in curve.known())
    return _levelled(lower_hull(minorant(curve)))


def minorant(curve: CurvePoints) -> list[Vertex]:
    """Return the vertices of a function that is at most D_E, not convex; it is constant after the last.

    It is ``low`` at the points, which a convex function below all curves between ``low`` and ``high`` is not.

    Guarantee
    ---------
    The function is at most D_E at every E >= 0. Proof: docs/proofs/composition.md, section 2.
    """
    least: dict[fmpq, fmpq] = {}
    for e, value in _minorant(curve.known(), curve.least):
        # Where the minorant jumps, at a point, the smaller of its two values counts.
        least[e] = min(value, least.get(e, value))
    return sorted(least.items())


def _levelled(hull: list[Vertex]) -> list[Vertex]:
    """Return the larger of a convex function and its last value, which a curve that does not increase is above."""
    last = hull[-1][1]
    falling = [vertex for vertex in hull if vertex[1] > last]
    if not falling:  # it is 1 everywhere
        return hull[:1]
    (e0, d0), (e1, d1) = falling[-1], hull[len(falling)]
    return [*falling, (e0 + (e1 - e0) * (d0 - last) / (d0 - d1), last)]


def _minorant(known: list[tuple[fmpq, fmpq, fmpq]], least: fmpq) -> Iterator[Vertex]:
    """Yield the vertices, cell by cell, of a function below the curve: extended chords, 1 - E and the least value."""
    for j, (start, low, _) in enumerate(known):
        lines: list[Line] = [(fmpq(1), fmpq(-1)), (least, _ZERO)]
        if j > 0:
            lines.append(_line(known[j - 1][0], known[j - 1][2], start, low))
        if j + 1 < len(known):
            end = known[j + 1][0]
            if j + 2 < len(known):
                lines.append(_line(end, known[j + 1][1], known[j + 2][0], known[j + 2][2]))
        else:
            value, slope = lines[-1]
            # After the last point the chord falls to the least value, or says nothing: then the floors alone are left.
            end = max(start, fmpq(1), (least - value) / slope if slope < 0 else start)
        crossings = ((b[0] - a[0]) / (a[1] - b[1]) for a, b in combinations(lines, 2) if a[1] != b[1])
        for e in {start, end, *(x for x in crossings if start < x < end)}:
            yield e, max(value + slope * e for value, slope in lines)


def _line(e0: fmpq, d0: fmpq, e1: fmpq, d1: fmpq) -> Line:
    slope = (d1 - d0) / (e1 - e0)
    return d0 - slope * e0, slope
