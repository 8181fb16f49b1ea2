"""Hadamard response (Acharya, Sun, Zhang 2019), with a single block."""

from __future__ import annotations

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError
from symamp.formulas.parameter import EPS0, Parameter
from symamp.numbers.reading import exact_number
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.mechanism import of_two_levels
from symamp.randomizers.structures.hadamard import sign_patterns, sylvester


class HadamardResponse(Family):
    """Send a column y of the K by K Sylvester Hadamard matrix, with weight t = e^eps0 where H[x, y] = +1, else 1.

    The inputs are the rows 1, ..., D; row 0 is constant and in no use. D left out is K - 1, all other rows. K is a
    power of two, and a symbolic K stands for one. D is a number or left out: how many columns are +1 on all rows
    depends on the number of bits of D.

    >>> HadamardResponse(K=8, eps0="log(3)").blanket().gamma
    5/8
    >>> HadamardResponse(K=8, D=3, eps0="log(3)").blanket().gamma
    3/4
    """

    _internal_names = "last_row"

    name = "Hadamard response"
    slug = "hadamard-response"
    source = "Acharya, Sun, Zhang 2019"
    small = tuple(
        {"K": K, "eps0": eps0}
        for K, eps0 in ((4, "log(3)"), (4, "log(5/2)"), (8, "log(3)"), (8, "log(7)"), (16, "log(3)"), (32, "log(3)"))
    )
    typical = {"K": 16}
    declared = (Parameter("K", lower=sp.Integer(4), integer=True, predicate="a power of two"), EPS0)

    def __init__(self, *, K: object = None, eps0: object = None, D: object = None) -> None:
        self.last_row = None if D is None else _checked_last_row(D)
        if K is None and self.last_row is not None:
            K = Parameter("K", lower=sp.Integer(max(4, 2 ** self.last_row.bit_length())), integer=True)
        super().__init__(K=K, eps0=eps0)
        if self.last_row is not None:
            if self["K"].is_Integer and self.last_row >= self["K"]:
                raise ArgumentError("D", self.last_row, f"at most K - 1 = {self['K'] - 1}")
            self.values["D"] = sp.Integer(self.last_row)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The first rows: 1 and 2, their product 3, and 4, which is independent of them."""
        rows = self.count("K", 8) - 1 if self.last_row is None else self.last_row
        return tuple(str(x) for x in range(1, min(rows, 4) + 1))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Two different rows are linearly independent over GF(2), and that is all that the blanket depends on."""
        return (("1", "2"),)

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return the chances of the columns that are +1 on a row."""
        return of_two_levels(self, sp.exp(self["eps0"]))

    def message_bits(self) -> sp.Expr:
        """Return log2 K."""
        return sp.log(self["K"], 2)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """The signs on the distinguished rows; the reference measure is uniform on the columns."""
        t = sp.exp(self["eps0"])
        high, low = 2 * t / (t + 1), 2 / (t + 1)
        found = []
        for signs, share in sign_patterns([int(x) for x in distinguished]):
            density = tuple(high if sign > 0 else low for sign in signs)
            label = f"signs {''.join('+' if sign > 0 else '-' for sign in signs)}"
            minus = signs.count(-1)
            if not minus:
                constant, number = self._constant_columns()
                found.append(Orbit("constant columns", constant, density, ((high, number - len(signs)),)))
                share -= constant
            if share != 0:
                found.append(Orbit(label, share, density, self._rest(len(signs) - minus, minus)))
        return tuple(found)

    def _constant_columns(self) -> tuple[sp.Expr, sp.Expr]:
        """Return the share of the columns that are +1 on all rows in use, and the number of these rows."""
        if self.last_row is None:
            return 1 / self["K"], self["K"] - 1
        # Rows 1, ..., D span the rows of as many bits as D has: a column is constant if these bits of it are 0.
        return sp.Rational(1, 2 ** self.last_row.bit_length()), sp.Integer(self.last_row)

    def _rest(self, plus: int, minus: int) -> tuple[tuple[sp.Expr, sp.Expr | None], ...]:
        """Return how the further rows see a column that is not constant."""
        t = sp.exp(self["eps0"])
        high, low = 2 * t / (t + 1), 2 / (t + 1)
        if self.last_row is None:  # half of all rows, row 0 among the others, are -1 on it
            return (high, self["K"] / 2 - 1 - plus), (low, self["K"] / 2 - minus)
        # Some row is -1 on it; if no distinguished one is, a further one.
        sure = () if minus else ((low, sp.Integer(1)),)
        return (*sure, (high, None), (low, None))

    def table(self) -> FiniteMechanism:
        """Return the table over all columns, rows 1, ..., D."""
        K, t = int(self["K"]), sp.exp(self["eps0"])
        check_size(self.last_row or K - 1, K)
        rows = range(1, K if self.last_row is None else self.last_row + 1)
        matrix = sylvester(K)
        weights = {x: [t if entry > 0 else sp.Integer(1) for entry in matrix[x]] for x in rows}
        return FiniteMechanism(
            {str(x): {str(y): w / sp.Add(*weights[x]) for y, w in enumerate(weights[x])} for x in rows},
            name=repr(self),
        )


def _checked_last_row(value: object) -> int:
    accepted = "an integer >= 2, or None for all rows"
    if isinstance(value, Parameter | sp.Symbol):
        raise ArgumentError("D", str(value), accepted)
    number = exact_number(value, "D")
    if not number.is_Integer or number < 2:
        raise ArgumentError("D", number, accepted)
    return int(number)
