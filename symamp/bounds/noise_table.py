"""A table above noise on an interval of inputs: densities are interpolated between messages, and between inputs.

The density of the noise has f'' <= c^2 f on a cell, as a measure: it is above what interpolates it by e^(cy) and
e^(-cy). What is left is bounded by c^2 f - f'': nothing at all for Laplace noise, but at its kink
(docs/proofs/interval.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, cached_property, lru_cache, partial, reduce
from itertools import pairwise, starmap
from math import ceil, exp, inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np
import sympy as sp
from flint import acb, arb
from numpy.typing import NDArray

from symamp.decompositions.to_law import number
from symamp.formulas.normal_form import normal
from symamp.laws.law import Atom, Floats, Law, Number
from symamp.numbers.disks import exponentials
from symamp.numbers.dyadic import float_above
from symamp.numbers.rationals import fmpq_of, fraction_of
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.numbers.systems import Holomorphic
from symamp.randomizers.discrete_laplace import DiscreteLaplace
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Z
from symamp.randomizers.noise.density_mechanism import IntervalDensities, Truncated, X
from symamp.randomizers.noise.distributions import Cauchy, DiscreteGaussian, Gaussian, Laplace, Logistic
from symamp.sums.all_data_sets.marked_messages import added_by_marks
from symamp.sums.inversion import falling_root
from symamp.sums.kernels.tilted import exp_minus_linear

_GRID = 2.0**20
"""Places are multiples of 1/_GRID of the interval: exact doubles, as are their mirror images and differences."""
_ROUNDED = 1.0 + 2.0**-40
"""More than the roundings of sums of some thousand positive doubles."""

# What is tuned. All grids, cells and tilts give a bound; these trade time against width. Rules of thumb.
_SQUARE, _COARSEST = 4e-8, 0.01
"""What cells of messages may leave of densities, squared, as a part of the chi-square; and at most, relatively."""
_TOLD = 4e-4
"""By which part cells of messages may make the chi-square larger."""
_LEAST, _LONGEST = 1 / 400, 1 / 56
"""How long cells of messages are on the interval; beyond it they are no longer than the scale of the noise."""
_FARTHEST = -60, 100.0
"""Noise that is farther away, in units of 1/c, with a chance of 2^-60 has tails for which there would be many cells."""
_FINE, _GROWTH = 256, (0.02, 0.05)
"""Cells on which q is bounded: their number on the interval, their growth beyond it, and the part of 1/c they reach."""
_FIRST_COST, _FLAT_COST, _NO_WORSE = 1.5e-4, 5e-4, 0.992
"""What the first cell of other users' inputs may cost of the chi-square; how large, relatively, that of an inner input
may become by thinning."""
_LEAST_SQUARE = 2.0**-10
"""The least c^2 of truncated noise, where 0 would do."""
_MOST_PLACES = 24
"""Places of other users up to 1/2."""
_MOST_INTEGERS, _MOST_MESSAGES, _MOST_DEVIATIONS = 32, 1000, 6.0
"""Of noise on integers: the largest input, in all and in units of sigma, and about how many messages there are."""
_OF_ANGLES, _MOST_ANGLES = 5e-5, 300
"""What cells of angles may miss, relatively; and of how many there may be on either side."""
_SEARCHED = np.geomspace(1e-3, 30.0, 90)
"""Tilts of remainders, in units of a rough guess."""
_MOST_HEIGHT, _ROUNDS, _MORE = 300.0, 60, 1.001
"""The largest s X of a remainder; rounds until its kappa is nearly found, and what then may be missing."""
_CAPS, _CAP_RANGE, _LARGEST_EPS = 2.0 ** (np.arange(2.0, 120.0) / 3.0), 6.0, 30.0
"""Caps of ratios that are tried where these are unbounded, around what decides alone; and up to which epsilon."""
_OF_SADDLE, _LOBE, _CLOSE = np.geomspace(0.05, 1.5, 32), np.linspace(0.0, 7.0, 32), 0.03
"""Tilts and frequencies of the estimate of what a cap leaves, in units of those of a normal law; and how
near, in log delta, the level is found for which there is one."""
_FAR = 50.0
"""Up to this exponent exponentials in doubles are close to those in balls: their error is 2^-52 (4 + 34 exponents)."""
_APART, _LOWEST, _NO_RISE = 4.0, 1e-100, 1e-6
"""Messages whose ratios to the least density differ by less than this factor are one part of a remainder; heights are
raised to the second where kappa is sought; and up to the exponent x that is the third (e^x - 1 - x)/x^2 is e^x/2."""


Noise = AdditiveNoise | DiscreteLaplace | IntervalDensities


def _dyadic(place: float) -> float:
    return round(place * _GRID) / _GRID


def _above(x: arb) -> float:
    return float_above(x) if x.is_finite() else inf


# --- What is known of a noise: c, q on cells, kinks, tail


class Shape:
    """An even log-concave density f with f'' = c^2 f - q but at 0, where f' may fall, as bounds ask for it.

    c is the rate of the tail and q >= 0 where ratios are bounded; c = 0 for Gaussian noise.

    >>> from symamp.randomizers.noise.distributions import Laplace, Logistic
    >>> shape_of(Laplace(eps0=2)).rate, shape_of(Laplace(eps0=2)).has_exponential_tail
    (2, True)
    >>> shape_of(Logistic(eps0=2)).has_exponential_tail
    False
    """

    def __init__(self, noise: AdditiveNoise | IntervalDensities) -> None:
        found = noise.half_density()
        self.noise, self._has_density, self._half = noise, found is not None, sp.S.Zero if found is None else found
        self._f = Holomorphic(self._half, Z)
        self._known: dict[float, arb] = {}
        self._bends: dict[float, Bends] = {}
        self._halves: dict[tuple[float, float], tuple[arb, arb]] = {}
        self._beyond = cache(lambda z: self.survival(arb(z)))
        self._ends_of = cache(_ends_of_values)  # most cells up to one place are those up to others

    @cached_property
    def unsupported(self) -> str | None:
        """Why the noise has no such bound, None if it has one."""
        if not self._has_density:
            return "here its messages have no density"
        if not self.has_rate and (self._curvature.free_symbols or self.kink != 0.0):
            return "here its ratios are unbounded, and it is not Gaussian"
        far = self.reach(_FARTHEST[0])
        if self.has_rate and far * self.float_rate > _FARTHEST[1]:
            return "here its tail does not fall exponentially"
        falls = self.kink >= 0.0 and (self._bounds(self._curvature, far)[2] <= 0.0).all()
        return None if falls and self.bends(far).are_known else "here its density is not known to be log-concave"

    @cached_property
    def _curvature(self) -> sp.Expr:
        return normal(sp.diff(normal(sp.diff(self._half, Z) / self._half), Z))

    @cached_property
    def precision(self) -> Number:
        """1/sigma^2 of Gaussian noise."""
        return number(-self._curvature)

    @cached_property
    def has_rate(self) -> bool:
        """Whether ratios are bounded."""
        return self.noise.local_ratio() is not sp.oo

    @cached_property
    def rate(self) -> sp.Expr:
        """The number c: the local budget, which is the rate of the tail of log-concave noise; 0 without one."""
        return normal(sp.log(self.noise.local_ratio())) if self.has_rate else sp.S.Zero

    @cached_property
    def c(self) -> Number:
        """The same as an exact number."""
        return number(self.rate)

    @cached_property
    def float_rate(self) -> float:
        """The same in doubles; without a rate the slope of log f where hardly any mass is left."""
        with at_precision(BALL_BITS):
            return float(self.c()) if self.has_rate else self.slope(1.0 + self.reach(_FARTHEST[0]))

    @cached_property
    def _slope(self) -> Holomorphic:
        return Holomorphic(normal(-sp.diff(self._half, Z) / self._half), Z)

    def slope(self, z: float) -> float:
        """Return at least -f'/f for all smaller |z|: c, or where there is none the slope at z itself."""
        with at_precision(BALL_BITS):
            return _above(self.c() if self.has_rate else self._slope(acb(z)).real.max(arb(0)))

    @cached_property
    def has_exponential_tail(self) -> bool:
        """Whether the density is a multiple of e^(-cz): that of Laplace noise."""
        return bool(self.rate != 0 and normal(sp.diff(self._half, Z) + self.rate * self._half) == 0)

    @cached_property
    def _usual(self) -> tuple[type[AdditiveNoise], Number] | None:
        """Of which noise with a quick formula the density is a multiple, with the rate c, or 1/sigma^2."""
        if not self.has_formula:
            return None
        slope, at_top = normal(-sp.diff(self._half, Z) / self._half), self._half.subs(Z, 0)
        if not slope.free_symbols:
            return Laplace, number(slope)
        if not self._curvature.free_symbols and self.kink == 0.0:  # the exponent has no linear term
            return Gaussian, self.precision
        rate = normal(sp.sqrt(-2 * self._curvature.subs(Z, 0)))
        wave = sp.exp(-rate * Z)
        return (Logistic, number(rate)) if normal(self._half - 4 * at_top * wave / (1 + wave) ** 2) == 0 else None

    @property
    def is_logistic(self) -> bool:
        """Whether the density is that of logistic noise, c e^(-cz)/(1 + e^(-cz))^2."""
        return self._usual is not None and self._usual[0] is Logistic

    @cached_property
    def kink(self) -> float:
        """By how much f' falls at 0, at most; -inf where it is not known to fall."""
        fall = normal(-2 * sp.diff(self._half, Z).subs(Z, 0))
        with at_precision(BALL_BITS):
            size = number(fall)()
            return 0.0 if fall == 0 else _above(size) if size > 0 else -inf

    @cached_property
    def usual_ratio(self) -> float:
        """The largest ratio; without one that of messages as far out as one in a thousand."""
        with at_precision(BALL_BITS):
            return exp(min(self.float_rate if self.has_rate else self.slope(self.reach(-10)), 700.0))

    has_formula = True
    """Whether the density of a message is that of the noise at its distance, but for a factor of the input."""
    places: tuple[float, ...] = ()
    others: tuple[float, ...] = ()
    """The inputs, where they are few; and those of other users that have a class."""
    unit = 1
    """The length of the interval, in units of the noise."""
    is_flat = False
    """Whether inputs near an end are hardly better than it: then there are many cells of them. No certificate lists
    their tables."""
    steps = 0
    """The number of steps from 0 to 1 where inputs are integers, else 0: places are names of multiples of 1/steps."""

    def rounded(self, place: float) -> float:
        """Return the nearest place: mirror images of places are places."""
        return _dyadic(round(place * self.steps) / self.steps if self.steps else place)

    def after(self, place: float, size: float) -> float:
        """Return the place that is about so much further than a place, and further."""
        shortest = 1.0 / (self.steps or _GRID)
        return self.rounded(place + max(self.rounded(size), shortest))

    @property
    def middle(self) -> float:
        """The last place that is not beyond 1/2."""
        nearest = self.rounded(0.5)
        return min(nearest, 1.0 - nearest)

    def has_none_between(self, start: float, end: float) -> bool:
        """Return whether two inputs have no other between them."""
        return 0 < round((end - start) * self.steps) <= 1

    def nodes(self, far: float) -> tuple[float, ...] | None:
        """Return the messages of all tables, None where they are chosen."""
        return None

    def exact(self, place: float) -> Fraction:
        """Return a place as a number."""
        return Fraction(round(place * self.steps), self.steps) if self.steps else Fraction(place)

    def distance(self, start: float, end: float) -> arb:
        """Return by how much the second of two places is larger."""
        return arb(fmpq_of(self.exact(end) - self.exact(start))) if self.steps else arb(end) - arb(start)

    @property
    def is_whole(self) -> bool:
        """Whether tables have all messages: nothing is cut off."""
        return self.has_exponential_tail

    def row(self, nodes: Sequence[float], place: float) -> list[arb]:
        """Return the densities of messages on an input at a fixed precision."""
        z = [abs(y - place) for y in nodes]
        z = [round(x * self.steps) for x in z] if self.steps else z
        with at_precision(BALL_BITS):
            self._known |= {x: self._value(x) for x in z if x not in self._known}
        return [self._known[x] for x in z]

    def densities(self, nodes: Sequence[float], place: float) -> Floats:
        """Return the densities of messages on an input, within a part of 2^-41 of the exact ones."""
        with at_precision(BALL_BITS):
            if self._usual is None:
                return np.array([float(x) for x in self.row(nodes, place)])
            kind, rate = self._usual
            z = np.abs(np.array(nodes) - place)
            z = np.round(z * self.steps) / self.steps if self.steps else z
            x = float(rate()) * (0.5 * z**2 if kind is Gaussian else z)
            wave = exponentials(-np.clip(x, -_FAR, _FAR))
            found = self._height / float(self.mass(place)) * (4 * wave / (1 + wave) ** 2 if kind is Logistic else wave)
            far = np.flatnonzero(np.abs(x) > _FAR)
            found[far] = [float(f) for f in self.row([nodes[k] for k in far.tolist()], place)]
            return np.asarray(found)

    def mass(self, place: float) -> arb:
        """Return what the noise at a place is divided by."""
        return arb(1)

    def weights(self, nodes: Sequence[float]) -> list[arb]:
        """Return the integrals of the functions that are 1 at one of the nodes, and 0 at the others."""
        tail = [1 / self.c()] if self.has_exponential_tail else [arb(0)]
        for cell in pairwise(nodes):  # most cells of one table are those of others
            if cell not in self._halves:
                self._halves[cell] = self.halves(*cell)
        after, before = zip(*(self._halves[cell] for cell in pairwise(nodes)), strict=True)
        return [a + b for a, b in zip([*tail, *before], [*after, *tail], strict=True)]

    @cached_property
    def bend(self) -> float:
        """Mixtures of two inputs miss at most this times the square of their distance: 1 - 1/cosh(ch/2)."""
        with at_precision(BALL_BITS):
            c = self.c()
            return _above(c * c) / 8.0 * _ROUNDED

    def steep(self, cells: Floats) -> Floats:
        """Return by how much, relatively, what interpolates bends on cells of messages."""
        with at_precision(BALL_BITS):
            if self.has_rate:
                return np.full(len(cells), _above(self.c() ** 2) * _ROUNDED)
            a = _above(self.precision()) * _ROUNDED
        return np.asarray(a * a / 4.0 * np.exp(a * cells / 2.0) * _ROUNDED)

    def missed(self, table: NoiseTable, place: float, at_nodes: Floats) -> Floats:
        """Return at most what interpolation leaves of an input on cells of messages, by their length squared/8."""
        if self.has_rate:
            return table.bends.between(table.y[:-1] - place, table.y[1:] - place)
        # the place is a node: densities on a cell are at most those at its ends
        return np.asarray(
            4.0 * place * (1.0 - place) * self.steep(table.cells) * np.maximum(at_nodes[:-1], at_nodes[1:])
        )

    def missed_between(self, table: NoiseTable, start: float, end: float, most: Floats) -> Floats:
        """Return the same of inputs between two, by their distance squared/8; ``most`` is their larger density."""
        return table.bends.between(table.y[:-1] - end, table.y[1:] - start)

    def kept(self, first: arb, second: arb, h: float) -> arb:
        """Return what mixtures of two inputs are multiplied by, at a message, to be below all between: e^(-L^2/8)."""
        size = (first / second).log()
        return (-size * size / 8).exp()

    def thinned(self, length: float, slopes: Floats) -> Floats:
        """Return about the same for inputs at a distance, where messages have these slopes."""
        return np.asarray(np.exp(-((length * slopes) ** 2) / 8.0))

    def at(self, z: float) -> arb:
        """Return f(z) at a fixed precision."""
        return Shape.row(self, [z], 0.0)[0]

    def _value(self, z: float) -> arb:
        """Return f(z), for z >= 0 in steps where there are some."""
        if self._usual is None:
            return self._f(acb(z)).real
        kind, rate = self._usual
        if kind is Gaussian:
            return self._top * (-rate() * arb(z) ** 2 / 2).exp()
        wave = (-rate() * arb(z)).exp()
        risen = 1 + wave
        return 4 * self._top * wave / (risen * risen) if kind is Logistic else self._top * wave

    @cached_property
    def _top(self) -> arb:
        """f(0), at a fixed precision."""
        with at_precision(BALL_BITS):
            return self._f(acb(0)).real

    def survival(self, z: arb) -> arb:
        """Return P(Z > z)."""
        assert isinstance(self.noise, AdditiveNoise)
        return self.noise.survival(z)

    @cached_property
    def _height(self) -> float:
        return float(self.at(0.0))

    @cached_property
    def scale(self) -> float:
        """About the scale of the noise: 1/(2 f(0))."""
        return 0.5 / self._height

    def halves(self, a: float, b: float) -> tuple[arb, arb]:
        """Return the integrals from a to b of the functions that are 1 at one of the ends, and 0 at the other.

        They are combinations of e^(cy) and e^(-cy); for Gaussian noise of the densities of the inputs 0 and 1.
        """
        if self.has_rate:
            c, h = self.c(), self.distance(a, b)
            half = h / 2 if c.is_zero() else (c * h / 2).tanh() / c
            return half, half
        first, second = (self._mass(a - x, b - x) for x in (0.0, 1.0))
        (p, q), (r, t) = ([self.at(y - x) for y in (a, b)] for x in (0.0, 1.0))
        whole = p * t - q * r
        return (t * first - q * second) / whole, (p * second - r * first) / whole

    def _mass(self, a: float, b: float) -> arb:
        """Return the mass of z between two numbers of one sign."""
        near, far = sorted((abs(a), abs(b)))
        return self._beyond(near) - self._beyond(far)

    def reach(self, log2_mass: int) -> float:
        """Return how far beyond the interval messages go: beyond it there is less mass than this, on either side."""
        if self.has_exponential_tail:
            return 0.0
        with at_precision(BALL_BITS):
            low, high = 0.0, self.scale
            while high < 2.0**20 and not self.survival(arb(high)) < arb(2) ** log2_mass:
                low, high = high, 2.0 * high
            for _ in range(8):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if self.survival(arb(middle)) < arb(2) ** log2_mass else (middle, high)
        return ceil(high * 64.0) / 64.0

    def bends(self, far: float) -> Bends:
        """Return bounds of |q| up to 1 + far: q >= 0 where there is a rate, as f is log-concave."""
        if far not in self._bends:
            ends, low, high = self._bounds(normal(self.rate**2 * self._half - sp.diff(self._half, Z, 2)), far)
            self._bends[far] = Bends(ends, high if self.has_rate else np.maximum(high, -low))
        return self._bends[far]

    @property
    def longest(self) -> float:
        """How long cells beyond the interval may be on which functions are bounded."""
        return _GROWTH[1] / self.float_rate

    def _bounds(self, formula: sp.Expr, far: float) -> tuple[Floats, Floats, Floats]:
        """Return cells of z up to 1 + far, and the least and the largest value of a formula in z on each."""
        ends = [k / _FINE for k in range(_FINE + 1)]
        while ends[-1] < 1.0 + far:
            ends.append(ends[-1] + max(1.0 / _FINE, min(_GROWTH[0] * (ends[-1] - 1.0), self.longest)))
        if formula == 0:
            return np.array(ends), np.zeros(len(ends) - 1), np.zeros(len(ends) - 1)
        with at_precision(64):
            low, high = np.array(list(starmap(self._ends_of(formula), pairwise(ends)))).T
        return np.array(ends), low, high


