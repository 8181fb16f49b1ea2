"""A mechanism with a given density on a few inputs: cells, the least density, a finite law and a table above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise, permutations
from math import inf, nextafter
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import sympy as sp
from flint import acb, arb

from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.printing import ShownInLatex, latex, text
from symamp.decompositions.randomizer import known_label
from symamp.decompositions.to_law import level_of, number
from symamp.decompositions.worst_pair import WorstPair
from symamp.errors import (
    ArgumentError,
    ExpressionError,
    NegativeProbabilityError,
    PrecisionError,
    Problem,
    RowSumError,
    SupportMismatchError,
    SymampError,
    UndecidedOrderError,
    VerificationError,
)
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero, sign
from symamp.formulas.parameter import Parameter
from symamp.laws.density import Laws, Piece, SmoothLaw, spread
from symamp.laws.law import Atom, Level, Number, total
from symamp.numbers.rationals import lower_hull
from symamp.numbers.reading import exact_number
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision
from symamp.numbers.systems import Holomorphic
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import SubjectBase
from symamp.randomizers.noise.additive_noise import Y, plot_distribution, plot_ratios
from symamp.randomizers.noise.density import (
    far_out,
    formula_range,
    integral,
    largest_value,
    masses_beyond,
    resolved,
    steady,
    stretches,
    values_between,
)

# --------- One finite law above those of all pairs of an interval of inputs, from balls on boxes of inputs and messages

# The largest stop-loss transform D_u(R_x || m) of one input bounds every pair: the sum of two such variables, coupled
# so that it spreads most, is above R_x/m - E R_x'/m in convex order, whatever x, x' are (docs/proofs/fallback_law.md).


# Width against time of the law that stands for densities where the ends of the inputs are not proved worst.
_MESSAGE_CELLS = 2048  # of equal length
_FINEST_INPUT_CELL = 2.0**-11  # the first one from each end of the inputs
_INPUT_CELL_GROWTH = 8.0  # cells grow by a part of their distance from the end, one over this
_RATIO_NODES = 160  # at which the law of the ratio is enclosed
_BITS = 64  # of balls around the densities
_SLACK = 1e-12  # relative: more than the roundings of doubles take


Floats = npt.NDArray[np.float64]
Atom3 = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Boxes:
    """Widths of cells of messages, a lower bound of all densities there, upper bounds by cells of inputs (rows)."""

    widths: Floats
    least: Floats
    most: Floats


def boxes(
    density: sp.Expr,
    symbols: tuple[sp.Symbol, sp.Symbol],
    inputs: tuple[sp.Expr, sp.Expr],
    messages: tuple[sp.Expr, sp.Expr],
    masses: Sequence[sp.Expr] = (),
) -> Boxes:
    """Return bounds of a density in (x, y) on boxes, and of point masses as cells of width 1.

    Raises UndecidedOrderError for a density that is not shown to be positive and finite.
    """
    x, y = symbols
    value = formula_range(density, symbols)
    points = [formula_range(m, symbols) for m in masses]
    with at_precision(_BITS):
        (a, b), (low, high) = ((number(e)() for e in ends) for ends in (inputs, messages))
        cells = [(a + (b - a) * arb(s)).union(a + (b - a) * arb(t)) for s, t in pairwise(_graded())]
        ends = [low + (high - low) * arb(k) / _MESSAGE_CELLS for k in range(_MESSAGE_CELLS + 1)]
        at = [s.union(t) for s, t in pairwise(ends)]
        found = [[value({x.name: i, y.name: j}) for j in at] + [p({x.name: i}) for p in points] for i in cells]
        width = ((high - low) / _MESSAGE_CELLS).upper()
    least = np.array([[down(v) for v in row] for row in found]).min(axis=0)
    most = np.array([[up(v) for v in row] for row in found])
    if not (least > 0.0).all() or not np.isfinite(most).all():
        unknown = Problem(f"{density} is not shown to be positive and finite for all inputs and messages")
        raise UndecidedOrderError("density", unknown, "shorten the interval of messages")
    widths = np.array([up(width)] * _MESSAGE_CELLS + [1.0] * len(points))
    return Boxes(widths, least * (1.0 - _SLACK), most)


def fallback_atoms(found: Boxes) -> tuple[Atom3, ...]:
    """Return (r0, r1, mass) of a law above those of all ordered pairs of inputs, in fractions; the rest is null.

    Guarantee
    ---------
    For every level and number of users its divergence is at least that of the blanket of every two inputs.
    Proof: docs/proofs/fallback_law.md.
    """
    return _coupled(_largest_law(found))


def _graded() -> list[float]:
    """Return the ends of cells of [0, 1]: fine at both ends, where the stop-loss is large."""
    half = [0.0]
    while half[-1] < 0.5:
        half.append(min(half[-1] + max(_FINEST_INPUT_CELL, half[-1] / _INPUT_CELL_GROWTH), 0.5))
    return [*half, *(1.0 - h for h in reversed(half[:-1]))]


def _largest_law(found: Boxes) -> list[tuple[Fraction, Fraction]]:
    """Return (value, mass) of a variable under the blanket whose stop-loss transform bounds that of every input."""
    gamma = float((found.widths * found.least).sum()) * (1.0 - _SLACK)
    top = float((found.most / found.least).max()) * (1.0 + 4.0 * _SLACK)
    u = np.unique(1.0 + (top - 1.0) * np.linspace(0.0, 1.0, _RATIO_NODES + 1))
    points = [(Fraction(0), Fraction(1)), (Fraction(1), 1 - Fraction(gamma))]
    for place in u[1:-1]:
        # Sums of doubles: the slack covers their roundings, and the blanket that is a little smaller than its bound.
        terms = found.widths * np.maximum(found.most - place * found.least, 0.0)
        size = float((found.widths * (found.most + place * found.least)).sum(axis=1).max())
        points.append((Fraction(float(place)), Fraction(float(terms.sum(axis=1).max()) + 4.0 * _SLACK * size)))
    points.append((Fraction(float(u[-1])), Fraction(0)))
    hull = lower_hull(points)
    slopes = [(q[1] - p[1]) / (q[0] - p[0]) for p, q in pairwise(hull)] + [Fraction(0)]
    return [(hull[k + 1][0], slopes[k + 1] - slopes[k]) for k in range(len(hull) - 1)]


def _coupled(law: list[tuple[Fraction, Fraction]]) -> tuple[Atom3, ...]:
    """Return the law with itself, the largest values of one beside the smallest of the other."""
    up, down = [list(a) for a in law], [list(a) for a in reversed(law)]
    found, i, j = list[Atom3](), 0, 0
    while i < len(up) and j < len(down):
        mass = min(up[i][1], down[j][1])
        if mass > 0:
            found.append((up[i][0], down[j][0], mass))
        up[i][1] -= mass
        down[j][1] -= mass
        i, j = i + (up[i][1] == 0), j + (down[j][1] == 0)
    return tuple(found)


def up(x: arb) -> float:
    """Return a double above the ball, a little larger than the least one and found in a fifth of the time."""
    return nextafter(float(x.upper()), inf) if x.is_finite() else inf


def down(x: arb) -> float:
    """Return a double below it, likewise."""
    return nextafter(float(x.lower()), -inf) if x.is_finite() else -inf


_COMPARING_BITS = 128  # at which densities are compared on cells of messages
_MOST_HALVINGS = 28  # of an interval of messages until the least density is known
_MOST_LEAST_CELLS = 4_000  # of one interval
_LARGEST_MASS_RADIUS = 2.0**-100  # of the total mass of an input
_THIN = sp.Rational(1, 10**6)  # share of an interval below which a cell is left out of printed formulas
_TABLE_CELLS = 64  # of the table that dominates densities: width against time
_TABLE_ENTRY_BITS = 120  # to which its entries are rounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# --------- Which of several densities is least, on cells of messages: what a blanket of finitely many inputs is made of

SLACK = sp.Rational(2**50 - 1, 2**50)
"""The least density is only needed up to this factor, which costs 1e-15 of the blanket: equal ones need no proof."""


class Cell(NamedTuple):
    """Messages on which ``factor`` times the density with this index is at most every density, and positive."""

    start: sp.Expr
    end: sp.Expr
    least: int
    factor: sp.Expr


def least_cells(densities: Sequence[Holomorphic], start: sp.Expr, end: sp.Expr) -> list[Cell]:
    """Return cells that cover the messages between two numbers.

    Cells are halved until balls decide; in what is left around a crossing the factor is smaller than ``SLACK``.

    Guarantee
    ---------
    On every cell 0 < factor f_least(y) <= f(y) for each of the densities. Proof: docs/proofs/smooth_laws.md.

    Raises UndecidedOrderError for a density that is not shown to be positive, or for too many crossings.
    """
    found: list[Cell] = []
    width = end - start
    with at_precision(_COMPARING_BITS):
        first, wide = number(start)(), number(width)()
        open_ = [(sp.S.Zero, sp.S.One, 0)]
        while open_:
            a, b, depth = open_.pop()
            low, high = (first + wide * arb(int(s.p)) / int(s.q) for s in (a, b))
            decided = _decided(densities, low, high, depth == _MOST_HALVINGS)
            if decided is None:
                if depth == _MOST_HALVINGS or len(found) + len(open_) > _MOST_LEAST_CELLS:
                    formulas = " | ".join(str(f.formula) for f in densities)
                    unknown = Problem(f"{formulas} are not shown to be positive, or intersect too often")
                    raise UndecidedOrderError("density", unknown, "shorten the interval of messages")
                middle = (a + b) / 2
                open_ += [(middle, b, depth + 1), (a, middle, depth + 1)]
                continue
            cell = Cell(start + width * a, start + width * b, *decided)
            if found and found[-1][2:] == cell[2:]:
                found[-1] = Cell(found[-1].start, cell.end, *decided)
            else:
                found.append(cell)
    return found


def _decided(densities: Sequence[Holomorphic], a: arb, b: arb, last: bool) -> tuple[int, sp.Expr] | None:
    ranges = [values_between(f, a, b) for f in densities]
    middle = acb((a + b) / 2)
    least = min(range(len(densities)), key=lambda k: float(densities[k](middle).real.mid()))
    if not ranges[least] > 0:
        return None
    others = [k for k in range(len(densities)) if densities[k].formula != densities[least].formula]
    for factor in (sp.S.One, SLACK):
        times = arb(int(factor.p)) / int(factor.q)
        if all(values_between(densities[k], a, b, densities[least], times) >= 0 for k in others):
            return least, factor
    if not last or not all(ranges[k] > 0 for k in others):
        return None
    share = min(float((ranges[k] / ranges[least]).lower()) for k in others)
    return least, sp.Rational(min(share, float(SLACK)))


# ---------------- Stretches of messages with a density for each input, cut into cells on which one density is the least

_ZERO, _ONE = sp.S.Zero, sp.S.One


@dataclass(frozen=True)
class MessageRange:
    """An interval of messages, and the density there of each input: one analytic formula each, positive or 0."""

    start: sp.Expr
    end: sp.Expr
    densities: tuple[sp.Expr, ...]

    @property
    def is_tail(self) -> bool:
        """Whether an end is infinite."""
        return bool(self.start.is_infinite or self.end.is_infinite)

    def ratio(self, i: int, j: int) -> sp.Expr:
        """Return the ratio of two densities in normal form."""
        return _ratio(self.densities[i], self.densities[j])


class Shown(NamedTuple):
    """Messages between two numbers: the density of the blanket, and the ratios of R(x0) and R(x1) to it."""

    start: sp.Expr
    end: sp.Expr
    blanket: sp.Expr
    ratio0: sp.Expr
    ratio1: sp.Expr


@lru_cache(maxsize=4096)
def _ratio(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return _ONE if a == b else _simplified(a / b)


def _simplified(formula: sp.Expr) -> sp.Expr:
    """Return the normal form, constant factors by themselves, or the formula where roots in it are too many."""
    constant, moving = formula.as_independent(Y, as_Add=False)
    with suppress(ExpressionError):
        return normal(constant) * normal(moving)
    return formula


def law_of_cells(
    parts: Sequence[MessageRange], masses: Sequence[tuple[sp.Expr, ...]], pair: tuple[int, int], other: int | None
) -> SmoothLaw:
    """Return the triple of two inputs and the least density, or that of a third input; ``masses`` are of points."""
    pieces: list[Piece] = []
    atoms: list[Atom] = []
    singular: list[tuple[Number, Number]] = []
    for part in parts:
        bases = range(len(part.densities)) if other is None else (other,)
        if any(part.densities[k] == 0 for k in bases):
            ends = [integral(part.densities[k], part.start, part.end) for k in pair]
            none = number(_ZERO)
            singular += [(ends[0], none), (none, ends[1])]
            continue
        for start, end, density, r0, r1 in cells_of(part, pair, other):
            if r0.free_symbols or r1.free_symbols:
                beyond = masses_beyond((density, part.densities[pair[0]], part.densities[pair[1]]))
                m = Holomorphic(density, Y)
                ratio0, ratio1 = (Holomorphic(steady(r, far_out(start, end)), Y) for r in (r0, r1))
                pieces.append(Piece(number(start), number(end), m, ratio0, ratio1, beyond))
            else:
                atoms.append(Atom(number(r0), number(r1), integral(density, start, end), r0 == r1))
    for found in masses:
        least = _least(found) if other is None else found[other]
        if least == 0:
            singular.append((number(found[pair[0]]), number(found[pair[1]])))
        else:
            r0, r1 = (normal(found[k] / least) for k in pair)
            atoms.append(Atom(number(r0), number(r1), number(least), r0 == r1))
    return SmoothLaw(tuple(pieces), tuple(atoms), _rest(pieces, atoms), tuple(singular))


def cells_of(part: MessageRange, pair: tuple[int, int], other: int | None) -> Iterator[Shown]:
    """Yield the formulas of the cells of a stretch on which every density is positive."""
    for start, end, base, factor in _cells(part, other):
        r0, r1 = (_simplified(part.ratio(k, base) / factor) for k in pair)
        yield Shown(start, end, part.densities[base] * factor, r0, r1)


def _cells(part: MessageRange, other: int | None) -> list[tuple[sp.Expr, sp.Expr, int, sp.Expr]]:
    if part.is_tail:
        ratios = [part.ratio(k, 0) for k in range(len(part.densities))]
        if any(r.free_symbols for r in ratios):
            wrong = Problem(f"the ratios of {part.densities} are not constant far out")
            raise UndecidedOrderError("density", wrong, "bound the messages")
        least = _least(tuple(ratios))
        return [(part.start, part.end, ratios.index(least) if other is None else other, _ONE)]
    if other is not None:
        return [(part.start, part.end, other, _ONE)]
    return list(_least_cells(part))


@lru_cache(maxsize=256)
def _least_cells(part: MessageRange) -> tuple[tuple[sp.Expr, sp.Expr, int, sp.Expr], ...]:
    far = far_out(part.start, part.end)
    steadier = [Holomorphic(steady(_simplified(d), far), Y) for d in part.densities]
    return tuple(least_cells(steadier, part.start, part.end))


def _least(values: tuple[sp.Expr, ...]) -> sp.Expr:
    best = values[0]
    for v in values[1:]:
        best = v if sign(best - v) > 0 else best
    return best


def _rest(pieces: list[Piece], atoms: list[Atom]) -> Number:
    """Return the mass of the null symbol."""
    masses = [integral(p.density.formula, p.start, p.end) for p in pieces if isinstance(p.density, Holomorphic)]

    def value() -> arb:
        return (1 - total([*(m() for m in masses), *(a.mass() for a in atoms)])).max(arb(0))

    return value


# -------- A mechanism with a density of one's own: any density with cases, on a few inputs, with point masses beside it


class Densities(SubjectBase, ShownInLatex):
    """A message from an interval, or the line, on each of finitely many inputs; made by ``DensityMechanism``.

    Cases are resolved exactly; that densities are positive and which of them is least is decided in balls, masses are
    integrals in balls. All ordered pairs of inputs are compared.
    """

    name = "a mechanism with a density of one's own"
    parameters: tuple[Parameter, ...] = ()
    is_interval = False  # whether inputs between those listed occur, too

    def __init__(
        self,
        density: sp.Expr,
        x: sp.Symbol,
        y: sp.Symbol,
        inputs: tuple[sp.Expr, ...],
        messages: tuple[sp.Expr, sp.Expr],
        masses: Mapping[sp.Expr, sp.Expr],
    ) -> None:
        self.density, self.values, self.messages = density, inputs, messages
        self.inputs = tuple(text(v) for v in inputs)
        rows = tuple(density.xreplace({y: Y}).xreplace({x: v}) for v in inputs)
        sides = (sp.Abs(Y - v) for v in inputs if density.has(sp.exp))  # where other exponentials are largest
        cuts = stretches((*rows, *sides), *messages)
        self.parts = tuple(MessageRange(s.start, s.end, tuple(resolved(r, {Y: s.inside}) for r in rows)) for s in cuts)
        self._compare(x, y, tuple(s.inside for s in cuts))
        self.masses = tuple((at, tuple(m.xreplace({x: v}) for v in inputs)) for at, m in masses.items())
        for at, found in self.masses:
            if any(sign(m) < 0 for m in found):
                raise NegativeProbabilityError("masses", f"{found} at {at}", "masses >= 0")
        self._check_totals()
        for part in self.parts:
            _check_positive(part)
        if all(sp.S.Zero in d for d in (*(p.densities for p in self.parts), *(m for _, m in self.masses))):
            disjoint = Problem(f"no message is sent by all inputs of {density}, so gamma = 0")
            raise SupportMismatchError("density", disjoint, "add a uniform part")

    def key(self) -> tuple[object, ...]:
        """Return the formulas of all inputs."""
        return (type(self).__qualname__, self.inputs, self.parts, self.masses)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Densities) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    @property
    def densities(self) -> Self:
        return self

    @property
    def held_inputs(self) -> tuple[str, ...]:
        """Inputs that other users hold in the data sets that are tried."""
        return self.inputs

    def fallback(self) -> tuple[Atom3, ...]:
        """Return (r0, r1, mass) of a law above those of all pairs of an interval; none where all inputs are listed."""
        return ()

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return all ordered pairs of inputs."""
        return tuple(permutations(self.inputs, 2))

    def worst_pair(self) -> WorstPair:
        """Return one pair, not proved to be the worst: bounds are the largest over all pairs."""
        return WorstPair(self.pairs()[0], False, "no theorem applies: bounds are the largest over all pairs of inputs")

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, or a rational number above it by less than 1e-9 of it; ``oo`` if there is none."""
        return self._largest

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023): e^eps0 = t, (t - 1)/(t + 1), which no total variation exceeds, and t."""
        t = self.local_ratio()
        return VariationRatio(t, sp.S.One if t is sp.oo else normal((t - 1) / (t + 1)), t)

    @cached_property
    def _largest(self) -> sp.Expr:
        found: list[tuple[sp.Expr, sp.Expr, sp.Expr]] = []
        for part in self.parts:
            shown = [k for k, d in enumerate(part.densities) if d != 0]
            if len(shown) not in (0, len(self.inputs)):
                return sp.oo
            found += [(part.ratio(i, j), part.start, part.end) for i, j in permutations(shown, 2)]
        for at, masses in self.masses:
            if sp.S.Zero in masses and any(masses):
                return sp.oo
            found += [(normal(a / b), at, at) for a, b in permutations(masses, 2) if b != 0]
        return largest_value(found)

    def gamma(self) -> tuple[float, float]:
        """Return doubles around the mass of the blanket."""
        law = self.law(self.pairs()[0])
        with at_precision(CAREFUL_BITS):
            found = 1 - law.null()
            return float(found.lower()), float(found.upper())

    def pieces(self, pair: tuple[object, object]) -> tuple[Shown, ...]:
        """Return the blanket of a pair as formulas, without point masses; cells around crossings are left out.

        >>> import symamp as sa
        >>> x, y = sp.symbols("x y", real=True)
        >>> noise = sa.DensityMechanism(sp.exp(-sp.Abs(y - x)) / 2, inputs=[0, 1])
        >>> noise.pieces(("0", "1"))[-1]
        Shown(start=1, end=oo, blanket=exp(-y)/2, ratio0=1, ratio1=E)
        """
        places = self._place(pair[0]), self._place(pair[1])
        whole = (p for p in self.parts if sp.S.Zero not in p.densities)
        found = [(p, s) for p in whole for s in cells_of(p, places, None)]
        wide = (s for p, s in found if p.is_tail or sign(s.end - s.start - (p.end - p.start) * _THIN) > 0)
        return tuple(s._replace(blanket=_simplified(s.blanket)) for s in wide)

    def plot_ratios(self, pair: tuple[object, object], ax: Axes | None = None) -> Axes:
        """Draw the curve of (R(x0)/m, R(x1)/m) over all messages, m the blanket; return the matplotlib Axes."""
        return plot_ratios(self.law(pair), ax)

    def plot_distribution(self, eps: object, pair: tuple[object, object], ax: Axes | None = None) -> Axes:
        """Draw the distribution function of G = r0 - e^eps r1 under the blanket; return the matplotlib Axes."""
        return plot_distribution(self.law(pair), level_of(exact_number(eps, "eps")), ax)

    def _place(self, label: object) -> int:
        return self.inputs.index(known_label("input", label, self.inputs))

    def law(self, pair: tuple[object, object], other: object = None) -> SmoothLaw:
        """Return the triple (R(x0), R(x1), blanket), or with R(other) in place of the blanket.

        Guarantee
        ---------
        The divergence of the first one is at least that of the pair, whatever other users hold; the second one is that
        of a data set. Proof: docs/proofs/smooth_laws.md.

        Raises UnknownInputError for inputs that the mechanism does not have.
        """
        return _law(self, (self._place(pair[0]), self._place(pair[1])), None if other is None else self._place(other))

    def laws(self, pair: tuple[str, str], level: Level, n: int, other: str | None = None) -> Laws:
        """Return one law twice, whatever the level."""
        law = self.law(pair, other)
        return law, law

    def _compare(self, x: sp.Symbol, y: sp.Symbol, inside: tuple[sp.Expr, ...]) -> None:
        """Raise VerificationError unless what was resolved agrees in balls with the formula as it was written."""
        with at_precision(CAREFUL_BITS):
            for part, place in zip(self.parts, inside, strict=True):
                for value, found in zip(self.values, part.densities, strict=True):
                    written = number(self.density.xreplace({x: value, y: place}))()  # its cases as SymPy decides them
                    if not written.overlaps(number(found.xreplace({Y: place}))()):
                        wrong = Problem(f"{self.density} is not {found}, which was derived, on input {value}")
                        raise VerificationError("density", wrong, "please report this")

    def _check_totals(self) -> None:
        """Raise RowSumError unless the masses of each input are enclosed by a narrow ball around 1."""
        with at_precision(CAREFUL_BITS):
            for k, label in enumerate(self.inputs):
                terms = [integral(p.densities[k], p.start, p.end)() for p in self.parts]
                mass = total([*terms, *(number(m[k])() for _, m in self.masses)])
                if not mass.overlaps(arb(1)):
                    wrong = Problem(f"the total mass is {mass.str(12)} on input {label}")
                    raise RowSumError("density", wrong, "make it 1")
                if not mass.rad() < _LARGEST_MASS_RADIUS:
                    wide = Problem(f"the total mass is only known to be {mass.str(12)} on input {label}")
                    raise UndecidedOrderError("density", wide, "write the density in simpler pieces")

    def _repr_latex_(self) -> str:
        """Return the table of intervals of messages with the density on each input, and the point masses."""
        head = "y & " + " & ".join(rf"x = {latex(v)}" for v in self.values)
        rows = [(rf"\left({latex(p.start)},\,{latex(p.end)}\right)", p.densities) for p in self.parts]
        rows += [(latex(at), masses) for at, masses in self.masses]
        body = " ".join(rf"{place} & {' & '.join(latex(f) for f in found)} \\" for place, found in rows)
        return (
            rf"$\displaystyle \begin{{array}}{{{'c' * (len(self.values) + 1)}}} {head} \\ \hline {body} \end{{array}}$"
        )

    def __repr__(self) -> str:
        beside = f", point masses at {', '.join(text(at) for at, _ in self.masses)}" if self.masses else ""
        return f"DensityMechanism({self.density}, inputs=[{', '.join(self.inputs)}]{beside})"


