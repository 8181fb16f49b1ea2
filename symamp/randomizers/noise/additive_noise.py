"""Inputs in [0, 1] with symmetric unimodal noise: its sides, its laws at the worst pair, pictures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import ceil, log2, sqrt
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import sympy as sp
from flint import acb, arb

from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.printing import ShownInLatex, axes_for, latex
from symamp.decompositions.to_law import level_of, number
from symamp.decompositions.worst_pair import WorstPair
from symamp.errors import ExpressionError, Problem, SymampError, UndecidedOrderError, VerificationError
from symamp.formulas.parameter import admissible_points
from symamp.laws.density import Laws, Piece, SmoothLaw, finite_law
from symamp.laws.law import Atom, Level, Number
from symamp.numbers.rationals import fraction_of, rational_of
from symamp.numbers.reading import difference, exact_number
from symamp.numbers.substitution import put
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision
from symamp.numbers.systems import FLINT, Holomorphic, compile_expression, same
from symamp.randomizers.family import Parametrised
from symamp.randomizers.mechanism import SubjectBase

# Width against time: laws of noise are cut, and enclosed cell by cell, where they are not analytic as a whole.
_NEGLIGIBLE_TAIL = 2.0**-64  # mass beyond which heavy tails are cut
_LARGEST_CUT_RATIO = 1e300  # where ratios are unbounded
_LARGEST_E = 1e90  # e^eps from which on any cut will do
_DEVIATIONS = 4.0  # of the sum, within which no single message decides
_TYPICAL_USERS = 10**4  # in pictures
_DRAWN_CELLS = 60  # of a picture of the distribution
_DRAWN_POINTS = 60  # of each piece of a picture of ratios
_DRAWN_BITS = 64  # of both

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# --- Noise of analytic arcs, seen from the inputs 0 and 1: intervals of messages with one formula for both densities

Z, Y, W = sp.Symbol("z", real=True), sp.Symbol("y", real=True), sp.Symbol("w", positive=True)
_HALF, _ONE = sp.Rational(1, 2), sp.Integer(1)


@dataclass(frozen=True)
class Side:
    """Messages between two numbers with one formula: the densities on both inputs, and their ratio f1/f0."""

    start: sp.Expr
    end: sp.Expr
    density0: sp.Expr
    density1: sp.Expr
    ratio: sp.Expr

    def put(self, values: Mapping[sp.Symbol, sp.Expr]) -> Side:
        """Return the side with numbers for some symbols."""
        both = (put(e, values) for e in (self.start, self.end, self.density0, self.density1, self.ratio))
        return _checked(Side(*both))


@lru_cache(maxsize=1024)
def in_tail(side: Side, formula: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return density and ratio of a side whose messages are a falling formula in w, for dw."""
    density, ratio = (sp.simplify(e.subs(Y, formula)) for e in (side.density0, side.ratio))
    return sp.simplify(density * -sp.diff(formula, W)), ratio


@lru_cache(maxsize=128)
def sides_of(half: sp.Expr) -> tuple[Side, ...]:
    """Return the messages right of 1/2 for the inputs 0 and 1, and the density ``half`` of noise, cut at 1."""
    f0 = half.subs(Z, Y)
    both = ((_HALF, _ONE, half.subs(Z, 1 - Y)), (_ONE, sp.oo, half.subs(Z, Y - 1)))
    return tuple(_checked(Side(start, end, f0, f1, _shorter(f1 / f0))) for start, end, f1 in both)


def _shorter(ratio: sp.Expr) -> sp.Expr:
    """Return the ratio simplified, exponents as sums in which nothing cancels: balls are narrow so."""

    def expanded(x: sp.Expr) -> sp.Expr:
        return x.replace(sp.exp, lambda exponent: sp.exp(sp.expand(exponent)))

    one_power = expanded(sp.powsimp(ratio))  # simplify would load much of SymPy
    return one_power if isinstance(one_power, sp.exp) else expanded(sp.simplify(ratio))


def _checked(side: Side) -> Side:
    """Return the side; VerificationError if its ratio is proved to be another one than that of its densities."""
    if side.density1 != 0 and (side.ratio * side.density0 * side.density1).free_symbols == {Y}:
        written = side.density1 / side.density0
        points = [{Y.name: fraction_of(y)} for y in inner_points(side.start, side.end)]
        if wrong := difference(written, side.ratio, points):
            simplified = Problem(f"SymPy simplified {written} to {side.ratio}, which differs: {wrong}")
            raise VerificationError("ratio", simplified, "please report this")
    return side


