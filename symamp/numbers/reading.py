"""User input as exact numbers and formulas: nothing is executed, sizes are limited, SymPy's result is checked.

In the order of the way in: the arguments of a question, one number, text, SymPy objects, what SymPy builds of them,
the check of sizes, where a formula is undefined, and values in balls.

A formula *as it is written* is a SymPy expression made with ``evaluate=False``: a tree in which SymPy has rewritten
nothing. Sizes are checked on it (``checked``), it is valued in balls (``node_values``), and only then built with
evaluation (``evaluated``), whose rewriting is checked against those values.
"""

from __future__ import annotations

import ast
import math
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from keyword import iskeyword
from numbers import Integral
from typing import Any, NamedTuple, Never, TypeAlias, TypeVar

import flint
import numpy as np
import sympy as sp
from flint import arb, fmpq

from symamp.errors import ArgumentError, ExpressionError, Problem
from symamp.numbers.rationals import fmpq_of, fraction_of, rational_of
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import FLINT, Compiled, kind_of
from symamp.numbers.unevaluated import PRINTABLE_BITS, binomial, power

# ------------------------------------------------------------ Limits: what is beyond them is refused before it is built

# SymPy evaluates while it builds (``exp(10**9*log(2))`` becomes an integer of a billion bits, ``sqrt`` of an integer
# is factored) and may test an integer for primality before it knows its sign; Python refuses to print integers of more
# than 4300 digits. The limits are far above what mechanisms need and keep all of that fast.

LARGEST_N = 10**18
_LARGEST_EPS = 10**6
_INTEGER_BITS = 5000  # of numbers in size
_NUMBER_BITS = 350_000  # of denominators: decimal exponents down to -100,000
_NUMBER_EXPONENT = 100_000  # decimal exponents of a number that is given by itself
_FORMULA_EXPONENT = 3000  # decimal exponents of numbers within a formula
MOST_DIGITS = 1000  # of a number as it is written
_MOST_CHARACTERS, MOST_TOKENS = 4096, 1000  # of a text
_EXP_HEIGHT = 2  # levels of exp within exp
_LARGEST_CHOICE = 5000  # numbers in a binomial
MAGNITUDE = 100_000  # constants lie between 2**-100000 and 2**100000
_LARGEST_SCALE = 2**50_000  # products of coefficients are not followed beyond

# Precisions in bits, the quick one first; the last one decides what counts as undecided.
_SIGN_PRECISIONS = (256, 4096)
_CHECK_PRECISIONS = (128, 1024, 4096)
_POINT_PRECISION = 128
_MORE_POINTS = 60  # tried where a formula has no value at the generic points


class Limits(NamedTuple):
    """What a formula may hold; bits are those of all numbers in it, after powers have been carried out."""

    depth: int
    nodes: int
    exponent: int
    root: int
    exponent_bits: int
    power_bits: int
    total_bits: int
    root_bits: int


# Text is held to tighter limits than SymPy objects, which may be products of formulas.
TEXT = Limits(64, 4096, 1000, 100, 200, 5000, 10_000, 1000)
OBJECT = Limits(160, 20_000, 10_000, 10_000, 2000, 10_000, 50_000, 50_000)

_PARTS = "numbers, symbols, + - * /, powers, exp, log, sqrt, binomial"
_GRAMMAR = "numbers, declared symbols, + - * / **, parentheses, exp, log, sqrt, binomial"
_NESTING = f"at most {TEXT.depth} levels of nesting"

Point: TypeAlias = Mapping[str, Fraction]
Refuse: TypeAlias = Callable[[sp.Expr, str], Never]

_Item = TypeVar("_Item")
Real: TypeAlias = "int | float | str | Fraction | Decimal | sp.Expr"
"""What a public function reads as an exact number: mpmath, NumPy and FLINT numbers, too, and text such as "1/3"."""
Count: TypeAlias = "int | float | str | sp.Integer"
"""What it reads as a number of users, rounds or reports: whole numbers, such as 10**6, 1e6 or "1e6"."""
Compared: TypeAlias = "Real | Iterable[tuple[object, object]]"
"""Which inputs are compared: "all", those within a distance, or pairs."""


# -------------------------------------------------------- The arguments of a question, checked once: n, eps, delta, gap


def listed(values: Iterable[_Item], argument: str, of: str = "numbers") -> tuple[_Item, ...]:
    """Return what is given as a list; ArgumentError for text, and for what is no list."""
    if not isinstance(values, str | bytes):
        with suppress(TypeError):
            return tuple(values)
    raise ArgumentError(argument, values, f"a list of {of}")


def _within(value: object, argument: str, accepted: str, is_accepted: Callable[[sp.Expr], bool]) -> sp.Expr:
    number = exact_number(value, argument, accepted=accepted)
    if not is_accepted(number):
        raise ArgumentError(argument, value, accepted)
    return number


def users(n: object) -> int:
    """Return n as an int: an integer from 1 to 10**18, or a number of another type that is one, such as "1e6"."""
    if n is None:
        raise ArgumentError("n", Problem("it is missing"), "give the number of users, such as n=10**6")
    accepted = (
        "an integer from 1 to 10**18, or a real number that is one, such as 1e6; for a random number of users, see "
        "sa.participation"
    )
    return whole_number(n, "n", LARGEST_N, accepted)


