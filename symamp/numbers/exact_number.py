"""Exact numbers from the outside: whatever a user may write for a number, as the SymPy number that it is."""

from __future__ import annotations

import re

import sympy as sp

from symamp.errors import ArgumentError, ExpressionError
from symamp.numbers.expression import NUMBER, parse_expression
from symamp.numbers.formula_size import PRINTABLE_BITS
from symamp.numbers.rationals import (
    MOST_NUMBER_EXPONENT,
    binary,
    decimal,
    described,
    fits,
    fraction,
    fraction_of,
    rational_of,
)
from symamp.numbers.reading import read_formula

_PLAIN_NUMBER = re.compile(rf"[+-]?{NUMBER}", re.ASCII)
_REAL = (
    "a finite real number below 2**5000 (int, float, Fraction, Decimal, NumPy, mpmath, SymPy, text such as '1e-300')"
)

_TEXT = "a number such as 10, 0.1, 1e-300, 1/3 or log(3)"


def exact_number(value: object, argument: str, *, accepted: str = _REAL) -> sp.Expr:
    """Return the real number that ``value`` is, exactly, as a SymPy number.

    A binary floating-point number counts as the fraction it is; text counts as it is written. SymPy constants such as
    ``log(3)`` are kept. Numbers lie below 2**5000 in size; decimal exponents go down to -100000.

    Raises ArgumentError for booleans, nan, infinities, complex numbers, numbers beyond the limits and other types;
    ExpressionError for text that ``parse_expression`` refuses. Both name ``argument`` and say what is accepted.

    >>> exact_number("1e-3", "delta"), exact_number(0.5, "eps"), exact_number("log(3)", "eps0")
    (1/1000, 1/2, log(3))
    >>> exact_number(float("nan"), "delta")
    Traceback (most recent call last):
    ...
    symamp.errors.ArgumentError: delta: got nan; accepted: a finite real number below 2**5000 (int, ...
    """
    match value:
        case str():
            if not _PLAIN_NUMBER.fullmatch(value.strip()):
                return _parsed(value, argument)
            number = decimal(value.strip(), MOST_NUMBER_EXPONENT)
        case sp.Float():
            number = binary(value._mpf_)
        case sp.Basic():
            return _constant(value, argument, accepted)
        case _:
            number = fraction(value)
    if number is None or not fits(number):
        raise ArgumentError(argument, described(value), accepted)
    return rational_of(number)


def printable_number(value: object, argument: str) -> sp.Expr:
    """Return the number that ``value`` is, for use in formulas: these are printed, and Python prints 4300 digits.

    >>> printable_number("1e-3", "eps0")
    1/1000
    """
    number = exact_number(value, argument)
    if any(r.q.bit_length() > PRINTABLE_BITS for r in number.atoms(sp.Rational)):
        raise ArgumentError(argument, described(value), "numbers of at most 4000 digits")
    return number


def _parsed(text: str, argument: str) -> sp.Expr:
    try:
        return parse_expression(text, {}, argument=argument)
    except ExpressionError as error:
        why = "" if text.strip().isidentifier() else f"; {error.accepted}"
        raise ExpressionError(argument, error.value, f"{_TEXT}{why}") from None


def _constant(value: sp.Basic, argument: str, accepted: str) -> sp.Expr:
    """Return a SymPy constant that text could denote, compared with its own tree."""
    if isinstance(value, sp.Rational) and fits(fraction_of(value)):
        return value
    try:
        if not value.free_symbols:
            return read_formula(value, argument, {})
    except (ExpressionError, RecursionError):
        pass
    raise ArgumentError(argument, described(value), accepted)
