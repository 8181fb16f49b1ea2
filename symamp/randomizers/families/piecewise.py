"""The piecewise mechanism (Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019): one number in [-1, 1]."""

from __future__ import annotations

import sympy as sp

from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.structures.sliding_window import SlidingWindow


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
