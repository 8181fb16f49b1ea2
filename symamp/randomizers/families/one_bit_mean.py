"""The 1-bit mean estimation mechanism of Ding, Kulkarni, Yekhanin (2017)."""

from __future__ import annotations

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism


class OneBitMean(Family):
    """Send 1 with probability 1/(t+1) + x*(t-1)/(t+1), t = e^eps0, and else 0.

    The input x in [0, 1] is the counter divided by its largest value.

    R(x) = (1 - x) R(0) + x R(1). Hence the infimum over all inputs is attained at an end point, and the end points are
    the worst pair: with the law of the other users fixed, the divergence is jointly convex in (R(x0), R(x1)), hence
    largest at a corner of [0, 1]^2, and zero where x0 = x1. The midpoint stands for the inputs between.

    >>> OneBitMean().blanket().gamma
    2/(exp(eps0) + 1)
    """

    name = "1-bit mean"
    slug = "one-bit-mean"
    source = "Ding, Kulkarni, Yekhanin 2017"
    small = tuple({"eps0": f"log({t})"} for t in ("2", "3", "5/2", "7", "100"))
    typical = {}
    declared = (EPS0,)

    def __init__(self, *, eps0: object = None) -> None:
        super().__init__(eps0=eps0)

    @property
    def inputs(self) -> tuple[str, ...]:
        return "0", "1", "1/2"

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The end points, the worst pair."""
        return (("0", "1"),)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Each bit by itself; all inputs that are not listed have a density between those of the end points."""
        t = sp.exp(self["eps0"])
        found = []
        for bit in (0, 1):
            lowest, highest = (1 / (t + 1), t / (t + 1)) if bit else (t / (t + 1), 1 / (t + 1))
            density = {x: (1 - sp.Rational(x)) * lowest + sp.Rational(x) * highest for x in self.inputs}
            rest = tuple((density[x], sp.Integer(1)) for x in self.inputs if x not in distinguished)
            found.append(Orbit(f"bit {bit}", sp.Integer(1), tuple(density[x] for x in distinguished), rest))
        return tuple(found)

    def message_bits(self) -> sp.Expr:
        return sp.Integer(1)

    def mean_variance(self) -> sp.Expr:
        """Return that of (bit - a)/s, where a bit has probability a + s x: a bit has a variance of at most 1/4."""
        slope = self.orbits(("1", "0"))[1]
        return normal(1 / (4 * (slope.mass(0) - slope.mass(1)) ** 2))

    def table(self) -> FiniteMechanism:
        """Return the table at the multiples of 1/12."""
        t = sp.exp(self["eps0"])
        rows = {}
        for x in (sp.Rational(i, 12) for i in range(13)):
            one = 1 / (t + 1) + x * (t - 1) / (t + 1)
            rows[str(x)] = {"1": one, "0": 1 - one}
        return FiniteMechanism(rows, name=repr(self))
