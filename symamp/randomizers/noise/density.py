"""Noise with a given density: a formula, with every condition of the theorem checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial, reduce
from itertools import combinations, pairwise, product
from typing import ClassVar, NamedTuple

import sympy as sp
from flint import acb, arb
from sympy.core.relational import Relational
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.logic.boolalg import And, BooleanFalse, BooleanTrue, Not, Or
from sympy.polys.polyerrors import BasePolynomialError

from symamp.decompositions.to_law import number
from symamp.errors import (
    ArgumentError,
    ExpressionError,
    Problem,
    RowSumError,
    SymampError,
    UndecidedOrderError,
    VerificationError,
)
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero, ordered, sign, strictly_positive
from symamp.formulas.parameter import Parameter
from symamp.laws.law import Number
from symamp.numbers.rationals import fmpq_of, rational_below
from symamp.numbers.reading import exact_number
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision
from symamp.numbers.systems import FLINT, Holomorphic, compile_expression, same
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Side, Y, Z, inner_points

_MOST_UNDECIDED = 8  # cases on a box of inputs and messages
_RANGE_BITS = 128  # at which the largest value of a formula is sought
_MOST_HALVINGS, _MOST_TRIED = 40, 20_000  # in that search
_CLOSE = 1e-10  # relative accuracy at which it ends
_VALUE_BITS = 64  # to which the value is rounded up
_FAR_OUT = 2**14  # where an antiderivative is looked at for its limit
_VANISHING = 2.0**-200  # what is less there has the limit 0
_FAR = 2**10  # where the largest of exponentials is chosen on unbounded messages
_NEGLIGIBLE_TAIL = 2.0**-120  # mass beyond which noise is cut
_FARTHEST_CUT = 4096  # noise whose tail is heavier is refused
_DENSITY_BITS = 64  # of an estimate, and of the tail that shows a limit

# --------- A density with absolute values and cases, cut into intervals of messages on which it is one analytic formula

_CASES = (sp.Abs, sp.Piecewise, sp.Max, sp.Min)
_LINEAR = "Abs, Piecewise, Max and Min of expressions that are linear in the message"


class Stretch(NamedTuple):
    """An interval of messages (an end may be infinite), and one of its inner points."""

    start: sp.Expr
    end: sp.Expr
    inside: sp.Expr


def stretches(formulas: tuple[sp.Expr, ...], low: sp.Expr, high: sp.Expr) -> list[Stretch]:
    """Return the intervals between two messages, cut where a case of a formula in y changes.

    Raises ArgumentError for a case that is not decided by linear expressions, UndecidedOrderError for ends whose order
    is not proved.

    >>> [(s.start, s.end) for s in stretches((sp.Abs(Y - 1),), sp.Integer(0), sp.oo)]
    [(0, 1), (1, oo)]
    """
    cuts = (c for f in formulas for e in changes(f) for c in _root(e))
    inner = (c for c in cuts if (low.is_infinite or sign(c - low) > 0) and (high.is_infinite or sign(high - c) > 0))
    ends = [low, *ordered(inner), high]
    return [Stretch(a, b, _between(a, b)) for a, b in pairwise(ends)]


def resolved(formula: sp.Expr, inside: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Return the formula that holds around values of symbols, wherever none of its cases changes, free of cases.

    >>> resolved(sp.Piecewise((1, Y < 2), (sp.Abs(Y), True)), {Y: sp.Integer(3)})
    y
    """

    def sign_of(e: sp.Expr) -> int:
        return sign(_chosen(e, sign_of).xreplace(inside))

    try:
        return _chosen(formula, sign_of)
    except _NoCaseError:
        missing = Problem(f"{formula} has no case for some messages")
        raise ArgumentError("density", missing, "add a case (..., True)") from None


class _NoCaseError(Exception):
    """A Piecewise says nothing."""


def _chosen(formula: sp.Expr, sign_of: Callable[[sp.Expr], int]) -> sp.Expr:
    """Return the formula of the cases that hold, given the signs of ``changes``."""
    if isinstance(formula, sp.Abs):
        return _chosen(formula.args[0], sign_of) * sign_of(formula.args[0])
    if isinstance(formula, sp.Max | sp.Min):
        best, *rest = formula.args
        for other in rest:
            best = other if (sign_of(best - other) < 0) == isinstance(formula, sp.Max) else best
        return _chosen(best, sign_of)
    if isinstance(formula, sp.Piecewise):
        for value, condition in formula.args:
            if _holds(condition, sign_of):
                return _chosen(value, sign_of)
        raise _NoCaseError
    return formula.func(*(_chosen(a, sign_of) for a in formula.args)) if formula.args else formula


