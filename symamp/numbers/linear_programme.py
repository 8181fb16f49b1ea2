"""Linear programmes: a point of a polytope in fractions, or a proof that it is empty; and a maximum in doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

Row = Sequence[fmpq]
_ZERO, _ONE = fmpq(0), fmpq(1)
_STEPS, _ROUNDING = 1000, 1e-12
"""Steps in doubles, half of them by Bland's rule, which ends; and what counts as 0 there."""


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


Floats = NDArray[np.float64]


def maximum(c: Floats, A: Floats, b: Floats) -> tuple[Floats, Floats, float] | None:
    """Return x >= 0 with A x <= b that makes c x largest, the multiplier of each row, and c x: in doubles, for b >= 0.

    None where no largest one is found. SciPy's solvers take longer, and much longer to load.

    >>> x, y, value = maximum(np.array([1.0, 1.0]), np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([4.0, 6.0]))
    >>> x.round(12), y.round(12), round(value, 12)
    (array([1.6, 1.2]), array([0.4, 0.2]), 2.8)
    """
    m, n = A.shape
    rows: Floats = np.block([[A, np.eye(m), b[:, None]], [-c, np.zeros(m + 1)]])
    basis: Any = np.arange(n, n + m)
    for step in range(_STEPS):
        cost = rows[-1, :-1]
        entering = int(cost.argmin() if step < _STEPS // 2 else (cost < -_ROUNDING).argmax())
        if cost[entering] >= -_ROUNDING:
            break
        usable = np.flatnonzero(rows[:-1, entering] > _ROUNDING)
        if not usable.size:
            return None
        ratios = np.maximum(rows[usable, -1], 0.0) / rows[usable, entering]
        tied = usable[ratios <= ratios.min() * (1.0 + _ROUNDING)]
        leaving = tied[basis[tied].argmin()]
        rows[leaving] /= rows[leaving, entering]
        factors = rows[:, entering].copy()
        factors[leaving] = 0.0
        rows -= factors[:, None] * rows[leaving]
        basis[leaving] = entering
    else:
        return None
    x = np.zeros(n + m)
    x[basis] = rows[:-1, -1]
    return x[:n], rows[-1, n:-1], float(rows[-1, -1])