def _ends_of_values(formula: sp.Expr) -> Callable[[float, float], tuple[float, float]]:
    """Return the least and the largest value of a formula in z between two numbers, as a function of these."""
    q = Holomorphic(formula, Z)

    @cache
    def ends(a: float, b: float) -> tuple[float, float]:
        value = q(acb(arb(a).union(arb(b)))).real
        return -_above(-value), _above(value)

    return ends


class _OfIntegers(Shape):
    """Discrete Gaussian noise on few inputs: all messages that are kept, and nothing between them or between inputs."""

    def __init__(self, noise: AdditiveNoise) -> None:
        super().__init__(noise)
        assert isinstance(noise, DiscreteGaussian)
        self.integers, self.unit, self._sigma = noise, int(noise["B"]), float(noise["sigma"])
        self.steps = self.unit
        self.places = tuple(self._place(k) for k in range(self.unit + 1))
        half = [k for k in (2**i - 1 for i in range(_MOST_INTEGERS)) if 2 * k <= self.unit]
        self.others = tuple(self._place(k) for k in sorted({*half, *(self.unit - k for k in half)}))

    def _place(self, k: int) -> float:
        return self.rounded(k / self.unit)

    @cached_property
    def unsupported(self) -> str | None:
        if self.unit > _MOST_INTEGERS:
            return f"here it has more than {_MOST_INTEGERS + 1} inputs"
        if self.unit + 2 * self._farthest(_FARTHEST[0]) > _MOST_MESSAGES:
            return "here it has too many messages"
        return None if self.unit <= _MOST_DEVIATIONS * self._sigma else "here its inputs are too far apart"

    def _farthest(self, log2_mass: int) -> int:
        """Return an integer beyond which there is less mass than this: P(Z > k) <= e^(-k^2/(2 sigma^2))."""
        return ceil(self._sigma * sqrt(-1.4 * log2_mass))

    def nodes(self, far: float) -> tuple[float, ...]:
        most = round(far * self.unit)
        return tuple(self._place(k) for k in range(-most, self.unit + most + 1))

    def _value(self, z: float) -> arb:
        return self.integers.weight(int(z)) / self.integers.total()

    def reach(self, log2_mass: int) -> float:
        def is_far(k: int) -> bool:
            return bool(self.integers.at_least(k + 1) < arb(2) ** log2_mass)

        with at_precision(BALL_BITS):
            return self._place(bisect_left(range(self._farthest(log2_mass)), True, key=is_far))

    def weights(self, nodes: Sequence[float]) -> list[arb]:
        return [arb(1)] * len(nodes)

    def slope(self, z: float) -> float:
        return self.unit**2 * z / self._sigma**2

    def bends(self, far: float) -> Bends:
        return Bends(np.array([0.0, 1.0 + far]), np.zeros(1))

    def steep(self, cells: Floats) -> Floats:
        return np.zeros(len(cells))

    bend, kink, has_rate, has_exponential_tail, has_formula = 0.0, 0.0, False, False, False


