"""Laplace noise on an interval of inputs."""

from __future__ import annotations

from typing import ClassVar, Self

import sympy as sp
from flint import arb

from symamp.algebra.order import sign
from symamp.algebra.parameter import EPS0
from symamp.derivation.crossing import number
from symamp.errors import ArgumentError
from symamp.mechanisms.continuous.additive_noise import AdditiveNoise, Arc, Z
from symamp.numbers.exact_number import exact_number


class Laplace(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z with density (eps0/2) e^(-eps0 |z|); ``on`` takes other intervals.

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
        """Return Laplace noise with density e^(-|z|/scale)/(2 scale) for inputs in [a, b].

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

    def gamma(self) -> sp.Expr:
        """Return e^(-eps0/2).

        >>> Laplace().gamma()
        exp(-eps0/2)
        """
        return sp.exp(-self["eps0"] / 2)
