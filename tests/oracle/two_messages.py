"""Reports of two messages in exact rationals: the count of ones by convolution, every composition of the others."""

from collections.abc import Sequence
from fractions import Fraction

from .histograms import divergence_of_users


def divergence(first: Fraction, second: Fraction, order: Fraction, others: Sequence[Fraction]) -> Fraction:
    """The divergence of the counts if the victim sends a one with probability first, or second."""
    rows = [[1 - p, p] for p in others]
    return divergence_of_users([[1 - first, first], *rows], [[1 - second, second], *rows], order)


def compositions(
    first: Fraction, second: Fraction, order: Fraction, high: Fraction, low: Fraction, n: int
) -> list[Fraction]:
    """The divergences with c = 0, ..., n - 1 of the others at the probability high, the rest at low."""
    return [divergence(first, second, order, [high] * c + [low] * (n - 1 - c)) for c in range(n)]
