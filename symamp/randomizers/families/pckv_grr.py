"""PCKV-GRR (Gu, Li, Cheng, Xiong, Cao 2020): one sampled key-value pair through generalised randomized response."""

from __future__ import annotations

from itertools import combinations, product

import sympy as sp

from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, strings, subsets
from symamp.randomizers.structures.disjoint_cover import DisjointCover, with_average


class PCKVGRR(DisjointCover):
    """Sample one of the user's s key-value pairs, out of d keys, round its value to +1 or -1, randomize the pair.

    d counts the dummy keys that pad sets to s pairs. Over the 2d symbols (key, sign) a pair is kept with probability
    a P, its sign flipped with a(1 - P), each symbol of another key sent with (1 - a)/(2(d - 1)), where
    a = (s(t - 1) + 2)/(s(t - 1) + 2d), P = (s(t - 1) + 1)/(s(t - 1) + 2), t = e^eps0: the published choice for GRR.
    Sampling then leaves the symbols of the set with weight t and all others with weight 1.

    Inputs are sets with values in {-1, +1}; a value between mixes two of them, and mixtures are never worse. The pair
    has disjoint sets of symbols (other keys, or the same keys with opposite values; both have the same law), the
    worst case (see DisjointCover).

    >>> PCKVGRR(s=1).blanket().gamma
    2*d/(2*d + exp(eps0) - 1)
    """

    name = "PCKV-GRR"
    slug = "pckv-grr"
    source = "Gu, Li, Cheng, Xiong, Cao 2020"
    small = tuple({"s": s, "d": d, "eps0": "log(3)"} for s, d in ((1, 2), (1, 4), (2, 2), (2, 3), (2, 5), (3, 4)))
    typical = {"s": 4, "d": 64}
    declared = (
        Parameter("s", lower=sp.Integer(1), integer=True),
        Parameter("d", lower=sp.Symbol("s", integer=True), integer=True),
        EPS0,
    )
    packs = True

    def __init__(self, *, s: object = None, d: object = None, eps0: object = None) -> None:
        super().__init__(s=s, d=d, eps0=eps0)

    def coverage(self) -> sp.Expr:
        """A set has s of the 2d symbols."""
        return self["s"] / (2 * self["d"])

    def message_bits(self) -> sp.Expr:
        """Return log2 of the keys, each with a sign."""
        return sp.log(2 * self["d"], 2)

    def table(self) -> FiniteMechanism:
        """Return the table over the 2d symbols, for all sets of s keys and signs of their values."""
        s, d, t = int(self["s"]), int(self["d"]), sp.exp(self["eps0"])
        check_size(subsets(d, s) * strings(2, s), 2 * d)
        kept = (s * (t - 1) + 2) / (s * (t - 1) + 2 * d)
        right = (s * (t - 1) + 1) / (s * (t - 1) + 2)
        symbols = [(key, sign) for sign in (1, -1) for key in range(d)]

        def chance(sent: tuple[int, int], true: tuple[int, int]) -> sp.Expr:
            if sent[0] != true[0]:
                return (1 - kept) / (2 * (d - 1))
            return kept * (right if sent == true else 1 - right)

        # Blocks of s symbols in this order never repeat a key, as s <= d.
        names = {frozenset(symbols[i * s : (i + 1) * s]): f"x{i}" for i in range(2 * d // s)}
        if s < d < sp.Rational(3, 2) * s:
            names |= {frozenset(symbols[i * d : i * d + 3 * s - 2 * d] + symbols[2 * s :]): f"x{i + 2}" for i in (0, 1)}
        rows = {}
        for keys in combinations(range(d), s):
            for signs in product((1, -1), repeat=s):
                pairs = list(zip(keys, signs, strict=True))
                rows[names.get(frozenset(pairs), str(pairs))] = {
                    str(y): sp.Add(*(chance(y, pair) for pair in pairs)) / s for y in symbols
                }
        return FiniteMechanism(with_average(rows), name=repr(self))