def whole_number(value: object, name: str, most: int, accepted: str = "", *, least: int = 1) -> int:
    """Return an integer from ``least`` to ``most``, or a number of another type that is one, such as "1e3", as an int.

    >>> whole_number("1e3", "rounds", 10**6)
    1000
    """
    told = accepted or f"an integer from {least} to {most}"
    if value is None:
        raise ArgumentError(name, value, told)
    return int(_within(value, name, told, lambda x: bool(x.is_Integer and least <= x <= most)))


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
    if sign_of_constant(number - _LARGEST_EPS) > 0:
        raise ArgumentError(name, eps, f"a number of at most {_LARGEST_EPS}")
    return number


def asked(delta: object, eps: object) -> tuple[str, object]:
    """Return what is asked for, "epsilon" or "delta", with the other one of the two, which is given."""
    if (delta is None) == (eps is None):
        given = Problem("neither is given" if delta is None else "both are given")
        raise ArgumentError("delta, eps", given, "give exactly one of delta and eps")
    return ("epsilon", delta) if eps is None else ("delta", eps)


def failure_probability(delta: object) -> fmpq:
    """Return delta as an exact fraction in (0, 1)."""
    accepted = "a finite rational number in (0, 1), such as 1e-6 or '1/1000'"
    number = _within(delta, "delta", accepted, lambda x: bool(x.is_Rational and 0 < x < 1))
    _check_printable(delta, "delta")
    return fmpq_of(number)


def relative_gap(gap: object, least: str = "1e-12") -> float:
    """Return the wanted relative gap, from ``least`` to 0.1.

    >>> relative_gap("1/50")
    0.02
    """
    accepted = f"a number from {least} to 0.1"
    return float(_within(gap, "gap", accepted, lambda x: bool(0 < x < 1) and float(least) <= float(x) <= 0.1))


def _check_printable(value: object, argument: str) -> None:
    """Refuse a number that an answer could not repeat: Python prints integers of at most 4300 digits."""
    try:
        str(value)
    except ValueError:
        raise ArgumentError(argument, value, "text such as '1e-5000' for a number of more than 4300 digits") from None


def digit_count(digits: object) -> int:
    """Return a number of significant digits, from 1 to 1000."""
    if isinstance(digits, bool) or not isinstance(digits, Integral) or not 1 <= int(digits) <= 1000:
        raise ArgumentError("digits", digits, "an integer from 1 to 1000")
    return int(digits)


