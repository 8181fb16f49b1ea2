"""Noise with a metric, of which only inputs at distance at most d are compared; planar Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, log2, tau
from typing import ClassVar

import flint
import numpy as np
import sympy as sp
from flint import arb, arb_mat

from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, Problem
from symamp.formulas.order import sign
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.rationals import rational_below
from symamp.numbers.reading import Compared
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.randomizers.family import Parametrised
from symamp.randomizers.finite import FiniteMechanism, distance
from symamp.randomizers.mechanism import NotebookView, SubjectBase
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.protocols import Array, Protocol, Rng, added, double, interval

# -------- Noise with a metric, of which only inputs at distance at most d are compared: what is known of all such pairs

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
        return self.below

    @property
    def compares_all(self) -> bool:
        """No: those that are neighbours."""
        return False

    def compared_ratio(self) -> sp.Expr:
        return self.known.p

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, the largest ratio between any two inputs, neighbours or not."""
        return self.known.q

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) for all neighbours at once."""
        return self.known

    def __repr__(self) -> str:
        return self.name


def distance_within(noise: Parametrised, neighbours: Compared) -> sp.Expr:
    """Return a distance of at most 1, the width of the inputs, for noise whose parameters are numbers."""
    d = distance(neighbours)
    if sign(1 - d) < 0:
        raise ArgumentError("neighbours", neighbours, "a distance of at most 1, the largest of two inputs")
    if noise.parameters:
        raise ArgumentError("neighbours", Problem(f"{noise!r} has no number for eps0"), "give it by .at(eps0=...)")
    return d


def told_apart(variation: sp.Expr) -> FiniteMechanism:
    """Return the table of two inputs and two messages with this total variation: the best test of two inputs."""
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


# ------------------------- Planar Laplace noise (geo-indistinguishability): points in the plane, compared at a distance

_MASS_BITS = 56  # to which masses are rounded outward
_WIDEST_STRIP = 100  # half the width, in units of the noise, from which on all mass lies in it
_NEARBY_CELLS = 4  # of the distance of neighbours: accuracy against size of the table


class PlanarLaplace(NotebookView, Parametrised, SubjectBase):
    """Send x + Z for a point x of a convex set of diameter 1, Z with density eps0^2/(2 pi) e^(-eps0 abs(z)).

    The set lies in the plane. Other diameters are a change of scale. A point may be told from one at distance d at
    most with budget eps0 d: ``neighbours=d`` asks for that. Without it d is 1, the diameter.

    >>> import symamp as sa
    >>> sa.epsilon(sa.PlanarLaplace(eps0=2), n=10**4, delta="1e-6", neighbours="1/10").upper
    0.01288...
    """

    name = "planar Laplace noise"
    slug: ClassVar[str] = "planar-laplace"
    source: ClassVar[str] = "Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013"
    declared = (EPS0,)
    known_by_parameters = True

    def __init__(self, *, eps0: Value = None) -> None:
        super().__init__(eps0=eps0)

    def protocol(self) -> Protocol:
        """Values and reports are rows of two coordinates, in the units of the diameter."""

        def noise(n: int, rng: Rng) -> Array:
            radius, angle = rng.gamma(2.0, double(1 / self["eps0"]), size=n), rng.uniform(0.0, tau, size=n)
            return np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))

        return added(interval(-sp.oo, sp.oo, sp.Integer(2)), noise, 3 / self["eps0"] ** 2)

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, for two points at distance 1."""
        return sp.exp(self["eps0"])

    def near(self, neighbours: Compared) -> Nearby:
        """Return the subject in which points at distance at most d <= 1 are compared.

        Guarantee
        ---------
        Its (p, beta, q) hold for every two points at distance at most d and every third one of the set: p = e^(eps0 d),
        beta is at least the mass of the strip -d/2 < z_1 < d/2, q = e^eps0. The table below it is simulated by messages
        that are put into strips. Proof: docs/proofs/metric.md.

        >>> PlanarLaplace(eps0=2).near("1/2").variation_ratio().p
        E
        """
        d = distance_within(self, neighbours)
        low, high = strip_mass(self["eps0"] * d)
        known = VariationRatio(sp.exp(self["eps0"] * d), high, self.local_ratio())
        with at_precision(BALL_BITS):
            third = arb(1) if sign(1 - d) > 0 else arb(0.5)
            rows = _below(number(self["eps0"])(), number(d)(), third)
            table = simulated(rows, ("0", "d"), f"planar Laplace noise in strips, d = {d}")
        return Nearby(f"{self!r}.near({d})", known, (table or told_apart(low),))

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
    with at_precision(BALL_BITS):
        mass = _strip(number(width)() / 2)
        return max(rational_below(mass, _MASS_BITS), sp.S.Zero), min(-rational_below(-mass, _MASS_BITS), sp.S.One)


def _strip(half: arb) -> arb:
    """Return a ball around P(|Z_1| < half) for eps0 = 1: by Struve functions where series serve, else by its tail."""
    if half > _WIDEST_STRIP:
        return 1 - arb(0).union(4 * half.lower().sqrt() * (-half.lower()).exp())
    with at_precision(flint.ctx.prec + 2 * _WIDEST_STRIP):
        x = arb(half)
        square, k0, k1 = x * x / 4, x.bessel_k(0), x.bessel_k(1)
        # L_-1 and L_0, modified Struve functions.
        first = 2 / arb.pi() * square.hypgeom([1], [arb("0.5"), arb("1.5")])
        second = 2 * x / arb.pi() * square.hypgeom([1], [arb("1.5"), arb("1.5")])
        result = x * (k0 * first + k1 * second) - 2 / arb.pi() * x * k0
    return +result


def _below(eps0: arb, d: arb, third: arb) -> dict[str, list[arb]]:
    """Return the masses of strips across the line through two points, for the points 0, d and a third one on it."""
    cuts = [d * i / _NEARBY_CELLS for i in range(_NEARBY_CELLS + 1)]
    rows = {}
    for label, x in (("0", arb(0)), ("d", d), ("third", third)):
        at = [_left(eps0 * (cut - x)) for cut in cuts]
        rows[label] = [at[0], *(b - a for a, b in pairwise(at)), 1 - at[-1]]
    return rows


def _left(z: arb) -> arb:
    """Return the distribution function of Z_1 with eps0 = 1."""
    if z.contains(0):
        return arb(0.5) + arb(0).union(z) / 2  # the density is at most 1/pi
    return (1 + _strip(z)) / 2 if z > 0 else (1 - _strip(-z)) / 2
