"""Hadamard response (Acharya, Sun, Zhang 2019), with a single block and with several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from math import prod
from operator import xor

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.reading import LARGEST_N, whole_number
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.mechanism import of_two_levels
from symamp.randomizers.protocols import Protocol, rows

# -------------------------------------------- Sylvester's Hadamard matrices: signs that rows have in common, and tables


def sign_patterns(rows: Sequence[int]) -> list[tuple[tuple[int, ...], sp.Rational]]:
    """Return the signs that rows of a Sylvester matrix may have in one column, each with its share of the columns.

    H[x, y] = (-1)^<x, y>, so the product of rows is the row of the sum of their numbers over GF(2). Rows that sum to
    0 have product +1 in every column; all patterns of signs that respect this are equally frequent.

    >>> sign_patterns([1, 2, 3])
    [((1, 1, 1), 1/4), ((1, -1, -1), 1/4), ((-1, 1, -1), 1/4), ((-1, -1, 1), 1/4)]
    """
    chosen = [[i for i, member in enumerate(c) if member] for c in product((0, 1), repeat=len(rows))]
    dependent = [c for c in chosen if reduce(xor, (rows[i] for i in c), 0) == 0]
    patterns = [
        signs for signs in product((1, -1), repeat=len(rows)) if all(prod(signs[i] for i in c) == 1 for c in dependent)
    ]
    return [(signs, sp.Rational(1, len(patterns))) for signs in patterns]


def sylvester(size: int) -> list[list[int]]:
    """Return the Hadamard matrix of Sylvester's construction, for tables; ``size`` is a power of two."""
    matrix = [[1]]
    while len(matrix) < size:
        matrix = [row + row for row in matrix] + [row + [-entry for entry in row] for row in matrix]
    return matrix


def _table(family: Family, blocks: int, size: int, used: range, label: Callable[[int, int], str]) -> FiniteMechanism:
    """Return the table of a response with these rows in each block; a label is made of a block and a number in it."""
    check_size(blocks * len(used), blocks * size)
    matrix, t = sylvester(size), sp.exp(family["eps0"])
    table = {}
    for block, x in product(range(blocks), used):
        raised = {label(block, y) for y in range(size) if matrix[x][y] > 0}
        messages = [label(i, y) for i, y in product(range(blocks), range(size))]
        total = len(raised) * t + len(messages) - len(raised)
        table[label(block, x)] = {y: (t if y in raised else 1) / total for y in messages}
    return FiniteMechanism(table, name=repr(family))


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
    small = tuple({"K": K, "eps0": f"log({e})"} for K, e in ((4, 3), (4, "5/2"), (8, 3), (8, 7), (16, 3), (32, 3)))
    typical = {"K": 16}
    declared = (Parameter("K", lower=4, integer=True, predicate="a power of two"), EPS0)

    def __init__(self, *, K: Value = None, eps0: Value = None, D: Value = None) -> None:
        self.last_row = None if D is None else whole_number(D, "D", LARGEST_N, least=2)
        if K is None and self.last_row is not None:
            K = Parameter("K", lower=sp.Integer(max(4, 2 ** self.last_row.bit_length())), integer=True)
        super().__init__(K=K, eps0=eps0)
        if self.last_row is not None:
            if self["K"].is_Integer and self.last_row >= self["K"]:
                raise ArgumentError("D", self.last_row, f"at most K - 1 = {self['K'] - 1}")
            self.keep("D", self.last_row)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The first rows: 1 and 2, their product 3, and 4, which is independent of them."""
        rows = self.count("K", 8) - 1 if self.last_row is None else self.last_row
        return tuple(str(x) for x in range(1, min(rows, 4) + 1))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Two different rows are linearly independent over GF(2), and that is all that the blanket depends on."""
        return (("1", "2"),)

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        return of_two_levels(self, sp.exp(self["eps0"]))

    def message_bits(self) -> sp.Expr:
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

    def protocol(self) -> Protocol:
        """Item v is row v + 1."""
        used = None if self.last_row is None else self.values["D"]
        return rows(self["K"], sp.S.One, sp.exp(self["eps0"]), used, shown=lambda: {"1": 0, "2": 1})

    def table(self) -> FiniteMechanism:
        """Return the table over all columns, rows 1, ..., D."""
        size = int(self["K"])
        return _table(self, 1, size, range(1, size if self.last_row is None else self.last_row + 1), "{1}".format)


