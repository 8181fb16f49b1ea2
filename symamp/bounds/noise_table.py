"""A table above noise on an interval of inputs: densities are interpolated between messages, and between inputs.

The density of the noise has f'' <= c^2 f, as a measure: it is above what interpolates it by e^(cy) and e^(-cy). What
is left is bounded by f'' - c^2 f: nothing at all for Laplace noise, but at its kink (docs/proofs/interval.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, inf
from typing import NamedTuple

import numpy as np
import sympy as sp
from flint import acb, arb
from numpy.typing import NDArray

from symamp.decompositions.to_law import number
from symamp.errors import SymampError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero
from symamp.laws.law import Atom, Floats, Law, Number
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import Holomorphic
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Z

BITS = 192
"""The precision at which tables are made; their numbers are exact at any."""
_GRID = 2.0**20
"""Places are multiples of 1/_GRID of the interval: exact doubles, as are their mirror images and differences."""
_ROUNDED = 1.0 + 2.0**-40
"""More than the roundings of sums of some thousand positive doubles."""

# What is tuned. All grids, cells and tilts give a bound; these trade time against width. Rules of thumb.
_SQUARE, _COARSEST = 4e-8, 0.01
"""What cells of messages may leave of densities, squared, as a part of the chi-square; and at most, relatively."""
_LEAST, _LONGEST = 1 / 400, 1 / 56
"""How long cells of messages are on the interval; beyond it they are no longer than the scale of the noise."""
_FARTHEST = -60, 100.0
"""Noise that is farther away, in units of 1/c, with a chance of 2^-60 has tails for which there would be many cells."""
_FINE, _GROWTH = 256, (0.02, 0.05)
"""Cells on which q is bounded: so many on the interval, how they grow beyond it, and to which part of 1/c."""
_FIRST_COST, _NO_WORSE = 1.5e-4, 0.992
"""What the first cell of other users' inputs may cost of the chi-square; how large, relatively, that of an inner input
may become by thinning."""
_MOST_PLACES = 24
"""Places of other users up to 1/2."""
_SEARCHED = np.geomspace(1e-3, 30.0, 120)
"""Tilts of remainders, in units of a rough guess."""
_MOST_HEIGHT, _ROUNDS, _MORE = 2.5, 16, 1.001
"""s X of a remainder is less than 3; rounds until its kappa is nearly found, and what then may be missing."""


def rounded(place: float) -> float:
    """Return the nearest place of the grid."""
    return round(place * _GRID) / _GRID


def _above(x: arb) -> float:
    return float_above(x) if x.is_finite() else inf


# --- What is known of a noise: c, q on cells, kinks, tail


class Kink(NamedTuple):
    """Where f' falls at once, between two doubles, and at most by how much."""

    low: float
    high: float
    size: float


