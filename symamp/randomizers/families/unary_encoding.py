"""One bit an option: RAPPOR, optimised and other unary encoding, and dBitFlip, which sends some of the bits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.reading import exact_number
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size, strings, subsets
from symamp.randomizers.protocols import Protocol, bits, first_two
from symamp.randomizers.structures import Letter, OneHot

# ----------------------- Unary encoding: RAPPOR (Erlingsson, Pihur, Korolova 2014) and OUE (Wang, Blocki, Li, Jha 2017)

_SIZE = Parameter("D", lower=2, integer=True)


class _Unary(OneHot):
    """The one-hot vector of x in {0,1}^D; a 1 stays 1 with probability p, a 0 becomes 1 with probability q."""

    _internal_names = "probabilities"

    size = "D"
    exponents = ("D",)

    @abstractmethod
    def probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return (p, q)."""

    def letters(self) -> tuple[Letter, ...]:
        p, q = self.probabilities()
        return Letter("0", 1 - p, 1 - q), Letter("1", p, q)

    def protocol(self) -> Protocol:
        return bits(self["D"], *self.probabilities(), label=lambda report: str(tuple(report)), shown=first_two)

    def table(self) -> FiniteMechanism:
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
    declared = (Parameter("q", lower=0, upper=1), Parameter("p", lower=sp.Symbol("q", real=True), upper=1), _SIZE)

    def __init__(self, *, p: Value = None, q: Value = None, D: Value = None) -> None:
        super().__init__(p=p, q=q, D=D)

    @staticmethod
    def rappor(*, D: Value = None, eps0: Value = None) -> Rappor:
        """Return basic RAPPOR: p = 1 - q = s/(s+1), s = e^(eps0/2)."""
        return Rappor(D=D, eps0=eps0)

    @staticmethod
    def oue(*, D: Value = None, eps0: Value = None) -> OptimisedUnaryEncoding:
        """Return optimised unary encoding: p = 1/2, q = 1/(t+1), t = e^eps0."""
        return OptimisedUnaryEncoding(D=D, eps0=eps0)

    def probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        return self["p"], self["q"]


class _OfBudget(_Unary):
    """Unary encoding whose probabilities follow from the budget."""

    typical = {"D": 16}
    declared = (_SIZE, EPS0)

    def __init__(self, *, D: Value = None, eps0: Value = None) -> None:
        super().__init__(D=D, eps0=eps0)


class Rappor(_OfBudget):
    """Basic RAPPOR: unary encoding with p = 1 - q = s/(s+1), s = e^(eps0/2).

    >>> Rappor(D=4).local_epsilon()
    eps0
    """

    name = "RAPPOR (symmetric unary encoding)"
    slug = "rappor"
    source = "Erlingsson, Pihur, Korolova 2014"
    small = tuple({"D": D, "eps0": "log(9)"} for D in (2, 3, 4, 5, 6))

    def probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        s = sp.exp(self["eps0"] / 2)
        return s / (s + 1), 1 / (s + 1)


class OptimisedUnaryEncoding(_OfBudget):
    """Optimised unary encoding: p = 1/2, q = 1/(t+1), t = e^eps0.

    >>> OptimisedUnaryEncoding(D=4).local_epsilon()
    eps0
    """

    name = "optimised unary encoding (OUE)"
    slug = "oue"
    source = "Wang, Blocki, Li, Jha 2017"
    small = tuple({"D": D, "eps0": "log(3)"} for D in (2, 3, 4, 5, 6))

    def probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        return sp.Rational(1, 2), 1 / (sp.exp(self["eps0"]) + 1)


# ------------------------------------------------- dBitFlip, the histogram mechanism of Ding, Kulkarni, Yekhanin (2017)

_DRAWN = sp.Symbol("d", integer=True)


