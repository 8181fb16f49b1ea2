"""Cauchy noise on an interval of inputs."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import sympy as sp
from flint import arb

from symamp.decompositions.to_law import number
from symamp.formulas.parameter import Parameter
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Arc, W, Z


class Cauchy(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z with density scale/(pi (scale^2 + z^2)).

    >>> Cauchy(scale=1).local_ratio()
    (sqrt(5) + 5)**2/20
    """

    name = "Cauchy noise on [0, 1]"
    slug: ClassVar[str] = "cauchy"
    source: ClassVar[str] = "Nissim, Raskhodnikova, Smith 2007"
    declared = (Parameter("scale", lower=sp.Integer(0)),)

    def __init__(self, *, scale: object = None) -> None:
        super().__init__(scale=scale)

    def arcs(self) -> tuple[Arc, ...]:
        """Return the Cauchy density."""
        scale = self["scale"]
        return (Arc(sp.Integer(0), sp.oo, scale / (sp.pi * (scale**2 + Z**2))),)

    def survival(self, z: arb) -> arb:
        """Return 1/2 - arctan(z/scale)/pi, without cancellation for large z."""
        scale = number(self["scale"])()
        return (scale / z).atan() / arb.pi() if z > scale else arb(0.5) - (z / scale).atan() / arb.pi()

    def local_ratio(self) -> sp.Expr:
        """Return the largest value of f(y - 1)/f(y), at y = (1 + sqrt(1 + 4 scale^2))/2."""
        return _largest_ratio(self["scale"])

    def gamma(self) -> sp.Expr:
        """Return 1 - 2 arctan(1/(2 scale))/pi."""
        return 1 - 2 * sp.atan(1 / (2 * self["scale"])) / sp.pi

    def tail(self, start: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Return y = 1/w: densities and their ratios are rational in w, also at w = 0."""
        return 1 / W, 1 / start


@lru_cache(maxsize=64)
def _largest_ratio(b: sp.Expr) -> sp.Expr:
    y = (1 + sp.sqrt(1 + 4 * b**2)) / 2
    # y solves y^2 = y + b^2.
    return sp.radsimp((2 * b**2 + y) / (2 * b**2 + 1 - y))
