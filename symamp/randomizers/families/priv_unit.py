"""PrivUnit (Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018): a unit vector, reported with a spherical cap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import atan2, ceil, cos, exp, lgamma, sin, tau
from typing import Any

import numpy as np
import scipy
import sympy as sp
from flint import arb

from symamp.decompositions.pair_groups import PairGroup, free_sets
from symamp.errors import ArgumentError
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.dyadic import float_above
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import exact_number
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.protocols import Array, Protocol, Rng, double, interval, mean
from symamp.randomizers.structures import DisjointCover, packed, with_average

_LARGEST = 10_000
_BITS, _NEAR = 192, 1e-9
"""The precision of masses of caps, and how near the height of one is enclosed."""
_CELLS, _REACH, _PARTS = 64, 6, 10_000
"""Cells of a cap in bounds of what two have in common, how far they go in units of 1/sqrt(d), and into how many parts
of c the bound is rounded up."""


def cap(d: int, height: arb) -> arb:
    """Return a ball around the mass of the cap <x, v> >= ``height`` >= 0 of the unit sphere of d dimensions.

    >>> cap(3, arb(1) / 2).contains(0.25)
    True
    """
    with at_precision(_BITS):
        x = 1 - height * height
        ends = [y.beta_lower(arb(d - 1) / 2, arb(1) / 2, 1) / 2 if y > 0 else arb(0) for y in (x.lower(), x.upper())]
        return ends[0].union(ends[1])


@lru_cache(maxsize=256)
def third_overlap(d: int, c: Fraction) -> Fraction | None:
    """Return a share that a third cap has in common with each of two disjoint caps, all of mass c < 1/2 and d > 2.

    With caps that touch and the third one opposite to their midpoint it is least: the bound a from above. It is more at
    the midpoint, at least b; a <= b is a share of a third cap in between, as shares are continuous. None if a > b.

    >>> third_overlap(3, Fraction(1, 10)), third_overlap(10, Fraction(1, 10))
    (Fraction(0, 1), Fraction(31, 100000))
    """
    with at_precision(_BITS):
        mass = arb(fmpq_of(c))
        if cap(d, arb(1) / 2) > mass:
            return Fraction(0)
        power = (d - 1) / 2.0
        threshold = 1.0 - 2.0 * float(scipy.special.betaincinv(power, power, float(c)))
        least, most = (arb(threshold + e) for e in (-_NEAR, _NEAR))
        if not (cap(d, least) > mass > cap(d, most)):
            return None
        height = least.union(most)
        # Along a cell of heights s above one centre what the other cap cuts off is monotone: taken where s is least.
        edges = [height + (1 - height).min(_REACH / arb(d).sqrt()) * k / _CELLS for k in range(_CELLS)]
        masses = [x - y for x, y in pairwise([*(cap(d, s) for s in edges), arb(0)])]
        tilt = height / (1 - height * height).sqrt()
        shares = []
        for sign in (1, -1):
            cut = [tilt * ((1 + sign * s) / (1 - sign * s)).sqrt() for s in edges]
            seen = [arb(0) if z > 1 else cap(d - 1, z.min(arb(1))) for z in cut]
            shares.append(sum((m * x for m, x in zip(masses, seen, strict=True)), arb(0)))
        found = Fraction(ceil(float_above(shares[0] / mass) * _PARTS), _PARTS) * c
        return found if shares[1] > fmpq_of(found) and 2 * found <= c else None


class PrivUnit(DisjointCover):
    """Send a unit vector that is uniform on the cap round x of mass c with probability P, uniform off it with 1 - P.

    P makes the density on the cap t = e^eps0 times that off the cap: P = ct/(ct + 1 - c). Of the upper end only the
    cap mass c is asked, which the dimension d and the threshold fix: c is the probability that <x, v> >= threshold for
    uniform v. The dimension is optional. Without it all dimensions are meant: the upper end holds for each, and the
    lower end is attained by one, the circle (d = 2). With it the lower end is that of this dimension, and a third input
    is shown whose cap has as little in common with those of the pair as is known to be possible: nothing up to an
    angular radius of 60 degrees.

    The caps of the pair are disjoint, as those of opposite vectors are, the worst case (see DisjointCover). The scaling
    of the vector, known to all, changes nothing.

    >>> PrivUnit(c="1/4", eps0="log(3)").blanket().gamma
    2/3
    """

    name = "PrivUnit"
    slug = "priv-unit"
    source = "Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018"
    small = tuple(
        {"c": c, "eps0": e}
        for c, e in (("1/4", "log(3)"), ("1/3", "log(3)"), ("2/5", "log(2)"), ("1/8", "log(5)"), ("5/12", "log(3)"))
    )
    typical = {"c": "1/10"}
    declared = (Parameter("c", lower=sp.Integer(0), upper=sp.Rational(1, 2)), EPS0)

    def __init__(self, *, c: Value = None, eps0: Value = None, d: Value = None) -> None:
        super().__init__(c=c, eps0=eps0)
        size = None if d is None else exact_number(d, "d")
        if size is not None and not (size.is_Integer and 2 <= size <= _LARGEST):
            raise ArgumentError("d", d, f"an integer between 2 and {_LARGEST}")
        self.d = None if size is None else int(size)
        self.keep("d", size)

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
        """Those of all sets of share c; without a dimension with the names of the arcs that have their laws."""
        first, *others = super().pair_groups() or ()
        c = self.coverage()
        named = () if self.d is not None else zip(("x2", "x3"), free_sets(c)(c)[1:], strict=False)
        held = tuple((f"{x} (d = 2)", pattern.law(self.ratio(), c, first.pair)) for x, pattern in named)
        return (replace(first, held=held), *others)

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
            found: Array = values * inner + other * np.sqrt(1.0 - inner**2)
            return found

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