# --------------- Exact numbers from the outside: whatever a user may write for a number, as the SymPy number that it is

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN_NUMBER = re.compile(rf"[+-]?{_NUMBER}", re.ASCII)
_REAL = (
    "a finite real number below 2**5000 (int, float, Fraction, Decimal, NumPy, mpmath, SymPy, text such as '1e-300')"
)


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
    symamp.errors.ArgumentError: delta: got nan, expected a finite real number below 2**5000 (int, ...
    """
    match value:
        case str():
            if not _PLAIN_NUMBER.fullmatch(value.strip()):
                return _parsed(value, argument)
            number = decimal(value.strip(), _NUMBER_EXPONENT)
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
    """Return the number that ``value`` is, for use in formulas: these are printed, and Python prints 4300 digits."""
    number = exact_number(value, argument)
    if any(r.q.bit_length() > PRINTABLE_BITS for r in number.atoms(sp.Rational)):
        raise ArgumentError(argument, described(value), "a number of at most 4000 digits")
    return number


def _parsed(text: str, argument: str) -> sp.Expr:
    try:
        return parse_expression(text, {}, argument=argument)
    except ExpressionError as error:
        why = "" if text.strip().isidentifier() else f"; {error.accepted}"
        raise ExpressionError(argument, error.value, f"a number such as 10, 0.1, 1e-300, 1/3 or log(3){why}") from None


def _constant(value: sp.Basic, argument: str, accepted: str) -> sp.Expr:
    """Return a SymPy constant that text could denote, compared with what is written."""
    if isinstance(value, sp.Rational) and fits(value):
        return value
    try:
        if not value.free_symbols:
            return read_formula(value, argument, {})
    except (ExpressionError, RecursionError):
        pass
    raise ArgumentError(argument, described(value), accepted)


def fits(number: Fraction | sp.Rational) -> bool:
    """Return whether the number is within the limits that keep SymPy and printing fast."""
    return bool(abs(number) < 2**_INTEGER_BITS) and number.denominator.bit_length() <= _NUMBER_BITS


def decimal(text: str, most_exponent: int) -> Fraction | None:
    """Return the fraction that the decimal text is; None when it has too many digits or too large an exponent."""
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > MOST_DIGITS or len(exponent) > 9 or abs(int(exponent or 0)) > most_exponent:
        return None
    return Fraction(text)


def binary(number: tuple[int, int, int, int]) -> Fraction | None:
    """Return the value of mpmath's (sign, mantissa, exponent, bits); None for nan, infinities, huge exponents."""
    sign, mantissa, exponent, _ = (int(part) for part in number)
    if abs(exponent) > _NUMBER_BITS or (mantissa == 0 and exponent != 0):
        return None
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


def fraction(value: object) -> Fraction | None:
    """Return the value of a number of Python, NumPy, mpmath or python-flint; None for what is not a finite real."""
    match value:
        case bool():
            return None
        case int() | np.integer() | flint.fmpz():
            return Fraction(int(value))
        case float() | np.floating():
            return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else None
        case Fraction() | flint.fmpq():
            return fraction_of(value)
        case Decimal():
            small = value.is_finite() and abs(value.adjusted()) <= _NUMBER_EXPONENT
            return Fraction(value) if small and len(value.as_tuple().digits) <= _NUMBER_EXPONENT else None
    # Every context of mpmath has a type of its own; python-flint's enclosures also look like mpmath numbers.
    return binary(value._mpf_) if hasattr(value, "_mpf_") and not isinstance(value, arb) else None


def described(value: object) -> str:
    """Return the value where its text is short, else its type: Python does not print long integers; repr may raise."""
    simple = isinstance(value, bool | float | complex | str | Decimal)
    if simple or (isinstance(value, sp.Atom) and not isinstance(value, sp.Rational | sp.Float)):
        return str(value)
    return f"a value of type {type(value).__name__}"


# ----------------------------- Expressions from text: nothing is executed, and nothing can make SymPy compute for hours

# Text is split into tokens of a fixed alphabet, parsed by ``ast``, and read node by node from a whitelist; sizes are
# checked before SymPy evaluates anything, and what it made of the text is compared with the text in balls.

# A number must not touch a letter: Python reads 1if 2else 3 with a warning, and 0x10, 1_000 and 1j as numbers.
_TOKEN = re.compile(rf"\s+|{_NUMBER}(?![\w.])|[A-Za-z_]\w*|\*\*|[-+*/(),]", re.ASCII)
_FUNCTIONS: dict[str, Any] = {"exp": sp.exp, "log": sp.log, "binomial": binomial, "sqrt": sp.Pow}


def parse_expression(
    text: str,
    symbols: Mapping[str, sp.Symbol],
    *,
    argument: str = "expression",
    points: Sequence[Point] = (),
    probes: Sequence[Point] = (),
) -> sp.Expr:
    """Return the SymPy expression that the text denotes, exact: a decimal is the fraction that is written.

    Accepted are integers, decimals, the names in ``symbols``, ``+ - * / **``, parentheses, and the functions ``exp``,
    ``log``, ``sqrt``, ``binomial``; sizes are limited as docs/mechanism_format.md says. Symbols must be as
    ``Parameter.symbol`` makes them, without a sign: SymPy would look for the roots of polynomials in the others.

    What SymPy makes of the text is compared, in balls, with the text itself: at ``points``, admissible values of the
    symbols by name, or at generic ones. At ``probes`` the text must be real and finite.

    Raises ExpressionError, and nothing else, for any other text: unknown names, anything too large, division by zero,
    values that are not real, constants that cannot be told from zero. ``argument`` names the text in the message.

    >>> parse_expression("0.1*exp(x) + 1/3", {"x": sp.Symbol("x", real=True)})
    exp(x)/10 + 1/3
    >>> parse_expression("2^10", {})
    Traceback (most recent call last):
    ...
    symamp.errors.ExpressionError: expression: got ^ in 2^10, expected ** for powers, not ^
    """
    if not isinstance(text, str):
        raise ExpressionError(argument, type(text).__name__, "text")
    for name, symbol in symbols.items():
        if any(fact is not None for fact in (symbol.is_extended_positive, symbol.is_extended_negative, symbol.is_zero)):
            wrong = Problem(f"the symbol {name} was made with a sign, such as positive=True")
            raise ExpressionError(argument, wrong, "make it by Parameter(name).symbol")
    return _Reader(text, symbols, argument).expression(points, probes)


class _Reader:
    """One text on its way to a formula."""

    def __init__(self, text: str, symbols: Mapping[str, sp.Symbol], argument: str) -> None:
        self.text, self.symbols, self.argument = text, symbols, argument
        self.places: dict[sp.Expr, ast.expr] = {}

    def expression(self, points: Sequence[Point], probes: Sequence[Point]) -> sp.Expr:
        try:
            self.tokens()
            # Blanks for newlines: the text is one line, so that offsets in it are offsets of characters.
            self.text = re.sub(r"\s", " ", self.text.strip(), flags=re.ASCII)
            formula = self.formula(ast.parse(self.text, mode="eval").body, 0)
            return built(formula, self.symbols, TEXT, self.refused, points, probes)
        except SyntaxError as error:
            self.refuse(None, f"a complete expression ({error.msg})")
        except (RecursionError, MemoryError):
            self.refuse(None, _NESTING)

    def refuse(self, node: ast.expr | str | None, accepted: str) -> Never:
        place = self.text[node.col_offset : node.end_col_offset] if isinstance(node, ast.expr) else node
        got = self.text if place is None or place == self.text else f"{place[:80]} in {self.text}"
        raise ExpressionError(self.argument, got, accepted) from None

    def refused(self, formula: sp.Expr, accepted: str) -> Never:
        self.refuse(self.places.get(formula), accepted)

    def tokens(self) -> None:
        """Refuse all text that is not made of our tokens, before Python's parser sees it."""
        if len(self.text) > _MOST_CHARACTERS:
            self.refuse(None, f"at most {_MOST_CHARACTERS} characters")
        position = count = 0
        while position < len(self.text):
            token = _TOKEN.match(self.text, position)
            if token is None:
                character = self.text[position]
                self.refuse(character, "** for powers, not ^" if character == "^" else _GRAMMAR)
            if iskeyword(token[0]):
                self.refuse(token[0], f"a name that is no keyword of Python: {token[0]} is one")
            position, count = token.end(), count + (not token[0].isspace())
        if not 0 < count <= MOST_TOKENS:
            self.refuse(None, f"1 to {MOST_TOKENS} numbers, names and signs")

    def formula(self, node: ast.expr, depth: int) -> sp.Expr:
        if depth > TEXT.depth:
            self.refuse(node, _NESTING)
        found = self.read(node, depth + 1)
        self.places.setdefault(found, node)
        return found

    def read(self, node: ast.expr, below: int) -> sp.Expr:
        match node:
            case ast.Constant():
                return self.literal(node)
            case ast.Name(id=name):
                if name not in self.symbols:
                    known = ", ".join(self.symbols)
                    declared = (
                        f"a declared name: {known}; declare {name} among the parameters, in Python as "
                        f'sa.Parameter("{name}")'
                    )
                    self.refuse(node, declared if known else "a number: no name is declared here")
                return self.symbols[name]
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.formula(operand, below)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _written(sp.Mul, sp.S.NegativeOne, self.formula(operand, below))
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                chain = [(self.formula(part, below), minus) for part, minus in _chain(node, ast.Add, ast.Sub)]
                return _written(sp.Add, *(_written(sp.Mul, sp.S.NegativeOne, f) if minus else f for f, minus in chain))
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                factors = [(part, self.formula(part, below), div) for part, div in _chain(node, ast.Mult, ast.Div)]
                return _written(sp.Mul, *(self.inverse(f, part) if div else f for part, f, div in factors))
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return _written(sp.Pow, self.formula(left, below), self.formula(right, below))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
                parts = [self.formula(part, below) for part in arguments]
                if len(parts) != 1 + (name == "binomial"):
                    self.refuse(node, "binomial(n, k) with two arguments, exp, log and sqrt with one")
                return _written(_FUNCTIONS[name], *parts, *((sp.S.Half,) if name == "sqrt" else ()))
        self.refuse(node, _GRAMMAR)

    def inverse(self, formula: sp.Expr, part: ast.expr) -> sp.Expr:
        found = _written(sp.Pow, formula, sp.S.NegativeOne)
        self.places[found] = part
        return found

    def literal(self, node: ast.Constant) -> sp.Expr:
        text = self.text[node.col_offset : node.end_col_offset]
        if not re.fullmatch(_NUMBER, text, re.ASCII):  # True, None
            self.refuse(node, _GRAMMAR)
        number = decimal(text, _FORMULA_EXPONENT)
        if number is None:
            limits = f"at most {MOST_DIGITS} digits and decimal exponents of at most {_FORMULA_EXPONENT}"
            self.refuse(node, f"numbers with {limits}")
        return rational_of(number)


def _written(make: Any, *parts: sp.Expr) -> sp.Expr:
    return make(*parts, evaluate=False)


def _chain(node: ast.expr, plain: type[ast.operator], marked: type[ast.operator]) -> list[tuple[ast.expr, bool]]:
    """Return the operands of a + b - c, or a * b / c, in order, with a mark on those after the second operator.

    Chains lean to the left, so that a long sum would otherwise be deep.
    """
    parts: list[tuple[ast.expr, bool]] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, plain | marked):
        parts.append((node.right, isinstance(node.op, marked)))
        node = node.left
    return [(node, False), *reversed(parts)]


