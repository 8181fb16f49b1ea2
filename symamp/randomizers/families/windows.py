"""One number, sent as a point of an interval: square wave and piecewise mechanism."""

from __future__ import annotations

from typing import Self

import sympy as sp

from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter
from symamp.numbers.reading import exact_number
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.structures import SlidingWindow

# ---------------------- The square wave mechanism (Li, Wang, Lopuhaa-Zwakenberg, Skoric, Li 2020): one number in [0, 1]


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
    declared = (Parameter("b", lower=sp.Integer(0), upper=sp.Rational(1, 2)), EPS0)

    def __init__(self, *, b: object = None, eps0: object = None) -> None:
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

    def table(self) -> FiniteMechanism:
        """Return the mechanism on messages in cells of equal length, as published: t/(2bt + 1) and 1/(2bt + 1)."""
        b, t = self["b"], sp.exp(self["eps0"])
        size = self.cell(b)
        low = size / (2 * b * t + 1)
        cells, width = int((1 + 2 * b) / size), int(2 * b / size)
        check_size(cells - width + 1, cells)
        rows = {}
        for first in range(cells - width + 1):
            row = {str(y): t * low if first <= y < first + width else low for y in range(cells)}
            rows[self.named(first, cells, width) or f"x = {first * size}"] = row
        return FiniteMechanism(rows, name=repr(self))


# -------------------- The piecewise mechanism (Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019): one number in [-1, 1]


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

    def __init__(self, *, eps0: object = None) -> None:
        super().__init__(eps0=eps0)

    def coverage(self) -> sp.Expr:
        """The length of a window, C - 1, of 2C."""
        return 1 / (sp.exp(self["eps0"] / 2) + 1)

    def table(self) -> FiniteMechanism:
        """Return the mechanism on messages in cells of equal length, for the inputs whose windows are unions of them.

        As published: density (t - s)/(2s + 2) on [l, l + C - 1], l = (C + 1)x/2 - (C - 1)/2, and 1/t of that elsewhere.
        """
        s = normal(sp.exp(self["eps0"] / 2))
        t, end = s**2, (s + 1) / (s - 1)
        size = self.cell(end)
        high = (t - s) / (2 * s + 2) * size
        cells, width = int(2 * end / size), int((end - 1) / size)
        check_size(cells - width + 1, cells)
        rows = {}
        for first in range(cells - width + 1):
            x = (2 * (first * size - end) + end - 1) / (end + 1)
            row = {str(y): high if first <= y < first + width else high / t for y in range(cells)}
            rows[self.named(first, cells, width) or f"x = {x}"] = row
        return FiniteMechanism(rows, name=repr(self))
