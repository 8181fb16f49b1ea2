"""A finite law: a list of (r0, r1, mass) whose numbers are balls, and its G = r0 - E r1 at a level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from math import inf, log
from typing import TypeAlias

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from symamp.numbers.dyadic import Dyadic
from symamp.numbers.surroundings import at_precision

# ------------------------------------------- A finite law: a list of (r0, r1, mass), without formulas and without SymPy

# Numbers are functions of no argument that return a ball (``flint.arb``) at the ambient precision, so that every
# precision sees the exact number and not a rounded copy of it.

Number: TypeAlias = Callable[[], arb]
_LARGEST = 1e100


class Known:
    """A number of which a ball is known, at every precision: its middle and radius travel, as balls cannot."""

    __slots__ = ("ball", "ends")

    def __init__(self, ball: arb, ends: tuple[Dyadic, Dyadic] | None = None) -> None:
        self.ball, self.ends = ball, ends

    def __call__(self) -> arb:
        return self.ball

    @property
    def exact(self) -> tuple[Dyadic, Dyadic]:
        """Middle and radius of the ball as it was before it travelled: it is made again by rounding the radius up."""
        return self.ends or (Dyadic.of(self.ball), Dyadic.of(self.ball.rad()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and (self.ball is other.ball or self.exact == other.exact)

    def __hash__(self) -> int:
        return hash(float(self.ball.mid()))

    def __reduce__(self) -> tuple[object, ...]:
        return _known_from, self.exact


def _known_from(middle: Dyadic, radius: Dyadic) -> Known:
    return Known(arb(middle.ball, radius.ball), (middle, radius))


@dataclass(frozen=True)
class Atom:
    """A component: the ratios of A0 and A1 to A2, its mass under A2, and whether the ratios are equal as formulas."""

    ratio0: Number
    ratio1: Number
    mass: Number
    equal_ratios: bool = False


@dataclass(frozen=True)
class Law:
    """A triple (A0, A1, A2) as it is evaluated.

    ``atoms`` are the components where A2 has mass; the rest of A2 is the null symbol. ``singular`` lists the pairs
    (A0 mass, A1 mass) of the messages where A2 has none: a message there names its sender. ``complete`` says that the
    masses of the atoms sum to exactly 1, so that there is no null symbol. ``rational`` repeats atoms and singular
    part as fractions when all of them are rational.
    """

    atoms: tuple[Atom, ...]
    singular: tuple[tuple[Number, Number], ...] = ()
    complete: bool = False
    rational: RationalLaw | None = None

    def __hash__(self) -> int:
        # Numbers are functions, which no two laws share by chance; fractions take long to hash.
        return hash((len(self.atoms), self.atoms[:1], self.singular[:1], self.complete))

    @property
    def size(self) -> int:
        """The number of atoms."""
        return len(self.atoms)

    def numbers(self) -> list[tuple[arb, arb, arb, bool]]:
        """Return both ratios, the mass and whether the ratios are equal, atom by atom, at the ambient precision."""
        return [(a.ratio0(), a.ratio1(), a.mass(), a.equal_ratios) for a in self.atoms]

    def swapped(self) -> Law:
        """Return the law of the other order of the pair, (A1, A0, A2)."""
        atoms = tuple(Atom(a.ratio1, a.ratio0, a.mass, a.equal_ratios) for a in self.atoms)
        rational = None if self.rational is None else self.rational.swapped()
        return Law(atoms, tuple((b, a) for a, b in self.singular), self.complete, rational)


@dataclass(frozen=True)
class RationalLaw:
    """The same in exact fractions."""

    atoms: tuple[tuple[fmpq, fmpq, fmpq], ...]
    singular: tuple[tuple[fmpq, fmpq], ...] = ()

    def in_balls(self, complete: bool) -> Law:
        """Return the law with these fractions."""
        atoms = tuple(Atom(partial(arb, a), partial(arb, b), partial(arb, m), a == b) for a, b, m in self.atoms)
        return Law(atoms, tuple((partial(arb, a), partial(arb, b)) for a, b in self.singular), complete, self)

    def swapped(self) -> RationalLaw:
        """Return the law of the other order of the pair."""
        return RationalLaw(tuple((b, a, m) for a, b, m in self.atoms), tuple((b, a) for a, b in self.singular))


@dataclass(frozen=True, eq=False)
class Level:
    """A central budget eps >= 0 as an exact number, how it is written, and E = e^eps as a fraction where it is one.

    Levels are equal if they are written in the same way. ``double`` is eps where a search has chosen it.
    """

    eps: Number
    written: Callable[[], str]
    rational: fmpq | None = None
    double: float | None = None

    @staticmethod
    def of_float(eps: float) -> Level:
        """Return the level of a finite double, taken as the dyadic number that it is."""
        return Level(lambda: arb(eps), lambda: str(Fraction(eps)), fmpq(1) if eps == 0.0 else None, eps)

    def just_below(self) -> Level:
        """Return the level of a budget that is smaller by one part in 2^64: no divergence is smaller there.

        >>> Level.of_float(0.5).just_below().text
        '(1/2)*(1-2**-64)'
        """
        return Level(lambda: self.eps() * (1 - arb(2) ** -64), lambda: f"({self.text})*(1-2**-64)")

    @cached_property
    def text(self) -> str:
        """The exact number eps as an expression."""
        return self.written()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Level) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def exponential(self) -> arb:
        """Return a ball around E = e^eps."""
        return arb(self.rational) if self.rational is not None else self.eps().exp()

    def exponential_minus_one(self) -> arb:
        """Return a ball around E - 1 without the cancellation."""
        return arb(self.rational - 1) if self.rational is not None else self.eps().expm1()

    def rough_minus_one(self) -> float:
        """Return E - 1 as a double for searches, or a smaller number where its square would not be one.

        >>> Level.of_float(0.0).rough_minus_one(), Level.of_float(1e4).rough_minus_one()
        (0.0, 1e+100)
        """
        with at_precision(128):
            return min(float(self.exponential_minus_one()), _LARGEST)


def total(values: Sequence[arb]) -> arb:
    """Return the sum of some balls."""
    return sum(values, arb(0))


# ------------ The generalised privacy amplification random variable G = (A0 - E A1)/A2 of a law, in balls and in floats

Floats = NDArray[np.float64]

_LARGEST_SEARCH_PRECISION = 4096
_HARMLESS = 1e-40


@dataclass(frozen=True)
class BallGparv:
    """G in balls: nonzero values with their probabilities, P(G = 0), and the singular part of the divergence."""

    values: tuple[arb, ...]
    masses: tuple[arb, ...]
    null_mass: arb
    singular: arb


@dataclass(frozen=True)
class FloatGparv:
    """G/2^exponent in doubles, each entry the nearest to the exact number; ``mean`` is that of the scaled values.

    The power of two makes the largest value about 1, so that squares neither overflow nor vanish. ``logs`` are
    the logarithms of the masses, where some are below the smallest double.
    """

    values: Floats
    masses: Floats
    null_mass: float
    mean: float
    singular: float
    exponent: int = 0
    logs: Floats | None = None

    @property
    def unscaled(self) -> FloatGparv:
        """The same with values in units of 1."""
        unit = 2.0**self.exponent
        return self if unit == 1.0 else replace(self, values=self.values * unit, mean=self.mean * unit, exponent=0)

    @property
    def is_positive(self) -> bool:
        """Whether some value is resolved as positive: otherwise E[S_+] is 0 or too small for floats to see."""
        return bool(((self.values > 0.0) & (self.masses > 0.0)).any())

    @cached_property
    def log_masses(self) -> tuple[Floats, float]:
        """The logarithms of the masses, and of that of the null symbol; -inf for 0."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.masses) if self.logs is None else self.logs
            return logs, log(self.null_mass) if self.null_mass > 0.0 else -inf

    @property
    def log_mean(self) -> float:
        """log E[G], -inf if the mean is not positive: E[S_+]/n is at least E[G]."""
        return log(self.mean) + self.log_unit if self.mean > 0.0 else -inf

    @property
    def log_gain(self) -> float:
        """log E[G_+], which is at least log E[S_+]/n; -inf where no value is positive."""
        gain = float(self.masses @ np.maximum(self.values, 0.0))
        return log(gain) + self.log_unit if gain > 0.0 else -inf

    @property
    def log_unit(self) -> float:
        """log of the power of two that the values are in units of."""
        return self.exponent * log(2.0)


