"""Pairs of distributions and their products in exact rationals: small, slow, and sharing no code with the package."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tests.oracle.histograms import Triple

Pair = dict[Fraction | None, Fraction]
"""P-mass by the ratio dP/dQ > 0; None stands for the infinite ratio. (Where P has no mass, nothing is counted.)"""


def pair_of_triple(triple: Triple, n: int) -> Pair:
    """The histograms of one draw of a0 (or a1) and n-1 of a2: grouped by the ratio of their probabilities."""
    a0, a1, a2 = ([Fraction(x) for x in row] for row in triple)
    symbols = [*zip(a0, a1, a2, strict=True), (Fraction(0), Fraction(0), 1 - sum(a2))]
    law: dict[tuple[int, ...], Fraction] = {(0,) * len(symbols): Fraction(1)}
    for _ in range(n - 1):
        law = _with(law, [c for _, _, c in symbols])
    law0, law1 = (_with(law, [s[b] for s in symbols]) for b in (0, 1))
    result: Pair = {}
    for histogram, p in law0.items():
        q = law1.get(histogram, Fraction(0))
        key = p / q if q else None
        result[key] = result.get(key, Fraction(0)) + p
    return result


def _with(law: dict[tuple[int, ...], Fraction], masses: Sequence[Fraction]) -> dict[tuple[int, ...], Fraction]:
    out: dict[tuple[int, ...], Fraction] = {}
    for histogram, p in law.items():
        for y, mass in enumerate(masses):
            if mass:
                key = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                out[key] = out.get(key, Fraction(0)) + p * mass
    return out


def product(pairs: Iterable[Pair]) -> Pair:
    """The pair of the products, one factor for each pair."""
    result: Pair = {Fraction(1): Fraction(1)}
    for pair in pairs:
        out: Pair = {}
        for r, p in result.items():
            for s, q in pair.items():
                key = None if r is None or s is None else r * s
                out[key] = out.get(key, Fraction(0)) + p * q
        result = out
    return result


def divergence(pair: Pair, E: Fraction) -> Fraction:
    """D_E(P || Q) of the pair."""
    return sum((p if r is None else p * max(1 - E / r, Fraction(0)) for r, p in pair.items()), Fraction(0))


def swapped(pair: Pair) -> Pair:
    """(Q, P) for a pair without infinite ratios and with all of Q where P is."""
    return {1 / r: p / r for r, p in pair.items() if r is not None}


def adaptive_two_rounds(first: Pair, orders: Sequence[Pair], E: Fraction) -> Fraction:
    """The best second pair for every outcome of the first: an adversary who chooses the order by what it has seen."""
    return sum((p * max(divergence(second, E / r) for second in orders) for r, p in first.items() if r), Fraction(0))
