"""Formulas that enter: nothing is executed, sizes are checked, and what SymPy made of them is compared."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, Never

import sympy as sp
from flint import acb, arb

from symamp.errors import ExpressionError
from symamp.numbers.formula import (
    HALF,
    MAGNITUDE,
    MINUS_ONE,
    Formula,
    Point,
    balls,
    difference,
    from_sympy,
    generic_points,
    is_settled,
    node_values,
    sign_of,
    to_sympy,
)
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.rationals import MOST_DIGITS, decimal, fits, fmpq_of, fraction_of, shown
from symamp.numbers.surroundings import at_precision

# ---------- The one check of a formula, before SymPy sees any of it: sizes, and where powers and logarithms are defined

# SymPy evaluates while it builds (``exp(10**9*log(2))`` becomes an integer of a billion bits, ``sqrt`` of an integer
# is factored), so every part carries bounds that hold whatever it does next; they only ever overestimate. Rational
# parts are computed here, exactly. Text is held to tighter limits than SymPy objects, which may be products of
# formulas.

PRINTABLE_BITS = 13_289  # of 10**4000
_HEIGHT = 2
_CHOICE = 5000


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


# Python refuses to print integers of more than 4300 digits; SymPy factors what stands under a root, and fails beyond
# the range of a double.
TEXT = Limits(64, 4096, 1000, 100, 200, 5000, 10_000, 1000)
OBJECT = Limits(160, 20_000, 10_000, 10_000, 2000, 10_000, 50_000, 50_000)

_LARGEST_SCALE = 2**50_000


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


Refuse = Callable[[Formula, str], Never]


def checked(formula: Formula, limits: Limits, integers: frozenset[str], refuse: Refuse) -> dict[int, Fraction]:
    """Return the exact values of the rational parts, by the id of the node; call ``refuse`` for what is beyond limits.

    ``integers`` are the names of the symbols that stand for integers.
    """
    walk = _Walk(limits, integers, refuse)
    walk.size(formula, 0)
    return {key: size.number for key, size in walk.known.items() if size.number is not None}


class _Walk:
    """One formula, taken apart; equal parts are measured once."""

    def __init__(self, limits: Limits, integers: frozenset[str], refuse: Refuse) -> None:
        self.limits, self.integers, self.refuse = limits, integers, refuse
        self.known: dict[int, _Size] = {}
        self.nodes = 0

    def size(self, f: Formula, depth: int) -> _Size:
        found = self.known.get(id(f))
        if found is None:
            self.nodes += 1
            if depth > self.limits.depth or self.nodes > self.limits.nodes:
                self.refuse(f, f"at most {self.limits.depth} levels of nesting and {self.limits.nodes} parts")
            found = self.known[id(f)] = self.measured(f, [self.size(part, depth + 1) for part in f.parts])
        return found

    def measured(self, f: Formula, parts: list[_Size]) -> _Size:
        match f.kind:
            case "number":
                return self.number(f, f.number)
            case "symbol":
                return _Size(constant=False, whole=f.name in self.integers)
            case "**":
                return self.power(f, parts[0], parts[1])
        return getattr(self, f"_{_METHODS[f.kind]}")(f, parts, self.joined(f, parts))  # type: ignore[no-any-return]

    def number(self, f: Formula, value: Fraction) -> _Size:
        p, q = abs(value.numerator), value.denominator
        if not fits(value) or q.bit_length() > PRINTABLE_BITS:
            self.refuse(f, "numbers below 2**5000 in size, of at most 4000 digits")
        return _Size(p.bit_length() + q.bit_length() - 1, max(p, q), whole=q == 1, number=value)

    def joined(self, f: Formula, parts: list[_Size]) -> _Size:
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

    def _sum(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        numbers = [p.number for p in parts if p.number is not None]
        together = self.number(f, sum(numbers, Fraction(0)))
        if len(numbers) == len(parts):
            return together
        return all_._replace(scale=len(parts) * all_.scale, whole=all(p.whole for p in parts))

    def _product(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        coefficient = math.prod((p.number for p in parts if p.number is not None), start=Fraction(1))
        rest = [p for p in parts if p.number is None]
        together = self.number(f, coefficient)
        if not rest:
            return together
        return all_._replace(whole=coefficient.denominator == 1 and all(p.whole for p in rest))

    def power(self, f: Formula, base: _Size, exponent: _Size) -> _Size:
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
        sign = None if e is not None and e > 0 and whole else self.sign(f.parts[0], base)
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

    def sign(self, f: Formula, size: _Size) -> int | None:
        if size.number is not None:
            return (size.number > 0) - (size.number < 0)
        return sign_of(f, size.constant)

    def _exp(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        x = parts[0]
        if x.height == _HEIGHT:
            self.refuse(f, f"at most {_HEIGHT} levels of exp within exp")
        roots, bits = x.roots, x.bits
        if x.logs:
            roots, bits = roots + x.bits, x.bits * x.scale
            if bits > self.limits.power_bits or roots > self.limits.root_bits:
                accepted = f"powers of at most {self.limits.power_bits} bits, also when written with exp and log"
                self.refuse(f, accepted)
        return all_._replace(bits=bits, roots=roots, height=x.height + 1, plain=False)

    def _log(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        x = parts[0]
        if self.sign(f.parts[0], x) in (0, -1):
            self.refuse(f, "logarithms of positive numbers only")
        scale = x.scale if x.height or x.logs else 1
        return all_._replace(scale=scale, height=max(0, x.height - 1), plain=False, logs=True)

    def _abs(self, _: Formula, __: list[_Size], all_: _Size) -> _Size:
        return all_._replace(plain=False)

    def _binomial(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        for part in parts:
            if not part.whole or (part.number is not None and not 0 <= part.number <= _CHOICE):
                self.refuse(f, f"binomial of integer parameters and of numbers from 0 to {_CHOICE}")
        n, k = (part.number for part in parts)
        if n is not None and k is not None:
            return self.number(f, Fraction(math.comb(int(n), int(k))))
        return all_._replace(plain=False, whole=True)


_METHODS: Mapping[str, str] = {
    "+": "sum", "*": "product", "exp": "exp", "log": "log", "abs": "abs", "binomial": "binomial",
}  # fmt: skip


# -------- Where a formula has no real, finite value: at one of some admissible points, or at a pole between two of them

# SymPy cancels what is undefined, as in sqrt(x)**2/x; so the formula is looked at as it was written.

_BITS = 128


def undefined_part(written: Formula, points: Sequence[Point], integers: Collection[str]) -> tuple[Formula, str] | None:
    """Return a part that is proved to have no real value at an admissible point, and why; None if none is found.

    What is continuous, must not be 0 and has both signs at points that agree in the ``integers`` has a pole between
    them: ranges are intervals.

    >>> x = Formula("symbol", name="x")
    >>> undefined_part(Formula("log", (x,)), [{"x": 2}, {"x": -1}], ())[1]
    'logarithms of what is positive at all admissible parameters; it is not at x = -1'
    """
    parts = list(_parts(written))
    names = {f.name for f in parts if f.kind == "symbol"}
    partial = [f for f in parts if _is_partial(f)]
    if not names or not partial:
        return None
    seen = {tuple((name, point[name]) for name in sorted(names)) for point in points if names <= point.keys()}
    simple = sorted(seen, key=lambda items: (max(value.denominator for _, value in items), items))
    places: list[Point] = [dict(items) for items in simple]
    with at_precision(_BITS):
        values = node_values(written, places)
        for f in partial:
            found = _at_points(f, values, places) or _between(f, values, places, integers)
            if found is not None:
                return f, found
    return None


def _parts(formula: Formula) -> Iterator[Formula]:
    seen, left = set(), [formula]
    while left:
        f = left.pop()
        if id(f) not in seen:
            seen.add(id(f))
            yield f
            left.extend(f.parts)


def _is_partial(f: Formula) -> bool:
    """Whether a function is not defined for every number: binomial(n, 2) is a polynomial, binomial(n, k) counts."""
    if f.kind == "**":
        exponent = f.parts[1]
        return exponent.kind != "number" or exponent.number < 0 or exponent.number.denominator > 1
    return f.kind == "log" or (f.kind == "binomial" and f.parts[1].kind != "number")


def _at_points(f: Formula, values: dict[int, list[arb]], places: Sequence[Point]) -> str | None:
    bases = values[id(f.parts[0])]
    exponents = values[id(f.parts[1])] if f.kind == "**" else bases
    for point, base, exponent in zip(places, bases, exponents, strict=True):
        at = ", ".join(f"{name} = {value}" for name, value in point.items())
        if f.kind == "log":
            if base <= 0:
                return f"logarithms of what is positive at all admissible parameters; it is not at {at}"
        elif f.kind == "binomial":
            if base < 0:
                return f"binomials of what is not negative at any admissible parameters; it is at {at}"
        elif base < 0 and exponent.is_finite() and not exponent.contains_integer():
            return f"roots of what is not negative at any admissible parameters; it is at {at}"
        elif base == 0 and exponent < 0:
            return f"denominators that are not 0 at any admissible parameters; it is at {at}"
    return None


def _between(
    f: Formula, values: dict[int, list[arb]], places: Sequence[Point], integers: Collection[str]
) -> str | None:
    if f.kind == "binomial" or (f.kind == "**" and not all(exponent < 0 for exponent in values[id(f.parts[1])])):
        return None
    for factor in _factors(f.parts[0]):
        signs: dict[tuple[object, ...], set[bool]] = {}
        for point, value in zip(places, values[id(factor)], strict=True):
            if value > 0 or value < 0:
                fixed = tuple(v for name, v in point.items() if name in integers)
                signs.setdefault(fixed, set()).add(bool(value > 0))
        if any(len(found) == 2 for found in signs.values()):
            what = "logarithms of what is positive" if f.kind == "log" else "denominators that are not 0"
            return f"{what} at all admissible parameters; a factor changes its sign among them"
    return None


def _factors(formula: Formula) -> Iterator[Formula]:
    """Yield parts that must not be 0 if the formula must not."""
    yield formula
    if formula.kind in ("*", "abs"):
        for part in formula.parts:
            yield from _factors(part)
    elif formula.kind == "**" and formula.parts[1].kind == "number" and formula.parts[1].number > 0:
        yield from _factors(formula.parts[0])


# ------------------ Formulas that were rewritten, compared in balls with what they were: no rewriting is trusted unseen

_AGREEMENT_BITS, _NARROW = 256, 2.0**-40


def agree(found: sp.Expr, written: sp.Expr, variable: sp.Symbol, points: Iterable[sp.Rational]) -> bool:
    """Return whether narrow balls around two formulas in one variable overlap at all points.

    >>> y = sp.Symbol("y", positive=True)
    >>> agree(y * (y + 1) - y, y**2, y, [sp.Rational(1, 3)])
    True
    >>> agree(y**2, y**3, y, [sp.Rational(1, 3)])
    False
    """
    both = Holomorphic(found, variable), Holomorphic(written, variable)
    with at_precision(_AGREEMENT_BITS):
        return all(same(*(f(acb(arb(fmpq_of(p)))).real for f in both)) for p in points)


def same(a: arb, b: arb) -> bool:
    """Return whether two balls overlap and are narrow.

    >>> same(arb(1) / 3, arb(2) / 6), same(arb(1), arb(2)), same(arb(1), arb(0, 2))
    (True, False, False)
    """
    return all(bool(x.is_finite() and x.rad() <= _NARROW * abs(x)) for x in (a, b)) and bool(a.overlaps(b))


# -------- Formulas that enter: checked once, built in SymPy, and what SymPy made of them compared with what was written

# SymPy rewrites as it builds, and some of its rewriting is wrong (docs/findings/sympy_assumptions.md), so nothing
# that it made is used before balls have shown the same value at several points.

KNOWN = "numbers, symbols, + - * /, powers, exp, log, sqrt, binomial"
_MORE_POINTS = 60


def built(
    formula: Formula,
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
    folded = checked(formula, limits, frozenset(name for name, s in symbols.items() if s.is_integer), refuse)

    partial = undefined_part(formula, probes, {name for name, s in symbols.items() if s.is_integer})
    if partial is not None:
        refuse(*partial)

    def check(part: Formula, expr: sp.Expr) -> None:
        if expr.is_Rational:
            if not fits(fraction_of(expr)):
                refuse(part, "numbers below 2**5000 in size")
        elif not expr.free_symbols and not is_settled(tree(expr, refusing(part))):
            limits = f"between 2**-{MAGNITUDE} and 2**{MAGNITUDE} in size"
            refuse(part, f"constants that are real, {limits}, and that can be told from 0")

    def refusing(part: Formula) -> Callable[[sp.Basic], Never]:
        return lambda _: refuse(part, "an expression with real values")

    expr = to_sympy(formula, symbols, folded, check)
    if id(formula) not in folded and formula.kind != "symbol":
        _compare(formula, tree(expr, refusing(formula)), symbols, points, refuse)
    return expr


def tree(expr: sp.Basic, unknown: Callable[[sp.Basic], None]) -> Formula:
    """Return the tree of an expression that SymPy made."""
    return from_sympy(expr, unknown)


def _compare(
    written: Formula, read: Formula, symbols: Mapping[str, sp.Symbol], points: Sequence[Point], refuse: Refuse
) -> None:
    if points:
        wrong = difference(written, read, points)
    else:
        kinds = tuple((name, bool(symbols[name].is_integer)) for name in sorted(_names(written)))
        wrong = difference(written, read, generic_points(kinds) if kinds else [{}])
        if wrong and wrong.startswith("no value") and kinds:
            wrong = difference(written, read, _scattered(kinds))
    if wrong:
        refuse(written, f"an expression with real values that SymPy reads as it is written ({wrong})")


def _names(formula: Formula) -> set[str]:
    names, seen = set(), [formula]
    while seen:
        f = seen.pop()
        if f.kind == "symbol":
            names.add(f.name)
        seen.extend(f.parts)
    return names


def _scattered(kinds: tuple[tuple[str, bool], ...]) -> list[dict[str, Fraction]]:
    """Return many points, for expressions that are real in a small domain only."""
    return [
        {
            name: Fraction((7 * i + 5 * j) % 23 - 3) if integer else Fraction((37 * i + 101 * j * j) % 211 - 20, 97)
            for j, (name, integer) in enumerate(kinds)
        }
        for i in range(_MORE_POINTS)
    ]


def read_formula(
    expr: sp.Expr,
    argument: str,
    swap: Mapping[sp.Symbol, sp.Symbol],
    points: Sequence[Point] = (),
    probes: Sequence[Point] = (),
    *,
    floats: bool = False,
) -> sp.Expr:
    """Return a SymPy expression from outside over the symbols of ``swap``, rebuilt and compared with its own tree.

    With ``floats`` these count as the binary fractions they are. Raises ExpressionError for other parts than text can
    have, or sizes beyond the limits.

    >>> x = sp.Symbol("x", real=True)
    >>> read_formula(x ** (10**9), "entry", {x: x})
    Traceback (most recent call last):
    ...
    symamp.errors.ExpressionError: entry: got x**1000000000; accepted: exponents of at most 10000 in size, ...
    """
    places: dict[int, sp.Basic] = {}

    def refuse(part: Formula, accepted: str) -> Never:
        raise ExpressionError(argument, places.get(id(part), expr), accepted)

    def unknown(part: sp.Basic) -> Never:
        raise ExpressionError(argument, part, KNOWN)

    try:
        formula = from_sympy(expr, unknown, OBJECT.depth, places, floats)
        return built(formula, {old.name: new for old, new in swap.items()}, OBJECT, refuse, points, probes)
    except RecursionError:
        raise ExpressionError(argument, expr, f"at most {OBJECT.depth} levels of nesting") from None


def check_formula(expr: sp.Expr, argument: str) -> None:
    """Raise ExpressionError for a SymPy expression with other parts than text can have, or beyond its limits.

    >>> check_formula(sp.sin(sp.Symbol("x")), "entry")
    Traceback (most recent call last):
    ...
    symamp.errors.ExpressionError: entry: got sin(x); accepted: numbers, symbols, + - * /, powers, exp, ...
    """
    read_formula(expr, argument, {s: s for s in expr.free_symbols})


def sign_of_constant(expr: sp.Expr) -> int:
    """Return the sign of a constant as balls of 4096 bits show it; 0 where they do not tell it from zero.

    >>> sign_of_constant(sp.log(3) - 1), sign_of_constant(sp.Rational(-1, 3))
    (1, -1)
    """
    if expr.is_Rational:
        return int(expr.p > 0) - int(expr.p < 0)
    return sign_of(from_sympy(expr, _refuse_part), True) or 0


def constant_value(expr: sp.Expr, point: Point) -> tuple[Fraction, Fraction]:
    """Return fractions around the value of an expression at a point; ExpressionError where it has no real value.

    >>> low, high = constant_value(sp.Symbol("x") / 3, {"x": Fraction(2)})
    >>> low <= Fraction(2, 3) <= high
    True
    """
    formula = from_sympy(expr, _refuse_part)
    if formula.kind == "number":
        return formula.number, formula.number
    if formula.kind == "symbol":
        return point[formula.name], point[formula.name]
    ball = balls(formula, point, 128)
    if not ball.is_finite():
        raise ExpressionError("bound", expr, "an expression with a real value")
    # Outward to short fractions: points are admissible strictly, and cheap to compute with.
    low, high = (int(end.floor().unique_fmpz()) for end in ((ball * 2**40).lower(), (ball * 2**40).upper()))
    nearest = (ball * 720720).mid().floor().unique_fmpz()
    exact = Fraction(int(nearest), 720720) if nearest is not None else None
    if exact is not None and ball.contains(fmpq_of(exact)):
        return exact, exact
    return Fraction(low, 2**40), Fraction(high + 1, 2**40)


def _refuse_part(part: sp.Basic) -> Never:
    raise ExpressionError("formula", part, KNOWN)


# ----------------------------- Expressions from text: nothing is executed, and nothing can make SymPy compute for hours

# Text is split into tokens of a fixed alphabet, parsed by ``ast``, and read into a ``Formula`` from a whitelist of
# nodes; sizes are checked before SymPy builds anything, and what it built is compared with the text in balls.

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
