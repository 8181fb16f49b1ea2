"""The normal form of a formula: a reduced quotient of integer polynomials in generators such as exp(eps0/2) and k."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import flint
import sympy as sp

from symamp.errors import ExpressionError
from symamp.numbers.unevaluated import binomial, power

# What a normal form may take: larger expressions are refused, or kept as they are where that is sound.
_LARGEST_FACTORED_DEGREES = 1000  # product of the degrees in all unknowns of a polynomial that is factored
_LARGEST_SPLIT_EXPONENT = 10_000  # integers in exponents up to it are no generators of their own
_LARGEST_ROOT = 256  # m of a radical that shares a generator with others
_LARGEST_SHIFT = 64  # binomial(n + a, k + b) is reduced to binomial(n, k) for |a|, |b| up to it
_MOST_EXPANDED_TERMS = 200_000  # of a power of a sum
_LARGEST_DEGREE = 20_000  # of a polynomial in one generator
_MOST_ROOT_WORK = 400_000  # for roots in a denominator, in units of about four microseconds

# ------------------------------- Generators: the powers base**(unit*core) in which an expression is a rational function

Key = tuple[sp.Expr, sp.Expr]  # (base, core): the powers base**(c*core) with rational c share one generator


@dataclass(frozen=True)
class Generator:
    """The quantity base**(unit*core); ``unit`` is the largest that makes every exponent in use an integer."""

    base: sp.Expr
    core: sp.Expr
    unit: sp.Rational

    @property
    def key(self) -> Key:
        """The pair (base, core)."""
        return self.base, self.core

    @property
    def expr(self) -> sp.Expr:
        """The generator as an expression."""
        return sp.exp(self.unit * self.core) if self.base is sp.E else sp.Pow(self.base, self.unit * self.core)

    @property
    def is_constant(self) -> bool:
        """Whether no symbol occurs."""
        return not (self.base.free_symbols or self.core.free_symbols)

    @property
    def is_atom(self) -> bool:
        """Whether the base is taken as independent of everything else: a symbol, e, pi, or a function."""
        return is_atom(self.base)

    @property
    def root(self) -> int:
        """The m of the relation generator**m = base of a radical; 0 where there is no relation."""
        return 0 if self.core != 1 or self.is_atom else int(self.unit.q)


OPAQUE = (sp.erf, sp.erfc, sp.atan)
"""Functions of which only their arguments are known; a constant is told from 0 in balls."""
FUNCTIONS = (sp.log, sp.binomial, *OPAQUE)


def is_atom(base: sp.Expr) -> bool:
    """Return whether ``base`` is a generator by itself rather than a polynomial in generators."""
    return bool(base.is_Symbol or base in (sp.E, sp.pi)) or isinstance(base, (*FUNCTIONS, power))


def unit_of(key: Key, exponents: set[sp.Rational]) -> sp.Rational:
    """Return the unit for these exponents: 1/lcm of denominators; for exponentials the exact common divisor."""
    below = math.lcm(*(int(c.q) for c in exponents))
    base, core = key
    exponential = core != 1 or base is sp.E
    above = math.gcd(*(int(c.p) * (below // int(c.q)) for c in exponents)) if exponential else 1
    return sp.Rational(above or 1, below)


# ------------------------- Integer polynomials of python-flint: rings, coefficients, fractions in lowest terms, factors

Context = Any  # flint.fmpz_mpoly_ctx
Polynomial = Any  # flint.fmpz_mpoly, which has no type stubs
Fraction = tuple[Polynomial, Polynomial]


def context(size: int) -> Context:
    """Return the ring of integer polynomials in ``size`` unknowns."""
    return flint.fmpz_mpoly_ctx.get([f"g{i}" for i in range(size)], "deglex")


def polynomial_expression(polynomial: Polynomial, generators: Sequence[Generator]) -> sp.Expr:
    """Return the SymPy expression of a flint polynomial in ``generators``."""
    gens = [g.expr for g in generators]
    return sp.Add(
        *(
            sp.Mul(int(c), *(sp.Pow(g, e) for g, e in zip(gens, exps, strict=True) if e))
            for exps, c in polynomial.to_dict().items()
        )
    )


def coefficients(polynomial: Polynomial, unknowns: Sequence[int]) -> dict[tuple[int, ...], Polynomial]:
    """Return the coefficients by the exponents of some unknowns, as polynomials that do not contain these."""
    parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for exps, c in polynomial.to_dict().items():
        rest = tuple(0 if i in unknowns else e for i, e in enumerate(exps))
        parts.setdefault(tuple(exps[i] for i in unknowns), {})[rest] = c
    ctx = polynomial.context()
    return {exps: ctx.from_dict(part) for exps, part in parts.items()}


def cancel(num: Polynomial, den: Polynomial) -> Fraction:
    """Return the fraction in lowest terms with a positive leading coefficient below."""
    if den.is_one():
        return num, den
    common = num.gcd(den)
    if not common.is_one():
        num, den = num / common, den / common
    return (-num, -den) if den.leading_coefficient() < 0 else (num, den)


def factorised(polynomial: Polynomial) -> tuple[int, list[tuple[Polynomial, int]]]:
    """Return (content, [(factor, multiplicity), ...]), irreducible factors where python-flint finds them.

    It takes minutes for polynomials of high degree, seen in no formula of a mechanism but with exponents such as
    eps0/1000 beside eps0, and gives up on some large coefficients and exponents. Then the polynomial itself is the one
    factor, which is still canonical: equal polynomials get equal factors.
    """
    if math.prod(d for d in map(int, polynomial.degrees()) if d) > _LARGEST_FACTORED_DEGREES:
        return (1, [(polynomial, 1)])
    try:
        content, factors = polynomial.factor()
    except (OverflowError, RuntimeError):
        return (1, [(polynomial, 1)])
    return int(content), [(factor, int(multiplicity)) for factor, multiplicity in factors]


# ------------ The normal form as data: a reduced quotient of polynomials in generators, and the expression it prints as


@dataclass(frozen=True, eq=False)
class Quotient:
    """num/den, reduced, in the generators; den has a positive leading coefficient."""

    generators: tuple[Generator, ...]
    num: Polynomial
    den: Polynomial

    @property
    def independent(self) -> bool:
        """Whether the symbolic generators are known to be algebraically independent over the constants.

        They are if they are symbols and exponentials of different monomials; powers of expressions, and exponents
        such as 1/(k + 1) and k/(k + 1), may hide relations.
        """
        return all(
            g.is_constant
            or (g.core == 1 and g.base.is_Symbol)
            or (not g.base.free_symbols and all(f.as_base_exp()[0].is_Symbol for f in sp.Mul.make_args(g.core)))
            for g in self.generators
        )

    def expression(self, polynomial: Polynomial) -> sp.Expr:
        """Return a polynomial in these generators as an expression."""
        return polynomial_expression(polynomial, self.generators)

    @cached_property
    def factored(self) -> tuple[sp.Rational, tuple[tuple[sp.Expr, int], ...]]:
        """Rational content and irreducible factors with exponents (negative in the denominator)."""
        above, factors = factorised(self.num)
        below, others = factorised(self.den)
        pairs = [(self.expression(f), e) for f, e in factors] + [(self.expression(f), -e) for f, e in others]
        return sp.Rational(above, below), tuple(pairs)

    @cached_property
    def expr(self) -> sp.Expr:
        """The quotient as a SymPy expression, both parts factored."""
        if self.num == 0:
            return sp.S.Zero
        content, factors = self.factored
        if content < 0:  # print (2 - p)/(1 + p) rather than -(p - 2)/(1 + p), as long as one factor can take the sign
            order = sorted(factors, key=lambda pair: (pair[1] < 0, sp.default_sort_key(pair[0])))
            turned = next((f for f, e in order if e % 2 and f.is_Add), None)
            if turned is not None:
                content, factors = -content, tuple((-f if f is turned else f, e) for f, e in factors)
        return sp.Mul(content, *(sp.Pow(f, e) for f, e in factors))


def shrink(generators: Sequence[Generator], num: Polynomial, den: Polynomial) -> Quotient:
    """Return the quotient without unused generators, units as large as possible: independent of how it was written."""
    above, below = num.to_dict(), den.to_dict()
    kept: list[tuple[int, int, Generator]] = []
    for i, g in enumerate(generators):
        common = math.gcd(*(e[i] for e in above), *(e[i] for e in below))
        if common:
            exponential = g.core != 1 or g.base is sp.E
            step = common if exponential else math.gcd(common, int(g.unit.q))
            kept.append((i, step, Generator(g.base, g.core, g.unit * step)))
    kept.sort(key=lambda item: sp.default_sort_key(item[2].expr))
    ctx = context(len(kept))
    num, den = (
        ctx.from_dict({tuple(e[i] // step for i, step, _ in kept): c for e, c in d.items()}) for d in (above, below)
    )
    if den.leading_coefficient() < 0:
        num, den = -num, -den
    return Quotient(tuple(g for _, _, g in kept), num, den)


# ---------------------------------------- Exponentials and powers as products of powers base**(c*core) in standard form

# Bases and exponents are brought to normal form on the way, by ``quotient`` below.

ACCEPTED = "real expressions in rational numbers, + - * /, powers, exp, log, sqrt, erf, atan, binomial, pi and symbols"


Powers = dict[Key, sp.Rational]


def refused(expr: sp.Expr) -> ExpressionError:
    """Return the error that refuses ``expr``."""
    return ExpressionError("expression", expr, ACCEPTED)


def _add(powers: Powers, key: Key, exponent: sp.Rational) -> None:
    total = powers.get(key, sp.S.Zero) + exponent
    if total == 0:
        powers.pop(key, None)
    else:
        powers[key] = total


def _terms(exponent: sp.Expr) -> list[tuple[sp.Rational, sp.Expr]]:
    """Split an exponent into rational multiples of cores."""
    expanded = sp.expand(quotient(exponent).expr)
    return [term.as_coeff_Mul(rational=True) for term in sp.Add.make_args(expanded) if term != 0]


def prime_powers(number: sp.Rational) -> dict[sp.Integer, int]:
    """Return exponents by prime whose powers multiply to a positive rational."""
    # The limit bounds the time for hostile integers; an unfactored rest is a generator of its own, which is sound.
    return {sp.Integer(p): int(e) for p, e in sp.factorrat(number, limit=2**15).items() if p != 1}


def _constant_core(c: sp.Rational) -> tuple[sp.Rational, sp.Rational]:
    """Split c into core * rest, where core is 1 or a large integer without small prime factors.

    An exponent such as the exact value of the double 0.9 shares no useful unit with 1/3: one generator for both would
    have a degree of 10**15. Its multiples by small fractions keep the same core, so exp(c/2)**2 = exp(c) is still seen.
    """
    large = abs(int(c.p))
    for prime in (2, 3, 5, 7):
        while large % prime == 0:
            large //= prime
    core = sp.Rational(large if large > _LARGEST_SPLIT_EXPONENT else 1)
    if core == 1 and c.q > _LARGEST_ROOT:
        core = sp.Rational(1, c.q)  # exp(1/100000) next to exp(1): as independent, which is sound
    return core, c / core


def _exponential(argument: sp.Expr) -> Powers:
    powers: Powers = {}
    for c, core in _terms(argument):
        factors = sp.Mul.make_args(core)
        logs = [f for f in factors if isinstance(f, sp.log) and f.args[0].is_Integer]
        if core == 1:
            core, c = _constant_core(c)
            _add(powers, (sp.E, core), c)
        elif len(logs) == 1:  # exp(c*log(2)*x) = 2**(c*x)
            _add(powers, (logs[0].args[0], sp.Mul(*[f for f in factors if f is not logs[0]])), c)
        else:
            _add(powers, (sp.E, core), c)
    return powers


def _general_power(base: sp.Expr, exponent: sp.Expr) -> Powers:
    """Split what may be split: any factor for integer exponents, factors known to be positive for others."""
    terms = _terms(exponent)
    if base.is_Rational:
        if base <= 0:
            raise refused(sp.Pow(base, exponent, evaluate=False))
        pieces: list[tuple[sp.Expr, int]] = list(prime_powers(base).items())
        return _collect_pieces(pieces, terms)
    whole = all(c.is_Integer and core.is_integer for c, core in terms)
    content, factors = quotient(base).factored
    sign, content = (-1, -content) if content < 0 else (1, content)
    pieces = list(prime_powers(content).items())
    mixed: list[tuple[sp.Expr, int]] = []
    for factor, n in factors:
        inner = _positive_power(factor)
        if inner is not None:
            for (b, core), c in inner.items():
                pieces.append((sp.Pow(b, c * core) if b is not sp.E else sp.exp(c * core), n))
        elif whole and (factor.is_Symbol or all(t.as_coeff_Mul()[0] > 0 for t in sp.Add.make_args(factor))):
            pieces.append((factor, n))
        else:
            mixed.append((factor, n))
    turn = -1 if mixed and all(n < 0 for _, n in mixed) else 1  # ((1 - q)**-1)**D = (1 - q)**-D
    rest = quotient(sp.Mul(sign, *(f ** (n * turn) for f, n in mixed))).expr
    if rest.is_Rational and rest < 0:
        raise refused(sp.Pow(base, exponent, evaluate=False))
    if rest != 1:
        pieces.append((rest, turn))
    return _collect_pieces(pieces, terms)


def _positive_power(factor: sp.Expr) -> Powers | None:
    """The decomposition of an exponential or a power of a positive number; None for anything else."""
    if factor is sp.E or isinstance(factor, sp.exp) or (factor.is_Pow and factor.base.is_Rational):
        return dict(powers_of(factor))
    return None


def _collect_pieces(pieces: list[tuple[sp.Expr, int]], terms: list[tuple[sp.Rational, sp.Expr]]) -> Powers:
    powers: Powers = {}
    for base, n in pieces:
        for c, core in terms:
            inner = _positive_power(base)
            if inner is None:
                _add(powers, (base, core), c * n)
                continue
            for (b, old), old_c in inner.items():  # (e**(c*x))**(n*y) = e**(c*n*x*y)
                for extra, new in _terms(old * core):
                    _add(powers, (b, new), old_c * extra * c * n)
    return powers


@lru_cache(maxsize=8192)
def powers_of(expr: sp.Expr) -> tuple[tuple[Key, sp.Rational], ...]:
    """Return ((base, core), exponent) pairs whose powers multiply to ``expr``: a symbol, exp, or non-integer power."""
    if is_atom(expr):
        return (((expr, sp.S.One), sp.S.One),)
    if isinstance(expr, sp.exp):
        return tuple(_exponential(expr.args[0]).items())
    if expr.is_Pow:
        if expr.base is sp.E:
            return tuple(_exponential(expr.exp).items())
        return tuple(_general_power(expr.base, expr.exp).items())
    raise refused(expr)


# ---------------------------- Logarithms and binomials in a standard form, so that equal ones become the same generator


@lru_cache(maxsize=1024)
def rewrite(expr: sp.Expr) -> sp.Expr | None:
    """Return logarithms of primes for log of a rational, and a rational multiple of binomial(n, k) for a shifted one.

    1 - erf for erfc; arguments of erf and atan in normal form. None where the expression is in its final form. Raises
    ExpressionError for other functions.
    """
    if isinstance(expr, sp.log) and len(expr.args) == 1:
        inner = quotient(expr.args[0]).expr
        if inner.is_Rational:
            if inner <= 0:
                raise refused(expr)
            result = sp.Add(*(e * sp.log(p) for p, e in prime_powers(inner).items()))
        else:
            result = sp.log(inner)
        return None if result == expr else result
    if isinstance(expr, OPAQUE):
        inner = quotient(expr.args[0]).expr
        result = 1 - sp.erf(inner) if isinstance(expr, sp.erfc) else expr.func(inner)
        return None if result == expr else result
    if not isinstance(expr, sp.binomial):
        raise refused(expr)
    if all(a.is_Integer for a in expr.args) and isinstance(expr, binomial):
        return None  # too long to be written out
    n, k = (sp.expand(quotient(a).expr) for a in expr.args)
    (a, core_n), (b, core_k) = n.as_coeff_Add(), k.as_coeff_Add()
    if core_k == 0:
        if not b.is_Integer or abs(b) > _LARGEST_SHIFT:
            raise refused(expr)
        return sp.Mul(*[(n - i) / sp.Integer(i + 1) for i in range(int(b))]) if b >= 0 else sp.S.Zero
    if not all(c.is_Integer and abs(c) <= _LARGEST_SHIFT for c in ((b,) if core_n == 0 else (a, b))):
        raise refused(expr)
    factor = sp.S.One
    if core_n == 0:
        core_n, a = a, sp.S.Zero
    for i in range(1, int(a) + 1):
        factor *= (core_n + i) / (core_n + i - k)
    for i in range(-int(a)):
        factor *= (core_n - i - k) / (core_n - i)
    for i in range(int(b)):
        factor *= (core_n - core_k - i) / (core_k + i + 1)
    for i in range(1, -int(b) + 1):
        factor *= (core_k - i + 1) / (core_n - core_k + i)
    result = binomial(core_n, core_k, evaluate=False) * factor
    return None if result == expr else result


# ---------- The ring of integer polynomials (python-flint) in the generators of some expressions, and how to read those

_DEGREES = f"exponents whose ratios have small numerators and denominators: degrees of at most {_LARGEST_DEGREE}"


class Ring:
    """The polynomial ring in all generators of some expressions, and the reading of expressions in it."""

    def __init__(self, expressions: Iterable[sp.Expr]) -> None:
        found: dict[Key, set[sp.Rational]] = {}
        seen: set[sp.Expr] = set()
        for e in expressions:
            self._collect(e, found, seen)
        made = [Generator(*key, unit_of(key, exponents)) for key, exponents in found.items()]
        self.generators = tuple(sorted(made, key=lambda g: sp.default_sort_key(g.expr)))
        self.position = {g.key: i for i, g in enumerate(self.generators)}
        self.ctx = context(len(made))
        self.variables = self.ctx.gens()
        self.one = self.ctx.constant(1)
        self._memo: dict[sp.Expr, Fraction] = {}

    def _collect(self, expr: sp.Expr, found: dict[Key, set[sp.Rational]], seen: set[sp.Expr]) -> None:
        if expr.is_Rational or expr in seen:
            return
        seen.add(expr)
        if expr.is_Add or expr.is_Mul:
            for child in expr.args:
                self._collect(child, found, seen)
        elif expr.is_Pow and expr.exp.is_Integer and expr.base is not sp.E:
            self._collect(expr.base, found, seen)
        elif isinstance(expr, FUNCTIONS) and (simpler := rewrite(expr)) is not None:
            self._collect(simpler, found, seen)
        else:
            for key, exponent in powers_of(expr):
                found.setdefault(key, set()).add(exponent)
                if Generator(*key, sp.Rational(1, exponent.q)).root:
                    self._collect(key[0], found, seen)

    def read(self, expr: sp.Expr) -> Fraction:
        """Return ``expr`` as a fraction; relations of radicals are not applied."""
        found = self._memo.get(expr)
        if found is None:
            found = self._memo[expr] = self._read(expr)
        return found

    def _read(self, expr: sp.Expr) -> Fraction:
        if expr.is_Rational:
            return self.ctx.constant(int(expr.p)), self.ctx.constant(int(expr.q))
        if expr.is_Add:
            num, den = self.read(expr.args[0])
            for child in expr.args[1:]:
                a, b = self.read(child)
                num, den = (num + a, den) if b == den else (num * b + a * den, den * b)
            return cancel(num, den)
        if expr.is_Mul:
            num, den = self.one, self.one
            for child in expr.args:
                a, b = self.read(child)
                num, den = cancel(num * a, den * b)
            return num, den
        if expr.is_Pow and expr.exp.is_Integer and expr.base is not sp.E:
            return self._raise(self.read(expr.base), int(expr.exp), expr)
        if isinstance(expr, FUNCTIONS) and (simpler := rewrite(expr)) is not None:
            return self.read(simpler)
        num, den = self.one, self.one
        for key, exponent in powers_of(expr):
            i = self.position[key]
            n = int(exponent / self.generators[i].unit)
            if abs(n) > _LARGEST_DEGREE:
                raise ExpressionError("exponents", expr, _DEGREES)
            num, den = (num * self.variables[i] ** n, den) if n > 0 else (num, den * self.variables[i] ** -n)
        return num, den

    @staticmethod
    def _raise(value: Fraction, n: int, expr: sp.Expr) -> Fraction:
        num, den = value
        more = max(len(num), len(den)) - 1
        if more > 0 and (abs(n) > _MOST_EXPANDED_TERMS or math.comb(abs(n) + more, more) > _MOST_EXPANDED_TERMS):
            raise ExpressionError("power", expr, f"a power that expands to at most {_MOST_EXPANDED_TERMS} terms")
        if abs(n) * max(num.total_degree(), den.total_degree()) > _LARGEST_DEGREE:
            raise ExpressionError("power", expr, _DEGREES)
        if n >= 0:
            return num**n, den**n
        if num == 0:
            raise ExpressionError("expression", expr, "an expression without division by zero")
        return cancel(den**-n, num**-n)


# ----------------- Radicals in a quotient of polynomials: apply generator**m = base and clear them from the denominator


def _reduce(polynomial: Polynomial, i: int, m: int, base: Fraction, ring: Ring) -> Fraction:
    """Replace generator**m by its base a/b; the result is over a power of b. (m = 1 comes from base**(D - 1).)"""
    a, b = base
    parts = coefficients(polynomial, (i,))
    top = max((e // m for (e,) in parts), default=0)
    total = ring.ctx.constant(0)
    for (e,), part in parts.items():
        total += part * a ** (e // m) * b ** (top - e // m) * ring.variables[i] ** (e % m)
    return total, b**top


def _conjugate(den: Polynomial, i: int, m: int, base: Fraction, ring: Ring) -> Polynomial:
    """A polynomial whose product with ``den`` is free of generator i; 0 if ``den`` has no inverse."""
    a, b = base
    zero = ring.ctx.constant(0)
    rows = [[zero] * m + [ring.one if power == 0 else zero] for power in range(m)]
    for (e,), part in coefficients(den, (i,)).items():
        for shift in range(m):  # column: coefficients of den * g**shift, times b to stay a polynomial
            rows[(e + shift) % m][shift] = part * (a if e + shift >= m else b)
    # Fraction-free elimination above and below the diagonal (Bareiss): every division is exact.
    last = ring.one
    for k in range(m):
        pivot = next((r for r in range(k, m) if rows[r][k] != 0), None)
        if pivot is None:
            return zero
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for r in range(m):
            if r != k:
                rows[r] = [(rows[k][k] * x - rows[r][k] * y) / last for x, y in zip(rows[r], rows[k], strict=True)]
        last = rows[k][k]
    return sum((rows[r][m] * ring.variables[i] ** r for r in range(m)), zero)


def _check_work(den: Polynomial, radicals: list[tuple[int, Generator]], ring: Ring, expr: sp.Expr) -> None:
    """Refuse to clear a denominator where that takes seconds: its norm has the degree of all its roots together."""
    used = {i: g for i, g in radicals if den.degrees()[i] > 0}
    parts = [den, *(side for g in used.values() for side in ring.read(g.base))]
    terms = {tuple(0 if i in used else e for i, e in enumerate(exps)) for part in parts for exps in part.to_dict()}
    degree, unknowns = math.prod(g.root for g in used.values()), len(terms) - 1
    most = max((g.root for g in used.values()), default=0)
    if most**3 + degree**2 * math.comb(degree + unknowns, unknowns) > _MOST_ROOT_WORK:
        raise ExpressionError("roots", expr, "few and small roots in denominators, such as square roots")


def rationalise(ring: Ring, num: Polynomial, den: Polynomial, expr: sp.Expr) -> Fraction:
    """Return num/den reduced by all relations, with a denominator free of radicals."""
    radicals: list[tuple[int, Generator]] = [(i, g) for i, g in enumerate(ring.generators) if g.root]
    if radicals:
        _check_work(den, radicals, ring, expr)
    # A base may contain other radicals, so the larger expressions go first.
    for i, g in sorted(radicals, key=lambda item: -sp.count_ops(item[1].base)):
        m, base = g.root, ring.read(g.base)
        (num, below), (den, above) = _reduce(num, i, m, base, ring), _reduce(den, i, m, base, ring)
        num, den = num * above, den * below
        if den.degrees()[i] > 0:
            other = _conjugate(den, i, m, base, ring)
            (num, below), (den, above) = (_reduce(p * other, i, m, base, ring) for p in (num, den))
            num, den = num * above, den * below
        if den == 0:
            raise ExpressionError("expression", expr, "an expression without division by zero")
        num, den = cancel(num, den)
    return num, den


# -------------- The normal form: an expression as a reduced quotient of polynomials in its generators, exact, no floats

# Polynomials are those of python-flint over the integers. Radicals obey generator**m = base; they are reduced, and
# removed from the denominator, so that the quotient is unique for roots of primes (Besicovitch 1940: these have no
# further relations). Exponentials with exponents independent over the rationals are algebraically independent
# functions (Ax 1971), so for expressions with symbols equal functions have equal forms.


@lru_cache(maxsize=65536)
def quotient(expr: sp.Expr) -> Quotient:
    """Return the reduced quotient of ``expr``. Raises ExpressionError for unsupported parts or a division by zero."""
    ring = Ring([expr])
    num, den = ring.read(expr)
    num, den = rationalise(ring, num, den, expr)
    return shrink(ring.generators, num, den)


def normal(expr: sp.Expr) -> sp.Expr:
    """Return the canonical form of ``expr``: a reduced quotient, factored; equal functions give equal expressions.

    Raises ExpressionError for functions outside the documented ones, floats, and division by zero.

    >>> e, k = sp.Symbol("eps0", real=True), sp.Symbol("k", integer=True)
    >>> normal(1 - (k - 1) / (sp.exp(e) + k - 1))
    exp(eps0)/(k + exp(eps0) - 1)
    """
    expr = sp.sympify(expr)
    return expr if expr.is_Rational else quotient(expr).expr


def normal_product(powers: Iterable[tuple[sp.Expr, int]]) -> sp.Expr:
    """Return the product of powers of expressions in normal form, nothing multiplied out but numbers.

    >>> e = sp.Symbol("eps0", real=True)
    >>> normal_product([(3 / (sp.exp(e) + 2), 2), (1 / (sp.exp(e) + 2), 10**6)])
    9/(exp(eps0) + 2)**1000002
    """
    content, exponents = sp.S.One, dict[sp.Expr, int]()
    for expr, times in powers:
        number, factors = quotient(sp.sympify(expr)).factored
        content *= number**times
        for factor, exponent in factors:
            exponents[factor] = exponents.get(factor, 0) + exponent * times
    return sp.Mul(content, *(sp.Pow(factor, exponent) for factor, exponent in exponents.items()))
