"""The probabilities of a finite mechanism as integers: messages merged, rounded down and up to a common denominator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp
from flint import arb

from symamp.errors import ArgumentError, Problem
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import arb_value
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism

Column = tuple[sp.Expr, ...]
Bounds = tuple[int, int]

BITS = 192
"""Binary places of irrational entries at first. More cost time in proportion, and are taken where ends are apart."""
_MOST_INPUTS, _MOST_MESSAGES = 400, 4000
"""Larger members of families are refused: every entry of their tables is a formula."""
_LARGEST_EPS = 3000
"""Larger budgets are refused: integers would have as many more bits."""


@dataclass(frozen=True)
class Weights:
    """Integers with ``lower[x][y] <= scale * R(x)(y) <= upper[x][y]``; equal if all probabilities are rational."""

    lower: tuple[tuple[int, ...], ...]
    upper: tuple[tuple[int, ...], ...]
    scale: int

    @property
    def is_exact(self) -> bool:
        """Whether nothing was rounded."""
        return self.lower == self.upper


@dataclass(frozen=True)
class ScaledLevel:
    """The order E = e^eps as a formula, and integers with ``lower <= scale * E <= upper``."""

    expression: sp.Expr
    lower: int
    upper: int
    scale: int

    @property
    def is_exact(self) -> bool:
        """Whether E is rational."""
        return self.lower == self.upper


def finite_table(mechanism: object) -> FiniteMechanism:
    """Return the table of the mechanism, whose probabilities are numbers.

    Raises ArgumentError for anything else than a FiniteMechanism or a member of a family, for free parameters, and for
    a member whose table would be too large.
    """
    if isinstance(mechanism, Family | FiniteMechanism) and mechanism.parameters:
        free = ", ".join(p.name for p in mechanism.parameters)
        raise ArgumentError("mech", Problem(f"{mechanism!r} has no number for {free}"), "give it by .at(...)")
    if isinstance(mechanism, FiniteMechanism):
        return mechanism
    if not isinstance(mechanism, Family):
        raise ArgumentError("mech", type(mechanism).__name__, "a FiniteMechanism, or a member of a family")
    for name, value in mechanism.values.items():
        most = int(math.log2(_MOST_MESSAGES)) if name in mechanism.exponents else _MOST_INPUTS
        if value.is_Integer and value > most:
            raise ArgumentError(name, value, f"at most {most}, for a table that is written out")
    return _table(mechanism)


@lru_cache(maxsize=64)
def _table(mechanism: Family) -> FiniteMechanism:
    return mechanism.table()


@lru_cache(maxsize=256)
def merged_columns(table: FiniteMechanism, inputs: tuple[str, ...]) -> tuple[Column, ...]:
    """Return the columns of the table over the given inputs, proportional columns added up and zeros left out.

    Guarantee
    ---------
    The divergence of the shuffled reports of data sets over these inputs stays the same: proportional messages are
    merged by a sufficient statistic. Proof: docs/proofs/histograms.md.
    """
    rows = [table.rows[table.inputs.index(x)] for x in inputs]
    found: dict[object, list[Column]] = {}
    for column in zip(*rows, strict=True):
        entries = tuple(normal(entry) for entry in column)
        first = next((i for i, entry in enumerate(entries) if entry != 0), None)
        if first is not None:
            key = (first, tuple(normal(entry / entries[first]) for entry in entries))
            found.setdefault(key, []).append(entries)
    return tuple(
        columns[0] if len(columns) == 1 else tuple(normal(sp.Add(*entries)) for entries in zip(*columns, strict=True))
        for columns in found.values()
    )


def weights_of(columns: Sequence[Column], bits: int) -> Weights:
    """Return the columns as integers: over the least common denominator, or rounded outward to ``bits`` binary places.

    Raises ExpressionError for an entry that is not a finite number.
    """
    rows = tuple(zip(*columns, strict=True))
    if all(entry.is_Rational for row in rows for entry in row):
        scale = math.lcm(*(int(entry.q) for row in rows for entry in row))
        exact = tuple(tuple(int(entry.p) * (scale // int(entry.q)) for entry in row) for row in rows)
        return Weights(exact, exact, scale)
    bounds = [[_bounds(entry, bits) for entry in row] for row in rows]
    return Weights(
        tuple(tuple(max(low, 0) for low, _ in row) for row in bounds),
        tuple(tuple(high for _, high in row) for row in bounds),
        1 << bits,
    )


def level_of_budget(eps: sp.Expr, bits: int) -> ScaledLevel:
    """Return the order e^eps, eps >= 0, rounded outward unless it is rational; ArgumentError if it is beyond 3000."""
    if eps > _LARGEST_EPS:
        raise ArgumentError("eps", eps, f"a number from 0 to {_LARGEST_EPS}")
    e = normal(sp.exp(eps))
    if e.is_Rational:
        return ScaledLevel(e, int(e.p), int(e.p), int(e.q))
    return ScaledLevel(e, *_bounds(e, bits), 1 << bits)


def linear_excess(
    columns: Sequence[Column], weights: Weights, pair: tuple[int, int], level: ScaledLevel
) -> tuple[list[int], list[int]]:
    """Return bounds on ``R(x0)(y) - E R(x1)(y)`` for each message, times ``weights.scale * level.scale``.

    Differences that the bounds cannot separate from 0 are decided by algebra. Raises UndecidedOrderError if that fails.
    """
    x0, x1 = pair
    lower = [a * level.scale - b * level.upper for a, b in zip(weights.lower[x0], weights.upper[x1], strict=True)]
    upper = [a * level.scale - b * level.lower for a, b in zip(weights.upper[x0], weights.lower[x1], strict=True)]
    for y, column in enumerate(columns):
        if lower[y] <= 0 <= upper[y] and lower[y] < upper[y] and is_zero(column[x0] - level.expression * column[x1]):
            lower[y] = upper[y] = 0
    return lower, upper


def _bounds(value: sp.Expr, bits: int) -> Bounds:
    """Return integers a <= value * 2^bits <= b, next to each other or almost."""
    if value.is_Rational:
        shifted = int(value.p) << bits
        return shifted // int(value.q), -(-shifted // int(value.q))
    with at_precision(bits + 64):
        ball = arb_value(value, bits + 64)
        return _floor(ball.lower(), bits), -_floor(-ball.upper(), bits)


def _floor(x: arb, bits: int) -> int:
    mantissa, exponent = x.man_exp()
    shift = int(exponent) + bits
    return int(mantissa) << shift if shift >= 0 else int(mantissa) >> -shift
