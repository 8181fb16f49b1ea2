"""k-ary randomized response, of the input or of a hash of it; the exponential mechanism on equidistant options."""

from __future__ import annotations

from itertools import product

import sympy as sp

from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.randomizers.finite import FiniteMechanism, check_size, strings
from symamp.randomizers.protocols import Protocol, first_two, hashed, sets
from symamp.randomizers.structures import ExchangeableSets, Share


class RandomizedResponse(ExchangeableSets):
    """Send the input with probability t/(t+k-1), t = e^eps0, and each other message with 1/(t+k-1).

    A parameter that is left out stays a symbol.

    >>> RandomizedResponse(k=10, eps0=1).blanket().gamma
    10/(E + 9)
    """

    name = "k-ary randomized response"
    slug = "krr"
    source = "Kairouz, Bonawitz, Ramage 2016"
    small = tuple({"k": k, "eps0": "log(3)"} for k in (2, 3, 4, 5, 7))
    typical = {"k": 10}
    declared = (Parameter("k", lower=2, integer=True), EPS0)
    size = "k"

    def __init__(self, *, k: Value = None, eps0: Value = None) -> None:
        super().__init__(k=k, eps0=eps0)

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """The reference measure counts messages."""
        k, t = self["k"], sp.exp(self["eps0"])
        return t / (t + k - 1), 1 / (t + k - 1)

    def shares(self, inside: int, outside: int) -> tuple[Share, ...]:
        """The set of x is {x}."""
        rest = self["k"] - inside - outside
        if inside == 0:
            return (Share("", rest, sp.Integer(1), rest - 1),)
        return (Share("", sp.Integer(1), sp.Integer(0), rest),) if inside == 1 else ()

    def message_bits(self) -> sp.Expr:
        return sp.log(self["k"], 2)

    def protocol(self) -> Protocol:
        high, low = self.levels()
        one = sp.S.One
        return sets(self["k"], one, one, normal(high / low), label="x{}".format, shown=first_two)

    def table(self) -> FiniteMechanism:
        k, t = int(self["k"]), sp.exp(self["eps0"])
        check_size(k, k)
        labels = [f"x{i}" for i in range(k)]
        return FiniteMechanism(
            {x: {y: (t if x == y else 1) / (t + k - 1) for y in labels} for x in labels}, name=repr(self)
        )


class ExponentialMechanism(RandomizedResponse):
    """Send option y of k with weight e^(-eps0*dist(x, y)/2), where dist(x, y) = 1 for y != x and dist(x, x) = 0.

    eps0 is the nominal budget, for distances that change by at most 1. On equidistant options the normalisation does
    not depend on the input, and the exact budget is half of it.

    >>> ExponentialMechanism().local_epsilon()
    eps0/2
    """

    name = "exponential mechanism on equidistant options"
    slug = "exponential"
    source = "McSherry, Talwar 2007"
    small = tuple({"k": k, "eps0": "log(9)"} for k in (2, 3, 4, 5, 7))

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """The reference measure counts messages; only the option at distance 0 is raised."""
        k, far = self["k"], sp.exp(-self["eps0"] / 2)
        return 1 / (1 + (k - 1) * far), far / (1 + (k - 1) * far)

    def table(self) -> FiniteMechanism:
        check_size(int(self["k"]), int(self["k"]))
        options = range(int(self["k"]))
        rows = {}
        for x in options:
            weights = [sp.exp(-self["eps0"] * (0 if y == x else 1) / 2) for y in options]
            rows[f"x{x}"] = {f"x{y}": w / sp.Add(*weights) for y, w in enumerate(weights)}
        return FiniteMechanism(rows, name=repr(self))


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
    declared = (Parameter("l", lower=2, integer=True), Parameter("D", lower=2, integer=True), EPS0)
    size = "D"

    def __init__(self, *, l: Value = None, D: Value = None, eps0: Value = None) -> None:
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

    def protocol(self) -> Protocol:
        """Reports are the values of h at 0, ..., D - 1, and y."""
        l, t = self["l"], sp.exp(self["eps0"])
        return hashed(
            self["D"],
            l,
            t / (t + l - 1),
            1 / l,
            label=lambda report: f"{tuple(report[:-1])}{report[-1]}",
            shown=first_two,
        )

    def table(self) -> FiniteMechanism:
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
