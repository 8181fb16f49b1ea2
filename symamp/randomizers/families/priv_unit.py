"""PrivUnit (Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018): a unit vector, reported with a spherical cap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import atan2, cos, exp, lgamma, sin, tau
from typing import Any

import numpy as np
import sympy as sp
from flint import arb

from symamp.decompositions.pair_groups import PairGroup, free_sets
from symamp.errors import ArgumentError
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.optional import betaincinv
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import exact_number
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.protocols import Array, Protocol, Rng, double, interval, mean
from symamp.randomizers.structures import DisjointCover, packed, with_average

_LARGEST = 10_000


@lru_cache(maxsize=256)
def third_of_sphere(d: int) -> arb:
    """Return a ball around the mass of a cap of angular radius 60 degrees on the unit sphere of d dimensions.

    It is the ratio of the integrals of sin^(d - 2) from 0 to pi/3 and from 0 to pi, both by partial integration.

    >>> third_of_sphere(3).contains(0.25)
    True
    """
    with at_precision(128 + 2 * d):
        root = arb(3).sqrt() / 2
        part, whole, power = (arb.pi() / 3, arb.pi(), root) if d % 2 == 0 else (arb(1) / 2, arb(2), root**2)
        for k in range(2 + d % 2, d - 1, 2):  # power is sin^(k - 1)
            part, whole = ((k - 1) * part - power / 2) / k, whole * (k - 1) / k
            power *= root**2
        return part / whole


class PrivUnit(DisjointCover):
    """Send a unit vector that is uniform on the cap round x of mass c with probability P, uniform off it with 1 - P.

    P makes the density on the cap t = e^eps0 times that off the cap: P = ct/(ct + 1 - c). Of the upper end only the
    cap mass c is asked, which the dimension d and the threshold fix: c is the probability that <x, v> >= threshold for
    uniform v. The dimension is optional. Without it all dimensions are meant: the upper end holds for each, and the
    lower end is attained by one, the circle (d = 2). With it the lower end is that of this dimension, and a third input
    is shown where three caps are disjoint, as they are up to an angular radius of 60 degrees.

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
        """The caps of the pair, and of a third input if it is disjoint from both; on a circle all arcs that fit."""
        c = self.coverage()
        if self.d == 2 and c.is_number:
            return packed(c)
        pair: Mapping[tuple[str, ...], sp.Expr] = super().sets()
        third = self.d is not None and c.is_Rational and third_of_sphere(self.d) > fmpq_of(c)
        return {**pair, ("x2",): c} if third else pair

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
            low = float(betaincinv(power, power, double(c)))  # (1 - threshold)/2
            whole = exp(lgamma(0.5) + lgamma(power) - lgamma(0.5 + power)) * (d - 1)
            return float((4.0 * low * (1.0 - low)) ** power) / whole * double((t - 1) / (c * t + 1 - c))

        def draw(values: Array, rng: Rng) -> Array:
            n = len(values)
            near = rng.random(n) < double(c * t / (c * t + 1 - c))
            u, cap = rng.random(n), double(c)
            # A share u of the cap, measured from v, or of what is off it, measured from -v.
            side = 1.0 - 2.0 * betaincinv(power, power, u * np.where(near, cap, 1.0 - cap))
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
