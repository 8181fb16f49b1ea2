"""Laws with a density: analytic pieces beside atoms, and nodes that integrate them with a proved remainder.

A piece is an interval of messages on which the density of A2 and the two ratios are holomorphic functions. All that an
evaluation asks of a law are integrals of m e^{sG}, and Gauss-Legendre nodes give them for every s at once: the nodes
are a finite law, and the remainder is bounded by the largest value on ellipses around the panels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf, log

import flint
from flint import acb, acb_series, arb

from symamp.errors import PrecisionError
from symamp.evaluation.law import Atom, Number, total
from symamp.numbers.surroundings import at_precision

Analytic = Callable[[acb], acb]
Masses = Callable[[arb], tuple[arb, arb, arb]]

_ELLIPSES = (1.1, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5, 7.0)
_SIZES = (8, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256)
_BOXES, _MOST_HALVINGS, _ROUGH_BITS, _MOST_NODES = 12, 24, 64, 3_000


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


@dataclass(frozen=True)
class Panel:
    """An interval with its number of nodes, and bounds on a closed ellipse of parameter ``rho`` around it.

    ``weight`` is half its length times the largest |density|; ``real0``, ``real1`` enclose the real parts of the
    ratios, ``imaginary0``, ``imaginary1`` bound their imaginary parts.
    """

    piece: Piece
    middle: arb
    half: arb
    size: int
    rho: float
    weight: arb
    real0: arb
    real1: arb
    imaginary0: arb
    imaginary1: arb

    def remainder(self, e: arb, theta: arb, u: arb, moment: arb | None = None) -> arb:
        """Return a bound on the error of the nodes for the integral of m e^{(theta + iu) G} over the panel.

        With ``moment`` a real number c the integrand is m (G - c)^2 e^{theta G}.

        Guarantee
        ---------
        The absolute error is at most the upper end. Proof: docs/proofs/smooth_laws.md.
        """
        largest = (self.real0 - e * self.real1).upper()
        sideways = self.imaginary0 + e * self.imaginary1
        value = self.weight * (theta * largest + abs(u) * sideways).exp()
        if moment is not None:
            value *= (abs(self.real0 - e * self.real1 - moment) + sideways) ** 2
        rho = arb(self.rho)
        return (8 * value * rho ** (1 - 2 * self.size) / (rho - 1)).upper()

    def swapped(self) -> Panel:
        """Return the panel of the other order of the pair."""
        turned = self.real1, self.real0, self.imaginary1, self.imaginary0
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
                raise PrecisionError("density", f"frequencies up to {reach:.3g}", f"at most {_MOST_NODES} nodes")
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
        if best is not None and best[0] <= _SIZES[-1]:
            panel = best[1]
            size = next(s for s in _SIZES if s >= best[0])
            yield replace(panel, size=size)
            continue
        if depth == _MOST_HALVINGS:
            raise PrecisionError("density", "a piece", "functions that are holomorphic around every piece")
        with at_precision(bits):
            open_ += [(middle + half / 2, half / 2, depth + 1), (middle - half / 2, half / 2, depth + 1)]


def _needed(p: Panel, e: float, theta: float, reach: float, accuracy: int) -> float:
    """Return how many nodes make the remainder about 2^-accuracy, in floats."""
    # The nodes serve small tilts as well, for which negative values of G make nothing small.
    exponent = max(theta * float((p.real0 - e * p.real1).upper()), 0.0)
    exponent += reach * (float(p.imaginary0.upper()) + e * float(p.imaginary1.upper()))
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
        weight, imaginary0, imaginary1 = arb(0), arb(0), arb(0)
        real0: arb | None = None
        real1: arb | None = None
        for k in range(_BOXES):
            # Each box is as high as the ellipse there; they overlap a little, so that roundings leave no gap.
            place = 2 * k + 1 - _BOXES
            nearest = arb(max(abs(place) - 1, 0)) / _BOXES
            tall = float((high * (1 - nearest * nearest).sqrt()).upper()) * (1.0 + 1e-9)
            x = middle + wide * place / _BOXES
            y = acb(x + arb(0, float((wide / _BOXES).upper()) * (1.0 + 1e-9)), arb(0, tall))
            m, r0, r1 = piece.density(y), piece.ratio0(y), piece.ratio1(y)
            if not (m.is_finite() and r0.is_finite() and r1.is_finite()):
                return None
            weight = weight.max(abs(m).upper())
            imaginary0, imaginary1 = imaginary0.max(abs(r0.imag).upper()), imaginary1.max(abs(r1.imag).upper())
            real0 = r0.real if real0 is None else real0.union(r0.real)
            real1 = r1.real if real1 is None else real1.union(r1.real)
        assert real0 is not None
        assert real1 is not None
        scale = half.upper()
        return Panel(piece, middle, half, 0, rho, scale * weight, real0, real1, imaginary0, imaginary1)


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
