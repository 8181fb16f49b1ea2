"""PrivUnit (Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018): a unit vector, reported with a spherical cap."""

from __future__ import annotations

import math

import sympy as sp

from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.structures.disjoint_cover import DisjointCover, with_average


class PrivUnit(DisjointCover):
    """Send a unit vector that is uniform on the cap round x of mass c with probability P, uniform off it with 1 - P.

    P makes the density on the cap t = e^eps0 times that off the cap: P = ct/(ct + 1 - c). Only the cap mass c enters,
    which the dimension d and the threshold fix: c is the probability that <x, v> >= threshold for uniform v.

    The pair is antipodal: caps of mass below 1/2 are then disjoint, the worst case (see DisjointCover). The scaling
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

    def __init__(self, *, c: object = None, eps0: object = None) -> None:
        super().__init__(c=c, eps0=eps0)

    def coverage(self) -> sp.Expr:
        """The mass of a cap."""
        return self["c"]

    def table(self) -> FiniteMechanism:
        """Return the mechanism on a circle cut into cells, at inputs that turn it by whole cells."""
        c, t = self["c"], sp.exp(self["eps0"])
        cells = math.lcm(int(c.q), 2)
        check_size(cells, cells)
        width = int(c * cells)
        inside = c * t / (c * t + 1 - c)
        names = {0: "x0", cells // 2: "x1"}
        rows = {
            names.get(turn, f"turn {turn}"): {
                str(y): inside / width if (y - turn) % cells < width else (1 - inside) / (cells - width)
                for y in range(cells)
            }
            for turn in range(cells)
        }
        return FiniteMechanism(with_average(rows), name=repr(self))
