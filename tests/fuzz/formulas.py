"""Random formulas of the grammar, and their values in balls from the text alone: no code is shared with the package.

A formula is valued at points at which its parameters may stand: integers D >= k >= 1, x and y > 0, p in (0, 1), and z
of any sign.
"""

from __future__ import annotations

import ast
import math
import random
from fractions import Fraction

import flint

INTEGERS, REALS = ("D", "k"), ("x", "y", "p", "z")
POINTS = tuple(
    {name: Fraction(value) for name, value in zip((*INTEGERS, *REALS), values.split(), strict=True)}
    for values in (
        "12 5 3/7 17/9 2/5 -8/3",
        "9 3 23/8 2/11 5/8 7/5",
        "4 4 5/3 13/5 1/9 -1/7",
        "30 1 1/13 31/6 10/11 9/2",
    )
)
_NUMBERS = ("0", "1", "2", "3", "4", "1/2", "1/3", "2/3", "3/2", "-1", "-2", "7", "0.1", "6", "8")
_EXPONENTS = (
    "2", "3", "4", "-1", "-2", "1/2", "3/2", "1/3", "2/3", "-1/2", "D", "k", "2*D", "D - 1", "-D", "k/2", "1/D", "x",
    "p", "z", "1/z", "2*z", "D*k", "1/k", "k + 1", "-z", "D/3", "x*z",
)  # fmt: skip


def random_formula(dice: random.Random, depth: int) -> str:
    """Return a random text of the grammar, with at most ``depth`` levels."""
    if depth == 0 or dice.random() < 0.1:
        return dice.choice((*INTEGERS, *REALS, *INTEGERS, "x", "z", dice.choice(_NUMBERS)))
    kind = dice.choices(
        ("+", "-", "*", "/", "**", "sqrt", "exp", "log", "binomial", "-u", "square", "explog"),
        (12, 9, 12, 9, 16, 9, 6, 8, 12, 3, 7, 3),
    )[0]

    def part() -> str:
        return random_formula(dice, depth - 1)

    match kind:
        case "**":
            exponent = dice.choice(_EXPONENTS) if dice.random() < 0.85 else part()
            return f"({part()})**({exponent})"
        case "square":
            return f"(({part()})**{dice.choice('24')})**({dice.choice(('1/2', '3/2', '1/4', '-1/2', 'z', 'x', 'k/2'))})"
        case "explog":
            return f"exp({dice.choice(_EXPONENTS)}*log({part()}))"
        case "sqrt" | "exp" | "log":
            return f"{kind}({part()})"
        case "-u":
            return f"(-({part()}))"
        case "binomial":
            top = dice.choice(("D", "k", "D + 1", "D - 1", "D + k", "2*D", "7", "D - k", "D*k"))
            if dice.random() < 0.1:
                top = f"binomial({top}, {dice.choice('123')})"
            bottom = dice.choice(("k", "1", "2", "3", "5", "7", "k - 1", "D", "D - k", "0", "k + 1", "binomial(D, 7)"))
            return f"binomial({top}, {bottom})"
    return f"({part()} {kind} {part()})"


def value(text: str, point: dict[str, Fraction], bits: int = 300) -> flint.arb:
    """Return a ball around the value of the text; not finite where that is not a real number."""
    with flint.ctx.workprec(bits):
        return _value(ast.parse(text, mode="eval").body, point)


def _value(node: ast.expr, point: dict[str, Fraction]) -> flint.arb:
    match node:
        case ast.Constant(value=number):
            if not math.isfinite(number):  # beyond doubles
                return flint.arb("nan")
            exact = Fraction(str(number))
            return flint.arb(flint.fmpq(exact.numerator, exact.denominator))
        case ast.Name(id=name):
            return flint.arb(flint.fmpq(point[name].numerator, point[name].denominator))
        case ast.UnaryOp(operand=operand):
            return -_value(operand, point)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, point), _value(right, point)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
            return _power(a, b)
        case ast.Call(func=ast.Name(id="binomial"), args=[top, bottom]):
            n, k = (_value(part, point).unique_fmpz() for part in (top, bottom))
            if n is None or k is None or n < 0 or n > 5000:
                return flint.arb("nan")
            return flint.arb(math.comb(int(n), int(k)) if k >= 0 else 0)
        case ast.Call(func=ast.Name(id=name), args=[inner]):
            x = _value(inner, point)
            return x.sqrt() if name == "sqrt" else x.exp() if name == "exp" else x.log()
    raise AssertionError(ast.dump(node))


def _power(a: flint.arb, b: flint.arb) -> flint.arb:
    if b.is_zero() and not a.is_finite():
        return flint.arb("nan")
    whole = b.unique_fmpz() if b.is_exact() else None
    if whole is not None and abs(whole) < 10**6:
        return flint.arb("nan") if a.contains(0) and whole < 0 else a ** int(whole)
    if a.is_zero() and b > 0:
        return flint.arb(0)
    return a**b if a > 0 else flint.arb("nan")
