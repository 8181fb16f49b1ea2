"""Collision (Wang, Li, Qian, Du, Lin, Yang 2021): sparse vectors hashed to buckets."""

from __future__ import annotations

from itertools import combinations

import sympy as sp

from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, subsets
from symamp.randomizers.structures.disjoint_cover import DisjointCover, with_average

_ENTRIES = Parameter("s", lower=sp.Integer(1), integer=True)
_S = _ENTRIES.symbol


class Collision(DisjointCover):
    """Hash the s entries of a sparse vector to l >= 2s buckets, send one bucket z.

    With t = e^eps0 and W = s t + l - s a bucket that an entry is hashed to has probability t/W. The rest of the
    probability is spread evenly, which gives 1/W if the entries have s different buckets and more if not.

    An input is the set of its buckets; the hash function is sent along, so it is given. The pair is two disjoint
    sets of s buckets. It is worst: 1/W is below every input everywhere, so for every pair and every hash the law of
    the ratios to it is below that of the pair in convex order (see DisjointCover; ratios strictly between 1 and t
    split to their ends, a mean-preserving spread). The mechanism with a random hash is a mixture over hashes: upper
    bounds hold for it as they are, lower bounds are those of the worst hash. The dimension d does not enter.

    >>> Collision(s=2, l=8, eps0="log(3)").blanket().gamma
    2/3
    """

    name = "Collision, l >= 2s"
    slug = "collision"
    source = "Wang, Li, Qian, Du, Lin, Yang 2021"
    small = tuple({"s": s, "l": l, "eps0": "log(3)"} for s, l in ((1, 2), (1, 5), (2, 4), (2, 5), (2, 7), (3, 9)))
    typical = {"s": 4, "l": 32}
    declared = (_ENTRIES, Parameter("l", lower=2 * _S, integer=True), EPS0)
    packs = True

    def __init__(self, *, s: object = None, l: object = None, eps0: object = None) -> None:
        super().__init__(s=s, l=l, eps0=eps0)

    def coverage(self) -> sp.Expr:
        """The share of s different buckets."""
        return self["s"] / self["l"]

    def message_bits(self) -> sp.Expr:
        """Return log2 of the values; the hash function is shared."""
        return sp.log(self["l"], 2)

    def table(self) -> FiniteMechanism:
        """Return the table over the buckets, for all sets of 1 to s buckets that the entries may be hashed to."""
        s, buckets, t = int(self["s"]), int(self["l"]), sp.exp(self["eps0"])
        check_size(subsets(buckets, s), buckets)
        total = s * t + buckets - s
        names = {tuple(range(s)): "x0"}
        if buckets >= 2 * s:
            names.update({tuple(range(i * s, (i + 1) * s)): f"x{i}" for i in range(1, buckets // s)})
            if buckets < 3 * s:
                outside, shared = tuple(range(2 * s, buckets)), 3 * s - buckets
                names |= {tuple(range(i * s, i * s + shared)) + outside: f"x{i + 2}" for i in range(2) if outside}
        else:
            names[tuple(range(buckets - s, buckets))] = "x1"
        rows = {}
        for size in range(1, s + 1):
            for hashed in combinations(range(buckets), size):
                high = t / total
                low = (1 - high * size) / (buckets - size)
                rows[names.get(hashed, f"buckets {hashed}")] = {
                    str(z): high if z in hashed else low for z in range(buckets)
                }
        return FiniteMechanism(with_average(rows), name=repr(self))


class NarrowCollision(Collision):
    """Collision with s < l <= 2s buckets, too few for two disjoint sets: the worst pair has 2s - l in common.

    >>> NarrowCollision(s=3, l=4, eps0="log(3)").blanket().gamma
    2/5
    """

    name = "Collision, s < l <= 2s"
    slug = "collision-narrow"
    small = tuple({"s": s, "l": l, "eps0": "log(3)"} for s, l in ((1, 2), (2, 3), (2, 4), (3, 4), (3, 5), (4, 7)))
    typical = {"s": 4, "l": 6}
    declared = (_ENTRIES, Parameter("l", lower=_S + 1, upper=2 * _S, integer=True), EPS0)
    packs = False

    def overlap(self) -> sp.Expr:
        """Two sets of s out of l buckets have at least 2s - l in common."""
        return 2 * self["s"] / self["l"] - 1
