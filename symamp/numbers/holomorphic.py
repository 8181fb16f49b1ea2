"""Formulas on complex boxes: finite results only where the function is holomorphic on the whole box."""

from __future__ import annotations

from dataclasses import replace

import flint
import sympy as sp
from flint import acb, acb_series, arb

from symamp.numbers.number_system import FLINT, Number
from symamp.numbers.systems import compile_expression


def _boxed(x: Number) -> Number:
    return x if isinstance(x, acb_series) else acb(x)


def _off_the_cut(x: Number) -> Number:
    """Return the box if it lies in the open right half-plane, where roots and logarithms are holomorphic."""
    box = _boxed(x)
    return box if (box[0] if isinstance(box, acb_series) else box).real > 0 else acb(arb("nan"))


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(exponent, int):
        return _boxed(base) ** (exponent if isinstance(base, acb_series) else flint.fmpz(exponent))
    return (acb(exponent) * _off_the_cut(base).log()).exp()


HOLOMORPHIC = replace(
    FLINT,
    name="holomorphic",
    exp=lambda x: _boxed(x).exp(),
    log=lambda x: _off_the_cut(x).log(),
    sqrt=lambda x: _off_the_cut(x).sqrt(),
    power=_power,
)
"""Complex boxes of python-flint: whatever meets a pole, or a cut of a root or a logarithm, is not finite."""


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
        self.formula, self.name = formula, str(variable)
        self._compiled = compile_expression(formula, (variable,))

    def __call__(self, box: acb) -> acb:
        """Return a box around the values on a box; a power series for a power series (``flint.acb_series``)."""
        return _boxed(self._compiled(HOLOMORPHIC, {self.name: box}))

    def with_slope(self, box: acb) -> tuple[acb, acb]:
        """Return boxes around the values and around the derivatives on a box.

        >>> y = sp.Symbol("y")
        >>> Holomorphic(y**2, y).with_slope(acb(3))
        (9.00000000000000, 6.00000000000000)
        """
        found = self(acb_series([box, acb(1)], 2))
        return (found[0], found[1]) if isinstance(found, acb_series) else (found, acb(0))
