"""The staircase mechanism (Geng, Viswanath 2014): additive noise for inputs in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise
from math import lcm
from typing import NamedTuple, Self, cast

import numpy as np
import sympy as sp

from symamp.decompositions.decomposition import Component, Decomposition
from symamp.decompositions.pair_groups import PairGroup
from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.rationals import rational_of
from symamp.numbers.reading import exact_number
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.protocols import Array, Protocol, Rng, added, double, first_two, interval
from symamp.randomizers.structures import SlidingWindow

_HALF = sp.Rational(1, 2)


_CUTS = Fraction(0), Fraction(1, 4), Fraction(9, 10), Fraction(1)
"""Ends of the cells of distances."""
_CUTS_PER_UNIT, _MOST_STEPS, _DIGITS = 20, 24, 60


class _Place(NamedTuple):
    """A number ``plain`` + ``steps`` g."""

    plain: Fraction
    steps: int

    def __add__(self, other: tuple[object, ...]) -> _Place:
        plain, steps = cast(_Place, other)
        return _Place(self.plain + plain, self.steps + steps)

    def __sub__(self, other: _Place) -> _Place:
        return _Place(self.plain - other.plain, self.steps - other.steps)

    def expression(self, g: sp.Expr) -> sp.Expr:
        return rational_of(self.plain) + self.steps * g


_ZERO, _UNIT = _Place(Fraction(0), 0), _Place(Fraction(1), 0)
_INSIDE = _Place(Fraction(0), 2), _Place(Fraction(1), -2)
"""The ends of the interval of inputs, and where a step of the noise falls on one of that around an end."""

_Lengths = frozenset[tuple[tuple[int, int, int, bool], _Place]]
"""How many steps down the density is at three inputs, whether that is beyond the ends, and on what length."""


@lru_cache(maxsize=64)
def _value(g: sp.Expr) -> Callable[[_Place], Fraction]:
    """Return what says which of two places is larger: itself for a rational g, else a number very near to it."""
    near = Fraction(str(sp.N(g, _DIGITS)))
    exact = Fraction(int(g.p), int(g.q)) if g.is_Rational else near
    return lambda place: place.plain + place.steps * exact


def _is_near_rational(g: sp.Expr) -> bool:
    """Return whether g is irrational, and so near to a fraction that digits do not tell on which side places are."""
    grid = [_CUTS_PER_UNIT * steps * _value(g)(_Place(Fraction(0), 1)) for steps in range(1, _MOST_STEPS)]
    return not g.is_Rational and any(abs(x - round(x)) < Fraction(1, 10 ** (_DIGITS // 2)) for x in grid)


def _folding(g: sp.Expr) -> Callable[[_Place], _Place]:
    """Return what makes equal places equal: a rational g is a number like others."""
    if not g.is_Rational:
        return lambda place: place
    width = Fraction(int(g.p), int(g.q))
    return lambda place: _Place(place.plain + place.steps * width, 0)


def _corners(g: sp.Expr, low: Fraction, high: Fraction) -> Iterator[tuple[_Place, ...]]:
    """Yield places of three inputs, the first two at distances from ``low`` to ``high``, that stand for all."""
    value, ends, apart = _value(g), (_ZERO, _UNIT), _Place(Fraction(0), 2)
    least, most, folded = _Place(low, 0), _Place(high, 0), _folding(g)

    def near(places: Iterable[_Place], moves: Iterable[_Place]) -> list[_Place]:
        moved = (folded(found) for x in places for move in (_ZERO, *moves) for found in (x + move, x - move))
        return [x for x in dict.fromkeys(moved) if 0 <= value(x) <= 1]

    def is_held(*x: Fraction) -> bool:
        """Whether no place can move by itself, or with others, while distances and ends stay as they are."""
        links = [{i, j} for i, j in combinations(range(3), 2) if abs(x[i] - x[j]) in far]
        links += [{0, 1}] if abs(x[0] - x[1]) in (low, high) else []
        held = {i for i in range(3) if x[i] in (0, 1)}
        for _ in range(2):
            held = held.union(*(link for link in links if link & held))
        return len(held) == 3

    far = {Fraction(0), Fraction(1), value(apart)}
    fixed = near(near(ends, (apart,)), (apart,))
    for x0 in near(fixed, (least, most)):
        for x1 in dict.fromkeys([*near((x0,), (least, most, apart)), *fixed]):
            if low <= abs(value(x0) - value(x1)) <= high:
                for x in dict.fromkeys(near((*ends, x0, x1), (apart,))):
                    if is_held(value(x0), value(x1), value(x)):
                        yield x0, x1, x


@lru_cache(maxsize=256)
def _listed(g: sp.Expr, low: Fraction, high: Fraction) -> tuple[_Lengths, ...]:
    """Return the different lengths at the places that stand for all pairs at such distances."""
    return tuple(dict.fromkeys(_lengths(g, places) for places in _corners(g, low, high)))


def _lengths(g: sp.Expr, places: tuple[_Place, ...]) -> _Lengths:
    """Return the lengths of messages by how many steps down the densities of the inputs at these places are."""
    folded, width = _folding(g), _value(g)(_Place(Fraction(0), 1))
    whole = lcm(_CUTS_PER_UNIT, width.denominator)
    high = width.numerator * (whole // width.denominator)

    def at(place: _Place) -> int:
        """Return a place in units of 1/``whole``."""
        return place.plain.numerator * (whole // place.plain.denominator) + place.steps * high

    centres = [at(x) for x in places]
    steps = [_Place(Fraction(k), 1) for k in range(3)]
    cuts = {y for x in places for step in steps for y in (x + step, x - step)}
    cuts |= {_Place(Fraction(k), 0) for k in (-1, 0, 1, 2)}
    known = {place: y for y in cuts if -whole <= (place := at(y)) <= 2 * whole}
    found: dict[tuple[int, int, int, bool], _Place] = {}
    for start, end in pairwise(sorted(known)):
        s0, s1, s = (max(0, (abs(start + end - 2 * x) - 2 * high) // (2 * whole) + 1) for x in centres)
        key = s0, s1, s, not 0 <= start < whole
        found[key] = found.get(key, _Place(Fraction(0), 0)) + (known[end] - known[start])
    return frozenset((key, folded(length)) for key, length in found.items())


@lru_cache(maxsize=256)
def _coverage(g: sp.Expr, t: sp.Expr) -> sp.Expr:
    """Return (1/gamma - 1)/(t - 1)."""
    total = 2 * (g * t + 1 - g)
    if g.is_number and g > _HALF:
        # The heights on (1/2, g), (g, 1) and beyond 1, twice, times t(gt + 1 - g).
        gamma = 1 / t + (t - 1) * (2 * (g - _HALF) + 2 * (1 - g) / t) / total
    else:
        gamma = (total + t - 1) / (t * total)
    return sp.cancel(sp.together((1 / gamma - 1) / (t - 1)))


class Staircase(SlidingWindow):
    """Send x + Z, x in [0, 1], where the density of Z is a on abs(z) < g, a/t on g < abs(z) < 1, 1/t of it one further.

    a = (t - 1)/(2(g t + 1 - g)), t = e^eps0. The noise is even and does not increase away from 0, so that the ends
    (``x0``, ``x1``) are the worst pair and the infimum over all inputs is the one over the ends
    (docs/proofs/worst_pair.md); all ratios to it are powers of t between 1 and t. Without a value g is a symbol
    between 0 and 1/2; numbers may be up to 1. With a number further inputs are shown at which a step of the noise falls
    on one of that around an end: 2g and 1 - 2g. Where all other users hold the same input none is worse than
    one of these or an end, since the law of a message is affine in the input between them.

    >>> Staircase().blanket().gamma
    (2*g*exp(eps0) - 2*g + exp(eps0) + 1)*exp(-eps0)/(2*(g*exp(eps0) - g + 1))
    """

    _internal_names = "places"

    name = "staircase"
    slug = "staircase"
    source = "Geng, Viswanath 2014"
    small = tuple(
        {"g": g, "eps0": f"log({t})"} for g, t in (("1/4", 2), ("2/5", 3), ("3/10", 5), ("1/8", 3), ("3/8", "5/2"))
    )
    typical = {"g": "1/4"}
    declared = (Parameter("g", lower=0, upper=1), EPS0)

    def __init__(self, *, g: Value = None, eps0: Value = None) -> None:
        super().__init__(g=Parameter("g", lower=0, upper=_HALF) if g is None else g, eps0=eps0)
        ranges = [p for p in self.parameters if p.name == "g"]
        if any(p.upper is None or not p.upper <= _HALF for p in ranges):
            raise ArgumentError("g", ranges[0].describe(), "a number, or a range below 1/2")

    @classmethod
    def optimal(cls, *, eps0: object) -> Self:
        """Return the member with the least mean of abs(Z): g = 1/(1 + e^(eps0/2)).

        >>> Staircase.optimal(eps0="log(4)")["g"]
        1/3
        """
        budget = exact_number(eps0, "eps0")
        return cls(g=normal(1 / (1 + sp.exp(budget / 2))), eps0=budget)

    def coverage(self) -> sp.Expr:
        """The share of the blanket on which R(0), say, is t times as likely: (1/gamma - 1)/(t - 1)."""
        return _coverage(self["g"], sp.exp(self["eps0"]))

    def places(self) -> dict[str, sp.Expr]:
        """Return where the inputs that are shown are in [0, 1]."""
        places = {"x0": sp.Integer(0), "x1": sp.Integer(1)}
        if self["g"].is_number:
            inside = dict.fromkeys(normal(place.expression(self["g"])) for place in _INSIDE)
            places |= {f"x{i + 2}": x for i, x in enumerate(x for x in inside if 0 < x < 1)}
        return places

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ends of the interval of inputs, and where steps fall together."""
        return tuple(self.places())

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """The messages between two steps, those a whole number further outside put together."""
        if {"x0", "x1"}.issuperset(distinguished):
            return super().orbits(distinguished)
        g, t, places = self["g"], sp.exp(self["eps0"]), self.places()
        steps = {normal(x + side * (g + k)) for x in places.values() for side in (1, -1) for k in (0, 1, 2)}
        inside = [y for y in {*steps, sp.Integer(0), sp.Integer(1)} if -1 < y < 2]
        high = (t - 1) / (2 * (g * t + 1 - g))
        found = []
        for start, end in pairwise([sp.Integer(-1), *sorted(inside), sp.Integer(2)]):
            # Messages one unit further out are 1/t as likely for every input: 1 + 1/t + ... = t/(t - 1).
            measure = (end - start) * (1 if 0 <= start < 1 else t / (t - 1))
            density = {
                x: high * t ** -sp.Max(0, sp.floor(abs((start + end) / 2 - place) - g) + 1)
                for x, place in places.items()
            }
            ends = tuple((density[x], sp.Integer(1)) for x in ("x0", "x1") if x not in distinguished)
            found.append(Orbit(f"{start} < y < {end}", measure, tuple(density[x] for x in distinguished), ends))
        return tuple(found)

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """One group for each cell of distances of the pair: laws are affine in the places while no two steps meet.

        So the places stand for all at which as many steps as possible fall together, or a place is an end, or the
        distance of the pair that of an end of the cell.
        """
        if not self["g"].is_number or _is_near_rational(self["g"]):
            return None
        groups: list[PairGroup] = []
        for low, high in reversed(list(pairwise(_CUTS))):
            pair = (f"places at a distance above {low}", f"up to {high}") if groups else ("x0", "x1")
            laws = (self._law(lengths, pair) for lengths in _listed(self["g"], low, high))
            held = tuple(("x0", law) for distance, law in self._towards_x1() if low < distance <= high)
            groups.append(PairGroup(pair, tuple(laws), held=held))
        return tuple(groups)

    def _towards_x1(self) -> Iterator[tuple[Fraction, Decomposition]]:
        """Yield the distances of inner inputs from x1, and the laws of these pairs where all others hold x0.

        Where few others send what tells the pair apart, these may be worse than the ends whatever is held there.
        """
        at = {normal(place.expression(self["g"])): place for place in _INSIDE}
        for name, x in self.places().items():
            if name not in ("x0", "x1"):
                lengths = _lengths(self["g"], (at[x], _UNIT, _ZERO))
                yield _value(self["g"])(_UNIT - at[x]), self._law(lengths, (name, "x1"))

    def _law(self, lengths: _Lengths, pair: tuple[str, str]) -> Decomposition:
        g, t = self["g"], sp.exp(self["eps0"])
        high = (t - 1) / (2 * (g * t + 1 - g))
        masses: dict[tuple[int, int], list[sp.Expr]] = {}
        for (s0, s1, s, is_tail), length in lengths:
            mass = high * length.expression(g) * t**-s * (t / (t - 1) if is_tail else 1)
            masses.setdefault((s - s0, s - s1), []).append(mass)
        parts = ((t**r0, t**r1, normal(sp.Add(*found))) for (r0, r1), found in masses.items())
        return Decomposition(tuple(Component(*part) for part in parts), pair=pair)

    def protocol(self) -> Protocol:
        """Noise is a sign times a whole number of steps and a place in the higher or the lower part of the next."""
        g, t = self["g"], sp.exp(self["eps0"])
        high = g * t / (g * t + 1 - g)  # the share of the higher part of a step

        def noise(n: int, rng: Rng) -> Array:
            width, whole = double(g), rng.geometric(double(1 - 1 / t), size=n) - 1
            u, up = rng.random(n), rng.random(n) < double(high)
            size: Array = whole + np.where(up, width * u, width + (1 - width) * u)
            return np.where(rng.random(n) < 0.5, -size, size)

        # The mean of the square of a geometric number and a place that is independent of it.
        first, second = 1 / (t - 1), (t + 1) / (t - 1) ** 2
        place = high * g / 2 + (1 - high) * (1 + g) / 2
        square = high * g**2 / 3 + (1 - high) * (1 + g + g**2) / 3
        spread = normal(second + 2 * first * place + square)
        per_unit = 2 * int(sp.ilcm(1 / self.cell(g), 2)) if g.is_Rational else 0

        def label(report: float) -> str:
            """Beyond -1 and 2 the table has whole numbers further out merged."""
            inside = report % 1 + (-1 if report < 0 else 1 if report >= 1 else 0)
            return str(int(inside * per_unit // 1))

        return added(interval(sp.S.Zero, sp.S.One), noise, spread, label=label, shown=first_two)

    def table(self) -> FiniteMechanism:
        """Return the table of noise on cells, clipped to as many steps as have ratios of their own.

        Beyond -1 and 2 the density of every input falls by t with each step, so such messages are merged.
        """
        g, t = self["g"], sp.exp(self["eps0"])
        per_unit = 2 * int(sp.ilcm(1 / self.cell(g), 2))
        size = sp.Rational(1, per_unit)
        check_size(5, 3 * per_unit)
        high = (t - 1) / (2 * (g * t + 1 - g)) * size

        def cell(k: int) -> sp.Expr:
            """The probability of the k-th cell to the right of the input."""
            step, place = divmod(k, per_unit)
            return high * t ** -(step if place < g * per_unit else step + 1)

        rows, names = {}, {int(x * per_unit): name for name, x in self.places().items()}
        for x in sorted({*range(0, per_unit + 1, per_unit // 4), *names}):
            row = {}
            for y in range(-per_unit, 2 * per_unit):
                far = cell(y - x if y >= x else x - y - 1)
                # Messages one unit further out are 1/t as likely for every input: 1 + 1/t + ... = t/(t - 1).
                row[str(y)] = far if 0 <= y < per_unit else far * t / (t - 1)
            rows[names.get(x, f"x = {x * size}")] = row
        return FiniteMechanism(rows, name=repr(self))
