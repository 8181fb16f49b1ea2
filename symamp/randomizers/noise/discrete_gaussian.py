"""Discrete Gaussian noise on the integers, for inputs 0..B."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, floor, isqrt, log
from typing import ClassVar

import flint
import numpy as np
import sympy as sp
from flint import arb

from symamp.decompositions.to_law import number
from symamp.formulas.parameter import Parameter, Value
from symamp.laws.density import Laws, SmoothLaw
from symamp.laws.law import Atom, Level, Number
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Side, Y
from symamp.randomizers.protocols import Array, Domain, Protocol, Rng, added, double, retried, two_sided_geometric

_KEPT_DEVIATIONS = 33.0  # of noise: what is beyond is less than 2^-785
_KEPT_RATIO_DEVIATIONS = 9.2  # within which ratios are kept at every number of users
_LARGEST_SIZE = sp.Integer(2_000)  # of B and sigma


class DiscreteGaussian(AdditiveNoise):
    """Send x + Z for an integer x in 0..B, P(Z = z) proportional to e^(-z^2/(2 sigma^2)) over all integers z.

    The inputs 0 and B are the worst pair (docs/proofs/worst_pair.md, integers); ``0`` and ``1`` stand for them.
    There is no finite local budget: messages far out are cut as for Gaussian noise.

    >>> import symamp as sa
    >>> sa.epsilon(DiscreteGaussian(B=10, sigma=10), n=10**6, delta="1e-6").upper
    0.00368...
    """

    _internal_names = "at_least total weight"

    name = "discrete Gaussian noise on 0..B"
    slug: ClassVar[str] = "discrete-gaussian"
    source: ClassVar[str] = "Canonne, Kamath, Steinke 2020"
    declared = (
        Parameter("B", lower=sp.Integer(1), upper=_LARGEST_SIZE, integer=True),
        Parameter("sigma", lower=sp.Integer(0), upper=_LARGEST_SIZE),
    )

    def __init__(self, *, B: Value = None, sigma: Value = None) -> None:
        super().__init__(B=B, sigma=sigma)

    def protocol(self) -> Protocol:
        """The variance is that of the normal law, which is larger (Canonne, Kamath, Steinke 2020)."""

        def noise(n: int, rng: Rng) -> Array:
            """Two-sided geometric numbers, kept by chance."""
            sigma = double(self["sigma"])
            step = floor(sigma) + 1

            def fits(z: Array, users: Array) -> Array:
                found: Array = rng.random(len(z)) < np.exp(-((abs(z) - sigma**2 / step) ** 2) / (2.0 * sigma**2))
                return found

            return retried(n, lambda users: proposed(len(users), rng), fits)

        proposed = two_sided_geometric(1 - sp.exp(-1 / (sp.floor(self["sigma"]) + 1)))
        return added(Domain(sp.S.Zero, self["B"]), noise, self["sigma"] ** 2)

    def half_density(self) -> None:
        return None

    def sides(self) -> tuple[Side, ...]:
        """Return the messages above B/2 with the point masses of the inputs 0 and B, as formulas in the integer y."""
        size, sigma, z = self["B"], self["sigma"], sp.Symbol("z", integer=True)
        total = sp.Sum(sp.exp(-(z**2) / (2 * sigma**2)), (z, -sp.oo, sp.oo))
        mass0, mass1 = (sp.exp(-((Y - x) ** 2) / (2 * sigma**2)) / total for x in (0, size))
        return (Side(size / 2, sp.oo, mass0, mass1, sp.exp(size * (2 * Y - size) / (2 * sigma**2))),)

    def survival(self, z: arb) -> arb:
        """Return P(Z > z) for z >= 0."""
        return self.at_least(int(z.floor().unique_fmpz()) + 1)

    def local_ratio(self) -> sp.Expr:
        """Return oo."""
        return sp.oo

    def gamma(self) -> sp.Expr:
        """Return P(Z > B/2) twice, and P(Z = B/2) if there is such a message, as sums.

        >>> DiscreteGaussian(B=3, sigma=1).gamma()
        2*Sum(exp(-z**2/2), (z, 2, oo))/Sum(exp(-z**2/2), (z, -oo, oo))
        """
        z = sp.Symbol("z", integer=True)
        term, first = sp.exp(-(z**2) / (2 * self["sigma"] ** 2)), sp.floor(self["B"] / 2)
        half = sp.Sum(term, (z, first + 1, sp.oo))
        middle = term.subs(z, first) * sp.Piecewise((1, sp.Eq(2 * first, self["B"])), (0, True))
        return (2 * half + middle) / sp.Sum(term, (z, -sp.oo, sp.oo))

    def upper_law(self) -> SmoothLaw:
        """Return the upper law that is cut where less than 1e-19 of the mass is left."""
        return _laws(self, self._far)[1]

    def largest_kept_ratio(self) -> float:
        """Return about the largest ratio of ``upper_law``."""
        size, sigma = int(self["B"]), float(self["sigma"])
        return exp(min(size * (2 * self._far - size) / (2.0 * sigma * sigma), 300.0))

    @property
    def _far(self) -> int:
        return int(self["B"]) + ceil(_KEPT_RATIO_DEVIATIONS * float(self["sigma"]) + 1.0)

    def blanket_laws(self, level: Level, n: int) -> Laws:
        """Return (lower, upper), cut where one message decides alone, as for all noise."""
        reached = self.ratio_at_cut(level, n)
        size, sigma = int(self["B"]), float(self["sigma"])
        there = size / 2.0 + sigma * sigma * log(max(reached, 1.0)) / size
        return _laws(self, max(size + 1, ceil(min(there, size + _KEPT_DEVIATIONS * sigma + 1.0))))

    def spread(self) -> float:
        """Return about the integral of (r0 - r1)^2 under the blanket."""
        size, sigma = int(self["B"]), float(self["sigma"])
        total, result = 0.0, 0.0
        for z in range(-ceil(_KEPT_DEVIATIONS * sigma) - size, ceil(_KEPT_DEVIATIONS * sigma) + 2 * size + 1):
            mass = exp(-z * z / (2.0 * sigma * sigma))
            total += mass
            if 2 * z > size:
                result += 2.0 * mass * (exp(min(size * (2 * z - size) / (2.0 * sigma * sigma), 300.0)) - 1.0) ** 2
        return result / total

    def weight(self, z: int) -> arb:
        """Return e^(-z^2/(2 sigma^2))."""
        return (-arb(z * z) / (2 * number(self["sigma"])() ** 2)).exp()

    def at_least(self, z: int) -> arb:
        """Return P(Z >= z) for z >= 0."""
        return _tail(self, z, flint.ctx.prec) / self.total()

    def total(self) -> arb:
        """Return the sum of all weights."""
        return 1 + 2 * _tail(self, 1, flint.ctx.prec)


@lru_cache(maxsize=4096)
def _tail(noise: DiscreteGaussian, first: int, precision: int) -> arb:
    with at_precision(precision):
        sigma = number(noise["sigma"])()
        steps = isqrt(int((arb(2 * precision + 64) * sigma * sigma).upper().ceil().unique_fmpz())) + 2
        last = first + steps
        found = arb(0)
        for z in range(first, last):
            found += noise.weight(z)
        # Beyond, each weight is at most e^(-last/sigma^2) times the one before.
        rest = noise.weight(last) / (1 - (-arb(last) / sigma**2).exp())
        return found + arb(0).union(rest)


@lru_cache(maxsize=64)
def _laws(noise: DiscreteGaussian, last: int) -> Laws:
    """Return (lower, upper): the messages from ``last`` on at their mean, or as one atom with a singular part.

    Guarantee
    ---------
    The divergences of the laws enclose that of the blanket of 0 and B. Proof: docs/proofs/smooth_laws.md.
    """
    size, sigma = int(noise["B"]), noise["sigma"]
    one, zero = number(sp.S.One), number(sp.S.Zero)

    def ratio(y: int) -> Number:
        return number(sp.exp(sp.Integer(size * (2 * y - size)) / (2 * sigma**2)))

    def mass(y: int) -> Number:
        return lambda: noise.weight(y) / noise.total()

    atoms = [Atom(one, ratio(y), mass(y)) for y in range(size // 2 + 1, last)]
    middle = [Atom(one, one, mass(size // 2), True)] if size % 2 == 0 else []
    edge = ratio(last)

    def beyond() -> arb:
        return noise.at_least(last)

    def mean() -> arb:
        return noise.at_least(last - size) / noise.at_least(last)

    def over() -> arb:
        return (noise.at_least(last - size) - edge() * noise.at_least(last)).max(arb(0))

    def null() -> arb:
        kept = 2 * noise.at_least(size // 2 + 1)
        return (1 - kept - (mass(size // 2)() if middle else arb(0))).max(arb(0))

    def mirrored(tail: Atom, singular: tuple[tuple[Number, Number], ...]) -> SmoothLaw:
        right = SmoothLaw((), (*atoms, tail), null, singular)
        left = right.swapped()
        return SmoothLaw((), (*right.atoms, *left.atoms, *middle), null, (*singular, *left.singular))

    lower = mirrored(Atom(one, mean, beyond), ())
    return lower, mirrored(Atom(one, edge, beyond), ((zero, over),))
