"""The bound over all data sets in floats: transforms, lines of integration, saddle points, the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, inf, isfinite, log, pi, sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from symamp.laws.law import BallGparv, Floats
from symamp.numbers.doubles import erfcx
from symamp.numbers.limits import TERM, Limits
from symamp.sums.kernels.tilted import exp_minus_linear, turned

# --- The parameters of one evaluation of the bound over all data sets: plain doubles, from which it can be recomputed


@dataclass(frozen=True)
class Term:
    """One exponential a e^(-lam p) of the majorant of 1/p^2, with the line s + iu and the smoothing sigma."""

    a: float
    lam: float
    s: float
    sigma: float


@dataclass(frozen=True)
class Parameters:
    """p_lo, the tilts (a, b) of the bad part, and the terms. Every number is a double, hence an exact dyadic."""

    p_lo: float
    tilt_a: float
    tilt_b: float
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Cells:
    """The frequencies of one term: 0 = ends[0] < ... < ends[-1], and c = scale e^(slope (u - middle)) in each cell."""

    ends: tuple[float, ...]
    scales: tuple[float, ...]
    tail_scale: float
    slopes: tuple[float, ...]


@dataclass(frozen=True)
class AllDataSetsEvidence:
    """All that a recomputation of the bound needs besides the laws, eps and n: parameters, and cells term by term."""

    parameters: Parameters
    cells: tuple[Cells, ...]


# ---------- The transforms M_x and A_x of the bound over all data sets, in floats and for all classes of inputs at once

# n multiplies every error in log|M|, so M - 1 is summed from differences (docs/proofs/kernel_sandwich.md, rounding).

Waves = NDArray[np.complex128]
Booleans = NDArray[np.bool_]
Scalar = TypeVar("Scalar", np.float64, np.complex128)

_STEPS, _STEADY, _ALONE = 40, 1e-3, 4.0
_NEXT_TO_NOTHING = 1e-15 - 1.0
_AT_ONCE = 2**13  # numbers that a cache holds
_ONE_THREAD = {"f": 2**18, "c": 2**15}
"""The multiplications, real and complex, up to which OpenBLAS takes one thread: where cores are busy more of them wait
for each other."""


def _product(a: NDArray[Scalar], b: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the product with a matrix, some rows at a time: the same for any number of threads."""
    if (most := _ONE_THREAD[b.dtype.kind] // 2) < b.size and b.shape[1] > 1:  # not even two rows
        columns = max(most // len(b), 1)
        return np.concatenate([_product(a, b[:, k : k + columns]) for k in range(0, b.shape[1], columns)], axis=-1)
    flat, rows = a.reshape(-1, a.shape[-1]), max(_ONE_THREAD[b.dtype.kind] // b.size, 1)
    whole = len(flat) // rows * rows
    pieces: NDArray[Scalar] = flat[:whole].reshape(-1, rows, flat.shape[1]) @ b
    return np.concatenate([*pieces, flat[whole:] @ b]).reshape(*a.shape[:-1], b.shape[1])


class Lines(NamedTuple):
    """Numbers of some terms, one for each frequency or one for all."""

    s: Floats
    lam: Floats
    sigma: Floats

    @staticmethod
    def of(terms: Sequence[Term]) -> Lines:
        """Return those of all terms."""
        return Lines(*np.array([(t.s, t.lam, t.sigma) for t in terms]).T)


@dataclass(frozen=True)
class FloatClasses:
    """The laws of G^x, one row a class of inputs, padded with atoms of mass 0; ``mean`` is their common mean 1 - E.

    ``mixed`` says that all mixtures of the laws may occur too.
    """

    values: Floats
    masses: Floats
    mean: float
    mixed: bool = False

    @cached_property
    def shared(self) -> tuple[Floats, Floats]:
        """All values once, and their masses, one column a class: classes share most of them."""
        values, where = np.unique(self.values, return_inverse=True)
        masses = np.zeros((len(values), len(self.values)))
        np.add.at(masses, (where.reshape(self.values.shape), np.arange(len(self.values))[:, None]), self.masses)
        return values, masses

    @cached_property
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

    def log_mgf(self, s: Floats, lam: Floats) -> Floats:
        """Return log M_x(s) = log E[e^(s z - lam z+)] for arrays s, lam of one shape; the classes are the last axis."""
        s, lam = (x[..., None] for x in np.broadcast_arrays(s, lam))
        z, p = self.shared
        curved = exp_minus_linear(s * z - lam * np.maximum(z, 0.0))
        below_one = s * self.mean - lam * self.gains + _product(curved, p)
        # A sum that cancels to about -1, or beyond it, is rounding: its M(s) is next to nothing.
        return np.asarray(np.log1p(np.maximum(below_one, _NEXT_TO_NOTHING)))

    def variance(self, s: Floats | float, lam: Floats | float) -> Floats:
        """Return the variance of z under the tilts e^(s z - lam z+); the classes are the last axis."""
        z, p = self.shared
        weights = np.exp(np.multiply.outer(s, z) - np.multiply.outer(lam, np.maximum(z, 0.0)))
        whole = 1.0 - self.masses.sum(axis=1) + _product(weights, p)
        first, second = (_product(weights, z[:, None] ** k * p) / whole for k in (1, 2))
        return np.asarray(second - first**2)

    def transforms(self, lines: Lines, p_lo: float, u: Floats, least: float = -inf) -> tuple[Booleans, Floats, Floats]:
        """Return which frequencies were kept, and log|M_x|, |A_x| there, arrays of shape (frequencies, classes).

        Each frequency has a line of its own, or all the same one. Those at which all log|M_x| are ``least`` or more
        below their value at 0 are left out.
        """
        rows = max(_AT_ONCE // max(len(self.shared[0]), 1), 1)
        starts = range(0, max(len(u), 1), rows)
        every = [[x if len(x) == 1 else x[i : i + rows] for x in lines] for i in starts]
        parts = [
            self._transforms(Lines(*some), p_lo, u[i : i + rows], least) for i, some in zip(starts, every, strict=True)
        ]
        kept, log_m, sizes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return kept, log_m, sizes

    def stands_out(self, term: Term, u: Floats, least: float) -> Booleans:
        """Return at which of some evenly spaced frequencies, from 0 on, some log|M_x| - log M_x is above ``least``.

        The waves of each block are those of the first one turned together: sums are products of matrices.
        """
        weights = self.masses * np.exp(term.s * self.values - term.lam * np.maximum(self.values, 0.0))
        rest, size = 1.0 - self.masses.sum(axis=1), ceil(sqrt(len(u)))
        stands = np.zeros(size * size, dtype=bool)
        for z, weight, null in zip(self.values, weights, rest.tolist(), strict=True):
            near, far = (np.exp(1j * np.outer(k * u[1] * np.arange(size), z)) for k in (1, size))
            moduli = np.abs(_product(far * weight, near.T) + null).ravel()
            stands |= ~(moduli < moduli[0] * exp(least))  # what is beyond the range of doubles is kept
        return stands[: len(u)]

    def _transforms(self, lines: Lines, p_lo: float, u: Floats, least: float) -> tuple[Booleans, Floats, Floats]:
        z, p = self.shared
        s, lam, sigma = (x[:, None] for x in lines)
        plus, minus = np.maximum(z, 0.0), np.maximum(-z, 0.0)
        x = s * z - lam * plus
        fallen, sine, bent = turned(u[:, None] * z)
        weights = np.exp(x)
        re = s * self.mean - lam * self.gains + _product(exp_minus_linear(x), p)
        tops = np.log1p(np.maximum(re, _NEXT_TO_NOTHING))
        re = re - _product(fallen * weights, p)
        im = u[:, None] * self.mean + _product(sine * np.expm1(x) + bent, p)
        with np.errstate(divide="ignore"):
            log_m = 0.5 * np.log1p(np.maximum(2.0 * re + re * re + im * im, -1.0))
        kept = np.asarray(~(log_m <= tops + least).all(axis=1))  # what is beyond the range of doubles is kept
        if not kept.all():
            u, log_m, fallen, sine = u[kept], log_m[kept], fallen[kept], sine[kept]
            s, lam, sigma, weights, tops = (x if len(x) == 1 else x[kept] for x in (s, lam, sigma, weights, tops))
        slow = plus * np.exp(s * plus - lam * plus / (1.0 + np.sqrt(1.0 + plus / p_lo)))
        tilted = np.stack((plus * weights, slow, minus * weights))
        real, imaginary = _product(np.stack((1.0 - fallen, sine))[:, None] * tilted, p)
        positive, mixed, negative = real + 1j * imaginary
        alone = _product(plus * np.exp(-lam * plus / (1.0 + np.sqrt(1.0 + plus / p_lo))), p)
        mixed = mixed + alone * ((sigma * (s + 1j * u[:, None])) ** 2 - 1.0)
        size = np.abs(self.gains * positive + mixed * negative)
        return kept, log_m, size + self._crossed(tops, positive, mixed, negative) if self.mixed else size

    def _crossed(self, tops: Floats, positive: Waves, mixed: Waves, negative: Waves) -> Floats:
        """Return what mixtures of each class with those of larger M(s) add to its |A|."""
        order = np.argsort(-np.broadcast_to(tops, positive.shape), axis=1, kind="stable")
        # Sums along the first axis are quick.
        waves = (np.take_along_axis(x, order, axis=1).T for x in (positive, mixed, negative))
        gains, (p, q, r) = self.gains[order.T], waves
        added = np.zeros(positive.shape)
        for k in range(1, len(gains)):
            parts = (gains[k] - gains[:k]) * (p[k] - p[:k]) + (q[k] - q[:k]) * (r[k] - r[:k])
            np.put_along_axis(added, order[:, [k]], np.abs(parts).max(axis=0)[:, None], axis=1)
        return added


def best_inverse_scale(exponents: Floats, alphas: Floats) -> Floats:
    """Return v = 1/c that minimises -log v + log sum_k e^(exponents_k + alphas_k v), classes on the last axis.

    The exponents are N L_k, with the logarithms of weights, and the alphas N alpha_k. Any v > 0 is allowed.
    """
    rows = np.arange(len(exponents))
    top = exponents.argmax(axis=1)
    v = 1.0 / alphas[rows, top]
    # Where one class alone counts, its own alpha is the best c.
    alone = exponents + alphas * v[:, None] < (exponents[rows, top] + 1.0 - _ALONE)[:, None]
    alone[rows, top] = True
    shared = ~alone.all(axis=1)
    if shared.any():
        v[shared] = _shared_inverse_scale(exponents[shared], alphas[shared])
    return np.asarray(v)


def _shared_inverse_scale(exponents: Floats, alphas: Floats) -> Floats:
    """Return the same by Newton's steps for log v, halvings of the bracket where those fail: a convex function."""
    exponents, alphas = exponents.T.copy(), alphas.T.copy()  # sums over few classes are quick along the first axis
    low, high = -np.log(alphas.max(axis=0)), -np.log(alphas.min(axis=0))
    y, moved = 0.5 * (low + high), np.full(exponents.shape[1], np.inf)
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
            # Steps that do not become shorter may go to and fro between two places for ever.
            good = (low <= step) & (step <= high) & (np.abs(step - y) <= 0.5 * moved)
            following = np.where(moved < _STEADY, y, np.where(good, step, 0.5 * (low + high)))
            moved, y = np.abs(following - y), following
            if moved.max() < _STEADY:
                break
    return np.asarray(np.exp(y))


def log_integrands(g: FloatClasses, log_m: Floats, size: Floats, n: int, weights: Floats) -> Floats:
    """Return log of (c/e) e^(N (L + alpha/c)) for each class at each frequency; N = n - 1.

    ``log_m`` and ``size`` are log|M| and |A|, of shape (frequencies, classes); c is the best one for the sum over the
    classes with the ``weights``.
    """
    top = log_m.max(axis=1, keepdims=True)
    floored = np.maximum(log_m, top - 80.0 / (n - 1))  # any larger value than |M| is allowed; zeros are not
    exponents, alphas = (n - 1) * floored, (n - 1) * np.maximum(size, 1e-300) * np.exp(-floored)
    v = best_inverse_scale(exponents + np.log(weights), alphas)[:, None]
    share = alphas * v
    # As L may be raised, alpha/c is never more than 1 + log(alpha/c).
    share = np.where(share > n - 1, (n - 1) * (1.0 + np.log(share / (n - 1))), share)
    return np.asarray(exponents + share - np.log(v) - 1.0)


# --------- The constant data sets that may be the worst, by saddle points in floats, and what few positive messages add

FEW_POSITIVE, MOST_STEPS = 100.0, 1e6
SMOOTHING = 0.0014  # sigma^2 s^2
REACH = 5.5  # frequencies up to REACH / sigma
_TILTS = np.linspace(0.0, 1.2, 7)
_WIDE_TILTS = np.append(_TILTS, np.geomspace(1.5, 24.0, 9))
"""Tilts b of the bad part in units of the saddle point; more where few messages distinguish the inputs."""
_NEAR_THE_LARGEST, _MOST_NEAR = 1.0, 3
_BETWEEN = np.linspace(0.0, 1.0, 21)
_CANCELLED = 1e-12  # what is left of a sum of doubles of either sign


def saddles(g: FloatClasses, n: int) -> list[tuple[float, int, float]]:
    """Return (height, class, v) where height = N log M(v) - 2 log v is least in v, for the classes of largest height.

    Those within ``_NEAR_THE_LARGEST`` of the largest: these data sets may be the worst.
    """
    variance = g.variance(0.0, 0.0).max()
    guess = (-g.mean + sqrt(g.mean**2 + 8.0 * variance / n)) / (2.0 * variance)
    top = float(g.values.max())
    guess = min(guess, 300.0 / top)
    # Rare messages that speak strongly against x0 make the guess much too small.
    grid = np.geomspace(0.03 * guess, max(30.0 * guess, 60.0 / top), 60)
    own = _heights(g, n, grid)
    near = np.argsort(-own.min(axis=0), kind="stable")[:_MOST_NEAR]
    places = np.arange(len(near))
    own, around = own[:, near], np.tile(grid[:, None], len(near))
    for _ in range(2):
        i = own.argmin(axis=0)
        low, high = around[np.maximum(i - 1, 0), places], around[np.minimum(i + 1, len(around) - 1), places]
        around = low * (high / low) ** _BETWEEN[:, None]
        own = _heights(g, n, around)[:, places, near]
    i = own.argmin(axis=0)
    found = [*zip(own.min(axis=0).tolist(), near.tolist(), around[i, places].tolist(), strict=True)]
    found.sort(reverse=True)
    return [at for at in found if at[0] >= found[0][0] - _NEAR_THE_LARGEST]


def _heights(g: FloatClasses, n: int, v: Floats) -> Floats:
    found = (n - 1) * g.log_mgf(v, np.zeros(1)) - 2.0 * np.log(v)[..., None]
    return np.where(np.isfinite(found), found, np.inf)


def log_size_at(g: FloatClasses, n: int, v: float) -> float:
    """Return an estimate of log E[S_+]/n at a class: by the saddle point, with few positive ones by an integral."""
    curvature = (n - 1) * float(g.variance(v, 0.0)[0]) + 2.0 / v**2
    top = (n - 1) * float(g.log_mgf(np.array([v]), np.zeros(1))[0, 0]) - 2.0 * log(v)
    rough = top - 0.5 * log(2.0 * pi * curvature) - log(n)
    if not isfinite(rough) or positive_messages(g, n) > FEW_POSITIVE:
        return rough
    square = SMOOTHING / v**2
    reach = REACH / sqrt(square)
    steps = int(min(np.ceil(2.5 * reach * sqrt(curvature)), MOST_STEPS))
    zeta = v + 1j * np.linspace(0.0, reach, steps + 1)
    logs = np.log1p(np.einsum("uxk,xk->ux", np.expm1(zeta[:, None, None] * g.values), g.masses))
    logs = n * logs[:, 0]
    terms = np.exp(logs - logs[0].real + 0.5 * square * zeta**2) / zeta**2
    value = max(float(terms.real.sum() - 0.5 * terms[0].real), _CANCELLED * float(np.abs(terms).sum()))
    return log(value * reach / (steps * pi * n)) + float(logs[0].real)


def positive_messages(g: FloatClasses, n: int) -> float:
    """Return how many messages of the others that are likelier under x0 than under x1 there are, by their spread."""
    return (n - 1) * g.gain**2 / float((g.masses * np.maximum(g.values, 0.0) ** 2).sum(axis=1).max())


def log_bads_at(g: FloatClasses, n: int, p_lo: float, tilts: Floats, b: float) -> Floats:
    """Return the logarithm of the first line of the bound at each class, row by row for some tilts a."""
    victim = (g.masses * np.maximum(g.values, 0.0) * np.exp(b * g.values)).sum(axis=1).max()
    others = g.log_mgf(np.full_like(tilts, b), tilts)
    return np.asarray((tilts * p_lo + np.log(victim))[:, None] + (n - 1) * others)


def bad_part(g: FloatClasses, n: int, v: float, log_target: float) -> tuple[float, float, float] | None:
    """Return (p_lo, a, b) with the largest p_lo whose bad part is at most the target.

    S + v > 0 asks for p above m - v: where m is nearly certain to be large, p_lo may be many times the mean of p, with
    b far above the saddle point.
    """
    positive = positive_messages(g, n)
    scale = positive / ((n - 1) * g.gain)
    b = v * (_WIDE_TILTS if positive < FEW_POSITIVE else _TILTS)
    z, masses = g.shared
    plus, rows = np.maximum(z, 0.0), np.arange(len(b))
    room = log_target - np.log(_product(plus * np.exp(np.outer(b, z)), masses).max(axis=1, keepdims=True))
    tilts = np.geomspace(1e-3 * scale, np.maximum(30.0 * scale, 4.0 * b), 40).T
    best = (0.0, 0.0, 0.0)
    for _ in range(2):
        p = (room - (n - 1) * g.log_mgf(b[:, None], tilts).max(axis=2)) / tilts
        i = np.where(np.isnan(p), -inf, p).argmax(axis=1)  # what is nan is beyond the range of doubles
        best = max([best, *zip(p[rows, i].tolist(), tilts[rows, i].tolist(), b.tolist(), strict=True)])
        tilts = np.geomspace(tilts[rows, np.maximum(i - 1, 0)], tilts[rows, np.minimum(i + 1, 39)], 40).T
    return best if best[0] > 0.0 else None


# ----------------- Lines of integration of the bound over all data sets, and their integrals for each class, in floats

SMOOTHER, _FEW = 0.006, 150.0
_FAR, _NEGLIGIBLE, _SCREEN = 30.0, -30.0, 3
_MOST_TERMS = 2e7
"""So many terms of a sum, widths of the main lobe times values of the laws, take seconds: a line that asks for more is
not used."""


def smoothing(n: int) -> float:
    """Return sigma^2 s^2, more of it with few users, who cost frequencies."""
    return SMOOTHING * (1.0 + _FEW / n)


def best_lines(g: FloatClasses, n: int, rates: Floats, near: Sequence[float], weights: Floats) -> list[Term]:
    """Return for each rate the line of integration that is best for a weighted sum of the classes.

    With |M|^N taken as normal in u, the integral of |M|^N/|zeta|^2 is e^(N K) pi erfcx(s (N K''/2)^(1/2))/s.
    """
    least = 0.0 if positive_messages(g, n) > FEW_POSITIVE else SMOOTHER
    smooth = sqrt(max(smoothing(n), least))
    z, masses = g.shared
    plus, lam = np.maximum(z, 0.0), np.repeat(rates[:, None], 60, axis=1)
    s = np.geomspace(0.3 * min(near), 3.0 * (max(near) + rates), 60).T
    for points in (60, 25, 25):
        lam = lam[:, :points]
        heights, spread = g.log_mgf(s, lam), g.variance(s, lam)
        sizes = _product(np.exp((s - lam)[..., None] * plus), plus[:, None] * masses)
        at, curvature = s[..., None], (n - 1) * np.maximum(spread, 0.0)
        value = (n - 1) * heights + np.log(weights * sizes * erfcx(at * np.sqrt(0.5 * curvature)) / at)
        value = np.logaddexp.reduce(value, axis=-1)
        i = np.where(np.isfinite(value), value, np.inf).argmin(axis=1)
        rows = np.arange(len(rates))
        best = s[rows, i]
        s = np.geomspace(s[rows, np.maximum(i - 1, 0)], s[rows, np.minimum(i + 1, points - 1)], 25).T
    return [Term(1.0, float(rate), float(x), smooth / float(x)) for rate, x in zip(rates, best, strict=True)]


def log_terms(
    g: FloatClasses,
    n: int,
    terms: Sequence[Term],
    p_lo: float,
    weights: Floats,
    limits: Limits,
    reach: float | None = None,
) -> Floats:
    """Return logs of the integrals of terms with a = 1, a row each and a column for each class; by trapezoidal rules.

    ``weights`` has a row for each term, too. ``reach`` restricts them to so many widths of the main lobe: enough for
    choosing parameters.
    """
    if reach is None and len(terms) > 1:
        rows = zip(terms, weights, strict=True)
        return np.concatenate([log_terms(g, n, [t], p_lo, row[None], limits) for t, row in rows])
    lines, found = Lines.of(terms), np.full(weights.shape, np.inf)
    heights = (n - 1) * g.log_mgf(lines.s, lines.lam)
    near = heights > heights.max(axis=1, keepdims=True) - _FAR
    variance = (n - 1) * g.variance(lines.s, lines.lam).max(axis=1, where=near, initial=0.0) + 2.0 / lines.s**2
    tops = REACH / lines.sigma
    if reach is not None:
        tops = np.minimum(reach / np.sqrt(variance), tops)
    asked = tops * np.sqrt(variance)  # beyond the range of doubles, or of what may be asked, a term is not used
    usable = np.flatnonzero((variance > 0.0) & (asked > 0.0) & (asked < min(MOST_STEPS, _MOST_TERMS / g.values.size)))
    if not usable.size:
        return found
    steps = np.ceil(2.5 * asked[usable]).astype(int)
    at = np.repeat(usable, steps + 1)
    u = np.concatenate([np.linspace(0.0, tops[i], k + 1) for i, k in zip(usable, steps, strict=True)])
    # Far away few frequencies matter; those where the classes with the largest M(s) are negligible do so for no class.
    least = -inf if reach is not None else _NEGLIGIBLE / (n - 1)
    if len(g.values) > _SCREEN and reach is None:
        largest = g.only(np.argsort(heights[0])[-_SCREEN:].tolist())
        u = u[largest.stands_out(terms[0], u, least)]
        at = np.zeros(len(u), dtype=int)
    kept, parts = list[Booleans](), list[Floats]()
    for some in np.array_split(np.arange(len(u)), max(1, len(u) * g.values.size // 200_000)):
        those = lines if len(terms) == 1 else Lines(*(x[at[some]] for x in lines))
        has, log_m, size = g.transforms(those, p_lo, u[some], least)
        kept.append(has)
        parts.append(log_integrands(g, log_m, size, n, weights[at[some][has]]))
    has, value = np.concatenate(kept), np.concatenate(parts)
    u, at = u[has], at[has]
    classes, messages = g.values.shape
    limits.charge(TERM.of(classes * (int(steps.sum()) * messages + len(u) * (messages * classes / 10.0 + 30.0))))
    used, starts = np.unique(at, return_index=True)
    if not used.size:  # all |M| are lost to rounding
        return found
    s, sigma = lines.s[at], lines.sigma[at]
    value += (0.5 * sigma**2 * (s**2 - u * u) - np.log(s**2 + u * u))[:, None]
    peak = np.maximum.reduceat(value, starts)
    sizes = np.exp(value - peak[np.searchsorted(used, at)])
    # Twice the half line: the integrand is even.
    width = (tops[usable] / steps)[np.searchsorted(usable, used)]
    sums = np.add.reduceat(sizes, starts) - 0.5 * sizes[starts]
    found[used] = peak + np.log(sums * width[:, None] / pi)
    found[~np.isfinite(found).all(axis=1)] = np.inf
    return found
