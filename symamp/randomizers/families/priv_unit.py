"""PrivUnit (Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018): a unit vector, reported with a spherical cap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import atan2, ceil, cos, exp, lgamma, pi, sin, tau
from typing import Any

import numpy as np
import scipy
import sympy as sp
from flint import arb

from symamp.decompositions.pair_groups import PairGroup, Pattern, free_sets
from symamp.errors import ArgumentError
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.laws.law import Floats
from symamp.numbers.dyadic import float_above
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import whole_number
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.protocols import Array, Protocol, Rng, double, interval, mean
from symamp.randomizers.structures import DisjointCover, packed, with_average

_LARGEST = 10_000
_BITS, _NEAR = 192, 1e-9
"""The precision of masses of caps, how near the height of one is enclosed, and how much cosines are raised."""
_CELLS, _REACH, _PARTS = 64, 6, 10_000
"""Cells of a cap in bounds of what two have in common, how far they go in units of 1/sqrt(d), and into how many parts
of c the bound is rounded up."""
_ANGLES = range(120, 151)
"""Degrees between two of three caps, the third one opposite to their midpoint: that with the least in common is taken.
All are valid."""


def cap(d: int, height: arb) -> arb:
    """Return a ball around the mass of the cap <x, v> >= ``height`` >= 0 of the unit sphere of d dimensions.

    >>> cap(3, arb(1) / 2).contains(0.25)
    True
    """
    with at_precision(_BITS):
        x = 1 - height * height
        ends = [y.beta_lower(arb(d - 1) / 2, arb(1) / 2, 1) / 2 if y > 0 else arb(0) for y in (x.lower(), x.upper())]
        return ends[0].union(ends[1])


class _Cap:
    """A cap of mass c < 1/2 in d > 2 dimensions: its height in a ball, and cells of the heights s above its centre."""

    def __init__(self, d: int, c: Fraction) -> None:
        mass, power = arb(fmpq_of(c)), (d - 1) / 2.0
        least, most = (
            arb(1.0 - 2.0 * float(scipy.special.betaincinv(power, power, float(c))) + e) for e in (-_NEAR, _NEAR)
        )
        self.d, self.c, self.height = d, c, least.union(most)
        self.is_known = bool(cap(d, least) > mass > cap(d, most))
        reach = (1 - self.height).min(_REACH / arb(d).sqrt())
        self._edges = [self.height + reach * k / _CELLS for k in range(_CELLS)]
        self._masses = [x - y for x, y in pairwise([*(cap(d, s) for s in self._edges), arb(0)])]

    def common(self, cosine: arb, *, at_most: bool) -> arb:
        """Return a bound on what it has in common with a cap whose centre has this product with its own.

        What the other cap cuts off along a cell is taken where s is least or, after the first, largest: of products of
        at most 0 it is least there, and largest.
        """
        edges = self._edges if at_most else [*self._edges[1:], arb(1)]
        sine = (1 - cosine * cosine).sqrt()
        shares = []
        for mass, s in zip(self._masses, edges, strict=True):
            room = sine * (1 - s * s).max(arb(0)).sqrt()
            cut = (self.height - s * cosine) / room if room > 0 else arb(2)
            shares.append(arb(0) if cut > 1 else mass * cap(self.d - 1, cut.min(arb(1))))
        return sum(shares, arb(0))

    def roughly_common(self, cosines: Floats) -> Floats:
        """Return about what it has in common with others, in doubles."""
        power, s = (self.d - 1) / 2.0, np.array([float(x) for x in self._edges])
        cut = (float(self.height) - s * cosines[:, None]) / np.sqrt((1.0 - s**2) * (1.0 - cosines[:, None] ** 2))
        chances = scipy.special.betainc(power - 0.5, 0.5, np.maximum(1.0 - cut**2, 0.0)) / 2.0
        return np.asarray(chances @ np.array([float(x) for x in self._masses]))

    def rounded(self, share: arb) -> Fraction:
        """Return a share, rounded up to whole parts of c."""
        return Fraction(ceil(float_above(share / arb(fmpq_of(self.c))) * _PARTS), _PARTS) * self.c


@lru_cache(maxsize=256)
def third_overlap(d: int, c: Fraction) -> Fraction | None:
    """Return a share that a third cap has in common with each of two disjoint caps, all of mass c < 1/2 and d > 2.

    With caps that touch and the third one opposite to their midpoint it is least: the bound a from above. It is more at
    the midpoint, at least b; a <= b is a share of a third cap in between, as shares are continuous. None if a > b.

    >>> third_overlap(3, Fraction(1, 10)), third_overlap(10, Fraction(1, 10))
    (Fraction(0, 1), Fraction(31, 100000))
    """
    with at_precision(_BITS):
        if cap(d, arb(1) / 2) > arb(fmpq_of(c)):
            return Fraction(0)
        one = _Cap(d, c)
        if not one.is_known:
            return None
        found = one.rounded(one.common(-one.height, at_most=True))
        # With the product of the height itself what is cut off falls along a cell.
        return found if one.common(one.height, at_most=True) > fmpq_of(found) and 2 * found <= c else None


@lru_cache(maxsize=256)
def spread_overlaps(d: int, c: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return shares (v, u) of three caps of mass c < 1/2 around a great circle that have no message in common.

    The first two have v in common, the first and third u, the second and third at most u; d > 2. None if none are
    found, or where three disjoint caps fit. Proof: docs/proofs/other_inputs.md.

    >>> spread_overlaps(100, Fraction(1, 10))
    (Fraction(19, 50000), Fraction(47, 50000))
    """
    with at_precision(_BITS):
        if cap(d, arb(1) / 2) > arb(fmpq_of(c)):
            return None
        one = _Cap(d, c)
        if not one.is_known:
            return None
        angles = np.radians(_ANGLES)
        apart, opposite = (one.roughly_common(np.cos(x)) for x in (angles, np.pi - angles / 2.0))
        angle = float(angles[(apart + opposite).argmin()])
        # Both angles are a little smaller: the first and twice the second stay below 360 degrees in spite of roundings.
        v, u = (one.rounded(one.common(arb(cos(x) + _NEAR), at_most=True)) for x in (angle, pi - angle / 2.0))
        # Both angles of these shares are above 90 degrees, so that the third one is below 180.
        is_proved = one.common(arb(0), at_most=False) > fmpq_of(max(v, u)) and 2 * u <= c
        return (v, u) if is_proved else None


