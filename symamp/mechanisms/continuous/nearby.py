"""Noise with a metric, of which only inputs at distance at most d are compared: what is known of all such pairs."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symamp.algebra.parameter import Parameter
from symamp.derivation.variation_parameters import VariationRatio
from symamp.mechanisms.continuous.additive_noise import AdditiveNoise
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.subject_base import SubjectBase


@dataclass(frozen=True)
class Nearby(SubjectBase):
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
