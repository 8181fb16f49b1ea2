"""Laplace noise on an interval of inputs."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, Self

import sympy as sp
from flint import arb

from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, Problem
from symamp.formulas.order import sign
from symamp.formulas.parameter import EPS0
from symamp.numbers.reading import exact_number
from symamp.randomizers.finite import FiniteMechanism, distance
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Arc, Z
from symamp.randomizers.noise.nearby import Nearby

_NEARBY_CELLS = 8  # of the distance of neighbours: accuracy against size of the table


class Laplace(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z with density (eps0/2) e^(-eps0 abs(z)); ``on`` takes other intervals.

    Clipping the messages to the interval of inputs changes nothing: ratios are constant outside, so the law is the
    same.

    >>> Laplace(eps0=1).gamma()
    exp(-1/2)
    """

    name = "Laplace noise on [0, 1]"
    slug: ClassVar[str] = "laplace"
    source: ClassVar[str] = "Dwork, McSherry, Nissim, Smith 2006"
    declared = (EPS0,)

    def __init__(self, *, eps0: object = None) -> None:
        super().__init__(eps0=eps0)

    @classmethod
    def on(cls, a: object, b: object, *, scale: object) -> Self:
        """Return Laplace noise with density e^(-abs(z)/scale)/(2 scale) for inputs in [a, b].

        Only the width over the scale counts: the local budget is (b - a)/scale, and ``0`` and ``1`` stand for a and b.
        Raises ArgumentError unless a < b and scale > 0.

        >>> Laplace.on(-5, 5, scale=4)
        Laplace(eps0=5/2)
        """
        low, high, width = (exact_number(v, name) for v, name in ((a, "a"), (b, "b"), (scale, "scale")))
        if sign(high - low, ()) <= 0:
            raise ArgumentError("b", b, "a number above a")
        if sign(width, ()) <= 0:
            raise ArgumentError("scale", scale, "a number > 0")
        return cls(eps0=(high - low) / width)

    def arcs(self) -> tuple[Arc, ...]:
        """Return the one exponential."""
        eps0 = self["eps0"]
        return (Arc(sp.Integer(0), sp.oo, eps0 * sp.exp(-eps0 * Z) / 2),)

    def survival(self, z: arb) -> arb:
        """Return e^(-eps0 z)/2."""
        return (-number(self["eps0"])() * z).exp() / 2

    def local_ratio(self) -> sp.Expr:
        """Return t = e^eps0."""
        return sp.exp(self["eps0"])

    def mean_variance(self) -> sp.Expr:
        """Return that of the noise."""
        return 2 / self["eps0"] ** 2

    def gamma(self) -> sp.Expr:
        """Return e^(-eps0/2).

        >>> Laplace().gamma()
        exp(-eps0/2)
        """
        return sp.exp(-self["eps0"] / 2)

    def near(self, neighbours: object) -> Nearby:
        """Return the subject in which inputs at distance at most d <= 1 are compared.

        Guarantee
        ---------
        Its (p, beta, q) = (e^(eps0 d), 1 - e^(-eps0 d/2), e^eps0) hold for every two inputs at distance at most d and
        every third one; the table below it is the mechanism with its messages put into cells, on the inputs 0, d and 1.
        Proof: docs/proofs/metric.md.

        >>> Laplace(eps0=2).near("1/2").variation_ratio()
        VariationRatio(p=E, beta=1 - exp(-1/2), q=exp(2))
        """
        d = distance(neighbours)
        if sign(1 - d) < 0:
            raise ArgumentError(
                "neighbours", neighbours, "a distance of at most 1, the length of the interval of inputs"
            )
        if self.parameters:
            raise ArgumentError("neighbours", Problem(f"{self!r} has no number for eps0"), "give it by .at(eps0=...)")
        eps0 = self["eps0"]
        known = VariationRatio(sp.exp(eps0 * d), 1 - sp.exp(-eps0 * d / 2), self.local_ratio())
        return Nearby(f"{self!r}.near({d})", known, (_cells(eps0, d),), self)


def _cells(eps0: sp.Expr, d: sp.Expr) -> FiniteMechanism:
    """Return the mechanism on 0, d and 1 with messages in cells: fine between 0 and d, where ratios change."""
    cuts = [d * sp.Rational(i, _NEARBY_CELLS) for i in range(_NEARBY_CELLS + 1)] + (
        [d + (1 - d) / 2, sp.S.One] if d != 1 else []
    )
    inputs = {"0": sp.S.Zero, "d": d} | ({"1": sp.S.One} if d != 1 else {})
    table = {}
    for label, x in inputs.items():
        at = [_below(eps0 * (c - x), c >= x) for c in cuts]
        masses = [at[0], *(b - a for a, b in pairwise(at)), 1 - at[-1]]
        table[label] = {f"y{i}": mass for i, mass in enumerate(masses)}
    return FiniteMechanism(table, name=f"Laplace noise in cells, d = {d}").near([("0", "d")])


def _below(z: sp.Expr, right: bool) -> sp.Expr:
    """Return the distribution function of the noise with eps0 = 1."""
    return 1 - sp.exp(-z) / 2 if right else sp.exp(z) / 2
