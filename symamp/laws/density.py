"""Laws with a density: analytic pieces beside atoms, and finite laws around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise

import numpy as np
from flint import acb, acb_series, arb

from symamp.laws.law import Atom, Known, Law, Number
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision
from symamp.numbers.systems import Holomorphic

_CELLS, _FEWEST = 400, 100  # of all pieces of a law together, and at least of one piece
_SPARE_BITS = 64  # of masses that are differences
_SAMPLES, _FINEST = 120, 2.0**-24  # of a piece, from which cells are chosen, and what their lengths are multiples of
_WIDE, _MOST_PARTS, _HELPS = 0.1, 256, 0.7  # relative radius of a range that is cut, until parts make it no smaller
_TOLD = 2.0**-128  # relative radius of the mass of a cell
_FLAT = 2.0**-64  # relatively: ratios that vary less on a cell are taken to vary as much

Analytic = Callable[[acb], acb]
Masses = Callable[[arb], tuple[arb, arb, arb]]


@dataclass(frozen=True, eq=False)
class Piece:
    """Messages y in [start, end]: the density of A2 and the ratios there.

    ``beyond`` returns the masses (A2, A0, A1) of the messages beyond y, up to constants, where they are known.
    """

    start: Number
    end: Number
    density: Analytic
    ratio0: Analytic
    ratio1: Analytic
    beyond: Masses | None = None

    @property
    def ratios(self) -> tuple[Analytic, Analytic]:
        """Both ratios."""
        return self.ratio0, self.ratio1

    @cached_property
    def swapped(self) -> Piece:
        """The piece of the other order of the pair, whose own is this one."""
        beyond = _in_order(self.beyond, 0, 2, 1)
        other = Piece(self.start, self.end, self.density, self.ratio1, self.ratio0, beyond)
        vars(other)["swapped"] = self
        return other

    @cached_property
    def among_first(self) -> Piece:
        """The piece with A0 in place of A2."""
        return Piece(
            self.start,
            self.end,
            lambda y: self.density(y) * self.ratio0(y),
            lambda _: acb(1),
            lambda y: self.ratio1(y) / self.ratio0(y),
            _in_order(self.beyond, 1, 1, 2),
        )


def _in_order(beyond: Masses | None, i: int, j: int, k: int) -> Masses | None:
    def turned(y: arb) -> tuple[arb, arb, arb]:
        assert beyond is not None
        found = beyond(y)
        return found[i], found[j], found[k]

    return None if beyond is None else turned


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


Laws = tuple[SmoothLaw, SmoothLaw]
"""Two laws between whose divergences that of a third one lies."""


def box_range(f: Analytic, start: arb, end: arb) -> arb:
    """Return a ball around the values of a function on an interval, from parts of it as long as more of them help."""
    found, count = _range_on_one(f, start, end), 1
    while not found.rad() < _WIDE * abs(found) and count < _MOST_PARTS:
        count *= 4
        places = [start + (end - start) * k / count for k in range(count)] + [end]
        finer = reduce(arb.union, (_range_on_one(f, a, b) for a, b in pairwise(places)))
        if finer.is_finite() and not finer.rad() < _HELPS * found.rad():
            break
        found = finer
    return found


def _range_on_one(f: Analytic, start: arb, end: arb) -> arb:
    """Return a ball around the values on an interval: by all of it, and by its middle and slopes."""
    wide, slope = range_and_slope(f, start, end)
    middle = (start + end) / 2
    near = f(acb(middle)).real + slope * (start.union(end) - middle)
    if not near.is_finite():
        return f(acb(start.union(end))).real
    return near.intersection(wide) if wide.is_finite() and near.overlaps(wide) else near


def range_and_slope(f: Analytic, start: arb, end: arb) -> tuple[arb, arb]:
    """Return balls around the values of a function on an interval, and around those of its derivative."""
    try:
        found = f(acb_series([acb(start.union(end)), acb(1)], 2))
    except ValueError:  # a quotient by a series that may start with 0
        return arb("nan"), arb("nan")
    return (found[0].real, found[1].real) if isinstance(found, acb_series) else (found.real, found.real * 0)


# ------------- The finite sandwich: a lower and an upper finite law around a law with a density, in planar convex order

# Cells of messages become one atom each at the mean of their ratios (below), or atoms at the ends of a segment that
# contains their ratios, with the same mean (above): by Jensen's inequality the divergences are ordered for every
# level and every number of users (docs/proofs/smooth_laws.md).

Row = tuple[arb, arb, arb]
_Rows = list[Row]


def finite_sandwich(law: SmoothLaw, cells: int = 0) -> tuple[Law, Law]:
    """Return (lower, upper): finite laws whose divergences enclose that of the law, for all levels and all n.

    Every piece is cut into ``cells`` cells, or as many as make the two differ by some 1e-5 in eps. Numbers are balls of
    about 256 bits.

    Guarantee
    ---------
    D_E of the lower law <= D_E of the law <= D_E of the upper law for every E >= 0 and every n.
    Proof: docs/proofs/smooth_laws.md.
    """
    return finite_law(law, False, cells), finite_law(law, True, cells)


@lru_cache(maxsize=512)
def finite_law(law: SmoothLaw, upper: bool, cells: int = 0) -> Law:
    """Return the lower or the upper law of the finite sandwich.

    Guarantee
    ---------
    D_E of the law is at most, or at least, that of the law with a density for every E >= 0 and every n.
    Proof: docs/proofs/smooth_laws.md.
    """
    count = cells or max(_CELLS // max(len(law.pieces), 1), _FEWEST)
    atoms = list(law.atoms)
    for k, piece in enumerate(law.pieces):
        mirrored = piece.swapped in law.pieces[:k]
        rows = (_above if upper else _below)(piece.swapped if mirrored else piece, count)
        with at_precision(CAREFUL_BITS):
            for r0, r1, m in ((r1, r0, m) for r0, r1, m in rows) if mirrored else rows:
                atoms.append(Atom(Known(+r0), Known(+r1), Known(+m)))
    return Law(tuple(atoms), law.singular, law.null().is_zero())


@lru_cache(maxsize=256)
def _in_cells(piece: Piece, count: int) -> tuple[list[arb], _Rows]:
    """Return the ends of the cells of a piece, and their masses under A2, A0 and A1."""
    with at_precision(CAREFUL_BITS + _SPARE_BITS):
        places = [piece.start(), *_cuts(piece, count), piece.end()]
        return _told_from_zero(places, _masses(piece, places))


@lru_cache(maxsize=256)
def _below(piece: Piece, count: int) -> _Rows:
    """Return (r0, r1, mass) of the atoms below a piece."""
    _, masses = _in_cells(piece, count)
    with at_precision(CAREFUL_BITS + _SPARE_BITS):
        return [(m0 / m, m1 / m, m) for m, m0, m1 in masses]


@lru_cache(maxsize=256)
def _above(piece: Piece, count: int) -> _Rows:
    """Return (r0, r1, mass) of the atoms above a piece."""
    places, masses = _in_cells(piece, count)
    with at_precision(CAREFUL_BITS + _SPARE_BITS):
        varying = [i for i in (0, 1) if not _is_constant(piece.ratios[i], piece)]
        lead = varying[0] if len(varying) == 1 else -1
        return [(*both, m) for both, m in spread(piece.ratios, places, masses, varying, lead)]


def _cuts(piece: Piece, count: int) -> list[arb]:
    """Return where cells are cut that make the two laws differ little: their density goes with f^(1/3), f that of G.

    Half of them are; of the others one half are equally long in G, where under a tilt rare values count, the other in
    messages. Found in floats, for E = 1: any cells do, and levels of interest are near it.
    """
    start, wide = piece.start(), piece.end() - piece.start()
    places = np.linspace(0.0, 1.0, _SAMPLES + 1)
    for size in (_SAMPLES, count):  # where the first samples are few more are taken
        with at_precision(64):
            at = [start + wide * arb(x) for x in places.tolist()]
            g = np.array([float((piece.ratio0(acb(y)) - piece.ratio1(acb(y))).real) for y in at])
            middles = np.array([float(piece.density(acb((a + b) / 2)).real) for a, b in pairwise(at)])
        length, steps = np.abs(np.diff(g)) + 1e-300, np.diff(places)
        weight = np.cbrt(np.abs(middles) * steps * length**2) + 1e-300
        weight = 2.0 * weight / weight.sum() + length / length.sum() + steps
        below = np.append(0.0, np.cumsum(weight) / weight.sum())
        # Cells that are narrower than this would say no more.
        places = np.unique(np.round(np.interp(np.arange(size + 1) / size, below, places) / _FINEST) * _FINEST)
    return [arb((start + wide * arb(x)).mid()) for x in places.tolist() if 0.0 < x < 1.0]


def _told_from_zero(places: Sequence[arb], masses: _Rows) -> tuple[list[arb], _Rows]:
    """Return the cells, one whose mass has few digits joined with its neighbour: less is seen."""
    ends, found = [places[0]], _Rows()
    for end, (m, m0, m1) in zip(places[1:], masses, strict=True):
        if found and not (_is_told(found[-1]) and _is_told((m, m0, m1))):
            last = found.pop()
            found.append((last[0] + m, last[1] + m0, last[2] + m1))
            ends[-1] = end
        else:
            found.append((m, m0, m1))
            ends.append(end)
    return ends, found


def _is_told(masses: Row) -> bool:
    return masses[0] > 0 and all(m.rad() <= _TOLD * abs(m) for m in masses)


def _masses(piece: Piece, places: Sequence[arb]) -> _Rows:
    """Return the masses of each cell under A2, A0 and A1."""
    if piece.beyond is not None:
        return [(a[0] - b[0], a[1] - b[1], a[2] - b[2]) for a, b in pairwise(map(piece.beyond, places))]

    def integral(start: arb, end: arb, ratio: Analytic) -> arb:
        return acb.integral(lambda y, _: piece.density(y) * ratio(y), acb(start), acb(end)).real

    ratios = lambda _: acb(1), *piece.ratios
    return [
        (integral(a, b, ratios[0]), integral(a, b, ratios[1]), integral(a, b, ratios[2])) for a, b in pairwise(places)
    ]


def spread(
    ratios: Sequence[Analytic], places: Sequence[arb], cells: Sequence[Sequence[arb]], varying: Sequence[int], lead: int
) -> Iterator[tuple[list[arb], arb]]:
    """Yield (ratios, mass) of atoms around the ratios of cells of messages, with the same masses and means.

    Cells have a mass, and what it is times each ratio. Where all ratios are affine functions of the one called ``lead``
    (-1 if of none), and that is monotonic, atoms are at the ends of segments, and neighbours have one in common.
    """
    monotonic = lead >= 0 and not range_and_slope(ratios[lead], places[0], places[-1])[1].contains(0)
    values = [[r(acb(place)).real for r in ratios] for place in places] if lead >= 0 else []
    weights: list[arb | None] = [None] * len(places)
    for k, masses in enumerate(cells):
        start, end = places[k : k + 2]
        is_flat = lead >= 0 and not abs(values[k + 1][lead] - values[k][lead]) > _FLAT * abs(values[k][lead])
        if lead < 0 or is_flat or not (monotonic or not range_and_slope(ratios[lead], start, end)[1].contains(0)):
            yield from _corners(ratios, varying, start, end, masses)
            continue
        share = _share(masses, lead, values[k][lead], values[k + 1][lead])
        for j, more in ((k, masses[0] - share), (k + 1, share)):
            weights[j] = more + (weights[j] or 0)
    yield from ((value, weight) for value, weight in zip(values, weights, strict=False) if weight is not None)


def _corners(
    ratios: Sequence[Analytic], varying: Sequence[int], start: arb, end: arb, masses: Sequence[arb]
) -> Iterator[tuple[list[arb], arb]]:
    """Yield atoms at the corners of a right simplex around the ratios of a cell."""
    boxes = [box_range(ratio, start, end) for ratio in ratios]
    moving = [i for i in varying if boxes[i].rad() != 0]
    for i in moving:  # shares are quotients by what a ratio varies, which has to be told from its radius
        boxes[i] += arb(0, _FLAT * max(float(abs(boxes[i]).upper()), 1e-300))
    base = [box.lower().max(arb(0)) if i in moving else ratios[i](acb(start)).real for i, box in enumerate(boxes)]
    rest = masses[0]
    for i in moving:
        moved = list(base)
        moved[i] = base[i] + len(moving) * (boxes[i].upper() - base[i])
        share = _share(masses, i, base[i], moved[i])
        rest -= share
        yield moved, share
    yield base, rest


def _share(masses: Sequence[arb], i: int, low: arb, high: arb) -> arb:
    """Return the mass at the second value of ratio i with which a cell keeps its mean, the rest being at the first."""
    return (masses[1 + i] - low * masses[0]) / (high - low)


def _is_constant(ratio: Analytic, piece: Piece) -> bool:
    if isinstance(ratio, Holomorphic):
        return ratio.is_constant
    return bool(box_range(ratio, piece.start(), piece.end()).rad() == 0)
