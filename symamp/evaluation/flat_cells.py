"""Cells of messages on which the density of G is bounded from below: they bound |phi| at all high frequencies at once.

A uniform density on an interval of length w has a transform of modulus at most 2/(u w). So where the density of G is
at least l on disjoint intervals of lengths w, the modulus of the transform at u is below the whole mass by at least
the sum of l (w - 2/u) (docs/proofs/smooth_laws.md, section 4). No node has to follow such frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
from flint import acb, arb

from symamp.evaluation.gparv import FlatFloats
from symamp.evaluation.smooth_law import Piece, SmoothLaw, range_and_slope
from symamp.numbers.surroundings import at_precision

_LARGE = arb(2) ** 4096
_BITS, _MOST_CELLS, _LEFT_OVER = 64, 64, 0.25


@dataclass(frozen=True)
class Cell:
    """Messages between two numbers: the ratios at the ends, and on the whole cell the density and the slopes."""

    piece: Piece
    start: arb
    end: arb
    density: arb
    ratios0: tuple[arb, arb]
    ratios1: tuple[arb, arb]
    slope0: arb
    slope1: arb

    def flat(self, e: arb) -> tuple[arb, arb, arb]:
        """Return (low, width, density): on an interval of G that starts above ``low``, at least this density."""
        at = [r0 - e * r1 for r0, r1 in zip(self.ratios0, self.ratios1, strict=True)]
        slope = abs(self.slope0 - e * self.slope1)
        if not slope > 0 or not self.density.is_finite():
            return at[0], arb(0), arb(0)
        density = (self.density.lower() / slope).lower().max(arb(0))
        return arb(at[0].min(at[1]).lower()), abs(at[1] - at[0]).lower(), density


@dataclass(frozen=True)
class Loss:
    """What |phi| lacks to 1 at high frequencies, under one tilt: sums over cells, the widest first."""

    widths: tuple[float, ...]
    masses: tuple[arb, ...]
    edges: tuple[arb, ...]

    def beyond(self, u: arb) -> arb:
        """Return a number below 1 - |phi| at every frequency from u on.

        Guarantee
        ---------
        This holds for the law whose cells these are. Proof: docs/proofs/smooth_laws.md.
        """
        narrow = 2.0 / float(u)
        used = sum(1 for w in self.widths if w > narrow)
        return (self.masses[used - 1] - self.edges[used - 1] / u).max(arb(0)) if used else arb(0)


@dataclass(frozen=True)
class FlatCells:
    """Intervals of values of G of one level, (low, width, density), the widest first: G has at least this density."""

    cells: tuple[tuple[arb, arb, arb], ...]

    def tilted(self, theta: arb, m: arb) -> Loss:
        """Return what is known of |phi| under the tilt with M(theta) = m."""
        heights = [density * (theta * low).exp() / m for low, _, density in self.cells]
        masses = accumulate(h * width for h, (_, width, _) in zip(heights, self.cells, strict=True))
        edges = accumulate(2 * h for h in heights)
        return Loss(tuple(float(w) for _, w, _ in self.cells), tuple(masses), tuple(edges))

    def floats(self, exponent: int) -> FlatFloats:
        """Return the same in doubles, for values of G in units of 2^exponent."""
        unit = arb(2) ** exponent
        rows = [(low / unit, width / unit, density * unit) for low, width, density in self.cells]
        columns = np.array([[float(x) for x in row] for row in rows], dtype=np.float64).reshape(-1, 3)
        return FlatFloats(columns[:, 0], columns[:, 1], columns[:, 2])


def flat_cells(law: SmoothLaw, e: arb, rough_e: float, rough_theta: float) -> FlatCells:
    """Return the cells of a law at the level E: placed for a level and a tilt near by, right for every one."""
    with at_precision(_BITS):
        found = [cell.flat(e) for cell in _placed(law, rough_e, rough_theta)]
    seen = [c for c in found if c[1] > 0 and c[2] > 0]
    return FlatCells(tuple(sorted(seen, key=lambda c: -float(c[1]))))


@lru_cache(maxsize=64)
def _placed(law: SmoothLaw, e: float, theta: float) -> tuple[Cell, ...]:
    """Return cells, halved where most of the tilted mass is not seen yet."""
    with at_precision(_BITS):
        cells = [_cell(piece, piece.start(), piece.end()) for piece in law.pieces]
        judged = [(*_judged(c, arb(e), arb(theta)), c) for c in cells]
        while judged and len(judged) < _MOST_CELLS:
            missed, whole = sum((j[0] for j in judged), arb(0)), sum((j[1] for j in judged), arb(0))
            if not missed > _LEFT_OVER * whole:
                break
            worst = 0
            for k, (lacking, _, _) in enumerate(judged):  # tilted masses may be far beyond doubles
                worst = k if lacking > judged[worst][0] else worst
            cell = judged.pop(worst)[2]
            middle = (cell.start + cell.end) / 2
            for half in (_cell(cell.piece, cell.start, middle), _cell(cell.piece, middle, cell.end)):
                judged.append((*_judged(half, arb(e), arb(theta)), half))
        return tuple(j[2] for j in judged)


def _judged(cell: Cell, e: arb, theta: arb) -> tuple[arb, arb]:
    """Return how much tilted mass a cell may have beyond what is seen of it, and how much it may have."""
    low, width, density = cell.flat(e)
    at = [r0 - e * r1 for r0, r1 in zip(cell.ratios0, cell.ratios1, strict=True)]
    most = abs(cell.density).upper() * (cell.end - cell.start) * (theta * at[0].max(at[1])).exp()
    missed = most - density * width * (theta * low).exp()
    return (missed.mid(), most.mid()) if missed.is_finite() else (_LARGE, arb(0))


def _cell(piece: Piece, start: arb, end: arb) -> Cell:
    density, _ = range_and_slope(piece.density, start, end)
    slope0, slope1 = (range_and_slope(r, start, end)[1] for r in (piece.ratio0, piece.ratio1))
    ends = [tuple(r(acb(y)).real for y in (start, end)) for r in (piece.ratio0, piece.ratio1)]
    return Cell(piece, start, end, density, ends[0], ends[1], slope0, slope1)
