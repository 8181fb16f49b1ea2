"""What a mechanism is good for: the variance of the usual estimate of a frequency or a mean, and the message length."""

from __future__ import annotations

from typing import Any

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import is_zero
from symamp.derivation.randomizer import LocalRandomizer
from symamp.errors import ArgumentError, SupportMismatchError

UTILITIES = ("frequency", "mean")


class Useful:
    """What mechanisms say of their use; nothing is known unless one says so."""

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return (p, q): the chances that a report counts for the input x, from a user who holds x and who does not.

        A report counts for x if it is one of those that x makes e^eps0 times as likely as others do; of independent
        binary coordinates, if coordinate x is 1. Derived from the description; all other inputs have the same q.
        Raises SupportMismatchError for mechanisms of another kind.

        >>> import symamp as sa
        >>> sa.RandomizedResponse().support_probabilities()
        (exp(eps0)/(k + exp(eps0) - 1), 1/(k + exp(eps0) - 1))
        """
        raise SupportMismatchError("utility", repr(self), "a mechanism whose reports count for single inputs")

    def mean_variance(self) -> sp.Expr:
        """Return the largest variance, over inputs in [0, 1], that one report adds where it is made unbiased.

        Raises SupportMismatchError for mechanisms of another kind.

        >>> import symamp as sa
        >>> sa.Laplace(eps0=2).mean_variance()
        1/2
        """
        raise SupportMismatchError("utility", repr(self), "OneBitMean or Laplace for means")

    def message_bits(self) -> sp.Expr | None:
        """Return log2 of the number of messages, None where they are points of a continuum.

        The function of local hashing counts as part of the message; a shared or a pairwise independent one takes less.

        >>> import symamp as sa
        >>> sa.UnaryEncoding.rappor(D=16).message_bits(), sa.RandomizedResponse(k=8).message_bits()
        (16, 3)
        """
        return None


def variance_of(mechanism: Any, utility: str) -> sp.Expr:
    """Return n times the variance of the estimate from n reports; the smaller, the better.

    "frequency": of how many users hold a rare input, from the reports that count for it; with (p, q) of
    ``support_probabilities`` this is q (1 - q)/(p - q)^2 (Wang, Blocki, Li, Jha 2017, the variance at frequency 0).
    "mean": the largest over all data in [0, 1] of what the mechanism adds, where each report is made unbiased.

    Raises ArgumentError for another utility or what is no mechanism, SupportMismatchError for a mechanism that has none
    of that kind.

    >>> import symamp as sa
    >>> variance_of(sa.RandomizedResponse(k=2, eps0="log(3)"), "frequency")
    3/4
    """
    if utility not in UTILITIES:
        raise ArgumentError("utility", utility, f"one of {', '.join(UTILITIES)}")
    if not isinstance(mechanism, Useful):
        raise ArgumentError("mechanism", type(mechanism).__name__, "a mechanism of symamp")
    if utility == "mean":
        found: sp.Expr = mechanism.mean_variance()
        return found
    p, q = mechanism.support_probabilities()
    return normal(q * (1 - q) / (p - q) ** 2)


def of_two_levels(mechanism: LocalRandomizer, ratio: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return (p, q), where a report counts for an input if its density is the higher of two, by this ratio."""
    orbits = mechanism.orbits(mechanism.pairs()[0])
    levels = list(dict.fromkeys(normal(d) for orbit in orbits for d in orbit.density))
    high = [a for a in levels for b in levels if a is not b and is_zero(a / b - ratio)]
    if len(levels) != 2 or len(high) != 1:
        raise SupportMismatchError("utility", repr(mechanism), "a mechanism of two levels")
    counted = [orbit for orbit in orbits if normal(orbit.density[0]) == high[0]]
    p, q = (normal(sp.Add(*(orbit.mass(i) for orbit in counted))) for i in (0, 1))
    return p, q
