"""Laws with a density: analytic pieces beside atoms, their nodes, and finite laws around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial, reduce
from itertools import pairwise
from math import inf, log
from typing import TypeVar

import flint
import numpy as np
from flint import acb, acb_series, arb

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import Atom, Law, Number, total
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import Holomorphic

# Accuracy against the number of nodes. Ellipses and orders are tried in turn, and the fewest nodes are taken.
_ELLIPSES = (1.1, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5, 7.0)  # sums of half axes on which integrands are bounded
_ORDERS = (8, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256)  # of quadrature rules
_ELLIPSE_BOXES = 12  # that cover an ellipse: a tighter bound against time
_MOST_HALVINGS = 24  # of a piece until a rule is good enough
_ROUGH_BITS = 64  # of bounds on ellipses, and of choices: their accuracy does not matter
_MOST_NODES = 3_000  # of a law at one level
_SPARE_BITS = 64  # of masses that are differences
_SAMPLES = 400  # of a piece, from which cells are chosen

# ------------- Laws with a density: analytic pieces beside atoms, and nodes that integrate them with a proved remainder

# A piece is an interval of messages on which the density of A2 and the two ratios are holomorphic functions. All that
# an evaluation asks of a law are integrals of m e^{sG}, and Gauss-Legendre nodes give them for every s at once: the
# nodes are a finite law, and the remainder is bounded by the largest value on ellipses around the panels.

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


@dataclass(frozen=True)
class Panel:
    """An interval with its number of nodes, and bounds on a closed ellipse of parameter ``rho`` around it.

    ``weight`` is half its length times the largest |density|; ``reals`` enclose the real parts of the ratios,
    ``imaginaries`` bound their imaginary parts.
    """

    piece: Piece
    middle: arb
    half: arb
    size: int
    rho: float
    weight: arb
    reals: tuple[arb, arb]
    imaginaries: tuple[arb, arb]

    def largest(self, e: arb) -> tuple[arb, arb]:
        """Return a ball around the real parts of G on the ellipse, and a bound on its imaginary parts."""
        return self.reals[0] - e * self.reals[1], self.imaginaries[0] + e * self.imaginaries[1]

    def remainder(self, e: arb, theta: arb, u: arb, moment: arb | None = None) -> arb:
        """Return a bound on the error of the nodes for the integral of m e^{(theta + iu) G} over the panel.

        With ``moment`` a real number c the integrand is m (G - c)^2 e^{theta G}.

        Guarantee
        ---------
        The absolute error is at most the upper end. Proof: docs/proofs/smooth_laws.md.
        """
        real, sideways = self.largest(e)
        value = self.weight * (theta * real.upper() + abs(u) * sideways).exp()
        if moment is not None:
            value *= (abs(real - moment) + sideways) ** 2
        rho = arb(self.rho)
        return (8 * value * rho ** (1 - 2 * self.size) / (rho - 1)).upper()

    def swapped(self) -> Panel:
        """Return the panel of the other order of the pair."""
        turned = self.reals[::-1], self.imaginaries[::-1]
        return Panel(self.piece.swapped, self.middle, self.half, self.size, self.rho, self.weight, *turned)

    def nodes(self) -> Iterator[tuple[arb, arb, arb]]:
        """Yield (r0, r1, mass) of the nodes in balls at the ambient precision."""
        for x, w in legendre(self.size, flint.ctx.prec):
            y = acb(self.middle + self.half * x)
            density = self.piece.density(y).real * self.half * w
            yield self.piece.ratio0(y).real, self.piece.ratio1(y).real, density


@dataclass(frozen=True, eq=False)
class Nodes:
    """What stands for a smooth law: panels, and (r0, r1, mass) of their nodes in balls."""

    panels: tuple[Panel, ...]
    values: tuple[tuple[arb, arb, arb], ...]

    def remainder(self, e: arb, theta: arb, u: arb, moment: arb | None = None) -> arb:
        """Return a bound on the error of all nodes together, as ``Panel.remainder``."""
        return total([p.remainder(e, theta, u, moment) for p in self.panels])


@lru_cache(maxsize=128)
def legendre(size: int, precision: int) -> tuple[tuple[arb, arb], ...]:
    """Return nodes and weights of the Gauss-Legendre rule on [-1, 1] in balls of so many bits."""
    with at_precision(precision):
        half = [arb.legendre_p_root(size, k, True) for k in range((size + 1) // 2)]
        return (*half, *((-x, w) for x, w in reversed(half[: size // 2])))


@lru_cache(maxsize=64)
def nodes(pieces: tuple[Piece, ...], e: float, theta: float, reach: float, bits: int, accuracy: int) -> Nodes:
    """Return nodes for which the remainder is about 2^-accuracy for E, tilts up to theta and |u| up to ``reach``.

    Chosen in floats for values near those given; ``Nodes.remainder`` is a bound for all values.

    Raises PrecisionError if pieces are not holomorphic around their intervals, or if nodes would be too many.
    """
    panels: list[Panel] = []
    # Two halves that mirror each other share their panels, which are then made for the worse of the two.
    halves = [p for k, p in enumerate(pieces) if p.swapped not in pieces[:k]]
    size = 0
    for piece in halves:
        orders = 1 + (piece.swapped in pieces)
        for panel in _panels(piece, orders, e, theta, reach, bits, accuracy):
            panels.append(panel)
            size += orders * panel.size
            if size > _MOST_NODES:
                raise PrecisionError(
                    "density", Problem(f"more than {_MOST_NODES} nodes are needed"), "take a larger gap"
                )
    twice = [p.piece.swapped in pieces for p in panels]
    with at_precision(bits):
        found = [tuple(p.nodes()) for p in panels]
    turned = [(r1, r0, m) for rows, both in zip(found, twice, strict=True) if both for r0, r1, m in rows]
    mirrored = [p.swapped() for p, both in zip(panels, twice, strict=True) if both]
    return Nodes((*panels, *mirrored), (*(x for rows in found for x in rows), *turned))


def _panels(
    piece: Piece, orders: int, e: float, theta: float, reach: float, bits: int, accuracy: int
) -> Iterator[Panel]:
    with at_precision(bits):
        ends = piece.start(), piece.end()
        open_ = [(((ends[0] + ends[1]) / 2), (ends[1] - ends[0]) / 2, 0)]
    while open_:
        middle, half, depth = open_.pop()
        best = None
        for rho in _ELLIPSES:
            found = _on_ellipse(piece, middle, half, rho)
            if found is None:
                break
            both = (found, found.swapped())[:orders]
            needed = max(_needed(p, e, theta, reach, accuracy) for p in both)
            if best is None or needed < best[0]:
                best = needed, found
        if best is not None and best[0] <= _ORDERS[-1]:
            panel = best[1]
            size = next(s for s in _ORDERS if s >= best[0])
            yield replace(panel, size=size)
            continue
        if depth == _MOST_HALVINGS:
            raise PrecisionError(
                "density", Problem("a piece is not holomorphic in a neighbourhood"), "split it at its kinks"
            )
        with at_precision(bits):
            open_ += [(middle + half / 2, half / 2, depth + 1), (middle - half / 2, half / 2, depth + 1)]


def _needed(p: Panel, e: float, theta: float, reach: float, accuracy: int) -> float:
    """Return how many nodes make the remainder about 2^-accuracy, in floats."""
    # The nodes serve small tilts as well, for which negative values of G make nothing small.
    real, sideways = p.largest(arb(e))
    exponent = max(theta * float(real.upper()), 0.0) + reach * float(sideways.upper())
    weight = float(p.weight.upper())
    if not exponent < inf or not 0.0 < weight < inf:
        return inf if weight else 8.0
    bits = exponent + log(weight) + log(8.0 / (p.rho - 1.0)) + accuracy * log(2.0)
    return max(0.5 * (bits / log(p.rho) + 1.0), 2.0)


def _on_ellipse(piece: Piece, middle: arb, half: arb, rho: float) -> Panel | None:
    """Return the panel with bounds over a rectangle around the ellipse; None if a function is not finite there."""
    with at_precision(_ROUGH_BITS):
        r = arb(rho)
        wide, high = half * (r + 1 / r) / 2, half * (r - 1 / r) / 2
        values: list[list[acb]] = []
        for k in range(_ELLIPSE_BOXES):
            # Each box is as high as the ellipse there; they overlap a little, so that roundings leave no gap.
            place = 2 * k + 1 - _ELLIPSE_BOXES
            nearest = arb(max(abs(place) - 1, 0)) / _ELLIPSE_BOXES
            tall = float((high * (1 - nearest * nearest).sqrt()).upper()) * (1.0 + 1e-9)
            x = middle + wide * place / _ELLIPSE_BOXES
            y = acb(x + arb(0, float((wide / _ELLIPSE_BOXES).upper()) * (1.0 + 1e-9)), arb(0, tall))
            values.append([f(y) for f in (piece.density, *piece.ratios)])
            if not all(v.is_finite() for v in values[-1]):
                return None
        densities, *ratios = zip(*values, strict=True)
        weight = half.upper() * reduce(arb.max, (abs(m).upper() for m in densities))
        real0, real1 = (reduce(arb.union, (r.real for r in found)) for found in ratios)
        imaginary0, imaginary1 = (reduce(arb.max, (abs(r.imag).upper() for r in found)) for found in ratios)
        return Panel(piece, middle, half, 0, rho, weight, (real0, real1), (imaginary0, imaginary1))


def box_range(f: Analytic, start: arb, end: arb) -> arb:
    """Return a ball around the values of a function on an interval."""
    return f(acb(start.union(end))).real


def range_and_slope(f: Analytic, start: arb, end: arb) -> tuple[arb, arb]:
    """Return balls around the values of a function on an interval, and around those of its derivative."""
    try:
        found = f(acb_series([acb(start.union(end)), acb(1)], 2))
    except ValueError:  # a quotient by a series that may start with 0
        return arb("nan"), arb("nan")
    return (found[0].real, found[1].real) if isinstance(found, acb_series) else (found.real, arb(0))


# ------------- The finite sandwich: a lower and an upper finite law around a law with a density, in planar convex order

# Cells of messages become one atom each at the mean of their ratios (below), or atoms at the ends of a segment that
# contains their ratios, with the same mean (above): by Jensen's inequality the divergences are ordered for every
# level and every number of users (docs/proofs/smooth_laws.md).


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

    Every piece is cut into ``cells`` cells, of equal length or as ``cuts`` says, at places of about ``bits`` bits.

    Guarantee
    ---------
    D_E of the lower law <= D_E of the law <= D_E of the upper law for every E >= 0 and every n.
    Proof: docs/proofs/smooth_laws.md.
    """
    below, above = list(law.atoms), list(law.atoms)
    with at_precision(bits + _SPARE_BITS):
        for piece in law.pieces:
            places = [piece.start, *(_fixed(cut.mid()) for cut in cuts(piece, cells)), piece.end]
            masses = _masses(piece, places)
            below += [_mean(m) for m in _told_from_zero(masses)]
            above += _spread(piece, places, masses)
    complete = law.null().is_zero()
    return Law(tuple(below), law.singular, complete), Law(tuple(above), law.singular, complete)


