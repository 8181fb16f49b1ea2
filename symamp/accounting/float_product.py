"""The loss of all rounds in floats: cumulants and characteristic function of a product of discrete pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, fsum, inf, log, log1p

import flint
import numpy as np
from flint import arb

from symamp.accounting.discrete_pair import DiscretePair
from symamp.evaluation.gparv import Floats
from symamp.evaluation.tilted import versine_and_sine
from symamp.numbers.surroundings import at_precision

_CHUNK, _TINY = 2**15, -40.0


@dataclass(frozen=True)
class FloatFactor:
    """``count`` rounds with the same losses log dP/dQ; ``logs`` are the logarithms of their P-masses.

    ``log_infinite`` is that of the mass at an infinite loss.
    """

    losses: Floats
    logs: Floats
    count: int
    log_infinite: float

    @staticmethod
    def of(pair: DiscretePair, count: int) -> FloatFactor:
        """Return a pair in doubles; masses far below the smallest double keep their logarithms."""
        with at_precision(64):
            losses = np.array([_log(e) for e, _ in pair.atoms])
            logs = np.array([_log(p) for _, p in pair.atoms])
            return FloatFactor(losses, logs, count, _log(pair.infinite) if pair.infinite > 0 else -inf)


def _log(x: flint.fmpq) -> float:
    ball = arb(x)
    return float((ball - 1).log1p() if abs(ball - 1) < 0.5 else ball.log())


@dataclass(frozen=True)
class FloatProduct:
    """All rounds."""

    factors: tuple[FloatFactor, ...]

    @staticmethod
    def of(rounds: Sequence[tuple[DiscretePair, int]]) -> FloatProduct:
        """Return the product of pairs, each taken so many times."""
        return FloatProduct(tuple(FloatFactor.of(pair, count) for pair, count in rounds))

    @property
    def log_infinite(self) -> float:
        """The logarithm of the P-mass of an infinite loss in some round."""
        if any(f.log_infinite >= 0.0 for f in self.factors):
            return 0.0
        # The probability that all losses are finite is 1 for doubles where the others are small.
        most = float(np.logaddexp.reduce([f.log_infinite + log(f.count) for f in self.factors]))
        if most < _TINY:
            return most
        return log(-expm1(fsum(f.count * _log_rest(f.log_infinite) for f in self.factors)))

    @property
    def largest(self) -> float:
        """The largest finite loss of all rounds together."""
        return fsum(f.count * float(f.losses.max(initial=-inf)) for f in self.factors)

    def log_mgf(self, theta: float) -> float:
        """Return K(theta) = log E_P[e^(theta L)] over finite losses."""
        return fsum(f.count * _log_sum(f.logs + theta * f.losses) for f in self.factors)

    def tilted(self, theta: float) -> TiltedProduct:
        """Return the product under the tilt theta."""
        tilted = [f.logs + theta * f.losses for f in self.factors]
        return TiltedProduct(self, theta, tuple(np.exp(x - _log_sum(x)) for x in tilted))


@dataclass(frozen=True)
class TiltedProduct:
    """All rounds under the tilt theta, with the tilted masses of each factor."""

    product: FloatProduct
    theta: float
    masses: tuple[Floats, ...]

    @cached_property
    def means(self) -> list[float]:
        """The mean loss of one round of each factor."""
        return [float(p @ f.losses) for p, f in zip(self.masses, self.product.factors, strict=True)]

    @property
    def mean(self) -> float:
        """The mean of the loss of all rounds."""
        return fsum(f.count * m for f, m in zip(self.product.factors, self.means, strict=True))

    @cached_property
    def deviations(self) -> list[float]:
        """The standard deviation of the loss of one round of each factor."""
        parts = zip(self.masses, self.product.factors, self.means, strict=True)
        return [float(np.sqrt(p @ (f.losses - m) ** 2)) for p, f, m in parts]

    @property
    def variance(self) -> float:
        """The variance of the loss of all rounds."""
        return fsum(f.count * s * s for f, s in zip(self.product.factors, self.deviations, strict=True))

    def log_phi(self, u: Floats) -> tuple[list[Floats], Floats]:
        """Return (log |phi| of one round of each factor, argument of the product), losses taken from their means."""
        moduli, phase = [], np.zeros_like(u)
        for p, f, m in zip(self.masses, self.product.factors, self.means, strict=True):
            size = max(1, _CHUNK // len(p))
            turns = (versine_and_sine(np.outer(u[i : i + size], f.losses - m)) for i in range(0, len(u), size))
            parts = [p.sum() - versine @ p + 1j * (sine @ p) for versine, sine in turns]
            phi = np.concatenate(parts) if parts else np.empty(0, dtype=complex)
            with np.errstate(divide="ignore"):
                moduli.append(np.minimum(np.log(np.abs(phi)), 0.0))
            phase = phase + f.count * np.angle(phi)
        return moduli, phase

    def decay(self, middle: Floats, half: Floats) -> Floats:
        """Return bounds on the modulus of the product over blocks of frequencies."""
        log_bound = np.zeros_like(middle)
        moduli, _ = self.log_phi(middle)
        for f, s, modulus in zip(self.product.factors, self.deviations, moduli, strict=True):
            distance = np.clip(np.sqrt(-np.expm1(2.0 * modulus)) - s * half, 0.0, 1.0)
            with np.errstate(divide="ignore"):
                log_bound += 0.5 * f.count * np.log1p(-(distance**2))
        return np.asarray(np.exp(log_bound))


def _log_rest(x: float) -> float:
    """Return log(1 - e^x) for x < 0, however near to 0."""
    return log(-expm1(x)) if x > -1.0 else log1p(-exp(x))


def _log_sum(logs: Floats) -> float:
    top = float(logs.max(initial=-inf))
    return top + float(np.log(np.exp(logs - top).sum())) if top > -inf else -inf
