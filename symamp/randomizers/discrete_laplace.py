"""Discrete Laplace noise on a range of integers, clipped to it: the geometric mechanism."""

from __future__ import annotations

from functools import cached_property

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Value
from symamp.numbers.reading import Compared, whole_number
from symamp.randomizers.family import Parametrised
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism
from symamp.randomizers.protocols import Domain, Protocol, added, two_sided_geometric

_LARGEST, _MOST_LISTED = 2_000, 63


class DiscreteLaplace(Parametrised, Mechanism):
    """Send x + Z for an integer x in 0..B, P(Z = z) = (1 - a)/(1 + a) a^|z|, a = e^(-eps0/B), clipped to 0..B.

    Clipping changes nothing: ratios are constant below 0 and above B. The ends are the worst pair of inputs, and the
    infimum over all inputs is the one over the ends (docs/proofs/worst_pair.md). B is a number, eps0 may be a symbol;
    eps0 is the local budget between 0 and B.

    >>> DiscreteLaplace(B=2).blanket().gamma
    exp(-eps0/2)
    >>> DiscreteLaplace(B=3, eps0=1).local_epsilon()
    1
    """

    name = "discrete Laplace noise on 0..B"
    slug = "discrete-laplace"
    lists_all_inputs = False  # nor inputs between the ends
    declared = (EPS0,)

    def __init__(self, *, B: Value = None, eps0: Value = None) -> None:
        self.B = whole_number(B, "B", _LARGEST)
        super().__init__(eps0=eps0)
        self.values = {"B": sp.Integer(self.B), **self.values}

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("0", str(self.B))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The ends, the worst pair; a reflection exchanges them."""
        return (("0", str(self.B)),)

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, the ratio of the ends: steps of one have the same ratio everywhere."""
        return sp.exp(self["eps0"])

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        rows = [self._row(int(x)) for x in distinguished]
        return tuple(Orbit(f"y = {y}", sp.Integer(1), tuple(row[y] for row in rows)) for y in range(self.B + 1))

    def _row(self, x: int) -> list[sp.Expr]:
        inside, ends = self._by_distance
        return [ends[x], *(inside[abs(y - x)] for y in range(1, self.B)), ends[self.B - x]]

    @cached_property
    def _by_distance(self) -> tuple[list[sp.Expr], list[sp.Expr]]:
        """The probabilities of a message inside the range, and of an end, by their distance from the input."""
        a = sp.exp(-self["eps0"] / self.B)
        powers = [sp.exp(-self["eps0"] * sp.Rational(z, self.B)) for z in range(self.B + 1)]
        return [(1 - a) / (1 + a) * x for x in powers], [x / (1 + a) for x in powers]

    def protocol(self) -> Protocol:
        """An end counts as the mean of what is clipped to it; the variance is largest in the middle."""
        top, a = sp.Integer(self.B), sp.exp(-self["eps0"] / self.B)
        middle = sp.Integer(self.B // 2)
        tail = a / (1 - a)  # the mean of what a tail goes further than its beginning
        clipped = (a**middle + a ** (top - middle)) / (1 + a) * a / (1 - a) ** 2
        variance, ends = normal(2 * a / (1 - a) ** 2 - clipped), (normal(-tail), normal(top + tail))
        shown = {"0": 0, str(self.B): self.B}
        return added(Domain(sp.S.Zero, top), two_sided_geometric(1 - a), variance, ends, shown=lambda: shown)

    def table(self) -> FiniteMechanism:
        """Return the table over all inputs: what is derived from it is the same."""
        rows = {str(x): {str(y): p for y, p in enumerate(self._row(x))} for x in range(self.B + 1)}
        return FiniteMechanism(rows, name=repr(self))

    @cached_property
    def listed(self) -> Mechanism:
        """The table, where B is at most 63 and the budget is a number."""
        return self.table() if self.B <= _MOST_LISTED and not self.parameters else self

    def near(self, neighbours: Compared) -> FiniteMechanism:
        """Return the table of which only inputs at distance at most so much are compared, or pairs of a list.

        >>> len(DiscreteLaplace(B=3, eps0=1).near(1).pairs())
        6
        """
        return self.table().near(neighbours)
