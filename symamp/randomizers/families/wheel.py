"""Wheel (Wang, Qian, Du, Yang, Huang, Xu 2020): set-valued data hashed to arcs of a ring."""

from __future__ import annotations

from itertools import combinations_with_replacement

import sympy as sp

from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, subsets
from symamp.randomizers.structures.disjoint_cover import DisjointCover, with_average


class Wheel(DisjointCover):
    """Hash the s items to points of a ring of length 1, cover an arc of length p from each, send a point z.

    With t = e^eps0 and W = s p t + 1 - s p the density of z is t/W where an arc covers it. The rest of the
    probability is spread evenly, which gives 1/W if no arcs overlap and more if they do.

    An input is the s hashed points; the hash function is sent along, so it is given. The pair is two inputs whose
    arcs are disjoint among themselves and from each other, as s p < 1/2 permits. It is worst: 1/W is below every
    input everywhere, so for every pair and every hash the law of the ratios to it is below that of the pair in convex
    order (see DisjointCover; ratios strictly between 1 and t split to their ends, a mean-preserving spread). The
    mechanism with a random hash is a mixture over hashes: upper bounds hold for it as they are, lower bounds are those
    of the worst hash. The number of options does not enter.

    >>> Wheel(s=2, p="1/8", eps0="log(3)").blanket().gamma
    2/3
    """

    name = "Wheel"
    slug = "wheel"
    source = "Wang, Qian, Du, Yang, Huang, Xu 2020"
    small = tuple(
        {"s": s, "p": p, "eps0": e}
        for s, p, e in (
            (1, "1/4", "log(3)"),
            (1, "2/5", "log(2)"),
            (2, "1/6", "log(3)"),
            (2, "1/5", "log(5)"),
            (3, "1/9", "log(3)"),
            (3, "1/7", "log(2)"),
        )
    )
    typical = {"s": 4, "p": "1/16"}
    declared = (
        Parameter("s", lower=sp.Integer(1), integer=True),
        Parameter("p", lower=sp.Integer(0), upper=1 / (2 * sp.Symbol("s", integer=True))),
        EPS0,
    )
    packs = True

    def __init__(self, *, s: object = None, p: object = None, eps0: object = None) -> None:
        super().__init__(s=s, p=p, eps0=eps0)

    def coverage(self) -> sp.Expr:
        """The length of s disjoint arcs."""
        return self["s"] * self["p"]

    def table(self) -> FiniteMechanism:
        """Return the mechanism on a ring cut into cells, at all s points (also equal ones) on borders of cells."""
        s, p, t = int(self["s"]), self["p"], sp.exp(self["eps0"])
        cells = int(p.q)
        check_size(subsets(cells + s - 1, s), cells)
        arc = int(p * cells)
        total = s * p * t + 1 - s * p
        starts = {"x0": 0, "x1": s * arc, "x2": 2 * s * arc, "x3": cells - s * arc}
        names = {tuple(sorted((starts[x] + j * arc) % cells for j in range(s))): x for x in self.inputs if x in starts}
        rows = {}
        for points in combinations_with_replacement(range(cells), s):
            covered = {(start + i) % cells for start in points for i in range(arc)}
            high = t / total / cells
            low = (1 - high * len(covered)) / (cells - len(covered))
            rows[names.get(points, f"points {points}")] = {str(z): high if z in covered else low for z in range(cells)}
        return FiniteMechanism(with_average(rows), name=repr(self))
