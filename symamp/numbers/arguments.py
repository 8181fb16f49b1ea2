"""What a user may write for a number, and the arguments of public functions: checked once, exact."""

from __future__ import annotations

import re
from numbers import Integral

import sympy as sp
from flint import fmpq

from symamp.errors import ArgumentError, ExpressionError
from symamp.numbers.rationals import (
    MOST_NUMBER_EXPONENT,
    binary,
    decimal,
    described,
    fits,
    fmpq_of,
    fraction,
    fraction_of,
    rational_of,
)
from symamp.numbers.reading import NUMBER, PRINTABLE_BITS, parse_expression, read_formula, sign_of_constant

# --------------- Exact numbers from the outside: whatever a user may write for a number, as the SymPy number that it is

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


# -------------------------------------------------------- The arguments of a question, checked once: n, eps, delta, gap

LARGEST_N = 10**18
_LARGEST_BUDGET = 10**6


def users(n: object) -> int:
    """Return n as an int: an integer from 1 to 10**18, or a number of another type that is one, such as "1e6".

    >>> users("1e6")
    1000000
    """
    accepted = "an integer from 1 to 10**18, or a real number that is one, such as 1e6"
    number = exact_number(n, "n", accepted=accepted)
    if not (number.is_Integer and 1 <= number <= LARGEST_N):
        raise ArgumentError("n", n, accepted)
    return int(number)


def budget(eps: object, name: str = "eps") -> sp.Expr:
    """Return eps as an exact number >= 0.

    >>> budget("log(3)/2")
    log(3)/2
    """
    accepted = "a finite number >= 0"
    number = printable_number(eps, name)
    _check_printable(eps, name)
    side = sign_of_constant(number)
    if side < 0 or (side == 0 and number != 0):  # what 4096 bits do not tell from 0 may be negative
        raise ArgumentError(name, eps, accepted)
    if sign_of_constant(number - _LARGEST_BUDGET) > 0:
        raise ArgumentError(name, eps, "a number of at most 10**6")
    return number


def asked(delta: object, eps: object) -> tuple[str, object]:
    """Return what is asked for, "epsilon" or "delta", with the other one of the two, which is given.

    >>> asked("1e-6", None)
    ('epsilon', '1e-6')
    """
    if (delta is None) == (eps is None):
        raise ArgumentError("delta, eps", "none" if delta is None else "both", "exactly one of delta and eps")
    return ("epsilon", delta) if eps is None else ("delta", eps)


def failure_probability(delta: object) -> fmpq:
    """Return delta as an exact fraction in (0, 1).

    >>> failure_probability("1e-3")
    1/1000
    """
    number = exact_number(delta, "delta")
    if not number.is_Rational:
        raise ArgumentError("delta", delta, "a rational number in (0, 1): int, float, Fraction, Decimal, mpf or string")
    fraction = fmpq_of(number)
    if not 0 < fraction < 1:
        raise ArgumentError("delta", delta, "a number in (0, 1)")
    _check_printable(delta, "delta")
    return fraction


def relative_gap(gap: object) -> float:
    """Return the wanted relative gap, between 1e-12 and 0.1.

    >>> relative_gap(1e-6)
    1e-06
    """
    accepted = "a number from 1e-12 to 0.1"
    if isinstance(gap, str):
        raise ArgumentError("gap", gap, accepted)
    number = exact_number(gap, "gap", accepted=accepted)
    if not (0 < number < 1 and 1e-12 <= float(number) <= 0.1):
        raise ArgumentError("gap", gap, accepted)
    return float(number)


def _check_printable(value: object, argument: str) -> None:
    """Refuse a number that an answer could not repeat: Python prints integers of at most 4300 digits."""
    try:
        str(value)
    except ValueError:
        raise ArgumentError(argument, value, "text such as '1e-5000' for numbers of more than 4300 digits") from None


def digit_count(digits: object) -> int:
    """Return a number of significant digits, from 1 to 1000."""
    if isinstance(digits, bool) or not isinstance(digits, Integral) or not 1 <= int(digits) <= 1000:
        raise ArgumentError("digits", digits, "an integer from 1 to 1000")
    return int(digits)
