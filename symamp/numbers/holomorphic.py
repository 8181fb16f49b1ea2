"""Formulas on complex boxes: finite results only where the function is holomorphic on the whole box."""

from __future__ import annotations

from dataclasses import replace

import flint
import sympy as sp
from flint import acb, acb_series, arb

from symamp.numbers.systems import FLINT, Number, compile_expression


def _boxed(x: Number) -> Number:
    return x if isinstance(x, acb_series) else acb(x)


def _off_the_cut(x: Number) -> Number:
    """Return the box if it lies in the open right half-plane, where roots and logarithms are holomorphic."""
    box = _boxed(x)
    return box if (box[0] if isinstance(box, acb_series) else box).real > 0 else acb(arb("nan"))


def _power(base: Number, exponent: Number) -> Number:
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
    power=_power,
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
        """Return boxes around the values and around the derivatives on a box.

        >>> y = sp.Symbol("y")
        >>> Holomorphic(y**2, y).with_slope(acb(3))
        (9.00000000000000, 6.00000000000000)
        """
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
