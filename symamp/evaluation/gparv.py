"""The generalised privacy amplification random variable G = (A0 - E A1)/A2 of a law, in balls and in floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf, log
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symamp.evaluation.law import Law, Level, total
from symamp.evaluation.work import spend
from symamp.numbers.surroundings import at_precision

Floats = NDArray[np.float64]

_LARGEST_SEARCH_PRECISION = 4096
_ATOM = 3.0  # units of work
_HARMLESS = 1e-40


@dataclass(frozen=True)
class BallGparv:
    """G in balls: nonzero values with their probabilities, P(G = 0), and the singular part of the divergence."""

    values: tuple[arb, ...]
    masses: tuple[arb, ...]
    null_mass: arb
    singular: arb


@dataclass(frozen=True)
class FlatFloats:
    """Intervals of values of G on which its density is at least a constant (``symamp.evaluation.flat_cells``)."""

    low: Floats
    width: Floats
    density: Floats


@dataclass(frozen=True)
class FloatGparv:
    """G/2^exponent in doubles, each entry the nearest to the exact number; ``mean`` is that of the scaled values.

    The power of two makes the largest value about 1, so that squares neither overflow nor vanish. ``flat`` is there
    for nodes of a law with a density, which do not follow high frequencies.
    """

    values: Floats
    masses: Floats
    null_mass: float
    mean: float
    singular: float
    exponent: int = 0
    flat: FlatFloats | None = None

    @property
    def is_positive(self) -> bool:
        """Whether some value is resolved as positive: otherwise E[S_+] is 0 or too small for floats to see."""
        return bool(((self.values > 0.0) & (self.masses > 0.0)).any())

    @cached_property
    def log_masses(self) -> tuple[Floats, float]:
        """The logarithms of the masses, and of that of the null symbol; -inf for 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.masses), log(self.null_mass) if self.null_mass > 0.0 else -inf

    @property
    def log_mean(self) -> float:
        """log E[G], -inf if the mean is not positive: E[S_+]/n is at least E[G]."""
        return log(self.mean) + self.log_unit if self.mean > 0.0 else -inf

    @property
    def log_gain(self) -> float:
        """log E[G_+], which is at least log E[S_+]/n; -inf where no value is positive."""
        gain = float(self.masses @ np.maximum(self.values, 0.0))
        return log(gain) + self.log_unit if gain > 0.0 else -inf

    @property
    def log_unit(self) -> float:
        """log of the power of two that the values are in units of."""
        return self.exponent * log(2.0)


def ball_gparv(law: Law, level: Level) -> BallGparv:
    """Return G in balls at the ambient precision (000, Theorem 12; math: docs/proofs/identity.md)."""
    spend(_ATOM * len(law.atoms))
    e = level.exponential()
    minus = -level.exponential_minus_one()
    values, masses, null = [], [], []
    everything = arb(0)
    for atom in law.atoms:
        mass = atom.mass()
        everything += mass
        value = atom.ratio0() * minus if atom.equal_ratios else atom.ratio0() - e * atom.ratio1()
        if value.is_zero():
            null.append(mass)
        else:
            values.append(value)
            masses.append(mass)
    singular = total([(a0() - e * a1()).max(arb(0)) for a0, a1 in law.singular])
    # The part of A2 outside the components is the null symbol; its mass is never negative.
    rest = arb(0) if law.complete else (1 - everything).max(arb(0))
    return BallGparv(tuple(values), tuple(masses), rest + total(null), singular)


def float_gparv(law: Law, level: Level, bits: int = 128) -> FloatGparv:
    """Return G in doubles, raising the precision until every value is resolved (or is zero for all purposes)."""
    return nearest_doubles(lambda: ball_gparv(law, level), bits)


def nearest_doubles(source: Callable[[], BallGparv], bits: int = 128) -> FloatGparv:
    """Return the law that ``source`` gives in balls at the ambient precision in doubles, as ``float_gparv`` does."""
    while True:
        with at_precision(bits):
            balls = source()
            resolved = all(v.rel_accuracy_bits() > 60 for v in balls.values)
            if resolved or bits >= _LARGEST_SEARCH_PRECISION:
                mean = total([v * w for v, w in zip(balls.values, balls.masses, strict=True)])
                exponent = _binary_exponent(balls.values)
                unit = arb(2) ** exponent
                scaled = balls.values if exponent == 0 else [v / unit for v in balls.values]
                return FloatGparv(
                    _array([0.0 if v.contains(0) else v for v in scaled]),
                    _array(balls.masses),
                    float(balls.null_mass),
                    float(mean / unit),
                    float(balls.singular),
                    exponent,
                )
        bits *= 2


def _binary_exponent(values: tuple[arb, ...]) -> int:
    """Return e such that the largest of the values is about 2^e, 0 where squares are harmless anyway."""
    largest = max((abs(float(v)) for v in values), default=1.0)
    if _HARMLESS < largest < 1.0 / _HARMLESS:
        return 0
    exponents = [int(m).bit_length() + int(e) for m, e in (abs(v).upper().man_exp() for v in values) if m != 0]
    return max(exponents, default=0)


def _array(values: Any) -> Floats:
    return np.array([float(v) for v in values], dtype=np.float64)
