"""Proved signs and orders of formulas over all admissible parameters: exact algebra and balls, never floats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cmp_to_key, lru_cache, partial
from itertools import product
from math import prod
from typing import Any

import flint
import sympy as sp

from symamp.errors import ArgumentError, ExpressionError, Problem, UndecidedOrderError, shown
from symamp.formulas import normal_form
from symamp.formulas.parameter import Parameter
from symamp.numbers.substitution import put
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import arb_value

# What a proof may take: it ends with a refusal, never with hours. A proof that fails stops at the first limit.
_PRECISIONS = (64, 256, 1024, 4096)  # bits of a constant, before it counts as undecided
_COEFFICIENT_BITS = 256  # of balls around the coefficients of a polynomial: nearly always enough
_LARGEST_BOUND_EXPONENT = 4096  # of a power that bounds a generator; without it the bound is weaker
_NESTED_BOUNDS = 8  # bounds whose bounds are looked up, and so on
_HALVINGS = 8  # cuts of the orthant in one proof
_MOST_CUT_TERMS = 400  # of a polynomial that is cut further
_MOST_TERMS = 4000  # of a polynomial in which ranges are put
_LARGEST_COUNTED_DEGREE = 32  # of a polynomial in one unknown whose roots are counted
_INTEGER_STEPS = 3  # least values of an integer that are split off

# ----------------------- The sign of a constant: balls of growing precision, and algebra where balls cannot tell a zero


@lru_cache(maxsize=16384)
def constant_sign(expr: sp.Expr) -> int:
    """Return the sign (-1, 0, 1) of an expression without symbols, proved.

    Nonzero values are proved by balls of up to 4096 bits; zero by the normal form or, for algebraic numbers, by the
    minimal polynomial. Raises UndecidedOrderError if neither works, ExpressionError if the value is not real.
    """
    unbounded: ExpressionError | None = None
    for bits in _PRECISIONS:
        if expr.is_Rational:
            return (int(expr.p) > 0) - (int(expr.p) < 0)
        try:
            value, unbounded = arb_value(expr, bits), None
            if value > 0 or value < 0:
                return 1 if value > 0 else -1
        except ExpressionError as error:  # a denominator that is not yet separated from zero
            unbounded = error
        if bits == _PRECISIONS[0]:  # most constants need neither algebra nor many bits
            expr = normal_form.normal(expr)
    if unbounded is not None:
        raise unbounded
    if expr.is_algebraic:
        x = sp.Dummy("x")
        # SymPy takes more for algebraic than it is.
        with suppress(sp.polys.polyerrors.NotAlgebraic, NotImplementedError):
            if sp.minimal_polynomial(expr, x) == x:
                return 0
    unknown = Problem(f"{_PRECISIONS[-1]} bits do not tell whether {shown(expr)} is 0")
    raise UndecidedOrderError("order", unknown, "change the numbers by a little")


# -------------- What the parameters say about one generator: proved bounds, as expressions in what was declared earlier

Prover = Callable[[sp.Expr], tuple[int, bool] | None]
"""Returns (sign, strict) of an expression over the admissible parameters, or None where no proof was found."""


@dataclass(frozen=True)
class Range:
    """lower < generator < upper, where a closed end may be attained; None is no bound."""

    lower: sp.Expr | None
    upper: sp.Expr | None
    closed_lower: bool = False
    closed_upper: bool = False


_POSITIVE = Range(sp.S.Zero, None)
Interval = tuple[sp.Expr | None, sp.Expr | None, bool]  # ends, and whether they may be attained


def _monotone(g: normal_form.Generator, interval: Interval, rising: bool) -> Range:
    """The range of base**(unit*core) for a core in the interval, where base >= 1 (rising) or 0 < base <= 1."""

    def end(bound: sp.Expr | None) -> sp.Expr | None:
        if bound is None:
            return None
        exponent = g.unit * bound
        # Powers too large to write down are left out: a weaker bound, never a wrong one.
        if exponent.is_Rational and abs(exponent) > _LARGEST_BOUND_EXPONENT:
            return None
        return sp.exp(exponent) if g.base is sp.E else sp.Pow(g.base, exponent)

    low, high, closed = interval
    lower, upper = (end(low), end(high)) if rising else (end(high), end(low))
    if lower is None:
        return Range(sp.S.Zero, upper, False, closed)
    return Range(lower, upper, closed, closed)


def _interval(core: sp.Expr, parameters: Mapping[sp.Symbol, Parameter], prove: Prover) -> Interval:
    if core in parameters:
        p = parameters[core]
        return p.lower, p.upper, p.integer
    proof = prove(core)
    if proof is None:
        return None, None, False
    return (sp.S.Zero, None, not proof[1]) if proof[0] >= 0 else (None, sp.S.Zero, not proof[1])


def _root_range(g: normal_form.Generator, p: Parameter, prove: Prover) -> Range | None:
    """The m-th root of a parameter, which needs a parameter that is not negative."""
    below = None if p.lower is None else prove(p.lower)
    if p.lower is None or below is None or below[0] < 0:
        return None
    upper = None if p.upper is None else sp.Pow(p.upper, g.unit)
    return Range(sp.Pow(p.lower, g.unit), upper, p.integer, p.integer)


def range_of(g: normal_form.Generator, parameters: Mapping[sp.Symbol, Parameter], prove: Prover) -> Range | None:
    """Return the proved range of a generator; None if it may have any sign or may not be real.

    Every generator is bounded on its own: relations such as the one between D and 2**D are forgotten, which can only
    make a proof fail, never make it wrong.
    """
    base, core = g.base, g.core
    if core == 1 and base in parameters:
        p = parameters[base]
        if g.unit != 1:
            return _root_range(g, p, prove)
        return None if p.lower is None and p.upper is None else Range(p.lower, p.upper, p.integer, p.integer)
    if base is sp.E or base.is_Rational:  # a rational base is an integer of at least 2
        return _monotone(g, _interval(core, parameters, prove), True)
    if isinstance(base, sp.log):
        proof = prove(base.args[0] - 1)
        if proof is None or (proof[0] < 0 and g.unit != 1):  # the root of a negative logarithm is not real
            return None
        lower, upper = (sp.S.Zero, None) if proof[0] >= 0 else (None, sp.S.Zero)
        return Range(lower, upper, not proof[1], not proof[1])
    if isinstance(base, sp.binomial):
        n, k = base.args
        inside = n.is_integer and k.is_integer and all((s := prove(e)) is not None and s[0] >= 0 for e in (k, n - k))
        return Range(sp.S.One, None, True) if inside else None
    if isinstance(base, normal_form.OPAQUE):
        return None
    proof = prove(base)
    if proof is None or proof[0] < 0:
        return None
    if core == 1:
        return Range(sp.S.Zero, None, not proof[1])
    if not proof[1]:
        return None
    against = prove(base - 1)
    if against is None:
        return _POSITIVE
    low, high, closed = _interval(core, parameters, prove)
    # A base that may equal 1 makes any end attainable.
    return _monotone(g, (low, high, closed or not against[1]), against[0] >= 0)


# ----------------------------------------------- Proofs that a polynomial has one sign where some unknowns are positive

Signs = Callable[[normal_form.Polynomial], int | None]
"""The sign of a coefficient (a polynomial in the constants of the ring), or None if it is not known."""


@dataclass(frozen=True)
class Unknown:
    """An unknown u > 0 of the ring; ``at_zero`` and ``at_infinity`` say which ends may be attained as well.

    ``degree`` is the degree in u from which a value at infinity is read off.
    """

    index: int
    at_zero: bool
    at_infinity: bool = False
    degree: int = 0


def substitute(
    polynomial: normal_form.Polynomial, i: int, low: normal_form.Fraction | None, high: normal_form.Fraction | None
) -> tuple[normal_form.Polynomial, list[normal_form.Polynomial]]:
    """Put x = low + u, x = high - u or x = (low + high*u)/(1 + u), where u takes the place of unknown x.

    Returns the polynomial times s**degree (and a power of 1 + u) for each s of the second list, without fractions.
    """
    ctx = polynomial.context()
    u = ctx.gens()[i]
    if low is not None and high is not None:
        (a, b), (c, d) = low, high
        above, below, scales = a * d + c * b * u, b * d * (u + 1), [b, d]
    elif low is not None:
        a, b = low
        if a == 0:
            return polynomial, []
        above, below, scales = a + b * u, b, [b]
    elif high is not None:
        a, b = high
        above, below, scales = a - b * u, b, [b]
    else:
        return polynomial, []
    degree = polynomial.degrees()[i]
    total = ctx.constant(0)
    for (e,), part in normal_form.coefficients(polynomial, (i,)).items():
        total += part * above**e * below ** (degree - e)
    return total, [s for s in scales if not s.is_constant()]  # a constant denominator is positive by construction


def one_sign(polynomial: normal_form.Polynomial, unknowns: Sequence[Unknown], signs: Signs) -> tuple[int, bool] | None:
    """Return (sign, strict) of a polynomial for all u > 0 (and attained ends), or None where no proof is found.

    The sign is weak (1 for >= 0); ``strict`` says that 0 is proved not to be attained.
    """
    terms = normal_form.coefficients(polynomial, [u.index for u in unknowns])
    by_sign: dict[tuple[int, ...], int] = {}
    for exps, c in terms.items():
        sign = signs(c)
        if sign is None:
            return None
        if sign:
            by_sign[exps] = sign
    found = set(by_sign.values())
    if len(found) <= 1:
        return (found.pop(), _survives(set(by_sign), unknowns)) if found else (0, False)
    used = [i for i in range(len(unknowns)) if any(e[i] for e in by_sign)]
    if len(used) == 1 and all(c.is_constant() for c in terms.values()):
        coefficients = {e[used[0]]: int(c.leading_coefficient()) for e, c in terms.items()}
        if max(coefficients) <= _LARGEST_COUNTED_DEGREE:
            return _univariate(coefficients, unknowns[used[0]])
    weak = _subdivide(polynomial, [unknowns[i].index for i in used], signs, _HALVINGS)
    return None if weak is None else (weak, False)


def _survives(exponents: set[tuple[int, ...]], unknowns: Sequence[Unknown]) -> bool:
    """Whether some term survives at every attainable corner, so that a sum of terms of one sign cannot vanish."""
    corners: list[list[int | None]] = []
    for u in unknowns:
        ends: list[int | None] = [0] if u.at_zero else []
        corners.append(([*ends, u.degree] if u.at_infinity else ends) or [None])
    return all(
        any(all(c is None or e == c for e, c in zip(exps, corner, strict=True)) for exps in exponents)
        for corner in product(*corners)
    )


def _univariate(coefficients: Mapping[int, int], unknown: Unknown) -> tuple[int, bool] | None:
    """Exact: no root in (0, oo) by an exact count, then the sign at 1."""
    low = min(coefficients)
    poly = sp.Poly({(e - low,): c for e, c in coefficients.items()}, sp.Dummy("x"), domain="ZZ")
    if poly.count_roots(0):
        return None
    vanishes = (unknown.at_zero and low > 0) or (unknown.at_infinity and max(coefficients) < unknown.degree)
    return (1 if sum(coefficients.values()) > 0 else -1), not vanishes


def _subdivide(polynomial: normal_form.Polynomial, indices: Sequence[int], signs: Signs, depth: int) -> int | None:
    """Cut at u = 1 in each unknown in turn, u = 1 + v and u = 1/(1 + v), until the coefficients agree in sign."""
    found = {signs(c) for c in normal_form.coefficients(polynomial, indices).values()} - {0}
    if None in found:
        return None
    if len(found) <= 1:
        return found.pop() if found else 0
    if depth == 0 or len(polynomial) > _MOST_CUT_TERMS:
        return None
    ctx, i = polynomial.context(), indices[0]
    shift = [v + 1 if j == i else v for j, v in enumerate(ctx.gens())]
    degree = polynomial.degrees()[i]
    flipped = {(*x[:i], degree - x[i], *x[i + 1 :]): c for x, c in polynomial.to_dict().items()}
    total = 0
    for half in (polynomial, ctx.from_dict(flipped)):
        sign = _subdivide(half.compose(*shift, ctx=ctx), [*indices[1:], i], signs, depth - 1)
        if sign is None or sign * total < 0:
            return None
        total = total or sign
    return total


# --------------------- One attempt at a sign: substitute the proved ranges of all generators, then inspect every factor

Ball = Any  # flint.arb


@dataclass(frozen=True)
class Outcome:
    """A proved weak sign (``strict``: zero is excluded), or ``sign`` None with what is missing: to be told if asked."""

    sign: int | None
    strict: bool = False
    missing: Callable[[], tuple[Problem, str]] = lambda: (Problem(), "")

    def sign_or_raise(self) -> int:
        """Return the sign; raise UndecidedOrderError if there is none."""
        if self.sign is None:
            raise UndecidedOrderError("order", *self.missing())
        return self.sign


class Proof:
    """One expression over one set of parameters: the ring of all generators, their ranges, the substitutions."""

    def __init__(self, expr: sp.Expr, parameters: tuple[Parameter, ...], prove: Prover) -> None:
        self.parameters = parameters
        self.by_symbol = {p.symbol: p for p in parameters}
        self.place = {p.symbol: i for i, p in enumerate(parameters)}
        self.expr = expr
        self.prove = prove
        self.balls: dict[int, Ball] = {}
        self._close()

    def _close(self) -> None:
        """Bounds bring generators of their own, which have bounds in turn: repeat until nothing is new."""
        wanted, seen = [self.expr], {self.expr}
        for _ in range(_NESTED_BOUNDS):
            self.ring = normal_form.Ring(wanted)
            self.ranges: dict[int, Range | None] = {
                i: range_of(g, self.by_symbol, self.prove)
                for i, g in enumerate(self.ring.generators)
                if not g.is_constant
            }
            self._order_binomials()
            new = {b for r in self.ranges.values() if r is not None for b in (r.lower, r.upper) if b is not None} - seen
            if not new:
                break
            wanted += new
            seen |= new
        else:
            deep = Problem(f"the bounds of the parameters in {shown(self.expr)} depend on each other too deeply")
            raise UndecidedOrderError("order", deep, "declare numbers as bounds")
        self.order = sorted(self.ranges, key=lambda i: self._rank(self.ring.generators[i]), reverse=True)

    def _order_binomials(self) -> None:
        """binomial(n, k) <= binomial(m, k) where 0 <= k <= n <= m: the nearest larger one is an upper bound."""
        found = {
            i: g.base.args
            for i, g in enumerate(self.ring.generators)
            if isinstance(g.base, sp.binomial) and g.core == 1 and g.unit == 1 and self.ranges.get(i) is not None
        }
        for i, (n, k) in found.items():
            larger = [(m, j) for j, (m, size) in found.items() if j != i and size == k and self._at_least(m - n)]
            for m, j in larger:
                if all(other == m or self._at_least(other - m) for other, _ in larger):
                    self.ranges[i] = Range(sp.S.One, self.ring.generators[j].expr, True, True)
                    break

    def _at_least(self, difference: sp.Expr) -> bool:
        found = self.prove(difference)
        return found is not None and found[0] >= 0

    def _rank(self, g: normal_form.Generator) -> tuple[int, int]:
        """Generators whose bounds mention others come first: composite ones, then later parameters."""
        symbols = g.base.free_symbols | g.core.free_symbols
        latest = max(self.place[s] for s in symbols)
        simple = (g.core == 1 and g.base.is_Symbol) or (g.core.is_Symbol and not g.base.free_symbols)
        return (0 if simple else int(sp.count_ops(g.base)) + 1, latest)

    def outcome(self) -> Outcome:
        """Return the proved sign, or what is missing."""
        num, den = self.ring.read(self.expr)
        content, factors = normal_form.factorised(num)
        sign, strict = (1 if content > 0 else -1), True
        for factor, multiplicity in [*factors, *normal_form.factorised(den)[1]]:
            found = self._factor_sign(factor)
            if found is None:
                if multiplicity % 2 == 0:  # a square is >= 0 whatever its base
                    strict = False
                    continue
                # Shown with the sign it has in the expression: p - q is better to read than q - p.
                printed = -factor if content < 0 and multiplicity % 2 else factor
                return Outcome(None, missing=partial(_missing, printed, self.ring.generators, self.parameters))
            sign *= found[0] ** multiplicity
            strict = strict and found[1]
        return Outcome(sign, strict)

    def _factor_sign(self, polynomial: normal_form.Polynomial) -> tuple[int, bool] | None:
        outside = 1
        unknowns: list[Unknown] = []
        done: set[int] = set()
        for i in self.order:
            degree = polynomial.degrees()[i]
            bounds = self.ranges[i]
            if degree <= 0 or bounds is None:
                continue
            ends = [None if b is None else self.ring.read(b) for b in (bounds.lower, bounds.upper)]
            # u takes the place of the generator, so a bound must not mention a generator that is already replaced.
            if any(p.degrees()[j] > 0 for end in ends if end is not None for p in end for j in done | {i}):
                return None
            polynomial, scales = substitute(polynomial, i, ends[0], ends[1])
            if len(polynomial) > _MOST_TERMS:
                return None
            done.add(i)
            for scale in scales:
                found = self._factor_sign(scale)
                if found is None or not found[0]:
                    return None
                outside *= found[0] ** degree
            if None in ends:
                unknowns.append(Unknown(i, bounds.closed_upper if ends[0] is None else bounds.closed_lower))
            else:
                unknowns.append(Unknown(i, bounds.closed_lower, bounds.closed_upper, degree))
        for i, bounds in self.ranges.items():
            exponents = {exps[i] for exps in polynomial.monoms()}
            if bounds is None and self.ring.generators[i].expr.is_Symbol and not any(e % 2 for e in exponents):
                unknowns.append(Unknown(i, True))  # an even polynomial in a real symbol is one in |x|
        found = one_sign(polynomial, unknowns, self._coefficient_sign)
        return None if found is None else (found[0] * outside, found[1])

    def _coefficient_sign(self, coefficient: normal_form.Polynomial) -> int | None:
        if coefficient.is_constant():
            value = coefficient.leading_coefficient() if coefficient != 0 else 0
            return int(value > 0) - int(value < 0)
        if any(d > 0 and i in self.ranges for i, d in enumerate(coefficient.degrees())):
            return None
        with at_precision(_COEFFICIENT_BITS):  # nearly always enough, and free of SymPy
            total = flint.arb(0)
            for exps, c in coefficient.to_dict().items():
                term = flint.arb(c)
                for i, e in enumerate(exps):
                    term = term * self._ball(i) ** e if e else term
                total += term
        if total > 0 or total < 0:
            return 1 if total > 0 else -1
        try:
            return constant_sign(normal_form.polynomial_expression(coefficient, self.ring.generators))
        except UndecidedOrderError:
            return None

    def _ball(self, i: int) -> Ball:
        if i not in self.balls:
            self.balls[i] = arb_value(self.ring.generators[i].expr, _COEFFICIENT_BITS)
        return self.balls[i]


def _missing(
    polynomial: normal_form.Polynomial, generators: Sequence[normal_form.Generator], parameters: tuple[Parameter, ...]
) -> tuple[Problem, str]:
    """Return what is not proved of which factor, and the assumptions that would help: printing them takes long."""
    factor = normal_form.polynomial_expression(polynomial, generators)
    used = [p for p in parameters if p.symbol in factor.free_symbols]
    terms = sp.Add.make_args(factor)
    above = sp.Add(*(t for t in terms if t.as_coeff_Mul()[0] > 0))
    below = sp.Add(*(-t for t in terms if t.as_coeff_Mul()[0] < 0))
    advice = [f"add an assumption such as {shown(above)} > {shown(below)}"] if above != 0 and below != 0 else []
    advice += [f"assume a lower bound for {p.name}" for p in used if p.lower is None]
    given = ", ".join(p.describe() for p in used if not (p.lower is None and p.upper is None))
    unknown = Problem(f"the sign of {shown(factor)} does not follow from {given or 'no assumption'}")
    return unknown, " or ".join(advice) or "tighten these assumptions"


# ------------- The sign of a normal form over all admissible parameters: a proof by ranges, else by cases of an integer


@lru_cache(maxsize=65536)
def proved_sign(expr: sp.Expr, parameters: tuple[Parameter, ...], steps: int = _INTEGER_STEPS) -> Outcome:
    """Return the sign of an expression in normal form over all admissible parameters, or what is missing.

    ``steps`` is how many least values of an integer may be split off.
    """
    if not expr.free_symbols:
        try:
            sign = constant_sign(expr)
        except UndecidedOrderError as error:
            unknown, advice = Problem(error.value), error.accepted
            return Outcome(None, missing=lambda: (unknown, advice))
        return Outcome(sign, sign != 0)
    undeclared = sorted(str(s) for s in expr.free_symbols - {p.symbol for p in parameters})
    if undeclared:
        missing = Problem(f"{shown(expr)} has symbols that are no parameters"), f"declare {', '.join(undeclared)}"
        return Outcome(None, missing=lambda: missing)
    outcome = _attempt(expr, parameters)
    return outcome if outcome.sign is not None else _by_cases(expr, parameters, steps) or outcome


def _by_cases(expr: sp.Expr, parameters: tuple[Parameter, ...], steps: int) -> Outcome | None:
    """Split off the least value of an integer parameter: (k - 2)*(k - 3) >= 0 holds on integers only."""
    for i, p in enumerate(parameters):
        if steps == 0 or not p.integer or p.symbol not in expr.free_symbols:
            continue
        if p.lower is None or not p.lower.is_Integer or p.lower == p.upper:
            continue
        try:
            rest = tuple(q.given({p.symbol: p.lower}) for j, q in enumerate(parameters) if j != i)
            first = proved_sign(normal_form.normal(put(expr, {p.symbol: p.lower})), rest, steps - 1)
        except ArgumentError:  # the range of another parameter is empty there
            first = Outcome(0, True)
        except ExpressionError:  # the expression may have a pole there
            continue
        if first.sign is None:
            continue
        above = (*parameters[:i], replace(p, lower=p.lower + 1, predicate=None), *parameters[i + 1 :])
        other = _attempt(expr, above)
        found = other if other.sign is not None else _by_cases(expr, above, steps - 1)
        if found is not None and found.sign is not None and found.sign * first.sign >= 0:
            return Outcome(found.sign or first.sign, found.strict and first.strict)
    return None


def _check(parameters: tuple[Parameter, ...]) -> None:
    known: set[sp.Symbol] = set()
    for p in parameters:
        for bound in (p.lower, p.upper):
            if bound is not None and not bound.free_symbols <= known:
                raise ArgumentError(f"bound of {p.name}", str(bound), "an expression in parameters declared before it")
        known.add(p.symbol)


def _attempt(expr: sp.Expr, parameters: tuple[Parameter, ...]) -> Outcome:
    _check(parameters)

    def prove(side: sp.Expr) -> tuple[int, bool] | None:
        try:
            found = proved_sign(normal_form.normal(side), parameters)
        except (ExpressionError, UndecidedOrderError):
            return None
        return None if found.sign is None else (found.sign, found.strict)

    return Proof(expr, parameters, prove).outcome()


# -------------------- Proved order of expressions over all admissible parameters: exact algebra and balls, never floats

# A sign is proved by writing every generator of the normal form as its bound plus (or Moebius-mapped to) an unknown u
# > 0, and showing that each irreducible factor of numerator and denominator then has coefficients of one sign, or no
# root in (0, oo). What cannot be proved is refused with the assumption that would help; nothing is guessed.

_ARGUMENT = "order"


@lru_cache(maxsize=16384)
def is_zero(expr: sp.Expr) -> bool:
    """Return whether ``expr`` is identically zero, proved either way.

    Zero is proved by the normal form (or a minimal polynomial); a constant is proved nonzero by balls, an expression
    in symbols by a coefficient that is not zero. Raises UndecidedOrderError if neither can be proved.
    """
    expr = sp.sympify(expr)
    if expr.is_Rational:
        return bool(expr == 0)
    q = normal_form.quotient(expr)
    if q.num == 0:
        return True
    if not q.expr.free_symbols:
        return constant_sign(q.expr) == 0
    if q.independent:
        unknowns = [i for i, g in enumerate(q.generators) if not g.is_constant]
        return all(constant_sign(q.expression(c)) == 0 for c in normal_form.coefficients(q.num, unknowns).values())
    # Powers of expressions may hide a relation: one value that is not zero is a proof.
    symbols = sorted(q.expr.free_symbols, key=str)
    for start in (2, 3, 5):
        point = {s: sp.Integer(start + i) if s.is_integer else sp.Rational(1, start + i) for i, s in enumerate(symbols)}
        try:
            if constant_sign(put(q.expr, point)):
                return False
        except ValueError:  # outside the domain, or undecided there: try the next point
            continue
    unknown = Problem(f"it is not proved whether {shown(q.expr)} is identically 0")
    raise UndecidedOrderError(_ARGUMENT, unknown, "write equal parts alike")


def sign(expr: sp.Expr, parameters: Sequence[Parameter] = ()) -> int:
    """Return 1 if expr >= 0 for all admissible parameters, -1 if expr <= 0, 0 if it is identically zero.

    The order is weak: 1 does not exclude that ``expr`` vanishes for some parameters (see ``strictly_positive``), but
    it does exclude that it is identically zero. Raises UndecidedOrderError, naming a missing assumption, if no proof
    is found.

    >>> from symamp.formulas.parameter import EPS0
    >>> sign(sp.exp(EPS0.symbol) - 1, [EPS0])
    1
    >>> sign(sp.exp(EPS0.symbol) - 3, [EPS0])
    Traceback (most recent call last):
    ...
    symamp.errors.UndecidedOrderError: order: the sign of exp(eps0) - 3 does not follow from eps0 > 0; \
