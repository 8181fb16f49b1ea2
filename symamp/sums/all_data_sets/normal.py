"""The bound over all data sets by the normal law, in closed form: for very many users."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import log
from operator import add
from typing import NamedTuple

import numpy as np
from flint import arb

from symamp.laws.law import BallGparv, Floats, total

MANY_USERS = "many users"
"""The name of evaluations by the normal law."""
_ERRORS, _TAIL = log(100.0), 8
"""The divergence, in the logarithm and times n, from which on the normal law is asked for; sums as far from their means
as have a chance of e^-8/n^2 are left out."""
MANY, _SHARP = 10**6, 0.01
"""Users from which on the normal law may be all that is asked, and up to which part it may be above its leading term
then: parameters for integrals would give as much."""
_ROUNDED = 2.0**-40
"""More than the roundings of sums of some thousand doubles, relative to sums of what they are differences of."""


class Moments(NamedTuple):
    """What the normal law needs of the laws of w that other users may have, each at its worst.

    The mean, which all share; the least and the largest E w+; E w^2, E (w+)^2, E (w-)^2 and the variance; the absolute
    third moment about the mean divided by the variance; the inverse of the variance; the largest w and -w.
    """

    mean: arb
    gain: arb
    most_gain: arb
    both: arb
    up: arb
    down: arb
    variance: arb
    skew: arb
    inverse: arb
    top: arb
    bottom: arb


def is_worth_asking(log_value: float, n: int) -> bool:
    """Return whether the error of the normal law may be small beside a bound that is known."""
    return log_value + log(n) > _ERRORS


def moments_of_laws(laws: Sequence[BallGparv], gains: Sequence[arb]) -> Moments:
    """Return the moments of laws of ``gains`` E[G_+]: one for all, or one for each law."""
    nothing = arb(0)
    every = [[*zip(g.values, g.masses, strict=True), (nothing, g.null_mass)] for g in laws]
    mean = reduce(arb.union, [total([m * v for v, m in law]) for law in every])
    centred = [[(abs(v - mean), m) for v, m in law] for law in every]
    variances = [total([m * x * x for x, m in law]) for law in centred]
    inverses = [1 / x for x in variances]
    skews = [total([m * x * x * x for x, m in law]) * y for law, y in zip(centred, inverses, strict=True)]
    signed = [[[((s * v).max(nothing), m) for v, m in law] for law in every] for s in (1, -1)]
    up, down = ([total([m * x * x for x, m in law]) for law in side] for side in signed)
    ends = [[x for law in side for x, _ in law] for side in signed]
    most = (reduce(arb.max, x) for x in (map(add, up, down), up, down, variances, skews, inverses, *ends))
    return Moments(mean, reduce(arb.min, gains), reduce(arb.max, gains), *most)


def moments_of_rows(classes: Floats, first: Floats, second: Floats, e: Floats) -> list[Moments]:
    """Return those of pairs of rows at levels e, a column, where others have laws of some classes.

    All are doubles, near to exact numbers by the last digit; moments are raised by more than all roundings.
    """
    g, size = first - e * second, first + e * second
    room = _ROUNDED * size.sum(axis=1)
    mean, gain = g.sum(axis=1), np.maximum(g, 0.0).sum(axis=1)
    found = []
    with np.errstate(all="ignore"):  # what is no number proves nothing
        for m in classes:
            w, r = (np.where(size > 0.0, x / m, 0.0) for x in (g, size))
            centre, squares = np.abs(mean[:, None]), g * w
            up, down = (np.where(some, squares, 0.0).sum(axis=1) for some in (g > 0.0, g < 0.0))
            rounding = (size * r).sum(axis=1)
            rounding *= _ROUNDED
            square, cube = ((m * np.abs(w - mean[:, None]) ** k).sum(axis=1) for k in (2, 3))
            slack, more = (8.0 * _ROUNDED * (m * (r + centre + 1.0) ** k).sum(axis=1) for k in (2, 3))
            inverse = (1.0 + _ROUNDED) / np.maximum(square - slack, 0.0)
            sizes = [up + down + 2.0 * rounding, up + rounding, down + rounding, square + slack]
            ends = [(s * w + _ROUNDED * r).max(axis=1) for s in (1, -1)]
            found.append([*sizes, (cube + more) * inverse * (1.0 + _ROUNDED), inverse, *ends])
    worst = np.nan_to_num(np.max(found, axis=0), nan=np.inf).T.tolist()
    some = zip(mean.tolist(), gain.tolist(), room.tolist(), worst, strict=True)
    return [Moments(arb(mu, x), arb(y - x), arb(y + x), *map(arb, row)) for mu, y, x, row in some]


def normal_bound(known: Moments, n: int) -> arb:
    """Return a bound for every data set of the other n - 1 users by the normal law with the largest variance.

    Guarantee
    ---------
    At least the divergence, whatever laws with such moments, or mixtures of them, the other users have.
    Proof: docs/proofs/all_data_sets.md, section "Very many users".
    """
    mean, gain, most_gain, both, up, down, variance, skew, inverse, top, bottom = known
    users, loss, most = n - 2, gain - mean, top.max(bottom)  # the others but one
    if not (users > 0 and gain > 0 and loss > 0):
        return arb("inf")
    s, t, tail = (users * variance).sqrt(), users * mean, 2 * arb(n).log() + _TAIL
    # What the sums p and m are at least, in units of their means, but for rare cases; and their fourth moments.
    least, fourth = arb(1), arb(0)
    for centre, square in ((gain, up), (loss, down)):
        least *= (1 - (2 * square * tail / users).sqrt() / centre).max(arb(0))
        fourth += (3 * square * square + square * most**2 / users).sqrt() / (users * centre * centre)
    if not (least > 0 and s.is_finite()):
        return arb("inf")
    # How likely the sum of all is near 0, by the theorem of Berry and Esseen, whose constant is at most 14/25.
    near = ((8 * most / (2 * arb.pi()).sqrt() + 28 * skew / 25) * (inverse / users).sqrt()).min(arb(1))
    whole = _positive_part(t, s)
    # Half the L1 distance from the normal law.
    whole += skew / 2 + variance.sqrt().min(2 * most_gain - mean + abs(mean))
    whole += near * (up / gain + (both * down).sqrt() / loss) + 2 * mean.max(arb(0))
    whole += 3 * (s + top + t.max(arb(0))) * fourth / (2 * least)
    return ((n - 1) * whole / arb(users) ** 2 + 2 * n * most_gain * (-tail).exp()).upper()


def _positive_part(mean: arb, deviation: arb) -> arb:
    """Return E X_+ of a normal variable."""
    y = mean / deviation
    return mean * (-y / arb(2).sqrt()).erfc() / 2 + deviation * (-y * y / 2).exp() / (2 * arb.pi()).sqrt()


def sharp_normal_bound(known: Moments, n: int) -> arb | None:
    """Return the bound by the normal law where it is hardly above what the worst of these laws has, else None."""
    found, users = normal_bound(known, n), n - 2
    leading = _positive_part(users * known.mean, (users * known.variance).sqrt()) / users
    return found if found < (1 + _SHARP) * leading else None
