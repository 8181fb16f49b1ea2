"""The constant mechanism: what is sent by users who take no part."""

from __future__ import annotations

import sympy as sp

from symamp.derivation.decomposition import Component, Decomposition
from symamp.derivation.orbit import Orbit
from symamp.mechanisms.mechanism import Mechanism


class Silent(Mechanism):
    """The constant mechanism: a message that does not depend on the input."""

    name = "silent"
    parameters = ()
    inputs = ("-",)
    is_composed = first_input_stands_for_all = True

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """None: there is one input."""
        return ()

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """None."""
        return ()

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """One message."""
        one = sp.Integer(1)
        return (Orbit("-", one, (one,) * len(distinguished)),)

    def key(self) -> tuple[object, ...]:
        """Return the name."""
        return ("silent",)

    def decomposed(self, pair: tuple[str, str], other: str | None) -> Decomposition:
        """Return one component (1, 1) of mass 1."""
        one = sp.Integer(1)
        return Decomposition((Component(one, one, one),), pair=pair)

    def composed_ratio(self) -> sp.Expr:
        """Return 1."""
        return sp.Integer(1)

    def __repr__(self) -> str:
        return "silent"
