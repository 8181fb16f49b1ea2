"""Data sets whose other users draw their inputs: weights by ascent on a saddle point, in doubles, as proposals only."""

from __future__ import annotations

import numpy as np
import sympy as sp

from symamp.bounds.bound import DataSetBound
from symamp.data_sets.mechanisms import MechanismSpace
from symamp.data_sets.proposer import DataSpace, Proposals, Proposer
from symamp.decompositions.numeric_table import Floats
from symamp.decompositions.table_decomposition import orbit_table
from symamp.laws.law import Level

# What is tuned. Every mixture gives a lower bound; these trade time against how bad the one that is found is. Rules of
# thumb.
_MOST_MIXED, _DENOMINATOR = 6, 4096
"""Inputs that are mixed at most, and the denominator of their weights: exact laws stay small."""
_STEPS, _SHARED, _FASTER, _SLOWER, _LEAST_RATE = 80, 0.1, 1.3, 0.4, 1e-4
"""Steps of the ascent at most, which begins at one input but for so much, shared by all; what the rate is multiplied by
after a step that helps and after one that does not, and the rate at which it ends."""
_TILTS = np.exp2(np.arange(-3.0, 3.01, 0.125))
"""Tilts that the score is least over, in units of the tilt of a normal law."""


def ascent(rows: Floats, pair: tuple[int, int], e_minus_one: float, n: int, start: int) -> Floats:
    """Return weights on the rows under which one other user's message hides the pair badly.

    Exponentiated gradient on min over theta of n log M(theta) - 2 log theta, where M(theta) = sum over messages of
    A2 e^(theta g/A2), g = R(x0) - E R(x1): a convex function of A2 for each theta, so that vertices are stationary and
    the ascent starts beside one.

    >>> rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> ascent(rows, (0, 1), 0.01, 1000, 0).round(3)
    array([1., 0.])
    """
    g = rows[pair[0]] - (1.0 + e_minus_one) * rows[pair[1]]
    weights = np.full(len(rows), _SHARED / len(rows))
    weights[start] += 1.0 - _SHARED
    best, value = weights, -np.inf
    rate = 1.0
    for _ in range(_STEPS):
        score, gradient = _score(rows, g, weights, e_minus_one, n)
        if score > value:
            best, value, rate = weights, score, _FASTER * rate
        else:
            weights, rate = best, _SLOWER * rate
            score, gradient = _score(rows, g, weights, e_minus_one, n)
        slope = gradient - weights @ gradient
        size = float(np.abs(slope).max())
        if not np.isfinite(size) or size < 1e-9 or rate < _LEAST_RATE:
            break
        weights = weights * np.exp(np.clip(rate * slope / size, -5.0, 5.0))
        weights = weights / weights.sum()
    return best


def rounded(weights: Floats, most: int, denominator: int) -> dict[int, int]:
    """Return the largest weights as multiples of 1/denominator that sum to 1.

    >>> rounded(np.array([0.26, 0.001, 0.739]), 2, 8)
    {0: 2, 2: 6}
    """
    chosen = sorted(np.argsort(-weights)[:most].tolist())
    shares = np.round(weights[chosen] / weights[chosen].sum() * denominator).astype(int)
    shares[int(np.argmax(shares))] += denominator - int(shares.sum())
    return {i: int(s) for i, s in zip(chosen, shares, strict=True) if s > 0}


def _score(rows: Floats, g: Floats, weights: Floats, e_minus_one: float, n: int) -> tuple[float, Floats]:
    hidden = weights @ rows
    seen = hidden > 0.0
    value = g[seen] / hidden[seen]
    square = float((g[seen] * value).sum())
    if not square > 0.0:  # doubles do not distinguish the two inputs
        return -np.inf, np.zeros(len(rows))
    middle = (e_minus_one + np.sqrt(e_minus_one**2 + 8.0 * square / n)) / (2.0 * square)
    with np.errstate(all="ignore"):
        thetas = np.minimum(middle * _TILTS, 600.0 / np.abs(value).max())
        grown = np.expm1(np.outer(thetas, value))
        scores = n * np.log1p(grown @ hidden[seen]) - 2.0 * np.log(thetas)
        best = int(np.nanargmin(scores))
        power = grown[best] + 1.0
        slopes = (1.0 - thetas[best] * value) * power
        return float(scores[best]), n / float(power @ hidden[seen]) * (rows[:, seen] @ slopes)


def _propose(space: DataSpace, level: Level | None, n: int, best: DataSetBound | None) -> Proposals:
    assert isinstance(space, MechanismSpace)
    assert level is not None
    assert best is not None
    assert best.data_sets is not None
    table = space.table or orbit_table(space.mechanism, best.pair)
    place = {x: i for i, x in enumerate(table.inputs)}
    if not place.keys() >= set(best.pair):  # a pair that is declared, and not among those shown
        return
    rows = place[best.pair[0]], place[best.pair[1]]
    for start in dict.fromkeys([*(place[x] for x, _ in best.data_sets.others[:1] if x in place), *rows]):
        weights = rounded(ascent(table.floats, rows, level.rough_minus_one(), n, start), _MOST_MIXED, _DENOMINATOR)
        yield space.drawn(best.pair, tuple((table.inputs[i], sp.Rational(w, _DENOMINATOR)) for i, w in weights.items()))


def _has_mixtures(space: DataSpace) -> bool:
    return isinstance(space, MechanismSpace) and not space.mechanism.is_composed


MIXTURES = Proposer("mixtures", _propose, _has_mixtures, refines=True)
