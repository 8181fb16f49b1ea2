"""The number systems in which one formula is evaluated: Arb balls, mpmath numbers, numpy doubles, exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from operator import add, mul
from typing import Any, NoReturn

import flint
import mpmath
import numpy as np
import sympy as sp
from flint import acb, acb_series, arb

from symamp.errors import ExpressionError
from symamp.numbers.surroundings import at_precision
from symamp.numbers.unevaluated import MOST_FACTORS, binomial, power

Number = Any  # of whichever system: flint.arb or acb, mpmath.mpf or mpc, numpy.float64 or an array


@dataclass(frozen=True)
class NumberSystem:
    """The operations that formulas need; ``power`` takes a Python int or a number of the system."""

    name: str
    rational: Callable[[int, int], Number]
    exp: Callable[[Number], Number]
    log: Callable[[Number], Number]
    sqrt: Callable[[Number], Number]
    power: Callable[[Number, Number], Number]
    pi: Callable[[], Number]
    expm1: Callable[[Number], Number]
    complex: Callable[[Number, Number], Number]
    maximum: Callable[[Number, Number], Number]
    binomial: Callable[[int, int], Number]
    log_gamma: Callable[[Number], Number]
    erf: Callable[[Number], Number]
    erfc: Callable[[Number], Number]
    atan: Callable[[Number], Number]


def _flint_power(base: Number, exponent: Number) -> Number:
    found = flint.arb(base)
    if not isinstance(exponent, int):
        return found**exponent
    # Powers of real balls are taken by logarithms, and are not finite on one that contains 0.
    return (flint.acb(found) ** flint.fmpz(exponent)).real if found.contains(0) else found ** flint.fmpz(exponent)


FLINT = NumberSystem(
    "flint",
    lambda p, q: flint.arb(p) if q == 1 else flint.arb(flint.fmpq(p, q)),
    lambda x: x.exp() if isinstance(x, flint.acb) else flint.arb(x).exp(),
    lambda x: flint.arb(x).log(),
    lambda x: flint.arb(x).sqrt(),
    _flint_power,
    flint.arb.pi,
    lambda x: x.expm1(),
    flint.acb,
    lambda x, y: x.max(y),
    lambda n, k: flint.arb.bin_uiui(n, min(k, n - k)),
    lambda x: flint.arb(x).lgamma(),
    lambda x: flint.arb(x).erf(),
    lambda x: flint.arb(x).erfc(),
    lambda x: flint.arb(x).atan(),
)
"""Balls of python-flint at the precision of ``flint.ctx``: every result contains the true value."""

MPMATH = NumberSystem(
    "mpmath",
    lambda p, q: mpmath.mpf(p) / q,
    mpmath.exp,
    mpmath.log,
    mpmath.sqrt,
    lambda x, n: mpmath.power(x, n),
    lambda: +mpmath.pi,
    mpmath.expm1,
    mpmath.mpc,
    max,
    mpmath.binomial,
    mpmath.loggamma,
    mpmath.erf,
    mpmath.erfc,
    mpmath.atan,
)
"""Numbers of mpmath at the precision of ``mpmath.mp``: rounded to nearest, no guarantee."""

NUMPY = NumberSystem(
    "numpy",
    lambda p, q: np.float64(p / q),
    np.exp,
    np.log,
    np.sqrt,
    lambda x, n: np.power(x, np.float64(n) if isinstance(n, int) else n),
    lambda: np.float64(math.pi),
    np.expm1,
    lambda x, y: x + 1j * y,
    np.maximum,
    lambda n, k: np.float64(math.comb(n, k)),
    lambda x: np.float64(math.lgamma(x)),
    np.vectorize(math.erf, otypes=[np.float64]),
    np.vectorize(math.erfc, otypes=[np.float64]),
    np.arctan,
)
"""Doubles (scalars or arrays): fast, no guarantee."""


# ----------- One compiled expression, several number systems: Arb balls, mpmath numbers, numpy doubles, exact fractions

_ACCEPTED = "rational numbers, + - * /, powers, exp, log, sqrt, erf, erfc, atan, binomial, pi and declared symbols"
_KINDS: dict[type, str] = {
    sp.Add: "sum", sp.Mul: "product", sp.Pow: "power", power: "power", sp.exp: "exp", sp.log: "log", sp.Abs: "abs",
    sp.binomial: "binomial", binomial: "binomial", sp.erf: "erf", sp.erfc: "erfc", sp.atan: "atan", type(sp.E): "e",
    type(sp.pi): "pi",
}  # fmt: skip


def kind_of(part: sp.Basic) -> str:
    """Return what a part of a formula is; empty for what has no place in one."""
    if isinstance(part, sp.Rational | sp.Symbol):
        return "symbol" if part.is_Symbol else "number"
    kind = _KINDS.get(type(part), "")
    return "" if kind == "log" and len(part.args) > 1 else kind


def _no_exact(*_: Number) -> NoReturn:
    raise ExpressionError("argument of binomial", "an irrational number", "an integer")


_EXACT = replace(
    NUMPY,
    name="exact",
    rational=Fraction,
    power=lambda x, n: Fraction(x) ** n,
    **dict.fromkeys(("exp", "log", "sqrt", "pi", "log_gamma", "erf", "erfc", "atan"), _no_exact),
)

_Step = Callable[[NumberSystem, Mapping[str, Number], list[Number]], Number]


class Compiled:
    """A formula as steps, one for each of its different parts, which stand before what is made of them."""

    def __init__(self, formula: sp.Expr, names: Collection[str]) -> None:
        self._names, self._steps = names, list[_Step]()
        self.places: dict[sp.Expr, int] = {}
        self._place(formula)

    def __call__(self, ns: NumberSystem, env: Mapping[str, Number]) -> Number:
        """Return the value for numbers by name."""
        return self.values(ns, env)[-1]

    def values(self, ns: NumberSystem, env: Mapping[str, Number], undefined: Number = None) -> list[Number]:
        """Return the values of all parts, in the order of ``places``, and this one where there is none."""
        found: list[Number] = []
        for step in self._steps:
            try:
                found.append(step(ns, env, found))
            except ExpressionError:
                if undefined is None:
                    raise
                found.append(undefined)
        return found

    def _place(self, f: sp.Expr) -> int:
        if f not in self.places:
            step = self._step(f, [self._place(part) for part in f.args])
            self.places[f] = len(self._steps)
            self._steps.append(step)
        return self.places[f]

    def _step(self, f: sp.Expr, places: list[int]) -> _Step:
        match kind := kind_of(f):
            case "number":
                p, q = int(f.p), int(f.q)
                return lambda ns, env, found: ns.rational(p, q)
            case "symbol" if f.name in self._names:
                name = str(f.name)
                return lambda ns, env, found: env[name]
            case "sum" | "product":
                (first, *rest), join = places, add if kind == "sum" else mul

                def joined(ns: NumberSystem, env: Mapping[str, Number], found: list[Number]) -> Number:
                    value = found[first]
                    for i in rest:
                        value = join(value, found[i])
                    return value

                return joined
            case "power":
                return _power(f.args[1], *places)
            case "binomial":
                return _binomial(
                    Compiled(f.args[0], self._names), Compiled(f.args[1], self._names), f.args[1], places[0]
                )
            case "e":
                return lambda ns, env, found: ns.exp(ns.rational(1, 1))
            case "pi":
                return lambda ns, env, found: ns.pi()
            case "" | "symbol":
                raise ExpressionError("expression", str(f), _ACCEPTED)
        inner = places[0]
        if kind == "abs":
            return lambda ns, env, found: abs(found[inner])
        return lambda ns, env, found: getattr(ns, kind)(found[inner])


def _binomial(n: Compiled, k: Compiled, k_expr: sp.Expr, inner: int) -> _Step:
    """Exact for integers; for other upper arguments the falling factorial, whose length must be a plain integer."""

    def value(ns: NumberSystem, env: Mapping[str, Number], found: list[Number]) -> Number:
        try:
            top, bottom = Fraction(n(_EXACT, env)), Fraction(k(_EXACT, env))
            whole = top.denominator == bottom.denominator == 1 and top >= 0
        except (TypeError, ValueError, ArithmeticError):
            whole = False
        if whole and min(bottom, top - bottom) > MOST_FACTORS:
            n_, k_ = (ns.rational(int(v), 1) for v in (top, bottom))
            return ns.exp(ns.log_gamma(n_ + 1) - ns.log_gamma(k_ + 1) - ns.log_gamma(n_ - k_ + 1))
        if whole:
            return ns.rational(math.comb(int(top), int(bottom)) if bottom >= 0 else 0, 1)
        if not k_expr.is_Integer:
            raise ExpressionError("argument of binomial", str(k_expr), "an integer (a Python int for a symbol)")
        x, result = found[inner], ns.rational(int(int(k_expr) >= 0), 1)
        for i in range(int(k_expr)):
            result = result * (x - i) / (i + 1)
        return result

    return value


def _power(exponent: sp.Expr, base: int, place: int) -> _Step:
    if exponent.is_Integer:
        n = int(exponent)
        return lambda ns, env, found: ns.power(found[base], n)
    if exponent.is_Rational and exponent.q == 2:
        # An integer power of a square root keeps balls narrow and is defined at 0, unlike exp(log).
        half = int(exponent.p)
        return lambda ns, env, found: ns.power(ns.sqrt(found[base]), half)
    return lambda ns, env, found: ns.power(found[base], found[place])


@lru_cache(maxsize=4096)
def compile_expression(expr: sp.Expr, symbols: tuple[sp.Symbol, ...] = ()) -> Compiled:
    """Return a function of (number system, values by name) that evaluates ``expr``; nothing is executed as text.

    Values are numbers of the system, or Python ints (needed inside binomial and best for exponents).
    Raises ExpressionError for anything else than rational numbers, + - * /, powers, exp, log, erf, erfc, atan,
    binomial, pi and the given symbols (floats are refused: they are not exact).
    """
    found = Compiled(sp.sympify(expr), frozenset(str(s.name) for s in symbols))
    if any(isinstance(part, sp.Abs) for part in found.places):
        raise ExpressionError("expression", str(expr), _ACCEPTED)
    return found


def arb_value(expr: sp.Expr, precision: int) -> Number:
    """Return a ``flint.arb`` ball, computed with ``precision`` bits, that contains the constant ``expr``.

    Raises ExpressionError for a free symbol, an unsupported function, or a value that is not a finite real number.
    """
    expr = sp.sympify(expr)
    with at_precision(precision):
        value = compile_expression(expr)(FLINT, {})
    if not value.is_finite():
        raise ExpressionError("expression", str(expr), "an expression with a finite real value")
    return value


# ------------------------------------------- Formulas on complex boxes: finite only where the function is holomorphic


def _boxed(x: Number) -> Number:
    return x if isinstance(x, acb_series) else acb(x)


def _nowhere(box: Number) -> Number:
    """Return what has no value: of a power series each coefficient, as sums with it are series again."""
    none = acb(arb("nan"))
    return acb_series([none] * box.prec, box.prec) if isinstance(box, acb_series) else none


def _off_the_cut(x: Number) -> Number:
    """Return the box if it lies in the open right half-plane, where roots and logarithms are holomorphic."""
    box = _boxed(x)
    return box if (box[0] if isinstance(box, acb_series) else box).real > 0 else _nowhere(box)


def _holomorphic_power(base: Number, exponent: Number) -> Number:
    if isinstance(exponent, int):
        return _boxed(base) ** (exponent if isinstance(base, acb_series) else flint.fmpz(exponent))
    return (_boxed(exponent) * _off_the_cut(base).log()).exp()


def _atan(x: Number) -> Number:
    """Return the inverse tangent of a box that does not meet its cuts, which start at i and -i."""
    box = _boxed(x)
    first = box[0] if isinstance(box, acb_series) else box
    return box.atan() if abs(first.imag) < 1 or not first.real.contains(0) else _nowhere(box)


HOLOMORPHIC = replace(
    FLINT,
    name="holomorphic",
    exp=lambda x: _boxed(x).exp(),
    log=lambda x: _off_the_cut(x).log(),
    sqrt=lambda x: _off_the_cut(x).sqrt(),
    power=_holomorphic_power,
    erf=lambda x: _boxed(x).erf(),
    erfc=lambda x: _boxed(x).erfc(),
    atan=_atan,
)
"""Complex boxes of python-flint: whatever meets a pole, or a cut of a root, a logarithm or atan, is not finite."""


class Holomorphic:
    """A formula in one variable as a function of complex boxes at the ambient precision.

    Guarantee
    ---------
    Where a result is finite it contains the values on the box, and the formula is holomorphic there.
    Proof: docs/proofs/smooth_laws.md.

    >>> y = sp.Symbol("y")
    >>> Holomorphic(1 / y, y)(acb(arb(0, 1))).is_finite(), Holomorphic(sp.exp(y), y)(acb(0))
    (False, 1.00000000000000)
    """

    def __init__(self, formula: sp.Expr, variable: sp.Symbol) -> None:
        self.formula, self.name = sp.sympify(formula), str(variable)
        constants: dict[sp.Expr, sp.Symbol] = {}
        varying = _named(self.formula, self.name, constants)
        self.is_constant = varying in constants.values()
        self._constants = [(s.name, compile_expression(c)) for c, s in constants.items()]
        self._compiled = compile_expression(varying, (variable, *constants.values()))
        self._known: tuple[int, dict[str, Number]] = (0, {})

    def __call__(self, box: acb) -> acb:
        """Return a box around the values on a box; a power series for a power series (``flint.acb_series``)."""
        bits = flint.ctx.prec
        if self._known[0] != bits:  # constants are evaluated once for each precision
            self._known = bits, {name: value(HOLOMORPHIC, {}) for name, value in self._constants}
        return _boxed(self._compiled(HOLOMORPHIC, {**self._known[1], self.name: box}))

    def with_slope(self, box: acb) -> tuple[acb, acb]:
        """Return boxes around the values and around the derivatives on a box."""
        found = self(acb_series([box, acb(1)], 2))
        return (found[0], found[1]) if isinstance(found, acb_series) else (found, found * 0)


def _named(formula: sp.Expr, variable: str, constants: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    """Return the formula with a name in place of each part in which the variable, given by name, does not occur."""
    if formula.is_Symbol and formula.name == variable:
        return formula
    if not _varies(formula, variable):
        return constants.setdefault(formula, sp.Symbol(f"constant {len(constants)}"))
    if formula.is_Add or formula.is_Mul:
        fixed = [a for a in formula.args if not _varies(a, variable)]
        parts = [_named(a, variable, constants) for a in formula.args if _varies(a, variable)]
        if fixed:
            parts.append(_named(formula.func(*fixed, evaluate=False), variable, constants))
        return formula.func(*parts, evaluate=False)
    # Exponents that are rational numbers stay what they are: powers and roots are taken as such.
    return formula.func(*(a if a.is_Rational else _named(a, variable, constants) for a in formula.args), evaluate=False)


def _varies(formula: sp.Expr, variable: str) -> bool:
    return any(s.name == variable for s in formula.free_symbols)


# ------------------ Formulas that were rewritten, compared in balls with what they were: no rewriting is trusted unseen

_NARROW = 2.0**-40


def same(a: arb, b: arb) -> bool:
    """Return whether two balls overlap and are narrow."""
    return all(bool(x.is_finite() and x.rad() <= _NARROW * abs(x)) for x in (a, b)) and bool(a.overlaps(b))
