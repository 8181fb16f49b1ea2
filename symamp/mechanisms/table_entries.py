"""The entries of a table: numbers, text and SymPy expressions as exact numbers, or as formulas in the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from symamp.algebra.parameter import EPS0, Parameter, admissible_points, probing_points
from symamp.derivation.numeric_table import Exact
from symamp.errors import FormatError
from symamp.mechanisms.table_input import rational
from symamp.numbers.enclosure import Point
from symamp.numbers.exact_number import printable_number
from symamp.numbers.expression import parse_expression
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import read_formula


def declared_parameters(parameters: object) -> dict[str, Parameter]:
    """Return the parameters by name; FormatError for anything but a list of different ones."""
    if not isinstance(parameters, Sequence) or not all(isinstance(p, Parameter) for p in parameters):
        raise FormatError("parameters", parameters, "a list of Parameter, such as [Parameter('p', lower=0, upper=1)]")
    declared = {p.name: p for p in parameters}
    if len(declared) != len(parameters):
        raise FormatError("parameters", [p.name for p in parameters], "different names")
    return declared


class Entries:
    """Reads entries as expressions over the parameters' own symbols; ``found`` are the parameters not declared."""

    def __init__(self, declared: Mapping[str, Parameter]) -> None:
        self.declared = declared
        self.found: dict[str, Parameter] = {}
        self.symbols: dict[str, sp.Symbol] = {}
        self.seen: dict[object, sp.Expr] = {}
        self.points: dict[tuple[str, ...], tuple[list[Point], list[Point]]] = {}

    def exact(self, value: object, x: str, y: str) -> Exact:
        """Return the probability of message y on input x, as a fraction where it is one."""
        number = rational(value)
        if number is not None:
            return number
        entry = self.entry(value, f'table["{x}"]["{y}"]')
        return fmpq_of(entry) if entry.is_Rational else entry

    def entry(self, value: object, place: str) -> sp.Expr:
        """Return an entry as an expression, read once."""
        if not isinstance(value, str | sp.Expr):
            return printable_number(value, place)
        if value not in self.seen:
            constant = isinstance(value, sp.Expr) and not value.free_symbols
            read = self.text if isinstance(value, str) else printable_number if constant else self.formula
            self.seen[value] = read(value, place)
        return self.seen[value]

    def text(self, value: str, place: str) -> sp.Expr:
        """Return what text says; symbols without declaration are found parameters."""
        known = self.known()
        symbols = {n: p.symbol for n, p in known.items()}
        points, probes = self.admissible()
        entry = parse_expression(value, symbols, argument=place, points=points, probes=probes)
        for symbol in sorted(entry.free_symbols, key=str):
            self.found.setdefault(symbol.name, known[symbol.name])
        return entry

    def formula(self, value: sp.Expr, place: str) -> sp.Expr:
        """Return a SymPy expression over the parameters' own symbols."""
        swap = {}
        for symbol in sorted(value.free_symbols, key=str):
            if self.symbols.setdefault(symbol.name, symbol) != symbol:
                raise FormatError(place, f"two different SymPy symbols named {symbol.name}", "one symbol for each name")
            parameter = self.declared.get(symbol.name) or self.found.setdefault(symbol.name, _assumed(symbol))
            swap[symbol] = parameter.symbol
        return read_formula(value, place, swap, *self.admissible(), floats=True)

    def known(self) -> dict[str, Parameter]:
        """Return all parameters that an entry may have."""
        return {EPS0.name: EPS0, **self.found, **self.declared}

    def admissible(self) -> tuple[list[Point], list[Point]]:
        """Return points at which what SymPy makes of an entry is compared with it, and some where it must be real."""
        known = self.known()
        names = tuple(known)
        if names not in self.points:
            parameters = tuple(known.values())
            self.points[names] = [*admissible_points(parameters)], [*probing_points(parameters)]
        return self.points[names]


def _assumed(symbol: sp.Symbol) -> Parameter:
    """Return the parameter that a SymPy symbol's own assumptions describe."""
    if symbol.name == EPS0.name:
        return EPS0
    integer = bool(symbol.is_integer)
    if symbol.is_positive:
        return Parameter(symbol.name, lower=sp.Integer(1 if integer else 0), integer=integer)
    return Parameter(symbol.name, lower=sp.Integer(0) if integer and symbol.is_nonnegative else None, integer=integer)