def changes(formula: sp.Basic) -> Iterator[sp.Expr]:
    """Yield formulas at whose zeros a case of the formula may change."""
    if isinstance(formula, Relational):
        yield formula.lhs - formula.rhs
        return
    if isinstance(formula, sp.Abs):
        yield formula.args[0]
    elif isinstance(formula, sp.Max | sp.Min):
        yield from (a - b for a, b in combinations(formula.args, 2))
    for part in formula.args:
        yield from changes(part)


def _root(argument: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the messages at which an argument vanishes; more of them do no harm."""
    for part in stretches((argument,), -sp.oo, sp.oo) if has_cases(argument) else [None]:
        slope, at_zero = _linear(argument if part is None else resolved(argument, {Y: part.inside}))
        if sign(slope) != 0:
            yield -at_zero / slope


def _linear(e: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return (a, b) with e = a y + b."""
    if e == Y:
        return sp.S.One, sp.S.Zero
    if Y not in e.free_symbols:
        return sp.S.Zero, e
    if e.is_Add:
        parts = [_linear(a) for a in e.args]
        return sp.Add(*(a for a, _ in parts)), sp.Add(*(b for _, b in parts))
    moving = [a for a in e.args if Y in a.free_symbols]
    if e.is_Mul and len(moving) == 1:
        factor = sp.Mul(*(a for a in e.args if a is not moving[0]))
        slope, at_zero = _linear(moving[0])
        return factor * slope, factor * at_zero
    raise ArgumentError("density", str(e), _LINEAR)


def _holds(condition: sp.Basic, sign_of: Callable[[sp.Expr], int]) -> bool:
    if isinstance(condition, BooleanTrue | BooleanFalse):
        return bool(condition)
    if isinstance(condition, And | Or):
        return (all if isinstance(condition, And) else any)(_holds(c, sign_of) for c in condition.args)
    if isinstance(condition, Not):
        return not _holds(condition.args[0], sign_of)
    if not isinstance(condition, Relational):
        raise ArgumentError("density", str(condition), _LINEAR)
    order = sign_of(condition.lhs - condition.rhs)
    if order == 0:
        return isinstance(condition, sp.Le | sp.Ge | sp.Eq)
    if isinstance(condition, sp.Eq | sp.Ne):
        return isinstance(condition, sp.Ne)
    return (order > 0) == isinstance(condition, sp.Gt | sp.Ge)


def _between(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    if a.is_infinite:
        return sp.S.Zero if b.is_infinite else b - 1
    return a + 1 if b.is_infinite else (a + b) / 2


def far_out(start: sp.Expr, end: sp.Expr) -> dict[sp.Symbol, sp.Expr]:
    """Return the message between two numbers that is farthest out."""
    places = (sp.sign(e) * _FAR if e.is_infinite else e for e in (start, end))
    return {Y: max(places, key=lambda e: abs(sp.N(e)))}


def steady(formula: sp.Expr, far: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Return a formula with the exponential that is largest at a place taken out of each sum: balls are narrow so.

    >>> steady(1 / (sp.exp(Y) + 2 * sp.exp(3 * Y)), {Y: sp.S.One})
    exp(-3*y)/(2 + exp(-2*y))
    """

    def without_largest(*terms: sp.Expr) -> sp.Expr:
        exponents = [sp.Add(*(f.exp for f in sp.Mul.make_args(t) if isinstance(f, sp.exp))) for t in terms]
        largest = max(exponents, key=lambda e: sp.N(e.xreplace(far)))
        if not any(e.free_symbols for e in exponents):
            return sp.Add(*terms)
        rests = (sp.Mul(*(f for f in sp.Mul.make_args(t) if not isinstance(f, sp.exp))) for t in terms)
        return sp.exp(largest) * sp.Add(
            *(r * sp.exp(sp.expand(e - largest)) for r, e in zip(rests, exponents, strict=True))
        )

    return formula.replace(sp.Add, without_largest)


def in_exponentials(formula: sp.Expr) -> sp.Expr:
    """Return the formula without hyperbolic functions, whose identities normal forms do not know."""
    return formula.replace(lambda e: isinstance(e, HyperbolicFunction), lambda e: e.rewrite(sp.exp))


def has_cases(formula: sp.Expr) -> bool:
    """Return whether a formula has absolute values or cases left."""
    return bool(formula.has(*_CASES))


# -------------- Formulas with absolute values and cases on boxes of inputs and messages: a ball around all values there

Box = Mapping[str, arb]
Range = Callable[[Box], arb]


def formula_range(formula: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> Range:
    """Return a function of balls, by the names of symbols, that contains the values of a formula on them.

    Where a case is not decided on a box, the ball covers all cases that are possible; it is no number where they are
    too many. Raises ArgumentError or ExpressionError for functions that are not known.

    >>> x = sp.Symbol("x")
    >>> formula_range(sp.Abs(x), (x,))({"x": arb(1, 2)}).contains(0)
    True
    """
    cuts = tuple(dict.fromkeys(changes(formula)))
    if not cuts:
        return partial(compile_expression(formula, symbols), FLINT)
    tests = [formula_range(e, symbols) for e in cuts]

    @cache
    def of_cases(signs: tuple[int, ...]) -> list[Range]:
        """Return the formulas of all cases with these signs; 0 stands for both: equality is covered by both sides."""
        if signs.count(0) > _MOST_UNDECIDED:
            return []
        found: list[Range] = []
        for chosen in product(*((k,) if k else (1, -1) for k in signs)):
            with suppress(_NoCaseError):  # signs that do not occur together, or messages that are left out
                case = _chosen(formula, dict(zip(cuts, chosen, strict=True)).__getitem__)
                found.append(partial(compile_expression(case, symbols), FLINT))
        return found

    def value(box: Box) -> arb:
        values = [test(box) for test in tests]
        found = of_cases(tuple(1 if v > 0 else -1 if v < 0 else 0 for v in values))
        return reduce(arb.union, [case(box) for case in found]) if found else arb("nan")

    of_cases((1,) * len(cuts))  # refuses functions that are not known
    return value


def values_between(f: Holomorphic, a: arb, b: arb, less: Holomorphic | None = None, times: arb | None = None) -> arb:
    """Return a ball around the values of f - times * less on an interval: value at the middle, and a slope.

    >>> y = sp.Symbol("y")
    >>> values_between(Holomorphic(y, y), arb(0), arb(1), Holomorphic(y**2, y), arb(1)).contains(arb("0.25"))
    True
    """
    box, middle = a.union(b), (a + b) / 2
    at, (wide, slope) = f(acb(middle)), f.with_slope(acb(box))
    if less is not None:
        other, there = less.with_slope(acb(box))
        at, wide, slope = at - less(acb(middle)) * times, wide - other * times, slope - there * times
    if not slope.is_finite():
        return wide.real
    near = at.real + slope.real * (box - middle)
    return near.intersection(wide.real) if near.overlaps(wide.real) and wide.is_finite() else near


# --- The largest value of analytic formulas on intervals: exact where it is taken at an end, else a number just above


def largest_value(found: Sequence[tuple[sp.Expr, sp.Expr, sp.Expr]]) -> sp.Expr:
    """Return the largest value of formulas in y, each on its closed interval (formula, start, end).

    The result is a number at which one of them is attained at an end of its interval, or else a rational number above
    all values, by less than 1e-9 of them. Formulas are constant on intervals without an end.

    Guarantee
    ---------
    No formula has a larger value on its interval. Proof: docs/proofs/smooth_laws.md.

    >>> largest_value([(Y * (1 - Y), sp.Integer(0), sp.Integer(1)), (Y, sp.Integer(0), sp.Integer(3))])
    3
    """
    best, at_best = sp.S.One, arb(1)
    with at_precision(_RANGE_BITS):
        for formula, start, end in found:
            for place in (start, end) if formula.free_symbols else (start,):
                value = formula.xreplace({Y: place})
                ball = number(value)()
                # Where balls do not tell, exact algebra does.
                if ball > at_best or (ball.overlaps(at_best) and value != best and sign(value - best) > 0):
                    best, at_best = value, ball
        above = [
            _above(Holomorphic(steady(f, far_out(start, end)), Y), number(start)(), number(end)(), at_best)
            for f, start, end in found
            if f.free_symbols
        ]
        larger = [v for v in above if v is not None]
        if not larger:
            return best
        top = reduce(arb.max, larger, at_best)
        return -rational_below(-top, _VALUE_BITS)


def _above(f: Holomorphic, start: arb, end: arb, best: arb) -> arb | None:
    """Return None if every value is shown to be at most the best, else a number just above all values."""
    above: arb | None = None
    open_, tried = [(start, end, 0)], 0
    while open_:
        a, b, depth = open_.pop()
        slope = f.with_slope(acb(a.union(b)))[1].real
        values = f(acb(a)).real, f(acb(b)).real
        if slope.is_finite() and (slope >= 0 or slope <= 0):
            # Monotone: the largest value is at an end; that of the whole interval is already known.
            inner = [v for v, e in zip(values, (a, b), strict=True) if not (e.overlaps(start) or e.overlaps(end))]
            if all(v <= best for v in inner):
                continue
            top = reduce(arb.max, inner)
        else:
            top = values_between(f, a, b)
        if top.is_finite() and top.upper() <= best.lower():
            continue
        if top.is_finite() and float(top.rad()) < _CLOSE * float(best.lower()):
            above = arb(top.upper()) if above is None else above.max(arb(top.upper()))
            continue
        tried += 1
        if depth == _MOST_HALVINGS or tried > _MOST_TRIED:
            kink = Problem(f"the largest value of {f.formula} is not found")
            raise UndecidedOrderError("density", kink, "shorten the interval of messages, or make kinks ends of cases")
        middle = arb(((a + b) / 2).mid())
        open_ += [(a, middle, depth + 1), (middle, b, depth + 1)]
    return above


# ----------------- Integrals of a density in balls: by an antiderivative whose derivative is proved, else by quadrature

_OF_SYMPY = (NotImplementedError, ValueError, TypeError, AttributeError, RecursionError)


@lru_cache(maxsize=1024)
def antiderivative(density: sp.Expr) -> sp.Expr | None:
    """Return a formula whose derivative is proved to be the density, None if SymPy finds none that is."""
    with suppress(SymampError, BasePolynomialError, *_OF_SYMPY):
        # Constants such as erf(1), and products of exponentials, lead SymPy astray.
        constant, moving = density.as_independent(Y, as_Add=False)
        found = constant * sp.integrate(sp.powsimp(moving, combine="exp"), Y)
        if not found.has(sp.Integral) and is_zero(sp.diff(found, Y) - density):
            Holomorphic(found, Y)  # functions that balls do not know are refused here
            return found
    return None


def integral(density: sp.Expr, start: sp.Expr | Number, end: sp.Expr | Number) -> Number:
    """Return the integral between two messages as a function that gives a ball at the ambient precision.

    An end may be infinite where the antiderivative has the limit 0 there, as that of an exponential has.
    Raises UndecidedOrderError for other infinite ends.
    """
    if density == 0:
        return lambda: arb(0)
    found = antiderivative(density)
    if found is None:
        if any(isinstance(e, sp.Expr) and e.is_infinite for e in (start, end)):
            tail = Problem(f"SymPy finds no antiderivative of {density}, whose messages are unbounded")
            raise UndecidedOrderError("density", tail, "bound the messages")
        return _quadrature(Holomorphic(density, Y), _finite(start), _finite(end))
    compiled = Holomorphic(found, Y)
    ends = [_end(compiled, e) for e in (start, end)]
    return lambda: ends[1]() - ends[0]()


def _finite(end: sp.Expr | Number) -> Number:
    return number(end) if isinstance(end, sp.Expr) else end


def _end(compiled: Holomorphic, end: sp.Expr | Number) -> Number:
    if isinstance(end, sp.Expr) and end.is_infinite:
        with at_precision(256):
            far = [compiled(acb(_FAR_OUT * k if end is sp.oo else -_FAR_OUT * k)) for k in (1, 2)]
        if not all(abs(v).upper() < _VANISHING for v in far):
            slow = Problem(f"its antiderivative {compiled.formula} does not vanish at infinity")
            raise UndecidedOrderError("density", slow, "bound the messages, as in messages=(-10, 10)")
        return lambda: arb(0)
    place = _finite(end)
    return lambda: compiled(acb(place())).real


def _quadrature(f: Holomorphic, start: Number, end: Number) -> Number:
    def integrand(y: acb, _: bool) -> acb:
        return f(y)

    return lambda: acb.integral(integrand, acb(start()), acb(end())).real


def masses_beyond(densities: tuple[sp.Expr, sp.Expr, sp.Expr]) -> Callable[[arb], tuple[arb, arb, arb]] | None:
    """Return the masses beyond a message, up to constants, as a function of it; None if a formula is missing."""
    found = [antiderivative(d) for d in densities]
    if any(f is None for f in found):
        return None
    first, second, third = (Holomorphic(f, Y) for f in found)
    return lambda y: (-first(acb(y)).real, -second(acb(y)).real, -third(acb(y)).real)


# ------------------------------ Noise of one's own: a density as a formula, with every condition of the theorem checked

_POINTS = tuple(sp.Rational(x) for x in ("1/1000", "1/7", "1/2", "4/3", "5/2", "7", "20"))
_INPUTS = (sp.S.Zero, sp.Rational(2, 3), sp.S.One)
_DISTANCE = Parameter("z", lower=0)


class NoiseDensity(AdditiveNoise):
    """Send a real message whose density on input x is a SymPy formula in the symbols x and y.

    Inputs are those of the interval ``inputs``, [0, 1] if left out; others are scaled to it, and ``0`` and ``1`` stand
    for its ends.

    The density has to be that of noise added to the input: a function of y - x alone, even, log-concave (so that it
    falls away from 0, and its ratios rise). ``Abs``, exponentials, hyperbolic functions, polynomials and roots are
    read; numbers are exact. Signs are proved by exact algebra; what SymPy simplifies, integrates or takes a limit of is
    compared in balls with what was written, at many points, or the density is refused.

    Raises ArgumentError for a density that is not of this kind, RowSumError if it does not integrate to 1,
    UndecidedOrderError for a condition that could not be shown.

    >>> x, y = sp.symbols("x y", real=True)
    >>> noise = NoiseDensity(sp.exp(-sp.Abs(y - x)) / 2, x, y)
    >>> noise.gamma(), noise.local_ratio()
    (exp(-1/2), E)
    """

    name = "noise on [0, 1] with a density of one's own"
    slug: ClassVar[str] = "density"
    source: ClassVar[str] = "given"
    declared = ()

    def __init__(self, density: sp.Expr, x: sp.Symbol, y: sp.Symbol, *, inputs: tuple[object, object] = (0, 1)) -> None:
        super().__init__()
        symbols = [v for v in (x, y) if isinstance(v, sp.Symbol)]
        if not isinstance(density, sp.Expr) or len(symbols) < 2 or density.free_symbols != set(symbols):
            raise ArgumentError("density", density, "a SymPy formula in the two given symbols and no others")
        if density.has(sp.Float):
            wrong = Problem(f"{density} has floats")
            raise ArgumentError("density", wrong, "write exact numbers, such as Rational(1, 3)")
        density = _on_unit_interval(density, x, y, inputs)
        z = sp.Symbol("z", positive=True)
        half = _additive(density, x, y, z)
        _check_total(half, z)
        self._largest = _check_log_concave(half, z)
        self.density, self._half = density, half.rewrite(sp.exp).subs(z, Z)
        beyond = sp.integrate(half, (z, Y, sp.oo), conds="none").rewrite(sp.exp)
        if beyond.has(sp.Integral):
            raise UndecidedOrderError("density", Problem(f"SymPy does not integrate {half}"), "bound the messages")
        self._beyond = sp.simplify(beyond).rewrite(sp.exp)
        self._gamma = sp.simplify(2 * self._beyond.subs(Y, sp.Rational(1, 2))).rewrite(sp.exp)
        with at_precision(CAREFUL_BITS):
            self._compare(x, y)

    def key(self) -> tuple[object, ...]:
        return (type(self).__qualname__, self._half)

    def half_density(self) -> sp.Expr:
        return self._half

    def sides(self) -> tuple[Side, ...]:
        """Return the sides with formulas in e^-y in place of e^y: balls are far narrower for them."""
        return _falling_sides(self)

    def survival(self, z: arb) -> arb:
        return _in_balls(self._beyond)(z)

    def gamma(self) -> sp.Expr:
        return self._gamma

    def local_ratio(self) -> sp.Expr:
        """Return the limit of f(y - 1)/f(y), which is the largest ratio of a log-concave density."""
        return self._largest

    @property
    def cuts_tail(self) -> bool:
        return bool(self.sides()[-1].ratio.free_symbols)

    def cut(self, ratio: float) -> sp.Expr | None:
        """Return y at which the ratio is reached, or beyond which there is no mass that matters."""
        last, y = self.sides()[-1], sp.Integer(2)
        at = Holomorphic(last.ratio, Y)
        with at_precision(CAREFUL_BITS):  # what is left may be a difference of larger numbers
            while y <= _FARTHEST_CUT:
                place = arb(int(y * 16)) / 16
                enough = self._largest is sp.oo and at(acb(place)).real > ratio
                if enough or self.survival(place - 1) < _NEGLIGIBLE_TAIL:
                    return y
                y += sp.Rational(1, 16) if y < _FARTHEST_CUT // 64 else sp.Integer(1)
        raise UndecidedOrderError("density", Problem(f"the tail of {self.density} is too heavy"), "truncate it")

    def spread(self) -> float:
        """Return about the variance of G at eps = 0, by the midpoint rule."""
        last, total, step = self.sides()[-1], 0.0, 1 / 64
        density, ratio = Holomorphic(last.density0, Y), Holomorphic(last.ratio, Y)
        with at_precision(_DENSITY_BITS):
            for k in range(64 * 64):
                y = acb(0.5 + (k + 0.5) * step)
                part = float(density(y).real * (ratio(y).real - 1) ** 2) * step
                total += 2.0 * part
                if k > 128 and part < 1e-9 * total:
                    break
        return total

    def _compare(self, x: sp.Symbol, y: sp.Symbol) -> None:
        """Raise VerificationError unless balls show at many points that what was derived is what was written."""
        half, slope = _in_balls(self._half.subs(Z, Y)), _in_balls(-sp.diff(self._beyond, Y))
        pairs = [(slope(arb(fmpq_of(z))), half(arb(fmpq_of(z)))) for z in _POINTS]
        for at in _INPUTS:
            pairs += [(half(arb(fmpq_of(z))), self._written(x, y, at, at + k * z)) for z in _POINTS for k in (1, -1)]
        for side in self.sides():
            density, ratio = _in_balls(side.density0), _in_balls(side.ratio)
            for p in inner_points(side.start, side.end):
                first, second = (self._written(x, y, sp.Integer(k), p) for k in (0, 1))
                pairs += [(density(arb(fmpq_of(p))), first), (ratio(arb(fmpq_of(p))), second / first)]
        pairs += [(self.survival(arb(0)), arb(1) / 2), (_in_balls(self._gamma)(arb(0)), 2 * self.survival(arb(1) / 2))]
        wrong = [b for a, b in pairs if not same(a, b)]
        if wrong or not self._vanishes() or not self._is_limit(half):
            differs = Problem(f"{self.density} differs from what is derived from it, {wrong[:1]} at a point")
            raise VerificationError("density", differs, "please report this")

    def _written(self, x: sp.Symbol, y: sp.Symbol, at: sp.Expr, message: sp.Expr) -> arb:
        """Return the density as it was written, the cases of its absolute values decided by exact algebra."""
        formula = resolved(self.density.xreplace({x: at, y: Y}), {Y: message}).rewrite(sp.exp)
        return Holomorphic(formula, Y)(acb(arb(fmpq_of(message)))).real

    def _vanishes(self) -> bool:
        """Return whether the mass beyond a message falls to 0."""
        return any(abs(self.survival(arb(2) ** k)).upper() < 2.0**-_DENSITY_BITS for k in range(40))

    def _is_limit(self, half: Callable[[arb], arb]) -> bool:
        """Return whether f(z)/f(z + 1), which increases, comes close to what is said to be its limit, from below."""
        ratios = [half(arb(2) ** k) / half(arb(2) ** k + 1) for k in range(24)]
        if self._largest is sp.oo:
            return any(r > 2**20 for r in ratios)
        top = number(self._largest)()
        return any(r > 0.999 * top for r in ratios) and not any(r > top for r in ratios)

    def __repr__(self) -> str:
        return f"DensityMechanism({self.density})"


@lru_cache(maxsize=64)
def _falling_sides(noise: NoiseDensity) -> tuple[Side, ...]:
    sides = super(NoiseDensity, noise).sides()
    far = [far_out(s.start, s.end) for s in sides]
    return tuple(
        replace(s, density0=steady(normal(s.density0), at), ratio=steady(normal(s.ratio), at))
        for s, at in zip(sides, far, strict=True)
    )


def _on_unit_interval(density: sp.Expr, x: sp.Symbol, y: sp.Symbol, inputs: tuple[object, object]) -> sp.Expr:
    """Return the density of the mechanism in units in which its inputs are [0, 1]."""
    low, high = interval_of(inputs, "inputs")
    if (low, high) == (0, 1):
        return density
    width = high - low
    return width * density.subs({x: low + width * x, y: low + width * y}, simultaneous=True)


def interval_of(given: object, argument: str = "messages") -> tuple[sp.Expr, sp.Expr]:
    """Return the ends of an interval as exact numbers; those of messages may be infinite."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ArgumentError(argument, given, "an interval (a, b) with a < b")
    low, high = (v if v in (sp.oo, -sp.oo) and argument == "messages" else exact_number(v, argument) for v in given)
    bounded = low.is_finite and high.is_finite
    if low is sp.oo or high == -sp.oo or (bounded and sign(high - low) <= 0):
        raise ArgumentError(argument, given, "an interval (a, b) with a < b")
    return low, high


def _additive(density: sp.Expr, x: sp.Symbol, y: sp.Symbol, z: sp.Symbol) -> sp.Expr:
    """Return the density at distance z > 0 from the input, for noise that is added and even."""
    above, below = (sp.simplify(density.subs(y, x + side * z)) for side in (1, -1))
    if above.has(x) or below.has(x):
        raise ArgumentError("density", density, "a function of y - x")
    if sp.simplify(above - below) != 0:
        raise ArgumentError("density", density, "an even function of y - x")
    return above


def _check_total(half: sp.Expr, z: sp.Symbol) -> None:
    total = sp.simplify(2 * sp.integrate(half, (z, 0, sp.oo)))
    if total.has(sp.Integral):
        raise UndecidedOrderError("density", Problem(f"SymPy does not integrate {half}"), "bound the messages")
    with suppress(ExpressionError, UndecidedOrderError):  # of functions that are not known
        if is_zero(in_exponentials(total) - 1):
            return
    raise RowSumError("density", Problem(f"its integral over the line is {total}"), "divide it by that")


def _check_log_concave(half: sp.Expr, z: sp.Symbol) -> sp.Expr:
    """Return the limit of f(z)/f(z + 1), after a proof that the density is positive, falls and is log-concave."""
    formula = half.rewrite(sp.exp).xreplace({z: _DISTANCE.symbol})
    try:
        slope = normal(sp.diff(formula, _DISTANCE.symbol) / formula)
        bend = normal(sp.diff(slope, _DISTANCE.symbol))
        known = (_DISTANCE,)
        shown = strictly_positive(formula, known) and sign(slope, known) <= 0 and sign(bend, known) <= 0
    except (ExpressionError, UndecidedOrderError):
        shown = False
    if not shown:
        unknown = Problem(f"{half} is not proved to be positive, falling and log-concave for z > 0")
        raise UndecidedOrderError("density", unknown, "give messages=(a, b): other densities need bounded messages")
    with at_precision(CAREFUL_BITS):
        _check_slopes(formula, slope, bend)
    return sp.simplify(sp.limit(sp.simplify(half / half.subs(z, z + 1)), z, sp.oo))


def _check_slopes(formula: sp.Expr, slope: sp.Expr, bend: sp.Expr) -> None:
    f, first, second = (Holomorphic(e, _DISTANCE.symbol) for e in (formula, slope, bend))
    for point in _POINTS:
        value, its_slope = f.with_slope(acb(arb(fmpq_of(point))))
        log_slope, log_bend = first.with_slope(acb(arb(fmpq_of(point))))
        bends = second(acb(arb(fmpq_of(point)))).real
        flat = slope.is_number and bend == 0
        if not same(log_slope.real, (its_slope / value).real) or not (flat or same(bends, log_bend.real)):
            wrong = Problem(f"SymPy's derivatives of {formula} are wrong at z = {point}")
            raise VerificationError("density", wrong, "please report this")


@lru_cache(maxsize=64)
def _in_balls(formula: sp.Expr) -> Callable[[arb], arb]:
    """Return a formula in y as a function of balls."""
    compiled = Holomorphic(formula, Y)
    return lambda at: compiled(acb(at)).real
