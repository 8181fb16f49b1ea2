"""Duchi, Jordan, Wainwright (2013) for [-1, 1]^d: a corner of the cube on the side of a rounded input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, product
from math import comb
from typing import Any

import numpy as np
import sympy as sp

from symamp.decompositions.blanket import blanket
from symamp.decompositions.decomposition import Component
from symamp.decompositions.pair_groups import (
    NEAR,
    SMALL,
    PairGroup,
    antipodal_groups,
    blanket_of,
    by_excess,
    listed_group,
    of_patterns,
)
from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.unevaluated import binomial, long_power
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size, strings
from symamp.randomizers.protocols import Protocol, corners
from symamp.randomizers.structures import AVERAGE, DisjointCover, with_average

_Corner = tuple[int, ...]
_HALF = sp.Rational(1, 2)

_MOST_PAIRS = 500
_LARGEST_LISTED, _FEW_SIGNS = 16, 8
"""Up to this dimension all third inputs of the mechanism of 2013 are listed; in one above the second number pairs that
differ by no more than a quarter of the signs have a blanket instead. Every choice is valid."""
_LARGEST_TOLD_APART = 512
"""Up to this dimension the shares of all pairs are counted."""
_CELLS = sp.Integer(1), NEAR, SMALL
"""Ends of the cells of p, in units of the largest, that have an excess of their own. Every choice is valid."""
_LARGEST_COUNTED = 32
"""Up to this dimension all inputs of the others are counted; their numbers are below 2^62 far beyond it."""


def _table(family: Family, d: int, sides: tuple[sp.Expr, bool, bool], names: Mapping[_Corner, str]) -> FiniteMechanism:
    """Return the table over the corners y, for inputs v that are corners.

    With probability ``chance`` y is uniform where <y, v> > 0, otherwise where it is < 0; the two flags say whether
    the ties <y, v> = 0 belong to the first and to the second.
    """
    chance, first, second = sides
    corners = list(product((1, -1), repeat=d))
    rows = {}
    for v in corners:
        inner = {y: sum(a * b for a, b in zip(y, v, strict=True)) for y in corners}
        up = {y for y in corners if inner[y] > 0 or (first and inner[y] == 0)}
        down = {y for y in corners if inner[y] < 0 or (second and inner[y] == 0)}
        rows[names.get(v, str(v))] = {
            str(y): (chance / len(up) if y in up else 0) + ((1 - chance) / len(down) if y in down else 0)
            for y in corners
        }
    return FiniteMechanism(with_average(rows), name=repr(family))


def _as_corners(d: sp.Expr, opposite: str = "x1") -> dict[str, Any]:
    """Return how corners are named in tables, and two opposite ones."""
    return {"label": lambda y: str(tuple(y)), "shown": lambda: {"x0": [1] * int(d), opposite: [-1] * int(d)}}


Sides = tuple[int, ...]
"""On which sides of some corners a corner y is: 1, 0 for a tie, -1."""


def _sides(blocks: Sequence[tuple[int, Sides]]) -> Counter[Sides]:
    """Return how many y are on which sides of some corners, given by sizes of blocks of coordinates and signs there.

    y is seen through its sums over the blocks. Those over the longest block are not gone through one by one: between
    the values at which a scalar product is 0 all sides stay as they are.
    """
    *others, (size, signs) = sorted(blocks)
    below = [0, *accumulate(comb(size, j) for j in range(size + 1))]
    found = Counter[Sides]()
    for ones in product(*(range(length + 1) for length, _ in others)):
        ways, inner = 1, [0] * len(signs)
        for (length, own), j in zip(others, ones, strict=True):
            ways *= comb(length, j)
            inner = [v + (2 * j - length) * sign for v, sign in zip(inner, own, strict=True)]
        zeros = {-v * sign for v, sign in zip(inner, signs, strict=True)}
        ends = sorted({-size, size + 1, *(x for zero in zeros for x in (zero, zero + 1) if -size < x <= size)})
        for low, high in pairwise(ends):  # the sums b with low <= b < high
            number = below[(high + size + 1) // 2] - below[(low + size + 1) // 2]
            if number:
                at = [v + sign * (low + (high - low) // 2) for v, sign in zip(inner, signs, strict=True)]
                found[tuple((v > 0) - (v < 0) for v in at)] += ways * number
    return found


def _told_apart(d: int, k: int) -> sp.Rational:
    """Return the share of the corners on the side of v and not on that of v with k signs turned; ties are outside."""
    sides = _sides([(k, (1, -1)), (d - k, (1, 1))])
    return sp.Rational(sum(n for (s0, s1), n in sides.items() if s0 > 0 >= s1), 2**d)


@lru_cache(maxsize=64)
def _ways(size: int) -> np.ndarray[tuple[int, int, int], np.dtype[np.int64]]:
    """Return how many signs in a block give each sum (index 1), and each sum over those not turned less that over those
    turned (index 2), for each number of turned signs (index 0). Sums go from -size to size in steps of 2.
    """
    found = np.zeros((size + 1,) * 3, dtype=np.int64)
    for turned in range(size + 1):
        kept = np.arange(size - turned + 1)
        ways = np.array([comb(size - turned, j) for j in range(size - turned + 1)])
        for ones in range(turned + 1):
            found[turned, ones + kept, turned - ones + kept] += comb(turned, ones) * ways
    return found


@lru_cache(maxsize=4096)
def _excess(d: int, k: int) -> sp.Rational:
    """Return what h - F is at most for corners that differ by k signs; where counting takes long, a bound on it.

    y and -y cancel but for ties: with A and B, the sums over the k signs and over the others, h - F is the number of y
    with <y, x> > 0 and B = -|A| less that of those with <y, x> = 0 and B < -|A|, for even d.
    """
    if d > _LARGEST_COUNTED:
        both = 0 if k % 2 else comb(k, k // 2) * comb(d - k, (d - k) // 2)
        return sp.Rational((1 if k == d - 1 else 2) * comb(d, d // 2) - both, 2 ** (d + 1))
    size, near, far = d - k, _ways(k), _ways(d - k)
    sums = 2 * np.arange(k + 1) - k
    edge, zero = ((size - np.abs(sums)) // 2)[:, None], ((size - sums) // 2)[None, :]
    # Of the others, by their sum and by what they add to <y, x>: with more than it takes, and with less than a sum.
    more, less = np.zeros((size + 1, size + 2, size + 2), np.int64), np.zeros((size + 1, size + 2, size + 3), np.int64)
    more[:, 1:, :-1] = far[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    less[:, 1:, 1:-1] = far.cumsum(axis=1)
    ties = more[:, np.maximum(edge, -1) + 1, zero.clip(-1, size) + 1]
    ties -= less[:, np.maximum(edge, 0), zero.clip(-1, size + 1) + 1]
    return sp.Rational(int((near.reshape(k + 1, -1) @ ties.reshape(size + 1, -1).T).max()), 2**d)


class DuchiVector(DisjointCover):
    """Send a corner of the cube [-1, 1]^d, of odd d = 2m + 1, for x in the cube.

    Round x to a corner v, each coordinate with its mean kept; with probability t/(t+1), t = e^eps0, send a uniform
    corner y with <y, v> > 0, otherwise one with <y, v> < 0.

    The pair is two opposite corners: their halves of the corners are disjoint, the worst case (see DisjointCover).
    Inputs inside the cube mix corners and are never worse; ``average`` is the input 0. The scaling of y, known to
    all, changes nothing, and neither does the dimension.

    >>> DuchiVector().blanket().gamma
    2/(exp(eps0) + 1)
    """

    name = "Duchi et al. for vectors, odd dimension 2m + 1"
    slug = "duchi-vector"
    source = "Duchi, Jordan, Wainwright 2013"
    small = tuple({"m": m, "eps0": f"log({e})"} for m, e in ((0, 3), (1, 3), (1, 2), (2, 3), (2, 5)))
    typical = {"m": 7}
    declared = (Parameter("m", lower=0, integer=True), EPS0)

    def __init__(self, *, m: Value = None, eps0: Value = None) -> None:
        super().__init__(m=m, eps0=eps0)

    def coverage(self) -> sp.Expr:
        """There are no ties in odd dimension."""
        return sp.Rational(1, 2)

    def pair_groups(self) -> tuple[PairGroup, ...]:
        """All signs turned, a corner on the side of v is on the other side."""
        m = self["m"]
        d = 2 * int(m) + 1 if m.is_Integer and 2 * m < _LARGEST_TOLD_APART else 0
        return antipodal_groups(self.ratio(), sorted({_told_apart(d, k) for k in range(1, d + 1)}, reverse=True))

    def message_bits(self) -> sp.Expr:
        return 2 * self["m"] + 1

    def protocol(self) -> Protocol:
        """Values are rows of numbers in [-1, 1], reports are corners, estimated is the mean vector."""
        d, t = 2 * self["m"] + 1, sp.exp(self["eps0"])
        return corners(d, t / (t + 1), (_HALF, _HALF), (False, False), **_as_corners(d))

    def table(self) -> FiniteMechanism:
        d, t = 2 * int(self["m"]) + 1, sp.exp(self["eps0"])
        check_size(strings(2, d), strings(2, d))
        return _table(self, d, (t / (t + 1), False, False), {(1,) * d: "x0", (-1,) * d: "x1"})


class _EvenDimension(Family):
    """Dimension d = 2m with m a number: closed forms are in eps0 alone."""

    _internal_names = "ties"

    declared = (Parameter("m", lower=1, integer=True), EPS0)
    small = tuple({"m": m, "eps0": f"log({e})"} for m, e in ((1, 3), (1, 2), (2, 3), (2, 5), (3, 3)))

    numbers = ("m",)

    def __init__(self, *, m: Value = 2, eps0: Value = None) -> None:
        super().__init__(m=m, eps0=eps0)

    def message_bits(self) -> sp.Expr:
        return 2 * self["m"]

    def ties(self) -> sp.Expr:
        """The share of the corners y with <y, v> = 0."""
        d = 2 * int(self["m"])
        return binomial(d, d // 2) / long_power(sp.Integer(2), d)


class CorrectedDuchiVector(_EvenDimension, DisjointCover):
    """Even d = 2m with the correction of Nguyen et al. (2016): ties count as outside, and the coin is biased anew.

    With C = 2^(d-1) - binomial(d, d/2)/2 corners on the side of v, y is uniform there with probability
    tC/((t-1)C + 2^d), t = e^eps0, and uniform on all other corners, ties included, otherwise. The pair is two
    opposite corners, the worst case (see DisjointCover). x2 and x3 are those corners with one sign turned: the ties
    where that sign is right come to their sets for those that cease to be on their side. ``average`` is the input 0.

    >>> CorrectedDuchiVector(m=1).blanket().gamma
    4/(exp(eps0) + 3)
    """

    name = "Duchi et al. for vectors, corrected for even dimension 2m"
    slug = "duchi-vector-corrected"
    source = "Nguyen, Xiao, Yang, Hui, Shin, Shin 2016"
    typical = {"m": 8}

    def coverage(self) -> sp.Expr:
        """Half of the corners that are not ties."""
        return (1 - self.ties()) / 2

    def sets(self) -> Mapping[tuple[str, ...], sp.Expr]:
        """The sides of x0 and x1, and those with one sign turned: half of the ties take the place of others."""
        new = self.ties() / 2
        kept = self.coverage() - new
        return {("x0",): new, ("x1",): new, ("x2",): new, ("x3",): new, ("x0", "x2"): kept, ("x1", "x3"): kept}

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """Corners by the share p on which they differ: it is the largest with all signs turned, or all but one."""
        t, c, d = self.ratio(), self.coverage(), 2 * int(self["m"])
        if d > _LARGEST_TOLD_APART:
            return None
        shares = {k: _told_apart(d, k) for k in range(1, d + 1)}
        groups: list[PairGroup] = []
        below = sp.oo
        for share in _CELLS:
            some = [k for k, p in shares.items() if share * c <= p < below]
            below = share * c
            if some:
                excess = max(_excess(d, k) for k in some)
                low, high = min(shares[k] for k in some), max(shares[k] for k in some)
                bends = [p for p in dict.fromkeys((high, excess, low)) if low <= p <= high]  # h - F is at most p, too
                found = dict.fromkeys(v for p in bends for v in by_excess(c, excess)(p))
                pair = ("corners that differ", f"by {some[0]} to {some[-1]} signs") if groups else ("x0", "x1")
                groups.append(of_patterns(t, c, tuple(found), pair))
        return (*groups, PairGroup(("corners that differ", "by few signs"), (), blanket_of(below, t, c)))

    def protocol(self) -> Protocol:
        """Values are rows of numbers in [-1, 1], reports are corners, estimated is the mean vector."""
        d, t, c = 2 * self["m"], sp.exp(self["eps0"]), self.coverage()
        return corners(d, t * c / ((t - 1) * c + 1), (c, 1 - c), (False, True), **_as_corners(d))

    def table(self) -> FiniteMechanism:
        d, t = 2 * int(self["m"]), sp.exp(self["eps0"])
        check_size(strings(2, d), strings(2, d))
        side = sp.Integer(2) ** (d - 1) - binomial(d, d // 2) / 2
        chance = t * side / ((t - 1) * side + sp.Integer(2) ** d)
        ones, others = (1,) * (d - 1), (-1,) * (d - 1)
        names = {(1, *ones): "x0", (-1, *others): "x1", (-1, *ones): "x2", (1, *others): "x3"}
        return _table(self, d, (chance, False, True), names)


class EvenDuchiVector(_EvenDimension):
    """Even d = 2m as published in 2013: ties belong to both sides. Its local budget is log(1 + e^eps0), not eps0.

    Round x to a corner v; with probability t/(t+1), t = e^eps0, send a uniform corner y with <y, v> >= 0, otherwise
    one with <y, v> <= 0. A tie has t + 1 times the probability of a corner on the far side.

    The input x{h} is the corner (1, ..., 1) with its first h signs turned. All pairs of corners are (x0, x{h}) up to
    symmetry, and all are listed: which is worst depends on eps0. Inputs inside the cube mix corners and are never
    worse; ``average`` is the input 0.

    >>> EvenDuchiVector(m=1).local_epsilon()
    log(exp(eps0) + 1)
    """

    name = "Duchi et al. for vectors, even dimension 2m"
    slug = "duchi-vector-even"
    source = "Duchi, Jordan, Wainwright 2013"
    typical = {"m": 2}
    lists_all_inputs = False  # corners that differ from both of a pair elsewhere are not shown

    def __init__(self, *, m: Value = 2, eps0: Value = None) -> None:
        super().__init__(m=m, eps0=eps0)
        if self["m"] > _MOST_PAIRS:
            raise ArgumentError("m", self["m"], f"a number of at most {_MOST_PAIRS}")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Corners with 0 to d turned signs, and the centre."""
        return (*(f"x{h}" for h in range(2 * int(self["m"]) + 1)), AVERAGE)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """One pair of corners for each number of differing signs."""
        return tuple(("x0", x) for x in self.inputs[1:-1])

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """The centre; corners are declared."""
        return (AVERAGE,)

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """One group for each number of differing signs, with all corners as third inputs, or a blanket for few."""
        d, t = 2 * int(self["m"]), sp.exp(self["eps0"])
        if d > _LARGEST_LISTED:
            return None
        far = 2 / ((t + 1) * (1 + self.ties()))
        weights = {1: t, 0: t + 1, -1: sp.Integer(1)}
        groups = []
        for k in range(d, 0, -1):
            pair = "x0", f"x{k}"
            if 4 * k <= d > _FEW_SIGNS:
                groups.append(PairGroup(pair, (), blanket(self, pair)))
                continue
            laws = {}
            for i, l in product(range(k + 1), range(d - k + 1)):
                blocks = [(i, (1, -1, -1)), (k - i, (1, -1, 1)), (l, (1, 1, -1)), (d - k - l, (1, 1, 1))]
                laws[f"x0 with {i} of {k} and {l} of {d - k} signs turned"] = [
                    Component(
                        weights[s0] / weights[s], weights[s1] / weights[s], far * weights[s] * sp.Rational(number, 2**d)
                    )
                    for (s0, s1, s), number in _sides(blocks).items()
                ]
            groups.append(listed_group(pair, laws))
        return tuple(groups)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Messages on the same sides of all distinguished corners; every y is near, far and tied to some corner."""
        d, t = 2 * int(self["m"]), sp.exp(self["eps0"])
        far = 2 / ((t + 1) * (1 + self.ties()))
        densities = {1: t * far, 0: (t + 1) * far, -1: far}
        found = []
        turned = [0 if x == AVERAGE else int(x[1:]) for x in distinguished]
        cuts = pairwise(sorted({0, *turned, d}))
        blocks = [(end - start, tuple(-1 if end <= h else 1 for h in turned)) for start, end in cuts]
        for sides, number in _sides(blocks).items():
            density = [
                sp.Integer(1) if x == AVERAGE else densities[side] for x, side in zip(distinguished, sides, strict=True)
            ]
            rest = tuple((level, None if level in density else sp.Integer(1)) for level in densities.values())
            found.append(Orbit(f"sides {sides}", sp.Rational(number, 2**d), tuple(density), rest))
        return tuple(found)

    def protocol(self) -> Protocol:
        """Values are rows of numbers in [-1, 1], reports are corners, estimated is the mean vector."""
        d, t, share = 2 * self["m"], sp.exp(self["eps0"]), (1 + self.ties()) / 2
        return corners(d, t / (t + 1), (share, share), (True, True), **_as_corners(d, f"x{d}"))

    def table(self) -> FiniteMechanism:
        d, t = 2 * int(self["m"]), sp.exp(self["eps0"])
        check_size(strings(2, d), strings(2, d))
        names = {(-1,) * h + (1,) * (d - h): f"x{h}" for h in range(d + 1)}
        return _table(self, d, (t / (t + 1), True, True), names)