class _OnIntegers(Shape):
    """Discrete Laplace noise, clipped: densities of Laplace noise, at messages and inputs that are multiples of 1/B.

    Weights of all these messages make their probabilities of the densities.
    """

    def __init__(self, noise: DiscreteLaplace) -> None:
        super().__init__(Laplace(eps0=noise["eps0"]))
        self.steps = noise.B

    def _value(self, z: float) -> arb:
        c = self.c()
        return c / 2 * (-c * int(z) / self.steps).exp()

    def steep(self, cells: Floats) -> Floats:
        return np.where(cells * self.steps < 1.5, 0.0, super().steep(cells))  # no message is inside


class _OnCircle(Shape):
    """Cauchy noise: messages are 1/2 + tau tan(psi), tau^2 = scale^2 + 1/4, in units of the angle of the interval.

    The density for the angle is a constant over A + B cos(2 psi) + C sin(2 psi), on all of the circle.
    """

    def __init__(self, noise: AdditiveNoise) -> None:
        super().__init__(noise)
        with at_precision(BALL_BITS):
            self._s = number(noise["scale"])()
            self._tau = (self._s * self._s + arb(0.25)).sqrt()
            self._wide = 2 * (1 / (2 * self._tau)).atan()  # the angle of the interval
            self._end = (
                _dyadic(0.5 + float(arb.pi() / (2 * self._wide))) + 1.0 / _GRID
            )  # a name for the end of the circle
            s, tau = self._s, self._tau
            c = 9 * tau * tau / (2 * s * s) - 4  # the largest F''/F, and the least is -4/(2 tau - 1)
            self._c, self._missed = c.sqrt() * self._wide, _above((c + 4 / (2 * tau - 1)) * self._wide * self._wide)
            self.bend, self._slope_of_angle = _above(9 / (64 * s * s)), _above(self._wide / s)
            self._slope_of_input = _above(1 / s)

    unsupported, is_whole, kink, has_exponential_tail, has_formula = None, True, 0.0, False, False

    def nodes(self, far: float) -> tuple[float, ...]:
        step = max((8.0 * _OF_ANGLES / self._missed) ** 0.5, self._end / _MOST_ANGLES)
        parts = ((0.5, 1.0), (1.0, self._end)) if self._end > 1.0 + 1e-6 else ((0.5, 1.0),)
        right = [self.rounded(x) for a, b in parts for x in np.linspace(a, b, 2 + int((b - a) / step))[:-1].tolist()]
        return (1.0 - self._end, *(1.0 - x for x in right[:0:-1]), *right, self._end)

    def _angle(self, node: float) -> arb:
        if abs(node - 0.5) >= self._end - 0.5:
            return arb.pi() / (2 if node > 0.5 else -2)
        return (arb(node) - arb(0.5)) * self._wide

    def row(self, nodes: Sequence[float], place: float) -> list[arb]:
        with at_precision(BALL_BITS):
            return [self._density(y, place) for y in nodes]

    def _density(self, node: float, place: float) -> arb:
        u, s, tau = arb(0.5) - arb(place), self._s, self._tau
        sine, cosine = self._angle(node).sin_cos()
        away = u * cosine + tau * sine  # its ball may contain 0, of which a power is no number
        return s * tau / (arb.pi() * (s * s * cosine * cosine + away * away)) * self._wide

    def reach(self, log2_mass: int) -> float:
        return self._end - 1.0

    def weights(self, nodes: Sequence[float]) -> list[arb]:
        lengths = [(self._angle(b) - self._angle(a)) / self._wide for a, b in pairwise(nodes)]
        halves = [(self._c * h / 2).tanh() / self._c for h in lengths]
        return [a + b for a, b in zip([arb(0), *halves], [*halves, arb(0)], strict=True)]

    @cached_property
    def usual_ratio(self) -> float:
        return float(number(self.noise.local_ratio())())

    def slope(self, z: float) -> float:
        return self._slope_of_input

    def bends(self, far: float) -> Bends:
        return Bends(np.array([0.0, 1.0 + far]), np.zeros(1))

    def steep(self, cells: Floats) -> Floats:
        return np.full(len(cells), _above(self._c * self._c) * _ROUNDED)

    def missed(self, table: NoiseTable, place: float, at_nodes: Floats) -> Floats:
        most = np.maximum(at_nodes[:-1], at_nodes[1:]) * np.exp(self._slope_of_angle * table.cells)
        return np.asarray(self._missed * most * _ROUNDED)

    def missed_between(self, table: NoiseTable, start: float, end: float, most: Floats) -> Floats:
        far = self._slope_of_input * (end - start) + self._slope_of_angle * table.cells
        return np.asarray(200.0 / 9.0 * self.bend * np.maximum(most[:-1], most[1:]) * np.exp(far) * _ROUNDED)

    def kept(self, first: arb, second: arb, h: float) -> arb:
        return (-5 * (arb(h) / self._s) ** 2 / 32).exp()


