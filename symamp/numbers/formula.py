"""A formula as it was written: our own tree, on which nothing is rewritten, and what SymPy makes of it.

Text and SymPy objects are read into this tree. Sizes are checked on it (``formula_size``), it is valued in balls
(``enclosure``), and only then built in SymPy, whose automatic rewriting is checked against those values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

import sympy as sp

from symamp.numbers.inert import binomial, power
from symamp.numbers.rationals import binary, fraction_of, rational_of

FUNCTIONS = ("exp", "log", "binomial", "abs")


class Formula(NamedTuple):
    """``kind`` is "number", "symbol", "+", "*", "**", one of FUNCTIONS, or "pi", "erf", "erfc", "atan" of densities."""

    kind: str
    parts: tuple[Formula, ...] = ()
    number: Fraction = Fraction(0)
    name: str = ""


MINUS_ONE, HALF = Formula("number", number=Fraction(-1)), Formula("number", number=Fraction(1, 2))

Source = Callable[[sp.Basic], None]
_KINDS: tuple[tuple[type[sp.Basic], str], ...] = (
    (sp.Add, "+"), (sp.Mul, "*"), (sp.Pow, "**"), (power, "**"), (sp.exp, "exp"), (sp.log, "log"),
    (sp.binomial, "binomial"), (sp.Abs, "abs"),
)  # fmt: skip
_OF_DENSITIES: tuple[tuple[type[sp.Basic], str], ...] = ((sp.erf, "erf"), (sp.erfc, "erfc"), (sp.atan, "atan"))


def from_sympy(
    expr: sp.Basic,
    unknown: Source,
    deepest: int = 200,
    places: dict[int, sp.Basic] | None = None,
    floats: bool = False,
    of_density: bool = False,
) -> Formula:
    """Return the tree of a SymPy expression; ``unknown`` is called with a part that has no place in it, and raises.

    ``places`` receives the part that each node comes from, by the id of the node. Equal parts are one node. With
    ``floats`` these count as the fractions they are, with ``of_density`` pi, erf, erfc and atan may occur. Raises
    RecursionError for more than ``deepest`` levels.

    >>> from_sympy(sp.Rational(1, 3) * sp.Symbol("x"), print).parts[1].name
    'x'
    """
    found: dict[sp.Basic, Formula] = {}

    def read(part: sp.Basic, depth: int) -> Formula:
        known = found.get(part)
        if known is None:
            known = found[part] = made(part, depth)
            if places is not None:
                places[id(known)] = part
        return known

    def made(part: sp.Basic, depth: int) -> Formula:
        if isinstance(part, sp.Rational):
            return Formula("number", number=fraction_of(part))
        if floats and isinstance(part, sp.Float) and (exact := binary(part._mpf_)) is not None:
            return Formula("number", number=exact)
        if isinstance(part, sp.Symbol):
            return Formula("symbol", name=part.name)
        if part is sp.E:
            return Formula("exp", (Formula("number", number=Fraction(1)),))
        if of_density and part is sp.pi:
            return Formula("pi")
        if depth > deepest:
            raise RecursionError
        kinds = _KINDS + (_OF_DENSITIES if of_density else ())
        kind = next((k for t, k in kinds if isinstance(part, t)), None)
        if kind is None or (kind in FUNCTIONS and len(part.args) != 1 + (kind == "binomial")):
            unknown(part)
            raise ValueError(part)
        return Formula(kind, tuple([read(a, depth + 1) for a in part.args]))

    return read(expr, 0)


def to_sympy(
    formula: Formula,
    symbols: Mapping[str, sp.Symbol],
    folded: Mapping[int, Fraction] | None = None,
    check: Callable[[Formula, sp.Expr], None] = lambda _, __: None,
) -> sp.Expr:
    """Return the SymPy expression, built from below; ``check`` sees each part with what SymPy made of it.

    ``folded`` holds the values of rational parts, by the id of the node: these are not left to SymPy.

    >>> to_sympy(Formula("**", (Formula("symbol", name="x"), HALF)), {"x": sp.Symbol("x")})
    sqrt(x)
    """
    done: dict[int, sp.Expr] = {}

    def built(f: Formula) -> sp.Expr:
        expr = done.get(id(f))
        if expr is None:
            expr = done[id(f)] = made(f)
            check(f, expr)
        return expr

    def made(f: Formula) -> sp.Expr:
        if f.kind == "symbol":
            return symbols[f.name]
        number = f.number if f.kind == "number" else (folded or {}).get(id(f))
        if number is not None:
            return rational_of(number)
        parts = [built(part) for part in f.parts]
        match f.kind:
            case "+":
                return sp.Add(*parts)
            case "*":
                return sp.Mul(*parts)
            case "**":
                return sp.Pow(*parts)
            case "exp":
                return sp.exp(*parts)
            case "log":
                return sp.log(*parts)
            case "abs":
                return sp.Abs(*parts)
        return binomial(*parts)

    return built(formula)
