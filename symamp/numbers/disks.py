"""Arrays of doubles with proved errors: exponentials and logarithms, and complex numbers with radii."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, factorial, fsum, inf, isfinite, log2

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

# --- Exponentials and logarithms of arrays of doubles with proved errors: sums and products, whose roundings are known

Floats = NDArray[np.float64]

UNIT = 2.0**-52
LARGEST = 300.0
_TERMS, _NEAR = 12, 0.25
_COEFFICIENTS = tuple(1.0 / factorial(i) for i in range(_TERMS, -1, -1))


def exponentials(x: Floats) -> Floats:
    """Return e^x within a relative error of UNIT (4 + 32 max |x|); nan where |x| exceeds LARGEST.

    Halved until at most 1/4, summed, squared as often. For |y| <= 1/4 the sum of 13 terms y^i/i!, from the last on,
    leaves out less than 3e-18. Rounded coefficients, products and sums are worth at most UNIT/2 times the sum of
    (2 i + 2) |y|^i/i!, or 1.7 UNIT, which is less than 3 UNIT of e^y; k squarings make at most 2^k 3 UNIT +
    (2^k - 1) UNIT of that, and 2^k < 8 max |x| where k > 0.
    """
    size = np.asarray(np.abs(x))
    largest = float(size.max(initial=0.0))
    if not largest <= LARGEST:
        known = size <= LARGEST
        return np.where(known, exponentials(np.where(known, x, 0.0)), np.nan)
    k = max(ceil(log2(largest / _NEAR)), 0) if largest > 0.0 else 0
    y = np.multiply(x, 2.0**-k, out=size)
    found: Floats = np.full_like(y, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        found *= y
        found += coefficient
    for _ in range(k):
        found *= found
    return found


def turns(x: Floats) -> tuple[Floats, Floats]:
    """Return cos x and sin x, each within UNIT (8 + 64 max |x|); for |x| up to 1e6.

    Halved until at most 1/4, summed, and doubled as often as squares of e^(ix). For |y| <= 1/4 both sums leave out less
    than 1e-18 and are rounded by less than 3 UNIT; k squarings make at most 2^k 3 UNIT + (2^k - 1) 3 UNIT of the error
    of the modulus, and 2^k < 8 max |x| where k > 0.
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
    """Return numbers at least log x, and hardly more, as their exponentials prove; nan where there are none."""
    with np.errstate(all="ignore"):
        rough = np.log(x)
    near = np.where(np.abs(rough) < LARGEST - 1.0, rough, np.nan)
    room = 4.0 * UNIT * (4.0 + 32.0 * (float(np.nanmax(np.abs(near), initial=0.0)) + 1.0))
    above = near + room
    return np.where(exponentials(above) * (1.0 - room / 2.0) >= x, above, np.nan)


# --- Many complex numbers at once, in doubles with radii: only additions, products, quotients and roots are rounded


_UNIT = 2.0**-53
_UP, _UP_OF_SUMS, _MOST = 1.0 + 2.0**-40, 1.0 + 2.0**-28, 2**22
"""More than the roundings of a radius, and of a sum of up to so many of them, take off."""
_TINY = 1e-150
"""More than underflow takes off a modulus."""


@dataclass(frozen=True)
class Disks:
    """Disks around complex doubles; what is done to them contains what is done to the numbers in them.

    Real and imaginary parts are separate arrays, so that each operation is one correctly rounded step of IEEE
    arithmetic. Proof: docs/proofs/disks.md.
    """

    real: Floats
    imag: Floats
    radius: Floats

    @staticmethod
    def of(z: acb | arb) -> Disks:
        """Return a disk around a ball."""
        real, imag = (z.real, z.imag) if isinstance(z, acb) else (z, arb(0))
        middle = acb(float(real.mid()), float(imag.mid()))
        far = abs(acb(real, imag) - middle).upper()
        radius = float(far) * _UP + _TINY if far.is_finite() else inf
        return Disks(*(np.array([float(x)]) for x in (middle.real, middle.imag, radius)))

    @property
    def modulus(self) -> Floats:
        """At least the modulus of each middle."""
        return np.asarray(np.sqrt(self.real * self.real + self.imag * self.imag) * (1.0 + 8.0 * _UNIT) + _TINY)

    def __add__(self, other: Disks) -> Disks:
        real, imag = self.real + other.real, self.imag + other.imag
        rounded = 2.0 * _UNIT * (np.abs(real) + np.abs(imag))
        return Disks(real, imag, (self.radius + other.radius + rounded) * _UP)

    def __sub__(self, other: Disks) -> Disks:
        return self + Disks(-other.real, -other.imag, other.radius)

    def __mul__(self, other: Disks) -> Disks:
        a, b = self.modulus, other.modulus
        real = self.real * other.real - self.imag * other.imag
        imag = self.real * other.imag + self.imag * other.real
        radius = a * other.radius + b * self.radius + self.radius * other.radius + 6.0 * _UNIT * a * b
        return Disks(real, imag, radius * _UP + _TINY)

    def inverse(self) -> Disks:
        """Return the reciprocals; the radius is infinite where a disk comes near 0."""
        least = np.maximum(np.abs(self.real), np.abs(self.imag))
        is_far = (least > 2.0 * self.radius) & (least > _TINY)
        square = np.where(is_far, self.real * self.real + self.imag * self.imag, 1.0)
        real, imag = self.real / square, -self.imag / square
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            radius = self.radius / (least * (least - self.radius)) + 8.0 * _UNIT * (np.abs(real) + np.abs(imag))
        return Disks(real, imag, np.where(is_far, radius * _UP + _TINY, inf))

    def __pow__(self, n: int) -> Disks:
        """Return the n-th powers, n >= 1, by squaring."""
        result = self
        for bit in bin(n)[3:]:
            result = result * result
            if bit == "1":
                result = result * self
        return result

    def real_sum(self) -> arb:
        """Return a ball around the sum of the real parts."""
        if not np.isfinite(self.real).all() or len(self.real) > _MOST:
            return arb(0, inf)
        middle = fsum(self.real.tolist())  # rounded once
        radius = float(self.radius.sum() * _UP_OF_SUMS + 4.0 * _UNIT * abs(middle))
        return arb(middle, radius if isfinite(radius) else inf)
