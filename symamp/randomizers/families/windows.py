"""One number: square wave and piecewise mechanism, which send a point of an interval, and the 1-bit mean."""

from __future__ import annotations

from typing import Self

import numpy as np
import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.reading import exact_number
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.protocols import Array, Protocol, Rng, double, first_two, interval, items, mean, window
from symamp.randomizers.structures import SlidingWindow


class SquareWave(SlidingWindow):
    """Send y in [-b, 1 + b], with density t times as high for x - b < y < x + b as elsewhere; t = e^eps0, b < 1/2.

    The windows of the inputs 0 and 1 (``x0``, ``x1``) are disjoint, which is the worst case (see DisjointCover).

    >>> SquareWave().blanket().gamma
    (2*b + 1)/(2*b*exp(eps0) + 1)
    """

    name = "square wave"
    slug = "square-wave"
    source = "Li, Wang, Lopuhaa-Zwakenberg, Skoric, Li 2020"
    small = tuple(
        {"b": b, "eps0": f"log({t})"} for b, t in (("1/4", 2), ("1/4", 3), ("1/8", 5), ("3/8", 3), ("1/5", "5/2"))
    )
    typical = {"b": "1/4"}
    declared = (Parameter("b", lower=0, upper=sp.Rational(1, 2)), EPS0)

    def __init__(self, *, b: Value = None, eps0: Value = None) -> None:
        super().__init__(b=b, eps0=eps0)

    @classmethod
    def optimal(cls, *, eps0: object) -> Self:
        """Return the member with the b that the authors recommend, (eps0 t - t + 1)/(2t(t - 1 - eps0)).

        >>> SquareWave.optimal(eps0=1)["b"]
        exp(-1)/(2*(-2 + E))
        """
        budget = exact_number(eps0, "eps0")
        t = sp.exp(budget)
        return cls(b=normal((budget * t - t + 1) / (2 * t * (t - 1 - budget))), eps0=budget)

    def coverage(self) -> sp.Expr:
        """The length of a window, 2b, of 1 + 2b."""
        return 2 * self["b"] / (1 + 2 * self["b"])

    def protocol(self) -> Protocol:
        """The mean is estimated from that of the reports, which is linear in the value; usual is also the whole law."""
        b, told = self["b"], {"label": self._cell(-self["b"], self["b"]), "shown": first_two}
        return window(interval(sp.S.Zero, sp.S.One), (-b, 1 + b), 2 * b, sp.exp(self["eps0"]), **told)

    def table(self) -> FiniteMechanism:
        """Return the mechanism on messages in cells of equal length, as published: t/(2bt + 1) and 1/(2bt + 1)."""
        b, t = self["b"], sp.exp(self["eps0"])
        size = self.cell(b)
        low = size / (2 * b * t + 1)
        return self.in_cells(int((1 + 2 * b) / size), int(2 * b / size), t * low, low, lambda first: first * size)


class PiecewiseMechanism(SlidingWindow):
    """Send y in [-C, C], with density t times as high within C - 1 values around (C + 1)x/2 as elsewhere.

    s = e^(eps0/2), t = s^2, C = (s + 1)/(s - 1). The windows of the inputs -1 and 1 (``x0``, ``x1``) are disjoint,
    which is the worst case (see DisjointCover), and every message is outside some window.

    >>> PiecewiseMechanism().blanket().gamma
    exp(-eps0/2)
    """

    name = "piecewise mechanism"
    slug = "piecewise"
    source = "Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019"
    small = tuple({"eps0": f"2*log({s})"} for s in ("2", "3", "4", "3/2", "5"))
    typical = {}
    declared = (EPS0,)

    def __init__(self, *, eps0: Value = None) -> None:
        super().__init__(eps0=eps0)

    def coverage(self) -> sp.Expr:
        """The length of a window, C - 1, of 2C."""
        return 1 / (sp.exp(self["eps0"] / 2) + 1)

    def protocol(self) -> Protocol:
        s, one = sp.exp(self["eps0"] / 2), sp.S.One
        end = (s + 1) / (s - 1)
        told = {"label": self._cell(-end, end), "shown": lambda: {"x0": -1, "x1": 1}}
        return window(interval(-one, one), (-end, end), end - 1, s**2, **told)

    def table(self) -> FiniteMechanism:
        """Return the mechanism on messages in cells of equal length, for the inputs whose windows are unions of them.

        As published: density (t - s)/(2s + 2) on [l, l + C - 1], l = (C + 1)x/2 - (C - 1)/2, and 1/t of that elsewhere.
        """
        s = normal(sp.exp(self["eps0"] / 2))
        t, end = s**2, (s + 1) / (s - 1)
        size = self.cell(end)
        high = (t - s) / (2 * s + 2) * size

        def place(first: int) -> sp.Expr:
            return (2 * (first * size - end) + end - 1) / (end + 1)

        return self.in_cells(int(2 * end / size), int((end - 1) / size), high, high / t, place)


