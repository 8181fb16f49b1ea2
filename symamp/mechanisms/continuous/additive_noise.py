"""Inputs in [0, 1] with symmetric unimodal noise: the law of the worst pair, and of the data sets below it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import flint
import sympy as sp
from flint import arb

from symamp.derivation.crossing import number
from symamp.derivation.variation_parameters import VariationRatio
from symamp.errors import UndecidedOrderError
from symamp.evaluation.law import Atom, Level, Number
from symamp.evaluation.smooth_law import Piece, SmoothLaw
from symamp.mechanisms.family import Parametrised
from symamp.numbers.holomorphic import Holomorphic

Z, Y = sp.Symbol("z", real=True), sp.Symbol("y", real=True)
_ORDER_BITS = 512
_HALF, _ONE = sp.Rational(1, 2), sp.Integer(1)


@dataclass(frozen=True)
class Arc:
    """The density of the noise for z between two numbers (``oo`` for no end), as an analytic formula in z."""

    start: sp.Expr
    end: sp.Expr
    density: sp.Expr


@dataclass(frozen=True)
class Side:
    """Messages between two numbers with one formula: the densities on both inputs, and their ratio f0/f1."""

    start: sp.Expr
    end: sp.Expr
    density0: sp.Expr
    density1: sp.Expr
    ratio: sp.Expr


class AdditiveNoise(Parametrised):
    """Send x + Z for an input x in [0, 1], where Z has a density that is even and does not increase away from 0.

    A family gives ``arcs`` and ``survival``; everything else is derived. For every number of users and every level
    (0, 1) is the worst pair of inputs (docs/proofs/worst_pair.md).
    """

    name: str
    slug: ClassVar[str]
    source: ClassVar[str]

    @abstractmethod
    def arcs(self) -> tuple[Arc, ...]:
        """Return the density on z >= 0, in order; it vanishes beyond the last arc."""

    @abstractmethod
    def survival(self, z: arb) -> arb:
        """Return P(Z > z) for z >= 0, at the ambient precision."""

    @abstractmethod
    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, ``oo`` if there is no finite local budget."""

    @abstractmethod
    def gamma(self) -> sp.Expr:
        """Return the mass of the blanket, P(|Z| > 1/2), as a formula."""

    @property
    def mechanism(self) -> None:
        """None: there is no finite table of messages."""
        return None

    def members(self) -> tuple[()]:
        """Return nothing: lower bounds come from ``data_set_law``."""
        return ()

    def local_epsilon(self) -> sp.Expr:
        """Return the exact local budget as a formula, ``oo`` if there is none."""
        return sp.log(self.local_ratio())

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023): e^eps0, P(|Z| < 1/2) and e^eps0."""
        return VariationRatio(self.local_ratio(), 1 - self.gamma(), self.local_ratio())

    def sides(self) -> tuple[Side, ...]:
        """Return the messages right of 1/2, cut where a formula changes, for the inputs 0 and 1."""
        arcs = self.arcs()
        kinks = [a.start for a in arcs if a.start != 0] + [arcs[-1].end]
        cuts = [_ONE, *(k + shift for k in kinks for shift in (-1, 0, 1) if k != sp.oo), _ONE - kinks[0]]
        inner = [c for c in cuts if c not in (sp.oo, -sp.oo) and _compare(c, _HALF) > 0]
        ordered = [_HALF, *_sorted(inner)]
        return tuple(_sides(arcs, ordered))

    def blanket_laws(self, level: Level, n: int) -> tuple[SmoothLaw, SmoothLaw]:
        """Return (lower, upper): laws between whose divergences that of the pair (0, 1) lies; the same one if exact.

        Guarantee
        ---------
        The divergences at this level and number of users enclose that of the blanket of (0, 1).
        Proof: docs/proofs/smooth_laws.md.
        """
        law = _blanket_law(self)
        return law, law

    def data_set_law(self, level: Level, n: int, other: int, reverse: bool) -> SmoothLaw:
        """Return the law of R(0), R(1) (or the reverse) among others who all hold the input ``other``, 0 or 1.

        Guarantee
        ---------
        Its divergence is at most that of two neighbouring data sets. Proof: docs/proofs/blanket_reduction.md.
        """
        return _data_set_law(self, other, reverse)


@lru_cache(maxsize=64)
def _blanket_law(noise: AdditiveNoise) -> SmoothLaw:
    """Return the triple at (0, 1): right of 1/2 the infimum is R(0), left of it the mirror image holds."""
    pieces, atoms = [], []
    one = number(_ONE)
    for side in noise.sides():
        ratio = 1 / side.ratio
        if not ratio.free_symbols:
            mass, high = _mass(noise, side), number(ratio)
            equal = ratio == 1
            atoms += [Atom(one, high, mass, equal), Atom(high, one, mass, equal)]
        else:
            right = Piece(
                number(side.start),
                number(side.end),
                Holomorphic(side.density0, Y),
                Holomorphic(_ONE, Y),
                Holomorphic(sp.simplify(ratio), Y),
                _Beyond(noise),
            )
            pieces += [right, right.swapped()]
    gamma = number(noise.gamma())
    return SmoothLaw(tuple(pieces), tuple(atoms), lambda: (1 - gamma()).max(arb(0)))


@lru_cache(maxsize=64)
def _data_set_law(noise: AdditiveNoise, other: int, reverse: bool) -> SmoothLaw:
    """Return the triple with A2 = R(other). Left of 1/2 the densities of 0 and 1 change places."""
    pieces, atoms = [], []
    one = number(_ONE)
    for side in noise.sides():
        # On the right R(0) <= R(1); on the left the mirror image: what R(1) is here R(0) is there.
        for near, density in ((False, side.density0), (True, side.density1)):
            # A2 is R(0) right of 1/2 (as ``density0``) and left of it (as ``density1``), or R(1) by reflection.
            ratio = side.ratio if near else 1 / side.ratio
            if not ratio.free_symbols:
                atoms.append(Atom(one, number(ratio), _mass(noise, side, near), ratio == 1))
            else:
                pieces.append(
                    Piece(
                        number(side.start),
                        number(side.end),
                        Holomorphic(density, Y),
                        Holomorphic(_ONE, Y),
                        Holomorphic(sp.simplify(ratio), Y),
                        _Beyond(noise, near),
                    )
                )
    found = SmoothLaw(tuple(pieces), tuple(atoms), number(sp.Integer(0)))
    # So far A2 = A0; reflection y -> 1 - y exchanges 0 and 1.
    return found if (other == 0) != reverse else found.swapped()


class _Beyond:
    """Masses (A2, A0, A1) of the messages beyond y >= 1/2, for A2 = A0 = R(0), or A2 = A0 = R(1) if ``near``."""

    def __init__(self, noise: AdditiveNoise, near: bool = False) -> None:
        self.noise, self.near = noise, near

    def __call__(self, y: arb) -> tuple[arb, arb, arb]:
        far = self.noise.survival(y)
        close = y - 1
        there = self.noise.survival(close) if not close < 0 else 1 - self.noise.survival(-close)
        return (there, there, far) if self.near else (far, far, there)


def _mass(noise: AdditiveNoise, side: Side, near: bool = False) -> Number:
    start, beyond = number(side.start), _Beyond(noise, near)
    end = None if side.end == sp.oo else number(side.end)
    return lambda: beyond(start())[0] - (arb(0) if end is None else beyond(end())[0])


def _sides(arcs: tuple[Arc, ...], cuts: list[sp.Expr]) -> Iterator[Side]:
    ends = [*cuts[1:], sp.oo] if arcs[-1].end == sp.oo else cuts[1:]
    for start, end in zip(cuts, ends, strict=False):
        middle = start + 1 if end == sp.oo else (start + end) / 2
        left = _compare(middle, _ONE) < 0
        f0 = _density(arcs, middle).subs(Z, Y)
        f1 = _density(arcs, 1 - middle if left else middle - 1).subs(Z, 1 - Y if left else Y - 1)
        if f1 != 0:
            yield Side(start, end, f0, f1, sp.simplify(f0 / f1))


def _density(arcs: tuple[Arc, ...], z: sp.Expr) -> sp.Expr:
    for arc in arcs:
        if arc.end == sp.oo or _compare(z, arc.end) < 0:
            return arc.density
    return sp.Integer(0)


def _sorted(values: list[sp.Expr]) -> list[sp.Expr]:
    found: list[sp.Expr] = []
    for value in values:
        place = len(found)
        while place and _compare(value, found[place - 1]) < 0:
            place -= 1
        if not place or _compare(value, found[place - 1]) > 0:
            found.insert(place, value)
    return found


def _compare(a: sp.Expr, b: sp.Expr) -> int:
    """Return the sign of a - b for constants."""
    if a == b:
        return 0
    with flint.ctx.workprec(_ORDER_BITS):
        difference = number(sp.sympify(a - b))()
        if difference > 0 or difference < 0:
            return 1 if difference > 0 else -1
    if sp.simplify(a - b) == 0:
        return 0
    raise UndecidedOrderError("order", f"{a} against {b}", "numbers whose order can be decided")
