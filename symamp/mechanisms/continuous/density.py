"""Noise of one's own: a density as a formula, with every condition of the theorem checked."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, reduce
from typing import ClassVar

import sympy as sp
from flint import acb, arb

from symamp.algebra.normal_form import normal
from symamp.algebra.order import sign, strictly_positive
from symamp.algebra.parameter import Parameter
from symamp.derivation.crossing import number
from symamp.errors import ArgumentError, ExpressionError, RowSumError, UndecidedOrderError, VerificationError
from symamp.mechanisms.continuous.additive_noise import AdditiveNoise
from symamp.mechanisms.continuous.noise_sides import Arc, Side, Y, Z, inner_points
from symamp.mechanisms.continuous.resolved import resolved
from symamp.numbers.agreement import same
from symamp.numbers.exact_number import exact_number
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision

_POINTS = tuple(sp.Rational(x) for x in ("1/1000", "1/7", "1/2", "4/3", "5/2", "7", "20"))
_INPUTS = (sp.S.Zero, sp.Rational(2, 3), sp.S.One)
_NEGLIGIBLE, _FARTHEST, _BITS, _MANY_BITS = 2.0**-120, 4096, 64, 256
_DISTANCE = Parameter("z", lower=sp.Integer(0))


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
            raise ArgumentError("density", density, "exact numbers, such as Rational(1, 3)")
        density = _on_unit_interval(density, x, y, inputs)
        z = sp.Symbol("z", positive=True)
        half = _additive(density, x, y, z)
        _check_total(half, z)
        self._largest = _check_log_concave(half, z)
        self.density, self._half = density, half.rewrite(sp.exp).subs(z, Z)
        beyond = sp.integrate(half, (z, Y, sp.oo), conds="none").rewrite(sp.exp)
        if beyond.has(sp.Integral):
            raise UndecidedOrderError("density", str(half), "an integral that SymPy finds")
        self._beyond = sp.simplify(beyond).rewrite(sp.exp)
        self._gamma = sp.simplify(2 * self._beyond.subs(Y, sp.Rational(1, 2))).rewrite(sp.exp)
        with at_precision(_MANY_BITS):
            self._compare(x, y)

    def key(self) -> tuple[object, ...]:
        """Return the density of the noise."""
        return (type(self).__qualname__, self._half)

    def arcs(self) -> tuple[Arc, ...]:
        """Return the density."""
        return (Arc(sp.Integer(0), sp.oo, self._half),)

    def sides(self) -> tuple[Side, ...]:
        """Return the sides with formulas in e^-y in place of e^y: balls are far narrower for them."""
        return _falling_sides(self)

    def survival(self, z: arb) -> arb:
        """Return P(Z > z)."""
        return _in_balls(self._beyond)(z)

    def gamma(self) -> sp.Expr:
        """Return the mass of the blanket, P(abs(Z) > 1/2)."""
        return self._gamma

    def local_ratio(self) -> sp.Expr:
        """Return the limit of f(y - 1)/f(y), which is the largest ratio of a log-concave density."""
        return self._largest

    @property
    def cuts_tail(self) -> bool:
        """Whether the ratio still varies far out."""
        return bool(self.sides()[-1].ratio.free_symbols)

    def cut(self, ratio: float) -> sp.Expr | None:
        """Return y at which the ratio is reached, or beyond which there is no mass that matters."""
        last, y = self.sides()[-1], sp.Integer(2)
        at = Holomorphic(last.ratio, Y)
        with at_precision(_MANY_BITS):  # what is left may be a difference of larger numbers
            while y <= _FARTHEST:
                place = arb(int(y * 16)) / 16
                enough = self._largest is sp.oo and at(acb(place)).real > ratio
                if enough or self.survival(place - 1) < _NEGLIGIBLE:
                    return y
                y += sp.Rational(1, 16) if y < _FARTHEST // 64 else sp.Integer(1)
        raise UndecidedOrderError("density", str(self.density), "noise whose tail is light")

    def spread(self) -> float:
        """Return about the variance of G at eps = 0, by the midpoint rule."""
        last, total, step = self.sides()[-1], 0.0, 1 / 64
        density, ratio = Holomorphic(last.density0, Y), Holomorphic(last.ratio, Y)
        with at_precision(_BITS):
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
            raise VerificationError("density", str(self.density), f"what is derived from it, {wrong[:1]} at a point")

    def _written(self, x: sp.Symbol, y: sp.Symbol, at: sp.Expr, message: sp.Expr) -> arb:
        """Return the density as it was written, the cases of its absolute values decided by exact algebra."""
        formula = resolved(self.density.xreplace({x: at, y: Y}), message).rewrite(sp.exp)
        return Holomorphic(formula, Y)(acb(arb(fmpq_of(message)))).real

    def _vanishes(self) -> bool:
        """Return whether the mass beyond a message falls to 0."""
        return any(abs(self.survival(arb(2) ** k)).upper() < 2.0**-_BITS for k in range(40))

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
    return tuple(replace(s, density0=_in_falling(s.density0), ratio=_in_falling(s.ratio)) for s in sides)


def _in_falling(formula: sp.Expr) -> sp.Expr:
    w = sp.Symbol("w", positive=True)
    shown = sp.expand_power_exp(formula.subs(Y, -sp.log(w)))
    return sp.factor(sp.cancel(sp.expand(shown, power_exp=True))).subs(w, sp.exp(-Y))


def _on_unit_interval(density: sp.Expr, x: sp.Symbol, y: sp.Symbol, inputs: tuple[object, object]) -> sp.Expr:
    """Return the density of the mechanism in units in which its inputs are [0, 1]."""
    if not isinstance(inputs, tuple) or len(inputs) != 2:
        raise ArgumentError("inputs", inputs, "the two ends of an interval")
    low, high = (exact_number(end, "inputs") for end in inputs)
    if sign(high - low, ()) <= 0:
        raise ArgumentError("inputs", inputs, "an interval (a, b) with a < b")
    if (low, high) == (0, 1):
        return density
    width = high - low
    return width * density.subs({x: low + width * x, y: low + width * y}, simultaneous=True)


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
    if total != 1:
        raise RowSumError("density", str(total), "an integral of exactly 1 over the line")


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
        accepted = "a positive, falling, log-concave density: f > 0, (log f)' <= 0, (log f)'' <= 0 for z > 0"
        raise UndecidedOrderError("density", str(half), accepted)
    with at_precision(_MANY_BITS):
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
            raise VerificationError("density", str(formula), f"its derivatives at z = {point}")


@lru_cache(maxsize=64)
def _in_balls(formula: sp.Expr) -> Callable[[arb], arb]:
    """Return a formula in y, error functions included, as a function of balls."""
    if not formula.has(sp.erfc, sp.erf):
        compiled = Holomorphic(formula, Y)
        return lambda at: compiled(acb(at)).real
    inner = [_in_balls(a) for a in formula.args]
    if isinstance(formula, sp.erfc):
        return lambda at: inner[0](at).erfc()
    if isinstance(formula, sp.erf):
        return lambda at: inner[0](at).erf()
    if not isinstance(formula, sp.Add | sp.Mul):
        raise UndecidedOrderError("density", str(formula), "a tail in exponentials, powers and error functions")
    combine = operator.add if isinstance(formula, sp.Add) else operator.mul
    return lambda at: reduce(combine, [part(at) for part in inner])
