"""phi at many frequencies in doubles, with one radius for all roundings: enough for few users and dropped blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symamp.errors import PrecisionError, Problem

Waves = NDArray[np.complex128]

_UNIT = 2.0**-53
_LARGEST_RADIUS = arb(2) ** -60
_ROWS, _AT_ONCE, _DIGIT = 32, 2**12, 6


def coarse_error(values: int, last: int) -> float:
    """Return how far ``coarse_sums`` of so many values may be from the exact sums at frequencies up to ``last``."""
    return 1.01 * _UNIT * (9 * last.bit_length() + 2 * values + 8)


def coarse_sums(
    values: Sequence[arb], probabilities: Sequence[arb], rest: arb, step: arb, indices: Sequence[int]
) -> Waves:
    """Return for each index j about sum p e^(i j step g) + rest; probabilities and rest sum to at most 1.

    Guarantee
    ---------
    No value is farther from the exact one than ``coarse_error``. Proof: docs/proofs/smooth_laws.md.

    Raises PrecisionError for values of which too few digits are known.

    >>> import flint
    >>> with flint.ctx.workprec(128):
    ...     coarse_sums([arb(1), arb(-1)], [arb("0.5"), arb("0.5")], arb(0), arb(2), [1, 5]).real
    array([-0.416..., -0.839...])
    """
    tables = _tables(values, step, max(indices))
    weights = np.array([float(p) for p in probabilities])
    found = np.empty(len(indices), dtype=np.complex128)
    rows = max(_ROWS, _AT_ONCE // len(values))
    for first in range(0, len(indices), rows):
        turned = _turned(tables, np.array(indices[first : first + rows], dtype=np.int64))
        found.real[first : first + rows] = turned.real @ weights + float(rest)
        found.imag[first : first + rows] = turned.imag @ weights
    return found


def coarse_moduli(
    values: Sequence[arb], probabilities: Sequence[arb], rest: arb, step: arb, indices: Sequence[int]
) -> list[float]:
    """Return for each index j an upper bound of the modulus of what ``coarse_sums`` encloses.

    Guarantee
    ---------
    No bound is too small, and none is too large by more than 2^-51 (9 bits + 2 atoms + 16).
    Proof: docs/proofs/smooth_laws.md.

    >>> import flint
    >>> with flint.ctx.workprec(128):
    ...     coarse_moduli([arb(1), arb(-1)], [arb("0.5"), arb("0.5")], arb(0), arb(2), [1, 5])
    [0.416..., 0.839...]
    """
    moduli = np.abs(coarse_sums(values, probabilities, rest, step, indices))
    error = coarse_error(len(values), max(indices))
    return [float(x) * (1.0 + 8.0 * _UNIT) + error for x in moduli]


def _tables(values: Sequence[arb], step: arb, last: int) -> list[Waves]:
    bits = last.bit_length()
    return [_powers(values, step * 2**k, min(_DIGIT, bits - k)) for k in range(0, bits, _DIGIT)]


def _turned(tables: Sequence[Waves], indices: NDArray[np.int64]) -> Waves:
    return reduce(mul, (t[(indices >> _DIGIT * k) % 2**_DIGIT] for k, t in enumerate(tables)))


def _powers(values: Sequence[arb], step: arb, digit: int) -> Waves:
    """Return e^(i j step g) for 0 <= j < 2^digit, a row for each j."""
    table = np.ones((1, len(values)), dtype=np.complex128)
    for k in range(digit):
        table = np.concatenate([table, table * _turns(values, step * 2**k)])
    return table


def _turns(values: Sequence[arb], step: arb) -> Waves:
    turns = []
    for value in values:
        sine, cosine = (step * value).sin_cos()
        if not (sine.rad() < _LARGEST_RADIUS and cosine.rad() < _LARGEST_RADIUS):
            raise PrecisionError(
                "precision", Problem("values have less than 60 bits at this precision"), "take a higher one"
            )
        turns.append(complex(float(cosine), float(sine)))
    return np.array(turns)
