"""Expressions from text: nothing is executed, and nothing can make SymPy compute for hours.

Text is split into tokens of a fixed alphabet, parsed by ``ast``, and read into a ``Formula`` from a whitelist of
nodes; sizes are checked before SymPy builds anything, and what it built is compared with the text in balls.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Never

import sympy as sp

from symamp.errors import ExpressionError
from symamp.numbers.enclosure import Point
from symamp.numbers.formula import HALF, MINUS_ONE, Formula
from symamp.numbers.formula_size import TEXT
from symamp.numbers.rationals import MOST_DIGITS, decimal, shown
from symamp.numbers.reading import built

_MOST_CHARACTERS, MOST_TOKENS = 4096, 1000
_MOST_DECIMAL_EXPONENT = 3000
_ARGUMENTS = {"exp": 1, "log": 1, "sqrt": 1, "binomial": 2}

NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
# A number must not touch a letter: Python reads 1if 2else 3 with a warning, and 0x10, 1_000 and 1j as numbers.
_TOKEN = re.compile(rf"\s+|{NUMBER}(?![\w.])|[A-Za-z_]\w*|\*\*|[-+*/(),]", re.ASCII)

_GRAMMAR = "numbers, declared symbols, + - * / **, parentheses, exp, log, sqrt, binomial"
_NESTING = f"at most {TEXT.depth} levels of nesting"


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
    symamp.errors.ExpressionError: expression: got ^ in 2^10; accepted: ** for powers, not ^
    """
    if not isinstance(text, str):
        raise ExpressionError(argument, type(text).__name__, "text")
    for name, symbol in symbols.items():
        if any(fact is not None for fact in (symbol.is_extended_positive, symbol.is_extended_negative, symbol.is_zero)):
            raise ExpressionError(argument, f"the symbol {name} with a sign", "symbols as Parameter.symbol makes them")
    return _Reader(text, symbols, argument).expression(points, probes)


class _Reader:
    """One text on its way to a formula."""

    def __init__(self, text: str, symbols: Mapping[str, sp.Symbol], argument: str) -> None:
        self.text, self.symbols, self.argument = text, symbols, argument
        self.places: dict[int, ast.expr] = {}

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
        raise ExpressionError(self.argument, shown(got), accepted) from None

    def refused(self, formula: Formula, accepted: str) -> Never:
        self.refuse(self.places.get(id(formula)), accepted)

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
            position, count = token.end(), count + (not token[0].isspace())
        if not 0 < count <= MOST_TOKENS:
            self.refuse(None, f"1 to {MOST_TOKENS} numbers, names and signs")

    def formula(self, node: ast.expr, depth: int) -> Formula:
        if depth > TEXT.depth:
            self.refuse(node, _NESTING)
        found = self.read(node, depth + 1)
        self.places.setdefault(id(found), node)
        return found

    def read(self, node: ast.expr, below: int) -> Formula:
        match node:
            case ast.Constant():
                return self.literal(node)
            case ast.Name(id=name):
                if name not in self.symbols:
                    self.refuse(node, f"the names {', '.join(self.symbols) or '(none is declared)'}")
                return Formula("symbol", name=name)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.formula(operand, below)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Formula("*", (MINUS_ONE, self.formula(operand, below)))
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                chain = [(self.formula(part, below), minus) for part, minus in _chain(node, ast.Add, ast.Sub)]
                return Formula("+", tuple(Formula("*", (MINUS_ONE, f)) if minus else f for f, minus in chain))
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                factors = [(part, self.formula(part, below), div) for part, div in _chain(node, ast.Mult, ast.Div)]
                return Formula("*", tuple(self.inverse(f, part) if div else f for part, f, div in factors))
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return Formula("**", (self.formula(left, below), self.formula(right, below)))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _ARGUMENTS:
                parts = tuple(self.formula(part, below) for part in arguments)
                if len(parts) != _ARGUMENTS[name]:
                    self.refuse(node, "binomial(n, k) with two arguments, exp, log and sqrt with one")
                return Formula("**", (*parts, HALF)) if name == "sqrt" else Formula(name, parts)
        self.refuse(node, _GRAMMAR)

    def inverse(self, formula: Formula, part: ast.expr) -> Formula:
        found = Formula("**", (formula, MINUS_ONE))
        self.places[id(found)] = part
        return found

    def literal(self, node: ast.Constant) -> Formula:
        text = self.text[node.col_offset : node.end_col_offset]
        if not re.fullmatch(NUMBER, text, re.ASCII):  # True, None
            self.refuse(node, _GRAMMAR)
        number = decimal(text, _MOST_DECIMAL_EXPONENT)
        if number is None:
            limits = f"at most {MOST_DIGITS} digits and decimal exponents of at most {_MOST_DECIMAL_EXPONENT}"
            self.refuse(node, f"numbers with {limits}")
        return Formula("number", number=Fraction(number))


def _chain(node: ast.expr, plain: type[ast.operator], marked: type[ast.operator]) -> list[tuple[ast.expr, bool]]:
    """Return the operands of a + b - c, or a * b / c, in order, with a mark on those after the second operator.

    Chains lean to the left, so that a long sum would otherwise be deep.
    """
    parts: list[tuple[ast.expr, bool]] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, plain | marked):
        parts.append((node.right, isinstance(node.op, marked)))
        node = node.left
    return [(node, False), *reversed(parts)]
