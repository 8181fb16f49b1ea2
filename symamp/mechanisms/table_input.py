"""What may be given as a table: mappings, matrices, arrays, lists of rows, data frames; as labelled rows of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
import sympy as sp
from flint import fmpq

from symamp.errors import FormatError, RowSumError
from symamp.numbers.formula_size import PRINTABLE_BITS
from symamp.numbers.rationals import fits, fmpq_of, fraction

_SHAPE = (
    "a mapping {input: {message: probability}}, a list of rows, a NumPy array or SymPy matrix with one row per input, "
    "or a pandas frame"
)
_WITHIN = fmpq(1, 2**20)
"""How far from 1 a row may sum and still be taken as rounded."""


def rows_of(table: object) -> dict[str, dict[str, object]]:
    """Return the table as {input: {message: value}}; FormatError for anything that is not a table.

    Rows and columns without labels are called x0, x1, ... and y0, y1, ...

    >>> rows_of([[1, 0], [0, 1]])
    {'x0': {'y0': 1, 'y1': 0}, 'x1': {'y0': 0, 'y1': 1}}
    """
    if isinstance(table, Mapping):
        return _labelled(table)
    if isinstance(table, sp.MatrixBase):
        return _numbered([[table[i, j] for j in range(table.cols)] for i in range(table.rows)])
    if isinstance(table, np.ndarray):
        if table.ndim != 2:
            raise FormatError("table", f"an array with {table.ndim} axes", _SHAPE)
        return _numbered(table.tolist())
    if str(type(table).__module__).partition(".")[0] == "pandas" and getattr(table, "ndim", 0) == 2:
        return _framed(table)
    if not _is_row(table):
        raise FormatError("table", type(table).__name__, _SHAPE)
    return _numbered(table)


def normalised(rows: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Return the rows with those of rational numbers divided by their exact sum, where it is 1 but for rounding.

    Raises RowSumError for a row of numbers whose sum is not within 2**-20 of 1.
    """
    result = {}
    for x, row in rows.items():
        numbers = {y: rational(value) for y, value in row.items()}
        exact = {y: number for y, number in numbers.items() if number is not None}
        if len(exact) != len(row):
            result[x] = row
            continue
        whole = sum(exact.values(), fmpq(0))
        if not abs(whole - 1) <= _WITHIN:
            raise RowSumError(
                f'row of input "{x}"', f"sum {float(fraction(whole) or 0):.9g}", "rows within 2**-20 of 1"
            )
        result[x] = {y: number / whole for y, number in exact.items()}
    return result


def rational(value: object) -> fmpq | None:
    """Return the exact value of a number of Python, NumPy, mpmath or python-flint; None for anything else.

    >>> rational(0.5), rational("1/2")
    (1/2, None)
    """
    if isinstance(value, fmpq):
        return value
    if isinstance(value, float) and isfinite(value):
        return fmpq(*value.as_integer_ratio())
    number = fraction(value)
    if number is None or not fits(number) or number.denominator.bit_length() > PRINTABLE_BITS:
        return None
    return fmpq_of(number)


def _labelled(table: Mapping[Any, Any]) -> dict[str, dict[str, object]]:
    rows: dict[str, dict[str, object]] = {}
    for key, row in table.items():
        x = _label(key)
        if not isinstance(row, Mapping):
            raise FormatError(f'table["{x}"]', type(row).__name__, "a mapping {message: probability}")
        entries = {_label(y): value for y, value in row.items()}
        if x in rows or len(entries) != len(row):
            raise FormatError(f'table["{x}"]', x, "labels that differ as strings")
        rows[x] = entries
    return rows


def _numbered(rows: Any) -> dict[str, dict[str, object]]:
    for i, row in enumerate(rows):
        if not _is_row(row) or len(row) != len(rows[0]):
            raise FormatError(f"row {i} of the table", type(row).__name__, "rows of equal length")
    return {f"x{i}": {f"y{j}": value for j, value in enumerate(row)} for i, row in enumerate(rows)}


def _framed(frame: Any) -> dict[str, dict[str, object]]:
    inputs, messages = ([_label(key) for key in axis] for axis in (frame.index, frame.columns))
    for labels in (inputs, messages):
        if len(set(labels)) != len(labels):
            raise FormatError("table", "a label twice", "labels that differ as strings")
    values = frame.to_numpy(dtype=object).tolist()
    return {x: dict(zip(messages, row, strict=True)) for x, row in zip(inputs, values, strict=True)}


def _is_row(row: object) -> bool:
    if isinstance(row, np.ndarray):
        return bool(row.ndim == 1)
    return isinstance(row, Sequence) and not isinstance(row, str | bytes)


def _label(key: object) -> str:
    try:
        return str(key)
    except Exception:  # Python refuses to print integers of more than 4300 digits, and this may be anyone's code
        raise FormatError("label", key, "a label that can be printed") from None