class Shape:
    """An even density f with f'' = c^2 f - q between its kinks, q >= 0, as bounds ask for it.

    >>> from symamp.randomizers.noise.distributions import Laplace, Logistic
    >>> shape_of(Laplace(eps0=2)).rate, shape_of(Laplace(eps0=2)).has_exponential_tail
    (2, True)
    >>> shape_of(Logistic(eps0=2)).has_exponential_tail
    False
    """

    def __init__(self, noise: AdditiveNoise) -> None:
        self.noise, self._arcs = noise, noise.arcs()
        self._f = [Holomorphic(a.density, Z) for a in self._arcs]
        self._known: dict[float, arb] = {}

    @cached_property
    def unsupported(self) -> str | None:
        """Why the noise has no such bound, None if it has one."""
        if not self._arcs:
            return "here its messages have no density"
        if self._arcs[-1].end is not sp.oo:
            return "here its messages end somewhere: one of them may tell an input"
        if self.noise.local_ratio() is sp.oo:
            return "here its ratios are unbounded"
        if self.reach(_FARTHEST[0]) * self.float_rate > _FARTHEST[1]:
            return "here its tail does not fall exponentially"
        with at_precision(BITS):
            try:
                joined = all(is_zero((a.density - b.density).subs(Z, b.start)) for a, b in pairwise(self._arcs))
            except SymampError:
                joined = False
        if not joined:
            return "here its density is not known to be continuous"
        is_concave = all(k.size >= 0.0 for k in self.kinks) and self.bends(self.reach(_FARTHEST[0])).are_known
        return None if is_concave else "here its density is not known to be log-concave"

    @cached_property
    def rate(self) -> sp.Expr:
        """The number c: the local budget, which is the rate of the tail of log-concave noise."""
        return normal(sp.log(self.noise.local_ratio()))

    @cached_property
    def c(self) -> Number:
        """The same as an exact number."""
        return number(self.rate)

    @cached_property
    def float_rate(self) -> float:
        """The same in doubles."""
        with at_precision(BITS):
            return float(self.c())

    @cached_property
    def _rests(self) -> list[sp.Expr]:
        """The formulas of q, arc by arc."""
        return [normal(self.rate**2 * a.density - sp.diff(a.density, Z, 2)) for a in self._arcs]

    @cached_property
    def has_exponential_tail(self) -> bool:
        """Whether the density is a multiple of e^(-cz) from z = 1 on, or before."""
        last = self._arcs[-1]
        pure = self.rate != 0 and normal(sp.diff(last.density, Z) + self.rate * last.density) == 0
        with at_precision(BITS):
            return bool(pure and number(last.start)() <= 0)

    @cached_property
    def kinks(self) -> tuple[Kink, ...]:
        """Where f' jumps, of z >= 0: by -inf where it is not known to fall."""
        slopes = [sp.diff(a.density, Z) for a in self._arcs]
        found = []
        with at_precision(BITS):
            for i, arc in enumerate(self._arcs):
                after, before = (s.subs(Z, arc.start) for s in (slopes[i], slopes[i - 1] if i else -slopes[0]))
                fall = normal(before - after)
                if fall != 0:
                    place, size = number(arc.start)(), number(fall)()
                    ends = (float_below(place), float_above(place)) if i else (0.0, 0.0)
                    found.append(Kink(*ends, _above(size) if size > 0 else -inf))
        return tuple(found)

    def at(self, z: float) -> arb:
        """Return f(z) at a fixed precision."""
        z = abs(z)
        if z not in self._known:
            with at_precision(BITS):
                arc = max((i for i, a in enumerate(self._arcs) if i == 0 or number(a.start)() <= z), default=0)
                self._known[z] = self._f[arc](acb(z)).real
        return self._known[z]

    @cached_property
    def scale(self) -> float:
        """About the scale of the noise: 1/(2 f(0))."""
        return 0.5 / float(self.at(0.0))

    def kept(self, length: float) -> arb:
        """Return 1/cosh(ch/2): the part of the law of an input that all inputs of a cell of this length have."""
        return 1 / (self.c() * arb(length) / 2).cosh()

    def reach(self, log2_mass: int) -> float:
        """Return how far beyond the interval messages go: beyond it there is less mass than this, on either side."""
        if self.has_exponential_tail:
            return 0.0
        with at_precision(BITS):
            low, high = 0.0, self.scale
            while high < 2.0**20 and not self.noise.survival(arb(high)) < arb(2) ** log2_mass:
                low, high = high, 2.0 * high
            for _ in range(8):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if self.noise.survival(arb(middle)) < arb(2) ** log2_mass else (middle, high)
        return ceil(high * 64.0) / 64.0

    def bends(self, far: float) -> Bends:
        """Return bounds of q up to 1 + far."""
        ends = [k / _FINE for k in range(_FINE + 1)]
        while ends[-1] < 1.0 + far:
            ends.append(ends[-1] + max(1.0 / _FINE, min(_GROWTH[0] * (ends[-1] - 1.0), _GROWTH[1] / self.float_rate)))
        if all(q == 0 for q in self._rests):
            return Bends(np.array(ends), np.zeros(len(ends) - 1))
        rests, most = [Holomorphic(q, Z) for q in self._rests], list[float]()
        with at_precision(64):
            starts = [number(a.start)() for a in self._arcs] + [arb("inf")]
            for a, b in pairwise(ends):
                here = [i for i in range(len(rests)) if not (starts[i] > b or starts[i + 1] < a)]
                found = [rests[i](acb(arb(a).union(arb(b)))).real for i in here]
                most.append(max(_above(q) if q >= 0 else inf for q in found))
        return Bends(np.array(ends), np.array(most))


