"""Expressions from the outside: nothing is executed, and nothing can make SymPy compute for hours.

Text is split into tokens of a fixed alphabet, parsed by ``ast`` and built bottom up from a whitelist of nodes. SymPy
evaluates while it builds (``exp(10**9*log(2))`` becomes an integer of a billion bits, ``sqrt`` of an integer is
factored), so every node carries bounds on the size of what may come out, and these are checked *before* it is built.
Constants are enclosed in balls: that decides their signs without SymPy's own tests, which may search for minimal
polynomials.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple, Never

import sympy as sp

from symamp.errors import ExpressionError
from symamp.numbers.enclosure import MAGNITUDE, constant_sign, is_settled
from symamp.numbers.rationals import MOST_DIGITS, decimal, fits, shown

_MOST_CHARACTERS, MOST_TOKENS, _MOST_DEPTH = 4096, 1000, 64
_MOST_DECIMAL_EXPONENT = 3000
_MOST_EXPONENT, _MOST_ROOT, _MOST_HEIGHT = 1000, 100, 2
_INTEGER_BITS = 5000  # SymPy may test an integer for primality before it knows its sign
_TOTAL_BITS = 10_000  # Python refuses to print integers of more than 4300 digits
_ROOT_BITS = 1000  # SymPy factors what stands under a root, and fails beyond the range of a double
_FUNCTIONS = ("exp", "log", "sqrt", "binomial")

NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
# A number must not touch a letter: Python reads 1if 2else 3 with a warning, and 0x10, 1_000 and 1j as numbers.
_TOKEN = re.compile(rf"\s+|{NUMBER}(?![\w.])|[A-Za-z_]\w*|\*\*|[-+*/(),]", re.ASCII)

_GRAMMAR = "numbers, declared symbols, + - * / **, parentheses, exp, log, sqrt, binomial"


class _Term(NamedTuple):
    """A node that has been built, with bounds that hold whatever SymPy does next; they only ever overestimate."""

    expr: sp.Expr
    bits: int = 1  # of all numbers in it, after powers and products have been carried out
    scale: int = 1  # numerators and denominators of its coefficients
    roots: int = 0  # bits under fractional powers
    height: int = 0  # of exp within exp
    plain: bool = True  # rational in numbers and symbols, hence fit to be an exponent
    logs: bool = False  # SymPy turns exp(c*log(b)) into b**c


def parse_expression(text: str, symbols: Mapping[str, sp.Symbol], *, argument: str = "expression") -> sp.Expr:
    """Return the SymPy expression that the text denotes, exact: a decimal is the fraction that is written.

    Accepted are integers, decimals, the names in ``symbols``, ``+ - * / **``, parentheses, and the functions ``exp``,
    ``log``, ``sqrt``, ``binomial``; sizes are limited as docs/mechanism_format.md says. Symbols must be as
    ``Parameter.symbol`` makes them, without a sign: SymPy would look for the roots of polynomials in the others.

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
    return _Parser(text, symbols, argument).result()


