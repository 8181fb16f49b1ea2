"""Local hashing (Wang, Blocki, Li, Jha 2017): randomized response on a random hash of the input."""

from __future__ import annotations

from itertools import product

import sympy as sp

from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, strings
from symamp.randomizers.structures import ExchangeableSets, Share


class LocalHashing(ExchangeableSets):
    """Draw h uniformly from all functions [D] -> [l] and send (h, y), y = l-ary randomized response of h(x).

    ``l = 2`` is binary local hashing; optimised local hashing takes l near e^eps0 + 1.

    >>> LocalHashing(l=2).blanket().gamma
    2*(2**D + exp(eps0) - 1)/(2**D*(exp(eps0) + 1))
    """

    name = "local hashing"
    exponents = ("D",)
    slug = "local-hashing"
    source = "Wang, Blocki, Li, Jha 2017"
    small = tuple({"l": l, "D": D, "eps0": "log(3)"} for l, D in ((2, 2), (2, 3), (3, 2), (3, 3), (2, 4), (4, 3)))
    typical = {"l": 2, "D": 16}
    declared = (
        Parameter("l", lower=sp.Integer(2), integer=True),
        Parameter("D", lower=sp.Integer(2), integer=True),
        EPS0,
    )
    size = "D"

    def __init__(self, *, l: object = None, D: object = None, eps0: object = None) -> None:
        super().__init__(l=l, D=D, eps0=eps0)

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """The reference measure is uniform in h and counts y."""
        l, t = self["l"], sp.exp(self["eps0"])
        return t / (t + l - 1), 1 / (t + l - 1)

    def shares(self, inside: int, outside: int) -> tuple[Share, ...]:
        """(h, y) is in the set of x if h(x) = y; over a random h these events are independent with probability 1/l."""
        l, rest = self["l"], self["D"] - inside - outside
        measure = l * (1 / l) ** inside * (1 - 1 / l) ** outside
        zero = sp.Integer(0)
        if rest == 0:
            return (Share("", measure, zero, zero),)
        together = l ** (-rest)
        return (
            Share(" and of all further inputs", measure * together, rest, zero),
            Share(" and not of some further input", measure * (1 - together), None, sp.Integer(1)),
        )

    def message_bits(self) -> sp.Expr:
        return (self["D"] + 1) * sp.log(self["l"], 2)

    def table(self) -> FiniteMechanism:
        """Return the table over all functions and values."""
        l, D, t = int(self["l"]), int(self["D"]), sp.exp(self["eps0"])
        check_size(D, l * strings(l, D))
        functions = list(product(range(l), repeat=D))
        return FiniteMechanism(
            {
                f"x{x}": {
                    f"{h}{y}": (t if h[x] == y else 1) / (t + l - 1) / len(functions)
                    for h in functions
                    for y in range(l)
                }
                for x in range(D)
            },
            name=repr(self),
        )