def inner_points(start: sp.Expr, end: sp.Expr) -> list[sp.Rational]:
    """Return some rational numbers between two numbers, of which the second may be ``oo``."""
    far = [start + sp.Rational(1, 3), start + 2, start + 9, start + 40]
    points = far if end == sp.oo else [start + (end - start) * sp.Rational(k, 5) for k in range(1, 5)]
    return [sp.Rational(str(sp.N(p, 12))) for p in points]


def joined(sides: Sequence[Side]) -> list[Side]:
    """Return the sides as they are shown: neighbours with one formula are one, and exponents are products."""
    found: list[Side] = []
    for side in sides:
        last = found[-1] if found else None
        ratio = side.ratio.replace(sp.exp, lambda x: sp.exp(sp.factor(x)))
        if last is not None and (last.density0, last.ratio) == (side.density0, ratio):
            found[-1] = replace(last, end=side.end)
        else:
            found.append(replace(side, ratio=ratio))
    return found


# -------- The laws of additive noise at the inputs 0 and 1: pieces and atoms right of 1/2, mirrored; long tails are cut


@lru_cache(maxsize=64)
def blanket_law(noise: AdditiveNoise) -> SmoothLaw:
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
def cut_laws(noise: AdditiveNoise, ratio: float) -> Laws:
    """Return the lower law, with the tail beyond a ratio at its mean, and the upper law, with its atom at infinity."""
    end = noise.cut(ratio)
    assert end is not None
    inner, last = noise.sides()
    pieces = [_piece(noise, inner, inner.end), _piece(noise, last, end)]
    place, zero, one, at_edge = number(end), number(sp.S.Zero), number(_ONE), Holomorphic(last.ratio, Y)

    def mass() -> arb:
        return _beyond(noise, place())[0]

    def mean() -> arb:
        return _beyond(noise, place())[2] / mass()

    def edge() -> arb:
        return at_edge(acb(place())).real

    def left_over() -> arb:
        return ((mean() - edge()) * mass()).max(arb(0))

    lower = _mirrored(noise, pieces, [Atom(one, mean, mass)])
    return lower, _mirrored(noise, pieces, [Atom(one, edge, mass)], ((zero, left_over),))


def far_ratio(noise: AdditiveNoise) -> float:
    """Return about the ratio f(y - 1)/f(y) beyond which f(y - 1) has a mass of less than 2^-64."""
    ratio, y = Holomorphic(noise.sides()[-1].ratio, Y), arb(1)
    with at_precision(64):
        while not noise.survival(y - 1) < _NEGLIGIBLE_TAIL:
            y += (y - arb(0.75)) / 8
        return min(float(ratio(acb(y)).real.mid()), _LARGEST_CUT_RATIO)


def _mirrored(
    noise: AdditiveNoise, pieces: list[Piece], atoms: list[Atom], singular: tuple[tuple[Number, Number], ...] = ()
) -> SmoothLaw:
    """Return the law whose right half is given."""
    half = number(_HALF)
    right = SmoothLaw(tuple(pieces), tuple(atoms), lambda: (1 - 2 * noise.survival(half())).max(arb(0)), singular)
    left = right.swapped()
    return SmoothLaw(right.pieces + left.pieces, right.atoms + left.atoms, right.null, singular + left.singular)


@lru_cache(maxsize=256)
def _piece(noise: AdditiveNoise, side: Side, end: sp.Expr) -> Piece:
    density, one, ratio = (Holomorphic(f, Y) for f in (side.density0, _ONE, side.ratio))
    return Piece(number(side.start), number(end), density, one, ratio, partial(_beyond, noise))


def _tail(noise: AdditiveNoise, side: Side) -> Piece:
    """Return the messages beyond the start of a side as a piece in another variable."""
    general, fixed = noise.general()
    found = general.tail()
    if found is None:
        far = Problem(f"the ratio of {side.density0} is not constant far out")
        raise UndecidedOrderError("density", far, "define tail()")
    density, ratio = (put(e, fixed) for e in in_tail(general.sides()[-1], found[0]))
    place, start = compile_expression(put(found[0], fixed), (W,)), number(put(found[1], fixed))

    def beyond(w: arb) -> tuple[arb, arb, arb]:
        """Return the masses of messages that are not beyond y(w), up to a constant: as y falls they increase with w."""
        if w.is_zero():
            return arb(0), arb(0), arb(0)
        mass, mass0, mass1 = _beyond(noise, place(FLINT, {W.name: w}))
        return -mass, -mass0, -mass1

    m, r0, r1 = (Holomorphic(f, W) for f in (density, _ONE, ratio))
    return Piece(number(sp.Integer(0)), start, m, r0, r1, beyond)


