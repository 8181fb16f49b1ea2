"""Two-level mechanisms on an interval: a window of messages around the input, disjoint for the two ends."""

from __future__ import annotations

import sympy as sp

from symamp.errors import ArgumentError, Problem
from symamp.randomizers.structures.disjoint_cover import DisjointCover


class SlidingWindow(DisjointCover):
    """A ``DisjointCover`` whose sets are intervals that move with the input, from one end of the messages to the other.

    No input hides in the reference measure: a drawn input leaves the ends of the messages to few windows. So the two
    ends are the only inputs that are shown.
    """

    _internal_names = "cell"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ends of the interval of inputs."""
        return ("x0", "x1")

    def cell(self, length: sp.Expr) -> sp.Rational:
        """Return the largest 1/integer that divides a length; ArgumentError unless it is rational: tables need cells.

        >>> import symamp as sa
        >>> sa.SquareWave(b="3/8", eps0=1).cell(sp.Rational(3, 8))
        1/8
        """
        if not length.is_Rational:
            raise ArgumentError("table", Problem(f"{self!r} has the irrational length {length}"), "take a rational one")
        return sp.Rational(1, length.q)
