"""The compact-support kernel, and which frequencies of its sum are evaluated or dropped with a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import erfc, exp, pi, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from symamp.laws.law import Floats
from symamp.numbers.systems import Number, NumberSystem

# ---------- The compact-support kernel: one formula, and one sum over frequencies, for floats, for balls and for mpmath

# With smoothing length d, T = 2 pi/d, lam = theta d and s = theta + iu, the functions B+ and B- on |u| < T are the
# Fourier transforms of the extremal majorant and minorant of x_+ e^(-theta x) of exponential type T
# (docs/proofs/kernel_sandwich.md). They vanish for |u| >= T, so that a sum over frequencies has no truncation error.

_ROOT_HALF_PI = sqrt(pi / 2.0)
_SMALL = 1e-3
"""Below this lam doubles take the series: the closed forms cancel. Balls and mpmath have precision to spare."""


class TwoSided:
    """A payoff f: B- and B+ for a tilt theta, a window W and N terms, d = W/N, frequencies j h, h = 2 pi/W.

    A new payoff is a file with a subclass, whose majorant and minorant are proved on a page of docs/proofs: its values
    at 0 and at u, modulus and peak in all number systems; and for searches, in doubles, what decides tilt, window and
    terms. F(theta) is the integral of f(x) e^(-theta x).
    """

    least_tilt: ClassVar[float] = 0.0
    """F and ``peak`` are finite at all tilts above it; no plan has others."""

    def __init__(self, numbers: NumberSystem, theta: Number, window: Number, terms: int) -> None:
        self.numbers, self.theta, self.terms = numbers, theta, terms
        self.d, self.step = window / terms, 2 * numbers.pi() / window
        self.top = 2 * numbers.pi() / self.d

    def at_zero(self) -> tuple[Number, Number]:
        """Return B-(0) and B+(0)."""
        raise NotImplementedError

    def at(self, u: Number) -> tuple[Number, Number]:
        """Return B-(u) and B+(u) for 0 < u < T."""
        raise NotImplementedError

    def modulus(self, u: Number) -> Number:
        """Return a bound on the transform of f(x) e^(-theta x) at frequencies from u on; its value at 0."""
        raise NotImplementedError

    def peak(self, tilt: Number) -> Number:
        """Return the largest f(x) e^(-tilt x)."""
        raise NotImplementedError

    @staticmethod
    def pull(theta: float) -> tuple[float, float]:
        """Return -(log F)' and (log F)'' at theta: the saddle point of M F is where K' is the first."""
        raise NotImplementedError

    @staticmethod
    def spread(theta: float, mean: float, sigma: float) -> float:
        """Return E[f(X) e^(-theta X)] for a normal X, over the density of X at 0; what is not positive is not known."""
        raise NotImplementedError

    @staticmethod
    def log_peak(tilts: Floats) -> Floats:
        """Return the logarithm of ``peak`` at an array of tilts."""
        raise NotImplementedError

    def sums(self, factors: Iterable[tuple[int, Number]], rest: Number) -> tuple[Number, Number]:
        """Return Re sum B(jh) factor over pairs (j, factor), with half of B(0) ``rest``, for B- and B+."""
        below, above = (x * rest / 2 for x in self.at_zero())
        for j, factor in factors:
            for_minorant, for_majorant = self.at(self.step * j)
            below, above = below + (for_minorant * factor).real, above + (for_majorant * factor).real
        return below, above


class Kernel(TwoSided):
    """The kernel of f(x) = x_+."""

    def __init__(self, numbers: NumberSystem, theta: Number, window: Number, terms: int) -> None:
        super().__init__(numbers, theta, window, terms)
        lam = theta * self.d
        self._minus_lam, self._bent = -lam, self.d * self.d * theta / self.top
        self._over_t = numbers.complex(0 * theta, self.d / self.top)
        if numbers.name == "numpy" and lam < _SMALL:
            self.alpha = 0.5 - lam / 12.0 + lam**3 / 720.0
            self.c = 0.5 - lam / 6.0 + lam**3 / 180.0
            return
        one_minus_q = -numbers.expm1(-lam)
        # The zero of g' for the majorant, and minus the slope of u/(e^u - 1) at lam for the minorant.
        self.alpha = 1 / lam - (1 - one_minus_q) / one_minus_q
        self.c = (1 - one_minus_q) / one_minus_q * (lam / one_minus_q - 1)

    def at_zero(self) -> tuple[Number, Number]:
        one_minus_q = -self.numbers.expm1(-self.theta * self.d)
        ratio, square = (1 - one_minus_q) / one_minus_q, self.d * self.d / one_minus_q
        return square * ratio, square * (self.alpha + ratio) * self.numbers.exp(-self.theta * self.alpha * self.d)

    def at(self, u: Number) -> tuple[Number, Number]:
        complex_, square, over_t = self.numbers.complex, self.d * self.d, self._over_t
        minus_sd = complex_(self._minus_lam, u * -self.d)
        one_minus_q = -self.numbers.expm1(minus_sd)
        inverse = 1 / one_minus_q
        ratio = (1 - one_minus_q) * inverse
        bend = complex_(square - u / self.top * square, self._bent)  # d^2 (1 + is/T)
        z0 = self.numbers.exp(minus_sd * self.alpha) * inverse
        above = (bend * (ratio + self.alpha) - over_t) * z0
        return bend * (ratio * inverse) - over_t * (ratio + self.c), above

    def modulus(self, u: Number) -> Number:
        return 1 / (self.theta**2 + u**2)

    def peak(self, tilt: Number) -> Number:
        return 1 / (tilt * self.numbers.exp(self.numbers.rational(1, 1)))

    @staticmethod
    def pull(theta: float) -> tuple[float, float]:
        return 2.0 / theta, 2.0 / theta / theta

    @staticmethod
    def spread(theta: float, mean: float, sigma: float) -> float:
        """Return sigma^2 r(z), r(z) = 1 - z Mills(z) at z = theta sigma - mean/sigma."""
        if not sigma > 0.0:  # one value has all the mass of the tilted law
            return 0.0
        z = float(theta * sigma - mean / sigma)
        if z > 25.0:
            return sigma**2 / (z * z + 3.0)
        z = max(z, -25.0)  # below, the estimate underflows anyway
        return sigma**2 * (1.0 - z * _ROOT_HALF_PI * exp(0.5 * z * z) * erfc(z / sqrt(2.0)))

    @staticmethod
    def log_peak(tilts: Floats) -> Floats:
        return np.asarray(-np.log(tilts) - 1.0)


# --------------------------------------------------- Which frequencies are evaluated and which are dropped with a bound

# sqrt(1 - |phi|^2) is Lipschitz with the tilted standard deviation as constant, so one value of |phi| in the middle
# of a block bounds the whole block (docs/proofs/kernel_sandwich.md, dropped blocks).

Ranges = tuple[tuple[int, int], ...]
"""Inclusive ranges of indices j, for frequencies j h."""
Pairs = np.ndarray[tuple[int, int], np.dtype[np.int64]]
_LEAF, _NONE = 4, np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class Blocks:
    """Inclusive index ranges of frequencies j h: ``evaluated`` one by one, ``dropped`` with a bound."""

    evaluated: Ranges
    dropped: Ranges

    @property
    def evaluations(self) -> int:
        """Number of frequencies evaluated one by one."""
        return sum(b - a + 1 for a, b in self.evaluated)


@dataclass(frozen=True, eq=False)
class Cut:
    """Blocks as arrays of first and last indices: a search tries many of them and keeps one.

    ``spent`` is what the dropped ones cost, in units of (2/W) * sum abs(B phi^n).
    """

    evaluated: Pairs
    dropped: Pairs
    spent: float

    @property
    def indices(self) -> NDArray[np.int64]:
        """What is evaluated one by one."""
        first, last = self.evaluated.T
        lengths = last - first + 1
        return np.repeat(last - lengths.cumsum() + 1, lengths) + np.arange(lengths.sum())

    def blocks(self) -> Blocks:
        """Return the blocks as plain numbers."""
        return Blocks(_ranges(self.evaluated), _ranges(self.dropped))


def partition(
    bound: Callable[[Floats, Floats], Floats],
    modulus: Callable[[Floats], Floats],
    step: float,
    last: int,
    allowance: float,
    most: int,
) -> Cut | None:
    """Split the frequencies 1..last times ``step`` so that each dropped block costs at most ``allowance``.

    ``bound`` gives bounds on |phi^n| from the middles and half widths of blocks, ``modulus`` one on the kernel from
    the start of a block on. Chosen in floats: the ball evaluation recomputes every bound. None if more than ``most``
    frequencies would have to be evaluated.
    """
    evaluated, dropped = [_NONE], [_NONE]
    spent, kept = 0.0, 0
    # |phi|^n falls fastest near zero, so blocks start as [1], [2, 3], [4, 7], ...
    starts = 2 ** np.arange(last.bit_length(), dtype=np.int64)
    level = np.column_stack([starts, np.minimum(2 * starts - 1, last)])
    while len(level):
        if kept + len(level) > most:
            return None
        a, b = level[:, 0], level[:, 1]
        beta = bound(0.5 * step * (a + b).astype(np.float64), 0.5 * step * (b - a))
        cost = (step / np.pi) * (b - a + 1) * beta * modulus(a * step)
        drop = cost <= allowance
        spent += float(cost[drop].sum())
        leaf = ~drop & (b - a < _LEAF)
        dropped.append(level[drop])
        evaluated.append(level[leaf])
        kept += int((b - a + 1)[leaf].sum())
        split = level[~drop & ~leaf]
        middle = (split[:, 0] + split[:, 1]) // 2
        level = np.concatenate([np.column_stack([split[:, 0], middle]), np.column_stack([middle + 1, split[:, 1]])])
    return Cut(_joined(_sorted(evaluated)), _sorted(dropped), spent)


def _sorted(parts: list[Pairs]) -> Pairs:
    pairs = np.concatenate(parts)
    return pairs[np.argsort(pairs[:, 0])]


def _joined(pairs: Pairs) -> Pairs:
    """Return the ranges with neighbours made one."""
    apart = np.flatnonzero(pairs[1:, 0] > pairs[:-1, 1] + 1)
    return np.column_stack([pairs[np.append(0, apart + 1), 0], pairs[np.append(apart, -1), 1]]) if len(pairs) else pairs


def _ranges(pairs: Pairs) -> Ranges:
    return tuple((a, b) for a, b in pairs.tolist())
