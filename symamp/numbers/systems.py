"""The number systems in which one formula is evaluated: Arb balls, mpmath numbers, numpy doubles, exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn

import flint
import mpmath
import numpy as np
import sympy as sp
from flint import acb, acb_series, arb

from symamp.errors import ExpressionError
from symamp.numbers.surroundings import at_precision
from symamp.numbers.unevaluated import MOST_FACTORS, power

# ----------------------- The number systems in which one formula is evaluated: Arb balls, mpmath numbers, numpy doubles

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
    factorial: Callable[[int], Number]
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
    lambda n: flint.arb(n).fac(),
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
    mpmath.factorial,
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
    lambda n: np.float64(math.factorial(n)),
    lambda x: np.float64(math.lgamma(x)),
    np.vectorize(math.erf, otypes=[np.float64]),
    np.vectorize(math.erfc, otypes=[np.float64]),
    np.arctan,
)
"""Doubles (scalars or arrays): fast, no guarantee."""


# ----------- One compiled expression, several number systems: Arb balls, mpmath numbers, numpy doubles, exact fractions

_ACCEPTED = "rational numbers, + - * /, powers, exp, log, sqrt, erf, erfc, atan, binomial, pi and declared symbols"
_NAMED = {sp.erf: "erf", sp.erfc: "erfc", sp.atan: "atan"}


def _no_exact(*_: Number) -> NoReturn:
    raise ExpressionError("argument of binomial", "an irrational number", "an integer")


_EXACT = replace(
    NUMPY,
    name="exact",
    rational=Fraction,
    power=lambda x, n: Fraction(x) ** n,
    **dict.fromkeys(("exp", "log", "sqrt", "pi", "log_gamma", "erf", "erfc", "atan"), _no_exact),
)

Compiled = Callable[[NumberSystem, Mapping[str, Number]], Number]


def _binomial(n: Compiled, k: Compiled, k_expr: sp.Expr) -> Compiled:
    """Exact for integers; for other upper arguments the falling factorial, whose length must be a plain integer."""

    def value(ns: NumberSystem, env: Mapping[str, Number]) -> Number:
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
        x, result = n(ns, env), ns.rational(int(int(k_expr) >= 0), 1)
        for i in range(int(k_expr)):
            result = result * (x - i) / (i + 1)
        return result

    return value


def _power(base: sp.Expr, exponent: sp.Expr, node: Callable[[sp.Expr], Compiled]) -> Compiled:
    f = node(base)
    if exponent.is_Integer:
        n = int(exponent)
        return lambda ns, env: ns.power(f(ns, env), n)
    if exponent.is_Rational and exponent.q == 2:
        # An integer power of a square root keeps balls narrow and is defined at 0, unlike exp(log).
        half = int(exponent.p)
        return lambda ns, env: ns.power(ns.sqrt(f(ns, env)), half)
    g = node(exponent)
    return lambda ns, env: ns.power(f(ns, env), g(ns, env))


def _node(expr: sp.Expr, names: frozenset[str], memo: dict[sp.Expr, Compiled]) -> Compiled:
    found = memo.get(expr)
    if found is not None:
        return found

    def node(child: sp.Expr) -> Compiled:
        return _node(child, names, memo)

    result: Compiled
    if expr.is_Rational:
        p, q = int(expr.p), int(expr.q)
        result = lambda ns, env: ns.rational(p, q)  # noqa: E731
    elif expr.is_Symbol and expr.name in names:
        name = str(expr.name)
        result = lambda ns, env: env[name]  # noqa: E731
    elif expr.is_Add or expr.is_Mul:
        first, *rest = [node(a) for a in expr.args]
        add = bool(expr.is_Add)

        def result(ns: NumberSystem, env: Mapping[str, Number]) -> Number:
            total = first(ns, env)
            for f in rest:
                value = f(ns, env)
                total = total + value if add else total * value
            return total
    elif expr is sp.E or isinstance(expr, sp.exp):
        inner = node(sp.S.One if expr is sp.E else expr.args[0])
        result = lambda ns, env: ns.exp(inner(ns, env))  # noqa: E731
    elif isinstance(expr, sp.log) and len(expr.args) == 1:
        inner = node(expr.args[0])
        result = lambda ns, env: ns.log(inner(ns, env))  # noqa: E731
    elif isinstance(expr, sp.Pow | power):
        result = _power(expr.args[0], expr.args[1], node)
    elif expr.func in _NAMED:
        inner, function = node(expr.args[0]), _NAMED[expr.func]
        result = lambda ns, env: getattr(ns, function)(inner(ns, env))  # noqa: E731
    elif expr is sp.pi:
        result = lambda ns, env: ns.pi()  # noqa: E731
    elif isinstance(expr, sp.binomial):
        result = _binomial(node(expr.args[0]), node(expr.args[1]), expr.args[1])
    else:
        raise ExpressionError("expression", str(expr), _ACCEPTED)
    memo[expr] = result
    return result


def compile_expression(expr: sp.Expr, symbols: Sequence[sp.Symbol] = ()) -> Compiled:
    """Return a function of (number system, values by name) that evaluates ``expr``; nothing is executed as text.

    Values are numbers of the system, or Python ints (needed inside binomial and best for exponents).
    Raises ExpressionError for anything else than rational numbers, + - * /, powers, exp, log, erf, erfc, atan,
    binomial, pi and the given symbols (floats are refused: they are not exact).
    """
    return _node(sp.sympify(expr), frozenset(str(s.name) for s in symbols), {})


@lru_cache(maxsize=4096)
def compile_constant(expr: sp.Expr) -> Compiled:
    """Return what ``compile_expression`` does for a formula without symbols, kept."""
    return compile_expression(expr)


def arb_value(expr: sp.Expr, precision: int) -> Number:
    """Return a ``flint.arb`` ball, computed with ``precision`` bits, that contains the constant ``expr``.

    Raises ExpressionError for a free symbol, an unsupported function, or a value that is not a finite real number.
    """
    expr = sp.sympify(expr)
    with at_precision(precision):
        value = compile_constant(expr)(FLINT, {})
    if not value.is_finite():
        raise ExpressionError("expression", str(expr), "an expression with a finite real value")
    return value


# ------------------------------------------- Formulas on complex boxes: finite only where the function is holomorphic


def _boxed(x: Number) -> Number:
    return x if isinstance(x, acb_series) else acb(x)


def _off_the_cut(x: Number) -> Number:
    """Return the box if it lies in the open right half-plane, where roots and logarithms are holomorphic."""
    box = _boxed(x)
    return box if (box[0] if isinstance(box, acb_series) else box).real > 0 else acb(arb("nan"))


def _holomorphic_power(base: Number, exponent: Number) -> Number:
    if isinstance(exponent, int):
        return _boxed(base) ** (exponent if isinstance(base, acb_series) else flint.fmpz(exponent))
    return (_boxed(exponent) * _off_the_cut(base).log()).exp()


def _atan(x: Number) -> Number:
    """Return the inverse tangent of a box that does not meet its cuts, which start at i and -i."""
    box = _boxed(x)
    first = box[0] if isinstance(box, acb_series) else box
    return box.atan() if abs(first.imag) < 1 or not first.real.contains(0) else acb(arb("nan"))


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
        return (found[0], found[1]) if isinstance(found, acb_series) else (found, acb(0))


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
