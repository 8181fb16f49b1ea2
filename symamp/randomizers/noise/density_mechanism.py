"""A given density as a mechanism: noise if a theorem names the worst pair, else every pair is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, cmp_to_key, partial
from itertools import combinations, pairwise
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import sympy as sp
from flint import arb

from symamp.decompositions.to_law import number
from symamp.decompositions.worst_pair import WorstPair
from symamp.errors import ArgumentError, Problem, SymampError, UndecidedOrderError, checked_call
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero, sign
from symamp.laws.density import SmoothLaw
from symamp.numbers.reading import exact_number
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import Holomorphic
from symamp.randomizers.noise.additive_noise import Y, Z
from symamp.randomizers.noise.densities import Atom3, Boxes, Densities, boxes, check_inputs, down, fallback_atoms, up
from symamp.randomizers.noise.density import (
    NoiseDensity,
    changes,
    formula_range,
    in_exponentials,
    interval_of,
    resolved,
    steady,
    values_between,
)

_BITS = 128  # of all balls here
_MOST_BOXES = 3_000  # in which a sign is looked for
_LARGEST_DEGREE = 12  # of a polynomial whose sign is looked for
_MOST_HALVINGS = 12  # of the interval of messages
_DERIVATIVES = 4  # that are tried one after the other
_CELLS = (64, 256)  # of messages on which masses are enclosed: more where fewer show nothing
_LEVELS = 64  # at which losses are compared
_END_SHARE = sp.Rational(1, 2**10)  # of the interval of inputs that counts as near an end
_PLACES = 64  # of messages, among which one is chosen
_SLACK = 1e-12  # relative: more than rounding takes
_TINY = 1e-300  # keeps quotients finite

# ------------------- A density in the plane of inputs and messages, cut by lines into strips that have one formula each

X = sp.Symbol("x", real=True)


@dataclass(frozen=True)
class Strip:
    """Inputs between two numbers and messages between two lines in X, on which each formula is analytic."""

    left: sp.Expr
    right: sp.Expr
    bottom: sp.Expr
    top: sp.Expr
    formulas: tuple[sp.Expr, ...]


def strips(
    formulas: Sequence[sp.Expr], inputs: tuple[sp.Expr, sp.Expr], messages: tuple[sp.Expr, sp.Expr]
) -> list[list[Strip]]:
    """Return columns, intervals of inputs, of strips in the order of messages; the middles of both are cuts.

    Formulas are in X and Y. Raises ArgumentError unless cases change on lines that are not parallel to the axis of
    messages, and UndecidedOrderError for lines whose order is not proved.

    >>> whole = sp.S.Zero, sp.S.One
    >>> [(s.right, s.bottom, s.top, s.formulas) for s in strips([sp.Abs(Y - X)], whole, whole)[0][:2]]
    [(1/2, 0, x, (x - y,)), (1/2, x, 1/2, (-x + y,))]
    """
    (a, b), (low, high) = inputs, messages
    found = [low, (low + high) / 2, high]
    for line in (line for f in formulas for e in changes(f) for line in _line(e)):
        if not any(is_zero(line - other) for other in found):
            found.append(line)
    cuts = [a, (a + b) / 2, b]
    for one, other in combinations(found, 2):
        slope = normal(sp.diff(one - other, X))
        if slope != 0:
            at = normal(-(one - other).xreplace({X: sp.S.Zero}) / slope)
            if sign(at - a) > 0 and sign(b - at) > 0 and all(sign(at - c) != 0 for c in cuts):
                cuts.append(at)
    ends = _sorted(cuts, {})
    return [list(_column(formulas, found, (low, high), left, right)) for left, right in pairwise(ends)]


def _column(
    formulas: Sequence[sp.Expr],
    lines: Sequence[sp.Expr],
    messages: tuple[sp.Expr, sp.Expr],
    left: sp.Expr,
    right: sp.Expr,
) -> Iterator[Strip]:
    at = {X: (left + right) / 2}
    low, high = messages
    inner = [c for c in lines if sign(c.xreplace(at) - low) >= 0 and sign(high - c.xreplace(at)) >= 0]
    for bottom, top in pairwise(_sorted(inner, at)):
        inside = {**at, Y: (bottom + top).xreplace(at) / 2}
        yield Strip(left, right, bottom, top, tuple(resolved(f, inside) for f in formulas))


def _sorted(values: Iterable[sp.Expr], at: dict[sp.Symbol, sp.Expr]) -> list[sp.Expr]:
    def order(v: sp.Expr, w: sp.Expr) -> int:
        return sign((v - w).xreplace(at))

    return sorted(values, key=cmp_to_key(order))


def _line(e: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the message, as a function of the input, at which a formula is 0."""
    along, across = normal(sp.diff(e, Y)), normal(sp.diff(e, X))
    if along == across == 0:
        return
    if along == 0 or along.free_symbols or across.free_symbols:
        curved = Problem(f"a case changes where {e} = 0, which is no line y = a + b x")
        raise ArgumentError("density", curved, "write cases in y, or in y - x")
    yield normal(Y - e / along)