def _beyond(noise: AdditiveNoise, y: arb) -> tuple[arb, arb, arb]:
    """Return the masses (A2, A0, A1) of the messages beyond y >= 1/2, where A2 is A0 = R(0) and A1 is R(1)."""
    far, close = noise.survival(y), y - 1
    return far, far, noise.survival(close) if not close < 0 else 1 - noise.survival(-close)


def _mass(noise: AdditiveNoise, side: Side) -> Number:
    ends = [number(e) for e in (side.start, side.end) if e != sp.oo]
    return lambda: noise.survival(ends[0]()) - (noise.survival(ends[1]()) if ends[1:] else arb(0))


# -------- The distribution of the ratio of noise as a formula, where SymPy inverts the ratio and integrates the density

V = sp.Symbol("v", positive=True)
_SHARES = tuple(sp.Rational(k, 7) for k in (1, 3, 6))

Values = Mapping[sp.Symbol, sp.Expr]
Survival = Callable[[arb], arb]


def ratio_distribution(sides: Sequence[Side], tried: Sequence[tuple[Values, Survival]]) -> sp.Expr:
    """Return the blanket's mass of messages right of 1/2 with a ratio of at most v, as cases in ``V``; 1 <= v.

    The ratio has to grow away from 1/2, up to a constant. ``tried`` lists values of the parameters with the tail of the
    noise there: each case is compared with it at points. Raises UndecidedOrderError for what SymPy does not solve, or
    solves wrongly.
    """
    positive = {s: sp.Symbol(s.name, positive=True) for values, _ in tried for s in values}
    back = {p: s for s, p in positive.items()}
    cases, below = list[tuple[sp.Expr, object]](), sp.S.Zero
    for side in joined(sides):
        start, end, density, ratio = (e.xreplace(positive) for e in (side.start, side.end, side.density0, side.ratio))
        if Y not in ratio.free_symbols:
            below += sp.integrate(density, (Y, start, end))
            continue
        found = next((f for f in _solved(start, density, ratio) if _is_right(f, side, back, tried)), None)
        if found is None:
            unsolved = Problem(f"SymPy does not invert {side.ratio} or integrate the density")
            raise UndecidedOrderError("ratio", unsolved, "epsilon and delta need no formula of it")
        last = sp.simplify(sp.limit(ratio, Y, end))
        cases.append((sp.simplify(below + found), last > V))
        below += sp.S.Zero if last is sp.oo else found.subs(V, last)
    return sp.Piecewise(*cases, (sp.simplify(below), True)).xreplace(back)


