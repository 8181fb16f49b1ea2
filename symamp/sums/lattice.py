"""A law on a lattice, the law of a sum of its copies by one FFT with every rounding enclosed, and E[S_+] from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil, floor, fsum, gcd, inf, lcm, log, pi, sqrt
from typing import Any

import flint
import numpy as np
from flint import acb, arb, fmpq

from symamp.errors import ArgumentError, PrecisionError, Problem
from symamp.laws.law import (
    BallGparv,
    FloatGparv,
    Floats,
    Law,
    Level,
    Number,
    RationalLaw,
    ball_gparv,
    float_gparv,
    total,
)
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.surroundings import at_precision
from symamp.sums.kernels.balls import TiltedBalls, power
from symamp.sums.kernels.tilted import Power, TiltedLaw, Window, choose_window, gaussian_estimate, saddle_tilt

# What is tuned. Every lattice and window gives a bound; these trade points against width.
_MOST_CANDIDATES, _SAME_POINT = 1 << 17, 1e-14
"""Steps that are tried for the coarsest lattice, and how near to a point a value is taken to be one in that search."""
_ROUNDS = 6
"""How often a lattice is made finer until the gap is met."""
_DEVIATIONS, _REACH = 20, 60
"""A rational law keeps its own lattice if so many standard deviations of the sum fit into the engine's window; a step
that is asked for may be so many powers of two from the largest value."""
_LARGEST_RATE, _RATE_OF_TILT = 2.0, 2.5
"""The rate at which the correction for a lattice falls with the sum is the inverse deviation of what the lattice adds,
but at most the first, for few jumps, and at least so many times the tilt."""

# ----------------------------- A finite law of G moved to a lattice, upward and downward in the increasing convex order

# Every atom is split between its two neighbours with its mean kept: that costs a variance of order step^2 a draw.


@dataclass(frozen=True)
class Lattice:
    """The multiples of a step, an exact number: ``fraction`` where it is rational.

    ``anchor`` and ``count`` say that the value of that index is exactly ``count`` steps; a ball could not know.
    """

    size: Number
    fraction: fmpq | None = None
    anchor: int = -1
    count: int = 0


@dataclass(frozen=True)
class PlacedLaw:
    """G in units of the step: positions of the values, an exact integer only where G is known to be on the lattice."""

    step: arb
    positions: tuple[arb, ...]
    masses: tuple[arb, ...]
    null_mass: arb
    singular: arb


@dataclass(frozen=True)
class LatticeLaw:
    """A probability law on the integers, G in units of the step.

    ``offsets`` are the parts of a step by which the atoms of G lay above the lattice point below them, and ``lift``
    bounds how far an atom was moved up because its ball straddles a lattice point.
    """

    masses: dict[int, arb]
    offsets: tuple[arb, ...]
    lift: arb

    def gparv(self) -> BallGparv:
        """Return the law as values and masses: what the tilt and its bounds are computed from."""
        others = sorted(k for k in self.masses if k)
        values, masses = tuple(arb(k) for k in others), tuple(self.masses[k] for k in others)
        return BallGparv(values, masses, self.masses.get(0, arb(0)), arb(0))

    def floats(self) -> FloatGparv:
        """Return the same in doubles, for the search of parameters."""
        g = self.gparv()
        mean = total([v * w for v, w in zip(g.values, g.masses, strict=True)])
        values, masses = (np.array([float(x) for x in xs]) for xs in (g.values, g.masses))
        return FloatGparv(values, masses, float(g.null_mass), float(mean), 0.0)


def placed_law(law: Law, level: Level, lattice: Lattice) -> PlacedLaw:
    """Return G of the law in units of the step, at the ambient precision."""
    if lattice.fraction is not None and law.rational is not None and level.rational is not None:
        values, masses = rational_values(law.rational, level.rational)
        positions = tuple(arb(v / lattice.fraction) for v in values)
        null = 1 - sum(masses, fmpq(0))
        singular = ball_gparv(law, level).singular
        return PlacedLaw(arb(lattice.fraction), positions, tuple(arb(m) for m in masses), arb(null), singular)
    g, step = ball_gparv(law, level), lattice.size()
    positions = tuple(arb(lattice.count) if i == lattice.anchor else v / step for i, v in enumerate(g.values))
    return PlacedLaw(step, positions, g.masses, g.null_mass, g.singular)


def rational_values(law: RationalLaw, e: fmpq) -> tuple[list[fmpq], list[fmpq]]:
    """Return the nonzero values of G with their masses."""
    atoms = [(r0 - e * r1, mass) for r0, r1, mass in law.atoms if r0 != e * r1]
    return [v for v, _ in atoms], [m for _, m in atoms]


def common_step(values: Sequence[fmpq]) -> fmpq:
    """Return the largest number of which all values are multiples.

    >>> common_step([fmpq(3, 2), fmpq(-7, 4)])
    1/4
    """
    denominator = lcm(*(int(v.q) for v in values))
    return fmpq(gcd(*(int(v.p) * denominator // int(v.q) for v in values)), denominator)


def upper_law(g: PlacedLaw) -> LatticeLaw:
    """Return a law on the lattice that is above G in the increasing convex order.

    Guarantee
    ---------
    E[(s + G)_+] <= E[(s + G')_+] for every s, so E[S_+] does not fall for any number of users. The mean is the same,
    but for the bounded ``lift``. Proof: docs/proofs/fft.md.

    >>> g = PlacedLaw(arb(1), (arb("2.5"),), (arb("0.5"),), arb("0.5"), arb(0))
    >>> {k: float(m) for k, m in upper_law(g).masses.items()}
    {0: 0.5, 2: 0.25, 3: 0.25}
    """
    masses = {0: g.null_mass}
    offsets, lift = [], arb(0)
    for position, mass in zip(g.positions, g.masses, strict=True):
        if position.is_integer():
            _add(masses, _integer(position), mass)
            continue
        # The last lattice point that is not certainly at or above the value; a ball around it may reach below it.
        below = _integer(position.upper().ceil()) - 1
        lift = lift.max((below - position).max(arb(0)).upper())
        part = (position - below).max(arb(0)).min(arb(1))
        _add(masses, below, mass * (1 - part))
        _add(masses, below + 1, mass * part)
        offsets.append(part)
    return LatticeLaw(masses, tuple(offsets), lift)


def coarsest_lattice(values: Floats, smallest: float, acceptable: Sequence[float]) -> tuple[int, int]:
    """Return (index, count): the step |value|/count is the coarsest that keeps the spread within the limits.

    With f the offsets of the other values, step^2 f(1 - f) and step^2 sqrt(f(1 - f)) have to stay below the two
    limits; a step below ``smallest`` always does, and is what is left where no coarser one serves.
    """
    largest = int(np.argmax(np.abs(values)))
    best = (largest, max(1, int(np.ceil(abs(values[largest]) / smallest))))
    finest = abs(float(values[largest])) / best[1]
    room = _MOST_CANDIDATES // max(1, len(values) ** 2)
    for index, value in enumerate(np.abs(values)):
        counts = np.arange(1, min(int(value / finest), room) + 1, dtype=np.float64)
        steps = value / counts
        positions = values[:, None] / steps
        part = np.abs(positions - np.rint(positions))
        part[part < _SAME_POINT * np.abs(positions)] = 0.0
        bernoulli = (part * (1.0 - part)).max(axis=0)
        fits = (steps**2 * bernoulli <= acceptable[0]) & (steps**2 * np.sqrt(bernoulli) <= acceptable[1])
        if fits.any() and steps[fits.argmax()] > finest:
            finest = float(steps[fits.argmax()])
            best = (index, int(counts[fits.argmax()]))
    return best


def _add(masses: dict[int, arb], point: int, mass: arb) -> None:
    masses[point] = masses.get(point, arb(0)) + mass


def _integer(x: arb) -> int:
    found = x.unique_fmpz()
    if found is None:
        raise PrecisionError("lattice", Problem("rounding errors hide the place of a value"), "take a larger step")
    return int(found)


# -------- The tilted law of a lattice sum, wrapped on a window: one FFT, a power, one FFT back, in balls or in doubles

# ``wrap_flint`` encloses every probability. ``wrap_numpy`` bounds its rounding from the numbers it computes and from
# what is assumed of the library: elementary functions within 4 units of rounding, and an FFT made of radix-2 steps,
# fused or not, with twiddle factors within 8 units (docs/proofs/fft.md, section 6).

_UNIT = 2.0**-53
_TWIDDLE = 8.0
_STAGE = _TWIDDLE + 5.0
"""Relative error of one radix-2 step in units of rounding: twiddle factor, one product and one sum."""


@dataclass(frozen=True)
class Weight:
    """A function of the sum whose tilted expectation is wanted: k_+ e^(-theta k), or e^(-theta k)/cosh(lambda k)."""

    theta: float
    smoothing: float | None = None

    def ball(self, k: int) -> arb:
        """Return the value at k."""
        grown = (arb(-self.theta) * k).exp()
        return grown * max(k, 0) if self.smoothing is None else grown * (arb(self.smoothing) * k).sech()

    def array(self, k: Floats) -> tuple[Floats, Floats]:
        """Return the values at many points and bounds on their relative errors."""
        exponent = -self.theta * k
        size = np.abs(exponent)
        if self.smoothing is None:
            return np.maximum(k, 0.0) * np.exp(exponent), _UNIT * (16.0 + 4.0 * size)
        decay = self.smoothing * np.abs(k)
        value = 2.0 * np.exp(exponent - decay) / (1.0 + np.exp(-2.0 * decay))
        return value, _UNIT * (32.0 + 8.0 * (size + decay))


class Wrapped:
    """The probabilities q_k = sum over m of P(S = (k + mN) step) under the tilt, first <= k < first + N, in balls.

    ``noise`` is at least how far each was unknown before it became a double.
    """

    def __init__(self, first: int, probabilities: Any, noise: float) -> None:
        self.first, self.length, self.noise = first, len(probabilities), noise
        self._probabilities = probabilities

    @property
    def last(self) -> int:
        """The last lattice point of the window."""
        return self.first + self.length - 1

    def expectation(self, weight: Weight, low: int, high: int) -> arb:
        """Return a ball around the sum of weight times probability over low <= k <= high, inside the window."""
        return total([weight.ball(k) * self._probabilities[k % self.length] for k in range(low, high + 1)])

    def ball(self, k: int) -> arb:
        """Return a ball around the probability of a point of the window."""
        found: arb = self._probabilities[k % self.length]
        return found

    def floats(self) -> Floats:
        """Return the probabilities in doubles, in the order of the window."""
        return np.roll(np.array([float(p) for p in self._probabilities]), -(self.first % self.length))


class _Doubles(Wrapped):
    """The same in doubles; ``noise`` bounds the Euclidean norm of their errors."""

    def expectation(self, weight: Weight, low: int, high: int) -> arb:
        k = np.arange(low, high + 1)
        values, relative = weight.array(k.astype(np.float64))
        terms = values * self._probabilities[k % self.length]
        size = np.abs(terms)
        error = float(size @ relative) + self.noise * float(np.linalg.norm(values))
        error += 2.0 * (k.size + 2) * _UNIT * float(size.sum())
        return arb(float(terms.sum()), 1.01 * error + 1e-300)

    def ball(self, k: int) -> arb:
        return arb(float(self._probabilities[k % self.length]), self.noise)


Engine = Callable[[Mapping[int, arb], int, int, int], Wrapped]


def wrap_flint(law: Mapping[int, arb], n: int, first: int, length: int) -> Wrapped:
    """Return the wrapped law of the sum of n draws in balls at the ambient precision; ``length`` a power of two.

    Guarantee
    ---------
    Every ball contains its probability. Proof: docs/proofs/fft.md, section 6.
    """
    one = [acb(0)] * length
    for k, p in law.items():
        one[k % length] += p
    half = length // 2
    powers = [power(z, n) for z in acb.dft(one)[: half + 1]]
    powers += [powers[length - j].conjugate() for j in range(half + 1, length)]
    found = [q.real for q in acb.dft(powers, inverse=True)]
    return Wrapped(first, found, max(float(q.rad()) for q in found))


def wrap_numpy(law: Mapping[int, arb], n: int, first: int, length: int) -> Wrapped:
    """Return the wrapped law of the sum of n draws in doubles, with a bound on the rounding under the assumptions."""
    points = np.array(list(law), dtype=np.int64)
    masses = [float(p) for p in law.values()]
    j = np.arange(length // 2 + 1, dtype=np.int64)
    real, imaginary, spread = (np.zeros(j.size) for _ in range(3))
    for k, p in zip(points, masses, strict=True):
        turn = (j * (k % length)) % length
        turn[turn > length // 2] -= length
        x = turn * (2.0 * np.pi / length)
        real -= 2.0 * p * np.sin(0.5 * x) ** 2
        imaginary -= p * np.sin(x)
        spread += p * np.abs(x)
    unknown = 7.0 * float(total([p.rad() for p in law.values()]))
    square = 2.0 * real + real * real + imaginary * imaginary
    size = np.hypot(1.0 + real, imaginary)
    with np.errstate(all="ignore"):
        modulus = 0.5 * np.log1p(np.maximum(square, -1.0))
        phase = np.arctan2(imaginary, 1.0 + real)
        half = np.exp(n * modulus + 1j * (n * phase))
        one_error = (2.0 * len(masses) + 48.0) * _UNIT * spread + unknown
        exponent = n * (2.0 * one_error / size**2 + 6.0 * _UNIT * (np.abs(modulus) + np.abs(phase))) + 16.0 * _UNIT
        # Where the logarithm is lost the power is negligible, and is bounded by the modulus.
        crude = np.abs(half) + 2.0 * np.exp(n * np.log(size + one_error))
        error = np.where(exponent < 0.5, np.abs(half) * np.expm1(np.minimum(exponent, 0.5)), crude)
    spectrum = np.concatenate([half, np.conj(half[-2:0:-1])])
    stages = (length.bit_length() - 1) * _STAGE * _UNIT
    forward = np.sqrt(2.0) * (np.linalg.norm(error) + np.sqrt(length) * 1e-300)
    backward = stages / (1.0 - stages) * np.linalg.norm(spectrum)
    probabilities = np.fft.ifft(spectrum).real
    return _Doubles(first, probabilities, 1.01 * float(forward + backward) / float(np.sqrt(length)))


# ----------- The probability of every lattice point, enclosed: a wrapped law less what the wrap-around may have brought

_SLACK = 2.0**-45
"""Relative error of what is done with doubles here: some logarithms and exponentials, a few units of rounding each."""


@dataclass(frozen=True)
class Tail:
    """Chernoff's bound on the tilted mass at k and beyond it, on one side: size * exp(rate * k); 0 from ``end`` on."""

    size: arb
    rate: arb
    end: int

    @staticmethod
    def of(tilted: TiltedBalls, tilt: float, end: int) -> Tail:
        """Return the bound from another tilt; ``end`` is the first point that cannot be reached, its sign the side."""
        other = arb(tilt)
        weights = [p * (other * v).exp() for v, p in zip(tilted.g.values, tilted.g.masses, strict=True)]
        return Tail(((tilted.g.null_mass + total(weights)) / tilted.m) ** tilted.n, tilted.theta - other, end)

    def beyond(self, k: int) -> arb:
        """Return a ball whose upper end bounds the tilted mass at k and beyond."""
        if k >= self.end > 0 or k <= self.end < 0:
            return arb(0)
        bound = self.size * (self.rate * k).exp()
        return bound.min(arb(1)) if bound.is_finite() else arb(1)


@dataclass(frozen=True)
class Pointwise:
    """The law of the sum T of n draws at the points of a window, from the wrapped law under the tilt theta.

    ``log_scale`` is the logarithm of M(theta)^n, so that P(T = k) = exp(log_scale - theta k) P_theta(T = k).
    """

    wrapped: Wrapped
    below: Tail
    above: Tail
    theta: float
    log_scale: arb

    def outside(self) -> arb:
        """Return a ball whose upper end bounds the tilted mass outside the window."""
        return self.above.beyond(self.wrapped.last + 1) + self.below.beyond(self.wrapped.first - 1)

    def at(self, k: int) -> tuple[arb, arb]:
        """Return balls whose outer ends enclose P(T = k), for any integer k.

        Guarantee
        ---------
        The lower end of the first is at most P(T = k), the upper end of the second at least, if the wrapped law is
        enclosed. Proof: docs/proofs/fft.md, section 3.
        """
        low, high = arb(0), self.above.beyond(k).min(self.below.beyond(k))
        if self.wrapped.first <= k <= self.wrapped.last:
            length = self.wrapped.length
            wrapped_around = self.above.beyond(k + length) + self.below.beyond(k - length)
            found = self.wrapped.ball(k)
            low, high = (found - wrapped_around).lower().max(arb(0)), found.upper().max(arb(0)).min(high)
        if high == 0:
            return high, high
        weight = (self.log_scale - arb(self.theta) * k).exp()
        return low * weight, (high * weight).min(arb(1))

    def in_balls(self) -> tuple[Floats, Floats, arb, arb]:
        """Return log P(T = k) from below and above on the window, rounded outward, and balls around both sums of P."""
        ends = [self.at(k) for k in range(self.wrapped.first, self.wrapped.last + 1)]
        lower = [float_below(low.log()) if low > 0 else -inf for low, _ in ends]
        upper = [min(float_above(high.upper().log()), 0.0) if high.upper() > 0 else -inf for _, high in ends]
        sums = (total([x for x in side if x.upper() > 0]) for side in zip(*ends, strict=True))
        return np.array(lower), np.array(upper), *sums

    def in_doubles(self) -> tuple[Floats, Floats, arb, arb]:
        """Return the same in doubles, for a wrapped law in doubles; elementary functions err by a few units."""
        k = np.arange(self.wrapped.first, self.wrapped.last + 1, dtype=np.float64)
        found, length = self.wrapped.floats(), self.wrapped.length
        wrap = self._tails(self.above, k + length) + self._tails(self.below, k - length)
        low, high = found - self.wrapped.noise - wrap, np.maximum(found, 0.0) + self.wrapped.noise
        high = np.minimum(high, np.minimum(self._tails(self.above, k), self._tails(self.below, k)))
        shift, scale = float(self.log_scale) - self.theta * k, abs(float(self.log_scale)) + np.abs(self.theta * k)
        logs = []
        for ends, side in ((low, -1.0), (high, 1.0)):
            with np.errstate(divide="ignore"):
                logarithm = np.log(np.maximum(ends, 0.0))
            size = np.where(np.isfinite(logarithm), np.abs(logarithm), 0.0) + scale + 1.0
            logs.append(np.minimum(logarithm + shift + side * _SLACK * size, 0.0))
        sums = [fsum(np.exp(x).tolist()) * (1.0 + side * _SLACK) for x, side in zip(logs, (-1.0, 1.0), strict=True)]
        return logs[0], logs[1], arb(sums[0]), arb(sums[1])

    def _tails(self, tail: Tail, k: Floats) -> Floats:
        """Return the bound at many points, in doubles."""
        if not tail.size > 0:
            return np.zeros_like(k)
        size = float(tail.size.log().upper())
        exponent = size + float(tail.rate) * k
        bound = np.exp(np.minimum(exponent + _SLACK * (1.0 + abs(size) + np.abs(exponent)), 0.0))
        reached = k < tail.end if tail.end > 0 else k > tail.end
        return np.where(reached, bound, 0.0)


# --------------- How far a lattice raises E[S_+]: a bound from the law of the sum on it (docs/proofs/fft.md, section 5)


def excess_of_lattice(law: LatticeLaw, n: int, null: arb, points: Pointwise) -> arb:
    """Return what E_theta[S_+ e^(-theta S)] exceeds that of G itself by at most, S the sum on the lattice.

    ``null`` is the tilted probability that all draws are null, ``points`` the law of the sum, point by point.

    Guarantee
    ---------
    M(theta)^n times the result is at least E[S'_+] - E[S_+], S' the sum on the lattice and S that of G, in steps.
    Proof: docs/proofs/fft.md, section 5.
    """
    offsets, wrapped, theta = law.offsets, points.wrapped, points.theta
    variance = n * reduce(arb.max, [arb(0), *(f * (1 - f) for f in offsets)]).upper()
    if not variance > 0:
        return n * law.lift
    rate = max(min(1.0 / sqrt(float(variance)), _LARGEST_RATE), _RATE_OF_TILT * theta)
    narrow = rate / 2.0
    moment = variance.min(variance.sqrt() / 2)
    exponential = _growth(offsets, arb(rate)) ** n / (arb.const_e() * rate)
    bump = (moment * exponential).sqrt()
    # Beyond this many steps the weight is below the working precision.
    reach = ceil(0.7 * flint.ctx.prec / (narrow - theta)) + 1
    low, high = max(wrapped.first, -reach), min(wrapped.last, reach)
    expected = 2 * points.outside() + 2 * ((arb(theta) - arb(narrow)) * reach).exp() - null
    if low <= high:
        expected += wrapped.expectation(Weight(theta, narrow), low, high)
    return _growth(offsets, arb(narrow)) ** n * bump * expected + n * law.lift


def _growth(offsets: tuple[arb, ...], x: arb) -> arb:
    """Return the largest of E e^(x N) and E e^(-x N), N = 1 - f with probability f and -f otherwise."""
    terms = ((1 - f) * (s * x * f).exp() + f * (s * x * (f - 1)).exp() for f in offsets for s in (1, -1))
    return reduce(arb.max, terms)


# ------------------------- The whole law of a sum of GPARVs by one FFT on a lattice, and an enclosure of E[S_+] from it

ENGINES: dict[str, tuple[Engine, int]] = {"flint": (wrap_flint, 1 << 17), "numpy": (wrap_numpy, 1 << 22)}
"""The engines with the largest window that each takes, in lattice points."""


@dataclass(frozen=True)
class FftSettings:
    """The engine, the relative width aimed at, the digits to which everything but the lattice is kept, the lattice."""

    context: str = "flint"
    gap: float = 1e-3
    digits: int | None = None
    lattice: Lattice | None = None

    @property
    def log_share(self) -> float:
        """log of what wrap-around and rounding may cost, relative to the result."""
        return log(1e-3) + min(log(self.gap), -log(10.0) * (self.digits or 0))

    @property
    def most(self) -> int:
        """The largest window of the engine, in lattice points."""
        return ENGINES[self.context][1]


@dataclass(frozen=True)
class ErrorBudget:
    """Parts of the width of an enclosure, relative to its upper end."""

    lattice: float
    wrap_around: float
    rounding: float


@dataclass(frozen=True)
class FftSum:
    """An enclosure of a divergence with the lattice law of the sum that it comes from, point by point on a window."""

    lower: arb
    upper: arb
    budget: ErrorBudget
    points: Pointwise
    step: float
    precision: int

    @property
    def relative_gap(self) -> float:
        """(upper - lower)/upper."""
        return self.budget.lattice + self.budget.wrap_around + self.budget.rounding


def enclose_by_fft(law: Law, level: Level, n: int, settings: FftSettings | None = None) -> FftSum:
    """Return an enclosure of D_E(P0 || P1) of the law at n users, with the law of the sum that gave it.

    Without a lattice in the settings the coarsest one is searched that meets the gap. Raises ArgumentError if G takes
    no positive value, PrecisionError if the gap would take more lattice points than the engine has.

    Guarantee
    ---------
    With the engine "flint", ``lower.lower() <= D_E(P0 || P1) <= upper.upper()``. With "numpy" the same holds if
    the library rounds as assumed in section 6 of the proof. Proof: docs/proofs/fft.md.
    """
    settings = settings or FftSettings()
    rough = float_gparv(law, level)
    if not rough.is_positive:
        wrong = Problem(f"the divergence at {level.text} is 0")
        raise ArgumentError("eps", wrong, "take an eps below the local budget")
    if settings.lattice is not None:
        _check_step(settings.lattice, rough)
        return _enclose(law, level, n, settings.lattice, settings)
    tightening = 1.0
    for _ in range(_ROUNDS):
        lattice = _search_lattice(law, level, rough, n, tightening * settings.gap, settings.most)
        found = _enclose(law, level, n, lattice, settings)
        if found.relative_gap <= settings.gap:
            return found
        tightening *= min(0.5, max(0.02, 0.5 * settings.gap / found.relative_gap))
    raise PrecisionError("gap", settings.gap, f"a number of at least {found.relative_gap:.1e} here, or a step")


def _check_step(lattice: Lattice, rough: FloatGparv) -> None:
    """Refuse steps that are so far from the values of G that neither doubles nor the usual precision place them."""
    with at_precision(128):
        largest = arb(float(np.abs(rough.values).max())) * arb(2) ** rough.exponent
        ends = [largest * arb(2) ** e for e in (-_REACH, _REACH)]
        size = lattice.size()
        if not ends[0] <= size <= ends[1]:
            low, high = (end.str(3, radius=False) for end in ends)
            raise ArgumentError("step", size.str(3, radius=False), f"a number from about {low} to {high}")


def _search_lattice(law: Law, level: Level, rough: FloatGparv, n: int, gap: float, most: int) -> Lattice:
    """Return the lattice of a rational law if it is coarse enough, else one that should cost at most the gap."""
    transform = Power(rough, n)
    tilted = transform.tilted(saddle_tilt(transform))
    mean = n * tilted.cumulants.k1
    sigma2 = max(n * tilted.cumulants.k2, (1e-3 / tilted.theta) ** 2)
    density = np.exp(-0.5 * mean**2 / sigma2) / np.sqrt(2.0 * pi * sigma2)
    # The correction costs about pi x step^2 density, x = n f(1 - f), or 2 sqrt(x) step^2 density if that is more.
    allowed = gap * gaussian_estimate(tilted) / density if density > 0.0 else inf
    allowed = min(allowed, sigma2)
    limits = (allowed / (pi * n), allowed / (2.0 * np.sqrt(n)))
    smallest = min(np.sqrt(4.0 * limits[0]), np.sqrt(2.0 * limits[1]))
    if law.rational is None or level.rational is None:
        index, count = coarsest_lattice(rough.values, smallest, limits)
        signed = count if rough.values[index] > 0.0 else -count
        return Lattice(lambda: ball_gparv(law, level).values[index] / signed, None, index, signed)
    exact, _ = rational_values(law.rational, level.rational)
    step, unit = common_step(exact), arb(2) ** rough.exponent
    if float(arb(step) / unit) * most < _DEVIATIONS * np.sqrt(sigma2):
        index, count = coarsest_lattice(np.array([float(arb(v) / unit) for v in exact]), smallest, limits)
        step = abs(exact[index]) / count
    return Lattice(lambda: arb(step), step)


def _enclose(law: Law, level: Level, n: int, lattice: Lattice, settings: FftSettings) -> FftSum:
    # Twice the digits: a ball around a value on the lattice costs the square root of its radius.
    bits = 64 * ceil((n.bit_length() - 2.0 * settings.log_share / log(2.0) + 64.0) / 64.0)
    with at_precision(bits):
        g = placed_law(law, level, lattice)
        up = _Summation.of(upper_law(g), n, settings)
        upper = up.tilted.scale * (up.positive + up.missed)
        excess = excess_of_lattice(up.law, n, (g.null_mass / up.tilted.m) ** n, up.points)
        lower = up.tilted.scale * (up.positive - up.missed - excess)
        unit = g.step / n
        upper, lower = (unit * x.max(arb(0)) + g.singular for x in (upper, lower))
        # Where the step is far above the values of G, no more is known than that D_E <= P0(all).
        most = total([a.ratio0() * a.mass() for a in law.atoms]) + total([p0() for p0, _ in law.singular])
        upper = upper.min(most) if upper.is_finite() else most
        lower = lower if lower.is_finite() else arb(0)
        budget = _budget(lower, upper, 2 * unit * up.tilted.scale * up.missed)
        return FftSum(lower, upper, budget, up.points, float(g.step), bits)


def _budget(lower: arb, upper: arb, wrap_around: arb) -> ErrorBudget:
    top = upper.upper()
    if not top > 0:
        return ErrorBudget(0.0, 0.0, 0.0)
    rounding, wrapped = (upper.rad() + lower.rad()) / top, wrap_around.upper() / top
    lattice = (top - lower.lower()) / top - wrapped - rounding
    return ErrorBudget(*(float_above(part.max(arb(0))) for part in (lattice, wrapped, rounding)))


@dataclass(frozen=True)
class _Summation:
    """The sum of n draws of a lattice law, in steps: its wrapped law and E_theta[S_+ e^(-theta S)] on the window."""

    law: LatticeLaw
    n: int
    tilted: TiltedBalls
    points: Pointwise
    positive: arb

    @staticmethod
    def of(law: LatticeLaw, n: int, settings: FftSettings) -> _Summation:
        """Choose tilt and window in floats, then evaluate with the engine. Any choice gives valid bounds."""
        rough = law.floats()
        transform = Power(rough, n)
        search = transform.tilted(saddle_tilt(transform))
        log_allowance = settings.log_share + log(gaussian_estimate(search))
        window = choose_window(search, -log_allowance)
        first, last = _ends_of_window(search, law, window, log_allowance)
        length = 1 << max(1, (last - first).bit_length())
        if length > settings.most:
            many = Problem(f"{length} are needed, and context={settings.context!r} has at most {settings.most}")
            raise PrecisionError("lattice points", many, "take a larger gap or step, or sa.delta")
        first -= (length - 1 - last + first) // 2
        tilted = TiltedBalls.of(law.gparv(), n, search.theta)
        others = sorted(k for k in law.masses if k)
        one = dict(zip(others, tilted.probabilities, strict=True)) | {0: tilted.null}
        wrapped = ENGINES[settings.context][0](one, n, first, length)
        positive = arb(0)
        if wrapped.last > 0:
            positive = wrapped.expectation(Weight(search.theta), max(first, 1), wrapped.last)
        above = Tail.of(tilted, window.theta_above, n * max(law.masses) + 1)
        below = Tail.of(tilted, window.theta_below, n * min(law.masses) - 1)
        points = Pointwise(wrapped, below, above, search.theta, tilted.m.log() * n)
        return _Summation(law, n, tilted, points, positive)

    @property
    def missed(self) -> arb:
        """What the mass outside the window may add to ``positive`` or take from it: x e^(-theta x) <= 1/(e theta)."""
        return self.points.outside() / (self.tilted.theta * arb.const_e())


def _ends_of_window(tilted: TiltedLaw, law: LatticeLaw, window: Window, log_allowance: float) -> tuple[int, int]:
    """Return the points between which 1/(e theta) times the tilted mass is all but about the allowance."""
    n, theta, others = tilted.n, tilted.theta, np.array([window.theta_above, window.theta_below])
    wanted = max(-1.0 - log(theta) - log_allowance, 1.0)
    above, below = (n * (tilted.log_mgf(others) - tilted.cumulants.k0) + wanted) / (others - theta)
    last = min(ceil(above), n * max(law.masses))
    return min(max(floor(below), n * min(law.masses)), last), last