def _told_from_zero(masses: Sequence[_Masses]) -> list[_Masses]:
    """Return the masses of cells, one whose mass is not told from 0 joined with its neighbour: less is seen."""
    found: list[_Masses] = []
    for here in masses:
        if found and not (found[-1]()[0] > 0 and here()[0] > 0):
            found[-1] = _combined(found[-1], here, 1)
        else:
            found.append(here)
    return found


def _combined(first: _Masses, second: _Masses, sign: int) -> _Masses:
    def masses() -> tuple[arb, arb, arb]:
        a, b = first(), second()
        return a[0] + sign * b[0], a[1] + sign * b[1], a[2] + sign * b[2]

    return _remembered(masses)


def _masses(piece: Piece, places: Sequence[Number]) -> list[_Masses]:
    """Return the masses of each cell under A2, A0 and A1."""
    if piece.beyond is None:
        return [_remembered(partial(_integrated, piece, start, end)) for start, end in pairwise(places)]
    beyond = [_at_place(piece.beyond, place) for place in places]
    return [_combined(first, second, -1) for first, second in pairwise(beyond)]


def _integrated(piece: Piece, start: Number, end: Number) -> tuple[arb, arb, arb]:
    def integral(ratio: Analytic) -> arb:
        return acb.integral(lambda y, _: piece.density(y) * ratio(y), acb(start()), acb(end())).real

    return integral(lambda _: acb(1)), integral(piece.ratio0), integral(piece.ratio1)


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
    """Yield atoms around the ratios of the cells, with the same masses and means.

    Where one ratio alone varies, and is monotonic, they are at the ends of segments, and neighbours have one in common.
    """
    varying = [i for i in (0, 1) if not _is_constant(piece.ratios[i], piece)]
    shared: list[list[Number]] = [[] for _ in places]
    ratio = piece.ratios[varying[0]] if len(varying) == 1 else None
    values = [] if ratio is None else [_value(ratio, place) for place in places]
    for k, masses in enumerate(cells):
        start, end = places[k : k + 2]
        if ratio is None or range_and_slope(ratio, start(), end())[1].contains(0):
            yield from _corners(piece, varying, start, end(), masses)
            continue
        share = _share(masses, varying[0], *values[k : k + 2])
        shared[k].append(_rest(masses, [share]))
        shared[k + 1].append(share)
    for value, shares in zip(values, shared, strict=False):
        if shares:
            others = [_value(r, piece.start) for r in piece.ratios]
            others[varying[0]] = value
            yield Atom(others[0], others[1], partial(_sum, shares))


