"""The transforms M_x and A_x of the bound over all data sets, in floats and for all classes of inputs at once.

n multiplies every error in log|M|, so M - 1 is summed from differences (docs/proofs/kernel_sandwich.md, rounding).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from symamp.evaluation.gparv import BallGparv, Floats
from symamp.evaluation.tilted import exp_minus_linear, sine_minus_argument

_FEW_CLASSES = 5


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
        x = s[..., None, None] * self.values - lam[..., None, None] * np.maximum(self.values, 0.0)
        linear = s[..., None] * self.mean - lam[..., None] * self.gains
        return np.asarray(np.log1p(linear + np.einsum("...xk,xk->...x", exp_minus_linear(x), self.masses)))

    def variance(self, s: float, lam: float) -> Floats:
        """Return the variance of z under the tilt e^(s z - lam z+), for each class."""
        weights = self.masses * np.exp(s * self.values - lam * np.maximum(self.values, 0.0))
        whole = 1.0 - self.masses.sum(axis=1) + weights.sum(axis=1)
        first = (weights * self.values).sum(axis=1) / whole
        second = (weights * self.values**2).sum(axis=1) / whole
        return np.asarray(second - first**2)

    def transforms(self, s: float, lam: float, sigma: float, p_lo: float, u: Floats) -> tuple[Floats, Floats]:
        """Return (log|M_x|, |A_x|) at s + iu, arrays of shape (frequencies, classes)."""
        z, p = self.values, self.masses
        plus = np.maximum(z, 0.0)
        x = s * z - lam * plus
        # Classes share most of their values: sines are taken once for each.
        shared, where = np.unique(z, return_inverse=True)
        where = where.reshape(z.shape)
        phase = u[:, None] * shared
        half, sine = np.sin(0.5 * phase), np.sin(phase)
        squares = (half * half)[:, where]
        grown, weights = p * np.expm1(x), p * np.exp(x)
        re = s * self.mean - lam * self.gains + (p * exp_minus_linear(x)).sum(axis=1)
        re = re - 2.0 * np.einsum("uxk,xk->ux", squares, weights)
        im = u[:, None] * self.mean + np.einsum("uxk,xk->ux", sine[:, where], grown)
        im = im + np.einsum("uxk,xk->ux", sine_minus_argument(phase)[:, where], p)
        with np.errstate(divide="ignore"):
            log_m = 0.5 * np.log1p(np.maximum(2.0 * re + re * re + im * im, -1.0))
        zeta = (s + 1j * u)[:, None]
        turned = (1.0 - 2.0 * half * half + 1j * sine)[:, where]  # e^(iuz)
        slow = p * plus * np.exp(-lam * plus / (1.0 + np.sqrt(1.0 + plus / p_lo)))
        positive = np.einsum("uxk,xk->ux", turned, plus * weights)
        mixed = np.einsum("uxk,xk->ux", turned, slow * np.exp(s * plus))
        mixed = mixed + slow.sum(axis=1) * ((sigma * zeta) ** 2 - 1.0)
        negative = np.einsum("uxk,xk->ux", turned, np.where(z < 0.0, -z, 0.0) * weights)
        size = np.abs(self.gains * positive + mixed * negative)
        return log_m, size + self._crossed(s, lam, positive, mixed, negative) if self.mixed else size

    def _crossed(self, s: float, lam: float, positive: Floats, mixed: Floats, negative: Floats) -> Floats:
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
    """Return v = 1/c that minimises -log v + max_x (exponents_x + alphas_x v), classes on the last axis.

    The exponents are n L_x and the alphas n alpha_x; the function is convex in v, and the least is between the
    smallest and the largest 1/alpha.
    """
    if exponents.shape[-1] == 1:
        return np.asarray(1.0 / alphas[..., 0])
    if exponents.shape[-1] <= _FEW_CLASSES:
        return _among_candidates(exponents, alphas)
    low, high = -np.log(alphas.max(axis=-1)), -np.log(alphas.min(axis=-1))

    def value(y: Floats) -> Floats:
        return np.asarray((exponents + alphas * np.exp(y)[..., None]).max(axis=-1) - y)

    for _ in range(24):
        left, right = low + 0.382 * (high - low), high - 0.382 * (high - low)
        lower = value(left) <= value(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    return np.asarray(np.exp(0.5 * (low + high)))


def _among_candidates(exponents: Floats, alphas: Floats) -> Floats:
    """Return the best of all v where one class alone is least, or where two classes meet: the least is one of them."""
    count = exponents.shape[-1]
    i, j = np.triu_indices(count, 1)
    with np.errstate(all="ignore"):
        meeting = (exponents[..., i] - exponents[..., j]) / (alphas[..., j] - alphas[..., i])
        v = np.concatenate([1.0 / alphas, meeting], axis=-1)
        top = exponents[..., :1] + alphas[..., :1] * v
        for k in range(1, count):
            np.maximum(top, exponents[..., k, None] + alphas[..., k, None] * v, out=top)
        value = np.where((v > 0.0) & (v < np.inf), top - np.log(v), np.inf)
    return np.asarray(np.take_along_axis(v, value.argmin(axis=-1)[..., None], axis=-1)[..., 0])


def log_integrand(g: FloatClasses, log_m: Floats, size: Floats, n: int) -> tuple[Floats, Floats]:
    """Return log of (c/e) e^(N m) at the best c, and the corner that attains it, at each frequency; N = n - 1.

    ``log_m`` and ``size`` are log|M| and |A|, of shape (frequencies, classes).
    """
    top = log_m.max(axis=1, keepdims=True)
    floored = np.maximum(log_m, top - 80.0 / (n - 1))  # any larger value than |M| is allowed; zeros are not
    exponents, alphas = (n - 1) * floored, (n - 1) * np.maximum(size, 1e-300) * np.exp(-floored)
    exponents, alphas = g.at_corners(exponents), g.at_corners(alphas)
    v = best_inverse_scale(exponents, alphas)
    found = exponents + alphas * v[:, None]
    return np.asarray(found.max(axis=1) - np.log(v) - 1.0), found.argmax(axis=1)
