"""Discrete Laplace noise on a range of integers, clipped to it: the geometric mechanism."""

from __future__ import annotations

import sympy as sp

from symamp.algebra.parameter import EPS0
from symamp.derivation.orbit import Orbit
from symamp.errors import ArgumentError
from symamp.mechanisms.discrete_laplace_law import Run, discrete_laplace_law
from symamp.mechanisms.family import Parametrised
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.mechanism import Mechanism
from symamp.numbers.exact_number import exact_number

_LARGEST = 2_000


class DiscreteLaplace(Parametrised, Mechanism):
    """Send x + Z for an integer x in 0..B, P(Z = z) = (1 - a)/(1 + a) a^|z|, a = e^(-eps0/B), clipped to 0..B.

    Clipping changes nothing: ratios are constant below 0 and above B. The ends are the worst pair of inputs, and the
    infimum over all inputs is the one over the ends (docs/proofs/worst_pair.md). B is a number, eps0 may be a symbol;
    eps0 is the local budget between 0 and B. ``formulas`` are for all B at once.

    >>> DiscreteLaplace(B=2).blanket().gamma
    exp(-eps0/2)
    >>> DiscreteLaplace(B=3, eps0=1).local_epsilon()
    1
    """

    name = "discrete Laplace noise on 0..B"
    slug = "discrete-laplace"
    lists_all_inputs = False  # nor inputs between the ends
    declared = (EPS0,)

    def __init__(self, *, B: object = None, eps0: object = None) -> None:
        size = None if B is None else exact_number(B, "B")
        if size is None or not (size.is_Integer and 1 <= size <= _LARGEST):
            raise ArgumentError("B", B, f"an integer between 1 and {_LARGEST}")
        self.B = int(size)
        super().__init__(eps0=eps0)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the parameters."""
        return ("B", "eps0")

    def at(self, /, **values: object) -> DiscreteLaplace:
        """Return the same noise with eps0 fixed.

        >>> DiscreteLaplace(B=2).at(eps0=1)
        DiscreteLaplace(B=2, eps0=1)
        """
        given: dict[str, object] = {"B": self.B, "eps0": self["eps0"] if not self.parameters else None, **values}
        return DiscreteLaplace(**given)

    def key(self) -> tuple[object, ...]:
        """Return the class, B, and the budget."""
        return (*super().key(), self.B)

    @staticmethod
    def formulas() -> tuple[Run, ...]:
        """Return the blanket of (0, B) with B a symbol: components as formulas in the number of the message.

        >>> DiscreteLaplace.formulas()[1].component.ratio0
        exp(eps0*(B - 2*j)/B)
        """
        return discrete_laplace_law()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ends."""
        return ("0", str(self.B))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The ends, the worst pair; a reflection exchanges them."""
        return (("0", str(self.B)),)

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """Nothing: no other input has less probability than both ends anywhere."""
        return ()

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Each message by itself."""
        rows = [self._row(int(x)) for x in distinguished]
        return tuple(Orbit(f"y = {y}", sp.Integer(1), tuple(row[y] for row in rows)) for y in range(self.B + 1))

    def _row(self, x: int) -> list[sp.Expr]:
        a, end = sp.exp(-self["eps0"] / self.B), self.B
        inside = [(1 - a) / (1 + a) * sp.exp(-self["eps0"] * sp.Rational(abs(y - x), end)) for y in range(1, end)]
        ends = [sp.exp(-self["eps0"] * sp.Rational(z, end)) / (1 + a) for z in (x, end - x)]
        return [ends[0], *inside, ends[1]]

    def table(self) -> FiniteMechanism:
        """Return the table over all inputs: what is derived from it is the same."""
        rows = {str(x): {str(y): p for y, p in enumerate(self._row(x))} for x in range(self.B + 1)}
        return FiniteMechanism(rows, name=repr(self))

    def near(self, neighbours: object) -> FiniteMechanism:
        """Return the table of which only inputs at distance at most so much are compared, or pairs of a list.

        >>> len(DiscreteLaplace(B=3, eps0=1).near(1).pairs())
        6
        """
        return self.table().near(neighbours)

    def __repr__(self) -> str:
        return f"DiscreteLaplace(B={self.B}, {super().__repr__().split('(', 1)[1]}"