add an assumption such as exp(eps0) > 3
    """
    expr = sp.sympify(expr)
    if expr.is_Rational:
        return (int(expr.p) > 0) - (int(expr.p) < 0)
    return _outcome(expr, tuple(parameters)).sign_or_raise()


@lru_cache(maxsize=65536)
def _outcome(expr: sp.Expr, parameters: tuple[Parameter, ...]) -> Outcome:
    if not expr.free_symbols:
        found = constant_sign(expr)
        return Outcome(found, found != 0)
    whole = proved_sign(normal_form.normal(expr), parameters)
    return whole if whole.sign is not None else _of_parts(expr, parameters) or whole


def _of_parts(expr: sp.Expr, parameters: tuple[Parameter, ...]) -> Outcome | None:
    """Return the sign that the signs of terms or factors give: roots in a denominator hide it in the normal form."""
    if expr.is_Pow and expr.exp.is_Rational:
        base = _outcome(expr.base, parameters)
        is_known = base.sign == 1 and (base.strict or expr.exp > 0)
        return Outcome(1, base.strict) if is_known else None
    if not (expr.is_Add or expr.is_Mul):
        return None
    found = [_outcome(part, parameters) for part in expr.args]
    signs = [part.sign for part in found if part.sign is not None]
    if len(signs) < len(found):
        return None
    if expr.is_Mul:
        return Outcome(prod(signs), all(part.strict for part in found))
    return Outcome(signs[0], any(part.strict for part in found)) if len(set(signs)) == 1 else None


def compare(a: sp.Expr, b: sp.Expr, parameters: Sequence[Parameter] = ()) -> int:
    """Return ``sign(a - b)``: 1 if a >= b, -1 if a <= b for all admissible parameters, 0 if they are equal.

    Raises UndecidedOrderError if no proof is found.

    >>> compare(sp.Rational(1, 3), sp.Rational(1, 4)), compare(sp.exp(1), sp.log(20))
    (1, -1)
    """
    return 0 if a == b else sign(sp.sympify(a) - b, parameters)


def strictly_positive(expr: sp.Expr, parameters: Sequence[Parameter] = ()) -> bool:
    """Return True if expr > 0 is proved for all admissible parameters, False if it is not (never raises for that)."""
    expr = sp.sympify(expr)
    if expr.is_Rational:
        return bool(expr > 0)
    outcome = _outcome(expr, tuple(parameters))
    return outcome.sign == 1 and outcome.strict


def is_nonnegative(expr: sp.Expr, parameters: Sequence[Parameter] = ()) -> bool:
    """Return True if expr >= 0 is proved for all admissible parameters, False if it is not (never raises for that)."""
    with suppress(UndecidedOrderError):
        return sign(expr, parameters) >= 0
    return False


def minimum(values: Sequence[sp.Expr], parameters: Sequence[Parameter] = ()) -> int:
    """Return the index of a proved least element (the first of equal ones).

    Raises UndecidedOrderError if no element is proved to be below all others, ValueError if there is none.
    """
    return _extreme(values, lambda a, b: compare(a, b, parameters) > 0)


def maximum(values: Sequence[sp.Expr], parameters: Sequence[Parameter] = ()) -> int:
    """Return the index of a proved greatest element (the first of equal ones); raises as ``minimum``."""
    return _extreme(values, lambda a, b: compare(a, b, parameters) < 0)


def ordered(values: Iterable[sp.Expr], parameters: Sequence[Parameter] = ()) -> list[sp.Expr]:
    """Return the different ones of some expressions in increasing order, proved; raises as ``sign``."""
    found = sorted(dict.fromkeys(values), key=cmp_to_key(lambda a, b: compare(a, b, parameters)))
    return [v for v, w in zip(found, [None, *found], strict=False) if w is None or compare(v, w, parameters)]


def largest(values: Sequence[sp.Expr], parameters: Sequence[Parameter] = ()) -> sp.Expr:
    """Return the proved greatest of some expressions, of which some may be ``oo``; raises as ``maximum``."""
    distinct = list(dict.fromkeys(values))
    return sp.oo if sp.oo in distinct else distinct[maximum(distinct, parameters)]


def _extreme(values: Sequence[sp.Expr], worse: Callable[[sp.Expr, sp.Expr], bool]) -> int:
    """Compare in one pass; only if some pair is not comparable, look for one element that beats all others."""
    if not values:
        raise ValueError("values: the sequence is empty")
    first: dict[sp.Expr, int] = {}
    for i, v in enumerate(values):
        first.setdefault(normal_form.normal(v), i)
    candidates = list(first)
    best, failed = candidates[0], None
    for other in candidates[1:]:
        try:
            if worse(best, other):
                best = other
        except UndecidedOrderError as error:  # two that cannot be compared may both lose to a third
            failed = error
            break
    if failed is None:
        return first[best]
    for best in candidates:
        try:
            if not any(worse(best, other) for other in candidates if other is not best):
                return first[best]
        except UndecidedOrderError:
            continue
    raise failed
