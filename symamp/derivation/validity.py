"""Proof that a description is a local randomizer: rows sum to 1 and no entry is negative."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import is_zero, sign
from symamp.derivation.numeric_table import NumericTable, expression
from symamp.derivation.randomizer import LocalRandomizer
from symamp.errors import NegativeProbabilityError, RowSumError, UndecidedOrderError, shown


@lru_cache(maxsize=1024)
def check_probabilities(mechanism: LocalRandomizer) -> None:
    """Return if every row sums to 1 and every entry is >= 0 for all admissible parameters.

    Raises RowSumError, NegativeProbabilityError, or UndecidedOrderError when a sign cannot be proved.

    >>> import symamp as sa
    >>> check_probabilities(sa.RandomizedResponse())
    """
    if mechanism.numeric is not None:
        _check_table(mechanism.numeric)
        return
    inputs = tuple(dict.fromkeys(x for pair in mechanism.pairs() for x in pair))
    signs: dict[sp.Expr, int] = {}
    for x in inputs:
        orbits = mechanism.orbits((x,))
        for orbit in orbits:
            for what in (orbit.measure, orbit.density[0]):
                _check_nonnegative(what, mechanism, x, orbit.label, signs)
        row = normal(sp.Add(*(normal(orbit.mass(0)) for orbit in orbits)))
        if not is_zero(row - 1):
            raise RowSumError(f'row of input "{x}"', f"sum {shown(row)}", f"probabilities that sum to 1{_hint(row)}")


def _check_table(table: NumericTable) -> None:
    if table.ball(0) < 0:
        row, column = (int(i) for i in np.argwhere(table.ranks == 0)[0])
        place = f'table["{table.inputs[row]}"]["{table.messages[column]}"]'
        raise NegativeProbabilityError(place, expression(table.numbers[0]), "probabilities >= 0")
    right: set[bytes] = set()
    for i, x in enumerate(table.inputs):
        key = np.sort(table.ranks[i]).tobytes()
        if key in right:
            continue
        if not table.sums_to_one(i):
            whole = normal(expression(table.row_sum(i)))
            accepted = f"probabilities that sum to 1{_hint(whole)}"
            raise RowSumError(f'row of input "{x}"', f"sum {shown(whole)}", accepted)
        right.add(key)


def _hint(row: sp.Expr) -> str:
    """Return what to do about floats: their sum is a binary fraction close to 1."""
    if row.is_Rational and abs(row - 1) < sp.Rational(1, 10**9) and int(row.q).bit_count() == 1:
        return (
            '; floats count as the binary fractions they are: write decimals as text, "0.3", use Fraction(3, 10), or '
            "normalise=True, which divides each row by its exact sum"
        )
    return ""


def _check_nonnegative(
    what: sp.Expr, mechanism: LocalRandomizer, x: str, label: str, signs: dict[sp.Expr, int]
) -> None:
    if what not in signs:
        try:
            signs[what] = sign(what, mechanism.parameters)
        except UndecidedOrderError as error:
            raise UndecidedOrderError(f'table["{x}"]["{label}"]', what, error.accepted) from error
    if signs[what] < 0:
        raise NegativeProbabilityError(f'table["{x}"]["{label}"]', what, "probabilities >= 0")
