"""Upper bounds for |phi| at many frequencies, in doubles with a radius for all roundings: enough for dropped blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symamp.errors import PrecisionError

_UNIT = 2.0**-53
_TINY = arb(2) ** -60
_ROWS = 32


def coarse_moduli(
    values: Sequence[arb], probabilities: Sequence[arb], rest: arb, step: arb, indices: Sequence[int]
) -> list[float]:
    """Return for each index j an upper bound of |sum p e^(i j step g) + rest|; probabilities and rest sum to at most 1.

    e^(i step g) and its powers with exponents 2^k are each the double next to the exact number; products and sums are
    taken in doubles, so that nothing is assumed of how a library computes sines.

    Guarantee
    ---------
    No bound is too small, and none is too large by more than 2^-51 (9 bits + 2 atoms + 16).
    Proof: docs/proofs/smooth_laws.md.

    Raises PrecisionError for values of which too few digits are known.

    >>> import flint
    >>> with flint.ctx.workprec(128):
    ...     coarse_moduli([arb(1), arb(-1)], [arb("0.5"), arb("0.5")], arb(0), arb(2), [1, 5])
    [0.416..., 0.839...]
    """
    bits = max(int(j).bit_length() for j in indices)
    powers = [_turns(values, step * 2**k) for k in range(bits)]
    weights = np.array([float(p) for p in probabilities])
    constant = float(rest)
    error = 1.01 * _UNIT * (9 * bits + 2 * len(values) + 8)
    found: list[float] = []
    for first in range(0, len(indices), _ROWS):
        some = np.array(indices[first : first + _ROWS], dtype=np.int64)
        turned = np.ones((len(some), len(values)), dtype=np.complex128)
        for k, power in enumerate(powers):
            rows = (some >> k) & 1 == 1
            turned[rows] *= power
        moduli = np.hypot(turned.real @ weights + constant, turned.imag @ weights)
        found += [float(x) * (1.0 + 8.0 * _UNIT) + error for x in moduli]
    return found


def _turns(values: Sequence[arb], step: arb) -> NDArray[np.complex128]:
    turns = []
    for value in values:
        sine, cosine = (step * value).sin_cos()
        if not (sine.rad() < _TINY and cosine.rad() < _TINY):
            raise PrecisionError("frequencies", "values with few digits", "at least 60 bits at the working precision")
        turns.append(complex(float(cosine), float(sine)))
    return np.array(turns)