class _Parser:
    """One text on its way to an expression."""

    def __init__(self, text: str, symbols: Mapping[str, sp.Symbol], argument: str) -> None:
        self.text, self.symbols, self.argument = text, symbols, argument

    def result(self) -> sp.Expr:
        try:
            self.tokens()
            # Blanks for newlines: the text is one line, so that offsets in it are offsets of characters.
            self.text = re.sub(r"\s", " ", self.text.strip(), flags=re.ASCII)
            expr = self.term(ast.parse(self.text, mode="eval").body, 0).expr
            if all(is_known(node) for node in sp.preorder_traversal(expr)):
                return expr
        except SyntaxError as error:
            self.refuse(None, f"a complete expression ({error.msg})")
        except (RecursionError, MemoryError):
            self.refuse(None, f"at most {_MOST_DEPTH} levels of nesting")
        self.refuse(None, f"an expression with real values and numbers below 2**{_INTEGER_BITS} in size")

    def refuse(self, node: ast.expr | str | None, accepted: str) -> Never:
        place = self.text[node.col_offset : node.end_col_offset] if isinstance(node, ast.expr) else node
        got = self.text if place is None or place == self.text else f"{place[:80]} in {self.text}"
        raise ExpressionError(self.argument, shown(got), accepted) from None

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

    def term(self, node: ast.expr, depth: int) -> _Term:
        if depth > _MOST_DEPTH:
            self.refuse(None, f"at most {_MOST_DEPTH} levels of nesting")
        match node:
            case ast.Constant():
                return self.literal(node)
            case ast.Name(id=name):
                if name not in self.symbols:
                    self.refuse(node, f"the names {', '.join(self.symbols) or '(none is declared)'}")
                return _Term(self.symbols[name])
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.term(operand, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.term(operand, depth + 1)
                return self.built(node, -inner.expr, inner)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                terms = []
                for part, minus in _chain(node, ast.Add, ast.Sub):
                    term = self.term(part, depth + 1)
                    terms.append(term._replace(expr=-term.expr) if minus else term)
                bounds = self.joined(node, *terms)
                bounds = bounds._replace(scale=len(terms) * bounds.scale)
                return self.built(node, sp.Add(*(t.expr for t in terms)), bounds)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                factors = []
                for part, below in _chain(node, ast.Mult, ast.Div):
                    factor = self.term(part, depth + 1)
                    if below and constant_sign(factor.expr) == 0:
                        self.refuse(part, "a denominator other than 0")
                    factors.append(factor._replace(expr=1 / factor.expr) if below else factor)
                bounds = self.joined(node, *factors)
                return self.built(node, sp.Mul(*(f.expr for f in factors)), bounds)
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return self.power(node, self.term(left, depth + 1), self.term(right, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
                values = [self.term(part, depth + 1) for part in arguments]
                if len(values) != (2 if name == "binomial" else 1):
                    self.refuse(node, "binomial(n, k) with two arguments, exp, log and sqrt with one")
                return self.call(node, name, values)
        self.refuse(node, _GRAMMAR)

    def literal(self, node: ast.Constant) -> _Term:
        text = self.text[node.col_offset : node.end_col_offset]
        if not re.fullmatch(NUMBER, text, re.ASCII):  # True, None
            self.refuse(node, _GRAMMAR)
        number = decimal(text, _MOST_DECIMAL_EXPONENT)
        if number is None:
            limits = f"at most {MOST_DIGITS} digits and decimal exponents of at most {_MOST_DECIMAL_EXPONENT}"
            self.refuse(node, f"numbers with {limits}")
        value = _measured(sp.Rational(number.numerator, number.denominator))
        return self.built(node, value.expr, self.joined(node, value))

    def power(self, node: ast.expr, base: _Term, exponent: _Term) -> _Term:
        e = exponent.expr
        if not exponent.plain or exponent.bits > 200:
            self.refuse(node, "exponents that are short sums, products or quotients of numbers and symbols")
        if e.is_Rational and not (abs(e.p) <= _MOST_EXPONENT and e.q <= _MOST_ROOT):
            self.refuse(node, f"exponents of at most {_MOST_EXPONENT} in size, denominators of at most {_MOST_ROOT}")
        sign = None if e.is_Rational and e > 0 and e.is_Integer else constant_sign(base.expr)
        if sign == 0 and not (e.is_Rational and e > 0):
            self.refuse(node, "powers of 0 with positive exponents only")
        if sign == -1 and not e.is_integer:
            self.refuse(node, "powers of negative numbers with integer exponents only")
        scale = max(1, exponent.scale)
        if scale > _MOST_EXPONENT or (base.bits * scale > _INTEGER_BITS and e not in (1, -1)):
            self.refuse(node, f"powers of at most {_INTEGER_BITS} bits, with small numbers in the exponent")
        bounds = self.joined(
            node,
            base._replace(
                bits=base.bits * scale,
                scale=base.scale**scale,
                roots=base.roots if e.is_Integer else base.roots + base.bits,
                plain=base.plain and bool(e.is_Integer),
            ),
        )
        return self.built(node, base.expr**e, bounds)

    def call(self, node: ast.expr, name: str, values: list[_Term]) -> _Term:
        x = values[0]
        bounds = self.joined(node, *values)._replace(plain=False)
        if name == "sqrt":
            return self.power(node, x, _measured(sp.Rational(1, 2)))
        if name == "exp":
            if x.height == _MOST_HEIGHT:
                self.refuse(node, f"at most {_MOST_HEIGHT} levels of exp within exp")
            if x.logs:
                bits = x.bits * x.scale
                if bits > _INTEGER_BITS:
                    self.refuse(node, f"powers of at most {_INTEGER_BITS} bits, also when written with exp and log")
                bounds = self.joined(node, bounds._replace(bits=bits, roots=bounds.roots + x.bits))
            return self.built(node, sp.exp(x.expr), bounds._replace(height=x.height + 1))
        if name == "log":
            if constant_sign(x.expr) in (0, -1):
                self.refuse(node, "logarithms of positive numbers only")
            scale = x.scale if x.height or x.logs else 1
            bounds = bounds._replace(scale=scale, height=max(0, x.height - 1), logs=True)
            return self.built(node, sp.log(x.expr), bounds)
        for value in values:
            n = value.expr
            if not n.is_integer or (n.is_Integer and not 0 <= n.p <= _INTEGER_BITS):
                self.refuse(node, f"binomial of integer parameters and of numbers from 0 to {_INTEGER_BITS}")
        return self.built(node, sp.binomial(x.expr, values[1].expr), bounds)

    def joined(self, node: ast.expr, *terms: _Term) -> _Term:
        """Return the bounds of a product of the terms, or refuse it."""
        bounds = _Term(
            terms[0].expr,
            sum(t.bits for t in terms),
            math.prod(t.scale for t in terms),
            sum(t.roots for t in terms),
            max(t.height for t in terms),
            all(t.plain for t in terms),
            any(t.logs for t in terms),
        )
        if bounds.bits > _TOTAL_BITS or bounds.roots > _ROOT_BITS:
            self.refuse(node, f"numbers of at most {_TOTAL_BITS} bits in all, {_ROOT_BITS} of them under roots")
        return bounds

    def built(self, node: ast.expr, expr: sp.Expr, bounds: _Term) -> _Term:
        if expr.is_Rational:
            if not is_known(expr):
                self.refuse(node, f"numbers below 2**{_INTEGER_BITS} in size")
            return _measured(expr)
        if expr.is_number and not is_settled(expr):
            limits = f"between 2**-{MAGNITUDE} and 2**{MAGNITUDE} in size"
            self.refuse(node, f"constants that are real, {limits}, and that can be told from 0")
        return bounds._replace(expr=expr)


def _chain(node: ast.expr, plain: type[ast.operator], marked: type[ast.operator]) -> list[tuple[ast.expr, bool]]:
    """Return the operands of a + b - c, or a * b / c, in order, with a mark on those after the second operator.

    Chains lean to the left, so that a long sum would otherwise be deep.
    """
    parts: list[tuple[ast.expr, bool]] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, plain | marked):
        parts.append((node.right, isinstance(node.op, marked)))
        node = node.left
    return [(node, False), *reversed(parts)]


def _measured(number: sp.Rational) -> _Term:
    p, q = abs(int(number.p)), int(number.q)
    return _Term(number, p.bit_length() + q.bit_length() - 1, max(p, q))


def is_known(node: sp.Basic) -> bool:
    """Return whether the grammar leads to the node: no nan, no infinity, no imaginary unit, no enormous number."""
    if isinstance(node, sp.Rational):
        return fits(Fraction(int(node.p), int(node.q)))
    return node is sp.E or isinstance(
        node, sp.Symbol | sp.Add | sp.Mul | sp.Pow | sp.exp | sp.log | sp.binomial | sp.Abs
    )