def ball_gparv(law: Law, level: Level) -> BallGparv:
    """Return G in balls at the ambient precision (Su, Cheng, Wang 2025, Theorem 12; docs/proofs/identity.md)."""
    e = level.exponential()
    minus = -level.exponential_minus_one()
    values, masses, null = [], [], []
    everything = arb(0)
    for ratio0, ratio1, mass, equal_ratios in law.numbers():
        everything += mass
        value = ratio0 * minus if equal_ratios else ratio0 - e * ratio1
        if value.is_zero():
            null.append(mass)
        else:
            values.append(value)
            masses.append(mass)
    singular = total([(a0() - e * a1()).max(arb(0)) for a0, a1 in law.singular])
    # The part of A2 outside the components is the null symbol; its mass is never negative.
    rest = arb(0) if law.complete else (1 - everything).max(arb(0))
    return BallGparv(tuple(values), tuple(masses), rest + total(null), singular)


def float_gparv(law: Law, level: Level, bits: int = 128) -> FloatGparv:
    """Return G in doubles, raising the precision until every value is resolved (or is too small to matter)."""
    return nearest_doubles(lambda: ball_gparv(law, level), bits)


def nearest_doubles(source: Callable[[], BallGparv], bits: int = 128) -> FloatGparv:
    """Return the law that ``source`` gives in balls at the ambient precision in doubles, as ``float_gparv`` does."""
    while True:
        with at_precision(bits):
            balls = source()
            resolved = all(v.rel_accuracy_bits() > 60 for v in balls.values)
            if resolved or bits >= _LARGEST_SEARCH_PRECISION:
                mean = total([v * w for v, w in zip(balls.values, balls.masses, strict=True)])
                exponent = _binary_exponent(balls.values)
                unit = arb(2) ** exponent
                scaled = balls.values if exponent == 0 else [v / unit for v in balls.values]
                values, masses = _doubles([0.0 if v.contains(0) else v for v in scaled]), _doubles(balls.masses)
                null, mean, singular = (float(x) for x in (balls.null_mass, mean / unit, balls.singular))
                return FloatGparv(values, masses, null, mean, singular, exponent)
        bits *= 2


