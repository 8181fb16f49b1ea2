"""Apple's count mean sketch, CMS (Differential Privacy Team, Apple 2017)."""

from __future__ import annotations

from itertools import product

import sympy as sp

from symamp.decompositions.pair_groups import PairGroup, Pattern, groups_by_share, sketch
from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, strings
from symamp.randomizers.structures.one_hot import Letter, OneHot


class CountMeanSketch(OneHot):
    """Draw j uniformly from k public hash functions h_j into [m] and send j with a noisy one-hot vector.

    The vector in {-1, 1}^m is +1 at h_j(x) and -1 elsewhere; each of its entries is flipped with probability 1/(s+1),
    s = e^(eps0/2).

    What is described: every h_j is onto [m], and the inputs x0, x1, ... collide under none of the k hash functions.
    That is the worst case. Values that no input hashes to can only raise the infimum over inputs. And for a pair of
    inputs that collides under some h_j, messages with that j have G = (1 - e^eps) r0, whereas without the collision
    G = r0 - e^eps r1 with (r0, r1) exchangeable and r0 of the same law: {u - e^eps v, v - e^eps u} majorizes
    {(1 - e^eps) u, (1 - e^eps) v}, hence G without the collision is larger in convex order, for every n.

    >>> CountMeanSketch(k=5).blanket() == CountMeanSketch(k=1).blanket()
    True
    """

    name = "count mean sketch (CMS)"
    exponents = ("m",)
    slug = "cms"
    source = "Differential Privacy Team, Apple 2017"
    lists_all_inputs = False  # inputs that collide under some hash function are not shown
    small = tuple({"k": k, "m": m, "eps0": "log(9)"} for k, m in ((1, 2), (2, 2), (1, 3), (2, 3), (3, 4), (2, 5)))
    typical = {"k": 1024, "m": 64}
    declared = (
        Parameter("k", lower=sp.Integer(1), integer=True),
        Parameter("m", lower=sp.Integer(2), integer=True),
        EPS0,
    )
    size = "m"

    def __init__(self, *, k: object = None, m: object = None, eps0: object = None) -> None:
        super().__init__(k=k, m=m, eps0=eps0)

    def letters(self) -> tuple[Letter, ...]:
        """An entry is -1 or +1; under every h_j the inputs have coordinates of their own, so j can be left out."""
        s = sp.exp(self["eps0"] / 2)
        return Letter("-", 1 / (s + 1), s / (s + 1)), Letter("+", s / (s + 1), 1 / (s + 1))

    def pair_groups(self) -> tuple[PairGroup, ...]:
        """Under a hash function a third input has the bit of x0, that of x1, or one that is independent of both."""
        zero, c = sp.Integer(0), 1 / (sp.exp(self["eps0"] / 2) + 1)
        p = c * (1 - c)
        third = Pattern(p, c * p, c * p, c * p, p * (1 - c))
        base = Pattern(p, p, zero, zero, zero), Pattern(p, zero, p, zero, zero), third
        return groups_by_share(sp.exp(self["eps0"]), c, p, sketch(base))

    def message_bits(self) -> sp.Expr:
        """Return m for the vector, and log2 of the hash functions."""
        return self["m"] + sp.log(self["k"], 2)

    def table(self) -> FiniteMechanism:
        """Return the table for inputs (a, c), c = 0 or 1, and h_j(a, c) = a + c*j mod m; input x_a is (a, 0)."""
        k, m, s = int(self["k"]), int(self["m"]), sp.exp(self["eps0"] / 2)
        check_size(2 * m, k * strings(2, m))
        stays, flips = s / (s + 1), 1 / (s + 1)
        rows = {}
        for c, a in product((0, 1), range(m)):
            row = {}
            for j in range(k):
                vector = [1 if i == (a + c * j) % m else -1 for i in range(m)]
                for sent in product((-1, 1), repeat=m):
                    agree = sum(u == v for u, v in zip(vector, sent, strict=True))
                    row[f"{j}{sent}"] = stays**agree * flips ** (m - agree) / k
            rows[f"{'z' if c else 'x'}{a}"] = row
        return FiniteMechanism(rows, name=repr(self))