# --------------------------------------- SymPy objects and their constants, held to the same whitelist and wider limits


def read_formula(
    expr: sp.Expr,
    argument: str,
    swap: Mapping[sp.Symbol, sp.Symbol],
    points: Sequence[Point] = (),
    probes: Sequence[Point] = (),
    *,
    floats: bool = False,
) -> sp.Expr:
    """Return a SymPy expression from outside over the symbols of ``swap``, rebuilt and compared with what is written.

    With ``floats`` these count as the binary fractions they are. Raises ExpressionError for other parts than text can
    have, or sizes beyond the limits.

    >>> x = sp.Symbol("x", real=True)
    >>> read_formula(x ** (10**9), "entry", {x: x})
    Traceback (most recent call last):
    ...
    symamp.errors.ExpressionError: entry: got x**1000000000, expected exponents of at most 10000 in size, ...
    """

    typed: dict[sp.Expr, sp.Float] = {}

    def refuse(part: sp.Expr, accepted: str) -> Never:
        raise ExpressionError(argument, rewritten(part, lambda x: typed.get(x, x)) if typed else part, accepted)

    def exact(part: sp.Expr) -> sp.Expr:
        number = binary(part._mpf_) if part.is_Float else None
        if number is None:
            return part
        typed[rational_of(number)] = part
        return rational_of(number)

    try:
        if floats:
            expr = rewritten(expr, exact)
        return built(expr, {old.name: new for old, new in swap.items()}, OBJECT, refuse, points, probes)
    except RecursionError:
        raise ExpressionError(argument, expr, f"at most {OBJECT.depth} levels of nesting") from None


