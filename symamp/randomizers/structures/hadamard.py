"""Sylvester's Hadamard matrices: signs that rows have in common, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod
from operator import xor

import sympy as sp


def sign_patterns(rows: Sequence[int]) -> list[tuple[tuple[int, ...], sp.Rational]]:
    """Return the signs that rows of a Sylvester matrix may have in one column, each with its share of the columns.

    H[x, y] = (-1)^<x, y>, so the product of rows is the row of the sum of their numbers over GF(2). Rows that sum to
    0 have product +1 in every column; all patterns of signs that respect this are equally frequent.

    >>> sign_patterns([1, 2, 3])
    [((1, 1, 1), 1/4), ((1, -1, -1), 1/4), ((-1, 1, -1), 1/4), ((-1, -1, 1), 1/4)]
    """
    chosen = [[i for i, member in enumerate(c) if member] for c in product((0, 1), repeat=len(rows))]
    dependent = [c for c in chosen if reduce(xor, (rows[i] for i in c), 0) == 0]
    patterns = [
        signs for signs in product((1, -1), repeat=len(rows)) if all(prod(signs[i] for i in c) == 1 for c in dependent)
    ]
    return [(signs, sp.Rational(1, len(patterns))) for signs in patterns]


def sylvester(size: int) -> list[list[int]]:
    """Return the Hadamard matrix of Sylvester's construction, for tables; ``size`` is a power of two.

    >>> sylvester(2)
    [[1, 1], [1, -1]]
    """
    matrix = [[1]]
    while len(matrix) < size:
        matrix = [row + row for row in matrix] + [row + [-entry for entry in row] for row in matrix]
    return matrix
