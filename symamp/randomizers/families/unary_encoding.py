"""Unary encoding: RAPPOR (Erlingsson, Pihur, Korolova 2014) and OUE (Wang, Blocki, Li, Jha 2017)."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product

import sympy as sp

from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, strings
from symamp.randomizers.structures import Letter, OneHot

_SIZE = Parameter("D", lower=sp.Integer(2), integer=True)


class _Unary(OneHot):
    """The one-hot vector of x in {0,1}^D; a 1 stays 1 with probability p, a 0 becomes 1 with probability q."""

    _internal_names = "probabilities"

    size = "D"
    exponents = ("D",)

    @abstractmethod
    def probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return (p, q)."""

    def letters(self) -> tuple[Letter, ...]:
        """A coordinate is 0 or 1."""
        p, q = self.probabilities()
        return Letter("0", 1 - p, 1 - q), Letter("1", p, q)

    def table(self) -> FiniteMechanism:
        """Return the table over all 2^D vectors."""
        p, q = self.probabilities()
        size = int(self["D"])
        check_size(size, strings(2, size))
        rows = {}
        for x in range(size):
            chance = [(1 - p, p) if i == x else (1 - q, q) for i in range(size)]
            rows[f"x{x}"] = {
                str(y): sp.Mul(*(chance[i][bit] for i, bit in enumerate(y))) for y in product((0, 1), repeat=size)
            }
        return FiniteMechanism(rows, name=repr(self))


class UnaryEncoding(_Unary):
    """Send the one-hot vector of x in {0,1}^D; a 1 stays 1 with probability p, a 0 becomes 1 with probability q < p.

    >>> UnaryEncoding(p="1/2", q="1/4", D=2).blanket().gamma
    3/4
    """

    name = "unary encoding"
    slug = "unary-encoding"
    source = "Wang, Blocki, Li, Jha 2017"
    small = tuple({"D": D, "p": "3/4", "q": "1/5"} for D in (2, 3, 4, 5, 6))
    typical = {"D": 16, "p": "1/2", "q": "1/4"}
    declared = (
        Parameter("q", lower=sp.Integer(0), upper=sp.Integer(1)),
        Parameter("p", lower=sp.Symbol("q", real=True), upper=sp.Integer(1)),
        _SIZE,
    )

    def __init__(self, *, p: object = None, q: object = None, D: object = None) -> None:
        super().__init__(p=p, q=q, D=D)

    @staticmethod
    def rappor(*, D: object = None, eps0: object = None) -> Rappor:
        """Return basic RAPPOR: p = 1 - q = s/(s+1), s = e^(eps0/2)."""
        return Rappor(D=D, eps0=eps0)

    @staticmethod
    def oue(*, D: object = None, eps0: object = None) -> OptimisedUnaryEncoding:
        """Return optimised unary encoding: p = 1/2, q = 1/(t+1), t = e^eps0."""
        return OptimisedUnaryEncoding(D=D, eps0=eps0)

    def probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return (p, q) as given."""
        return self["p"], self["q"]


class Rappor(_Unary):
    """Basic RAPPOR: unary encoding with p = 1 - q = s/(s+1), s = e^(eps0/2).

    >>> Rappor(D=4).local_epsilon()
    eps0
    """

    name = "RAPPOR (symmetric unary encoding)"
    slug = "rappor"
    source = "Erlingsson, Pihur, Korolova 2014"
    small = tuple({"D": D, "eps0": "log(9)"} for D in (2, 3, 4, 5, 6))
    typical = {"D": 16}
    declared = (_SIZE, EPS0)

    def __init__(self, *, D: object = None, eps0: object = None) -> None:
        super().__init__(D=D, eps0=eps0)

    def probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return (s/(s+1), 1/(s+1))."""
        s = sp.exp(self["eps0"] / 2)
        return s / (s + 1), 1 / (s + 1)


class OptimisedUnaryEncoding(_Unary):
    """Optimised unary encoding: p = 1/2, q = 1/(t+1), t = e^eps0.

    >>> OptimisedUnaryEncoding(D=4).local_epsilon()
    eps0
    """

    name = "optimised unary encoding (OUE)"
    slug = "oue"
    source = "Wang, Blocki, Li, Jha 2017"
    small = tuple({"D": D, "eps0": "log(3)"} for D in (2, 3, 4, 5, 6))
    typical = {"D": 16}
    declared = (_SIZE, EPS0)

    def __init__(self, *, D: object = None, eps0: object = None) -> None:
        super().__init__(D=D, eps0=eps0)

    def probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return (1/2, 1/(t+1))."""
        return sp.Rational(1, 2), 1 / (sp.exp(self["eps0"]) + 1)