# ----------- Signs of formulas on strips of inputs and messages: by balls on cells, and where a factor is 0 at a corner


Box = tuple[arb, ...]


def _range(formula: sp.Expr) -> Callable[[Box], arb]:
    inner = formula_range(formula, (X, Y))
    return lambda box: inner({"x": box[0], "y": box[1]})


def positive(formula: sp.Expr, s: Strip) -> bool:
    """Return whether balls show a formula to be positive on a strip; on its lower line if only X occurs."""
    center = {X: (s.left + s.right) / 2}
    far = max(s.bottom.xreplace(center), s.top.xreplace(center), key=lambda e: abs(sp.N(e)))
    value = _range(steady(formula, {**center, Y: far}))
    left, wide, bottom, top = (number(s.left)(), number(s.right - s.left)(), _range(s.bottom), _range(s.top))
    open_, tried = [(sp.S.Zero, sp.S.One, sp.S.Zero, sp.S.One)], 0
    while open_:
        p1, p2, q1, q2 = open_.pop()
        x, q, none = left + wide * _hull(p1, p2), _hull(q1, q2), arb(0)
        y = bottom((x, none)) + q * (top((x, none)) - bottom((x, none)))
        if value((x, y)) > 0:
            continue
        tried += 1
        if tried > _MOST_BOXES:
            return False
        p, r = (p1 + p2) / 2, (q1 + q2) / 2
        open_ += [(p1, p, q1, r), (p, p2, q1, r), (p1, p, r, q2), (p, p2, r, q2)]
    return True


def not_negative(formula: sp.Expr, s: Strip) -> bool:
    """Return whether a formula is shown to be >= 0 on a strip: 0, positive, or of polynomial factors with signs."""
    if formula == 0 or positive(formula, s):
        return True
    parts = sp.fraction(formula)
    if not all(p.is_polynomial(X, Y) and sp.Poly(p, X, Y).total_degree() <= _LARGEST_DEGREE for p in parts):
        return False
    powers = (f.as_base_exp() for f in sp.Mul.make_args(sp.factor(formula)))
    odd = [base if e.is_Integer else base**e for base, e in powers if not (e.is_Integer and e % 2 == 0)]
    return bool(prod(_sign_on(f, s) for f in odd) == 1)


def _sign_on(factor: sp.Expr, s: Strip) -> int:
    """Return 1 if a factor is shown to be >= 0 on a strip, -1 if <= 0, else 0: if it is affine, at the corners."""
    if not factor.is_polynomial(X, Y) or sp.Poly(factor, X, Y).total_degree() > 1:
        return next((k for k in (1, -1) if positive(k * factor, s)), 0)
    corners = [factor.xreplace({Y: y}).xreplace({X: x}) for x in (s.left, s.right) for y in (s.bottom, s.top)]
    return next((k for k in (1, -1) if all(sign(k * c) >= 0 for c in corners)), 0)


def _hull(low: sp.Expr, high: sp.Expr) -> arb:
    return number(low)().union(number(high)())


