"""Theorems L and E in exact rationals: small, slow, and sharing no code with the package.

A *law* is a dictionary from values to probabilities. `g` is a signed measure on the messages, one Fraction per
message, and `rows` are the message laws of the other users, as in `histograms`.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

from .histograms import Row, multinomial_positive_part, normalised
from .laws import histogram, merged

Law = dict[Fraction, Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def random_row(rng: Random, messages: int) -> list[Fraction]:
    return normalised([[rng.choice((1, 1, 2, 3, 5, 8)) for _ in range(messages)]])[0]


def difference(row0: Row, row1: Row, E: Fraction) -> list[Fraction]:
    """The signed measure R(x0) - E R(x1)."""
    return [a - E * b for a, b in zip(row0, row1, strict=True)]


def divergence_of_signed(g: Row, rows: Sequence[Row]) -> Fraction:
    """The largest value of sum g(y) E T(y, Y_1, ...) over symmetric tests T: the victim's g among the other users."""
    return sum((mass for mass in histogram([g, *rows]).values() if mass > 0), ZERO)


def own_law(g: Row, row: Row) -> tuple[Law, Fraction]:
    """The law of g/R(x) under R(x), and the mass of the positive part of g where R(x) is 0."""
    law = merged((a / mass, mass) for a, mass in zip(g, row, strict=True) if mass > 0)
    return law, sum((max(a, ZERO) for a, mass in zip(g, row, strict=True) if mass == 0), ZERO)


def transform(law: Law, u: Fraction) -> Fraction:
    """E[(w - u)_+]."""
    return sum((m * max(v - u, ZERO) for v, m in law.items()), ZERO)


def kinks(laws: Sequence[tuple[Law, Fraction]]) -> list[Fraction]:
    """All values of the laws, the crossings of their transforms between them, and a point beyond either end."""
    points = sorted({v for law, _ in laws for v in law})
    points = [points[0] - 1, *points, points[-1] + 1]
    found = set(points)
    for a, b in itertools.pairwise(points):
        ends = [(transform(law, a) + s, transform(law, b) + s) for law, s in laws]
        for (fa, fb), (ga, gb) in itertools.combinations(ends, 2):
            if (fa - ga) * (fb - gb) < 0:
                found.add(a + (b - a) * (fa - ga) / (fa - ga - fb + gb))
    return sorted(found)


def envelope_law(laws: Sequence[tuple[Law, Fraction]]) -> tuple[Law, Fraction]:
    """The law, and the limit at infinity, of the largest of the transforms."""
    nodes = kinks(laws)
    heights = [max(transform(law, u) + s for law, s in laws) for u in nodes]
    pairs = zip(itertools.pairwise(nodes), itertools.pairwise(heights), strict=True)
    tails = [ONE, *((fa - fb) / (b - a) for (a, b), (fa, fb) in pairs), ZERO]
    masses = {u: before - after for u, (before, after) in zip(nodes, itertools.pairwise(tails), strict=True)}
    return {u: m for u, m in masses.items() if m != 0}, heights[-1]


def envelope_bound(g: Row, rows: Sequence[Row], n: int) -> Fraction:
    """U_n for a signed measure g when every other user has one of the laws `rows`."""
    law, singular = envelope_law([own_law(g, row) for row in rows])
    return multinomial_positive_part(list(law), list(law.values()), n) / n + singular


def constant_bound(g: Row, row: Row, n: int) -> Fraction:
    """The divergence when all n - 1 other users have the same law."""
    law, singular = own_law(g, row)
    return multinomial_positive_part(list(law), list(law.values()), n) / n + singular


def two_level_law(E: Fraction, t: Fraction, distance: Fraction) -> Law:
    """The four-atom law: values t - E and 1 - t E of mass p = distance/(t - 1) each, 1 - E of 1 - p - t p, else 0."""
    p = distance / (t - 1)
    atoms = [(t - E, p), (1 - t * E, p), (1 - E, 1 - p - t * p), (ZERO, t * p - p)]
    return {v: m for v, m in merged(atoms).items() if m != 0}


def two_level_bound(E: Fraction, t: Fraction, distance: Fraction, n: int) -> Fraction:
    """E[S_+]/n of the four-atom law."""
    law = two_level_law(E, t, distance)
    return multinomial_positive_part(list(law), list(law.values()), n) / n


def lattice_bound(law: Law, n: int) -> Fraction:
    """E[S_+]/n for a law on a lattice: the coefficients of the n-th power of its polynomial, by their recurrence."""
    scale = math.lcm(*(v.denominator for v in law))
    denominator = math.lcm(*(m.denominator for m in law.values()))
    least = min(int(v * scale) for v in law)
    weights = {int(v * scale) - least: int(m * denominator) for v, m in law.items()}
    terms = [(k, w) for k, w in sorted(weights.items()) if k]
    size = n * max(weights)
    powers = [weights[0] ** n, *([0] * size)]
    for i in range(1, size + 1):
        # P Q' = n P' Q for Q = P^n, coefficient by coefficient.
        total = sum(((n + 1) * k - i) * w * powers[i - k] for k, w in terms if k <= i)
        powers[i] = total // (i * weights[0])
    positive = sum((i + least * n) * w for i, w in enumerate(powers) if i + least * n > 0)
    return Fraction(positive, scale * n * denominator**n)


# ---------------------------------------------------------------------------------------------------------- Theorem L


def share(values: Sequence[Fraction], u: int, positive: bool) -> Fraction:
    """c_u of Theorem L for weighted values z of the other users and a victim of that sign."""
    p = sum((max(z, ZERO) for z in values), ZERO)
    m = sum((max(-z, ZERO) for z in values), ZERO)
    if p == m == 0:
        return Fraction(1, len(values))
    z = values[u] if positive else -values[u]
    own, other = (p, m) if positive else (m, p)
    result = max(-z, ZERO) / max(p, m)
    if own > other:
        result += (1 - other / own) * max(z, ZERO) / own
    return result


def labels_bound(laws: Sequence[Law], weights: Sequence[Fraction]) -> Fraction:
    """B_theta of Theorem L by enumeration."""
    total = ZERO
    for u in range(len(laws)):
        for victim, mass in laws[u].items():
            for combination in itertools.product(*(law.items() for law in laws)):
                chance = mass
                for _, m in combination:
                    chance *= m
                total += chance * max(psi([w for w, _ in combination], weights, u, victim), ZERO) / 2
    return total


def psi(values: Sequence[Fraction], weights: Sequence[Fraction], u: int, victim: Fraction) -> Fraction:
    """psi_u: the victim decoded by user u, averaged over the exchange of the two values."""
    result = ZERO
    for first, second in ((victim, values[u]), (values[u], victim)):
        others = [w * theta for w, theta in zip(values, weights, strict=True)]
        others[u] = second * weights[u]
        if first != 0:
            result += first * share(others, u, first > 0)
    return result
