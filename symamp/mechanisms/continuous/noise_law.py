"""The laws of additive noise at the inputs 0 and 1: pieces and atoms right of 1/2, mirrored; long tails are cut."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import sympy as sp
from flint import acb, arb

from symamp.derivation.crossing import number
from symamp.errors import UndecidedOrderError
from symamp.evaluation.law import Atom, Number
from symamp.evaluation.sandwich import finite_sandwich
from symamp.evaluation.smooth_law import Piece, SmoothLaw
from symamp.mechanisms.continuous.noise_sides import Side, W, Y, in_tail
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.substitution import put
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import FLINT, compile_expression

_CELLS, _CELL_BITS, _NEGLIGIBLE, _LARGEST = 200, 256, 2.0**-64, 1e300
_HALF, _ONE = sp.Rational(1, 2), sp.Integer(1)


class Noise(Protocol):
    """What the laws are made of."""

    def __hash__(self) -> int: ...

    def general(self) -> tuple[Noise, dict[sp.Symbol, sp.Expr]]:
        """Return noise with parameters left free, and their values."""

    def sides(self) -> tuple[Side, ...]:
        """Return the messages right of 1/2."""

    def survival(self, z: arb) -> arb:
        """Return P(Z > z) for z >= 0."""

    def tail(self, start: sp.Expr) -> tuple[sp.Expr, sp.Expr] | None:
        """Return (y, w0): messages beyond ``start`` in a variable w, 0 < w < w0; None if ratios are constant there."""

    def cut(self, ratio: float) -> sp.Expr | None:
        """Return where the ratio is reached."""


@lru_cache(maxsize=64)
def blanket_law(noise: Noise) -> SmoothLaw:
    """Return the triple at (0, 1): right of 1/2 the infimum is R(0), left of it the mirror image holds."""
    pieces: list[Piece] = []
    atoms: list[Atom] = []
    for side in noise.sides():
        if not side.ratio.free_symbols:
            atoms.append(Atom(number(_ONE), number(side.ratio), _mass(noise, side), side.ratio == 1))
        elif side.end != sp.oo:
            pieces.append(_piece(noise, side, side.end))
        else:
            pieces.append(_tail(noise, side))
    return _mirrored(noise, pieces, atoms)


@lru_cache(maxsize=64)
def _sides(noise: Noise) -> tuple[Side, ...]:
    return noise.sides()


@lru_cache(maxsize=64)
def cut_laws(noise: Noise, smooth: float, ratio: float) -> tuple[SmoothLaw, SmoothLaw]:
    """Return the lower law, with the tail at its mean, and the upper law, with its atom at infinity.

    Up to the ratio ``smooth`` there are pieces. Beyond, where frequencies would turn often over little mass, there
    are cells.
    """
    first, end = noise.cut(smooth), noise.cut(ratio)
    assert first is not None
    assert end is not None
    *inner, last = _sides(noise)
    few = Side(first, end, last.density0, last.density1, last.ratio)
    pieces = [_piece(noise, side, side.end) for side in inner] + [_piece(noise, last, first if first < end else end)]
    cells = [_piece(noise, few, end)] if first < end else []
    below, above = finite_sandwich(SmoothLaw(tuple(cells), (), number(sp.Integer(0))), _CELLS, _CELL_BITS)
    there, beyond, one = number(end), _Beyond(noise), number(_ONE)
    at_edge = Holomorphic(last.ratio, Y)

    def mean() -> arb:
        mass, _, other = beyond(there())
        return other / mass

    def edge() -> arb:
        return at_edge(acb(there())).real

    def left_over() -> arb:
        mass, _, other = beyond(there())
        return (other - edge() * mass).max(arb(0))

    def mass() -> arb:
        return beyond(there())[0]

    lower = _mirrored(noise, pieces, [*below.atoms, Atom(one, mean, mass)])
    upper = _mirrored(noise, pieces, [*above.atoms, Atom(one, edge, mass)], ((number(sp.Integer(0)), left_over),))
    return lower, upper


def far_ratio(noise: Noise) -> float:
    """Return about the ratio f(y - 1)/f(y) beyond which f(y - 1) has a mass of less than 2^-64."""
    ratio, y = Holomorphic(noise.sides()[-1].ratio, Y), arb(1)
    with at_precision(64):
        while not noise.survival(y - 1) < _NEGLIGIBLE:
            y += (y - arb(0.75)) / 8
        return min(float(ratio(acb(y)).real.mid()), _LARGEST)


def _mirrored(
    noise: Noise, pieces: list[Piece], atoms: list[Atom], singular: tuple[tuple[Number, Number], ...] = ()
) -> SmoothLaw:
    """Return the law whose right half is given."""
    half = number(_HALF)
    right = SmoothLaw(tuple(pieces), tuple(atoms), lambda: (1 - 2 * noise.survival(half())).max(arb(0)), singular)
    left = right.swapped()
    return SmoothLaw(right.pieces + left.pieces, right.atoms + left.atoms, right.null, singular + left.singular)


@lru_cache(maxsize=256)
def _piece(noise: Noise, side: Side, end: sp.Expr) -> Piece:
    return Piece(
        number(side.start),
        number(end),
        Holomorphic(side.density0, Y),
        Holomorphic(_ONE, Y),
        Holomorphic(side.ratio, Y),
        _Beyond(noise),
    )


def _tail(noise: Noise, side: Side) -> Piece:
    """Return the messages beyond the start of a side as a piece in another variable."""
    found = noise.tail(side.start)
    if found is None:
        raise UndecidedOrderError("density", str(side.density0), "a tail with constant ratios, or a variable for it")
    formula, start = found
    general, fixed = noise.general()
    there = general.sides()[-1]
    of_general = general.tail(there.start)
    assert of_general is not None
    density, ratio = (put(e, fixed) for e in in_tail(there, of_general[0]))
    return Piece(
        number(sp.Integer(0)),
        number(start),
        Holomorphic(density, W),
        Holomorphic(_ONE, W),
        Holomorphic(ratio, W),
        _BeyondTail(noise, formula),
    )


class _Beyond:
    """Masses (A2, A0, A1) of the messages beyond y >= 1/2, where A2 is A0 = R(0) and A1 is R(1)."""

    def __init__(self, noise: Noise) -> None:
        self.noise = noise

    def __call__(self, y: arb) -> tuple[arb, arb, arb]:
        far, close = self.noise.survival(y), y - 1
        there = self.noise.survival(close) if not close < 0 else 1 - self.noise.survival(-close)
        return far, far, there


class _BeyondTail:
    """The masses of messages that are not beyond y(w), up to a constant: they increase with w, as y falls."""

    def __init__(self, noise: Noise, formula: sp.Expr) -> None:
        self.beyond, self.place = _Beyond(noise), compile_expression(formula, (W,))

    def __call__(self, w: arb) -> tuple[arb, arb, arb]:
        if w.is_zero():
            return arb(0), arb(0), arb(0)
        mass, mass0, mass1 = self.beyond(self.place(FLINT, {W.name: w}))
        return -mass, -mass0, -mass1


def _mass(noise: Noise, side: Side) -> Number:
    start, beyond = number(side.start), _Beyond(noise)
    end = None if side.end == sp.oo else number(side.end)
    return lambda: beyond(start())[0] - (arb(0) if end is None else beyond(end())[0])
