"""Arrays of doubles with proved errors: exponentials, cosines, sines and logarithms, of sums and products alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

UNIT = 2.0**-52
LARGEST = 300.0
_TERMS, _NEAR = 12, 0.25


def exponentials(x: Floats) -> Floats:
    """Return e^x within a relative error of UNIT (4 + 32 max |x|); nan where |x| exceeds LARGEST.

    Halved until at most 1/4, summed, squared as often. For |y| <= 1/4 the sum of 13 terms, in the form
    1 + y (1 + y/2 (1 + ...)), leaves out less than 3e-18 and is rounded by less than 3 UNIT; k squarings make at most
    2^k 3 UNIT + (2^k - 1) UNIT of that, and 2^k < 8 max |x| where k > 0.

    >>> exponentials(np.array([0.0, 1.0, -2.0, 400.0])).round(12).tolist()
    [1.0, 2.718281828459, 0.135335283237, nan]
    """
    known = np.abs(x) <= LARGEST
    largest = float(np.max(np.abs(x), initial=0.0, where=known))
    k = max(int(np.ceil(np.log2(largest / _NEAR))), 0) if largest > 0.0 else 0
    y = np.where(known, x, 0.0) * 2.0**-k
    found = np.ones_like(y)
    for i in range(_TERMS, 0, -1):
        found *= y
        found /= i
        found += 1.0
    for _ in range(k):
        found *= found
    return np.where(known, found, np.nan)


def turns(x: Floats) -> tuple[Floats, Floats]:
    """Return cos x and sin x, each within UNIT (8 + 64 max |x|); for |x| up to 1e6.

    Halved until at most 1/4, summed, and doubled as often as squares of e^(ix). For |y| <= 1/4 both sums leave out less
    than 1e-18 and are rounded by less than 3 UNIT; k squarings make at most 2^k 3 UNIT + (2^k - 1) 3 UNIT of the error
    of the modulus, and 2^k < 8 max |x| where k > 0.

    >>> [float(v.round(12)[0]) for v in turns(np.array([40.0]))]
    [-0.666938061652, 0.745113160479]
    """
    largest = float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))
    k = max(int(np.ceil(np.log2(largest / _NEAR))), 0) if largest > 0.0 else 0
    y = x * 2.0**-k
    square = y * y
    fallen, sine = np.zeros_like(y), np.ones_like(y)
    for i in range(_TERMS, 0, -2):  # 1 - cos y = y^2/2 (1 - y^2/12 (...)), sin y = y (1 - y^2/6 (...))
        fallen = square / (i * (i - 1)) * (1.0 - fallen)
        sine = 1.0 - square / (i * (i + 1)) * sine
    cosine, sine = 1.0 - fallen, y * sine
    for _ in range(k):
        cosine, sine = cosine * cosine - sine * sine, 2.0 * cosine * sine
    return cosine, sine


def logarithms_above(x: Floats) -> Floats:
    """Return numbers that are at least log x, and hardly more: proved by their exponentials; nan where there are none.

    >>> bool(0.0 < logarithms_above(np.array([2.0]))[0] - np.log(2.0) < 1e-13)
    True
    """
    with np.errstate(all="ignore"):
        rough = np.log(x)
    near = np.where(np.abs(rough) < LARGEST - 1.0, rough, np.nan)
    room = 4.0 * UNIT * (4.0 + 32.0 * (float(np.nanmax(np.abs(near), initial=0.0)) + 1.0))
    above = near + room
    return np.where(exponentials(above) * (1.0 - room / 2.0) >= x, above, np.nan)
