"""Pairs of distributions and their products in exact rationals: small, slow, and sharing no code with the package."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from .histograms import Triple
from .laws import combined, histogram, merged

Pair = dict[Fraction | None, Fraction]
"""P-mass by the ratio dP/dQ > 0; None stands for the infinite ratio. (Where P has no mass, nothing is counted.)"""


def pair_of_triple(triple: Triple, n: int) -> Pair:
    """The histograms of one draw of a0 (or a1) and n-1 of a2: grouped by the ratio of their probabilities."""
    a0, a1, a2 = ([Fraction(x) for x in row] for row in triple)
    symbols = [*zip(a0, a1, a2, strict=True), (Fraction(0), Fraction(0), 1 - sum(a2))]
    others = histogram([[c for _, _, c in symbols]] * (n - 1), {(0,) * len(symbols): Fraction(1)})
    law0, law1 = (histogram([[s[b] for s in symbols]], others) for b in (0, 1))
    return merged((p / law1[seen] if law1.get(seen) else None, p) for seen, p in law0.items())


def product(pairs: Iterable[Pair]) -> Pair:
    """The pair of the products, one factor for each pair."""
    return combined(pairs, lambda r, s: None if r is None or s is None else r * s, {Fraction(1): Fraction(1)})


def divergence(pair: Pair, E: Fraction) -> Fraction:
    """D_E(P || Q) of the pair."""
    return sum((p if r is None else p * max(1 - E / r, Fraction(0)) for r, p in pair.items()), Fraction(0))


def swapped(pair: Pair) -> Pair:
    """(Q, P) for a pair without infinite ratios and with all of Q where P is."""
    return {1 / r: p / r for r, p in pair.items() if r is not None}


def adaptive_two_rounds(first: Pair, orders: Sequence[Pair], E: Fraction) -> Fraction:
    """The best second pair for every outcome of the first: an adversary who chooses the order by what it has seen."""
    return sum((p * max(divergence(second, E / r) for second in orders) for r, p in first.items() if r), Fraction(0))
