"""phi and the sum over frequencies in doubles with error radii: for few users and dropped blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from symamp.errors import PrecisionError, Problem
from symamp.numbers.disks import Disks
from symamp.sums.kernels.kernel import Kernel

# --- phi at many frequencies in doubles, with one radius for all roundings: enough for few users and dropped blocks

Waves = NDArray[np.complex128]

_UNIT = 2.0**-53
_LARGEST_RADIUS = arb(2) ** -60
_ROWS, _AT_ONCE, _DIGIT = 32, 2**12, 6


def coarse_error(values: int, last: int) -> float:
    """Return how far ``coarse_sums`` of so many values may be from the exact sums at frequencies up to ``last``."""
    return 1.01 * _UNIT * (9 * last.bit_length() + 2 * values + 8)


def turn_error(last: int) -> float:
    """Return how far each turn by ``coarse_turns`` may be from the exact one at frequencies up to ``last``."""
    return 6.1 * _UNIT * last.bit_length()


def coarse_turns(values: Sequence[arb], step: arb, indices: Sequence[int]) -> Waves:
    """Return about e^(i j step g), a row for each index j and a column for each value g.

    e^(i step g) and its powers with exponents 2^k are each the double next to the exact number, and products are taken
    in doubles, so that nothing is assumed of how a library computes sines.

    Guarantee
    ---------
    No value is farther from the exact one than ``turn_error``. Proof: docs/proofs/smooth_laws.md.

    Raises PrecisionError for values of which too few digits are known.
    """
    return _turned(_tables(values, step, max(indices)), np.array(indices, dtype=np.int64))


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


# ----------- The sum over frequencies in doubles with radii: what the kernel takes in balls, in a sixteenth of the time


def coarse_two_sided(kernel: Kernel, indices: Sequence[int], factors: Disks) -> tuple[arb, arb]:
    """Return Re sum B(jh) factor over frequencies j h, 0 < j < N, for B- and B+.

    B/d^2 depends on lam = theta d, N and j alone: 1 + is/T = 1 - j/N + i lam/(2 pi), and e^(-sd) = e^(-lam) e^(-2 pi i
    j/N).

    Guarantee
    ---------
    The balls contain the sums for all numbers in the disks ``factors``. Proof: docs/proofs/disks.md.
    """
    terms, lam, turn = kernel.terms, kernel.theta * kernel.d, 1 / (2 * arb.pi())
    error, one = turn_error(max(indices)), Disks.of(arb(1))
    with np.errstate(all="ignore"):  # what overflows has no finite radius
        waves = [
            Disks(found.real, found.imag, np.full(len(indices), error))
            for found in coarse_turns([-kernel.d, -kernel.alpha * kernel.d], kernel.step, indices).T
        ]
        q = waves[0] * Disks.of((-lam).exp())
        inverse = (one - q).inverse()
        ratio, z0 = q * inverse, waves[1] * Disks.of((-lam * kernel.alpha).exp()) * inverse
        left = (terms - np.array(indices, dtype=np.float64)) / terms
        bend = Disks(left, np.zeros_like(left), 2.0**-52 * left) + Disks.of(acb(arb(0), lam * turn))
        over_t, alpha, c = (Disks.of(x) for x in (acb(arb(0), turn), kernel.alpha, kernel.c))
        above = (bend * (ratio + alpha) - over_t) * z0 * factors
        below = (bend * (ratio * inverse) - over_t * (ratio + c)) * factors
        square = kernel.d * kernel.d
        return below.real_sum() * square, above.real_sum() * square