class DBitFlip(Family):
    """Draw d of k buckets without replacement and send them with one bit each.

    The bit of bucket j is 1 with probability s/(s+1), s = e^(eps0/2), if j is the input, and 1/(s+1) if not.

    Symbols stand for 2 <= d < k, the range of one closed form. Numbers d = 1 (where the exact budget is eps0/2) and
    d = k (all buckets are drawn: basic RAPPOR) are members, too.

    >>> DBitFlip(k=3, d=2, eps0="log(9)").blanket().gamma
    3/8
    >>> DBitFlip(d=1).local_epsilon(), DBitFlip(d=2).local_epsilon()
    (eps0/2, eps0)
    """

    name = "dBitFlip"
    exponents = ("d",)
    slug = "d-bit-flip"
    source = "Ding, Kulkarni, Yekhanin 2017"
    small = tuple({"k": k, "d": d, "eps0": "log(9)"} for k, d in ((3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (6, 4)))
    typical = {"k": 32, "d": 4}
    declared = (Parameter("d", lower=1, integer=True), Parameter("k", lower=2, integer=True), EPS0)

    def __init__(self, *, k: Value = None, d: Value = None, eps0: Value = None) -> None:
        super().__init__(k=_some_not_drawn(k, d), d=_some_drawn(d, k), eps0=eps0)
        if self["k"].is_Integer and (self["d"] > self["k"] if self["d"].is_Integer else self["k"] == 2):
            raise ArgumentError("k", self["k"], "a number of at least d, and at least 3 where d is a symbol")

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(f"x{i}" for i in range(self.count("k")))

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The pair and a third bucket, which there is for all symbols k."""
        return ("x0", "x1") if self["k"] == 2 else ("x0", "x1", "x2")

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Which distinguished buckets are drawn and with what bits, and whether some other drawn bucket has bit 0.

        The reference measure is the law of a message in which no drawn bucket holds the input; against it, an input
        that is not drawn has density 1.
        """
        k, d, s = self["k"], self["d"], sp.exp(self["eps0"] / 2)
        chance = {"-": sp.Integer(1), "1": 1 / (s + 1), "0": s / (s + 1)}
        ratio = {"-": sp.Integer(1), "1": s, "0": 1 / s}
        found = []
        for word in product("-10", repeat=len(distinguished)):
            absent = word.count("-")
            present = len(word) - absent
            draws = [d - i for i in range(present)] + [k - d - i for i in range(absent)]
            measure = sp.Mul(*draws, *(chance[a] for a in word)) / sp.Mul(*(k - i for i in range(len(word))))
            density = tuple(ratio[a] for a in word)
            others, missing = d - present, (sp.Integer(1), k - d - absent)
            ones = (1 / (s + 1)) ** others
            mixed = ((1 / s, None), (s, None)) if others != 1 else ()
            shares = (
                ("only 1", measure * ones, ((s, others), missing)),
                ("some 0", measure * (1 - ones), ((1 / s, sp.Integer(1)), *mixed, missing)),
            )
            for label, share, rest in shares:
                if share != 0:
                    found.append(Orbit(f"{''.join(word)}, other bits {label}", share, density, rest))
        return tuple(found)

    def message_bits(self) -> sp.Expr:
        return sp.log(sp.binomial(self["k"], self["d"]), 2) + self["d"]

    def protocol(self) -> Protocol:
        """Reports have a bit for each bucket that is drawn, and -1 for the others."""
        s = sp.exp(self["eps0"] / 2)

        def label(report: Sequence[int]) -> str:
            drawn = [(j, bit) for j, bit in enumerate(report) if bit >= 0]
            return f"{tuple(j for j, _ in drawn)}{tuple(bit for _, bit in drawn)}"

        return bits(self["k"], s / (s + 1), 1 / (s + 1), drawn=self["d"], label=label, shown=first_two)

    def table(self) -> FiniteMechanism:
        k, d, s = int(self["k"]), int(self["d"]), sp.exp(self["eps0"] / 2)
        check_size(k, subsets(k, d) * strings(2, d))
        drawn = list(combinations(range(k), d))
        rows = {}
        for x in range(k):
            row = {}
            for buckets in drawn:
                for sent in product((0, 1), repeat=d):
                    factors = []
                    for bucket, bit in zip(buckets, sent, strict=True):
                        one = (s if bucket == x else 1) / (s + 1)
                        factors.append(one if bit else 1 - one)
                    row[f"{buckets}{sent}"] = sp.Mul(*factors) / len(drawn)
            rows[f"x{x}"] = row
        return FiniteMechanism(rows, name=repr(self))


def _some_drawn(d: object, k: object) -> object:
    """Return d, or its range where it is a symbol: at least 2, and less than a number k."""
    if d is not None and not isinstance(d, Parameter) and not (isinstance(d, sp.Symbol) and d == _DRAWN):
        return d
    given = d if isinstance(d, Parameter) else Parameter("d", lower=2, integer=True)
    if given.upper is not None or k is None or isinstance(k, Parameter | sp.Symbol):
        return given
    return replace(given, upper=exact_number(k, "k") - 1)


def _some_not_drawn(k: object, d: object) -> object:
    """Return k, or its range where it is a symbol: more than d."""
    given = Parameter("k", lower=_DRAWN + 1, integer=True) if k is None or isinstance(k, sp.Symbol) else k
    if not isinstance(given, Parameter) or given.lower is None or d is None or isinstance(d, Parameter | sp.Symbol):
        return given
    return given.given({_DRAWN: exact_number(d, "d")})
