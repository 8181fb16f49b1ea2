"""Noise with a metric, of which only inputs at distance at most d are compared: what is known of all such pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

import sympy as sp
from flint import arb, arb_mat

from symamp.decompositions.budget import VariationRatio
from symamp.formulas.parameter import Parameter
from symamp.numbers.rationals import rational_below
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import NotebookView, SubjectBase
from symamp.randomizers.noise.additive_noise import AdditiveNoise

_DIGITS, _MOST_MIXED = 80, sp.Rational(1, 2**24)
"""Binary digits of the entries of a table that is simulated, and how much of the uniform law may be mixed to them."""


@dataclass(frozen=True)
class Nearby(NotebookView, SubjectBase):
    """Every pair of inputs at distance at most d of one mechanism: a subject of questions.

    ``known`` are (p, beta, q) of Wang (2023) for all these pairs at once: the largest ratio of the two laws, an upper
    bound on their total variation, the largest ratio of either to that of any input. ``below`` are mechanisms that
    this one simulates by post-processing, on some of its inputs: their lower bounds hold here, too. ``noise`` is the
    mechanism itself, if it is noise on an interval: its worst pair bounds all others.
    """

    name: str
    known: VariationRatio
    below: tuple[FiniteMechanism, ...] = ()
    noise: AdditiveNoise | None = None
    parameters: tuple[Parameter, ...] = ()

    known_by_parameters = True

    def members(self) -> tuple[FiniteMechanism, ...]:
        """Return the tables whose lower bounds hold."""
        return self.below

    @property
    def compares_all(self) -> bool:
        """No: those that are neighbours."""
        return False

    def compared_ratio(self) -> sp.Expr:
        """Return the largest ratio between neighbours."""
        return self.known.p

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, the largest ratio between any two inputs, neighbours or not."""
        return self.known.q

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) for all neighbours at once."""
        return self.known

    def __repr__(self) -> str:
        return self.name


def told_apart(variation: sp.Expr) -> FiniteMechanism:
    """Return the table of two inputs and two messages with this total variation: the best test of two inputs.

    >>> told_apart(sp.Rational(1, 2)).rows[0]
    (3/4, 1/4)
    """
    high, low = (1 + variation) / 2, (1 - variation) / 2
    return FiniteMechanism({"x0": {"0": high, "1": low}, "x1": {"0": low, "1": high}}, name="one test of two inputs")


def simulated(rows: Mapping[str, Sequence[arb]], pair: tuple[str, str], name: str) -> FiniteMechanism | None:
    """Return a table of short rational numbers near these probabilities that the mechanism with them can simulate.

    Only the pair is compared. None where the rows are too close to tell how.

    Guarantee
    ---------
    The table is the mechanism with probabilities ``rows``, whatever they are within their balls, followed by one
    channel. Proof: docs/proofs/metric.md.
    """
    exact = arb_mat([list(row) for row in rows.values()])
    count, size = exact.nrows(), exact.ncols()
    near = []
    for row in rows.values():
        short = [rational_below(x.mid(), _DIGITS) for x in row[:-1]]
        near.append([*short, 1 - sum(short)])
    shown = [arb(x.p) / x.q for row in near for x in row]
    missed = [abs(x - y) for x, y in zip(exact.entries(), shown, strict=True)]
    try:
        inverse = exact.transpose() * (exact * exact.transpose()).inv()
    except ZeroDivisionError:
        return None
    largest, error = (float(max(abs(x).upper() for x in numbers)) for numbers in (inverse.entries(), missed))
    share = sp.Rational(2) ** ceil(log2(2.0 * size * count * largest * error + 2.0**-200))
    if not share < _MOST_MIXED:
        return None
    table = [[(1 - share) * x + share / size for x in row] for row in near]
    return FiniteMechanism(
        {x: {f"y{i}": v for i, v in enumerate(row)} for x, row in zip(rows, table, strict=True)}, name=name
    ).near([pair])