class _InWindow(Shape):
    """Truncated noise: messages end, the density is f(y - x)/N(x), and N(0) = 1 is the least value of N.

    c is such that f'' <= c^2 f on all of the window. All that is bounded of f is so of f/N.
    """

    has_rate, has_exponential_tail, is_whole = True, False, True
    longest = inf  # the rate is found on these cells
    is_flat = True

    def __init__(self, noise: IntervalDensities) -> None:
        super().__init__(noise)
        self._cut, self._masses = noise.truncated, dict[float, arb]()

    @property
    def _truncated(self) -> Truncated:
        assert self._cut is not None
        return self._cut

    @cached_property
    def _formula(self) -> Holomorphic:
        return Holomorphic(self._truncated.whole, X)

    def mass(self, place: float) -> arb:
        if place not in self._masses:
            with at_precision(BALL_BITS):
                self._masses[place] = self._formula(acb(place)).real
        return self._masses[place]

    @cached_property
    def unsupported(self) -> str | None:
        if self._cut is None:
            return "here it is not proved to be truncated noise whose worst pair are the ends of the inputs"
        far = self._cut.far
        if not (far.is_Rational and fraction_of(far) == _dyadic(float(far))):
            return "here messages begin at no multiple of 2^-20 times the length of the inputs"
        smooth = np.isfinite(self._bounds(sp.diff(self._half, Z, 2), float(far))[2]).all()
        return None if smooth and self.kink >= 0.0 else "here its density is not known to be smooth but at 0"

    @cached_property
    def rate(self) -> sp.Expr:
        """A number c for which f'' <= c^2 f."""
        square = normal(sp.diff(self._half, Z, 2) / self._half)
        if not square.free_symbols:
            return sp.sqrt(square)
        most = float(self._bounds(square, self.reach(0))[2].max())
        return sp.sqrt(sp.Rational(max(most, _LEAST_SQUARE)))

    @cached_property
    def bend(self) -> float:
        """Mixtures of two inputs miss at most this times the square of their distance: (c^2 N - N'')/8 at most."""
        whole = self._truncated.whole.xreplace({X: Z})
        return float(self._bounds(normal(self.rate**2 * whole - sp.diff(whole, Z, 2)), 0.0)[2].max()) / 8.0 * _ROUNDED

    @cached_property
    def usual_ratio(self) -> float:
        return float(number(self.noise.local_ratio())())

    def reach(self, log2_mass: int) -> float:
        return float(self._truncated.far)

    def row(self, nodes: Sequence[float], place: float) -> list[arb]:
        with at_precision(BALL_BITS):
            return [x / self.mass(place) for x in super().row(nodes, place)]

    def kept(self, first: arb, second: arb, h: float) -> arb:
        at_least = 1 / (self.mass(0.5) * (self.c() * arb(h) / 2).cosh())
        return (1 - arb(self.bend) * arb(h) ** 2).max(at_least)

    def thinned(self, length: float, slopes: Floats) -> Floats:
        with at_precision(BALL_BITS):
            return np.full(len(slopes), float(self.kept(arb(1), arb(1), length)))


