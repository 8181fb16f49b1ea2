"""A formula as it is printed: the shortest of a few arrangements of its normal form.

Sums are collected by symbolic powers such as (s + 1)**D, each coefficient is factored, and what all terms share stands
outside; sums are collected by one unknown where that is shorter; factors are written with the sign they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

import sympy as sp

from symamp.errors import ExpressionError, UndecidedOrderError
from symamp.formulas.normal_form import coefficients, quotient
from symamp.formulas.order import sign
from symamp.formulas.parameter import Parameter

_LARGEST_EXPANDED = 24  # larger exponents are taken as symbols, because their powers must not be multiplied out


Writer = Callable[[sp.Expr], str]


@lru_cache(maxsize=4096)
def arranged(expr: sp.Expr, parameters: tuple[Parameter, ...] = (), writers: tuple[Writer, ...] = (str,)) -> sp.Expr:
    """Return an expression of the same value, no longer than the normal form in the text of any of the writers.

    The shortest by the first of them is taken. ``parameters`` say which sign a factor has. What has no normal form is
    returned as it is.

    >>> s, D = sp.Symbol("s", real=True), sp.Symbol("D", integer=True)
    >>> arranged(s * (s + 1) ** (-D - 2) * (s**2 + 2 * s + (s + 1) ** D + 1))
    s/(s + 1)**D + s/(s + 1)**2
    """
    if expr.is_Atom:
        return expr
    if expr.has(sp.log):
        return expr.replace(sp.log, lambda x: sp.log(arranged(x, parameters, writers)))
    symbolic, values = _with_symbolic_powers(expr)
    try:
        plain, *others = [f.xreplace(values) for f in _arrangements(symbolic, parameters, writers[0])]
    except ExpressionError:
        return expr
    others = [f for f in dict.fromkeys(others) if f != plain]
    for found in sorted(others, key=lambda f: len(writers[0](f))):
        if all(len(write(found)) <= len(write(plain)) for write in writers):
            return found
    return plain


def _with_symbolic_powers(expr: sp.Expr) -> tuple[sp.Expr, dict[sp.Symbol, sp.Integer]]:
    """Replace large exponents n of a base by multiples of one symbol and a small rest."""
    large = {p for p in expr.atoms(sp.Pow) if p.exp.is_Integer and abs(p.exp) > _LARGEST_EXPANDED}
    smallest: dict[sp.Expr, sp.Integer] = {}
    for p in large:
        smallest[p.base] = min(abs(p.exp), smallest.get(p.base, sp.oo))
    symbols = {n: sp.Dummy(f"n{n}", integer=True) for n in smallest.values()}
    swap = {}
    for p in large:
        n = smallest[p.base]
        times = sp.floor(p.exp / n + sp.Rational(1, 2))
        swap[p] = sp.Pow(p.base, times * symbols[n] + p.exp - times * n)
    return expr.xreplace(swap), {symbol: n for n, symbol in symbols.items()}


def _arrangements(expr: sp.Expr, parameters: tuple[Parameter, ...], write: Writer) -> Iterator[sp.Expr]:
    def tidy(product: sp.Expr) -> sp.Expr:
        return _tidy(product, parameters, write)

    plain = quotient(expr).expr
    yield _joined([f.as_base_exp() for f in sp.Mul.make_args(plain)])
    terms = [tidy(t) for t in _by_symbolic_powers(plain)]
    if len(terms) > 1:
        yield sp.Add(*terms)
        for below in (True, False):
            common = _common(terms, below)
            if common != 1:
                inner = sp.Add(*(tidy(t / common) for t in terms))
                yield sp.Mul(common, inner, evaluate=not common.is_Rational)
    elif plain.is_Add:  # SymPy multiplies (s + 1)/2 out
        yield sp.Mul(*plain.primitive(), evaluate=False)
    yield tidy(plain)


def _by_symbolic_powers(expr: sp.Expr) -> list[sp.Expr]:
    """Split into terms with different powers of symbolic exponent, each in normal form."""
    q = quotient(expr)
    symbolic = [i for i, g in enumerate(q.generators) if g.base is not sp.E and g.core.free_symbols]
    parts: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
    for exps, c in q.num.to_dict().items():
        parts.setdefault(tuple(exps[i] for i in symbolic), {})[exps] = c
    below, ctx = q.expression(q.den), q.num.context()
    return [quotient(q.expression(ctx.from_dict(part)) / below).expr for part in parts.values()]


def _common(terms: Sequence[sp.Expr], below: bool) -> sp.Expr:
    """Return what all terms share as a factor; only what stands below the fraction line if ``below``."""
    numbers, rest = zip(*(t.as_coeff_Mul() for t in terms), strict=True)
    top = 1 if below else sp.gcd_list([n.p for n in numbers])
    powers = [dict(f.as_base_exp() for f in sp.Mul.make_args(r)) for r in rest]
    shared = [sp.Rational(top, sp.lcm_list([n.q for n in numbers]))]
    for base in powers[0]:
        found = [p.get(base, sp.S.Zero) for p in powers]
        if all(e == found[0] for e in found):
            exponent = found[0]
        elif all(e.is_Integer for e in found) and (all(e > 0 for e in found) or all(e < 0 for e in found)):
            exponent = min(found, key=abs)
        else:
            continue
        if not below or exponent.could_extract_minus_sign():
            shared.append(sp.Pow(base, exponent))
    return sp.Mul(*shared)


def _tidy(product: sp.Expr, parameters: tuple[Parameter, ...], write: Writer) -> sp.Expr:
    """Return the product with its sums collected, each with the sign it has where that is known."""
    number, rest = product.as_coeff_Mul()
    factors = []
    for factor in sp.Mul.make_args(rest):
        base, exponent = factor.as_base_exp()
        if base.is_Add and exponent.is_Integer:
            if exponent.is_odd and _known_sign(base, parameters) < 0:
                base, number = -base, -number
            base = _collected(base, write)
        factors.append((base, exponent))
    if number < 0:  # one factor whose sign is not known may take the minus
        for i, (base, exponent) in enumerate(factors):
            if base.is_Add and exponent.is_odd and _known_sign(base, parameters) <= 0:
                factors[i], number = (-base, exponent), -number
                break
    return sp.Mul(number, _joined(factors))


def _joined(factors: Sequence[tuple[sp.Expr, sp.Expr]]) -> sp.Expr:
    """Return the product of the powers (base, exponent) with one exponent for each base: l*l**(-D) is l**(1 - D)."""
    powers: dict[sp.Expr, sp.Expr] = {}
    for base, exponent in factors:
        powers[base] = powers.get(base, sp.S.Zero) + exponent
    return sp.Mul(*(sp.Pow(b, e) for b, e in powers.items()))


def _collected(total: sp.Expr, write: Writer) -> sp.Expr:
    """Return the sum collected by the unknown that makes it shortest, the coefficients factored."""
    if len(total.args) < 3:
        return total
    found = [total]
    q = quotient(total)
    for i, g in enumerate(q.generators):
        parts = coefficients(q.num, (i,))
        if q.den.is_one() and 1 < len(parts) < len(total.args):
            found.append(sp.Add(*(g.expr**e * quotient(q.expression(c)).expr for (e,), c in parts.items())))
    return min(found, key=lambda f: len(write(f)))


def _known_sign(expr: sp.Expr, parameters: tuple[Parameter, ...]) -> int:
    with suppress(ExpressionError, UndecidedOrderError, RecursionError):  # too deep: it is shown as it stands
        return sign(expr, parameters)
    return 0
