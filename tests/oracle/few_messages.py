"""Theorem K in exact rationals, for each of the other users a law: by enumeration, sharing no code with the package."""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb

from .envelope import ONE, ZERO, Law
from .laws import mixed as mixture


def closed_form(laws: Sequence[Law], weights: Sequence[Fraction]) -> Fraction:
    """E of the mean over users u, by their parts of m, of v_u (1 - m/(p + weight v_u))_+, v_u > 0 a second label."""
    gain = positive(laws[0])
    result = ZERO
    for labels in itertools.product(*(law.items() for law in laws)):
        chance = ONE
        for _, mass in labels:
            chance *= mass
        z = [w * theta for (w, _), theta in zip(labels, weights, strict=True)]
        p, m = (sum((max(s * x, ZERO) for x in z), ZERO) for s in (1, -1))
        if m == 0:
            result += chance * gain
            continue
        for law, theta, x in zip(laws, weights, z, strict=True):
            second = sum((q * v * max(1 - m / (p + theta * v), ZERO) for v, q in law.items() if v > 0), ZERO)
            result += chance * max(-x, ZERO) / m * second
    return result


def positive(law: Law) -> Fraction:
    """E w_+."""
    return sum((w * q for w, q in law.items() if w > 0), ZERO)


def compositions(users: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """All ways to give so many users kinds."""
    if kinds == 1:
        yield (users,)
        return
    for first in range(users + 1):
        for rest in compositions(users - first, kinds - 1):
            yield first, *rest


def at(laws: Sequence[Law], counts: Sequence[int], weights: Sequence[Fraction] | None = None) -> Fraction:
    """The closed form where so many users have each law."""
    weights = weights or [ONE] * len(laws)
    users = [k for k, c in enumerate(counts) for _ in range(c)]
    return closed_form([laws[k] for k in users], [weights[k] for k in users])


def mixed(laws: Sequence[Law], shares: Sequence[Fraction]) -> Law:
    """The mixture of laws."""
    return mixture(*zip(shares, laws, strict=True))


def comonotone(one: Law, other: Law) -> bool:
    """Whether P(y) = E[w_+; w_+ > y] and Q(x) = E[w_-; w_- < x] of one are both at least those of the other."""
    places = {ZERO, *(abs(w) for law in (one, other) for w in law)}
    signs = set()
    for y in places:
        parts = [
            (
                sum((w * q for w, q in law.items() if w > 0 and w >= y), ZERO),
                sum((-w * q for w, q in law.items() if w < 0 and -w <= y), ZERO),
            )
            for law in (one, other)
        ]
        for a, b in zip(*parts, strict=True):
            signs.add((a > b) - (a < b))
    return not signs >= {1, -1}


def constant(law: Law, users: int) -> Fraction:
    """The closed form where all users have one law of three values: a sum over the counts of each."""
    (a, b, c), masses = law, list(law.values())
    result = ZERO
    for i in range(users + 1):
        for j in range(users + 1 - i):
            k = users - i - j
            chance = ONE * comb(users, i) * comb(users - i, j) * masses[0] ** i * masses[1] ** j * masses[2] ** k
            p, m = (sum((max(s * x, ZERO) * n for x, n in ((a, i), (b, j), (c, k))), ZERO) for s in (1, -1))
            seconds = sum((q * v * (max(1 - m / (p + v), ZERO)) for v, q in law.items() if v > 0), ZERO)
            result += chance * (positive(law) if m == 0 else seconds)
    return result