@lru_cache(maxsize=64)
def shape_of(noise: Noise) -> Shape:
    """Return what is known of a noise."""
    if isinstance(noise, DiscreteLaplace):
        return _OnIntegers(noise)
    kinds: dict[type, type[Shape]] = {DiscreteGaussian: _OfIntegers, Cauchy: _OnCircle, IntervalDensities: _InWindow}
    return kinds.get(Shape if noise.parameters else type(noise), Shape)(noise)


class Bends:
    """Bounds on cells of z >= 0 of an even function, inf where there is none; those of ranges are found at once."""

    def __init__(self, ends: Floats, most: Floats) -> None:
        self.ends, self.is_zero, self.are_known = ends, not most.any(), bool(np.isfinite(most).all())
        self._levels = [most]
        while 2 ** len(self._levels) <= len(most):
            step = 2 ** (len(self._levels) - 1)
            self._levels.append(np.maximum(self._levels[-1][:-step], self._levels[-1][step:]))

    def between(self, low: Floats, high: Floats) -> Floats:
        """Return a bound for each range of z, of either sign."""
        if self.is_zero:
            return np.zeros(np.broadcast(low, high).shape)
        least = np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        most = np.maximum(np.abs(low), np.abs(high))
        i = np.clip(np.searchsorted(self.ends, least, "right") - 1, 0, len(self.ends) - 2)
        j = np.clip(np.searchsorted(self.ends, most, "left") - 1, i, len(self.ends) - 2)
        found = np.full(i.shape, inf)
        depth = np.floor(np.log2(j - i + 1.0)).astype(np.int64)
        for k in np.unique(depth).tolist():
            some, row = depth == k, self._levels[k]
            found[some] = np.maximum(row[i[some]], row[j[some] + 1 - 2**k])
        return np.where(most <= self.ends[-1], found, inf)


# --- What a cell of compared inputs leaves of the mixture of its ends


class Side(NamedTuple):
    """A cell of one compared input: (1 + kappa) or (1 - kappa) times a mixture of its ends leaves at most ``rest``."""

    kappa: float
    rest: float


class Remainder(NamedTuple):
    """Bounds of sigma = R - (1 + kappa) P, or (1 - kappa) P - R, against the least density m, for all inputs of a cell.

    Messages are in parts: those at which the kink may be, and the others. With t = eta + kappa the integral of
    sigma^2/m over a part is at most w0 + w1 t^2, and sigma/m there x0 + x1 t, with x1 = 0; where what interpolation
    leaves has ``either`` sign, parts are by how large ratios to m are, and the integral is (w0^(1/2) + w1^(1/2) t)^2.
    The integral of sigma is at most ``lost`` - kappa, and with ``whole`` for kappa sigma is nowhere positive.
    """

    w: Floats
    x: Floats
    eta: float
    lost: float
    whole: float
    either: bool = False

    def squares(self, t: Floats) -> Floats:
        """Return the bounds of the integral of sigma^2/m, a row for each part."""
        w0, w1 = self.w[..., None]
        crossed = 2.0 * t * np.sqrt(w0 * w1) if self.either else 0.0
        return np.asarray((w0 + w1 * t * t + crossed) * _ROUNDED)

    def heights(self, t: Floats) -> Floats:
        """Return the bounds of sigma/m, a row for each part."""
        x0, x1 = self.x[..., None]
        return np.asarray((x0 + x1 * t) * _ROUNDED)

    def kappa(self, n: int, log_rest: float) -> tuple[float, float]:
        """Return (kappa, s) of least kappa by doubles: what s proves of the remainder is about e^log_rest."""
        square = float(self.squares(np.array([self.eta])).sum())
        if not square > 0.0:
            return self.whole, 1.0
        with np.errstate(all="ignore"):  # what is no number proves nothing
            s = _SEARCHED * (-2.0 * log_rest / n / square) ** 0.5
            needed = np.maximum(-log_rest - 1.0 - np.log(n * s), 0.0) / (n * s) + self.lost
            found = np.zeros(len(s))
            for _ in range(_ROUNDS):  # from below, as all grows with kappa: the least is known once it grows no more
                before, t = found, self.eta + found * _MORE
                heights, squares = np.maximum(self.heights(t), _LOWEST), self.squares(t)
                bent = (exp_minus_linear(s * heights) * squares / heights**2).sum(axis=0) / s
                found = np.where(s * heights.max(axis=0) <= _MOST_HEIGHT, needed + bent, inf)
                k = int(found.argmin())
                if found[k] <= before[k] * _MORE:
                    return min(float(before[k]) * _MORE, self.whole), float(s[k])
        return self.whole, 1.0

    def side(self, n: int, kappa: float, s: float, log_unit: float = 0.0) -> Side:
        """Return what is proved with this kappa and the tilt s, in units of e^``log_unit``.

        Guarantee
        ---------
        ``rest`` is at least D(sigma | O) for every input of the cell and all inputs of the n - 1 other users.
        Proof: docs/proofs/interval.md.
        """
        if kappa >= self.whole:
            return Side(kappa, 0.0)
        t = np.array([(self.eta + kappa) * _ROUNDED])
        tilt, logarithm = arb(s), arb(s) * (arb(self.lost) - arb(kappa))
        for w, x in zip(self.squares(t)[:, 0].tolist(), self.heights(t)[:, 0].tolist(), strict=True):
            if not s * x <= 2.0 * _MOST_HEIGHT:
                return Side(kappa, inf)
            y = tilt * arb(x)
            risen = tilt**2 / 2 * y.exp() if s * x < _NO_RISE else (y.exp() - 1 - y) / arb(x) ** 2
            logarithm += arb(w) * risen
        return Side(kappa, _above((n * logarithm - 1 - arb(log_unit)).exp() / (n * tilt)))


# --- The table: messages, rows, laws of other users, remainders