def rewritten(expr: sp.Expr, leaf: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
    """Return the expression with other numbers and symbols, in which SymPy evaluates nothing.

    >>> rewritten(sp.Symbol("x") + 1, lambda part: sp.Integer(2))
    2 + 2
    """
    done: dict[sp.Expr, sp.Expr] = {}

    def made(part: sp.Expr) -> sp.Expr:
        if part not in done:
            parts = [made(a) for a in part.args]
            same = all(new is old for new, old in zip(parts, part.args, strict=True))
            evaluates = isinstance(part, sp.Add | sp.Mul | sp.Pow | sp.Function)
            make = _written if evaluates else lambda func, *args: func(*args)  # conditions, matrices: refused later
            done[part] = leaf(part) if not parts else part if same else make(part.func, *parts)
        return done[part]

    return made(expr)


def check_formula(expr: sp.Expr, argument: str) -> None:
    """Raise ExpressionError for a SymPy expression with other parts than text can have, or beyond its limits."""
    read_formula(expr, argument, {s: s for s in expr.free_symbols})


def sign_of_constant(expr: sp.Expr) -> int:
    """Return the sign of a constant as balls of 4096 bits show it; 0 where they do not tell it from zero."""
    if expr.is_Rational:
        return int(expr.p > 0) - int(expr.p < 0)
    return sign_of(expr, True) or 0


def constant_value(expr: sp.Expr, point: Point) -> tuple[Fraction, Fraction]:
    """Return fractions around the value of an expression at a point; ExpressionError where it has no real value.

    >>> low, high = constant_value(sp.Symbol("x") / 3, {"x": Fraction(2)})
    >>> low <= Fraction(2, 3) <= high
    True
    """
    if expr.is_Rational or expr.is_Symbol:
        exact = fraction_of(expr) if expr.is_Rational else point[expr.name]
        return exact, exact
    ball = balls(expr, point, 128)
    if not ball.is_finite():
        raise ExpressionError("bound", expr, "an expression with a real value")
    # Outward to short fractions: points are strictly admissible, and computing with them is fast.
    low, high = (int(end.floor().unique_fmpz()) for end in ((ball * 2**40).lower(), (ball * 2**40).upper()))
    nearest = (ball * 720720).mid().floor().unique_fmpz()
    if nearest is not None and ball.contains(fmpq_of(exact := Fraction(int(nearest), 720720))):
        return exact, exact
    return Fraction(low, 2**40), Fraction(high + 1, 2**40)


# -------- Formulas that enter: checked once, built in SymPy, and what SymPy made of them compared with what was written

# SymPy rewrites as it builds, and some of its rewriting is wrong (docs/findings/sympy_assumptions.md), so nothing
# that it made is used before balls have shown the same value at several points.


def built(
    formula: sp.Expr,
    symbols: Mapping[str, sp.Symbol],
    limits: Limits,
    refuse: Refuse,
    points: Sequence[Point] = (),
    probes: Sequence[Point] = (),
) -> sp.Expr:
    """Return the SymPy expression that has the value of the formula, or ``refuse`` with the part and the reason.

    ``points`` are admissible values of the symbols; generic ones are taken if there are none. ``probes`` are some at
    which the formula must be real and finite.
    """
    integers = frozenset(name for name, s in symbols.items() if s.is_integer)
    folded = checked(formula, limits, integers, refuse)
    partial = undefined_part(formula, probes, integers)
    if partial is not None:
        refuse(*partial)

    def real(part: sp.Expr, value: Callable[[], _Item]) -> _Item:
        try:
            return value()
        except ExpressionError:
            refuse(part, "an expression with real values")

    def check(part: sp.Expr, expr: sp.Expr) -> None:
        if expr.is_Rational:
            if not fits(expr):
                refuse(part, "numbers below 2**5000 in size")
        elif not (expr.free_symbols or real(part, lambda: is_settled(expr))):
            sizes = f"between 2**-{MAGNITUDE} and 2**{MAGNITUDE} in size"
            refuse(part, f"constants that are real, {sizes}, and that can be told from 0")

    done: dict[sp.Expr, sp.Expr] = {}

    def made(f: sp.Expr) -> sp.Expr:
        """Return what SymPy makes of a part, from below; the values of rational parts are not left to it."""
        if f not in done:
            if f.is_Symbol:
                expr = symbols[f.name]
            elif f in folded:
                expr = rational_of(folded[f])
            else:
                expr = EVALUATED.get(f.func, f.func)(*map(made, f.args)) if f.args else f
            done[f] = expr
            check(f, expr)
        return done[f]

    expr = made(formula)
    if formula not in folded and not formula.is_Symbol:
        wrong = real(formula, lambda: _difference(formula, expr, symbols, points))
        if wrong:
            refuse(formula, f"an expression with real values that SymPy reads as it is written ({wrong})")
    return expr


EVALUATED: dict[Any, Any] = {sp.binomial: binomial, power: sp.Pow}
"""What some parts become; all others stay what they are."""


def _difference(
    written: sp.Expr, read: sp.Expr, symbols: Mapping[str, sp.Symbol], points: Sequence[Point]
) -> str | None:
    kinds = tuple((name, bool(symbols[name].is_integer)) for name in sorted(_names(written)))
    wrong = difference(written, read, points or generic_points(kinds))
    if wrong and wrong.startswith("no value") and kinds and not points:
        return difference(written, read, generic_points(kinds, _MORE_POINTS))
    return wrong


# ---------- The one check of a formula, before SymPy sees any of it: sizes, and where powers and logarithms are defined

# SymPy evaluates while it builds (``exp(10**9*log(2))`` becomes an integer of a billion bits, ``sqrt`` of an integer
# is factored), so every part carries bounds that hold whatever it does next; they only ever overestimate. Rational
# parts are computed here, exactly. Text is held to tighter limits than SymPy objects, which may be products of
# formulas.


class _Size(NamedTuple):
    bits: int = 1  # of all numbers in it, after powers and products have been carried out; a symbol counts as one
    scale: int = 1  # numerators and denominators of its coefficients
    roots: int = 0  # bits under fractional powers
    height: int = 0  # of exp within exp
    plain: bool = True  # rational in numbers and symbols, hence fit to be an exponent
    logs: bool = False  # SymPy turns exp(c*log(b)) into b**c
    constant: bool = True
    whole: bool = False  # certainly an integer
    number: Fraction | None = None


def checked(formula: sp.Expr, limits: Limits, integers: frozenset[str], refuse: Refuse) -> dict[sp.Expr, Fraction]:
    """Return the exact values of the rational parts; ``refuse`` other parts than text can have, and what is too large.

    ``integers`` are the names of the symbols that stand for integers.
    """
    walk = _Walk(limits, integers, refuse)
    walk.size(formula, 0)
    return {part: size.number for part, size in walk.known.items() if size.number is not None}


class _Walk:
    """One formula, taken apart; equal parts are measured once."""

    def __init__(self, limits: Limits, integers: frozenset[str], refuse: Refuse) -> None:
        self.limits, self.integers, self.refuse = limits, integers, refuse
        self.known: dict[sp.Expr, _Size] = {}
        self.nodes = 0

    def size(self, f: sp.Expr, depth: int) -> _Size:
        found = self.known.get(f)
        if found is None:
            self.nodes += 1
            if depth > self.limits.depth or self.nodes > self.limits.nodes:
                self.refuse(f, f"at most {self.limits.depth} levels of nesting and {self.limits.nodes} parts")
            found = self.known[f] = self.measured(f, [self.size(part, depth + 1) for part in f.args])
        return found

    def measured(self, f: sp.Expr, parts: list[_Size]) -> _Size:
        match kind := kind_of(f):
            case "number":
                return self.number(f, fraction_of(f))
            case "symbol":
                return _Size(constant=False, whole=f.name in self.integers)
            case "power":
                return self.power(f, parts[0], parts[1])
            case "e":
                return self.measured(_written(sp.exp, sp.S.One), [self.number(f, Fraction(1))])
        if kind not in ("sum", "product", "exp", "log", "abs", "binomial"):
            self.refuse(f, _PARTS)
        found: _Size = getattr(self, f"_{kind}")(f, parts, self.joined(f, parts))
        return found

    def number(self, f: sp.Expr, value: Fraction) -> _Size:
        p, q = abs(value.numerator), value.denominator
        if not fits(value) or q.bit_length() > PRINTABLE_BITS:
            self.refuse(f, "numbers below 2**5000 in size, of at most 4000 digits")
        return _Size(p.bit_length() + q.bit_length() - 1, max(p, q), whole=q == 1, number=value)

    def joined(self, f: sp.Expr, parts: list[_Size]) -> _Size:
        """Return the bounds of a product of the parts, or refuse it."""
        limits = self.limits
        bits, roots = sum(p.bits for p in parts), sum(p.roots for p in parts)
        if bits > limits.total_bits or roots > limits.root_bits:
            accepted = f"numbers of at most {limits.total_bits} bits in all, {limits.root_bits} of them under roots"
            self.refuse(f, accepted)
        return _Size(
            bits,
            min(math.prod(p.scale for p in parts), _LARGEST_SCALE),
            roots,
            max(p.height for p in parts),
            all(p.plain for p in parts),
            any(p.logs for p in parts),
            all(p.constant for p in parts),
        )

    def _sum(self, f: sp.Expr, parts: list[_Size], all_: _Size) -> _Size:
        numbers = [p.number for p in parts if p.number is not None]
        together = self.number(f, sum(numbers, Fraction(0)))
        if len(numbers) == len(parts):
            return together
        return all_._replace(scale=len(parts) * all_.scale, whole=all(p.whole for p in parts))

    def _product(self, f: sp.Expr, parts: list[_Size], all_: _Size) -> _Size:
        coefficient = math.prod((p.number for p in parts if p.number is not None), start=Fraction(1))
        rest = [p for p in parts if p.number is None]
        together = self.number(f, coefficient)
        if not rest:
            return together
        return all_._replace(whole=coefficient.denominator == 1 and all(p.whole for p in rest))

    def power(self, f: sp.Expr, base: _Size, exponent: _Size) -> _Size:
        limits, e = self.limits, exponent.number
        # SymPy turns exp(sqrt(2)*log(2)) into 2**sqrt(2), so that objects may have such constants.
        fit = exponent.plain or (exponent.constant and limits is OBJECT)
        if not fit or exponent.bits > limits.exponent_bits:
            self.refuse(f, "exponents that are short sums, products or quotients of numbers and symbols")
        if e is not None and not (abs(e.numerator) <= limits.exponent and e.denominator <= limits.root):
            accepted = f"exponents of at most {limits.exponent} in size, denominators of at most {limits.root}"
            self.refuse(f, accepted)
        scale = max(1, exponent.scale)
        if scale > limits.exponent:
            self.refuse(f, f"numbers in exponents of at most {limits.exponent}, multiplied together")
        if base.bits * scale > limits.power_bits and e not in (1, -1):
            self.refuse(f, f"powers of at most {limits.power_bits} bits, with small numbers in the exponent")
        whole = exponent.whole
        sign = None if e is not None and e > 0 and whole else self.sign(f.args[0], base)
        if sign == 0 and not (e is not None and e > 0):
            self.refuse(f, "a denominator other than 0" if e == -1 else "powers of 0 with positive exponents only")
        if sign == -1 and not whole:
            self.refuse(f, "powers of negative numbers with integer exponents only")
        if base.number is not None and e is not None and whole:
            return self.number(f, base.number ** int(e))
        raised = base._replace(
            bits=base.bits * scale,
            scale=base.scale if e in (1, -1) else min(base.scale**scale, _LARGEST_SCALE),
            roots=base.roots if e is not None and whole else base.roots + base.bits,
            plain=base.plain and e is not None and whole,
            number=None,
        )
        positive = e is not None and e > 0 and whole
        return self.joined(f, [raised])._replace(
            constant=base.constant and exponent.constant, whole=base.whole and positive
        )

    def sign(self, f: sp.Expr, size: _Size) -> int | None:
        if size.number is not None:
            return (size.number > 0) - (size.number < 0)
        return sign_of(f, size.constant)

    def _exp(self, f: sp.Expr, parts: list[_Size], all_: _Size) -> _Size:
        x = parts[0]
        if x.height == _EXP_HEIGHT:
            self.refuse(f, f"at most {_EXP_HEIGHT} levels of exp within exp")
        roots, bits = x.roots, x.bits
        if x.logs:
            roots, bits = roots + x.bits, x.bits * x.scale
            if bits > self.limits.power_bits or roots > self.limits.root_bits:
                accepted = f"powers of at most {self.limits.power_bits} bits, also when written with exp and log"
                self.refuse(f, accepted)
        return all_._replace(bits=bits, roots=roots, height=x.height + 1, plain=False)

    def _log(self, f: sp.Expr, parts: list[_Size], all_: _Size) -> _Size:
        x = parts[0]
        if self.sign(f.args[0], x) in (0, -1):
            self.refuse(f, "logarithms of positive numbers only")
        scale = x.scale if x.height or x.logs else 1
        return all_._replace(scale=scale, height=max(0, x.height - 1), plain=False, logs=True)

    def _abs(self, _: sp.Expr, __: list[_Size], all_: _Size) -> _Size:
        return all_._replace(plain=False)

    def _binomial(self, f: sp.Expr, parts: list[_Size], all_: _Size) -> _Size:
        for part in parts:
            if not part.whole or (part.number is not None and not 0 <= part.number <= _LARGEST_CHOICE):
                self.refuse(f, f"binomial of integer parameters and of numbers from 0 to {_LARGEST_CHOICE}")
        n, k = (part.number for part in parts)
        if n is not None and k is not None:
            return self.number(f, Fraction(math.comb(int(n), int(k))))
        return all_._replace(plain=False, whole=True)


# -------- Where a formula has no real, finite value: at one of some admissible points, or at a pole between two of them

# SymPy cancels what is undefined, as in sqrt(x)**2/x; so the formula is looked at as it was written.


def undefined_part(written: sp.Expr, points: Sequence[Point], integers: Collection[str]) -> tuple[sp.Expr, str] | None:
    """Return a part that is proved to have no real value at an admissible point, and why; None if none is found.

    What is continuous, must not be 0 and has both signs at points that agree in the ``integers`` has a pole between
    them: ranges are intervals.

    >>> undefined_part(sp.log(sp.Symbol("x")), [{"x": 2}, {"x": -1}], ())[1]
    'logarithms of what is positive at all admissible parameters; it is not at x = -1'
    """
    names = _names(written)
    partial = [(f, kind) for f in _parts(written) if (kind := _partial_kind(f))]
    if not names or not partial:
        return None
    seen = {tuple((name, point[name]) for name in sorted(names)) for point in points if names <= point.keys()}
    simple = sorted(seen, key=lambda items: (max(value.denominator for _, value in items), items))
    places: list[Point] = [dict(items) for items in simple]
    with at_precision(_POINT_PRECISION):
        values = node_values(written, places)
        for f, kind in partial:
            found = _at_points(f, kind, values, places) or _between(f, kind, values, places, integers)
            if found is not None:
                return f, found
    return None


def _parts(formula: sp.Expr) -> Iterator[sp.Expr]:
    seen, left = set(), [formula]
    while left:
        f = left.pop()
        if f not in seen:
            seen.add(f)
            yield f
            left.extend(f.args)


def _names(formula: sp.Expr) -> set[str]:
    return {f.name for f in _parts(formula) if f.is_Symbol}


def _partial_kind(f: sp.Expr) -> str:
    """Return what a function is that has no value for some numbers, else "": binomial(n, 2) is a polynomial."""
    match kind := kind_of(f):
        case "log":
            return kind
        case "power":
            return "" if f.args[1].is_Integer and f.args[1] >= 0 else kind
        case "binomial":
            return "" if f.args[1].is_Rational else kind
    return ""


def _at_points(f: sp.Expr, kind: str, values: dict[sp.Expr, list[arb]], places: Sequence[Point]) -> str | None:
    bases, exponents = values[f.args[0]], values[f.args[-1]]
    for point, base, exponent in zip(places, bases, exponents, strict=True):
        at = ", ".join(f"{name} = {value}" for name, value in point.items())
        if kind == "log":
            if base <= 0:
                return f"logarithms of what is positive at all admissible parameters; it is not at {at}"
        elif kind == "binomial":
            if base < 0:
                return f"binomials of what is not negative at any admissible parameters; it is at {at}"
        elif base < 0 and exponent.is_finite() and not exponent.contains_integer():
            return f"roots of what is not negative at any admissible parameters; it is at {at}"
        elif base == 0 and exponent < 0:
            return f"denominators that are not 0 at any admissible parameters; it is at {at}"
    return None


def _between(
    f: sp.Expr, kind: str, values: dict[sp.Expr, list[arb]], places: Sequence[Point], integers: Collection[str]
) -> str | None:
    if kind == "binomial" or (kind == "power" and not all(exponent < 0 for exponent in values[f.args[1]])):
        return None
    for factor in _factors(f.args[0]):
        signs: dict[tuple[object, ...], set[bool]] = {}
        for point, value in zip(places, values[factor], strict=True):
            if value > 0 or value < 0:
                fixed = tuple(v for name, v in point.items() if name in integers)
                signs.setdefault(fixed, set()).add(bool(value > 0))
        if any(len(found) == 2 for found in signs.values()):
            what = "logarithms of what is positive" if kind == "log" else "denominators that are not 0"
            return f"{what} at all admissible parameters; a factor changes its sign among them"
    return None


def _factors(formula: sp.Expr) -> Iterator[sp.Expr]:
    """Yield parts that must not be 0 if the formula must not."""
    yield formula
    kind = kind_of(formula)
    if kind in ("product", "abs"):
        for part in formula.args:
            yield from _factors(part)
    elif kind == "power" and formula.args[1].is_Rational and formula.args[1] > 0:
        yield from _factors(formula.args[0])


# -------------------- Values of formulas in balls, straight from the tree as it was written: SymPy has no part in them


def balls(formula: sp.Expr, point: Point, precision: int) -> arb:
    """Return a ball around the value at the point, not finite where there is no real value."""
    return _at_all(formula, [point], precision)[0]


def _at_all(formula: sp.Expr, points: Sequence[Point], precision: int) -> list[arb]:
    with at_precision(precision):
        return node_values(formula, points)[formula]


def node_values(formula: sp.Expr, points: Sequence[Point]) -> dict[sp.Expr, list[arb]]:
    """Return balls around the values of all parts at the points, at the ambient precision."""
    program, rows = Compiled(formula, _names(formula)), []
    for point in points:
        whole = {name: int(x) if x.denominator == 1 else arb(fmpq_of(x)) for name, x in point.items()}
        rows.append([arb(x) if isinstance(x, int) else x for x in program.values(FLINT, whole, undefined=arb("nan"))])
    return {part: [row[i] for row in rows] for part, i in program.places.items()}


def sign_of(formula: sp.Expr, constant: bool) -> int | None:
    """Return the sign of a constant, 0 for what vanishes identically, None where the symbols decide."""
    for ball in _enclosures(formula):
        if constant and (ball > 0 or ball < 0):
            return 1 if ball > 0 else -1
        if not constant and not (ball.is_finite() and ball.contains(0)):
            return None
    return 0


@lru_cache(maxsize=1024)  # entries of one table share most of their parts
def is_settled(constant: sp.Expr) -> bool:
    """Return whether the constant is provably real, not 0, and neither huge nor tiny."""
    huge = arb(2) ** MAGNITUDE
    return any(1 / huge < abs(ball) < huge for ball in _enclosures(constant))


def _enclosures(formula: sp.Expr) -> Iterator[arb]:
    """Yield balls around the value, first fast, then narrow; symbols get fixed values that no formula expects."""
    kinds = {kind_of(f) for f in _parts(formula)}
    point = {x: Fraction(1 + zlib.crc32(x.encode("utf-8", "replace")), 2**32 + 15) for x in _names(formula)}
    transcendental = not kinds.isdisjoint(("exp", "e", "log", "symbol"))
    # Roots that cancel to within 2**-256 are not pursued: SymPy would look for their minimal polynomial.
    for precision in _SIGN_PRECISIONS if transcendental else _SIGN_PRECISIONS[:1]:
        yield balls(formula, point, precision)


def difference(written: sp.Expr, read: sp.Expr, points: Sequence[Point], least: int = 1) -> str | None:
    """Return None if the formulas agree in balls wherever both have a value at the points, else what is wrong.

    Agreement is that balls which fix the value to 20 bits overlap at ``least`` points or more.

    >>> x = sp.Symbol("x")
    >>> difference(x, sp.Abs(x), [{"x": Fraction(1)}, {"x": Fraction(-1)}])
    'another value at x = -1'
    """
    agreed, left = 0, list(points)
    for precision in _CHECK_PRECISIONS:
        open_: list[Point] = []
        values = _at_all(written, left, precision)
        others = values if read == written else _at_all(read, left, precision)
        for point, a, b in zip(left, values, others, strict=True):
            if not (a.is_finite() and b.is_finite()):
                open_.append(point)
            elif not a.overlaps(b):
                return "another value at " + (", ".join(f"{k} = {v}" for k, v in point.items()) or "all points")
            elif _is_narrow(a) and _is_narrow(b):
                agreed += 1
            else:
                open_.append(point)
        left = open_
        if not left or 2 * agreed >= len(points):  # what has no value at 128 bits hardly ever has one
            break
    return None if agreed >= least else "no value that could be compared"


def _is_narrow(ball: arb) -> bool:
    return bool(ball.rel_accuracy_bits() >= 20 or abs(ball) < arb(2) ** -60)


@lru_cache(maxsize=256)
def generic_points(symbols: tuple[tuple[str, bool], ...], count: int = 5) -> tuple[dict[str, Fraction], ...]:
    """Return points for symbols (name, whether an integer) of which no range is known: many orders and signs."""
    return tuple(
        {
            name: Fraction((11 + 7 * i - 4 * j) % 23 - 3)
            if integer
            else Fraction((37 * i + 101 * j * j) % 211 - 60, 97)
            for j, (name, integer) in enumerate(symbols)
        }
        for i in range(count if symbols else 1)
    )
