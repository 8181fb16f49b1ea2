"""Planar Laplace noise (geo-indistinguishability): points in the plane, compared at a distance."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import flint
import sympy as sp
from flint import acb, arb

from symamp.algebra.order import sign
from symamp.algebra.parameter import EPS0
from symamp.derivation.crossing import number
from symamp.derivation.variation_parameters import VariationRatio
from symamp.errors import ArgumentError
from symamp.mechanisms.continuous.nearby import Nearby, told_apart
from symamp.mechanisms.family import Parametrised
from symamp.mechanisms.neighbours import distance
from symamp.mechanisms.subject_base import SubjectBase

_BITS, _DIGITS = 72, 56


class PlanarLaplace(Parametrised, SubjectBase):
    """Send x + Z for a point x of a set of diameter 1 in the plane, Z with density eps0^2/(2 pi) e^(-eps0 abs(z)).

    Other diameters are a change of scale. A point may be told from one at distance d at most with budget eps0 d:
    ``neighbours=d`` asks for that. Without it d is 1, the diameter.

    >>> import symamp as sa
    >>> sa.epsilon(sa.PlanarLaplace(eps0=2), n=10**4, delta="1e-6", neighbours="1/10").upper
    0.01288...
    """

    name = "planar Laplace noise"
    slug: ClassVar[str] = "planar-laplace"
    source: ClassVar[str] = "Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013"
    declared = (EPS0,)
    known_by_parameters = True

    def __init__(self, *, eps0: object = None) -> None:
        super().__init__(eps0=eps0)

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, for two points at distance 1."""
        return sp.exp(self["eps0"])

    def near(self, neighbours: object) -> Nearby:
        """Return the subject in which points at distance at most d <= 1 are compared.

        Guarantee
        ---------
        Its (p, beta, q) hold for every two points at distance at most d and every third one of the set: p = e^(eps0 d),
        beta is at least the mass of the strip -d/2 < z_1 < d/2, q = e^eps0. The test by the bisector of two points at
        distance d has at most the total variation of the table below it. Proof: docs/proofs/metric.md.

        >>> PlanarLaplace(eps0=2).near("1/2").variation_ratio().p
        E
        """
        d = distance(neighbours)
        if sign(1 - d) < 0:
            raise ArgumentError("neighbours", neighbours, "a distance of at most 1, the diameter")
        if self.parameters:
            raise ArgumentError("neighbours", repr(self), "a number for eps0")
        low, high = strip_mass(self["eps0"] * d)
        known = VariationRatio(sp.exp(self["eps0"] * d), high, self.local_ratio())
        return Nearby(f"{self!r}.near({d})", known, (told_apart(low),))

    def members(self) -> tuple[object, ...]:
        """Return the tables whose lower bounds hold, for two points at distance 1."""
        return self.near(1).members()

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023), beta rounded up."""
        return self.near(1).variation_ratio()


@lru_cache(maxsize=256)
def strip_mass(width: sp.Expr) -> tuple[sp.Rational, sp.Rational]:
    """Return rational numbers (below, above) P(|Z_1| < w/2) for planar Laplace noise with eps0 = 1.

    The mass is (2/pi) times the integral of x K_1(x) from 0 to w/2, K_1 a Bessel function.

    Guarantee
    ---------
    The two enclose the mass. Proof: docs/proofs/metric.md.

    >>> [round(float(x), 10) for x in strip_mass(sp.Integer(1))]
    [0.2959600665, 0.2959600665]
    """
    with flint.ctx.workprec(_BITS):
        half = number(width)() / 2
        near, far = half.upper(), (half.upper() + _BITS).ceil()
        # The integrand has a branch point at 0: the mass outside the strip is integrated, and the tail is bounded.
        outside = acb.integral(_integrand, acb(near), acb(far)).real + arb(0).union(4 * far.sqrt() * (-far).exp())
        mass = 1 - 2 / arb.pi() * outside
        low = _rounded((mass - (near - half.lower())).lower(), down=True)
        return max(low, sp.S.Zero), min(_rounded(mass.upper()), sp.S.One)


def _integrand(x: acb, analytic: bool) -> acb:
    return acb("nan") if analytic and not x.real > 0 else x * x.bessel_k(1)


def _rounded(x: arb, *, down: bool = False) -> sp.Rational:
    """Return a short rational number on the given side of a number in [0, 1]."""
    scaled = (x * arb(2) ** _DIGITS).floor() if down else (x * arb(2) ** _DIGITS).ceil()
    return sp.Rational(int(scaled.unique_fmpz()), 2**_DIGITS)