@lru_cache(maxsize=64)
def shape_of(noise: AdditiveNoise) -> Shape:
    """Return what is known of a noise."""
    return Shape(noise)


class Bends:
    """Bounds of q >= 0 on cells of z >= 0, inf where it is not known to be so; those of ranges are found at once."""

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

    With t = eta + kappa the integral of sigma^2/m is at most w0 + w1 t^2, and |sigma|/m the larger of x0 and x1 t.
    The integral of sigma is at most ``lost`` - kappa, and with ``whole`` for kappa sigma is nowhere positive.
    """

    w: tuple[float, float]
    x: tuple[float, float]
    eta: float
    lost: float
    whole: float

    def square(self, t: Floats) -> Floats:
        """Return the bound of the integral of sigma^2/m."""
        return np.asarray((self.w[0] + self.w[1] * t * t) * _ROUNDED)

    def height(self, t: Floats) -> Floats:
        """Return the bound of |sigma|/m."""
        return np.asarray(np.maximum(self.x[0], self.x[1] * t) * _ROUNDED)

    def kappa(self, n: int, log_rest: float) -> tuple[float, float]:
        """Return (kappa, s) of least kappa by doubles: what s proves of the remainder is about e^log_rest."""
        if not self.square(np.array(self.eta)) > 0.0:
            return self.whole, 1.0
        with np.errstate(all="ignore"):  # what is no number proves nothing
            s = _SEARCHED * (-2.0 * log_rest / n / self.square(np.array(self.eta))) ** 0.5
            needed = np.maximum(-log_rest - 1.0 - np.log(n * s), 0.0) / (n * s) + self.lost
            found = np.zeros(len(s))
            for _ in range(_ROUNDS):  # from below, as all grows with kappa
                before, t = found, self.eta + found * _MORE
                height = s * self.height(t)
                bernstein = 0.5 * s * self.square(t) / (1.0 - np.minimum(height, _MOST_HEIGHT) / 3.0)
                found = np.where(height <= _MOST_HEIGHT, needed + bernstein, inf)
            found = np.where(found <= before * _MORE, before, inf)
        k = int(found.argmin())
        return min(float(found[k]) * _MORE, self.whole), float(s[k])

    def side(self, n: int, kappa: float, s: float) -> Side:
        """Return what is proved with this kappa and the tilt s.

        Guarantee
        ---------
        ``rest`` is at least D(sigma | O) for every input of the cell and all inputs of the n - 1 other users.
        Proof: docs/proofs/interval.md.
        """
        if kappa >= self.whole:
            return Side(kappa, 0.0)
        t = np.array((self.eta + kappa) * _ROUNDED)
        w, x, tilt = arb(float(self.square(t))), arb(float(self.height(t))), arb(s)
        if not tilt * x < 3:
            return Side(kappa, inf)
        exponent = n * (tilt * (arb(self.lost) - arb(kappa)) + tilt * tilt * w / 2 / (1 - tilt * x / 3))
        return Side(kappa, _above((exponent - 1).exp() / (n * tilt)))


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

    def __init__(self, shape: Shape, nodes: Sequence[float], bends: Bends | None = None, lost: float = 0.0) -> None:
        self.shape, self.nodes, self.lost = shape, tuple(nodes), lost
        self.bends = shape.bends(max(self.nodes[-1] - 1.0, 0.0)) if bends is None else bends
        self.y = np.array(self.nodes)
        self.cells = np.diff(self.y)
        self._found: dict[float, Floats] = {}
        self._rows: dict[float, tuple[list[arb], arb]] = {}
        with at_precision(BITS):
            c = shape.c()
            halves = [(c * (arb(b) - arb(a)) / 2).tanh() / c for a, b in pairwise(self.nodes)]
            if c.is_zero():
                halves = [(arb(b) - arb(a)) / 2 for a, b in pairwise(self.nodes)]
            tail = [1 / c] if shape.has_exponential_tail else [arb(0)]
            self.weights = [a + b for a, b in zip(tail + halves, halves + tail, strict=True)]
            self._tail = _above(tail[0])
            self._bend = _above(c * c) / 8.0 * _ROUNDED  # 1 - 1/cosh(ch/2) is at most c^2 h^2/8

    def row(self, place: float) -> tuple[list[arb], arb]:
        """Return the masses of the nodes for the input at a place, and their sum, which is about 1."""
        if place not in self._rows:
            with at_precision(BITS):
                masses = [w * self.shape.at(y - place) for y, w in zip(self.nodes, self.weights, strict=True)]
                self._rows[place] = masses, sum(masses, arb(0))
        return self._rows[place]

    def probabilities(self, place: float) -> list[arb]:
        """Return the row of a place: probabilities."""
        with at_precision(BITS):
            masses, whole = self.row(place)
            return [m / whole for m in masses]

    def rows(self, places: Sequence[float]) -> Floats:
        """Return rows in doubles, each number the nearest to the exact one, one row a place."""
        return np.array([[float(x) for x in self.probabilities(place)] for place in places])

    # Densities at the nodes, and on the cells between them, rounded outward

    def _densities(self, place: float) -> Floats:
        if place not in self._found:
            self._found[place] = np.array([float(self.shape.at(y - place)) for y in self.nodes])
        return self._found[place]

    def _left_over(self, place: float) -> Floats:
        """Return at most what interpolation between messages leaves of a row."""
        found = self.cells**2 / 8.0 * self.bends.between(self.y[:-1] - place, self.y[1:] - place)
        for low, high, size in self._tents():
            if low != 0.0 or high != 0.0:  # the place itself is a node
                inside = (self.y[:-1] < place + high) & (self.y[1:] > place + low)
                found = found + np.where(inside, size * self.cells / 4.0, 0.0)
        return np.asarray(found * _ROUNDED)

    def _tents(self) -> Iterator[Kink]:
        """Yield the kinks on either side."""
        for kink in self.shape.kinks:
            yield kink
            if kink.high > 0.0:
                yield Kink(-kink.high, -kink.low, kink.size)

    def _between_inputs(self, start: float, end: float) -> Floats:
        """Return at most what interpolation between two inputs leaves, but for kinks."""
        h = (end - start) * _ROUNDED
        return np.asarray(h * h / 8.0 * self.bends.between(self.y[:-1] - end, self.y[1:] - start) * _ROUNDED)

    def _touched(self, start: float, end: float) -> NDArray[np.bool_]:
        return np.asarray((self.y[:-1] < end) & (self.y[1:] > start))

    @cached_property
    def _hidden(self) -> Floats:
        """Densities at the nodes of a measure on the table that no input's law is below."""
        return np.asarray(np.minimum(self._densities(0.0), self._densities(1.0)) / _ROUNDED)

    @property
    def hidden(self) -> Floats:
        """Its masses: a blanket."""
        return np.asarray(self._hidden * np.array([float(w) for w in self.weights]) / _ROUNDED)

    # Other users

    def classes(self, places: Sequence[float]) -> list[list[arb]]:
        """Return the laws of other users, less than those of all inputs beside each place; the rest comes last."""
        found = list[list[arb]]()
        for k, place in enumerate(places):
            longest = max(abs(place - x) for x in (*places[max(k - 1, 0) : k], *places[k + 1 : k + 2]))
            with at_precision(BITS):
                kept = self.shape.kept(longest)
                row = [m * kept for m in self.row(place)[0]]
                found.append([*row, (1 - sum(row, arb(0))).max(arb(0))])
        return found

    def law(self, pair: tuple[float, float], other: Sequence[arb]) -> Law:
        """Return the law of a pair where others have a law of ``classes``."""
        first, second = (self.probabilities(x) for x in pair)
        with at_precision(BITS):
            atoms = [
                Atom(_fixed(a / o), _fixed(b / o), _fixed(o)) for a, b, o in zip(first, second, other, strict=False)
            ]
            # another user's own symbol says nothing of the victim
            atoms.append(Atom(_fixed(arb(0)), _fixed(arb(0)), _fixed(other[-1]), True))
        return Law(tuple(atoms), (), True)

    # The compared user

    def remainder(self, start: float, end: float, above: bool) -> Remainder:
        """Return what the mixture of the ends of a cell of inputs leaves of an input, for all inputs of the cell.

        Guarantee
        ---------
        The numbers are the bounds that ``Remainder`` names. Proof: docs/proofs/interval.md.
        """
        h = (end - start) * _ROUNDED
        at_nodes = np.maximum(self._densities(start), self._densities(end)) * _ROUNDED
        hidden = self._hidden
        bent = 1.0 - self._bend * self.cells**2
        least, most, ratio = (
            np.minimum(hidden[:-1], hidden[1:]) * bent,
            np.maximum(hidden[:-1], hidden[1:]) * _ROUNDED,
            at_nodes / hidden,
        )
        with at_precision(BITS):
            sums = [float(self.row(x)[1]) for x in (start, end)]
        small = min(sums) / _ROUNDED
        eta = max(1.0 - (1.0 - self._bend * h * h) * small, 0.0) * _ROUNDED + (_ROUNDED - 1.0)
        b = self._between_inputs(start, end) + np.maximum(self._left_over(start), self._left_over(end))
        r = np.maximum(ratio[:-1], ratio[1:]) / small * _ROUNDED
        w = [float(self.cells @ x) for x in (b * b / least, most * r * r)]
        if self._tail:
            for k in (0, -1):
                w[1] += self._tail * float(hidden[k] * ratio[k] ** 2) / small**2 * _ROUNDED
        x, worst = [float((b / least).max()), float(r.max())], b
        tents = [(self._touched(start + k.low, end + k.high), k.size * h / 4.0 * _ROUNDED) for k in self._tents()]
        for touched, p in tents:
            worst = worst + np.where(touched, p, 0.0)
        for touched, p in tents:
            if touched.any():
                m, there = float(least[touched].min()), float(worst[touched].max()) - p * (2.0 - _ROUNDED)
                w[0] += h * (p * p / 3.0 + p * there) / m
                x[0] = max(x[0], (there + 0.75 * p) / m * _ROUNDED)
        if above:
            interpolated = np.minimum(self._densities(start), self._densities(end)) / _ROUNDED
            whole = float((worst / (np.minimum(interpolated[:-1], interpolated[1:]) * bent)).max()) * _ROUNDED
        else:
            whole = eta
        return Remainder((w[0], w[1]), (x[0], x[1]), eta, 0.0 if above else self.lost, whole * _ROUNDED)


