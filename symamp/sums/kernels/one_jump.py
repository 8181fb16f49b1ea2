"""E(T - K)_+ for a sum T of nonnegative summands with heavy tails where one large summand alone reaches K.

Summands up to a threshold have exponential moments; that two are above it is rarer still. No frequencies are needed,
and all terms have the magnitude of the value, however small it is (docs/proofs/random_allocation.md, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import floor, log, log2

import numpy as np
from flint import arb

from symamp.laws.law import Floats, total
from symamp.numbers.surroundings import at_precision
from symamp.sums.kernels.one_sided import Lognormal

# What is tuned. Every choice gives a bound; these trade time against width.
_BITS = 160
"""Bits of all steps: nothing cancels but for a factor of about the square of a deviation."""
_PARTS, _NEAR, _STEEP = (1.05, 1.12, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0), 0.999, 3.0
"""Thresholds that are tried, as parts of K; what the rest exceeds seldom, as a part of what it may; and the least
exponents, over the inverse of what it exceeds its mean by."""
_SHARES = 2.0 ** (-0.5 * np.arange(22))
"""Places between which what the rest adds is bounded apart, as parts of the last one, above its mean."""
_FURTHER_PARTS, _NEVER = tuple(20.0 * 4.0**j for j in range(1, 20)), -100.0
"""The same where no summand is above them, but for a chance with this logarithm."""
_EDGES = [0.0, *(2.0 ** (j / 4.0) for j in range(-120, -12)), *(2.0 ** (j / 16.0) for j in range(-48, 1))]
"""Edges of the bins that bound exponential moments, over the threshold; close ones where these are large."""
_TILTS = np.geomspace(0.1, 3000.0, 121)
"""Exponents that are tried, over the inverse of the threshold."""
_GRAIN = 16.0
"""Thresholds are powers of the root of this order of two, so that questions share their bins."""


@dataclass(frozen=True)
class Parameters:
    """The threshold, up to where the rest is expanded, and exponents for what it seldom exceeds, and for no jump."""

    threshold: float
    place: float
    tilt: float
    tilt_alone: float

    @property
    def shown(self) -> dict[str, str | int | float]:
        """What a certificate says of them."""
        about = {"threshold": self.threshold, "place": self.place, "tilt": self.tilt, "alone": self.tilt_alone}
        return {"kind": "jump", "precision": _BITS, **about}


def stop_loss_of_jumps(law: Lognormal, n: int, k: arb) -> tuple[arb, arb]:
    """Return a lower and an upper end of E(T - K)_+, T a sum of n copies, for K > n; the upper end may be infinite.

    Guarantee
    ---------
    E(T - K)_+ lies between them. Proof: docs/proofs/random_allocation.md, section 2.
    """
    with at_precision(_BITS):
        far = float(k.mid())
        best = (arb(0), arb("+inf"))
        found = parameters_of_jumps(law, n, far) if far < 1e290 else None
        return best if found is None else _bracket(law, n, k, found)


def parameters_of_jumps(law: Lognormal, n: int, k: float) -> Parameters | None:
    """Return what seems to give the narrowest bracket, in doubles; None where K is too small for any."""
    found: list[tuple[float, Parameters]] = []
    for part in (*_PARTS, *_FURTHER_PARTS):
        if part > _PARTS[-1] and law.rough_above(k / part) > _NEVER:
            break
        m = 2.0 ** (floor(_GRAIN * log2(k / part)) / _GRAIN)
        if m < 2.0:
            break
        logs = _log_moments(law, m)
        tilts = _TILTS / m
        alone = n * logs - tilts * k - np.log(tilts)
        log_one = law.rough_above(m)
        rest = float(n)  # about the mean of the other summands
        if (k - m) * _NEAR <= rest:
            continue
        excess = ((k - m) * _NEAR - rest) * _SHARES
        log_jump, places = law.rough_tail(k - rest), k - rest - excess
        above, means = law.rough_beyond(places)  # E(L - x)_+ is the mean beyond x less x times the chance
        tails = means + np.log1p(-np.exp(np.log(places) + above - means))
        spread = above - np.log(places) + log(max(n * law.variance, 1e-300))
        chances = ((n - 1) * logs - tilts * rest)[:, None] - np.outer(tilts, excess)
        # What the others add beyond a place: the last one, and those before it, one after the other.
        beyond = chances + np.append(log_one + log(m + excess[0]), tails[:-1])
        costs = np.logaddexp(spread, np.logaddexp.accumulate(beyond, axis=1))
        costs[np.outer(tilts, excess) < _STEEP] = np.inf
        two = 2.0 * log(n) + log(m + n) + 2.0 * log_one - log_jump
        cost = np.logaddexp.reduce([costs.min() - log_jump, alone.min() - log_jump - log(n), two])
        tilt, tilt_alone = tilts[costs.min(axis=1).argmin()], tilts[alone.argmin()]
        found.append((float(cost), Parameters(m, rest + float(excess[0]), float(tilt), float(tilt_alone))))
    return min(found, key=lambda pair: pair[0])[1] if found else None


@lru_cache(maxsize=256)
def _bins(law: Lognormal, m: float) -> tuple[tuple[arb, arb, arb, arb], ...]:
    """Return bins of values up to m: their ends, and masses at these with the probability and the mean of the bin."""
    with at_precision(_BITS):
        edges = [arb(m) * x for x in _EDGES]
        above = [(law.above(x, 0), law.above(x, 1)) for x in edges]
        found = []
        for (a, (p, r)), (b, (q, s)) in pairwise(zip(edges, above, strict=True)):
            last = ((r - s) - a * (p - q)) / (b - a)
            found.append((a, b, (p - q - last).max(arb(0)), last))
        return tuple(found)


@lru_cache(maxsize=256)
def _log_moments(law: Lognormal, m: float) -> Floats:
    """Return about log E[e^(tL); L <= m] at all tilts, from the same bins in doubles."""
    edges = m * np.array(_EDGES)
    p, r = (np.append(1.0, np.exp(x)) for x in law.rough_beyond(edges[1:]))
    last = (-np.diff(r) + np.diff(p) * edges[:-1]) / np.diff(edges)
    masses = np.maximum([-np.diff(p) - last, last], 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(np.append(*masses))
    return np.asarray(np.logaddexp.reduce(np.outer(_TILTS / m, np.append(edges[:-1], edges[1:])) + logs, axis=1))


def _bracket(law: Lognormal, n: int, k: arb, found: Parameters) -> tuple[arb, arb]:
    m, y, tilt, tilt_alone = (arb(x) for x in (found.threshold, found.place, found.tilt, found.tilt_alone))
    p, jumped, square = law.above(m, 0), law.above(m, 1), law.above(arb(0), 2) - law.above(m, 2)
    others, kept = n - 1, 1 - p
    mean = (1 - jumped) / kept
    rest, variance = others * mean, others * (square / kept - mean * mean)
    if not (k - y >= m and m >= 1 and tilt * (y - rest) >= 2 and y > rest):
        return arb(0), arb("+inf")

    def jump(place: arb) -> arb:  # E(L + place - K)_+
        return law.above(k - place, 1) - (k - place) * law.above(k - place, 0)

    chance = (_moment(law, found.threshold, tilt) / kept) ** others * (-tilt * rest).exp()
    low, high, beyond, last = arb(0), arb("+inf"), arb(0), jumped + p * (y - rest)
    for share in _SHARES:
        excess = (y - rest) * arb(share)
        if not tilt * excess >= 2:
            break
        rare = chance * (-tilt * excess).exp()
        beyond, last = beyond + last * rare, jump(rest + excess)
        low = low.max(law.density(k) * (variance - excess**2 * rare) / 2)
        high = high.min(law.density(k - rest - excess) * variance / 2 + beyond)
    one, weight = jump(rest), n * kept**others
    none = _moment(law, found.threshold, tilt_alone) ** n * (-tilt_alone * k - 1).exp() / tilt_alone
    two = n * (jumped * others * p + (others * p) ** 2 / 2)
    return (weight * (one + low)).lower().max(arb(0)), (weight * (one + high) + none + two).upper()


def _moment(law: Lognormal, m: float, tilt: arb) -> arb:
    """Return a bound on E[e^(tilt L); L <= m]: on each bin the exponential lies below its chord."""
    return total([x * (tilt * a).exp() + y * (tilt * b).exp() for a, b, x, y in _bins(law, m)])
