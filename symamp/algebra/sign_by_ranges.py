"""One attempt at a sign: substitute the proved ranges of all generators, then inspect every factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import flint
import sympy as sp

from symamp.algebra.bounds import Prover, Range, range_of
from symamp.algebra.constant_sign import constant_sign
from symamp.algebra.generators import Generator
from symamp.algebra.normal_form import ring_of
from symamp.algebra.parameter import Parameter
from symamp.algebra.polynomial_sign import Unknown, one_sign, substitute
from symamp.algebra.polynomials import Polynomial, factorised, polynomial_expression
from symamp.errors import UndecidedOrderError, shown
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import arb_value

_ROUNDS = 8
_BITS = 256
_TERMS = 4000  # larger polynomials are given up: a refusal, not an hour
Ball = Any  # flint.arb


@dataclass(frozen=True)
class Outcome:
    """A proved weak sign (``strict``: zero is excluded), or ``sign`` None with what is missing: to be told if asked."""

    sign: int | None
    strict: bool = False
    missing: Callable[[], tuple[str, str]] = lambda: ("", "")

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
        for _ in range(_ROUNDS):
            self.ring = ring_of(wanted)
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
            raise UndecidedOrderError("order", shown(self.expr), "parameters whose bounds are not nested so deeply")
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

    def _rank(self, g: Generator) -> tuple[int, int]:
        """Generators whose bounds mention others come first: composite ones, then later parameters."""
        symbols = g.base.free_symbols | g.core.free_symbols
        latest = max(self.place[s] for s in symbols)
        simple = (g.core == 1 and g.base.is_Symbol) or (g.core.is_Symbol and not g.base.free_symbols)
        return (0 if simple else int(sp.count_ops(g.base)) + 1, latest)

    def outcome(self) -> Outcome:
        """Return the proved sign, or what is missing."""
        num, den = self.ring.read(self.expr)
        content, factors = factorised(num)
        sign, strict = (1 if content > 0 else -1), True
        for factor, multiplicity in [*factors, *factorised(den)[1]]:
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

    def _factor_sign(self, polynomial: Polynomial) -> tuple[int, bool] | None:
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
            if len(polynomial) > _TERMS:
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

    def _coefficient_sign(self, coefficient: Polynomial) -> int | None:
        if coefficient.is_constant():
            value = coefficient.leading_coefficient() if coefficient != 0 else 0
            return int(value > 0) - int(value < 0)
        if any(d > 0 and i in self.ranges for i, d in enumerate(coefficient.degrees())):
            return None
        with at_precision(_BITS):  # nearly always enough, and free of SymPy
            total = flint.arb(0)
            for exps, c in coefficient.to_dict().items():
                term = flint.arb(c)
                for i, e in enumerate(exps):
                    term = term * self._ball(i) ** e if e else term
                total += term
        if total > 0 or total < 0:
            return 1 if total > 0 else -1
        try:
            return constant_sign(polynomial_expression(coefficient, self.ring.generators))
        except UndecidedOrderError:
            return None

    def _ball(self, i: int) -> Ball:
        if i not in self.balls:
            self.balls[i] = arb_value(self.ring.generators[i].expr, _BITS)
        return self.balls[i]


def _missing(
    polynomial: Polynomial, generators: Sequence[Generator], parameters: tuple[Parameter, ...]
) -> tuple[str, str]:
    """Return a factor without a proved sign, and the assumptions that would help: printing them is dear."""
    factor = polynomial_expression(polynomial, generators)
    used = [p for p in parameters if p.symbol in factor.free_symbols]
    terms = sp.Add.make_args(factor)
    above = sp.Add(*(t for t in terms if t.as_coeff_Mul()[0] > 0))
    below = sp.Add(*(-t for t in terms if t.as_coeff_Mul()[0] < 0))
    advice = [f"add an assumption such as {shown(above)} > {shown(below)}"] if above != 0 and below != 0 else []
    advice += [f"assume a lower bound for {p.name}" for p in used if p.lower is None]
    given = ", ".join(p.describe() for p in used if not (p.lower is None and p.upper is None))
    follows = f"follows from {given}" if given else "follows from the stated assumptions (none)"
    text = f"an expression whose sign {follows}; {' or '.join(advice) or 'tighten these assumptions'}"
    return shown(factor), text
