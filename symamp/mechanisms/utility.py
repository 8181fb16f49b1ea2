"""What a mechanism is good for: the variance of the usual estimate of a frequency or a mean, and the message length."""

from __future__ import annotations

from typing import Any

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import is_zero
from symamp.errors import ArgumentError, SupportMismatchError
from symamp.mechanisms.continuous.laplace import Laplace
from symamp.mechanisms.families.hadamard_response import HadamardResponse
from symamp.mechanisms.families.local_hashing import LocalHashing
from symamp.mechanisms.families.one_bit_mean import OneBitMean
from symamp.mechanisms.families.randomized_response import RandomizedResponse
from symamp.mechanisms.families.subset_exponential import SubsetExponential
from symamp.mechanisms.families.subset_selection import SubsetSelection
from symamp.mechanisms.structures.exchangeable import ExchangeableSets
from symamp.mechanisms.structures.one_hot import OneHot

UTILITIES = ("frequency", "mean")


def variance_of(mechanism: Any, utility: str) -> sp.Expr:
    """Return n times the variance of the estimate from n reports; the smaller, the better.

    "frequency": of how many users hold a rare input, from the reports that count for it; with (p, q) of
    ``support_probabilities`` this is q (1 - q)/(p - q)^2 (Wang, Blocki, Li, Jha 2017, the variance at frequency 0).
    "mean": the largest over all data in [0, 1] of what the mechanism adds, where each report is made unbiased.

    Raises ArgumentError for another utility, SupportMismatchError for a mechanism that has none of that kind.

    >>> import symamp as sa
    >>> variance_of(sa.RandomizedResponse(k=2, eps0="log(3)"), "frequency")
    3/4
    """
    if utility not in UTILITIES:
        raise ArgumentError("utility", utility, f"one of {', '.join(UTILITIES)}")
    if utility == "frequency":
        p, q = support_probabilities(mechanism)
        return normal(q * (1 - q) / (p - q) ** 2)
    if isinstance(mechanism, Laplace):
        return 2 / mechanism["eps0"] ** 2  # the variance of the noise
    if isinstance(mechanism, OneBitMean):
        # A bit of probability a + s x: (bit - a)/s is unbiased, and a bit has a variance of at most 1/4.
        slope = mechanism.orbits(("1", "0"))[1]
        return normal(1 / (4 * (slope.mass(0) - slope.mass(1)) ** 2))
    raise SupportMismatchError("utility", repr(mechanism), "OneBitMean or Laplace for means")


def support_probabilities(mechanism: Any) -> tuple[sp.Expr, sp.Expr]:
    """Return (p, q): the chances that a report counts for the input x, from a user who holds x and who does not.

    A report counts for x if it is one of those that x makes e^eps0 times as likely as others do; of independent binary
    coordinates, if coordinate x is 1. Derived from the description; all other inputs have the same q. Raises
    SupportMismatchError for mechanisms of another kind.

    >>> import symamp as sa
    >>> support_probabilities(sa.RandomizedResponse())
    (exp(eps0)/(k + exp(eps0) - 1), 1/(k + exp(eps0) - 1))
    """
    if isinstance(mechanism, OneHot) and len(mechanism.letters()) == 2:
        one = mechanism.letters()[1]
        return normal(one.own), normal(one.other)
    alike = isinstance(mechanism, ExchangeableSets | HadamardResponse)
    if not alike or isinstance(mechanism, SubsetExponential):  # its inputs are sets, which may overlap
        raise SupportMismatchError("utility", repr(mechanism), "a mechanism whose reports count for single inputs")
    orbits = mechanism.orbits(mechanism.pairs()[0])
    levels = list(dict.fromkeys(normal(d) for orbit in orbits for d in orbit.density))
    ratio = sp.exp(mechanism["eps0"])
    high = [a for a in levels for b in levels if a is not b and is_zero(a / b - ratio)]
    if len(levels) != 2 or len(high) != 1:
        raise SupportMismatchError("utility", repr(mechanism), "a mechanism of two levels")
    counted = [orbit for orbit in orbits if normal(orbit.density[0]) == high[0]]
    p, q = (normal(sp.Add(*(orbit.mass(i) for orbit in counted))) for i in (0, 1))
    return p, q


def message_bits(mechanism: Any) -> sp.Expr | None:
    """Return log2 of the number of messages, None where they are numbers on the line or not counted.

    The function of local hashing counts as part of the message; a shared or a pairwise independent one takes less.

    >>> import symamp as sa
    >>> message_bits(sa.UnaryEncoding.rappor(D=16)), message_bits(sa.RandomizedResponse(k=8))
    (16, 3)
    """
    messages: sp.Expr
    match mechanism:
        case RandomizedResponse():
            messages = mechanism["k"]
        case SubsetSelection():
            messages = sp.binomial(mechanism["d"], mechanism["k"])
        case LocalHashing():
            return (mechanism["D"] + 1) * sp.log(mechanism["l"], 2)
        case HadamardResponse():
            messages = mechanism["K"]
        case OneBitMean():
            messages = sp.Integer(2)
        case OneHot():
            return mechanism[mechanism.size] * sp.log(len(mechanism.letters()), 2)
        case _:
            return None
    return sp.log(messages, 2)