def _fixed(value: arb) -> Number:
    return lambda: value


# --- Where messages and other users are: as few as cost next to nothing, by doubles


class Grid:
    """The messages and the other users' inputs of all tables above one noise, cut where so little mass is left."""

    def __init__(self, shape: Shape, log2_mass: int) -> None:
        self.shape, self.far = shape, shape.reach(log2_mass)
        with at_precision(BITS):
            self.outside = _above(shape.noise.survival(arb(self.far))) if self.far > 0.0 else 0.0
        self._bends = shape.bends(self.far)
        self._steps = self._spaced()
        self._base = self._made(())

    def _spaced(self) -> list[tuple[float, float]]:
        """Return messages with the distance to the next, mirror images of each other.

        What interpolation leaves of R(1) right of 1/2, in units of the blanket R(0), is to have a square of ``_SQUARE``
        times the chi-square of the pair: then cells are as long as the fifth root of its share asks for.
        """
        ends = self._bends.ends[self._bends.ends >= 0.5]
        y, wide = ends[:-1], np.diff(ends)
        m, there = (np.array([float(self.shape.at(z)) for z in row]) for row in (y, y - 1.0))
        q = np.maximum(*(self._bends.between(z, z) for z in (y, y - 1.0)))
        share = (q * q / m) ** 0.2
        chi_square, whole = 2.0 * float(((there - m) ** 2 / m) @ wide), 2.0 * float(share @ wide)
        unit = (120.0 * _SQUARE * chi_square / whole) ** 0.25 if whole > 0.0 else 1.0
        with np.errstate(divide="ignore"):
            steps = np.minimum(unit / share, np.sqrt(8.0 * _COARSEST * m / q))
        steps = np.minimum(steps, np.where(y < 1.0, _LONGEST, self.shape.scale))
        steps = np.maximum(np.minimum(steps, 1.0 / self.shape.float_rate), min(_LEAST, 1.0 / self.shape.float_rate))
        places, last = [(0.5, float(steps[0]))], 0.5
        while last < 1.0 + self.far:
            step = float(steps[max(int(np.searchsorted(y, last, "right")) - 1, 0)])
            last = min(rounded(last + step) + 1.0 / _GRID, 1.0 + self.far)
            places.append((last, step))
        return places + [(1.0 - x, step) for x, step in places]

    def _made(self, more: Sequence[float]) -> NoiseTable:
        fixed = np.array(sorted({0.0, 0.5, 1.0, *more}))
        free = (x for x, step in self._steps if float(np.abs(fixed - x).min()) > 0.3 * step)
        nodes = sorted({*fixed.tolist(), *free, -self.far, 1.0 + self.far})
        return NoiseTable(self.shape, nodes, self._bends, 2.0 * self.outside)

    def table(self, more: Sequence[float] = ()) -> NoiseTable:
        """Return the table with these places among its inputs."""
        return self._made((*self.places, *more))

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
        >>> found = Grid(shape_of(Laplace(eps0=1)), -60).places
        >>> found[0], found[-1], 5 <= len(found) < 10
        (0.0, 1.0, True)
        """
        worst = self._chi_square([(0.0, 1.0)], 0.0)
        places = [0.0, self._longest(1.0 + _FIRST_COST)]
        pairs = [(a, 1.0) for a in np.linspace(0.0, 1.0, 9)[:-1].tolist()]
        pairs += [(0.0, b) for b in np.linspace(0.0, 1.0, 9)[1:-1].tolist()]
        while places[-1] < 0.5 and len(places) < _MOST_PLACES:
            last = places[-1]
            longest = self._longest(worst * _NO_WORSE / self._chi_square(pairs, last))
            if 1.0 - 2.0 * last <= longest:
                break
            places.append(0.5 if 0.5 - last <= 1.15 * longest else rounded(last + longest))
        half = [x for x in places if x < 0.5]
        return (*half, *([0.5] if 0.5 in places else []), *(1.0 - x for x in reversed(half)))

    def _longest(self, ratio: float) -> float:
        """Return how long a cell may be such that thinning multiplies no chi-square by more."""
        longest = 2.0 * float(np.arccosh(max(ratio, 1.0 + 1e-6))) / self.shape.float_rate
        return rounded(min(longest, 1.0))

    def _chi_square(self, pairs: Sequence[tuple[float, float]], place: float) -> float:
        """Return the largest sum of (R(a) - R(b))^2/R(x) of some pairs."""
        rows = {x: self._base.rows([x])[0] for x in {place, *(x for pair in pairs for x in pair)}}
        return max(float(((rows[a] - rows[b]) ** 2 / rows[place]).sum()) for a, b in pairs)


@lru_cache(maxsize=64)
def grid_of(noise: AdditiveNoise, log2_mass: int) -> Grid:
    """Return the grid of a noise."""
    return Grid(shape_of(noise), log2_mass)
