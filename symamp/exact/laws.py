"""Laws of histograms as polynomials: one variable for each message, one coefficient for each histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import flint
from flint import Ordering, fmpz_mpoly_ctx

from symamp.exact.weights import Weights

Polynomial = Any  # flint.fmpz_mpoly


class HistogramLaw(NamedTuple):
    """Polynomials whose coefficients bound, from both sides, a multiple of the probabilities of the histograms."""

    lower: Polynomial
    upper: Polynomial

    def times(self, other: HistogramLaw) -> HistogramLaw:
        """Return the law of the sum of independent histograms."""
        lower = self.lower * other.lower
        both_exact = self.lower is self.upper and other.lower is other.upper
        return HistogramLaw(lower, lower if both_exact else self.upper * other.upper)


class HistogramLaws:
    """Laws of the histograms of independent reports, by the number of users who hold each input.

    The law of c copies of one input is computed once. Coefficients are multiplied by ``weights.scale`` to the power of
    the number of users.
    """

    def __init__(self, weights: Weights) -> None:
        messages = range(len(weights.lower[0]))
        self._context = fmpz_mpoly_ctx.get(tuple(f"y{j}" for j in messages), Ordering.lex)
        self._units = [tuple(int(i == j) for i in messages) for j in messages]
        self._reports: list[HistogramLaw] = []
        for low, high in zip(weights.lower, weights.upper, strict=True):
            lower = self.linear(low)
            self._reports.append(HistogramLaw(lower, lower if low == high else self.linear(high)))
        self._powers: dict[tuple[int, int], HistogramLaw] = {}

    @property
    def one(self) -> HistogramLaw:
        """The law of no report at all."""
        unit = self._context.constant(1)
        return HistogramLaw(unit, unit)

    def linear(self, coefficients: Sequence[int]) -> Polynomial:
        """Return the homogeneous linear polynomial with the given coefficients."""
        return self._context.from_dict({unit: c for unit, c in zip(self._units, coefficients, strict=True) if c})

    def copies(self, index: int, count: int) -> HistogramLaw:
        """Return the law of ``count`` reports on one input."""
        if (index, count) not in self._powers:
            lower, upper = self._reports[index]
            power = lower**count
            self._powers[index, count] = HistogramLaw(power, power if lower is upper else upper**count)
        return self._powers[index, count]

    def of(self, counts: Mapping[int, int]) -> HistogramLaw:
        """Return the law of the reports of a data set, given as {index of an input: number of users}."""
        law = self.one
        for index, count in counts.items():
            law = law.times(self.copies(index, count))
        return law

    def hockey_stick(self, common: HistogramLaw, excess: HistogramLaw) -> tuple[int, int]:
        """Return bounds on the sum of the positive coefficients of ``common * excess``; equal if all is exact.

        ``common`` bounds nonnegative coefficients, ``excess`` coefficients of either sign.
        """
        if common.lower is common.upper and excess.lower is excess.upper:
            value = _positive_sum(common.lower * excess.lower)
            return value, value
        gain, loss = _parts(self._context, excess.lower)
        lower = _positive_sum(common.lower * gain - common.upper * loss)
        gain, loss = _parts(self._context, excess.upper)
        return lower, _positive_sum(common.upper * gain - common.lower * loss)


def _positive_sum(polynomial: Polynomial) -> int:
    return int(sum((c for c in polynomial.coeffs() if c > 0), flint.fmpz(0)))


def _parts(context: Any, polynomial: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return two polynomials with nonnegative coefficients, whose difference is the given one."""
    terms = polynomial.to_dict()
    gain = context.from_dict({h: c for h, c in terms.items() if c > 0})
    return gain, context.from_dict({h: -c for h, c in terms.items() if c < 0})