def _solved(start: sp.Expr, density: sp.Expr, ratio: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the mass from the start up to each message at which SymPy finds the ratio to be v."""
    with suppress(NotImplementedError):  # how SymPy says that it finds nothing
        for place in sp.solve(ratio - V, Y):
            yield sp.integrate(density, (Y, start, place))


def _is_right(formula: sp.Expr, side: Side, back: Values, tried: Sequence[tuple[Values, Survival]]) -> bool:
    """Return whether a formula in v is the mass that the tail gives, at some messages of the side."""
    for values, survival in tried:
        start, end, ratio = (e.xreplace(dict(values)) for e in (side.start, side.end, side.ratio))
        for share in _SHARES:
            y = start + (share if end is sp.oo else share * (end - start))
            value = formula.xreplace(dict(back)).xreplace(dict(values)).subs(V, ratio.subs(Y, y))
            ends = survival(number(start)()), survival(number(y)())
            if not _is(value, ends[0] - ends[1]):
                return False
    return True


def _is(value: sp.Expr, mass: arb) -> bool:
    """Return whether narrow balls around a constant and a mass overlap; no if balls do not know a function of it."""
    with suppress(ExpressionError):
        return same(number(value)(), mass)
    return False


# ----------------------------- Pictures of a law with a density: the distribution of G, and the curve of the two ratios


def plot_ratios(law: SmoothLaw, ax: Axes | None = None) -> Axes:
    """Draw the curve (r0, r1) that the messages run through, and its atoms as points; return the matplotlib Axes."""
    ax = axes_for(ax)
    with at_precision(_DRAWN_BITS):
        for piece in law.pieces:
            start, end = piece.start(), piece.end()
            places = [acb(start + (end - start) * k / _DRAWN_POINTS) for k in range(_DRAWN_POINTS + 1)]
            curve = [(float(piece.ratio0(y).real), float(piece.ratio1(y).real)) for y in places]
            ax.plot(*zip(*curve, strict=True), color="tab:blue")
        atoms = [(float(a.ratio0()), float(a.ratio1()), float(a.mass())) for a in law.atoms]
    if atoms:
        r0, r1, mass = zip(*atoms, strict=True)
        ax.scatter(r0, r1, s=20.0 + 400.0 * np.array(mass), color="tab:red", label="atoms, by mass")
        ax.legend()
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("r0 = R(0)/m")
    ax.set_ylabel("r1 = R(1)/m")
    return ax


def plot_distribution(law: SmoothLaw, level: Level, ax: Axes | None = None) -> Axes:
    """Draw the distribution function of G at a level, null symbol included; return the matplotlib Axes."""
    ax = axes_for(ax)
    below = finite_law(law, False, _DRAWN_CELLS)
    with at_precision(_DRAWN_BITS):
        e = level.exponential()
        steps = [(float(a.ratio0() - e * a.ratio1()), float(a.mass())) for a in below.atoms]
        steps.append((0.0, float(law.null().max(arb(0)))))
    steps.sort()
    g, mass = (np.array(column) for column in zip(*steps, strict=True))
    ax.step(g, np.cumsum(mass), where="post")
    ax.set_xlabel("G = r0 - e^eps r1")
    ax.set_ylabel("P(G <= g)")
    return ax


# ------------- Inputs in [0, 1] with symmetric unimodal noise: the law of the worst pair, and of the data sets below it


class AdditiveNoise(Parametrised, SubjectBase, ShownInLatex):
    """Send x + Z for an input x in [0, 1], where Z has a density that is even and does not increase away from 0.

    A family gives ``half_density`` and ``survival``; the law of the ratios is derived. For every number of users and
    every level (0, 1) is the worst pair of inputs (docs/proofs/worst_pair.md).
    """

    _internal_names = (
        "blanket_laws cut cuts_tail exact_law general half_density held_inputs largest_kept_ratio laws pairs "
        "ratio_at_cut sides spread survival tail upper_law"
    )

    name: str
    source: ClassVar[str]

    held_inputs: ClassVar[tuple[str, ...]] = ("0", "1")
    """Inputs that other users hold in the data sets that are tried."""

    @abstractmethod
    def half_density(self) -> sp.Expr | None:
        """Return the density for z > 0 as an analytic formula in ``Z``, None where messages are integers."""

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
    def noise(self) -> Self:
        return self

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023): e^eps0, P(abs(Z) < 1/2) and e^eps0."""
        return VariationRatio(self.local_ratio(), 1 - self.gamma(), self.local_ratio())

    def general(self) -> tuple[Self, dict[sp.Symbol, sp.Expr]]:
        """Return the noise with all parameters free, and their values here, if its sides are known so; (self, {})."""
        fixed = {p.symbol: self.values[p.name] for p in self.declared if not self.values[p.name].free_symbols}
        if len(fixed) < len(self.declared) or not fixed:
            return self, {}
        with suppress(SymampError):
            general = type(self)()
            _ = [side.put(fixed) for side in general.sides()]
            return general, fixed
        return self, {}

    def sides(self) -> tuple[Side, ...]:
        """Return the messages right of 1/2, cut where a formula changes, for the inputs 0 and 1."""
        return _sides(self)

    def worst_pair(self) -> WorstPair:
        """Return the pair of inputs with the largest blanket divergence at every level, and how that is known.

        >>> import symamp as sa
        >>> sa.Laplace(eps0=1).worst_pair().pair
        ('0', '1')
        """
        return WorstPair(("0", "1"), True, "Corollary 2 of Theorem P (docs/proofs/worst_pair.md)")

    def plot_ratios(self, ax: Axes | None = None) -> Axes:
        """Draw the curve of (R(0)/m, R(1)/m) over all messages, m the blanket; return the matplotlib Axes."""
        return plot_ratios(self.blanket_laws(Level.of_float(0.0), _TYPICAL_USERS)[0], ax)

    def plot_distribution(self, eps: object, ax: Axes | None = None) -> Axes:
        """Draw the distribution function of G = r0 - e^eps r1 under the blanket; return the matplotlib Axes.

        Raises ArgumentError for a level that is no number.
        """
        level = level_of(exact_number(eps, "eps"))
        return plot_distribution(self.blanket_laws(level, _TYPICAL_USERS)[0], level, ax)

    def ratio_distribution(self) -> sp.Expr:
        """Return the mass H(v) of the messages right of 1/2 with r1 <= v under the blanket, as a formula in v >= 1.

        The distribution function of G = r0 - e^eps r1 follows, as the other half is the mirror image:
        P(G <= g) = gamma/2 - H((1 - g) e^-eps) + H(g + e^eps) + (1 - gamma) [g >= 0], the first H from below at jumps,
        and H(v) = 0 for v < 1. Raises UndecidedOrderError where SymPy does not invert the ratio, or is wrong: each case
        is compared with ``survival`` at points.

        >>> import symamp as sa
        >>> sa.Laplace().ratio_distribution()
        Piecewise(((sqrt(v) - 1)*exp(-eps0/2)/(2*sqrt(v)), v < exp(eps0)), (exp(-eps0/2)/2, True))
        """
        points = admissible_points(self.parameters, 2) if self.parameters else [{}]
        members = [self.at(**point) if point else self for point in points]
        values = [{p.symbol: rational_of(point[p.name]) for p in self.parameters} for point in points]
        with at_precision(CAREFUL_BITS):
            tried = [(v, m.survival) for v, m in zip(values, members, strict=True)]
            return ratio_distribution(self.sides(), tried)

    def _repr_latex_(self) -> str:
        """Return the table of pieces right of 1/2: messages, density of the blanket, and the ratio there; r0 is 1."""
        rows = [
            rf"\left({latex(s.start)},\,{latex(s.end)}\right) & {latex(s.density0)} & 1 & {latex(s.ratio)} \\"
            for s in joined(self.sides())
        ]
        head = r"y & m(y) & r_0 & r_1 \\ \hline"
        return rf"$\displaystyle \begin{{array}}{{cccc}} {head} {' '.join(rows)} \end{{array}}$"

    def tail(self) -> tuple[sp.Expr, sp.Expr] | None:
        """Return (y, w0): messages beyond 1 as a formula y(w), 0 < w < w0, in which densities are analytic.

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
        return None if self.local_ratio() is sp.oo or self.cuts_tail else blanket_law(self)

    def upper_law(self) -> SmoothLaw:
        """Return a law above that of the pair (0, 1) for all levels and numbers of users: its own, or one far cut.

        Guarantee
        ---------
        At every level and number of users its divergence is at least that of the blanket of (0, 1). A cut adds less
        than 1e-19 to it. Proof: docs/proofs/smooth_laws.md.
        """
        return self.exact_law() or cut_laws(self, far_ratio(self))[1]

    def largest_kept_ratio(self) -> float:
        """Return about the largest ratio of ``upper_law``."""
        ratio = self.local_ratio()
        return far_ratio(self) if ratio is sp.oo else float(number(ratio)())

    def blanket_laws(self, level: Level, n: int) -> Laws:
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
            return cut_laws(self, 1.0)
        return cut_laws(self, self.ratio_at_cut(level, n))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the one pair that is worse than all others."""
        return (("0", "1"),)

    def laws(self, pair: tuple[str, str], level: Level, n: int, other: str | None = None) -> Laws:
        """Return what ``blanket_laws`` does; where all others hold an end, one law twice, for bounds from below."""
        lower, upper = self.blanket_laws(level, n)
        return (lower, upper) if other is None else (_among(lower, other), _among(lower, other))

    def ratio_at_cut(self, level: Level, n: int) -> float:
        """Return the ratio from which on one message decides alone at this level and number of users."""
        e = min(1.0 + level.rough_minus_one(), _LARGEST_E)  # any cut will do
        # The others' ratios r1 count E times.
        return _rounded(n * (e - 1.0) + _DEVIATIONS * (sqrt(n * self.spread() * (1.0 + e * e) / 2.0) + 1.0))


@lru_cache(maxsize=64)
def _sides(noise: AdditiveNoise) -> tuple[Side, ...]:
    general, fixed = noise.general()
    half = general.half_density()
    assert half is not None
    return tuple(side.put(fixed) if fixed else side for side in sides_of(half))


@lru_cache(maxsize=64)
def _among(law: SmoothLaw, other: str) -> SmoothLaw:
    """Return the triple with R(0), or R(1), in place of A2."""
    return law.among_first() if other == "0" else law.swapped().among_first().swapped()


def _rounded(x: float) -> float:
    """Return a power of 2^(1/8) that is at least x: neighbouring levels share a law."""
    return float(2.0 ** (ceil(8.0 * log2(x)) / 8.0))
