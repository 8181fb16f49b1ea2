"""Which pairs of rows of a table are worst: a saddle-point score of all of them at once, in doubles. Not a bound."""

from __future__ import annotations

import numpy as np

from symamp.derivation.numeric_table import Floats
from symamp.evaluation.work import spend

_AROUND, _MOST_TILTS = 4.0, 33
"""Tilts are sought this many octaves beyond the saddle points of normal laws, half an octave apart if they are few."""
_CALL, _TERM, _EXPONENTIALS = 30.0, 0.0015, 20  # units of work; the third in terms
_LEAST_SHARE = 0.1
"""Of the pairs, those whose rows differ least: their saddle points are not looked for."""


def chi_squares(rows: Floats, hidden: Floats) -> Floats:
    """Return sum over messages of (R(i) - R(j))^2/A2 for all pairs, over the messages where A2 has mass.

    >>> chi_squares(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.25, 0.25]))[0, 1]
    np.float64(2.0)
    """
    seen = hidden > 0.0
    scaled = rows[:, seen] / np.sqrt(hidden[seen])
    # Centred: differences of rows that are nearly alike must not cancel.
    scaled = scaled - scaled.mean(axis=0)
    gram = scaled @ scaled.T
    norms = np.diagonal(gram)
    return np.asarray(np.maximum(norms[:, None] + norms[None, :] - 2.0 * gram, 0.0))


def excesses(rows: Floats, e: float) -> Floats:
    """Return sum over messages of (R(i) - E R(j))_+ for all pairs: the divergence of one user, for any blanket.

    >>> excesses(np.array([[0.75, 0.25], [0.25, 0.75]]), 1.0).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    spend(_TERM * rows.size * len(rows))
    return np.array([np.maximum(row - e * rows, 0.0).sum(axis=1) for row in rows])


def log_divergences(rows: Floats, hidden: Floats, e_minus_one: float, n: int, alone: Floats | None = None) -> Floats:
    """Return an estimate of log D_E at n users for all ordered pairs of rows, -inf on the diagonal.

    The saddle point of M(theta)^n/theta^2, M(theta) = E e^(theta G), is sought on a grid of theta that all pairs
    share, so that each theta costs one product of matrices. No divergence is above that of one user, which is what is
    left where few messages hide a report: ``alone``, the ``excesses`` of the rows, if they are known.
    """
    e = 1.0 + e_minus_one
    with np.errstate(all="ignore"):
        score = np.log(excesses(rows, e) if alone is None else alone)
        if n > 1:
            lone = np.log(excesses(rows[:, hidden <= 0.0], e))
            score = np.minimum(score, np.logaddexp(_log_sums(rows, hidden, e_minus_one, n) - np.log(n), lone))
    np.fill_diagonal(score, -np.inf)
    return np.asarray(np.where(np.isnan(score), -np.inf, score))


def _log_sums(rows: Floats, hidden: Floats, e_minus_one: float, n: int) -> Floats:
    """Return the saddle-point estimate of log E[S_+] for all pairs: height and bend of a parabola in log theta."""
    squares = chi_squares(rows, hidden)
    grid = tilts(e_minus_one, n, squares)
    best, before, after, tilt = (np.full(squares.shape, np.inf) for _ in range(4))
    last, is_last = best, np.zeros(squares.shape, dtype=np.bool_)
    for theta in grid:
        height = n * log_moments(rows, hidden, e_minus_one, theta) - 2.0 * np.log(theta)
        height[np.isnan(height)] = np.inf
        after[is_last] = height[is_last]
        is_last = height < best
        if not is_last.any():  # log M is convex: what has begun to rise rises on
            break
        before[is_last], best[is_last], after[is_last], tilt[is_last] = last[is_last], height[is_last], np.inf, theta
        last = height
    bend, slope = before + after - 2.0 * best, 0.5 * (after - before)
    inside = np.isfinite(bend) & (bend > 0.0)
    height = np.where(inside, best - 0.5 * slope**2 / bend, best)
    step = float(np.log(grid[1] / grid[0])) if len(grid) > 1 else 1.0
    # n theta^2 K'' + 2, the bend in log theta, is at least 2.
    bend = np.where(inside, np.maximum(bend / step**2, 2.0), 2.0)
    return np.asarray(np.where(squares > 0.0, height + np.log(tilt) - 0.5 * np.log(2.0 * np.pi * bend), -np.inf))


def tilts(e_minus_one: float, n: int, squares: Floats) -> Floats:
    """Return a grid of tilts around the saddle points of normal laws with these variances, in geometric progression.

    >>> tilts(0.0, 800, np.array([[0.0, 1.0], [1.0, 0.0]]))[[0, 8, 16]].round(9).tolist()
    [0.003125, 0.05, 0.8]
    """
    known = squares[squares > 0.0]
    if not known.size:
        return np.empty(0)
    square = np.array([known.max(), np.quantile(known, _LEAST_SHARE)])
    low, high = np.log2((e_minus_one + np.sqrt(e_minus_one**2 + 8.0 * square / n)) / (2.0 * square))
    octaves = high - low + 2.0 * _AROUND
    return np.exp2(np.linspace(low - _AROUND, high + _AROUND, min(round(2.0 * octaves) + 1, _MOST_TILTS)))


def log_moments(rows: Floats, hidden: Floats, e_minus_one: float, theta: float) -> Floats:
    """Return log E e^(theta G) for all ordered pairs: e^(theta r0) e^(-theta E r1) is a product of matrices.

    Built from e^x - 1, so that nothing of the small logarithm cancels before n multiplies it, but for large tilts,
    where the terms of e^x - 1 would cancel themselves. What overflows is nan or inf.
    """
    spend(_CALL + _TERM * rows.size * (_EXPONENTIALS + len(rows)))
    seen = hidden > 0.0
    weights, ratios = hidden[seen], theta * rows[:, seen] / hidden[seen]
    with np.errstate(all="ignore"):
        up, down = np.expm1(ratios), np.expm1(-(1.0 + e_minus_one) * ratios)
        grown = up @ weights
        small = grown < 1.0
        found = np.empty((len(rows), len(rows)))
        if small.any():
            found[small] = np.log1p((up[small] * weights) @ down.T + grown[small, None] + (down @ weights)[None, :])
        if not small.all():
            rest = max(1.0 - float(weights.sum()), 0.0)
            found[~small] = np.log((weights * np.exp(ratios[~small])) @ np.exp(-(1.0 + e_minus_one) * ratios).T + rest)
        return found


def best(scores: Floats, most: int) -> list[tuple[int, int]]:
    """Return the positions of the largest entries, largest first; -inf is left out."""
    flat = scores.ravel()
    some = np.argpartition(-flat, most)[:most] if most < flat.size else np.arange(flat.size)
    order = some[np.argsort(-flat[some], kind="stable")]
    return [(int(i // len(scores)), int(i % len(scores))) for i in order if flat[i] > -np.inf]
