"""Harmony (Nguyen, Xiao, Yang, Hui, Shin, Shin 2016): one sampled coordinate through binary randomized response."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import sympy as sp

from symamp.decompositions.pair_groups import PairGroup, antipodal, groups_by_share
from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, strings
from symamp.randomizers.structures.state_channel import StateChannel


class Harmony(StateChannel):
    """For x in [-1, 1]^d draw a coordinate j, send (j, +) with probability 1/2 + x_j (t-1)/(2(t+1)), t = e^eps0.

    The states are the values +1, 0, -1 of a coordinate. The pair is opposite at every coordinate. It is worst for
    every number of users: the channel is linear in x_j, so extreme values are, and equal signs are below opposite
    ones (see StateChannel; + and - are mirror images). Of the other users ``origin`` holds the zero vector.

    >>> Harmony(d=3).blanket().gamma
    2/(exp(eps0) + 1)
    """

    name = "Harmony"
    slug = "harmony"
    source = "Nguyen, Xiao, Yang, Hui, Shin, Shin 2016"
    small = tuple(
        {"d": d, "eps0": e} for d, e in ((1, "log(3)"), (2, "log(3)"), (3, "log(2)"), (4, "log(3)"), (5, "log(5)"))
    )
    typical = {"d": 16}
    declared = (Parameter("d", lower=sp.Integer(1), integer=True), EPS0)

    def __init__(self, *, d: object = None, eps0: object = None) -> None:
        super().__init__(d=d, eps0=eps0)

    def coordinate_number(self) -> sp.Expr:
        """The dimension."""
        return self["d"]

    def channel(self) -> Mapping[str, Mapping[str, sp.Expr]]:
        """Binary randomized response, and a fair coin for 0."""
        t, half = sp.exp(self["eps0"]), sp.Rational(1, 2)
        return {
            "+1": {"+": t / (t + 1), "-": 1 / (t + 1)},
            "-1": {"+": 1 / (t + 1), "-": t / (t + 1)},
            "0": {"+": half, "-": half},
        }

    def joint_counts(self) -> tuple[tuple[sp.Expr, Mapping[str, str]], ...]:
        """Coordinates can be exchanged."""
        return ((self["d"], {"x0": "+1", "x1": "-1", "origin": "0"}),)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The opposite pair."""
        return (("x0", "x1"),)

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The opposite pair alone: corners have two levels, none are further apart, and other inputs mix corners.

        Proof: docs/proofs/envelope.md, section 4.
        """
        return pair if set(pair) == {"x0", "x1"} else None

    def pair_groups(self) -> tuple[PairGroup, ...]:
        """A sign turned at all coordinates maps the messages that belong to a corner to those that do not."""
        half = sp.Rational(1, 2)
        return groups_by_share(sp.exp(self["eps0"]), half, half, antipodal)

    def message_bits(self) -> sp.Expr:
        """Return log2 of the coordinates, each with a sign."""
        return sp.log(2 * self["d"], 2)

    def table(self) -> FiniteMechanism:
        """Return the table over (j, sign) for all inputs in {-1, 0, 1}^d."""
        d, t = int(self["d"]), sp.exp(self["eps0"])
        check_size(strings(3, d), 2 * d)
        names = {(1,) * d: "x0", (-1,) * d: "x1", (0,) * d: "origin"}
        rows = {
            names.get(x, str(x)): {
                f"{j}{'+' if sign > 0 else '-'}": (sign * v * (t - 1) + t + 1) / (2 * t + 2) / d
                for j, v in enumerate(x)
                for sign in (1, -1)
            }
            for x in product((1, 0, -1), repeat=d)
        }
        return FiniteMechanism(rows, name=repr(self))
