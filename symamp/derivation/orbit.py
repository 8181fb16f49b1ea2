"""One orbit of messages: all messages on which the distinguished inputs, and the rest, have the same densities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from symamp.derivation.printing import text
from symamp.numbers.substitution import put


@dataclass(frozen=True, repr=False)
class Orbit:
    """Messages that a symmetry makes alike, seen from a few distinguished inputs.

    ``measure`` is the reference measure of the orbit (for the counting measure, the number of its messages; it may be
    symbolic, such as ``k - 2``, and may vanish). ``density[i]`` is the density of R(x_i) against that measure on the
    orbit, for the i-th distinguished input. ``rest`` lists (density, number) for all further inputs: on each message
    of the orbit, ``number`` further inputs have that density. A number may vanish for some admissible parameters;
    ``None`` means that it differs between the messages of the orbit and may be anything from 0.

    >>> Orbit("y = x0", sp.Integer(1), (sp.Rational(3, 4), sp.Rational(1, 4))).mass(0)
    3/4
    """

    label: str
    measure: sp.Expr
    density: tuple[sp.Expr, ...]
    rest: tuple[tuple[sp.Expr, sp.Expr | None], ...] = ()

    def mass(self, i: int) -> sp.Expr:
        """Return the probability of the orbit under the i-th distinguished input."""
        return self.measure * self.density[i]

    def put(self, values: Mapping[sp.Symbol, sp.Expr]) -> Orbit:
        """Return the orbit with numbers for some symbols; long powers stay as they are."""
        density = tuple(put(d, values) for d in self.density)
        rest = tuple((put(d, values), None if number is None else put(number, values)) for d, number in self.rest)
        return Orbit(self.label, put(self.measure, values), density, rest)

    def __repr__(self) -> str:
        density = ", ".join(map(text, self.density))
        rest = ", ".join(f"({text(d)}, {None if number is None else text(number)})" for d, number in self.rest)
        return f"Orbit({self.label!r}, {text(self.measure)}, density=[{density}], rest=[{rest}])"