def _corners(piece: Piece, varying: Sequence[int], start: Number, end: arb, masses: _Masses) -> Iterator[Atom]:
    """Yield atoms at the corners of a point, a segment or a right triangle around the ratios of a cell."""
    boxes = [box_range(ratio, start(), end) for ratio in piece.ratios]
    moving = [i for i in varying if boxes[i].rad() != 0]
    base = [_fixed(boxes[i].lower()) if i in moving else _value(piece.ratios[i], start) for i in (0, 1)]
    shares = list[Number]()
    for i in moving:
        moved = list(base)
        moved[i] = _fixed(boxes[i].lower() + len(moving) * (boxes[i].upper() - boxes[i].lower()))
        shares.append(_share(masses, i, base[i], moved[i]))
        yield Atom(moved[0], moved[1], shares[-1])
    yield Atom(base[0], base[1], _rest(masses, shares))


def _share(masses: _Masses, i: int, low: Number, high: Number) -> Number:
    """Return the mass at the second value of ratio i with which a cell keeps its mean, the rest being at the first."""
    return _remembered(lambda: (masses()[1 + i] - low() * masses()[0]) / (high() - low()))


def _rest(masses: _Masses, shares: Sequence[Number]) -> Number:
    return lambda: masses()[0] - _sum(shares)


def _sum(numbers: Sequence[Number]) -> arb:
    return total([x() for x in numbers])


def _value(ratio: Analytic, place: Number) -> Number:
    return _at_place(lambda y: ratio(acb(y)).real, place)


def _is_constant(ratio: Analytic, piece: Piece) -> bool:
    if isinstance(ratio, Holomorphic):
        return ratio.is_constant
    return bool(box_range(ratio, piece.start(), piece.end()).rad() == 0)


def _fixed(value: arb) -> Number:
    return lambda: value
