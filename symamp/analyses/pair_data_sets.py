"""All data sets for many pairs of rows of a table at once: what moments alone prove (docs/proofs/all_pairs.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log, pi, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symamp.analyses.pair_bounds import Pair
from symamp.derivation.numeric_table import Floats, NumericTable
from symamp.evaluation.all_data_sets_plan import Parameters
from symamp.evaluation.law import Level
from symamp.evaluation.work import spend
from symamp.numbers.rounded_exponentials import LARGEST, UNIT, exponentials, logarithms_above

Mean: TypeAlias = Callable[[Floats], Floats]
Booleans: TypeAlias = NDArray[np.bool_]

_MOST, _CHUNK = 30_000_000, 500_000
"""So many triples (pair, x, y) take seconds; so many of them are in memory at once."""
_TRIPLE, _WHOLE = 0.05, 3  # units of work, and terms
_LEAST_ENTRY, _LARGEST_E, _LARGEST_EXPONENT = 1e-200, 1e12, 1e10
_CENTRED, _BLURRED, _SLACK = 1e-6, 1e-9, 1.0 + 1e-4
_BEYOND, _MOST_BEYOND = 12.0, 0.25
_SMOOTHINGS = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
"""Values of sigma s that are tried, in units of the tilted spread: what is smoothed more decays sooner."""


@dataclass(frozen=True)
class _Common:
    """What all pairs share: E, the other users, parameters for a pair with E[G_+] = ``gain``, s, sigma s, a unit."""

    e: float
    others: int
    parameters: Parameters
    gain: float
    s: float
    smoothing: float
    log_unit: float


def common_bounds(
    table: NumericTable, level: Level, n: int, pairs: Sequence[Pair], of: tuple[Pair, Parameters], log_unit: float
) -> Floats:
    """Return upper bounds on the divergence of pairs of rows for every data set, in units of e^log_unit; nan for none.

    ``of`` is a pair with its parameters of the bound over all data sets: the majorant, which must be proved, the tilts
    of the bad part, and one line for all.

    Guarantee
    ---------
    Every pair has at most this divergence at n users, whatever inputs the others hold. Proof: docs/proofs/all_pairs.md.
    """
    minus_one, rows = level.rough_minus_one(), table.floats
    tiny = (rows < _LEAST_ENTRY) & ((table.ranks > 0) | (not table.is_null(0)))
    worst, parameters = of
    nothing = np.full(len(pairs), np.nan)
    if n < 2 or minus_one > _LARGEST_E or tiny.any() or len(pairs) * rows.size > _MOST:
        return nothing
    e = 1.0 + minus_one
    gain = float(np.maximum(rows[worst[0]] - e * rows[worst[1]], 0.0).sum())
    main = max(parameters.terms, key=lambda t: log(t.a) - t.lam * (n - 1) * gain)
    smoothings = main.s * _spread(rows, e, worst) * _SMOOTHINGS
    common = [_Common(e, n - 1, parameters, gain, main.s, x, log_unit) for x in smoothings.tolist() if 0.0 < x < 1.0]
    if not gain > 0.0 or not common or parameters.tilt_a * parameters.p_lo > _LARGEST_EXPONENT:
        return nothing
    with np.errstate(all="ignore"):  # what is no number proves nothing
        best = min(common, key=lambda c: float(np.nan_to_num(_bounds(rows, [worst], c), nan=inf)[0]))
        spend(_TRIPLE * len(pairs) * rows.size * (_WHOLE + len(parameters.terms)))
        size = max(_CHUNK // rows.size, 1)
        parts = [_bounds(rows, pairs[i : i + size], best) for i in range(0, len(pairs), size)]
    return np.concatenate([np.empty(0), *parts])


def _spread(rows: Floats, e: float, pair: Pair) -> float:
    g = rows[pair[0]] - e * rows[pair[1]]
    with np.errstate(all="ignore"):
        return sqrt(float(np.nanmax(np.where(rows > 0.0, g * g / rows, 0.0).sum(axis=1))))


def _bounds(rows: Floats, pairs: Sequence[Pair], c: _Common) -> Floats:
    """Return upper bounds on the divergences of some pairs over all data sets in the unit; nan for none."""
    first, second = (rows[list(column)] for column in zip(*pairs, strict=True))
    p, terms = c.parameters, c.parameters.terms
    g, size = first - c.e * second, first + c.e * second
    gains = np.maximum(g + 8.0 * UNIT * size, 0.0).sum(axis=1)
    unit = (np.maximum(g, 0.0).sum(axis=1) / c.gain)[:, None]
    gains = gains[:, None] / unit
    scaled = unit[:, :, None] * rows
    seen = (scaled > 0.0) | (size[:, None, :] > 0.0)  # elsewhere nothing is ever sent
    w = np.where(seen, g[:, None, :] / scaled, 0.0)
    reach = np.where(seen, size[:, None, :] / scaled, 0.0).max(axis=(1, 2))[:, None]
    tilt = (c.s + max(t.lam for t in terms) + p.tilt_a + p.tilt_b) * reach
    doubt = 16.0 * UNIT * reach
    error = 2.0 * UNIT * (rows.shape[1] + 16.0 + 64.0 * float(np.minimum(tilt, LARGEST).max()))
    plus, minus = (np.maximum(x + doubt[:, :, None], 0.0) for x in (w, -w))
    above = np.maximum(w, 0.0)

    def mean(values: Floats) -> Floats:
        return np.asarray(np.einsum("xy,pxy->px", rows, values))

    def powers_of(moments: Floats) -> Floats:
        return c.others * logarithms_above(moments * (1.0 + error))

    tilted = exponentials(c.s * w)
    beyond = mean(plus * exponentials(p.tilt_b * w)).max(axis=1, keepdims=True)
    few = powers_of(mean(exponentials(p.tilt_b * w - p.tilt_a * above))).max(axis=1, keepdims=True)
    bad = p.tilt_a * p.p_lo + logarithms_above(beyond) + few
    against = mean(minus * tilted)
    mixed = c.s * mean(plus * plus * tilted) * against
    smoothed = c.smoothing**2 * gains * against
    sigma, found, valid = c.smoothing / c.s, _raised(bad - c.log_unit), (tilt <= LARGEST) & (error <= _BLURRED)
    for t in terms:
        weights = exponentials(c.s * w - t.lam * above)
        moments = mean(weights)
        powers = powers_of(moments)
        shape, known = _Shape.of(w, weights, moments, mean, doubt, c.others)
        valid = valid & known
        sizes = np.stack([gains * mean(plus * weights), mixed, smoothed]) / moments
        # c(u) such that no input is above the worst: ratios of at most 1 + the distance of their powers.
        scales = (sizes / (1.0 + powers.max(axis=1, keepdims=True) - powers)).max(axis=2, keepdims=True)
        ratios = (sizes / scales).max(axis=0)
        own, wide = shape.integrals(c.s, sigma)
        integrals = (scales[0] + 0.5 * scales[1]) * own + (scales[2] + 0.5 * scales[1]) * wide
        exponent = powers + (ratios * (1.0 + _CENTRED) - 1.0) + _BEYOND / c.others + 0.5 * c.smoothing**2
        found = found + t.a * c.others / (2.0 * pi) * integrals * _raised(exponent - c.log_unit)
    worst = np.where(valid, found, np.nan).max(axis=1)
    return np.asarray(unit[:, 0] * worst * _SLACK)


def _raised(exponent: Floats) -> Floats:
    """Return e^exponent or more; what is far below 1 is not told apart, what is far above it is inf."""
    return np.where(exponent < LARGEST, exponentials(np.clip(exponent, -LARGEST, LARGEST)), inf)


@dataclass(frozen=True)
class _Shape:
    """How |M(s + iu)|^N falls: as a normal law of variance 1/``bend`` up to some u, by e^-``depth`` up to ``end``."""

    bend: Floats
    depth: Floats
    end: Floats

    @staticmethod
    def of(
        w: Floats, weights: Floats, moments: Floats, mean: Mean, doubt: Floats, others: int
    ) -> tuple[_Shape, Booleans]:
        """Return the shape under the tilted laws, and where roundings are far below their spread."""
        centre = mean(weights * w) / moments
        away = w - centre[:, :, None]
        once = weights * away
        twice, squares = once * away, away * away
        shift, square, fourth = mean(once) / moments, mean(twice) / moments, mean(twice * squares) / moments
        known = (np.abs(shift) <= _CENTRED * np.sqrt(square)) & (doubt <= _BLURRED * np.sqrt(square))
        variance = square * (1.0 - 1e-7)
        reach = 24.0 * variance / ((2.0 * fourth + 6.0 * square**2) * (1.0 + 1e-5))
        whole = 0.5 * others * variance * reach
        part = np.minimum(_BEYOND / whole, _MOST_BEYOND)
        depth = whole * part * (1.0 - part)
        return _Shape(others * variance * (1.0 - part), depth, np.sqrt(reach * (1.0 - part))), known

    def integrals(self, s: float, sigma: float) -> tuple[Floats, Floats]:
        """Return bounds on the integrals of |M|^N e^(-sigma^2 u^2/2) over |zeta|^2, and over s^2."""
        bend = self.bend + sigma**2
        z = s * np.sqrt(0.5 * bend)
        deep = exponentials(-self.depth)
        last = exponentials(np.maximum(-0.5 * (sigma * self.end) ** 2, -LARGEST))
        near = 2.0 * sqrt(pi) / (z + np.sqrt(z * z + 4.0 / pi))
        own = (near + pi * deep) / s + 2.0 * last / self.end
        tail = np.minimum(sqrt(0.5 * pi) / sigma, 1.0 / (sigma**2 * self.end))
        return own, (np.sqrt(2.0 * pi / bend) + sqrt(2.0 * pi) / sigma * deep + 2.0 * last * tail) / s**2
