"""Sampling RAPPOR (Qin, Yang, Yu, Khalil, Xiao, Ren 2016): RAPPOR on one sampled item of a set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import comb, prod
from typing import Self

import sympy as sp

from symamp.decompositions.decomposition import Component
from symamp.decompositions.pair_groups import PairGroup, is_less, listed_group
from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.unevaluated import binomial
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size, strings, subsets
from symamp.randomizers.protocols import Protocol, bits, two_sets

_MOST_ITEMS = 200


_MOST_LISTED = 4
"""Up to so many items all types of third inputs are listed."""


def _ones(cells: Sequence[int], a: sp.Expr) -> dict[tuple[int, int, int], sp.Expr]:
    """Return the law of how many bits are 1 on x0, x1 and x where no item is sent; a bit is 1 with chance 1/(a + 1).

    The cells are the items of x0 and x1 only, of x0, of x1, and the same in this order that x has, too, and of x alone.
    """
    counts: dict[tuple[int, int, int, int], int] = {}
    for ones in product(*(range(size + 1) for size in cells)):
        c, x0, x1, cx, x0x, x1x, x = ones
        key = c + x0 + cx + x0x, c + x1 + cx + x1x, cx + x0x + x1x + x, sum(ones)
        counts[key] = counts.get(key, 0) + prod(comb(size, k) for size, k in zip(cells, ones, strict=True))
    found: dict[tuple[int, int, int], sp.Expr] = {}
    for (k0, k1, k, number), ways in counts.items():
        chance = ways * a ** (sum(cells) - number) / (a + 1) ** sum(cells)
        found[k0, k1, k] = found.get((k0, k1, k), sp.Integer(0)) + chance
    return found


class SamplingRappor(Family):
    """Sample one of the user's s items, out of d options, and send its one-hot vector through RAPPOR.

    With a = e^(eps0/2) a bit is kept with probability a/(a+1). d counts the dummy items that pad sets to s; s is a
    number (closed forms have of the order of s^3 components), d >= 2s.

    Against the law of a vector without items the density of a message on x is the mean over the s items of a where
    the bit is 1, 1/a where it is 0: only the number of ones on x counts. The least of all s-sets takes the zeros
    first. The distinguished inputs are disjoint, the worst case for every number of users: bits are exchangeable
    under the blanket, and where x0 and x1 have items in common, with u and v what those and as many fresh items
    contribute, u - E v, v - E u is a mean-preserving spread of u - E u, v - E v (convex order).

    >>> SamplingRappor(s=1, d=2, eps0="log(9)").blanket().gamma
    1/2
    """

    name = "sampling RAPPOR"
    slug = "sampling-rappor"
    source = "Qin, Yang, Yu, Khalil, Xiao, Ren 2016"
    small = tuple(
        {"s": s, "d": d, "eps0": f"log({e})"}
        for s, d, e in ((1, 2, 9), (1, 4, 9), (2, 4, 9), (2, 5, 4), (2, 6, 9), (3, 6, 9))
    )
    typical = {"s": 2, "d": 16}
    exponents, numbers = ("d",), ("s",)
    lists_all_inputs = False  # sets that overlap are not shown
    declared = (
        Parameter("s", lower=1, integer=True),
        Parameter("d", lower=2 * sp.Symbol("s", integer=True), integer=True),
        EPS0,
    )

    def __init__(self, *, s: Value = 2, d: Value = None, eps0: Value = None) -> None:
        super().__init__(s=s, d=d, eps0=eps0)
        if self["s"] > _MOST_ITEMS:
            raise ArgumentError("s", self["s"], f"a number of at most {_MOST_ITEMS}")

    def at(self, **values: object) -> Self:
        """Return the member of the family with the given parameters fixed; with another s, d has its full range."""
        return type(self)(**{**self.values, **values}) if "s" in values else super().at(**values)

    def message_bits(self) -> sp.Expr:
        return self["d"]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Disjoint sets: two, and a third if it surely exists."""
        return ("x0", "x1", "x2")[: 3 if self["d"].is_Integer and self["d"] >= 3 * self["s"] else 2]

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """One group for each number of common items, with all types of third inputs."""
        s, d = int(self["s"]), self["d"]
        if s > _MOST_LISTED:
            return None
        a = sp.exp(self["eps0"] / 2)
        density = [self._density(k) for k in range(s + 1)]
        groups = []
        for common in range(s):
            laws: dict[str, list[Component]] = {}
            for i0, i1, both in product(range(s - common + 1), range(s - common + 1), range(common + 1)):
                rest = s - i0 - i1 - both  # items of x that are in neither set
                if rest >= 0 and not is_less(d, 2 * s - common + rest):
                    cells = (common - both, s - common - i0, s - common - i1, both, i0, i1, rest)
                    laws[f"{i0 + both} items of x0, {i1 + both} of x1, {rest} others"] = [
                        Component(density[k0] / density[k], density[k1] / density[k], density[k] * mass)
                        for (k0, k1, k), mass in _ones(cells, a).items()
                    ]
            pair = ("x0", "x1") if common == 0 else ("x0", f"x1 with {common} items of x0")
            groups.append(listed_group(pair, laws))
        return tuple(groups)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """A message is seen through its ones on each set, and its zeros elsewhere as far as an s-set can use them."""
        s, a = int(self["s"]), sp.exp(self["eps0"] / 2)
        kept = a / (a + 1)
        rest = self["d"] - s * len(distinguished)
        found = []
        for ones in product(range(s + 1), repeat=len(distinguished)):
            word = sp.Mul(*(binomial(s, k) * (1 - kept) ** k * kept ** (s - k) for k in ones))
            density = tuple(self._density(k) for k in ones)
            zeros = s * len(ones) - sum(ones)
            if len(distinguished) == 1:  # what the other options say matters only for pairs
                others: list[tuple[sp.Expr, sp.Expr | None]] = [(self._density(k), None) for k in range(s + 1)]
                found.append(Orbit(f"ones {ones}", word, density, tuple(others)))
                continue
            for label, share, more in self._elsewhere(rest, s - zeros, kept):
                fewest = s - min(s, zeros + more)
                others = [(self._density(fewest), None if fewest in ones else sp.Integer(1))]
                others += [(self._density(k), None) for k in range(fewest + 1, s + 1)]
                found.append(Orbit(f"ones {ones}{label}", word * share, density, tuple(others)))
        return tuple(found)

    def _density(self, ones: int) -> sp.Expr:
        """The density on an input with so many ones among its items."""
        s, a = int(self["s"]), sp.exp(self["eps0"] / 2)
        return (ones * a + (s - ones) / a) / s

    @staticmethod
    def _elsewhere(rest: sp.Expr, wanted: int, kept: sp.Expr) -> Iterator[tuple[str, sp.Expr, int]]:
        """Yield (label, share, zeros) for the other options: each number of zeros below ``wanted``, and all above."""
        total = sp.Integer(0)
        for zeros in range(wanted):
            share = binomial(rest, zeros) * kept**zeros * (1 - kept) ** (rest - zeros)
            total += share
            yield f", {zeros} zeros elsewhere", share, zeros
        yield (f", {wanted} zeros or more elsewhere" if wanted > 0 else ""), 1 - total, max(wanted, 0)

    def protocol(self) -> Protocol:
        """Values are rows of s items (items if s = 1); estimated are the shares of users who have each."""
        s, kept = self["s"], 1 / (1 + sp.exp(-self["eps0"] / 2))
        told = {"label": lambda report: str(tuple(report)), "shown": lambda: two_sets(s)}
        return bits(self["d"], normal(kept), normal(1 - kept), sampled=s, **told)

    def table(self) -> FiniteMechanism:
        s, d, a = int(self["s"]), int(self["d"]), sp.exp(self["eps0"] / 2)
        check_size(subsets(d, s), strings(2, d))
        vectors = list(product((0, 1), repeat=d))

        def rappor(item: int, y: tuple[int, ...]) -> sp.Expr:
            return sp.Mul(*(a / (a + 1) if bit == (i == item) else 1 / (a + 1) for i, bit in enumerate(y)))

        single = {item: {y: rappor(item, y) for y in vectors} for item in range(d)}
        names = {tuple(range(i * s, (i + 1) * s)): f"x{i}" for i in range(d // s)}
        return FiniteMechanism(
            {
                names.get(x, f"set {x}"): {str(y): sp.Add(*(single[item][y] for item in x)) / s for y in vectors}
                for x in combinations(range(d), s)
            },
            name=repr(self),
        )
