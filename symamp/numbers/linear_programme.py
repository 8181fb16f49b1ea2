"""Linear programmes in fractions: a point of a polytope, or a proof that it is empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

Row = Sequence[fmpq]
_ZERO, _ONE = fmpq(0), fmpq(1)


@dataclass(frozen=True)
class Solution:
    """Either ``x`` >= 0 with A x = b, or ``dual`` y with y A <= 0 and y b > 0: then there is no such x."""

    x: tuple[fmpq, ...] | None
    dual: tuple[fmpq, ...] | None


def feasible(columns: Sequence[Row], b: Row) -> Solution:
    """Return x >= 0 with sum x_j columns[j] = b, or a proof that there is none: the simplex method, Bland's rule.

    >>> feasible([[fmpq(1), fmpq(0)], [fmpq(1), fmpq(2)]], [fmpq(1), fmpq(1)]).x
    (1/2, 1/2)
    >>> feasible([[fmpq(1)], [fmpq(2)]], [fmpq(-1)]).dual
    (-1,)
    """
    m, n = len(b), len(columns)
    signs = [fmpq(-1) if x < 0 else _ONE for x in b]
    # Rows of [A | I | b], all b >= 0; the identity belongs to artificial variables, whose sum is made 0.
    rows = [
        [signs[i] * c[i] for c in columns] + [_ONE if k == i else _ZERO for k in range(m)] + [signs[i] * b[i]]
        for i in range(m)
    ]
    basis = list(range(n, n + m))
    cost = [-sum((row[j] for row in rows), _ZERO) for j in range(n)] + [_ZERO] * m
    cost.append(-sum((row[-1] for row in rows), _ZERO))
    while (entering := next((j for j in range(n) if cost[j] < 0), None)) is not None:
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(rows) if row[entering] > 0]
        _, _, leaving = min(ratios)
        pivot = rows[leaving][entering]
        rows[leaving] = pivoted = [x / pivot for x in rows[leaving]]
        for i, row in enumerate(rows):
            if i != leaving and row[entering] != 0:
                factor = row[entering]
                rows[i] = [x - factor * y for x, y in zip(row, pivoted, strict=True)]
        factor = cost[entering]
        cost = [x - factor * y for x, y in zip(cost, pivoted, strict=True)]
        basis[leaving] = entering
    if cost[-1] == 0:
        x = [_ZERO] * n
        for row, j in zip(rows, basis, strict=True):
            if j < n:
                x[j] = row[-1]
        return Solution(tuple(x), None)
    return Solution(None, tuple(sign * (_ONE - cost[n + i]) for i, sign in enumerate(signs)))