def _check_positive(part: MessageRange) -> None:
    """Raise UndecidedOrderError unless every density is 0 or shown to be positive inside the interval."""
    shown = [d for d in dict.fromkeys(part.densities) if d != 0]
    if not part.is_tail:
        for d in shown:
            least_cells([Holomorphic(d, Y)], part.start, part.end)
        return
    u = Parameter("u", lower=sp.S.Zero)
    for d in shown:
        for outward, end in ((u.symbol, part.end), (-u.symbol, part.start)):
            start = part.start if end is part.end else part.end
            if (
                end.is_infinite
                and sign(d.xreplace({Y: (sp.S.Zero if start.is_infinite else start) + outward}), [u]) < 0
            ):
                raise NegativeProbabilityError("density", str(d), "a density >= 0")


@lru_cache(maxsize=256)
def _law(mechanism: Densities, pair: tuple[int, int], other: int | None) -> SmoothLaw:
    return law_of_cells(mechanism.parts, [found for _, found in mechanism.masses], pair, other)


def check_inputs(values: tuple[sp.Expr, ...], most: int) -> None:
    """Raise ArgumentError unless there are 2 to ``most`` different inputs."""
    distinct = all(sign(a - b) != 0 for i, a in enumerate(values) for b in values[:i])
    if not 2 <= len(values) <= most or not distinct:
        raise ArgumentError("inputs", values, f"2 to {most} different numbers, or an interval (a, b)")


