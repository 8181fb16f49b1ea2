"""Two-level mechanisms on an interval: a window of messages around the input, disjoint for the two ends."""

from __future__ import annotations

import sympy as sp

from symamp.errors import ArgumentError, Problem
from symamp.randomizers.structures.disjoint_cover import DisjointCover


class SlidingWindow(DisjointCover):
    """A ``DisjointCover`` whose sets are intervals that move with the input, from one end of the messages to the other.

    No input hides in the reference measure: a drawn input leaves the ends of the messages to few windows. Besides the
    two ends x2 is shown, whose window begins where that of x0 ends; or, where this one overlaps that of x1, it is x3,
    and the window of x2 ends where that of x1 begins.
    """

    packs = True
    averages = False
    _internal_names = "cell named"

    def cell(self, length: sp.Expr) -> sp.Rational:
        """Return the largest 1/integer that divides a length; ArgumentError unless it is rational: tables need cells.

        >>> import symamp as sa
        >>> sa.SquareWave(b="3/8", eps0=1).cell(sp.Rational(3, 8))
        1/8
        """
        if not length.is_Rational:
            raise ArgumentError("table", Problem(f"{self!r} has the irrational length {length}"), "take a rational one")
        return sp.Rational(1, length.q)

    def named(self, first: int, cells: int, width: int) -> str | None:
        """Return the name of the input whose window begins at that cell of so many, None if it is not shown."""
        if first in (0, cells - width):
            return "x0" if first == 0 else "x1"
        return {width: self.inputs[-1], cells - 2 * width: "x2"}.get(first) if len(self.inputs) > 2 else None
