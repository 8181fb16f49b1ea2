"""A formula as it was written: our own tree, on which nothing is rewritten, and its values in balls."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import flint
import sympy as sp
from sympy.printing.precedence import PRECEDENCE

from symamp.numbers.rationals import binary, fmpq_of, fraction_of, rational_of
from symamp.numbers.surroundings import at_precision

# --- Functions that SymPy does not rewrite: binomial coefficients of which it knows no sign, and powers left as they ar

# SymPy 1.14 takes ``binomial(D, 3)`` for negative where D is an integer of unknown sign (docs/findings/
# sympy_assumptions.md), and it multiplies ``2**10**9`` out as soon as it sees it.

_MOST_BITS = 13_000  # Python prints integers of at most 4300 digits


class binomial(sp.binomial):  # type: ignore[misc]  # noqa: N801  (printed by this name)
    """The number of k-sets of n things: an integer if printable, else the expression itself, without a sign.

    >>> D = sp.Symbol("D", integer=True)
    >>> binomial(10, 3), binomial(D, 3), binomial(D, 3).is_nonnegative, binomial(10**9, 10**8)
    (120, binomial(D, 3), None, binomial(1000000000, 100000000))
    """

    is_number = False  # SymPy takes the sign of a number from a float

    @classmethod
    def eval(cls, n: sp.Expr, k: sp.Expr) -> sp.Expr | None:
        """Return the number for two integers, None for everything else."""
        if not (n.is_Integer and k.is_Integer and n.p >= 0):
            return None
        if not 0 <= k.p <= n.p:
            return sp.S.Zero
        few = min(int(k.p), int(n.p - k.p))
        if few > _MOST_BITS or few * int(n.p).bit_length() > 20 * _MOST_BITS:
            return None
        bits = (math.lgamma(n.p + 1) - math.lgamma(k.p + 1) - math.lgamma(n.p - k.p + 1)) / math.log(2)
        return sp.Integer(math.comb(int(n.p), int(k.p))) if few < 2 or bits < _MOST_BITS else None

    def _eval_is_nonnegative(self) -> None:
        return None


class power(sp.Function):  # type: ignore[misc]  # noqa: N801
    """base**exponent, never multiplied out: for exponents of which only balls can make anything.

    >>> power(2, 10**9) / 3
    2**1000000000/3
    """

    nargs = 2
    is_number = False
    precedence = PRECEDENCE["Pow"]

    def as_power(self) -> sp.Pow:
        """Return the power as SymPy writes it, unevaluated."""
        return sp.Pow(*self.args, evaluate=False)

    def _eval_is_real(self) -> bool:
        return True

    def _sympystr(self, printer: Any) -> str:
        return str(printer._print(self.as_power()))

    def _pretty(self, printer: Any) -> Any:
        return printer._print(self.as_power())

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inner = str(printer._print(self.as_power()))
        return inner if exp is None else rf"\left({inner}\right)^{{{exp}}}"


# ----------------- A formula as it was written: our own tree, on which nothing is rewritten, and what SymPy makes of it

# Text and SymPy objects are read into this tree. Sizes are checked on it (``formula_size``), it is valued in balls
# (``enclosure``), and only then built in SymPy, whose automatic rewriting is checked against those values.

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


# --------------------- Values of formulas in balls, straight from the tree as it was written: SymPy has no part in them

MAGNITUDE = 100_000  # constants lie between 2**-100000 and 2**100000
_SIGN_PRECISIONS = (256, 4096)
_CHECK_PRECISIONS = (128, 1024, 4096)
_LARGEST_CHOICE = 10_000
_NAN = flint.arb("nan")
Point = Mapping[str, Fraction]


def balls(formula: Formula, point: Point, precision: int) -> flint.arb:
    """Return a ball around the value at the point, not finite where there is no real value."""
    return _at_all(formula, [point], precision)[0]


def _at_all(formula: Formula, points: Sequence[Point], precision: int) -> list[flint.arb]:
    with at_precision(precision):
        return node_values(formula, points)[id(formula)]


def node_values(formula: Formula, points: Sequence[Point]) -> dict[int, list[flint.arb]]:
    """Return balls around the values of all parts at the points, by the id of the part, at the ambient precision."""
    done: dict[int, list[flint.arb]] = {}

    def values(f: Formula) -> list[flint.arb]:
        found = done.get(id(f))
        if found is None:
            if f.kind == "number":
                found = [flint.arb(fmpq_of(f.number))] * len(points)
            elif f.kind == "pi":
                found = [flint.arb.pi()] * len(points)
            elif f.kind == "symbol":
                numbers = [point[f.name] for point in points]
                found = [flint.arb(fmpq_of(n)) for n in numbers]
            else:
                found = [_ball(f.kind, parts) for parts in zip(*map(values, f.parts), strict=True)]
            done[id(f)] = found
        return found

    values(formula)
    return done


def _ball(kind: str, parts: tuple[flint.arb, ...]) -> flint.arb:
    match kind:
        case "+":
            return sum(parts[1:], parts[0])
        case "*":
            return math.prod(parts[1:], start=parts[0])
        case "**":
            return _power(parts[0], parts[1])
        case "exp":
            return parts[0].exp()
        case "log":
            return parts[0].log()
        case "abs":
            return abs(parts[0])
        case "erf":
            return parts[0].erf()
        case "erfc":
            return parts[0].erfc()
        case "atan":
            return parts[0].atan()
    return _choose(*parts)


def _power(base: flint.arb, exponent: flint.arb) -> flint.arb:
    if exponent.is_exact() and (whole := exponent.unique_fmpz()) is not None:
        if whole == -1:
            return 1 / base
        return base**whole if base.is_finite() else _NAN
    if base == 0 and exponent > 0:
        return flint.arb(0)
    return base**exponent if base > 0 or exponent.mid() * 2 == 1 else _NAN


def _choose(top: flint.arb, bottom: flint.arb) -> flint.arb:
    """Return the number of subsets of an integer >= 0, the falling factorial for other tops."""
    n, k = top.unique_fmpz(), bottom.unique_fmpz()
    if k is None or (n is not None and n < 0):
        return _NAN
    if n is not None:
        k = min(k, n - k)
    if k < 0:
        return flint.arb(0)
    if n is not None and k > _LARGEST_CHOICE:
        one = flint.arb(1)
        return ((n + one).lgamma() - (k + one).lgamma() - (n - k + one).lgamma()).exp()
    if k > _LARGEST_CHOICE:
        return _NAN
    result = flint.arb(1)
    for i in range(int(k)):
        result = result * (top - i) / (i + 1)
    return result


def sign_of(formula: Formula, constant: bool) -> int | None:
    """Return the sign of a constant, 0 for what vanishes identically, None where the symbols decide."""
    for ball in _enclosures(formula):
        if constant and (ball > 0 or ball < 0):
            return 1 if ball > 0 else -1
        if not constant and not (ball.is_finite() and ball.contains(0)):
            return None
    return 0


def is_settled(constant: Formula) -> bool:
    """Return whether the constant is provably real, not 0, and neither huge nor tiny."""
    huge = flint.arb(2) ** MAGNITUDE
    return any(1 / huge < abs(ball) < huge for ball in _enclosures(constant))


def _enclosures(formula: Formula) -> Iterator[flint.arb]:
    """Yield balls around the value, first fast, then narrow; symbols get fixed values that no formula expects."""
    point, transcendental, seen = {}, False, [formula]
    while seen:
        f = seen.pop()
        transcendental |= f.kind in ("exp", "log", "symbol")
        if f.kind == "symbol":
            point[f.name] = Fraction(1 + zlib.crc32(f.name.encode("utf-8", "replace")), 2**32 + 15)
        seen.extend(f.parts)
    # Roots that cancel to within 2**-256 are not pursued: SymPy would look for their minimal polynomial.
    for precision in _SIGN_PRECISIONS if transcendental else _SIGN_PRECISIONS[:1]:
        yield balls(formula, point, precision)


def difference(written: Formula, read: Formula, points: Sequence[Point], least: int = 1) -> str | None:
    """Return None if the formulas agree in balls wherever both have a value at the points, else what is wrong.

    Agreement is that balls which fix the value to 20 bits overlap at ``least`` points or more.

    >>> x = Formula("symbol", name="x")
    >>> difference(x, Formula("abs", (x,)), [{"x": Fraction(1)}, {"x": Fraction(-1)}])
    'another value at x = -1'
    """
    agreed, left = 0, list(points)
    for precision in _CHECK_PRECISIONS:
        open_: list[Point] = []
        pairs = (_at_all(written, left, precision), _at_all(read, left, precision))
        for point, a, b in zip(left, *pairs, strict=True):
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


def _is_narrow(ball: flint.arb) -> bool:
    return bool(ball.rel_accuracy_bits() >= 20 or abs(ball) < flint.arb(2) ** -60)


@lru_cache(maxsize=256)
def generic_points(symbols: tuple[tuple[str, bool], ...]) -> tuple[dict[str, Fraction], ...]:
    """Return points for symbols (name, whether an integer) of which no range is known: many orders and signs.

    >>> [str(p["x"]) for p in generic_points((("x", False),))[:3]]
    ['2/5', '23/8', '3/4']
    """
    whole = ("12 5 3 2", "3 8 20 31", "4 4 4 4", "-3 -2 -5 -4", "25 9 4 6")
    real = (
        "2/5 1/7 3/11 1/13", "23/8 31/7 5/3 7", "3/4 8/9 9/10 1/2", "-2/3 -5/2 -1/9 -8/7", "-7/5 3/8 5/2 -1/3",
    )  # fmt: skip
    points = []
    for integers, reals in zip(whole, real, strict=True):
        n, r = [Fraction(t) for t in integers.split()], [Fraction(t) for t in reals.split()]
        point: dict[str, Fraction] = {}
        counts = [0, 0]
        for name, integer in symbols:
            i = counts[integer]
            counts[integer] += 1
            point[name] = (n if integer else r)[i % 4] + (i // 4) * (1 if integer else Fraction(1, 100))
        points.append(point)
    return tuple(points)