# --- Whether the ends of an interval of inputs are the worst pair: Corollary 4 of Theorem P, its conditions in balls

# What is an equality at an end of a range is decided by exact algebra, the rest on cells of inputs and messages
# (docs/proofs/worst_pair.md).

_ZERO = sp.S.Zero

Ends = tuple[sp.Expr, sp.Expr]
Floats = npt.NDArray[np.float64]


def ends_are_worst(density: sp.Expr, symbols: tuple[sp.Symbol, sp.Symbol], inputs: Ends, messages: Ends) -> bool:
    """Return whether the ends are proved to be the worst pair, for a density on an interval of inputs and of messages.

    Guarantee
    ---------
    If so, the blanket is the least of the densities of the two ends, no pair of inputs has a larger blanket divergence
    than they have, for all eps and n, and none has a larger ratio. Proof: docs/proofs/worst_pair.md.

    >>> x, y = sp.symbols("x y", real=True)
    >>> cut = sp.exp(-sp.Abs(y - x)) / (2 - sp.exp(-x) - sp.exp(x - 1))
    >>> ends_are_worst(cut, (x, y), (sp.S.Zero, sp.S.One), (sp.S.Zero, sp.S.One))
    True
    """
    written = density.xreplace(dict(zip(symbols, (X, Y), strict=True)))
    try:
        with at_precision(_BITS):
            return _Ends(written, inputs, messages).are_worst()
    except SymampError:  # not of the kind that the corollary is about, or not decided
        return False


class _Cells(NamedTuple):
    """Cells of messages: their ends and middles, the densities of both ends of inputs at their ends, and masses.

    Of the blanket there are two bounds on the masses, and one from above on those of R_a.
    """

    places: list[arb]
    at_a: list[arb]
    at_b: list[arb]
    least: Floats
    most: Floats
    of_a: Floats


