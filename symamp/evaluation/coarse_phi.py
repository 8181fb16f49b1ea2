"""phi at many frequencies in doubles, with one radius for all roundings: enough for few users and dropped blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symamp.errors import PrecisionError

Waves = NDArray[np.complex128]

_UNIT = 2.0**-53
_TINY = arb(2) ** -60
_ROWS, _DIGIT = 32, 6


def coarse_error(values: int, last: int) -> float:
    """Return how far ``coarse_sums`` of so many values may be from the exact sums at frequencies up to ``last``."""
    return 1.01 * _UNIT * (9 * last.bit_length() + 2 * values + 8)


def coarse_sums(
    values: Sequence[arb], probabilities: Sequence[arb], rest: arb, step: arb, indices: Sequence[int]
) -> Waves:
    """Return for each index j about sum p e^(i j step g) + rest; probabilities and rest sum to at most 1.

    e^(i step g) and its powers with exponents 2^k are each the double next to the exact number; products and sums are
    taken in doubles, so that nothing is assumed of how a library computes sines.

    Guarantee
    ---------
    No value is farther from the exact one than ``coarse_error``. Proof: docs/proofs/smooth_laws.md.

    Raises PrecisionError for values of which too few digits are known.

    >>> import flint
    >>> with flint.ctx.workprec(128):
    ...     coarse_sums([arb(1), arb(-1)], [arb("0.5"), arb("0.5")], arb(0), arb(2), [1, 5]).real
    array([-0.416..., -0.839...])
    """
    bits = max(indices).bit_length()
    tables = [_powers(values, step * 2**k, min(_DIGIT, bits - k)) for k in range(0, bits, _DIGIT)]
    weights = np.array([float(p) for p in probabilities])
    found = np.empty(len(indices), dtype=np.complex128)
    for first in range(0, len(indices), _ROWS):
        some = np.array(indices[first : first + _ROWS], dtype=np.int64)
        turned = reduce(mul, (t[(some >> _DIGIT * k) % 2**_DIGIT] for k, t in enumerate(tables)))
        found.real[first : first + _ROWS] = turned.real @ weights + float(rest)
        found.imag[first : first + _ROWS] = turned.imag @ weights
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
        if not (sine.rad() < _TINY and cosine.rad() < _TINY):
            raise PrecisionError("frequencies", "values with few digits", "at least 60 bits at the working precision")
        turns.append(complex(float(cosine), float(sine)))
    return np.array(turns)
