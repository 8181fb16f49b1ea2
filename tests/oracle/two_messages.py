"""Reports of two messages in exact rationals: the count of ones by convolution, every composition of the others."""

from collections.abc import Sequence
from fractions import Fraction


def law_of_count(ones: Sequence[Fraction]) -> list[Fraction]:
    """The law of a sum of independent Bernoulli variables."""
    law = [Fraction(1)]
    for p in ones:
        grown = [*law, Fraction(0)]
        law = [a * (1 - p) + b * p for a, b in zip(grown, [Fraction(0), *law], strict=True)]
    return law


def divergence(first: Fraction, second: Fraction, order: Fraction, others: Sequence[Fraction]) -> Fraction:
    """The divergence of the counts if the victim sends a one with probability first, or second."""
    count = law_of_count(others)
    zero, one = [*count, Fraction(0)], [Fraction(0), *count]
    gains = first - order * second, (1 - first) - order * (1 - second)
    return sum((max(gains[0] * a + gains[1] * b, Fraction(0)) for a, b in zip(one, zero, strict=True)), Fraction(0))


def compositions(
    first: Fraction, second: Fraction, order: Fraction, high: Fraction, low: Fraction, n: int
) -> list[Fraction]:
    """The divergences with c = 0, ..., n - 1 of the others at the probability high, the rest at low."""
    return [divergence(first, second, order, [high] * c + [low] * (n - 1 - c)) for c in range(n)]