class _Ends:
    """A density in X and Y, and the two intervals."""

    def __init__(self, density: sp.Expr, inputs: Ends, messages: Ends) -> None:
        (self.a, self.b), (self.low, self.high) = inputs, messages
        self.center, self.middle = (self.a + self.b) / 2, (self.low + self.high) / 2
        mirrored = density.xreplace({X: self.a + self.b - X, Y: self.low + self.high - Y})
        self.columns = strips([density, mirrored], inputs, messages)
        self._left = [c for c in self.columns if sign(self.center - c[0].right) >= 0]
        self.density = formula_range(density, (X, Y))
        cases = density.rewrite(sp.Piecewise)
        self.slope, self.rise = (formula_range(sp.diff(cases, v), (X, Y)) for v in (X, Y))

    def are_worst(self) -> bool:
        """Return whether all conditions are shown, the fast ones first."""
        return self._is_symmetric() and self._has_rising_ratios() and self._is_least_at_ends() and self._straddles()

    def _is_symmetric(self) -> bool:
        return all(is_zero(s.formulas[0] - s.formulas[1]) for column in self.columns for s in column)

    def _has_rising_ratios(self) -> bool:
        """Return whether f > 0, and d/dx log f does not fall in y: within strips, and from each to the next one."""
        if not all(positive(s.formulas[0], s) for column in self.columns for s in column):
            return False
        within = all(not_negative(c, s) for column in self.columns for s, c in self._curvatures(column))
        return within and all(not_negative(j, s) for column in self.columns for s, j in self._jumps(column))

    def _curvatures(self, column: Sequence[Strip]) -> Iterator[tuple[Strip, sp.Expr]]:
        for s in column:
            yield s, _settled(sp.diff(_score(s), Y))

    def _jumps(self, column: Sequence[Strip]) -> Iterator[tuple[Strip, sp.Expr]]:
        """Yield the jump of d/dx log f across each line; -1 where f itself jumps."""
        for below, above in pairwise(column):
            line = {Y: above.bottom}
            if not is_zero((above.formulas[0] - below.formulas[0]).xreplace(line)):
                yield above, sp.S.NegativeOne
            yield above, _settled((_score(above) - _score(below)).xreplace(line))

    def _is_least_at_ends(self) -> bool:
        """Return whether f(x, middle) >= f(a, middle) for all inputs in the left half."""
        found = self._risen(self.middle)
        return found is not None and self._covered(found, lambda x: self._is_above(x, self.middle))

    def _straddles(self) -> bool:
        """Return whether condition 4 is shown: messages on both sides of the middle whose ratios are below u."""
        upper = [[s for s in c if sign((s.bottom - self.middle).xreplace({X: s.right})) >= 0] for c in self._left]
        flat = all(c == 0 for column in upper for _, c in self._curvatures(column))
        if flat and all(j == 0 for column in upper for _, j in self._jumps(column)):
            return True  # r_x is constant beyond the middle: there are no such messages
        message = self._early()
        x = self._risen(message)
        for _ in range(_MOST_HALVINGS):
            if x is None or self._is_early((self.a, x), message):
                break
            x = (self.a + x) / 2
        if x is None:
            return False
        return any(self._covered(x, partial(self._losses_are_below, self._cells(count))) for count in _CELLS)

    def _early(self) -> sp.Expr:
        """Return a message at which, for x near a, R_x is above R_a and R_x/R_b above the largest value of R_x/R_a."""
        near = self.a + (self.b - self.a) * _END_SHARE
        x, a, b, end = (number(e)() for e in (near, self.a, self.b, self.high))
        largest = self._at(x, end) / self._at(a, end)

        def serves(message: sp.Expr) -> bool:
            y = number(message)()
            f = self._at(x, y)
            return bool(f > self._at(a, y) and f > largest * self._at(b, y))

        wide = (self.high - self.low) / _PLACES
        found = [m for m in (self.low + wide * k for k in range(1, _PLACES // 2)) if serves(m)]
        return found[len(found) // 2] if found else self.middle

    def _risen(self, message: sp.Expr) -> sp.Expr | None:
        """Return x > a up to which f(., message) is at least f(a, message), by a derivative; None if none is found."""
        x = self._left[0][0].right
        for _ in range(_MOST_HALVINGS):
            along = self._along((self.a, x), message)
            derivative = None if along is None else self._first_derivative(along.formula)
            if derivative is not None and values_between(derivative, number(self.a)(), number(x)()) >= 0:
                return x
            x = (self.a + x) / 2
        return None

    def _first_derivative(self, formula: sp.Expr) -> Holomorphic | None:
        """Return the first derivative that does not vanish at a; 0 for a constant."""
        for _ in range(_DERIVATIVES):
            formula = _settled(sp.diff(formula, X))
            if formula == 0 or not is_zero(formula.xreplace({X: self.a})):
                return Holomorphic(formula, X)
        return None

    def _along(self, x: Ends, message: sp.Expr) -> Holomorphic | None:
        """Return f(., message) on inputs of one column, None if a line crosses there."""
        [column] = [c for c in self._left if sign(x[0] - c[0].left) >= 0 and sign(c[0].right - x[1]) >= 0]
        for s in column:
            ends = [(s.bottom.xreplace({X: e}), s.top.xreplace({X: e})) for e in x]
            if all(sign(message - low) >= 0 and sign(high - message) >= 0 for low, high in ends):
                return Holomorphic(s.formulas[0].xreplace({Y: message}), X)
        return None

    def _is_above(self, x: Ends, message: sp.Expr) -> bool:
        along = self._along(x, message)
        if along is None:
            return False
        values = values_between(along, number(x[0])(), number(x[1])())
        return bool(values > self._at(number(self.a)(), number(message)()))

    def _is_early(self, x: Ends, message: sp.Expr) -> bool:
        """Return whether no message before this one has R_x/R_b below the largest value of R_x/R_a."""
        a, b, end, y = (number(e)() for e in (self.a, self.b, self.high, message))
        here, last = self._along(x, message), self._along(x, self.high)
        if here is None or last is None:
            return False
        share = self._at(b, y) / self._at(a, end)
        return bool(values_between(here, number(x[0])(), number(x[1])(), last, share) >= 0)

    def _losses_are_below(self, cells: _Cells, inputs: Ends) -> bool:
        """Return whether the integral of (u m - R_x)_+ is at most that of (u m - R_a)_+, on cells of levels u."""
        x = number(inputs[0])().union(number(inputs[1])())
        places, at_a, at_b, least, most, of_a = cells
        half = len(places) // 4
        here = [self._over(x, y) for y in places[::2]]
        # Ratios rise beyond the middle and fall before it: on a cell they lie between those at its ends.
        ratios = [f / b for f, b in zip(here[: half + 1], at_b, strict=False)]
        ratios += [f / a for f, a in zip(here[half + 1 :], at_a[half + 1 :], strict=True)]
        low, high = (
            np.array([rounded(r) for r in side])
            for rounded, side in (
                (down, ratios[1 : half + 1] + ratios[half:-1]),
                (up, ratios[:half] + ratios[half + 1 :]),
            )
        )
        start, stop = down(here[half] / at_a[half]), up(here[-1] / at_a[-1])
        if not all(np.isfinite(v).all() for v in (low, high, stop, *cells[3:])):
            return False  # on these inputs balls are too wide
        ours = [self._mass(x, places[2 * k : 2 * k + 3], self._over(x, places[2 * k + 1])) for k in range(2 * half)]
        u = np.geomspace(max(start, 1.0), max(stop, 1.0), _LEVELS + 1)[:, None]
        gained = np.maximum(u * least - of_a, 0.0)
        rate = np.where(gained > 0.0, least, 0.0).sum(axis=1)[:-1]
        lose = np.minimum(high * most - np.array([down(v) for v in ours]), (high - low) * most)
        share = np.clip((u - low) / np.maximum(high - low, _TINY), 0.0, 1.0)
        lost = (lose * share + most * np.maximum(u - high, 0.0)).sum(axis=1)
        # The first falls below its tangents nowhere, the second is below its chords.
        level, gains = u[:, 0], gained.sum(axis=1)
        more = np.append(gains - lost, gains[:-1] + rate * np.diff(level) - lost[1:])
        return bool((more > _SLACK * level[-1] * most.sum()).all())

    def _mass(self, x: arb, cell: Sequence[arb], inside: arb) -> arb:
        """Return a ball around the mass of a cell of messages: the density in its middle, and slopes in y."""
        first, _, last = cell
        wide = last - first
        return wide * inside + wide**2 / 4 * arb(0, self.rise({"x": x, "y": first.union(last)}).rad())

    def _cells(self, count: int) -> _Cells:
        """Return so many cells of messages of equal length."""
        wide = (self.high - self.low) / (2 * count)
        places = [number(self.low + wide * k)() for k in range(2 * count + 1)]
        a, b, half = number(self.a)(), number(self.b)(), count // 2
        at_a, at_b = ([self._at(x, y) for y in places] for x in (a, b))
        of_a, of_b = (
            [self._mass(x, places[k - 1 : k + 2], at[k]) for k in range(1, 2 * count, 2)]
            for x, at in ((a, at_a), (b, at_b))
        )
        least, most = (np.array([rounded(v) for v in of_b[:half] + of_a[half:]]) for rounded in (down, up))
        of_a_above = np.array([up(v) for v in of_a[:half]] + list(least[half:]))
        return _Cells(places, at_a[::2], at_b[::2], least, most, of_a_above)

    def _covered(self, start: sp.Expr, holds: Callable[[Ends], bool]) -> bool:
        """Return whether a condition holds on cells that cover the inputs from ``start`` to the center."""
        columns = [c[0] for c in self._left if sign(c[0].right - start) > 0]
        open_ = [(start if sign(start - c.left) > 0 else c.left, c.right, 0) for c in columns]
        while open_:
            x1, x2, depth = open_.pop()
            if holds((x1, x2)):
                continue
            if depth == _MOST_HALVINGS:
                return False
            between = (x1 + x2) / 2
            open_ += [(between, x2, depth + 1), (x1, between, depth + 1)]
        return True

    def _at(self, x: arb, y: arb) -> arb:
        return self.density({"x": x, "y": y})

    def _over(self, x: arb, y: arb) -> arb:
        """Return a ball around f(., y) on a ball of inputs: value at its middle, and slopes."""
        middle = arb(x.mid())
        return self._at(middle, y) + self.slope({"x": x, "y": y}) * (x - middle)


def _score(s: Strip) -> sp.Expr:
    return normal(sp.diff(s.formulas[0], X) / s.formulas[0])


def _settled(e: sp.Expr) -> sp.Expr:
    """Return a formula in normal form, 0 if it is proved to vanish."""
    found = normal(e)
    return sp.S.Zero if is_zero(found) else found


# ------- A density on an interval of inputs: the ends are proved to be the worst pair, or else one law bounds all pairs


class Truncated(NamedTuple):
    """Noise on [0, 1], truncated to the messages from -far to 1 + far: the density f(y - x)/N(x), N(0) = 1.

    ``half`` is f as a formula in ``Z`` > 0, and ``whole`` is N as a formula in ``X``.
    """

    half: sp.Expr
    whole: sp.Expr
    far: sp.Expr


def truncated(density: sp.Expr, symbols: tuple[sp.Symbol, sp.Symbol], inputs: Ends, messages: Ends) -> Truncated | None:
    """Return the noise, in units in which inputs are [0, 1], of which a density is what messages leave; None for none.

    Guarantee
    ---------
    The density is f(abs(y - x))/N(x) with its formulas, and N is the mass of f. Proof: docs/proofs/interval.md.

    >>> x, y = sp.symbols("x y", real=True)
    >>> cut = sp.exp(-sp.Abs(y - x)) / (2 - sp.exp(-x) - sp.exp(x - 1))
    >>> truncated(cut, (x, y), (sp.S.Zero, sp.S.One), (sp.S.Zero, sp.S.One)).half
    E*exp(-z)/(-1 + E)
    """
    a, wide = inputs[0], inputs[1] - inputs[0]
    window = tuple((m - a) / wide for m in messages)
    both = dict(zip(symbols, (a + wide * X, a + wide * Y), strict=True))
    try:
        columns = strips([wide * density.xreplace(both)], (sp.S.Zero, sp.S.One), (window[0], window[1]))
        above = next(s.formulas[0] for s in columns[0] if sign((s.top - X).xreplace({X: s.right / 2})) > 0)
        half, diagonal = normal(above.xreplace({X: sp.S.Zero, Y: Z})), above.xreplace({Y: X})
        whole = normal(diagonal.xreplace({X: sp.S.Zero}) / diagonal)
        same = all(
            is_zero(s.formulas[0] * whole - half.xreplace({Z: side * (Y - X)}))
            for column in columns
            for s in column
            for side, end in ((1, s.top), (-1, s.bottom))
            if sign(side * (end - X).xreplace({X: (s.left + s.right) / 2})) > 0
        )
        far = -window[0]
        rise = half.xreplace({Z: X + far}) - half.xreplace({Z: 1 + far - X})
        if same and sign(far) >= 0 and is_zero(window[1] - 1 - far) and is_zero(sp.diff(whole, X) - rise):
            return Truncated(half, whole, far)
    except SymampError:  # not of this kind, or not decided
        pass
    return None


class IntervalDensities(Densities):
    """A message from an interval on each input of an interval; made by ``DensityMechanism``.

    ``inputs`` lists the ends: the data sets of the lower bound compare them, others hold one of them or the middle. The
    upper bound holds for all pairs of inputs. Masses are checked at the ends, and at the middle.
    """

    is_interval = True

    def __init__(
        self,
        density: sp.Expr,
        x: sp.Symbol,
        y: sp.Symbol,
        inputs: tuple[sp.Expr, sp.Expr],
        messages: tuple[sp.Expr, sp.Expr],
        masses: Mapping[sp.Expr, sp.Expr],
    ) -> None:
        if any(end.is_infinite for end in messages):
            raise UndecidedOrderError("messages", messages, "a bounded interval (a, b) where inputs are an interval")
        self._held = Densities(density, x, y, (*inputs, (inputs[0] + inputs[1]) / 2), messages, masses)
        super().__init__(density, x, y, inputs, messages, masses)
        self._symbols, self._formulas = (x, y), tuple(masses.values())

    def key(self) -> tuple[object, ...]:
        return (*super().key(), self.density, self._symbols, self._formulas)

    @property
    def held_inputs(self) -> tuple[str, ...]:
        return self._held.inputs

    def law(self, pair: tuple[object, object], other: object = None) -> SmoothLaw:
        return super().law(pair) if other is None else self._held.law(pair, other)

    @cached_property
    def boxes(self) -> Boxes:
        """Bounds of the density on boxes of inputs and messages."""
        low, high = self.values
        return boxes(self.density, self._symbols, (low, high), self.messages, self._formulas)

    @cached_property
    def _has_worst_ends(self) -> bool:
        low, high = self.values
        return not self.masses and ends_are_worst(self.density, self._symbols, (low, high), self.messages)

    @cached_property
    def truncated(self) -> Truncated | None:
        """The noise of which this is what the messages leave, its ends the worst pair; None where that is not shown."""
        return truncated(self.density, self._symbols, self.values, self.messages) if self._has_worst_ends else None

    def half_density(self) -> sp.Expr | None:
        """Return the density of that noise for z > 0 as a formula in ``Z``, in units in which inputs are [0, 1]."""
        return None if self.truncated is None else self.truncated.half

    def fallback(self) -> tuple[Atom3, ...]:
        return fallback_atoms(self.boxes)

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0 where the ends are the worst pair, else a number above it: by a percent, or more if steep."""
        if self.worst_pair().proved:
            return self._largest
        return sp.Rational(float((self.boxes.most.max(axis=0) / self.boxes.least).max()) * (1.0 + 1e-12))

    def worst_pair(self) -> WorstPair:
        """Return the ends, and whether they are proved to be worst; if not, the upper bound is that of one law.

        >>> import symamp as sa
        >>> x, y = sp.symbols("x y", real=True)
        >>> cut = sp.exp(-sp.Abs(y - x)) / (2 - sp.exp(-x) - sp.exp(x - 1))
        >>> sa.DensityMechanism(cut, inputs=(0, 1), messages=(0, 1)).worst_pair().reason
        'Corollary 4 of Theorem P, its conditions checked in balls on cells of inputs (docs/proofs/worst_pair.md)'
        """
        pair = (self.inputs[0], self.inputs[1])
        if self._has_worst_ends:
            known = "Corollary 4 of Theorem P, its conditions checked in balls on cells of inputs"
            return WorstPair(pair, True, f"{known} (docs/proofs/worst_pair.md)")
        told = "no theorem applies: the upper bound holds for all pairs of inputs by the fallback law"
        return WorstPair(pair, False, f"{told} (docs/proofs/fallback_law.md)")

    def __repr__(self) -> str:
        return f"DensityMechanism({self.density}, inputs=({', '.join(self.inputs)}), messages={self.messages})"


# ------- A density of one's own as a mechanism: noise where a theorem names the worst pair, else every pair is compared

_MOST_INPUTS = 8
_FACTS = ("positive", "negative", "nonnegative", "nonpositive", "zero", "integer", "rational", "irrational")


@checked_call
def DensityMechanism(  # noqa: N802  (what it returns is a mechanism, of the kind that the density is)
    density: sp.Expr,
    x: sp.Symbol | None = None,
    y: sp.Symbol | None = None,
    *,
    inputs: object = (0, 1),
    messages: tuple[object, object] | None = None,
    masses: Mapping[object, object] | None = None,
) -> NoiseDensity | Densities:
    """Return the mechanism that sends a real message whose density on input x is a SymPy formula in x and y.

    ``inputs`` is an interval ``(a, b)``, or a list of 2 to 8 numbers. ``messages`` is the interval of messages, the
    line if left out. ``masses`` gives point masses beside the density: {message: probability as a formula in x}.
    ``Abs``, ``Piecewise``, ``Max`` and ``Min`` of expressions that are linear in y may occur, beside powers, exp, log,
    erf, erfc and atan. ``x`` and ``y`` are the two symbols, those of these names if left out.

    - An interval of inputs and the line: the density of noise that is added to the input, ``NoiseDensity``, for which
      (0, 1) is proved to be the worst pair.
    - An interval of both: the upper bound is that of the ends, where they are proved to be the worst pair, or of one
      law above those of all pairs of inputs. If formulas are affine in x, each input draws one of the two ends: these
      are then listed, which loses nothing.
    - A list of inputs: all ordered pairs are compared. Tails on the line need ratios that are constant far out.

    The density has to be positive inside the messages, and to integrate to 1: that is shown, or enclosed to 30 digits
    at the inputs of the list, at the ends and the middle of an interval. Raises ArgumentError, RowSumError,
    NegativeProbabilityError, UndecidedOrderError for what is not shown, SupportMismatchError where no message can come
    from every input (gamma = 0: no amplification).

    >>> x, y = sp.symbols("x y", real=True)
    >>> noise = DensityMechanism(sp.exp(-sp.Abs(y - x)) / 2, x, y)
    >>> noise.gamma(), noise.worst_pair().proved
    (exp(-1/2), True)
    >>> window = sp.Piecewise((sp.Rational(3, 2), sp.Abs(y - x) < sp.Rational(1, 4)), (sp.Rational(1, 2), True))
    >>> DensityMechanism(window, x, y, inputs=["1/4", "3/4"], messages=(0, 1)).local_epsilon()
    log(3)
    """
    is_noise = isinstance(inputs, tuple) and messages is None and masses is None
    if not isinstance(density, sp.Expr):
        raise ArgumentError("density", density, "a SymPy formula")
    x, y = _symbol(density, x, "x"), _symbol(density, y, "y")
    if is_noise and isinstance(inputs, tuple):
        return NoiseDensity(density, x, y, inputs=inputs)
    given = (masses or {}).values()
    density = in_exponentials(density)
    formulas = [density, *(in_exponentials(m) if isinstance(m, sp.Expr) else exact_number(m, "masses") for m in given)]
    for k, formula in enumerate(formulas):
        if formula.has(sp.Float) or not formula.free_symbols <= ({x, y} if k == 0 else {x}):
            name = "masses" if k else "density"
            raise ArgumentError(name, formula, f"a SymPy formula in {x}{'' if k else f' and {y}'}, with exact numbers")
    low, high = (-sp.oo, sp.oo) if messages is None else interval_of(messages)
    points = {exact_number(at, "masses"): m for at, m in zip(masses or {}, formulas[1:], strict=True)}
    if isinstance(inputs, tuple):
        a, b = interval_of(inputs, "inputs")
        if all(f.is_polynomial(x) and sp.Poly(f, x).degree() <= 1 for f in formulas):
            return Densities(density, x, y, (a, b), (low, high), points)  # what each input sends is a mixture
        return IntervalDensities(density, x, y, (a, b), (low, high), points)
    if not isinstance(inputs, list | set | frozenset | sp.FiniteSet):
        raise ArgumentError("inputs", inputs, "an interval (a, b), or a list of numbers")
    values = tuple(exact_number(v, "inputs") for v in inputs)
    check_inputs(values, _MOST_INPUTS)
    return Densities(density, x, y, values, (low, high), points)


def _symbol(density: sp.Expr, given: object, name: str) -> sp.Symbol:
    """Return the symbol, checked to stand for any real number: SymPy simplifies what it is told."""
    named = [s for s in density.free_symbols if s.name == name]
    found = named[0] if given is None and named else sp.Symbol(name, real=True) if given is None else given
    if not isinstance(found, sp.Symbol) or any(getattr(found, f"is_{fact}") is not None for fact in _FACTS):
        raise ArgumentError(name, given, "a SymPy symbol without assumptions, or with real=True")
    return found
