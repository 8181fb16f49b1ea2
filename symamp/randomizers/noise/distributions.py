"""Laplace, Gaussian, logistic and Cauchy noise on an interval of inputs, and discrete Gaussian noise on integers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, erfc, exp, floor, isqrt, log, sqrt
from typing import ClassVar, Self

import flint
import numpy as np
import sympy as sp
from flint import arb

from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.to_law import number
from symamp.decompositions.worst_pair import WorstPair
from symamp.errors import ArgumentError
from symamp.formulas.order import sign
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.laws.density import Laws, SmoothLaw
from symamp.laws.law import Atom, Level, Number
from symamp.numbers.reading import Compared, exact_number
from symamp.numbers.surroundings import at_precision
from symamp.randomizers import protocols
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Side, W, Y, Z
from symamp.randomizers.noise.nearby import Nearby, distance_within

# ------------------------------------------------------------------------------- Laplace noise on an interval of inputs

UNIT = protocols.interval(sp.S.Zero, sp.S.One)
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

    def __init__(self, *, eps0: Value = None) -> None:
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

    def protocol(self) -> protocols.Protocol:
        def noise(n: int, rng: protocols.Rng) -> protocols.Array:
            return rng.laplace(scale=protocols.double(1 / self["eps0"]), size=n)

        return protocols.added(UNIT, noise, 2 / self["eps0"] ** 2)

    def half_density(self) -> sp.Expr:
        eps0 = self["eps0"]
        return eps0 * sp.exp(-eps0 * Z) / 2

    def survival(self, z: arb) -> arb:
        return (-number(self["eps0"])() * z).exp() / 2

    def local_ratio(self) -> sp.Expr:
        return sp.exp(self["eps0"])

    def gamma(self) -> sp.Expr:
        """Return e^(-eps0/2).

        >>> Laplace().gamma()
        exp(-eps0/2)
        """
        return sp.exp(-self["eps0"] / 2)

    def near(self, neighbours: Compared) -> Nearby:
        """Return the subject in which inputs at distance at most d <= 1 are compared.

        Guarantee
        ---------
        Its (p, beta, q) = (e^(eps0 d), 1 - e^(-eps0 d/2), e^eps0) hold for every two inputs at distance at most d and
        every third one; the table below it is the mechanism with its messages put into cells, on the inputs 0, d and 1.
        Proof: docs/proofs/metric.md.

        >>> Laplace(eps0=2).near("1/2").variation_ratio()
        VariationRatio(p=E, beta=1 - exp(-1/2), q=exp(2))
        """
        d = distance_within(self, neighbours)
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


class ClippedLaplace(Laplace):
    """Send x + Z clipped to [0, 1], for x in [0, 1] and Z with density (eps0/2) e^(-eps0 abs(z)).

    A message is 0 or 1 with the mass of the tail beyond it. Ratios are constant on the tails of Laplace noise, so that
    each tail may be merged into one message: the law, and all bounds, are those of ``Laplace``.

    >>> ClippedLaplace(eps0=1).gamma()
    exp(-1/2)
    """

    name = "Laplace noise clipped to [0, 1]"
    slug: ClassVar[str] = "clipped-laplace"
    declared = (EPS0,)

    def protocol(self) -> protocols.Protocol:
        """An end counts as the mean of what is clipped to it; the variance is largest for the input 1/2."""
        further = 1 / self["eps0"]
        largest = (2 - sp.exp(-self["eps0"] / 2)) * further**2
        plain = super().protocol()
        return protocols.added(UNIT, lambda n, rng: plain.draw(np.zeros(n), rng), largest, (-further, 1 + further))

    def worst_pair(self) -> WorstPair:
        """Return (0, 1), as for Laplace noise: messages with equal ratios are merged."""
        return WorstPair(("0", "1"), True, "Corollary 2 of Theorem P, and clipping (docs/proofs/worst_pair.md)")


class Gaussian(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z normal with mean 0 and standard deviation sigma.

    There is no finite local budget; shuffled, the mechanism is (eps, delta)-private all the same. With sigma below 0.8,
    or where few users have so large ratios that single messages decide, the default is the bound of the worst pair, and
    ``effort="thorough"`` may be closer: the bound over all data sets takes a minute there.

    >>> Gaussian(sigma=1).local_epsilon()
    oo
    """

    name = "Gaussian noise on [0, 1]"
    slug: ClassVar[str] = "gaussian"
    source: ClassVar[str] = "Dwork, Kenthapadi, McSherry, Mironov, Naor 2006"
    declared = (Parameter("sigma", lower=0),)

    def __init__(self, *, sigma: Value = None) -> None:
        super().__init__(sigma=sigma)

    def protocol(self) -> protocols.Protocol:
        return protocols.added(
            UNIT, lambda n, rng: protocols.double(self["sigma"]) * rng.standard_normal(n), self["sigma"] ** 2
        )

    def half_density(self) -> sp.Expr:
        sigma = self["sigma"]
        return sp.exp(-(Z**2) / (2 * sigma**2)) / (sigma * sp.sqrt(2 * sp.pi))

    def survival(self, z: arb) -> arb:
        return (z / (number(self["sigma"])() * arb(2).sqrt())).erfc() / 2

    def local_ratio(self) -> sp.Expr:
        return sp.oo

    def gamma(self) -> sp.Expr:
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