# --- A finite table of which a mechanism with densities is a post-processing: what bounds over all data sets can use

ROUNDED = sp.Rational(1, 2**90)
"""Total variation, at most, between a row of the table and the one that it is rounded from."""

Column = list[arb]


@lru_cache(maxsize=32)
def dominating_table(mechanism: Densities) -> FiniteMechanism:
    """Return a table of rational numbers over the inputs of the mechanism.

    Guarantee
    ---------
    There is a table whose rows differ from these by at most ``ROUNDED`` in total variation, and a random map of its
    messages that turns it into the mechanism, on all inputs at once. Proof: docs/proofs/dominating_table.md.

    Raises PrecisionError if balls are too wide.
    """
    with at_precision(CAREFUL_BITS):
        inner = sum(1 for p in mechanism.parts if not p.is_tail)
        columns = [c for p in mechanism.parts for c in _columns(p, max(4, _TABLE_CELLS // max(inner, 1)))]
        columns += [[number(m)() for m in masses] for _, masses in mechanism.masses]
        rows = [_row([c[k] for c in columns]) for k in range(len(mechanism.inputs))]
    names = [f"y{j}" for j in range(len(columns))]
    table = {x: dict(zip(names, row, strict=True)) for x, row in zip(mechanism.inputs, rows, strict=True)}
    return FiniteMechanism(table, name=f"a table above {mechanism!r}")


def _columns(part: MessageRange, cells: int) -> Iterator[Column]:
    size = len(part.densities)
    ratios = [part.ratio(k, 0) for k in range(size)]
    varying = [k for k in range(size) if ratios[k].free_symbols]
    if part.is_tail or not varying:
        yield [integral(d, part.start, part.end)() for d in part.densities]
        return
    nodes = [part.start + (part.end - part.start) * sp.Rational(k, cells) for k in range(cells + 1)]
    masses = [[integral(d, a, b)() for d in part.densities] for a, b in pairwise(nodes)]
    lead = varying[0] if _is_straight(ratios, varying[0], part) else -1
    of_cells, places = [[mass[0], *mass] for mass in masses], [number(e)() for e in nodes]
    far = far_out(part.start, part.end)
    steadier = [Holomorphic(steady(r, far), Y) for r in ratios]
    for found, mass in spread(steadier, places, of_cells, varying, lead):
        yield [mass * r for r in found]


def _is_straight(ratios: Sequence[sp.Expr], lead: int, part: MessageRange) -> bool:
    """Return whether all ratios are proved to be affine functions of one of them."""
    ends = [{Y: part.start}, {Y: part.end}]
    low, high = (ratios[lead].xreplace(e) for e in ends)
    for ratio in ratios:
        first, last = (ratio.xreplace(e) for e in ends)
        with suppress(SymampError):
            if is_zero((ratio - first) * (high - low) - (last - first) * (ratios[lead] - low)):
                continue
        return False
    return True


def _row(entries: Column) -> list[sp.Rational]:
    """Return rational numbers >= 0 with the sum 1 next to some balls."""
    if not all(v.is_finite() for v in entries):
        raise PrecisionError("density", Problem("a ratio is not finite on a cell"), "bound the messages")
    scale = 2**_TABLE_ENTRY_BITS
    found = [sp.Rational(max(int((arb(v.mid()) * scale + 0.5).floor().unique_fmpz()), 0), scale) for v in entries]
    missing = 1 - sum(found)
    error = sum((v.rad() for v in entries), arb(0)) + arb(len(found) + 1) / scale
    error += abs(arb(int(missing.p)) / int(missing.q))
    if not error < arb(1) / int(ROUNDED.q):
        raise PrecisionError("density", Problem("masses have less than thirty digits"), "write it in simpler pieces")
    largest = max(range(len(found)), key=found.__getitem__)
    found[largest] += missing
    return found