class BlockHadamardResponse(Family):
    """Send one of K = B*b messages, in B > 1 blocks of b, with weight t = e^eps0 on b/2 of them and 1 on the rest.

    Input "i:x" stands for row x = 1, ..., b - 1 of the b by b Sylvester Hadamard matrix H in block i: message y of
    block i has the high weight if H[x, y] = +1. The block size b is a power of two, and a symbol b stands for one that
    is at least 4; with b = 2, which may be given as a number, no block holds two inputs. A design that leaves some of
    the rows unused has the same blanket as long as it uses two blocks.

    >>> BlockHadamardResponse(B=2, b=4, eps0="log(3)").blanket("0:1", "1:1").gamma
    2/3
    """

    name = "Hadamard response with blocks"
    slug = "block-hadamard"
    source = "Acharya, Sun, Zhang 2019"
    small = tuple({"B": B, "b": b, "eps0": "log(3)"} for B, b in ((2, 4), (3, 4), (4, 4), (2, 8), (3, 8), (2, 16)))
    typical = {"B": 4, "b": 16}
    declared = (
        Parameter("B", lower=2, integer=True),
        Parameter("b", lower=2, integer=True, predicate="a power of two"),
        EPS0,
    )

    def __init__(self, *, B: Value = None, b: Value = None, eps0: Value = None) -> None:
        # From b = 4 on there are pairs of inputs in one block, so that one description serves all of these sizes.
        super().__init__(B=B, b=Parameter("b", lower=4, integer=True) if b is None else b, eps0=eps0)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Rows 1 to 4 (3 is the product of 1 and 2) of block 0, rows 1 and 2 of block 1, row 1 of block 2."""
        rows, blocks = self.count("b", 8) - 1, self.count("B", 3)
        return tuple(f"{i}:{x}" for i in range(blocks) for x in range(1, min(rows, (4, 2, 1)[i]) + 1))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """One pair in different blocks and one in the same block stand for all."""
        different, same = ("0:1", "1:1"), ("0:1", "0:2")
        return (different, same) if "0:2" in self.inputs else (different,)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """The block of the message, and its signs on the distinguished rows; the reference measure counts messages."""
        B, b, t = self["B"], self["b"], sp.exp(self["eps0"])
        s, size = b / 2, B * b
        high, low = t / (s * t + size - s), 1 / (s * t + size - s)
        places = [tuple(map(int, x.split(":"))) for x in distinguished]
        blocks = dict.fromkeys(i for i, _ in places)
        found = []
        for block in blocks:
            members = [n for n, (i, _) in enumerate(places) if i == block]
            # Inputs of other blocks have the low density here; those of this block may have either.
            elsewhere = (B - 1) * (b - 1) - (len(places) - len(members))
            rest = ((low, elsewhere), (high, None), (low, None))
            for signs, share in sign_patterns([places[n][1] for n in members]):
                raised = {n for n, sign in zip(members, signs, strict=True) if sign > 0}
                density = tuple(high if n in raised else low for n in range(len(places)))
                label = f"block {block}, signs {''.join('+' if sign > 0 else '-' for sign in signs)}"
                found.append(Orbit(label, b * share, density, rest))
        measure = (B - len(blocks)) * b
        if measure != 0:
            found.append(Orbit("other blocks", measure, (low,) * len(places), ((high, None), (low, None))))
        return tuple(found)

    def message_bits(self) -> sp.Expr:
        return sp.log(self["B"] * self["b"], 2)

    def protocol(self) -> Protocol:
        """Item v is row v mod (b - 1) + 1 of block v // (b - 1), message y column y mod b of block y // b."""
        b = self["b"]

        def label(y: int) -> str:
            return f"{y // int(b)}:{y % int(b)}"

        return rows(b, self["B"], sp.exp(self["eps0"]), label=label, shown=lambda: {"0:1": 0, "1:1": int(b) - 1})

    def table(self) -> FiniteMechanism:
        """Return the table over all messages, all rows but 0 in every block."""
        size = int(self["b"])
        return _table(self, int(self["B"]), size, range(1, size), "{}:{}".format)