class Logistic(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z logistic with scale 1/eps0: f(z) = eps0 e^(-eps0 z)/(1 + e^(-eps0 z))^2.

    >>> Logistic().gamma()
    2/(exp(eps0/2) + 1)
    """

    name = "logistic noise on [0, 1]"
    slug: ClassVar[str] = "logistic"
    source: ClassVar[str] = "additive noise with the logistic density"
    declared = (EPS0,)

    def __init__(self, *, eps0: Value = None) -> None:
        super().__init__(eps0=eps0)

    def protocol(self) -> protocols.Protocol:
        def noise(n: int, rng: protocols.Rng) -> protocols.Array:
            return rng.logistic(scale=protocols.double(1 / self["eps0"]), size=n)

        return protocols.added(UNIT, noise, sp.pi**2 / (3 * self["eps0"] ** 2))

    def half_density(self) -> sp.Expr:
        eps0 = self["eps0"]
        return eps0 * sp.exp(-eps0 * Z) / (1 + sp.exp(-eps0 * Z)) ** 2

    def survival(self, z: arb) -> arb:
        return 1 / (1 + (number(self["eps0"])() * z).exp())

    def local_ratio(self) -> sp.Expr:
        """Return t = e^eps0, the limit of the ratio far out."""
        return sp.exp(self["eps0"])

    def gamma(self) -> sp.Expr:
        return 2 / (1 + sp.exp(self["eps0"] / 2))

    def tail(self) -> tuple[sp.Expr, sp.Expr]:
        """Return y = -log(w)/eps0: densities are rational in w = e^(-eps0 y)."""
        return -sp.log(W) / self["eps0"], sp.exp(-self["eps0"])


class Cauchy(AdditiveNoise):
    """Send x + Z for x in [0, 1], Z with density scale/(pi (scale^2 + z^2)).

    >>> Cauchy(scale=1).local_ratio()
    (sqrt(5) + 5)**2/20
    """

    name = "Cauchy noise on [0, 1]"
    slug: ClassVar[str] = "cauchy"
    source: ClassVar[str] = "Nissim, Raskhodnikova, Smith 2007"
    declared = (Parameter("scale", lower=0),)

    def __init__(self, *, scale: Value = None) -> None:
        super().__init__(scale=scale)

    def protocol(self) -> protocols.Protocol:
        # The mean of an estimate g(x + Z) is harmonic in (x, scale): only g(y) = y has the mean x, and y has no mean.
        told = "no unbiased one of the mean exists: take other noise, or round values to 0 or 1 and count reports > 1/2"
        noise = protocols.added(UNIT, lambda n, rng: protocols.double(self["scale"]) * rng.standard_cauchy(n), sp.nan)
        return replace(noise, estimator=protocols.no_estimate(self.name, told))

    def half_density(self) -> sp.Expr:
        scale = self["scale"]
        return scale / (sp.pi * (scale**2 + Z**2))

    def survival(self, z: arb) -> arb:
        """Return 1/2 - arctan(z/scale)/pi, without cancellation for large z."""
        scale = number(self["scale"])()
        return (scale / z).atan() / arb.pi() if z > scale else arb(0.5) - (z / scale).atan() / arb.pi()

    def local_ratio(self) -> sp.Expr:
        """Return the largest value of f(y - 1)/f(y), at y = (1 + sqrt(1 + 4 scale^2))/2."""
        return _largest_ratio(self["scale"])

    def gamma(self) -> sp.Expr:
        return 1 - 2 * sp.atan(1 / (2 * self["scale"])) / sp.pi

    def tail(self) -> tuple[sp.Expr, sp.Expr]:
        """Return y = 1/w: densities and their ratios are rational in w, also at w = 0."""
        return 1 / W, sp.S.One


@lru_cache(maxsize=64)
def _largest_ratio(b: sp.Expr) -> sp.Expr:
    y = (1 + sp.sqrt(1 + 4 * b**2)) / 2
    # y solves y^2 = y + b^2.
    return sp.radsimp((2 * b**2 + y) / (2 * b**2 + 1 - y))


# ------------------------------------------------------------- Discrete Gaussian noise on the integers, for inputs 0..B


_KEPT_DEVIATIONS = 33.0  # of noise: what is beyond is less than 2^-785
_KEPT_RATIO_DEVIATIONS = 9.2  # within which ratios are kept at every number of users
_LARGEST_SIZE = sp.Integer(2_000)  # of B and sigma


class DiscreteGaussian(AdditiveNoise):
    """Send x + Z for an integer x in 0..B, P(Z = z) proportional to e^(-z^2/(2 sigma^2)) over all integers z.

    The inputs 0 and B are the worst pair (docs/proofs/worst_pair.md, integers); ``0`` and ``1`` stand for them.
    There is no finite local budget: messages far out are cut as for Gaussian noise.

    >>> import symamp as sa
    >>> sa.epsilon(DiscreteGaussian(B=10, sigma=10), n=10**6, delta="1e-6").upper
    0.00367...
    """

    _internal_names = "at_least total weight"

    name = "discrete Gaussian noise on 0..B"
    slug: ClassVar[str] = "discrete-gaussian"
    source: ClassVar[str] = "Canonne, Kamath, Steinke 2020"
    declared = (
        Parameter("B", lower=1, upper=_LARGEST_SIZE, integer=True),
        Parameter("sigma", lower=0, upper=_LARGEST_SIZE),
    )

    def __init__(self, *, B: Value = None, sigma: Value = None) -> None:
        super().__init__(B=B, sigma=sigma)

    def protocol(self) -> protocols.Protocol:
        """The variance is that of the normal law, which is larger (Canonne, Kamath, Steinke 2020)."""

        def noise(n: int, rng: protocols.Rng) -> protocols.Array:
            """Two-sided geometric numbers, kept by chance."""
            sigma = protocols.double(self["sigma"])
            step = floor(sigma) + 1

            def fits(z: protocols.Array, users: protocols.Array) -> protocols.Array:
                found: protocols.Array = rng.random(len(z)) < np.exp(
                    -((abs(z) - sigma**2 / step) ** 2) / (2.0 * sigma**2)
                )
                return found

            return protocols.retried(n, lambda users: proposed(len(users), rng), fits)

        proposed = protocols.two_sided_geometric(1 - sp.exp(-1 / (sp.floor(self["sigma"]) + 1)))
        return protocols.added(protocols.Domain(sp.S.Zero, self["B"]), noise, self["sigma"] ** 2)

    def half_density(self) -> None:
        return None

    def sides(self) -> tuple[Side, ...]:
        """Return the messages above B/2 with the point masses of the inputs 0 and B, as formulas in the integer y."""
        size, sigma, z = self["B"], self["sigma"], sp.Symbol("z", integer=True)
        total = sp.Sum(sp.exp(-(z**2) / (2 * sigma**2)), (z, -sp.oo, sp.oo))
        mass0, mass1 = (sp.exp(-((Y - x) ** 2) / (2 * sigma**2)) / total for x in (0, size))
        return (Side(size / 2, sp.oo, mass0, mass1, sp.exp(size * (2 * Y - size) / (2 * sigma**2))),)

    def survival(self, z: arb) -> arb:
        return self.at_least(int(z.floor().unique_fmpz()) + 1)

    def local_ratio(self) -> sp.Expr:
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
