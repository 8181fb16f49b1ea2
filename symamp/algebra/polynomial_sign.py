"""Proofs that a polynomial has one sign where some unknowns are positive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import sympy as sp

from symamp.algebra.polynomials import Fraction, Polynomial, coefficients

_DEPTH = 8  # a failing proof stops at the first piece that is too deep, so depth is cheap
_TERMS = 400
_STURM_DEGREE = 32
Signs = Callable[[Polynomial], int | None]
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
    polynomial: Polynomial, i: int, low: Fraction | None, high: Fraction | None
) -> tuple[Polynomial, list[Polynomial]]:
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
    for e, part in coefficients(polynomial, i).items():
        total += part * above**e * below ** (degree - e)
    return total, [s for s in scales if not s.is_constant()]  # a constant denominator is positive by construction


def one_sign(polynomial: Polynomial, unknowns: Sequence[Unknown], signs: Signs) -> tuple[int, bool] | None:
    """Return (sign, strict) of a polynomial for all u > 0 (and attained ends), or None where no proof is found.

    The sign is weak (1 for >= 0); ``strict`` says that 0 is proved not to be attained.
    """
    terms = _terms(polynomial, [u.index for u in unknowns])
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
        if max(coefficients) <= _STURM_DEGREE:
            return _univariate(coefficients, unknowns[used[0]])
    weak = _subdivide(polynomial, [unknowns[i].index for i in used], signs, _DEPTH)
    return None if weak is None else (weak, False)


def _terms(polynomial: Polynomial, indices: Sequence[int]) -> dict[tuple[int, ...], Polynomial]:
    """The coefficients, as polynomials in the other unknowns, by the exponents of these unknowns."""
    parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for exps, c in polynomial.to_dict().items():
        rest = tuple(0 if i in indices else e for i, e in enumerate(exps))
        parts.setdefault(tuple(exps[i] for i in indices), {})[rest] = c
    ctx = polynomial.context()
    return {exps: ctx.from_dict(part) for exps, part in parts.items()}


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


def _subdivide(polynomial: Polynomial, indices: Sequence[int], signs: Signs, depth: int) -> int | None:
    """Cut at u = 1 in each unknown in turn, u = 1 + v and u = 1/(1 + v), until the coefficients agree in sign."""
    found = {signs(c) for c in _terms(polynomial, indices).values()} - {0}
    if None in found:
        return None
    if len(found) <= 1:
        return found.pop() if found else 0
    if depth == 0 or len(polynomial) > _TERMS:
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