def _binary_exponent(values: tuple[arb, ...]) -> int:
    """Return e such that the largest of the values is about 2^e, 0 where squares are harmless anyway."""
    largest = max((abs(float(v)) for v in values), default=1.0)
    if _HARMLESS < largest < 1.0 / _HARMLESS:
        return 0
    exponents = [int(m).bit_length() + int(e) for m, e in (abs(v).upper().man_exp() for v in values) if m != 0]
    return max(exponents, default=0)


# --------------------------- A law in doubles, made once: G = r0 - E r1 at any level in floats, where floats resolve it

_BITS, _RESOLVED = 128, 64
_CLOSE, _ROUNDED, _BESIDE = 1e-9, 2.0**-50, 1e-12
_MODERATE = 1e40


@dataclass(frozen=True)
class FloatLaw:
    """Differences r0 - r1, ratios r1 and masses of a law, each the nearest double, and the masses of A0 - A1 and A1."""

    differences: NDArray[np.float64]
    ratios: NDArray[np.float64]
    masses: NDArray[np.float64]
    null_mass: float
    excess: float
    whole: float
    singular: NDArray[np.float64]

    @staticmethod
    @lru_cache(maxsize=256)
    def of(law: Law) -> FloatLaw | None:
        """Return the law in doubles, None where one of the numbers is not resolved; kept, as searches ask often."""
        with at_precision(_BITS):
            rows = law.numbers()
            if not all(x.rel_accuracy_bits() > _RESOLVED for row in rows for x in row[:3] if not x.is_zero()):
                return None
            # A difference that is not resolved counts as 0: the ratios agree to far more digits than a double has.
            differences = [arb(0) if same else r0 - r1 for r0, r1, _, same in rows]
            ratios, masses = [r1 for _, r1, *_ in rows], [mass for *_, mass, _ in rows]
            rest = arb(0) if law.complete else (1 - total(masses)).max(arb(0))
            excess, whole = (
                float(total([x * m for x, m in zip(of, masses, strict=True)])) for of in (differences, ratios)
            )
            alone = np.array([(float(a() - b()), float(b())) for a, b in law.singular]).reshape(-1, 2)
            columns = _doubles(differences), _doubles(ratios), _doubles(masses)
            return FloatLaw(*columns, float(rest), excess, whole, alone)

    def gparv(self, level: Level) -> FloatGparv | None:
        """Return G at a level, None where a value is a difference of numbers that are nearly equal."""
        with at_precision(_BITS):
            minus_one = float(level.exponential_minus_one())
        if 0.0 < minus_one < 1.0 / _MODERATE:
            return None
        with np.errstate(all="ignore"):
            taken = minus_one * self.ratios
            values = self.differences - taken
            sizes, scales = np.abs(values), np.abs(self.differences) + taken
            alone = self.singular[:, 0] - minus_one * self.singular[:, 1]
            none = (self.differences == 0.0) & (taken == 0.0)
            clear = (sizes > _CLOSE * scales) & (sizes < _MODERATE) & (sizes > 1 / _MODERATE)
            # What cancels beside larger values, as at the ratio of a message, is as good as computed.
            least = _BESIDE * values[clear].max(initial=0.0)
            blurred = (sizes <= _CLOSE * scales) & (_ROUNDED * scales <= least)
            if not ((clear | none | blurred).all() and np.isfinite(alone).all()):
                return None
            values = np.where(sizes <= _ROUNDED * scales, 0.0, values)
        null, mean = self.null_mass + float(self.masses[none].sum()), self.excess - minus_one * self.whole
        return FloatGparv(values[~none], self.masses[~none], null, mean, float(np.maximum(alone, 0.0).sum()))


def quick_gparv(law: Law, level: Level) -> FloatGparv:
    """Return G in doubles, from balls only where doubles do not resolve it: for searches, which need no last digit."""
    known = FloatLaw.of(law)
    found = None if known is None else known.gparv(level)
    return float_gparv(law, level) if found is None else found


def _doubles(values: Sequence[arb | float]) -> NDArray[np.float64]:
    return np.array([float(v) for v in values], dtype=np.float64)
