"""Logistic noise on an interval of inputs."""

from __future__ import annotations

from typing import ClassVar

import sympy as sp
from flint import arb

from symamp.decompositions.to_law import number
from symamp.formulas.parameter import EPS0
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Arc, W, Z


class Logistic(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z logistic with scale 1/eps0: f(z) = eps0 e^(-eps0 z)/(1 + e^(-eps0 z))^2.

    >>> Logistic().gamma()
    2/(exp(eps0/2) + 1)
    """

    name = "logistic noise on [0, 1]"
    slug: ClassVar[str] = "logistic"
    source: ClassVar[str] = "additive noise with the logistic density"
    declared = (EPS0,)

    def __init__(self, *, eps0: object = None) -> None:
        super().__init__(eps0=eps0)

    def arcs(self) -> tuple[Arc, ...]:
        """Return the logistic density."""
        eps0 = self["eps0"]
        return (Arc(sp.Integer(0), sp.oo, eps0 * sp.exp(-eps0 * Z) / (1 + sp.exp(-eps0 * Z)) ** 2),)

    def survival(self, z: arb) -> arb:
        """Return 1/(1 + e^(eps0 z))."""
        return 1 / (1 + (number(self["eps0"])() * z).exp())

    def local_ratio(self) -> sp.Expr:
        """Return t = e^eps0, the limit of the ratio far out."""
        return sp.exp(self["eps0"])

    def gamma(self) -> sp.Expr:
        """Return 2/(1 + e^(eps0/2))."""
        return 2 / (1 + sp.exp(self["eps0"] / 2))

    def tail(self, start: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Return y = -log(w)/eps0: densities are rational in w = e^(-eps0 y)."""
        return -sp.log(W) / self["eps0"], sp.exp(-self["eps0"] * start)
