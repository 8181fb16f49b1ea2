"""Linear programmes: a point of a polytope in fractions, or a proof that it is empty; and a maximum in doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

Row = Sequence[fmpq]
Floats = NDArray[np.float64]
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
    signs = np.array([fmpq(-1 if x < 0 else 1) for x in b])
    A, goal = np.array(columns, dtype=object).reshape(len(columns), len(b)).T * signs[:, None], np.array(b) * signs
    # What A x falls short of b, b >= 0, is made as small as it can be.
    found = _simplex(A.sum(axis=0), A, goal, fmpq(0))
    assert found is not None
    x, multipliers, most = found
    if most == goal.sum():
        return Solution(tuple(x), None)
    return Solution(None, tuple(signs * (1 - multipliers)))


def maximum(c: Floats, A: Floats, b: Floats) -> tuple[Floats, Floats, float] | None:
    """Return x >= 0 with A x <= b that makes c x largest, the multiplier of each row, and c x: in doubles, for b >= 0.

    None where no largest one is found. SciPy's solvers take longer, and much longer to load.

    >>> x, y, value = maximum(np.array([1.0, 1.0]), np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([4.0, 6.0]))
    >>> x.round(12), y.round(12), round(value, 12)
    (array([1.6, 1.2]), array([0.4, 0.2]), 2.8)
    """
    return _simplex(c, A, b, _ROUNDING)


def _simplex(c: Any, A: Any, b: Any, rounding: Any) -> tuple[Any, Any, Any] | None:
    """Return what ``maximum`` does, in numbers of any kind; what is up to ``rounding`` counts as 0."""
    m, n = A.shape
    zero = 0 * rounding
    rows = np.block([[A, np.eye(m, dtype=int) + zero, b[:, None]], [-c, np.zeros(m + 1, dtype=int) + zero]])
    basis = np.arange(n, n + m)
    for step in count():
        cost, by_bland = rows[-1, :-1], rounding == 0 or step >= _STEPS // 2
        entering = int((cost < -rounding).argmax() if by_bland else cost.argmin())
        if cost[entering] >= -rounding:
            break
        usable = np.flatnonzero(rows[:-1, entering] > rounding)
        if not usable.size or (rounding > 0 and step == _STEPS):
            return None
        ratios = np.maximum(rows[usable, -1], zero) / rows[usable, entering]
        tied = usable[ratios <= ratios.min() * (1 + rounding)]
        leaving = tied[basis[tied].argmin()]
        rows[leaving] /= rows[leaving, entering]
        factors = rows[:, entering].copy()
        factors[leaving] = zero
        rows -= factors[:, None] * rows[leaving]
        basis[leaving] = entering
    x = np.full(n + m, zero)
    x[basis] = rows[:-1, -1]
    return x[:n], rows[-1, n:-1], rows.item(-1)
