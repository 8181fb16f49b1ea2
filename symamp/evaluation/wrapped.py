"""The tilted law of a lattice sum, wrapped on a window: one FFT, a power, one FFT back, in three number systems.

``wrap_flint`` encloses every probability. ``wrap_numpy`` and ``wrap_mpmath`` bound their rounding from the numbers
they compute and from what is assumed of the library: elementary functions within 4 units of rounding, and an FFT made
of radix-2 steps, fused or not, with twiddle factors within 8 units (docs/proofs/fft.md, section 6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import flint
import mpmath
import numpy as np
from flint import acb, arb

from symamp.evaluation.gparv import Floats
from symamp.evaluation.law import total
from symamp.evaluation.tilted_balls import power
from symamp.numbers.surroundings import mpmath_at

_UNIT = 2.0**-53
_TWIDDLE = 8.0
_STAGE = _TWIDDLE + 5.0
"""Relative error of one radix-2 step in units of rounding: twiddle factor, one product and one sum."""


@dataclass(frozen=True)
class Weight:
    """A function of the sum whose tilted expectation is wanted: k_+ e^(-theta k), or e^(-theta k)/cosh(lambda k)."""

    theta: float
    smoothing: float | None = None

    def ball(self, k: int) -> arb:
        """Return the value at k."""
        grown = (arb(-self.theta) * k).exp()
        return grown * max(k, 0) if self.smoothing is None else grown * (arb(self.smoothing) * k).sech()

    def array(self, k: Floats) -> tuple[Floats, Floats]:
        """Return the values at many points and bounds on their relative errors."""
        exponent = -self.theta * k
        size = np.abs(exponent)
        if self.smoothing is None:
            return np.maximum(k, 0.0) * np.exp(exponent), _UNIT * (16.0 + 4.0 * size)
        decay = self.smoothing * np.abs(k)
        value = 2.0 * np.exp(exponent - decay) / (1.0 + np.exp(-2.0 * decay))
        return value, _UNIT * (32.0 + 8.0 * (size + decay))


class Wrapped(ABC):
    """The probabilities q_k = sum over m of P(S = (k + mN) step) under the tilt, first <= k < first + N."""

    def __init__(self, first: int, length: int) -> None:
        self.first = first
        self.length = length

    @property
    def last(self) -> int:
        """The last lattice point of the window."""
        return self.first + self.length - 1

    @abstractmethod
    def expectation(self, weight: Weight, low: int, high: int) -> arb:
        """Return a ball around the sum of weight times probability over low <= k <= high, inside the window."""

    @abstractmethod
    def ball(self, k: int) -> arb:
        """Return a ball around the probability of a point of the window."""

    @abstractmethod
    def floats(self) -> Floats:
        """Return the probabilities in doubles, in the order of the window."""

    @property
    @abstractmethod
    def noise(self) -> float:
        """A bound on the error of each probability before it became a double."""


class _Listed(Wrapped):
    """Probabilities in balls; ``error`` bounds the Euclidean norm of what the balls do not know."""

    def __init__(self, first: int, probabilities: list[arb], error: arb) -> None:
        super().__init__(first, len(probabilities))
        self._probabilities = probabilities
        self._error = error

    def expectation(self, weight: Weight, low: int, high: int) -> arb:
        result = square = arb(0)
        for k in range(low, high + 1):
            value = weight.ball(k)
            result += value * self._probabilities[k % self.length]
            if self._error > 0:
                square += value * value
        slack = self._error * square.sqrt()
        return result + slack.union(-slack)

    def ball(self, k: int) -> arb:
        return self._probabilities[k % self.length] + self._error.union(-self._error)

    def floats(self) -> Floats:
        return np.roll([float(p) for p in self._probabilities], -(self.first % self.length))

    @property
    def noise(self) -> float:
        return max(float(p.rad()) for p in self._probabilities) + float(self._error)


class _Doubles(Wrapped):
    """Probabilities in doubles; ``error`` bounds the Euclidean norm of their errors."""

    def __init__(self, first: int, probabilities: Floats, error: float) -> None:
        super().__init__(first, probabilities.size)
        self._probabilities = probabilities
        self._error = error

    def expectation(self, weight: Weight, low: int, high: int) -> arb:
        k = np.arange(low, high + 1)
        values, relative = weight.array(k.astype(np.float64))
        terms = values * self._probabilities[k % self.length]
        size = np.abs(terms)
        error = float(size @ relative) + self._error * float(np.linalg.norm(values))
        error += 2.0 * (k.size + 2) * _UNIT * float(size.sum())
        return arb(float(terms.sum()), 1.01 * error + 1e-300)

    def ball(self, k: int) -> arb:
        return arb(float(self._probabilities[k % self.length]), self._error)

    def floats(self) -> Floats:
        return np.roll(self._probabilities, -(self.first % self.length))

    @property
    def noise(self) -> float:
        return self._error


Engine = Callable[[Mapping[int, arb], int, int, int], Wrapped]


def wrap_flint(law: Mapping[int, arb], n: int, first: int, length: int) -> Wrapped:
    """Return the wrapped law of the sum of n draws in balls at the ambient precision; ``length`` a power of two.

    Guarantee
    ---------
    Every ball contains its probability. Proof: docs/proofs/fft.md, section 6.
    """
    one = [acb(0)] * length
    for k, p in law.items():
        one[k % length] += p
    half = length // 2
    powers = [power(z, n) for z in acb.dft(one)[: half + 1]]
    powers += [powers[length - j].conjugate() for j in range(half + 1, length)]
    return _Listed(first, [q.real for q in acb.dft(powers, inverse=True)], arb(0))


def wrap_numpy(law: Mapping[int, arb], n: int, first: int, length: int) -> Wrapped:
    """Return the wrapped law of the sum of n draws in doubles, with a bound on the rounding under the assumptions.

    The characteristic function of one draw is summed directly and as a difference from 1, because n multiplies its
    error; only the way back is an FFT.
    """
    points = np.array(list(law), dtype=np.int64)
    masses = [float(p) for p in law.values()]
    j = np.arange(length // 2 + 1, dtype=np.int64)
    real, imaginary, spread = (np.zeros(j.size) for _ in range(3))
    for k, p in zip(points, masses, strict=True):
        turn = (j * (k % length)) % length
        turn[turn > length // 2] -= length
        x = turn * (2.0 * np.pi / length)
        real -= 2.0 * p * np.sin(0.5 * x) ** 2
        imaginary -= p * np.sin(x)
        spread += p * np.abs(x)
    unknown = 7.0 * float(total([p.rad() for p in law.values()]))
    square = 2.0 * real + real * real + imaginary * imaginary
    size = np.hypot(1.0 + real, imaginary)
    with np.errstate(all="ignore"):
        modulus = 0.5 * np.log1p(np.maximum(square, -1.0))
        phase = np.arctan2(imaginary, 1.0 + real)
        half = np.exp(n * modulus + 1j * (n * phase))
        one_error = (2.0 * len(masses) + 48.0) * _UNIT * spread + unknown
        exponent = n * (2.0 * one_error / size**2 + 6.0 * _UNIT * (np.abs(modulus) + np.abs(phase))) + 16.0 * _UNIT
        # Where the logarithm is lost the power is negligible, and is bounded by the modulus.
        crude = np.abs(half) + 2.0 * np.exp(n * np.log(size + one_error))
        error = np.where(exponent < 0.5, np.abs(half) * np.expm1(np.minimum(exponent, 0.5)), crude)
    spectrum = np.concatenate([half, np.conj(half[-2:0:-1])])
    stages = (length.bit_length() - 1) * _STAGE * _UNIT
    forward = np.sqrt(2.0) * (np.linalg.norm(error) + np.sqrt(length) * 1e-300)
    backward = stages / (1.0 - stages) * np.linalg.norm(spectrum)
    probabilities = np.fft.ifft(spectrum).real
    return _Doubles(first, probabilities, 1.01 * float(forward + backward) / float(np.sqrt(length)))


def wrap_mpmath(law: Mapping[int, arb], n: int, first: int, length: int) -> Wrapped:
    """Return the wrapped law of the sum of n draws in mpmath, at the ambient precision of balls.

    The rounding is bounded as for ``wrap_numpy``.
    """
    with mpmath_at(flint.ctx.prec):
        unit = mpmath.mpf(2) ** -flint.ctx.prec
        roots = [mpmath.expjpi(mpmath.mpf(2 * j) / length) for j in range(length)]
        masses = [(k, mpmath.mpf(p.mid())) for k, p in law.items()]
        one_error = (2 * len(masses) + 16) * unit + mpmath.mpf(total([p.rad() for p in law.values()]).upper())
        powers, square = [], mpmath.mpf(0)
        for j in range(length // 2 + 1):
            z = mpmath.fsum(p * roots[-j * k % length] for k, p in masses)
            value, error = _bounded_power(z, n, one_error, unit)
            powers.append(value)
            square += (1 if j in (0, length // 2) else 2) * error**2
        powers += [mpmath.conj(powers[length - j]) for j in range(length // 2 + 1, length)]
        stages = (length.bit_length() - 1) * _STAGE * unit
        norm = mpmath.sqrt(mpmath.fsum(abs(z) ** 2 for z in powers))
        error = (mpmath.sqrt(square) + 2 * stages * norm) / mpmath.sqrt(length)
        probabilities = [z.real / length for z in _transform(powers, roots)]
        return _Listed(first, [arb(q) for q in probabilities], arb(error * 2))


def _bounded_power(z: Any, n: int, one_error: Any, unit: Any) -> tuple[Any, Any]:
    """Return z^n and a bound on its error, given one on that of z."""
    size = abs(z)
    if size <= 2 * n * one_error:
        return mpmath.mpc(0), 2 * (size + one_error) ** n
    logarithm = mpmath.log(z)
    value = mpmath.exp(n * logarithm)
    exponent = n * (2 * one_error / size + 12 * unit * (1 + abs(logarithm))) + 16 * unit
    return value, abs(value) * mpmath.expm1(exponent)


def _transform(values: list[Any], roots: list[Any]) -> list[Any]:
    """Return the sums of values[k] e^(2 pi i j k/N) by radix-2 steps, N a power of two."""
    length = len(values)
    if length == 1:
        return values
    stride = len(roots) // length
    even, odd = _transform(values[::2], roots), _transform(values[1::2], roots)
    turned = [roots[stride * j] * z for j, z in enumerate(odd)]
    return [a + b for a, b in zip(even, turned, strict=True)] + [a - b for a, b in zip(even, turned, strict=True)]
