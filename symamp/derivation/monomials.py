"""Products of many ratios, keyed by the exponents of what they are made of: equal keys mean equal products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm, prod
from typing import Any, TypeAlias

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from symamp.algebra.normal_form import normal
from symamp.errors import SupportMismatchError

Powers: TypeAlias = Mapping[sp.Expr, sp.Rational]
Integers: TypeAlias = NDArray[np.int64]
_LARGEST_FACTORED = 10**12
_LARGEST_EXPONENT, _LARGEST_CODE = 2**48, 2**62
FLAGS = 3
"""Columns of a key before the exponents: no hiding mass; A0 vanishes; A1 vanishes."""


def powers_of(ratio: sp.Expr) -> dict[sp.Expr, sp.Rational]:
    """Return {base: exponent} whose product is the positive expression: primes, exponentials, and whatever is left.

    >>> powers_of(sp.exp(sp.Symbol("eps0") / 2) * 12)
    {2: 2, 3: 1, exp(eps0): 1/2}
    """
    found: dict[sp.Expr, sp.Rational] = {}
    for factor in sp.Mul.make_args(sp.powsimp(ratio) if ratio.is_Mul else ratio):
        for base, exponent in _factor(factor):
            total = found.get(base, sp.Integer(0)) + exponent
            if total == 0:
                found.pop(base, None)
            else:
                found[base] = total
    return found


def _factor(factor: sp.Expr) -> list[tuple[sp.Expr, sp.Rational]]:
    if factor.is_Rational:
        if not _is_short(factor):
            return [(factor, sp.Integer(1))]
        return [(sp.Integer(p), sp.Integer(k)) for p, k in sp.factorrat(factor).items()]
    if isinstance(factor, sp.exp):
        terms = (term.as_coeff_Mul() for term in sp.Add.make_args(factor.exp))
        return [(sp.exp(r), c) if _is_short(c) else (sp.exp(c * r), sp.Integer(1)) for c, r in terms]
    if factor.is_Pow and factor.exp.is_Rational:
        inner = powers_of(factor.base) if factor.base.is_Mul or factor.base.is_Rational else {factor.base: 1}
        return [(base, exponent * factor.exp) for base, exponent in inner.items()]
    return [(factor, sp.Integer(1))]


def _is_short(c: sp.Expr) -> bool:
    return bool(c.is_Rational) and max(abs(c.p), c.q) <= _LARGEST_FACTORED


@dataclass(frozen=True)
class Cell:
    """Messages alike: A0 = ratio0 * mass and A1 = ratio1 * mass, with A2 = mass, or 0 if ``singular``."""

    ratio0: sp.Expr
    ratio1: sp.Expr
    mass: sp.Expr
    singular: bool = False


def cells_of(components: Sequence[tuple[sp.Expr, sp.Expr, sp.Expr]], singular: Sequence[Any]) -> tuple[Cell, ...]:
    """Return components and singular masses as cells, each of the latter with a ratio that is 1 or 0."""
    one, zero = sp.Integer(1), sp.Integer(0)
    alone = (
        Cell(one, normal(b / a), a, singular=True) if a != 0 else Cell(zero, one, b, singular=True) for a, b in singular
    )
    return (*(Cell(*c) for c in components), *alone)


@dataclass(frozen=True)
class Basis:
    """What all ratios are products of, and the common denominator of each exponent."""

    bases: tuple[sp.Expr, ...]
    denominators: tuple[int, ...]

    @staticmethod
    def of(cells: Sequence[Cell]) -> Basis:
        """Return a basis for the ratios of some cells."""
        denominators: dict[sp.Expr, int] = {}
        for cell in cells:
            for ratio in (cell.ratio0, cell.ratio1):
                for base, exponent in (powers_of(ratio) if ratio != 0 else {}).items():
                    denominators[base] = lcm(denominators.get(base, 1), int(exponent.q))
        return Basis(tuple(denominators), tuple(denominators.values()))

    @cached_property
    def size(self) -> int:
        """How many bases there are."""
        return len(self.bases)

    def keys(self, cells: Sequence[Cell]) -> Integers:
        """Return one row for each cell: flags, the exponents of ratio0, those of ratio1."""
        rows = []
        for cell in cells:
            exponents = []
            for ratio in (cell.ratio0, cell.ratio1):
                powers = powers_of(ratio) if ratio != 0 else {}
                exponents += [
                    int(powers.get(b, sp.Integer(0)) * d) for b, d in zip(self.bases, self.denominators, strict=True)
                ]
            rows.append([int(cell.singular), int(cell.ratio0 == 0), int(cell.ratio1 == 0), *exponents])
        if max((abs(x) for row in rows for x in row), default=0) > _LARGEST_EXPONENT:
            told = f"budgets whose common denominator has at most {len(str(_LARGEST_EXPONENT)) - 1} digits"
            raise SupportMismatchError("mechanism", ", ".join(map(str, self.bases))[:99], told)
        return np.array(rows, dtype=np.int64).reshape(len(rows), FLAGS + 2 * self.size)

    def multiplied(self, a: Integers, b: Integers) -> tuple[Integers, Integers]:
        """Return the distinct products of two lists of keys, and where each of the pairs is among them."""
        rows = (a[:, None, :] + b[None, :, :]).reshape(len(a) * len(b), a.shape[1])
        rows[:, :FLAGS] = np.minimum(rows[:, :FLAGS], 1)
        for k in (0, 1):
            rows[rows[:, 1 + k] == 1, FLAGS + k * self.size : FLAGS + (k + 1) * self.size] = 0
        # What neither data set sends counts only where others send it: there it is part of the mass.
        kept = (rows[:, 0] & rows[:, 1] & rows[:, 2]) == 0
        keys, place = distinct(rows[kept])
        places = np.full(len(rows), -1, dtype=np.int64)
        places[kept] = place
        return keys, places.reshape(len(a), len(b))


def distinct(rows: Integers) -> tuple[Integers, Integers]:
    """Return the distinct rows, in lexicographic order, and where each row is among them."""
    if len(rows):
        low = rows.min(axis=0)
        widths = [int(w) for w in rows.max(axis=0) - low + 1]
        if prod(widths) < _LARGEST_CODE:  # one number for each row: sorted ten times as fast
            strides = np.array([prod(widths[i + 1 :]) for i in range(len(widths))], dtype=np.int64)
            _, first, place = np.unique((rows - low) @ strides, return_index=True, return_inverse=True)
            return rows[first], place.reshape(-1)
    keys, place = np.unique(rows, axis=0, return_inverse=True)
    return keys, place.reshape(-1)
