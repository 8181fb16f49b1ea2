"""Inputs in [0, 1] with symmetric unimodal noise: the law of the worst pair, and of the data sets below it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log2, sqrt
from typing import TYPE_CHECKING, ClassVar

import flint
import sympy as sp
from flint import acb, arb

from symamp.derivation.crossing import level_of, number
from symamp.derivation.printing import latex
from symamp.derivation.variation_parameters import VariationRatio
from symamp.derivation.worst_pair import WorstPair
from symamp.errors import UndecidedOrderError
from symamp.evaluation.law import Atom, Level, Number
from symamp.evaluation.sandwich import finite_sandwich
from symamp.evaluation.smooth_law import Piece, SmoothLaw
from symamp.mechanisms.continuous.picture import plot_distribution, plot_ratios
from symamp.mechanisms.family import Parametrised
from symamp.numbers.exact_number import exact_number
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.systems import FLINT, compile_expression

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Z, Y, W = sp.Symbol("z", real=True), sp.Symbol("y", real=True), sp.Symbol("w", positive=True)
_DEVIATIONS, _SMOOTH, _CELLS, _CELL_BITS = 4.0, 0.5, 200, 256
_ORDER_BITS, _TYPICAL = 512, 10**4
_HALF, _ONE = sp.Rational(1, 2), sp.Integer(1)


@dataclass(frozen=True)
class Arc:
    """The density of the noise for z between two numbers (``oo`` for no end), as an analytic formula in z."""

    start: sp.Expr
    end: sp.Expr
    density: sp.Expr


@dataclass(frozen=True)
class Side:
    """Messages between two numbers with one formula: the densities on both inputs, and their ratio f1/f0."""

    start: sp.Expr
    end: sp.Expr
    density0: sp.Expr
    density1: sp.Expr
    ratio: sp.Expr


class AdditiveNoise(Parametrised):
    """Send x + Z for an input x in [0, 1], where Z has a density that is even and does not increase away from 0.

    A family gives ``arcs`` and ``survival``; the law of the ratios is derived. For every number of users and every
    level (0, 1) is the worst pair of inputs (docs/proofs/worst_pair.md).
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
        """Return the mass of the blanket, P(abs(Z) > 1/2), as a formula."""

    @property
    def mechanism(self) -> None:
        """None: there is no finite table of messages."""
        return None

    def members(self) -> tuple[()]:
        """Return nothing: lower bounds come from data sets at the ends."""
        return ()

    def local_epsilon(self) -> sp.Expr:
        """Return the exact local budget as a formula, ``oo`` if there is none."""
        return sp.log(self.local_ratio())

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023): e^eps0, P(abs(Z) < 1/2) and e^eps0."""
        return VariationRatio(self.local_ratio(), 1 - self.gamma(), self.local_ratio())

    def sides(self) -> tuple[Side, ...]:
        """Return the messages right of 1/2, cut where a formula changes, for the inputs 0 and 1."""
        return _all_sides(self)

    def worst_pair(self) -> WorstPair:
        """Return the pair of inputs with the largest blanket divergence at every level, and how that is known.

        >>> import symamp as sa
        >>> sa.Laplace(eps0=1).worst_pair().pair
        ('0', '1')
        """
        return WorstPair(("0", "1"), True, "Corollary 2 of Theorem P (docs/proofs/worst_pair.md)")

    def plot_ratios(self, ax: Axes | None = None) -> Axes:
        """Draw the curve of (R(0)/m, R(1)/m) over all messages, m the blanket; return the matplotlib Axes."""
        return plot_ratios(self.blanket_laws(Level.of_float(0.0), _TYPICAL)[0], ax)

    def plot_distribution(self, eps: object, ax: Axes | None = None) -> Axes:
        """Draw the distribution function of G = r0 - e^eps r1 under the blanket; return the matplotlib Axes.

        Raises ArgumentError for a level that is no number.
        """
        level = level_of(exact_number(eps, "eps"))
        return plot_distribution(self.blanket_laws(level, _TYPICAL)[0], level, ax)

    def _repr_latex_(self) -> str:
        """Return the table of pieces right of 1/2: messages, density of the blanket, and the ratio there; r0 is 1."""
        rows = [
            rf"\left({latex(s.start)},\,{latex(s.end)}\right) & {latex(s.density0)} & 1 & {latex(s.ratio)} \\"
            for s in self.sides()
        ]
        head = r"y & m(y) & r_0 & r_1 \\ \hline"
        return rf"$\displaystyle \begin{{array}}{{cccc}} {head} {' '.join(rows)} \end{{array}}$"

    def tail(self, start: sp.Expr) -> tuple[sp.Expr, sp.Expr] | None:
        """Return (y, w0): messages beyond ``start`` as a formula y(w), 0 < w < w0, in which densities are analytic.

        None if ratios are constant far out, or unbounded: then ``cut`` says where they are cut.
        """
        return None

    @property
    def cuts_tail(self) -> bool:
        """Whether the tail is cut far out although ratios are bounded."""
        return False

    def cut(self, ratio: float) -> sp.Expr | None:
        """Return where f(y - 1)/f(y) is about the ratio, and does not fall beyond; None if tails are not cut."""
        return None

    def spread(self) -> float:
        """Return about the variance of G at eps = 0, where ratios are unbounded: for placing the cut."""
        raise NotImplementedError

    def exact_law(self) -> SmoothLaw | None:
        """Return the triple of the blanket at the pair (0, 1), None if its tail has to be cut."""
        return None if self.local_ratio() is sp.oo or self.cuts_tail else _blanket_law(self)

    def blanket_laws(self, level: Level, n: int) -> tuple[SmoothLaw, SmoothLaw]:
        """Return (lower, upper): laws between whose divergences that of the pair (0, 1) lies; the same one if exact.

        Unbounded ratios are cut where a message decides alone at this level and number of users.

        Guarantee
        ---------
        The divergences of the laws, at every level and number of users, enclose that of the blanket of (0, 1).
        Proof: docs/proofs/smooth_laws.md.
        """
        exact = self.exact_law()
        if exact is not None:
            return exact, exact
        if self.local_ratio() is not sp.oo:
            return _cut_laws(self, 1.0, 1.0)
        with flint.ctx.workprec(64):
            mean = n * float(level.exponential_minus_one())
        deviation = sqrt(n * self.spread())
        return _cut_laws(self, _rounded(_SMOOTH * deviation), _rounded(mean + _DEVIATIONS * (deviation + 1.0)))


@lru_cache(maxsize=128)
def _all_sides(noise: AdditiveNoise) -> tuple[Side, ...]:
    arcs = noise.arcs()
    kinks = [a.start for a in arcs if a.start != 0] + [arcs[-1].end]
    cuts = [_ONE, *(k + shift for k in kinks for shift in (-1, 0, 1) if k != sp.oo), _ONE - kinks[0]]
    inner = [c for c in cuts if c not in (sp.oo, -sp.oo) and _compare(c, _HALF) > 0]
    ordered = [_HALF, *_sorted(inner)]
    return tuple(_sides(arcs, ordered))


@lru_cache(maxsize=64)
def _blanket_law(noise: AdditiveNoise) -> SmoothLaw:
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
def _cut_laws(noise: AdditiveNoise, smooth: float, ratio: float) -> tuple[SmoothLaw, SmoothLaw]:
    """Return the lower law, with the tail at its mean, and the upper law, with its atom at infinity.

    Up to the ratio ``smooth`` there are pieces. Beyond, where frequencies would turn often over little mass, there
    are cells.
    """
    first, end = noise.cut(smooth), noise.cut(ratio)
    assert first is not None
    assert end is not None
    *inner, last = noise.sides()
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


def _mirrored(
    noise: AdditiveNoise, pieces: list[Piece], atoms: list[Atom], singular: tuple[tuple[Number, Number], ...] = ()
) -> SmoothLaw:
    """Return the law whose right half is given."""
    half = number(_HALF)
    right = SmoothLaw(tuple(pieces), tuple(atoms), lambda: (1 - 2 * noise.survival(half())).max(arb(0)), singular)
    left = right.swapped()
    return SmoothLaw(right.pieces + left.pieces, right.atoms + left.atoms, right.null, singular + left.singular)


def _piece(noise: AdditiveNoise, side: Side, end: sp.Expr) -> Piece:
    return Piece(
        number(side.start),
        number(end),
        Holomorphic(side.density0, Y),
        Holomorphic(_ONE, Y),
        Holomorphic(side.ratio, Y),
        _Beyond(noise),
    )


def _tail(noise: AdditiveNoise, side: Side) -> Piece:
    """Return the messages beyond the start of a side as a piece in another variable."""
    found = noise.tail(side.start)
    if found is None:
        raise UndecidedOrderError("density", str(side.density0), "a tail with constant ratios, or a variable for it")
    formula, start = found
    density, ratio = (sp.simplify(e.subs(Y, formula)) for e in (side.density0, side.ratio))
    return Piece(
        number(sp.Integer(0)),
        number(start),
        Holomorphic(sp.simplify(density * -sp.diff(formula, W)), W),
        Holomorphic(_ONE, W),
        Holomorphic(ratio, W),
        _BeyondTail(noise, formula),
    )


class _Beyond:
    """Masses (A2, A0, A1) of the messages beyond y >= 1/2, where A2 is A0 = R(0) and A1 is R(1)."""

    def __init__(self, noise: AdditiveNoise) -> None:
        self.noise = noise

    def __call__(self, y: arb) -> tuple[arb, arb, arb]:
        far, close = self.noise.survival(y), y - 1
        there = self.noise.survival(close) if not close < 0 else 1 - self.noise.survival(-close)
        return far, far, there


class _BeyondTail:
    """The masses of messages that are not beyond y(w), up to a constant: they increase with w, as y falls."""

    def __init__(self, noise: AdditiveNoise, formula: sp.Expr) -> None:
        self.beyond, self.place = _Beyond(noise), compile_expression(formula, (W,))

    def __call__(self, w: arb) -> tuple[arb, arb, arb]:
        if w.is_zero():
            return arb(0), arb(0), arb(0)
        mass, mass0, mass1 = self.beyond(self.place(FLINT, {W.name: w}))
        return -mass, -mass0, -mass1


def _mass(noise: AdditiveNoise, side: Side) -> Number:
    start, beyond = number(side.start), _Beyond(noise)
    end = None if side.end == sp.oo else number(side.end)
    return lambda: beyond(start())[0] - (arb(0) if end is None else beyond(end())[0])


def _rounded(x: float) -> float:
    """Return a power of 2^(1/8) that is at least x: neighbouring levels share a law."""
    return float(2.0 ** (ceil(8.0 * log2(x)) / 8.0))


def _sides(arcs: tuple[Arc, ...], cuts: list[sp.Expr]) -> Iterator[Side]:
    ends = [*cuts[1:], sp.oo] if arcs[-1].end == sp.oo else cuts[1:]
    for start, end in zip(cuts, ends, strict=False):
        middle = start + 1 if end == sp.oo else (start + end) / 2
        left = _compare(middle, _ONE) < 0
        f0 = _density(arcs, middle).subs(Z, Y)
        f1 = _density(arcs, 1 - middle if left else middle - 1).subs(Z, 1 - Y if left else Y - 1)
        if f0 != 0:
            yield Side(start, end, f0, f1, sp.simplify(f1 / f0))


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