class PrivUnit(DisjointCover):
    """Send a unit vector that is uniform on the cap round x of mass c with probability P, uniform off it with 1 - P.

    P makes the density on the cap t = e^eps0 times that off the cap: P = ct/(ct + 1 - c). Of the upper end only the
    cap mass c is asked, which the dimension d and the threshold fix: c is the probability that <x, v> >= threshold for
    uniform v. The dimension is optional. Without it all dimensions are meant: the upper end holds for each, and the
    lower end is attained by one, the circle (d = 2). With it the lower end is that of this dimension, and a third input
    is shown whose cap has as little in common with those of the pair as is known to be possible: nothing up to an
    angular radius of 60 degrees. Beyond, three vectors v0, v1, v2 around a great circle, some 120 degrees apart, are
    the worst that is known: they have little in common, two and two.

    The caps of the pair are disjoint, as those of opposite vectors are, the worst case (see DisjointCover). The scaling
    of the vector, known to all, changes nothing.

    >>> PrivUnit(c="1/4", eps0="log(3)").blanket().gamma
    2/3
    """

    name = "PrivUnit"
    slug = "priv-unit"
    source = "Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018"
    small = tuple(
        {"c": c, "eps0": f"log({e})"} for c, e in (("1/4", 3), ("1/3", 3), ("2/5", 2), ("1/8", 5), ("5/12", 3))
    )
    typical = {"c": "1/10"}
    declared = (Parameter("c", lower=0, upper=sp.Rational(1, 2)), EPS0)

    def __init__(self, *, c: Value = None, eps0: Value = None, d: Value = None) -> None:
        super().__init__(c=c, eps0=eps0)
        self.d = None if d is None else whole_number(d, "d", _LARGEST, least=2)
        self.keep("d", self.d)

    def coverage(self) -> sp.Expr:
        return self["c"]

    def sets(self) -> Mapping[tuple[str, ...], sp.Expr]:
        """The caps of the pair, and of a third input that has little in common with them; on a circle all that fit."""
        c = self.coverage()
        if self.d == 2 and c.is_number:
            return packed(c)
        pair: Mapping[tuple[str, ...], sp.Expr] = super().sets()
        common = third_overlap(self.d, Fraction(c.p, c.q)) if self.d is not None and c.is_Rational else None
        if common is None:
            return pair
        u = sp.Rational(common.numerator, common.denominator)
        alone: dict[tuple[str, ...], sp.Expr] = {("x0",): c - u, ("x1",): c - u, ("x2",): c - 2 * u}
        return {**alone, ("x0", "x2"): u, ("x1", "x2"): u} if u else alone

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """Those of all sets of share c; without a dimension with the names of the arcs that have their laws.

        With one v2 is held against v0 and v1: three vectors around a great circle, as far apart as suits them best.
        """
        first, *others = super().pair_groups() or ()
        c, t = self.coverage(), self.ratio()
        if self.d is None:
            named = zip(("x2", "x3"), free_sets(c)(c)[1:], strict=False)
            held = [(f"{x} (d = 2)", pattern.law(t, c, first.pair)) for x, pattern in named]
        else:
            found = spread_overlaps(self.d, Fraction(c.p, c.q)) if self.d > 2 and c.is_Rational else None
            v, u = (sp.Rational(x.numerator, x.denominator) for x in found or (Fraction(0), Fraction(0)))
            pattern = Pattern(c - v, u, u, v, c - 2 * u)
            held = [("v2", pattern.law(t, c, ("v0", "v1")))] if found else []
        return (replace(first, held=tuple(held)), *others)

    def protocol(self) -> Protocol:
        """Values and reports are rows of unit vectors of the dimension d, which has to be known; so is their mean.

        The variance is in digits: the threshold is no formula in c.
        """
        c, t, one = self["c"], sp.exp(self["eps0"]), sp.S.One
        if self.d is None:
            raise ArgumentError("d", None, "the dimension, to run the mechanism")
        d, power = self.d, (self.d - 1) / 2.0

        def scale() -> float:
            """The mean of <y, v>: c times that over a cap is (1 - threshold^2)^power/((d - 1) B(1/2, power))."""
            low = float(scipy.special.betaincinv(power, power, double(c)))  # (1 - threshold)/2
            whole = exp(lgamma(0.5) + lgamma(power) - lgamma(0.5 + power)) * (d - 1)
            return float((4.0 * low * (1.0 - low)) ** power) / whole * double((t - 1) / (c * t + 1 - c))

        def draw(values: Array, rng: Rng) -> Array:
            n = len(values)
            near = rng.random(n) < double(c * t / (c * t + 1 - c))
            u, cap = rng.random(n), double(c)
            # A share u of the cap, measured from v, or of what is off it, measured from -v.
            side = 1.0 - 2.0 * scipy.special.betaincinv(power, power, u * np.where(near, cap, 1.0 - cap))
            inner = np.where(near, side, -side)[:, None]
            other = rng.standard_normal((n, d))
            other -= (other * values).sum(axis=1, keepdims=True) * values
            other /= np.sqrt((other**2).sum(axis=1, keepdims=True))
            return np.asarray(values * inner + other * np.sqrt(1.0 - inner**2))

        values = interval(-one, one, sp.Integer(d))._replace(unit=True)
        spread = sp.Float((1.0 / scale() ** 2 - 1.0) / d)
        told = self._on_circle() if d == 2 and c.is_Rational else {}
        return mean(values, values, draw, spread, lambda reports: reports / scale(), **told)

    def _on_circle(self) -> dict[str, Any]:
        """Return the cell of the table that a report is in, and two inputs: a cap begins at the place of its input."""
        cells, width = self._cells()

        def label(y: Sequence[float]) -> str:
            return str(int(atan2(y[1], y[0]) / tau % 1.0 * cells))

        turns = [tau * (place + width / 2) / cells for place in (0, width)]
        return {"label": label, "shown": lambda: {f"x{i}": [cos(turn), sin(turn)] for i, turn in enumerate(turns)}}

    def _cells(self) -> tuple[int, int]:
        """Return into how many cells the table cuts the circle, and how many of them a cap has."""
        cells = math.lcm(int(self["c"].q), 2)
        return cells, int(self["c"] * cells)

    def table(self) -> FiniteMechanism:
        """Return the mechanism on a circle cut into cells, at inputs that turn it by whole cells."""
        if self.d not in (None, 2):
            raise ArgumentError("table", repr(self), "a circle, d = 2: spheres have no table")
        c, t = self["c"], sp.exp(self["eps0"])
        cells, width = self._cells()
        check_size(cells, cells)
        inside = c * t / (c * t + 1 - c)
        places = {"x0": 0, "x1": cells // 2}
        if self.d is not None:
            beside = {"x0": 0, "x1": width, "x2": 2 * width, "x3": cells - width}
            places = {x: at for x, at in beside.items() if x in self.inputs}
        names = {at: x for x, at in places.items()}
        rows = {
            names.get(turn, f"turn {turn}"): {
                str(y): inside / width if (y - turn) % cells < width else (1 - inside) / (cells - width)
                for y in range(cells)
            }
            for turn in range(cells)
        }
        return FiniteMechanism(with_average(rows), name=repr(self))
