"""Laws with a density: analytic pieces beside atoms, and finite laws around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise

import flint
import numpy as np
from flint import acb, acb_series, arb

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import Atom, Law, Number, total
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import Holomorphic

_SPARE_BITS = 64  # of masses that are differences
_MOST_HALVINGS = 24  # of an interval until a function is finite on it
_PARTS = 8  # of an interval on which the range of a function is sought
_SAMPLES = 400  # of a piece, from which cells are chosen

# ------------------------------------------------------------------- Laws with a density: analytic pieces beside atoms

# A piece is an interval of messages on which the density of A2 and the two ratios are holomorphic functions.

Analytic = Callable[[acb], acb]
Masses = Callable[[arb], tuple[arb, arb, arb]]


@dataclass(frozen=True, eq=False)
class Piece:
    """Messages y in [start, end]: the density of A2 and the ratios there.

    The functions are holomorphic on every box on which all of them return finite balls: rational functions of
    exponentials and polynomials are, roots and logarithms only if they refuse boxes that touch their cuts.
    ``beyond`` returns the masses (A2, A0, A1) of the messages beyond y, up to constants, where they are known.
    """

    start: Number
    end: Number
    density: Analytic
    ratio0: Analytic
    ratio1: Analytic
    beyond: Masses | None = None

    @cached_property
    def swapped(self) -> Piece:
        """The piece of the other order of the pair, whose own is this one."""
        found = self.beyond
        turned = None if found is None else _in_order(found, (0, 2, 1))
        other = Piece(self.start, self.end, self.density, self.ratio1, self.ratio0, turned)
        vars(other)["swapped"] = self
        return other

    @cached_property
    def among_first(self) -> Piece:
        """The piece with A0 in place of A2."""
        found = self.beyond
        shown = None if found is None else _in_order(found, (1, 1, 2))
        return Piece(
            self.start,
            self.end,
            lambda y: self.density(y) * self.ratio0(y),
            lambda _: acb(1),
            lambda y: self.ratio1(y) / self.ratio0(y),
            shown,
        )


def _in_order(beyond: Masses, places: tuple[int, int, int]) -> Masses:
    def turned(y: arb) -> tuple[arb, arb, arb]:
        found = beyond(y)
        return found[places[0]], found[places[1]], found[places[2]]

    return turned


@dataclass(frozen=True, eq=False)
class SmoothLaw:
    """A triple (A0, A1, A2) with a density: pieces, atoms and singular masses as in ``Law``; ``null`` is the rest.

    A1 and A0 are probabilities, so that the mean of G is 1 - E. Laws are equal if they are the same object.
    """

    pieces: tuple[Piece, ...]
    atoms: tuple[Atom, ...]
    null: Number
    singular: tuple[tuple[Number, Number], ...] = ()

    def swapped(self) -> SmoothLaw:
        """Return the law of the other order of the pair, (A1, A0, A2)."""
        atoms = tuple(Atom(a.ratio1, a.ratio0, a.mass, a.equal_ratios) for a in self.atoms)
        pieces = tuple(p.swapped for p in self.pieces)
        return SmoothLaw(pieces, atoms, self.null, tuple((b, a) for a, b in self.singular))

    def among_first(self) -> SmoothLaw:
        """Return the triple (A0, A1, A0): all other users hold the first input. There must be no singular part."""
        assert not self.singular
        pieces = tuple(p.among_first for p in self.pieces)
        return SmoothLaw(pieces, tuple(_among_first(a) for a in self.atoms), lambda: arb(0))


def _among_first(a: Atom) -> Atom:
    return Atom(lambda: arb(1), lambda: a.ratio1() / a.ratio0(), lambda: a.mass() * a.ratio0(), a.equal_ratios)


def range_and_slope(f: Analytic, start: arb, end: arb) -> tuple[arb, arb]:
    """Return balls around the values of a function on an interval, and around those of its derivative."""
    try:
        found = f(acb_series([acb(start.union(end)), acb(1)], 2))
    except ValueError:  # a quotient by a series that may start with 0
        return arb("nan"), arb("nan")
    return (found[0].real, found[1].real) if isinstance(found, acb_series) else (found.real, arb(0))


def _range(f: Analytic, start: arb, end: arb) -> arb:
    """Return a ball around the values of a function on an interval, from those on parts of it.

    Raises PrecisionError for a function that is not holomorphic around the interval.
    """
    places = [start + (end - start) * k / _PARTS for k in range(_PARTS + 1)]
    return reduce(arb.union, (_rough_range(f, a, b, _MOST_HALVINGS) for a, b in pairwise(places)))


def _rough_range(f: Analytic, start: arb, end: arb, halvings: int) -> arb:
    """Return a ball around the values, by the value in the middle and the slope."""
    wide, (_, slope), middle = f(acb(start.union(end))).real, range_and_slope(f, start, end), (start + end) / 2
    near = f(acb(middle)).real + slope * (start.union(end) - middle)
    if wide.is_finite():
        return near.intersection(wide) if near.is_finite() and near.overlaps(wide) else wide
    if not halvings:
        raise PrecisionError(
            "density", Problem("a piece is not holomorphic in a neighbourhood"), "split it at its kinks"
        )
    both = ((start, middle), (middle, end))
    return reduce(arb.union, (_rough_range(f, *half, halvings - 1) for half in both))


# ------------- The finite sandwich: a lower and an upper finite law around a law with a density, in planar convex order

# Cells of messages become one atom each at the mean of their ratios (below), or atoms at the ends of a segment that
# contains their ratios, with the same mean (above): by Jensen's inequality the divergences are ordered for every
# level and every number of users (docs/proofs/smooth_laws.md).

Rows = list[tuple[arb, arb, arb]]
"""(r0, r1, mass) of atoms."""


def _even_cuts(piece: Piece, count: int) -> list[arb]:
    """Return where cells are cut that make the two laws differ least: their density goes with f^(1/3), f that of G.

    Found in floats, for E = 1: any cells do, and levels of interest are near it.
    """
    with at_precision(64):
        start, end = piece.start(), piece.end()
        ends = [start + (end - start) * k / _SAMPLES for k in range(_SAMPLES + 1)]
        g = np.array([float((piece.ratio0(acb(y)) - piece.ratio1(acb(y))).real) for y in ends])
        middles = [float(piece.density(acb((a + b) / 2)).real) for a, b in pairwise(ends)]
        weight = np.cbrt(np.abs(np.array(middles) / _SAMPLES)) * np.cbrt(np.diff(g) ** 2) + 1e-9
        whole = np.append(0.0, np.cumsum(weight))
        places = np.interp(np.arange(1, count) * whole[-1] / count, whole, np.arange(_SAMPLES + 1))
    start, end = piece.start(), piece.end()
    return [start + (end - start) * arb(float(x)) / _SAMPLES for x in places]


def finite_sandwich(law: SmoothLaw, cells: int, bits: int = 128) -> tuple[Law, Law]:
    """Return (lower, upper): finite laws whose divergences enclose that of the law, for all levels and all n.

    Every piece is cut into ``cells`` cells; the numbers of the laws are balls of about ``bits`` bits.

    Guarantee
    ---------
    D_E of the lower law <= D_E of the law <= D_E of the upper law for every E >= 0 and every n.
    Proof: docs/proofs/smooth_laws.md.
    """
    with at_precision(bits + _SPARE_BITS):
        found: dict[Piece, tuple[Rows, Rows]] = {}
        for piece in law.pieces:
            mirrored = found.get(piece.swapped)
            found[piece] = _around(piece, cells) if mirrored is None else (_turned(mirrored[0]), _turned(mirrored[1]))
        below, above = (
            law.atoms
            + tuple(Atom(_fixed(r0), _fixed(r1), _fixed(m)) for rows in found.values() for r0, r1, m in rows[i])
            for i in (0, 1)
        )
        complete = law.null().is_zero()
    return Law(below, law.singular, complete), Law(above, law.singular, complete)


def _turned(rows: Rows) -> Rows:
    return [(r1, r0, mass) for r0, r1, mass in rows]


def _fixed(value: arb) -> Number:
    return lambda: value


def _around(piece: Piece, cells: int) -> tuple[Rows, Rows]:
    """Return atoms at the means of the ratios of cells, and atoms around them with the same masses and means.

    Where one ratio alone varies, and is monotonic, neighbours have an end in common.
    """
    ratios = piece.ratio0, piece.ratio1
    varying = [i for i in (0, 1) if not _is_constant(ratios[i], piece)]
    places = [piece.start(), *(cut.mid() for cut in _even_cuts(piece, cells)), piece.end()]
    masses = _masses(piece, places)
    below: Rows = [(a / mass, b / mass, mass) for mass, a, b in masses]
    above: Rows = []
    values = [tuple(ratio(acb(y)).real for ratio in ratios) for y in places]
    shares: list[list[arb]] = [[] for _ in places]
    for k, (cell, (start, end)) in enumerate(zip(masses, pairwise(places), strict=True)):
        i = varying[0] if len(varying) == 1 else None
        if i is None or range_and_slope(ratios[i], start, end)[1].contains(0):
            around = [_range(r, start, end) if j in varying else values[k][j] for j, r in enumerate(ratios)]
            above += _corners(around, varying, cell)
        else:
            share = _share(cell, i, values[k][i], values[k + 1][i])
            shares[k].append(cell[0] - share)
            shares[k + 1].append(share)
    above += [(*value, total(parts)) for value, parts in zip(values, shares, strict=True) if parts]
    return below, above


def _is_constant(ratio: Analytic, piece: Piece) -> bool:
    if isinstance(ratio, Holomorphic):
        return ratio.is_constant
    return bool(ratio(acb(piece.start().union(piece.end()))).real.rad() == 0)


def _masses(piece: Piece, places: Sequence[arb]) -> Rows:
    """Return the masses of each cell under A2, A0 and A1."""
    if piece.beyond is not None:
        beyond = [piece.beyond(y) for y in places]
        return [(a[0] - b[0], a[1] - b[1], a[2] - b[2]) for a, b in pairwise(beyond)]
    densities = (
        lambda y, _: piece.density(y),
        lambda y, _: piece.density(y) * piece.ratio0(y),
        lambda y, _: piece.density(y) * piece.ratio1(y),
    )
    tolerance = arb(2) ** -(flint.ctx.prec - _SPARE_BITS)
    return [
        tuple(acb.integral(f, acb(a), acb(b), rel_tol=tolerance, abs_tol=tolerance).real for f in densities)
        for a, b in pairwise(places)
    ]


def _share(cell: tuple[arb, arb, arb], i: int, first: arb, second: arb) -> arb:
    """Return the mass at the second of two values of ratio i that have the mass and the mean of a cell between them."""
    return (cell[1 + i] - first * cell[0]) / (second - first)


def _corners(ranges: Sequence[arb], varying: Sequence[int], cell: tuple[arb, arb, arb]) -> Rows:
    """Return atoms at the corners of what contains the ratios of a cell, with the same mass and means.

    A segment if one ratio varies; if both do, a right triangle around the rectangle of both.
    """
    low, reach = [x.lower() if i in varying else x for i, x in enumerate(ranges)], len(varying)
    rows: Rows = []
    for i in varying:
        if ranges[i].rad() != 0:
            far = low[i] + reach * (ranges[i].upper() - low[i])
            rows.append((*(far if j == i else x for j, x in enumerate(low)), _share(cell, i, low[i], far)))
    return [(low[0], low[1], cell[0] - total([row[2] for row in rows])), *rows]
