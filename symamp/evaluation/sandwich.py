"""The finite sandwich: a lower and an upper finite law around a law with a density, in planar convex order.

Cells of messages become one atom each at the mean of their ratios (below), or atoms at the ends of a segment that
contains their ratios, with the same mean (above): by Jensen's inequality the divergences are ordered for every level
and every number of users (docs/proofs/smooth_laws.md).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import flint
import numpy as np
from flint import acb, arb

from symamp.evaluation.law import Atom, Law, Number, total
from symamp.evaluation.smooth_law import Analytic, Piece, SmoothLaw, box_range, nodes
from symamp.numbers.holomorphic import Holomorphic

_EXTRA, _SAMPLES = 64, 400


Cuts = Callable[[Piece, int], list[arb]]
_Masses = Callable[[], tuple[arb, arb, arb]]


def equal_cuts(piece: Piece, count: int) -> list[arb]:
    """Return where ``count`` cells of equal length are cut."""
    start, end = piece.start(), piece.end()
    return [(start * (count - k) + end * k) / count for k in range(1, count)]


def even_cuts(piece: Piece, count: int) -> list[arb]:
    """Return where cells are cut that make the two laws differ least: their density goes with f^(1/3), f that of G.

    Found in floats, for E = 1: any cells do, and levels of interest are near it.
    """
    with flint.ctx.workprec(64):
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
    with flint.ctx.workprec(bits + _EXTRA):
        for piece in law.pieces:
            inner = [_fixed(cut.mid()) for cut in cuts(piece, cells)]
            for start, end in pairwise([piece.start, *inner, piece.end]):
                masses = _masses(piece, start, end, bits)
                below.append(_mean(masses))
                above += _ends(piece, start(), end(), masses)
    complete = law.null().is_zero()
    return Law(tuple(below), law.singular, complete), Law(tuple(above), law.singular, complete)


def _masses(piece: Piece, start: Number, end: Number, bits: int) -> _Masses:
    """Return the masses of a cell under A2, A0 and A1."""
    if piece.beyond is not None:
        beyond = piece.beyond

        def between() -> tuple[arb, arb, arb]:
            a, b = beyond(start()), beyond(end())
            return a[0] - b[0], a[1] - b[1], a[2] - b[2]

        return _remembered(between)

    def times(ratio: Analytic) -> Analytic:
        return lambda y: piece.density(y) * ratio(y)

    found = []
    for density in (piece.density, times(piece.ratio0), times(piece.ratio1)):
        # With E = 1 and equal ratios G is 0: the nodes integrate the density alone.
        arc = Piece(start, end, density, _one, _one)
        rule = nodes.__wrapped__(SmoothLaw((arc,), (), _zero), 1.0, 0.0, 0.0, flint.ctx.prec, bits + 16)
        bound = rule.remainder(arb(1), arb(0), arb(0))
        found.append(total([m for _, _, m in rule.values]) + bound.upper() * arb(0, 1))
    mass, mass0, mass1 = found
    return lambda: (mass, mass0, mass1)


def _remembered(masses: _Masses) -> _Masses:
    """Return the function with a memory of its last result: three numbers of an atom come from one evaluation."""
    known: tuple[int, tuple[arb, arb, arb] | None] = (0, None)

    def found() -> tuple[arb, arb, arb]:
        nonlocal known
        bits, result = known
        if result is None or bits != flint.ctx.prec:
            result = masses()
            known = flint.ctx.prec, result
        return result

    return found


def _mean(masses: _Masses) -> Atom:
    """Return the atom at the mean of the ratios of a cell."""
    return Atom(
        lambda: masses()[1] / masses()[0],
        lambda: masses()[2] / masses()[0],
        lambda: masses()[0],
    )


def _ends(piece: Piece, start: arb, end: arb, masses: _Masses) -> list[Atom]:
    """Return atoms at the ends of a segment that contains the ratios of a cell, with the same masses and means."""
    ranges = box_range(piece.ratio0, start, end), box_range(piece.ratio1, start, end)
    varying = [i for i, f in enumerate((piece.ratio0, piece.ratio1)) if ranges[i].rad() != 0 and not _is_constant(f)]
    if len(varying) == 2:
        return _corners(ranges, masses)
    if not varying:
        return [Atom(_fixed(ranges[0]), _fixed(ranges[1]), lambda: masses()[0])]
    i = varying[0]
    low, high = ranges[i].lower(), ranges[i].upper()

    def share() -> arb:
        return (masses()[1 + i] - low * masses()[0]) / (high - low)

    found = []
    for value, mass in ((low, lambda: masses()[0] - share()), (high, share)):
        ratios = (_fixed(value), _fixed(ranges[1])) if i == 0 else (_fixed(ranges[0]), _fixed(value))
        found.append(Atom(*ratios, mass))
    return found


def _is_constant(ratio: Analytic) -> bool:
    return isinstance(ratio, Holomorphic) and not ratio.formula.free_symbols


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


def _zero() -> arb:
    return arb(0)