class OneBitMean(Family):
    """Send 1 with probability 1/(t+1) + x*(t-1)/(t+1), t = e^eps0, and else 0.

    The input x in [0, 1] is the counter divided by its largest value.

    R(x) = (1 - x) R(0) + x R(1). Hence the infimum over all inputs is attained at an end point, and the end points are
    the worst pair: with the law of the other users fixed, the divergence is jointly convex in (R(x0), R(x1)), hence
    largest at a corner of [0, 1]^2, and zero where x0 = x1. The midpoint stands for the inputs between.

    >>> OneBitMean().blanket().gamma
    2/(exp(eps0) + 1)
    """

    name = "1-bit mean"
    slug = "one-bit-mean"
    source = "Ding, Kulkarni, Yekhanin 2017"
    small = tuple({"eps0": f"log({t})"} for t in ("2", "3", "5/2", "7", "100"))
    typical = {}
    declared = (EPS0,)

    def __init__(self, *, eps0: Value = None) -> None:
        super().__init__(eps0=eps0)

    @property
    def inputs(self) -> tuple[str, ...]:
        return "0", "1", "1/2"

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The end points, the worst pair."""
        return (("0", "1"),)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Each bit by itself; all inputs that are not listed have a density between those of the end points."""
        t = sp.exp(self["eps0"])
        found = []
        for bit in (0, 1):
            lowest, highest = (1 / (t + 1), t / (t + 1)) if bit else (t / (t + 1), 1 / (t + 1))
            density = {x: (1 - sp.Rational(x)) * lowest + sp.Rational(x) * highest for x in self.inputs}
            rest = tuple((density[x], sp.Integer(1)) for x in self.inputs if x not in distinguished)
            found.append(Orbit(f"bit {bit}", sp.Integer(1), tuple(density[x] for x in distinguished), rest))
        return tuple(found)

    def message_bits(self) -> sp.Expr:
        return sp.Integer(1)

    def protocol(self) -> Protocol:
        """A bit is made unbiased as (bit - a)/s, where its mean is a + s x: a bit has a variance of at most 1/4."""
        t = sp.exp(self["eps0"])
        a, s = 1 / (t + 1), (t - 1) / (t + 1)

        def draw(values: Array, rng: Rng) -> Array:
            return (rng.random(len(values)) < double(a) + values * double(s)).astype(np.int8)

        values, bits, largest = interval(sp.S.Zero, sp.S.One), items(sp.Integer(2)), normal(1 / (4 * s**2))
        shown = {"0": 0, "1": 1, "1/2": 0.5}
        return mean(values, bits, draw, largest, lambda y: (y - double(a)) / double(s), shown=lambda: shown)

    def table(self) -> FiniteMechanism:
        """Return the table at the multiples of 1/12."""
        t = sp.exp(self["eps0"])
        rows = {}
        for x in (sp.Rational(i, 12) for i in range(13)):
            one = 1 / (t + 1) + x * (t - 1) / (t + 1)
            rows[str(x)] = {"1": one, "0": 1 - one}
        return FiniteMechanism(rows, name=repr(self))