class NoiseTable:
    """The table above a noise for the inputs at ``places``, parts of the interval from 0 to 1.

    Messages are nodes y, the places among them, up to ``far`` beyond either end; each is drawn, given the table's, from
    the function that interpolates there: a combination of e^(cy) and e^(-cy) that is 1 at y and 0 at its neighbours.

    >>> from symamp.randomizers.noise.distributions import Laplace
    >>> table = NoiseTable(shape_of(Laplace(eps0=1)), (0.0, 0.25, 0.5, 1.0))
    >>> bool(abs(table.rows([0.25]).sum() - 1.0) < 1e-15)
    True
    """

    def __init__(
        self,
        shape: Shape,
        nodes: Sequence[float],
        bends: Bends | None = None,
        lost: float = 0.0,
        cap: float = inf,
    ) -> None:
        self.shape, self.nodes, self.lost, self.cap = shape, tuple(nodes), lost, cap
        self.bends = shape.bends(max(self.nodes[-1] - 1.0, 0.0)) if bends is None else bends
        self.y = np.array([float(shape.exact(y)) for y in self.nodes])
        self.cells = np.diff(self.y)
        self._rows: dict[float, tuple[list[arb], arb]] = {}
        self._doubles: dict[float, Floats] = {}
        self._densities, self._left_over = cache(partial(shape.densities, self.nodes)), cache(self._missed)
        with at_precision(BALL_BITS):
            self.weights = shape.weights(self.nodes)
            self._tail = _above(1 / shape.c()) if shape.has_exponential_tail else 0.0
        self._steep = shape.steep(self.cells)

    def row(self, place: float) -> tuple[list[arb], arb]:
        """Return the masses of the nodes for the input at a place, and their sum, which is about 1."""
        if place not in self._rows:
            with at_precision(BALL_BITS):
                row = self.shape.row(self.nodes, place)
                masses = [w * f for w, f in zip(self.weights, row, strict=True)]
                self._rows[place] = masses, sum(masses, arb(0))
        return self._rows[place]

    @cached_property
    def marked(self) -> NDArray[np.bool_]:
        """Which nodes are told apart from all others: those on the left with ratios above the cap."""
        return (self._densities(0.0) > self.cap * self._hidden) & (self.y < 0.5)

    def probabilities(self, place: float) -> list[arb]:
        """Return the row of a place: probabilities."""
        with at_precision(BALL_BITS):
            masses, whole = self.row(place)
            share = 1 / whole
            return [m * share for m in masses]

    def kept(self, place: float) -> list[arb]:
        """Return the row at most ``cap`` times what every input's law has, 0 at marked nodes."""
        if self.cap == inf:
            return self.probabilities(place)
        with at_precision(BALL_BITS):
            every = zip(self.probabilities(place), (self.cap * self.hidden).tolist(), self.marked.tolist(), strict=True)
            return [arb(0) if is_marked else p.min(arb(x)) for p, x, is_marked in every]

    def rows(self, places: Sequence[float]) -> Floats:
        """Return what is kept of rows in doubles, each number the nearest to the exact one, one row a place."""
        if self.cap == inf:
            return self.whole_rows(places)
        return np.where(self.marked, 0.0, np.minimum(self.whole_rows(places), self.cap * self.hidden))

    def whole_rows(self, places: Sequence[float]) -> Floats:
        """Return the rows themselves in the same way."""
        for place in {*places} - self._doubles.keys():
            self._doubles[place] = np.array([float(x) for x in self.probabilities(place)])
        return np.array([self._doubles[place] for place in places])

    # Densities at the nodes, and on the cells between them, rounded outward

    def _missed(self, place: float) -> Floats:
        """Return at most what interpolation between messages leaves of a row."""
        return np.asarray(self.cells**2 / 8.0 * self.shape.missed(self, place, self._densities(place)) * _ROUNDED)

    def _between_inputs(self, start: float, end: float) -> Floats:
        """Return at most what interpolation between two inputs leaves, but for the kink."""
        h, most = (end - start) * _ROUNDED, np.maximum(self._densities(start), self._densities(end))
        return np.asarray(h * h / 8.0 * self.shape.missed_between(self, start, end, most) * _ROUNDED)

    @cached_property
    def _hidden(self) -> Floats:
        """Densities at the nodes of a measure on the table that no input's law is below."""
        return np.asarray(np.minimum(self._densities(0.0), self._densities(1.0)) / _ROUNDED)

    @property
    def hidden(self) -> Floats:
        """Its masses: a blanket."""
        return np.asarray(self._hidden * self._float_weights / _ROUNDED)

    @cached_property
    def _float_weights(self) -> Floats:
        return np.array([float(w) for w in self.weights])

    # Other users

    def classes(self, places: Sequence[float]) -> list[list[arb]]:
        """Return the laws of other users, less than those of all inputs beside each place; the rest comes last."""
        found = list[list[arb]]()
        with at_precision(BALL_BITS):
            rows = [self.row(place)[0] for place in places]
            gaps = [b - a for a, b in pairwise(places)]
            none_between = [self.shape.has_none_between(a, b) for a, b in pairwise(places)]
            kept = [
                [arb(1) if alone else self.shape.kept(a, b, h) for a, b in zip(*pair, strict=True)]
                for h, alone, pair in zip(gaps, none_between, pairwise(rows), strict=True)
            ]
            for k, row in enumerate(rows):
                here = [reduce(arb.min, some) for some in zip(*kept[max(k - 1, 0) : k + 1], strict=True)]
                thinned = [m * reduce(arb.min, here[max(j - 1, 0) : j + 2]) for j, m in enumerate(row)]
                found.append([*thinned, (1 - sum(thinned, arb(0))).max(arb(0))])
        return found

    def laws(self, places: Sequence[float]) -> Floats:
        """Return the same in doubles."""
        return np.array([[float(x) for x in row] for row in self.classes(places)])

    def law(self, pair: tuple[float, float], other: Sequence[arb]) -> Law:
        """Return the law of a pair where others have a law of ``classes``."""
        first, second = (self.kept(x) for x in pair)
        with at_precision(BALL_BITS):
            every = list(zip(first, second, other, self.marked.tolist(), strict=False))
            atoms = [Atom(_fixed(a / o), _fixed(b / o), _fixed(o)) for a, b, o, is_marked in every if not is_marked]
            # another user's own symbol says nothing of the victim, nor do marks, which are told apart
            rest = sum((o for _, _, o, is_marked in every if is_marked), other[-1])
            atoms.append(Atom(_fixed(arb(0)), _fixed(arb(0)), _fixed(rest), True))
        return Law(tuple(atoms), (), True)

    # The compared user

    def remainder(self, start: float, end: float, above: bool) -> Remainder:
        """Return what the mixture of the ends of a cell of inputs leaves of an input, for all inputs of the cell.

        Guarantee
        ---------
        The numbers are the bounds that ``Remainder`` names. Proof: docs/proofs/interval.md.
        """
        inside = [float(self.shape.exact(x)) for x in (start, end)]
        h, either = (inside[1] - inside[0]) * _ROUNDED, not self.shape.has_rate
        at_nodes = np.maximum(self._densities(start), self._densities(end)) * _ROUNDED
        hidden, small = self._hidden, 1.0 / _ROUNDED
        # of cells that are too long nothing is known
        bent = np.maximum(1.0 - self._steep / 8.0 * self.cells**2 * _ROUNDED, 1e-300)
        least, most = np.minimum(hidden[:-1], hidden[1:]) * bent, np.maximum(hidden[:-1], hidden[1:]) * _ROUNDED
        ratio = at_nodes / hidden
        if not self.shape.has_exponential_tail:  # whose rows sum to 1
            small = min(float(self._densities(x) @ self._float_weights) for x in (start, end)) / _ROUNDED**2
        bend = 0.0 if self.shape.has_none_between(start, end) else self.shape.bend
        eta = max(1.0 - (1.0 - bend * h * h) * small, 0.0) * _ROUNDED + (_ROUNDED - 1.0)
        if not bend and self.shape.steps:  # there are no inputs between: nothing but what is cut off
            nothing = np.zeros((2, 1))
            return Remainder(nothing, nothing, eta, 0.0, 0.0 if above else eta)
        b = self._between_inputs(start, end) + np.maximum(self._left_over(start), self._left_over(end))
        r = np.maximum(ratio[:-1], ratio[1:]) / small * _ROUNDED
        # inside of the cell there is the kink: few messages, that tell more than the others
        p = self.shape.kink * h / 4.0 * _ROUNDED
        touched = (self.y[:-1] < inside[1]) & (self.y[1:] > inside[0]) & (p > 0.0)
        part = (np.log(r) / log(_APART)).astype(int) if either else touched.astype(int)
        parts = [part == k for k in np.unique(part).tolist()]
        squares, heights = (self.cells * (b * b / least), self.cells * (most * r * r)), (b / least, r)
        w = np.array([[row[some].sum() for some in parts] for row in squares])
        x = np.array([[row[some].max() for some in parts] for row in heights])
        if self._tail:
            for k in (0, -1):
                there = float(ratio[k]) / small * _ROUNDED
                w[1, 0] += self._tail * float(hidden[k]) * there**2 * _ROUNDED
                x[1, 0] = max(x[1, 0], there)
        worst = b
        if p > 0.0:
            shortest = _ROUNDED / self.shape.steps if self.shape.steps else 0.0
            m, there = float(least[touched].min()), float(b[touched].max())
            w[0, -1] += (h + shortest) * (p * p / 3.0 + p * there) / m
            x[0, -1] = max(x[0, -1], (there + p) / m * _ROUNDED)
            worst = b + np.where(touched, p, 0.0)
        if not either:
            x[0], x[1] = (x[0] if above else x[1] * eta * _ROUNDED), 0.0
        interpolated = np.minimum(self._densities(start), self._densities(end)) / _ROUNDED
        whole = float((worst / (np.minimum(interpolated[:-1], interpolated[1:]) * bent)).max()) * _ROUNDED
        if not above:
            whole = eta + (whole if either else 0.0)
        return Remainder(w, x, eta, 0.0 if above else self.lost, whole * _ROUNDED, either)


