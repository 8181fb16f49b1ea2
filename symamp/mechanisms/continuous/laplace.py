"""Laplace noise on an interval of inputs."""

from __future__ import annotations

from typing import ClassVar

import sympy as sp
from flint import arb

from symamp.algebra.parameter import EPS0
from symamp.derivation.crossing import number
from symamp.mechanisms.continuous.additive_noise import AdditiveNoise, Arc, Z


class Laplace(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z with density (eps0/2) e^(-eps0 |z|); other intervals are a change of scale.

    Clipping the messages to [0, 1] changes nothing: ratios are constant outside, so the law is the same.

    >>> Laplace(eps0=1).gamma()
    exp(-1/2)
    """

    name = "Laplace noise on [0, 1]"
    slug: ClassVar[str] = "laplace"
    source: ClassVar[str] = "Dwork, McSherry, Nissim, Smith 2006"
    declared = (EPS0,)

    def __init__(self, *, eps0: object = None) -> None:
        super().__init__(eps0=eps0)

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
