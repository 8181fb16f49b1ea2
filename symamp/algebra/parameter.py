"""A parameter of a mechanism: a symbol together with the assumptions under which orders are proved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from symamp.errors import ArgumentError
from symamp.numbers.exact_number import printable_number
from symamp.numbers.formula_size import check_formula

_NAME = re.compile(r"[A-Za-z_]\w{0,31}", re.ASCII)


@dataclass(frozen=True)
class Parameter:
    """A named unknown with the range it may take.

    Real parameters range over the *open* interval (lower, upper); integer ones over lower, lower + 1, ..., upper
    (ends included). A bound may be an expression in parameters declared *before* this one, so that ``p > q`` is
    ``Parameter("p", lower=q)``. ``None`` is no bound.

    >>> Parameter("k", lower=2, integer=True).symbol
    k
    """

    name: str
    lower: sp.Expr | None = None
    upper: sp.Expr | None = None
    integer: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ArgumentError("parameter name", self.name, "an ASCII identifier of at most 32 characters")
        if not isinstance(self.integer, bool):
            raise ArgumentError(f"integer of {self.name}", self.integer, "True or False")
        for side in ("lower", "upper"):
            bound, place = getattr(self, side), f"{side} bound of {self.name}"
            if isinstance(bound, sp.Expr) and bound.free_symbols:
                check_formula(bound, place)
            elif bound is not None:
                object.__setattr__(self, side, printable_number(bound, place))

    @property
    def symbol(self) -> sp.Symbol:
        """The SymPy symbol: always the same one for the same name, real (or integer), without a sign."""
        return sp.Symbol(self.name, integer=True) if self.integer else sp.Symbol(self.name, real=True)

    def given(self, values: Mapping[sp.Symbol, sp.Expr]) -> Parameter:
        """Return the parameter with the values of others put into its bounds."""
        lower, upper = (None if b is None else b.subs(values) for b in (self.lower, self.upper))
        return Parameter(self.name, lower, upper, self.integer)

    def describe(self) -> str:
        """Return the range in words, e.g. ``integer k >= 2``."""
        kind = "integer " if self.integer else ""
        less = "<=" if self.integer else "<"
        left = f"{self.lower} {less} " if self.lower is not None and self.upper is not None else ""
        right = f" {less} {self.upper}" if self.upper is not None else ""
        if self.lower is not None and self.upper is None:
            right = f" {less.replace('<', '>')} {self.lower}"
        return f"{kind}{left}{self.name}{right}"


EPS0 = Parameter("eps0", lower=sp.Integer(0))
"""The local budget, a positive real."""

_LARGEST_BUDGET = 1000


def check_range(parameter: Parameter, value: sp.Expr, earlier: Mapping[sp.Symbol, sp.Expr]) -> None:
    """Raise ArgumentError unless the number lies in the parameter's range, given the values of earlier parameters."""
    accepted = parameter.describe()
    if parameter.integer and not value.is_Integer:
        raise ArgumentError(parameter.name, value, accepted)
    if parameter.name == EPS0.name and value > _LARGEST_BUDGET:
        raise ArgumentError(parameter.name, value, f"a local budget of at most {_LARGEST_BUDGET}")
    for bound, side in ((parameter.lower, 1), (parameter.upper, -1)):
        gap = sp.Integer(1) if bound is None else side * (value - bound.subs(earlier))
        if not gap.free_symbols and (gap.is_negative or (gap.is_zero and not parameter.integer)):
            raise ArgumentError(parameter.name, value, accepted)
