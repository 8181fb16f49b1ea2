"""Hadamard response with several blocks (Acharya, Sun, Zhang 2019, general privacy regime)."""

from __future__ import annotations

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.structures.hadamard import sign_patterns, sylvester


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
        Parameter("B", lower=sp.Integer(2), integer=True),
        Parameter("b", lower=sp.Integer(2), integer=True, predicate="a power of two"),
        EPS0,
    )

    def __init__(self, *, B: object = None, b: object = None, eps0: object = None) -> None:
        # From b = 4 on there are pairs of inputs in one block, so that one description serves all of these sizes.
        super().__init__(B=B, b=Parameter("b", lower=sp.Integer(4), integer=True) if b is None else b, eps0=eps0)

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
        """Return log2 of the messages of all blocks."""
        return sp.log(self["B"] * self["b"], 2)

    def table(self) -> FiniteMechanism:
        """Return the table over all messages, all rows but 0 in every block."""
        B, b, t = int(self["B"]), int(self["b"]), sp.exp(self["eps0"])
        check_size(B * (b - 1), B * b)
        matrix = sylvester(b)
        rows = {}
        for block in range(B):
            for x in range(1, b):
                raised = {(block, y) for y in range(b) if matrix[x][y] > 0}
                weights = {(i, y): t if (i, y) in raised else sp.Integer(1) for i in range(B) for y in range(b)}
                total = sp.Add(*weights.values())
                rows[f"{block}:{x}"] = {f"{i}:{y}": w / total for (i, y), w in weights.items()}
        return FiniteMechanism(rows, name=repr(self))