def _fixed(value: arb) -> Number:
    return lambda: value


# --- Where messages and other users are: as few as cost next to nothing, by doubles


class Cut(NamedTuple):
    """What is left out of noise: a mass on either side, ratios to the least density above a cap, details if coarse."""

    log2_mass: int
    cap: float = inf
    coarse: float = 1.0


class Grid:
    """The messages and the other users' inputs of all tables above one noise, cut where so little mass is left."""

    def __init__(self, shape: Shape, cut: Cut) -> None:
        self.shape, self.far, self.cap, self.coarse = shape, shape.reach(cut.log2_mass), cut.cap, cut.coarse
        with at_precision(BALL_BITS):
            self.outside = 0.0 if shape.is_whole else _above(shape.survival(arb(self.far) * shape.unit))
        self._bends = shape.bends(self.far)
        self._steps = self._spaced() if shape.nodes(self.far) is None else []
        self._base = self._made(())
        self.best_cap, self.eps_for, self.lost = cache(self._best_cap), cache(self._eps_for), cache(self._lost)

    def _best_cap(self, n: int, e: float) -> tuple[float, float]:
        """Return the cap of ratios with the least bound of the ends, and an estimate of its logarithm.

        The bound has what marks add and, of the rest, the integral of |M|^n: it knows no phases, and large ratios that
        are rare have some. With all others at an end, where they are the larger.
        """
        (first, other), hidden = self._ends
        largest, alone = float((first / hidden).max()), n * (e - 1.0) + 2.0 * sqrt(n)
        low, high = min(largest, alone) / _CAP_RANGE, min(2.0 * largest, _CAP_RANGE * alone)
        first_cap, end = np.searchsorted(_CAPS, (low, high)).tolist()
        caps = _CAPS[min(first_cap, len(_CAPS) - 1) :][: max(end - first_cap, 1)]
        marked = first > caps[:, None] * hidden
        pairs = np.broadcast_to(first, marked.shape), np.broadcast_to(other, marked.shape)
        kept = np.where(marked, 0.0, pairs[0]), np.where(marked, 0.0, pairs[1])
        added = added_by_marks(other[None], pairs, kept, np.full((len(caps), 1), e), n, marked)
        w, drift = np.where(marked, 0.0, first / other - e), e - 1.0
        squares = (w * w) @ other
        with np.errstate(all="ignore"):
            s = _OF_SADDLE * ((drift + np.sqrt(drift**2 + 8.0 * squares / n)) / (2.0 * squares))[:, None]
            sums = np.array([np.expm1(np.outer(t, x)) @ other for t, x in zip(s, w, strict=True)])
            heights = np.nan_to_num(n * np.log1p(sums) - 2.0 * np.log(s), nan=inf)
        best = np.arange(len(caps)), heights.argmin(axis=1)
        s, heights = s[best][:, None], heights[best]
        tilted = np.exp(s * (w - w.max(axis=1)[:, None])) * other
        tilted /= tilted.sum(axis=1)[:, None]
        spread = np.sqrt(np.maximum(n * ((w * w * tilted).sum(axis=1) - (w * tilted).sum(axis=1) ** 2), 1e-300))
        u = _LOBE / spread[:, None]
        turned = [(np.outer(v, x), t) for v, x, t in zip(u, w, tilted, strict=True)]
        sizes = np.array([np.hypot(np.cos(x) @ t, np.sin(x) @ t) for x, t in turned])
        with np.errstate(all="ignore"):
            lobes = 2.0 * u[:, 1] * ((sizes**n / (1.0 + (u / s) ** 2)).sum(axis=1) - 0.5)
            logs = np.nan_to_num(heights + np.log(lobes / (2.0 * pi * n)), nan=-inf)
        logs = np.logaddexp(logs, np.log(np.maximum(added, 1e-300)))
        k = int(logs.argmin())
        return float(caps[k]), float(logs[k])

    def _variance(self, n: int) -> float:
        """Return about the variance of the sum of n users' values, without the largest ones."""
        first, other = self._ends[0]
        return n * float((np.minimum(first, sqrt(n) * other) - other) ** 2 @ (1.0 / other))

    def share_of_one(self, n: int) -> float:
        """Return the square of the cap in units of about the variance of the sum of n users' values."""
        return self.cap**2 / self._variance(n)

    def _eps_for(self, n: int, log_delta: float) -> float:
        """Return the level at which an estimate of the bound with the best cap has this divergence."""
        unit = 0.5 * n * n / self._variance(n)  # of a normal law: log delta is unit eps^2
        start = min(sqrt(max(-log_delta, 1.0) / unit), 1.0)

        def missed(eps: float) -> float:
            return self.best_cap(n, exp(min(eps, _LARGEST_EPS)))[1] - log_delta

        return min(falling_root(missed, start, 2.0 * unit * start, inf, _CLOSE), _LARGEST_EPS)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        return self._base.whole_rows([0.0, 1.0]), self._base.hidden

    def _spaced(self) -> list[tuple[float, float]]:
        """Return messages with the distance to the next, mirror images of each other.

        What interpolation leaves of R(1) right of 1/2, in units of the blanket R(0), is to have a square of ``_SQUARE``
        times the chi-square of the pair: then cells are as long as the fifth root of its share asks for.
        """
        ends = self._bends.ends[self._bends.ends >= 0.5]
        y, wide = ends[:-1], np.diff(ends)
        m, there = (self.shape.densities(row.tolist(), 0.0) for row in (y, y - 1.0))
        q = np.maximum(*(self._bends.between(z, z) for z in (y, y - 1.0)))
        if not self.shape.has_rate:
            q = 0.25 * float(self.shape.precision()) ** 2 * there
        share = (q * q / m) ** 0.2
        chi_square, whole = 2.0 * float(((there - m) ** 2 / m) @ wide), 2.0 * float(share @ wide)
        unit = (120.0 * _SQUARE * chi_square / whole) ** 0.25 if whole > 0.0 else 1.0
        with np.errstate(divide="ignore"):
            relative = (m if self.shape.has_rate else there) / q
            steps = np.minimum(unit / share, np.sqrt(8.0 * _COARSEST * self.coarse * relative))
        # A message tells more than those around it: how much more, by how the ratio changes along a cell.
        ratio = there / m
        told = np.cbrt(m * np.gradient(ratio, y) ** 2 + there * np.gradient(1.0 / ratio, y) ** 2)
        with np.errstate(divide="ignore"):
            most = float(((there - m) ** 2 * (1.0 / m + 1.0 / there)) @ wide) / float(told @ wide)
            steps = np.minimum(steps, np.sqrt(6.0 * _TOLD * self.coarse * most) / told)
        steps = np.minimum(steps, np.where(y < 1.0, _LONGEST * self.coarse**0.5, self.shape.scale))
        steps = np.maximum(np.minimum(steps, 1.0 / self.shape.float_rate), min(_LEAST, 1.0 / self.shape.float_rate))
        last = self.shape.middle
        places = [(last, float(steps[0]))]
        while last < 1.0 + self.far:
            step = float(steps[max(int(np.searchsorted(y, last, "right")) - 1, 0)])
            last = min(self.shape.after(last, step), 1.0 + self.far)
            places.append((last, step))
        return places + [(1.0 - x, step) for x, step in places]

    def _made(self, more: Sequence[float]) -> NoiseTable:
        if (listed := self.shape.nodes(self.far)) is not None:
            return NoiseTable(self.shape, listed, self._bends, 2.0 * self.outside, self.cap)
        fixed = np.array(sorted({0.0, self.shape.middle, 1.0, *more}))
        free = (x for x, step in self._steps if float(np.abs(fixed - x).min()) > 0.3 * step)
        nodes = sorted({*fixed.tolist(), *free, -self.far, 1.0 + self.far})
        return NoiseTable(self.shape, nodes, self._bends, 2.0 * self.outside, self.cap)

    def table(self, more: Sequence[float] = ()) -> NoiseTable:
        """Return the table with these places among its inputs."""
        return self._made((*self.places, *more))

    @cached_property
    def with_places(self) -> NoiseTable:
        """The table of other users' places and the ends."""
        return self.table()

    @cached_property
    def laws(self) -> Floats:
        """The laws of other users there, in doubles."""
        return self.with_places.laws(self.places)

    def _lost(self, n: int, e: float) -> float:
        """Return what the cut and marks add to the divergence of the ends."""
        table = self.with_places
        if self.cap == inf:
            return self.outside
        (first, second), (left, right) = (x([0.0, 1.0])[:, None] for x in (table.whole_rows, table.rows))
        pairs = (first, second), (left, right)
        return self.outside + float(added_by_marks(self.laws[:, :-1], *pairs, np.array([[e]]), n, table.marked)[0])

    @property
    def usual(self) -> NoiseTable:
        """A table for choices: no place but the ends and the middle is among its inputs for sure."""
        return self._base

    @property
    def is_known(self) -> bool:
        """Whether the density is known to be as the bound supposes, for all messages."""
        return self._bends.are_known

    @cached_property
    def places(self) -> tuple[float, ...]:
        """A grid of the other users' inputs.

        As few places as leave those at the ends the worst: an inner one is hardly harmed by being thinned.

        >>> from symamp.randomizers.noise.distributions import Laplace
        >>> found = Grid(shape_of(Laplace(eps0=1)), Cut(-60)).places
        >>> found[0], found[-1], 5 <= len(found) < 10
        (0.0, 1.0, True)
        """
        if self.shape.places:
            return self.shape.others
        middle, start = self.shape.middle, 0.0
        worst, inside = (self._chi_square([(0.0, 1.0)], x) for x in (0.0, middle))
        if inside > worst:
            worst, start = inside, middle

        def there(far: float) -> float:
            """Return the place at a distance from the worst one: others far from it are hardly harmed."""
            return abs(start - far)

        dearer = 1.0 + self.coarse * (_FLAT_COST if self.shape.is_flat else _FIRST_COST)
        found = [0.0, self.shape.after(0.0, self._longest([(0.0, 1.0)], start, worst * dearer))]
        pairs = [(a, 1.0) for a in np.linspace(0.0, 1.0, 9)[:-1].tolist()]
        pairs += [(0.0, b) for b in np.linspace(0.0, 1.0, 9)[1:-1].tolist()]
        while found[-1] < middle and len(found) < _MOST_PLACES:
            last = found[-1]
            own = self._chi_square(pairs, there(last)) * dearer
            longest = self._longest(pairs, there(last), max(worst * _NO_WORSE, own))
            if not start and 1.0 - 2.0 * last <= longest:
                break
            reaches = middle - last <= 1.15 * longest
            reaches = reaches and self._chi_square(pairs, there(last), middle - last) <= max(worst, own)
            found.append(middle if reaches else self.shape.after(last, longest))
        half = {0.0, *(there(far) for far in found if far <= middle)}
        return tuple(sorted({*half, *(1.0 - x for x in half)}))

    def _longest(self, pairs: Sequence[tuple[float, float]], place: float, most: float) -> float:
        """Return how long a cell may be such that no chi-square of a pair is more, with the place thinned."""
        low, high = 0.0, 1.0
        for _ in range(12):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._chi_square(pairs, place, middle) <= most else (low, middle)
        return low

    def _chi_square(self, pairs: Sequence[tuple[float, float]], place: float, length: float = 0.0) -> float:
        """Return the largest sum of (R(a) - R(b))^2/R(x) of some pairs, R(x) thinned for a cell of some length."""
        for x in {place, *(x for pair in pairs for x in pair)} - self._known.keys():
            self._known[x] = self._base.rows([x])[0]
        row = self._known[place] * self.shape.thinned(length, self._slopes)
        squares = ((self._known[a] - self._known[b]) ** 2 for a, b in pairs)
        # thinned to nothing, a row of 0 costs nothing only where the pair does not differ
        return max(float(np.divide(x, row, out=np.where(x > 0.0, inf, 0.0), where=row > 0.0).sum()) for x in squares)

    @cached_property
    def _known(self) -> dict[float, Floats]:
        return {}

    @cached_property
    def _slopes(self) -> Floats:
        return np.array([self.shape.slope(max(y, 1.0 - y)) for y in self._base.nodes])


@lru_cache(maxsize=64)
def grid_of(noise: Noise, cut: Cut) -> Grid:
    """Return the grid of a noise, but for what is cut off."""
    return Grid(shape_of(noise), cut)
