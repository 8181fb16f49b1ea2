"""Joint and parallel mechanisms as explicit product tables, and Theorem 2: exact rationals, no code of the package."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import exp, prod

from .histograms import randomized_response, subset_selection, unary_encoding
from .laws import combined, merged

Table = Sequence[Sequence[Fraction]]
Law = dict[tuple[Fraction, Fraction], Fraction]


def joint_table(tables: Sequence[Table]) -> tuple[list[tuple[int, ...]], list[list[Fraction]]]:
    """(inputs, rows): all combinations of inputs, with the probabilities of all combinations of messages."""
    inputs = list(product(*(range(len(t)) for t in tables)))
    rows = []
    for choice in inputs:
        chosen = [t[i] for t, i in zip(tables, choice, strict=True)]
        rows.append([prod(entries, start=Fraction(1)) for entries in product(*chosen)])
    return inputs, rows


def parallel_table(
    weights: Sequence[Fraction], tables: Sequence[Table]
) -> tuple[list[tuple[int, ...]], list[list[Fraction]]]:
    """(inputs, rows): all combinations of inputs, with the probabilities of the messages of all parts."""
    inputs = list(product(*(range(len(t)) for t in tables)))
    rows = [[w * p for w, t, i in zip(weights, tables, choice, strict=True) for p in t[i]] for choice in inputs]
    return inputs, rows


def components(rows: Table, x: int, z: int, other: int | None = None) -> tuple[Law, list[tuple[Fraction, Fraction]]]:
    """({(ratio0, ratio1): mass}, singular) of the blanket, or of the data set in which the others hold ``other``."""
    hidden = [min(column) for column in zip(*rows, strict=True)] if other is None else rows[other]
    columns = list(zip(rows[x], rows[z], hidden, strict=True))
    alone = merged((a / (a + b), a + b) for a, b, m in columns if not m and (a or b))
    law = merged(((a / m, b / m), m) for a, b, m in columns if m)
    return law, sorted((share * both, (1 - share) * both) for share, both in alone.items())


# ------------------------------------------------------------------------------------------------------- Theorem 2


def multiplied(first: Law, second: Law) -> Law:
    return combined([second], lambda a, b: (a[0] * b[0], a[1] * b[1]), first)


def same(law: Law) -> Law:
    """The law of a coordinate in which both inputs are x0."""
    return merged(((a, a), m) for (a, _), m in law.items())


def at_distance(law: Law, m: int) -> list[Law]:
    """The laws of m equal coordinates of which d = 0, ..., m differ."""
    powers = []
    for part in (law, same(law)):
        chain = [{(Fraction(1), Fraction(1)): Fraction(1)}]
        for _ in range(m):
            chain.append(multiplied(chain[-1], part))
        powers.append(chain)
    return [multiplied(powers[0][d], powers[1][m - d]) for d in range(m + 1)]


def values(law: Law, E: Fraction) -> dict[Fraction, Fraction]:
    """The law of G = r0 - E r1, the null value without its mass."""
    return merged((a - E * b, m) for (a, b), m in law.items())


def is_below(smaller: Law, larger: Law, E: Fraction) -> bool:
    """Whether G of the first law is at most that of the second in convex order, by all stop-loss transforms."""
    g, h = values(smaller, E), values(larger, E)
    if sum(g.values()) != sum(h.values()) or sum(v * m for v, m in g.items()) != sum(v * m for v, m in h.items()):
        return False
    kinks = sorted({*g, *h}, reverse=True)
    gain = tail = Fraction(0)
    for u, following in pairwise(kinks):
        tail += h.get(u, Fraction(0)) - g.get(u, Fraction(0))
        gain += tail * (u - following)
        if gain < 0:
            return False
    return True


def mechanisms(t: Fraction, s: Fraction) -> Iterator[tuple[str, Table]]:
    """Small extremal mechanisms of ratio t = s^2 per coordinate."""
    for k in (2, 3, 10):
        yield f"{k}-RR", randomized_response(k, t)
    for D in (2, 4):
        yield f"RAPPOR({D})", unary_encoding(D, s / (s + 1), 1 / (s + 1))
    yield "OUE(3)", unary_encoding(3, Fraction(1, 2), 1 / (t + 1))
    for D in (2, 3):
        hashes = list(product(range(2), repeat=D))
        rows = [
            [(t if h[x] == y else Fraction(1)) / (t + 1) / len(hashes) for h in hashes for y in range(2)]
            for x in range(D)
        ]
        yield f"BLH({D})", rows
    yield "subset(4, 2)", subset_selection(4, 2, t)


def comparisons(
    counts: Sequence[int], budgets: Sequence[float], levels: int
) -> Iterator[tuple[str, int, float, int, Fraction, bool]]:
    """Yield (mechanism, m, total budget, d, E, whether distance d is proved to be at most d + 1)."""
    for m in counts:
        for budget in budgets:
            s = Fraction(exp(budget / m / 2)).limit_denominator(1000)
            t = s * s
            for name, rows in mechanisms(t, s):
                law, _ = components(rows, 0, 1)
                laws = at_distance(law, m)
                for i in range(levels):
                    E = 2 * t**m * Fraction(i * i, (levels - 1) ** 2)
                    for d in range(m):
                        yield name, m, budget, d, E, is_below(laws[d], laws[d + 1], E)
