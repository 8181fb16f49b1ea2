"""Gaussian noise on an interval of inputs."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, erfc, exp, log, sqrt
from typing import ClassVar

import sympy as sp
from flint import arb

from symamp.decompositions.to_law import number
from symamp.formulas.parameter import Parameter
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Arc, Z


class Gaussian(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z normal with mean 0 and standard deviation sigma.

    There is no finite local budget; shuffled, the mechanism is (eps, delta)-private all the same.

    >>> Gaussian(sigma=1).local_epsilon()
    oo
    """

    name = "Gaussian noise on [0, 1]"
    slug: ClassVar[str] = "gaussian"
    source: ClassVar[str] = "Dwork, Kenthapadi, McSherry, Mironov, Naor 2006"
    declared = (Parameter("sigma", lower=sp.Integer(0)),)

    def __init__(self, *, sigma: object = None) -> None:
        super().__init__(sigma=sigma)

    def arcs(self) -> tuple[Arc, ...]:
        """Return the normal density."""
        sigma = self["sigma"]
        return (Arc(sp.Integer(0), sp.oo, sp.exp(-(Z**2) / (2 * sigma**2)) / (sigma * sp.sqrt(2 * sp.pi))),)

    def survival(self, z: arb) -> arb:
        """Return Phi(-z/sigma)."""
        return (z / (number(self["sigma"])() * arb(2).sqrt())).erfc() / 2

    def local_ratio(self) -> sp.Expr:
        """Return oo."""
        return sp.oo

    def gamma(self) -> sp.Expr:
        """Return 2 Phi(-1/(2 sigma)) = erfc(1/(2 sqrt(2) sigma))."""
        return sp.erfc(sp.sqrt(2) / (4 * self["sigma"]))

    def cut(self, ratio: float) -> sp.Expr:
        """Return y >= 1 with e^((2y - 1)/(2 sigma^2)) about the ratio: it increases in y."""
        sigma = float(self["sigma"])
        # Beyond 1 + 33 sigma there is no mass that matters: less than 1e-238.
        y = min(max(0.5 + sigma * sigma * log(ratio), 1.0 + sigma), 1.0 + 33.0 * sigma)
        return sp.Rational(Fraction(ceil(y * 64), 64))

    def spread(self) -> float:
        """Return the integral of (r0 - r1)^2 under the blanket."""
        sigma = float(self["sigma"])

        def phi(z: float) -> float:
            return 0.5 * erfc(-z / (sigma * sqrt(2.0)))

        return 2.0 * (exp(min(1.0 / sigma**2, 300.0)) * phi(1.5) - 2.0 * phi(0.5) + phi(-0.5))
