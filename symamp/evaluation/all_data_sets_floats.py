"""The transforms M_x and A_x of the bound over all data sets, in floats and for all classes of inputs at once.

n multiplies every error in log|M|, so M - 1 is summed from differences (docs/proofs/kernel_sandwich.md, rounding).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from symamp.evaluation.gparv import BallGparv, Floats
from symamp.evaluation.tilted import exp_minus_linear, turned
from symamp.evaluation.work import spend

Waves = NDArray[np.complex128]

_STEPS, _STEADY, _ALONE = 14, 1e-3, 4.0
_NEXT_TO_NOTHING = 1e-15 - 1.0
_AT_ONCE = 2**15  # numbers that a cache holds
_CALL, _TURN, _TERM, _CORNER = 50.0, 0.01, 0.001, 0.3  # units of work


@dataclass(frozen=True)
class FloatClasses:
    """The laws of G^x, one row a class of inputs, padded with atoms of mass 0; ``mean`` is their common mean 1 - E.

    ``mixed`` says that all mixtures of the laws may occur too. ``corners`` has a row for each corner of a region of
    data sets, the shares of the classes there; None for all data sets, whose corners are the classes.
    """

    values: Floats
    masses: Floats
    mean: float
    mixed: bool = False
    corners: Floats | None = None

    @cached_property
    def _shared(self) -> tuple[Floats, Floats]:
        """All values once, and their masses, one column a class: classes share most of them."""
        values, where = np.unique(self.values, return_inverse=True)
        masses = np.zeros((len(values), len(self.values)))
        np.add.at(masses, (where.reshape(self.values.shape), np.arange(len(self.values))[:, None]), self.masses)
        return values, masses

    @property
    def gains(self) -> Floats:
        """G+ = E[z+] of each class."""
        return np.asarray((self.masses * np.maximum(self.values, 0.0)).sum(axis=1))

    @property
    def gain(self) -> float:
        """G+, the middle of its values."""
        return 0.5 * float(self.gains.min() + self.gains.max())

    @staticmethod
    def of(laws: Sequence[BallGparv], mean: float, mixed: bool = False) -> FloatClasses:
        """Stack the laws."""
        width = max(len(g.values) for g in laws)
        values, masses = np.zeros((2, len(laws), width))
        for row, g in enumerate(laws):
            values[row, : len(g.values)] = [float(v) for v in g.values]
            masses[row, : len(g.values)] = [float(p) for p in g.masses]
        return FloatClasses(values, masses, mean, mixed)

    def only(self, rows: Sequence[int]) -> FloatClasses:
        """Return some of the classes."""
        chosen = list(rows)
        return FloatClasses(self.values[chosen], self.masses[chosen], self.mean, self.mixed)

    def corner(self, k: int) -> FloatClasses:
        """Return one corner alone."""
        if self.corners is None:
            return self.only([k])
        rows = np.flatnonzero(self.corners[k])
        return replace(self.only(rows.tolist()), corners=self.corners[k : k + 1, rows])

    def at_corners(self, found: Floats) -> Floats:
        """Return at the corners what is linear in the shares of the classes, which are the last axis."""
        return found if self.corners is None else np.asarray(found @ self.corners.T)

    def log_mgf(self, s: Floats, lam: Floats) -> Floats:
        """Return log M_x(s) = log E[e^(s z - lam z+)] for arrays s, lam of one shape; the classes are the last axis."""
        s, lam = np.broadcast_arrays(s, lam)
        spend(_CALL + _TURN * s.size * self.values.size)
        x = s[..., None, None] * self.values - lam[..., None, None] * np.maximum(self.values, 0.0)
        linear = s[..., None] * self.mean - lam[..., None] * self.gains
        below_one = linear + np.einsum("...xk,xk->...x", exp_minus_linear(x), self.masses)
        # A sum that cancels to about -1, or beyond it, is rounding: its M(s) is next to nothing.
        return np.asarray(np.log1p(np.maximum(below_one, _NEXT_TO_NOTHING)))

    def variance(self, s: float, lam: float) -> Floats:
        """Return the variance of z under the tilt e^(s z - lam z+), for each class."""
        weights = self.masses * np.exp(s * self.values - lam * np.maximum(self.values, 0.0))
        whole = 1.0 - self.masses.sum(axis=1) + weights.sum(axis=1)
        first = (weights * self.values).sum(axis=1) / whole
        second = (weights * self.values**2).sum(axis=1) / whole
        return np.asarray(second - first**2)

    def transforms(self, s: float, lam: float, sigma: float, p_lo: float, u: Floats) -> tuple[Floats, Floats]:
        """Return (log|M_x|, |A_x|) at s + iu, arrays of shape (frequencies, classes)."""
        rows = max(_AT_ONCE // max(len(self._shared[0]), 1), 1)
        spend(_CALL + len(u) * len(self._shared[0]) * (_TURN + _TERM * len(self.values)))
        parts = [self._transforms(s, lam, sigma, p_lo, u[i : i + rows]) for i in range(0, max(len(u), 1), rows)]
        log_m, sizes = zip(*parts, strict=True)
        return np.concatenate(log_m), np.concatenate(sizes)

    def _transforms(self, s: float, lam: float, sigma: float, p_lo: float, u: Floats) -> tuple[Floats, Floats]:
        z, p = self._shared
        plus = np.maximum(z, 0.0)
        x = s * z - lam * plus
        fallen, sine, bent = turned(u[:, None] * z)
        weights = np.exp(x)[:, None] * p
        re = s * self.mean - lam * self.gains + exp_minus_linear(x) @ p - fallen @ weights
        im = u[:, None] * self.mean + sine @ (np.expm1(x)[:, None] * p) + bent @ p
        with np.errstate(divide="ignore"):
            log_m = 0.5 * np.log1p(np.maximum(2.0 * re + re * re + im * im, -1.0))
        zeta = (s + 1j * u)[:, None]
        slow = (plus * np.exp(-lam * plus / (1.0 + np.sqrt(1.0 + plus / p_lo))))[:, None] * p
        columns = plus[:, None] * weights, slow * np.exp(s * plus)[:, None], np.maximum(-z, 0.0)[:, None] * weights
        waves = (1.0 - fallen) @ np.hstack(columns) + 1j * (sine @ np.hstack(columns))
        positive, mixed, negative = np.split(waves, 3, axis=1)
        mixed = mixed + slow.sum(axis=0) * ((sigma * zeta) ** 2 - 1.0)
        size = np.abs(self.gains * positive + mixed * negative)
        return log_m, size + self._crossed(s, lam, positive, mixed, negative) if self.mixed else size

    def _crossed(self, s: float, lam: float, positive: Waves, mixed: Waves, negative: Waves) -> Floats:
        """Return what mixtures of each class with those of larger M(s) add to its |A|."""
        order = np.argsort(-self.log_mgf(np.array([s]), np.array([lam]))[0], kind="stable")
        added = np.zeros(positive.shape)
        for k, i in enumerate(order[1:], 1):
            others = order[:k]
            parts = (self.gains[i] - self.gains[others]) * (positive[:, [i]] - positive[:, others])
            parts = parts + (mixed[:, [i]] - mixed[:, others]) * (negative[:, [i]] - negative[:, others])
            added[:, i] = np.abs(parts).max(axis=1)
        return added


def best_inverse_scale(exponents: Floats, alphas: Floats) -> Floats:
    """Return v = 1/c that minimises -log v + log sum_k e^(exponents_k + alphas_k v), corners on the last axis.

    The exponents are N L_k, with the logarithms of weights, and the alphas N alpha_k. Any v > 0 is allowed.
    """
    rows = np.arange(len(exponents))
    top = exponents.argmax(axis=1)
    v = 1.0 / alphas[rows, top]
    # Where one corner alone counts, its own alpha is the best c.
    alone = exponents + alphas * v[:, None] < (exponents[rows, top] + 1.0 - _ALONE)[:, None]
    alone[rows, top] = True
    shared = ~alone.all(axis=1)
    if shared.any():
        v[shared] = _shared_inverse_scale(exponents[shared], alphas[shared])
    return np.asarray(v)


def _shared_inverse_scale(exponents: Floats, alphas: Floats) -> Floats:
    """Return the same by Newton's steps for log v, halvings of the bracket where they leave it: a convex function."""
    exponents, alphas = exponents.T.copy(), alphas.T.copy()  # sums over few corners are quick along the first axis
    low, high = -np.log(alphas.max(axis=0)), -np.log(alphas.min(axis=0))
    y = 0.5 * (low + high)
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            t = alphas * np.exp(y)
            z = exponents + t
            shares = np.exp(z - z.max(axis=0))
            whole = shares.sum(axis=0)
            shares *= t
            mean = shares.sum(axis=0) / whole
            shares *= t
            variance = shares.sum(axis=0) / whole - mean * mean
            is_low = mean < 1.0
            low, high = np.where(is_low, y, low), np.where(is_low, high, y)
            step = y - np.log(mean) / (1.0 + variance / mean)
            before, y = y, np.where((low < step) & (step < high), step, 0.5 * (low + high))
            if np.abs(y - before).max() < _STEADY:
                break
    return np.asarray(np.exp(y))


def log_integrands(g: FloatClasses, log_m: Floats, size: Floats, n: int, weights: Floats) -> Floats:
    """Return log of (c/e) e^(N (L + alpha/c)) for each corner at each frequency; N = n - 1.

    ``log_m`` and ``size`` are log|M| and |A|, of shape (frequencies, classes); c is the best one for the sum over the
    corners with the ``weights``.
    """
    spend(_CORNER * log_m.size)
    top = log_m.max(axis=1, keepdims=True)
    floored = np.maximum(log_m, top - 80.0 / (n - 1))  # any larger value than |M| is allowed; zeros are not
    exponents, alphas = (n - 1) * floored, (n - 1) * np.maximum(size, 1e-300) * np.exp(-floored)
    exponents, alphas = g.at_corners(exponents), g.at_corners(alphas)
    v = best_inverse_scale(exponents + np.log(weights), alphas)[:, None]
    share = alphas * v
    # As L may be raised, alpha/c is never more than 1 + log(alpha/c).
    share = np.where(share > n - 1, (n - 1) * (1.0 + np.log(share / (n - 1))), share)
    return np.asarray(exponents + share - np.log(v) - 1.0)
