"""What rare messages that tell much add to a bound over all data sets, once they are told apart from all others."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from symamp.laws.law import Floats
from symamp.numbers.disks import UNIT

_NEVER_SENT = 1e300
"""One over the probability of a message that is never sent; one that tells nothing costs nothing there, either."""


def added_by_marks(
    classes: Floats,
    pairs: tuple[Floats, Floats],
    kept: tuple[Floats, Floats],
    e: Floats,
    n: int,
    marked: NDArray[np.bool_],
) -> Floats:
    """Return bounds on what D(P - E Q) of pairs of rows is above that of the rows that are kept of them.

    Kept rows are 0 at ``marked`` messages and may be less elsewhere. ``e`` is a column of the levels E >= 1. For marks
    by E(x + S)_+ <= (x + (x^2 + V)^(1/2))/2, where S has mean 0 and a variance of at most V.

    Guarantee
    ---------
    D(P - E Q) at n users is at most that of the kept rows and this together, whichever classes the other users have:
    for rows and classes within a relative error of 2^-53 of the exact ones.
    Proof: docs/proofs/interval.md, Lemma 6.

    >>> first, second, at = np.array([[1e-6, 0.6, 0.4]]), np.array([[1e-9, 0.4, 0.6]]), np.array([True, False, False])
    >>> kept = np.where(at, 0.0, first), np.where(at, 0.0, second)
    >>> found = added_by_marks(np.vstack([first, second]), (first, second), kept, np.array([[1.2]]), 1000, at)
    >>> bool(7.9e-7 < found[0] < 1e-6)
    True
    """
    others, rounded = n - 1, (classes.shape[1] + 16.0) * 4.0 * UNIT
    (whole, size), (rest, size_of_rest) = ((p - e * q, 4.0 * UNIT * (p + e * q)) for p, q in (pairs, kept))
    marked = np.broadcast_to(marked, whole.shape)
    m = np.where(marked, classes.min(axis=0) * (1.0 - 4.0 * UNIT), 0.0)
    told = np.where(marked, np.maximum(whole, 0.0) + size, 0.0)
    alike = marked | ((pairs[0] == kept[0]) & (pairs[1] == kept[1]))
    capped = np.where(alike, 0.0, np.maximum(whole - rest + size + size_of_rest, 0.0))
    inverse = np.minimum(1.0 / np.maximum(classes, 1.0 / _NEVER_SENT), _NEVER_SENT)
    with np.errstate(over="ignore", invalid="ignore"):  # what is no number proves nothing
        squares = ((np.abs(rest) + size_of_rest) ** 2 @ inverse.T).max(axis=1) * (1.0 + rounded)
        mean = rest.sum(axis=1) + rounded * size_of_rest.sum(axis=1) / (4.0 * UNIT)
        spread = np.sqrt(others * np.maximum(squares - mean**2, 0.0))[:, None] * m
        y = told + m * (others * mean)[:, None]
        root = np.hypot(y, spread)
        once = np.where(y > 0.0, y + root, spread * (spread / np.maximum(root - y, 1e-300))) / 2.0
        p, gain = m.sum(axis=1), told.sum(axis=1)
        doubt = 8.0 * UNIT * (gain - others * mean * p)
        more = others * p * gain + n * p * p / 4.0 * np.sqrt(others * squares / (1.0 - p))
        found = (once.sum(axis=1) + capped.sum(axis=1) + doubt + more) * (1.0 + rounded)
        return np.asarray(np.where((mean <= 0.0) & (p < 0.5), np.nan_to_num(found, nan=inf), inf))
