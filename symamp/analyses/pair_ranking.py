"""Which pairs of rows of a table are worst: a saddle-point score of all of them at once, in doubles. Not a bound."""

from __future__ import annotations

import numpy as np

from symamp.derivation.numeric_table import Floats

_TILTS = np.exp2(np.arange(-4.0, 4.5, 0.5))
_LARGEST_EXPONENT = 600.0


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


def singular_parts(rows: Floats, hidden: Floats, e: float) -> Floats:
    """Return sum of (R(i) - E R(j))_+ over the messages without mass under A2, for all pairs."""
    alone = rows[:, hidden <= 0.0]
    return np.array([np.maximum(row - e * alone, 0.0).sum(axis=1) for row in alone])


def log_divergences(rows: Floats, hidden: Floats, e_minus_one: float, n: int) -> Floats:
    """Return an estimate of log D_E at n users for all ordered pairs of rows, -inf on the diagonal.

    The saddle point of M(theta)^n/theta^2, M(theta) = E e^(theta G), is sought on a grid of theta that all pairs
    share, so that each theta costs one product of matrices.
    """
    squares = chi_squares(rows, hidden)
    lone = singular_parts(rows, hidden, 1.0 + e_minus_one)
    with np.errstate(all="ignore"):
        score = np.full(squares.shape, np.inf)
        for theta in tilts(rows, hidden, e_minus_one, n, float(squares.max())):
            score = np.fmin(score, n * log_moments(rows, hidden, e_minus_one, theta) - 2.0 * np.log(theta))
        score -= 1.5 * np.log(float(n)) + 0.5 * np.log(2.0 * np.pi * squares)
        score = np.logaddexp(np.where(squares > 0.0, score, -np.inf), np.log(lone))
    np.fill_diagonal(score, -np.inf)
    return np.asarray(np.where(np.isnan(score), -np.inf, score))


def tilts(rows: Floats, hidden: Floats, e_minus_one: float, n: int, square: float) -> Floats:
    """Return a grid of tilts around the saddle point of a normal law with the variance ``square``."""
    if not square > 0.0:
        return np.empty(0)
    middle = (e_minus_one + np.sqrt(e_minus_one**2 + 8.0 * square / n)) / (2.0 * square)
    seen = hidden > 0.0
    top = float((rows[:, seen] / hidden[seen]).max()) * (1.0 + e_minus_one)
    return np.unique(np.minimum(middle * _TILTS, _LARGEST_EXPONENT / top))


def log_moments(rows: Floats, hidden: Floats, e_minus_one: float, theta: float) -> Floats:
    """Return log E e^(theta G) for all ordered pairs: e^(theta r0) e^(-theta E r1) is a product of matrices.

    Built from e^x - 1, so that nothing of the small logarithm cancels before n multiplies it.
    """
    seen = hidden > 0.0
    ratios = theta * rows[:, seen] / hidden[seen]
    with np.errstate(all="ignore"):
        up, down = np.expm1(ratios), np.expm1(-(1.0 + e_minus_one) * ratios)
        weighted = up * hidden[seen]
        return np.asarray(np.log1p(weighted @ down.T + weighted.sum(axis=1)[:, None] + (down @ hidden[seen])[None, :]))


def best(scores: Floats, most: int) -> list[tuple[int, int]]:
    """Return the positions of the largest entries, largest first; -inf is left out."""
    flat = scores.ravel()
    some = np.argpartition(-flat, most)[:most] if most < flat.size else np.arange(flat.size)
    order = some[np.argsort(-flat[some], kind="stable")]
    return [(int(i // len(scores)), int(i % len(scores))) for i in order if flat[i] > -np.inf]
