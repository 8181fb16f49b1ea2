"""Subset selection (Ye, Barg 2018; Wang et al. 2016)."""

from __future__ import annotations

from itertools import combinations

import sympy as sp

from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, subsets
from symamp.randomizers.structures import ExchangeableSets, Share


class SubsetSelection(ExchangeableSets):
    """Send a k-subset y of the d inputs, with weight t = e^eps0 if it contains the input and 1 if not.

    >>> SubsetSelection(k=1).blanket().gamma
    d/(d + exp(eps0) - 1)
    """

    name = "subset selection"
    slug = "subset-selection"
    source = "Ye, Barg 2018"
    small = tuple({"d": d, "k": k, "eps0": "log(3)"} for d, k in ((2, 1), (3, 1), (4, 2), (5, 2), (5, 4), (6, 3)))
    typical = {"d": 16, "k": 4}
    declared = (
        Parameter("d", lower=sp.Integer(2), integer=True),
        Parameter("k", lower=sp.Integer(1), upper=sp.Symbol("d", integer=True) - 1, integer=True),
        EPS0,
    )
    size = "d"

    def __init__(self, *, d: object = None, k: object = None, eps0: object = None) -> None:
        super().__init__(d=d, k=k, eps0=eps0)

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """The reference measure is the uniform law of a k-subset."""
        d, k, t = self["d"], self["k"], sp.exp(self["eps0"])
        return t * d / (t * k + d - k), d / (t * k + d - k)

    def shares(self, inside: int, outside: int) -> tuple[Share, ...]:
        """A uniform k-subset contains ``inside`` given inputs and misses ``outside`` others."""
        d, k = self["d"], self["k"]
        contains = sp.Mul(*(k - i for i in range(inside)))
        misses = sp.Mul(*(d - k - i for i in range(outside)))
        orders = sp.Mul(*(d - i for i in range(inside + outside)))
        return (Share("", contains * misses / orders, k - inside, d - k - outside),)

    def message_bits(self) -> sp.Expr:
        return sp.log(sp.binomial(self["d"], self["k"]), 2)

    def table(self) -> FiniteMechanism:
        """Return the table over all k-subsets."""
        d, k, t = int(self["d"]), int(self["k"]), sp.exp(self["eps0"])
        check_size(d, subsets(d, k))
        messages = list(combinations(range(d), k))
        weights = {x: [t if x in y else sp.Integer(1) for y in messages] for x in range(d)}
        return FiniteMechanism(
            {
                f"x{x}": {str(y): w / sp.Add(*row) for y, w in zip(messages, row, strict=True)}
                for x, row in weights.items()
            },
            name=repr(self),
        )
