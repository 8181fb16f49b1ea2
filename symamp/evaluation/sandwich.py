"""The finite sandwich: a lower and an upper finite law around a law with a density, in planar convex order.

Cells of messages become one atom each at the mean of their ratios (below), or atoms at the ends of a segment that
contains their ratios, with the same mean (above): by Jensen's inequality the divergences are ordered for every level
and every number of users (docs/proofs/smooth_laws.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeVar

import flint
import numpy as np
from flint import acb, arb

from symamp.evaluation.law import Atom, Law, Number, total
from symamp.evaluation.smooth_law import Analytic, Piece, SmoothLaw, box_range, nodes, range_and_slope
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.surroundings import at_precision

_EXTRA, _SAMPLES = 64, 400


Cuts = Callable[[Piece, int], list[arb]]
_T = TypeVar("_T")
_Masses = Callable[[], tuple[arb, arb, arb]]


def equal_cuts(piece: Piece, count: int) -> list[arb]:
    """Return where ``count`` cells of equal length are cut."""
    start, end = piece.start(), piece.end()
    return [(start * (count - k) + end * k) / count for k in range(1, count)]


def even_cuts(piece: Piece, count: int) -> list[arb]:
    """Return where cells are cut that make the two laws differ least: their density goes with f^(1/3), f that of G.

    Found in floats, for E = 1: any cells do, and levels of interest are near it.
    """
    with at_precision(64):
        start, end = piece.start(), piece.end()
        ends = [start + (end - start) * k / _SAMPLES for k in range(_SAMPLES + 1)]
        g = np.array([float((piece.ratio0(acb(y)) - piece.ratio1(acb(y))).real) for y in ends])
        middles = [float(piece.density(acb((a + b) / 2)).real) for a, b in pairwise(ends)]
        weight = np.cbrt(np.abs(np.array(middles) / _SAMPLES)) * np.cbrt(np.diff(g) ** 2) + 1e-9
        places = np.interp(np.arange(1, count) / count, np.cumsum(weight) / weight.sum(), np.arange(1, _SAMPLES + 1))
    start, end = piece.start(), piece.end()
    return [start + (end - start) * arb(float(x)) / _SAMPLES for x in places]


def finite_sandwich(law: SmoothLaw, cells: int, bits: int = 128, cuts: Cuts = equal_cuts) -> tuple[Law, Law]:
    """Return (lower, upper): finite laws whose divergences enclose that of the law, for all levels and all n.

    Every piece is cut into ``cells`` cells, of equal length or as ``cuts`` says. Where pieces know the masses beyond a
    message, the numbers of the laws are exact; else they are balls of about ``bits`` bits.

    Guarantee
    ---------
    D_E of the lower law <= D_E of the law <= D_E of the upper law for every E >= 0 and every n.
    Proof: docs/proofs/smooth_laws.md.
    """
    below, above = list(law.atoms), list(law.atoms)
    with at_precision(bits + _EXTRA):
        for piece in law.pieces:
            places = [piece.start, *(_fixed(cut.mid()) for cut in cuts(piece, cells)), piece.end]
            masses = _masses(piece, places, bits)
            below += [_mean(m) for m in masses]
            above += _spread(piece, places, masses)
    complete = law.null().is_zero()
    return Law(tuple(below), law.singular, complete), Law(tuple(above), law.singular, complete)


def _masses(piece: Piece, places: Sequence[Number], bits: int) -> list[_Masses]:
    """Return the masses of each cell under A2, A0 and A1."""
    if piece.beyond is None:
        return [_integrated(piece, start, end, bits) for start, end in pairwise(places)]
    beyond = [_at_place(piece.beyond, place) for place in places]
    return [_between(first, second) for first, second in pairwise(beyond)]


def _between(first: _Masses, second: _Masses) -> _Masses:
    def masses() -> tuple[arb, arb, arb]:
        a, b = first(), second()
        return a[0] - b[0], a[1] - b[1], a[2] - b[2]

    return _remembered(masses)


def _integrated(piece: Piece, start: Number, end: Number, bits: int) -> _Masses:
    def times(ratio: Analytic) -> Analytic:
        return lambda y: piece.density(y) * ratio(y)

    found = []
    for density in (piece.density, times(piece.ratio0), times(piece.ratio1)):
        # With E = 1 and equal ratios G is 0: the nodes integrate the density alone.
        arc = Piece(start, end, density, _one, _one)
        rule = nodes.__wrapped__((arc,), 1.0, 0.0, 0.0, flint.ctx.prec, bits + 16)
        bound = rule.remainder(arb(1), arb(0), arb(0))
        found.append(total([m for _, _, m in rule.values]) + bound.upper() * arb(0, 1))
    mass, mass0, mass1 = found
    return lambda: (mass, mass0, mass1)


def _remembered(value: Callable[[], _T]) -> Callable[[], _T]:
    """Return the function with a memory of its last result: cells and numbers of an atom share evaluations."""
    known: list[tuple[int, _T]] = []

    def found() -> _T:
        if not known or known[0][0] != flint.ctx.prec:
            known[:] = [(flint.ctx.prec, value())]
        return known[0][1]

    return found


def _at_place(f: Callable[[arb], _T], place: Number) -> Callable[[], _T]:
    return _remembered(lambda: f(place()))


def _mean(masses: _Masses) -> Atom:
    """Return the atom at the mean of the ratios of a cell."""
    return Atom(
        lambda: masses()[1] / masses()[0],
        lambda: masses()[2] / masses()[0],
        lambda: masses()[0],
    )


def _spread(piece: Piece, places: Sequence[Number], cells: Sequence[_Masses]) -> Iterator[Atom]:
    """Yield atoms at the ends of segments that contain the ratios of the cells, with the same masses and means.

    Where one ratio alone varies, and is monotonic, neighbours have an end in common.
    """
    varying = [i for i in (0, 1) if not _is_constant(_ratios(piece)[i], piece)]
    shared: list[list[Number]] = [[] for _ in places]
    values: list[Number] = []
    if len(varying) == 1:
        ratio = _ratios(piece)[varying[0]]
        values = [_at_place(lambda y: ratio(acb(y)).real, place) for place in places]
    for k, masses in enumerate(cells):
        start, end = places[k](), places[k + 1]()
        if not values or range_and_slope(ratio, start, end)[1].contains(0):
            yield from _ends(piece, start, end, masses)
            continue
        for place, share in zip((k, k + 1), _shares(masses, varying[0], values[k], values[k + 1]), strict=True):
            shared[place].append(share)
    for value, shares in zip(values, shared, strict=False):
        if shares:
            yield _placed(piece, varying[0], value, partial(_sum, shares))


def _ends(piece: Piece, start: arb, end: arb, masses: _Masses) -> list[Atom]:
    """Return atoms at the ends of a segment, or the corners of a triangle, that contains the ratios of a cell."""
    boxes = [box_range(ratio, start, end) for ratio in _ratios(piece)]
    varying = [i for i in (0, 1) if boxes[i].rad() != 0 and not _is_constant(_ratios(piece)[i], piece)]
    if len(varying) == 2:
        return _corners((boxes[0], boxes[1]), masses)
    if not varying:
        return [Atom(_fixed(boxes[0]), _fixed(boxes[1]), lambda: masses()[0])]
    i, ends = varying[0], (_fixed(boxes[varying[0]].lower()), _fixed(boxes[varying[0]].upper()))
    return [_placed(piece, i, *both) for both in zip(ends, _shares(masses, i, *ends), strict=True)]


def _ratios(piece: Piece) -> tuple[Analytic, Analytic]:
    return piece.ratio0, piece.ratio1


def _placed(piece: Piece, i: int, value: Number, mass: Number) -> Atom:
    """Return an atom with this value of ratio i, the other ratio being constant."""
    other = _at_place(lambda y: _ratios(piece)[1 - i](acb(y)).real, piece.start)
    return Atom(value, other, mass) if i == 0 else Atom(other, value, mass)


def _shares(masses: _Masses, i: int, first: Number, second: Number) -> tuple[Number, Number]:
    """Return the masses at two values of ratio i that have the mass and the mean of a cell between them."""

    def share() -> arb:
        return (masses()[1 + i] - first() * masses()[0]) / (second() - first())

    at_second = _remembered(share)
    return lambda: masses()[0] - at_second(), at_second


def _sum(numbers: Sequence[Number]) -> arb:
    return total([x() for x in numbers])


def _is_constant(ratio: Analytic, piece: Piece) -> bool:
    if isinstance(ratio, Holomorphic):
        return ratio.is_constant
    return bool(box_range(ratio, piece.start(), piece.end()).rad() == 0)


def _corners(ranges: tuple[arb, arb], masses: _Masses) -> list[Atom]:
    """Return atoms at the corners of a right triangle around the rectangle of both ratios, with the same means."""
    (low0, low1), (wide0, wide1) = (r.lower() for r in ranges), (2 * (r.upper() - r.lower()) for r in ranges)

    def share(i: int) -> arb:
        low, wide = ((low0, wide0), (low1, wide1))[i]
        return (masses()[1 + i] - low * masses()[0]) / wide

    return [
        Atom(_fixed(low0), _fixed(low1), lambda: masses()[0] - share(0) - share(1)),
        Atom(_fixed(low0 + wide0), _fixed(low1), lambda: share(0)),
        Atom(_fixed(low0), _fixed(low1 + wide1), lambda: share(1)),
    ]


def _fixed(value: arb) -> Number:
    return lambda: value


def _one(_: acb) -> acb:
    return acb(1)
