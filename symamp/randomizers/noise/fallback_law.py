"""One finite law above those of all pairs of an interval of inputs, from balls on boxes of inputs and messages.

The largest stop-loss transform D_u(R_x || m) of one input bounds every pair: the sum of two such variables, coupled so
that it spreads most, is above R_x/m - E R_x'/m in convex order, whatever x and x' are (docs/proofs/fallback_law.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, nextafter

import numpy as np
import numpy.typing as npt
import sympy as sp
from flint import arb

from symamp.decompositions.to_law import number
from symamp.errors import Problem, UndecidedOrderError
from symamp.numbers.rationals import lower_hull
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.noise.density import formula_range

# Width against time of the law that stands for densities where the ends of the inputs are not proved worst.
_MESSAGE_CELLS = 2048  # of equal length
_FINEST_INPUT_CELL = 2.0**-11  # the first one from each end of the inputs
_INPUT_CELL_GROWTH = 8.0  # cells grow by a part of their distance from the end, one over this
_RATIO_NODES = 160  # at which the law of the ratio is enclosed
_BITS = 64  # of balls around the densities
_SLACK = 1e-12  # relative: more than the roundings of doubles take


Floats = npt.NDArray[np.float64]
Atom3 = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Boxes:
    """Widths of cells of messages, a lower bound of all densities there, upper bounds by cells of inputs (rows)."""

    widths: Floats
    least: Floats
    most: Floats


def boxes(
    density: sp.Expr,
    symbols: tuple[sp.Symbol, sp.Symbol],
    inputs: tuple[sp.Expr, sp.Expr],
    messages: tuple[sp.Expr, sp.Expr],
    masses: Sequence[sp.Expr] = (),
) -> Boxes:
    """Return bounds of a density in (x, y) on boxes, and of point masses as cells of width 1.

    Raises UndecidedOrderError for a density that is not shown to be positive and finite.
    """
    x, y = symbols
    value = formula_range(density, symbols)
    points = [formula_range(m, symbols) for m in masses]
    with at_precision(_BITS):
        (a, b), (low, high) = ((number(e)() for e in ends) for ends in (inputs, messages))
        cells = [(a + (b - a) * arb(s)).union(a + (b - a) * arb(t)) for s, t in pairwise(_graded())]
        ends = [low + (high - low) * arb(k) / _MESSAGE_CELLS for k in range(_MESSAGE_CELLS + 1)]
        at = [s.union(t) for s, t in pairwise(ends)]
        found = [[value({x.name: i, y.name: j}) for j in at] + [p({x.name: i}) for p in points] for i in cells]
        width = ((high - low) / _MESSAGE_CELLS).upper()
    least = np.array([[_down(v) for v in row] for row in found]).min(axis=0)
    most = np.array([[_up(v) for v in row] for row in found])
    if not (least > 0.0).all() or not np.isfinite(most).all():
        unknown = Problem(f"{density} is not shown to be positive and finite for all inputs and messages")
        raise UndecidedOrderError("density", unknown, "shorten the interval of messages")
    widths = np.array([_up(width)] * _MESSAGE_CELLS + [1.0] * len(points))
    return Boxes(widths, least * (1.0 - _SLACK), most)


def fallback_atoms(found: Boxes) -> tuple[Atom3, ...]:
    """Return (r0, r1, mass) of a law above those of all ordered pairs of inputs, in fractions; the rest is null.

    Guarantee
    ---------
    For every level and number of users its divergence is at least that of the blanket of every two inputs.
    Proof: docs/proofs/fallback_law.md.
    """
    return _coupled(_law(found))


def _graded() -> list[float]:
    """Return the ends of cells of [0, 1]: fine at both ends, where the stop-loss is large."""
    half = [0.0]
    while half[-1] < 0.5:
        half.append(min(half[-1] + max(_FINEST_INPUT_CELL, half[-1] / _INPUT_CELL_GROWTH), 0.5))
    return [*half, *(1.0 - h for h in reversed(half[:-1]))]


def _law(found: Boxes) -> list[tuple[Fraction, Fraction]]:
    """Return (value, mass) of a variable under the blanket whose stop-loss transform bounds that of every input."""
    gamma = float((found.widths * found.least).sum()) * (1.0 - _SLACK)
    top = float((found.most / found.least).max()) * (1.0 + 4.0 * _SLACK)
    u = np.unique(1.0 + (top - 1.0) * np.linspace(0.0, 1.0, _RATIO_NODES + 1))
    points = [(Fraction(0), Fraction(1)), (Fraction(1), 1 - Fraction(gamma))]
    for place in u[1:-1]:
        # Sums of doubles: the slack covers their roundings, and the blanket that is a little smaller than its bound.
        terms = found.widths * np.maximum(found.most - place * found.least, 0.0)
        size = float((found.widths * (found.most + place * found.least)).sum(axis=1).max())
        points.append((Fraction(float(place)), Fraction(float(terms.sum(axis=1).max()) + 4.0 * _SLACK * size)))
    points.append((Fraction(float(u[-1])), Fraction(0)))
    hull = lower_hull(points)
    slopes = [(q[1] - p[1]) / (q[0] - p[0]) for p, q in pairwise(hull)] + [Fraction(0)]
    return [(hull[k + 1][0], slopes[k + 1] - slopes[k]) for k in range(len(hull) - 1)]


def _coupled(law: list[tuple[Fraction, Fraction]]) -> tuple[Atom3, ...]:
    """Return the law with itself, the largest values of one beside the smallest of the other."""
    up, down = [list(a) for a in law], [list(a) for a in reversed(law)]
    found, i, j = list[Atom3](), 0, 0
    while i < len(up) and j < len(down):
        mass = min(up[i][1], down[j][1])
        if mass > 0:
            found.append((up[i][0], down[j][0], mass))
        up[i][1] -= mass
        down[j][1] -= mass
        i, j = i + (up[i][1] == 0), j + (down[j][1] == 0)
    return tuple(found)


def _up(x: arb) -> float:
    return nextafter(float(x.upper()), inf) if x.is_finite() else inf


def _down(x: arb) -> float:
    return nextafter(float(x.lower()), -inf) if x.is_finite() else -inf
